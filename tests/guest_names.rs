//! Cost centres may have any name: every reader takes the files, no two names are one, and each is
//! recovered from the word that stands for it.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeSet;
use std::hint::black_box;
use std::process::ExitCode;

mod common;
use common::guest::Folder;
use common::harness::{self, named};
use common::profile::{bytes_at, last_bytes, whole_hp, whole_prof};
use common::tools::ghc_draws;
use heapprof::hp::unescape_label;

#[global_allocator]
static ALLOC: heapprof::HeapProf = heapprof::HeapProf::new();

/// Names that readers could stumble over, all different.
const NAMES: [&str; 56] = [
    "",
    " ",
    "  ",
    "a b",
    " a",
    "a ",
    "a~b",
    "~",
    "^",
    "^.",
    "^20",
    "a^20b",
    "\"",
    "\"quoted\"",
    "in\"side",
    "'",
    "JOB",
    "DATE",
    "SAMPLE_UNIT",
    "VALUE_UNIT",
    "BEGIN_SAMPLE",
    "END_SAMPLE",
    "MARK",
    "MARK 1",
    "job",
    "MAIN",
    "OTHER",
    "EXIT",
    "HEAPPROF",
    "(1)",
    "(7)main",
    "7",
    "-7",
    "1.5e3",
    "größe",
    "日本語",
    "🦀",
    "e\u{301}",
    "\u{e9}",
    "no\u{a0}break",
    "wide\u{3000}blank",
    "line\u{2028}end",
    "bom\u{feff}",
    "tab\tbed",
    "new\nline",
    "return\r",
    "nul\0",
    "esc\u{1b}[31m",
    "del\u{7f}",
    "a/b",
    "/",
    "//",
    "semi;colon",
    "back\\slash",
    "(paren",
    "%e%s%n",
];

/// Enters the cost centre `name`, whichever it is.
macro_rules! keep_under_each {
    ($($at:literal)*) => { $({
        let _scope = heapprof::cost_centre!(NAMES[$at]);
        std::mem::forget(black_box(vec![1u8; bytes_of($at)]));
    })* };
}

/// The bytes that a name's centre holds: different for each.
fn bytes_of(at: usize) -> usize {
    10_000 + 10 * at
}

fn has_all_names(_: &[String]) {
    keep_under_each!(0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32 33 34 35 36 37 38 39 40 41 42 43 44 45 46 47 48 49 50 51 52 53 54 55);
}

/// Stacks made of awkward names, one on the other.
fn has_awkward_stacks(_: &[String]) {
    let _root = heapprof::cost_centre!("a/b c");
    let _middle = heapprof::cost_centre!("");
    let _top = heapprof::cost_centre!("\"MARK\"\t;");
    std::mem::forget(black_box(vec![1u8; 4_321]));
}

/// Two names of 10,000 bytes that differ in their middle only, one of 3,000 letters of two bytes each,
/// and one that is escaped to three times its length.
fn long_names() -> [String; 4] {
    let long = |middle: &str| format!("begin{}{middle}{}end", "x".repeat(4_990), "y".repeat(4_990));
    [long("1"), long("2"), "ü".repeat(3_000), "\n".repeat(3_000)]
}

fn has_long_names(_: &[String]) {
    let [first, second, wide, escaped] = long_names();
    heapprof::cost_centre!(first => std::mem::forget(black_box(vec![1u8; 1_001])));
    heapprof::cost_centre!(second => std::mem::forget(black_box(vec![1u8; 1_002])));
    heapprof::cost_centre!(wide => std::mem::forget(black_box(vec![1u8; 1_003])));
    heapprof::cost_centre!(escaped => std::mem::forget(black_box(vec![1u8; 1_004])));
}

/// The label words of a band's name, top first.
fn words(name: &[u8]) -> Vec<String> {
    let name = std::str::from_utf8(name).unwrap();
    let path = name.strip_prefix('(').map_or(name, |name| name.split_once(')').unwrap().1);
    path.split('/').map(str::to_owned).collect()
}

fn every_name_is_read_by_everybody_and_recovered() {
    let folder = Folder::new();
    folder.guest("has_all_names").profiled().env("HEAPPROF_NAME_CHARS", "4900").run().ended_with(0);
    let hp = whole_hp(&folder.file("app.hp"));
    let last = hp.times_s.len() - 1;
    for (at, name) in NAMES.into_iter().enumerate() {
        let bands: Vec<_> = hp.bands.iter().filter(|band| band.value(last) == bytes_of(at) as u64).collect();
        assert_eq!(bands.len(), 1, "{name:?}: one band of {} bytes", bytes_of(at));
        let words = words(&bands[0].name);
        assert_eq!(words.len(), 1, "{words:?}");
        assert_eq!(unescape_label(&words[0]), name);
    }
    let different: BTreeSet<_> = hp.bands.iter().map(|band| &band.name).collect();
    assert_eq!(different.len(), hp.bands.len());
    let prof = whole_prof(&folder.file("app.prof"));
    let rows: BTreeSet<&str> = prof.rows.iter().map(|row| row.centre.as_str()).collect();
    for name in NAMES {
        assert!(rows.contains(name), "a row for {name:?} in\n{}", prof.text);
    }
    if let Some(drawing) = ghc_draws(&folder.file("app.hp")) {
        drawing.is_postscript();
    }
}

