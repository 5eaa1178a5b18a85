//! The current figures, for the program itself and its tests.

use super::ccs::{self, STACKS};
use super::mode;
use super::recorder;
use super::shard::Figure;
use super::snapshot;
use super::thread;
use crate::figures::{Measured, StackStats, Stats};

/// The figures of the whole process; `None` when it does not tag its blocks.
///
/// Exact for what happened before the call on this thread and on threads that were joined or
/// otherwise waited for; what others do meanwhile may be counted or not.
///
/// ```
/// # #[global_allocator]
/// # static ALLOC: heapprof::HeapProf = heapprof::HeapProf::new().armed();
/// let before = heapprof::stats().unwrap();
/// let block = vec![0u8; 4096];
/// let after = heapprof::stats().unwrap();
/// assert_eq!(after.live_bytes - before.live_bytes, 4096);
/// # drop(block);
/// ```
pub fn stats() -> Option<Stats> {
    mode::is_tagging().then(|| {
        thread::as_profiler(|| {
            let (live_bytes, live_blocks) = snapshot::held();
            let (allocated_bytes, allocations) = snapshot::allocated();
            Stats {
                live_bytes: user_sum(live_bytes),
                live_blocks: user_sum(live_blocks),
                allocated_bytes: user_sum(allocated_bytes),
                allocations: user_sum(allocations),
            }
        })
    })
}

fn user_sum(mut figures: Vec<u64>) -> u64 {
    figures[ccs::HEAPPROF as usize] = 0;
    figures.into_iter().sum()
}

/// The figures of every stack that was ever entered or has held a block, the profiler's own left
/// out; empty when the process does not tag. As exact as [`stats`]; the sum over the stacks is the
/// total.
pub fn stacks() -> Vec<StackStats> {
    if !mode::is_tagging() {
        return Vec::new();
    }
    // The result is the caller's, the working tables are ours.
    let (count, figures) = thread::as_profiler(|| {
        let count = STACKS.count();
        (count, (snapshot::held(), snapshot::total(Figure::Entries, count), snapshot::allocated()))
    });
    let ((live_bytes, live_blocks), entries, (allocated, allocations)) = &figures;
    let used =
        |&stack: &usize| stack != ccs::HEAPPROF as usize && (entries[stack] > 0 || allocations[stack] > 0);
    let row = |stack: usize| StackStats {
        id: STACKS.ordinal(stack as u32),
        centres: recorder::labels(stack as u32).collect(),
        entries: entries[stack],
        live_bytes: live_bytes[stack],
        live_blocks: live_blocks[stack],
        allocated_bytes: allocated[stack],
        allocations: allocations[stack],
    };
    let stacks = (ccs::MAIN as usize..count as usize).filter(used).map(row).collect();
    thread::as_profiler(|| drop(figures));
    stacks
}

/// Runs `work` and counts what the calling thread allocates and frees meanwhile. Other threads do
/// not show, so tests may run in parallel. All zero when the process does not tag.
///
/// ```
/// # #[global_allocator]
/// # static ALLOC: heapprof::HeapProf = heapprof::HeapProf::new().armed();
/// let (sum, did) = heapprof::measure(|| vec![1u64; 100].iter().sum::<u64>());
/// assert_eq!(sum, 100);
/// assert_eq!((did.allocations, did.allocated_bytes), (1, 800));
/// assert_eq!((did.frees, did.live_bytes()), (1, 0));
/// ```
pub fn measure<R>(work: impl FnOnce() -> R) -> (R, Measured) {
    let before = own_figures();
    let result = work();
    let after = own_figures();
    let [allocated_bytes, allocations, freed_bytes, frees] =
        std::array::from_fn(|index| after[index].wrapping_sub(before[index]));
    (result, Measured { allocated_bytes, allocations, freed_bytes, frees })
}

/// The calling thread's counters added up over all stacks but the profiler's own. Allocates nothing.
fn own_figures() -> [u64; 4] {
    let Some(shard) = mode::is_tagging().then(thread::own).flatten() else {
        return [0; 4];
    };
    let stacks = (ccs::MAIN..STACKS.count()).filter(|&stack| stack != ccs::HEAPPROF);
    let sum =
        |figure| stacks.clone().fold(0, |sum: u64, stack| sum.wrapping_add(shard.figure(stack, figure)));
    // A block that changed its origin as it was resized counts for what was added or taken away.
    let (moved, moves) = (sum(Figure::Moved), sum(Figure::Moves));
    [(Figure::Allocated, moved), (Figure::Allocations, moves), (Figure::Freed, moved), (Figure::Frees, moves)]
        .map(|(figure, again)| sum(figure).wrapping_sub(again))
}
