//! Profiles of a sample of the blocks: figures are estimates, and lie as far from the truth as chance puts
//! them, and no further.
//!
//! A block of `s` bytes is chosen with the probability `p = 1 - exp(-s / R)` and stands for `s / p` bytes.
//! So the estimate of a block has the mean `s` and the variance `s * s * (1 - p) / p`; blocks are chosen
//! independently of each other, so variances add up. Every bound here is five standard deviations: a right
//! program fails one of the checks in half a million runs of it by chance. Sizes of one class (four to each
//! doubling) are weighed by their mean, which is right to a thousandth; that is added to the bounds.
//!
//! `weights_that_are_wrong_would_be_seen` shows by a simulation that these bounds tell the right weight
//! from those that one could think of.
//!
//! With `--cfg unframed` this is the guest alone: `unframed_common` builds it without frame pointers.

#![allow(unexpected_cfgs, reason = "see above")]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::hint::black_box;

use heapprof::cost_centre;

#[cfg(not(unframed))]
mod common;
#[cfg(not(unframed))]
mod unframed_common;

#[global_allocator]
static ALLOC: heapprof::HeapProf = heapprof::HeapProf::new();

/// Mean bytes between two chosen blocks in all runs that count no others.
const RATE: f64 = 65_536.0;
/// Share of a figure by which the mean size of a class may mislead.
const CLASS_BIAS: f64 = 0.001;
/// Standard deviations of a bound.
const SIGMAS: f64 = 5.0;

/// What a number of blocks is to be estimated as: mean and variance, of bytes and of blocks.
#[derive(Clone, Copy, Default)]
struct Law {
    bytes: f64,
    bytes_variance: f64,
    blocks: f64,
    blocks_variance: f64,
}

impl Law {
    fn add(&mut self, size: usize) {
        let size = size as f64;
        let chance = -(-size / RATE).exp_m1();
        self.bytes += size;
        self.bytes_variance += size * size * (1.0 - chance) / chance;
        self.blocks += 1.0;
        self.blocks_variance += (1.0 - chance) / chance;
    }

    fn of(sizes: &[usize]) -> Self {
        let mut law = Self::default();
        sizes.iter().for_each(|&size| law.add(size));
        law
    }

    fn bytes_bound(&self) -> f64 {
        SIGMAS * self.bytes_variance.sqrt() + CLASS_BIAS * self.bytes + 1.0
    }

    fn blocks_bound(&self) -> f64 {
        SIGMAS * self.blocks_variance.sqrt() + CLASS_BIAS * self.blocks + 1.0
    }

    /// That an estimate is within the bounds, and that these say anything.
    #[track_caller]
    fn holds(&self, bytes: u64, blocks: u64, what: &str) {
        let (bytes_off, blocks_off) = (bytes as f64 - self.bytes, blocks as f64 - self.blocks);
        println!(
            "{what}: {bytes_off:+.0} of {:.0} bytes (bound {:.0}), {blocks_off:+.0} of {:.0} blocks (bound {:.0})",
            self.bytes,
            self.bytes_bound(),
            self.blocks,
            self.blocks_bound()
        );
        assert!(bytes_off.abs() <= self.bytes_bound(), "{what}: {bytes} bytes, not {}", self.bytes);
        assert!(blocks_off.abs() <= self.blocks_bound(), "{what}: {blocks} blocks, not {}", self.blocks);
        assert!(self.bytes_bound() < 0.2 * self.bytes, "{what}: so few blocks say nothing");
    }
}

// ---- roles -------------------------------------------------------------------------------------

fn random(state: &mut u64) -> usize {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    (*state >> 33) as usize
}

/// Sizes of blocks by what a test calls them.
fn sizes(what: &str) -> Vec<usize> {
    let mut state = 0x9E37_79B9_7F4A_7C15;
    match what {
        "small" => (0..1_500_000).map(|_| 1 + random(&mut state) % 200).collect(),
        // About as large as the rate: where the weight matters most.
        "middle" => (0..6_000).map(|_| 20_000 + random(&mut state) % 100_000).collect(),
        "large" => (0..300).map(|_| 200_000 + random(&mut state) % 2_000_000).collect(),
        _ => {
            (0..60_000).map(|number| [16, 300, 5_000, 40_000][number % 4] + random(&mut state) % 64).collect()
        }
    }
}

