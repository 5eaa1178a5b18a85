//! Blocks from every moment of a process's and a thread's life: before `main`, armed and not started,
//! in the destructors of thread-locals and of pthread keys, in exit handlers, after the profile has
//! stopped, over a hundred starts and stops. No figure is wrong, negative or wrapped at any of them,
//! and threads that come and go leave no memory behind.
//!
//! Every part runs in a process of its own: this program again, with the part's name.

use std::alloc::Layout;
use std::cell::{Cell, RefCell};
use std::ffi::c_void;
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicUsize, Ordering};

mod exact_common;
use exact_common::{Block, Figures, Method, figures, layout, sum_of_stacks};

#[global_allocator]
static ALLOC: heapprof::HeapProf = heapprof::HeapProf::new().armed();

/// Threads of the parts that use many.
const THREADS: usize = 100;

/// Ends the process, without exit handlers, when a figure is not what it should be: some parts run
/// where nothing may unwind.
fn expect(name: &str, is: Figures, want: Figures) {
    if is != want {
        eprintln!("{name}: {is:?}, expected {want:?}");
        // SAFETY: no preconditions.
        unsafe { libc::_exit(1) };
    }
}

/// Live and allocated figures alone.
fn bytes_of(name: &'static str) -> Figures {
    Figures { entries: 0, ..figures(&[name]) }
}

/// Live figures alone.
fn live_of(name: &'static str) -> Figures {
    Figures { allocated_bytes: 0, allocations: 0, ..bytes_of(name) }
}

fn holding(blocks: u64, bytes: u64) -> Figures {
    Figures { live_bytes: bytes, live_blocks: blocks, ..Figures::default() }
}

/// Figures of `blocks` blocks of `bytes` each, all live.
fn all_live(blocks: u64, bytes: u64) -> Figures {
    let bytes = blocks * bytes;
    Figures { allocated_bytes: bytes, allocations: blocks, ..holding(blocks, bytes) }
}

/// No figure has wrapped, and the stacks add up to the total.
fn expect_sane() {
    let total = heapprof::stats().expect("the allocator is armed");
    let sum = sum_of_stacks();
    let total = Figures {
        live_bytes: total.live_bytes,
        live_blocks: total.live_blocks,
        allocated_bytes: total.allocated_bytes,
        allocations: total.allocations,
        entries: sum.entries,
    };
    expect("the sum of the stacks", sum, total);
    assert!(!sum.has_wrapped());
    assert!(heapprof::stacks().iter().all(|stack| !Figures::from(stack).has_wrapped()));
}

// ---- before main ----

const EARLY_BYTES: usize = 12_345;
static EARLY: AtomicPtr<u8> = AtomicPtr::new(std::ptr::null_mut());

#[used]
#[unsafe(link_section = ".init_array")]
static BEFORE_MAIN: extern "C" fn() = {
    extern "C" fn before_main() {
        // SAFETY: a valid layout.
        EARLY.store(unsafe { std::alloc::alloc(layout(EARLY_BYTES, 8)) }, Ordering::Relaxed);
    }
    before_main
};

/// Whichever band it was counted in, freeing it takes exactly it away from there.
fn free_early(band: &str) {
    let path: &[&str] = if band == "MAIN" { &[] } else { &[band] };
    let live = |figures: Figures| holding(figures.live_blocks, figures.live_bytes);
    let before = live(figures(path));
    // SAFETY: made before main with this layout.
    unsafe { std::alloc::dealloc(EARLY.load(Ordering::Relaxed), layout(EARLY_BYTES, 8)) };
    let mut want = before;
    want.free(EARLY_BYTES);
    expect("a block from before main", live(figures(path)), want);
    expect_sane();
}

fn before_main() {
    let profile = exact_common::profile("exact_life_before_main");
    free_early("BEFORE_PROFILE");
    profile.stop().expect("the folder is writable");
}

