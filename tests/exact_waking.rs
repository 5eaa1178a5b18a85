//! Samples that pass over resting threads miss nothing: a thread that wakes while a sample is taken,
//! allocates, hands over and sleeps again never makes a band fall below what is certainly held.
//!
//! Its own `main`: hundreds of threads rest beside it, so that the walk over them takes long enough for
//! the one that wakes to come into it.

use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering};
use std::time::Duration;

mod exact_common;
use exact_common::{Block, Figures, Method, figures, layout};

#[global_allocator]
static ALLOC: heapprof::HeapProf = heapprof::HeapProf::new().armed();

/// Threads that have allocated once and rest.
const RESTING: usize = 400;
/// Times that the sleeper wakes.
const WAKES: usize = 400;
const BALLAST_BYTES: usize = 4_096;
const BLOCK_BYTES: usize = 50_000;

/// The block that the sleeper hands over, and how many the freer has taken.
static HANDED: AtomicPtr<u8> = AtomicPtr::new(null_mut());
static FREED: AtomicUsize = AtomicUsize::new(0);
/// The last block is freed; the last sample is taken.
static DONE: AtomicBool = AtomicBool::new(false);
static WATCHED: AtomicBool = AtomicBool::new(false);

fn sleeper() {
    let _scope = heapprof::cost_centre!("sleeper");
    let ballast = Block::new(Method::Alloc, BALLAST_BYTES, 8);
    for wake in 0..WAKES {
        // Not to wait for anybody: to rest for some samples, and not always for as long.
        std::thread::sleep(Duration::from_micros(2_000 + (wake * 37 % 500) as u64));
        // SAFETY: a valid layout; `freer` frees it with the same one.
        HANDED.store(unsafe { std::alloc::alloc(layout(BLOCK_BYTES, 8)) }, Ordering::Release);
        while !HANDED.load(Ordering::Relaxed).is_null() {
            std::thread::yield_now();
        }
    }
    DONE.store(true, Ordering::Release);
    while !WATCHED.load(Ordering::Acquire) {
        std::thread::yield_now();
    }
    ballast.free();
}

fn freer() {
    let _scope = heapprof::cost_centre!("freer");
    while FREED.load(Ordering::Relaxed) < WAKES {
        let block = HANDED.swap(null_mut(), Ordering::Acquire);
        if block.is_null() {
            std::thread::yield_now();
        } else {
            // SAFETY: allocated by `sleeper` with this layout.
            unsafe { std::alloc::dealloc(block, layout(BLOCK_BYTES, 8)) };
            FREED.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// Threads that hold a block each until they are let go.
fn rest() -> Vec<std::thread::JoinHandle<()>> {
    let resting = || {
        let block = heapprof::cost_centre!("resting" => Block::new(Method::Alloc, 100, 8));
        while !WATCHED.load(Ordering::Acquire) {
            std::thread::park();
        }
        block.free();
    };
    (0..RESTING).map(|_| std::thread::spawn(resting)).collect()
}

fn wait_until(holds: impl Fn() -> bool) {
    while !holds() {
        std::thread::yield_now();
    }
}

/// Every sample between the marks has the ballast, and what rests.
fn check_samples(profile: &heapprof::hp::Profile) -> usize {
    let band = |name: &str| {
        let of_name = |band: &&heapprof::hp::Band| String::from_utf8_lossy(&band.name).ends_with(name);
        profile.bands.iter().find(of_name).expect("the band is in the profile")
    };
    let (sleeper, resting) = (band(")sleeper"), band(")resting"));
    let marks = exact_common::samples_at_marks(profile);
    for sample in marks[0]..marks[1] {
        let live = sleeper.value(sample);
        let time_s = profile.times_s[sample];
        assert!(live >= BALLAST_BYTES as u64, "at {time_s} s a free is counted without its block: {live}");
        assert!(live <= (BALLAST_BYTES + WAKES * BLOCK_BYTES) as u64, "at {time_s} s: {live}");
        assert_eq!(resting.value(sample), 100 * RESTING as u64, "at {time_s} s");
    }
    marks[1] - marks[0]
}

fn main() {
    std::panic::set_hook(Box::new(|failure| {
        eprintln!("{failure}");
        // The other threads wait for ever.
        std::process::exit(101);
    }));
    exact_common::prepare();
    let profile = exact_common::profile_every(Duration::from_millis(1), "exact_waking");
    // First, so that its shard is passed early in the walk.
    let sleeping = std::thread::spawn(sleeper);
    wait_until(|| figures(&["sleeper"]).allocations > 0);
    let resting = rest();
    wait_until(|| figures(&["resting"]).live_blocks == RESTING as u64);
    let freeing = std::thread::spawn(freer);
    heapprof::mark().expect("a profile runs");
    while !DONE.load(Ordering::Acquire) {
        heapprof::sample_now().expect("the folder is writable");
    }
    heapprof::mark().expect("a profile runs");
    heapprof::sample_now().expect("the folder is writable");
    WATCHED.store(true, Ordering::Release);
    resting.iter().for_each(|thread| thread.thread().unpark());
    for thread in resting.into_iter().chain([sleeping, freeing]) {
        thread.join().expect("a failed thread ends the process");
    }
    for name in ["sleeper", "resting", "freer"] {
        let Figures { live_bytes, live_blocks, .. } = figures(&[name]);
        assert_eq!((live_bytes, live_blocks), (0, 0), "{name}");
    }
    let summary = profile.stop().expect("the folder is writable");
    let samples = check_samples(&exact_common::read_hp(&summary));
    println!("{samples} samples while a thread woke {WAKES} times beside {RESTING} at rest: exact");
}
