//! Names made after the run against names made in it: this very program is run twice as the one to be profiled,
//! once with `HEAPPROF_SYMBOLS=on` and once with `offline`, whose files the command then names. Every band
//! of every sample must be the same, byte for byte.
#![cfg_attr(not(target_os = "linux"), allow(unused, reason = "profiles are recorded on Linux only"))]
#![allow(unexpected_cfgs, reason = "the harness is that of a package with more features")]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "../../../tests/common/harness.rs"]
mod harness;

use std::alloc::System;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Output};

use harness::named;
use heapprof::hp;
use tempfile::TempDir;

#[global_allocator]
static ALLOC: heapprof::HeapProf<System> = heapprof::HeapProf::with(System);

const COMMAND: &str = env!("CARGO_BIN_EXE_heapprof-resolve");
/// The breakdowns whose bands are made of call stacks, the first of which is in the file without its name.
const BREAKDOWNS: [&str; 5] = ["arc", "callstack", "module", "description", "type"];

fn main() -> ExitCode {
    harness::main(
        named![holds],
        named![
            names_made_later_are_those_made_in_the_run,
            short_names_are_as_short,
            a_depth_is_kept,
            a_stripped_program_is_named_by_its_twin,
            any_file_name_will_do,
            any_program_name_will_do,
            a_program_that_has_moved_is_given,
            another_build_is_refused_in_one_line,
        ],
        2,
    )
}

// ---- the guest ---------------------------------------------------------------------------------

/// Asks for memory in many ways, and takes samples meanwhile.
mod guest {
    use std::collections::{BTreeMap, HashMap};
    use std::hint::black_box;
    use std::rc::Rc;

    pub(super) trait Shape {
        fn outline(&self) -> Vec<[f32; 2]>;
    }

    pub(super) struct Square(pub(super) f32);

    impl Shape for Square {
        #[inline(never)]
        fn outline(&self) -> Vec<[f32; 2]> {
            [[0.0, 0.0], [0.0, self.0], [self.0, self.0], [self.0, 0.0]].to_vec()
        }
    }

    #[inline(never)]
    pub(super) fn generic<T: Clone>(value: &T, count: usize) -> Vec<T> {
        vec![value.clone(); black_box(count)]
    }

    #[inline(always)]
    fn inlined(count: usize) -> Vec<u16> {
        (0..black_box(count)).map(|number| number as u16).collect()
    }

    #[inline(never)]
    pub(super) fn around(count: usize) -> Vec<u16> {
        inlined(count)
    }

    #[allow(clippy::vec_box, reason = "boxes are what is to be seen")]
    #[inline(never)]
    pub(super) fn deep(levels: usize, held: &mut Vec<Box<[usize; 5]>>) {
        held.push(Box::new([levels; 5]));
        if black_box(levels) > 0 {
            deep(levels - 1, held);
        }
        black_box(&held);
    }

    pub(super) fn texts() -> Vec<String> {
        let mut texts = Vec::with_capacity(3);
        texts.push(format!("{:?} and {}", black_box([1, 2, 3]), black_box(1.5)));
        texts.push(black_box("some").to_owned() + black_box(" more"));
        texts.extend(black_box("a b").split(' ').map(str::to_uppercase).take(1));
        texts
    }

    pub(super) fn maps() -> (HashMap<u32, Rc<str>>, BTreeMap<String, u8>) {
        let names = (0..black_box(20)).map(|number| (number, Rc::from(format!("name {number}")))).collect();
        (names, (0..black_box(30)).map(|number| (format!("{number:09}"), number)).collect())
    }

    /// A module whose cost centre is a band by `module`.
    pub(super) mod centre {
        pub(crate) fn counted() -> Vec<u64> {
            heapprof::cost_centre!("counted" => vec![3; std::hint::black_box(70)])
        }
    }
}

fn holds(_: &[String]) {
    use guest::{Shape as _, Square};
    let first = (guest::around(40), guest::texts(), Square(2.0).outline(), guest::centre::counted());
    heapprof::sample_now().unwrap();
    let mut boxes = Vec::new();
    guest::deep(9, &mut boxes);
    let second = (guest::generic(&7_u8, 100), guest::generic(&String::from("copied"), 4), guest::maps());
    heapprof::sample_now().unwrap();
    let third = std::thread::spawn(|| (guest::around(90), guest::generic(&[1_u64; 3], 5))).join().unwrap();
    drop(first);
    heapprof::sample_now().unwrap();
    drop((second, third, boxes));
}

