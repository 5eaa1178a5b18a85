//! Finding the origin of a block: what the hook does beyond the thread's current stack when the run's
//! breakdowns want call sites, threads, sizes or births, or a sample of the blocks.
//!
//! ```text
//! plan says so ─▶ walk: four return addresses ─▶ the thread's own table of known origins ─▶ tag
//!                                                  └─ first time ─▶ traces, origin: intern
//! ```
//! A known call site costs one look into a table of the thread's own. What is compared there are the
//! addresses themselves; only call stacks of more than four frames are compared by 128 bits of hash.
//!
//! # How many frames
//!
//! Bands by call site need the frames up to the second function of the program's own, since in front
//! of the first are those of std's collections, most often two, in formatting six. Which addresses
//! are std's is read from symbol tables by the ticker ([`set_library`]); until then all frames are
//! taken. Where four frames do not reach the second function, the table says so, and the look is
//! repeated with twelve, and with all.
//!
//! # Sampling
//!
//! A block of `s` bytes is chosen with probability `1 - exp(-s / R)`: as often as at least one point of
//! a Poisson process of rate 1/R per byte falls into it. [`weigh`] undoes that when figures are read.
//! Growth is given the chance of the bytes that it adds, a block that shrinks may be dropped, so
//! that at any time a block's chance is that of its present size.

use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering};

use super::ccs;
use super::origin::{self, Origin};
use super::rule::Rule;
use super::shard::{SHARDS, Shard, Tag};
use super::traces::{self, TRACES};
use super::walk::{self, Bounds, Frames};
use super::{os, thread_names};

/// What the breakdowns of a run want to know of each block.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Plan(u32);

impl Plan {
    /// The call sites: frames up to the second function of the program's own.
    pub(crate) const SITES: Self = Self(1);
    /// Whole call stacks, to the depth set.
    pub(crate) const STACKS: Self = Self(1 << 1);
    /// The thread.
    pub(crate) const THREAD: Self = Self(1 << 2);
    /// The size class.
    pub(crate) const SIZE: Self = Self(1 << 3);
    /// The birth interval.
    pub(crate) const BIRTH: Self = Self(1 << 4);
    /// Only blocks chosen by chance get a trace.
    pub(crate) const SAMPLED: Self = Self(1 << 5);
    /// Blocks that were not chosen are not counted at all.
    pub(crate) const THIN: Self = Self(1 << 6);
    /// Frames come from unwind tables instead of frame pointers.
    pub(crate) const UNWIND: Self = Self(1 << 7);
    /// All of it ends as soon as a cost centre is entered.
    pub(crate) const UNTIL_CENTRE: Self = Self(1 << 8);

