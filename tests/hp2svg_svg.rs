//! The SVG as a file: a strict reader takes it, it holds nothing that SVG has not, and what it draws is the profile.

mod hp_common;

use std::collections::{BTreeMap, HashSet};
use std::io::Cursor;

use hp_common::{Random, data, random_hp};
use hp2svg::ThemeChoice;
use hp2svg::choice::ChoiceOptions;
use hp2svg::scene::{Px, Scene, SceneOptions};
use hp2svg::view::{Kind, Mode, View, ViewOptions};
use roxmltree::{Document, Node};

const MODES: [Mode; 5] =
    [Mode::Stacked, Mode::Lines, Mode::Share, Mode::OwnPeak, Mode::Growth { since_s: 0.5 }];

fn view(hp: &[u8], options: &ViewOptions) -> View {
    View::read(&mut Cursor::new(hp), options).unwrap_or_else(|error| panic!("{error}"))
}

fn scene(view: &View) -> Scene {
    Scene::new(view, &SceneOptions::default())
}

fn svg(view: &View, scene: &Scene, theme: ThemeChoice) -> String {
    let mut svg = Vec::new();
    hp2svg::svg::write(&mut svg, view, scene, theme).expect("memory");
    String::from_utf8(svg).expect("UTF-8")
}

/// A profile of these samples: (time, values of the bands).
fn hp(names: &[&str], samples: &[(f64, Vec<u64>)]) -> Vec<u8> {
    let mut text = "JOB \"job\"\nDATE \"d\"\nSAMPLE_UNIT \"seconds\"\nVALUE_UNIT \"bytes\"\n".to_owned();
    for (time_s, values) in samples {
        text += &format!("BEGIN_SAMPLE {time_s:.6}\n");
        names.iter().zip(values).for_each(|(name, value)| text += &format!("{name}\t{value}\n"));
        text += &format!("END_SAMPLE {time_s:.6}\n");
    }
    text.into_bytes()
}

// --- what the file is made of -------------------------------------------------------------------------------------

/// Elements, and the attributes that each may have besides those of all.
const ELEMENTS: [(&str, &[&str]); 13] = [
    ("svg", &["width", "height", "viewBox", "role", "aria-labelledby", "font-family", "font-size"]),
    ("title", &[]),
    ("desc", &[]),
    ("style", &[]),
    ("defs", &[]),
    ("clipPath", &[]),
    ("pattern", &["width", "height", "patternUnits"]),
    ("circle", &["cx", "cy", "r"]),
    ("g", &["clip-path", "transform", "pointer-events", "paint-order", "stroke-linejoin", "aria-label"]),
    ("rect", &["x", "y", "width", "height"]),
    ("path", &["d", "pointer-events", "stroke-dasharray", "stroke-width"]),
    ("text", &["x", "y", "text-anchor", "font-size"]),
    ("script", &["type"]),
];
const OF_ALL: [&str; 8] = ["id", "class", "fill", "stroke", "stroke-width", "data-band", "data-x", "data-y"];

/// Checks what an image may hold: known elements and attributes, unique ids, references to itself only, paths that
/// parse, numbers that are numbers.
fn assert_sound(svg: &str) {
    let document = Document::parse(svg).unwrap_or_else(|error| panic!("{error}"));
    let mut ids = HashSet::new();
    for element in document.descendants().filter(Node::is_element) {
        let name = element.tag_name().name();
        assert_eq!(element.tag_name().namespace(), Some("http://www.w3.org/2000/svg"), "{name}");
        let (_, own) =
            ELEMENTS.iter().find(|(known, _)| *known == name).unwrap_or_else(|| panic!("<{name}>"));
        for attribute in element.attributes() {
            let (key, value) = (attribute.name(), attribute.value());
            assert!(attribute.namespace().is_none(), "{key}");
            assert!(OF_ALL.contains(&key) || own.contains(&key), "<{name} {key}>");
            assert!(key != "id" || ids.insert(value), "id {value} twice");
            assert!(!value.contains("NaN") && !value.contains("inf"), "<{name} {key}=\"{value}\">");
        }
        if let Some(d) = element.attribute("d") {
            assert!(!points(d).is_empty(), "<{name} d=\"{d}\">");
        }
    }
    for element in document.descendants().filter(Node::is_element) {
        for attribute in element.attributes().filter(|attribute| attribute.value().contains("url(")) {
            let id = attribute.value().strip_prefix("url(#").and_then(|id| id.strip_suffix(')'));
            assert!(id.is_some_and(|id| ids.contains(id)), "{}", attribute.value());
        }
    }
    for style in document.descendants().filter(|element| element.has_tag_name("style")) {
        let rules = style.text().unwrap_or_default();
        assert!(!rules.contains("url(") && !rules.contains("@import"), "{rules}");
        assert_eq!(rules.matches('{').count(), rules.matches('}').count());
    }
    let outside = svg.replace("http://www.w3.org/2000/svg", "").replace("http://www.w3.org/1999/xhtml", "");
    assert!(!outside.contains("://"), "an address outside");
}

