//! A forked child never writes under its parent's name and never hangs; the parent goes on; what is
//! executed inherits nothing.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::hint::black_box;
use std::process::{Command, ExitCode};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

mod common;
use common::guest::{Folder, names_in};
use common::harness::{self, named};
use common::profile::{last_bytes, whole_hp, whole_prof};
use common::tools::ghc_draws;
use heapprof::cost_centre;

#[global_allocator]
static ALLOC: heapprof::HeapProf = heapprof::HeapProf::new();

// ---- roles -------------------------------------------------------------------------------------

/// Keeps two threads allocating, under centres of their own, while `work` runs.
fn amid_allocations(work: impl FnOnce()) {
    static OVER: AtomicBool = AtomicBool::new(false);
    let busy = || {
        let mut round = 0_usize;
        while !OVER.load(Ordering::Relaxed) {
            let _busy = cost_centre!("busy");
            let block = black_box(vec![0u8; 1 + round % 5_000]);
            round += 1;
            cost_centre!("inner" => drop(black_box(block.clone())));
        }
    };
    let threads = [std::thread::spawn(busy), std::thread::spawn(busy)];
    work();
    OVER.store(true, Ordering::Relaxed);
    threads.into_iter().for_each(|thread| thread.join().unwrap());
}

/// Runs `child` in a forked process, which ends by it. Its exit code; `None` if it hangs.
fn in_fork(child: impl FnOnce()) -> Option<i32> {
    // SAFETY: the child allocates, which the inner allocator and libc allow after a fork; that the
    // profiler does as well is what is tested.
    let process = unsafe { libc::fork() };
    if process == 0 {
        child();
        // SAFETY: no preconditions.
        unsafe { libc::_exit(99) };
    }
    assert!(process > 0, "fork: {}", std::io::Error::last_os_error());
    let (begin, mut status) = (Instant::now(), 0);
    // SAFETY: the pointer is to a live local.
    while unsafe { libc::waitpid(process, &mut status, libc::WNOHANG) } == 0 {
        if begin.elapsed() > Duration::from_secs(30) {
            // SAFETY: a child of ours, not waited for yet.
            unsafe { libc::kill(process, libc::SIGKILL) };
            return None;
        }
        std::thread::sleep(Duration::from_micros(200));
    }
    Some(if libc::WIFEXITED(status) { libc::WEXITSTATUS(status) } else { 1_000 + libc::WTERMSIG(status) })
}

/// Forks many times; each child allocates, frees blocks of the parent's, and ends as told.
fn forks(args: &[String]) {
    let how = args[0].as_str();
    amid_allocations(|| {
        let mut codes = Vec::new();
        for round in 0..150 {
            let parents = cost_centre!("parents" => black_box(vec![vec![0u8; 300]; 20]));
            codes.push(in_fork(|| {
                drop(black_box(parents.clone()));
                drop(parents);
                let mine = cost_centre!("childs" => black_box(vec![1u8; 10_000 + round]));
                assert!(std::thread::spawn(move || mine.len()).join().unwrap() > 0);
                match how {
                    // SAFETY: no preconditions.
                    "exit" => unsafe { libc::exit(3) },
                    // SAFETY: no preconditions.
                    _ => unsafe { libc::_exit(3) },
                }
            }));
        }
        assert!(codes.iter().all(|&code| code == Some(3)), "{codes:?}");
    });
    std::mem::forget(cost_centre!("afterwards" => black_box(vec![1u8; 12_345])));
}

/// Forks a child that starts a profile of its own, and works on itself.
fn forks_a_profiled_child(_: &[String]) {
    let kept = cost_centre!("parents" => black_box(vec![1u8; 5_000]));
    amid_allocations(|| {
        let code = in_fork(|| {
            let builder = heapprof::Profiler::builder().output("child").interval(Duration::from_millis(1));
            let profile = builder.start().unwrap();
            drop(kept);
            std::mem::forget(cost_centre!("childs" => black_box(vec![1u8; 7_000])));
            cost_centre!("spins" => spin(Duration::from_millis(300)));
            let files = profile.stop().unwrap();
            assert_eq!(files.hp.file_name().unwrap(), "child.hp");
            // SAFETY: no preconditions.
            unsafe { libc::exit(4) };
        });
        assert_eq!(code, Some(4));
    });
}

