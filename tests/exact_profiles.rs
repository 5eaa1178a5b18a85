//! Several profiles of one process: what a stopped one leaves behind, and blocks from between two of them.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::hint::black_box;
use std::path::{Path, PathBuf};

use heapprof::{Breakdown, HeapProf, Profiler};

#[global_allocator]
static ALLOC: HeapProf<std::alloc::System> = HeapProf::with(std::alloc::System).armed();

/// Runs a profile over nothing; its file.
fn profile(breakdown: Breakdown) -> PathBuf {
    let output = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("exact_profiles.{}", "x".repeat(100)));
    let output = output.to_str().unwrap().to_owned();
    let builder = Profiler::builder().output(output).breakdown(breakdown).quiet(true);
    builder.start().unwrap().stop().unwrap().hp
}

fn a_stopped_profile_leaves_nothing_in_the_programs_memory() {
    drop(profile(Breakdown::Thread));
    let before = heapprof::stats().unwrap();
    for _ in 0..20 {
        drop(profile(Breakdown::Thread));
    }
    let after = heapprof::stats().unwrap();
    assert_eq!((after.live_bytes, after.live_blocks), (before.live_bytes, before.live_blocks));
}

fn blocks_from_between_two_profiles_are_before_the_second() {
    let between = black_box(vec![1_u8; 50_000]);
    let file = std::fs::File::open(profile(Breakdown::Thread)).unwrap();
    let hp = heapprof::hp::read(std::io::BufReader::new(file)).unwrap();
    let last = hp.times_s.len() - 1;
    assert!(hp.band("BEFORE_PROFILE").unwrap().value(last) >= 50_000);
    assert!(hp.band("OTHER").is_none(), "there is room");
    drop(between);
}

fn main() {
    a_stopped_profile_leaves_nothing_in_the_programs_memory();
    blocks_from_between_two_profiles_are_before_the_second();
}