/// The figures of a cost centre: live bytes and blocks, allocated bytes and allocations.
fn figures(centre: &str) -> [u64; 4] {
    let stacks = heapprof::stacks();
    let found = stacks.iter().filter(|stack| stack.centre() == centre);
    found.fold([0; 4], |sum, stack| {
        let figures = [stack.live_bytes, stack.live_blocks, stack.allocated_bytes, stack.allocations];
        std::array::from_fn(|at| sum[at] + figures[at])
    })
}

/// Allocates blocks of these sizes, and hands them back in a list that is no block of the centre.
fn blocks(sizes: &[usize]) -> Vec<Vec<u8>> {
    let mut blocks = Vec::with_capacity(sizes.len());
    for &size in sizes {
        let block = cost_centre!("blocks" => Vec::with_capacity(size));
        blocks.push(black_box(block));
    }
    blocks
}

/// Blocks of the given kind live, half of them freed, all of them freed, by whichever thread.
fn holds(args: &[String]) {
    let what = &*args[0];
    let sizes = sizes(what);
    let all = Law::of(&sizes);
    let mut held = blocks(&sizes);
    let [live, live_blocks, allocated, allocations] = figures("blocks");
    all.holds(live, live_blocks, &format!("{what}, live"));
    all.holds(allocated, allocations, &format!("{what}, allocated"));
    assert_eq!((live, live_blocks), (allocated, allocations), "nothing was freed");
    let stats = heapprof::stats().unwrap();
    let others: u64 = ["MAIN"].iter().map(|centre| figures(centre)[0]).sum();
    assert_eq!(stats.live_bytes, live + others, "the total is the sum of the stacks");
    heapprof::mark().unwrap();
    heapprof::sample_now().unwrap();
    let half = held.split_off(sizes.len() / 2);
    std::thread::spawn(move || drop(half)).join().unwrap();
    let rest = Law::of(&sizes[..sizes.len() / 2]);
    let [live, live_blocks, ..] = figures("blocks");
    rest.holds(live, live_blocks, &format!("{what}, half freed by another thread"));
    drop(held);
    let [live, live_blocks, allocated_after, allocations_after] = figures("blocks");
    assert_eq!((live, live_blocks), (0, 0), "{what}: all was freed");
    assert_eq!((allocated_after, allocations_after), (allocated, allocations), "frees allocate nothing");
    heapprof::mark().unwrap();
    heapprof::sample_now().unwrap();
}

/// Lists that grow by pushing: at any time, each is as likely in the sample as one of its present size
/// made at once.
fn grows(_: &[String]) {
    let lists = 12_000;
    let mut held: Vec<Vec<u64>> = Vec::with_capacity(lists);
    held.resize_with(lists, Vec::new);
    for length in [5, 300, 4_000] {
        for list in &mut held {
            let _grown = cost_centre!("grown");
            while list.len() < length {
                list.push(black_box(1));
            }
        }
        let sizes: Vec<usize> = held.iter().map(|list| list.capacity() * 8).collect();
        let [live, blocks, ..] = figures("grown");
        if length > 5 {
            Law::of(&sizes).holds(live, blocks, &format!("grown to {length}"));
        }
    }
    for length in [2_000, 600] {
        for list in &mut held {
            let _shrunk = cost_centre!("shrunk");
            list.truncate(length);
            list.shrink_to_fit();
        }
        let sizes: Vec<usize> = held.iter().map(|list| list.capacity() * 8).collect();
        let [live, blocks, ..] = figures("grown");
        Law::of(&sizes).holds(live, blocks, &format!("shrunk to {length}"));
        assert_eq!(figures("shrunk")[0], 0, "what shrinks stays whose it was");
    }
    for list in &mut held {
        let _grown = cost_centre!("grown again");
        list.reserve_exact(3_000);
    }
    let sizes: Vec<usize> = held.iter().map(|list| list.capacity() * 8).collect();
    let [live, blocks, ..] = figures("grown again");
    Law::of(&sizes).holds(live, blocks, "grown again");
    // What was in the sample has moved, and of what was not some is chosen: nothing stays behind.
    assert_eq!(figures("grown")[0], 0, "what grows moves whole");
    drop(held);
    assert_eq!(["grown", "shrunk", "grown again"].map(|centre| figures(centre)[0]), [0; 3]);
}

