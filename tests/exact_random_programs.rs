//! Random programs on eight threads against a naive model: whatever is allocated, resized, freed,
//! entered, left and handed over, every stack's figures and the total are exact when all rest, and so
//! is every band of the samples taken then.
//!
//! Its own `main`, so that the total is the programs' alone. `EXACT_SEED=n` runs one seed.

use std::collections::HashMap;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Barrier, Mutex, MutexGuard};
use std::time::Duration;

mod exact_common;
use exact_common::{ALIGNS, Block, Figures, Method, Random};

#[global_allocator]
static ALLOC: heapprof::HeapProf = heapprof::HeapProf::new().armed();

const THREADS: usize = 8;
const ROUNDS: usize = 20;
const STEPS_PER_ROUND: usize = 1_500;
const SEEDS: std::ops::RangeInclusive<u64> = 1..=6;
/// Blocks that a thread can hold, and scopes that it can be in.
const SLOTS: usize = 64;
const SCOPES: usize = 24;

/// A cost centre by name, and the way into it.
type Centre = (&'static str, fn() -> heapprof::Scope);

const CENTRES: [Centre; 6] = [
    ("random_a", || heapprof::cost_centre!("random_a")),
    ("random_b", || heapprof::cost_centre!("random_b")),
    ("random_c", || heapprof::cost_centre!("random_c")),
    ("random_d", || heapprof::cost_centre!("random_d")),
    ("random_e", || heapprof::cost_centre!("random_e")),
    ("random_f", || heapprof::cost_centre!("random_f")),
];

/// Every stack that the centres can form, by GHC's rule, numbered; number 0 is MAIN. Made before the
/// programs run, so that the model allocates nothing while they do.
struct Model {
    numbers: HashMap<Vec<&'static str>, usize>,
    /// The stack that each centre leads to from each stack.
    pushed: Vec<[usize; CENTRES.len()]>,
}

/// The rule: a centre that is on the stack already truncates the stack to it.
fn push(stack: &[&'static str], centre: &'static str) -> Vec<&'static str> {
    match stack.iter().position(|&on| on == centre) {
        Some(depth) => stack[..=depth].to_vec(),
        None => [stack, &[centre]].concat(),
    }
}

impl Model {
    fn new() -> Self {
        let mut stacks: Vec<Vec<&'static str>> = vec![Vec::new()];
        let mut numbers = HashMap::from([(Vec::new(), 0)]);
        let mut pushed = Vec::new();
        while let Some(stack) = stacks.get(pushed.len()).cloned() {
            pushed.push(CENTRES.map(|(centre, _)| {
                let child = push(&stack, centre);
                *numbers.entry(child.clone()).or_insert_with(|| {
                    stacks.push(child);
                    stacks.len() - 1
                })
            }));
        }
        Self { numbers, pushed }
    }

    fn stacks(&self) -> usize {
        self.pushed.len()
    }
}

/// A block and, in the model's view, the stack whose it is.
struct Held {
    block: Block,
    owner: usize,
}

/// What a thread shows when it rests.
struct Shown {
    slots: Vec<Option<Held>>,
    /// What the thread has done, by stack; live figures are below zero where it freed others' blocks.
    account: Vec<Figures>,
}

/// One thread of a random program.
struct Worker {
    model: Arc<Model>,
    random: Random,
    scopes: Vec<(heapprof::Scope, usize)>,
    current: usize,
    inbox: Receiver<Held>,
    outboxes: Vec<SyncSender<Held>>,
}

impl Worker {
    fn step(&mut self, shown: &mut Shown) {
        let slot = self.random.below(SLOTS);
        match (self.random.below(12), shown.slots[slot].take()) {
            (0..=2, held) => {
                shown.slots[slot] = held;
                self.enter_or_leave(shown);
            }
            (3, held) => {
                shown.slots[slot] = held;
                self.receive(shown);
            }
            (_, None) => shown.slots[slot] = Some(self.allocate(shown)),
            (4..=6, Some(held)) => shown.slots[slot] = Some(self.resize(shown, held)),
            (7..=8, Some(held)) => {
                let receiver = self.random.below(THREADS);
                // A full inbox: the block stays.
                shown.slots[slot] =
                    self.outboxes[receiver].try_send(held).err().map(|refused| match refused {
                        std::sync::mpsc::TrySendError::Full(held) => held,
                        std::sync::mpsc::TrySendError::Disconnected(held) => held,
                    });
            }
            (_, Some(held)) => free(shown, held),
        }
    }

    fn enter_or_leave(&mut self, shown: &mut Shown) {
        if self.scopes.len() == SCOPES || self.random.below(20) < 9 {
            if let Some((scope, before)) = self.scopes.pop() {
                drop(scope);
                self.current = before;
            }
            return;
        }
        let centre = self.random.below(CENTRES.len());
        self.scopes.push(((CENTRES[centre].1)(), self.current));
        self.current = self.model.pushed[self.current][centre];
        shown.account[self.current].entries += 1;
    }

    fn size(&mut self) -> usize {
        let bits = [3, 5, 7, 9, 11, 16][self.random.below(6).min(self.random.below(7))];
        1 + self.random.below(1 << bits)
    }

    fn allocate(&mut self, shown: &mut Shown) -> Held {
        let (size, align) = (self.size(), self.random.pick(&ALIGNS));
        let method = self.random.pick(&[Method::Alloc, Method::AllocZeroed]);
        let block = Block::new(method, size, align);
        shown.account[self.current].allocate(size);
        Held { block, owner: self.current }
    }

    /// Growing makes a block the grower's; shrinking leaves it.
    fn resize(&mut self, shown: &mut Shown, mut held: Held) -> Held {
        let (old_size, new_size) = (held.block.size(), self.size());
        held.block.resize(new_size);
        let (by, owner) = (self.current, held.owner);
        if new_size <= old_size {
            shown.account[owner].shrink(old_size - new_size);
        } else if owner == by {
            shown.account[owner].grow(new_size - old_size);
        } else {
            shown.account[owner].free(old_size);
            shown.account[by].allocate(new_size);
            held.owner = by;
        }
        held
    }

    fn receive(&mut self, shown: &mut Shown) {
        if let Some(free) = shown.slots.iter_mut().find(|slot| slot.is_none()) {
            *free = self.inbox.try_recv().ok();
        }
    }

    /// Takes in all that others have handed over, freeing where there is no slot.
    fn drain(&mut self, shown: &mut Shown) {
        while let Ok(held) = self.inbox.try_recv() {
            match shown.slots.iter_mut().find(|slot| slot.is_none()) {
                Some(slot) => *slot = Some(held),
                None => free(shown, held),
            }
        }
    }
}

fn free(shown: &mut Shown, held: Held) {
    shown.account[held.owner].free(held.block.size());
    held.block.free();
}

/// A thread's life: rounds of steps, resting after each until it has been looked at.
fn run(mut worker: Worker, shown: &Mutex<Shown>, barrier: &Barrier) {
    for _ in 0..ROUNDS {
        let mut mine = lock(shown);
        for _ in 0..STEPS_PER_ROUND {
            worker.step(&mut mine);
        }
        barrier.wait();
        worker.drain(&mut mine);
        drop(mine);
        barrier.wait();
        barrier.wait();
    }
    while worker.scopes.pop().is_some() {}
    let mut mine = lock(shown);
    for slot in 0..SLOTS {
        if let Some(held) = mine.slots[slot].take() {
            free(&mut mine, held);
        }
    }
}

fn lock(shown: &Mutex<Shown>) -> MutexGuard<'_, Shown> {
    shown.lock().expect("a failed thread ends the process")
}