    /// Both.
    pub(crate) const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// What is not in `other`.
    const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// Whether anything of `other` is wanted.
    #[inline(always)]
    pub(crate) const fn wants(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// Whether call sites or call stacks are wanted.
    #[inline(always)]
    pub(crate) const fn wants_traces(self) -> bool {
        self.wants(Self(Self::SITES.0 | Self::STACKS.0))
    }

    /// Whether a block's stack says all that is wanted.
    const fn is_plain(self) -> bool {
        self.0 & !Self::UNTIL_CENTRE.0 == 0
    }
}

/// The plan in force, which shards follow. Whoever reads an older one finds an origin that lacks a facet.
static PLAN: Rule = Rule::new(AtomicU32::new(0));
/// Changes when known origins are no longer right: births, another plan, unloaded code.
static EPOCH: AtomicU32 = AtomicU32::new(1);
/// The birth interval at present.
static BIRTH: AtomicU32 = AtomicU32::new(0);
/// Frames of a whole call stack at most, with those in front of the function that asked.
static DEPTH: AtomicUsize = AtomicUsize::new(0);
/// Mean bytes between two chosen blocks.
static SAMPLE_BYTES: AtomicU64 = AtomicU64::new(0);
/// Which code is std's; null until that has been read.
static LIBRARY: AtomicPtr<Library> = AtomicPtr::new(std::ptr::null_mut());

/// Which code is std's, as sorted, disjoint (first, end) pairs of addresses.
#[derive(Default)]
pub(crate) struct Library {
    /// All of it.
    pub(crate) code: Vec<(u64, u64)>,
    /// The functions that call `main` and the bodies of threads: outside of them is nothing of the program.
    pub(crate) ends: Vec<(u64, u64)>,
}

/// Times that code was found to have been unloaded: what tells call stacks before and after apart.
static GENERATION: AtomicU32 = AtomicU32::new(0);
/// The code that has stayed what it was all the time, in pairs as in [`Library`]; null as long as that is all.
static LASTING: AtomicPtr<Vec<(u64, u64)>> = AtomicPtr::new(std::ptr::null_mut());

/// Greatest depth of a call stack, from the function that asked outwards.
pub(crate) const DEPTH_MAX: usize = 128;
/// Frames of std that may lie in front of that function, many more where nothing is inlined; what they do
/// not need is cut off with the names.
const INNER_MAX: usize = if cfg!(debug_assertions) { 40 } else { 12 };
/// Frames that are looked at, at most.
const FRAMES_MAX: usize = DEPTH_MAX + INNER_MAX;
/// Frames looked at for a call site, at first, then, and at most.
const REACHES: [usize; 3] = [4, 12, 64];
/// Sets of two in a thread's table of known origins, as a power of two: for call sites 32 KiB, for call
/// stacks, of which there are more, 512 KiB, of which those pages exist that were needed.
const SITE_SETS_LOG2: u32 = if cfg!(miri) { 2 } else { 8 };
const STACK_SETS_LOG2: u32 = if cfg!(miri) { 2 } else { 12 };
/// Bytes that are read of a stack that is not the thread's own.
const COPY_BYTES: usize = 16 << 10;
/// Address space that a process must be allowed if call stacks are to be told apart and named: tables take 26
/// MiB, and names several times the size of the program's debug information.
const TRACES_SPACE_BYTES: u64 = 4 << 30;

/// The plan in force.
#[inline(always)]
pub(crate) fn plan() -> Plan {
    Plan(PLAN.get())
}

/// Where the hot path ends for allocations: alignments up to this are counted under the thread's stack.
#[inline(always)]
fn hot_align(plan: Plan) -> usize {
    if plan.is_plain() { super::tag::HEADER_ALIGN_MAX } else { 0 }
}

/// Puts a plan in force for all threads; `false`, and nothing is changed, without memory for its tables.
pub(crate) fn begin(plan: Plan, depth: usize, sample_bytes: u64) -> bool {
    let needs_traces = plan.wants_traces() || plan.wants(Plan::SAMPLED);
    let ready = (!needs_traces || has_room_for_traces() && TRACES.set_up())
        && (!plan.wants(Plan::THREAD) || thread_names::set_up());
    if ready {
        DEPTH.store(depth.clamp(1, DEPTH_MAX) + INNER_MAX, Ordering::Relaxed);
        SAMPLE_BYTES.store(sample_bytes.max(1), Ordering::Relaxed);
        BIRTH.fetch_add(1, Ordering::Relaxed);
        change(|_| plan);
    }
    ready
}

/// Code was unloaded: from now on an address stands for something else than before, unless it lies in
/// `lasting`. The list before stays in memory.
pub(crate) fn begin_generation(lasting: Vec<(u64, u64)>) {
    LASTING.store(Box::into_raw(Box::new(lasting)), Ordering::Release);
    GENERATION.fetch_add(1, Ordering::Release);
    EPOCH.fetch_add(1, Ordering::Relaxed);
}

/// What stands for an address in the table of places.
fn place(address: u64) -> u64 {
    // SAFETY: null, or a list that is never freed. Acquire: pairs with the Release in `begin_generation`.
    match unsafe { LASTING.load(Ordering::Acquire).as_ref() } {
        Some(lasting) if !contains(lasting, address) => {
            address | u64::from(GENERATION.load(Ordering::Acquire)) << traces::ADDRESS_BITS
        }
        _ => address,
    }
}

/// Interns a call stack.
fn intern(frames: &[u64]) -> u32 {
    TRACES.intern(frames, place)
}

/// Whether the process may have the address space that call stacks need.
pub(crate) fn has_room_for_traces() -> bool {
    os::address_space_bytes() >= TRACES_SPACE_BYTES
}

/// Ends what [`begin`] has begun: blocks are of their stacks alone again.
pub(crate) fn end() {
    change(|_| Plan::default());
}

/// The number of the present birth interval. Numbers rise over all profiles of the process.
pub(crate) fn birth() -> u32 {
    BIRTH.load(Ordering::Relaxed)
}

/// Changes the plan: by the one who starts a profile, or the one who enters the first cost centre.
fn change(new: impl Fn(Plan) -> Plan) {
    EPOCH.fetch_add(1, Ordering::Relaxed);
    let tell = |plan| SHARDS.all().for_each(|shard| shard.set_alloc_align_max(hot_align(Plan(plan))));
    PLAN.change(|plan| new(Plan(plan)).0, tell);
}

/// For a shard that has just been put into the table of shards.
pub(crate) fn join(shard: Shard) {
    PLAN.follow(|plan| shard.set_alloc_align_max(hot_align(Plan(plan))));
}

/// A thread has taken its shard. Its name is asked for now, while std surely still knows it.
pub(crate) fn meet(shard: Shard) {
    if plan().wants(Plan::THREAD) {
        shard.local().thread_name();
    }
}

/// A cost centre has been entered for the first time.
pub(crate) fn on_new_centre() {
    if plan().wants(Plan::UNTIL_CENTRE) {
        let sampling = if plan().wants(Plan::THIN) { Plan::default() } else { Plan::SAMPLED };
        let ended = Plan::UNTIL_CENTRE.and(Plan::SITES).and(Plan::UNWIND).and(sampling);
        change(|plan| plan.without(ended));
    }
}

/// What is captured goes on, also when a cost centre is entered.
pub(crate) fn stay() {
    change(|plan| plan.without(Plan::UNTIL_CENTRE));
}

/// Blocks are of a new birth interval from now on.
pub(crate) fn begin_birth() {
    BIRTH.fetch_add(1, Ordering::Relaxed);
    EPOCH.fetch_add(1, Ordering::Relaxed);
}

/// Tells which code is std's. The list before stays in memory, since a hook may be reading it; there is one
/// for each time that code was loaded.
pub(crate) fn set_library(library: Library) {
    LIBRARY.store(Box::into_raw(Box::new(library)), Ordering::Release);
    EPOCH.fetch_add(1, Ordering::Relaxed);
}

/// What a chosen block of `blocks` that have `bytes` together stands for: (bytes, blocks), on average
/// over all choices exactly what there was.
pub(crate) fn weigh(bytes: u64, blocks: u64) -> (f64, f64) {
    if blocks == 0 || bytes == 0 {
        return (0.0, 0.0);
    }
    let mean = bytes as f64 / blocks as f64;
    let chance = -(-mean / SAMPLE_BYTES.load(Ordering::Relaxed) as f64).exp_m1();
    (bytes as f64 / chance, blocks as f64 / chance)
}

/// One origin that a thread knows. Only its owner uses it; atomics, since it lies in shared pages.
#[repr(C, align(64))]
struct Known {
    /// Four return addresses, or two hashes, the number of frames and a 1 that no address has.
    frames: [AtomicU64; 4],
    /// See [`context`].
    context: AtomicU64,
    /// The origin's tag; [`MORE`] when the frames do not tell it yet.
    tag: AtomicU32,
}

/// No tag: tags are multiples of 8.
const MORE: u32 = 1;

type Key = [u64; 4];

impl Known {
    #[inline(always)]
    fn is(&self, key: &Key, context: u64) -> bool {
        let differing = (self.frames[0].load(Ordering::Relaxed) ^ key[0])
            | (self.frames[1].load(Ordering::Relaxed) ^ key[1])
            | (self.frames[2].load(Ordering::Relaxed) ^ key[2])
            | (self.frames[3].load(Ordering::Relaxed) ^ key[3])
            | (self.context.load(Ordering::Relaxed) ^ context);
        differing == 0
    }

