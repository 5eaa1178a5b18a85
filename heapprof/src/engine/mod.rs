//! The recording part: allocator, stacks, counters, ticker, files. Linux only, and absent with the
//! feature `disabled`, where `off.rs` stands in with the same names.
//!
//! ```text
//! alloc ─▶ tag ─▶ shard (counters) ─┐         one writer per shard
//! scope ─▶ ccs (arcs) ──────────────┤
//! ticker ─▶ recorder ─▶ snapshot ◀──┘         one reader
//!              ├─▶ hp  ─▶ files ═▶ prog.hp
//!              └─▶ prof ─▶ files ═▶ prog.prof
//! ```
//! `unsafe` is in `alloc`, `tag`, `shard`, `ccs` (tables), `os`, and one line each of `profiler`
//! and `thread` that C calls back.

mod alloc;
mod arcs;
mod ccs;
mod config;
mod counter;
#[cfg(test)]
mod direct;
mod files;
mod mode;
mod os;
mod profiler;
mod recorder;
mod resident;
mod scope;
mod shard;
mod snapshot;
mod stats;
mod sync;
mod tag;
mod thread;
mod ticker;

pub use alloc::{DefaultAllocator, HeapProf};
pub use profiler::{Profile, Profiler, ProfilerBuilder, mark, sample_now};
pub use scope::{Scope, Site, Stack, inherit, spawn};
pub use stats::{measure, stacks, stats};
