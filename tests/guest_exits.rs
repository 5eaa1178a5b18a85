//! However the guest ends, it ends as without a profile, and the profile is whole.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::hint::black_box;
use std::os::unix::process::CommandExt as _;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

mod common;
use common::guest::{Folder, Outcome};
use common::harness::{self, named};
use common::profile::{last_bytes, whole_hp, whole_prof};
use common::tools::ghc_draws;
use heapprof::cost_centre;

#[global_allocator]
static ALLOC: heapprof::HeapProf = heapprof::HeapProf::new();

/// Bytes that the guest holds at its end under each of its centres.
const KEPT_BYTES: [(&str, u64); 3] = [("kept", 300 * 1_000), ("grown", 4_096), ("deep", 77)];

/// Allocates under known centres, says so on stdout, and ends in the way asked for.
fn ends(args: &[String]) {
    let scratch = cost_centre!("scratch" => vec![1u8; 1 << 20]);
    for _ in 0..300 {
        cost_centre!("kept" => std::mem::forget(black_box(vec![1u8; 1_000])));
    }
    cost_centre!("grown" => {
        let mut grown: Vec<u8> = Vec::with_capacity(1);
        for capacity in [2, 700, 4_096] {
            grown.reserve_exact(capacity);
        }
        std::mem::forget(black_box(grown));
    });
    {
        let _outer = cost_centre!("outer");
        cost_centre!("deep" => std::mem::forget(black_box(vec![1u8; 77])));
    }
    drop(black_box(scratch));
    println!("allocated, and ends by {}", args[0]);
    // An error without a profile; with one, the sample that a killed guest leaves as its last.
    let _ = heapprof::sample_now();
    end(&args[0]);
}

