//! The allocator that programs install: the four `GlobalAlloc` methods over an inner allocator.
//!
//! Hot path: the thread's shard, the inner call, two counters, four bytes of tag. Everything else
//! (a process that does not tag, a thread's first block, a process that is armed, over-aligned
//! blocks, samples on the allocating thread) is in the cold functions below, called as tail calls so
//! that the hot path saves no registers for them.
//!
//! Invariant: nothing here allocates from the global allocator, locks, formats, panics or unwinds.
//!
//! # Whose band a reallocated block is
//!
//! Growing moves a block to the stack that grows it, whole; shrinking leaves it where it is. A band
//! answers "who asked for the memory held now": a table set up small at the start and grown by the
//! request handler is the handler's, and a leak shows under the code that keeps growing it. Growth
//! under the same stack counts the added bytes and no new block; growth under another stack counts
//! one block freed from the old band and one allocated in the new.

use std::alloc::{GlobalAlloc, Layout};

use super::mode::{self, Mode};
use super::shard::{Figure, Shard, Tag};
use super::thread::{self, Seat};
use super::{capture, ccs, origin, tag, walk};

/// The allocator under [`HeapProf::new`]: jemalloc with the feature `jemalloc`, else the system's.
#[cfg(feature = "jemalloc")]
pub type DefaultAllocator = tikv_jemallocator::Jemalloc;
/// The allocator under [`HeapProf::new`]: jemalloc with the feature `jemalloc`, else the system's.
#[cfg(not(feature = "jemalloc"))]
pub type DefaultAllocator = std::alloc::System;

/// The profiling allocator, to be installed by the program (never by a library).
///
/// Every live block carries the stack of cost centres under which it was allocated, or last grown,
/// for as long as it lives, whichever thread frees it. Without a request for a profile, in the
/// environment, in `heapprof.toml` or by [`HeapProf::armed`], blocks go straight to the inner
/// allocator.
///
/// ```
/// #[global_allocator]
/// static ALLOC: heapprof::HeapProf = heapprof::HeapProf::new().armed();
///
/// # let folder = std::env::temp_dir().join("heapprof-doc-%p");
/// # let app = folder.to_str().unwrap();
/// let profile = heapprof::Profiler::builder().output(app).start().unwrap();
/// let block = {
///     let _parse = heapprof::cost_centre!("parse");
///     vec![0u8; 1000]
/// };
/// let held: u64 = heapprof::stacks().iter().filter(|s| s.centre() == "parse").map(|s| s.live_bytes).sum();
/// assert_eq!(held, 1000);
/// drop(block);
/// let files = profile.stop().unwrap();
/// # std::fs::remove_file(files.hp).unwrap();
/// # std::fs::remove_file(files.prof).unwrap();
/// ```
#[derive(Debug)]
pub struct HeapProf<A = DefaultAllocator> {
    inner: A,
    armed: bool,
}

impl HeapProf {
    /// The profiling allocator over [`DefaultAllocator`].
    pub const fn new() -> Self {
        #[cfg(feature = "jemalloc")]
        return Self::with(tikv_jemallocator::Jemalloc);
        #[cfg(not(feature = "jemalloc"))]
        return Self::with(std::alloc::System);
    }
}

impl Default for HeapProf {
    fn default() -> Self {
        Self::new()
    }
}

impl<A> HeapProf<A> {
    /// The profiling allocator over any other, for instance `HeapProf::with(std::alloc::System)`.
    pub const fn with(inner: A) -> Self {
        Self { inner, armed: false }
    }

    /// Tags blocks in every run, so that the program may start a profile later by
    /// [`crate::Profiler`]. Blocks allocated before that form the band `BEFORE_PROFILE`.
    #[must_use = "arms the allocator that is returned"]
    pub const fn armed(mut self) -> Self {
        self.armed = true;
        self
    }
}

/// Sends a call to the hot path for the block's header, with the alignment as a constant so that all
/// arithmetic with it vanishes; to the inner allocator alone in a process that does not tag; else to
/// the cold path. Alignments below 4 share the path of 4.
///
/// An allocation, `hot`, may have a third way: when more than the thread's stack is to be known of it.
macro_rules! by_header {
    ($layout:expr, |$shard:ident, $align:ident| $hot:expr, off $off:expr, cold $cold:expr) => {
        by_header!($layout, takes, |$shard, $align| $hot, off $off, cold $cold)
    };
    ($layout:expr, $takes:ident, |$shard:ident, $align:ident| $hot:expr, off $off:expr, cold $cold:expr) => {{
        let $shard = thread::hot();
        if !$shard.$takes($layout.align()) {
            if $shard.is_off() { $off } else { $cold }
        } else if $layout.align() == tag::HEADER_ALIGN_MAX {
            const $align: usize = tag::HEADER_ALIGN_MAX;
            $hot
        } else {
            const $align: usize = 4;
            $hot
        }
    }};
}