fn every_breakdown_takes_every_name() {
    for breakdown in ["stack", "centre", "module"] {
        let folder = Folder::new();
        folder.guest("has_all_names").profiled().env("HEAPPROF_BREAKDOWN", breakdown).run().ended_with(0);
        let hp = whole_hp(&folder.file("app.hp"));
        let sum: u64 = hp.bands.iter().map(|band| band.value(hp.times_s.len() - 1)).sum();
        assert!(sum >= (0..NAMES.len()).map(|at| bytes_of(at) as u64).sum(), "{breakdown}: {sum}");
        if breakdown != "module" {
            assert_eq!(last_bytes(&hp, "a/b"), 10_000 + 10 * 49, "{breakdown}");
        }
        ghc_draws(&folder.file("app.hp"));
    }
}

fn the_stacks_of_awkward_names_are_recovered() {
    let folder = Folder::new();
    folder.guest("has_awkward_stacks").profiled().run().ended_with(0);
    let hp = whole_hp(&folder.file("app.hp"));
    let last = hp.times_s.len() - 1;
    let band = hp.bands.iter().find(|band| band.value(last) == 4_321).expect("the stack's band");
    let labels: Vec<String> =
        words(&band.name).iter().map(|word| unescape_label(word).into_owned()).collect();
    assert_eq!(labels, ["\"MARK\"\t;", "", "a/b c"]);
    let prof = whole_prof(&folder.file("app.prof"));
    let depth = |name: &str| prof.row(name).depth;
    assert_eq!([depth("a/b c"), depth(""), depth("\"MARK\"\t;")], [1, 2, 3], "{}", prof.text);
    ghc_draws(&folder.file("app.hp"));
}

fn long_names_are_shortened_and_stay_different() {
    for chars in ["8", "60", "4900"] {
        let folder = Folder::new();
        folder.guest("has_long_names").profiled().env("HEAPPROF_NAME_CHARS", chars).run().ended_with(0);
        let hp = whole_hp(&folder.file("app.hp"));
        let last = hp.times_s.len() - 1;
        let mut names = BTreeSet::new();
        for bytes in 1_001..=1_004 {
            let band = hp.bands.iter().find(|band| band.value(last) == bytes).expect("a band for each name");
            assert!(band.name.len() <= 4_900);
            let shown = std::str::from_utf8(&band.name).unwrap().chars().count();
            assert!(shown <= chars.parse().unwrap(), "{shown} of {chars}");
            names.insert(&band.name);
        }
        assert_eq!(names.len(), 4);
        let prof = whole_prof(&folder.file("app.prof"));
        for name in long_names() {
            assert!(prof.rows.iter().any(|row| row.centre == name), "the whole name in the report");
        }
        if let Some(drawing) = ghc_draws(&folder.file("app.hp")) {
            drawing.is_postscript();
        }
    }
}

fn sites_of_one_name_are_different_centres() {
    let folder = Folder::new();
    folder.guest("has_namesakes").profiled().run().ended_with(0);
    let hp = whole_hp(&folder.file("app.hp"));
    let last = hp.times_s.len() - 1;
    assert_eq!(bytes_at(&hp, "same", last), 300);
    assert_eq!(hp.bands.iter().filter(|band| band.name.ends_with(b"same")).count(), 2);
    let prof = whole_prof(&folder.file("app.prof"));
    assert_eq!(prof.rows.iter().filter(|row| row.centre == "same").count(), 2, "{}", prof.text);
}

fn has_namesakes(_: &[String]) {
    heapprof::cost_centre!("same" => std::mem::forget(black_box(vec![1u8; 100])));
    heapprof::cost_centre!("same" => std::mem::forget(black_box(vec![1u8; 200])));
}

fn main() -> ExitCode {
    let roles = named![has_all_names, has_awkward_stacks, has_long_names, has_namesakes];
    let tests = named![
        every_name_is_read_by_everybody_and_recovered,
        every_breakdown_takes_every_name,
        the_stacks_of_awkward_names_are_recovered,
        long_names_are_shortened_and_stay_different,
        sites_of_one_name_are_different_centres,
    ];
    harness::main(roles, tests, 2)
}
