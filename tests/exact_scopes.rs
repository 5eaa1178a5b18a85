//! Cost centres: which stack is current, and so whose a block is, after any order of entering and
//! leaving, on unwinding, in recursion, across threads; entries counted; `measure` exact beside
//! whatever other threads do.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Barrier, OnceLock};

use heapprof::{Stack, cost_centre};

mod exact_common;
use exact_common::{Block, Figures, Method, figures};

#[global_allocator]
static ALLOC: heapprof::HeapProf = heapprof::HeapProf::new().armed();

fn start() {
    static PROFILE: OnceLock<heapprof::Profile> = OnceLock::new();
    PROFILE.get_or_init(|| exact_common::profile("exact_scopes"));
    exact_common::prepare();
}

/// Allocates and frees `bytes` under the current stack.
fn use_bytes(bytes: usize) {
    Block::new(Method::Alloc, bytes, 8).free();
}

/// (bytes, blocks, entries) that a stack has seen; the tests leave nothing live.
fn seen(path: &[&str]) -> (u64, u64, u64) {
    let Figures { live_bytes, live_blocks, allocated_bytes, allocations, entries } = figures(path);
    assert_eq!((live_bytes, live_blocks), (0, 0), "{path:?}");
    (allocated_bytes, allocations, entries)
}

#[test]
fn an_outer_guard_takes_the_inner_centres_with_it() {
    start();
    let base = Stack::current();
    let a = cost_centre!("outer_a");
    let b = cost_centre!("outer_b");
    let c = cost_centre!("outer_c");
    use_bytes(1);
    drop(a);
    assert_eq!(Stack::current(), base);
    drop(c);
    drop(b);
    assert_eq!(Stack::current(), base, "guards whose centre is gone change nothing");
    assert_eq!(seen(&["outer_a", "outer_b", "outer_c"]), (1, 1, 1));
    assert_eq!((seen(&["outer_a"]), seen(&["outer_a", "outer_b"])), ((0, 0, 1), (0, 0, 1)));
}

#[test]
fn a_middle_guard_takes_what_is_above_it_and_leaves_what_is_below() {
    start();
    let base = Stack::current();
    let a = cost_centre!("middle_a");
    let under_a = Stack::current();
    let b = cost_centre!("middle_b");
    let c = cost_centre!("middle_c");
    drop(b);
    assert_eq!(Stack::current(), under_a);
    use_bytes(10);
    let d = cost_centre!("middle_d");
    use_bytes(20);
    drop(c);
    use_bytes(30);
    drop(d);
    assert_eq!(Stack::current(), under_a);
    drop(a);
    assert_eq!(Stack::current(), base);
    assert_eq!(seen(&["middle_a"]), (10, 1, 1));
    assert_eq!(seen(&["middle_a", "middle_d"]), (50, 2, 1));
}

#[test]
fn every_order_of_dropping_four_guards_ends_where_it_began() {
    start();
    let base = Stack::current();
    for code in 0..4 * 4 * 4 * 4 {
        let mut guards = [
            Some(cost_centre!("orders_a")),
            Some(cost_centre!("orders_b")),
            Some(cost_centre!("orders_c")),
            Some(cost_centre!("orders_d")),
        ];
        for turn in 0..4 {
            drop(guards[code >> (2 * turn) & 3].take());
        }
        // Those that this code has not named, innermost first.
        guards.into_iter().rev().for_each(drop);
        assert_eq!(Stack::current(), base, "order {code:#o}");
    }
    assert_eq!(seen(&["orders_a"]).2, 256);
    assert_eq!(seen(&["orders_a", "orders_b", "orders_c", "orders_d"]).2, 256);
}

#[test]
fn unwinding_leaves_every_centre() {
    start();
    let outer = cost_centre!("unwound_outer");
    let before = Stack::current();
    for depth in 1..=20_usize {
        fn descend(depth: usize) {
            let _scope = cost_centre!("unwound_a");
            cost_centre!("unwound_b" => if depth == 0 { resume_unwind(Box::new(())) } else { descend(depth - 1) });
        }
        assert!(catch_unwind(AssertUnwindSafe(|| descend(depth))).is_err());
        assert_eq!(Stack::current(), before, "depth {depth}");
    }
    use_bytes(5);
    drop(outer);
    let entries = (1..=20).map(|depth| depth + 1).sum::<u64>();
    assert_eq!(seen(&["unwound_outer"]).2, 1);
    assert_eq!(seen(&["unwound_outer", "unwound_a"]).2, entries);
    assert_eq!(seen(&["unwound_outer", "unwound_a", "unwound_b"]).2, entries);
}

fn recurse_a(depth: u64) {
    let _a = cost_centre!("recursion_a");
    use_bytes(1);
    recurse_b(depth);
    use_bytes(100);
}