/// Makes a child by the system call alone, so that no fork hook tells of it, and allocates there long
/// enough for many samples; its exit code says whether it was refused one of its own.
fn clones_raw(_: &[String]) {
    let kept = cost_centre!("parents" => black_box(vec![1u8; 5_000]));
    // SAFETY: as `fork`, which this is without libc's part; the parent has one thread.
    let process = unsafe { libc::syscall(libc::SYS_clone, libc::SIGCHLD, 0, 0, 0, 0) };
    if process == 0 {
        let mut held = Vec::new();
        for _ in 0..20_000 {
            held.push(cost_centre!("childs" => black_box(vec![1u8; 2_000])));
        }
        let refused = heapprof::sample_now().is_err() && heapprof::mark().is_err();
        // SAFETY: no preconditions.
        unsafe { libc::_exit(if refused { 5 } else { 6 }) };
    }
    let mut status = 0;
    // SAFETY: the pointer is to a live local.
    unsafe { libc::waitpid(process as i32, &mut status, 0) };
    assert!(libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 5, "{status}");
    std::mem::forget(kept);
}

/// Uses CPU time of this thread.
fn spin(span: Duration) {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    loop {
        // SAFETY: the pointer is to a live local.
        unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
        if Duration::new(time.tv_sec as u64, time.tv_nsec as u32) > span {
            return;
        }
    }
}

/// Forks a child that goes on, and exits, when the parent has ended.
fn forks_and_ends_first(_: &[String]) {
    std::mem::forget(cost_centre!("parents" => black_box(vec![1u8; 5_000])));
    let own = std::process::id();
    // SAFETY: as in `in_fork`.
    if unsafe { libc::fork() } == 0 {
        while std::os::unix::process::parent_id() == own {
            std::mem::forget(cost_centre!("childs" => black_box(vec![1u8; 100])));
            std::thread::sleep(Duration::from_millis(1));
        }
        std::fs::write("../child-is-over", "").unwrap();
    }
}

/// Prints the open descriptors and the environment of a program that it executes.
fn executes(_: &[String]) {
    amid_allocations(|| {
        for _ in 0..40 {
            let listed = Command::new("ls").arg("-l").arg("/proc/self/fd/").output().unwrap();
            let descriptors = String::from_utf8(listed.stdout).unwrap();
            assert!(!descriptors.contains("app."), "{descriptors}");
            assert!(!descriptors.contains(".tmp"), "{descriptors}");
        }
        let seen = Command::new("env").output().unwrap();
        print!("{}", String::from_utf8(seen.stdout).unwrap());
    });
}

// ---- tests -------------------------------------------------------------------------------------

/// That the parent's profile is whole and knows nothing of its children.
#[track_caller]
fn only_the_parents(folder: &Folder, ended: &str, bytes: u64) {
    let hp = whole_hp(&folder.file("app.hp"));
    assert_eq!(last_bytes(&hp, ended), bytes);
    assert!(hp.bands.iter().all(|band| !band.name.ends_with(b"childs")), "a child's band");
    assert!(!whole_prof(&folder.file("app.prof")).text.contains("childs"));
    ghc_draws(&folder.file("app.hp"));
}

fn children_that_exit_leave_the_parents_profile_alone() {
    let folder = Folder::new();
    folder.guest("forks").arg("exit").profiled().run().ended_with(0);
    assert_eq!(folder.files(), ["app.hp", "app.prof"]);
    only_the_parents(&folder, "afterwards", 12_345);
}

fn children_that_exit_without_hooks_leave_the_parents_profile_alone() {
    let folder = Folder::new();
    folder.guest("forks").arg("_exit").profiled().run().ended_with(0);
    assert_eq!(folder.files(), ["app.hp", "app.prof"]);
    only_the_parents(&folder, "afterwards", 12_345);
}

fn forks_with_samples_on_the_programs_threads_do_not_hang() {
    let folder = Folder::new();
    let guest = folder.guest("forks").arg("exit").profiled().env("HEAPPROF_SAMPLER", "inline");
    guest.run().ended_with(0);
    assert_eq!(folder.files(), ["app.hp", "app.prof"]);
    only_the_parents(&folder, "afterwards", 12_345);
}

