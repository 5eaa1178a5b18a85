//! The two lock-free protocols of the engine, checked over all interleavings and all stale values that
//! the memory model allows: counters read while they are written, and arcs added by several threads.
//!
//! The protocol files themselves are compiled here, beside a `sync` of the model checker's types.

/// The model checker's atomics, with a step on one common counter before every operation.
///
/// loom (0.7.3) leaves out interleavings that its partial-order reduction takes for equal to others, and
/// it compares an operation with the last access to the same atomic alone. A thread's own load just
/// before its store, which is how counters with one writer are added to, hides the reader's load before
/// it; of the wrong protocols at the end of the first part none was found. The common step makes every
/// operation depend on the one before. It is Relaxed, so it orders nothing in the model.
mod sync {
    pub(crate) use loom::sync::atomic::Ordering;

    loom::lazy_static! {
        static ref STEP: loom::sync::atomic::AtomicU32 = loom::sync::atomic::AtomicU32::new(0);
    }

    /// To be called first in every model, by its main thread: so that making the counter orders nothing.
    pub(crate) fn step() {
        STEP.fetch_add(1, Ordering::Relaxed);
    }

    macro_rules! stepping {
        ($name:ident, $value:ty) => {
            pub(crate) struct $name(loom::sync::atomic::$name);

            #[allow(dead_code, reason = "each width needs its own part")]
            impl $name {
                pub(crate) fn new(value: $value) -> Self {
                    Self(loom::sync::atomic::$name::new(value))
                }

                pub(crate) fn load(&self, order: Ordering) -> $value {
                    step();
                    self.0.load(order)
                }

                pub(crate) fn store(&self, value: $value, order: Ordering) {
                    step();
                    self.0.store(value, order);
                }

                pub(crate) fn fetch_add(&self, value: $value, order: Ordering) -> $value {
                    step();
                    self.0.fetch_add(value, order)
                }

                pub(crate) fn compare_exchange(
                    &self,
                    current: $value,
                    new: $value,
                    success: Ordering,
                    failure: Ordering,
                ) -> Result<$value, $value> {
                    step();
                    self.0.compare_exchange(current, new, success, failure)
                }

                /// As std's: a load, then swaps until one succeeds.
                pub(crate) fn fetch_update(
                    &self,
                    success: Ordering,
                    failure: Ordering,
                    mut update: impl FnMut($value) -> Option<$value>,
                ) -> Result<$value, $value> {
                    let mut seen = self.load(failure);
                    while let Some(new) = update(seen) {
                        match self.compare_exchange(seen, new, success, failure) {
                            Ok(_) => return Ok(seen),
                            Err(other) => seen = other,
                        }
                    }
                    Err(seen)
                }
            }
        };
    }

    stepping!(AtomicU32, u32);
    stepping!(AtomicU64, u64);
}

#[allow(dead_code, reason = "the program uses more of it than the models")]
#[path = "../heapprof/src/engine/arcs.rs"]
mod arcs;
#[allow(dead_code, reason = "the program uses more of it than the models")]
#[path = "../heapprof/src/engine/counter.rs"]
mod counter;
#[allow(dead_code, reason = "the program uses more of it than the models")]
#[path = "../heapprof/src/engine/places.rs"]
mod places;
#[allow(dead_code, reason = "the program uses more of it than the models")]
#[path = "../heapprof/src/engine/rule.rs"]
mod rule;

use loom::sync::Arc;
use loom::thread;

use arcs::{Arcs, Row};
use counter::Counter;
use places::Places;
use rule::Rule;
use sync::{AtomicU32, AtomicU64, Ordering};

/// Runs a model in every interleaving with at most `preemptions` switches away from a thread that could
/// go on; switches at the end of a thread are free.
fn explore(preemptions: usize, model: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.check(move || {
        sync::step();
        model();
    });
}

/// Threads that count, each with a shard of its own.
const WRITERS: usize = 2;
const BLOCK_BYTES: u64 = 8;
/// Enough for every wrong model below.
const PREEMPTIONS: usize = 3;

/// One stack's counters in every shard, and the program's own hand-over of a block.
struct Shards {
    allocated: [Counter; WRITERS],
    freed: [Counter; WRITERS],
    /// Whether a block has been handed to the next thread: Release and Acquire, as every way of handing
    /// an address to another thread is.
    handed: [AtomicU32; WRITERS],
}

impl Shards {
    fn new() -> Arc<Self> {
        Arc::new(Self {
            allocated: [(); WRITERS].map(|()| Counter::new()),
            freed: [(); WRITERS].map(|()| Counter::new()),
            handed: [(); WRITERS].map(|()| AtomicU32::new(0)),
        })
    }

    fn hand_over(&self, from: usize) {
        self.handed[from].store(1, Ordering::Release);
    }

