//! What the exact tests share: figures by stack, blocks that know every byte of theirs, a small
//! random generator, a profile in the test's own folder.

#![allow(dead_code, reason = "every test file uses its own part of this")]

use std::alloc::{GlobalAlloc, Layout};
use std::sync::OnceLock;
use std::time::Duration;

/// Greatest block that [`Block`] can fill.
pub(crate) const BLOCK_BYTES_MAX: usize = 160_000;
/// The alignments that the tests go through: headers of both sizes and trailing tags.
pub(crate) const ALIGNS: [usize; 8] = [1, 2, 4, 8, 16, 32, 64, 4_096];
/// The same with the greatest one.
pub(crate) const ALIGNS_AND_HUGE: [usize; 9] = [1, 2, 4, 8, 16, 32, 64, 4_096, 65_536];
/// No figure of a test run comes near this: whatever is above has wrapped.
pub(crate) const WRAPPED: u64 = 1 << 60;

/// One stack's figures, read from the profiler or kept by hand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Figures {
    pub(crate) live_bytes: u64,
    pub(crate) live_blocks: u64,
    pub(crate) allocated_bytes: u64,
    pub(crate) allocations: u64,
    pub(crate) entries: u64,
}

/// Sums wrap: a thread that frees what others allocate is below zero for itself, and comes right in
/// the sum over the threads.
impl Figures {
    /// A block of `bytes` is allocated.
    pub(crate) fn allocate(&mut self, bytes: usize) {
        self.grow(bytes);
        self.live_blocks = self.live_blocks.wrapping_add(1);
        self.allocations += 1;
    }

    /// A block of `bytes` goes.
    pub(crate) fn free(&mut self, bytes: usize) {
        self.shrink(bytes);
        self.live_blocks = self.live_blocks.wrapping_sub(1);
    }

    /// A block grows under the stack that holds it.
    pub(crate) fn grow(&mut self, by: usize) {
        self.live_bytes = self.live_bytes.wrapping_add(by as u64);
        self.allocated_bytes += by as u64;
    }

    /// A block shrinks, under whatever stack.
    pub(crate) fn shrink(&mut self, by: usize) {
        self.live_bytes = self.live_bytes.wrapping_sub(by as u64);
    }

    /// What has come since `earlier`, entries and allocations included.
    pub(crate) fn since(self, earlier: Self) -> Self {
        Self {
            live_bytes: self.live_bytes - earlier.live_bytes,
            live_blocks: self.live_blocks - earlier.live_blocks,
            allocated_bytes: self.allocated_bytes - earlier.allocated_bytes,
            allocations: self.allocations - earlier.allocations,
            entries: self.entries - earlier.entries,
        }
    }

    /// Adds another thread's or stack's figures.
    pub(crate) fn plus(self, other: Self) -> Self {
        Self {
            live_bytes: self.live_bytes.wrapping_add(other.live_bytes),
            live_blocks: self.live_blocks.wrapping_add(other.live_blocks),
            allocated_bytes: self.allocated_bytes.wrapping_add(other.allocated_bytes),
            allocations: self.allocations.wrapping_add(other.allocations),
            entries: self.entries.wrapping_add(other.entries),
        }
    }

    /// Whether any figure has wrapped below zero.
    pub(crate) fn has_wrapped(&self) -> bool {
        [self.live_bytes, self.live_blocks, self.allocated_bytes, self.allocations, self.entries]
            .iter()
            .any(|&figure| figure > WRAPPED)
    }
}

impl From<&heapprof::StackStats> for Figures {
    fn from(stack: &heapprof::StackStats) -> Self {
        Self {
            live_bytes: stack.live_bytes,
            live_blocks: stack.live_blocks,
            allocated_bytes: stack.allocated_bytes,
            allocations: stack.allocations,
            entries: stack.entries,
        }
    }
}

