//! The command from outside: small programs are built, and profiles of addresses in them are named.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "tests")]

use std::collections::HashMap;
use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output};

use tempfile::TempDir;

const COMMAND: &str = env!("CARGO_BIN_EXE_heapprof-resolve");

const HEADER: &str = "JOB \"app\"\nDATE \"d\"\nSAMPLE_UNIT \"seconds\"\nVALUE_UNIT \"bytes\"\n";

const SOURCE: &str = "\
pub mod cache {
    #[inline(never)] pub fn fill(n: u64) { std::hint::black_box(n); }
    #[inline(never)] pub fn warm(n: u64) { fill(n); std::hint::black_box(n); }
}
#[unsafe(no_mangle)] #[inline(never)] pub extern \"C\" fn plain(n: u64) { cache::warm(n); std::hint::black_box(n); }
fn main() { plain(std::hint::black_box(1)); }
";

/// A folder with a program, and what is in it.
struct Bench {
    folder: TempDir,
    /// Start of each function by its name, as linked.
    starts: HashMap<String, u64>,
}

struct Run {
    code: Option<i32>,
    stdout: String,
    stderr: String,
}

impl Bench {
    /// None if a tool is not installed, which fails where CI is set.
    fn new() -> Option<Bench> {
        let mut bench = Bench { folder: tempfile::tempdir().unwrap(), starts: HashMap::new() };
        bench.build("app", "0x11223344")?;
        let listed = tool(Command::new("nm").arg("--defined-only").arg(bench.path("app")))?;
        for line in String::from_utf8(listed.stdout).unwrap().lines() {
            let mut fields = line.split_whitespace();
            let (Some(start), Some(_), Some(name)) = (fields.next(), fields.next(), fields.next()) else {
                continue;
            };
            let short = ["fill", "warm", "plain"].into_iter().find(|short| name.ends_with(short));
            if let Some(short) = short.filter(|_| name == "plain" || name.contains("probe")) {
                bench.starts.insert(short.into(), u64::from_str_radix(start, 16).unwrap());
            }
        }
        assert_eq!(bench.starts.len(), 3, "{:?}", bench.starts);
        Some(bench)
    }

