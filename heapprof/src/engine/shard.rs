//! Shards: one mapping of counters per thread, written by its owner alone, never unmapped.
//!
//! Layout of a mapping: a header page (the owner's current stack and its small arc cache), then one
//! sheet of one page per 64 stacks. A sheet is eight arrays of 64 counters: a reader who wants one
//! figure of every stack reads whole cache lines of nothing else, and a thread that uses few stacks
//! touches two pages:
//!
//! ```text
//! base ─▶ header 4 KiB │ stacks 0..64: allocated[64] allocations[64] freed[64] frees[64] entries[64] …
//!                      │ stacks 64..128: …
//! ```
//!
//! The tag of a stack *is* the byte offset of its first counter behind the header, so that the hook
//! reaches every counter of a stack with one addition and a constant.
//!
//! Invariant: `base` pointers handed out stay valid for the life of the process.

use std::ptr::NonNull;
use std::sync::atomic::{AtomicIsize, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering};

use super::capture::{self, Local};
use super::counter::Counter;
use super::{os, tag};

/// Stacks per sheet of counters.
const PER_SHEET: u32 = 64;
/// Bytes of counters for each stack in each shard.
pub(crate) const BYTES_PER_STACK: u64 = 64;
/// Bytes of a sheet: eight arrays.
const SHEET_BYTES: usize = 8 * ARRAY_BYTES;
/// Bytes of one array of a sheet.
const ARRAY_BYTES: usize = 8 * PER_SHEET as usize;
/// How many sheets ahead of the reader the arrays are prefetched: 1 to 16 measure alike, none takes
/// three times as long.
const PREFETCH_SHEETS: usize = 4;
/// Bytes in front of the first sheet.
const HEADER_BYTES: usize = 4096;
/// Guards dropped out of order under a stack handed over that a thread remembers.
const GONE_MAX: usize = 8;
/// A thread replaces a site's arc at every so-many-th entry that it did not serve.
const MISSES_PER_ARC: u32 = 64;
/// Entries of the per-thread arc cache; a power of two. 128 entries fill half of the header.
const CACHED_ARCS: usize = 128;
/// Shards there can be at most: threads alive at one time that own counters. Later ones share.
const SHARDS_MAX: usize = if cfg!(miri) { 64 } else { 1 << 16 };

/// Which counter of a stack, as the byte offset of its array within the page.
#[derive(Clone, Copy)]
#[repr(usize)]
pub(crate) enum Figure {
    /// Bytes allocated under the stack.
    Allocated = 0,
    /// Blocks allocated under the stack.
    Allocations = ARRAY_BYTES,
    /// Bytes freed of those that the stack holds, by any thread.
    Freed = 2 * ARRAY_BYTES,
    /// Blocks freed of those that the stack holds, by any thread.
    Frees = 3 * ARRAY_BYTES,
    /// Times the stack was entered.
    Entries = 4 * ARRAY_BYTES,
    /// Bytes of `Allocated` that had been allocated under the same stack before: a block that changed its
    /// origin as it was resized.
    Moved = 5 * ARRAY_BYTES,
    /// Blocks of `Allocations` that had been allocated under the same stack before.
    Moves = 6 * ARRAY_BYTES,
}

/// A stack's number as blocks and shards carry it: the byte offset of its first counter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(transparent)]
pub(crate) struct Tag(pub(crate) u32);

impl Tag {
    /// The tag of a stack number.
    pub(crate) const fn of(stack: u32) -> Self {
        Self((stack / PER_SHEET) * SHEET_BYTES as u32 + (stack % PER_SHEET) * 8)
    }

    /// The stack number of a tag.
    pub(crate) const fn stack(self) -> u32 {
        self.0 / SHEET_BYTES as u32 * PER_SHEET + self.0 % SHEET_BYTES as u32 / 8
    }
}

/// One remembered arc: the parent's tag and the centre in one word, and the child's tag.
struct CachedArc {
    key: AtomicU64,
    child: AtomicU32,
}