// SAFETY: every method passes on to the inner allocator with a layout that holds the program's block
// and the tag, and translates addresses both ways by `tag`; a block is always translated with the
// layout it was made with, because the caller gives that same layout, and because whether the
// process tags is decided before the first block and never changes. Nothing unwinds.
unsafe impl<A: GlobalAlloc> GlobalAlloc for HeapProf<A> {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let size = layout.size();
        // SAFETY: the caller's layout has a non-zero size.
        unsafe {
            by_header!(
                layout,
                takes_alloc,
                |shard, ALIGN| self.hot_alloc::<ALIGN>(size, shard),
                off self.inner.alloc(layout),
                cold self.slow_alloc::<false>(layout, shard)
            )
        }
    }

    #[inline]
    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        let block = tag::opaque(block);
        let size = layout.size();
        // SAFETY: the caller's block is live and of this layout.
        unsafe {
            by_header!(
                layout,
                |shard, ALIGN| self.hot_dealloc::<ALIGN>(block, size, shard),
                off self.inner.dealloc(block, layout),
                cold self.cold_dealloc(block, layout)
            );
        }
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        let size = layout.size();
        // SAFETY: the caller's layout has a non-zero size.
        unsafe {
            by_header!(
                layout,
                takes_alloc,
                |shard, ALIGN| self.hot_alloc_zeroed::<ALIGN>(size, shard),
                off self.inner.alloc_zeroed(layout),
                cold self.slow_alloc::<true>(layout, shard)
            )
        }
    }

    #[inline]
    unsafe fn realloc(&self, block: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        let block = tag::opaque(block);
        let size = layout.size();
        // SAFETY: the caller's block is live and of this layout.
        unsafe {
            by_header!(
                layout,
                takes_alloc,
                |shard, ALIGN| self.hot_realloc::<ALIGN>(block, size, new_size, shard),
                off self.inner.realloc(block, layout, new_size),
                cold self.slow_realloc(block, layout, new_size, shard)
            )
        }
    }
}

/// The layout of a headed block as the hot paths see it.
///
/// # Safety
/// The size is not too large, and `ALIGN` is 4 or 8.
#[inline(always)]
unsafe fn headed<const ALIGN: usize>(size: usize) -> Layout {
    // SAFETY: a power of two, and a size far below isize::MAX.
    unsafe { Layout::from_size_align_unchecked(size, ALIGN) }
}

/// The hot paths. They keep one value over the inner call, so that one register is saved, and that
/// only after the cold paths have branched off.
impl<A: GlobalAlloc> HeapProf<A> {
    /// # Safety
    /// As `GlobalAlloc::alloc`; the process tags; a headed block.
    #[inline(always)]
    unsafe fn hot_alloc<const ALIGN: usize>(&self, size: usize, shard: Shard) -> *mut u8 {
        if tag::is_too_large(size) {
            return std::ptr::null_mut();
        }
        // SAFETY: passed on.
        unsafe { self.tagged(headed::<ALIGN>(size), shard, A::alloc) }
    }

    /// # Safety
    /// As `GlobalAlloc::alloc_zeroed`; the process tags; a headed block.
    #[inline(always)]
    unsafe fn hot_alloc_zeroed<const ALIGN: usize>(&self, size: usize, shard: Shard) -> *mut u8 {
        if tag::is_too_large(size) {
            return std::ptr::null_mut();
        }
        // SAFETY: passed on.
        unsafe { self.tagged(headed::<ALIGN>(size), shard, A::alloc_zeroed) }
    }

    /// Allocates by `method` and counts the block under the thread's current stack.
    ///
    /// Counted before the call, and taken back if there is no memory: so only the tag has to be kept
    /// over the call.
    ///
    /// # Safety
    /// As `GlobalAlloc::alloc`; the process tags.
    #[inline(always)]
    unsafe fn tagged(
        &self,
        layout: Layout,
        shard: Shard,
        method: unsafe fn(&A, Layout) -> *mut u8,
    ) -> *mut u8 {
        let stack = shard.current();
        shard.count_allocated(stack, layout.size());
        shard.set_asked(layout.size());
        // SAFETY: the caller's promise.
        let block = unsafe { self.tagged_as(layout, stack, method) };
        if block.is_null() {
            uncount();
        }
        block
    }

