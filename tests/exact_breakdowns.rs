//! Every band of every breakdown of a run, byte for byte: a program whose blocks are all known says what it holds
//! at each sample, and each file must say the same, in each kind of build.
//!
//! The program, `held`, is built here, in debug and release, with and without link-time optimisation, frame
//! pointers, debug information and generic names.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "exact_breakdowns/build.rs"]
mod build;
mod common;
#[path = "exact_breakdowns/model.rs"]
mod model;

use std::path::Path;
use std::process::{Command, ExitCode};

use heapprof::hp::{self, Profile};

use build::Build;
use common::guest::Folder;
use common::harness::{self, named};
use model::{Bands, Block, Model};

/// All breakdowns, by letter and by name.
const ALL: [(&str, &str); 9] = [
    ("c", "stack"),
    ("m", "module"),
    ("a", "arc"),
    ("s", "callstack"),
    ("d", "description"),
    ("y", "type"),
    ("t", "thread"),
    ("z", "size"),
    ("b", "birth"),
];

fn main() -> ExitCode {
    harness::main(
        &[],
        named![
            debug_builds_are_exact,
            release_builds_are_exact,
            builds_with_link_time_optimisation_are_exact,
            builds_for_size_are_exact,
            builds_with_legacy_names_lack_types_alone,
            builds_without_line_tables_are_exact_in_functions,
            stripped_builds_have_addresses_for_names,
            builds_without_frame_pointers_are_as_exact,
            call_sites_are_found_without_whole_stacks,
            cost_centres_and_call_sites_go_together,
            a_profile_of_an_annotated_program_is_by_stack_from_its_first_sample,
            a_profile_of_another_program_is_by_call_site,
            a_selection_leaves_its_bands_alone,
            bands_have_the_same_names_in_every_run,
            a_profile_from_the_environment_has_the_same_call_sites,
        ],
        1,
    )
}

/// A run of the program: what it said, and its files by breakdown.
struct Run {
    model: Model,
    /// Samples taken before the program's first one.
    samples_before: usize,
    files: Vec<(String, Profile)>,
}

