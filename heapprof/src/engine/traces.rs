//! Call stacks as numbers: places (return addresses) and a tree of traces over them.
//!
//! A trace is a call stack, cut to the depth that the run's breakdowns need. Its row is (the trace of
//! the caller, place), so traces that share their outer frames share rows. Both tables only grow, by
//! any thread, without a lock: see [`super::places`] and [`super::arcs`].

use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering};

use super::arcs::{Arcs, Row};
use super::os;
use super::places::Places;

/// The trace of a block of which no caller is known.
pub(crate) const EMPTY: u32 = 1;
/// Stands for traces beyond the limit.
pub(crate) const BEYOND: u32 = 0;
/// Traces there can be at most.
const TRACES_MAX: u32 = if cfg!(miri) { 64 } else { 1 << TRACE_BITS };
/// Bits of a trace's number.
const TRACE_BITS: u32 = 20;
/// Bits of an address.
pub(crate) const ADDRESS_BITS: u32 = 48;
/// Slots for places; a power of two. Three quarters of them are used at most.
const PLACES_MAX: usize = if cfg!(miri) { 64 } else { 1 << 18 };

/// The process's traces.
pub(crate) struct Traces {
    rows: AtomicPtr<Row>,
    slots: AtomicPtr<AtomicU32>,
    places: AtomicPtr<AtomicU64>,
    /// Traces by a hash of their frames, as far as nothing has taken their entry: see [`Traces::known`].
    hashes: AtomicPtr<AtomicU64>,
    next: AtomicU32,
    places_used: AtomicU32,
}

/// The process's traces.
pub(crate) static TRACES: Traces = Traces {
    rows: AtomicPtr::new(std::ptr::null_mut()),
    slots: AtomicPtr::new(std::ptr::null_mut()),
    places: AtomicPtr::new(std::ptr::null_mut()),
    hashes: AtomicPtr::new(std::ptr::null_mut()),
    next: AtomicU32::new(EMPTY + 1),
    places_used: AtomicU32::new(0),
};

impl Traces {
    /// Maps the tables, if that has not been done; `false` when there is no memory for it. Called by one
    /// thread at a time, before capturing begins.
    pub(crate) fn set_up(&self) -> bool {
        if !self.places.load(Ordering::Acquire).is_null() {
            return true;
        }
        let rows = os::zeroed_pages(TRACES_MAX as usize * size_of::<Row>());
        let slots = os::zeroed_pages(2 * TRACES_MAX as usize * size_of::<AtomicU32>());
        let places = os::zeroed_pages(PLACES_MAX * size_of::<AtomicU64>());
        let hashes = os::zeroed_pages(TRACES_MAX as usize * size_of::<AtomicU64>());
        let (Some(rows), Some(slots), Some(places), Some(hashes)) = (rows, slots, places, hashes) else {
            return false;
        };
        self.hashes.store(hashes.as_ptr().cast(), Ordering::Relaxed);
        self.rows.store(rows.as_ptr().cast(), Ordering::Relaxed);
        self.slots.store(slots.as_ptr().cast(), Ordering::Relaxed);
        // Release: whoever sees the places sees the rest.
        self.places.store(places.as_ptr().cast(), Ordering::Release);
        true
    }

