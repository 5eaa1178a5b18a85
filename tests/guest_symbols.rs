//! The troubles that users of other profilers reported about names: memory that naming keeps, hours that it takes,
//! names that are wrong, that differ from run to run, or that are lost with the file.
//!
//! The program, `probe`, asks for memory at places whose names are known, and is built here in many ways. Its
//! dependencies are not optimised, so that they are built soon: naming takes longer than in a program of a user's.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "guest_symbols/build.rs"]
mod build;
mod common;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::sync::{Mutex, PoisonError};

use build::LEGACY;
use common::guest::Folder;
use common::harness::{self, named};
use common::profile::whole_hp;
use common::tools::skip;
use heapprof::hp::{Profile, unescape_label};

fn main() -> ExitCode {
    const TESTS: &[harness::Test] = named![
        a_program_without_build_id_is_not_named_after_its_successor,
        the_list_of_modules_has_every_library_that_there_was,
        naming_is_in_no_band,
        naming_keeps_no_memory,
        thousands_of_places_are_named_in_the_time_of_opening_the_file,
        both_schemes_of_names_are_readable,
        two_runs_have_the_same_names,
        builds_in_two_folders_have_the_same_names,
        aborting_programs_have_the_same_names,
        programs_at_fixed_addresses_have_the_same_names,
        static_programs_have_the_same_names,
        a_stripped_program_has_no_wrong_name,
        a_program_without_debug_information_has_functions,
        inlined_functions_are_named_or_part_of_their_callers,
        a_program_that_was_replaced_keeps_its_names,
        a_program_that_was_removed_keeps_its_names,
        a_forked_child_has_names,
        libraries_that_are_loaded_late_have_names,
        a_library_is_never_named_after_the_one_before,
        long_names_of_threads_stay_apart,
    ];
    let ended = harness::main(&[], TESTS, 2);
    build::remove_kept();
    ended
}

/// What the role `sites` holds: by call site, without the lines of the calls, in bytes.
const ARCS: [(&str, u64); 8] = [
    ("probe::sites::all/probe::held", 24),
    ("probe::sites::recursive/probe::sites::all", 300),
    ("probe::sites::recursive/probe::sites::recursive", 600),
    ("probe::sites::innermost/probe::sites::between", 1000),
    ("probe::sites::plain/probe::sites::all", 2000),
    ("probe::sites::closed::{closure}/probe::sites::closed", 4000),
    ("probe::sites::Pair::boxed/probe::sites::all", 44),
    ("<probe::sites::Pair as Fill>::fill/probe::sites::all", 104),
];

/// The same where no function that is inlined has a name.
fn arcs_of_functions() -> [(&'static str, u64); 8] {
    let mut arcs = ARCS;
    arcs[3].0 = "probe::sites::outermost/probe::sites::all";
    arcs
}

// ---- runs --------------------------------------------------------------------------------------

/// A run that has ended: what it said, and its files in a folder that is removed with it.
struct Run {
    said: String,
    folder: Folder,
}

impl Run {
    /// Runs a program by arc and call stack; `settings` go over that.
    #[track_caller]
    fn new(program: &Path, settings: &[(&str, &str)], args: &[&str]) -> Self {
        let folder = Folder::new();
        let mut command = Command::new(program);
        for (name, _) in
            std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("HEAPPROF"))
        {
            command.env_remove(name);
        }
        command.envs([
            ("HEAPPROF_OUTPUT", "app"),
            ("HEAPPROF_INTERVAL", "3600"),
            ("HEAPPROF_BREAKDOWN", "arc,callstack,type"),
            ("HEAPPROF_NAME_CHARS", "4900"),
            ("HEAPPROF_SAMPLE", "off"),
            ("HEAPPROF_QUIET", "on"),
        ]);
        command.envs(settings.iter().copied()).args(args).current_dir(folder.out());
        let output = command.output().unwrap();
        assert_eq!(
            (output.status.code(), &*String::from_utf8_lossy(&output.stderr)),
            (Some(0), ""),
            "{program:?}"
        );
        Self { said: String::from_utf8(output.stdout).unwrap(), folder }
    }

    /// A run of the role `sites`.
    #[track_caller]
    fn of_sites(program: &Path) -> Self {
        Self::new(program, &[], &["sites"])
    }

    #[track_caller]
    fn arcs(&self) -> Profile {
        whole_hp(&self.folder.file("app.hp"))
    }

    #[track_caller]
    fn stacks(&self) -> Profile {
        whole_hp(&self.folder.file("app.callstack.hp"))
    }

    /// The names in all files.
    fn names(&self) -> BTreeSet<String> {
        let of_file = |file: &str| {
            let bands = whole_hp(&self.folder.file(file)).bands;
            bands.into_iter().map(|band| readable(&band.name)).collect::<Vec<_>>()
        };
        ["app.hp", "app.callstack.hp", "app.type.hp"].into_iter().flat_map(of_file).collect()
    }

    /// See [`expect_arcs`].
    #[track_caller]
    fn expect(&self, arcs: &[(&str, u64)], has_lines: bool) {
        expect_arcs(&self.arcs(), arcs, has_lines);
    }
}

