//! Nothing at all, too much of everything, and facts that contradict each other.

use std::io::{self, Write};
use std::time::{Duration, Instant};

use heapprof::prof::{Cost, Level, Report, Stack};

use super::{centre, report, tables};

fn main_only(stack: Stack) -> Report {
    report(vec![centre("MAIN", "MAIN", "<built-in>")], vec![stack])
}

#[test]
fn an_idle_program_is_one_row_in_each_table() {
    let want = "\
\tMon Nov  3 16:23 2026 Time and Allocation Profiling Report  (Final)

\t   demo +RTS -RTS

\ttotal time  =        0.00 secs   (0 ticks @ 1000 us, 1 processor)
\ttotal alloc =           0 bytes  (excludes profiling overheads)

COST CENTRE MODULE SRC         %time %alloc

MAIN        MAIN   <built-in>    0.0    0.0


                                                 individual      inherited
COST CENTRE MODULE SRC        no.     entries  %time %alloc   %time %alloc

MAIN        MAIN   <built-in>   1           0    0.0    0.0     0.0    0.0
";
    assert_eq!(main_only(Stack { id: 1, ..Stack::default() }).render(), want);
    let nothing = report(Vec::new(), Vec::new()).render();
    assert_eq!(nothing, want.replace("<built-in>   1", "<built-in>   0"));
}

#[test]
fn the_example_in_the_manual_is_true() {
    let manual = include_str!("../../heapprof/src/prof.rs");
    let (_, example) = manual.split_once("two cost centres:\n//!\n//! ```text\n").unwrap();
    let (example, _) = example.split_once("//! ```").unwrap();
    let stack = |id: u32, entries, ticks, bytes| Stack {
        id,
        centre: id as usize - 1,
        parent: (id as usize).checked_sub(2),
        entries,
        ticks,
        bytes,
        hidden: false,
    };
    let centres = vec![
        centre("MAIN", "MAIN", "<built-in>"),
        centre("main", "app", "src/main.rs:3"),
        centre("parse", "app", "src/main.rs:7"),
    ];
    let mut report = report(centres, vec![stack(1, 0, 0, 0), stack(2, 1, 5, 0), stack(3, 5, 15, 4096)]);
    (report.program, report.rts_args) = ("nest".to_owned(), "-p".to_owned());
    let text = report.render().replace('\t', "    ");
    let lines = |line: &str| format!("//! {line}").trim_end().to_owned() + "\n";
    assert_eq!(text.lines().map(lines).collect::<String>(), example);
}

#[test]
fn the_heading_counts_time_per_processor() {
    let mut report = main_only(Stack { ticks: 4, bytes: 1_234_567, ..Stack::default() });
    (report.tick_us, report.processors) = (10_000, 2);
    report.rts_args = "-p -N2".to_owned();
    report.args = "a\nb c".to_owned();
    let text = report.render();
    assert!(text.contains("\n\n\t   demo +RTS -p -N2 -RTS a^0Ab c\n\n"), "{text}");
    let time = "total time  =        0.02 secs   (4 ticks @ 10000 us, 2 processors)\n";
    assert!(text.contains(time), "{text}");
    assert!(text.contains("total alloc =   1,234,567 bytes  (excludes"), "{text}");
    report.processors = 0;
    assert!(report.render().contains(" 0.04 secs   (4 ticks @ 10000 us, 1 processor)\n"));
}

#[test]
fn a_first_table_without_large_centres_has_the_largest() {
    // 200 centres with one tick of 200 each: one is not above two.
    let mut centres = vec![centre("MAIN", "MAIN", "<built-in>")];
    let mut stacks = vec![Stack::default()];
    for number in 1..=200 {
        centres.push(centre(&format!("f{number}"), "app", "src/main.rs"));
        let bytes = if number == 70 { 11 } else { 10 };
        stacks.push(Stack { centre: number, parent: Some(0), ticks: 1, bytes, ..Stack::default() });
    }
    let text = report(centres, stacks).render();
    assert_eq!(tables(&text).0, ["f70         app    src/main.rs    0.5    0.5"]);
}

#[test]
fn one_hundredth_is_rounded_down() {
    let centres = vec![centre("MAIN", "MAIN", "<built-in>"), centre("f", "app", "x")];
    let top = |main_ticks| {
        let own = Stack { ticks: main_ticks, ..Stack::default() };
        let f = Stack { centre: 1, parent: Some(0), ticks: 2, ..Stack::default() };
        tables(&report(centres.clone(), vec![own, f]).render()).0.len()
    };
    assert_eq!(top(197), 2, "2 > 199 / 100 = 1");
    assert_eq!(top(198), 1, "2 = 200 / 100");
}

#[test]
fn the_first_table_is_in_single_precision_and_the_tree_in_double() {
    let centres = vec![centre("MAIN", "MAIN", "<built-in>"), centre("f", "app", "x")];
    let f = Stack { centre: 1, parent: Some(0), ticks: 29, ..Stack::default() };
    let text = report(centres, vec![Stack { ticks: 1971, ..Stack::default() }, f]).render();
    let (top, tree) = tables(&text);
    assert!(top[1].starts_with("f           app    x             1.4 "), "{text}");
    assert!(tree[1].ends_with("  1.5    0.0     1.5    0.0"), "{text}");
}

