//! Every setting, good and bad, from every source; who wins; who is refused.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::ffi::CString;
use std::hint::black_box;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::process::ExitCode;
use std::sync::Barrier;
use std::time::Duration;

mod common;
use common::guest::{Folder, Guest, Outcome, names_in};
use common::harness::{self, named};
use common::profile::{bytes_at, last_bytes, whole_hp, whole_prof};
use common::tools::{is_root, skip};
use heapprof::{Breakdown, Clock, Profiler, Sampler, cost_centre};

#[global_allocator]
static ALLOC: heapprof::HeapProf = heapprof::HeapProf::new();

// ---- roles -------------------------------------------------------------------------------------

/// Holds 1,000 bytes, counts its threads, and ends with 7.
fn keeps(_: &[String]) {
    let outer = cost_centre!("outer");
    std::mem::forget(cost_centre!("kept" => black_box(vec![1u8; 1_000])));
    drop(outer);
    let _ = heapprof::sample_now();
    let threads = std::fs::read_dir("/proc/self/task").unwrap().count();
    println!("{threads} threads, tagging: {}", heapprof::stats().is_some());
    std::process::exit(7);
}

/// Enters 40 centres, as many stacks.
fn has_forty_stacks(_: &[String]) {
    macro_rules! keep {
        ($($name:literal)*) => { $(cost_centre!($name => std::mem::forget(black_box(vec![1u8; 100])));)* };
    }
    keep!("a" "b" "c" "d" "e" "f" "g" "h" "i" "j" "k" "l" "m" "n" "o" "p" "q" "r" "s" "t");
    keep!("A" "B" "C" "D" "E" "F" "G" "H" "I" "J" "K" "L" "M" "N" "O" "P" "Q" "R" "S" "T");
    std::process::exit(7);
}

/// Starts a profile with every setting of the builder's, prints how that went, and ends with 7.
fn builds(args: &[String]) {
    let mut builder = Profiler::builder().interval(Duration::from_millis(1)).output("built").quiet(true);
    for arg in args {
        builder = match arg.as_str() {
            "interval" => builder.interval(Duration::from_micros(999)),
            "long interval" => builder.interval(Duration::from_secs(86_401)),
            "tick" => builder.tick(Duration::from_micros(99)),
            "long tick" => builder.tick(Duration::from_millis(1_001)),
            "output" => builder.output(""),
            "placeholder" => builder.output("%q"),
            "stacks" => builder.stacks(15),
            "inline" => builder.sampler(Sampler::Inline),
            "centre" => builder.breakdown(Breakdown::Centre),
            "cpu" => builder.clock(Clock::Cpu),
            "own" => builder.own(true),
            "resident" => builder.resident(true),
            "loud" => builder.quiet(false),
            other => panic!("no setting {other}"),
        };
    }
    match builder.start() {
        Ok(profile) => {
            std::mem::forget(cost_centre!("kept" => black_box(vec![1u8; 1_000])));
            println!("{}", profile.stop().unwrap().hp.file_name().unwrap().display());
        }
        Err(error) => println!("{error}"),
    }
    std::process::exit(7);
}

/// Starts profiles on eight threads at once.
fn starts_eight_times(_: &[String]) {
    let barrier = Barrier::new(8);
    for round in 0..20 {
        let start = || {
            barrier.wait();
            let started = Profiler::builder().output(format!("round{round}")).quiet(true).start();
            barrier.wait();
            started
        };
        let started: Vec<_> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..8).map(|_| scope.spawn(start)).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        let refused = started.iter().filter_map(|one| one.as_ref().err());
        assert!(refused.clone().all(heapprof::Error::is_already_running), "{started:?}");
        assert_eq!(refused.count(), 7, "{started:?}");
        started.into_iter().flatten().for_each(|profile| drop(profile.stop().unwrap()));
    }
    println!("twenty rounds");
}

/// Allocates without end until there are 300 samples, whoever takes them.
fn allocates(_: &[String]) {
    let mut held = Vec::new();
    for round in 0.. {
        held.push(cost_centre!("block" => vec![0u8; 1 + round % 4_000]));
        if held.len() > 1_000 {
            held.clear();
        }
        if round % 1_000 == 0
            && std::fs::read_to_string("app.hp").unwrap_or_default().matches("END_SAMPLE").count() > 300
        {
            break;
        }
    }
    println!("{} threads", std::fs::read_dir("/proc/self/task").unwrap().count());
}