/// That each place has its name, in the one sample that the program took itself, and nothing else of the program's
/// has one.
#[track_caller]
fn expect_arcs(profile: &Profile, arcs: &[(&str, u64)], has_lines: bool) {
    let got: BTreeMap<String, u64> = bands(profile, 1)
        .into_iter()
        .filter(|(name, _)| name.contains("probe::sites"))
        .map(|(name, bytes)| (without_line(&name, has_lines), bytes))
        .collect();
    let want = arcs.iter().map(|(name, bytes)| ((*name).to_owned(), *bytes)).collect();
    assert_eq!(got, want);
}

fn readable(name: &[u8]) -> String {
    let name = String::from_utf8(name.to_vec()).unwrap();
    name.split('/').map(|label| unescape_label(label).into_owned()).collect::<Vec<_>>().join("/")
}

/// The bands of a sample that hold something.
fn bands(profile: &Profile, sample: usize) -> BTreeMap<String, u64> {
    let values = profile.bands.iter().map(|band| (readable(&band.name), band.value(sample)));
    values.filter(|(_, bytes)| *bytes > 0).collect()
}

/// A call site without the line that it must have, or must not.
#[track_caller]
fn without_line(arc: &str, has_line: bool) -> String {
    let digits = |line: &str| !line.is_empty() && line.bytes().all(|byte| byte.is_ascii_digit());
    let line = arc.rsplit_once(':').filter(|(_, line)| digits(line));
    assert_eq!(line.is_some(), has_line, "{arc}");
    line.map_or(arc, |(name, _)| name).to_owned()
}

/// A folder, and in it the program, built with these options when they first come up.
fn built(options: &[&str]) -> (Folder, PathBuf) {
    static BUILT: Mutex<BTreeMap<String, PathBuf>> = Mutex::new(BTreeMap::new());
    let folder = Folder::new();
    let program = folder.root().join("probe");
    let mut built = BUILT.lock().unwrap_or_else(PoisonError::into_inner);
    match built.get(&options.join(" ")) {
        Some(known) => std::fs::hard_link(known, &program).unwrap(),
        None => {
            build::program(&program, options);
            // Kept beside the folders of tests, under a name that no other run of this test has at the same time.
            let kept = build::root().join(format!("built-{}-{}", std::process::id(), built.len()));
            std::fs::hard_link(&program, &kept).unwrap();
            built.insert(options.join(" "), kept);
        }
    }
    (folder, program)
}

// ---- what naming costs ---------------------------------------------------------------------------

/// The same program with and without names holds the same, byte for byte; and no band is of what makes them.
fn naming_is_in_no_band() {
    let (_folder, program) = built(&[]);
    let named = Run::new(&program, &[], &["idle", "1"]);
    let raw = Run::new(&program, &[("HEAPPROF_SYMBOLS", "offline")], &["idle", "1"]);
    let total = |profile: &Profile, sample: usize| bands(profile, sample).values().sum::<u64>();
    let (named_stacks, raw_stacks) = (named.stacks(), raw.stacks());
    assert_eq!(named_stacks.times_s.len(), 12);
    for sample in 0..12 {
        assert_eq!(total(&named_stacks, sample), total(&raw_stacks, sample), "sample {sample}");
    }
    for name in named.names() {
        let makers =
            ["gimli", "addr2line", "object::", "rustc_demangle", "memmap", "typed_arena", "heapprof"];
        assert!(!makers.iter().any(|maker| name.contains(maker)), "{name}");
    }
}

