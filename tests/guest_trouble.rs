//! The troubles that users of other profilers reported, none of which a guest of ours may have.
//!
//! | no. | trouble | test here or elsewhere, or why it cannot happen |
//! |---|---|---|
//! | 1 | the hook's lock allocates: a contended lock hangs | `contended_locks_never_hang`; the hook takes no lock |
//! | 2 | lock order with the capture of backtraces | `backtraces_amid_allocations_never_hang`; our call stacks take no lock |
//! | 3 | a second start spins for ever | `guest_config`: `of_eight_starts_at_once_one_succeeds` |
//! | 4 | start among many threads; the writer blocks at a pipe | `guest_config` as 3; `guest_files`: `a_pipe_is_refused`; `a_full_pipe_on_stdout_holds_up_no_sample` |
//! | 5 | the hook logs, and the log takes the time zone's lock | `local_time_amid_full_tables_never_hangs` |
//! | 6 | the hook asks for the bounds of a thread's stack | `threads_started_without_end_never_hang`; we ask the kernel, and need no memory for it |
//! | 7 | thread-locals with destructors inside the allocator | `thread_locals_that_allocate_as_they_end`; ours have none |
//! | 8 | reading the configuration re-enters the hook | `reading_the_configuration_is_in_no_band` |
//! | 9 | tracking past `main` re-enters what is torn down | `printing_at_exit_into_a_closed_pipe_ends_nobody`, `closed_standard_streams_are_not_taken_for_files` |
//! | 10 | panics inside the allocator | `the_allocator_reaches_no_panic` |
//! | 11 | blocks in thread-locals' destructors | `exact_life`; `thread_locals_that_allocate_as_they_end` |
//! | 12 | platforms whose thread-locals are `pthread_setspecific` | cannot happen: there the recording part is not built |
//! | 13 | a guard that panics when dropped | `exact_scopes`: every order; a guard cannot leave its thread (`!Send`) |
//! | 14 | the state of live threads freed at the stop | `exact_life`: a hundred starts; shards are never unmapped |
//! | 15 | no output of a forked child | `guest_fork`: `a_child_may_start_a_profile_of_its_own` |
//! | 16 | several processes, one name; empty files | `guest_files`: `a_shell_around_the_program_leaves_one_profile` |
//! | 17 | children are profiled unasked | `guest_files`: `fifty_children_leave_one_profile` |
//! | 18 | the child flushes the parent's buffer | `guest_fork`: `children_that_exit_leave_the_parents_profile_alone` |
//! | 19 | the child has lost the names | `guest_symbols`: `a_forked_child_has_names`; those of cost centres are the program's own statics |
//! | 20 | `fork` restarts for ever under a timer | `a_large_process_forks_under_the_fastest_tick`; we use no signal |
//! | 21 | unwinding in a signal handler | `panics_without_end_under_the_fastest_tick`; we use no signal |
//! | 22 | the loader's lock taken twice | `loading_libraries_under_the_fastest_tick` |
//! | 23 | system calls cut short by a signal | `a_blocking_call_is_not_cut_short`, `signals_are_all_the_programs_own` |
//! | 24 | `errno` changed | `errno_is_kept_over_allocations` |
//! | 25 | the handler overflows a small stack | `the_smallest_stack_is_enough`; we have no handler |
//! | 26 | no unwinding through a handler | `guest_capture`: `handlers_allocate_on_their_stacks` |
//! | 27 | bytes that nobody allocated | `exact_random_programs`; `the_bands_add_up_to_the_total` |
//! | 28 | freed by another thread: figures below zero | `exact_handover` |
//! | 29 | what a reallocation counts | `exact_counts`: the table of operations |
//! | 30 | a wrapper without `realloc` or `alloc_zeroed` | `exact_counts` |
//! | 31, 32 | a free of an unknown address ends the session | cannot happen: the tag lies at the block, there is no table to miss |
//! | 33 | charts far from the truth | `guest_exits`: exact bytes in the file |
//! | 34 | two stacks under one cut name | `guest_names`: `long_names_are_shortened_and_stay_different` |
//! | 35 | peak below the live bytes | cannot happen: we publish no peak |
//! | 36 | tests that count the harness's blocks | `measuring_is_of_one_thread_alone` |
//! | 37 | a backtrace at every allocation | a known call site is a look into a table; without frame pointers one block in 512 KiB is unwound: the benches |
//! | 38 | samples that step back | every test: `common::profile::whole_hp` |
//! | 39, 40 | no file after a signal or `exit` | `guest_exits` |
//! | 41 | nothing in the file until the end | `guest_config`: `inline_samples_need_no_thread` waits for samples in the file |
//! | 42 | a failing write panics | `guest_files`: `a_full_disk_ends_the_profile_and_not_the_program` |
//! | 43 | files of gigabytes | `a_long_run_leaves_a_short_file` |
//! | 44, 45 | viewers | tests of hp2ps and hp2svg |
//! | 46 | making names shows in the profile, and keeps memory | `guest_symbols`: `naming_is_in_no_band`, `naming_keeps_no_memory` |
//! | 47 | making names takes an hour | `guest_symbols`: `thousands_of_places_are_named_in_the_time_of_opening_the_file` |
//! | 48 | names as the compiler mangled them | `guest_symbols`: `both_schemes_of_names_are_readable` |
//! | 49 | `panic = "abort"` leaves no frames | `guest_symbols`: `aborting_programs_have_the_same_names` |
//! | 50 | stripped programs have no names | `guest_symbols`: `a_stripped_program_has_no_wrong_name`, `a_program_without_debug_information_has_functions`; the package `heapprof-resolve`: `end_to_end` |
//! | 51 | inlined functions vanish or have wrong names | `guest_symbols`: `inlined_functions_are_named_or_part_of_their_callers` |
//! | 52 | a block outlives its thread's data | `many_stacks_and_short_threads_stay_small` |
//! | 53 | thread names over 15 bytes are one | `guest_symbols`: `long_names_of_threads_stay_apart` |
//! | 54 | the profiler's own memory grows | `many_stacks_and_short_threads_stay_small`; `guest_symbols`: `naming_keeps_no_memory` |
//! | 55 | memory per live block | four bytes and rounding: `exact_counts`, the table in `engine/tag.rs` |
//! | 56 | one timer for all threads | `guest_time`: `equal_work_is_equal_time` |
//! | 57 | sums that nobody explains | `guest_time`: `the_total_is_the_cpu_time` |
//! | 58 | a guard over an await | does not compile in a future that moves between threads (`!Send`) |
//! | 59 | the cost of a cost centre distorts its parent | measured by the benches |
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::hint::black_box;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