/// With `HEAPPROF=on` the profile starts before main; the initialiser runs before or after that, as
/// the linker has it.
fn before_main_started() {
    let early_is_main = bytes_of("BEFORE_PROFILE").live_bytes < EARLY_BYTES as u64;
    free_early(if early_is_main { "MAIN" } else { "BEFORE_PROFILE" });
}

// ---- armed and not started ----

fn armed_only() {
    exact_common::prepare();
    let scope = heapprof::cost_centre!("armed_scope");
    let before = live_of("BEFORE_PROFILE");
    let mut block = Block::new(Method::AllocZeroed, 1_000, 4);
    let aligned = Block::new(Method::Alloc, 3_000, 4_096);
    let mut want = before;
    want.live_bytes += 4_000;
    want.live_blocks += 2;
    expect("armed", live_of("BEFORE_PROFILE"), want);
    block.resize(5_000);
    want.live_bytes += 4_000;
    expect("armed, grown", live_of("BEFORE_PROFILE"), want);
    let from_thread = std::thread::spawn(|| Block::new(Method::Alloc, 77, 1)).join().expect("not failed");
    aligned.free();
    block.resize(10);
    want.live_bytes = before.live_bytes + 10 + 77;
    expect("armed, shrunk", live_of("BEFORE_PROFILE"), want);
    // A centre that was entered before the start is on the stack after it.
    let profile = exact_common::profile("exact_life_armed");
    block.resize(20);
    expect("started, grown", Figures { entries: 1, ..all_live(1, 20) }, figures(&["armed_scope"]));
    want.live_bytes -= 10;
    want.live_blocks -= 1;
    expect("started", live_of("BEFORE_PROFILE"), want);
    drop(scope);
    [block, from_thread].into_iter().for_each(Block::free);
    expect("all freed", live_of("BEFORE_PROFILE"), before);
    profile.stop().expect("the folder is writable");
    expect_sane();
}

// ---- the ends of threads ----

/// Blocks that outlive the threads that made them, by size.
static KEPT: Mutex<Vec<Block>> = Mutex::new(Vec::new());

/// A hundred are kept at the most by each part: no push grows the vector in a thread.
fn keep_room() {
    KEPT.lock().expect("not poisoned").reserve(4 * THREADS);
}

fn keep(block: Block) {
    KEPT.lock().expect("not poisoned").push(block);
}

fn free_kept() {
    std::mem::take(&mut *KEPT.lock().expect("not poisoned")).into_iter().for_each(Block::free);
}

/// Allocates under a cost centre of its own when the thread ends, and frees what the thread had.
struct AtThreadEnd(RefCell<Option<Block>>);

impl Drop for AtThreadEnd {
    fn drop(&mut self) {
        let _scope = heapprof::cost_centre!("thread_local_end");
        keep(Block::new(Method::Alloc, 64, 8));
        keep(Block::new(Method::Alloc, 128, 64));
        if let Some(block) = self.0.take() {
            block.free();
        }
    }
}

thread_local! {
    static AT_THREAD_END: AtThreadEnd = const { AtThreadEnd(RefCell::new(None)) };
}

fn in_threads(work: fn()) {
    for _ in 0..THREADS / 10 {
        let threads: Vec<_> = (0..10).map(|_| std::thread::spawn(work)).collect();
        for thread in threads {
            thread.join().expect("the thread has not failed");
        }
    }
}

fn thread_locals() {
    let profile = exact_common::profile("exact_life_thread_locals");
    exact_common::prepare();
    keep_room();
    in_threads(|| {
        let _scope = heapprof::cost_centre!("thread_body");
        AT_THREAD_END.with(|end| end.0.replace(Some(Block::new(Method::Alloc, 1_000, 8))));
    });
    let threads = THREADS as u64;
    let want = all_live(threads, 64).plus(all_live(threads, 128));
    expect("at the end", figures(&["thread_local_end"]), Figures { entries: threads, ..want });
    let body = Figures { live_bytes: 0, live_blocks: 0, ..all_live(threads, 1_000) };
    expect("in the thread", figures(&["thread_body"]), Figures { entries: threads, ..body });
    free_kept();
    expect("freed by main", live_of("thread_local_end"), holding(0, 0));
    expect("no thread had ended", bytes_of("EXIT"), holding(0, 0));
    profile.stop().expect("the folder is writable");
    expect_sane();
}