/// The corners of a path of `M`, `l` and `z`.
fn points(d: &str) -> Vec<Px> {
    let mut numbers = Vec::new();
    let (mut start, mut kind) = (0, 'M');
    let mut corners: Vec<Px> = Vec::new();
    let mut flush = |text: &str, kind: char| {
        if text.trim().is_empty() {
            return;
        }
        numbers.push(text.trim().parse::<f64>().unwrap_or_else(|_| panic!("a number, not `{text}` in {d}")));
        if let [x, y] = numbers[..] {
            let from = if kind == 'l' { corners[corners.len() - 1] } else { (0.0, 0.0) };
            corners.push((from.0 + x, from.1 + y));
            numbers.clear();
        }
    };
    for (at, c) in d.char_indices() {
        match c {
            'M' | 'l' | 'z' => {
                flush(&d[start..at], kind);
                (start, kind) = (at + 1, c);
            }
            ' ' | '-' => {
                flush(&d[start..at], kind);
                start = at;
            }
            '0'..='9' | '.' => {}
            other => panic!("`{other}` in {d}"),
        }
    }
    flush(&d[start..], kind);
    assert!(numbers.is_empty(), "half a point in {d}");
    corners
}

#[test]
fn paths_are_read_back_as_they_were_written() {
    assert_eq!(points("M10 50l5.5 0-.5-.5 2 3z"), [(10.0, 50.0), (15.5, 50.0), (15.0, 49.5), (17.0, 52.5)]);
}

#[test]
fn random_profiles_give_sound_images_in_every_mode() {
    let mut random = Random::new(31);
    for round in 0..60 {
        let text = random_hp(&mut random);
        let mode = MODES[round % MODES.len()];
        let limit = [0, 1, 3, 20][random.below(4)];
        let columns = [3, 50, 800][random.below(3)];
        let choice = ChoiceOptions { limit, ..Default::default() };
        let view = view(text.as_bytes(), &ViewOptions { choice, mode, columns, ..Default::default() });
        let options = SceneOptions {
            size_px: [(1000.0, 560.0), (320.0, 200.0), (60.0, 40.0)][random.below(3)],
            pattern: random.once_in(2),
            time_range_s: random.once_in(4).then_some(1e4),
            value_range: random.once_in(4).then_some(3.0),
            ..Default::default()
        };
        let scene = Scene::new(&view, &options);
        for theme in [ThemeChoice::Auto, ThemeChoice::Light, ThemeChoice::Dark] {
            assert_sound(&svg(&view, &scene, theme));
        }
    }
}

#[test]
fn differences_of_random_profiles_are_sound() {
    let mut random = Random::new(32);
    for _ in 0..10 {
        let [before, after] = [(); 2].map(|()| Cursor::new(random_hp(&mut random).into_bytes()));
        let view = View::difference(before, after, &ViewOptions::default()).expect("two profiles");
        assert_sound(&svg(&view, &scene(&view), ThemeChoice::Auto));
    }
}

