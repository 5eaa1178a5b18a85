//! The naive model: a list of the live blocks, each with the calls that were going on when it was asked for.
//!
//! It lives in statics of fixed size, so that it never allocates.

use std::cell::Cell;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// A call that is going on.
#[derive(Clone, Copy)]
struct Call {
    /// The function as a band names it.
    label: &'static str,
    module: &'static str,
    /// The line of the call that the function is making.
    line: u32,
}

const CALLS_MAX: usize = 24;
const NO_CALL: Call = Call { label: "", module: "", line: 0 };

thread_local! {
    static CALLS: [Cell<Call>; CALLS_MAX] = const { [const { Cell::new(NO_CALL) }; CALLS_MAX] };
    static DEPTH: Cell<usize> = const { Cell::new(0) };
    static THREAD: Cell<&'static str> = const { Cell::new("main") };
    /// The cost centres entered, top first, as in a band's name.
    static CENTRES: Cell<&'static str> = const { Cell::new("") };
}

/// Ends with the function that entered.
pub struct Entered;

impl Drop for Entered {
    #[inline(always)]
    fn drop(&mut self) {
        DEPTH.with(|depth| depth.set(depth.get() - 1));
    }
}

#[inline(always)]
pub fn enter(label: &'static str, module: &'static str) -> Entered {
    let at = DEPTH.with(|depth| depth.replace(depth.get() + 1));
    CALLS.with(|calls| calls[at].set(Call { label, module, line: 0 }));
    Entered
}

/// Notes the line of the call that the function makes now.
#[inline(always)]
pub fn line(line: u32) {
    let at = DEPTH.with(Cell::get) - 1;
    CALLS.with(|calls| calls[at].set(Call { line, ..calls[at].get() }));
}

/// The function's name in the bands: its module's path and its own name, or a name and a module in full.
macro_rules! called {
    ($name:literal) => {
        let _call = crate::book::enter(concat!(module_path!(), "::", $name), module_path!());
    };
    ($label:expr, in $module:literal) => {
        let _call = crate::book::enter($label, $module);
    };
}

/// A call whose line may be seen in a band. On one line.
macro_rules! at {
    ($($call:tt)*) => {{
        crate::book::line(line!());
        $($call)*
    }};
}
pub(crate) use {at, called};

pub fn this_is_thread(name: &'static str) {
    THREAD.set(name);
}

pub fn centres(centres: &'static str) {
    CENTRES.set(centres);
}

/// A live block.
#[derive(Clone, Copy)]
struct Block {
    bytes: usize,
    calls: [Call; CALLS_MAX],
    depth: usize,
    does: &'static str,
    holds: &'static str,
    thread: &'static str,
    centres: &'static str,
    /// Samples taken before.
    birth: u64,
}

const BLOCKS_MAX: usize = 256;
static BLOCKS: Mutex<[Option<Block>; BLOCKS_MAX]> = Mutex::new([None; BLOCKS_MAX]);
/// Samples taken, the first one at the start of the profile.
static SAMPLES: AtomicU64 = AtomicU64::new(0);
/// Bytes that were live before the profile began.
static BEFORE: AtomicU64 = AtomicU64::new(0);

/// Which block in the list.
#[derive(Clone, Copy)]
pub struct Key(usize);

/// A block of `bytes` asked for now, by the operation `does`, in a `holds`.
fn block(bytes: usize, does: &'static str, holds: &'static str) -> Block {
    let depth = DEPTH.with(Cell::get);
    let mut calls = [NO_CALL; CALLS_MAX];
    CALLS.with(|going| calls.iter_mut().zip(going).take(depth).for_each(|(call, going)| *call = going.get()));
    let (thread, centres) = (THREAD.get(), CENTRES.get());
    Block { bytes, calls, depth, does, holds, thread, centres, birth: SAMPLES.load(Relaxed) }
}

pub fn add(bytes: usize, does: &'static str, holds: &'static str) -> Key {
    let mut blocks = BLOCKS.lock().unwrap();
    let free = blocks.iter().position(Option::is_none).expect("few blocks");
    blocks[free] = Some(block(bytes, does, holds));
    Key(free)
}

/// A block has grown to `bytes`: it is as if asked for now.
pub fn grown(key: Key, bytes: usize, does: &'static str, holds: &'static str) {
    let now = block(bytes, does, holds);
    let grown = BLOCKS.lock().unwrap()[key.0].replace(now).expect("live");
    assert!(grown.bytes < bytes, "{} to {bytes}", grown.bytes);
}

/// A block has shrunk to `bytes`: all else stays.
pub fn shrunk(key: Key, bytes: usize) {
    let mut blocks = BLOCKS.lock().unwrap();
    let block = blocks[key.0].as_mut().expect("live");
    assert!(block.bytes > bytes, "{} to {bytes}", block.bytes);
    block.bytes = bytes;
}

pub fn gone(key: Key) {
    BLOCKS.lock().unwrap()[key.0].take().expect("live");
}

/// A value with its blocks in the list, which go with it.
pub struct Held<T, const BLOCKS: usize = 1> {
    pub value: T,
    pub keys: [Key; BLOCKS],
}

impl<T> Held<T> {
    pub fn new(value: T, bytes: usize, does: &'static str, holds: &'static str) -> Self {
        let value = std::hint::black_box(value);
        Self { value, keys: [add(bytes, does, holds)] }
    }
}

impl<T, const BLOCKS: usize> Held<T, BLOCKS> {
    pub fn free(self) {
        drop(self.value);
        self.keys.into_iter().for_each(gone);
    }
}

/// What the process holds.
pub fn stats() -> heapprof::Stats {
    heapprof::stats().expect("blocks are tagged")
}

/// The profile begins: what is live now was there before. `sampled`: the profile has begun earlier, and takes
/// another sample.
pub fn begin(sampled: bool) {
    BEFORE.store(stats().live_bytes, Relaxed);
    if sampled {
        heapprof::sample_now().expect("a profile runs");
    }
    say(0);
    SAMPLES.store(1, Relaxed);
}

/// What was live before the profile has shrunk by so much.
pub fn less_before(bytes: u64) {
    BEFORE.fetch_sub(bytes, Relaxed);
}

/// Takes a sample and says what is in it.
pub fn sample() {
    heapprof::sample_now().expect("a profile runs");
    say(SAMPLES.fetch_add(1, Relaxed));
}

fn say(sample: u64) {
    println!("sample {sample} {} {}", stats().live_bytes, BEFORE.load(Relaxed));
    for block in BLOCKS.lock().unwrap().iter().flatten() {
        print!("{}\t{}\t{}\t", block.bytes, block.does, block.holds);
        print!("{}\t{}\t{}\t", block.thread, block.birth, block.centres);
        let calls = &block.calls[..block.depth];
        print!("{}", calls.last().map_or("", |asked| asked.module));
        calls.iter().rev().for_each(|call| print!("\t{}:{}", call.label, call.line));
        println!();
    }
}