/// What the model says: by stack, from the threads' accounts.
fn wanted(model: &Model, carried: &[Figures], all_shown: &[Arc<Mutex<Shown>>]) -> Vec<Figures> {
    let mut sums = carried.to_vec();
    for shown in all_shown {
        for (sum, account) in sums.iter_mut().zip(&lock(shown).account) {
            *sum = sum.plus(*account);
        }
    }
    assert_eq!(sums.len(), model.stacks());
    sums
}

/// The same for live figures in the most naive way: a map from block to owner.
fn check_blocks(want: &[Figures], all_shown: &[Arc<Mutex<Shown>>]) {
    let guards: Vec<_> = all_shown.iter().map(|shown| lock(shown)).collect();
    let held = || guards.iter().flat_map(|shown| shown.slots.iter().flatten());
    exact_common::check_apart(held().map(|held| &held.block));
    let by_block: HashMap<usize, (usize, usize)> =
        held().map(|held| (held.block.start(), (held.block.size(), held.owner))).collect();
    let mut live = vec![(0, 0); want.len()];
    for (size, owner) in by_block.values() {
        live[*owner].0 += *size as u64;
        live[*owner].1 += 1;
    }
    for (stack, (live, want)) in live.iter().zip(want).enumerate() {
        assert_eq!(
            *live,
            (want.live_bytes, want.live_blocks),
            "the model disagrees with itself, stack {stack}"
        );
    }
}