fn recurse_b(depth: u64) {
    let _b = cost_centre!("recursion_b");
    use_bytes(10_000);
    cost_centre!("recursion_c" => {
        use_bytes(50_000);
        if depth > 1 {
            recurse_a(depth - 1);
        }
    });
}

#[test]
fn recursion_truncates_to_the_older_stack() {
    start();
    let base = Stack::current();
    recurse_a(8);
    assert_eq!(Stack::current(), base);
    // A, B, C, A is A: no stack holds a centre twice, and the inner entries are the outer's.
    assert_eq!(seen(&["recursion_a"]), (8 + 800, 16, 8));
    assert_eq!(seen(&["recursion_a", "recursion_b"]), (80_000, 8, 8));
    assert_eq!(seen(&["recursion_a", "recursion_b", "recursion_c"]), (400_000, 8, 8));
    let deeper = heapprof::stacks();
    let deepest = deeper.iter().filter(|stack| stack.centres.contains(&"recursion_a"));
    assert_eq!(deepest.map(|stack| stack.centres.len()).max(), Some(3));
}

#[test]
fn direct_recursion_stays_and_counts_each_entry() {
    start();
    fn descend(depth: u64) {
        let _scope = cost_centre!("direct");
        use_bytes(7);
        if depth > 1 {
            descend(depth - 1);
        }
    }
    descend(100);
    assert_eq!(seen(&["direct"]), (700, 100, 100));
}

#[test]
fn entries_of_all_threads_add_up() {
    start();
    let work = || {
        for _ in 0..10_000 {
            let _outer = cost_centre!("entered_outer");
            cost_centre!("entered_inner" => ());
            cost_centre!("entered_inner_other_site" => ());
        }
    };
    let threads = [(); 4].map(|()| std::thread::spawn(work));
    threads.into_iter().for_each(|thread| thread.join().expect("the thread has not failed"));
    for path in [
        &["entered_outer"][..],
        &["entered_outer", "entered_inner"],
        &["entered_outer", "entered_inner_other_site"],
    ] {
        assert_eq!(seen(path), (0, 0, 40_000), "{path:?}");
    }
}

#[test]
fn a_stack_handed_over_hides_guards_that_go_before_it() {
    start();
    let base = Stack::current();
    let other = cost_centre!("handed_other" => Stack::current());
    // Any number of nested guards, dropped in any order while the stack handed over lives.
    for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
        let mut guards =
            [cost_centre!("hidden_a"), cost_centre!("hidden_b"), cost_centre!("hidden_c")].map(Some);
        let handed = other.enter();
        let inner = cost_centre!("inside_handed");
        for index in order {
            drop(guards[index].take());
        }
        drop(inner);
        assert_eq!(Stack::current(), other, "{order:?}");
        drop(handed);
        assert_eq!(Stack::current(), base, "{order:?}");
    }
    // One of them stays: it is what comes back.
    let a = cost_centre!("hidden_a");
    let only_a = Stack::current();
    let b = cost_centre!("hidden_b");
    let handed = other.enter();
    drop(b);
    drop(handed);
    assert_eq!(Stack::current(), only_a);
    drop(a);
    assert_eq!(Stack::current(), base);
}

#[test]
fn a_stack_handle_works_on_any_thread_and_counts_no_entry() {
    start();
    let (handle, base) = {
        let base = Stack::current();
        let _outer = cost_centre!("handle_outer");
        let _inner = cost_centre!("handle_inner");
        (Stack::current(), base)
    };
    assert_eq!(Stack::current(), base);
    let work = move || {
        let before = Stack::current();
        for _ in 0..100 {
            let _stack = handle.enter();
            assert_eq!(Stack::current(), handle);
            use_bytes(11);
            cost_centre!("handle_deeper" => use_bytes(3));
        }
        assert_eq!(Stack::current(), before);
    };
    let threads = [(); 4].map(|()| std::thread::spawn(work));
    threads.into_iter().for_each(|thread| thread.join().expect("the thread has not failed"));
    let elsewhere = cost_centre!("handle_elsewhere");
    work();
    drop(elsewhere);
    assert_eq!(seen(&["handle_outer", "handle_inner"]), (5_500, 500, 1));
    assert_eq!(seen(&["handle_outer", "handle_inner", "handle_deeper"]), (1_500, 500, 500));
    assert_eq!(seen(&["handle_elsewhere"]), (0, 0, 1));
}

