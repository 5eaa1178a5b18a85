//! What a thread knows of itself: which shard is its own, and whether its blocks carry stacks.
//!
//! The state is a `const` thread-local without destructor, so it can be read at any time in a
//! thread's life, before `main` and after every other thread-local is gone. The end of a thread is
//! learnt from a pthread key, whose hook runs after the destructors of Rust's thread-locals; what is
//! allocated later still is counted in the shared shard under the stack EXIT.

use std::cell::Cell;
use std::ffi::c_void;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use super::mode::{self, Mode};
use super::shard::{SHARDS, Shard, Tag};
use super::{capture, ccs, os};

struct Thread {
    /// The own shard once blocks carry their stacks, until the thread ends; else [`Shard::COLD`],
    /// which sends the hook to its cold paths.
    hot: Cell<Shard>,
    /// The own shard; null before the first block or scope, and when there is none to be had.
    own: Cell<*mut u8>,
    /// What the next block of this thread finds when `own` is null.
    state: Cell<State>,
    /// Allocated bytes left until this thread next looks at the clock, when samples are inline.
    budget: Cell<usize>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// Never asked for a shard.
    New,
    /// Asked, and there was none: counts in the shared shard under OTHER.
    Refused,
    /// Ending: the own shard is given up; counts in the shared shard under EXIT.
    Ended,
}

thread_local! {
    static THREAD: Thread = const { Thread { hot: Cell::new(Shard::COLD), own: Cell::new(null_mut()), state: Cell::new(State::New), budget: Cell::new(0) } };
}

/// The pthread key that tells of thread ends.
static END_KEY: AtomicU32 = AtomicU32::new(u32::MAX);

/// Samples are taken by the allocating threads, so that all of them keep to the cold path.
static INLINE_SAMPLES: AtomicBool = AtomicBool::new(false);

/// The calling thread's shard if its blocks carry stacks and it needs no cold path, else
/// [`Shard::COLD`].
#[inline(always)]
pub(crate) fn hot() -> Shard {
    THREAD.with(|thread| thread.hot.get())
}

/// Where the calling thread counts: its own shard, or the shared one with the stack to use there.
#[derive(Clone, Copy)]
pub(crate) enum Seat {
    /// The thread's own shard.
    Own(Shard),
    /// The shared shard, and the tag for what is allocated.
    Shared(Shard, Tag),
}

/// The calling thread's seat, taken on first use. Only after the process was found to be tagging.
pub(crate) fn seat() -> Seat {
    let seat = THREAD.try_with(|thread| {
        if thread.own.get().is_null() && thread.state.get() == State::New {
            take_seat(thread);
        }
        let Some(own) = Shard::from_ptr(thread.own.get()) else {
            let stack = if thread.state.get() == State::Ended { ccs::EXIT } else { ccs::OTHER };
            return Seat::Shared(SHARDS.shared(), Tag::of(stack));
        };
        if thread.hot.get() == Shard::COLD
            && mode::mode() == Mode::Started
            && !INLINE_SAMPLES.load(Ordering::Relaxed)
        {
            thread.hot.set(own);
        }
        Seat::Own(own)
    });
    // A thread-local without destructor is there as long as its thread; `with` would hold a panic.
    seat.unwrap_or_else(|_| Seat::Shared(SHARDS.shared(), Tag::of(ccs::EXIT)))
}

fn take_seat(thread: &Thread) {
    let _errno = os::KeepErrno::new();
    match SHARDS.acquire(Tag::of(ccs::MAIN)) {
        Some(shard) => {
            thread.own.set(shard.as_ptr());
            os::set_thread_end(END_KEY.load(Ordering::Relaxed), shard.as_ptr().cast());
            capture::meet(shard);
        }
        None => thread.state.set(State::Refused),
    }
}

/// The calling thread's own shard, if it has one or can get one.
pub(crate) fn own() -> Option<Shard> {
    match seat() {
        Seat::Own(shard) => Some(shard),
        Seat::Shared(..) => None,
    }
}

/// Makes the key that tells of thread ends. Called once, before any block is tagged.
pub(crate) fn set_up() -> bool {
    let Some(key) = os::thread_end_key(on_thread_end) else {
        return false;
    };
    END_KEY.store(key, Ordering::Relaxed);
    true
}

/// Sends every thread to the cold path for good: samples will be taken there. Before the start.
pub(crate) fn sample_inline() {
    INLINE_SAMPLES.store(true, Ordering::Relaxed);
}

/// Whether samples are taken by the allocating threads.
pub(crate) fn samples_inline() -> bool {
    INLINE_SAMPLES.load(Ordering::Relaxed)
}

/// Spends a block of `bytes` from the thread's budget; whether it is time to look at the clock: every
/// 64 KiB or 256 blocks.
pub(crate) fn spend(bytes: usize) -> bool {
    const BUDGET_BYTES: usize = 64 << 10;
    THREAD.with(|thread| {
        let left = thread.budget.get().saturating_sub(bytes.saturating_add(BUDGET_BYTES / 256));
        thread.budget.set(if left == 0 { BUDGET_BYTES } else { left });
        left == 0
    })
}

/// In a forked child: its only thread goes on with its shard.
pub(crate) fn adopt_after_fork() {
    THREAD.with(|thread| {
        if let Some(own) = Shard::from_ptr(thread.own.get()) {
            own.adopt_after_fork();
        }
    });
}

unsafe extern "C" fn on_thread_end(own: *mut c_void) {
    let _errno = os::KeepErrno::new();
    let Some(shard) = Shard::from_ptr(own.cast()) else {
        return;
    };
    // The CPU time since the last tick would be lost with the thread's clock.
    shard.time_last(ccs::STACKS.attribute());
    THREAD.with(|thread| {
        thread.hot.set(Shard::COLD);
        thread.own.set(null_mut());
        thread.state.set(State::Ended);
    });
    shard.give_up();
}

/// Runs `work` with its allocations counted as the profiler's own.
pub(crate) fn as_profiler<R>(work: impl FnOnce() -> R) -> R {
    let _own = OwnWork::begin();
    work()
}

/// While it lives, the calling thread's blocks belong to the profiler.
pub(crate) struct OwnWork(Option<(Shard, Tag)>);

impl OwnWork {
    pub(crate) fn begin() -> Self {
        if !mode::is_tagging() {
            return Self(None);
        }
        Self(own().map(|shard| {
            let saved = shard.current();
            shard.set_current(Tag::of(ccs::HEAPPROF));
            (shard, saved)
        }))
    }
}

impl Drop for OwnWork {
    fn drop(&mut self) {
        if let Some((shard, saved)) = self.0 {
            shard.set_current(saved);
        }
    }
}