#[test]
fn every_stored_profile_is_drawn() {
    let mut drawn = 0;
    for entry in std::fs::read_dir(data("")).expect("stored") {
        let path = entry.expect("readable").path();
        if path.extension().is_none_or(|ending| ending != "hp") {
            continue;
        }
        let text = std::fs::read(&path).expect("readable");
        let view = match View::read(&mut Cursor::new(&text), &ViewOptions::default()) {
            Ok(view) => view,
            Err(error) => {
                assert!(error.to_string().contains("sample"), "{}: {error}", path.display());
                continue;
            }
        };
        let svg = svg(&view, &scene(&view), ThemeChoice::Auto);
        assert_sound(&svg);
        assert!(svg.len() < 500_000, "{}: {} bytes", path.display(), svg.len());
        drawn += 1;
    }
    assert!(drawn >= 20, "{drawn}");
}

#[test]
fn names_and_units_stay_texts_whatever_they_contain() {
    let names: [&[u8]; 12] = [
        b"<script>alert(1)</script>",
        b"a&b;&amp;",
        b"\"'`",
        b"]]>",
        b"</title></svg>",
        b"<!--",
        b"ctl\x01\x1b\x7f",
        b"cut\xc3",
        "größe".as_bytes(),
        "שלום/عربي".as_bytes(),
        "\u{202e}live\u{2069}".as_bytes(),
        "\u{fffe}\u{ffff}\u{2028}".as_bytes(),
    ];
    let mut text = b"JOB \"<j> ]]> &\" DATE \"<d>\" SAMPLE_UNIT \"<s>\" VALUE_UNIT \"<v>\"\n".to_vec();
    for time in ["0.0", "1.0"] {
        text.extend(format!("BEGIN_SAMPLE {time}\n").bytes());
        for (at, name) in names.iter().enumerate() {
            text.extend([name, &format!("\t{}\n", 100 * (at + 1)).into_bytes()[..]].concat());
        }
        text.extend(format!("END_SAMPLE {time}\n").bytes());
    }
    let limited = |limit| {
        let choice = ChoiceOptions { limit, ..Default::default() };
        view(&text, &ViewOptions { choice, ..Default::default() })
    };
    // All of them members of OTHER but two.
    let view = limited(3);
    assert_sound(&svg(&view, &scene(&view), ThemeChoice::Auto));
    let view = limited(0);
    for theme in [ThemeChoice::Auto, ThemeChoice::Dark] {
        let svg = svg(&view, &scene(&view), theme);
        assert_sound(&svg);
        let document = Document::parse(&svg).expect("sound");
        let texts: Vec<&str> = document.descendants().filter_map(|node| node.text()).collect();
        for shown in ["</title></svg>", "שלום/عربي", "\u{fffd}live\u{fffd}", "cut\u{fffd}"] {
            assert!(texts.contains(&shown), "{shown}: a row of the key");
        }
        assert_eq!(svg.matches("<script").count(), 2, "that of the data and that of the chart");
    }
    let mut page = Vec::new();
    hp2svg::html::write(&mut page, &[(&view, &scene(&view))], ThemeChoice::Auto).expect("memory");
    let page = String::from_utf8(page).expect("UTF-8");
    assert_eq!((page.matches("<script").count(), page.matches("alert(1)</script>").count()), (3, 0));
}

#[test]
fn names_of_right_to_left_scripts_are_kept_apart_from_the_figures_beside_them() {
    let samples: Vec<(f64, Vec<u64>)> =
        (0..40).map(|at| (at as f64, vec![1_000 * at + 50_000, 90_000])).collect();
    let view = view(&hp(&["שלום", "flat"], &samples), &ViewOptions::default());
    let svg = svg(&view, &scene(&view), ThemeChoice::Auto);
    let document = Document::parse(&svg).expect("sound");
    let texts: Vec<&str> = document.descendants().filter_map(|node| node.text()).collect();
    let note = "\u{2068}שלום\u{2069}: 48.8 KiB → 86.9 KiB, +1000 B/s";
    assert!(texts.contains(&note), "{texts:?}");
    let description =
        texts.iter().find(|text| text.starts_with("Heap profile of job")).expect("a description");
    assert_eq!(
        *description,
        "Heap profile of job, 40 samples from 0 s to 39 s. Peak 175 KiB at 39 s. Largest bands: flat (56 %), \
         \u{2068}שלום\u{2069} (44 %). Growing steadily: \u{2068}שלום\u{2069} (+1000 B/s)."
    );
}