// ---- helpers -----------------------------------------------------------------------------------

fn keeps_in(folder: &Folder) -> Guest {
    folder.guest("keeps")
}

fn toml(folder: &Folder, text: &str) {
    std::fs::write(folder.file("heapprof.toml"), text).unwrap();
}

/// That the guest ran unprofiled, to its ordinary end, with one line that names place and value.
#[track_caller]
fn refused(folder: &Folder, outcome: Outcome, place: &str, rest: &[&str]) {
    let outcome = outcome.ended_with(7);
    let line = outcome.only_line();
    assert!(line.starts_with(place), "{line}");
    assert!(rest.iter().all(|part| line.contains(part)), "{line}: {rest:?}");
    assert!(line.ends_with("; the program runs unprofiled"), "{line}");
    let left: Vec<String> = folder.files().into_iter().filter(|name| name != "heapprof.toml").collect();
    assert_eq!(left, [""; 0]);
}

/// Every key but the switch: values that are accepted, values that are not, and a word of what is.
const SETTINGS: [(&str, &[&str], &[&str], &str); 16] = [
    (
        "interval",
        &["0.001", "1", "86400", "5ms", "2s", "1m", "1000us"],
        &["0", "0.0009", "86401", "-1", "nan", "inf", "1h", "ms", "x", "1 000"],
        "seconds from 0.001 to 86400",
    ),
    ("output", &["app", "app.hp"], &[".hp", "dir/", "%q", "app%"], "%e program"),
    (
        "breakdown",
        &["stack", "c", "centre", "center", "module", "m", "t", "thread,size", "c,z,b", "birth, z"],
        &["Stack", "types", "cc", "c,", "c;m"],
        "stack (c), centre, module (m), arc (a)",
    ),
    (
        "select",
        &["centre=x", "stack=a*,thread=main", "size=17-32", "c="],
        &["centre", "x=y", "centre,x=y"],
        "BREAKDOWN=PATTERN",
    ),
    ("depth", &["1", "128"], &["0", "129", "-1", "x"], "a whole number from 1 to 128"),
    (
        "sample",
        &["off", "1", "512k", "1m", "1g"],
        &["0", "on", "2g", "-1", "1.5", "k"],
        "off, or bytes from 1",
    ),
    ("symbols", &["on", "offline"], &["off", "yes"], "on or offline"),
    ("clock", &["elapsed", "cpu"], &["wall", "CPU"], "elapsed or cpu"),
    ("sampler", &["thread", "inline"], &["signal", "Thread"], "thread or inline"),
    ("tick", &["0.0001", "1", "1ms", "500us"], &["0", "2", "1us", "10m", "x"], "seconds from 0.0001 to 1"),
    (
        "stacks",
        &["16", "65536"],
        &["15", "0", "-1", "1048577", "1e3", "many", "16.5"],
        "a whole number from 16",
    ),
    ("samples", &["2", "4294967295"], &["1", "0", "-5", "4294967296", "x"], "a whole number from 2"),
    ("name_chars", &["8", "4900"], &["7", "4901", "x", "-1"], "a whole number from 8 to 4900"),
    (
        "resident",
        &["on", "off", "1", "0", "true", "false", "yes", "no"],
        &["maybe", "ON", "armed", "2"],
        "on or off",
    ),
    ("own", &["on", "off", "true", "no"], &["maybe", "armed"], "on or off"),
    ("quiet", &["on", "off", "yes", "0"], &["maybe", "armed"], "on or off"),
];

// ---- the environment ---------------------------------------------------------------------------

fn every_variable_takes_its_good_values() {
    for (key, good, ..) in SETTINGS {
        for value in good {
            let folder = Folder::new();
            let variable = format!("HEAPPROF_{}", key.to_uppercase());
            let outcome = keeps_in(&folder).profiled().env(&variable, value).run().ended_with(7);
            let quiet = key == "quiet" && ["on", "yes"].contains(value);
            assert_eq!(outcome.lines().len(), usize::from(!quiet), "{variable}={value}: {}", outcome.stderr);
            whole_hp(&folder.file("app.hp"));
            whole_prof(&folder.file("app.prof"));
        }
    }
}

