//! Plain figures that the profiler hands to the program.

use std::path::PathBuf;

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

/// Where a finished profile is.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Summary {
    /// The `.hp` file; with several breakdowns, that of the first.
    pub hp: PathBuf,
    /// The `.hp` files of the further breakdowns, in their order.
    pub more: Vec<PathBuf>,
    /// The `.prof` file.
    pub prof: PathBuf,
    /// Samples in the `.hp` file, the first and the last included.
    pub samples: u64,
}
