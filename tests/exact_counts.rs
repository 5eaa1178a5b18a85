//! Every operation of the allocator changes exactly the figures that it says, byte by byte, and
//! hands out memory that is aligned, zeroed where promised, kept over realloc, and the block's own.

use std::alloc::{GlobalAlloc, Layout, System};
use std::hint::black_box;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

mod exact_common;
use exact_common::{ALIGNS_AND_HUGE, Block, Figures, Method, Random, figures, layout};

#[global_allocator]
static ALLOC: heapprof::HeapProf = heapprof::HeapProf::new().armed();

/// Blocks carry their stacks from the first call on.
fn start() {
    static PROFILE: OnceLock<heapprof::Profile> = OnceLock::new();
    PROFILE.get_or_init(|| exact_common::profile("exact_counts"));
    exact_common::prepare();
}

/// Sizes around every power of two, and between them.
fn sizes() -> impl Iterator<Item = usize> + Clone {
    let around = (1..=16).flat_map(|bit| [(1_usize << bit) - 1, 1 << bit, (1 << bit) + 1]);
    (1..=16).chain(around.skip(12)).chain([37, 100, 777, 5_000, 20_000, 48_000, 70_000])
}

/// Two stacks, kept by hand beside the profiler's own account of them.
struct Account {
    enter: [fn(&mut dyn FnMut()); 2],
    names: [&'static str; 2],
    want: [Figures; 2],
}

impl Account {
    /// Runs `work` under stack number `stack`; nothing else of the test runs there.
    fn under<R>(&mut self, stack: usize, work: impl FnOnce() -> R) -> R {
        let (mut work, mut result) = (Some(work), None);
        (self.enter[stack])(&mut || result = work.take().map(|work| work()));
        self.want[stack].entries += 1;
        result.expect("the work has run")
    }

    fn check(&self, what: &dyn Fn() -> String) {
        for stack in [0, 1] {
            assert_eq!(figures(&[self.names[stack]]), self.want[stack], "{}: {}", self.names[stack], what());
        }
    }