fn every_variable_refuses_its_bad_values_in_one_line() {
    for (key, _, bad, accepted) in SETTINGS {
        for value in bad {
            let folder = Folder::new();
            let variable = format!("HEAPPROF_{}", key.to_uppercase());
            let outcome = keeps_in(&folder).profiled().env(&variable, value).run();
            refused(&folder, outcome, &format!("{variable}: "), &[&format!("`{value}`"), accepted]);
        }
    }
}

fn an_empty_variable_is_none() {
    for (key, ..) in SETTINGS {
        let folder = Folder::new();
        let variable = format!("HEAPPROF_{}", key.to_uppercase());
        let outcome = keeps_in(&folder).env("HEAPPROF", "on").env(&variable, "").run().ended_with(7);
        assert_eq!(outcome.lines().len(), 1, "{variable}: {}", outcome.stderr);
        assert_eq!(folder.files(), ["app.hp", "app.prof"], "{variable}");
    }
}

fn the_switch_takes_its_words_and_refuses_others() {
    for (value, files) in [
        ("on", 2),
        ("1", 2),
        ("true", 2),
        ("yes", 2),
        ("off", 0),
        ("0", 0),
        ("no", 0),
        ("false", 0),
        ("", 0),
        ("armed", 0),
    ] {
        let folder = Folder::new();
        let outcome = keeps_in(&folder).env("HEAPPROF", value).run().ended_with(7);
        assert_eq!(folder.files().len(), files, "HEAPPROF={value}");
        assert_eq!(outcome.lines().len(), files / 2, "HEAPPROF={value}: {}", outcome.stderr);
        let tagging = files > 0 || value == "armed";
        assert!(outcome.text().ends_with(&format!("tagging: {tagging}\n")), "HEAPPROF={value}");
    }
    for value in ["maybe", "ON", "2", " on", "on ", "größe"] {
        let folder = Folder::new();
        let outcome = keeps_in(&folder).env("HEAPPROF", value).run();
        refused(&folder, outcome, "HEAPPROF: ", &[&format!("`{value}`"), "on, off or armed"]);
    }
}

fn the_switch_turns_a_wish_for_a_profile_off() {
    let folder = Folder::new();
    toml(&folder, "interval = 1\n");
    for value in ["off", "armed"] {
        let outcome = keeps_in(&folder).profiled().env("HEAPPROF", value).run().ended_with(7);
        assert_eq!(outcome.lines(), [""; 0]);
        assert_eq!(folder.files(), ["heapprof.toml"]);
    }
}

fn a_variable_that_is_not_known_is_named_and_ignored() {
    let folder = Folder::new();
    let outcome = keeps_in(&folder).profiled().env("HEAPPROF_INTREVAL", "5").run().ended_with(7);
    assert_eq!(outcome.lines().len(), 2, "{}", outcome.stderr);
    assert_eq!(outcome.lines()[0], "HEAPPROF_INTREVAL: no such setting, ignored");
    assert_eq!(folder.files(), ["app.hp", "app.prof"]);
}

fn other_variables_alone_start_nothing() {
    let folder = Folder::new();
    let outcome = keeps_in(&folder).env("HEAPPROF_OUTPUT", "x").env("HEAPPROF_OWN", "on").run().ended_with(7);
    assert!(outcome.text().ends_with("tagging: false\n"));
    assert_eq!(folder.files(), [""; 0]);
}

fn a_value_that_is_not_utf8_is_refused() {
    let folder = Folder::new();
    let value = std::ffi::OsStr::from_bytes(b"1\xFF");
    let outcome = keeps_in(&folder).env("HEAPPROF_INTERVAL", value).run();
    refused(&folder, outcome, "HEAPPROF_INTERVAL: ", &["`1\u{FFFD}`"]);
}

// ---- heapprof.toml -----------------------------------------------------------------------------

fn every_key_takes_its_good_values() {
    for (key, good, ..) in SETTINGS {
        for value in good {
            let folder = Folder::new();
            toml(&folder, &format!("# ours\nprofile = \"on\"\n{key} = \"{value}\"\n"));
            let outcome = keeps_in(&folder).run().ended_with(7);
            let quiet = key == "quiet" && ["on", "yes"].contains(value);
            assert_eq!(outcome.lines().len(), usize::from(!quiet), "{key} = {value}: {}", outcome.stderr);
            whole_hp(&folder.file("app.hp"));
            whole_prof(&folder.file("app.prof"));
        }
    }
}