    /// Counts a block as freed and gives it back.
    ///
    /// # Safety
    /// As `GlobalAlloc::dealloc`; the process tags; a headed block.
    #[inline(always)]
    unsafe fn hot_dealloc<const ALIGN: usize>(&self, block: *mut u8, size: usize, shard: Shard) {
        // SAFETY: the caller's block is live and tagged; the inner allocator's own block and layout.
        unsafe {
            let layout = headed::<ALIGN>(size);
            shard.count_freed(tag::read(block, layout), size);
            self.inner.dealloc(tag::unblock(block, layout), tag::outer_of_block(layout));
        }
    }

    /// # Safety
    /// As `GlobalAlloc::realloc`; the process tags; a headed block.
    #[inline(always)]
    unsafe fn hot_realloc<const ALIGN: usize>(
        &self,
        block: *mut u8,
        size: usize,
        new_size: usize,
        shard: Shard,
    ) -> *mut u8 {
        if tag::is_too_large(new_size) {
            return std::ptr::null_mut();
        }
        // SAFETY: the caller's block is live and tagged; `moved` is the block in its new size.
        unsafe {
            let layout = headed::<ALIGN>(size);
            let (moved, old) = self.resized(block, layout, new_size);
            if !moved.is_null() {
                settle(moved, layout, new_size, old, shard);
            }
            moved
        }
    }
}

/// What hot and cold paths share.
impl<A: GlobalAlloc> HeapProf<A> {
    /// Allocates by `method` and writes the tag; counts nothing.
    ///
    /// # Safety
    /// As `GlobalAlloc::alloc`; the process tags.
    #[inline(always)]
    unsafe fn tagged_as(
        &self,
        layout: Layout,
        stack: Tag,
        method: unsafe fn(&A, Layout) -> *mut u8,
    ) -> *mut u8 {
        let Some(outer) = tag::outer(layout) else {
            return std::ptr::null_mut();
        };
        // SAFETY: the outer layout has a non-zero size.
        let outer = unsafe { method(&self.inner, outer) };
        if outer.is_null() {
            return outer;
        }
        // SAFETY: a fresh outer block of this layout.
        unsafe {
            let block = tag::block(outer, layout);
            tag::write(block, layout, stack);
            block
        }
    }

    /// Resizes a block, keeps its tag, counts nothing. Returns the block (null: the old one stays
    /// as it was) and its tag.
    ///
    /// # Safety
    /// As `GlobalAlloc::realloc`; the process tags.
    #[inline(always)]
    unsafe fn resized(&self, block: *mut u8, layout: Layout, new_size: usize) -> (*mut u8, Tag) {
        // SAFETY: the caller's block is live and tagged.
        let stack = unsafe { tag::read(block, layout) };
        // SAFETY: the caller promises that `new_size`, rounded up to the alignment, is in range.
        let new = unsafe { Layout::from_size_align_unchecked(new_size, layout.align()) };
        let Some(outer) = tag::outer(new) else {
            return (std::ptr::null_mut(), stack);
        };
        // SAFETY: the inner allocator's own block and layout; the new size is in range.
        let moved = unsafe {
            self.inner.realloc(tag::unblock(block, layout), tag::outer_of_block(layout), outer.size())
        };
        if moved.is_null() {
            return (moved, stack);
        }
        // SAFETY: `moved` is an outer block of the new layout.
        (unsafe { tag::block(moved, new) }, stack)
    }
}

/// The ways of allocations that the hot path does not take. None is inlined into the hook: a path that
/// looks at call stacks begins with its own frame.
impl<A: GlobalAlloc> HeapProf<A> {
    /// # Safety
    /// As `GlobalAlloc::alloc`, or `alloc_zeroed` with `ZEROED`.
    #[inline(always)]
    unsafe fn slow_alloc<const ZEROED: bool>(&self, layout: Layout, shard: Shard) -> *mut u8 {
        // SAFETY: passed on.
        unsafe {
            let method = if ZEROED { A::alloc_zeroed } else { A::alloc };
            if shard == Shard::COLD || !shard.takes(layout.align()) || tag::is_too_large(layout.size()) {
                self.cold_alloc(layout, method)
            } else if capture::passes_over(shard, layout.size()) {
                self.tagged_as(layout, UNCOUNTED, method)
            } else if layout.align() == tag::HEADER_ALIGN_MAX {
                self.traced_alloc::<{ tag::HEADER_ALIGN_MAX }, ZEROED>(layout.size(), shard)
            } else {
                self.traced_alloc::<4, ZEROED>(layout.size(), shard)
            }
        }
    }

