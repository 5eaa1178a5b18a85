//! When the inner allocator has no memory, null is passed on, nothing is counted, and a block whose
//! resize was refused is what it was: to the byte, in the process's totals as well.
//!
//! Its own `main` and one thread of the program, so that the totals are the test's alone.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::hint::black_box;

mod exact_common;
use exact_common::{ALIGNS_AND_HUGE, Block, Figures, Method, Random, figures, layout};

/// The system's allocator, until it is told to refuse.
struct Refusing;

thread_local! {
    /// Whether this thread gets no memory. By thread, since the profiler's own must go on.
    static REFUSES: Cell<bool> = const { Cell::new(false) };
}

// SAFETY: the system's own blocks, or null, which the trait allows at any time.
unsafe impl GlobalAlloc for Refusing {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if REFUSES.get() {
            return std::ptr::null_mut();
        }
        // SAFETY: passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: passed on.
        unsafe { System.dealloc(block, layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if REFUSES.get() {
            return std::ptr::null_mut();
        }
        // SAFETY: passed on.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        if REFUSES.get() {
            return std::ptr::null_mut();
        }
        // SAFETY: passed on.
        unsafe { System.realloc(block, layout, new_size) }
    }
}

#[global_allocator]
static ALLOC: heapprof::HeapProf<Refusing> = heapprof::HeapProf::with(Refusing).armed();

/// Runs `work` without memory.
fn refused<R>(work: impl FnOnce() -> R) -> R {
    REFUSES.set(true);
    let result = work();
    REFUSES.set(false);
    result
}

fn in_owner<R>(work: impl FnOnce() -> R) -> R {
    heapprof::cost_centre!("oom_owner" => work())
}

fn in_other<R>(work: impl FnOnce() -> R) -> R {
    heapprof::cost_centre!("oom_other" => work())
}

/// The two bands of the work below, and what the bands of all else hold.
fn bands() -> [Figures; 4] {
    let [owner, other] = [&["oom_owner"], &["oom_other"]].map(|path| Figures { entries: 0, ..figures(path) });
    // Asking for the figures allocates there, and gives it back.
    let rest =
        [&["BEFORE_PROFILE"][..], &[]].map(figures).map(|Figures { live_bytes, live_blocks, .. }| Figures {
            live_bytes,
            live_blocks,
            ..Figures::default()
        });
    [owner, other, rest[0], rest[1]]
}

/// Runs `work` and checks that it has changed no figure of any band, nor of the whole process.
fn changes_nothing<R>(what: &dyn Fn() -> String, work: impl FnOnce() -> R) -> R {
    let (bands_before, total_before) = (bands(), heapprof::stats());
    let result = work();
    let (total_after, bands_after) = (heapprof::stats(), bands());
    assert_eq!(bands_after, bands_before, "{}", what());
    assert_eq!(total_after, total_before, "{}", what());
    assert!(total_after.is_some(), "the allocator is armed");
    result
}

/// Refuses every method for every alignment, in the stack that owns the block and in another.
fn refuse_everything(phase: &str) {
    for align in ALIGNS_AND_HUGE {
        for size in [1, 8, 100, 5_000, 70_000] {
            let mut block = in_owner(|| Block::new(Method::Alloc, size, align));
            let attempt = || {
                // SAFETY: valid layouts; the block is live and stays so, since null is returned.
                refused(|| unsafe {
                    let resize = |new| std::alloc::realloc(block.as_ptr(), layout(size, align), new);
                    [
                        black_box(std::alloc::alloc(layout(size, align))),
                        black_box(std::alloc::alloc_zeroed(layout(size, align))),
                        black_box(resize(size + 1)),
                        black_box(resize(3 * size)),
                        black_box(resize(size.div_ceil(2))),
                        black_box(resize(size)),
                    ]
                })
            };
            let what = || format!("{phase}, {size} at {align}");
            for got in changes_nothing(&what, || [in_owner(attempt), in_other(attempt)]) {
                assert!(got.iter().all(|block| block.is_null()), "{}: {got:?}", what());
            }
            // Content and tag are where they were: the block resizes and goes as if nothing had been.
            in_owner(|| block.resize(size + 7));
            in_other(|| block.free());
        }
    }
    println!("{phase}: every method refused at every alignment, ok");
}

/// Growing containers come to no harm.
fn refuse_containers() {
    let mut numbers: Vec<u64> = in_owner(|| (0..1_000).collect());
    let grow = || refused(|| in_other(|| numbers.try_reserve(1_000_000)));
    let result = changes_nothing(&|| String::from("a vector"), grow);
    assert!(result.is_err(), "there was no memory");
    assert!(numbers.iter().copied().eq(0..1_000), "the content is the same");
    in_other(|| numbers.extend(0..1_000));
    let [owner, other, ..] = bands();
    assert_eq!((owner.live_bytes, other.live_bytes), (0, 8 * numbers.capacity() as u64));
    println!("a vector that cannot grow stays as it is, ok");
}

/// A program that is refused every now and then, beside a hand-kept account.
fn refuse_now_and_then() {
    let [mut owner, other, ..] = bands();
    let mut random = Random::new(3);
    let mut blocks: Vec<Option<Block>> = (0..64).map(|_| None).collect();
    for _ in 0..20_000 {
        let (slot, size) = (random.below(64), 1 + random.below(3_000));
        let align = random.pick(&ALIGNS_AND_HUGE[..7]);
        let refuse = random.below(3) == 0;
        match blocks[slot].take() {
            None if refuse => {
                // SAFETY: a valid layout.
                let got =
                    refused(|| in_owner(|| unsafe { black_box(std::alloc::alloc(layout(size, align))) }));
                assert!(got.is_null());
            }
            None => {
                blocks[slot] = Some(in_owner(|| Block::new(Method::AllocZeroed, size, align)));
                owner.allocate(size);
            }
            Some(block) if refuse => {
                let old = block.layout();
                // SAFETY: the block is live and stays so, since null is returned.
                let got = refused(|| in_other(|| unsafe { std::alloc::realloc(block.as_ptr(), old, size) }));
                assert!(got.is_null());
                blocks[slot] = Some(block);
            }
            Some(block) => {
                owner.free(block.size());
                in_other(|| block.free());
            }
        }
    }
    for block in blocks.into_iter().flatten() {
        owner.free(block.size());
        block.free();
    }
    let [owner_is, other_is, ..] = bands();
    assert_eq!((owner_is, other_is), (owner, other));
    println!("20,000 operations, a third of them refused, ok");
}

fn main() {
    exact_common::prepare();
    refuse_everything("armed");
    let profile = exact_common::profile("exact_out_of_memory");
    refuse_everything("started");
    refuse_containers();
    refuse_now_and_then();
    profile.stop().expect("the folder is writable");
    refuse_everything("stopped");
}
