//! Blocks allocated and freed within one function, as optimised programs do: what the compiler then
//! knows of a block must not cost a figure. Allocations here go through nothing that hides them.
//!
//! Its own `main`, and of interest in release builds: a free that was inlined into the function of its
//! allocation once lost its tag there, and no test saw it, because all of them handed their blocks
//! through something opaque.

use heapprof::cost_centre;

#[global_allocator]
static ALLOC: heapprof::HeapProf = heapprof::HeapProf::new().armed();

const TURNS: usize = 1_000;

fn live(centre: &str) -> (u64, u64, u64) {
    let stacks = heapprof::stacks();
    let mut found = stacks.iter().filter(|stack| stack.centre() == centre);
    found.next().map_or((0, 0, 0), |stack| (stack.live_bytes, stack.live_blocks, stack.entries))
}

#[track_caller]
fn expect_nothing_live(centre: &str) {
    assert_eq!(live(centre), (0, 0, TURNS as u64), "{centre}: live bytes, live blocks, entries");
}

fn copies(data: &[u8]) -> usize {
    (0..TURNS).map(|_| cost_centre!("copy" => data.to_vec().len())).sum()
}

fn boxes() -> u64 {
    let turn = |turn: u64| {
        let held = Box::new([turn; 20]);
        let other: Box<[u64]> = vec![turn; 30].into_boxed_slice();
        held.iter().sum::<u64>() + other.iter().sum::<u64>()
    };
    (0..TURNS as u64).map(|number| cost_centre!("box" => turn(number))).sum()
}

fn grown() -> usize {
    let turn = |turn: usize| {
        let mut numbers = vec![turn];
        numbers.extend([1, 2, 3, 4, 5, 6, 7, 8]);
        numbers.push(turn);
        numbers.shrink_to_fit();
        numbers.iter().sum::<usize>()
    };
    (0..TURNS).map(|number| cost_centre!("grow" => turn(number))).sum()
}

fn zeroed() -> usize {
    (0..TURNS).map(|turn| cost_centre!("zero" => vec![0_u64; 30 + turn % 7].len())).sum()
}

#[repr(align(64))]
struct Line([u8; 64]);

fn aligned() -> u64 {
    (0..TURNS)
        .map(|turn| cost_centre!("line" => u64::from(Box::new(Line([turn as u8; 64])).0[turn % 64])))
        .sum()
}

fn texts() -> usize {
    (0..TURNS).map(|turn| cost_centre!("text" => format!("turn {turn}").len())).sum()
}

fn scoped_threads() {
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..TURNS / 4 {
                    let _scope = cost_centre!("scoped");
                    let data: Vec<u8> = vec![7; 50];
                    drop(data);
                }
            });
        }
    });
}

/// A buffer of the measured thread's own, freed where it was allocated.
fn measured() {
    for _ in 0..TURNS {
        let (_, did) = heapprof::measure(|| drop(vec![0_u8; 77]));
        assert_eq!((did.allocations, did.allocated_bytes), (did.frees, did.freed_bytes));
        assert_eq!(did.live_bytes(), 0);
    }
}

fn main() {
    let stem = std::env::temp_dir().join(format!("exact_inlined-{}", std::process::id()));
    let stem = stem.to_str().expect("the folder's name is UTF-8");
    let profile =
        heapprof::Profiler::builder().output(stem).quiet(true).start().expect("the folder is writable");
    let sums = [copies(&[1; 1_000]), grown(), zeroed(), texts()];
    println!("{sums:?} {} {}", boxes(), aligned());
    scoped_threads();
    for centre in ["copy", "box", "grow", "zero", "line", "text", "scoped"] {
        expect_nothing_live(centre);
    }
    measured();
    let files = profile.stop().expect("the profile can be ended");
    std::fs::remove_file(files.hp).expect("the file is there");
    std::fs::remove_file(files.prof).expect("the file is there");
    println!("test result: ok. 1 passed; 0 failed");
}