#[test]
fn long_names_are_cut_in_titles_and_data() {
    let long = "ü".repeat(70_000);
    let view = view(&hp(&[&long], &[(0.0, vec![5]), (1.0, vec![6])]), &ViewOptions::default());
    let svg = svg(&view, &scene(&view), ThemeChoice::Auto);
    let cut = format!("{}...{}", "ü".repeat(499), "ü".repeat(498));
    assert!(svg.contains(&format!("<title>{cut}\npeak 6 B")) && svg.contains(&format!("\"name\":\"{cut}\"")));
    assert!(svg.len() < 60_000, "{}", svg.len());
}

#[test]
fn panels_have_ids_of_their_own() {
    let mut random = Random::new(8);
    let panels: Vec<(View, Scene)> = (0..3)
        .map(|_| {
            let view = view(random_hp(&mut random).as_bytes(), &ViewOptions::default());
            let scene = Scene::new(&view, &SceneOptions { pattern: true, ..Default::default() });
            (view, scene)
        })
        .collect();
    let mut svg = Vec::new();
    hp2svg::write(&mut svg, hp2svg::Format::Svg, &panels, ThemeChoice::Auto).expect("memory");
    let svg = String::from_utf8(svg).expect("UTF-8");
    assert_sound(&svg);
    assert!(svg.contains("width=\"3000\" height=\"560\"") && svg.contains("translate(2000 0)"));
}

#[test]
fn the_dark_scheme_is_in_attributes_if_asked_for_and_in_rules_if_not() {
    let view = view(&hp(&["a"], &[(0.0, vec![5]), (1.0, vec![6])]), &ViewOptions::default());
    let scene = scene(&view);
    let [auto, light, dark] =
        [ThemeChoice::Auto, ThemeChoice::Light, ThemeChoice::Dark].map(|theme| svg(&view, &scene, theme));
    let background =
        |svg: &str, colour| svg.contains(&format!("class=\"hp-fill-background\" fill=\"{colour}\""));
    assert!(background(&auto, "#ffffff") && background(&light, "#ffffff") && background(&dark, "#16181c"));
    let asks = |svg: &str| svg.contains("prefers-color-scheme");
    assert!(asks(&auto) && !asks(&light) && !asks(&dark));
}

// --- what the paths draw ------------------------------------------------------------------------------------------

/// The upper edges of the bands, from the bottom up, as the image draws them.
fn edges(svg: &str) -> Vec<Vec<Px>> {
    let document = Document::parse(svg).expect("sound");
    let mut edges = BTreeMap::new();
    for path in document.descendants().filter(|node| node.attribute("class") == Some("hp-band")) {
        let band: usize = path.attribute("data-band").expect("a band").parse().expect("a number");
        let corners = points(path.attribute("d").expect("a path"));
        // From the foot, along the edge, and back to the foot. An end of the edge that is at the foot is no corner more.
        let last = corners.len() - 1;
        let first = usize::from(corners[0].0 == corners[1].0);
        let end = if corners[last].0 == corners[last - 1].0 { last } else { last + 1 };
        edges.insert(band, corners[first..end].to_vec());
    }
    edges.into_values().collect()
}

/// The least and the largest y of a line from one x to another.
fn range_within(line: &[Px], from: f64, to: f64) -> (f64, f64) {
    let mut range = (f64::MAX, f64::MIN);
    let mut note = |y: f64| range = (range.0.min(y), range.1.max(y));
    for pair in line.windows(2) {
        let [(x0, y0), (x1, y1)] = [pair[0], pair[1]];
        if x1 < from || x0 > to {
            continue;
        }
        let at = |x: f64| if x1 > x0 { y0 + (y1 - y0) * (x - x0) / (x1 - x0) } else { y0 };
        note(at(from.max(x0)));
        note(if x1 > x0 { at(to.min(x1)) } else { y1 });
    }
    range
}

