//! Which allocator this build measures, what has to run beside it, and what `scope!` means.
//!
//! Everything that differs between rows is in this file; the workloads see only `scope!`.

/// Opens a cost centre until the end of the enclosing block in the rows that have them;
/// nothing in the others.
#[cfg(any(feature = "lean", feature = "scopes"))]
macro_rules! scope {
    ($name:literal) => {
        let _scope = heapprof::cost_centre!($name);
    };
}
#[cfg(not(any(feature = "lean", feature = "scopes")))]
macro_rules! scope {
    ($name:literal) => {};
}
pub(crate) use scope;

#[cfg(any(feature = "plain", feature = "scopes"))]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

#[cfg(any(feature = "lean", feature = "sites"))]
#[global_allocator]
static ALLOCATOR: heapprof::HeapProf = heapprof::HeapProf::new();

#[cfg(feature = "dhat")]
#[global_allocator]
static ALLOCATOR: dhat::Alloc = dhat::Alloc;

#[cfg(feature = "tracking-allocator")]
#[global_allocator]
static ALLOCATOR: tracking_allocator::Allocator<tikv_jemallocator::Jemalloc> =
    tracking_allocator::Allocator::from_allocator(tikv_jemallocator::Jemalloc);

#[cfg(feature = "stats_alloc")]
#[global_allocator]
static ALLOCATOR: &stats_alloc::StatsAlloc<std::alloc::System> = &stats_alloc::INSTRUMENTED_SYSTEM;

#[cfg(feature = "hotpath")]
#[global_allocator]
static ALLOCATOR: hotpath::CountingAllocator<tikv_jemallocator::Jemalloc> =
    hotpath::CountingAllocator::with(tikv_jemallocator::Jemalloc);

#[cfg(feature = "mod-alloc")]
#[global_allocator]
static ALLOCATOR: mod_alloc::ModAlloc = mod_alloc::ModAlloc::new();

/// Starts what the row needs besides its allocator and returns the guard that ends it.
/// heapprof and jemalloc's profile need nothing: their environment variables start them.
#[cfg(not(any(feature = "dhat", feature = "tracking-allocator", feature = "hotpath", feature = "scopes")))]
pub(crate) fn start() -> impl Sized {}

/// Without heapprof's allocator the environment alone starts nothing.
#[cfg(feature = "scopes")]
pub(crate) fn start() -> impl Sized {
    heapprof::Profiler::builder().start()
}

#[cfg(feature = "dhat")]
pub(crate) fn start() -> impl Sized {
    dhat::Profiler::new_heap()
}

#[cfg(feature = "hotpath")]
pub(crate) fn start() -> impl Sized {
    hotpath::HotpathGuardBuilder::new("worker").format(hotpath::Format::None).build()
}

/// The least useful tracker: bytes in and bytes out.
#[cfg(feature = "tracking-allocator")]
pub(crate) fn start() -> impl Sized {
    use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
    use tracking_allocator::{AllocationGroupId as Group, AllocationRegistry, AllocationTracker};

    #[derive(Default)]
    struct Totals {
        allocated_bytes: AtomicUsize,
        freed_bytes: AtomicUsize,
    }
    impl AllocationTracker for Totals {
        fn allocated(&self, _: usize, bytes: usize, _: usize, _: Group) {
            self.allocated_bytes.fetch_add(bytes, Relaxed);
        }
        fn deallocated(&self, _: usize, bytes: usize, _: usize, _: Group, _: Group) {
            self.freed_bytes.fetch_add(bytes, Relaxed);
        }
    }
    AllocationRegistry::set_global_tracker(Totals::default()).expect("this is the only tracker set");
    AllocationRegistry::enable_tracking();
}