/// Compares every band and the total. MAIN also holds what the test itself does: its live figures are
/// compared against those at the beginning.
fn check_stacks(model: &Model, want: &[Figures], main_before: Figures) -> usize {
    let total = heapprof::stats().expect("the allocator is armed");
    let stacks = heapprof::stacks();
    let mut met = vec![false; want.len()];
    for stack in &stacks {
        let mut is = Figures::from(stack);
        assert!(!is.has_wrapped(), "{stack:?}");
        if ["OTHER", "BEFORE_PROFILE", "EXIT", NOTES].contains(&stack.centre()) {
            continue;
        }
        let path: Vec<&str> = stack.centres.iter().rev().copied().collect();
        let number = model.numbers.get(&path).copied().unwrap_or_else(|| panic!("no such stack: {path:?}"));
        assert!(!std::mem::replace(&mut met[number], true), "{path:?} is there twice");
        if number == 0 {
            is = Figures {
                live_bytes: is.live_bytes - main_before.live_bytes,
                live_blocks: is.live_blocks - main_before.live_blocks,
                ..want[0]
            };
        }
        assert_eq!(is, want[number], "{path:?}");
    }
    for (number, met) in met.iter().enumerate() {
        assert!(
            *met || want[number] == Figures::default(),
            "stack {number} has no figures: {:?}",
            want[number]
        );
    }
    let sum = stacks.iter().map(Figures::from).fold(Figures::default(), Figures::plus);
    let total_of_stacks = (sum.live_bytes, sum.live_blocks, sum.allocated_bytes, sum.allocations);
    assert_eq!(
        (total.live_bytes, total.live_blocks, total.allocated_bytes, total.allocations),
        total_of_stacks,
        "the total is the sum of the stacks"
    );
    stacks.len()
}

/// The stack under which the test keeps its notes.
const NOTES: &str = "notes_of_the_test";

/// Live bytes by stack number at every mark.
type Notes = Vec<HashMap<u32, u64>>;

/// Takes a sample behind a mark, and notes what must be in it.
fn sample(notes: &mut Notes) {
    heapprof::cost_centre!("notes_of_the_test" => {
        let ours = |stack: &heapprof::StackStats| stack.centre().starts_with("random_");
        let stacks = heapprof::stacks();
        notes.push(stacks.into_iter().filter(ours).map(|stack| (stack.id, stack.live_bytes)).collect());
    });
    heapprof::mark().expect("a profile runs");
    heapprof::sample_now().expect("the folder is writable");
}

/// Compares every band of the sample behind every mark.
fn check_samples(profile: &heapprof::hp::Profile, notes: &Notes) {
    let samples = exact_common::samples_at_marks(profile);
    assert_eq!(samples.len(), notes.len());
    let mut values = 0;
    for band in &profile.bands {
        let name = String::from_utf8_lossy(&band.name);
        let Some(id) = name.strip_prefix('(').filter(|rest| rest.contains(")random_")) else {
            continue;
        };
        let id: u32 = id.split(')').next().and_then(|id| id.parse().ok()).expect("a stack's number");
        for (&sample, note) in samples.iter().zip(notes) {
            let want = note.get(&id).copied().unwrap_or(0);
            assert_eq!(band.value(sample), want, "{name}, at {} s", profile.times_s[sample]);
            values += 1;
        }
    }
    let live_somewhere = notes.iter().flatten().filter(|(_, bytes)| **bytes > 0).map(|(id, _)| id);
    let live_somewhere: std::collections::HashSet<_> = live_somewhere.collect();
    assert!(values >= live_somewhere.len() * notes.len(), "a band is missing");
    println!("{} samples at rest, {values} values in them: exact", notes.len());
}