/// The exact upper edges in pixels, straight from the values: of each band, of each sample.
fn exact_edges(view: &View, scene: &Scene, order: &[usize], samples: &[(f64, Vec<u64>)]) -> Vec<Vec<Px>> {
    let (from_s, to_s) = (samples[0].0, samples[samples.len() - 1].0);
    let most = samples.iter().map(|(_, values)| values.iter().sum::<u64>()).max().expect("samples") as f64;
    let graph = scene.graph;
    assert_eq!(view.bands.len(), order.len());
    let edge = |band: usize| {
        let point = |(time_s, values): &(f64, Vec<u64>)| {
            let height: u64 = order[..=band].iter().map(|&name| values[name]).sum();
            let x = graph.x + (time_s - from_s) / (to_s - from_s) * graph.width;
            (x, graph.foot() - height as f64 / most * graph.height)
        };
        samples.iter().map(point).collect()
    };
    (0..order.len()).map(edge).collect()
}

/// The area under an edge, down to the foot.
fn area(edge: &[Px], foot: f64) -> f64 {
    edge.windows(2).map(|pair| (pair[1].0 - pair[0].0) * (foot - (pair[0].1 + pair[1].1) / 2.0)).sum()
}

/// Random values: bands that wander, jump, and come and go.
fn random_samples(random: &mut Random, bands: usize, count: usize) -> Vec<(f64, Vec<u64>)> {
    let mut time_s = random.below(100) as f64 * 0.25;
    let mut level: Vec<u64> = (0..bands).map(|_| random.below(1_000_000) as u64).collect();
    let samples = (0..count).map(|_| {
        time_s += [0.01, 0.01, 0.02, 0.5][random.below(4)];
        for value in &mut level {
            let step = random.below(20_000) as u64;
            *value = if random.once_in(2) { *value + step } else { value.saturating_sub(step) };
        }
        let spike = random.below(bands * 3);
        let values = level.iter().enumerate().map(|(band, &value)| match spike {
            hit if hit == band => value * 3,
            hit if hit == bands + band => 0,
            _ => value,
        });
        (time_s, values.collect())
    });
    samples.collect()
}

/// The profile, and the order of its bands from the bottom up in the view.
fn drawn(samples: &[(f64, Vec<u64>)], columns: usize) -> (View, Scene, Vec<usize>, Vec<Vec<Px>>) {
    let names: Vec<String> = (0..samples[0].1.len()).map(|band| format!("b{band}")).collect();
    let names: Vec<&str> = names.iter().map(|name| &**name).collect();
    let choice = ChoiceOptions { limit: 0, trace_percent: 0.0, ..Default::default() };
    let view = view(&hp(&names, samples), &ViewOptions { choice, columns, ..Default::default() });
    assert!(view.bands.iter().all(|band| band.kind == Kind::Named));
    let place = |name: &[u8]| names.iter().position(|known| known.as_bytes() == name).expect("a band");
    let order: Vec<usize> = view.bands.iter().map(|band| place(&band.name)).collect();
    let scene = scene(&view);
    let edges = edges(&svg(&view, &scene, ThemeChoice::Auto));
    (view, scene, order, edges)
}

/// Places are whole tenths.
const ROUNDED_PX: f64 = 0.1;

