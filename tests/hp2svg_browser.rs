//! The charts in a browser: pointer, touch and keys do what they promise, and the values shown are those of the
//! profile.

mod browser;
mod hp_common;

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Cursor, Write};
use std::net::TcpListener;
use std::path::{Path, PathBuf};

use browser::{Turn, browser, key};
use hp_common::{Random, folder};
use hp2svg::ThemeChoice;
use hp2svg::choice::ChoiceOptions;
use hp2svg::scene::{Scene, SceneOptions};
use hp2svg::ticks::{self, Axis};
use hp2svg::view::{Mode, View, ViewOptions};
use regex::bytes::Regex;

/// (time, name → value) of each sample.
type Samples = Vec<(f64, BTreeMap<&'static str, u64>)>;

/// From one sample to the next; a binary fraction, so that sums are exact.
const SAMPLE_S: f64 = 0.515625;

/// Three bands, one of which grows, and seven small ones that come and go.
fn samples() -> Samples {
    const SMALL: [&str; 7] = ["s0", "s1", "s2", "s3", "s4", "s5", "s6"];
    let sample = |at: u64| {
        let mut values: BTreeMap<&'static str, u64> = BTreeMap::new();
        values.insert("cache", 200_000 + 50_000 * at);
        values.insert("(12)buffers/main", 300_000 + 100_000 * (at % 3));
        values.insert("parser", 150_000 + 7_001 * (at * at % 11));
        for (small, name) in (0..).zip(SMALL) {
            if !(at + small).is_multiple_of(4) {
                values.insert(name, 100 + 13 * small + at);
            }
        }
        (SAMPLE_S * at as f64, values)
    };
    (0..21).map(sample).collect()
}

fn hp(samples: &Samples) -> String {
    let mut text = "JOB \"server\"\nDATE \"d\"\nSAMPLE_UNIT \"seconds\"\nVALUE_UNIT \"bytes\"\n".to_owned();
    for (at_s, values) in samples {
        text += &format!("BEGIN_SAMPLE {at_s:.6}\n");
        values.iter().for_each(|(name, value)| text += &format!("{name}\t{value}\n"));
        text += &format!("END_SAMPLE {at_s:.6}\n");
    }
    text
}

fn view(hp: &str, options: &ViewOptions) -> View {
    View::read(&mut Cursor::new(hp.as_bytes()), options).expect("a profile")
}

/// A browser that shows a chart of [`samples`], and its layout.
struct Page {
    browser: Turn,
    view: View,
    scene: Scene,
}

impl Page {
    fn new(name: &str, options: &ViewOptions) -> Option<Page> {
        let browser = browser()?;
        let folder = folder(name);
        let view = view(&hp(&samples()), options);
        let scene = Scene::new(&view, &SceneOptions::default());
        let mut svg = Vec::new();
        hp2svg::svg::write(&mut svg, &view, &scene, ThemeChoice::Auto).expect("memory");
        browser.open(&written(&folder, "chart.svg", &svg));
        Some(Page { browser, view, scene })
    }

    fn stacked(name: &str) -> Option<Page> {
        Page::new(name, &ViewOptions::default())
    }

    fn band(&self, name: &str) -> usize {
        self.view.bands.iter().position(|band| band.name == name.as_bytes()).expect("a band of that name")
    }

    /// The place of a time and a value.
    fn place(&self, at_s: f64, value: f64) -> (f64, f64) {
        let (from_s, s_per_px) = self.scene.time_scale;
        let x = self.scene.graph.x + (at_s - from_s) / s_per_px;
        (x, self.scene.zero_y - value / self.scene.value_per_px)
    }

    /// A place in the middle of a stacked band.
    fn middle_of(&self, band: usize, sample: usize) -> (f64, f64) {
        let values = &self.view.details[sample].values;
        let below: f64 = values[..band].iter().sum();
        self.place(self.view.details[sample].time_s, below + values[band] / 2.0)
    }

    fn tip(&self) -> Vec<String> {
        self.browser.texts("return [...document.querySelectorAll('.hp-tip text')].map(t => t.textContent)")
    }

    /// What the status line says, without the marks around names.
    fn status(&self) -> String {
        let said = self.browser.text("return document.querySelector('[role=status]').textContent");
        said.replace(['\u{2068}', '\u{2069}'], "")
    }

    fn labels(&self, axis: &str) -> Vec<String> {
        let script =
            format!("return [...document.querySelectorAll('.hp-{axis} text')].map(t => t.textContent)");
        self.browser.texts(&script)
    }

    /// The outlines of bands that are shown, from the bottom up; none for the others.
    fn outlines(&self) -> Vec<String> {
        self.browser.texts(
            "return [...document.querySelectorAll('.hp-band')].reverse().map(band =>
                band.getAttribute('display') === 'none' ? '' : band.getAttribute('d'))",
        )
    }

    fn row_place(&self, band: usize) -> (f64, f64) {
        let row = self.scene.key.rows.iter().find(|row| row.band == band).expect("a row");
        (self.scene.key.xs.0 + 4.0, row.y)
    }

    fn assert_no_errors(&self) {
        assert_eq!(self.browser.errors(), Vec::<String>::new());
    }
}