    /// Resizes `block` of stack `owner` under stack `by`; returns the owner after.
    fn resize(&mut self, block: &mut Block, new_size: usize, owner: usize, by: usize) -> usize {
        let old_size = block.size();
        self.under(by, || block.resize(new_size));
        if new_size <= old_size {
            self.want[owner].shrink(old_size - new_size);
            return owner;
        }
        if owner == by {
            self.want[owner].grow(new_size - old_size);
        } else {
            self.want[owner].free(old_size);
            self.want[by].allocate(new_size);
        }
        by
    }
}

/// An account of two stacks with these names, which no other test may use.
macro_rules! account {
    ($first:literal, $second:literal) => {
        Account {
            enter: [
                |work| heapprof::cost_centre!($first => work()),
                |work| heapprof::cost_centre!($second => work()),
            ],
            names: [$first, $second],
            want: [Figures::default(); 2],
        }
    };
}

#[test]
fn every_size_counts_its_own_bytes_at_every_alignment() {
    start();
    let mut account = account!("every_size", "every_size_unused");
    for align in ALIGNS_AND_HUGE {
        for size in 1..=70_000 {
            // SAFETY: a valid layout of a size that is not zero; freed with the same one.
            account.under(0, || unsafe {
                let block = black_box(std::alloc::alloc(layout(size, align)));
                assert!(!block.is_null() && block.addr().is_multiple_of(align), "{size} at {align}");
                block.write(1);
                block.add(size - 1).write(1);
                std::alloc::dealloc(block, layout(size, align));
            });
            account.want[0].allocate(size);
            account.want[0].free(size);
        }
        account.check(&|| format!("all sizes at alignment {align}"));
    }
}

/// Allocates, resizes through every case of the table, frees; the figures are compared after every
/// step. Returns for each resize whether it grew, whether the stack was another, whether it moved.
fn life_of_a_block(
    account: &mut Account,
    allocator: &'static (dyn GlobalAlloc + Sync),
    method: Method,
    size: usize,
    align: usize,
) -> [(bool, bool, bool); 7] {
    let mut block = account.under(0, || Block::new_in(allocator, method, size, align));
    account.want[0].allocate(size);
    account.check(&|| format!("{method:?} {size} at {align}"));
    // (by, new size): grown by its own, by another, by that one again; shrunk by its own, by another;
    // left as it is, and brought back, by the first.
    let [grown, more] = [size + size / 3 + 1, 2 * size + 40];
    let [half, third] = [more / 2 + 1, more / 3];
    let steps = [(0, grown), (1, grown + 1), (1, more), (1, half), (0, third), (0, third), (0, grown)];
    let mut owner = 0;
    let mut cases = [(false, false, false); 7];
    for (case, (by, new_size)) in cases.iter_mut().zip(steps) {
        let (old_size, old_start, old_owner) = (block.size(), block.start(), owner);
        owner = account.resize(&mut block, new_size, owner, by);
        account.check(&|| format!("realloc {old_size} to {new_size} at {align}, {old_owner} by {by}"));
        *case = (new_size > old_size, old_owner != by, block.start() != old_start);
    }
    let left = block.size();
    account.under(1 - owner, || block.free());
    account.want[owner].free(left);
    account.check(&|| format!("dealloc {left} at {align}"));
    cases
}

#[test]
fn the_figures_follow_the_table_of_operations() {
    start();
    let mut account = account!("table_first", "table_second");
    let mut seen = std::collections::BTreeSet::new();
    for align in ALIGNS_AND_HUGE {
        for (turn, size) in sizes().enumerate() {
            let method = if turn % 2 == 0 { Method::Alloc } else { Method::AllocZeroed };
            seen.extend(life_of_a_block(&mut account, &exact_common::Global, method, size, align));
        }
    }
    for grown in [false, true] {
        for by_other in [false, true] {
            for moved in [false, true] {
                assert!(seen.contains(&(grown, by_other, moved)), "no case {:?}", (grown, by_other, moved));
            }
        }
    }
    let empty = |figures: &Figures| (figures.live_bytes, figures.live_blocks) == (0, 0);
    assert!(account.want.iter().all(empty), "every block was freed");
}

/// An inner allocator all of whose blocks have room to grow, so that the test says which resize
/// moves. Behind a move the old place is overwritten.
struct Elastic;

/// Whether [`Elastic`] moves blocks.
static MOVES: AtomicBool = AtomicBool::new(false);

fn roomy(layout: Layout) -> Layout {
    const ROOM_BYTES: usize = 256 << 10;
    assert!(layout.size() <= ROOM_BYTES);
    exact_common::layout(ROOM_BYTES, layout.align())
}

// SAFETY: the system's blocks, all of one size per alignment and so at least as large as asked.
unsafe impl GlobalAlloc for Elastic {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: not of size zero.
        unsafe { System.alloc(roomy(layout)) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: made by `alloc` with this layout.
        unsafe { System.dealloc(block, roomy(layout)) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        let new = exact_common::layout(new_size, layout.align());
        if !MOVES.load(Ordering::Relaxed) {
            assert!(roomy(new).size() >= new_size);
            return block;
        }
        // SAFETY: both blocks have room for what is copied, and are different.
        unsafe {
            let moved = self.alloc(new);
            std::ptr::copy_nonoverlapping(block, moved, layout.size().min(new_size));
            block.write_bytes(0xDD, layout.size());
            self.dealloc(block, layout);
            moved
        }
    }
}

#[test]
fn the_figures_do_not_depend_on_whether_a_resize_moves() {
    static OVER_ELASTIC: heapprof::HeapProf<Elastic> = heapprof::HeapProf::with(Elastic).armed();
    start();
    let mut account = account!("elastic_first", "elastic_second");
    for moves in [false, true] {
        MOVES.store(moves, Ordering::Relaxed);
        for align in ALIGNS_AND_HUGE {
            for (turn, size) in sizes().enumerate() {
                let method = if turn % 2 == 1 { Method::Alloc } else { Method::AllocZeroed };
                let cases = life_of_a_block(&mut account, &OVER_ELASTIC, method, size, align);
                assert!(cases.iter().all(|&(_, _, moved)| moved == moves), "{size} at {align}: {cases:?}");
            }
        }
    }
}

#[test]
fn zeroed_blocks_are_zero_where_dirty_ones_were() {
    start();
    let mut account = account!("dirty", "zeroed");
    for align in ALIGNS_AND_HUGE {
        for size in sizes() {
            account.under(0, || {
                let dirty = [Method::Alloc; 8].map(|method| Block::new(method, size, align));
                dirty.into_iter().for_each(Block::free);
            });
            account.under(1, || {
                let zeroed = [Method::AllocZeroed; 8].map(|method| Block::new(method, size, align));
                zeroed.into_iter().for_each(Block::free);
            });
            for _ in 0..8 {
                account.want.iter_mut().for_each(|want| want.allocate(size));
                account.want.iter_mut().for_each(|want| want.free(size));
            }
        }
    }
    account.check(&|| String::from("eight dirty and eight zeroed blocks of every size"));
}

#[test]
fn blocks_share_no_byte_and_lose_none() {
    start();
    let mut account = account!("apart_first", "apart_second");
    let mut random = Random::new(11);
    // Every block with the stack that owns it.
    let mut blocks: Vec<(Block, usize)> = Vec::new();
    for step in 0..20_000 {
        let by = random.below(2);
        match random.below(4) {
            0 | 1 if blocks.len() < 1_000 => {
                let method = random.pick(&[Method::Alloc, Method::AllocZeroed]);
                let bits = 1 + random.below(13);
                let size = 1 + random.below(1 << bits);
                let align = random.pick(&ALIGNS_AND_HUGE[..8]);
                let block = account.under(by, || Block::new(method, size, align));
                account.want[by].allocate(size);
                blocks.push((block, by));
            }
            2 if !blocks.is_empty() => {
                let chosen = random.below(blocks.len());
                let (block, owner) = &mut blocks[chosen];
                *owner = account.resize(block, 1 + random.below(9_000), *owner, by);
            }
            _ if !blocks.is_empty() => {
                let (block, owner) = blocks.swap_remove(random.below(blocks.len()));
                account.want[owner].free(block.size());
                account.under(by, || block.free());
            }
            _ => {}
        }
        if step % 1_000 == 0 {
            exact_common::check_apart(blocks.iter().map(|(block, _)| block));
            blocks.iter().for_each(|(block, _)| block.check());
            account.check(&|| format!("step {step}"));
        }
    }
    for (block, owner) in blocks {
        account.want[owner].free(block.size());
        block.free();
    }
    account.check(&|| String::from("all freed"));
    assert_eq!((account.want[0].live_bytes, account.want[1].live_blocks), (0, 0));
}

/// Sizes that no address space holds, with the alignments that `Layout` allows for them.
fn huge_layouts() -> impl Iterator<Item = Layout> {
    const LAYOUT_MAX: usize = isize::MAX as usize;
    let sizes = |align: usize| {
        let most = LAYOUT_MAX - (align - 1);
        let powers = [1 << 62, (1 << 62) - 1, (1 << 62) - 8, (1 << 62) + 1, 1 << 61, 1 << 48];
        [most, most - 1, most - 3, most - 4, most - 7, most - 8, LAYOUT_MAX - 70_000]
            .into_iter()
            .chain(powers)
    };
    ALIGNS_AND_HUGE
        .into_iter()
        .flat_map(move |align| sizes(align).map(move |size| (size, align)))
        .filter_map(|(size, align)| Layout::from_size_align(size, align).ok())
}

#[test]
fn sizes_that_no_memory_holds_give_null_and_count_nothing() {
    start();
    let mut account = account!("huge_first", "huge_second");
    let mut tried = 0;
    for huge in huge_layouts() {
        let mut block = account.under(0, || Block::new(Method::Alloc, 100, huge.align()));
        account.want[0].allocate(100);
        for by in [0, 1] {
            // SAFETY: valid layouts; `block` is live and stays what it was when null is returned.
            let got = account.under(by, || unsafe {
                [
                    black_box(std::alloc::alloc(huge)),
                    black_box(std::alloc::alloc_zeroed(huge)),
                    black_box(std::alloc::realloc(block.as_ptr(), layout(100, huge.align()), huge.size())),
                ]
            });
            assert!(got.iter().all(|block| block.is_null()), "{huge:?}: {got:?}");
            account.check(&|| format!("{huge:?}"));
            block.check();
        }
        // The block is still whole to the profiler too: its tag is where it was.
        account.resize(&mut block, 300, 0, 0);
        account.under(1, || block.free());
        account.want[0].free(300);
        account.check(&|| format!("the block beside {huge:?}"));
        tried += 1;
    }
    assert!(tried > 100, "{tried} layouts");
}
