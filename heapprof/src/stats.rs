//! The current figures, for the program itself and its tests.

use crate::ccs::{self, STACKS};
use crate::mode::{self, Mode};
use crate::recorder;
use crate::shard::Figure;
use crate::snapshot;
use crate::thread;

/// What the whole process holds and has allocated, the profiler's own blocks left out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stats {
    /// Bytes of live blocks, in the sizes that the program asked for.
    pub live_bytes: u64,
    /// Live blocks.
    pub live_blocks: u64,
    /// Bytes allocated since the process began; growth of a block counts what was added, or the
    /// whole block when it moves to another stack.
    pub allocated_bytes: u64,
    /// Blocks allocated since the process began, and blocks that moved to another stack by growth.
    pub allocations: u64,
}

/// The same for one cost-centre stack.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct StackStats {
    /// The stack's number: `(id)` in the `.hp` file, `no.` in the `.prof` file.
    pub id: u32,
    /// The names of its cost centres, top first, MAIN left out (so empty for MAIN itself).
    pub centres: Vec<&'static str>,
    /// Times its top was entered under its parent, counting re-entries that truncate to it.
    pub entries: u64,
    /// As in [`Stats`].
    pub live_bytes: u64,
    /// As in [`Stats`].
    pub live_blocks: u64,
    /// As in [`Stats`].
    pub allocated_bytes: u64,
    /// As in [`Stats`].
    pub allocations: u64,
}

impl StackStats {
    /// The name of the top cost centre; `MAIN` for the root.
    pub fn centre(&self) -> &'static str {
        self.centres.first().copied().unwrap_or("MAIN")
    }
}

/// What one thread has done while some work ran on it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Measured {
    /// Bytes allocated by the thread.
    pub allocated_bytes: u64,
    /// Blocks allocated by the thread.
    pub allocations: u64,
    /// Bytes freed by the thread, whoever had allocated them.
    pub freed_bytes: u64,
    /// Blocks freed by the thread.
    pub frees: u64,
}

impl Measured {
    /// Bytes that the work left live, or (negative) took away.
    pub fn live_bytes(&self) -> i64 {
        self.allocated_bytes.wrapping_sub(self.freed_bytes).cast_signed()
    }
}

fn is_tagging() -> bool {
    matches!(mode::mode(), Mode::Armed | Mode::Started)
}

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
    is_tagging().then(|| {
        thread::as_profiler(|| Stats {
            live_bytes: user_sum(snapshot::live_bytes()),
            live_blocks: user_sum(snapshot::live_blocks()),
            allocated_bytes: user_sum(snapshot::total(Figure::Allocated, STACKS.count())),
            allocations: user_sum(snapshot::total(Figure::Allocations, STACKS.count())),
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
    if !is_tagging() {
        return Vec::new();
    }
    // The result is the caller's, the working tables are ours.
    let (count, figures) = thread::as_profiler(|| {
        let count = STACKS.count();
        let [live_bytes, live_blocks] = [snapshot::live_bytes(), snapshot::live_blocks()];
        let totals =
            [Figure::Entries, Figure::Allocated, Figure::Allocations].map(|f| snapshot::total(f, count));
        (count, (live_bytes, live_blocks, totals))
    });
    let (live_bytes, live_blocks, [entries, allocated, allocations]) = &figures;
    let used =
        |&stack: &usize| stack != ccs::HEAPPROF as usize && (entries[stack] > 0 || allocations[stack] > 0);
    let row = |stack: usize| StackStats {
        id: stack as u32,
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
    let Some(shard) = is_tagging().then(thread::own).flatten() else {
        return [0; 4];
    };
    let stacks = (ccs::MAIN..STACKS.count()).filter(|&stack| stack != ccs::HEAPPROF);
    [Figure::Allocated, Figure::Allocations, Figure::Freed, Figure::Frees]
        .map(|figure| stacks.clone().fold(0, |sum: u64, stack| sum.wrapping_add(shard.figure(stack, figure))))
}