/// Blocks of four threads of one name each, in two cost centres, of four sizes.
fn fills_bands(_: &[String]) {
    let (mut held, names) = (Vec::new(), ["one", "two", "three", "four"]);
    for (number, name) in names.into_iter().enumerate() {
        let work = move || {
            let mut blocks = Vec::with_capacity(15_000);
            for block in 0..15_000 {
                let size = 1_200 << number;
                blocks.push(black_box(if block % 2 == 0 {
                    cost_centre!("even" => Vec::<u8>::with_capacity(size))
                } else {
                    cost_centre!("odd" => Vec::<u8>::with_capacity(size))
                }));
            }
            blocks
        };
        held.push(std::thread::Builder::new().name(name.into()).spawn(work).unwrap().join().unwrap());
    }
    heapprof::mark().unwrap();
    heapprof::sample_now().unwrap();
    drop(held);
}

/// The call sites of an un-annotated program.
mod sites {
    use super::black_box;

    pub(super) const MANY: usize = 40_000;
    pub(super) const SIZES: [usize; 3] = [1_000, 3_000, 9_000];

    #[inline(never)]
    fn first() -> Vec<u8> {
        black_box(Vec::with_capacity(SIZES[0]))
    }

    #[inline(never)]
    fn second() -> Vec<u8> {
        black_box(Vec::with_capacity(SIZES[1]))
    }

    #[inline(never)]
    fn third() -> Vec<u8> {
        black_box(Vec::with_capacity(SIZES[2]))
    }

    /// Live blocks of all three call sites.
    pub(super) fn fill() -> Vec<Vec<u8>> {
        let mut held = Vec::with_capacity(3 * MANY);
        for _ in 0..MANY {
            held.extend([first(), second(), third()]);
        }
        held
    }
}

/// A program without cost centres. Prints its live bytes.
fn is_not_annotated(_: &[String]) {
    let held = sites::fill();
    let stats = heapprof::stats().unwrap();
    println!("live {}", stats.live_bytes);
    heapprof::mark().unwrap();
    heapprof::sample_now().unwrap();
    drop(held);
}

/// A program that enters a cost centre after it has allocated elsewhere.
fn is_annotated_late(_: &[String]) {
    let early = sites::fill();
    let late = blocks(&[1_000; 50]);
    heapprof::mark().unwrap();
    heapprof::sample_now().unwrap();
    drop((early, late));
}

#[cfg(unframed)]
fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match &*args[0] {
        "role=is_not_annotated" => is_not_annotated(&[]),
        "role=is_annotated_late" => is_annotated_late(&[]),
        "role=grows" => grows(&[]),
        "role=fills_bands" => fills_bands(&[]),
        _ => holds(&args[1..]),
    }
}

// ---- tests -------------------------------------------------------------------------------------

#[cfg(not(unframed))]
use tests::main;

#[cfg(not(unframed))]
mod tests {
    use std::collections::BTreeMap;
    use std::process::{Command, ExitCode};

    use heapprof::hp::{Profile, unescape_label};

    use super::common::guest::{Folder, Outcome};
    use super::common::harness::{self, named};
    use super::common::profile::{bytes_at, last_bytes, top_of, whole_hp};
    use super::unframed_common;
    use super::{
        Law, RATE, SIGMAS, fills_bands, grows, holds, is_annotated_late, is_not_annotated, random, sites,
        sizes,
    };