/// Files are closed after eight samples without a new name. What is left is measured with the C library's allocator,
/// which has been told to give free memory back: 3.3 MiB of resident memory after the first names, which are of
/// libc too, and some tens of KiB more after each further turn of opening files and closing them.
fn naming_keeps_no_memory() {
    const SAMPLES: usize = 12;
    let (_folder, program) = built(&[]);
    let run = Run::new(&program, &[("HEAPPROF_OWN", "on")], &["idle", &SAMPLES.to_string()]);
    let kib: Vec<u64> = run.said.lines().map(|line| line.parse().unwrap()).collect();
    assert_eq!(kib.len(), 11);
    let (named, left): (Vec<u64>, Vec<u64>) = kib[1..].chunks(2).map(|turn| (turn[0], turn[1])).unzip();
    assert!(named[0] > left[0] + 4096, "no memory was needed: {kib:?}");
    assert!(left[0] < kib[0] + (8 << 10), "KiB before, with names and without: {kib:?}");
    assert!(left[4] < left[0] + (1 << 10), "KiB before, with names and without: {kib:?}");

    let profile = run.arcs();
    let own = |sample: usize| bands(&profile, sample)["HEAPPROF"];
    let turns = |turn: usize| {
        let first = 1 + turn * (SAMPLES + 1);
        (own(first + 1), (first + 9..=first + SAMPLES).map(own).min().unwrap())
    };
    let (open, closed): (Vec<u64>, Vec<u64>) = (0..5).map(turns).unzip();
    for turn in 0..5 {
        assert!(open[turn] > closed[turn] + (1 << 20), "bytes with files open {open:?}, closed {closed:?}");
        assert!(closed[turn] < own(0) + (2 << 20), "bytes with files open {open:?}, closed {closed:?}");
    }
}

/// In CPU time of the thread that takes the sample: opening the files and naming one place took 0.40 s, naming
/// 1,000 more 0.11 s, and 2,000 more 0.21 s.
fn thousands_of_places_are_named_in_the_time_of_opening_the_file() {
    const PLACES: usize = 3001;
    let folder = Folder::new();
    let source = folder.root().join("main.rs");
    std::fs::write(&source, program_of_many_places(PLACES)).unwrap();
    let program = build::program_of(&source, &folder.root().join("probe"), &["-Copt-level=0"]);
    let run = Run::new(&program, &[], &[]);
    let ns: Vec<u64> = run.said.lines().map(|line| line.parse().unwrap()).collect();
    let [first, thousand, more] = ns[..] else { panic!("{ns:?}") };
    assert!(thousand + more < 10 * first, "ns: {ns:?}");
    assert!(more < 6 * thousand, "ns: {ns:?}");
    let arcs = bands(&run.arcs(), 3);
    for place in 0..PLACES {
        let name = format!("probe::place_{place}/probe::main:");
        let found = arcs.range(name.clone()..).next().filter(|(found, _)| found.starts_with(&name));
        assert_eq!(found.map(|(_, bytes)| *bytes), Some(16), "{name}");
    }
}

/// A program with as many functions that ask; it takes samples after 1, 1,001 and all of them, and says how long
/// each took, in nanoseconds of the thread.
fn program_of_many_places(count: usize) -> String {
    let mut source = String::from(
        "#[global_allocator]
         static ALLOC: heapprof::HeapProf<std::alloc::System> = heapprof::HeapProf::with(std::alloc::System);
         type Held = Vec<Box<[u32; 4]>>;
         fn cpu_ns() -> i64 {
             let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
             assert_eq!(unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) }, 0);
             time.tv_sec * 1_000_000_000 + time.tv_nsec
         }
         fn main() {
             let mut held = Held::with_capacity(PLACES.len());
             for range in [0..1, 1..1001, 1001..PLACES.len()] {
                 for place in &PLACES[range] {
                     place(&mut held);
                 }
                 let begin = cpu_ns();
                 heapprof::sample_now().unwrap();
                 println!(\"{}\", cpu_ns() - begin);
             }
         }\n",
    );
    for place in 0..count {
        let _ =
            writeln!(source, "fn place_{place}(held: &mut Held) {{ held.push(Box::new([{place}; 4])); }}");
    }
    let places: Vec<String> = (0..count).map(|place| format!("place_{place}")).collect();
    let _ = writeln!(source, "const PLACES: [fn(&mut Held); {count}] = [{}];", places.join(","));
    source
}

