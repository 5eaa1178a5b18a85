//! Cost centres and cost-centre stacks, numbered; GHC's rule for pushing one on the other.
//!
//! A cost centre is a place in the program (a [`Site`]); a stack is a cost centre pushed on another
//! stack, MAIN at the bottom. Following GHC (`enterFunCCS`, RECURSION_TRUNCATES), pushing a centre
//! that is already on the stack truncates the stack to it, so no stack holds a centre twice and
//! there are finitely many:
//!
//! ```text
//! push(S, c) = S                      if c is the top of S
//!            = the older stack        if c lies deeper in S
//!            = the child of S under c otherwise
//! MAIN: a, b, c, a  ─▶  MAIN/a, MAIN/a/b, MAIN/a/b/c, MAIN/a
//! ```

use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering};

use super::arcs::{Arcs, Row};
use super::scope::Site;
use super::shard::Tag;
use super::{capture, os};

/// The root: what runs under no cost centre.
pub(crate) const MAIN: u32 = 1;
/// Where stacks beyond the limit fold, and blocks of threads for which there was no shard.
pub(crate) const OTHER: u32 = 2;
/// Blocks allocated while the process was armed and no profile had started.
pub(crate) const BEFORE: u32 = 3;
/// Blocks allocated by a thread that had already ended its Rust part.
pub(crate) const EXIT: u32 = 4;
/// The profiler's own blocks; never in the user's bands.
pub(crate) const HEAPPROF: u32 = 5;
/// The first stack of the program's own.
pub(crate) const FIRST: u32 = 6;

/// Built-in centres, whose numbers are those of their stacks.
static BUILT_IN: [Site; FIRST as usize] = [
    Site::built_in(""),
    Site::built_in("MAIN"),
    Site::built_in("OTHER"),
    Site::built_in("BEFORE_PROFILE"),
    Site::built_in("EXIT"),
    Site::built_in("HEAPPROF"),
];

/// Centres there can be at most; pushing a later one gives OTHER.
const CENTRES_MAX: usize = if cfg!(miri) { 64 } else { 1 << 16 };

/// The process's stacks: the tree, the centres by number, the CPU time by stack.
pub(crate) struct Stacks {
    rows: AtomicPtr<Row>,
    slots: AtomicPtr<AtomicU32>,
    /// CPU nanoseconds by stack number; added to by the ticker and by ending threads.
    times: AtomicPtr<AtomicU64>,
    centres: AtomicPtr<AtomicPtr<Site>>,
    /// By stack number: how many stacks there were with it, which is the number that users see. It does
    /// not depend on the origins that were added in between.
    ordinals: AtomicPtr<AtomicU32>,
    /// Rows mapped, for stacks and for origins below them; fixed by `set_up`.
    room: AtomicU32,
    /// Stacks allowed, built-in ones included: at most `room`.
    limit: AtomicU32,
    /// Stacks there are, built-in ones included.
    stacks: AtomicU32,
    /// The next number.
    next: AtomicU32,
    /// The next centre number.
    next_centre: AtomicU32,
}

/// The process's stacks.
pub(crate) static STACKS: Stacks = Stacks {
    rows: AtomicPtr::new(std::ptr::null_mut()),
    slots: AtomicPtr::new(std::ptr::null_mut()),
    times: AtomicPtr::new(std::ptr::null_mut()),
    centres: AtomicPtr::new(std::ptr::null_mut()),
    ordinals: AtomicPtr::new(std::ptr::null_mut()),
    room: AtomicU32::new(0),
    limit: AtomicU32::new(0),
    stacks: AtomicU32::new(FIRST),
    next: AtomicU32::new(FIRST),
    next_centre: AtomicU32::new(FIRST),
};

/// `len` zeroed values of an atomic type, or null.
fn table<T>(len: usize) -> *mut T {
    os::zeroed_pages(len * size_of::<T>()).map_or(std::ptr::null_mut(), |pages| pages.as_ptr().cast())
}

/// A table mapped by [`table`].
///
/// # Safety
/// `start` is null or came from `table::<T>(n)` with `n >= len`, and zeroed `T` is valid.
unsafe fn entries<T>(start: &AtomicPtr<T>, len: usize) -> &'static [T] {
    let start = start.load(Ordering::Relaxed);
    if start.is_null() {
        return &[];
    }
    // SAFETY: the caller's promise; the pages are never unmapped.
    unsafe { std::slice::from_raw_parts(start, len) }
}

