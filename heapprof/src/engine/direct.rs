//! The allocator's methods called directly, not as the global allocator: small enough for Miri, which
//! checks every access of tags, shards and tables against the block it belongs to, and every pair of
//! accesses from two threads.
//!
//! ```text
//! MIRIFLAGS="-Zmiri-strict-provenance -Zmiri-env-set=HEAPPROF_STACKS=64" \
//!     cargo +nightly miri test -p heapprof --no-default-features --lib engine::direct
//! ```
//! Tables are small under Miri (`SHARDS_MAX`, `CENTRES_MAX`), since every look at a table costs it time by
//! the table's length. What is left out: jemalloc (C), and starting a profile (files, and a thread with
//! attributes).

use std::alloc::{GlobalAlloc, Layout, System};
use std::thread;

use super::alloc::HeapProf;
use super::ccs::{self, STACKS};
use super::mode::{self, Mode};
use super::scope::{Site, Stack};
use super::shard::{Figure, SHARDS};
use super::snapshot;

static OVER_SYSTEM: HeapProf<System> = HeapProf::with(System).armed();

static OWNER: Site = Site::new("direct_owner", "direct", "", 1);
static OTHER: Site = Site::new("direct_other", "direct", "", 2);

/// Headers of both sizes and trailing tags.
const ALIGNS: [usize; 7] = [1, 2, 4, 8, 16, 64, 4_096];

/// A block from the allocator, with content that is known. Not freed when dropped.
struct Block(*mut u8, Layout);

// SAFETY: owned like a box.
unsafe impl Send for Block {}

impl Block {
    fn new(size: usize, align: usize) -> Self {
        let layout = Layout::from_size_align(size, align).expect("a power of two, and a size in range");
        // SAFETY: the size is not zero.
        Self(unsafe { OVER_SYSTEM.alloc(layout) }, layout).filled()
    }

    fn zeroed(size: usize, align: usize) -> Self {
        let layout = Layout::from_size_align(size, align).expect("a power of two, and a size in range");
        // SAFETY: the size is not zero.
        let block = Self(unsafe { OVER_SYSTEM.alloc_zeroed(layout) }, layout);
        assert!(block.bytes().iter().all(|&byte| byte == 0), "{layout:?}: not zero");
        block.filled()
    }

    /// Writes every byte.
    fn filled(self) -> Self {
        assert!(!self.0.is_null() && self.0.addr().is_multiple_of(self.1.align()), "{:?}", self.1);
        // SAFETY: the block is ours and of this size.
        (0..self.1.size()).for_each(|at| unsafe { self.0.add(at).write(at as u8) });
        self
    }

    fn bytes(&self) -> &[u8] {
        // SAFETY: the block is ours, of this size, and has been written.
        unsafe { std::slice::from_raw_parts(self.0, self.1.size()) }
    }

    fn resized(self, new_size: usize) -> Self {
        let kept = self.1.size().min(new_size);
        let layout = Layout::from_size_align(new_size, self.1.align()).expect("a size in range");
        // SAFETY: the block is ours and of this layout; the new size is not zero.
        let moved = Self(unsafe { OVER_SYSTEM.realloc(self.0, self.1, new_size) }, layout);
        // SAFETY: the content came along as far as both sizes reach.
        let content = unsafe { std::slice::from_raw_parts(moved.0, kept) };
        assert!(content.iter().enumerate().all(|(at, &byte)| byte == at as u8), "content lost");
        moved.filled()
    }

    fn free(self) {
        // SAFETY: the block is ours, of this layout, and not used again.
        unsafe { OVER_SYSTEM.dealloc(self.0, self.1) }
    }
}

/// Runs `work` under a cost centre.
fn under<R>(site: &'static Site, work: impl FnOnce() -> R) -> R {
    let _scope = site.enter();
    work()
}

/// (live bytes, live blocks, allocated bytes, allocations, entries) of a stack.
fn figures(stack: u32) -> [u64; 5] {
    let live = [snapshot::live_bytes(), snapshot::live_blocks()];
    let totals = [Figure::Allocated, Figure::Allocations, Figure::Entries]
        .map(|figure| snapshot::total(figure, STACKS.count()));
    let [bytes, blocks] = live.map(|by_stack| by_stack[stack as usize]);
    let [allocated, allocations, entries] = totals.map(|by_stack| by_stack[stack as usize]);
    [bytes, blocks, allocated, allocations, entries]
}