mod common;
use common::guest::{Folder, Outcome};
use common::harness::{self, named};
use common::profile::{last_bytes, whole_hp, whole_prof};
use common::tools::find;
use heapprof::cost_centre;

#[global_allocator]
static ALLOC: heapprof::HeapProf = heapprof::HeapProf::new();

// ---- roles -------------------------------------------------------------------------------------

/// Runs `work` on `threads` threads at once.
fn on_threads(threads: usize, work: impl Fn(usize) + Sync) {
    let work = &work;
    std::thread::scope(|scope| {
        for thread in 0..threads {
            scope.spawn(move || work(thread));
        }
    });
}

/// Hammers two kinds of locks while it allocates, inside and outside.
fn contends(_: &[String]) {
    let standard = Mutex::new(VecDeque::new());
    let parking = parking_lot::Mutex::new(VecDeque::new());
    on_threads(8, |thread| {
        for round in 0..1_500 {
            let block = cost_centre!("block" => vec![0u8; 1 + (round * 7 + thread) % 900]);
            let mut held = standard.lock().unwrap_or_else(PoisonError::into_inner);
            held.push_back(block.clone());
            if held.len() > 50 {
                held.pop_front();
            }
            drop(held);
            let mut held = parking.lock();
            held.push_back(block);
            if held.len() > 50 {
                held.pop_front();
            }
        }
    });
    println!("{}", standard.into_inner().unwrap().len() + parking.into_inner().len());
}

fn captures_backtraces(_: &[String]) {
    on_threads(4, |_| {
        for _ in 0..4 {
            let trace = cost_centre!("trace" => std::backtrace::Backtrace::force_capture().to_string());
            assert!(!trace.is_empty());
            let blocks: Vec<_> = (1..200).map(|size| vec![0u8; size]).collect();
            drop(black_box(blocks));
        }
    });
}

/// Asks for the local time on two threads, which takes libc's lock for the time zone, while others run
/// into the limit of stacks.
fn asks_the_local_time(_: &[String]) {
    on_threads(4, |thread| {
        for round in 0..3_000 {
            if thread % 2 == 0 {
                // SAFETY: plain data to be overwritten; both pointers are to live locals.
                let known = unsafe {
                    let (time, mut tm) = (libc::time(std::ptr::null_mut()), std::mem::zeroed());
                    !libc::localtime_r(&time, &mut tm).is_null()
                };
                assert!(known);
            } else {
                macro_rules! enter {
                    ($($name:literal)*) => {
                        $(let _scope = cost_centre!($name); drop(black_box(vec![0u8; 1 + round % 99]));)*
                    };
                }
                enter!("a" "b" "c" "d" "e" "f" "g" "h" "i" "j" "k" "l" "m" "n" "o" "p" "q" "r" "s" "t");
            }
        }
    });
}

fn starts_threads(_: &[String]) {
    on_threads(2, |thread| {
        for round in 0..600 {
            let name = format!("a name of more than fifteen bytes {thread} {round}");
            let work = move || black_box(cost_centre!("short" => vec![0u8; round])).len();
            assert_eq!(std::thread::Builder::new().name(name).spawn(work).unwrap().join().unwrap(), round);
        }
    });
}