    /// A model that waited would have endless interleavings: a block that has not come is not freed.
    fn has_come(&self, from: usize) -> bool {
        self.handed[from].load(Ordering::Acquire) == 1
    }

    fn sum(counters: &[Counter], read: fn(&Counter) -> u64) -> u64 {
        counters.iter().map(read).sum()
    }

    /// The residency as the program reads it: all freed, then all allocated.
    fn check(&self) {
        let freed = Self::sum(&self.freed, Counter::read_freed);
        let allocated = Self::sum(&self.allocated, Counter::read);
        assert!(freed <= allocated, "more freed than allocated: {freed} of {allocated}");
    }
}

#[test]
fn a_reader_never_sees_more_freed_than_allocated() {
    explore(PREEMPTIONS, || {
        let shards = Shards::new();
        let allocator = thread::spawn({
            let shards = Arc::clone(&shards);
            move || {
                shards.allocated[0].add(BLOCK_BYTES);
                shards.hand_over(0);
            }
        });
        let freer = thread::spawn({
            let shards = Arc::clone(&shards);
            move || {
                if shards.has_come(0) {
                    shards.freed[1].add_freed(BLOCK_BYTES);
                }
            }
        });
        shards.check();
        allocator.join().expect("no assertion there");
        freer.join().expect("no assertion there");
        shards.check();
    });
}

#[test]
fn a_block_handed_on_and_back_is_never_freed_before_it_is_allocated() {
    explore(PREEMPTIONS, || {
        let shards = Shards::new();
        // A allocates two blocks and hands one over; B frees it, allocates and hands back; A frees
        // both of what it then has.
        let first = thread::spawn({
            let shards = Arc::clone(&shards);
            move || {
                shards.allocated[0].add(BLOCK_BYTES);
                shards.hand_over(0);
                if shards.has_come(1) {
                    shards.freed[0].add_freed(2 * BLOCK_BYTES);
                }
            }
        });
        let second = thread::spawn({
            let shards = Arc::clone(&shards);
            move || {
                if shards.has_come(0) {
                    shards.freed[1].add_freed(BLOCK_BYTES);
                    shards.allocated[1].add(2 * BLOCK_BYTES);
                    shards.hand_over(1);
                }
            }
        });
        shards.check();
        first.join().expect("no assertion there");
        second.join().expect("no assertion there");
        shards.check();
    });
}

#[test]
fn a_block_that_was_not_to_be_had_never_shows_as_freed() {
    explore(PREEMPTIONS, || {
        let shards = Shards::new();
        let allocator = thread::spawn({
            let shards = Arc::clone(&shards);
            move || {
                shards.allocated[0].add(BLOCK_BYTES);
                shards.hand_over(0);
                shards.allocated[0].add(100);
                shards.allocated[0].take_back(100);
            }
        });
        let freer = thread::spawn({
            let shards = Arc::clone(&shards);
            move || {
                if shards.has_come(0) {
                    shards.freed[1].add_freed(BLOCK_BYTES);
                }
            }
        });
        shards.check();
        allocator.join().expect("no assertion there");
        freer.join().expect("no assertion there");
        assert_eq!(Shards::sum(&shards.allocated, Counter::read), BLOCK_BYTES);
    });
}

#[test]
fn the_shared_shard_loses_nothing_and_keeps_the_order() {
    explore(2, || {
        let shards = Shards::new();
        let both = [0, 1].map(|thread| {
            let shards = Arc::clone(&shards);
            thread::spawn(move || {
                // Both write the same counters; each frees what the other hands over.
                shards.allocated[0].add_shared(BLOCK_BYTES);
                shards.hand_over(thread);
                let came = shards.has_come(1 - thread);
                if came {
                    shards.freed[0].add_shared(BLOCK_BYTES);
                }
                u64::from(came)
            })
        });
        shards.check();
        let came: u64 = both.into_iter().map(|thread| thread.join().expect("no assertion there")).sum();
        assert_eq!(Shards::sum(&shards.allocated, Counter::read), 2 * BLOCK_BYTES);
        assert_eq!(Shards::sum(&shards.freed, Counter::read_freed), came * BLOCK_BYTES);
    });
}

/// The first model with other ways to count a free and to read; each is wrong, and the checker finds it.
fn wrong(add_freed: fn(&Counter, u64), reader: fn(&Shards) -> (u64, u64)) {
    explore(PREEMPTIONS, move || {
        let shards = Shards::new();
        let allocator = thread::spawn({
            let shards = Arc::clone(&shards);
            move || {
                shards.allocated[0].add(BLOCK_BYTES);
                shards.hand_over(0);
            }
        });
        let freer = thread::spawn({
            let shards = Arc::clone(&shards);
            move || {
                if shards.has_come(0) {
                    add_freed(&shards.freed[1], BLOCK_BYTES);
                }
            }
        });
        let (freed, allocated) = reader(&shards);
        allocator.join().expect("no assertion there");
        freer.join().expect("no assertion there");
        assert!(freed <= allocated, "more freed than allocated: {freed} of {allocated}");
    });
}