fn written(folder: &Path, name: &str, content: &[u8]) -> PathBuf {
    let path = folder.join(name);
    std::fs::write(&path, content).expect("the folder takes files");
    path
}

fn bytes(value: u64) -> String {
    ticks::amount(value as f64, b"bytes")
}

#[test]
fn the_pointer_tells_the_values_of_the_nearest_sample_as_the_profile_has_them() {
    let Some(page) = Page::stacked("browser_hover") else { return };
    let samples = samples();
    for (sample, name) in [(0, "cache"), (7, "(12)buffers/main"), (13, "parser"), (20, "cache")] {
        let (x, y) = page.middle_of(page.band(name), sample);
        let aside = if sample == 20 { -7.0 } else { 7.0 };
        page.browser.point(x + aside, y);
        let (at_s, values) = &samples[sample];
        let total: u64 = values.values().sum();
        let value = values[name];
        let told = ticks::time(*at_s);
        let exact = format!("{at_s} s");
        let head = if told == exact { told } else { format!("{told} ({exact}econds)") };
        let share = format!("{:.1} %", value as f64 / total as f64 * 100.0);
        let expected = [&*head, "", "", "total", &bytes(total), "", name, &bytes(value), &share];
        assert_eq!(page.tip(), expected, "sample {sample}");
    }
    page.browser.point(page.scene.key.xs.0, 20.0);
    assert_eq!(page.tip(), Vec::<String>::new(), "no values beside the graph");
    page.assert_no_errors();
}

#[test]
fn other_tells_its_largest_members_at_that_time() {
    let Some(page) = Page::stacked("browser_other") else { return };
    let (_, values) = &samples()[9];
    let mut small: Vec<(&str, u64)> = values
        .iter()
        .filter(|(name, _)| name.starts_with('s'))
        .map(|(name, value)| (*name, *value))
        .collect();
    small.sort_by_key(|(_, value)| std::cmp::Reverse(*value));
    let sum: u64 = small.iter().map(|(_, value)| value).sum();
    // OTHER is less than a pixel high: the keys reach it.
    page.browser.keys(&[key::TAB]);
    page.browser.keys(&[key::RIGHT; 10]);
    page.browser.keys(&[key::UP]);
    let tip = page.tip();
    assert_eq!((&*tip[6], &*tip[7]), ("OTHER", &*bytes(sum)));
    let members: Vec<(&str, &str)> = tip[9..].chunks(3).map(|line| (line[0].trim(), &*line[1])).collect();
    let expected: Vec<(&str, String)> =
        small.iter().take(5).map(|(name, value)| (*name, bytes(*value))).collect();
    let expected: Vec<(&str, &str)> = expected.iter().map(|(name, value)| (*name, &**value)).collect();
    assert_eq!(members, expected);
    page.assert_no_errors();
}