// ---- the tests ---------------------------------------------------------------------------------

/// A folder for programs and one for files, in which the command runs too.
struct Bench(TempDir);

impl Bench {
    fn new() -> Self {
        // Beside this program, so that it can be linked to.
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        for part in ["files", "programs"] {
            fs::create_dir(folder.path().join(part)).unwrap();
        }
        Self(folder)
    }

    fn file(&self, name: impl AsRef<Path>) -> PathBuf {
        self.0.path().join("files").join(name)
    }

    fn programs(&self) -> PathBuf {
        self.0.path().join("programs")
    }

    /// This program under another name, of which a folder may be part.
    fn program(&self, name: impl AsRef<Path>) -> PathBuf {
        let path = self.programs().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let own = std::env::current_exe().unwrap();
        if fs::hard_link(&own, &path).is_err() {
            fs::copy(&own, &path).unwrap();
        }
        path
    }

    /// Runs a program with these names of files and symbols.
    fn profile(&self, program: &Path, output: impl AsRef<OsStr>, symbols: &str, name_chars: &str) {
        self.profile_with(
            program,
            output,
            &[("HEAPPROF_SYMBOLS", symbols), ("HEAPPROF_NAME_CHARS", name_chars)],
        );
    }

    fn profile_with(&self, program: &Path, output: impl AsRef<OsStr>, settings: &[(&str, &str)]) {
        let mut command = Command::new(program);
        for (name, _) in
            std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("HEAPPROF"))
        {
            command.env_remove(name);
        }
        command.env("HEAPPROF_OUTPUT", output.as_ref()).envs([
            ("HEAPPROF_INTERVAL", "3600"),
            ("HEAPPROF_BREAKDOWN", &BREAKDOWNS.join(",")),
            ("HEAPPROF_SAMPLE", "off"),
            ("HEAPPROF_QUIET", "on"),
        ]);
        command.envs(settings.iter().copied());
        let output =
            command.arg(format!("{}holds", harness::ROLE)).current_dir(self.file("")).output().unwrap();
        assert_eq!((output.status.code(), said(&output)), (Some(0), ""), "{program:?}");
    }

    fn resolve(&self, args: &[&OsStr]) -> Output {
        Command::new(COMMAND).args(args).current_dir(self.file("")).output().unwrap()
    }

    /// Names the files of a run and compares them with those of another. `stem` is the file name without the
    /// breakdown.
    #[track_caller]
    fn expect_same(&self, stem: impl AsRef<OsStr>, expected: &str, name_chars: &str, binary: Option<&Path>) {
        for (at, breakdown) in BREAKDOWNS.into_iter().enumerate() {
            let file = |stem: &OsStr, end: &str| {
                let mut name = stem.to_owned();
                name.push(if at == 0 { String::from(end) } else { format!(".{breakdown}{end}") });
                name
            };
            let raw = file(stem.as_ref(), ".hp");
            let mut args = vec![&*raw, OsStr::new("--name-chars"), OsStr::new(name_chars)];
            args.extend(binary.iter().flat_map(|path| [OsStr::new("--binary"), path.as_os_str()]));
            let output = self.resolve(&args);
            assert_eq!((output.status.code(), said(&output)), (Some(0), ""), "{breakdown}");
            let named = samples(&self.file(file(stem.as_ref(), ".resolved.hp")));
            let wanted = samples(&self.file(file(expected.as_ref(), ".hp")));
            // The first, the guest's three, and the last.
            assert_eq!((named.len(), wanted.len()), (5, 5), "{breakdown}");
            for (number, (named, wanted)) in named.iter().zip(&wanted).enumerate() {
                assert_eq!(named, wanted, "{breakdown}, sample {number}");
            }
        }
    }
}

fn said(output: &Output) -> &str {
    str::from_utf8(&output.stderr).unwrap()
}

/// The bands of each sample.
fn samples(path: &Path) -> Vec<BTreeMap<String, u64>> {
    let text = fs::read(path).unwrap_or_else(|cause| panic!("{}: {cause}", path.display()));
    let profile = hp::read(&text[..]).unwrap();
    assert_eq!(profile.cut, None);
    let sample = |number| {
        let bands = profile.bands.iter().map(|band| (&band.name, band.value(number)));
        bands
            .filter(|(_, bytes)| *bytes > 0)
            .map(|(name, bytes)| (String::from_utf8(name.clone()).unwrap(), bytes))
            .collect()
    };
    (0..profile.times_s.len()).map(sample).collect()
}