/// A thread-local whose end allocates, enters a cost centre and frees.
struct Ends(RefCell<Vec<Vec<u8>>>);

impl Drop for Ends {
    fn drop(&mut self) {
        let _scope = cost_centre!("at the end");
        let blocks: Vec<_> = (1..100).map(|size| vec![0u8; size]).collect();
        self.0.borrow_mut().extend(blocks);
        LATER.with(|later| later.0.borrow_mut().push(vec![1u8; 10]));
    }
}

/// The same, first used when another one ends.
struct EndsLater(RefCell<Vec<Vec<u8>>>);

impl Drop for EndsLater {
    fn drop(&mut self) {
        drop(black_box(vec![0u8; 100 + self.0.borrow().len()]));
    }
}

thread_local! {
    static ENDS: Ends = const { Ends(RefCell::new(Vec::new())) };
    static LATER: EndsLater = const { EndsLater(RefCell::new(Vec::new())) };
}

fn has_thread_locals(_: &[String]) {
    for round in 0..100 {
        // Joined for good: a scope only waits for the end of the work.
        std::thread::spawn(move || ENDS.with(|ends| ends.0.borrow_mut().push(vec![0u8; round])))
            .join()
            .unwrap();
    }
    let held: u64 =
        heapprof::stacks().iter().filter(|s| s.centre() == "at the end").map(|s| s.live_bytes).sum();
    println!("held at the end: {held}");
}

/// Prints when everything is over, through the hook of a thread-local of the main thread and of exit.
fn prints_at_exit(_: &[String]) {
    extern "C" fn at_exit() {
        let _ = std::io::stdout().write_all(&[b'x'; 100_000]);
        let _ = std::io::stderr().write_all(format!("{:?}\n", vec![0u8; 100]).as_bytes());
    }
    // SAFETY: the hook does not unwind.
    unsafe { libc::atexit(at_exit) };
    std::mem::forget(cost_centre!("kept" => black_box(vec![1u8; 1_000])));
    std::process::exit(7);
}

/// Writes to the three standard streams, whatever they are, and opens a file.
fn uses_standard_streams(_: &[String]) {
    std::mem::forget(cost_centre!("kept" => black_box(vec![1u8; 1_000])));
    for _ in 0..50 {
        let _ = std::io::stdout().write_all(b"to stdout\n");
        let _ = std::io::stderr().write_all(b"to stderr\n");
        let mut nothing = [0; 10];
        let _ = std::io::stdin().read(&mut nothing);
        let _ = heapprof::sample_now();
    }
    std::process::exit(7);
}

/// Forks a large process, whose pages take long to copy.
fn forks_large(_: &[String]) {
    let large = cost_centre!("large" => black_box(vec![1u8; 256 << 20]));
    for _ in 0..5 {
        // SAFETY: the child only ends.
        let child = unsafe { libc::fork() };
        if child == 0 {
            // SAFETY: no preconditions.
            unsafe { libc::_exit(0) };
        }
        let mut status = 0;
        // SAFETY: the pointer is to a live local.
        assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
        assert_eq!(status, 0);
    }
    drop(large);
}

fn panics_often(_: &[String]) {
    std::panic::set_hook(Box::new(|_| {}));
    on_threads(2, |_| {
        for round in 0..4_000_usize {
            let outcome = std::panic::catch_unwind(|| {
                let _outer = cost_centre!("outer");
                let block = vec![0u8; 1 + round % 500];
                let _inner = cost_centre!("inner");
                if round % 3 != 0 {
                    std::panic::panic_any(block);
                }
            });
            assert_eq!(outcome.is_err(), round % 3 != 0);
        }
        std::mem::forget(black_box(vec![1u8; 1_000]));
    });
}

fn loads_libraries(_: &[String]) {
    on_threads(2, |thread| {
        if thread == 0 {
            for _ in 0..2_000 {
                // SAFETY: a library of the C library's, which runs no code of its own when loaded.
                unsafe {
                    let library = libc::dlopen(c"libanl.so.1".as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL);
                    if !library.is_null() {
                        libc::dlclose(library);
                    }
                }
            }
        } else {
            for round in 0..2_000 {
                let caught = std::panic::catch_unwind(|| std::panic::panic_any(vec![0u8; round]));
                assert_eq!(caught.unwrap_err().downcast::<Vec<u8>>().unwrap().len(), round);
            }
        }
    });
}

/// Waits in the kernel, where a signal would end the wait with EINTR.
fn blocks(_: &[String]) {
    let (reader, writer) = std::io::pipe().unwrap();
    let begin = Instant::now();
    let mut poll =
        libc::pollfd { fd: std::os::fd::AsRawFd::as_raw_fd(&reader), events: libc::POLLIN, revents: 0 };
    // SAFETY: one live entry.
    assert_eq!(unsafe { libc::poll(&mut poll, 1, 400) }, 0, "{}", std::io::Error::last_os_error());
    assert!(begin.elapsed() >= Duration::from_millis(400));
    let span = libc::timespec { tv_sec: 0, tv_nsec: 300_000_000 };
    // SAFETY: the pointer is to a live local; no rest is asked for.
    assert_eq!(unsafe { libc::nanosleep(&span, std::ptr::null_mut()) }, 0);
    drop(writer);
}