#[test]
fn a_click_shows_a_band_alone_on_a_scale_of_its_own_and_another_click_all_again() {
    let Some(page) = Page::stacked("browser_alone") else { return };
    let (before, labels) = (page.outlines(), page.labels("y"));
    let parser = page.band("parser");
    let (x, y) = page.middle_of(parser, 4);
    page.browser.click(x, y);
    let outlines = page.outlines();
    for (band, outline) in outlines.iter().enumerate() {
        assert_eq!(outline.is_empty(), band != parser, "band {band}");
    }
    assert_eq!(page.status(), "parser alone");
    // Its largest value is at the top, and the axis is that of a chart with this band only.
    let values: Vec<f64> = page.view.details.iter().map(|detail| detail.values[parser]).collect();
    let largest = values.iter().copied().fold(0.0, f64::max);
    assert_edge(&page, &outlines[parser], &values, largest);
    let only = ViewOptions {
        choice: ChoiceOptions { only: Some(Regex::new("parser").expect("a pattern")), ..Default::default() },
        ..Default::default()
    };
    let only = Scene::new(&view(&hp(&samples()), &only), &SceneOptions::default());
    let expected: Vec<&str> = only.y_axis.ticks.iter().map(|tick| &*tick.label).collect();
    assert_eq!(page.labels("y"), expected);
    page.browser.click(x, page.scene.graph.foot() - 20.0);
    assert_eq!((page.outlines(), page.labels("y")), (before, labels));
    page.assert_no_errors();
}

/// Checks that a path's corners are these values, the largest at the top of the graph.
fn assert_edge(page: &Page, outline: &str, values: &[f64], largest: f64) {
    let graph = page.scene.graph;
    let corners: Vec<Vec<f64>> = outline
        .trim_matches(['M', 'Z'])
        .split('L')
        .map(|corner| corner.split(' ').map(|number| number.parse().expect("a number")).collect())
        .collect();
    let expected = values.iter().zip(&page.view.details).map(|(value, detail)| {
        [page.place(detail.time_s, 0.0).0, graph.foot() - value / largest * graph.height]
    });
    assert_eq!(corners.len(), values.len() + 2, "the foot at both ends");
    for (corner, expected) in corners[1..].iter().zip(expected) {
        assert!(
            (corner[0] - expected[0]).abs() < 0.06 && (corner[1] - expected[1]).abs() < 0.06,
            "{corner:?}, expected {expected:?}"
        );
    }
}

#[test]
fn a_band_alone_keeps_its_peak_when_samples_are_reduced() {
    let Some(browser) = browser() else { return };
    let folder = folder("browser_peak");
    // The peak of `small` is in a sample whose sum is not the largest of its column.
    let sample = |at: u64| {
        let small = if at == 1234 { 9_000 } else { 1_000 + at % 7 };
        let large = if at == 1234 { 50_000 } else { 90_000 + at };
        (at as f64, BTreeMap::from([("small", small), ("large", large)]))
    };
    let view =
        view(&hp(&(0..4000).map(sample).collect()), &ViewOptions { columns: 100, ..Default::default() });
    assert!(view.details.iter().all(|detail| detail.time_s != 1234.0));
    let scene = Scene::new(&view, &SceneOptions::default());
    let mut svg = Vec::new();
    hp2svg::svg::write(&mut svg, &view, &scene, ThemeChoice::Auto).expect("memory");
    browser.open(&written(&folder, "chart.svg", &svg));
    browser.click(scene.graph.x + 200.0, scene.graph.foot() - 2.0);
    let outline =
        browser.text("return document.querySelector('.hp-band:not([display=none])').getAttribute('d')");
    let x = scene.graph.x + 1234.0 / scene.time_scale.1;
    let corner = format!("L{x:.1} {:.1}L", scene.graph.y);
    assert!(outline.contains(&corner), "{corner} in {outline}");
    assert_eq!(browser.errors(), Vec::<String>::new());
}

#[test]
fn memory_beyond_the_live_bytes_has_no_share_of_them() {
    let Some(browser) = browser() else { return };
    let folder = folder("browser_resident");
    let sample = |at: u64| (at as f64, BTreeMap::from([("live", 6_000 + at), ("OUTSIDE_HEAP", 3_000)]));
    let view = view(&hp(&(0..9).map(sample).collect()), &ViewOptions::default());
    let scene = Scene::new(&view, &SceneOptions::default());
    let mut svg = Vec::new();
    hp2svg::svg::write(&mut svg, &view, &scene, ThemeChoice::Auto).expect("memory");
    browser.open(&written(&folder, "chart.svg", &svg));
    let x = scene.graph.x + scene.graph.width / 2.0;
    let tip = |y: f64| {
        browser.point(x, y);
        browser.texts("return [...document.querySelectorAll('.hp-tip text')].map(t => t.textContent)")
    };
    let beyond = ["4 s", "", "", "total", "5.86 KiB", "", "OUTSIDE_HEAP", "2.93 KiB", ""];
    assert_eq!(tip(scene.graph.y + 30.0), beyond);
    assert_eq!(tip(scene.graph.foot() - 30.0)[6..], ["live", "5.86 KiB", "100.0 %"]);
    assert_eq!(browser.errors(), Vec::<String>::new());
}