fn every_key_refuses_its_bad_values_in_one_line() {
    for (key, _, bad, accepted) in SETTINGS {
        for value in bad {
            let folder = Folder::new();
            toml(&folder, &format!("# ours\nprofile = true\n{key} = \"{value}\"\n"));
            let read = format!("`{value}`");
            refused(
                &folder,
                keeps_in(&folder).run(),
                &format!("heapprof.toml, line 3, {key}: "),
                &[&read, accepted],
            );
        }
    }
}

fn numbers_and_booleans_need_no_quotes() {
    let folder = Folder::new();
    toml(
        &folder,
        "interval = 0.001\nstacks = 64\nsamples = 100\nown = true\nquiet = true\nname_chars = 60\n",
    );
    let outcome = keeps_in(&folder).run().ended_with(7);
    assert_eq!(outcome.lines(), [""; 0]);
    assert!(whole_hp(&folder.file("app.hp")).band("HEAPPROF").is_some());
}

fn the_file_alone_starts_a_profile_and_its_switch_decides() {
    for (text, files) in [
        ("", 2),
        ("own = true", 2),
        ("profile = \"off\"", 0),
        ("profile = false", 0),
        ("profile = \"armed\"", 0),
        ("profile = true", 2),
    ] {
        let folder = Folder::new();
        toml(&folder, text);
        let outcome = keeps_in(&folder).run().ended_with(7);
        assert_eq!(folder.files().len(), 1 + files, "{text}: {}", outcome.stderr);
        assert_eq!(outcome.lines().len(), files / 2, "{text}: {}", outcome.stderr);
    }
}

fn a_bad_file_is_refused_with_its_line() {
    let cases: [(&[u8], &str, &[&str]); 11] = [
        (b"own = true\nintreval = 1\n", "heapprof.toml, line 2, intreval: ", &["no such setting"]),
        (b"\n\nprofile = \"maybe\"\n", "heapprof.toml, line 3, profile: ", &["`maybe`", "on, off or armed"]),
        (b"own = true\ninterval = \n", "heapprof.toml: line 2", &[]),
        (b"own = true\nnot toml at all\n", "heapprof.toml: line 2", &[]),
        (b"interval = [1]\n", "heapprof.toml: line 1", &[]),
        (b"[table]\ninterval = 1\n", "heapprof.toml: line 1", &[]),
        (b"own = 1\nown = 2\n", "heapprof.toml: line 2", &[]),
        (b"own = \"\xFF\"\n", "heapprof.toml: ", &["not UTF-8"]),
        (b"output = \"a/b\"\n", "heapprof.toml, line 1, output: ", &["`a/b`", "a file name in this folder"]),
        (b"output = \"/tmp/x\"\n", "heapprof.toml, line 1, output: ", &["`/tmp/x`"]),
        (b"interval = 1979-05-27\n", "heapprof.toml: line 1", &[]),
    ];
    for (text, place, rest) in cases {
        let folder = Folder::new();
        std::fs::write(folder.file("heapprof.toml"), text).unwrap();
        refused(&folder, keeps_in(&folder).run(), place, rest);
    }
}

fn a_file_that_is_a_folder_is_refused() {
    let folder = Folder::new();
    std::fs::create_dir(folder.file("heapprof.toml")).unwrap();
    refused(&folder, keeps_in(&folder).run(), "heapprof.toml: ", &[]);
}

fn a_file_that_is_a_pipe_keeps_nobody_waiting() {
    let folder = Folder::new();
    let path = CString::new(folder.file("heapprof.toml").as_os_str().as_bytes()).unwrap();
    // SAFETY: the path ends with NUL.
    assert_eq!(unsafe { libc::mkfifo(path.as_ptr(), 0o666) }, 0);
    refused(&folder, keeps_in(&folder).run(), "heapprof.toml: ", &["is not a regular file"]);
}

fn a_file_above_64_kib_is_refused() {
    let folder = Folder::new();
    toml(&folder, &format!("interval = 0.001\n#{}\n", "x".repeat(70_000 - 19)));
    assert_eq!(std::fs::metadata(folder.file("heapprof.toml")).unwrap().len(), 70_000);
    refused(&folder, keeps_in(&folder).run(), "heapprof.toml: is larger than 64 KiB; ", &[]);
    let full = Folder::new();
    toml(&full, &format!("interval = 0.001\n#{}\n", "x".repeat((64 << 10) - 19)));
    keeps_in(&full).run().ended_with(7);
    assert_eq!(full.files(), ["app.hp", "app.prof", "heapprof.toml"], "64 KiB themselves are read");
}