// ---- builds ------------------------------------------------------------------------------------

fn both_schemes_of_names_are_readable() {
    // `17h0123456789abcdefE`, `::h0123456789abcdef`, `[0123456789abcdef]`, and names as in the file.
    let raw = regex::Regex::new("h[0-9a-f]{16}|\\[[0-9a-f]{8,}\\]|_ZN|_R[NIMXY]|\\$LT\\$").unwrap();
    for options in [&[][..], &[LEGACY]] {
        let (_folder, program) = built(options);
        let run = Run::of_sites(&program);
        run.expect(&ARCS, true);
        for name in run.names() {
            assert!(!raw.is_match(&name), "{options:?}: {name}");
        }
    }
}

/// Also where the program lies at another address each time, which a stripped one's names would show.
fn two_runs_have_the_same_names() {
    for options in [&[][..], &["-Cstrip=symbols"]] {
        let (_folder, program) = built(options);
        let first = Run::of_sites(&program);
        let another = || Some(Run::of_sites(&program)).filter(|run| run.said != first.said);
        // The kernel chooses one address in many thousands.
        let Some(second) = (0..4).find_map(|_| another()) else {
            return skip("programs are always loaded at one address");
        };
        assert_eq!(first.names(), second.names());
    }
}

fn builds_in_two_folders_have_the_same_names() {
    folder_makes_no_difference("-Cdebuginfo=1");
}

#[track_caller]
fn folder_makes_no_difference(debug: &str) {
    let folder = Folder::new();
    let [one, two] = ["one/src", "another folder/of three/parts/src"].map(|name| {
        let sources = folder.root().join(name);
        build::copy_sources_to(&sources);
        let program = build::program_of(&sources.join("main.rs"), &sources.join("probe"), &[debug]);
        Run::of_sites(&program)
    });
    assert_eq!(one.names(), two.names());
    one.expect(&ARCS, true);
    two.expect(&ARCS, true);
    let has_path = |name: &String| name.contains(".rs") || name.contains("src");
    assert!(!one.names().iter().any(has_path), "{:?}", one.names());
}

fn aborting_programs_have_the_same_names() {
    let [unwinds, aborts] = [&[][..], &["-Cpanic=abort"]].map(|options| Run::of_sites(&built(options).1));
    aborts.expect(&ARCS, true);
    let own = |run: &Run| {
        let bands = bands(&run.stacks(), 1);
        bands.into_iter().filter(|(name, _)| name.contains("probe::sites")).collect::<Vec<_>>()
    };
    assert_eq!(own(&unwinds), own(&aborts));
}

fn programs_at_fixed_addresses_have_the_same_names() {
    let (folder, program) = built(&["-Crelocation-model=static"]);
    let run = Run::of_sites(&program);
    run.expect(&ARCS, true);
    assert_eq!(run.said, Run::of_sites(&program).said, "it is not always at one address");
    // Without any name, too: addresses are those in the file, which are those in memory.
    let program =
        build::program(&folder.root().join("bare"), &["-Crelocation-model=static", "-Cstrip=symbols"]);
    expect_offsets(&Run::of_sites(&program), "bare+0x");
}

fn static_programs_have_the_same_names() {
    let folder = Folder::new();
    let main = folder.root().join("src");
    build::copy_sources_to(&main);
    let options = ["-Ctarget-feature=+crt-static"];
    match build::try_program_of(&main.join("main.rs"), &folder.root().join("probe"), &options) {
        Ok(program) => Run::of_sites(&program).expect(&ARCS, true),
        Err(why) => {
            assert!(why.contains("linking with"), "{why}");
            skip("no static C library");
        }
    }
}

/// That every place has a band that begins with its address, and none has a name of the program's.
#[track_caller]
fn expect_offsets(run: &Run, front: &str) {
    for name in run.names() {
        assert!(!name.contains("probe::") && !name.contains("sites"), "{name}");
    }
    let arcs = bands(&run.arcs(), 1);
    for (place, bytes) in ARCS {
        // Both functions of a site are the program's.
        let is_of = |name: &str| name.split('/').filter(|label| label.starts_with(front)).count() == 2;
        let found = arcs.iter().filter(|(name, value)| **value == bytes && is_of(name)).count();
        assert_eq!(found, 1, "{place}: {arcs:?}");
    }
}