    fn set(&self, key: &Key, context: u64, tag: u32) {
        self.frames.iter().zip(key).for_each(|(word, &value)| word.store(value, Ordering::Relaxed));
        self.context.store(context, Ordering::Relaxed);
        self.tag.store(tag, Ordering::Relaxed);
    }

    fn copy_from(&self, other: &Self) {
        let key = [0, 1, 2, 3].map(|index: usize| other.frames[index].load(Ordering::Relaxed));
        self.set(&key, other.context.load(Ordering::Relaxed), other.tag.load(Ordering::Relaxed));
    }
}

/// Bits of a context: the stack's tag in the upper half, the epoch, the size class plus 1 (0 = none), and
/// whether the block was chosen by chance. No context is 0, since no stack's tag is.
const EPOCH_SHIFT: u32 = 10;
const EPOCH_MASK: u64 = (1 << (32 - EPOCH_SHIFT)) - 1;

#[inline(always)]
fn context(stack: Tag, class: u64, sampled: bool) -> u64 {
    let epoch = u64::from(EPOCH.load(Ordering::Relaxed)) & EPOCH_MASK;
    u64::from(stack.0) << 32 | epoch << EPOCH_SHIFT | class << 1 | u64::from(sampled)
}

/// What a thread needs to find origins: part of its shard's header, the owner's alone. Zeroes are valid.
#[repr(C)]
pub(crate) struct Local {
    /// Pairs of [`Known`]; null before the first capture.
    known: AtomicPtr<[Known; 2]>,
    /// How far a hash is shifted to be an index of them.
    shift: AtomicU32,
    /// Limits of the thread's own stack; 0 before they were asked for.
    low: AtomicUsize,
    high: AtomicUsize,
    /// 1 once they were asked for.
    looked: AtomicU32,
    /// Room for [`COPY_BYTES`] of another stack; null before the first.
    copy: AtomicPtr<u8>,
    /// Number of the thread's name plus 1; 0 before it was asked for.
    name: AtomicU32,
    /// Bytes until the next block is chosen.
    until_sample: AtomicU64,
    /// State of the generator of random numbers; 0 before its first use.
    random: AtomicU64,
}

impl Local {
    /// What a shard begins with.
    pub(crate) const fn zero() -> Self {
        Self {
            known: AtomicPtr::new(std::ptr::null_mut()),
            shift: AtomicU32::new(0),
            low: AtomicUsize::new(0),
            high: AtomicUsize::new(0),
            looked: AtomicU32::new(0),
            copy: AtomicPtr::new(std::ptr::null_mut()),
            name: AtomicU32::new(0),
            until_sample: AtomicU64::new(0),
            random: AtomicU64::new(0),
        }
    }