    /// Runs a role with one block in 64 KiB.
    fn sampled(role: &str, args: &[&str], breakdown: &str) -> (Folder, Outcome) {
        let folder = Folder::new();
        let mut guest = folder.guest(role).env("HEAPPROF_INTERVAL", "1").env("HEAPPROF_SAMPLE", "64k");
        guest = guest.env("HEAPPROF_BREAKDOWN", breakdown);
        guest.command.args(args);
        let outcome = guest.run().ended_with(0);
        (folder, outcome)
    }

    /// The number of the sample at a mark.
    fn marked(profile: &Profile, mark: usize) -> usize {
        profile.times_s.iter().position(|time_s| *time_s >= profile.marks_s[mark]).unwrap()
    }

    /// Live bytes by whole names at a mark.
    fn bands(profile: &Profile, mark: usize) -> BTreeMap<String, u64> {
        let sample = marked(profile, mark);
        let named = |band: &heapprof::hp::Band| {
            (unescape_label(&String::from_utf8_lossy(&band.name)).into_owned(), band.value(sample))
        };
        profile.bands.iter().map(named).filter(|(_, bytes)| *bytes > 0).collect()
    }

    fn total(profile: &Profile, mark: usize) -> u64 {
        bands(profile, mark).values().sum()
    }

    fn blocks_held_are_estimated_and_blocks_freed_are_gone() {
        for (what, breakdown) in
            [("small", "stack"), ("middle", "stack,size"), ("large", "arc,stack"), ("mixed", "all")]
        {
            let (folder, outcome) = sampled("holds", &[what], breakdown);
            println!("{}", outcome.text());
            let hp = whole_hp(&folder.file(if breakdown.starts_with("stack") || breakdown == "all" {
                "app.hp"
            } else {
                "app.stack.hp"
            }));
            assert_eq!(hp.header.job, "app (sampled every 65536 bytes)");
            let bytes: u64 =
                bands(&hp, 0).iter().filter(|(name, _)| name.contains("blocks")).map(|(_, b)| b).sum();
            let law = Law::of(&sizes(what));
            assert!((bytes as f64 - law.bytes).abs() <= law.bytes_bound(), "{what}: {bytes} in the file");
            assert_eq!(last_bytes(&hp, "blocks"), 0, "{what}");
            let after: u64 =
                bands(&hp, 1).iter().filter(|(name, _)| name.contains("blocks")).map(|(_, b)| b).sum();
            assert_eq!(after, 0, "{what}");
        }
    }

    fn blocks_that_grow_and_shrink_are_as_likely_as_others_of_their_size() {
        for breakdown in ["stack", "callstack,size,thread"] {
            let (_, outcome) = sampled("grows", &[], breakdown);
            println!("{}", outcome.text());
        }
    }

    fn every_band_is_estimated_and_all_breakdowns_agree() {
        let (folder, _) = sampled("fills_bands", &[], "stack,thread,size,type,birth");
        let of = |name: &str| whole_hp(&folder.file(name));
        let [by_stack, by_thread, by_size] = [of("app.hp"), of("app.thread.hp"), of("app.size.hp")];
        let totals = ["app.hp", "app.thread.hp", "app.size.hp", "app.type.hp", "app.birth.hp"].map(|name| {
            let hp = of(name);
            assert_eq!(hp.header.job, "app (sampled every 65536 bytes)", "{name}");
            total(&hp, 0)
        });
        assert_eq!(totals, [totals[0]; 5]);
        let law = |size: usize, count: usize| Law::of(&vec![size; count]);
        let check = |got: u64, law: Law, what: &str| {
            let off = got as f64 - law.bytes;
            assert!(off.abs() <= law.bytes_bound(), "{what}: {got}, not {}", law.bytes);
            assert!(law.bytes_bound() < 0.35 * law.bytes, "{what}: the bound says nothing");
        };
        for (number, name) in ["one", "two", "three", "four"].into_iter().enumerate() {
            // The list of its blocks is the thread's too.
            let mut law = law(1_200 << number, 15_000);
            law.add(15_000 * 24);
            check(bands(&by_thread, 0)[name], law, name);
        }
        for (number, name) in ["1025-2048", "2049-4096", "4097-8192", "8193-16384"].into_iter().enumerate() {
            // Some small ones of the program's are there too.
            let got = bands(&by_size, 0)[name];
            check(got, law(1_200 << number, 15_000), name);
        }
        for centre in ["even", "odd"] {
            let sizes: Vec<usize> = (0..4).flat_map(|number| vec![1_200 << number; 7_500]).collect();
            let sample = marked(&by_stack, 0);
            let of_centre = by_stack.bands.iter().filter(|band| top_of(&band.name) == centre);
            check(of_centre.map(|band| band.value(sample)).sum(), Law::of(&sizes), centre);
        }
    }

