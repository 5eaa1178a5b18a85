//! Killed at any moment, the guest leaves every sample but the one being written.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::VecDeque;
use std::hint::black_box;
use std::process::ExitCode;
use std::time::Duration;

mod common;
use common::Random;
use common::guest::Folder;
use common::harness::{self, named};
use common::profile::{whole_hp, whole_prof};
use common::tools::ghc_draws;
use heapprof::{cost_centre, hp};

#[global_allocator]
static ALLOC: heapprof::HeapProf = heapprof::HeapProf::new();

/// Works for ever under some hundred stacks, so that samples are long.
fn works(_: &[String]) {
    let mut held = VecDeque::new();
    let mut random = Random(7);
    loop {
        deeper(&mut random, &mut held, 8);
        while held.len() > 2_000 {
            held.pop_front();
        }
    }
}

/// One of two centres on each of `depth` levels: 2^depth stacks.
fn deeper(random: &mut Random, held: &mut VecDeque<Vec<u8>>, depth: u32) {
    macro_rules! level {
        ($($depth:literal $left:literal $right:literal)*) => {
            match (depth, random.below(2)) {
                $(($depth, 0) => cost_centre!($left => deeper(random, held, depth - 1)),
                ($depth, _) => cost_centre!($right => deeper(random, held, depth - 1)),)*
                _ => held.push_back(black_box(vec![0; 1 + random.below(100) as usize])),
            }
        };
    }
    level!(8 "a" "A" 7 "b" "B" 6 "c" "C" 5 "d" "D" 4 "e" "E" 3 "f" "F" 2 "g" "G" 1 "h" "H");
}

/// A kernel that kills a process ends its running write after a whole page of the file, so the last
/// sample can lack its end; nothing before it is ever touched.
const PAGE_BYTES: usize = 4_096;

/// The samples of a killed run's file, and whether one more was begun. Without what was begun, the
/// file must be whole and GHC's hp2ps must draw it.
fn samples_left(folder: &Folder) -> (usize, bool) {
    let path = folder.file("app.hp");
    let text = std::fs::read(&path).unwrap();
    let cut = hp::read(&text[..]).unwrap().cut;
    if let Some(cut) = &cut {
        assert_eq!(text.len() % PAGE_BYTES, 0, "cut at a page's end: {} bytes, {cut:?}", text.len());
        let whole = text.windows(11).rposition(|window| window == b"END_SAMPLE ").unwrap();
        let line = text[whole..].iter().position(|&byte| byte == b'\n').unwrap();
        std::fs::write(&path, &text[..=whole + line]).unwrap();
    }
    let samples = whole_hp(&path).times_s.len();
    assert!(cut.as_ref().is_none_or(|cut| cut.samples == samples), "{samples} samples, {cut:?}");
    ghc_draws(&path);
    (samples, cut.is_some())
}

fn fifty_kills_leave_whole_samples() {
    let mut random = Random(42);
    let (mut files, mut samples, mut cuts) = (0, 0, 0);
    for _ in 0..50 {
        let folder = Folder::new();
        let running = folder.guest("works").profiled().start();
        std::thread::sleep(Duration::from_micros(random.below(60_000)));
        running.kill();
        let left: Vec<String> = folder.files().into_iter().filter(|name| !name.ends_with(".tmp")).collect();
        // Killed before it began, or between its two files.
        if left.iter().any(|name| name == "app.hp") {
            let (whole, begun) = samples_left(&folder);
            (files, samples, cuts) = (files + 1, samples + whole, cuts + u32::from(begun));
        }
        if left.iter().any(|name| name == "app.prof") {
            whole_prof(&folder.file("app.prof"));
        }
        assert!(left.iter().all(|name| name == "app.hp" || name == "app.prof"), "{left:?}");
    }
    println!("{files} of 50 killed runs left a file, {samples} samples in all, {cuts} with one begun");
    assert!(files >= 30, "{files} files of 50 runs");
}

fn main() -> ExitCode {
    harness::main(named![works], named![fifty_kills_leave_whole_samples], 1)
}