    /// Forgets the last owner, before the next one begins.
    pub(crate) fn reset(&self) {
        [&self.low, &self.high].iter().for_each(|limit| limit.store(0, Ordering::Relaxed));
        [&self.looked, &self.name].iter().for_each(|count| count.store(0, Ordering::Relaxed));
        let known = self.known.load(Ordering::Relaxed);
        if !known.is_null() {
            let bytes = size_of::<[Known; 2]>() << (u64::BITS - self.shift.load(Ordering::Relaxed));
            // No context is 0, so nothing is known any more.
            os::zero_pages(known.cast(), bytes);
        }
    }

    #[inline(always)]
    fn bounds(&self) -> Bounds {
        Bounds { low: self.low.load(Ordering::Relaxed), high: self.high.load(Ordering::Relaxed) }
    }

    /// The pair in which an origin is, if it is known. `None` before the table was made.
    #[inline(always)]
    fn set_of(&self, key: &Key, context: u64) -> Option<&'static [Known; 2]> {
        let known = self.known.load(Ordering::Relaxed);
        if known.is_null() {
            return None;
        }
        let inner = key[0] ^ key[1].wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let outer = key[2] ^ key[3].wrapping_mul(0xC2B2_AE3D_27D4_EB4F);
        let mixed = (inner ^ outer.rotate_left(32) ^ context).wrapping_mul(0xD6E8_FEB8_6659_FD93);
        let index = (mixed >> self.shift.load(Ordering::Relaxed)) as usize;
        // SAFETY: the index has as many bits as the number of pairs in the mapping.
        Some(unsafe { &*known.add(index) })
    }

    #[inline(always)]
    fn find(&self, key: &Key, context: u64) -> Option<u32> {
        let [first, second] = self.set_of(key, context)?;
        if first.is(key, context) {
            return Some(first.tag.load(Ordering::Relaxed));
        }
        second.is(key, context).then(|| second.tag.load(Ordering::Relaxed))
    }

    /// Remembers an origin; of its pair, the one remembered later gives way last.
    fn remember(&self, key: &Key, context: u64, tag: u32) {
        if self.known.load(Ordering::Relaxed).is_null() {
            let log2 = if plan().wants(Plan::STACKS) { STACK_SETS_LOG2 } else { SITE_SETS_LOG2 };
            let Some(pages) = os::zeroed_pages(size_of::<[Known; 2]>() << log2) else {
                return;
            };
            self.shift.store(u64::BITS - log2, Ordering::Relaxed);
            self.known.store(pages.as_ptr().cast(), Ordering::Relaxed);
        }
        if let Some([first, second]) = self.set_of(key, context) {
            second.copy_from(first);
            first.set(key, context, tag);
        }
    }

    /// The number of the owner's name, asked for once.
    fn thread_name(&self) -> u16 {
        let known = self.name.load(Ordering::Relaxed);
        if known != 0 {
            return (known - 1) as u16;
        }
        let number = thread_names::of_this_thread();
        self.name.store(u32::from(number) + 1, Ordering::Relaxed);
        number
    }

    /// The frames of the stack on which `frame` lies; none when it cannot be read.
    #[inline(always)]
    fn frames(&self, frame: usize) -> Frames {
        let bounds = self.bounds();
        if (bounds.low..bounds.high).contains(&frame) {
            return Frames::new(frame, bounds);
        }
        self.frames_elsewhere(frame)
    }