/// Prints what the kernel says of this process's signals, and of the main thread's mask.
fn shows_signals(_: &[String]) {
    let _ = heapprof::sample_now();
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    for line in status.lines().filter(|line| line.starts_with("Sig") || line.starts_with("Shd")) {
        let (name, mask) = line.split_once(":\t").unwrap();
        if name != "SigQ" {
            // Signals 32 and 33 are libc's own, for its threads.
            println!("{name} {:x}", u64::from_str_radix(mask, 16).unwrap() & !(3 << 31));
        }
    }
}

/// Fails a system call, allocates, and looks at `errno`; on new threads, whose first block is the
/// profiler's longest way.
fn fails_calls(_: &[String]) {
    // SAFETY: -1 is no descriptor; the second call returns this thread's cell.
    let fail = || unsafe {
        libc::close(-1);
        *libc::__errno_location()
    };
    // SAFETY: as above.
    let errno = || unsafe { *libc::__errno_location() };
    let check = move |round: usize| {
        assert_eq!(fail(), libc::EBADF);
        let block = black_box(vec![0u8; 1 + round % 2_000]);
        assert_eq!(errno(), libc::EBADF, "after an allocation");
        drop(black_box(block));
        assert_eq!(errno(), libc::EBADF, "after a free");
        let scope = cost_centre!("scope");
        assert_eq!(errno(), libc::EBADF, "after a cost centre");
        drop(scope);
    };
    for round in 0..300 {
        raw_thread(move || check(round), 512 << 10);
    }
    on_threads(2, |_| (0..20_000).for_each(check));
}

/// Runs `work` on a thread made by pthread, with a stack of this size: no block is allocated on it
/// before `work` runs.
fn raw_thread(work: impl FnOnce() + Send + 'static, stack_bytes: usize) {
    extern "C" fn body(work: *mut libc::c_void) -> *mut libc::c_void {
        // SAFETY: made by `Box::into_raw` below, and used once.
        let work = unsafe { Box::from_raw(work.cast::<Box<dyn FnOnce() + Send>>()) };
        let passed = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work)).is_ok();
        std::ptr::without_provenance_mut(usize::from(passed))
    }
    let work: Box<Box<dyn FnOnce() + Send>> = Box::new(Box::new(work));
    // SAFETY: plain data that the calls initialise; every pointer is to a live local or to `work`.
    let result = unsafe {
        let (mut attributes, mut thread, mut result) = (std::mem::zeroed(), 0, std::ptr::null_mut());
        libc::pthread_attr_init(&mut attributes);
        assert_eq!(libc::pthread_attr_setstacksize(&mut attributes, stack_bytes), 0);
        assert_eq!(libc::pthread_create(&mut thread, &attributes, body, Box::into_raw(work).cast()), 0);
        libc::pthread_join(thread, &mut result);
        libc::pthread_attr_destroy(&mut attributes);
        result
    };
    assert_eq!(result.addr(), 1, "the thread has failed");
}

/// Allocates at the end of the smallest stacks that there are.
fn has_small_stacks(args: &[String]) {
    let stack_bytes = args[0].parse().unwrap();
    for round in 0..200 {
        raw_thread(
            move || {
                let _scope = cost_centre!("small");
                let mut block = vec![0u8; 1 + round];
                block.reserve_exact(5_000);
                drop(black_box(block));
            },
            stack_bytes,
        );
    }
    println!("two hundred");
}

/// Compares the total with the sum over the stacks, and leaves exact bytes for the file.
fn adds_up(_: &[String]) {
    on_threads(4, |thread| {
        for round in 0..300 {
            let _outer = cost_centre!("outer");
            std::mem::forget(cost_centre!("kept" => black_box(vec![1u8; 1 + (round + thread) % 50])));
        }
    });
    let stacks = heapprof::stacks();
    let held: u64 = stacks.iter().map(|stack| stack.live_bytes).sum();
    drop(stacks);
    let _ = heapprof::sample_now();
    println!("{held}");
}

fn measures(_: &[String]) {
    static OVER: AtomicBool = AtomicBool::new(false);
    let busy = || {
        while !OVER.load(Ordering::Relaxed) {
            drop(black_box(vec![0u8; 100]));
        }
    };
    let threads = [std::thread::spawn(busy), std::thread::spawn(busy)];
    for round in 0..1_000 {
        let (_, did) = heapprof::measure(|| black_box(round) + 1);
        assert_eq!(did, heapprof::Measured::default(), "nothing is allocated");
        let (block, did) = heapprof::measure(|| vec![0u8; 77]);
        assert_eq!((did.allocated_bytes, did.allocations, did.frees), (77, 1, 0));
        drop(block);
    }
    OVER.store(true, Ordering::Relaxed);
    threads.into_iter().for_each(|thread| thread.join().unwrap());
}