#[test]
#[should_panic = "more freed than allocated"]
fn allocated_before_freed_would_be_wrong() {
    wrong(Counter::add_freed, |shards| {
        let allocated = Shards::sum(&shards.allocated, Counter::read);
        (Shards::sum(&shards.freed, Counter::read_freed), allocated)
    });
}

#[test]
#[should_panic = "more freed than allocated"]
fn shard_by_shard_would_be_wrong() {
    wrong(Counter::add_freed, |shards| {
        let of = |shard: usize| {
            let freed = shards.freed[shard].read_freed();
            (freed, shards.allocated[shard].read())
        };
        let (first, second) = (of(0), of(1));
        (first.0 + second.0, first.1 + second.1)
    });
}

#[test]
#[should_panic = "more freed than allocated"]
fn a_free_without_release_would_be_wrong() {
    wrong(Counter::add, |shards| {
        let freed = Shards::sum(&shards.freed, Counter::read_freed);
        (freed, Shards::sum(&shards.allocated, Counter::read))
    });
}

#[test]
#[should_panic = "more freed than allocated"]
fn reading_freed_without_acquire_would_be_wrong() {
    wrong(Counter::add_freed, |shards| {
        let freed = Shards::sum(&shards.freed, Counter::read);
        (freed, Shards::sum(&shards.allocated, Counter::read))
    });
}

/// The tables of the tree, as the program maps them.
struct Tables {
    rows: Vec<Row>,
    slots: Vec<AtomicU32>,
    next: AtomicU32,
    limit: u32,
}

/// The first number that the models hand out.
const FIRST: u32 = 1;
const PARENT: u32 = 9;

impl Tables {
    /// Hash slots for `stacks` stacks, by the program's rule.
    fn slot_count(stacks: u32) -> u32 {
        (2 * (FIRST + stacks)).next_power_of_two()
    }

    /// Room for `stacks` stacks.
    fn new(stacks: u32) -> Arc<Self> {
        let row = |_| Row { parent: AtomicU32::new(0), centre: AtomicU32::new(0) };
        Arc::new(Self {
            rows: (0..FIRST + stacks).map(row).collect(),
            slots: (0..Self::slot_count(stacks)).map(|_| AtomicU32::new(0)).collect(),
            next: AtomicU32::new(FIRST),
            limit: FIRST + stacks,
        })
    }

    fn arcs(&self) -> Arcs<'_> {
        Arcs { rows: &self.rows, slots: &self.slots, next: &self.next, limit: self.limit }
    }

    /// Adds an arc and checks that the row found is whole.
    fn child(&self, centre: u32) -> Option<u32> {
        let number = self.arcs().child(PARENT, centre)?;
        assert!((FIRST..self.limit).contains(&number), "number {number} is beyond the limit");
        let row = &self.rows[number as usize];
        let is = (row.parent.load(Ordering::Relaxed), row.centre.load(Ordering::Relaxed));
        assert_eq!(is, (PARENT, centre), "row {number} is not whole");
        Some(number)
    }

    /// No stack is in two slots, no arc has two stacks, no number is beyond the limit.
    fn check(&self) {
        let numbers: Vec<u32> = self
            .slots
            .iter()
            .map(|slot| slot.load(Ordering::Acquire))
            .filter(|&number| number != 0)
            .collect();
        let centre = |&number: &u32| self.rows[number as usize].centre.load(Ordering::Relaxed);
        for (index, number) in numbers.iter().enumerate() {
            assert!(!numbers[..index].contains(number), "stack {number} is in two slots");
            let twins = numbers.iter().filter(|other| centre(other) == centre(number)).count();
            assert_eq!(twins, 1, "centre {} has {twins} stacks", centre(number));
        }
        assert!(self.next.load(Ordering::Relaxed) <= self.limit, "more stacks than the limit");
    }
}

/// Runs `work` on two threads and the model's own, with room for `stacks`; returns what each found.
fn on_three(stacks: u32, centres: [u32; 3], check: fn(&Tables, [Option<u32>; 3])) {
    explore(2, move || {
        let tables = Tables::new(stacks);
        let [first, second] = [centres[0], centres[1]].map(|centre| {
            let tables = Arc::clone(&tables);
            thread::spawn(move || tables.child(centre))
        });
        let third = tables.child(centres[2]);
        let found = [first.join().expect("no row is torn"), second.join().expect("no row is torn"), third];
        tables.check();
        check(&tables, found);
    });
}