/// The first page of a mapping. Atomics, since the ticker reads what the owner writes; those
/// that only the owner uses are Relaxed throughout.
#[repr(C, align(64))]
struct Header {
    /// Tag of the owner's current stack. Relaxed: the ticker wants any recent value.
    current: AtomicU32,
    /// Greatest alignment whose blocks the hot path takes: 8, and 0 in [`COLD`]. Never changes, and
    /// no atomic, so that the hook compares with it in one instruction.
    align_max: usize,
    /// The same for allocations, which take another path while blocks need more than a stack. Relaxed: a
    /// path taken by the old value misses what the new plan wants of one block.
    alloc_align_max: AtomicUsize,
    /// Bytes of the block that the owner asked for last; the owner's alone.
    asked: AtomicU64,
    /// The owner's kernel thread number, for its CPU clock. Guarded by `timing`.
    thread: AtomicU32,
    /// 0 free, 1 owned. Release on giving up, Acquire on taking over: the new owner continues the
    /// counters that the old one wrote.
    owned: AtomicU32,
    /// Owners so far: a new one may have the old one's thread number. Written by the new owner.
    owners: AtomicU32,
    /// 1 while somebody reads the owner's CPU clock and moves `timed_ns` (a lock of a few
    /// instructions between the ticker and the owner's start and end; never taken by the hook).
    timing: AtomicU32,
    /// CPU nanoseconds of the owner already attributed to stacks. Guarded by `timing`.
    timed_ns: AtomicU64,
    /// CPU nanoseconds of the owner seen and not yet attributed. Guarded by `timing`.
    kept_ns: AtomicU64,
    /// Tag of the stack where the owner was last seen at work. Guarded by `timing`.
    seen: AtomicU32,
    /// Entries that the site's own arc did not serve; the owner's alone.
    misses: AtomicU32,
    /// Stacks handed over to the owner that it works under at present; the owner's alone.
    handed: AtomicU32,
    /// Stacks whose guards were dropped while a stack handed over hid them, each with the stack that its
    /// guard would have restored in the low half; 0 = none. The owner's alone.
    gone: [AtomicU64; GONE_MAX],
    /// What finding origins needs; the owner's alone.
    local: Local,
    /// Recent arcs that the sites' own caches did not know.
    arcs: [CachedArc; CACHED_ARCS],
}

const _: () = assert!(size_of::<Header>() <= HEADER_BYTES);

/// Stands for the shard of threads that are to take the cold paths: no alignment is small enough
/// for it, and no site was entered under its current stack, so that the hook needs no other test. In a
/// process that does not tag, every site's arc fits its current stack, and is inert.
static COLD: Header = Header {
    current: AtomicU32::new(u32::MAX),
    align_max: 0,
    alloc_align_max: AtomicUsize::new(0),
    asked: AtomicU64::new(0),
    thread: AtomicU32::new(0),
    owned: AtomicU32::new(0),
    owners: AtomicU32::new(0),
    timing: AtomicU32::new(0),
    timed_ns: AtomicU64::new(0),
    kept_ns: AtomicU64::new(0),
    seen: AtomicU32::new(0),
    misses: AtomicU32::new(0),
    handed: AtomicU32::new(0),
    gone: [const { AtomicU64::new(0) }; GONE_MAX],
    local: Local::zero(),
    arcs: [const { CachedArc { key: AtomicU64::new(0), child: AtomicU32::new(0) } }; CACHED_ARCS],
};

impl Header {
    fn forget_gone(&self) {
        self.gone.iter().for_each(|gone| gone.store(0, Ordering::Relaxed));
    }

    /// Takes `timing` for as long as `work` runs; `None` when somebody else has it.
    ///
    /// Acquire and Release: what one holder did is seen by the next.
    fn timed<R>(&self, work: impl FnOnce() -> R) -> Option<R> {
        self.timing.compare_exchange(0, 1, Ordering::Acquire, Ordering::Relaxed).ok()?;
        let result = work();
        self.timing.store(0, Ordering::Release);
        Some(result)
    }

    /// CPU nanoseconds of the owner since the last call; none without an owner. Under `timing`.
    fn spent_ns(&self) -> u64 {
        let thread = self.thread.load(Ordering::Relaxed);
        let owned = self.owned.load(Ordering::Relaxed) == 1;
        let now_ns = owned.then(|| os::thread_cpu_ns(thread)).flatten();
        now_ns.map_or(0, |now_ns| now_ns.saturating_sub(self.timed_ns.swap(now_ns, Ordering::Relaxed)))
    }

