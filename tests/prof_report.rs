//! The time and allocation report is GHC's: re-rendered real reports, a naive twin on random trees,
//! a foreign reader, and the extremes.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use heapprof::prof::{Centre, Report, Stack};

#[path = "prof_report/extremes.rs"]
mod extremes;
#[path = "prof_report/foreign_reader.rs"]
mod foreign_reader;
#[path = "prof_report/golden.rs"]
mod golden;
#[path = "prof_report/twin.rs"]
mod twin;

fn centre(label: &str, module: &str, src: &str) -> Centre {
    Centre { label: label.to_owned(), module: module.to_owned(), src: src.to_owned() }
}

/// A report of `centres` and `stacks` with an ordinary heading.
fn report(centres: Vec<Centre>, stacks: Vec<Stack>) -> Report {
    Report {
        program: "demo".to_owned(),
        date: "Mon Nov  3 16:23 2026".to_owned(),
        tick_us: 1000,
        processors: 1,
        centres,
        stacks,
        ..Report::default()
    }
}

/// The rows of both tables, without their heads.
fn tables(text: &str) -> (Vec<&str>, Vec<&str>) {
    let lines: Vec<&str> = text.lines().collect();
    let heads: Vec<usize> = (0..lines.len()).filter(|&at| lines[at].starts_with("COST CENTRE")).collect();
    assert_eq!(heads.len(), 2, "two tables in\n{text}");
    let top = &lines[heads[0] + 2..heads[1] - 3];
    (top.to_vec(), lines[heads[1] + 2..].to_vec())
}

/// Random numbers by xorshift: the same in every run.
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % end
    }

    fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    /// Often zero, often small, sometimes up to `end`.
    fn figure(&mut self, end: u64) -> u64 {
        match self.below(4) {
            0 | 1 => 0,
            2 => self.below(5),
            _ => self.below(end),
        }
    }
}

/// A random tree of up to 40 stacks below MAIN, some hidden, over a few centres with equal labels among them.
fn random_report(random: &mut Random) -> Report {
    let labels = ["a", "b", "parse", "größe", "<Vec<u8> as Trait>::f", "run"];
    let mut centres = vec![centre("MAIN", "MAIN", "<built-in>")];
    for number in 0..1 + random.below(8) {
        let label = labels[random.below(labels.len() as u64) as usize];
        let src = format!("src/m{}.rs:{number}", random.below(3));
        centres.push(centre(label, ["app", "app::deep"][random.below(2) as usize], &src));
    }
    let (most_ticks, most_bytes) = (1 + random.below(300), 1 + random.below(5_000_000_000));
    let mut stacks: Vec<Stack> = Vec::new();
    for index in 0..1 + random.below(40) as usize {
        stacks.push(Stack {
            id: 1 + index as u32 * 3,
            centre: if index == 0 { 0 } else { random.below(centres.len() as u64) as usize },
            parent: (index > 0).then(|| random.below(index as u64) as usize),
            entries: random.figure(20),
            ticks: random.figure(most_ticks),
            bytes: random.figure(most_bytes),
            hidden: index > 0 && random.chance(10),
        });
    }
    report(centres, stacks)
}