impl Run {
    /// Runs a build with these breakdowns (letters with commas), further variables and arguments.
    fn new(build: Build, breakdowns: &str, variables: &[(&str, &str)], args: &[&str]) -> Self {
        let folder = Folder::new();
        let mut command = Command::new(build.program());
        for (name, _) in
            std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("HEAPPROF"))
        {
            command.env_remove(name);
        }
        command.args(args).current_dir(folder.out());
        command.envs([
            ("HEAPPROF_OUTPUT", "app"),
            ("HEAPPROF_NAME_CHARS", "4900"),
            ("HEAPPROF_DEPTH", "128"),
        ]);
        if !breakdowns.is_empty() {
            command.env("HEAPPROF_BREAKDOWN", breakdowns);
        }
        command.envs(variables.iter().copied());
        let output = command.output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{build:?}: {said}{}", String::from_utf8_lossy(&output.stderr));
        assert_eq!(String::from_utf8_lossy(&output.stderr), "");
        let files = breakdowns.split(',').enumerate().map(|(at, letter)| {
            let name = ALL.iter().find(|(known, _)| *known == letter).map_or("default", |(_, name)| name);
            let file = if at == 0 { String::from("app.hp") } else { format!("app.{name}.hp") };
            (name.to_owned(), read(&folder.file(file)))
        });
        let has = |name: &str| variables.iter().any(|(known, _)| *known == name);
        let samples_before = usize::from(has("HEAPPROF_INTERVAL"));
        let run = Self { model: Model::read(&said), samples_before, files: files.collect() };
        run.check_totals(!has("HEAPPROF_SELECT"));
        run
    }

    /// All files have the same samples, each with the same total, which is what the process held.
    fn check_totals(&self, is_whole: bool) {
        let (_, first) = &self.files[0];
        for (name, file) in &self.files {
            assert_eq!(file.times_s, first.times_s, "{name}");
            for sample in 0..file.times_s.len() {
                assert_eq!(total(file, sample), total(first, sample), "{name}, sample {sample}");
            }
        }
        // The last sample is taken at the end, when the program holds what it held before.
        assert!(first.times_s.len() > self.samples_before + self.model.0.len());
        for (at, sample) in self.model.0.iter().enumerate().filter(|_| is_whole) {
            assert_eq!(total(first, self.samples_before + at), sample.live_bytes, "sample {at}");
        }
    }

    fn file(&self, breakdown: &str) -> &Profile {
        &self.files.iter().find(|(name, _)| name == breakdown).unwrap().1
    }

    /// Every difference between the bands of a breakdown and the model's.
    fn differences(&self, breakdown: &str) -> Vec<String> {
        self.differences_of(breakdown, breakdown)
    }

    /// The same of the file that is called `file`.
    fn differences_of(&self, breakdown: &str, file: &str) -> Vec<String> {
        let file = self.file(file);
        let mut differences = Vec::new();
        for (at, sample) in self.model.0.iter().enumerate() {
            let (want, got) = (sample.bands(breakdown, &file.times_s), bands(file, at));
            for name in want.keys().chain(got.keys().filter(|name| !want.contains_key(*name))) {
                if want.get(name) != got.get(name) {
                    let line = format!("{breakdown} {name}: {:?}, not {:?}", got.get(name), want.get(name));
                    differences.push(format!("sample {at}: {line}"));
                }
            }
        }
        differences
    }

    #[track_caller]
    fn expect_exact(&self, breakdowns: &[&str]) {
        let all: Vec<String> = breakdowns.iter().flat_map(|breakdown| self.differences(breakdown)).collect();
        assert!(all.is_empty(), "{} differences:\n{}", all.len(), all.join("\n"));
    }

    /// Where less is known of types, some are `?` or a guess with a question mark, and none is another one.
    #[track_caller]
    fn expect_no_wrong_type(&self) {
        let file = self.file("type");
        for (at, sample) in self.model.0.iter().enumerate() {
            let want = sample.bands("type", &file.times_s);
            for (name, bytes) in bands(file, at).iter().filter(|(name, _)| !name.contains('?')) {
                let most = want.get(name).copied().unwrap_or(0);
                assert!(*bytes <= most, "sample {at}: {name}: {bytes}, of {most}");
            }
        }
    }
}

fn read(path: &Path) -> Profile {
    let text = std::fs::read(path).unwrap_or_else(|cause| panic!("{}: {cause}", path.display()));
    hp::read(&text[..]).unwrap()
}

fn total(file: &Profile, sample: usize) -> u64 {
    file.bands.iter().map(|band| band.value(sample)).sum()
}

/// The bands of a sample; those of cost-centre stacks without their numbers.
fn bands(file: &Profile, sample: usize) -> Bands {
    let mut bands = Bands::new();
    for band in file.bands.iter().filter(|band| band.value(sample) > 0) {
        let name = String::from_utf8(band.name.clone()).unwrap();
        let name = match name.strip_prefix('(').and_then(|rest| rest.split_once(')')) {
            Some((number, rest)) if number.bytes().all(|byte| byte.is_ascii_digit()) => rest.to_owned(),
            _ => name,
        };
        *bands.entry(name).or_default() += band.value(sample);
    }
    bands
}

/// A run with all breakdowns.
fn run_all(build: Build, variables: &[(&str, &str)], args: &[&str]) -> Run {
    Run::new(build, &ALL.map(|(letter, _)| letter).join(","), variables, args)
}

fn debug_builds_are_exact() {
    run_all(Build::Debug, &[], &[]).expect_exact(&ALL.map(|(_, name)| name));
}

fn release_builds_are_exact() {
    run_all(Build::Release, &[], &[]).expect_exact(&ALL.map(|(_, name)| name));
}

/// The build takes as long as all others together.
fn builds_with_link_time_optimisation_are_exact() {
    if std::env::var_os("CI").is_none() && std::env::var_os("HEAPPROF_ALL").is_none() {
        return println!("SKIPPED: HEAPPROF_ALL=1 builds with link-time optimisation, too");
    }
    run_all(Build::Lto, &[], &[]).expect_exact(&ALL.map(|(_, name)| name));
}