    /// Whether the owner works right now: it runs, or (only asked when it has used as much as half of
    /// the last `wall_ns`) it could run and has no processor, as when the ticker has taken it away.
    fn works(&self, used_ns: u64, wall_ns: u64) -> bool {
        let thread = self.thread.load(Ordering::Relaxed);
        let timed_ns = self.timed_ns.load(Ordering::Relaxed);
        os::thread_cpu_ns(thread).is_some_and(|again_ns| again_ns > timed_ns)
            || used_ns >= wall_ns / 2 && os::is_runnable(thread)
    }
}

/// A shard, by its address.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(transparent)]
pub(crate) struct Shard(NonNull<u8>);

// SAFETY: what changes in a mapping is atomics, and mappings are never unmapped.
unsafe impl Send for Shard {}
// SAFETY: as above.
unsafe impl Sync for Shard {}

impl Shard {
    /// Whether this is the stand-in in a process that does not tag. No other shard's stack reads 0.
    #[inline(always)]
    pub(crate) fn is_off(self) -> bool {
        self.current() == Tag(0)
    }

    /// Notes, in the stand-in, that the process does not tag.
    pub(crate) fn turn_off() {
        COLD.current.store(0, Ordering::Relaxed);
    }

    /// The stand-in of threads that take the cold paths. It has no counters.
    // SAFETY: the address of a static is not null.
    pub(crate) const COLD: Self =
        Self(unsafe { NonNull::new_unchecked((&raw const COLD).cast_mut().cast()) });

    /// Maps a new shard with counters for stacks below `stacks`, owned by nobody.
    pub(crate) fn map(stacks: u32) -> Option<Self> {
        let shard = os::zeroed_pages(Self::bytes(stacks)).map(Self)?;
        // SAFETY: the mapping begins with a Header, and nobody else knows it yet.
        unsafe { (&raw mut (*shard.0.cast::<Header>().as_ptr()).align_max).write(tag::HEADER_ALIGN_MAX) };
        Some(shard)
    }

    /// Whether the hot path takes blocks of this alignment.
    #[inline(always)]
    pub(crate) fn takes(self, align: usize) -> bool {
        align <= self.header().align_max
    }

    /// Whether the hot path takes allocations of this alignment.
    #[inline(always)]
    pub(crate) fn takes_alloc(self, align: usize) -> bool {
        align <= self.header().alloc_align_max.load(Ordering::Relaxed)
    }

    /// Sets which allocations the hot path takes: up to this alignment, or with 0 none.
    pub(crate) fn set_alloc_align_max(self, align: usize) {
        self.header().alloc_align_max.store(align, Ordering::Relaxed);
    }