#[test]
fn a_hidden_band_leaves_the_others_stacked_anew() {
    let Some(page) = Page::stacked("browser_hide") else { return };
    let before = page.outlines();
    let hidden = page.band("(12)buffers/main");
    let (x, y) = page.row_place(hidden);
    page.browser.click_with(key::SHIFT, x, y);
    assert_eq!(page.status(), "(12)buffers/main hidden");
    let outlines = page.outlines();
    assert!(outlines[hidden].is_empty());
    let mut below = vec![0.0; page.view.details.len()];
    let mut edges = Vec::new();
    for band in (0..outlines.len()).filter(|&band| band != hidden) {
        for (sum, detail) in below.iter_mut().zip(&page.view.details) {
            *sum += detail.values[band];
        }
        edges.push((band, below.clone()));
    }
    let largest = below.iter().copied().fold(0.0, f64::max);
    for (band, edge) in edges {
        assert_edge(&page, &outlines[band], &edge, largest);
    }
    page.browser.click_with(key::SHIFT, x, y);
    assert_eq!((page.outlines(), &*page.status()), (before, "(12)buffers/main shown"));
    page.assert_no_errors();
}

#[test]
fn a_drag_zooms_into_time_and_escape_or_a_double_click_shows_all() {
    let Some(page) = Page::stacked("browser_zoom") else { return };
    let labels = page.labels("x");
    let expected: Vec<&str> = page.scene.x_axis.ticks.iter().map(|tick| &*tick.label).collect();
    assert_eq!(labels, expected);
    let graph = page.scene.graph;
    let ends = [2.99, 4.01].map(|at_s| page.place(at_s, 0.0).0.round());
    let (from_s, s_per_px) = page.scene.time_scale;
    let ends_s = ends.map(|x| from_s + (x - graph.x) * s_per_px);
    let zoom = || page.browser.drag((ends[0], graph.y + 50.0), (ends[1], graph.y + 90.0));
    zoom();
    assert_eq!(page.labels("x"), ["3.0", "3.2", "3.4", "3.6", "3.8", "4.0"]);
    assert_eq!(page.status(), format!("From {} to {}", ticks::time(ends_s[0]), ticks::time(ends_s[1])));
    // The sample at 3.609 s stands where the new axis has it.
    let at_s = 7.0 * SAMPLE_S;
    let x = graph.x + (at_s - ends_s[0]) / (ends_s[1] - ends_s[0]) * graph.width;
    page.browser.point(x + 9.0, graph.foot() - 20.0);
    assert_eq!(page.tip()[0], "3.61 s (3.609375 seconds)");
    let hair = page.browser.text("return document.querySelector('.hp-hair').getAttribute('d')");
    assert!(hair.starts_with(&format!("M{x:.1} ")), "{hair}, expected {x}");
    // So do the bands.
    let drawn = page.browser.run(&format!(
        "const matrix = document.querySelector('.hp-bands').getCTM(); return matrix.a * {} + matrix.e",
        page.place(at_s, 0.0).0
    ));
    assert!((drawn.as_f64().expect("a place") - x).abs() < 0.1, "{drawn}, expected {x}");
    page.browser.keys(&[key::ESCAPE]);
    assert_eq!(page.labels("x"), labels);
    zoom();
    assert_ne!(page.labels("x"), labels);
    page.browser.double_click(ends[0], graph.y + 60.0);
    assert_eq!((page.labels("x"), page.outlines().contains(&String::new())), (labels, false));
    page.assert_no_errors();
}

