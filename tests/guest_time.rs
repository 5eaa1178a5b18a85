//! The time profile gives every cost centre its CPU time. The only tests that depend on time: they
//! compare shares of CPU time, and a noisy machine gets three tries, with all readings printed.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::os::unix::process::CommandExt as _;
use std::process::ExitCode;
use std::time::Duration;

mod common;
use common::guest::Folder;
use common::harness::{self, named};
use common::profile::{Prof, whole_prof};
use heapprof::cost_centre;

#[global_allocator]
static ALLOC: heapprof::HeapProf = heapprof::HeapProf::new();

// ---- roles -------------------------------------------------------------------------------------

/// CPU time of this thread.
fn cpu() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer is to a live local.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// Uses this much CPU time.
fn spin(span: Duration) {
    let end = cpu() + span;
    while cpu() < end {
        std::hint::spin_loop();
    }
}

/// Prints the CPU time of the process in seconds, as the kernel accounts for it, without that of the
/// profiler's thread, which the report leaves out.
fn print_usage() {
    // SAFETY: plain data to be overwritten; the pointer is to a live local.
    let usage = unsafe {
        let mut usage = std::mem::zeroed::<libc::rusage>();
        libc::getrusage(libc::RUSAGE_SELF, &mut usage);
        usage
    };
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
    println!("{}", seconds(usage.ru_utime) + seconds(usage.ru_stime) - ticker_s());
}

/// CPU time of the profiler's thread in seconds.
fn ticker_s() -> f64 {
    let threads = std::fs::read_dir("/proc/self/task").unwrap().map(|thread| thread.unwrap().path());
    let mut tickers =
        threads.filter(|thread| std::fs::read(thread.join("comm")).is_ok_and(|name| name == b"heapprof\n"));
    let ns = tickers.next().map_or(0.0, |ticker| {
        let spent = std::fs::read_to_string(ticker.join("schedstat")).unwrap();
        spent.split(' ').next().unwrap().parse().unwrap()
    });
    assert!(tickers.next().is_none());
    ns / 1e9
}

/// Two threads work equally, each under a centre of its own.
fn splits(_: &[String]) {
    let second = Duration::from_secs(1);
    std::thread::scope(|scope| {
        scope.spawn(|| cost_centre!("left" => spin(second)));
        scope.spawn(|| cost_centre!("right" => spin(second)));
    });
    print_usage();
}

/// Three threads work for unequal times.
fn shares(_: &[String]) {
    std::thread::scope(|scope| {
        scope.spawn(|| cost_centre!("one" => spin(Duration::from_millis(200))));
        scope.spawn(|| cost_centre!("two" => spin(Duration::from_millis(400))));
        scope.spawn(|| cost_centre!("three" => spin(Duration::from_millis(600))));
    });
    print_usage();
}

/// One thread works under nested centres, most of the time in the inner ones.
fn nests(_: &[String]) {
    let _outer = cost_centre!("outer");
    for _ in 0..10 {
        spin(Duration::from_millis(10));
        let _middle = cost_centre!("middle");
        spin(Duration::from_millis(20));
        cost_centre!("inner" => spin(Duration::from_millis(30)));
        cost_centre!("other" => spin(Duration::from_millis(20)));
    }
    print_usage();
}

/// Short bursts of work under two centres by turns, with sleeps in MAIN between them.
fn bursts(_: &[String]) {
    for _ in 0..250 {
        cost_centre!("left" => spin(Duration::from_millis(1)));
        std::thread::sleep(Duration::from_millis(2));
        cost_centre!("right" => spin(Duration::from_millis(1)));
        std::thread::sleep(Duration::from_millis(2));
    }
    print_usage();
}

/// Many threads that live for a tick or so.
fn short_lives(_: &[String]) {
    for _ in 0..200 {
        let work = || cost_centre!("short" => spin(Duration::from_millis(2)));
        std::thread::spawn(work).join().unwrap();
    }
    print_usage();
}

// ---- tests -------------------------------------------------------------------------------------

/// Runs a role under a profile up to three times, until what `check` finds wrong is nothing.
fn thrice(role: &str, check: impl Fn(&Prof, f64) -> Vec<String>) {
    thrice_on(role, false, check);
}

/// The same, on one processor only if asked for.
fn thrice_on(role: &str, one_processor: bool, check: impl Fn(&Prof, f64) -> Vec<String>) {
    let mut readings = Vec::new();
    for _ in 0..3 {
        let folder = Folder::new();
        // Few samples, so that the profiler's own time does not count.
        let mut guest = folder.guest(role).env("HEAPPROF_INTERVAL", "0.5");
        if one_processor {
            // SAFETY: the function only makes system calls.
            unsafe { guest.command.pre_exec(to_one_processor) };
        }
        let outcome = guest.run().ended_with(0);
        let used_s: f64 = outcome.text().trim_end().parse().unwrap();
        let prof = whole_prof(&folder.file("app.prof"));
        let wrong = check(&prof, used_s);
        if wrong.is_empty() {
            return;
        }
        readings.push(format!("{wrong:?}, {used_s} s used\n{}", prof.text));
    }
    panic!("{role}, three times:\n{}", readings.join("\n"));
}