    /// # Safety
    /// As `GlobalAlloc::realloc`.
    #[inline(always)]
    unsafe fn slow_realloc(&self, block: *mut u8, layout: Layout, new_size: usize, shard: Shard) -> *mut u8 {
        let added = new_size.saturating_sub(layout.size());
        // SAFETY: passed on; a shard that is not the stand-in is of a process that tags, and a headed block
        // keeps its tag in front of it.
        unsafe {
            let is_headed = shard != Shard::COLD && shard.takes(layout.align());
            if is_headed && tag::read(block, layout) == UNCOUNTED && capture::passes_over(shard, added) {
                return self.resized(block, layout, new_size).0;
            }
            self.cold_realloc(block, layout, new_size)
        }
    }

    /// Allocates a headed block of which more than the thread's stack is to be known.
    ///
    /// # Safety
    /// As [`Self::slow_alloc`]; the process tags, `shard` is the thread's own, the size is not too large.
    #[inline(never)]
    unsafe fn traced_alloc<const ALIGN: usize, const ZEROED: bool>(
        &self,
        size: usize,
        shard: Shard,
    ) -> *mut u8 {
        let origin = capture::tag_of_new(shard, size, walk::frame_here());
        // SAFETY: passed on.
        unsafe { self.alloc_of::<ALIGN, ZEROED>(size, shard, origin) }
    }

    /// Allocates a block of an origin, and counts it. A function of its own, so that the one that looks for the
    /// origin keeps nothing over the inner call.
    ///
    /// # Safety
    /// As [`Self::traced_alloc`].
    #[inline(never)]
    unsafe fn alloc_of<const ALIGN: usize, const ZEROED: bool>(
        &self,
        size: usize,
        shard: Shard,
        origin: Tag,
    ) -> *mut u8 {
        let method = if ZEROED { A::alloc_zeroed } else { A::alloc };
        // SAFETY: passed on.
        let block = unsafe { self.tagged_as(headed::<ALIGN>(size), origin, method) };
        if !block.is_null() && origin != UNCOUNTED {
            shard.count_allocated(origin, size);
        }
        block
    }
}

/// The cold paths: undecided and armed processes, a thread's first block, over-aligned blocks.
impl<A: GlobalAlloc> HeapProf<A> {
    #[cold]
    #[inline(never)]
    unsafe fn cold_alloc(&self, layout: Layout, method: unsafe fn(&A, Layout) -> *mut u8) -> *mut u8 {
        if mode::decide(self.armed) == Mode::Off {
            // SAFETY: passed on; the process does not tag.
            return unsafe { method(&self.inner, layout) };
        }
        super::profiler::inline_tick(layout.size());
        let seat = thread::seat();
        let stack = tag_of_new_block(seat, layout.size(), walk::frame_here());
        // SAFETY: passed on; the process tags.
        let block = unsafe { self.tagged_as(layout, stack, method) };
        if !block.is_null() && stack != UNCOUNTED {
            add(seat, stack, Figure::Allocated, layout.size());
            add(seat, stack, Figure::Allocations, 1);
        }
        block
    }

    #[cold]
    #[inline(never)]
    unsafe fn cold_dealloc(&self, block: *mut u8, layout: Layout) {
        if mode::is_off() {
            // SAFETY: passed on; the process does not tag.
            return unsafe { self.inner.dealloc(block, layout) };
        }
        // SAFETY: the caller's block is live; the process tags.
        let stack = unsafe { tag::read(block, layout) };
        let seat = thread::seat();
        add(seat, stack, Figure::Freed, layout.size());
        add(seat, stack, Figure::Frees, 1);
        // SAFETY: the inner allocator's own block and layout.
        unsafe { self.inner.dealloc(tag::unblock(block, layout), tag::outer_of_block(layout)) }
    }