#[test]
fn keys_reach_every_sample_and_band() {
    let Some(page) = Page::stacked("browser_keys") else { return };
    let samples = samples();
    let browser = &page.browser;
    browser.keys(&[key::TAB, key::RIGHT]);
    let total = |sample: usize| bytes(samples[sample].1.values().sum());
    assert_eq!(page.status(), format!("0 s · total {}", total(0)));
    browser.keys(&[key::RIGHT, key::RIGHT, key::LEFT, key::DOWN]);
    let top = page.view.bands.len() - 1;
    let name = String::from_utf8(page.view.bands[top].name.clone()).expect("UTF-8");
    let value = samples[1].1[&*name];
    let share = value as f64 / samples[1].1.values().sum::<u64>() as f64 * 100.0;
    let expected =
        format!("0.52 s (0.515625 seconds) · total {} · {name} {} ({share:.1} %)", total(1), bytes(value));
    assert_eq!(page.status(), expected);
    browser.keys(&[key::END]);
    let at = ticks::time(20.0 * SAMPLE_S);
    assert!(
        page.status().starts_with(&format!("{at} (10.3125 seconds) · total {}", total(20))),
        "{}",
        page.status()
    );
    browser.keys(&[key::HOME, key::ENTER]);
    assert_eq!((page.status(), visible(&page)), (format!("{name} alone"), vec![top]));
    browser.keys(&[key::ENTER, 'h']);
    assert_eq!((page.status(), visible(&page)), (format!("{name} hidden"), (0..top).collect()));
    // The rows of the key follow the graph, from the top down.
    browser.keys(&[key::ESCAPE, key::TAB, key::TAB, ' ']);
    assert_eq!(visible(&page), [top - 1]);
    let focused = page.browser.text("return document.activeElement.getAttribute('aria-label')");
    let second = String::from_utf8(page.view.bands[top - 1].name.clone()).expect("UTF-8");
    assert!(focused.starts_with(&second), "{focused}");
    page.assert_no_errors();
}

/// The bands that are shown.
fn visible(page: &Page) -> Vec<usize> {
    let outlines = page.outlines();
    (0..outlines.len()).filter(|&band| !outlines[band].is_empty()).collect()
}

#[test]
fn a_search_dims_what_does_not_match() {
    let Some(page) = Page::stacked("browser_search") else { return };
    page.browser.keys(&['/', 'P', 'a', 'r', 's']);
    assert_eq!(page.status(), "1 of 4 bands match “Pars”");
    let dimmed = || {
        let colours = page.browser.texts(
            "return [...document.querySelectorAll('.hp-band')].reverse().map(band => band.style.fill)",
        );
        (0..colours.len()).filter(|&band| !colours[band].is_empty()).collect::<Vec<_>>()
    };
    let parser = page.band("parser");
    assert_eq!(dimmed(), (0..4).filter(|&band| band != parser).collect::<Vec<_>>());
    // A member of OTHER.
    page.browser.keys(&[key::ESCAPE, '/', 's', '3']);
    assert_eq!(dimmed(), (1..4).collect::<Vec<_>>());
    page.browser.keys(&[key::ESCAPE]);
    assert_eq!(dimmed(), Vec::<usize>::new());
    // A row of the key under the pointer does the same.
    let (x, y) = page.row_place(parser);
    page.browser.point(x, y);
    assert_eq!(dimmed(), (0..4).filter(|&band| band != parser).collect::<Vec<_>>());
    page.assert_no_errors();
}

#[test]
fn a_finger_first_reads_and_then_shows_alone() {
    let Some(page) = Page::stacked("browser_touch") else { return };
    let cache = page.band("cache");
    let (x, y) = page.middle_of(cache, 15);
    page.browser.tap(x, y);
    assert_eq!((&*page.tip()[6], visible(&page).len()), ("cache", 4));
    page.browser.tap(x, y);
    assert_eq!(visible(&page), [cache]);
    page.assert_no_errors();
}

#[test]
fn lines_are_told_when_the_pointer_is_near() {
    let options = ViewOptions { mode: Mode::Lines, ..Default::default() };
    let Some(page) = Page::new("browser_lines", &options) else { return };
    let (at_s, values) = &samples()[12];
    for name in ["cache", "parser"] {
        let (x, y) = page.place(*at_s, values[name] as f64);
        page.browser.point(x, y + 5.0);
        assert_eq!((&*page.tip()[6], &*page.tip()[7]), (name, &*bytes(values[name])));
    }
    page.browser.click(page.place(*at_s, 0.0).0, page.place(*at_s, values["cache"] as f64).1);
    assert_eq!(visible(&page), [page.band("cache")]);
    page.assert_no_errors();
}

