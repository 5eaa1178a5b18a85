//! Addresses, numbered: a set that only grows, by any thread, without a lock.
//!
//! A slot is 0 or an address, put there by one compare-and-swap and never changed. The number of an address
//! is its slot's. Everything is Relaxed: an address says all there is to say, and coherence of the one word
//! decides who was first. `tests/loom_protocols.rs` checks that an address never has two numbers.

use super::sync::{AtomicU32, AtomicU64, Ordering};

/// The table, borrowed from wherever it lives.
#[derive(Clone, Copy)]
pub(crate) struct Places<'a> {
    /// A power of two.
    pub(crate) slots: &'a [AtomicU64],
    /// Slots in use.
    pub(crate) used: &'a AtomicU32,
}

impl Places<'_> {
    /// Whether no address is added any more: three quarters of the slots are in use, so that probing is short.
    pub(crate) fn is_full(&self) -> bool {
        self.used.load(Ordering::Relaxed) as usize >= self.slots.len() / 4 * 3
    }

    /// The number of an address, from 1, added if it is new; `None` when there is no room.
    pub(crate) fn number(&self, address: u64) -> Option<u32> {
        let mask = self.slots.len().wrapping_sub(1);
        // Fibonacci hashing, as in `arcs`.
        let start = (address.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32) as usize;
        for at in (0..self.slots.len()).map(|step| start.wrapping_add(step) & mask) {
            let slot = self.slots.get(at)?;
            let seen = match slot.load(Ordering::Relaxed) {
                0 => self.take(slot, address)?,
                taken => taken,
            };
            if seen == address {
                return Some(at as u32 + 1);
            }
        }
        None
    }

    /// Puts an address into a slot that was free; what is in it now.
    fn take(&self, slot: &AtomicU64, address: u64) -> Option<u64> {
        if self.is_full() {
            return None;
        }
        match slot.compare_exchange(0, address, Ordering::Relaxed, Ordering::Relaxed) {
            Ok(_) => {
                self.used.fetch_add(1, Ordering::Relaxed);
                Some(address)
            }
            Err(other) => Some(other),
        }
    }

    /// The address of a number.
    pub(crate) fn address(&self, number: u32) -> Option<u64> {
        let slot = self.slots.get((number as usize).checked_sub(1)?)?;
        Some(slot.load(Ordering::Relaxed)).filter(|&address| address != 0)
    }
}