    /// What finding origins needs of the owner.
    #[inline(always)]
    pub(crate) fn local(self) -> &'static Local {
        &self.header().local
    }

    /// Address space of one shard in bytes.
    pub(crate) fn bytes(stacks: u32) -> usize {
        HEADER_BYTES + stacks.div_ceil(PER_SHEET) as usize * SHEET_BYTES
    }

    /// The address, for thread-local words and handles.
    #[inline(always)]
    pub(crate) fn as_ptr(self) -> *mut u8 {
        self.0.as_ptr()
    }

    /// A shard from [`Shard::as_ptr`]; `None` from null.
    #[inline(always)]
    pub(crate) fn from_ptr(base: *mut u8) -> Option<Self> {
        NonNull::new(base).map(Self)
    }

    #[inline(always)]
    fn header(self) -> &'static Header {
        // SAFETY: `base` points to a live mapping whose first page is a Header, for
        // which zeroed memory is valid; it is never unmapped, and what changes in it is atomic.
        unsafe { self.0.cast::<Header>().as_ref() }
    }

    /// A counter of the stack that `tag` names.
    #[inline(always)]
    pub(crate) fn counter(self, tag: Tag, figure: Figure) -> &'static Counter {
        let offset = HEADER_BYTES + tag.0 as usize + figure as usize;
        // SAFETY: tags are made from stack numbers below the number that every mapping has pages
        // for, so the offset lies in the mapping; the memory is an array of atomics.
        unsafe { self.0.add(offset).cast::<Counter>().as_ref() }
    }

    /// A stack's figure in this shard; for the owner, or where [`Shards::add_up`]'s order is kept.
    pub(crate) fn figure(self, stack: u32, figure: Figure) -> u64 {
        self.counter(Tag::of(stack), figure).read()
    }

    /// Tag of the owner's current stack.
    #[inline(always)]
    pub(crate) fn current(self) -> Tag {
        Tag(self.header().current.load(Ordering::Relaxed))
    }

    /// Makes a stack the owner's current one.
    #[inline(always)]
    pub(crate) fn set_current(self, tag: Tag) {
        self.header().current.store(tag.0, Ordering::Relaxed);
    }

    /// One figure of the stacks of one sheet.
    fn array(self, sheet: usize, figure: Figure) -> &'static [Counter; PER_SHEET as usize] {
        let offset = HEADER_BYTES + sheet * SHEET_BYTES + figure as usize;
        // SAFETY: the caller's sheets are those that every mapping has; each array of a sheet holds
        // PER_SHEET counters.
        unsafe { self.0.add(offset).cast().as_ref() }
    }

    /// Adds one figure of this shard into `sums`, by stack number.
    pub(crate) fn add_to(self, figure: Figure, sums: &mut [u64]) {
        let sheets = sums.len().div_ceil(PER_SHEET as usize);
        for (sheet, sums) in sums.chunks_mut(PER_SHEET as usize).enumerate() {
            // Each array lies in a page of its own, where the processor's own prefetching stops.
            self.prefetch((sheet + PREFETCH_SHEETS).min(sheets - 1), figure);
            let counters = self.array(sheet, figure);
            match figure {
                Figure::Freed | Figure::Frees => add(counters, sums, Counter::read_freed),
                _ => add(counters, sums, Counter::read),
            }
        }
    }

    /// Asks for one array to be brought near.
    fn prefetch(self, sheet: usize, figure: Figure) {
        #[cfg(target_arch = "x86_64")]
        for line in self.array(sheet, figure).chunks(8) {
            // SAFETY: prefetching has no effect that could be observed, at any address.
            unsafe {
                std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T0 }>(line.as_ptr().cast())
            };
        }
        #[cfg(not(target_arch = "x86_64"))]
        let _ = (sheet, figure);
    }

    /// Counts a block of `bytes` allocated under `tag`.
    #[inline(always)]
    pub(crate) fn count_allocated(self, tag: Tag, bytes: usize) {
        self.counter(tag, Figure::Allocated).add(bytes as u64);
        self.counter(tag, Figure::Allocations).add(1);
    }

    /// Counts a block that went to the origin `tag` from another one of the same stack.
    pub(crate) fn count_moved(self, tag: Tag, bytes: usize) {
        self.counter(tag, Figure::Moved).add(bytes as u64);
        self.counter(tag, Figure::Moves).add(1);
    }

    /// Notes the size that the owner is asking the inner allocator for.
    #[inline(always)]
    pub(crate) fn set_asked(self, bytes: usize) {
        self.header().asked.store(bytes as u64, Ordering::Relaxed);
    }

    /// Takes back [`Shard::count_allocated`] of the block asked for last: it was not to be had.
    pub(crate) fn uncount_asked(self, tag: Tag) {
        self.counter(tag, Figure::Allocated).take_back(self.header().asked.load(Ordering::Relaxed));
        self.counter(tag, Figure::Allocations).take_back(1);
    }

    /// Counts a block of `bytes` of the stack `tag` freed by the owner.
    #[inline(always)]
    pub(crate) fn count_freed(self, tag: Tag, bytes: usize) {
        self.counter(tag, Figure::Freed).add_freed(bytes as u64);
        self.counter(tag, Figure::Frees).add_freed(1);
    }

    /// The child that this thread last found for an arc.
    pub(crate) fn cached_arc(self, parent: Tag, centre: u32) -> Option<Tag> {
        let arc = self.arc_slot(parent, centre);
        let known = arc.key.load(Ordering::Relaxed) == Self::arc_key(parent, centre);
        known.then(|| Tag(arc.child.load(Ordering::Relaxed)))
    }

    /// Remembers an arc in place of whichever had its slot.
    pub(crate) fn cache_arc(self, parent: Tag, centre: u32, child: Tag) {
        let arc = self.arc_slot(parent, centre);
        arc.key.store(Self::arc_key(parent, centre), Ordering::Relaxed);
        arc.child.store(child.0, Ordering::Relaxed);
    }

    /// Counts a stack handed over to the owner as entered (1) or left (-1).
    pub(crate) fn count_handed(self, change: i32) {
        let header = self.header();
        let handed = header.handed.load(Ordering::Relaxed).saturating_add_signed(change);
        header.handed.store(handed, Ordering::Relaxed);
        if handed == 0 {
            header.forget_gone();
        }
    }

    /// Notes that the guard of `entered` has gone, which would have restored `saved`. Only of use while
    /// a stack handed over hides it; beyond `GONE_MAX` at a time it is not noted.
    pub(crate) fn note_gone(self, entered: Tag, saved: Tag) {
        let header = self.header();
        if header.handed.load(Ordering::Relaxed) == 0 {
            return;
        }
        if let Some(free) = header.gone.iter().find(|gone| gone.load(Ordering::Relaxed) == 0) {
            free.store(u64::from(entered.0) << 32 | u64::from(saved.0), Ordering::Relaxed);
        }
    }

    /// The stack to restore for `saved`: another one if its own guard has gone meanwhile.
    pub(crate) fn instead_of_gone(self, mut saved: Tag) -> Tag {
        let gone = || self.header().gone.iter().map(|gone| gone.load(Ordering::Relaxed));
        for _ in 0..GONE_MAX {
            let Some(step) = gone().find(|step| step >> 32 == u64::from(saved.0)) else {
                break;
            };
            saved = Tag(step as u32);
        }
        saved
    }

    /// Counts an entry that the site's own arc did not serve; whether it is time to give the site
    /// another one. Not every time: threads that enter a site under different parents would fight
    /// for its cache line.
    pub(crate) fn is_missed_often(self) -> bool {
        let misses = self.header().misses.load(Ordering::Relaxed).wrapping_add(1);
        self.header().misses.store(misses, Ordering::Relaxed);
        misses.is_multiple_of(MISSES_PER_ARC)
    }

    fn arc_key(parent: Tag, centre: u32) -> u64 {
        u64::from(parent.0) << 32 | u64::from(centre)
    }

    /// Fibonacci hashing: centres are numbered in the order in which they were first entered, and
    /// those that a thread enters in turn under one parent must not share a slot.
    fn arc_slot(self, parent: Tag, centre: u32) -> &'static CachedArc {
        let mixed = ((parent.0 / 8) ^ centre).wrapping_mul(0x9E37_79B9);
        &self.header().arcs[(mixed >> (u32::BITS - CACHED_ARCS.ilog2())) as usize]
    }

    /// A value that changes whenever the owner has run or another thread has become the owner: as
    /// long as it stays, so do the shard's counters. `None` for a shard with more than one writer,
    /// and for one whose owner's clock cannot be read (a child made by raw `clone`).
    pub(crate) fn stamp(self) -> Option<(u32, u64)> {
        if self == SHARDS.shared() {
            return None;
        }
        let header = self.header();
        let owners = header.owners.load(Ordering::Relaxed);
        if header.owned.load(Ordering::Acquire) == 0 {
            return Some((owners, u64::MAX));
        }
        Some((owners, os::thread_cpu_ns(header.thread.load(Ordering::Relaxed))?))
    }

    /// Attributes the owner's CPU time since the last call, unless somebody else is just doing so.
    ///
    /// `attribute` receives the owner's current stack and the nanoseconds; `wall_ns` is the time
    /// since the last call. Where a thread sleeps is not where it worked: the time of one that does
    /// not work now is kept until it is next seen at work, so that on average every stack gets the
    /// share in which it is seen. Returns whether the owner had run.
    pub(crate) fn time(self, wall_ns: u64, attribute: impl FnOnce(Tag, u64)) -> bool {
        let header = self.header();
        let ran = header.timed(|| {
            let spent_ns = header.spent_ns();
            if spent_ns == 0 {
                return false;
            }
            let used_ns = spent_ns + header.kept_ns.load(Ordering::Relaxed);
            let current = self.current();
            if header.works(used_ns, wall_ns) {
                header.kept_ns.store(0, Ordering::Relaxed);
                header.seen.store(current.0, Ordering::Relaxed);
                attribute(current, used_ns);
            } else {
                header.kept_ns.store(used_ns, Ordering::Relaxed);
            }
            true
        });
        ran.unwrap_or(false)
    }

    /// Attributes all of the ending owner's time, called by the owner itself: to the stack where it
    /// was last seen at work, since by now it has left its cost centres.
    pub(crate) fn time_last(self, attribute: impl Fn(Tag, u64)) {
        let header = self.header();
        let attribute_rest = || {
            let used_ns = header.spent_ns() + header.kept_ns.swap(0, Ordering::Relaxed);
            attribute(Tag(header.seen.load(Ordering::Relaxed)), used_ns);
        };
        // The ticker keeps the lock for some instructions; should it be off its core just now, the
        // last tick of this thread is not worth a longer wait.
        for _ in 0..100 {
            if header.timed(attribute_rest).is_some() {
                return;
            }
            os::yield_now();
        }
    }

    /// In a forked child: the shard goes on as that of the calling thread, whose kernel number is
    /// another one and whose CPU clock began anew. Whoever held `timing` stayed in the parent.
    pub(crate) fn adopt_after_fork(self) {
        let header = self.header();
        header.thread.store(os::thread_id(), Ordering::Relaxed);
        header.owners.fetch_add(1, Ordering::Relaxed);
        header.timed_ns.store(0, Ordering::Relaxed);
        header.kept_ns.store(0, Ordering::Relaxed);
        header.timing.store(0, Ordering::Release);
    }

    /// Takes over a free shard for the calling thread.
    fn claim(self, thread: u32, stack: Tag) -> bool {
        let header = self.header();
        if header.owned.load(Ordering::Relaxed) == 1 || header.timing.swap(1, Ordering::Acquire) == 1 {
            return false;
        }
        // Acquire: pairs with the Release in `give_up`; we go on from the last owner's counters.
        let won = header.owned.compare_exchange(0, 1, Ordering::Acquire, Ordering::Relaxed).is_ok();
        if won {
            header.thread.store(thread, Ordering::Relaxed);
            header.owners.store(header.owners.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
            header.timed_ns.store(0, Ordering::Relaxed);
            header.kept_ns.store(0, Ordering::Relaxed);
            header.seen.store(stack.0, Ordering::Relaxed);
            header.handed.store(0, Ordering::Relaxed);
            header.forget_gone();
            header.local.reset();
            header.current.store(stack.0, Ordering::Relaxed);
        }
        header.timing.store(0, Ordering::Release);
        won
    }

    /// Ends the calling thread's ownership; the counters stay.
    pub(crate) fn give_up(self) {
        self.header().owned.store(0, Ordering::Release);
        FREE.fetch_add(1, Ordering::Relaxed);
    }
}

