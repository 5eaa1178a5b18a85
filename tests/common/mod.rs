//! Shared by the guest tests: a small test harness whose program is also the guest, the guest's
//! runs, its files, and the tools that read them.
//!
//! A guest test has no libtest harness (`harness = false`): the very same file is started again as
//! the program to be profiled, with a *role* as its first argument. So the guest has a plain `main`,
//! one thread, and standard output of its own.

#![allow(dead_code, reason = "each test file uses its own part")]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

pub(crate) mod guest;
pub(crate) mod harness;
pub(crate) mod profile;
pub(crate) mod tools;

/// Random numbers by xorshift: the same in every run.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % end
    }
}