fn names_made_later_are_those_made_in_the_run() {
    let bench = Bench::new();
    let program = bench.program("app");
    bench.profile(&program, "on", "on", "4900");
    bench.profile(&program, "raw", "offline", "4900");
    bench.expect_same("raw", "on", "4900", None);
    // That there was something to be named, and that it has a name.
    for breakdown in ["", ".callstack", ".module", ".description", ".type"] {
        let [raw, named] = ["raw", "on"].map(|stem| bench.file(format!("{stem}{breakdown}.hp")));
        let [raw, named] = [raw, named].map(|path| fs::read_to_string(path).unwrap());
        assert!(raw.matches("app+0x").count() > 40 && !named.contains("+0x"), "{breakdown}: {named}");
    }
    let arcs = &samples(&bench.file("on.hp"))[2];
    for function in ["inlined", "deep", "generic", "texts", "maps", "maps::{closure}"] {
        let front = format!("end_to_end::guest::{function}/");
        assert!(arcs.keys().any(|name| name.starts_with(&front)), "{function}: {arcs:?}");
    }
    let modules = &samples(&bench.file("on.module.hp"))[1];
    assert_eq!(modules.get("end_to_end::guest::centre"), Some(&560), "{modules:?}");
}

/// Raw names are whole whatever the setting, so that they can be shortened after they are made.
fn short_names_are_as_short() {
    let bench = Bench::new();
    let program = small(&bench);
    bench.profile(&program, "on", "on", "25");
    bench.profile(&program, "raw", "offline", "25");
    bench.expect_same("raw", "on", "25", None);
    let short = samples(&bench.file("on.callstack.hp"));
    assert!(short[2].keys().any(|name| name.starts_with('(')), "{short:?}");
}

/// A frame in the file can be several functions, so that the depth is to be kept once more.
fn a_depth_is_kept() {
    let bench = Bench::new();
    let program = bench.program("app");
    for (stem, symbols) in [("on", "on"), ("raw", "offline")] {
        let settings =
            [("HEAPPROF_SYMBOLS", symbols), ("HEAPPROF_NAME_CHARS", "4900"), ("HEAPPROF_DEPTH", "3")];
        bench.profile_with(&program, stem, &settings);
    }
    bench.expect_same("raw", "on", "4900", None);
}

/// The program as `strip` leaves it.
fn stripped(program: &Path) -> Option<PathBuf> {
    let stripped = program.with_file_name("stripped");
    match Command::new("strip").arg("-o").arg(&stripped).arg(program).output() {
        Ok(output) => {
            assert!(output.status.success(), "{}", said(&output));
            Some(stripped)
        }
        Err(error) => {
            assert!(std::env::var_os("CI").is_none(), "strip: {error}");
            println!("SKIPPED: strip: {error}");
            None
        }
    }
}

fn a_stripped_program_is_named_by_its_twin() {
    let bench = Bench::new();
    let program = small(&bench);
    let Some(stripped) = stripped(&program) else { return };
    bench.profile(&program, "on", "on", "4900");
    bench.profile(&stripped, "raw", "offline", "4900");
    bench.expect_same("raw", "on", "4900", Some(&program));
    // The stripped file itself has no name to give, and says nothing wrong.
    let alone = bench.resolve(&["raw.hp", "-o", "alone.hp"].map(OsStr::new));
    assert_eq!((alone.status.code(), said(&alone)), (Some(0), ""));
    let alone = fs::read_to_string(bench.file("alone.hp")).unwrap();
    assert!(!alone.contains("end_to_end::") && alone.contains("stripped+0x"), "{alone}");
}

/// A program that is read quickly, since it has no line tables; whole if there is no `strip`.
fn small(bench: &Bench) -> PathBuf {
    let program = bench.program("small");
    // Not onto itself, which is a link to this program.
    let small = bench.programs().join("app");
    let stripped = Command::new("strip").arg("-g").arg("-o").arg(&small).arg(&program).output();
    if stripped.is_ok_and(|output| output.status.success()) { small } else { program }
}