fn builds_for_size_are_exact() {
    run_all(Build::Small, &[], &[]).expect_exact(&ALL.map(|(_, name)| name));
}

fn builds_with_legacy_names_lack_types_alone() {
    let mut run = run_all(Build::Legacy, &[], &[]);
    run.model.change(|block| {
        for (label, _) in &mut block.calls {
            // A method that the trait provides is the trait's, whatever it is called on.
            *label = label.replace("<held::things::Dog as Speak>::whisper", "held::things::Speak::whisper");
        }
    });
    run.expect_exact(&ALL.map(|(_, name)| name).map(|name| if name == "type" { "size" } else { name }));
    // The code for vectors of numbers is shared with the crates the program depends on, which are built without
    // debug information here: only that tells the arguments.
    let is_of_numbers = |line: &String| {
        let names = ["Vec<u8>", "Vec<u16>", "Vec<u32>", "Vec<u64>", "Vec<u8?>", "Vec<?>"];
        names.iter().any(|name| line.contains(&format!("type {name}:")))
    };
    let others: Vec<String> =
        run.differences("type").into_iter().filter(|line| !is_of_numbers(line)).collect();
    assert!(others.is_empty(), "{}", others.join("\n"));
}

/// Without line tables nothing tells of functions that the compiler has made part of their callers.
fn builds_without_line_tables_are_exact_in_functions() {
    const INLINED: [&str; 4] = [
        "held::calls::inlined",
        "held::calls::between",
        "held::calls::Pool::take",
        "held::vecs::nested::{closure}",
    ];
    let mut run = run_all(Build::NoLines, &[], &[]);
    run.model.change(|block| {
        match block.asked() {
            "held::vecs::nested::{closure}" => block.holds = String::from("Vec<Vec<u8>>"),
            "<Vec as held::things::Make>::make" => block.holds = String::from("Vec<u8>"),
            _ => {}
        }
        block.calls.retain(|(label, _)| !INLINED.contains(&label.as_str()));
        block.calls.iter_mut().for_each(|(_, line)| line.clear());
    });
    run.expect_exact(&["stack", "module", "arc", "callstack", "thread", "size", "birth"]);
    run.expect_no_wrong_type();
}

fn stripped_builds_have_addresses_for_names() {
    let mut run = run_all(Build::Stripped, &[], &[]);
    run.model.change(|block| block.module = String::from("held"));
    run.expect_exact(&["stack", "module", "thread", "size", "birth"]);
    // The same program says which addresses there are on the stack: libc's have names.
    let raw = Run::new(Build::Stripped, "s", &[("HEAPPROF_SYMBOLS", "offline")], &[]);
    let own = |name: &str| {
        let labels: Vec<&str> = name.split('/').filter(|label| label.starts_with("held+0x")).collect();
        if labels.is_empty() { name.to_owned() } else { labels.join("/") }
    };
    let two = |name: &str| name.split('/').take(2).collect::<Vec<_>>().join("/");
    for at in 0..run.model.0.len() {
        let stacks = bands(run.file("callstack"), at);
        assert_eq!(stacks, renamed(&bands(raw.file("callstack"), at), own), "sample {at}");
        assert_eq!(bands(run.file("arc"), at), renamed(&stacks, two), "sample {at}");
        let unknown: u64 = run.model.0[at].blocks.iter().map(|block| block.bytes).sum();
        assert_eq!(bands(run.file("type"), at).get("?").copied().unwrap_or(0), unknown, "sample {at}");
    }
}

/// The bands under other names, added up where they get one.
fn renamed(bands: &Bands, name: impl Fn(&str) -> String) -> Bands {
    let mut sums = Bands::new();
    for (old, bytes) in bands {
        *sums.entry(name(old)).or_default() += bytes;
    }
    sums
}

fn builds_without_frame_pointers_are_as_exact() {
    run_all(Build::NoFrames, &[("HEAPPROF_SAMPLE", "off")], &[]).expect_exact(&ALL.map(|(_, name)| name));
}