fn a_child_may_start_a_profile_of_its_own() {
    let folder = Folder::new();
    let outcome = folder.guest("forks_a_profiled_child").profiled().run().ended_with(0);
    assert_eq!(outcome.lines().len(), 2, "one of each process: {}", outcome.stderr);
    assert_eq!(folder.files(), ["app.hp", "app.prof", "child.hp", "child.prof"]);
    only_the_parents(&folder, "childs", 0);
    whole_hp(&folder.file("child.hp"));
    whole_prof(&folder.file("child.prof"));
}

fn a_childs_own_profile_has_its_bytes_and_its_time() {
    let folder = Folder::new();
    folder.guest("forks_a_profiled_child").profiled().run().ended_with(0);
    let child = whole_hp(&folder.file("child.hp"));
    assert_eq!(last_bytes(&child, "childs"), 7_000);
    assert_eq!(last_bytes(&child, "parents"), 0, "freed in the child");
    assert!(child.times_s.len() > 50, "{} samples of 300 ms", child.times_s.len());
    let prof = whole_prof(&folder.file("child.prof"));
    assert!(prof.row("spins").time > 50.0, "{}", prof.text);
    assert!(prof.total_s > 0.2, "{}", prof.text);
}

fn a_child_that_outlives_its_parent_writes_nothing() {
    let folder = Folder::new();
    folder.guest("forks_and_ends_first").profiled().run().ended_with(0);
    let (over, begin) = (folder.root().join("child-is-over"), Instant::now());
    let before = std::fs::read(folder.file("app.hp")).unwrap();
    while !over.exists() {
        assert!(begin.elapsed() < Duration::from_secs(30), "the child hangs");
        std::thread::sleep(Duration::from_millis(1));
    }
    assert_eq!(folder.files(), ["app.hp", "app.prof"]);
    assert_eq!(std::fs::read(folder.file("app.hp")).unwrap(), before);
    only_the_parents(&folder, "parents", 5_000);
}

fn what_is_executed_inherits_no_descriptor_and_the_same_environment() {
    let plain = Folder::new();
    let profiled = Folder::new();
    let environment = |folder: &Folder, on: bool| {
        let guest = folder.guest("executes");
        let outcome = if on { guest.profiled().run() } else { guest.run() };
        let text = outcome.ended_with(0).text();
        let lines =
            text.lines().filter(|line| !line.starts_with("HEAPPROF_INTERVAL=") && !line.starts_with("PWD="));
        let mut lines: Vec<String> = lines.map(str::to_owned).collect();
        lines.sort();
        lines
    };
    let want = environment(&plain, false);
    assert!(want.iter().any(|line| line == "RUST_BACKTRACE=0"));
    assert_eq!(environment(&profiled, true), want);
    assert_eq!(names_in(&plain.out()), [""; 0]);
    assert_eq!(profiled.files(), ["app.hp", "app.prof"]);
}

fn a_child_that_no_hook_tells_of_writes_nothing() {
    for sampler in ["thread", "inline"] {
        let folder = Folder::new();
        folder.guest("clones_raw").profiled().env("HEAPPROF_SAMPLER", sampler).run().ended_with(0);
        let hp = whole_hp(&folder.file("app.hp"));
        assert_eq!(last_bytes(&hp, "parents"), 5_000);
        let childs = hp.bands.iter().filter(|band| band.name.windows(6).any(|part| part == b"childs"));
        assert_eq!(childs.count(), 0, "{sampler}");
        assert_eq!(folder.files(), ["app.hp", "app.prof"]);
    }
}

fn main() -> ExitCode {
    let roles = named![clones_raw, forks, forks_a_profiled_child, forks_and_ends_first, executes];
    let tests = named![
        children_that_exit_leave_the_parents_profile_alone,
        children_that_exit_without_hooks_leave_the_parents_profile_alone,
        forks_with_samples_on_the_programs_threads_do_not_hang,
        a_child_may_start_a_profile_of_its_own,
        a_childs_own_profile_has_its_bytes_and_its_time,
        a_child_that_outlives_its_parent_writes_nothing,
        a_child_that_no_hook_tells_of_writes_nothing,
        what_is_executed_inherits_no_descriptor_and_the_same_environment,
    ];
    harness::main(roles, tests, 2)
}