fn more_stacks_than_the_tables_hold_are_refused_in_the_file() {
    let folder = Folder::new();
    toml(&folder, "stacks = 65537\n");
    refused(
        &folder,
        keeps_in(&folder).run(),
        "heapprof.toml, line 1, stacks: ",
        &["`65537`", "a whole number from 16 to 65536"],
    );
    let folder = Folder::new();
    keeps_in(&folder).profiled().env("HEAPPROF_STACKS", "65537").run().ended_with(7);
    assert_eq!(folder.files(), ["app.hp", "app.prof"], "the variable is read before the tables are made");
}

// ---- either ------------------------------------------------------------------------------------

fn an_output_that_names_a_folder_is_refused() {
    for value in [".", "..", "..hp", "...hp", "x/..", "../out/.", "../.."] {
        let folder = Folder::new();
        let outcome = keeps_in(&folder).profiled().env("HEAPPROF_OUTPUT", value).run();
        refused(&folder, outcome, "HEAPPROF_OUTPUT: ", &[&format!("`{value}`"), "a file name"]);
        if !value.contains('/') {
            toml(&folder, &format!("output = \"{value}\"\n"));
            let outcome = keeps_in(&folder).run();
            refused(&folder, outcome, "heapprof.toml, line 1, output: ", &[&format!("`{value}`")]);
        }
        let mut above = names_in(folder.root());
        above.retain(|name| !name.starts_with("stdout-") && !name.starts_with("stderr-"));
        assert_eq!(above, ["bin", "out"], "{value}");
    }
}

fn the_least_tick_may_be_written_in_any_unit() {
    for value in ["0.0001", "0.1ms", "100us", "0.0001s"] {
        let folder = Folder::new();
        keeps_in(&folder).profiled().env("HEAPPROF_TICK", value).run().ended_with(7);
        assert_eq!(folder.files(), ["app.hp", "app.prof"], "{value}");
        let folder = Folder::new();
        toml(&folder, &format!("tick = \"{value}\"\n"));
        keeps_in(&folder).run().ended_with(7);
        assert_eq!(folder.files(), ["app.hp", "app.prof", "heapprof.toml"], "{value}");
    }
}

fn a_long_value_is_shown_cut() {
    let folder = Folder::new();
    for variable in ["HEAPPROF", "HEAPPROF_INTERVAL", "HEAPPROF_OUTPUT"] {
        let long = "%ä".repeat(33_334);
        let outcome = keeps_in(&folder).profiled().env(variable, &long).run();
        assert!(outcome.stderr.len() < 400, "{variable}: {} bytes", outcome.stderr.len());
        refused(&folder, outcome, &format!("{variable}: read `%ä%ä"), &["…`, expected "]);
    }
    toml(&folder, &format!("interval = \"{}\"\n", "x".repeat(60_000)));
    let outcome = keeps_in(&folder).run();
    assert!(outcome.stderr.len() < 400, "{} bytes", outcome.stderr.len());
    refused(&folder, outcome, "heapprof.toml, line 1, interval: read `xxx", &["x…`, expected "]);
}

// ---- who wins ----------------------------------------------------------------------------------

fn the_environment_goes_over_the_file_over_the_builder_over_the_default() {
    let names = |file: Option<&str>, variable: Option<&str>| {
        let folder = Folder::new();
        let mut guest = folder.guest("builds").env("HEAPPROF", "armed");
        if let Some(text) = file {
            toml(&folder, text);
        }
        if let Some(value) = variable {
            guest = guest.env("HEAPPROF_OUTPUT", value);
        }
        let outcome = guest.run().ended_with(7);
        let hp = outcome.text().trim_end().to_owned();
        assert_eq!(last_bytes(&whole_hp(&folder.file(&hp)), "kept"), 1_000);
        hp
    };
    assert_eq!(names(None, None), "built.hp");
    assert_eq!(names(Some("own = true"), None), "built.hp");
    assert_eq!(names(Some("output = \"filed\""), None), "filed.hp");
    assert_eq!(names(Some("output = \"filed\""), Some("said")), "said.hp");
    assert_eq!(names(None, Some("said")), "said.hp");
    assert_eq!(names(None, Some("%e")), "app.hp");
}