static KEY: AtomicU32 = AtomicU32::new(0);
/// Runs of the key's hook in all threads.
static HOOK_RUNS: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    /// Rounds of destructors that the key's hook has seen in this thread. No destructor of its own.
    static ROUNDS: Cell<u32> = const { Cell::new(0) };
}

/// Runs in every round of key destructors that the system offers, from the second on certainly after
/// the profiler's own. The value is the address of a block of 500 bytes of the thread.
extern "C" fn at_key_end(value: *mut c_void) {
    HOOK_RUNS.fetch_add(1, Ordering::Relaxed);
    let round = ROUNDS.get();
    ROUNDS.set(round + 1);
    if round == 0 {
        // SAFETY: the key is ours; a value that is not null asks for another round.
        unsafe { libc::pthread_setspecific(KEY.load(Ordering::Relaxed), value) };
        return;
    }
    let scope = heapprof::cost_centre!("entered_after_the_end");
    // SAFETY: the layouts are valid, the block is live and of the thread.
    unsafe {
        keep(Block::new(Method::Alloc, 48, 8));
        let mut grown = Block::new(Method::AllocZeroed, 10, 16);
        grown.resize(100);
        grown.resize(50);
        keep(grown);
        let of_thread = std::hint::black_box(std::alloc::realloc(value.cast(), layout(500, 8), 600));
        std::alloc::dealloc(of_thread, layout(600, 8));
        let refused = std::hint::black_box(std::alloc::alloc(Layout::from_size_align_unchecked(1 << 61, 8)));
        assert!(refused.is_null());
    }
    drop(scope);
}

fn key_destructors() {
    let profile = exact_common::profile("exact_life_key_destructors");
    exact_common::prepare();
    keep_room();
    let mut key = 0;
    // SAFETY: a valid place for the key, and a hook that never unwinds unless the test has failed.
    assert_eq!(unsafe { libc::pthread_key_create(&mut key, Some(at_key_end)) }, 0);
    KEY.store(key, Ordering::Relaxed);
    in_threads(|| {
        // SAFETY: a valid layout; the hook frees the block.
        heapprof::cost_centre!("key_body" => unsafe {
            let block = std::alloc::alloc(layout(500, 8));
            libc::pthread_setspecific(KEY.load(Ordering::Relaxed), block.cast());
        });
    });
    assert_eq!(HOOK_RUNS.load(Ordering::Relaxed), 2 * THREADS);
    let threads = THREADS as u64;
    // By thread: 48, then 10 grown by 90 and shrunk by 50, then 600 that grew out of the thread's 500.
    let exit = Figures {
        live_bytes: threads * (48 + 50),
        live_blocks: threads * 2,
        allocated_bytes: threads * (48 + 10 + 90 + 600),
        allocations: threads * 3,
        entries: 0,
    };
    expect("EXIT", figures(&["EXIT"]), exit);
    let body = Figures { live_bytes: 0, live_blocks: 0, entries: threads, ..all_live(threads, 500) };
    expect("in the thread", figures(&["key_body"]), body);
    expect("no entry after the end", figures(&["entered_after_the_end"]), Figures::default());
    free_kept();
    expect("freed by main", live_of("EXIT"), holding(0, 0));
    profile.stop().expect("the folder is writable");
    expect_sane();
}

// ---- the end of the process ----

static HANDLERS_RUN: AtomicUsize = AtomicUsize::new(0);

/// Allocates, resizes and frees while the process exits, and looks at the figures each time.
extern "C" fn at_exit() {
    let run = HANDLERS_RUN.fetch_add(1, Ordering::Relaxed) as u64;
    let scope = heapprof::cost_centre!("exit_handler");
    let mut block = Block::new(Method::Alloc, 100, 8);
    block.resize(300);
    drop(scope);
    let mut want = all_live(run + 1, 300);
    want.live_bytes -= run * 300;
    want.live_blocks -= run;
    expect("in an exit handler", bytes_of("exit_handler"), want);
    block.free();
    expect("freed in an exit handler", live_of("exit_handler"), holding(0, 0));
    expect_sane();
}