fn any_file_name_will_do() {
    let bench = Bench::new();
    let program = small(&bench);
    bench.profile(&program, "on", "on", "60");
    let expected = samples(&bench.file("on.callstack.hp"));
    let names: [&[u8]; 8] = [
        b"with some blanks",
        "a~b^c\"d'(7)[e]#2;$x \u{fc}\u{2028}".as_bytes(),
        b"ten%%",
        b"MARK",
        b"-o",
        b"app.type",
        b"two\nlines\ttabs",
        b"\r",
    ];
    for name in names {
        bench.profile(&program, OsStr::from_bytes(name), "offline", "60");
        // A percent sign is doubled in the setting. A name that looks like an option gets its folder in front, as
        // with all commands.
        let name = format!("./{}.callstack.hp", str::from_utf8(name).unwrap().replace("%%", "%"));
        let output = bench.resolve(&[&name, "-o", "it.hp"].map(OsStr::new));
        assert_eq!((output.status.code(), said(&output)), (Some(0), ""), "{name:?}");
        assert_eq!(samples(&bench.file("it.hp")), expected, "{name:?}");
    }
}

fn any_program_name_will_do() {
    let bench = Bench::new();
    let small = small(&bench);
    bench.profile(&small, "on", "on", "4900");
    let expected = samples(&bench.file("on.callstack.hp"));
    let names = [
        "with some blanks/a program",
        "a~b^c/d~e^f\"'[g]#2;%$x \u{fc}\u{2028}",
        "\"quoted\"",
        "MARK",
        "BEGIN_SAMPLE",
        "(7)app",
        "(7)",
        "a+0x12",
        "...",
        "x (deleted)",
        "with\r",
        " ",
    ];
    for (number, name) in names.into_iter().enumerate() {
        let program = bench.programs().join(number.to_string()).join(name);
        fs::create_dir_all(program.parent().unwrap()).unwrap();
        fs::hard_link(&small, &program).unwrap();
        bench.profile(&program, "raw", "offline", "4900");
        let output =
            bench.resolve(&["raw.callstack.hp", "-o", "it.hp", "--name-chars", "4900"].map(OsStr::new));
        assert_eq!((output.status.code(), said(&output)), (Some(0), ""), "{name:?}");
        assert_eq!(samples(&bench.file("it.hp")), expected, "{name:?}");
    }
}

fn a_program_that_has_moved_is_given() {
    let bench = Bench::new();
    let program = bench.programs().join("old place/app");
    fs::create_dir(program.parent().unwrap()).unwrap();
    fs::rename(small(&bench), &program).unwrap();
    bench.profile(&program, "on", "on", "4900");
    bench.profile(&program, "raw", "offline", "4900");
    let moved = bench.programs().join("new name");
    fs::rename(&program, &moved).unwrap();
    bench.expect_same("raw", "on", "4900", Some(&moved));
    let lost = bench.resolve(&["raw.hp", "-o", "lost.hp"].map(OsStr::new));
    assert_eq!(lost.status.code(), Some(0));
    assert_eq!(said(&lost).lines().count(), 1, "{}", said(&lost));
    assert!(said(&lost).ends_with(
        "old place/app: cannot be read: No such file or directory (os error 2); addresses in app stay raw\n"
    ));
    assert_eq!(samples(&bench.file("lost.hp")), samples(&bench.file("raw.hp")));
}

fn another_build_is_refused_in_one_line() {
    let bench = Bench::new();
    let program = bench.program("app");
    bench.profile(&program, "raw", "offline", "4900");
    // The command is another program, with a build id of its own.
    let other = bench.programs().join("other/app");
    fs::create_dir(other.parent().unwrap()).unwrap();
    fs::copy(COMMAND, &other).unwrap();
    let refused = |args: &[&OsStr], names: &str| {
        let output = bench.resolve(args);
        assert_eq!(output.status.code(), Some(1), "{}", said(&output));
        assert_eq!(said(&output).lines().count(), 1, "{}", said(&output));
        assert!(said(&output).contains(names), "{}", said(&output));
        assert!(!bench.file("raw.resolved.hp").exists());
    };
    let given = [OsStr::new("raw.hp"), OsStr::new("--binary"), other.as_os_str()];
    refused(&given, "other/app: has build id ");
    fs::remove_file(&program).unwrap();
    fs::rename(&other, &program).unwrap();
    refused(&[OsStr::new("raw.hp")], "programs/app: has build id ");
}