#[test]
fn panels_answer_each_for_itself() {
    let Some(browser) = browser() else { return };
    let folder = folder("browser_panels");
    let view = view(&hp(&samples()), &ViewOptions::default());
    let scene = Scene::new(&view, &SceneOptions { size_px: (500.0, 400.0), ..Default::default() });
    let mut svg = Vec::new();
    hp2svg::write(
        &mut svg,
        hp2svg::Format::Svg,
        &[(view.clone(), scene.clone()), (view, scene.clone())],
        ThemeChoice::Auto,
    )
    .expect("memory");
    browser.open(&written(&folder, "chart.svg", &svg));
    browser.click(500.0 + scene.graph.x + scene.graph.width / 2.0, scene.graph.foot() - 8.0);
    let hidden = |panel: usize| {
        let script = format!(
            "return document.querySelectorAll('.hp-panel')[{panel}].querySelectorAll('.hp-band[display=none]').length"
        );
        browser.run(&script)
    };
    assert_eq!((hidden(0), hidden(1)), (0.into(), 3.into()));
    assert_eq!(browser.errors(), Vec::<String>::new());
}

#[test]
fn names_keep_clear_of_figures_in_wider_fonts() {
    let Some(browser) = browser() else { return };
    let folder = folder("browser_fonts");
    let text = hp(&samples()).replace("parser", &"parser/of/names".repeat(9));
    let view = view(&text, &ViewOptions::default());
    let mut svg = Vec::new();
    hp2svg::write_svg(&mut svg, &view, &SceneOptions::default(), ThemeChoice::Auto).expect("memory");
    let wider = String::from_utf8(svg).expect("UTF-8").replace("font-family=\"", "font-family=\"monospace, ");
    browser.open(&written(&folder, "chart.svg", wider.as_bytes()));
    let gaps = browser.run(
        "return [...document.querySelectorAll('.hp-row')].map(row => {
            const [label, figure] = [...row.querySelectorAll('text')].map(text => text.getBBox());
            return figure.x - label.x - label.width; })",
    );
    let gaps: Vec<f64> = gaps.as_array().expect("a list").iter().filter_map(|gap| gap.as_f64()).collect();
    assert!(gaps.len() == 4 && gaps.iter().all(|&gap| gap > 4.0), "{gaps:?}");
    assert_eq!(browser.errors(), Vec::<String>::new());
}

#[test]
fn the_dark_scheme_follows_the_desktop() {
    let Some(page) = Page::stacked("browser_dark") else { return };
    let background =
        || page.browser.text("return getComputedStyle(document.querySelector('.hp-fill-background')).fill");
    page.browser.prefer_colours("light");
    assert_eq!(background(), "rgb(255, 255, 255)");
    page.browser.prefer_colours("dark");
    assert_eq!(background(), "rgb(22, 24, 28)");
    let label = page.browser.text("return getComputedStyle(document.querySelector('.hp-row text')).fill");
    assert_eq!(label, "rgb(232, 234, 237)");
}