/// The figures of the stack whose cost centres are `path`, outermost first; zero if there is none.
/// An empty path is MAIN.
pub(crate) fn figures(path: &[&str]) -> Figures {
    let stacks = heapprof::stacks();
    let mut found = stacks.iter().filter(|stack| stack.centres.iter().rev().eq(path.iter()));
    let figures = found.next().map_or(Figures::default(), Figures::from);
    assert!(found.next().is_none(), "two stacks are called {path:?}");
    assert!(!figures.has_wrapped(), "{path:?} has wrapped: {figures:?}");
    figures
}

/// All stacks added up.
pub(crate) fn sum_of_stacks() -> Figures {
    heapprof::stacks().iter().map(Figures::from).fold(Figures::default(), Figures::plus)
}

/// A profile whose files lie in the tests' folder under `name`, sampling every 5 ms so that readers
/// walk the counters while the test writes them.
pub(crate) fn profile(name: &str) -> heapprof::Profile {
    profile_every(Duration::from_millis(5), name)
}

/// The same with another interval.
pub(crate) fn profile_every(interval: Duration, name: &str) -> heapprof::Profile {
    let stem = format!("{}/{name}", env!("CARGO_TARGET_TMPDIR"));
    let started = heapprof::Profiler::builder().interval(interval).output(stem).quiet(true).start();
    started.expect("the allocator is armed and the folder is writable")
}

/// Reads the `.hp` file of a finished profile.
pub(crate) fn read_hp(summary: &heapprof::Summary) -> heapprof::hp::Profile {
    let file = std::fs::File::open(&summary.hp).expect("the profile has been written");
    let profile = heapprof::hp::read(file).expect("the profile is well formed");
    assert_eq!(profile.times_s.len() as u64, summary.samples);
    profile
}

/// The first sample at or after each mark.
pub(crate) fn samples_at_marks(profile: &heapprof::hp::Profile) -> Vec<usize> {
    let at = |&mark_s: &f64| profile.times_s.iter().position(|&sample_s| sample_s >= mark_s);
    profile.marks_s.iter().map(|mark_s| at(mark_s).expect("a sample follows every mark")).collect()
}

/// Xorshift64*: the same numbers on every machine.
#[derive(Clone, Debug)]
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    /// A number below `end`.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        (self.next() >> 33) as usize % end
    }

    pub(crate) fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }
}

/// Starting points in the noise that blocks are filled from.
const NOISE_STARTS: usize = 4_096;

fn noise() -> &'static [u8] {
    static NOISE: OnceLock<Vec<u8>> = OnceLock::new();
    NOISE.get_or_init(|| {
        let mut random = Random::new(7);
        let words = (BLOCK_BYTES_MAX + NOISE_STARTS).div_ceil(8);
        (0..words).flat_map(|_| random.next().to_le_bytes()).collect()
    })
}

/// Makes the tables that blocks are checked against, so that no later call allocates.
pub(crate) fn prepare() {
    assert!(!noise().is_empty());
}

/// The program's way to its global allocator.
pub(crate) struct Global;