/// Works until the file says that this many seconds have gone by.
fn runs_for(args: &[String]) {
    let last_s: f64 = args[0].parse().unwrap();
    loop {
        drop(cost_centre!("work" => black_box(vec![0u8; 10_000])));
        std::thread::sleep(Duration::from_millis(5));
        if whole_hp(Path::new("app.hp")).times_s.last().unwrap() > &last_s {
            break;
        }
    }
}

/// A hundred thousand stacks, each holding 16 bytes, then five thousand short threads whose blocks
/// outlive them; prints the peak of the resident memory in KiB.
fn is_crowded(args: &[String]) {
    if args[0] == "stacks" {
        let mut held = Vec::new();
        crowd(16, &mut held);
        println!("{} blocks", held.len());
        let _ = heapprof::sample_now();
    } else {
        let mut held = Vec::new();
        for round in 0..5_000_usize {
            let thread = std::thread::spawn(move || cost_centre!("outlives" => vec![1u8; 1 + round % 100]));
            held.push(thread.join().unwrap());
        }
        println!("{} blocks", held.len());
        let _ = heapprof::sample_now();
        drop(held);
    }
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    println!("{}", status.lines().find(|line| line.starts_with("VmHWM:")).unwrap());
}

/// One of two centres on each of `depth` levels, all of them: 2^(depth + 1) - 2 stacks.
fn crowd(depth: u32, held: &mut Vec<Vec<u8>>) {
    macro_rules! level {
        ($($depth:literal $left:literal $right:literal)*) => {
            match depth {
                $($depth => {
                    cost_centre!($left => crowd(depth - 1, held));
                    cost_centre!($right => crowd(depth - 1, held));
                })*
                _ => held.push(vec![1u8; 16]),
            }
        };
    }
    level!(16 "a" "A" 15 "b" "B" 14 "c" "C" 13 "d" "D" 12 "e" "E" 11 "f" "F" 10 "g" "G" 9 "h" "H"
        8 "i" "I" 7 "j" "J" 6 "k" "K" 5 "l" "L" 4 "m" "M" 3 "n" "N" 2 "o" "O" 1 "p" "P");
}

/// Does nothing by itself.
fn idles(_: &[String]) {}

// ---- helpers -----------------------------------------------------------------------------------

/// Runs a role without a profile, with one by the profiler's thread at the fastest tick, and with one
/// by the program's own threads; all must end alike. The folder and outcome of the last two.
#[track_caller]
fn in_every_way(role: &str, args: &[&str]) -> Vec<(Folder, Outcome)> {
    let run = |sampler: Option<&str>| {
        let folder = Folder::new();
        let mut guest = folder.guest(role);
        guest.command.args(args);
        if let Some(sampler) = sampler {
            guest = guest.profiled().env("HEAPPROF_SAMPLER", sampler).env("HEAPPROF_TICK", "0.0001");
        }
        let outcome = guest.run().ended_with(0);
        (folder, outcome)
    };
    let (_, plain) = run(None);
    let profiled = ["thread", "inline"].map(|sampler| run(Some(sampler)));
    for (folder, outcome) in &profiled {
        assert_eq!(outcome.text(), plain.text(), "{role}");
        assert_eq!(folder.files(), ["app.hp", "app.prof"], "{role}");
        whole_hp(&folder.file("app.hp"));
        whole_prof(&folder.file("app.prof"));
    }
    profiled.into()
}

// ---- tests -------------------------------------------------------------------------------------

fn contended_locks_never_hang() {
    in_every_way("contends", &[]);
}

fn backtraces_amid_allocations_never_hang() {
    in_every_way("captures_backtraces", &[]);
}

fn a_full_pipe_on_stdout_holds_up_no_sample() {
    let folder = Folder::new();
    let (mut reader, writer) = std::io::pipe().unwrap();
    let guest = folder.guest("prints_at_exit").profiled().stdout(writer.into());
    let running = guest.start();
    // The guest hangs in its exit hook, over a pipe that nobody reads; its profile goes on.
    let samples = || match std::fs::read(folder.file("app.hp")) {
        Ok(text) => heapprof::hp::read(&text[..]).unwrap().times_s.len(),
        Err(_) => 0,
    };
    let begin = Instant::now();
    while samples() < 100 {
        assert!(begin.elapsed() < Duration::from_secs(30), "{} samples", samples());
        std::thread::sleep(Duration::from_millis(5));
    }
    std::thread::spawn(move || std::io::copy(&mut reader, &mut std::io::sink()));
    running.finish().ended_with(7);
    assert_eq!(last_bytes(&whole_hp(&folder.file("app.hp")), "kept"), 1_000);
}

