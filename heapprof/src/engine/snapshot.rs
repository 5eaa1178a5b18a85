//! Adding the shards up: what every stack holds at one time, and what it has done so far.

use super::ccs::{self, STACKS};
use super::shard::{Figure, SHARDS};

/// Live bytes by stack number.
///
/// All freed bytes are read before all allocated ones, so no figure is too low: see `counter`. While
/// the program runs a figure can be too high by what was allocated during the walk.
pub(crate) fn live_bytes() -> Vec<u64> {
    live(Figure::Freed, Figure::Allocated)
}

/// Live blocks by stack number; see [`live_bytes`].
pub(crate) fn live_blocks() -> Vec<u64> {
    live(Figure::Frees, Figure::Allocations)
}

fn live(less: Figure, more: Figure) -> Vec<u64> {
    // Stacks that appear during the walk are of the next sample: the count is taken first.
    let freed = total(less, STACKS.count());
    let mut live = total(more, STACKS.count());
    for (live, freed) in live.iter_mut().zip(freed) {
        *live = live.saturating_sub(freed);
    }
    live
}

/// One figure of the stacks below `count`, added up over all shards.
pub(crate) fn total(figure: Figure, count: u32) -> Vec<u64> {
    let mut sums = vec![0; count as usize];
    SHARDS.add_up(figure, &mut sums);
    sums
}

/// What the profiler itself holds in bytes: its blocks, and the touched part of its tables at most.
pub(crate) fn own_bytes(live_bytes: &[u64]) -> u64 {
    let blocks = live_bytes.get(ccs::HEAPPROF as usize).copied().unwrap_or(0);
    blocks + SHARDS.touched_bytes(STACKS.count()) + STACKS.touched_bytes()
}

/// What every stack has done since the process began: growing figures, to be compared with a later
/// or an earlier reading.
#[derive(Clone, Default)]
pub(crate) struct Work {
    pub(crate) entries: Vec<u64>,
    pub(crate) allocated: Vec<u64>,
    pub(crate) allocations: Vec<u64>,
    pub(crate) cpu_ns: Vec<u64>,
}

impl Work {
    /// The figures as they stand now.
    pub(crate) fn now() -> Self {
        let count = STACKS.count();
        Self {
            entries: total(Figure::Entries, count),
            allocated: total(Figure::Allocated, count),
            allocations: total(Figure::Allocations, count),
            cpu_ns: STACKS.cpu_ns(count),
        }
    }

    /// What was done after `earlier`. Figures only grow, and `earlier` was read earlier, so nothing
    /// is negative.
    pub(crate) fn since(mut self, earlier: &Self) -> Self {
        let pairs = [
            (&mut self.entries, &earlier.entries),
            (&mut self.allocated, &earlier.allocated),
            (&mut self.allocations, &earlier.allocations),
            (&mut self.cpu_ns, &earlier.cpu_ns),
        ];
        for (now, before) in pairs {
            for (now, before) in now.iter_mut().zip(before) {
                *now = now.saturating_sub(*before);
            }
        }
        self
    }
}