    /// The same before the limits of the own stack are known, and on other stacks.
    #[cold]
    #[inline(never)]
    fn frames_elsewhere(&self, frame: usize) -> Frames {
        let _errno = os::KeepErrno::new();
        if self.looked.swap(1, Ordering::Relaxed) == 0
            && let Some(bounds) = walk::own_bounds()
        {
            self.low.store(bounds.low, Ordering::Relaxed);
            self.high.store(bounds.high, Ordering::Relaxed);
            if (bounds.low..bounds.high).contains(&frame) {
                return Frames::new(frame, bounds);
            }
        }
        if self.copy.load(Ordering::Relaxed).is_null() {
            let Some(pages) = os::zeroed_pages(COPY_BYTES) else {
                return Frames::in_copy(frame, &[]);
            };
            self.copy.store(pages.as_ptr(), Ordering::Relaxed);
        }
        // SAFETY: COPY_BYTES of pages that are never unmapped, and the owner's alone, who looks at one call stack
        // at a time.
        let copy = unsafe { std::slice::from_raw_parts_mut(self.copy.load(Ordering::Relaxed), COPY_BYTES) };
        Frames::in_copy(frame, walk::copied(frame, copy))
    }

    /// A random number, by xorshift64*. Seeded by the clock and the place in memory.
    fn random(&self) -> u64 {
        let mut state = self.random.load(Ordering::Relaxed);
        if state == 0 {
            state = os::elapsed_ns() ^ (std::ptr::from_ref(self).addr() as u64).rotate_left(32) | 1;
        }
        state ^= state >> 12;
        state ^= state << 25;
        state ^= state >> 27;
        self.random.store(state, Ordering::Relaxed);
        state.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    /// A random number in (0, 1].
    fn chance(&self) -> f64 {
        ((self.random() >> 11) + 1) as f64 / (1_u64 << 53) as f64
    }

    /// Passes over so many bytes; `false`, and nothing is done, when the next block to be chosen is among them.
    #[inline(always)]
    fn pass(&self, bytes: usize) -> bool {
        let until = self.until_sample.load(Ordering::Relaxed);
        let passes = (bytes as u64) < until;
        if passes {
            self.until_sample.store(until - bytes as u64, Ordering::Relaxed);
        }
        passes
    }

    /// Whether a block of so many bytes more is chosen.
    fn is_chosen(&self, bytes: usize) -> bool {
        let until = self.until_sample.load(Ordering::Relaxed);
        if bytes as u64 <= until && self.random.load(Ordering::Relaxed) != 0 {
            self.until_sample.store(until - bytes as u64, Ordering::Relaxed);
            return false;
        }
        self.choose(until, bytes as u64)
    }

    #[cold]
    fn choose(&self, until: u64, bytes: u64) -> bool {
        let is_first = self.random.load(Ordering::Relaxed) == 0;
        let gap = -self.chance().ln() * SAMPLE_BYTES.load(Ordering::Relaxed) as f64;
        // The process has no memory: after a chosen block it begins anew.
        self.until_sample.store(gap as u64, Ordering::Relaxed);
        if is_first { self.is_chosen(bytes as usize) } else { bytes > until }
    }
}

/// Whether a block of so many bytes more need not be counted, since another one will stand for it. Most are,
/// when figures are estimates: so this is for the hook itself.
#[inline(always)]
pub(crate) fn passes_over(shard: Shard, bytes: usize) -> bool {
    plan().wants(Plan::THIN) && shard.local().pass(bytes)
}

/// The tag of a block of `bytes` that the shard's owner asks for in a function of frame `frame`.
///
/// Known call sites, the most frequent case, are served here; all else is in a function of its own.
#[inline(always)]
pub(crate) fn tag_of_new(shard: Shard, bytes: usize, frame: usize) -> Tag {
    const SLOW: Plan = Plan::STACKS.and(Plan::SIZE).and(Plan::SAMPLED).and(Plan::THIN).and(Plan::UNWIND);
    if plan().0 & (SLOW.0 | Plan::SITES.0) == Plan::SITES.0 {
        let local = shard.local();
        let key = walk::first_four(frame, local.bounds());
        match local.find(&key, context(shard.current(), 0, false)) {
            Some(tag) if tag != MORE => return Tag(tag),
            _ => {}
        }
    }
    tag_slowly(shard, bytes, frame)
}

/// The same for every plan.
#[inline(never)]
fn tag_slowly(shard: Shard, bytes: usize, frame: usize) -> Tag {
    let plan = plan();
    if plan.wants(Plan::SAMPLED) {
        let chosen = shard.local().is_chosen(bytes);
        return tag_by_chance(shard, plan, bytes, frame, chosen);
    }
    tag_by_plan(shard, plan, bytes, frame, plan.wants_traces(), false)
}

/// The tag of a block that has been resized from `old_bytes` under `old`.
pub(crate) fn tag_of_resized(shard: Shard, old: Tag, old_bytes: usize, bytes: usize, frame: usize) -> Tag {
    let plan = plan();
    let grows = bytes > old_bytes;
    if plan.wants(Plan::SAMPLED) {
        let local = shard.local();
        let was = origin::is_sampled(old.stack());
        if grows {
            let chosen = local.is_chosen(bytes - old_bytes) || was;
            return tag_by_chance(shard, plan, bytes, frame, chosen);
        }
        let kept = was && local.chance() <= weigh_ratio(bytes, old_bytes);
        return if was && !kept { unchosen(plan, old) } else { resize(plan, old, bytes) };
    }
    if grows { tag_of_new(shard, bytes, frame) } else { resize(plan, old, bytes) }
}

/// The chance of the smaller block in that of the larger one.
fn weigh_ratio(bytes: usize, of: usize) -> f64 {
    let chance = |bytes: usize| weigh(bytes as u64, 1).1.recip();
    chance(bytes) / chance(of)
}

/// The tag of a block that is dropped from the sample.
fn unchosen(plan: Plan, tag: Tag) -> Tag {
    if plan.wants(Plan::THIN) {
        return Tag(0);
    }
    let class = |origin: Origin| origin.class.filter(|_| plan.wants(Plan::SIZE));
    let origin = Origin::of(tag.stack());
    Tag::of(Origin { trace: None, sampled: false, thin: false, class: class(origin), ..origin }.number())
}

/// The tag with the class of another size; where no class is kept, as it is.
fn resize(plan: Plan, tag: Tag, bytes: usize) -> Tag {
    let origin = Origin::of(tag.stack());
    match (origin.class, class_of(plan, bytes, origin.sampled)) {
        (Some(old), Some(class)) if old != class => {
            let _errno = os::KeepErrno::new();
            Tag::of(Origin { class: Some(class), ..origin }.number())
        }
        _ => tag,
    }
}

/// The size class that is kept of a block; sampled ones need it to be weighed.
#[inline(always)]
fn class_of(plan: Plan, bytes: usize, sampled: bool) -> Option<u8> {
    if sampled {
        return Some(origin::class(bytes));
    }
    plan.wants(Plan::SIZE).then(|| origin::class(bytes) & !3)
}

fn tag_by_chance(shard: Shard, plan: Plan, bytes: usize, frame: usize, chosen: bool) -> Tag {
    if !chosen && plan.wants(Plan::THIN) {
        return Tag(0);
    }
    tag_by_plan(shard, plan, bytes, frame, chosen && plan.wants_traces(), chosen)
}

fn tag_by_plan(shard: Shard, plan: Plan, bytes: usize, frame: usize, traced: bool, sampled: bool) -> Tag {
    let (local, stack) = (shard.local(), shard.current());
    if plan.is_plain() || stack == Tag::of(ccs::HEAPPROF) {
        return stack;
    }
    let class = class_of(plan, bytes, sampled).map_or(0, |class| u64::from(class) + 1);
    let context = context(stack, class, sampled);
    if !traced {
        return known_or(local, &[0; 4], context, || new_tag(local, plan, context, None));
    }
    if plan.wants(Plan::UNWIND) {
        return tag_by_unwinding(local, plan, context);
    }
    let frames = local.frames(frame);
    if plan.wants(Plan::STACKS) {
        let depth = DEPTH.load(Ordering::Relaxed);
        let key = hashed(frames, depth);
        return known_or(local, &key, context, || tag_of_stack(local, plan, context, &key, frames, depth));
    }
    tag_by_reach(local, plan, context, frames)
}

/// By call site: four frames if they reach far enough, else more.
fn tag_by_reach(local: &Local, plan: Plan, context: u64, frames: Frames) -> Tag {
    for (index, reach) in REACHES.into_iter().enumerate() {
        let key = if index == 0 { four(frames) } else { hashed(frames, reach) };
        match local.find(&key, context) {
            Some(MORE) => {}
            Some(tag) => return Tag(tag),
            None => {
                let depth = sites_end(up_to(frames, REACHES[2]));
                if depth <= reach {
                    return known_or(local, &key, context, || {
                        new_tag_at(local, plan, context, frames, depth)
                    });
                }
                local.remember(&key, context, MORE);
            }
        }
    }
    // Not reached: the last reach is the most that `sites_end` gives.
    Tag((context >> 32) as u32)
}

#[inline(never)]
fn tag_by_unwinding(local: &Local, plan: Plan, context: u64) -> Tag {
    let (frames, length) = unwound(plan);
    let frames = frames.get(..length).unwrap_or_default();
    let key = frames.iter().fold(Hash::default(), |hash, &address| hash.with(address)).key();
    known_or(local, &key, context, || new_tag(local, plan, context, Some(frames)))
}

/// The known tag, or a new one, which is known from now on.
#[inline(always)]
fn known_or(local: &Local, key: &Key, context: u64, new: impl FnOnce() -> Tag) -> Tag {
    match local.find(key, context) {
        Some(tag) if tag != MORE => Tag(tag),
        _ => {
            let _errno = os::KeepErrno::new();
            let tag = new();
            local.remember(key, context, tag.0);
            tag
        }
    }
}

/// The innermost return addresses, at most `depth`.
#[inline(always)]
fn up_to(mut frames: Frames, depth: usize) -> impl Iterator<Item = u64> {
    let next = std::iter::from_fn(move || Some(frames.next()).filter(|&address| address != 0));
    next.take(depth)
}

/// The innermost four, as [`walk::first_four`] gives them.
fn four(mut frames: Frames) -> Key {
    [(); 4].map(|()| frames.next())
}

/// The same, copied: the array, and how much of it is filled.
fn copied(frames: Frames, depth: usize) -> ([u64; FRAMES_MAX], usize) {
    let mut copy = [0; FRAMES_MAX];
    let filled = up_to(frames, depth).zip(&mut copy).map(|(address, slot)| *slot = address).count();
    (copy, filled)
}

/// A call stack of any length as two independent hashes and the number of frames.
#[derive(Default)]
struct Hash {
    one: u64,
    two: u64,
    count: u64,
}

impl Hash {
    #[inline(always)]
    fn with(self, address: u64) -> Self {
        Self {
            one: self.one.wrapping_mul(0x9E37_79B9_7F4A_7C15).wrapping_add(address),
            two: (self.two ^ address).wrapping_mul(0xD6E8_FEB8_6659_FD93).rotate_left(29),
            count: self.count + 1,
        }
    }