fn local_time_amid_full_tables_never_hangs() {
    for sampler in ["thread", "inline"] {
        let folder = Folder::new();
        let guest = folder.guest("asks_the_local_time").profiled().env("HEAPPROF_SAMPLER", sampler);
        let outcome = guest.env("HEAPPROF_STACKS", "16").run().ended_with(0);
        assert_eq!(outcome.lines().len(), 2, "the limit is told once, at the end: {}", outcome.stderr);
    }
}

fn threads_started_without_end_never_hang() {
    in_every_way("starts_threads", &[]);
}

fn thread_locals_that_allocate_as_they_end() {
    let folder = Folder::new();
    let outcome = folder.guest("has_thread_locals").profiled().run().ended_with(0);
    assert_eq!(outcome.text(), "held at the end: 0\n");
    let plain = Folder::new();
    plain.guest("has_thread_locals").run().ended_with(0);
}

fn reading_the_configuration_is_in_no_band() {
    let folder = Folder::new();
    let long = format!("# {}\n", "x".repeat(50_000));
    let text = format!("{long}interval = 0.001\nown = true\nname_chars = 100\n");
    std::fs::write(folder.file("heapprof.toml"), text).unwrap();
    folder.guest("idles").env("HEAPPROF_STACKS", "1000").run().ended_with(0);
    let hp = whole_hp(&folder.file("app.hp"));
    let first: Vec<_> = hp.bands.iter().filter(|band| band.value(0) > 0).map(|band| &band.name[..]).collect();
    assert_eq!(first, [b"HEAPPROF"], "before main only the profiler holds anything");
}

fn printing_at_exit_into_a_closed_pipe_ends_nobody() {
    for profiled in [false, true] {
        let folder = Folder::new();
        let writers = [(); 2].map(|()| std::io::pipe().unwrap().1);
        let [stdout, stderr] = writers.map(Stdio::from);
        let guest = folder.guest("prints_at_exit").stdout(stdout).stderr(stderr);
        let guest = if profiled { guest.profiled() } else { guest };
        guest.run().ended_with(7);
        if profiled {
            assert_eq!(last_bytes(&whole_hp(&folder.file("app.hp")), "kept"), 1_000);
            whole_prof(&folder.file("app.prof"));
        }
    }
}

fn closed_standard_streams_are_not_taken_for_files() {
    for closed in [vec![0], vec![1], vec![2], vec![1, 2], vec![0, 1, 2]] {
        let folder = Folder::new();
        let mut guest = folder.guest("uses_standard_streams").profiled();
        let descriptors = closed.clone();
        let close = move || {
            descriptors.iter().for_each(|&descriptor| {
                // SAFETY: the process is about to become another program, and uses none of them.
                unsafe { libc::close(descriptor) };
            });
            Ok(())
        };
        // SAFETY: the closure only makes system calls.
        unsafe { std::os::unix::process::CommandExt::pre_exec(&mut guest.command, close) };
        guest.run().ended_with(7);
        let text = std::fs::read_to_string(folder.file("app.hp")).unwrap();
        assert!(!text.contains("to std") && !text.contains("heapprof:"), "closed {closed:?}:\n{text}");
        assert_eq!(last_bytes(&whole_hp(&folder.file("app.hp")), "kept"), 1_000);
        whole_prof(&folder.file("app.prof"));
    }
}

fn a_large_process_forks_under_the_fastest_tick() {
    in_every_way("forks_large", &[]);
}

fn panics_without_end_under_the_fastest_tick() {
    for (folder, _) in in_every_way("panics_often", &[]) {
        let hp = whole_hp(&folder.file("app.hp"));
        assert_eq!(last_bytes(&hp, "outer") + last_bytes(&hp, "inner"), 0, "unwinding frees and leaves");
    }
}

fn loading_libraries_under_the_fastest_tick() {
    in_every_way("loads_libraries", &[]);
}

fn a_blocking_call_is_not_cut_short() {
    in_every_way("blocks", &[]);
}

fn signals_are_all_the_programs_own() {
    in_every_way("shows_signals", &[]);
}

fn errno_is_kept_over_allocations() {
    in_every_way("fails_calls", &[]);
}

fn the_smallest_stack_is_enough() {
    // How much the program needs by itself depends on its allocator and how that was built.
    let runs = |kib: u64, sampler: Option<&str>| {
        let folder = Folder::new();
        let guest = folder.guest("has_small_stacks").arg((kib << 10).to_string());
        let guest = match sampler {
            Some(sampler) => guest.profiled().env("HEAPPROF_SAMPLER", sampler),
            None => guest,
        };
        guest.run().text() == "two hundred\n"
    };
    let least_kib = (16..512).step_by(4).find(|&kib| runs(kib, None)).expect("a stack that is enough");
    println!("the program alone needs stacks of {least_kib} KiB");
    assert!(runs(least_kib + 4, Some("thread")), "the profiler needs more than 4 KiB of stack");
    assert!(runs(least_kib + 64, Some("inline")), "a sample needs more than 64 KiB of stack");
}

