//! The profiler's own thread: reads every thread's CPU clock and current stack at each tick, and
//! takes the samples. It needs no signal, stops no thread, and sleeps longer when nobody works.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::ccs::STACKS;
use super::profiler::{self, Patience, Session, lock};
use super::shard::SHARDS;
#[cfg(feature = "symbols")]
use super::{capture, namer};
use super::{os, thread};

/// A tick may take this share of the time between two ticks, as its inverse: with very many threads
/// the ticks come further apart.
const TICK_COST_INVERSE: u32 = 50;
/// An idle process is looked at with pauses up to this many ticks.
const IDLE_TICKS_MAX: u32 = 16;

/// The handle of the last ticker's thread, until somebody joins it; 0 = none. One word, so that a
/// forked child finds no lock held.
static THREAD: AtomicU64 = AtomicU64::new(0);

/// Starts the thread; `None` when the system has none.
pub(crate) fn start(session: &'static Session) -> Option<()> {
    // One whose profile ended by a failed write has not been waited for.
    join();
    let thread = os::start_thread(profiler::run_ticker, session)?;
    THREAD.store(thread.into_number(), Ordering::Relaxed);
    Some(())
}

/// Waits for the end of a ticker that has been asked to end.
pub(crate) fn join() {
    if let Some(thread) = os::Thread::from_number(THREAD.swap(0, Ordering::Relaxed)) {
        thread.join();
    }
}

/// In a forked child there is no ticker to wait for.
pub(crate) fn forget_after_fork() {
    THREAD.store(0, Ordering::Relaxed);
}

/// Ticks and samples until the session is asked to end.
pub(crate) fn run(session: &Session) {
    os::name_this_thread(c"heapprof");
    os::wake_punctually();
    let _own = thread::OwnWork::begin();
    let tick = session.config.tick;
    let mut next_sample = Instant::now() + session.config.interval;
    let mut idle_ticks = 1;
    let mut last_ns = os::elapsed_ns();
    loop {
        let begin_ns = os::own_cpu_ns();
        let now_ns = os::elapsed_ns();
        idle_ticks = if tick_all(now_ns - last_ns) { 1 } else { (idle_ticks * 2).min(IDLE_TICKS_MAX) };
        last_ns = now_ns;
        if idle_ticks == IDLE_TICKS_MAX && os::is_last_thread() {
            // The program is over, and only we keep its process.
            return profiler::say_failure(profiler::stop(session.number, Patience::Short));
        }
        session.looks.fetch_add(1, Ordering::Relaxed);
        // After a first pause: a program that enters a cost centre at once does not need it.
        #[cfg(feature = "symbols")]
        if session.looks.load(Ordering::Relaxed) > 1 && capture::plan().wants_traces() {
            namer::tell_library();
        }
        let cost = Duration::from_nanos(os::own_cpu_ns() - begin_ns);
        let pause = uneven(tick * idle_ticks, now_ns).max(cost * TICK_COST_INVERSE);
        let until_sample = next_sample.saturating_duration_since(Instant::now());
        if until_sample.is_zero() {
            if session.sample().is_err() {
                return;
            }
            next_sample = next_after(next_sample, session.interval());
        }
        if ended_within(session, pause.min(next_sample.saturating_duration_since(Instant::now()))) {
            return;
        }
    }
}

/// The pause, made longer or shorter by up to a half of it: a program that works in a rhythm of its
/// own would else be seen in the same phase every time. `noise` is any number that is never the same.
fn uneven(pause: Duration, noise: u64) -> Duration {
    // Fibonacci hashing spreads the low bits of the clock over the high ones.
    let spread = (noise.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 54) as u32;
    pause / 2 + pause * spread / 1024
}

/// The next moment of the regular grid that still lies ahead.
fn next_after(last: Instant, interval: Duration) -> Instant {
    let now = Instant::now();
    let next = last + interval;
    if next > now { next } else { now + interval }
}

/// Sleeps for `pause` or until the session is asked to end; whether it was.
fn ended_within(session: &Session, pause: Duration) -> bool {
    let ending = lock(&session.ending);
    if *ending || pause.is_zero() {
        return *ending;
    }
    match session.wake.wait_timeout(ending, pause) {
        Ok((ending, _)) => *ending,
        Err(poisoned) => *poisoned.into_inner().0,
    }
}

/// Attributes every thread's CPU time of the last `wall_ns`. Whether any thread but ours had run.
fn tick_all(wall_ns: u64) -> bool {
    let attribute = STACKS.attribute();
    let own = thread::own();
    let ran = SHARDS.all().filter(|shard| shard.time(wall_ns, &attribute) && Some(*shard) != own);
    ran.count() > 0
}