// SAFETY: every method passes on to the global allocator under the caller's own promise.
unsafe impl GlobalAlloc for Global {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: passed on.
        unsafe { std::alloc::alloc(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: passed on.
        unsafe { std::alloc::dealloc(block, layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: passed on.
        unsafe { std::alloc::alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        // SAFETY: passed on.
        unsafe { std::alloc::realloc(block, layout, new_size) }
    }
}

/// How a block comes to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Method {
    Alloc,
    AllocZeroed,
}

/// A live block every byte of which is known: checked when it is resized, looked at and freed.
/// Dropping it without [`Block::free`] leaks it, which the figures then show.
pub(crate) struct Block {
    allocator: &'static (dyn GlobalAlloc + Sync),
    start: *mut u8,
    layout: Layout,
    noise_start: usize,
}

// SAFETY: the block is owned like a box; the allocator is shared.
unsafe impl Send for Block {}

impl Block {
    /// Allocates through the global allocator and fills the block.
    pub(crate) fn new(method: Method, size: usize, align: usize) -> Self {
        Self::new_in(&Global, method, size, align)
    }

    /// The same through any allocator.
    pub(crate) fn new_in(
        allocator: &'static (dyn GlobalAlloc + Sync),
        method: Method,
        size: usize,
        align: usize,
    ) -> Self {
        let layout = self::layout(size, align);
        // SAFETY: the size is not zero.
        let start = unsafe {
            match method {
                Method::Alloc => allocator.alloc(layout),
                Method::AllocZeroed => allocator.alloc_zeroed(layout),
            }
        };
        let mut block = Self { allocator, start, layout, noise_start: start.addr() / 8 % NOISE_STARTS };
        block.check_address();
        if method == Method::AllocZeroed {
            static ZEROES: [u8; BLOCK_BYTES_MAX] = [0; BLOCK_BYTES_MAX];
            assert!(block.bytes() == &ZEROES[..size], "{layout:?}: zeroed memory is not zero");
        }
        block.fill();
        block
    }

    /// Resizes, checks that the content came along, and fills the block anew.
    pub(crate) fn resize(&mut self, new_size: usize) {
        self.check();
        let (old_start, kept) = (self.start, self.layout.size().min(new_size));
        // SAFETY: the block is live and of this layout; the new size is not zero and far from overflow.
        self.start = unsafe { self.allocator.realloc(old_start, self.layout, new_size) };
        self.layout = layout(new_size, self.layout.align());
        self.check_address();
        assert!(self.bytes()[..kept] == self.wanted()[..kept], "{:?}: realloc lost content", self.layout);
        self.fill();
    }

    fn check_address(&self) {
        assert!(!self.start.is_null(), "{:?}: no memory", self.layout);
        assert_eq!(self.start.addr() % self.layout.align(), 0, "{:?}: misaligned", self.layout);
    }

    fn wanted(&self) -> &'static [u8] {
        &noise()[self.noise_start..][..self.layout.size().max(1)]
    }

    fn bytes(&self) -> &[u8] {
        // SAFETY: the block is live, ours, of this size; the allocators at hand give memory that is
        // readable whatever was last in it, and `fill` follows before content matters.
        unsafe { std::slice::from_raw_parts(self.start, self.layout.size()) }
    }

    fn fill(&mut self) {
        let content = self.wanted();
        // SAFETY: the block is live, ours, and as long as `wanted`.
        unsafe { std::ptr::copy_nonoverlapping(content.as_ptr(), self.start, self.layout.size()) }
    }

    /// Checks every byte.
    pub(crate) fn check(&self) {
        let intact = self.bytes() == &self.wanted()[..self.layout.size()];
        assert!(intact, "{:?} at {:?}: somebody wrote into the block", self.layout, self.start);
    }

    /// Checks every byte and gives the block back.
    pub(crate) fn free(self) {
        self.check();
        // SAFETY: the block is live, of this layout, and not used again.
        unsafe { self.allocator.dealloc(self.start, self.layout) }
    }

    pub(crate) fn size(&self) -> usize {
        self.layout.size()
    }

    pub(crate) fn layout(&self) -> Layout {
        self.layout
    }

    /// The block's address as a number.
    pub(crate) fn start(&self) -> usize {
        self.start.addr()
    }

    /// The block's address, for calls that [`Block`] does not make.
    pub(crate) fn as_ptr(&self) -> *mut u8 {
        self.start
    }
}

/// Checks that no two live blocks share a byte.
pub(crate) fn check_apart<'a>(blocks: impl Iterator<Item = &'a Block>) {
    let mut ranges: Vec<(usize, usize)> =
        blocks.map(|block| (block.start(), block.start() + block.size())).collect();
    ranges.sort_unstable();
    for pair in ranges.windows(2) {
        assert!(pair[0].1 <= pair[1].0, "blocks overlap: {:x?}", pair);
    }
}

/// A layout that is known to be valid.
pub(crate) fn layout(size: usize, align: usize) -> Layout {
    Layout::from_size_align(size, align).expect("a power of two, and a size in range")
}
