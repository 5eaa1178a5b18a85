//! No input makes hp2ps panic, hang, write more than its size allows or say more than one line; what it draws is a
//! page of words and finite numbers. The environment variable HEAPPROF_FUZZ tells how many inputs are tried.
//!
//! An input that fails is left in the target folder. Mended, it belongs into `tests/data/hp/found`.

mod hp_common;
mod mutations_common;

use std::ffi::OsString;
use std::fs;
use std::io::Cursor;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::process::{Command, Stdio};

use clap::Parser as _;
use hp_common::{Random, data, folder, random_hp};
use hp2ps::cli::{PsArgs, long_arguments};
use hp2ps::layout::PageOptions;
use hp2ps::{BandOptions, Chart, Previous};
use mutations_common::checks::{Options, draw};
use mutations_common::inputs::{Profiles, arguments, aux};

/// How many inputs: as the environment says, or some.
fn inputs() -> usize {
    match std::env::var("HEAPPROF_FUZZ") {
        Ok(text) => text.parse().unwrap_or_else(|_| panic!("HEAPPROF_FUZZ={text}: expected a number")),
        Err(_) if cfg!(debug_assertions) => 20_000,
        Err(_) => 100_000,
    }
}

/// Draws; leaves the input behind if that fails.
fn draw_or_keep(name: &str, text: &[u8], aux: &[u8], options: &Options) -> bool {
    catch_unwind(AssertUnwindSafe(|| draw(text, aux, options))).unwrap_or_else(|_| {
        let folder = folder(name);
        fs::write(folder.join("input.hp"), text).expect("a new file");
        fs::write(folder.join("input.aux"), aux).expect("a new file");
        panic!("failed on {}/input.hp and input.aux with {options:?}", folder.display());
    })
}

#[test]
fn no_profile_and_no_aux_file_fails() {
    let mut random = Random::new(11);
    let profiles = Profiles::stored();
    let mut drawn = 0;
    let inputs = inputs();
    for _ in 0..inputs {
        let text = profiles.text(&mut random);
        let aux = if random.once_in(2) { aux(&mut random) } else { Vec::new() };
        let options = Options::random(&mut random);
        drawn += usize::from(draw_or_keep("mutations_profiles", &text, &aux, &options));
    }
    // Neither all refused nor all drawn, which would say little.
    assert!((inputs / 3..inputs * 9 / 10).contains(&drawn), "{drawn} of {inputs} drawn");
}

/// What failed once: `name.hp`, with `name.aux` beside it if that takes part.
#[test]
fn inputs_found_before_do_not_fail() {
    let mut random = Random::new(12);
    for entry in fs::read_dir(data("found")).expect("stored") {
        let path = entry.expect("readable").path();
        let text = fs::read(&path).expect("readable");
        let aux = fs::read(path.with_extension("aux")).unwrap_or_default();
        for _ in 0..50 {
            draw_or_keep("mutations_found", &text, &aux, &Options::random(&mut random));
        }
    }
}

fn parsed(arguments: Vec<OsString>) -> Result<PsArgs, String> {
    let arguments = long_arguments(arguments);
    for line in &arguments.ignored {
        assert!(line.len() < 80_000 && line.contains("has no effect"), "{line}");
    }
    PsArgs::try_parse_from(arguments.long).map_err(|error| error.to_string())
}

#[test]
fn no_arguments_fail() {
    let mut random = Random::new(13);
    let text = fs::read(data("25-bands.hp")).expect("stored");
    let mut taken = 0;
    let inputs = inputs() / 50;
    for _ in 0..inputs {
        let arguments = arguments(&mut random);
        let result = catch_unwind(|| parsed(arguments.clone()));
        let args = match result.unwrap_or_else(|_| panic!("{arguments:?}")) {
            Ok(args) => args,
            Err(message) => {
                assert!(message.starts_with("error: "), "{arguments:?}: {message}");
                continue;
            }
        };
        taken += 1;
        let options = Options {
            bands: args.band_options(),
            page: args.page_options(),
            placement: args.placement(),
            colour: args.colour,
        };
        assert!(draw_or_keep("mutations_arguments", &text, b"", &options), "{arguments:?}");
    }
    assert!((inputs / 5..inputs * 4 / 5).contains(&taken), "{taken} of {inputs} taken");
}

/// The whole command: exit codes, one line per message, and outputs that are all new or all old.
#[test]
fn a_run_on_any_profile_leaves_new_outputs_or_the_old_ones() {
    let mut random = Random::new(14);
    let profiles = Profiles::stored();
    let folder = folder("mutations_runs");
    let file = |name: &str| folder.join(name);
    for _ in 0..if cfg!(debug_assertions) { 150 } else { 1_000 } {
        let text = profiles.text(&mut random);
        fs::write(file("run.hp"), &text).expect("a new file");
        ["ps", "aux"]
            .iter()
            .for_each(|name| fs::write(file(&format!("run.{name}")), "old").expect("a new file"));
        let mut command = Command::new(env!("CARGO_BIN_EXE_hp2ps"));
        let run =
            command.arg("run").current_dir(&folder).stdin(Stdio::null()).output().expect("hp2ps starts");
        let said = String::from_utf8_lossy(&run.stderr);
        let about = format!("{:?}\n{said}\n{}", run.status, String::from_utf8_lossy(&text));
        let new = ["run.ps", "run.aux"].map(|name| fs::read(file(name)).expect("there") != b"old");
        match run.status.code() {
            Some(0) => assert_eq!(new, [true, true], "{about}"),
            Some(1) => assert!(new == [false, false] && said.lines().count() == 1, "{about}"),
            _ => panic!("{about}"),
        }
        let is_message = |line: &str| line.starts_with("hp2ps: ") && line.contains("run.hp, ");
        assert!(run.stdout.is_empty() && said.lines().all(is_message), "{about}");
        assert_eq!(names_in(&folder), ["run.aux", "run.hp", "run.ps"], "{about}");
    }
}

fn names_in(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("readable").file_name());
    let mut names: Vec<String> = entries.map(|name| name.to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// Bands stack without gaps up to the sum of all values.
#[test]
fn the_top_line_is_the_sum_of_the_bands() {
    let mut random = Random::new(13);
    for _ in 0..300 {
        let text = random_hp(&mut random);
        let options =
            BandOptions { trace_percent: 0.0, limit: [0, 1, 4][random.below(3)], ..BandOptions::default() };
        let chart =
            Chart::read(&mut Cursor::new(&text), &options, &Previous::default()).expect("a legal profile");
        let page = hp2ps::layout::Page::new(&chart, &PageOptions::default());
        let mut line = vec![0.0; page.xs.len()];
        page.bands.iter().for_each(|band| band.stack_on(&mut line));
        let profile = heapprof::hp::read(text.as_bytes()).expect("a legal profile");
        for (sample, height) in line.iter().enumerate() {
            let sum: u64 = profile.bands.iter().map(|band| band.value(sample)).sum();
            let expected = sum as f64 * page.graph.height / chart.y_range;
            let all_zero = profile.bands.iter().all(|band| band.points.iter().all(|point| point.1 == 0));
            assert!((height - expected).abs() < 1e-6 || all_zero, "{sample}: {height} {expected}\n{text}");
        }
    }
}
