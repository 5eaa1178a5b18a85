//! Counters with one writer each, and the order in which a reader may add them up.
//!
//! # The protocol
//!
//! Every shard has one writing thread, so a counter needs a load and a store, never a
//! read-modify-write. A block may be freed by another thread than the one that allocated it, so the
//! residency of a stack is `sum of allocated over all shards - sum of freed over all shards`.
//!
//! Claim: a reader that takes **all freed first, then all allocated** never sees more freed than
//! allocated. Argument: a store to `freed` is Release and the reader's load of it Acquire. Whoever
//! sees the free sees everything that the freeing thread had seen, and that includes the store to
//! `allocated`, because the block's address itself had to be handed over by the program, which is a
//! happens-before edge from the allocation to the free. Hence `allocated` may be Relaxed: by
//! coherence the reader's later load returns that store or a newer one. What was allocated or freed
//! while the reader walks may be missed or counted, so a residency read while the program runs can
//! be too high by what was allocated during the walk; it is exact when the threads rest.
//!
//! `tests/loom_protocols.rs` checks the claim over all interleavings.

use super::sync::{AtomicU64, Ordering};

/// One counter of one shard: bytes or events since the process began. Written by the shard's owner
/// only; wraps never in practice (2^64 bytes).
#[repr(transparent)]
pub(crate) struct Counter(AtomicU64);

impl Counter {
    /// A counter at zero; in the program counters come as zeroed pages instead.
    #[cfg(test)]
    #[allow(dead_code, reason = "for the model checker, which includes this file")]
    pub(crate) fn new() -> Self {
        Self(AtomicU64::new(0))
    }

    /// Adds to an `allocated`, `allocations` or `entries` counter.
    ///
    /// Relaxed: ordered for the reader by the Release of the `freed` counter it took before.
    #[inline(always)]
    pub(crate) fn add(&self, amount: u64) {
        let old = self.0.load(Ordering::Relaxed);
        self.0.store(old.wrapping_add(amount), Ordering::Relaxed);
    }

    /// Takes back what [`Counter::add`] added for a block that was not to be had after all. The block
    /// was never freed, so no reader can come to see more freed than allocated.
    pub(crate) fn take_back(&self, amount: u64) {
        let old = self.0.load(Ordering::Relaxed);
        self.0.store(old.wrapping_sub(amount), Ordering::Relaxed);
    }

    /// Adds to a `freed` or `frees` counter.
    ///
    /// Release: pairs with [`Counter::read_freed`]. The load is of our own last store.
    #[inline(always)]
    pub(crate) fn add_freed(&self, amount: u64) {
        let old = self.0.load(Ordering::Relaxed);
        self.0.store(old.wrapping_add(amount), Ordering::Release);
    }

    /// Adds where several threads write: the shared shard of threads that own none.
    ///
    /// A read-modify-write, since there is more than one writer; Release for the same edge as
    /// [`Counter::add_freed`] (later writers extend the release sequence).
    pub(crate) fn add_shared(&self, amount: u64) {
        self.0.fetch_add(amount, Ordering::Release);
    }

    /// Reads a counter of freed bytes or blocks. Acquire: see the module's argument.
    #[inline]
    pub(crate) fn read_freed(&self) -> u64 {
        self.0.load(Ordering::Acquire)
    }

    /// Reads any other counter, after all of `freed` has been read.
    #[inline]
    pub(crate) fn read(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}