fn the_bands_add_up_to_the_total() {
    let folder = Folder::new();
    let outcome = folder.guest("adds_up").profiled().run().ended_with(0);
    let kept: u64 = (0..4).flat_map(|thread| (0..300).map(move |round| 1 + (round + thread) % 50)).sum();
    let hp = whole_hp(&folder.file("app.hp"));
    assert_eq!(last_bytes(&hp, "kept"), kept);
    let held: u64 = outcome.text().trim_end().parse().unwrap();
    assert!(held >= kept && held < kept + 100_000, "{held}, of which {kept} are known");
}

fn measuring_is_of_one_thread_alone() {
    let folder = Folder::new();
    folder.guest("measures").env("HEAPPROF", "armed").run().ended_with(0);
}

fn a_long_run_leaves_a_short_file() {
    let folder = Folder::new();
    folder.guest("runs_for").arg("1.6").profiled().env("HEAPPROF_SAMPLES", "50").run().ended_with(0);
    let hp = whole_hp(&folder.file("app.hp"));
    let last_ms = hp.times_s.last().unwrap() * 1_000.0;
    // Fifty samples each at 1 ms, 2 ms, 4 ms, ...
    let most = 50.0 * (last_ms / 50.0 + 1.0).log2() + 3.0;
    let samples = hp.times_s.len();
    assert!(samples as f64 <= most, "{samples} samples in {last_ms} ms, at most {most}");
    assert!(samples > 100, "{samples} samples in {last_ms} ms");
}

fn many_stacks_and_short_threads_stay_small() {
    // Bounds in MiB: measured were 43 and less than 1. Most of it is the text of a report of 65,536
    // rows, which is only there while it is written.
    for (what, blocks, most_mib) in [("stacks", 65_536, 90), ("threads", 5_000, 10)] {
        let peak_mib = |folder: &Folder, profiled: bool| {
            let guest = folder.guest("is_crowded").arg(what).env("HEAPPROF_OWN", "on");
            let guest = if profiled { guest.env("HEAPPROF_INTERVAL", "50ms") } else { guest };
            let text = guest.run().ended_with(0).text();
            let (first, last) = text.trim_end().split_once('\n').unwrap();
            assert_eq!(first, format!("{blocks} blocks"));
            last.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() / 1024
        };
        let (plain, folder) = (Folder::new(), Folder::new());
        let [without, with] = [peak_mib(&plain, false), peak_mib(&folder, true)];
        let hp = whole_hp(&folder.file("app.hp"));
        let own = hp.band("HEAPPROF").expect("the profiler's own band");
        let own_mib = own.points.iter().map(|&(_, bytes)| bytes).max().unwrap() >> 20;
        println!("{what}: {without} MiB resident without a profile, {with} MiB with, own band {own_mib} MiB");
        assert!(with <= without + most_mib, "{what}: {without} MiB, {with} MiB");
        // The band is what the tables can have touched, and what the profiler holds between samples.
        assert!(own_mib <= most_mib && (own_mib >= 5 || what == "threads"), "{what}: {own_mib} MiB");
    }
}

// ---- what the allocator's code can reach -------------------------------------------------------

/// The example `first`, built for release over the system's allocator: by hand, because cargo would
/// build every dependency of every test for it.
fn release_example() -> PathBuf {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("release-example");
    let crate_root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["build", "--quiet", "--release", "--lib", "--no-default-features", "--target-dir"]);
    assert!(cargo.arg(&target).current_dir(crate_root).status().unwrap().success());
    let (release, example) = (target.join("release"), target.join("first"));
    let mut rustc = Command::new("rustc");
    rustc.args(["--edition", "2024", "-O", "-o"]).arg(&example).arg(crate_root.join("../examples/first.rs"));
    rustc.arg("-L").arg(release.join("deps")).arg("--extern");
    rustc.arg(format!("heapprof={}", release.join("libheapprof.rlib").display()));
    assert!(rustc.status().unwrap().success());
    example
}

/// What a program's code refers to, by function.
struct Calls(BTreeMap<String, BTreeSet<String>>);

impl Calls {
    /// Reads a disassembly (mangled names: others need not be different): calls and jumps by name, and through the table of addresses that the loader
    /// fills in.
    fn of(objdump: &Path, program: &Path) -> Self {
        let run = |options: &[&str]| {
            let listed = Command::new(objdump).args(options).arg(program).output().unwrap();
            assert!(listed.status.success());
            String::from_utf8_lossy(&listed.stdout).into_owned()
        };
        let code = run(&["-d", "--no-show-raw-insn"]);
        let heads: BTreeMap<u64, &str> = code.lines().filter_map(head).collect();
        let relocated = run(&["-R"]);
        let slots: BTreeMap<u64, &str> = relocated.lines().filter_map(|line| slot(line, &heads)).collect();
        let mut calls: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        let mut function = "";
        for line in code.lines() {
            if let Some((_, name)) = head(line) {
                function = name;
            } else if let Some(name) = callee(line, &slots) {
                calls.entry(function.to_owned()).or_default().insert(name.to_owned());
            }
        }
        Self(calls)
    }
}