    /// Draws a sample by the textbook: a point of a Poisson process in each block, or none.
    fn drawn(sizes: &[usize], state: &mut u64, weight: impl Fn(f64, f64) -> f64) -> f64 {
        let one = |&size: &usize| {
            let size = size as f64;
            let chance = -(-size / RATE).exp_m1();
            let is_chosen = (random(state) as f64 + 0.5) / (1_u64 << 31) as f64 <= chance;
            if is_chosen { weight(size, chance) } else { 0.0 }
        };
        sizes.iter().map(one).sum()
    }

    fn weights_that_are_wrong_would_be_seen() {
        let mut state = 7;
        for what in ["small", "middle", "mixed"] {
            let sizes = sizes(what);
            let law = Law::of(&sizes);
            let mut off = |weight: fn(f64, f64) -> f64| (drawn(&sizes, &mut state, weight) - law.bytes).abs();
            assert!(off(|size, chance| size / chance) <= law.bytes_bound(), "{what}: the right weight");
            assert!(off(|size, _| size) > law.bytes_bound(), "{what}: no weight at all");
            if what != "small" {
                // For small blocks this is right too, to the tenth of a percent.
                assert!(off(|_, _| RATE) > law.bytes_bound(), "{what}: the rate as the weight of each");
                assert!(off(|size, _| size.max(RATE)) > law.bytes_bound(), "{what}: no less than the rate");
            }
        }
        // The standard deviation is the one that was derived, not just a bound: of many sums of equal law
        // as many are within one of it as there should be.
        let sizes = vec![30_000; 400];
        let law = Law::of(&sizes);
        let within = (0..1_000).filter(|_| {
            let sum = drawn(&sizes, &mut state, |size, chance| size / chance);
            (sum - law.bytes).abs() <= law.bytes_variance.sqrt()
        });
        let share = within.count() as f64 / 1_000.0;
        let bound = SIGMAS * (0.683_f64 * 0.317 / 1_000.0).sqrt();
        assert!((share - 0.683).abs() < bound + 0.02, "{share} within one standard deviation");
    }

    /// Runs a role in the program without frame pointers.
    fn unframed(folder: &Folder, role: &str, settings: &[(&str, &str)]) -> Outcome {
        let mut guest = folder.guest(role);
        let mut command = Command::new(unframed_common::build("exact_samples"));
        std::os::unix::process::CommandExt::arg0(&mut command, "app");
        command.arg(format!("role={role}")).current_dir(folder.out());
        for (variable, _) in std::env::vars_os() {
            if variable.to_string_lossy().starts_with("HEAPPROF") {
                command.env_remove(variable);
            }
        }
        guest.command = command;
        for (variable, value) in settings {
            guest = guest.env(variable, value);
        }
        guest.run().ended_with(0)
    }

