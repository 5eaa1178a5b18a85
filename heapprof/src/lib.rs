//! Exact heap and time profiler.

pub mod hp;
pub mod prof;