#[test]
fn the_largest_figures_neither_wrap_nor_lose_their_columns() {
    let most =
        Stack { id: u32::MAX, entries: u64::MAX, ticks: u64::MAX, bytes: u64::MAX, ..Stack::default() };
    let mut stacks = vec![most.clone()];
    stacks.extend((0..3).map(|parent| Stack { parent: Some(parent), ..most.clone() }));
    let mut report = Report { level: Level::Detailed, ..report(vec![centre("f", "m", "s")], stacks) };
    let total = 4 * u128::from(u64::MAX);
    assert_eq!(report.totals(), Cost { ticks: total, bytes: total });
    let text = report.render();
    assert!(text.contains("total alloc = 73,786,976,294,838,206,460 bytes"), "{text}");
    let (top, tree) = tables(&text);
    assert_eq!(top, ["f           m      s    100.0  100.0  73786976294838206460 73786976294838206460"]);
    assert_eq!(
        tree[3],
        "   f        m      s   4294967295 18446744073709551615   25.0   25.0    25.0   25.0  \
         18446744073709551615 18446744073709551615"
    );
    let head = text.lines().find(|line| line.contains(" no. ")).unwrap();
    assert_eq!(head.len(), tree[3].len());
    (report.tick_us, report.processors, report.ghc_exact) = (u64::MAX, u32::MAX, true);
    assert!(report.render().contains(" ticks @ 18446744073709551615 us, 4294967295 processors)\n"));
}

#[test]
fn contradicting_facts_are_rows_and_not_panics() {
    let stack = |parent, centre| Stack { parent: Some(parent), centre, ticks: 1, ..Stack::default() };
    let stacks = vec![stack(0, 0), stack(2, usize::MAX), stack(usize::MAX, 7), stack(2, 0)];
    let text = report(vec![centre("f", "m", "s")], stacks).render();
    let (top, tree) = tables(&text);
    assert_eq!(top.len(), 2);
    assert!(top.contains(&"?           ?      ?     50.0    0.0"), "{text}");
    let labels: Vec<&str> = tree.iter().map(|row| &row[..3]).collect();
    assert_eq!(labels, ["?  ", " f ", "?  ", "f  "], "three roots, one child:\n{text}");
}

#[test]
fn hidden_stacks_count_nowhere_and_their_children_take_their_place() {
    let centres = ["MAIN", "OVERHEAD", "f"].map(|label| centre(label, "M", "s")).to_vec();
    let stacks = vec![
        Stack { ticks: 1, hidden: true, ..Stack::default() },
        Stack { centre: 1, parent: Some(0), ticks: 8, hidden: true, ..Stack::default() },
        Stack { centre: 2, parent: Some(1), ticks: 1, ..Stack::default() },
    ];
    let mut report = report(centres, stacks);
    let (text, total) = (report.render(), report.totals().ticks);
    let (top, tree) = tables(&text);
    assert_eq!(total, 2);
    assert_eq!(top.len(), 2, "{text}");
    assert!(tree[0].ends_with("  50.0    0.0   100.0    0.0"), "a root is not hidden:\n{text}");
    assert!(tree[1].starts_with(" f   "), "no indentation is skipped:\n{text}");
    report.level = Level::All;
    let (text, total) = (report.render(), report.totals().ticks);
    assert_eq!((total, tables(&text).1.len()), (10, 3), "{text}");
}

#[test]
fn a_centre_with_a_shown_stack_counts_without_its_hidden_ones() {
    let hidden = Stack { centre: 1, parent: Some(0), ticks: 50, hidden: true, ..Stack::default() };
    let shown = Stack { centre: 1, parent: Some(0), ticks: 1, ..Stack::default() };
    let centres = vec![centre("MAIN", "M", "s"), centre("f", "M", "s")];
    for stacks in [[hidden.clone(), shown.clone()], [shown, hidden]] {
        let all = [vec![Stack::default()], stacks.to_vec()].concat();
        let text = Report { level: Level::Detailed, ..report(centres.clone(), all) }.render();
        assert_eq!(tables(&text).0, ["f           M      s    100.0    0.0      1         0"]);
    }
}

/// Counts what is written and forgets it.
struct Counter(u64);

impl Write for Counter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn ten_thousand_stacks_deep_does_not_recurse() {
    let deep = |at: usize| Stack { id: at as u32, parent: at.checked_sub(1), bytes: 1, ..Stack::default() };
    let report = report(vec![centre("f", "m", "s")], (0..10_000).map(deep).collect());
    let small_stack = std::thread::Builder::new().stack_size(64 << 10);
    let write = move || {
        let mut written = Counter(0);
        report.write_to(&mut written).map(|()| written.0)
    };
    let written = small_stack.spawn(write).unwrap().join().unwrap().unwrap();
    // Two heads and 10,000 rows, each of 10,000 characters of indentation and label and 58 for the rest and the
    // end of the line; 301 bytes above the tree.
    assert_eq!(written, 10_002 * (10_000 + 58) + 301);
}

#[test]
fn as_many_stacks_as_there_are_tags_take_no_time() {
    let stack = |at: usize| Stack {
        id: at as u32,
        centre: at % 1000,
        parent: (at > 0).then(|| at.saturating_sub(1) / 8),
        entries: (at % 77) as u64,
        ticks: 1,
        bytes: at as u64,
        ..Stack::default()
    };
    let centres = (0..1000).map(|at| centre(&format!("function {at}"), "app", "src/main.rs:1")).collect();
    let report = report(centres, (0..65_536).map(stack).collect());
    let start = Instant::now();
    let text = report.render();
    let took = start.elapsed();
    eprintln!("{} bytes in {took:?}", text.len());
    assert_eq!(tables(&text).1.len(), 65_536);
    // Far above what it takes even without optimisation; a pass with quadratic cost would be above it.
    assert!(took < Duration::from_secs(10), "{took:?}");
}

#[test]
fn an_error_of_the_file_is_returned() {
    struct Full;
    impl Write for Full {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::ErrorKind::StorageFull.into())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let error = main_only(Stack::default()).write_to(&mut Full).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::StorageFull);
}