    /// Builds the program; `id` is its build id, or `none`.
    fn build(&self, name: &str, id: &str) -> Option<()> {
        let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
        self.write("probe.rs", SOURCE);
        let mut command = Command::new(rustc);
        command.args(["--edition=2024", "-O", "--crate-name=probe", "-Csymbol-mangling-version=v0"]);
        command.args([
            "-Cstrip=debuginfo",
            &format!("-Clink-arg=-Wl,--build-id={id}"),
            "probe.rs",
            "-o",
            name,
        ]);
        tool(command.current_dir(self.folder.path())).map(|_| ())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn write(&self, name: &str, text: impl AsRef<[u8]>) {
        fs::write(self.path(name), text).unwrap();
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    /// Writes the list of modules: the program, by `id` and `path`, and a library that is not there.
    fn list(&self, profiles: &str, id: &str, path: &str) {
        let path = self.path(path);
        let text = format!(
            "heapprof modules 1\n{profiles}module app {id} {}\nmodule lost.so 77 /nowhere/lost.so\n",
            path.display()
        );
        self.write("app.modules", text);
    }

    /// A return address in a function, as in a raw name.
    fn raw(&self, function: &str) -> String {
        format!("app+{:#x}", self.starts[function] + 1)
    }

    /// A raw name, leaf first.
    fn stack(&self, functions: &[&str]) -> String {
        functions.iter().map(|function| self.raw(function)).collect::<Vec<_>>().join("/")
    }

    /// Runs the command in the folder.
    fn run(&self, args: &[&str]) -> Run {
        let output = Command::new(COMMAND).args(args).current_dir(self.folder.path()).output().unwrap();
        Run {
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// Runs the command and gives what it refuses with, in one line.
    fn refusal(&self, args: &[&str]) -> String {
        let run = self.run(args);
        assert_eq!((run.code, run.stdout.as_str()), (Some(1), ""), "{args:?}: {}", run.stderr);
        assert_eq!(run.stderr.lines().count(), 1, "{}", run.stderr);
        let line = run.stderr.trim_end().strip_prefix("heapprof-resolve: ").unwrap();
        line.replace(&format!("{}/", self.folder.path().display()), "")
    }
}

fn tool(command: &mut Command) -> Option<Output> {
    match command.output() {
        Ok(output) => {
            assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
            Some(output)
        }
        Err(error) => {
            assert!(std::env::var_os("CI").is_none(), "{command:?}: {error}");
            eprintln!("skipped: {command:?}: {error}");
            None
        }
    }
}

fn profile(samples: &[&[(&str, u64)]]) -> String {
    let mut text = HEADER.to_owned();
    for (second, rows) in samples.iter().enumerate() {
        let _ = writeln!(text, "BEGIN_SAMPLE {second}.000000");
        for (name, value) in *rows {
            let _ = writeln!(text, "{name}\t{value}");
        }
        let _ = writeln!(text, "END_SAMPLE {second}.000000");
    }
    text
}

/// The total of each sample.
fn totals(profile: &str) -> Vec<u128> {
    let mut totals = Vec::new();
    for line in profile.lines() {
        match line.split_once('\t') {
            Some((_, value)) => *totals.last_mut().unwrap() += value.parse::<u128>().unwrap(),
            None if line.starts_with("BEGIN_SAMPLE") => totals.push(0),
            None => {}
        }
    }
    totals
}

#[test]
fn stacks_get_the_names_of_their_breakdown() {
    let Some(bench) = Bench::new() else { return };
    let stack = bench.stack(&["fill", "warm", "plain"]);
    let short = bench.stack(&["warm", "plain"]);
    bench.write("app.hp", profile(&[&[(&stack, 10), (&short, 5)]]));
    bench.write("app.type.hp", profile(&[&[(&stack, 10), (&short, 5)]]));
    bench.list("profile app.hp arc\nprofile app.type.hp type later\n", "11223344", "app");
    let run = bench.run(&["app.hp"]);
    assert_eq!((run.code, run.stdout, run.stderr), (Some(0), String::new(), String::new()));
    let arcs = [("probe::cache::fill/probe::cache::warm", 10), ("probe::cache::warm/plain", 5)];
    assert_eq!(bench.read("app.resolved.hp"), profile(&[&arcs]));
    assert_eq!(bench.run(&["app.type.hp"]).code, Some(0));
    assert_eq!(bench.read("app.type.resolved.hp"), profile(&[&[("?", 15)]]));
    for (breakdown, rows) in [
        (
            "callstack",
            &[("probe::cache::fill/probe::cache::warm/plain", 10), ("probe::cache::warm/plain", 5)][..],
        ),
        ("module", &[("probe::cache", 15)]),
        ("description", &[("alloc", 15)]),
    ] {
        let run = bench.run(&["app.hp", "--breakdown", breakdown, "-o", "-", "--name-chars", "80"]);
        assert_eq!((run.code, run.stdout), (Some(0), profile(&[rows])), "{breakdown}: {}", run.stderr);
    }
    let shortened = bench.run(&["app.hp", "-o", "-", "--name-chars", "30"]).stdout;
    let names: Vec<&str> = shortened.lines().filter_map(|line| Some(line.split_once('\t')?.0)).collect();
    assert!(names[0].starts_with('(') && names[0].chars().count() <= 30, "{names:?}");
    assert_eq!(names[1], "probe::cache::warm/plain");
}

#[test]
fn other_names_stay_and_equal_ones_add_up_with_equal_totals() {
    let Some(bench) = Bench::new() else { return };
    let built_in = ["MAIN", "OTHER", "BEFORE_PROFILE", "EXIT", "HEAPPROF", "?", "(3)parse/main", "a^2Fb~c"];
    let one = bench.stack(&["fill", "warm"]);
    let same = format!("app+{:#x}/app+{:#x}", bench.starts["fill"] + 2, bench.starts["warm"] + 2);
    let numbered = format!("(77){one}/.../app+{:#x}", bench.starts["plain"] + 1);
    let partly = format!("lost.so+0x10/{one}");
    let lost = "lost.so+0x10/lost.so+0x20/never.so+0x1";
    let mut rows: Vec<(&str, u64)> = built_in.iter().map(|&name| (name, 1)).collect();
    rows.extend([(&one[..], 100), (&same, 200), (&numbered, 400), (&partly, 800), (lost, u64::MAX / 2)]);
    let text = profile(&[&rows, &[], &[(&same, 1)]]);
    bench.write("app.hp", &text);
    bench.list("profile app.hp arc\n", "11223344", "app");
    let run = bench.run(&["app.hp"]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let arc = "probe::cache::fill/probe::cache::warm";
    let mut expected: Vec<(&str, u64)> = built_in.iter().map(|&name| (name, 1)).collect();
    expected.extend([(arc, 1500), (lost, u64::MAX / 2)]);
    let resolved = bench.read("app.resolved.hp");
    assert_eq!(resolved, profile(&[&expected, &[], &[(arc, 1)]]));
    assert_eq!(totals(&resolved), totals(&text));
    let warnings: Vec<&str> = run.stderr.lines().collect();
    assert_eq!(
        warnings,
        [
            "heapprof-resolve: warning: /nowhere/lost.so: cannot be read: No such file or directory (os error 2); \
             addresses in lost.so stay raw",
            "heapprof-resolve: warning: the list has no such module; addresses in never.so stay raw",
        ]
    );
}

#[test]
fn totals_stay_whatever_the_addresses() {
    let Some(bench) = Bench::new() else { return };
    let mut state = 1_u64;
    let mut number = |below: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    let mut text = HEADER.to_owned();
    for second in 0..40 {
        let _ = writeln!(text, "BEGIN_SAMPLE {second}.000000");
        for _ in 0..number(200) {
            let labels = (0..=number(4)).map(|_| format!("app+{:#x}", number(0x60000))).collect::<Vec<_>>();
            let _ = writeln!(text, "{}\t{}", labels.join("/"), number(1 << 31) << number(24));
        }
        let _ = writeln!(text, "END_SAMPLE {second}.000000");
    }
    bench.write("app.hp", &text);
    bench.list("profile app.hp callstack\n", "11223344", "app");
    for breakdown in ["arc", "callstack", "module", "description", "type"] {
        let run = bench.run(&["app.hp", "-o", "-", "--breakdown", breakdown]);
        assert_eq!(run.code, Some(0), "{}", run.stderr);
        assert_eq!(totals(&run.stdout), totals(&text), "{breakdown}");
        assert!(run.stdout.len() < text.len());
    }
}

#[test]
fn another_build_is_refused_and_nothing_is_written() {
    let Some(bench) = Bench::new() else { return };
    bench.write("app.hp", profile(&[&[(&bench.stack(&["fill"]), 1)]]));
    bench.write("app.resolved.hp", "as it was");
    bench.list("profile app.hp arc\n", "55667788", "app");
    let expected = "app: has build id 11223344, expected build id 55667788 of app";
    assert_eq!(bench.refusal(&["app.hp"]), format!("app.hp, line 6: {expected}"));
    assert_eq!(bench.refusal(&["app.hp", "--binary", "app"]), expected);
    assert_eq!(bench.read("app.resolved.hp"), "as it was");
    let left: Vec<_> =
        fs::read_dir(bench.folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left.len(), 5, "{left:?}");
}

#[test]
fn a_file_from_elsewhere_is_taken_by_its_build() {
    let Some(bench) = Bench::new() else { return };
    bench.write("app.hp", profile(&[&[(&bench.stack(&["fill"]), 1)]]));
    bench.list("profile app.hp arc\n", "11223344", "gone/app");
    fs::rename(bench.path("app"), bench.path("renamed")).unwrap();
    let raw = bench.run(&["app.hp", "-o", "-"]);
    assert_eq!((raw.code, raw.stdout), (Some(0), bench.read("app.hp")));
    assert!(raw.stderr.ends_with("; addresses in app stay raw\n"), "{}", raw.stderr);
    let named = bench.run(&["app.hp", "-o", "-", "--binary", "renamed"]);
    assert_eq!((named.code, named.stderr), (Some(0), String::new()));
    assert_eq!(named.stdout, profile(&[&[("probe::cache::fill", 1)]]));
    assert_eq!(bench.build("other", "0x99"), Some(()));
    let refusal = bench.refusal(&["app.hp", "-b", "other", "-b", "renamed"]);
    assert_eq!(refusal, "other: the list has no module of this build or name");
    assert!(bench.refusal(&["app.hp", "-b", "probe.rs"]).starts_with("probe.rs: is not a"));
    assert!(bench.refusal(&["app.hp", "-b", "absent"]).starts_with("absent: cannot be read: "));
}

#[test]
fn a_program_without_build_id_is_named_only_by_a_file_that_was_given() {
    let Some(bench) = Bench::new() else { return };
    assert_eq!(bench.build("app", "none"), Some(()));
    bench.write("app.hp", profile(&[&[(&bench.stack(&["fill"]), 1)]]));
    bench.list("profile app.hp module\n", "-", "app");
    let raw = bench.run(&["app.hp", "-o", "-"]);
    assert_eq!((raw.code, raw.stdout), (Some(0), bench.read("app.hp")));
    assert!(raw.stderr.contains("app: it ran without build id, expected --binary; "), "{}", raw.stderr);
    let named = bench.run(&["app.hp", "-o", "-", "--binary", "app"]);
    assert_eq!((named.code, named.stderr), (Some(0), String::new()));
    assert!(!named.stdout.contains("app+0x"), "{}", named.stdout);
}

#[test]
fn what_cannot_be_used_is_said_in_one_line() {
    let Some(bench) = Bench::new() else { return };
    let good = profile(&[&[("MAIN", 1)]]);
    bench.write("app.hp", &good);
    let no_list = "app.modules: there is no such file, expected the list of modules, or --modules";
    assert_eq!(bench.refusal(&["app.hp"]), no_list);
    bench.list("profile other.hp arc\nprofile sizes.hp size\n", "11223344", "app");
    assert_eq!(
        bench.refusal(&["app.hp"]),
        "app.modules: has no line `profile app.hp`, expected it or --breakdown"
    );
    bench.write("sizes.hp", &good);
    assert_eq!(
        bench.refusal(&["sizes.hp", "-m", "app.modules"]),
        "sizes.hp: is a profile by `size`, expected one whose bands are call stacks"
    );
    assert_eq!(bench.refusal(&["gone.hp"]), "gone.hp: No such file or directory (os error 2)");
    assert_eq!(
        bench.refusal(&[".", "--breakdown", "arc", "-m", "app.modules", "-o", "x"]).split(',').next(),
        Some(".")
    );
    let arc = ["app.hp", "--breakdown", "arc"];
    assert_eq!(bench.refusal(&[&arc[..], &["-o", "app.hp"]].concat()), "app.hp: is the profile itself");
    assert_eq!(
        bench.refusal(&[&arc[..], &["-o", "app.modules"]].concat()),
        "app.modules: is the profile itself"
    );
    let given = bench.refusal(&[&arc[..], &["-b", "app", "-o", "app"]].concat());
    assert_eq!(given, "app: is the profile itself");
    assert!(bench.refusal(&[&arc[..], &["-o", "gone/x.hp"]].concat()).starts_with("gone/x.hp: "));
    bench.write("app.hp", "no profile");
    let refusal = bench.refusal(&arc);
    assert!(refusal.starts_with("app.hp, line 1: "), "{refusal}");
    bench.write("app.modules", "no list\n");
    assert_eq!(bench.refusal(&arc), "app.modules, line 1: read `no list`, expected `heapprof modules 1`");
    assert!(!bench.path("app.resolved.hp").exists());
}

#[test]
fn a_cut_profile_is_named_as_far_as_it_goes() {
    let Some(bench) = Bench::new() else { return };
    let rows: &[(&str, u64)] = &[(&bench.stack(&["fill"]), 7)];
    let whole = profile(&[rows, rows]);
    bench.write("app.hp", &whole[..whole.len() - 15]);
    bench.list("profile app.hp arc\n", "11223344", "app");
    let run = bench.run(&["app.hp"]);
    assert_eq!(run.code, Some(0));
    assert_eq!(
        run.stderr,
        "heapprof-resolve: warning: app.hp, line 8: the profile is cut off here; kept the 1 complete sample before it\n"
    );
    assert_eq!(bench.read("app.resolved.hp"), profile(&[&[("probe::cache::fill", 7)]]));
}

#[test]
fn damaged_inputs_never_panic() {
    let Some(bench) = Bench::new() else { return };
    let stack = bench.stack(&["fill", "warm", "plain"]);
    let text = profile(&[&[(&stack, 10), ("MAIN", 5)], &[(&stack, u64::MAX)]]).into_bytes();
    bench.list("profile app.hp arc\n", "11223344", "app");
    let list = bench.read("app.modules").into_bytes();
    let mut state = 7_usize;
    let mut number = |below: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    for round in 0..120 {
        let (mut text, mut list) = (text.clone(), list.clone());
        let damaged = if round % 2 == 0 { &mut text } else { &mut list };
        for _ in 0..=number(3) {
            let at = number(damaged.len());
            match number(3) {
                0 => damaged.truncate(at + 1),
                _ => damaged[at] = u8::try_from(number(256)).unwrap(),
            }
        }
        bench.write("app.hp", &text);
        bench.write("app.modules", &list);
        let output = Command::new(COMMAND).arg("app.hp").current_dir(bench.folder.path()).output().unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert!(matches!(output.status.code(), Some(0 | 1)), "{stderr}");
        assert!(output.status.success() || stderr.lines().count() <= 3, "{stderr}");
    }
}

#[test]
fn memory_does_not_grow_with_the_samples() {
    let Some(bench) = Bench::new() else { return };
    let stack = bench.stack(&["fill", "warm"]);
    let mut text = HEADER.to_owned();
    for second in 0..100_000 {
        let _ = write!(
            text,
            "BEGIN_SAMPLE {second}.000000\n{stack}\t{second}\nMAIN\t5\nOTHER\t6\nEXIT\t7\nEND_SAMPLE {second}.000000\n"
        );
    }
    bench.write("app.hp", &text);
    bench.list("profile app.hp arc\n", "11223344", "app");
    let mebibytes = text.len() >> 20;
    assert!(mebibytes >= 9, "{mebibytes}");
    // In KiB: less than the profile has, and some room for the program itself.
    let script = format!("ulimit -d 8192; exec {COMMAND} app.hp");
    let output = Command::new("sh").args(["-c", &script]).current_dir(bench.folder.path()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(totals(&bench.read("app.resolved.hp")), totals(&text));
}

#[test]
fn help_has_examples_and_wrong_usage_a_code_of_its_own() {
    let bench = Bench { folder: tempfile::tempdir().unwrap(), starts: HashMap::new() };
    let help = bench.run(&["--help"]);
    assert_eq!((help.code, help.stderr.as_str()), (Some(0), ""));
    for part in ["Examples:", "Exit codes:", "--binary <PATH>", "--modules <FILE>", "--output <OUT>"] {
        assert!(help.stdout.contains(part), "{part}: {}", help.stdout);
    }
    for args in [&[][..], &["a.hp", "b.hp"], &["a.hp", "--breakdown", "size"], &["a.hp", "--name-chars", "7"]]
    {
        assert_eq!(bench.run(args).code, Some(2), "{args:?}");
    }
}
