//! Facts taken out of real GHC 9.0.2 reports render to the same bytes.

use std::collections::HashMap;

use heapprof::prof::{Level, Report, Stack};

use super::{centre, tables};

const NEST: &str = include_str!("../data/prof/nest-P.prof");
const NEST_ALL: &str = include_str!("../data/prof/nest-pa.prof");
const REC: &str = include_str!("../data/prof/rec.prof");
const HS: &str = include_str!("../data/prof/hs-P.prof");
const MAPTHUNKS: &str = include_str!("../data/prof/mapthunks-P.prof");

/// Takes the facts out of a report with ticks and bytes; percentages, totals, widths and order are not read. The
/// one fact a report does not hold is the order in which centres with equal ticks were registered: that is taken
/// from the rows.
fn facts(text: &str, level: Level) -> Report {
    let lines: Vec<&str> = text.lines().collect();
    let (date, _) = lines[0].trim_start().split_once(" Time and").unwrap();
    let (program, rest) = lines[2].trim_start().split_once(" +RTS").unwrap();
    let (rts_args, args) = rest.split_once(" -RTS").unwrap();
    let time: Vec<&str> = lines[4].split_whitespace().collect();
    let mut report = Report {
        program: program.to_owned(),
        rts_args: rts_args.trim_start().to_owned(),
        args: args.trim_start().to_owned(),
        date: date.to_owned(),
        tick_us: time[8].parse().unwrap(),
        processors: time[10].parse().unwrap(),
        level,
        ghc_exact: true,
        ..Report::default()
    };
    let (top, tree) = tables(text);
    let mut keys: Vec<[&str; 3]> = top.iter().map(|row| key(row)).collect();
    keys.reverse();
    keys.extend(tree.iter().map(|row| key(row)));
    let mut index = HashMap::new();
    for key in keys {
        index.entry(key).or_insert_with(|| {
            report.centres.push(centre(key[0], key[1], key[2]));
            report.centres.len() - 1
        });
    }
    let mut path: Vec<usize> = Vec::new();
    for (number, row) in tree.iter().enumerate() {
        path.truncate(row.len() - row.trim_start().len());
        let cells: Vec<&str> = row.split_whitespace().collect();
        report.stacks.push(Stack {
            id: cells[3].parse().unwrap(),
            centre: index[&key(row)],
            parent: path.last().copied(),
            entries: cells[4].parse().unwrap(),
            ticks: cells[9].parse().unwrap(),
            bytes: cells[10].parse().unwrap(),
            hidden: false,
        });
        path.push(number);
    }
    report
}

fn key(row: &str) -> [&str; 3] {
    let mut cells = row.split_whitespace();
    [(); 3].map(|()| cells.next().unwrap())
}

/// What a report leaves out but GHC had: the overhead of profiling, `bytes` of it.
fn with_overhead(mut report: Report, bytes: u64) -> Report {
    report.stacks.push(Stack {
        centre: report.centres.len(),
        parent: Some(0),
        bytes,
        hidden: true,
        ..Stack::default()
    });
    report.centres.push(centre("OVERHEAD_of", "PROFILING", "<built-in>"));
    report
}

#[test]
fn a_report_with_large_hidden_overhead_is_the_same() {
    for text in [NEST, HS, MAPTHUNKS] {
        assert_eq!(with_overhead(facts(text, Level::Detailed), 1 << 30).render(), text);
    }
}

#[test]
fn a_report_with_small_hidden_overhead_is_the_same() {
    assert_eq!(with_overhead(facts(REC, Level::Detailed), 50_000).render(), REC);
}

#[test]
fn hidden_overhead_widens_the_columns_it_would_stand_in() {
    let bare = facts(REC, Level::Detailed);
    assert_ne!(bare.render(), REC, "MODULE is as wide as PROFILING only by the hidden row");
    assert_ne!(with_overhead(bare, 60_000).render(), REC, "one hundredth is 58,724 bytes");
}

#[test]
fn a_report_of_all_centres_is_the_same() {
    assert_eq!(facts(NEST_ALL, Level::All).render(), NEST_ALL);
}

#[test]
fn hiding_nothing_shows_what_was_hidden() {
    let mut report = facts(NEST_ALL, Level::All);
    for stack in &mut report.stacks {
        stack.hidden = report.centres[stack.centre].src == "<built-in>" && stack.parent.is_some();
    }
    assert_eq!(report.render(), NEST_ALL);
}

#[test]
fn the_order_of_the_facts_does_not_matter() {
    let mut report = with_overhead(facts(NEST, Level::Detailed), 1 << 30);
    // Newest to oldest below every parent, as far as parents come first.
    let mut order: Vec<usize> = (0..report.stacks.len()).collect();
    let depth = |mut stack: usize| {
        let mut depth = 0;
        while let Some(parent) = report.stacks[stack].parent {
            (stack, depth) = (parent, depth + 1);
        }
        depth
    };
    order.sort_by_key(|&stack| (depth(stack), report.stacks[stack].id));
    let place = |old: usize| order.iter().position(|&at| at == old).unwrap();
    let moved =
        |&old: &usize| Stack { parent: report.stacks[old].parent.map(place), ..report.stacks[old].clone() };
    report.stacks = order.iter().map(moved).collect();
    assert_eq!(report.render(), NEST);
}

#[test]
fn the_summary_is_the_detailed_report_without_its_last_two_columns() {
    let report = with_overhead(facts(NEST, Level::Summary), 1 << 30);
    let mut in_a_table = false;
    let mut want = String::new();
    for line in NEST.lines() {
        in_a_table |= line.starts_with("COST CENTRE");
        let cut = in_a_table && line.split_whitespace().count() > 4;
        let kept = if cut { without_words(line, 2) } else { line };
        want.push_str(kept);
        want.push('\n');
    }
    assert_eq!(report.render(), want);
}

/// Cuts the last `count` words and the blanks before them.
fn without_words(line: &str, count: usize) -> &str {
    (0..count).fold(line, |line, _| {
        let (rest, _) = line.rsplit_once(' ').unwrap();
        rest.trim_end()
    })
}

#[test]
fn nothing_in_the_real_reports_is_wider_than_our_columns_but_bytes() {
    // The widened report differs from GHC's only where a figure overflowed.
    let mut report = with_overhead(facts(NEST, Level::Detailed), 1 << 30);
    report.ghc_exact = false;
    let ours = report.render();
    for (ours, theirs) in ours.lines().zip(NEST.lines()) {
        let words = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(words(ours), words(theirs));
    }
    assert!(ours.contains("ticks      bytes\n"), "ten digits need ten columns:\n{ours}");
    report = facts(HS, Level::Detailed);
    let exact = report.render();
    report.ghc_exact = false;
    assert_eq!(report.render(), exact);
}

#[test]
fn hidden_figures_widen_nothing() {
    let mut report = with_overhead(facts(HS, Level::Detailed), 1 << 30);
    report.ghc_exact = false;
    let hidden = report.stacks.last_mut().unwrap();
    (hidden.entries, hidden.ticks, hidden.bytes) = (u64::MAX, u64::MAX, u64::MAX);
    assert_eq!(report.render(), HS);
}
