//! Adding the shards up: what every stack holds at one time, and what it has done so far.

use super::ccs::{self, STACKS};
use super::shard::{Figure, SHARDS, Shard};
use super::traces::TRACES;
use super::{capture, origin};

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

/// Figures by origin as figures by stack: what is below a stack is added to it.
pub(crate) fn by_stack(mut figures: Vec<u64>) -> Vec<u64> {
    for number in (0..figures.len()).filter(|&number| origin::is_facet(number as u32)) {
        let figure = std::mem::take(&mut figures[number]);
        figures[origin::stack_of(number as u32) as usize] += figure;
    }
    figures
}

/// What of each origin there is, where its blocks stand for others that are not counted: `bytes` and
/// `blocks` by origin number, changed in place.
pub(crate) fn weigh(bytes: &mut [u64], blocks: &mut [u64]) {
    for (number, (bytes, blocks)) in bytes.iter_mut().zip(blocks).enumerate() {
        if *blocks > 0 && origin::is_thin(number as u32) {
            let (more_bytes, more_blocks) = capture::weigh(*bytes, *blocks);
            (*bytes, *blocks) = (more_bytes.round() as u64, more_blocks.round() as u64);
        }
    }
}

/// Bytes and blocks allocated so far, by stack: what was moved from one origin of a stack to another
/// counts once.
pub(crate) fn allocated() -> (Vec<u64>, Vec<u64>) {
    let count = STACKS.count();
    let once = |all, again| {
        let (mut all, again) = (total(all, count), total(again, count));
        all.iter_mut().zip(again).for_each(|(all, again)| *all = all.saturating_sub(again));
        all
    };
    let mut bytes = once(Figure::Allocated, Figure::Moved);
    let mut blocks = once(Figure::Allocations, Figure::Moves);
    weigh(&mut bytes, &mut blocks);
    (by_stack(bytes), by_stack(blocks))
}

/// Bytes and blocks that are live, by stack.
pub(crate) fn held() -> (Vec<u64>, Vec<u64>) {
    let (mut bytes, mut blocks) = (live_bytes(), live_blocks());
    let count = bytes.len().min(blocks.len());
    bytes.truncate(count);
    blocks.truncate(count);
    weigh(&mut bytes, &mut blocks);
    (by_stack(bytes), by_stack(blocks))
}

/// Repeated readings of [`live_bytes`] that pass over the shards of threads at rest.
///
/// A thread whose CPU clock stands still has not run, so its counters are what they were: the sums
/// over all such shards are kept. Programs with hundreds of waiting threads are sampled at the cost
/// of those that work.
#[derive(Default)]
pub(crate) struct LiveBytes {
    /// The stamp with which each shard was kept, in the order of [`SHARDS`].
    stamps: Vec<Stamp>,
    /// Which shards are kept: in the sums below.
    resting: Vec<bool>,
    freed: Vec<u64>,
    allocated: Vec<u64>,
}

/// See [`Shard::stamp`].
type Stamp = Option<(u32, u64)>;

impl LiveBytes {
    /// Live bytes by stack number, as [`live_bytes`] would read them now.
    ///
    /// A thread may wake while we read. So the stamps are read again between freed and allocated: if
    /// a kept shard has moved, a free that we saw may be of a block that its owner allocated after
    /// waking, and all allocated figures are read afresh. The order "all freed, then all allocated"
    /// thus holds for every block, as `counter` demands.
    pub(crate) fn read(&mut self) -> Vec<u64> {
        let shards: Vec<Shard> = SHARDS.all().collect();
        let count = STACKS.count() as usize;
        self.update(&shards, count);
        let mut freed = self.freed.clone();
        self.working(&shards).for_each(|shard| shard.add_to(Figure::Freed, &mut freed));
        if self.has_woken(&shards) {
            self.forget();
        }
        let mut live = self.allocated.clone();
        live.resize(count, 0);
        self.working(&shards).for_each(|shard| shard.add_to(Figure::Allocated, &mut live));
        for (live, freed) in live.iter_mut().zip(freed) {
            *live = live.saturating_sub(freed);
        }
        live
    }

    /// Takes the shards whose owners do not run now into the sums; starts anew when a kept one has
    /// run since.
    fn update(&mut self, shards: &[Shard], count: usize) {
        if self.has_woken(shards) {
            self.forget();
        }
        for sums in [&mut self.freed, &mut self.allocated] {
            sums.resize(count, 0);
        }
        self.resting.resize(shards.len(), false);
        self.stamps.resize(shards.len(), None);
        for (index, shard) in shards.iter().enumerate() {
            if self.resting[index] {
                continue;
            }
            // Whose clock moves between two readings is running now, and not worth keeping.
            let stamp = shard.stamp();
            if stamp.is_some() && stamp == shard.stamp() {
                shard.add_to(Figure::Freed, &mut self.freed);
                shard.add_to(Figure::Allocated, &mut self.allocated);
                self.resting[index] = true;
                self.stamps[index] = stamp;
            }
        }
    }

    /// The shards that are not in the sums.
    fn working<'a>(&'a self, shards: &'a [Shard]) -> impl Iterator<Item = &'a Shard> {
        shards.iter().zip(&self.resting).filter(|(_, resting)| !**resting).map(|(shard, _)| shard)
    }

    fn has_woken(&self, shards: &[Shard]) -> bool {
        let kept = shards.iter().zip(&self.stamps).zip(&self.resting);
        kept.filter(|(_, resting)| **resting).any(|((shard, stamp), _)| shard.stamp() != *stamp)
    }

    fn forget(&mut self) {
        self.resting.fill(false);
        self.freed.clear();
        self.allocated.clear();
    }
}

/// What the profiler itself holds in bytes: its blocks, and the touched part of its tables at most.
pub(crate) fn own_bytes(live_bytes: &[u64]) -> u64 {
    let blocks = live_bytes.get(ccs::HEAPPROF as usize).copied().unwrap_or(0);
    blocks + SHARDS.touched_bytes(STACKS.count()) + STACKS.touched_bytes() + TRACES.touched_bytes()
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
        let (entries, cpu_ns) = (total(Figure::Entries, count), STACKS.cpu_ns(count));
        let (mut allocated, mut allocations) = allocated();
        allocated.truncate(count as usize);
        allocations.truncate(count as usize);
        Self { entries, allocated, allocations, cpu_ns }
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
