//! Exact heap and time profiler.

mod error;
mod figures;
pub mod hp;
mod options;
pub mod prof;

#[cfg(all(target_os = "linux", not(feature = "disabled")))]
mod engine;
#[cfg(not(all(target_os = "linux", not(feature = "disabled"))))]
#[path = "off.rs"]
mod engine;

pub use engine::{DefaultAllocator, HeapProf};
pub use engine::{Profile, Profiler, ProfilerBuilder, mark, sample_now};
pub use engine::{Scope, Stack, inherit, spawn};
pub use engine::{measure, stacks, stats};
pub use error::Error;
pub use figures::{Measured, StackStats, Stats, Summary};
pub use options::{Breakdown, Clock, Sampler};

#[doc(hidden)]
pub use engine::Site;

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
