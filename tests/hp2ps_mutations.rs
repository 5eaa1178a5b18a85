//! No bytes make the chart library panic, and what it draws is a page with only numbers in it.

mod hp_common;

use std::io::Cursor;

use hp_common::{Random, data, random_hp};
use hp2ps::layout::{KeyPlace, PageOptions, Style, TitleSize};
use hp2ps::{BandOptions, Chart, Drawing, NameOrder, Placement, Previous};

fn random_options(random: &mut Random) -> (BandOptions, PageOptions, Placement) {
    let bands = BandOptions {
        limit: [0, 1, 2, 20, 30][random.below(5)],
        trace_percent: [0.0, 1.0, 5.0][random.below(3)],
        by_deviation: random.once_in(3),
        by_name: [None, Some(NameOrder::GreatestOnTop), Some(NameOrder::SmallestOnTop)][random.below(3)],
    };
    let page = PageOptions {
        style: [Style::Ghc, Style::Readable][random.below(2)],
        title: [TitleSize::ByJob, TitleSize::Big, TitleSize::Small][random.below(3)],
        key: [KeyPlace::OnGraph, KeyPlace::OwnPages, KeyPlace::Nowhere][random.below(3)],
        no_marks: random.once_in(3),
    };
    let eps_width_pt = random.once_in(3).then_some(300.0);
    (bands, page, Placement { portrait: random.once_in(2), eps_width_pt })
}

/// Draws all there is; true if there was a chart.
fn draw(text: &[u8], random: &mut Random) -> bool {
    let (bands, page, placement) = random_options(random);
    let previous = Previous::default();
    let Ok(chart) = Chart::read(&mut Cursor::new(text), &bands, &previous) else { return false };
    assert!(chart.x_range > 0.0 && chart.y_range > 0.0);
    let drawing = Drawing::new(&chart, &page, random.once_in(2), &previous);
    let mut postscript = Vec::new();
    drawing.write_ps(&mut postscript, placement).expect("a Vec takes all");
    drawing.write_aux(&mut postscript).expect("a Vec takes all");
    let numbers = postscript.split(u8::is_ascii_whitespace);
    for word in numbers.filter(|word| !word.contains(&b'(')) {
        assert!(
            !word.starts_with(b"NaN") && word != b"inf" && word != b"-inf",
            "{}",
            String::from_utf8_lossy(text)
        );
    }
    true
}

/// Changes a few bytes: overwrites, doubles, removes, or splices a token in.
fn mutate(text: &mut Vec<u8>, random: &mut Random) {
    const TOKENS: [&[u8]; 12] = [
        b" 99999999999999999999999999999999 ",
        b" 99999999999999999999999.9 ",
        b" 0.0 ",
        b"\nBEGIN_SAMPLE ",
        b"\nEND_SAMPLE 1.0 ",
        b"\nMARK 5.5 ",
        b"\"",
        b"\0",
        b"\xff",
        b" a 0 ",
        b" 0.00000000000000000000000000001 ",
        b"\nEND_SAMPLE 0.0\nBEGIN_SAMPLE 1.0\n",
    ];
    for _ in 0..1 + random.below(4) {
        let at = random.below(text.len() + 1);
        let end = (at + random.below(20)).min(text.len());
        match random.below(5) {
            0 if at < text.len() => text[at] = random.next() as u8,
            1 => drop(text.drain(at..end)),
            2 => text.extend_from_within(at..end),
            3 => text.truncate(at),
            _ => drop(text.splice(at..at, random.pick(&TOKENS).iter().copied())),
        }
    }
}

#[test]
fn mutated_profiles_never_panic() {
    let mut random = Random::new(11);
    let stored = ["ties", "marks", "repeated-name", "end-only", "equal-times", "all-zero", "one-sample"];
    let stored = stored.map(|name| std::fs::read(data(&format!("{name}.hp"))).expect("stored"));
    let inputs = if cfg!(debug_assertions) { 5_000 } else { 100_000 };
    let mut drawn = 0;
    for _ in 0..inputs {
        let mut text = if random.once_in(20) {
            random_hp(&mut random).into_bytes()
        } else {
            stored[random.below(stored.len())].clone()
        };
        mutate(&mut text, &mut random);
        drawn += usize::from(draw(&text, &mut random));
    }
    assert!(drawn > inputs / 10, "{drawn}");
}

#[test]
fn random_aux_files_never_panic() {
    let mut random = Random::new(12);
    let words = [
        "X_RANGE", "Y_RANGE", "ORDER", "SHADE", "a", "1", "-1", "0.5", "nan", "1e999", "\n", "\n", "\0", "ü",
    ];
    let text = std::fs::read(data("ties.hp")).expect("stored");
    for _ in 0..20_000 {
        let aux: Vec<&str> = (0..random.below(16)).map(|_| random.pick(&words)).collect();
        let Ok(previous) = Previous::parse(aux.join(" ").as_bytes()) else { continue };
        let chart = Chart::read(&mut Cursor::new(&text), &BandOptions::default(), &previous)
            .expect("a legal profile");
        let drawing = Drawing::new(&chart, &PageOptions::default(), random.once_in(2), &previous);
        drawing.write_ps(&mut Vec::new(), Placement::default()).expect("a Vec takes all");
    }
}

/// Bands stack without gaps up to the sum of all values.
#[test]
fn the_top_line_is_the_sum_of_the_bands() {
    let mut random = Random::new(13);
    for _ in 0..300 {
        let text = random_hp(&mut random);
        let options =
            BandOptions { trace_percent: 0.0, limit: [0, 1, 4][random.below(3)], ..BandOptions::default() };
        let chart =
            Chart::read(&mut Cursor::new(&text), &options, &Previous::default()).expect("a legal profile");
        let page = hp2ps::layout::Page::new(&chart, &PageOptions::default());
        let mut line = vec![0.0; page.xs.len()];
        page.bands.iter().for_each(|band| band.stack_on(&mut line));
        let profile = heapprof::hp::read(text.as_bytes()).expect("a legal profile");
        for (sample, height) in line.iter().enumerate() {
            let sum: u64 = profile.bands.iter().map(|band| band.value(sample)).sum();
            let expected = sum as f64 * page.graph.height / chart.y_range;
            let all_zero = profile.bands.iter().all(|band| band.points.iter().all(|point| point.1 == 0));
            assert!((height - expected).abs() < 1e-6 || all_zero, "{sample}: {height} {expected}\n{text}");
        }
    }
}
