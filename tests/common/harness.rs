//! The main function of a guest test: a role of the guest, or the tests.

use std::io::Write as _;
use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

/// What the guest does, by name; it gets the arguments after the role.
pub(crate) type Role = (&'static str, fn(&[String]));
/// A test by its promise.
pub(crate) type Test = (&'static str, fn());

/// Functions with their names.
macro_rules! named {
    ($($name:ident),* $(,)?) => { &[$((stringify!($name), $name as _)),*] };
}
pub(crate) use named;

/// How an argument says that this process is the guest.
pub(crate) const ROLE: &str = "role=";

/// Plays the role that the first argument names, or runs the tests that the arguments ask for.
pub(crate) fn main(roles: &[Role], tests: &[Test], at_once: usize) -> ExitCode {
    let args: Vec<String> =
        std::env::args_os().skip(1).map(|arg| arg.to_string_lossy().into_owned()).collect();
    if let Some(name) = args.first().and_then(|first| first.strip_prefix(ROLE)) {
        let role = roles.iter().find(|(known, _)| *known == name).expect("a role of this test");
        role.1(&args[1..]);
        return ExitCode::SUCCESS;
    }
    run(&args, tests, at_once)
}

/// Understands what cargo and nextest pass to a libtest: `--list`, `--exact`, a filter; other
/// options are ignored.
fn run(args: &[String], tests: &[Test], at_once: usize) -> ExitCode {
    let asked = |option: &str| args.iter().any(|arg| arg == option);
    let filters: Vec<&String> = args.iter().filter(|arg| !arg.starts_with('-')).collect();
    let wanted = |name: &str| {
        filters.is_empty()
            || filters.iter().any(|&f| if asked("--exact") { name == f } else { name.contains(f.as_str()) })
    };
    let disabled = cfg!(feature = "disabled") || asked("--ignored");
    let chosen: Vec<&Test> = tests.iter().filter(|(name, _)| wanted(name) && !disabled).collect();
    if asked("--list") {
        chosen.iter().for_each(|(name, _)| println!("{name}: test"));
        return ExitCode::SUCCESS;
    }
    println!("\nrunning {} tests", chosen.len());
    let begin = Instant::now();
    let failed = run_all(&chosen, at_once);
    println!(
        "\ntest result: {}. {} passed; {failed} failed; 0 ignored; 0 measured; {} filtered out; finished in {:.2}s\n",
        if failed == 0 { "ok" } else { "FAILED" },
        chosen.len() - failed,
        tests.len() - chosen.len(),
        begin.elapsed().as_secs_f64()
    );
    ExitCode::from(if failed == 0 { 0 } else { 101 })
}

/// Runs the tests, `at_once` of them at a time; the number of failures.
fn run_all(tests: &[&Test], at_once: usize) -> usize {
    let (next, failed) = (AtomicUsize::new(0), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        for _ in 0..at_once {
            scope.spawn(|| {
                while let Some((name, test)) = tests.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let begin = Instant::now();
                    // A thread of its own, so that a failure's message carries the test's name.
                    let thread = std::thread::Builder::new().name((*name).to_owned());
                    let passed = thread.spawn(*test).expect("a thread").join().is_ok();
                    failed.fetch_add(usize::from(!passed), Ordering::Relaxed);
                    let mut out = std::io::stdout().lock();
                    let verdict = if passed { "ok" } else { "FAILED" };
                    let _ =
                        writeln!(out, "test {name} ... {verdict} <{:.2}s>", begin.elapsed().as_secs_f64());
                }
            });
        }
    });
    failed.into_inner()
}