#[test]
fn the_table_of_a_page_is_sorted_and_searched() {
    let Some(browser) = browser() else { return };
    let folder = folder("browser_page");
    let view = view(&hp(&samples()), &ViewOptions::default());
    let scene = Scene::new(&view, &SceneOptions::default());
    let mut page = Vec::new();
    hp2svg::html::write(&mut page, &[(&view, &scene)], ThemeChoice::Auto).expect("memory");
    browser.open(&written(&folder, "chart.html", &page));
    let cells = |column: usize| {
        browser.texts(&format!(
            "return [...document.querySelectorAll('tbody tr')].filter(row => !row.hidden)
                .map(row => row.cells[{column}].textContent.trim())"
        ))
    };
    let names: Vec<String> =
        view.bands.iter().rev().map(|band| String::from_utf8(band.name.clone()).expect("UTF-8")).collect();
    let other = format!("{} (7 more)", names[3]);
    assert_eq!(cells(0), [&*names[0], &names[1], &names[2], &other]);
    let cache =
        view.bands.iter().find(|band| band.name == b"cache").and_then(|band| band.trend).expect("a trend");
    let row = cells(0).iter().position(|name| name == "cache").expect("a row");
    assert_eq!(cells(7)[row], format!("▲ {}", ticks::rate(cache.slope_per_s, b"bytes")));
    let sort = |column: usize| {
        browser.run(&format!("document.querySelectorAll('thead button')[{column}].click()"));
        let state = browser.texts(
            "return [...document.querySelectorAll('thead th')].map(head => head.getAttribute('aria-sort') || '')",
        );
        state[column].clone()
    };
    let mut means: Vec<(String, f64)> = view
        .bands
        .iter()
        .map(|band| (String::from_utf8(band.name.clone()).expect("UTF-8"), band.mean))
        .collect();
    means.sort_by(|a, b| b.1.total_cmp(&a.1));
    let expected: Vec<String> = means.iter().map(|(_, mean)| ticks::amount(*mean, b"bytes")).collect();
    assert_eq!((&*sort(3), cells(3)), ("descending", expected.clone()));
    assert_eq!((&*sort(3), cells(3)), ("ascending", expected.into_iter().rev().collect::<Vec<_>>()));
    assert_eq!((&*sort(0), &*cells(0)[0]), ("ascending", "(12)buffers/main"));
    // OTHER has no growth: last in both orders.
    for order in ["descending", "ascending"] {
        assert_eq!((&*sort(7), &*cells(7)[3]), (order, "–"));
    }
    browser.keys(&['/', 'c', 'a', 'c', 'h', 'e']);
    assert_eq!(cells(0), ["cache"]);
    browser.keys(&[key::ESCAPE]);
    assert_eq!(cells(0).len(), 4);
    browser.run("document.querySelector('tbody button').click()");
    let shown = browser.run("return document.querySelectorAll('.hp-band:not([display=none])').length");
    assert_eq!((shown, browser.errors()), (1.into(), vec![]));
}

#[test]
fn the_script_writes_figures_as_the_library_does() {
    let Some(browser) = browser() else { return };
    let script = include_str!("../hp2svg/src/assets/format.js");
    let run = |call: &str| browser.texts(&format!("{script}\nreturn {call}"));
    let mut random = Random::new(41);
    let mut numbers: Vec<f64> = vec![
        0.0, 1.0, 9.995, 12.0, 99.95, 999.5, 1000.0, 1023.0, 1024.0, 1152.0, 1280.0, 1408.0, 1535.99, 2.5e-7,
        0.00125, 0.0125, 0.1, 4.2, 59.9999, 60.0, 95.0, 3599.9, 4000.0, 86_400.0, 1e15, 2.5, 3.5, 0.125,
        0.375, 1e22,
    ];
    for _ in 0..2000 {
        let size = 10_f64.powi(random.below(24) as i32 - 9);
        numbers.push(random.below(1_000_000) as f64 / 1e6 * size);
        numbers.push(random.below(1 << 20) as f64 / 128.0);
    }
    for unit in ["bytes", "words", ""] {
        let expected: Vec<String> =
            numbers.iter().map(|&number| ticks::amount(number, unit.as_bytes())).collect();
        assert_texts(&run(&format!("{numbers:?}.map(number => amount(number, '{unit}'))")), &expected);
    }
    let expected: Vec<String> = numbers.iter().map(|&number| ticks::time(number)).collect();
    assert_texts(&run(&format!("{numbers:?}.map(time)")), &expected);
    let negative: Vec<f64> = numbers.iter().map(|number| -number).filter(|&number| number < 0.0).collect();
    let expected: Vec<String> = negative.iter().map(|&number| ticks::amount(number, b"bytes")).collect();
    assert_texts(&run(&format!("{negative:?}.map(number => amount(number, 'bytes'))")), &expected);
}

fn assert_texts(actual: &[String], expected: &[String]) {
    assert_eq!(actual.len(), expected.len());
    for (actual, expected) in actual.iter().zip(expected) {
        assert_eq!(actual, expected);
    }
}