impl Stacks {
    /// Maps the tables for `room` numbers, of which up to `stacks` are for stacks. Called once, before any
    /// block is tagged; `false` when there is no memory for it. The release of the mode publishes the
    /// addresses.
    pub(crate) fn set_up(&self, room: u32, stacks: u32) -> bool {
        self.rows.store(table(room as usize), Ordering::Relaxed);
        self.slots.store(table(Self::slot_count(room)), Ordering::Relaxed);
        self.times.store(table(room as usize), Ordering::Relaxed);
        self.centres.store(table(CENTRES_MAX), Ordering::Relaxed);
        self.ordinals.store(table(room as usize), Ordering::Relaxed);
        let tables = [
            self.ordinals.load(Ordering::Relaxed).is_null(),
            self.rows.load(Ordering::Relaxed).is_null(),
            self.slots.load(Ordering::Relaxed).is_null(),
            self.times.load(Ordering::Relaxed).is_null(),
            self.centres.load(Ordering::Relaxed).is_null(),
        ];
        if tables.contains(&true) {
            return false;
        }
        self.room.store(room, Ordering::Relaxed);
        self.limit.store(stacks.min(room), Ordering::Relaxed);
        // Zipped, not indexed: the hook's first call comes here, and no path of its may panic.
        let built_in = (0..).zip(&BUILT_IN).zip(self.arcs().rows).zip(self.centres());
        for (((number, site), row), centre) in built_in.skip(MAIN as usize) {
            row.centre.store(number, Ordering::Relaxed);
            row.parent.store(if number == MAIN { 0 } else { MAIN }, Ordering::Relaxed);
            centre.store(std::ptr::from_ref(site).cast_mut(), Ordering::Relaxed);
        }
        true
    }

    /// Twice the rows, as a power of two, so that probing is short and always finds a free slot.
    fn slot_count(room: u32) -> usize {
        (2 * room as usize).next_power_of_two()
    }

    /// Bytes of the tables that can have been touched, at most: rows and times fill from the front,
    /// slots are scattered.
    pub(crate) fn touched_bytes(&self) -> u64 {
        let row = size_of::<Row>() + size_of::<AtomicU64>() + size_of::<AtomicU32>();
        let rows = u64::from(self.count()) * row as u64;
        let slots = Self::slot_count(self.room.load(Ordering::Relaxed)) as u64 * 4;
        rows + slots + u64::from(self.next_centre.load(Ordering::Relaxed)) * 8
    }

