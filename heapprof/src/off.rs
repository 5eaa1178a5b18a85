//! The twin of `engine` that records nothing: the allocator passes through, cost centres vanish,
//! and a profile cannot be started.

use std::alloc::{GlobalAlloc, Layout};
use std::time::Duration;

use crate::error::{Error, Kind};
use crate::figures::{Measured, StackStats, Stats, Summary};
use crate::options::{Breakdown, Clock, Sampler};

/// The allocator under [`HeapProf::new`]: jemalloc with the feature `jemalloc`, else the system's.
#[cfg(feature = "jemalloc")]
pub type DefaultAllocator = tikv_jemallocator::Jemalloc;
/// The allocator under [`HeapProf::new`]: jemalloc with the feature `jemalloc`, else the system's.
#[cfg(not(feature = "jemalloc"))]
pub type DefaultAllocator = std::alloc::System;

/// The inner allocator and nothing else.
#[derive(Debug)]
pub struct HeapProf<A = DefaultAllocator>(A);

impl HeapProf {
    /// [`DefaultAllocator`].
    pub const fn new() -> Self {
        #[cfg(feature = "jemalloc")]
        return Self(tikv_jemallocator::Jemalloc);
        #[cfg(not(feature = "jemalloc"))]
        return Self(std::alloc::System);
    }
}

impl Default for HeapProf {
    fn default() -> Self {
        Self::new()
    }
}

impl<A> HeapProf<A> {
    /// Any other allocator.
    pub const fn with(inner: A) -> Self {
        Self(inner)
    }

    /// Changes nothing.
    #[must_use = "returns the allocator"]
    pub const fn armed(self) -> Self {
        self
    }
}

// SAFETY: every method is the inner allocator's own.
unsafe impl<A: GlobalAlloc> GlobalAlloc for HeapProf<A> {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: passed on.
        unsafe { self.0.alloc(layout) }
    }

    #[inline]
    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: passed on.
        unsafe { self.0.dealloc(block, layout) }
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: passed on.
        unsafe { self.0.alloc_zeroed(layout) }
    }

    #[inline]
    unsafe fn realloc(&self, block: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        // SAFETY: passed on.
        unsafe { self.0.realloc(block, layout, new_size) }
    }
}

/// Settings for a profile that cannot be started.
#[derive(Debug)]
pub struct Profiler(());

impl Profiler {
    /// Settings for a profile.
    pub fn builder() -> ProfilerBuilder {
        ProfilerBuilder(())
    }
}

/// Settings that are not looked at.
#[derive(Clone, Debug)]
#[must_use = "a profile begins with start()"]
pub struct ProfilerBuilder(());

macro_rules! ignored {
    ($($name:ident: $value:ty),*) => {$(
        /// Not looked at.
        pub fn $name(self, _: $value) -> Self {
            self
        }
    )*};
}

impl ProfilerBuilder {
    ignored!(
        interval: Duration, tick: Duration, output: impl Into<String>, breakdown: Breakdown,
        breakdowns: impl IntoIterator<Item = Breakdown>, depth: usize, sample: u64, clock: Clock,
        sampler: Sampler, stacks: u32, resident: bool, own: bool, quiet: bool
    );

    /// Refuses.
    ///
    /// # Errors
    /// Always: this build records nothing.
    pub fn start(self) -> Result<Profile, Error> {
        Err(Kind::Unsupported.into())
    }
}

/// A profile that cannot exist.
#[derive(Debug)]
pub struct Profile(std::convert::Infallible);

impl Profile {
    /// Cannot be called.
    ///
    /// # Errors
    /// None.
    pub fn stop(self) -> Result<Summary, Error> {
        match self.0 {}
    }
}

/// Refuses.
///
/// # Errors
/// Always: this build records nothing.
pub fn sample_now() -> Result<(), Error> {
    Err(Kind::Unsupported.into())
}

/// Refuses.
///
/// # Errors
/// Always: this build records nothing.
pub fn mark() -> Result<(), Error> {
    Err(Kind::Unsupported.into())
}

/// Nothing is known.
pub fn stats() -> Option<Stats> {
    None
}

/// Nothing is known.
pub fn stacks() -> Vec<StackStats> {
    Vec::new()
}

/// Runs `work`; nothing is measured.
pub fn measure<R>(work: impl FnOnce() -> R) -> (R, Measured) {
    (work(), Measured::default())
}

#[doc(hidden)]
#[derive(Debug)]
pub struct Site(());

impl Site {
    pub const fn new(_: &'static str, _: &'static str, _: &'static str, _: u32) -> Self {
        Self(())
    }

    #[inline(always)]
    pub fn enter(&'static self) -> Scope {
        Scope(std::marker::PhantomData)
    }

    #[inline(always)]
    pub fn enter_named<N: Into<String>>(&'static self, _: impl FnOnce() -> N) -> Scope {
        Scope(std::marker::PhantomData)
    }
}

/// A guard of nothing.
#[must_use = "bind it to a name such as `_scope`"]
#[derive(Debug)]
pub struct Scope(std::marker::PhantomData<*const ()>);

/// A stack of nothing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stack(());

impl Stack {
    /// The one stack there is.
    pub fn current() -> Self {
        Self(())
    }

    /// Does nothing.
    pub fn enter(self) -> Scope {
        Scope(std::marker::PhantomData)
    }
}

/// The closure itself.
pub fn inherit<R>(work: impl FnOnce() -> R) -> impl FnOnce() -> R {
    work
}

/// `std::thread::spawn`.
///
/// # Panics
/// As `std::thread::spawn`.
pub fn spawn<R: Send + 'static>(work: impl FnOnce() -> R + Send + 'static) -> std::thread::JoinHandle<R> {
    std::thread::spawn(work)
}
