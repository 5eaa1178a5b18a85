//! Ten million blocks (two in debug builds) allocated by one thread and freed by another: the producer's band returns to
//! what it was, to the byte, the consumer's never moves, and no sample taken meanwhile is below what
//! is certainly held or above what can be.

use std::alloc::Layout;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};

mod exact_common;
use exact_common::{Block, Figures, Method, figures, layout};

#[global_allocator]
static ALLOC: heapprof::HeapProf = heapprof::HeapProf::new().armed();

/// Blocks handed over; fewer in debug builds, which take ten times as long for each.
const BLOCKS: usize = if cfg!(debug_assertions) { 2_000_000 } else { 10_000_000 };
/// Blocks on the way at most.
const ON_THE_WAY: usize = 1_024;
const BLOCK_BYTES_MAX: usize = 8 + 15 * 24;
/// What both threads hold throughout: a reader that saw frees without their allocations would see
/// less than this.
const BALLAST_BYTES: usize = 4_096;

/// The size of block number `number`.
fn block_layout(number: usize) -> Layout {
    layout(8 + number % 16 * 24, 8)
}

/// A queue of one producer and one consumer that allocates nothing.
struct Ring([AtomicPtr<u8>; ON_THE_WAY]);

impl Ring {
    /// Release and Acquire: the block's content, and its count, go with its address.
    fn send(&self, number: usize, block: *mut u8) {
        let slot = &self.0[number % ON_THE_WAY];
        while !slot.load(Ordering::Acquire).is_null() {
            std::thread::yield_now();
        }
        slot.store(block, Ordering::Release);
    }

    fn receive(&self, number: usize) -> *mut u8 {
        let slot = &self.0[number % ON_THE_WAY];
        loop {
            let block = slot.swap(null_mut(), Ordering::Acquire);
            if !block.is_null() {
                return block;
            }
            std::thread::yield_now();
        }
    }
}

static RING: Ring = Ring([const { AtomicPtr::new(null_mut()) }; ON_THE_WAY]);

/// The last block has arrived.
static ARRIVED: AtomicBool = AtomicBool::new(false);
/// Nobody looks any more: the ballast may go.
static WATCHED: AtomicBool = AtomicBool::new(false);

fn wait_for(flag: &AtomicBool) {
    while !flag.load(Ordering::Acquire) {
        std::thread::yield_now();
    }
}

fn produce() {
    let _scope = heapprof::cost_centre!("producer");
    let ballast = Block::new(Method::Alloc, BALLAST_BYTES, 8);
    for number in 0..BLOCKS {
        // SAFETY: the size is not zero; the block has room for the number.
        let block = unsafe {
            let block = std::alloc::alloc(block_layout(number));
            block.cast::<usize>().write(number);
            block
        };
        RING.send(number, block);
    }
    wait_for(&WATCHED);
    ballast.free();
}

fn consume() {
    let _scope = heapprof::cost_centre!("consumer");
    let ballast = Block::new(Method::Alloc, BALLAST_BYTES, 8);
    for number in 0..BLOCKS {
        let block = RING.receive(number);
        // SAFETY: sent with this number, and so with this layout, by `produce`.
        unsafe {
            assert_eq!(block.cast::<usize>().read(), number);
            std::alloc::dealloc(block, block_layout(number));
        }
    }
    ARRIVED.store(true, Ordering::Release);
    wait_for(&WATCHED);
    ballast.free();
}

/// Looks at both bands until the last block has arrived; both threads hold their ballast meanwhile.
fn watch() -> usize {
    let consumer = Figures { entries: 1, ..holding_ballast() };
    let mut last = figures(&["producer"]);
    let mut looks = 0;
    while !ARRIVED.load(Ordering::Acquire) {
        let stacks = heapprof::stacks();
        let of = |name| stacks.iter().find(|stack| stack.centre() == name).map(Figures::from);
        let now = of("producer").expect("it was there before");
        assert!(!now.has_wrapped(), "{now:?}");
        assert!(now.live_bytes >= BALLAST_BYTES as u64 && now.live_blocks >= 1, "freed too early: {now:?}");
        assert!(now.live_bytes <= now.allocated_bytes && now.live_blocks <= now.allocations, "{now:?}");
        // Blocks on the way, one in each hand, and what came during the walk.
        let step = now.since(Figures { live_bytes: 0, live_blocks: 0, ..last });
        let blocks_max = ON_THE_WAY as u64 + 3 + step.allocations;
        let bytes_max = (BALLAST_BYTES + (ON_THE_WAY + 2) * BLOCK_BYTES_MAX) as u64 + step.allocated_bytes;
        assert!(now.live_blocks <= blocks_max && now.live_bytes <= bytes_max, "{now:?} after {last:?}");
        assert_eq!(of("consumer"), Some(consumer), "the consumer's band moves");
        (last, looks) = (now, looks + 1);
    }
    looks
}

fn holding_ballast() -> Figures {
    let mut figures = Figures::default();
    figures.allocate(BALLAST_BYTES);
    figures
}

fn main() {
    std::panic::set_hook(Box::new(|failure| {
        eprintln!("{failure}");
        // The other threads wait for ever.
        std::process::exit(101);
    }));
    let profile = exact_common::profile("exact_handover");
    exact_common::prepare();
    let threads = [consume, produce].map(std::thread::spawn);
    while figures(&["consumer"]).allocations == 0 || figures(&["producer"]).allocations == 0 {
        std::thread::yield_now();
    }
    // The samples of the .hp file between the marks are held to the same.
    heapprof::mark().expect("a profile runs");
    let looks = watch();
    heapprof::mark().expect("a profile runs");
    WATCHED.store(true, Ordering::Release);
    for thread in threads {
        thread.join().expect("a failed thread ends the process");
    }
    check_ends();
    let summary = profile.stop().expect("the folder is writable");
    let samples = check_samples(&exact_common::read_hp(&summary));
    println!("{BLOCKS} blocks handed over, looked at {looks} times, {samples} samples: exact");
}

/// In every sample taken while both threads held their ballast, the producer's band is not below it
/// and the consumer's is it. Returns the number of such samples.
fn check_samples(profile: &heapprof::hp::Profile) -> usize {
    let band = |name: &str| {
        let of_name = |band: &&heapprof::hp::Band| String::from_utf8_lossy(&band.name).ends_with(name);
        profile.bands.iter().find(of_name).expect("the band is in the profile")
    };
    let (producer, consumer) = (band(")producer"), band(")consumer"));
    let marks = exact_common::samples_at_marks(profile);
    // The sample at the second mark may have been taken after the ballast went.
    let between = marks[0]..marks[1];
    for sample in between.clone() {
        assert!(producer.value(sample) >= BALLAST_BYTES as u64, "sample {sample}: freed too early");
        assert!(producer.value(sample) < exact_common::WRAPPED, "sample {sample}: wrapped");
        assert_eq!(
            consumer.value(sample),
            BALLAST_BYTES as u64,
            "sample {sample}: the consumer's band moves"
        );
    }
    between.len()
}

/// Both threads have ended: every figure is known.
fn check_ends() {
    let mut consumer = holding_ballast();
    consumer.free(BALLAST_BYTES);
    assert_eq!(figures(&["consumer"]), Figures { entries: 1, ..consumer });
    let bytes = (0..BLOCKS).map(|number| block_layout(number).size() as u64).sum::<u64>();
    let producer = Figures {
        live_bytes: 0,
        live_blocks: 0,
        allocated_bytes: bytes + BALLAST_BYTES as u64,
        allocations: BLOCKS as u64 + 1,
        entries: 1,
    };
    assert_eq!(figures(&["producer"]), producer);
}