    /// The tree, in which numbers below `limit` may be handed out.
    fn arcs_to(&self, limit: u32) -> Arcs<'static> {
        Arcs { limit, ..self.arcs() }
    }

    fn arcs(&self) -> Arcs<'static> {
        let room = self.room.load(Ordering::Relaxed);
        // SAFETY: `set_up` made the tables with these lengths; zeroed atomics are valid.
        let (rows, slots) =
            unsafe { (entries(&self.rows, room as usize), entries(&self.slots, Self::slot_count(room))) };
        let next: &'static AtomicU32 = &STACKS.next;
        Arcs { rows, slots, next, limit: room }
    }

    fn times(&self) -> &'static [AtomicU64] {
        // SAFETY: as in `arcs`.
        unsafe { entries(&self.times, self.room.load(Ordering::Relaxed) as usize) }
    }

    fn centres(&self) -> &'static [AtomicPtr<Site>] {
        // SAFETY: as in `arcs`.
        unsafe { entries(&self.centres, CENTRES_MAX) }
    }

    /// Sets how many stacks there may be from now on, built-in ones included; at most what the
    /// tables have room for. Returns the limit in force.
    pub(crate) fn limit_to(&self, stacks: u32) -> u32 {
        let limit = stacks.min(self.room.load(Ordering::Relaxed));
        self.limit.store(limit, Ordering::Relaxed);
        limit
    }

    /// How many stacks there may be.
    pub(crate) fn limit(&self) -> u32 {
        self.limit.load(Ordering::Relaxed)
    }

    /// Numbers handed out so far, to stacks and origins, are below this.
    pub(crate) fn count(&self) -> u32 {
        self.next.load(Ordering::Relaxed)
    }

    /// GHC's push: the stack that entering `site` under `stack` leads to.
    pub(crate) fn push(&self, stack: u32, site: &'static Site) -> u32 {
        let centre = self.centre_of(site);
        if stack == OTHER || centre == OTHER {
            return OTHER;
        }
        if let Some(older) = self.ancestors(stack).find(|&older| self.centre(older) == centre) {
            return older;
        }
        // A limit of 0 adds nothing.
        if let Some(known) = self.arcs_to(0).child(stack, centre)
            && self.ordinals().get(known as usize).is_some_and(|given| given.load(Ordering::Relaxed) != 0)
        {
            return known;
        }
        let is_within = |stacks: u32| (stacks < self.limit()).then_some(stacks + 1);
        let Ok(ordinal) = self.stacks.fetch_update(Ordering::Relaxed, Ordering::Relaxed, is_within) else {
            return OTHER;
        };
        let Some(child) = self.arcs().child(stack, centre) else {
            return OTHER;
        };
        // If another thread was first, its ordinal stands and ours stays a hole.
        if let Some(entry) = self.ordinals().get(child as usize) {
            let _ = entry.compare_exchange(0, ordinal, Ordering::Relaxed, Ordering::Relaxed);
        }
        child
    }

    /// The number of a stack that users see; 0 for what is none. It is there once a push has returned the
    /// stack, and nothing is counted under it before; another processor may see it a moment later.
    pub(crate) fn ordinal(&self, stack: u32) -> u32 {
        if stack < FIRST || super::origin::is_facet(stack) {
            return if stack < FIRST { stack } else { 0 };
        }
        let Some(ordinal) = self.ordinals().get(stack as usize) else {
            return 0;
        };
        for _ in 0..100 {
            match ordinal.load(Ordering::Relaxed) {
                0 => os::yield_now(),
                given => return given,
            }
        }
        0
    }

    fn ordinals(&self) -> &'static [AtomicU32] {
        // SAFETY: as in `arcs`.
        unsafe { entries(&self.ordinals, self.room.load(Ordering::Relaxed) as usize) }
    }

    /// The child of an origin under a key that is no centre's; the origin itself beyond the limit. The
    /// room for stacks that there may yet be is not taken.
    pub(crate) fn refine(&self, origin: u32, key: u32) -> u32 {
        self.arcs_to(self.origin_limit()).child(origin, key).unwrap_or(origin)
    }

    /// Origins have numbers below this.
    fn origin_limit(&self) -> u32 {
        let kept = self.limit().saturating_sub(self.stacks.load(Ordering::Relaxed));
        self.room.load(Ordering::Relaxed).saturating_sub(kept)
    }

    /// Whether there is no room for another origin.
    pub(crate) fn is_full(&self) -> bool {
        self.count() >= self.origin_limit()
    }

    /// The number of a site's centre, given on first use; OTHER beyond the limit.
    fn centre_of(&self, site: &'static Site) -> u32 {
        // Acquire pairs with the Release below: the number is seen with its table entry.
        let known = site.centre.load(Ordering::Acquire);
        if known != 0 {
            return known;
        }
        let fresh = self.next_centre.fetch_add(1, Ordering::Relaxed);
        let Some(entry) = self.centres().get(fresh as usize) else {
            self.next_centre.fetch_sub(1, Ordering::Relaxed);
            return OTHER;
        };
        entry.store(std::ptr::from_ref(site).cast_mut(), Ordering::Release);
        // If another thread was first, its number stands and ours stays a hole.
        match site.centre.compare_exchange(0, fresh, Ordering::Release, Ordering::Acquire) {
            Ok(_) => {
                capture::on_new_centre();
                fresh
            }
            Err(first) => first,
        }
    }

    /// The number of a stack's top centre.
    pub(crate) fn centre(&self, stack: u32) -> u32 {
        self.arcs().rows.get(stack as usize).map_or(0, |row| row.centre.load(Ordering::Relaxed))
    }

    /// A stack's parent; 0 above MAIN.
    pub(crate) fn parent(&self, stack: u32) -> u32 {
        self.arcs().rows.get(stack as usize).map_or(0, |row| row.parent.load(Ordering::Relaxed))
    }

    /// The site of a centre's number.
    pub(crate) fn site(&self, centre: u32) -> Option<&'static Site> {
        let site = self.centres().get(centre as usize)?.load(Ordering::Acquire);
        // SAFETY: entries are null or the address of a `&'static Site`.
        unsafe { site.as_ref() }
    }

    /// Every registered cost centre with its number, in order of registration; numbers that lost a
    /// race for their site are left out.
    pub(crate) fn sites(&self) -> impl Iterator<Item = (u32, &'static Site)> + use<'_> {
        let numbers = MAIN..self.next_centre.load(Ordering::Relaxed);
        numbers.filter_map(|number| Some((number, self.site(number)?))).filter(|&(number, site)| {
            let registered = site.centre.load(Ordering::Relaxed);
            number < FIRST || registered == number
        })
    }

    /// The stack itself and what it was pushed on, down to MAIN.
    pub(crate) fn ancestors(&self, stack: u32) -> impl Iterator<Item = u32> + use<'_> {
        std::iter::successors((stack != 0).then_some(stack), |&stack| {
            let parent = self.parent(stack);
            (parent != 0).then_some(parent)
        })
    }

    /// How CPU time is put on stacks: for [`super::shard::Shard::time`].
    pub(crate) fn attribute(&self) -> impl Fn(Tag, u64) + use<> {
        let times = self.times();
        move |tag, spent_ns| {
            if let Some(time) = times.get(tag.stack() as usize) {
                time.fetch_add(spent_ns, Ordering::Relaxed);
            }
        }
    }

    /// CPU nanoseconds attributed so far, by stack number, for stacks below `count`.
    pub(crate) fn cpu_ns(&self, count: u32) -> Vec<u64> {
        self.times().iter().take(count as usize).map(|time| time.load(Ordering::Relaxed)).collect()
    }
}