fn end(how: &str) {
    let raise = |signal| {
        // A shell that starts the tests in the background has them ignore an interrupt.
        // SAFETY: the default action needs no handler.
        unsafe { libc::signal(signal, libc::SIG_DFL) };
        // SAFETY: no preconditions.
        unsafe { libc::kill(libc::getpid(), signal) };
        loop {
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
    };
    match how {
        "return" => {}
        "exit" => std::process::exit(3),
        "exit_of_a_thread" => std::thread::spawn(|| std::process::exit(4)).join().unwrap(),
        "panic" => panic!("as asked"),
        "abort" => std::process::abort(),
        "SIGINT" => raise(libc::SIGINT),
        "SIGTERM" => raise(libc::SIGTERM),
        "SIGKILL" => raise(libc::SIGKILL),
        // SAFETY: no preconditions.
        "_exit" => unsafe { libc::_exit(5) },
        "exec" => panic!("{}", Command::new("/bin/sh").args(["-c", "echo another; exit 6"]).exec()),
        "overflow" => println!("{}", overflow(1)),
        "pthread_exit" => {
            work_on();
            leave_main_thread();
        }
        "SYS_exit" => {
            work_on();
            // SAFETY: ends this thread alone; what it holds is leaked.
            unsafe { libc::syscall(libc::SYS_exit, 0) };
        }
        "segfault" => {
            // SAFETY: none; the guest is to die of it.
            unsafe { std::ptr::null_mut::<u8>().wrapping_add(8).write_volatile(1) }
        }
        other => panic!("no way to end by {other}"),
    }
}

/// Leaves a thread behind that outlives the main thread by 100 ms.
fn work_on() {
    std::thread::spawn(|| {
        std::thread::sleep(Duration::from_millis(100));
        println!("the other thread has worked on");
    });
}

/// Calls `pthread_exit` on a stack of its own: libc unwinds it, and must not meet the frame in which
/// Rust catches a panic of `main`.
fn leave_main_thread() -> ! {
    extern "C" fn leave() {
        // SAFETY: no frame of this stack holds anything that must be dropped.
        unsafe { libc::pthread_exit(std::ptr::null_mut()) }
    }
    let stack = Vec::leak(vec![0u8; 1 << 18]);
    // SAFETY: the context is filled in before it is changed, its stack lives for ever, and `leave` takes
    // no arguments and does not return.
    unsafe {
        let mut context = std::mem::zeroed::<libc::ucontext_t>();
        assert_eq!(libc::getcontext(&mut context), 0);
        context.uc_stack.ss_sp = stack.as_mut_ptr().cast();
        context.uc_stack.ss_size = stack.len();
        libc::makecontext(&mut context, leave, 0);
        libc::setcontext(&context);
    }
    unreachable!("a context that was made is entered");
}

/// Recurses until the stack is full.
#[allow(unconditional_recursion, reason = "the guest is to die of it")]
fn overflow(depth: u64) -> u64 {
    let frame = black_box([depth; 64]);
    overflow(frame[0] + 1) + frame[63]
}

/// Whether the guest reaches its exit hooks.
fn is_normal(how: &str) -> bool {
    matches!(how, "return" | "exit" | "exit_of_a_thread" | "panic")
}

/// Runs the guest without a profile, then with one under each sampler, and compares.
fn check(how: &str) {
    let plain = Folder::new();
    let want = plain.guest("ends").arg(how).run();
    assert_eq!(plain.files(), [""; 0], "no files without a profile");
    assert_eq!(want.lines(), [""; 0], "no word without a profile");
    for sampler in ["thread", "inline"] {
        let folder = Folder::new();
        let got = folder.guest("ends").arg(how).profiled().env("HEAPPROF_SAMPLER", sampler).run();
        check_run(how, &want, &got);
        check_files(how, &folder);
    }
}

fn check_run(how: &str, want: &Outcome, got: &Outcome) {
    assert_eq!(got.status, want.status, "{how}: {got:?}");
    assert_eq!(got.status.signal().is_some(), !matches!(got.status.code(), Some(0..=6 | 101)));
    assert_eq!(got.stdout, want.stdout, "{how}: stdout");
    assert!(!want.stdout.is_empty());
    let told = if is_normal(how) { 1 } else { 0 };
    assert_eq!(got.lines().len(), told, "{how}: {}", got.stderr);
}

fn check_files(how: &str, folder: &Folder) {
    assert_eq!(folder.files(), ["app.hp", "app.prof"], "{how}");
    let profile = whole_hp(&folder.file("app.hp"));
    assert!(profile.times_s.len() >= 2, "{how}: {} samples", profile.times_s.len());
    for (centre, bytes) in KEPT_BYTES {
        assert_eq!(last_bytes(&profile, centre), bytes, "{how}: {centre}");
    }
    for centre in ["scratch", "outer"] {
        assert_eq!(last_bytes(&profile, centre), 0, "{how}: {centre}");
    }
    let prof = whole_prof(&folder.file("app.prof"));
    if is_normal(how) {
        assert_eq!(prof.row("kept").entries, 300, "{how}: {}", prof.text);
    }
    if let Some(drawing) = ghc_draws(&folder.file("app.hp")) {
        drawing.is_postscript();
    }
}

/// The main thread leaves alone: the process lives on for its other threads, and not for ours.
fn check_leaving(how: &str) {
    let want = Folder::new().guest("ends").arg(how).run();
    assert!(want.text().ends_with("the other thread has worked on\n"), "{how}: {want:?}");
    for sampler in ["thread", "inline"] {
        let folder = Folder::new();
        let begin = Instant::now();
        let got = folder.guest("ends").arg(how).profiled().env("HEAPPROF_SAMPLER", sampler).run();
        assert!(begin.elapsed() < Duration::from_secs(20), "{how}: {:?} under {sampler}", begin.elapsed());
        assert_eq!((got.status, got.text()), (want.status, want.text()), "{how}: {}", got.stderr);
        assert!(!got.stderr.contains("panicked"), "{how}: {}", got.stderr);
        check_files(how, &folder);
    }
}

fn main_thread_leaves_before_another() {
    check_leaving("pthread_exit");
}

fn main_thread_leaves_by_a_system_call() {
    check_leaving("SYS_exit");
}

macro_rules! ways {
    ($($test:ident: $how:literal),* $(,)?) => { $(fn $test() { check($how) })* };
}
ways! {
    return_from_main: "return",
    exit_with_a_code: "exit",
    exit_from_another_thread: "exit_of_a_thread",
    panic_in_main: "panic",
    abort: "abort",
    interrupt: "SIGINT",
    terminate: "SIGTERM",
    kill: "SIGKILL",
    exit_without_hooks: "_exit",
    exec_of_another_program: "exec",
    stack_overflow: "overflow",
    segmentation_fault: "segfault",
}

fn main() -> ExitCode {
    let tests = named![
        return_from_main,
        exit_with_a_code,
        exit_from_another_thread,
        panic_in_main,
        abort,
        interrupt,
        terminate,
        kill,
        exit_without_hooks,
        exec_of_another_program,
        stack_overflow,
        segmentation_fault,
        main_thread_leaves_before_another,
        main_thread_leaves_by_a_system_call,
    ];
    harness::main(named![ends], tests, 2)
}