/// The last handler of all, by registration before every other.
extern "C" fn at_very_end() {
    let profile_ended = heapprof::sample_now().is_err();
    if HANDLERS_RUN.load(Ordering::Relaxed) != 2 || !profile_ended {
        eprintln!("handlers run: {HANDLERS_RUN:?}, profile ended: {profile_ended}");
        // SAFETY: no preconditions.
        unsafe { libc::_exit(1) };
    }
    // The exit code tells that all handlers were run and content.
    // SAFETY: no preconditions.
    unsafe { libc::_exit(0) };
}

fn exit_handlers() {
    let register = |handler: extern "C" fn()| {
        // SAFETY: a plain function that lives for ever.
        assert_eq!(unsafe { libc::atexit(handler) }, 0);
    };
    register(at_very_end);
    register(at_exit);
    exact_common::prepare();
    let profile = exact_common::profile("exact_life_exit_handlers");
    register(at_exit);
    // The profile still runs when the first handler does, and has been ended when the second does.
    std::mem::forget(profile);
    std::process::exit(7);
}

fn after_the_stop() {
    let profile = exact_common::profile("exact_life_after_the_stop");
    exact_common::prepare();
    let mut kept = heapprof::cost_centre!("during" => Block::new(Method::Alloc, 1_000, 8));
    profile.stop().expect("the folder is writable");
    let after = heapprof::cost_centre!("after" => Block::new(Method::Alloc, 70, 64));
    heapprof::cost_centre!("after_grown" => kept.resize(1_500));
    let in_thread = std::thread::spawn(
        || heapprof::cost_centre!("after_thread" => Block::new(Method::AllocZeroed, 33, 2)),
    );
    let in_thread = in_thread.join().expect("not failed");
    expect("during", live_of("during"), holding(0, 0));
    for (name, bytes) in [("after", 70), ("after_grown", 1_500), ("after_thread", 33)] {
        expect(name, bytes_of(name), all_live(1, bytes));
    }
    [kept, after, in_thread].into_iter().for_each(Block::free);
    for name in ["after", "after_grown", "after_thread"] {
        expect(name, live_of(name), holding(0, 0));
    }
    expect_sane();
}

// ---- many starts, many threads ----

fn hundred_starts() {
    static DONE: AtomicBool = AtomicBool::new(false);
    exact_common::prepare();
    exact_common::profile("exact_life_starts").stop().expect("the folder is writable");
    let threads: Vec<_> = (0..8)
        .map(|_| {
            std::thread::spawn(|| {
                let mut blocks = 0;
                while !DONE.load(Ordering::Relaxed) || blocks == 0 {
                    let _scope = heapprof::cost_centre!("through_starts");
                    let mut block = Block::new(Method::Alloc, 400, 8);
                    heapprof::cost_centre!("grown_through_starts" => block.resize(800));
                    block.free();
                    blocks += 1;
                    std::thread::yield_now();
                }
                blocks
            })
        })
        .collect();
    for _ in 0..100 {
        let profile = exact_common::profile("exact_life_starts");
        let held = heapprof::cost_centre!("held_by_main" => Block::new(Method::Alloc, 5_000, 16));
        expect("main's own", live_of("held_by_main"), holding(1, 5_000));
        assert!(heapprof::stacks().iter().all(|stack| !Figures::from(stack).has_wrapped()));
        let summary = profile.stop().expect("the folder is writable");
        assert!(summary.samples >= 2);
        held.free();
    }
    DONE.store(true, Ordering::Relaxed);
    let blocks: u64 = threads.into_iter().map(|thread| thread.join().expect("not failed")).sum();
    let gone = |bytes| Figures { live_bytes: 0, live_blocks: 0, entries: blocks, ..all_live(blocks, bytes) };
    expect("the threads' blocks", figures(&["through_starts"]), gone(400));
    expect("the threads' grown", figures(&["through_starts", "grown_through_starts"]), gone(800));
    let main = Figures { live_bytes: 0, live_blocks: 0, entries: 100, ..all_live(100, 5_000) };
    expect("main's own", figures(&["held_by_main"]), main);
    expect_sane();
    println!("100 starts and stops beside {blocks} blocks");
}

