//! The shared tree of cost-centre stacks: which stack is which cost centre pushed on which parent.
//!
//! A stack is a row (parent, centre); an arc is the step from a parent and a centre to the child.
//! Rows and slots are only ever added, by any thread, without a lock:
//!
//! 1. take a fresh row number (bounded by the limit), write the row;
//! 2. publish it with one compare-and-swap of the arc's hash slot from 0 to the number (Release).
//!
//! Whoever finds a number in a slot (Acquire) sees the whole row. If two threads add the same arc,
//! the second one's swap fails, it finds the first one's row and leaves its own unused: a hole in
//! the numbering, never a second stack for one arc. `tests/loom_protocols.rs` checks both claims.

use super::sync::{AtomicU32, Ordering};

/// One cost-centre stack: its parent's number and its top centre's number. Written once, before the
/// row's number is published.
#[repr(C)]
pub(crate) struct Row {
    pub(crate) parent: AtomicU32,
    pub(crate) centre: AtomicU32,
}

/// The tables, borrowed from wherever they live: zeroed pages in the program, vectors in tests.
#[derive(Clone, Copy)]
pub(crate) struct Arcs<'a> {
    /// Rows by stack number. Row 0 is never used: 0 means "none".
    pub(crate) rows: &'a [Row],
    /// Hash slots, each 0 or a stack number; a power of two, at least twice the rows.
    pub(crate) slots: &'a [AtomicU32],
    /// The next unused row number; never exceeds `limit`.
    pub(crate) next: &'a AtomicU32,
    /// Stack numbers below this may be handed out; at most `rows.len()`.
    pub(crate) limit: u32,
}

impl Arcs<'_> {
    /// The child of `parent` under `centre`, added if it is new; `None` when the limit is reached.
    pub(crate) fn child(&self, parent: u32, centre: u32) -> Option<u32> {
        let mut fresh = None;
        for slot in self.probe(parent, centre) {
            let seen = slot.load(Ordering::Acquire);
            if seen != 0 {
                if self.is(seen, parent, centre) {
                    return Some(seen);
                }
                continue;
            }
            let row = match fresh {
                Some(row) => row,
                None => *fresh.insert(self.fresh_row(parent, centre)?),
            };
            // Release: publishes the row just written. Acquire on failure: we read the other's row.
            match slot.compare_exchange(0, row, Ordering::Release, Ordering::Acquire) {
                Ok(_) => return Some(row),
                Err(other) if self.is(other, parent, centre) => return Some(other),
                Err(_) => {}
            }
        }
        None
    }

    /// Takes a row number and writes the row. Relaxed: nothing is published by the number itself.
    fn fresh_row(&self, parent: u32, centre: u32) -> Option<u32> {
        let take = |next: u32| (next < self.limit).then_some(next + 1);
        let number = self.next.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take).ok()?;
        // No index that could panic: the hook comes here.
        let row = self.rows.get(number as usize)?;
        row.parent.store(parent, Ordering::Relaxed);
        row.centre.store(centre, Ordering::Relaxed);
        Some(number)
    }

    /// Whether a published row is the wanted arc. Relaxed: ordered by the Acquire that found it.
    fn is(&self, number: u32, parent: u32, centre: u32) -> bool {
        self.rows.get(number as usize).is_some_and(|row| {
            row.parent.load(Ordering::Relaxed) == parent && row.centre.load(Ordering::Relaxed) == centre
        })
    }

    /// The slots to look at for an arc, in order: linear probing over the whole table.
    fn probe(&self, parent: u32, centre: u32) -> impl Iterator<Item = &AtomicU32> {
        let mask = self.slots.len().wrapping_sub(1);
        let key = u64::from(parent) << 32 | u64::from(centre);
        // Fibonacci hashing: the golden ratio spreads neighbouring numbers over the high bits.
        let start = (key.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32) as usize;
        (0..self.slots.len()).filter_map(move |step| self.slots.get(start.wrapping_add(step) & mask))
    }
}