    fn without_frame_pointers_totals_are_exact_and_call_sites_are_estimates() {
        let settings = [("HEAPPROF_INTERVAL", "1"), ("HEAPPROF_NAME_CHARS", "200")];
        let [by_site, by_stack] = [Folder::new(), Folder::new()];
        let sites_say = unframed(&by_site, "is_not_annotated", &settings).text();
        let stack = ("HEAPPROF_BREAKDOWN", "stack");
        let stack_says = unframed(&by_stack, "is_not_annotated", &[settings[0], settings[1], stack]).text();
        assert_eq!(sites_say, stack_says, "what the program says that it holds");
        let [sites_hp, stack_hp] = [&by_site, &by_stack].map(|folder| whole_hp(&folder.file("app.hp")));
        assert_eq!(sites_hp.header.job, "app (call sites sampled every 524288 bytes)");
        assert_eq!(stack_hp.header.job, "app");
        assert_eq!(total(&sites_hp, 0), total(&stack_hp, 0));
        let live: u64 = sites_say.trim_start_matches("live ").trim_end().parse().unwrap();
        let most: usize = sites::SIZES.iter().sum::<usize>() * sites::MANY + 24 * 3 * sites::MANY;
        assert!(live >= most as u64 && live < most as u64 + 20_000, "{live}, of which {most} are known");
        // Of N equal chances n are drawn: a share q has the standard deviation sqrt(q (1 - q) / n).
        let drawn = live as f64 / 524_288.0;
        let bands = bands(&sites_hp, 0);
        for (name, size) in ["first", "second", "third"].iter().zip(sites::SIZES) {
            let of_site =
                |(band, _): &(&String, &u64)| band.starts_with(&format!("exact_samples::sites::{name}/"));
            let bytes: u64 = bands.iter().filter(of_site).map(|(_, bytes)| bytes).sum();
            let share = (size * sites::MANY) as f64 / live as f64;
            let bound = SIGMAS * (share * (1.0 - share) / drawn).sqrt();
            let got = bytes as f64 / live as f64;
            assert!((got - share).abs() <= bound, "{name}: {got} of the total, not {share}: {bands:?}");
            println!("{name}: {got:.4} of the total, truly {share:.4}, bound {bound:.4}");
        }
    }

    /// Nothing is left of the sample once a cost centre is entered: the file is the one by stacks.
    fn without_frame_pointers_an_annotated_program_is_exact() {
        let [by_itself, by_stack] = [Folder::new(), Folder::new()];
        let interval = ("HEAPPROF_INTERVAL", "3600");
        unframed(&by_itself, "is_annotated_late", &[interval]);
        unframed(&by_stack, "is_annotated_late", &[interval, ("HEAPPROF_BREAKDOWN", "stack")]);
        let [itself, stack] = [&by_itself, &by_stack].map(|folder| whole_hp(&folder.file("app.hp")));
        assert_eq!(itself.header.job, "app");
        assert_eq!(bands(&itself, 0), bands(&stack, 0));
        assert_eq!(bytes_at(&itself, "blocks", marked(&itself, 0)), 50_000);
    }

    /// With frame pointers nothing is sampled unasked.
    fn with_frame_pointers_call_sites_are_exact() {
        let folder = Folder::new();
        let guest = folder.guest("is_not_annotated").env("HEAPPROF_INTERVAL", "1");
        guest.env("HEAPPROF_NAME_CHARS", "200").run().ended_with(0);
        let hp = whole_hp(&folder.file("app.hp"));
        assert_eq!(hp.header.job, "app");
        let bands = bands(&hp, 0);
        for (name, size) in ["first", "second", "third"].iter().zip(sites::SIZES) {
            let of_site =
                |(band, _): &(&String, &u64)| band.starts_with(&format!("exact_samples::sites::{name}/"));
            let bytes: u64 = bands.iter().filter(of_site).map(|(_, bytes)| bytes).sum();
            assert_eq!(bytes, (size * sites::MANY) as u64, "{name}: {bands:?}");
        }
    }

    pub(super) fn main() -> ExitCode {
        harness::main(
            named![holds, grows, fills_bands, is_not_annotated, is_annotated_late],
            named![
                blocks_held_are_estimated_and_blocks_freed_are_gone,
                blocks_that_grow_and_shrink_are_as_likely_as_others_of_their_size,
                every_band_is_estimated_and_all_breakdowns_agree,
                weights_that_are_wrong_would_be_seen,
                without_frame_pointers_an_annotated_program_is_exact,
                without_frame_pointers_totals_are_exact_and_call_sites_are_estimates,
                with_frame_pointers_call_sites_are_exact,
            ],
            2,
        )
    }
}