    #[cold]
    #[inline(never)]
    unsafe fn cold_realloc(&self, block: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        if mode::is_off() {
            // SAFETY: passed on; the process does not tag.
            return unsafe { self.inner.realloc(block, layout, new_size) };
        }
        super::profiler::inline_tick(new_size);
        // SAFETY: passed on; the process tags.
        let (moved, old) = unsafe { self.resized(block, layout, new_size) };
        if !moved.is_null() {
            // SAFETY: `moved` is the block in its new size.
            unsafe { settle_cold(moved, layout, new_size, old, walk::frame_here()) };
        }
        moved
    }
}

/// Takes back the count of the block that this thread has just asked for and not got.
#[cold]
#[inline(never)]
fn uncount() {
    let shard = thread::hot();
    shard.uncount_asked(shard.current());
}

/// The tag of blocks that are not counted, since others stand for them.
const UNCOUNTED: Tag = Tag(0);

/// The tag of a block of `bytes` that a thread in `seat` allocates, seen from the frame pointer `frame`.
fn tag_of_new_block(seat: Seat, bytes: usize, frame: usize) -> Tag {
    match seat {
        Seat::Shared(_, stack) => stack,
        // Before the first start only the profiler's own blocks carry a stack.
        Seat::Own(shard) if mode::mode() == Mode::Armed && shard.current() != Tag::of(ccs::HEAPPROF) => {
            Tag::of(ccs::BEFORE)
        }
        Seat::Own(shard) => capture::tag_of_new(shard, bytes, frame),
    }
}

/// Adds to a counter of the seat's shard.
fn add(seat: Seat, stack: Tag, figure: Figure, amount: usize) {
    let freed = matches!(figure, Figure::Freed | Figure::Frees);
    match seat {
        Seat::Own(shard) if freed => shard.counter(stack, figure).add_freed(amount as u64),
        Seat::Own(shard) => shard.counter(stack, figure).add(amount as u64),
        Seat::Shared(shard, _) => shard.counter(stack, figure).add_shared(amount as u64),
    }
}

/// Counts a resized block: see the module's rule.
///
/// # Safety
/// `block` is live, has been resized from `layout` to `new_size`, is headed, and carries `old`.
#[inline(always)]
unsafe fn settle(block: *mut u8, layout: Layout, new_size: usize, old: Tag, shard: Shard) {
    let old_size = layout.size();
    if new_size <= old_size {
        shard.counter(old, Figure::Freed).add_freed((old_size - new_size) as u64);
        return;
    }
    let stack = shard.current();
    if stack == old {
        shard.counter(old, Figure::Allocated).add((new_size - old_size) as u64);
        return;
    }
    // SAFETY: a headed block's tag lies in front of it, whatever its size.
    unsafe { tag::write(block, layout, stack) };
    // Allocated first: a reader in between sees the block twice, never less than none.
    shard.count_allocated(stack, new_size);
    shard.count_freed(old, old_size);
}

/// The same for any block, seat and plan.
///
/// # Safety
/// `block` is live, has been resized from `layout` to `new_size`, and carried `old`.
unsafe fn settle_cold(block: *mut u8, layout: Layout, new_size: usize, old: Tag, frame: usize) {
    let (seat, old_size) = (thread::seat(), layout.size());
    let new = match seat {
        Seat::Own(shard) if mode::mode() == Mode::Started => {
            capture::tag_of_resized(shard, old, old_size, new_size, frame)
        }
        _ if new_size > old_size => tag_of_new_block(seat, new_size, frame),
        _ => old,
    };
    // SAFETY: the layout that the block now has; a trailing tag has to move with the end.
    unsafe { tag::write(block, Layout::from_size_align_unchecked(new_size, layout.align()), new) };
    if new == old {
        let (figure, change) = if new_size > old_size {
            (Figure::Allocated, new_size - old_size)
        } else {
            (Figure::Freed, old_size - new_size)
        };
        if old != UNCOUNTED {
            add(seat, old, figure, change);
        }
        return;
    }
    if new != UNCOUNTED {
        add(seat, new, Figure::Allocated, new_size);
        add(seat, new, Figure::Allocations, 1);
        if let Seat::Own(shard) = seat
            && origin::stack_of(new.stack()) == origin::stack_of(old.stack())
        {
            shard.count_moved(new, old_size.min(new_size));
        }
    }
    if old != UNCOUNTED {
        add(seat, old, Figure::Freed, old_size);
        add(seat, old, Figure::Frees, 1);
    }
}
