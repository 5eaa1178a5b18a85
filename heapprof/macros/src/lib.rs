//! The `#[cost_centre]` attribute; use it through `heapprof::attr`.
