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
#[cfg_attr(not(feature = "symbols"), allow(dead_code, reason = "a part of it is for names alone"))]
mod bands;
#[cfg_attr(not(feature = "symbols"), allow(dead_code, reason = "a part of it is for names alone"))]
mod capture;
mod ccs;
mod config;
mod counter;
#[cfg(test)]
mod direct;
mod files;
mod mode;
#[cfg(feature = "symbols")]
mod namer;
mod origin;
mod os;
#[cfg_attr(not(feature = "symbols"), allow(dead_code, reason = "a part of it is for names alone"))]
mod places;
mod profiler;
mod recorder;
mod resident;
mod rule;
mod scope;
mod shard;
mod snapshot;
mod stats;
mod sync;
mod tag;
mod thread;
mod thread_names;
mod ticker;
#[cfg_attr(not(feature = "symbols"), allow(dead_code, reason = "a part of it is for names alone"))]
mod traces;
mod walk;

pub use alloc::{DefaultAllocator, HeapProf};
pub use profiler::{Profile, Profiler, ProfilerBuilder, mark, sample_now};
pub use scope::{Scope, Site, Stack, inherit, spawn};
pub use stats::{measure, stacks, stats};