/// Leaves this process the processor that it runs on, alone.
fn to_one_processor() -> std::io::Result<()> {
    // SAFETY: plain data to be overwritten; the pointer is to a live local.
    let failed = unsafe {
        let mut processors = std::mem::zeroed::<libc::cpu_set_t>();
        libc::CPU_SET(libc::sched_getcpu() as usize, &mut processors);
        libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &processors)
    };
    if failed == 0 { Ok(()) } else { Err(std::io::Error::last_os_error()) }
}

/// A complaint unless `is` lies within `slack` of `want`.
fn near(what: &str, is: f64, want: f64, slack: f64) -> Option<String> {
    ((is - want).abs() > slack).then(|| format!("{what} is {is}, expected {want} +- {slack}"))
}

fn equal_work_is_equal_time() {
    thrice("splits", |prof, _| {
        let [left, right] = ["left", "right"].map(|name| prof.row(name).time);
        [near("left", left, 50.0, 3.0), near("right", right, 50.0, 3.0)].into_iter().flatten().collect()
    });
}

fn the_total_is_the_cpu_time() {
    for role in ["splits", "nests", "bursts", "short_lives"] {
        thrice(role, |prof, used_s| {
            near("the total", prof.total_s, used_s, used_s * 0.05).into_iter().collect()
        });
    }
}

fn individual_and_inherited_shares_add_up() {
    thrice("nests", |prof, _| {
        let shares = [("outer", 12.5), ("middle", 25.0), ("inner", 37.5), ("other", 25.0)];
        shares.iter().filter_map(|&(name, want)| near(name, prof.row(name).time, want, 3.0)).collect()
    });
    for role in ["splits", "nests", "bursts"] {
        let folder = Folder::new();
        folder.guest(role).profiled().run().ended_with(0);
        adds_up(&whole_prof(&folder.file("app.prof")));
    }
}

/// That every row inherits its own share and what its children inherit, as far as one decimal says.
#[track_caller]
fn adds_up(prof: &Prof) {
    for (at, row) in prof.rows.iter().enumerate() {
        let below = prof.rows[at + 1..].iter().take_while(|below| below.depth > row.depth);
        let children: Vec<_> = below.filter(|below| below.depth == row.depth + 1).collect();
        let slack = 0.05 * (children.len() + 2) as f64 + 1e-9;
        let time = row.time + children.iter().map(|child| child.inherited_time).sum::<f64>();
        assert!((time - row.inherited_time).abs() <= slack, "{}: {time}\n{}", row.centre, prof.text);
        let alloc = row.alloc + children.iter().map(|child| child.inherited_alloc).sum::<f64>();
        assert!((alloc - row.inherited_alloc).abs() <= slack, "{}: {alloc}\n{}", row.centre, prof.text);
    }
    let [time, alloc] = [prof.rows[0].inherited_time, prof.rows[0].inherited_alloc];
    assert_eq!((prof.rows[0].centre.as_str(), time, alloc), ("MAIN", 100.0, 100.0), "{}", prof.text);
}

fn one_processor_is_shared_as_the_threads_work() {
    thrice_on("shares", true, |prof, used_s| {
        let shares = [("one", 16.7), ("two", 33.3), ("three", 50.0)];
        let wrong = shares.iter().filter_map(|&(name, want)| near(name, prof.row(name).time, want, 3.0));
        wrong.chain(near("the total", prof.total_s, used_s, used_s * 0.05)).collect()
    });
}

fn where_a_thread_sleeps_is_not_where_it_worked() {
    thrice("bursts", |prof, _| {
        let [main, left, right] = ["MAIN", "left", "right"].map(|name| prof.row(name).time);
        let most = (main > 10.0).then(|| format!("MAIN has {main} percent, expected less than 10"));
        [most, near("left - right", left - right, 0.0, 15.0)].into_iter().flatten().collect()
    });
}

fn main() -> ExitCode {
    let tests = named![
        equal_work_is_equal_time,
        the_total_is_the_cpu_time,
        individual_and_inherited_shares_add_up,
        one_processor_is_shared_as_the_threads_work,
        where_a_thread_sleeps_is_not_where_it_worked,
    ];
    harness::main(named![splits, shares, nests, bursts, short_lives], tests, 1)
}