#[test]
fn inherited_and_spawned_work_counts_under_the_callers_stack() {
    start();
    let scope = cost_centre!("parent");
    let inherited = heapprof::inherit(|| {
        cost_centre!("child" => use_bytes(40));
        use_bytes(2);
        Stack::current()
    });
    let here = Stack::current();
    drop(scope);
    assert_eq!(std::thread::spawn(inherited).join().expect("not failed"), here);
    let spawned = cost_centre!("spawner" => heapprof::spawn(|| {
        let block = Block::new(Method::AllocZeroed, 123, 32);
        (block, Stack::current())
    }));
    let (block, stack) = spawned.join().expect("not failed");
    assert_ne!(stack, here);
    block.free();
    assert_eq!(seen(&["parent"]), (2, 1, 1));
    assert_eq!(seen(&["parent", "child"]), (40, 1, 1));
    // `spawn` itself allocates what std's thread needs, under the spawner.
    let Figures { live_bytes, live_blocks, allocated_bytes, entries, .. } = figures(&["spawner"]);
    assert_eq!((live_bytes, live_blocks, entries), (0, 0, 1));
    assert!(allocated_bytes > 123);
}

#[test]
fn a_computed_name_is_evaluated_once() {
    start();
    static EVALUATED: AtomicUsize = AtomicUsize::new(0);
    fn enter(number: usize) {
        let name = || {
            EVALUATED.fetch_add(1, Ordering::Relaxed);
            format!("computed_{number}")
        };
        let _scope = cost_centre!(name());
        use_bytes(9);
    }
    (0..1_000).for_each(enter);
    let threads = [(); 4].map(|()| std::thread::spawn(|| (1_000..2_000).for_each(enter)));
    threads.into_iter().for_each(|thread| thread.join().expect("the thread has not failed"));
    assert_eq!(EVALUATED.load(Ordering::Relaxed), 1);
    assert_eq!(seen(&["computed_0"]), (9 * 5_000, 5_000, 5_000));
    assert_eq!(seen(&["computed_1"]), (0, 0, 0), "a site has one name");
}

/// Runs `work(thread)` on two threads that begin together.
fn on_two_threads(work: impl Fn(usize) + Sync) {
    let barrier = Barrier::new(2);
    std::thread::scope(|scope| {
        for thread in 0..2 {
            let (work, barrier) = (&work, &barrier);
            scope.spawn(move || {
                barrier.wait();
                work(thread);
            });
        }
    });
}

#[test]
fn two_threads_that_enter_a_new_centre_at_once_make_one_stack() {
    const CENTRES: usize = 500;
    start();
    let sites: Vec<&'static heapprof::Site> = (0..CENTRES)
        .map(|number| {
            let name: &'static str = Box::leak(format!("at_once_{number}").into_boxed_str());
            &*Box::leak(Box::new(heapprof::Site::new(name, "exact_scopes", file!(), line!())))
        })
        .collect();
    for &site in &sites {
        on_two_threads(|thread| {
            let _scope = site.enter();
            use_bytes(100 + thread);
        });
    }
    let stacks = heapprof::stacks();
    for number in 0..CENTRES {
        let name = format!("at_once_{number}");
        let found: Vec<Figures> =
            stacks.iter().filter(|stack| stack.centres == [&name]).map(Figures::from).collect();
        let mut want = Figures { entries: 2, ..Figures::default() };
        [100, 101].iter().for_each(|&bytes| want.allocate(bytes));
        [100, 101].iter().for_each(|&bytes| want.free(bytes));
        assert_eq!(found, [want], "{name}");
    }
}

#[test]
fn measured_work_is_exact_beside_other_threads() {
    start();
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    cost_centre!("load" => use_bytes(1_234));
                    use_bytes(77);
                    std::thread::yield_now();
                }
            });
        }
        let measured = catch_unwind(|| (0..1_000).for_each(measure_once));
        done.store(true, Ordering::Relaxed);
        measured.unwrap_or_else(|failure| resume_unwind(failure));
    });
}

fn measure_once(round: usize) {
    let bytes = 1 + round;
    let (mut block, made) = heapprof::measure(|| Block::new(Method::Alloc, bytes, 8));
    assert_eq!((made.allocated_bytes, made.allocations), (bytes as u64, 1), "round {round}");
    assert_eq!((made.freed_bytes, made.frees), (0, 0), "round {round}");
    let (_, grown) = heapprof::measure(|| block.resize(bytes + 10));
    assert_eq!((grown.allocated_bytes, grown.allocations, grown.frees), (10, 0, 0), "round {round}");
    let (_, moved) = heapprof::measure(|| cost_centre!("measured" => block.resize(bytes + 20)));
    assert_eq!((moved.allocated_bytes, moved.allocations), (bytes as u64 + 20, 1), "round {round}");
    assert_eq!((moved.live_bytes(), moved.frees), (10, 1), "round {round}");
    let (_, shrunk) = heapprof::measure(|| block.resize(1));
    assert_eq!((shrunk.live_bytes(), shrunk.allocations, shrunk.frees), (-(bytes as i64) - 19, 0, 0));
    let (_, freed) = heapprof::measure(|| block.free());
    assert_eq!((freed.freed_bytes, freed.frees, freed.allocations), (1, 1, 0), "round {round}");
}
