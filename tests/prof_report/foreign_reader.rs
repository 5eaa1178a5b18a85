//! inferno's reader of GHC reports, which trusts the columns of the head, finds our stacks and figures.

use std::collections::BTreeMap;

use heapprof::prof::{Level, Report, Stack};
use inferno::collapse::Collapse;
use inferno::collapse::ghcprof::{Folder, Options, Source};

use super::{Random, centre, random_report, report};

type Folded = BTreeMap<String, u64>;

fn folded(report: &Report, source: Source) -> Folded {
    let mut options = Options::default();
    options.source = source;
    let mut out = Vec::new();
    let text = report.render();
    Folder::from(options).collapse(text.as_bytes(), &mut out).expect(&text);
    let line = |line: &str| {
        let (stack, count) = line.rsplit_once(' ').unwrap();
        (stack.to_owned(), count.parse().unwrap())
    };
    String::from_utf8(out).unwrap().lines().map(line).collect()
}

/// What the reader ought to find: every shown stack with anything in or above it, by `names` of the centres.
fn expected(report: &Report, names: &[&str], count: impl Fn(&Stack) -> u64) -> Folded {
    let mut folded = Folded::new();
    let mut kept = vec![false; report.stacks.len()];
    for (at, stack) in report.stacks.iter().enumerate().rev() {
        kept[at] |= at == 0 || stack.entries > 0 || stack.ticks > 0 || stack.bytes > 0;
        if let (true, Some(parent)) = (kept[at], stack.parent) {
            kept[parent] = true;
        }
    }
    for (at, stack) in report.stacks.iter().enumerate().filter(|(at, _)| kept[*at]) {
        if stack.hidden {
            continue;
        }
        let (mut path, mut up) = (Vec::new(), Some(at));
        while let Some(at) = up {
            let stack = &report.stacks[at];
            if !stack.hidden {
                path.push(names[stack.centre]);
            }
            up = stack.parent;
        }
        path.reverse();
        *folded.entry(path.join(";")).or_default() += count(stack);
    }
    folded
}

fn per_mille(part: u64, whole: u128) -> u64 {
    let percent = if whole == 0 { 0.0 } else { part as f64 / whole as f64 * 100.0 };
    (format!("{percent:.1}").parse::<f64>().unwrap() * 10.0) as u64
}

fn assert_found(report: &Report, names: &[&str]) {
    let totals = report.totals();
    let time = expected(report, names, |stack| per_mille(stack.ticks, totals.ticks));
    assert_eq!(folded(report, Source::PercentTime), time);
    if report.level >= Level::Detailed {
        assert_eq!(folded(report, Source::Ticks), expected(report, names, |stack| stack.ticks));
        assert_eq!(folded(report, Source::Bytes), expected(report, names, |stack| stack.bytes));
    }
}

/// MAIN, then one stack below the other for every name in `labels`, with figures of every width.
fn chain(labels: &[&str]) -> Report {
    let mut centres = vec![centre("MAIN", "MAIN", "<built-in>")];
    let mut stacks = vec![Stack { id: 1, ..Stack::default() }];
    for (number, label) in labels.iter().enumerate() {
        centres.push(centre(label, "app", &format!("src/my file.rs:{number}")));
        stacks.push(Stack {
            id: 2 + number as u32,
            centre: number + 1,
            parent: Some(number),
            entries: 10_u64.pow(2 * number as u32 % 19),
            ticks: 7 * 10_u64.pow(2 * number as u32 % 14),
            bytes: 3 * 10_u64.pow(3 * number as u32 % 15),
            hidden: false,
        });
    }
    let level = Level::Detailed;
    Report { level, ..report(centres, stacks) }
}

#[test]
fn names_of_every_kind_are_found_with_their_figures() {
    let long = "x".repeat(10_000);
    let labels = [
        "parse",
        "<Vec<u8> as Trait>::f",
        "größe",
        "日本語",
        "",
        "[u8; 4]",
        "GET /users",
        "tab\there",
        "wide\u{3000}blank",
        "line\nbreak",
        "a~b^c",
        &long,
    ];
    let long = format!("app.{long}");
    let names = [
        "MAIN.MAIN",
        "app.parse",
        "app.<Vec<u8>~as~Trait>::f",
        "app.größe",
        "app.日本語",
        "app.^.",
        "app.[u8^3B~4]",
        "app.GET~^2Fusers",
        "app.tab^09here",
        "app.wide^E3^80^80blank",
        "app.line^0Abreak",
        "app.a^7Eb^5Ec",
        &long,
    ];
    for level in [Level::Summary, Level::Detailed] {
        assert_found(&Report { level, ..chain(&labels) }, &names);
    }
}

#[test]
fn random_trees_are_found() {
    let mut random = Random(77);
    for _ in 0..300 {
        let mut report = random_report(&mut random);
        report.level = Level::Detailed;
        let names: Vec<String> = report
            .centres
            .iter()
            .map(|centre| format!("{}.{}", centre.module, centre.label.replace(' ', "~")))
            .collect();
        assert_found(&report, &names.iter().map(String::as_str).collect::<Vec<_>>());
    }
}

#[test]
fn figures_as_wide_as_they_come_are_found() {
    let mut report = chain(&["wide", "narrow"]);
    for figure in [u64::MAX, 1 << 53] {
        let wide = &mut report.stacks[1];
        (wide.entries, wide.ticks, wide.bytes) = (figure, figure, figure);
        // The reader takes figures for floating-point numbers.
        let names = ["MAIN.MAIN", "app.wide", "app.narrow"];
        let want = expected(&report, &names, |stack| stack.ticks as f64 as u64);
        assert_eq!(folded(&report, Source::Ticks), want);
        assert_found(&Report { level: Level::Summary, ..report.clone() }, &names);
    }
}

#[test]
fn overflowing_columns_as_ghc_has_them_mislead_the_reader() {
    // Why columns widen: the ticks of 1,000,000 reach into the cell that the reader takes for bytes.
    let mut report = chain(&["wide"]);
    (report.stacks[1].ticks, report.stacks[1].bytes) = (1_000_000, 5);
    assert_eq!(folded(&report, Source::Bytes)["MAIN.MAIN;app.wide"], 5);
    report.ghc_exact = true;
    assert_ne!(folded(&report, Source::Bytes)["MAIN.MAIN;app.wide"], 5);
}
