//! Finds out what the standard library promises to allocators.
//!
//! From 1.93 on an allocator may ask `std::thread::current()`, and so learn a thread's whole name; before,
//! asking too early ends the process. `heapprof_whole_thread_names` is set where it may.

use std::process::Command;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rustc-check-cfg=cfg(heapprof_whole_thread_names)");
    if minor_version().is_some_and(|minor| minor >= 93) {
        println!("cargo:rustc-cfg=heapprof_whole_thread_names");
    }
}

/// The 95 of `rustc 1.95.0 (…)`.
fn minor_version() -> Option<u32> {
    let rustc = std::env::var_os("RUSTC")?;
    let output = Command::new(rustc).arg("--version").output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    text.split_ascii_whitespace().nth(1)?.split('.').nth(1)?.parse().ok()
}