#[test]
fn threads_that_add_the_same_arc_get_the_same_stack() {
    // Two the same, one other: one stack each, and at most one hole.
    on_three(3, [1, 1, 2], |tables, found| {
        assert!(found.iter().all(Option::is_some), "there was room: {found:?}");
        assert_eq!(found[0], found[1], "one arc, one stack");
        assert_ne!(found[0], found[2], "two arcs, two stacks");
        assert_eq!([1, 1, 2].map(|centre| tables.child(centre)), found, "the numbers stay");
    });
}

#[test]
fn arcs_whose_slots_collide_stay_apart() {
    // Twice as many slots as numbers are few: among a handful of centres some share their first slot.
    let start =
        |centre: u32| (u64::from(PARENT) << 32 | u64::from(centre)).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32;
    let slots = u64::from(Tables::slot_count(3));
    let twin = (2..).find(|&centre| start(centre) % slots == start(1) % slots).expect("there are few slots");
    explore(2, move || {
        let tables = Tables::new(3);
        let other = thread::spawn({
            let tables = Arc::clone(&tables);
            move || (tables.child(twin), tables.child(1))
        });
        let (one, then) = (tables.child(1), tables.child(twin));
        let (twins, ones) = other.join().expect("no row is torn");
        tables.check();
        assert_eq!((one, then), (ones, twins));
        assert!(one.is_some() && one != twins);
    });
}

#[test]
fn the_limit_holds_and_whoever_has_a_stack_keeps_it() {
    // Room for one: of two different arcs one gets it. A third that adds the first's arc gets the same,
    // or none if it looks while the only room is taken and not yet published.
    on_three(1, [1, 1, 2], |tables, found| {
        let [first, second, third] = found;
        assert!(found.iter().flatten().all(|&number| number == FIRST), "{found:?}");
        assert!(first.is_some() || second.is_some() || third.is_some(), "the room was not used");
        assert!(third.is_none() || (first.is_none() && second.is_none()), "one room for two: {found:?}");
        let again = [1, 2].map(|centre| tables.child(centre));
        assert_eq!(again, [first.or(second), third]);
    });
}

/// A rule, and followers who are seen once they are in the list.
struct Followers {
    rule: Rule,
    /// 1 once the follower of this place can be seen.
    seen: [AtomicU32; 2],
    /// What the follower of this place follows.
    followed: [AtomicU32; 2],
}

impl Followers {
    fn new() -> Arc<Self> {
        let words = || [AtomicU32::new(0), AtomicU32::new(0)];
        Arc::new(Self { rule: Rule::new(AtomicU32::new(0)), seen: words(), followed: words() })
    }

    fn come(&self, place: usize) {
        self.seen[place].store(1, Ordering::Release);
        self.rule.follow(|rule| self.followed[place].store(rule, Ordering::Relaxed));
    }

    fn change(&self, add: u32) {
        let tell = |rule| {
            for (seen, followed) in self.seen.iter().zip(&self.followed) {
                if seen.load(Ordering::Acquire) == 1 {
                    followed.store(rule, Ordering::Relaxed);
                }
            }
        };
        self.rule.change(|rule| rule | add, tell);
    }
}

#[test]
fn whoever_comes_while_the_rule_changes_follows_the_last_one() {
    explore(3, || {
        let followers = Followers::new();
        let coming = thread::spawn({
            let followers = Arc::clone(&followers);
            move || followers.come(0)
        });
        followers.change(1);
        coming.join().expect("comes");
        assert_eq!(followers.followed[0].load(Ordering::Relaxed), 1);
    });
}

#[test]
fn of_two_who_change_the_rule_the_last_one_is_followed() {
    explore(2, || {
        let followers = Followers::new();
        followers.come(0);
        let changing = thread::spawn({
            let followers = Arc::clone(&followers);
            move || followers.change(2)
        });
        followers.change(1);
        changing.join().expect("changes");
        assert_eq!(followers.followed[0].load(Ordering::Relaxed), 3);
    });
}

#[test]
fn an_address_has_one_number_and_no_two_share_one() {
    explore(3, || {
        let table = Arc::new(([(); 4].map(|()| AtomicU64::new(0)), AtomicU32::new(0)));
        let number = |table: &([AtomicU64; 4], AtomicU32), address| {
            Places { slots: &table.0, used: &table.1 }.number(address)
        };
        let other = thread::spawn({
            let table = Arc::clone(&table);
            move || [number(&table, 7), number(&table, 9)]
        });
        let [nine, seven] = [number(&table, 9), number(&table, 7)];
        let [other_seven, other_nine] = other.join().expect("numbers");
        assert_eq!((seven, nine), (other_seven, other_nine));
        assert!(seven.is_some() && nine.is_some() && seven != nine);
        let places = Places { slots: &table.0, used: &table.1 };
        assert_eq!(places.address(seven.unwrap_or_default()), Some(7));
    });
}