#[test]
fn few_samples_are_drawn_exactly() {
    let mut random = Random::new(77);
    for round in 0..40 {
        let bands = 1 + random.below(9);
        let samples = {
            let count = 2 + random.below(60);
            random_samples(&mut random, bands, count)
        };
        let (view, scene, order, edges) = drawn(&samples, 800);
        let exact = exact_edges(&view, &scene, &order, &samples);
        assert_eq!(edges.len(), exact.len());
        let mut areas = (0.0, 0.0);
        for (band, (edge, exact)) in edges.iter().zip(&exact).enumerate() {
            for &(x, y) in exact {
                // The x of a corner is rounded, too.
                let (low, high) = range_within(edge, x - ROUNDED_PX / 2.0, x + ROUNDED_PX / 2.0);
                assert!(
                    (low - ROUNDED_PX..=high + ROUNDED_PX).contains(&y),
                    "round {round}, band {band} at {x}: {low} to {high}, exact {y}"
                );
            }
            // What a band covers is between its edge and that below.
            let (drawn, true_area) = (area(edge, scene.graph.foot()), area(exact, scene.graph.foot()));
            let own = (drawn - areas.0, true_area - areas.1);
            areas = (drawn, true_area);
            let column = scene.graph.width / 800.0 * scene.graph.height;
            assert!((own.0 - own.1).abs() <= column, "round {round}, band {band}: {own:?}");
        }
    }
}

#[test]
fn many_samples_are_drawn_within_their_column_and_no_peak_is_lost() {
    const COLUMNS: usize = 200;
    let mut random = Random::new(78);
    for round in 0..6 {
        let samples = random_samples(&mut random, 5, 5_000);
        let (view, scene, order, edges) = drawn(&samples, COLUMNS);
        let exact = exact_edges(&view, &scene, &order, &samples);
        let column_px = scene.graph.width / COLUMNS as f64;
        let column = |x: f64| (((x - scene.graph.x) / column_px) as usize).min(COLUMNS - 1);
        for (band, (edge, exact)) in edges.iter().zip(&exact).enumerate() {
            assert!(edge.len() <= 4 * COLUMNS);
            // Of each column: the least and the largest y, and those of the straight lines into and out of it.
            let mut ranges = vec![(f64::MAX, f64::MIN); COLUMNS];
            for pair in exact.windows(2) {
                for range in &mut ranges[column(pair[0].0)..=column(pair[1].0)] {
                    *range = (range.0.min(pair[0].1).min(pair[1].1), range.1.max(pair[0].1).max(pair[1].1));
                }
            }
            let around = |at: usize| {
                let near = &ranges[at.saturating_sub(1)..(at + 2).min(COLUMNS)];
                near.iter().fold((f64::MAX, f64::MIN), |all, one| (all.0.min(one.0), all.1.max(one.1)))
            };
            let mut highest = [f64::MAX; COLUMNS];
            for &(x, y) in edge {
                let range = around(column(x));
                assert!(
                    (range.0 - ROUNDED_PX..=range.1 + ROUNDED_PX).contains(&y),
                    "round {round}, band {band} at {x}: {y} not in {range:?}"
                );
                for at in [column(x - 0.05), column(x + 0.05)] {
                    highest[at] = highest[at].min(y);
                }
            }
            // The largest value is the least y.
            let mut peaks = [f64::MAX; COLUMNS];
            exact.iter().for_each(|&(x, y)| peaks[column(x)] = peaks[column(x)].min(y));
            for (at, (&drawn, &peak)) in highest.iter().zip(&peaks).enumerate() {
                assert!(
                    peak == f64::MAX || drawn <= peak + ROUNDED_PX,
                    "round {round}, band {band}, column {at}"
                );
            }
            // A line that stays within its columns has an area within theirs.
            let doubt: f64 = (0..COLUMNS).map(|at| (around(at).1 - around(at).0) * column_px).sum();
            let (drawn, true_area) = (area(edge, scene.graph.foot()), area(exact, scene.graph.foot()));
            assert!((drawn - true_area).abs() <= doubt, "round {round}, band {band}");
        }
    }
}