    fn key(self) -> Key {
        [self.one, self.two, self.count, 1]
    }
}

/// The innermost `depth` frames as a key.
#[inline(always)]
fn hashed(mut frames: Frames, depth: usize) -> Key {
    let mut hash = Hash::default();
    for _ in 0..depth {
        let address = frames.next();
        if address == 0 {
            break;
        }
        hash = hash.with(address);
    }
    hash.key()
}

/// How many of `frames` reach the second function of the program's own; all, when they do not.
#[inline(never)]
fn sites_end(frames: impl Iterator<Item = u64>) -> usize {
    let mut sites = Sites::default();
    let mut frames = frames.take(REACHES[2]);
    let within = |address: &u64| !sites.end_with(*address);
    frames.by_ref().take_while(within).count() + usize::from(sites.ended)
}

/// Looks for the second function of the program's own, frame by frame.
#[derive(Default)]
struct Sites {
    own: u32,
    ended: bool,
}

impl Sites {
    /// Takes the next frame; whether it is the last one that is wanted. None is, before std's functions are
    /// known.
    fn end_with(&mut self, address: u64) -> bool {
        // SAFETY: null, or a list that is never freed. Acquire: pairs with the Release in `set_library`.
        let Some(library) = (unsafe { LIBRARY.load(Ordering::Acquire).as_ref() }) else {
            return false;
        };
        self.own += u32::from(!contains(&library.code, address));
        self.ended = self.own == 2 || contains(&library.ends, address);
        self.ended
    }
}

/// Whether the call before a return address lies in one of the ranges.
pub(crate) fn contains(ranges: &[(u64, u64)], address: u64) -> bool {
    let call = address.wrapping_sub(1);
    let after = ranges.partition_point(|range| range.0 <= call);
    after > 0 && ranges.get(after - 1).is_some_and(|range| call < range.1)
}

#[cold]
#[inline(never)]
fn new_tag_at(local: &Local, plan: Plan, context: u64, frames: Frames, depth: usize) -> Tag {
    let (frames, filled) = copied(frames, depth);
    new_tag(local, plan, context, frames.get(..filled))
}

/// The tag of a whole stack that this thread does not know: another one may, or the thread has forgotten it.
/// Programs that parse by recursion have hundreds of thousands.
#[cold]
#[inline(never)]
fn tag_of_stack(local: &Local, plan: Plan, context: u64, key: &Key, frames: Frames, depth: usize) -> Tag {
    // Multiplied, so that all bits of both hashes are in all bits of it.
    let generation = u64::from(GENERATION.load(Ordering::Acquire));
    let hash = (key[0] ^ key[1].rotate_left(32) ^ generation).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let hash = hash ^ hash >> 32;
    if let Some(trace) = TRACES.known(hash) {
        return tag_of_trace(local, plan, context, Some(trace));
    }
    let (frames, filled) = copied(frames, depth);
    let trace = intern(frames.get(..filled).unwrap_or_default());
    TRACES.remember(hash, trace);
    tag_of_trace(local, plan, context, Some(trace))
}

/// Interns an origin. `frames`: the call stack, if it is wanted.
#[cold]
#[inline(never)]
fn new_tag(local: &Local, plan: Plan, context: u64, frames: Option<&[u64]>) -> Tag {
    tag_of_trace(local, plan, context, frames.map(intern))
}

fn tag_of_trace(local: &Local, plan: Plan, context: u64, trace: Option<u32>) -> Tag {
    let sampled = context & 1 != 0;
    let origin = Origin {
        stack: Tag((context >> 32) as u32).stack(),
        thread: plan.wants(Plan::THREAD).then(|| local.thread_name()),
        class: (context as u32 >> 1 & 0x1FF).checked_sub(1).map(|class| class as u8),
        birth: plan.wants(Plan::BIRTH).then(|| BIRTH.load(Ordering::Relaxed)),
        trace: trace.or_else(|| sampled.then_some(traces::EMPTY)),
        sampled,
        thin: sampled && plan.wants(Plan::THIN),
    };
    Tag::of(origin.number())
}

/// The call stack by the compiler's unwind tables, from here outwards: our own frames come first.
#[cfg(feature = "symbols")]
fn unwound(plan: Plan) -> ([u64; FRAMES_MAX], usize) {
    let depth = if plan.wants(Plan::STACKS) { DEPTH.load(Ordering::Relaxed) } else { REACHES[2] };
    let (mut frames, mut count, mut sites) = ([0; FRAMES_MAX], 0, Sites::default());
    let _errno = os::KeepErrno::new();
    // SAFETY: nothing else in this process unwinds by this crate's own state: without symbols it keeps none.
    unsafe {
        backtrace::trace_unsynchronized(|frame| {
            let address = frame.ip().addr() as u64;
            let Some(slot) = frames.get_mut(count).filter(|_| count < depth && address != 0) else {
                return false;
            };
            *slot = address;
            count += 1;
            plan.wants(Plan::STACKS) || !sites.end_with(address)
        });
    }
    (frames, count)
}

#[cfg(not(feature = "symbols"))]
fn unwound(_plan: Plan) -> ([u64; FRAMES_MAX], usize) {
    ([0; FRAMES_MAX], 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chosen_blocks_stand_for_all_of_their_size() {
        SAMPLE_BYTES.store(1 << 19, Ordering::Relaxed);
        for bytes in [1_u64, 100, 4_096, 1 << 19, 1 << 22, 1 << 40] {
            let chance = 1.0 - (-(bytes as f64) / (1 << 19) as f64).exp();
            let (stands_for, blocks) = weigh(7 * bytes, 7);
            assert!((stands_for * chance / (7 * bytes) as f64 - 1.0).abs() < 1e-9, "{bytes}: {stands_for}");
            assert!((blocks * chance / 7.0 - 1.0).abs() < 1e-9, "{bytes}: {blocks}");
        }
        assert_eq!(weigh(0, 0), (0.0, 0.0));
    }

    #[test]
    fn ranges_hold_the_call_before_the_return_address() {
        let ranges = [(10, 20), (20, 30), (40, 50)];
        let held = [10, 11, 20, 21, 30, 31, 40, 41, 50, 51].map(|address| contains(&ranges, address));
        assert_eq!(held, [false, true, true, true, true, false, false, true, true, false]);
        assert!(!contains(&[], 7));
    }

    #[test]
    fn keys_of_call_stacks_tell_order_and_length() {
        let key = |frames: &[u64]| frames.iter().fold(Hash::default(), |hash, &at| hash.with(at)).key();
        let keys = [key(&[]), key(&[1]), key(&[1, 2]), key(&[2, 1]), key(&[1, 2, 3]), key(&[1, 2, 4])];
        for (index, one) in keys.iter().enumerate() {
            assert!(keys[..index].iter().all(|other| other[..2] != one[..2]), "{keys:?}");
        }
    }
}