/// Adds counters to sums one by one.
fn add(counters: &[Counter], sums: &mut [u64], read: impl Fn(&Counter) -> u64) {
    for (counter, sum) in counters.iter().zip(sums) {
        *sum = sum.wrapping_add(read(counter));
    }
}

/// All shards ever mapped, in a table of its own pages.
pub(crate) struct Shards {
    /// Stacks that every shard has counters for.
    stacks: AtomicU32,
    /// `SHARDS_MAX` addresses, filled from the front; null = not yet published.
    table: AtomicPtr<AtomicPtr<u8>>,
    /// Entries handed out.
    count: AtomicUsize,
    /// The shard of threads that own none: written with read-modify-writes.
    shared: AtomicPtr<u8>,
}

/// The process's shards.
pub(crate) static SHARDS: Shards = Shards {
    stacks: AtomicU32::new(0),
    table: AtomicPtr::new(std::ptr::null_mut()),
    count: AtomicUsize::new(0),
    shared: AtomicPtr::new(std::ptr::null_mut()),
};

/// How many shards may be free: a hint that saves the search when none is. May lag, even below zero
/// for a moment, when an end and a start race; a miss costs one more mapping.
static FREE: AtomicIsize = AtomicIsize::new(0);

impl Shards {
    /// Maps the table and the shared shard, for stacks below `stacks`. Called once, before any
    /// block is tagged; `false` when the memory for it is not to be had.
    pub(crate) fn set_up(&self, stacks: u32) -> bool {
        let (Some(table), Some(shared)) =
            (os::zeroed_pages(SHARDS_MAX * size_of::<AtomicPtr<u8>>()), Shard::map(stacks))
        else {
            return false;
        };
        self.stacks.store(stacks, Ordering::Relaxed);
        self.shared.store(shared.as_ptr(), Ordering::Relaxed);
        // Release: pairs with the Acquire in `entries`; whoever sees the table sees the rest.
        self.table.store(table.as_ptr().cast(), Ordering::Release);
        self.count.store(1, Ordering::Relaxed);
        self.entries().first().map(|first| first.store(shared.as_ptr(), Ordering::Release)).is_some()
    }