fn a_stripped_program_has_no_wrong_name() {
    let (_folder, program) = built(&["-Cstrip=symbols"]);
    expect_offsets(&Run::of_sites(&program), "probe+0x");
}

fn a_program_without_debug_information_has_functions() {
    let (_folder, program) = built(&["-Cstrip=debuginfo"]);
    Run::of_sites(&program).expect(&arcs_of_functions(), false);
}

fn inlined_functions_are_named_or_part_of_their_callers() {
    let stack =
        |front: &str| format!("{front}probe::sites::outermost/probe::sites::all/probe::held/probe::main");
    const INLINED: &str = "probe::sites::innermost/probe::sites::between/";
    // With line tables, which is how programs are built here, and without.
    let ways = [(&[][..], INLINED, ARCS), (&["-Cdebuginfo=0"], "", arcs_of_functions())];
    for (options, front, arcs) in ways {
        let (_folder, program) = built(options);
        let run = Run::of_sites(&program);
        assert_eq!(bands(&run.stacks(), 1).get(&stack(front)), Some(&1000), "{options:?}");
        run.expect(&arcs, options.is_empty());
    }
}

// ---- files that change -------------------------------------------------------------------------

/// Another build of the program, whose functions are called otherwise and lie elsewhere.
fn successor(folder: &Folder, options: &[&str]) -> PathBuf {
    let sources = folder.root().join("successor");
    build::copy_sources_to(&sources);
    let sites = sources.join("sites.rs");
    let mut text = std::fs::read_to_string(&sites).unwrap();
    for function in ["outermost", "plain", "recursive", "closed"] {
        text = text.replace(&format!("{function}("), &format!("wrong_{function}("));
    }
    std::fs::write(sites, text).unwrap();
    build::program_of(&sources.join("main.rs"), &sources.join("probe"), options)
}

/// The program replaces its own file before it takes its first sample, by one that is built with `options` too.
fn replaced(options: &[&str]) -> Run {
    let (folder, program) = built(options);
    let other = successor(&folder, options);
    let run = Run::new(&program, &[], &["replaced", other.to_str().unwrap()]);
    assert!(!other.exists(), "it was not replaced");
    for name in run.names() {
        assert!(!name.contains("wrong_"), "{name}");
    }
    run
}

fn a_program_that_was_replaced_keeps_its_names() {
    replaced(&[]).expect(&ARCS, true);
}

/// Nothing tells two files apart that have no build id but that they are two files.
fn a_program_without_build_id_is_not_named_after_its_successor() {
    replaced(&["-Clink-arg=-Wl,--build-id=none"]).expect(&ARCS, true);
}

fn a_program_that_was_removed_keeps_its_names() {
    for options in [&[][..], &["-Clink-arg=-Wl,--build-id=none"]] {
        let (_folder, program) = built(options);
        Run::new(&program, &[], &["replaced"]).expect(&ARCS, true);
        assert!(!program.exists());
    }
}

fn a_forked_child_has_names() {
    let (_folder, program) = built(&[]);
    let run = Run::new(&program, &[], &["forks"]);
    let child = run.folder.file(format!("app.{}.hp", run.said.trim_end()));
    expect_arcs(&whole_hp(&child), &ARCS, true);
}

// ---- libraries ---------------------------------------------------------------------------------

fn libraries_that_are_loaded_late_have_names() {
    let (folder, program) = built(&[]);
    let Some(one) = build::c_library(&folder.root().join("one.so"), "one_inner") else { return };
    let late = build::rust_library(&folder.root().join("late.so"));
    let run = Run::new(&program, &[], &["libraries", &one, &late]);
    let stack = |inner: &str| format!("probe::called_back/{inner}/call/probe::calls_libraries/probe::main");
    for (sample, late_bytes) in [(1, None), (2, Some(&2)), (3, Some(&2))] {
        let stacks = bands(&run.stacks(), sample);
        assert_eq!(stacks.get(&stack("one_inner")), Some(&1), "sample {sample}: {stacks:?}");
        assert_eq!(stacks.get(&stack("late::inner::calls")), late_bytes, "sample {sample}: {stacks:?}");
    }
}