/// Only the frames up to the second function of the program's own are looked at: enough in debug builds, where
/// the library's functions in front of them are many, as soon as the profiler knows them.
fn call_sites_are_found_without_whole_stacks() {
    const OF_SITES: [&str; 4] = ["arc", "module", "description", "type"];
    Run::new(Build::Debug, "a,m,d,y", &[], &["warm"]).expect_exact(&OF_SITES);
    Run::new(Build::Release, "a,m,d,y", &[], &["warm"]).expect_exact(&OF_SITES);
}

fn cost_centres_and_call_sites_go_together() {
    run_all(Build::Debug, &[], &["annotated"]).expect_exact(&ALL.map(|(_, name)| name));
    run_all(Build::Release, &[], &["annotated"]).expect_exact(&ALL.map(|(_, name)| name));
}

fn a_profile_of_an_annotated_program_is_by_stack_from_its_first_sample() {
    let open = Run::new(Build::Release, "", &[], &["annotated"]);
    assert_eq!(open.differences_of("stack", "default"), [""; 0]);
}

fn a_profile_of_another_program_is_by_call_site() {
    let open = Run::new(Build::Release, "", &[], &["warm"]);
    assert_eq!(open.differences_of("arc", "default"), [""; 0]);
}

fn a_selection_leaves_its_bands_alone() {
    let select = |selector, args: &[&str], keeps: fn(&Block) -> bool| {
        let breakdowns = if args.is_empty() { "s,a,c,z" } else { "a,z" };
        let mut run = Run::new(Build::Release, breakdowns, &[("HEAPPROF_SELECT", selector)], args);
        run.model.keep_only(keeps);
        assert!(run.model.0.iter().any(|sample| sample.blocks.len() > 1), "{selector}");
        run.expect_exact(if args.is_empty() {
            &["callstack", "arc", "stack", "size"]
        } else {
            &["arc", "size"]
        });
    };
    let is_of_vecs =
        |block: &Block| block.calls[..2].iter().any(|(label, _)| label.starts_with("held::vecs::"));
    select("arc=held::vecs::*", &[], is_of_vecs);
    select("type=Vec<u64>", &[], |block| block.holds == "Vec<u64>");
    select("size=33-64,thread=main", &[], |block| (33..=64).contains(&block.bytes) && block.thread == "main");
    select("thread=reader", &[], |block| block.thread == "reader");
    select("centre=load", &["annotated"], |block| block.centres == "load");
    select("stack=load", &["annotated"], |block| block.centres.ends_with("load"));
}

fn bands_have_the_same_names_in_every_run() {
    let runs =
        [(), ()].map(|()| Run::new(Build::Release, "s,a,y", &[("HEAPPROF_NAME_CHARS", "60")], &["warm"]));
    let whole = Run::new(Build::Release, "s,a,y", &[], &["warm"]);
    for at in 0..whole.model.0.len() {
        for breakdown in ["callstack", "arc", "type"] {
            let [one, other] = runs.each_ref().map(|run| bands(run.file(breakdown), at));
            assert_eq!(one, other, "sample {at}");
            assert!(one.keys().all(|name| name.chars().count() <= 60), "{one:?}");
            // No two of them have become one.
            assert_eq!(one.len(), bands(whole.file(breakdown), at).len(), "sample {at}");
        }
    }
}

/// Then the blocks of the program's start are in it, too.
fn a_profile_from_the_environment_has_the_same_call_sites() {
    let variables = [("HEAPPROF_INTERVAL", "3600"), ("HEAPPROF_QUIET", "on")];
    let run = run_all(Build::Debug, &variables, &[]);
    for breakdown in ["arc", "callstack"] {
        let file = run.file(breakdown);
        for (at, sample) in run.model.0.iter().enumerate() {
            let got = bands(file, run.samples_before + at);
            for (name, bytes) in sample.bands(breakdown, &file.times_s) {
                assert!(
                    name == "BEFORE_PROFILE" || got.get(&name) == Some(&bytes),
                    "sample {at}: {name}: {bytes}"
                );
            }
        }
    }
}