fn the_environment_goes_over_the_file_without_a_builder() {
    let folder = Folder::new();
    toml(&folder, "output = \"filed\"\nquiet = true\nown = true\n");
    keeps_in(&folder).env("HEAPPROF_OUTPUT", "said").run().ended_with(7);
    assert_eq!(folder.files(), ["heapprof.toml", "said.hp", "said.prof"]);
    assert!(whole_hp(&folder.file("said.hp")).band("HEAPPROF").is_some(), "the file's other settings hold");
}

fn a_variable_goes_over_the_files_bad_value() {
    // The first bad value is refused whoever goes over it: a file in disorder is worth a word.
    let folder = Folder::new();
    toml(&folder, "interval = 0\n");
    let outcome = keeps_in(&folder).env("HEAPPROF_INTERVAL", "1").run();
    refused(&folder, outcome, "heapprof.toml, line 1, interval: ", &["`0`"]);
}

fn the_builder_refuses_what_the_text_refuses() {
    let cases = [
        ("interval", "builder, interval: read `0.000999`"),
        ("long interval", "builder, interval: read `86401.000000`"),
        ("tick", "builder, tick: read `0.000099`"),
        ("long tick", "builder, tick: read `1.001000`"),
        ("output", "builder, output: read ``"),
        ("placeholder", "builder, output: read `%q`"),
        ("stacks", "builder, stacks: read `15`"),
    ];
    for (setting, want) in cases {
        let folder = Folder::new();
        let outcome = folder.guest("builds").arg(setting).env("HEAPPROF", "armed").run().ended_with(7);
        assert!(outcome.text().starts_with(want), "{}", outcome.text());
        assert_eq!((outcome.lines(), folder.files()), (vec![], vec![]));
    }
    for setting in ["inline", "centre", "cpu", "own", "resident", "loud"] {
        let folder = Folder::new();
        let outcome = folder.guest("builds").arg(setting).env("HEAPPROF", "armed").run().ended_with(7);
        assert_eq!(outcome.text(), "built.hp\n");
        assert_eq!(outcome.lines().len(), usize::from(setting == "loud"), "{}", outcome.stderr);
        let hp = whole_hp(&folder.file("built.hp"));
        assert_eq!(last_bytes(&hp, "kept"), 1_000);
        assert_eq!(hp.band("HEAPPROF").is_some(), setting == "own");
    }
}

fn a_process_that_does_not_tag_says_what_to_do() {
    let folder = Folder::new();
    let outcome = folder.guest("builds").run().ended_with(7);
    assert!(
        outcome.text().contains("HEAPPROF=armed") && outcome.text().contains(".armed()"),
        "{}",
        outcome.text()
    );
    assert_eq!(folder.files(), [""; 0]);
}

fn of_eight_starts_at_once_one_succeeds() {
    let folder = Folder::new();
    let outcome = folder.guest("starts_eight_times").env("HEAPPROF", "armed").run().ended_with(0);
    assert_eq!(outcome.text(), "twenty rounds\n");
    assert_eq!(folder.files().len(), 40);
    for round in 0..20 {
        whole_hp(&folder.file(format!("round{round}.hp")));
    }
}

// ---- what the settings do ----------------------------------------------------------------------

fn bands_are_what_the_breakdown_says() {
    for (breakdown, name) in [("stack", "kept/outer"), ("centre", "kept"), ("module", "guest_config")] {
        let folder = Folder::new();
        keeps_in(&folder).profiled().env("HEAPPROF_BREAKDOWN", breakdown).run().ended_with(7);
        let hp = whole_hp(&folder.file("app.hp"));
        let named = hp.bands.iter().filter(|band| band.name.ends_with(name.as_bytes()));
        let last = hp.times_s.len() - 1;
        assert_eq!(named.map(|band| band.value(last)).sum::<u64>(), 1_000, "{breakdown}");
    }
}

fn stacks_beyond_the_limit_fold_and_the_user_is_told() {
    let folder = Folder::new();
    let guest = folder.guest("has_forty_stacks").profiled().env("HEAPPROF_STACKS", "16");
    let outcome = guest.run().ended_with(7);
    assert_eq!(outcome.lines().len(), 2, "{}", outcome.stderr);
    assert!(
        outcome.lines()[1].contains("the limit of 16 stacks was reached; 30 entries"),
        "{}",
        outcome.stderr
    );
    assert_eq!(last_bytes(&whole_hp(&folder.file("app.hp")), "OTHER"), 30 * 100);
}