/// What the kernel says about the process: (mappings, virtual KiB, resident KiB).
fn memory() -> (usize, u64, u64) {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux has it");
    let field = |name: &str| {
        let line = status.lines().find(|line| line.starts_with(name)).expect("Linux has it");
        line.split_ascii_whitespace().nth(1).and_then(|kib| kib.parse().ok()).expect("a number")
    };
    let maps = std::fs::read_to_string("/proc/self/maps").expect("Linux has it");
    (maps.lines().count(), field("VmSize:"), field("VmRSS:"))
}

fn thread_churn() {
    let profile = exact_common::profile("exact_life_churn");
    exact_common::prepare();
    fn churn(threads: usize) {
        for _ in 0..threads / 4 {
            let work = || {
                let _scope = heapprof::cost_centre!("churn");
                Block::new(Method::Alloc, 2_000, 8).free();
            };
            let four = [(); 4].map(|()| std::thread::spawn(work));
            four.into_iter().for_each(|thread| thread.join().expect("the thread has not failed"));
        }
    }
    churn(200);
    let (maps, virtual_kib, resident_kib) = memory();
    churn(2_000);
    let (maps_after, virtual_kib_after, resident_kib_after) = memory();
    let gone = Figures { live_bytes: 0, live_blocks: 0, entries: 2_200, ..all_live(2_200, 2_000) };
    expect("churn", figures(&["churn"]), gone);
    println!(
        "2,000 threads: mappings {maps} to {maps_after}, virtual {virtual_kib} to {virtual_kib_after} KiB, \
         resident {resident_kib} to {resident_kib_after} KiB"
    );
    // A shard is 4 MiB of address space: without reuse there would be 8 GB more. Some may be added
    // when the ticker holds a free one just as a thread looks for it.
    assert!(maps_after <= maps + 40, "{maps} mappings became {maps_after}");
    assert!(virtual_kib_after <= virtual_kib + 400_000, "{virtual_kib} KiB became {virtual_kib_after}");
    assert!(resident_kib_after <= resident_kib + 8_000, "{resident_kib} KiB became {resident_kib_after}");
    profile.stop().expect("the folder is writable");
    expect_sane();
}

/// Parts by name, and what `HEAPPROF` is for them.
const PARTS: [(&str, fn(), &str); 9] = [
    ("before_main", before_main, ""),
    ("before_main_started", before_main_started, "on"),
    ("armed_only", armed_only, ""),
    ("thread_locals", thread_locals, ""),
    ("key_destructors", key_destructors, ""),
    ("exit_handlers", exit_handlers, ""),
    ("after_the_stop", after_the_stop, ""),
    ("hundred_starts", hundred_starts, ""),
    ("thread_churn", thread_churn, ""),
];

/// Runs a part in a process of its own.
fn run(name: &str, switch: &str) {
    let mut command = Command::new(std::env::current_exe().expect("Linux knows it"));
    command.env("EXACT_LIFE_PART", name).env("HEAPPROF_QUIET", "on");
    command.env("HEAPPROF_OUTPUT", format!("{}/exact_life_{name}", env!("CARGO_TARGET_TMPDIR")));
    if !switch.is_empty() {
        command.env("HEAPPROF", switch);
    }
    let status = command.status().expect("this program can be run");
    assert!(status.success(), "{name}: {status}");
    println!("{name}: ok");
}

fn main() {
    if let Some(part) = std::env::var_os("EXACT_LIFE_PART") {
        let part = PARTS.iter().find(|(name, ..)| part == **name).expect("a part's name");
        return (part.1)();
    }
    for (name, _, switch) in PARTS {
        run(name, switch);
    }
}