#[test]
fn bands_that_wander_slowly_keep_their_areas_when_they_are_reduced() {
    let sample = |at: u64| {
        let wave = |period: f64, high: f64| (high * (1.2 + (at as f64 / period).sin())) as u64;
        (at as f64 * 0.01, vec![wave(900.0, 5e5), wave(1700.0, 9e5), 40 * at, wave(4000.0, 2e5)])
    };
    let samples: Vec<(f64, Vec<u64>)> = (0..20_000).map(sample).collect();
    let (view, scene, order, edges) = drawn(&samples, 800);
    let exact = exact_edges(&view, &scene, &order, &samples);
    let column = scene.graph.width / 800.0 * scene.graph.height;
    let foot = scene.graph.foot();
    let mut below = (0.0, 0.0);
    for (band, (edge, exact)) in edges.iter().zip(&exact).enumerate() {
        let areas = (area(edge, foot), area(exact, foot));
        let own = (areas.0 - below.0, areas.1 - below.1);
        assert!((own.0 - own.1).abs() <= column, "band {band}: {own:?}, a column is {column}");
        below = areas;
    }
}

#[test]
fn lower_bands_are_painted_over_higher_ones_from_the_foot_on() {
    let samples = [(0.0, vec![1, 5, 9]), (1.0, vec![2, 6, 8]), (2.0, vec![1, 1, 1])];
    let view = view(&hp(&["a", "b", "c"], &samples), &ViewOptions::default());
    let scene = scene(&view);
    let svg = svg(&view, &scene, ThemeChoice::Light);
    let document = Document::parse(&svg).expect("sound");
    let paths: Vec<Node> =
        document.descendants().filter(|node| node.attribute("class") == Some("hp-band")).collect();
    let order: Vec<&str> = paths.iter().filter_map(|path| path.attribute("data-band")).collect();
    assert_eq!(order, ["2", "1", "0"]);
    for path in paths {
        let corners = points(path.attribute("d").expect("a path"));
        let foot = (scene.zero_y * 10.0).round() / 10.0;
        assert_eq!((corners[0].1, corners[corners.len() - 1].1), (foot, foot));
    }
}

#[test]
fn a_long_run_of_many_bands_is_less_than_a_megabyte() {
    let mut random = Random::new(5);
    let samples = random_samples(&mut random, 60, 20_000);
    let names: Vec<String> =
        (0..60).map(|band| format!("({band})module.function_{band}/caller/main")).collect();
    let names: Vec<&str> = names.iter().map(|name| &**name).collect();
    let view = view(&hp(&names, &samples), &ViewOptions::default());
    let svg = svg(&view, &scene(&view), ThemeChoice::Auto);
    eprintln!("20,000 samples x 60 bands, 20 shown: {} bytes", svg.len());
    assert_eq!((view.bands.len(), view.samples), (20, 20_000));
    assert!(svg.len() < 1_000_000, "{}", svg.len());
}

// --- the data for the script --------------------------------------------------------------------------------------

#[test]
fn the_data_are_the_values_of_the_profile() {
    let mut random = Random::new(12);
    let samples = random_samples(&mut random, 4, 30);
    let names = ["a", "b<", "c\"", "d\\"];
    let view = view(&hp(&names, &samples), &ViewOptions::default());
    let svg = svg(&view, &scene(&view), ThemeChoice::Auto);
    let document = Document::parse(&svg).expect("sound");
    let element = document.descendants().find(|node| node.attribute("class") == Some("hp-data"));
    let text = element.and_then(|element| element.text()).expect("data");
    assert!(
        !text.contains('<') && !text.contains(".0,") && !text.contains('\n'),
        "escaped, whole numbers, compact"
    );
    let data: serde_json::Value = serde_json::from_str(text).expect("JSON");
    let times: Vec<f64> =
        data["times"].as_array().expect("a list").iter().filter_map(|at| at.as_f64()).collect();
    let expected: Vec<f64> =
        samples.iter().map(|(time_s, _)| format!("{time_s:.6}").parse().expect("a number")).collect();
    assert_eq!(times, expected);
    for (at, band) in data["bands"].as_array().expect("a list").iter().enumerate() {
        let name = names.iter().position(|name| band["name"] == *name).expect("a name of the profile");
        let values: Vec<u64> =
            data["values"][at].as_array().expect("a list").iter().filter_map(|at| at.as_u64()).collect();
        let expected: Vec<u64> = samples.iter().map(|(_, values)| values[name]).collect();
        assert_eq!(values, expected, "{}", names[name]);
    }
}