    /// The addresses; none before `set_up`.
    fn places(&self) -> Option<Places<'static>> {
        let places = self.places.load(Ordering::Acquire);
        if places.is_null() {
            return None;
        }
        // SAFETY: a mapping of PLACES_MAX zeroed atomics, never unmapped.
        let slots = unsafe { std::slice::from_raw_parts(places, PLACES_MAX) };
        let used: &'static AtomicU32 = &TRACES.places_used;
        Some(Places { slots, used })
    }

    fn arcs(&self) -> Option<Arcs<'static>> {
        self.places()?;
        // SAFETY: `set_up` mapped the tables with these lengths before it published the places; zeroed
        // atomics are valid, and nothing is unmapped.
        let (rows, slots) = unsafe {
            (
                std::slice::from_raw_parts(self.rows.load(Ordering::Relaxed), TRACES_MAX as usize),
                std::slice::from_raw_parts(self.slots.load(Ordering::Relaxed), 2 * TRACES_MAX as usize),
            )
        };
        let next: &'static AtomicU32 = &TRACES.next;
        Some(Arcs { rows, slots, next, limit: TRACES_MAX })
    }

    /// The number of a call stack of return addresses, innermost first; [`BEYOND`] when the tables are
    /// full. `place` is what stands for an address in the table: the address, and in the bits above
    /// [`ADDRESS_BITS`] what tells it apart from another time's.
    pub(crate) fn intern(&self, frames: &[u64], place: impl Fn(u64) -> u64) -> u32 {
        let (Some(arcs), Some(places)) = (self.arcs(), self.places()) else {
            return BEYOND;
        };
        let called = |caller: u32, &address: &u64| arcs.child(caller, places.number(place(address))?);
        frames.iter().rev().try_fold(EMPTY, called).unwrap_or(BEYOND)
    }

    /// The trace remembered for a hash of 64 well-mixed bits. All of them are compared: some by the entry's
    /// place, the others in it.
    pub(crate) fn known(&self, hash: u64) -> Option<u32> {
        // Acquire: pairs with the Release in `remember`; the trace's rows are seen with its number.
        let entry = self.entry(hash)?.load(Ordering::Acquire);
        (entry != 0 && (entry ^ hash) >> TRACE_BITS == 0).then_some(entry as u32 & (TRACES_MAX - 1))
    }

    /// Remembers a trace by the hash of its frames, in place of whichever had the entry.
    pub(crate) fn remember(&self, hash: u64, trace: u32) {
        if let Some(entry) = self.entry(hash) {
            entry.store(hash >> TRACE_BITS << TRACE_BITS | u64::from(trace), Ordering::Release);
        }
    }

    fn entry(&self, hash: u64) -> Option<&'static AtomicU64> {
        self.places()?;
        let index = hash as usize & (TRACES_MAX as usize - 1);
        // SAFETY: `set_up` mapped TRACES_MAX zeroed words before it published the places.
        Some(unsafe { &*self.hashes.load(Ordering::Relaxed).add(index) })
    }

    /// The return addresses of a trace, innermost first.
    pub(crate) fn frames(&self, trace: u32) -> impl Iterator<Item = u64> {
        let (arcs, places) = (self.arcs(), self.places());
        let mut trace = trace;
        std::iter::from_fn(move || {
            let row = arcs.filter(|_| trace > EMPTY)?.rows.get(trace as usize)?;
            trace = row.parent.load(Ordering::Relaxed);
            places?.address(row.centre.load(Ordering::Relaxed)).map(|place| place & ((1 << ADDRESS_BITS) - 1))
        })
    }

    /// Traces are numbered below this.
    pub(crate) fn count(&self) -> u32 {
        self.next.load(Ordering::Relaxed)
    }

    /// Whether a trace was refused because there was no room.
    pub(crate) fn is_full(&self) -> bool {
        self.next.load(Ordering::Relaxed) >= TRACES_MAX
            || self.places().is_some_and(|places| places.is_full())
    }

    /// Bytes of the tables that can have been touched, at most.
    pub(crate) fn touched_bytes(&self) -> u64 {
        if self.places().is_none() {
            return 0;
        }
        let rows = u64::from(self.next.load(Ordering::Relaxed));
        // Slots and places are scattered: each touches a page of its own at worst.
        let scattered = (rows + u64::from(self.places_used.load(Ordering::Relaxed))) * 4096;
        let whole = u64::from(TRACES_MAX) * 16 + PLACES_MAX as u64 * 8;
        rows * size_of::<Row>() as u64 + scattered.min(whole)
    }
}