fn quiet_says_nothing_about_success() {
    let folder = Folder::new();
    let outcome = keeps_in(&folder).profiled().env("HEAPPROF_QUIET", "on").run().ended_with(7);
    assert_eq!(outcome.stderr, "");
    assert_eq!(folder.files(), ["app.hp", "app.prof"]);
}

fn inline_samples_need_no_thread() {
    for (sampler, threads) in [("thread", 2), ("inline", 1)] {
        let folder = Folder::new();
        let outcome =
            folder.guest("allocates").profiled().env("HEAPPROF_SAMPLER", sampler).run().ended_with(0);
        assert_eq!(outcome.text(), format!("{threads} threads\n"), "{sampler}");
        let hp = whole_hp(&folder.file("app.hp"));
        assert!(hp.times_s.len() > 300, "{sampler}: {} samples", hp.times_s.len());
        assert!((0..hp.times_s.len()).any(|sample| bytes_at(&hp, "block", sample) > 100_000), "{sampler}");
        assert!(whole_prof(&folder.file("app.prof")).total_s > 0.0, "{sampler}");
    }
}

// ---- privilege ---------------------------------------------------------------------------------

/// A guest whose program file is another user's with the set-user-id bit.
fn set_user_id(folder: &Folder, role: &str) -> Option<Guest> {
    if !is_root() {
        skip("not root, so no file can be given to another user");
        return None;
    }
    let program = folder.root().join("bin").join("app");
    std::fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
    std::os::unix::fs::chown(&program, Some(65_534), None).unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o4755)).unwrap();
    std::fs::set_permissions(folder.out(), std::fs::Permissions::from_mode(0o777)).unwrap();
    Some(folder.guest(role))
}

fn raised_privilege_ignores_environment_and_file() {
    let folder = Folder::new();
    let Some(guest) = set_user_id(&folder, "keeps") else { return };
    toml(&folder, "interval = 0.001\n");
    let outcome = guest.profiled().env("HEAPPROF", "on").env("HEAPPROF_OUTPUT", "x").run().ended_with(7);
    assert_eq!(outcome.text(), "1 threads, tagging: false\n");
    assert_eq!(outcome.stderr, "");
    assert_eq!(folder.files(), ["heapprof.toml"]);
}

fn raised_privilege_is_not_told_of_bad_values() {
    let folder = Folder::new();
    let Some(guest) = set_user_id(&folder, "keeps") else { return };
    let outcome = guest.env("HEAPPROF", "maybe").env("HEAPPROF_INTERVAL", "x").run().ended_with(7);
    assert_eq!(outcome.stderr, "");
}

fn main() -> ExitCode {
    let roles = named![keeps, has_forty_stacks, builds, starts_eight_times, allocates];
    let tests = named![
        every_variable_takes_its_good_values,
        every_variable_refuses_its_bad_values_in_one_line,
        an_empty_variable_is_none,
        the_switch_takes_its_words_and_refuses_others,
        the_switch_turns_a_wish_for_a_profile_off,
        a_variable_that_is_not_known_is_named_and_ignored,
        other_variables_alone_start_nothing,
        a_value_that_is_not_utf8_is_refused,
        every_key_takes_its_good_values,
        every_key_refuses_its_bad_values_in_one_line,
        numbers_and_booleans_need_no_quotes,
        the_file_alone_starts_a_profile_and_its_switch_decides,
        a_bad_file_is_refused_with_its_line,
        a_file_that_is_a_folder_is_refused,
        a_file_that_is_a_pipe_keeps_nobody_waiting,
        a_file_above_64_kib_is_refused,
        more_stacks_than_the_tables_hold_are_refused_in_the_file,
        an_output_that_names_a_folder_is_refused,
        the_least_tick_may_be_written_in_any_unit,
        a_long_value_is_shown_cut,
        the_environment_goes_over_the_file_over_the_builder_over_the_default,
        the_environment_goes_over_the_file_without_a_builder,
        a_variable_goes_over_the_files_bad_value,
        the_builder_refuses_what_the_text_refuses,
        a_process_that_does_not_tag_says_what_to_do,
        of_eight_starts_at_once_one_succeeds,
        bands_are_what_the_breakdown_says,
        stacks_beyond_the_limit_fold_and_the_user_is_told,
        quiet_says_nothing_about_success,
        inline_samples_need_no_thread,
        raised_privilege_ignores_environment_and_file,
        raised_privilege_is_not_told_of_bad_values,
    ];
    harness::main(roles, tests, 2)
}
