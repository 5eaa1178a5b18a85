//! Exact heap and time profiler.

mod alloc;
mod arcs;
mod ccs;
mod config;
mod counter;
mod error;
mod files;
pub mod hp;
mod mode;
mod os;
pub mod prof;
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
pub use config::{Breakdown, Clock, Sampler};
pub use error::Error;
pub use profiler::{Profile, Profiler, ProfilerBuilder, mark, sample_now};
pub use recorder::Summary;
pub use scope::{Scope, Stack, inherit, spawn};
pub use stats::{Measured, StackStats, Stats, measure, stacks, stats};

#[doc(hidden)]
pub use scope::Site;

/// Enters a cost centre until the guard is dropped, or for one expression.
#[macro_export]
macro_rules! cost_centre {
    ($name:literal => $work:expr) => {{
        let _scope = $crate::cost_centre!($name);
        $work
    }};
    ($name:literal) => {{
        static SITE: $crate::Site =
            $crate::Site::new($name, ::core::module_path!(), ::core::file!(), ::core::line!());
        $crate::Site::enter(&SITE)
    }};
    ($name:expr => $work:expr) => {{
        let _scope = $crate::cost_centre!($name);
        $work
    }};
    ($name:expr) => {{
        static SITE: $crate::Site =
            $crate::Site::new("", ::core::module_path!(), ::core::file!(), ::core::line!());
        $crate::Site::enter_named(&SITE, || $name)
    }};
}

/// The attribute form of [`cost_centre!`].
#[cfg(feature = "macros")]
pub mod attr {
    pub use heapprof_macros::cost_centre;
}