#[test]
fn the_script_labels_axes_as_the_library_does() {
    let Some(browser) = browser() else { return };
    let script = include_str!("../hp2svg/src/assets/format.js");
    let mut random = Random::new(42);
    for round in 0..40 {
        let size = 10_f64.powi(random.below(10) as i32);
        let (from_s, to_s) =
            (random.below(1000) as f64 * 0.01, 10.0 + random.below(100_000) as f64 * 0.01 * size);
        let bits = 2 + random.below(40);
        let most = 1 + random.below(1 << bits);
        let unit = random.pick(&["bytes", "words"]);
        let sample_unit = random.pick(&["seconds", "GCs"]);
        let text = format!(
            "JOB \"j\" DATE \"d\" SAMPLE_UNIT \"{sample_unit}\" VALUE_UNIT \"{unit}\" BEGIN_SAMPLE {from_s:.6} a 1 \
             END_SAMPLE {from_s:.6} BEGIN_SAMPLE {to_s:.6} a {most} END_SAMPLE {to_s:.6}"
        );
        let mode = [Mode::Stacked, Mode::Share, Mode::Growth { since_s: from_s }][round % 3];
        let view = view(&text, &ViewOptions { mode, ..Default::default() });
        let scene = Scene::new(&view, &SceneOptions::default());
        let graph = scene.graph;
        let high = (scene.zero_y - graph.y) * scene.value_per_px;
        let low = (scene.zero_y - graph.foot()) * scene.value_per_px;
        let kind = if mode == Mode::Share { "share" } else { "stacked" };
        let labels = |axis: &Axis| axis.ticks.iter().map(|tick| tick.label.clone()).collect::<Vec<_>>();
        let values = browser.texts(&format!(
            "{script}\nreturn valueTicks({low:?}, {high:?}, '{unit}', '{kind}', {}).map(tick => tick.label)",
            graph.height
        ));
        assert_eq!(values, labels(&scene.y_axis), "{text}");
        let times = browser.texts(&format!(
            "{script}\nconst axis = timeTicks({from_s:?}, {to_s:?}, '{sample_unit}', {});
             return [axis.name, ...axis.ticks.map(tick => tick.label)]",
            graph.width
        ));
        let expected: Vec<String> = [vec![scene.x_axis.unit.clone()], labels(&scene.x_axis)].concat();
        assert_eq!(times, expected, "{text}");
    }
}

/// Serves one file to whoever asks, with a header of HTTP.
fn serve(content: Vec<u8>, header: &'static str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("bound");
    // It ends with the process; a test waits for the page, not for the server.
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.expect("a connection");
            let mut reader = BufReader::new(stream.try_clone().expect("a second handle"));
            let mut line = String::new();
            while reader.read_line(&mut line).is_ok_and(|bytes| bytes > 2) {
                line.clear();
            }
            let head = format!(
                "HTTP/1.1 200 OK\r\nContent-Type: image/svg+xml\r\n{header}Content-Length: {}\r\nConnection: close\r\n\r\n",
                content.len()
            );
            // A browser may have gone.
            let _ = stream.write_all(&[head.into_bytes(), content.clone()].concat());
        }
    });
    format!("http://{address}/chart.svg")
}

#[test]
fn a_page_that_allows_neither_scripts_nor_styles_shows_the_whole_picture() {
    let Some(browser) = browser() else { return };
    let folder = folder("browser_policy");
    let view = view(&hp(&samples()), &ViewOptions::default());
    let scene = Scene::new(&view, &SceneOptions::default());
    let mut svg = Vec::new();
    hp2svg::svg::write(&mut svg, &view, &scene, ThemeChoice::Light).expect("memory");
    // The same file without what is not allowed looks the same.
    let mut plain = String::from_utf8(svg.clone()).expect("UTF-8");
    for (from, to) in [("<style>", "</style>"), ("<script>", "</script>")] {
        let start = plain.find(from).expect("one");
        let end = plain[start..].find(to).expect("its end") + start + to.len();
        plain.replace_range(start..end, "");
    }
    browser.open(&written(&folder, "plain.svg", plain.as_bytes()));
    let expected = browser.screenshot();
    browser.visit(&serve(svg, "Content-Security-Policy: default-src 'none'\r\n"));
    assert!(browser.screenshot() == expected, "the pictures differ");
    let drawn = browser.run(
        "return [...document.querySelectorAll('.hp-band, .hp-row path, .hp-x text, .hp-y text')]
            .filter(element => { const box = element.getBoundingClientRect(); return box.width * box.height > 0; }).length",
    );
    let expected =
        view.bands.len() + scene.key.rows.len() + scene.x_axis.ticks.len() + scene.y_axis.ticks.len();
    let arrows = scene.key.rows.iter().filter(|row| row.grows).count();
    assert_eq!(drawn, expected + arrows);
    let blocked = browser.errors();
    assert!(blocked.iter().all(|error| error.contains("Content Security Policy")), "{blocked:?}");
}
