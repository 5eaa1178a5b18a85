//! A word that everybody is to follow, and followers that may come while it changes.
//!
//! Whoever changes the rule then tells all followers that it can see. Whoever becomes a follower makes itself
//! seen first, and then reads the rule. Both go to the rule by read-modify-writes, which have one order: if
//! the follower's comes later it reads the new rule; if it comes earlier, the changer's acquires
//! what the follower had released, and sees it. What is left is that the follower writes down an old rule after the
//! changer has told it the new one: so it reads again after writing, until nothing has changed.
//!
//! `tests/loom_protocols.rs` checks that after both are done every follower follows the last rule.

use super::sync::{AtomicU32, Ordering};

/// The rule.
pub(crate) struct Rule(AtomicU32);

impl Rule {
    /// The first rule, in a word that says it.
    pub(crate) const fn new(word: AtomicU32) -> Self {
        Self(word)
    }

    /// The rule at present. Relaxed: whoever only looks may be late.
    #[inline(always)]
    pub(crate) fn get(&self) -> u32 {
        self.0.load(Ordering::Relaxed)
    }

    /// Changes the rule by `new`, and tells everybody: `tell` is to reach all followers that can be seen by
    /// what this thread has acquired.
    pub(crate) fn change(&self, new: impl Fn(u32) -> u32, tell: impl Fn(u32)) {
        let _ = self.0.fetch_update(Ordering::AcqRel, Ordering::Relaxed, |rule| Some(new(rule)));
        self.follow(tell);
    }

    /// Follows the rule: called by a follower that has made itself seen, with how it takes a rule.
    pub(crate) fn follow(&self, take: impl Fn(u32)) {
        let mut rule = self.0.fetch_add(0, Ordering::AcqRel);
        loop {
            take(rule);
            match self.0.fetch_add(0, Ordering::AcqRel) {
                same if same == rule => return,
                newer => rule = newer,
            }
        }
    }
}