/// What MAIN holds that is not the programs'.
fn main_besides(programs: Figures) -> Figures {
    let main = exact_common::figures(&[]);
    Figures {
        live_bytes: main.live_bytes - programs.live_bytes,
        live_blocks: main.live_blocks - programs.live_blocks,
        ..Figures::default()
    }
}

/// Makes the threads' states before the first of them runs.
fn workers(model: &Arc<Model>, seed: u64) -> (Vec<Worker>, Vec<Arc<Mutex<Shown>>>) {
    let (outboxes, inboxes): (Vec<_>, Vec<_>) = (0..THREADS).map(|_| sync_channel(32)).unzip();
    let worker = |(thread, inbox)| Worker {
        model: Arc::clone(model),
        random: Random::new(seed * 1_000 + thread as u64),
        scopes: Vec::with_capacity(SCOPES),
        current: 0,
        inbox,
        outboxes: outboxes.clone(),
    };
    let shown = || Shown {
        slots: (0..SLOTS).map(|_| None).collect(),
        account: vec![Figures::default(); model.stacks()],
    };
    let workers = inboxes.into_iter().enumerate().map(worker).collect();
    (workers, (0..THREADS).map(|_| Arc::new(Mutex::new(shown()))).collect())
}

/// Runs one seed's program; returns the accounts with this program's added.
fn run_program(model: &Arc<Model>, carried: &[Figures], seed: u64, notes: &mut Notes) -> Vec<Figures> {
    let (workers, all_shown) = workers(model, seed);
    let barrier = Arc::new(Barrier::new(THREADS + 1));
    let threads: Vec<_> = workers
        .into_iter()
        .zip(all_shown.clone())
        .map(|(worker, shown)| {
            let barrier = Arc::clone(&barrier);
            // Send: a Scope belongs to its thread, and there is none yet.
            let worker = Unstarted(worker);
            std::thread::spawn(move || run(worker.start(), &shown, &barrier))
        })
        .collect();
    let mut main_before = None;
    for round in 0..ROUNDS {
        barrier.wait();
        barrier.wait();
        let want = wanted(model, carried, &all_shown);
        check_blocks(&want, &all_shown);
        let main_before = *main_before.get_or_insert_with(|| main_besides(want[0]));
        let stacks = check_stacks(model, &want, main_before);
        sample(notes);
        if round == ROUNDS - 1 {
            let allocations: u64 = want.iter().map(|figures| figures.allocations).sum();
            println!("seed {seed}: {stacks} stacks, {allocations} allocations, exact after every round");
        }
        barrier.wait();
    }
    for thread in threads {
        thread.join().expect("a failed thread ends the process");
    }
    wanted(model, carried, &all_shown)
}

/// A worker that has entered nothing, so that it may move to its thread.
struct Unstarted(Worker);

// SAFETY: everything in a worker is Send but the scopes, of which there are none before `start`.
unsafe impl Send for Unstarted {}

impl Unstarted {
    fn start(self) -> Worker {
        assert!(self.0.scopes.is_empty());
        self.0
    }
}

fn main() {
    std::panic::set_hook(Box::new(|failure| {
        eprintln!("{failure}");
        // The other threads wait at the barrier for ever.
        std::process::exit(101);
    }));
    exact_common::prepare();
    let profile = exact_common::profile_every(Duration::from_millis(50), "exact_random_programs");
    let model = Arc::new(Model::new());
    let seeds = match std::env::var("EXACT_SEED").ok().and_then(|seed| seed.parse().ok()) {
        Some(seed) => seed..=seed,
        None => SEEDS,
    };
    let mut notes = Notes::new();
    let mut carried = vec![Figures::default(); model.stacks()];
    for seed in seeds {
        println!("seed {seed}");
        carried = run_program(&model, &carried, seed, &mut notes);
        check_stacks(&model, &carried, main_besides(carried[0]));
        let empty = |figures: &Figures| (figures.live_bytes, figures.live_blocks) == (0, 0);
        assert!(carried.iter().all(empty), "everything was freed");
    }
    let summary = profile.stop().expect("the folder is writable");
    check_samples(&exact_common::read_hp(&summary), &notes);
}