/// The stack of a site that was entered from MAIN.
fn stack_of(site: &'static Site) -> u32 {
    STACKS.push(ccs::MAIN, site)
}

fn armed_blocks_are_of_before_the_profile() {
    // The first block decides that the process tags; a centre entered earlier would count nowhere.
    Block::new(1, 1).free();
    for align in ALIGNS {
        let early = under(&OWNER, || Block::zeroed(24, align).resized(48).resized(10));
        assert_eq!(mode::mode(), Mode::Armed);
        assert_eq!(figures(ccs::BEFORE)[..2], [10, 1]);
        early.free();
        assert_eq!(figures(ccs::BEFORE)[..2], [0, 0]);
    }
    assert_eq!(figures(stack_of(&OWNER)), [0, 0, 0, 0, ALIGNS.len() as u64]);
}

fn started_blocks_are_of_their_stacks() {
    let [owner, other] = [&OWNER, &OTHER].map(stack_of);
    for align in ALIGNS {
        let [owner_before, other_before] = [owner, other].map(figures);
        let since = |stack, before: [u64; 5]| {
            let now = figures(stack);
            std::array::from_fn(|index| now[index] - before[index])
        };
        let block = under(&OWNER, || Block::new(40, align).resized(100).resized(70));
        assert_eq!(since(owner, owner_before), [70, 1, 100, 1, 1], "alignment {align}");
        let block = under(&OTHER, || block.resized(60).resized(90));
        assert_eq!(since(owner, owner_before), [0, 0, 100, 1, 1], "alignment {align}");
        assert_eq!(since(other, other_before), [90, 1, 90, 1, 1], "alignment {align}");
        under(&OWNER, || block.free());
        assert_eq!(since(other, other_before), [0, 0, 90, 1, 1], "alignment {align}");
    }
}

/// One thread allocates, another frees, both end; a third goes on with the counters of one of them.
fn blocks_freed_elsewhere_leave_their_band() {
    let [owner_before, shards_before] = [figures(stack_of(&OWNER))[0], SHARDS.all().count() as u64];
    let stack = under(&OWNER, Stack::current);
    for _ in 0..3 {
        let blocks = thread::spawn(move || {
            let _stack = stack.enter();
            ALIGNS.map(|align| Block::zeroed(33, align))
        });
        let blocks = blocks.join().expect("not failed");
        assert_eq!(figures(stack_of(&OWNER))[0] - owner_before, 33 * ALIGNS.len() as u64);
        let reader = thread::spawn(|| figures(stack_of(&OWNER))[0]);
        thread::spawn(|| blocks.into_iter().for_each(Block::free)).join().expect("not failed");
        assert!(reader.join().expect("not failed") >= owner_before);
        assert_eq!(figures(stack_of(&OWNER))[0], owner_before);
    }
    let shards = SHARDS.all().count() as u64 - shards_before;
    assert!(shards <= 2, "{shards} shards for at most two threads at a time");
}

fn sizes_that_no_memory_holds_give_null() {
    let before = figures(stack_of(&OWNER));
    for align in ALIGNS {
        let block = Block::new(8, align);
        let most = isize::MAX as usize - (align - 1);
        for size in [most, 1 << 62] {
            let huge = Layout::from_size_align(size, align).expect("the greatest that is allowed");
            // SAFETY: valid layouts; the block stays, since null is returned.
            let got = unsafe {
                [
                    OVER_SYSTEM.alloc(huge),
                    OVER_SYSTEM.alloc_zeroed(huge),
                    OVER_SYSTEM.realloc(block.0, block.1, size),
                ]
            };
            assert!(got.iter().all(|block| block.is_null()), "{huge:?}");
        }
        block.resized(9).free();
    }
    assert_eq!(figures(stack_of(&OWNER)), before);
}

/// All in one test, since whether blocks carry stacks belongs to the process and goes one way.
#[test]
fn every_method_keeps_to_its_block_and_counts_in_its_stack() {
    armed_blocks_are_of_before_the_profile();
    mode::start();
    started_blocks_are_of_their_stacks();
    blocks_freed_elsewhere_leave_their_band();
    sizes_that_no_memory_holds_give_null();
}