/// Two libraries of one size take turns at one address; the blocks that were asked for through them stay, 1 byte
/// through the first, 2 through the second, and so on. A band may have no name, but not that of the other.
fn a_library_is_never_named_after_the_one_before() {
    let (folder, program) = built(&[]);
    let Some(one) = build::c_library(&folder.root().join("one.so"), "one_inner") else { return };
    let two = build::c_library(&folder.root().join("two.so"), "two_inner").unwrap();
    let [one, two] = [one, two].map(|path| format!("-{path}"));
    let run = Run::new(&program, &[], &["libraries", &one, &two, &one, &two]);
    let addresses: BTreeSet<&str> = run.said.lines().collect();
    assert_eq!(addresses.len(), 1, "the libraries are not at one address");
    for sample in 1..=5 {
        let stacks = bands(&run.stacks(), sample);
        for (name, bytes) in &stacks {
            assert!(!name.contains("one_inner") || bytes & !0b0101 == 0, "sample {sample}: {stacks:?}");
            assert!(!name.contains("two_inner") || bytes & !0b1010 == 0, "sample {sample}: {stacks:?}");
        }
        let total: u64 = stacks.iter().filter(|(name, _)| is_of_library(name)).map(|(_, bytes)| bytes).sum();
        assert_eq!(total, (1 << sample.min(4)) - 1, "sample {sample}: {stacks:?}");
    }
    assert!(bands(&run.stacks(), 1).keys().any(|name| name.contains("/one_inner/call/")));
}

/// A band of what was asked for through a library.
fn is_of_library(name: &str) -> bool {
    name == "?" || name.contains("called_back")
}

/// Two libraries of one name, of which the first is unloaded before the second is loaded: addresses in both are in
/// the profile, so both are in the list, under names of their own.
fn the_list_of_modules_has_every_library_that_there_was() {
    let (folder, program) = built(&[]);
    let same = |place: &str, inner| build::c_library(&folder.root().join(place).join("same.so"), inner);
    let Some(one) = same("one", "one_inner") else { return };
    let two = same("two", "two_inner").unwrap();
    let settings = [("HEAPPROF_SYMBOLS", "offline")];
    let run = Run::new(&program, &settings, &["libraries", &format!("-{one}"), &two]);
    let list = std::fs::read_to_string(run.folder.file("app.modules")).unwrap();
    let modules = list.lines().filter_map(|line| line.strip_prefix("module "));
    let paths: BTreeMap<&str, &str> = modules
        .map(|module| module.splitn(3, ' ').collect::<Vec<_>>())
        .map(|fields| (fields[0], fields[2]))
        .collect();
    let called_through = |sample: usize| {
        let stacks = bands(&run.stacks(), sample);
        let labels: Vec<String> = stacks.keys().flat_map(|name| name.split('/').map(str::to_owned)).collect();
        let modules =
            labels.iter().filter_map(|label| label.split_once("+0x")).map(|(module, _)| module.to_owned());
        modules.filter(|module| module.starts_with("same.so")).collect::<BTreeSet<_>>()
    };
    let first = called_through(1);
    assert_eq!(first.len(), 1);
    assert_eq!(
        first.iter().map(|module| paths.get(&**module).copied()).collect::<Vec<_>>(),
        [Some(&*one)],
        "{list}"
    );
    assert!(paths.values().any(|path| *path == two), "{list}");
}

// ---- threads -----------------------------------------------------------------------------------

/// A thread's name is the one that std was given, whole. It is asked for at the first block: who renames a thread
/// later, by C's functions, does not rename what it has. C's threads have the kernel's name of that moment.
fn long_names_of_threads_stay_apart() {
    let (_folder, program) = built(&[]);
    let run = Run::new(&program, &[("HEAPPROF_BREAKDOWN", "thread")], &["threads"]);
    let mut threads = bands(&run.arcs(), 1);
    // With what std's own start-up holds.
    assert!(threads.remove("main").unwrap() >= 1 << 22);
    let want = [
        ("a worker with quite a long name 1", 1 << 14),
        ("a worker with quite a long name 2", (1 << 15) + (1 << 16)),
        ("unnamed", (1 << 17) + (1 << 19) + 1 + (1 << 20)),
        ("renamed by pthread", (1 << 18) + 1),
        ("by prctl", 1 << 21),
    ];
    assert_eq!(threads, want.map(|(name, bytes)| (name.to_owned(), bytes)).into());
}
