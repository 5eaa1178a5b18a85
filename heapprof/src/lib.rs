//! Exact heap and time profiler.