    fn entries(&self) -> &'static [AtomicPtr<u8>] {
        let table = self.table.load(Ordering::Acquire);
        if table.is_null() {
            return &[];
        }
        // SAFETY: the table is a mapping of SHARDS_MAX zeroed words, never unmapped.
        unsafe { std::slice::from_raw_parts(table, SHARDS_MAX) }
    }

    /// A shard for the calling thread alone, starting at the stack `stack`; `None` when there is no
    /// memory or no room for one more: the thread then uses [`Shards::shared`].
    pub(crate) fn acquire(&self, stack: Tag) -> Option<Shard> {
        let thread = os::thread_id();
        if FREE.load(Ordering::Relaxed) > 0
            && let Some(shard) =
                self.all().find(|shard| *shard != self.shared() && shard.claim(thread, stack))
        {
            FREE.fetch_sub(1, Ordering::Relaxed);
            return Some(shard);
        }
        if self.count.load(Ordering::Relaxed) >= SHARDS_MAX {
            return None;
        }
        let shard = Shard::map(self.stacks.load(Ordering::Relaxed))?;
        let claimed = shard.claim(thread, stack);
        debug_assert!(claimed, "a fresh shard has no owner");
        let index = self.count.fetch_add(1, Ordering::Relaxed);
        // Past the end only when many threads race for the last rooms: this one's counters would
        // never be read, so it must not use them.
        self.entries().get(index)?.store(shard.as_ptr(), Ordering::Release);
        capture::join(shard);
        Some(shard)
    }

    /// The shard for whoever has none of their own.
    pub(crate) fn shared(&self) -> Shard {
        // SAFETY: `set_up` stored the address of a mapping before any block was tagged, and nobody asks
        // before; no `expect`, because no path of the hook may panic.
        Shard(unsafe { NonNull::new_unchecked(self.shared.load(Ordering::Relaxed)) })
    }

    /// Every shard there is, the shared one first.
    pub(crate) fn all(&self) -> impl Iterator<Item = Shard> + Clone + use<> {
        let count = self.count.load(Ordering::Relaxed).min(SHARDS_MAX);
        let entries = self.entries();
        // Acquire: pairs with the Release in `acquire`; the mapping is seen with its address.
        entries[..count.min(entries.len())]
            .iter()
            .filter_map(|entry| Shard::from_ptr(entry.load(Ordering::Acquire)))
    }

    /// Bytes of all shards that can have been touched, at most, with stack numbers below `count`.
    pub(crate) fn touched_bytes(&self, count: u32) -> u64 {
        self.all().count() as u64 * Shard::bytes(count) as u64
    }

    /// Adds one figure over all shards into `sums`, by stack number. Freed figures are to be read
    /// before allocated ones: see `counter`.
    pub(crate) fn add_up(&self, figure: Figure, sums: &mut [u64]) {
        for shard in self.all() {
            shard.add_to(figure, sums);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_and_stack_numbers_are_the_same_thing() {
        for stack in (0..5_000).chain([65_535, 1 << 19]) {
            let tag = Tag::of(stack);
            assert_eq!(tag.stack(), stack);
            assert!(tag.0 as usize + SHEET_BYTES < Shard::bytes(stack + 1));
        }
    }

    #[test]
    fn every_figure_of_every_stack_has_its_own_counter() {
        let shard = Shard::map(200).expect("pages");
        let figures = [Figure::Allocated, Figure::Allocations, Figure::Freed, Figure::Frees, Figure::Entries];
        for stack in 0..200 {
            for (index, figure) in figures.into_iter().enumerate() {
                shard.counter(Tag::of(stack), figure).add(u64::from(stack) * 10 + index as u64);
            }
        }
        for stack in 0..200 {
            for (index, figure) in figures.into_iter().enumerate() {
                assert_eq!(
                    shard.counter(Tag::of(stack), figure).read(),
                    u64::from(stack) * 10 + index as u64
                );
            }
        }
    }
}
