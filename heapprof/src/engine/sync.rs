//! The one place that names an atomics library, so that the model checker can stand in for it.
//!
//! `tests/loom_protocols.rs` includes the protocol files (`counter.rs`, `arcs.rs`) beside a `sync`
//! module of its own that re-exports loom's types under the same names.

pub(crate) use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