/// `0000000000048520 <name>:`
fn head(line: &str) -> Option<(u64, &str)> {
    let (address, name) = line.strip_suffix(">:")?.split_once(" <")?;
    Some((u64::from_str_radix(address, 16).ok()?, name))
}

/// `0000000000165820 R_X86_64_RELATIVE  *ABS*+0x0000000000047f80`, where a function begins.
fn slot<'a>(line: &str, heads: &BTreeMap<u64, &'a str>) -> Option<(u64, &'a str)> {
    let (place, rest) = line.split_once(' ')?;
    let (_, address) = rest.split_once("*ABS*+0x")?;
    let name = heads.get(&u64::from_str_radix(address.trim(), 16).ok()?)?;
    Some((u64::from_str_radix(place, 16).ok()?, name))
}

/// `48545: jne 48566 <name+0x46>` or `4853d: call *0x126f1d(%rip)  # 16f460 <_DYNAMIC+0x2b0>`.
fn callee<'a>(line: &'a str, slots: &BTreeMap<u64, &'a str>) -> Option<&'a str> {
    let (before, name) = line.split_once('<')?;
    let place = before.rsplit_once("# ").and_then(|(_, place)| u64::from_str_radix(place.trim(), 16).ok());
    if let Some(name) = place.and_then(|place| slots.get(&place)) {
        return Some(name);
    }
    let name = name.rsplit_once('>').map_or(name, |(name, _)| name);
    Some(name.rsplit_once("+0x").map_or(name, |(name, _)| name))
}

fn the_allocator_reaches_no_panic() {
    let Some(objdump) = find("objdump") else { return };
    let Calls(calls) = Calls::of(&objdump, &release_example());
    let entries = ["__rust_alloc", "__rust_dealloc", "__rust_realloc", "__rust_alloc_zeroed"];
    let is_entry = |name: &&String| entries.iter().any(|entry| name.ends_with(entry));
    let mut pending: Vec<Vec<&String>> = calls.keys().filter(is_entry).map(|name| vec![name]).collect();
    assert_eq!(pending.len(), 4, "{pending:?}");
    let (mut seen, mut panics, mut ours) = (BTreeSet::new(), Vec::new(), 0);
    while let Some(path) = pending.pop() {
        let name = path[path.len() - 1];
        // Taking a sample on the program's thread is the profiler's own work, not the hook's; and std
        // promises allocators that they may ask for the current thread.
        if name.contains("inline_due") || name.contains("thread7current") || !seen.insert(name) {
            continue;
        }
        if name.contains("panicking") || name.contains("_failed") {
            panics.push(path);
            continue;
        }
        ours += usize::from(name.contains("heapprof"));
        for called in calls.get(name).into_iter().flatten() {
            pending.push(path.iter().copied().chain([called]).collect());
        }
    }
    assert!(panics.is_empty(), "{panics:#?}");
    assert!(ours >= 4, "the walk came to {ours} functions of heapprof's: {seen:?}");
}

fn main() -> ExitCode {
    let roles = named![
        contends,
        captures_backtraces,
        asks_the_local_time,
        starts_threads,
        has_thread_locals,
        prints_at_exit,
        uses_standard_streams,
        forks_large,
        panics_often,
        loads_libraries,
        blocks,
        shows_signals,
        fails_calls,
        has_small_stacks,
        adds_up,
        measures,
        runs_for,
        is_crowded,
        idles,
    ];
    let tests = named![
        contended_locks_never_hang,
        backtraces_amid_allocations_never_hang,
        a_full_pipe_on_stdout_holds_up_no_sample,
        local_time_amid_full_tables_never_hangs,
        threads_started_without_end_never_hang,
        thread_locals_that_allocate_as_they_end,
        reading_the_configuration_is_in_no_band,
        printing_at_exit_into_a_closed_pipe_ends_nobody,
        closed_standard_streams_are_not_taken_for_files,
        the_allocator_reaches_no_panic,
        a_large_process_forks_under_the_fastest_tick,
        panics_without_end_under_the_fastest_tick,
        loading_libraries_under_the_fastest_tick,
        a_blocking_call_is_not_cut_short,
        signals_are_all_the_programs_own,
        errno_is_kept_over_allocations,
        the_smallest_stack_is_enough,
        the_bands_add_up_to_the_total,
        measuring_is_of_one_thread_alone,
        a_long_run_leaves_a_short_file,
        many_stacks_and_short_threads_stay_small,
    ];
    harness::main(roles, tests, 2)
}
