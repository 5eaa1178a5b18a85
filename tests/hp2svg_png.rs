//! Charts as PNG: their size, the colours of bands, peaks, patterns and texts of every script.

mod hp_common;
mod picture_common;

use std::fmt::Write as _;

use hp2svg::colour::{Colour, DARK, LIGHT};
use hp2svg::hatch;
use hp2svg::png;
use hp2svg::scene::{Px, Scene, SceneOptions};
use hp2svg::view::Mode;

use hp_common::{Random, data, random_hp};
use picture_common::{Picture, hostile_names, patterned, png_of, profile_of, profiles, scene, stacked};

#[test]
fn every_profile_is_a_picture_of_its_size_in_every_mode() {
    let modes = [Mode::Stacked, Mode::Lines, Mode::Share, Mode::OwnPeak, Mode::Growth { since_s: 0.5 }];
    let options = SceneOptions { size_px: (600.0, 301.0), ..SceneOptions::default() };
    for (at, (name, profile)) in profiles().into_iter().enumerate() {
        let scene = scene(&profile, modes[at % modes.len()], &options);
        for (scale, size) in [(1.0, (600, 301)), (1.5, (900, 452))] {
            let picture = Picture::of(&scene, if at % 2 == 0 { &LIGHT } else { &DARK }, scale);
            assert_eq!((picture.width, picture.height), size, "{name}");
        }
    }
}

#[test]
fn a_picture_says_its_colours_are_srgb_and_how_large_a_pixel_is() {
    let png = png_of(&stacked(&profile_of(&[b"a"])), &LIGHT, 2.0);
    let reader = ::png::Decoder::new(std::io::Cursor::new(png)).read_info().expect("a PNG");
    let info = reader.info();
    assert!(info.srgb.is_some());
    // 192 in an inch.
    let pixels = info.pixel_dims.expect("a pHYs chunk");
    assert_eq!((pixels.xppu, pixels.yppu, pixels.unit), (7559, 7559, ::png::Unit::Meter));
}

/// The place of an edge at `x`, and whether `x` is within it.
fn height_at(edge: &[Px], x: f64) -> Option<f64> {
    let pair = edge.windows(2).find(|pair| pair[0].0 <= x && x <= pair[1].0 && pair[0].0 < pair[1].0)?;
    let part = (x - pair[0].0) / (pair[1].0 - pair[0].0);
    Some(pair[0].1 + (pair[1].1 - pair[0].1) * part)
}

/// The upper and the lower edge of a band around `x`, where they are the nearest to each other.
fn room_at(scene: &Scene, band: usize, x: f64) -> Option<(f64, f64)> {
    let foot = [(scene.graph.x, scene.zero_y), (scene.graph.right(), scene.zero_y)];
    let below: &[Px] = match band {
        0 => &foot,
        _ => &scene.shapes[band - 1].edge,
    };
    let around: Vec<f64> = (-6..=6).map(|step| x + f64::from(step) * 0.25).collect();
    let places = |edge: &[Px]| -> Option<Vec<f64>> { around.iter().map(|&x| height_at(edge, x)).collect() };
    let (tops, feet) = (places(&scene.shapes[band].edge)?, places(below)?);
    Some((tops.into_iter().fold(f64::MIN, f64::max), feet.into_iter().fold(f64::MAX, f64::min)))
}

/// Whether a mark, a label or the diamond at the peak may be there.
fn is_overdrawn(scene: &Scene, (x, y): Px) -> bool {
    const LABEL_PX: f64 = 130.0;
    let flags = scene.marks.iter().chain(&scene.peak);
    let near_label = |at: Px| (x - at.0).abs() < LABEL_PX && (at.1 - 20.0..at.1 + 14.0).contains(&y);
    flags.into_iter().any(|flag| near_label(flag.at))
        || scene.marks.iter().any(|mark| (x - mark.at.0).abs() < 3.0)
}

/// Checks the colours in the middle of bands; how many places it found.
fn check_bands(scene: &Scene, picture: &Picture, scale: f64) -> Result<usize, String> {
    let mut checked = 0;
    for (band, shape) in scene.shapes.iter().enumerate() {
        for step in 1..40 {
            let x = scene.graph.x + scene.graph.width * f64::from(step) / 40.0;
            let Some((top, foot)) = room_at(scene, band, x) else { continue };
            let y = f64::midpoint(top, foot);
            if foot - top < 4.0 || is_overdrawn(scene, (x, y)) {
                continue;
            }
            let found = picture.at((x * scale) as usize, (y * scale) as usize);
            if found != shape.colour {
                return Err(format!("band {band} at {x} {y}: {found}, expected {}", shape.colour));
            }
            checked += 1;
        }
    }
    Ok(checked)
}

#[test]
fn inside_a_band_the_colour_is_that_of_the_band() {
    let mut checked = 0;
    let mut random = Random::new(23);
    let mut all = profiles();
    all.extend((0..10).map(|at| (format!("random {at}"), random_hp(&mut random).into_bytes())));
    for (at, (name, profile)) in all.into_iter().enumerate() {
        let mode = [Mode::Stacked, Mode::Share][at % 2];
        let scene = scene(&profile, mode, &SceneOptions::default());
        let (theme, scale) = [(LIGHT, 1.0), (DARK, 1.7)][at / 2 % 2];
        let picture = Picture::of(&scene, &theme, scale);
        checked += check_bands(&scene, &picture, scale).unwrap_or_else(|why| panic!("{name}: {why}"));
    }
    assert!(checked > 3_000, "only {checked} places checked");
}

#[test]
fn two_bands_that_change_places_are_seen() {
    let mut scene = stacked(&std::fs::read(data("25-bands.hp")).expect("a profile"));
    let picture = Picture::of(&scene, &LIGHT, 1.0);
    let (one, other) = (scene.shapes[7].colour, scene.shapes[8].colour);
    (scene.shapes[7].colour, scene.shapes[8].colour) = (other, one);
    check_bands(&scene, &picture, 1.0).expect_err("the picture has them in the order before");
}

/// Samples of one band, all 100 but one.
fn with_spike(samples: usize, spike: usize) -> String {
    let mut text = "JOB \"j\"\nDATE \"d\"\nSAMPLE_UNIT \"seconds\"\nVALUE_UNIT \"bytes\"\n".to_owned();
    for sample in 0..samples {
        let value = if sample == spike { 1_000_000 } else { 100 };
        let _ = writeln!(text, "BEGIN_SAMPLE {sample}.0\nband\t{value}\nEND_SAMPLE {sample}.0");
    }
    text
}

#[test]
fn a_spike_of_one_sample_in_20000_reaches_the_top() {
    for spike in [0, 1, 7_777, 19_999] {
        let scene = stacked(with_spike(20_000, spike).as_bytes());
        let picture = Picture::of(&scene, &LIGHT, 2.0);
        let part = spike as f64 / 19_999.0;
        let x = ((scene.graph.x + scene.graph.width * part) * 2.0) as usize;
        let inked = |y: f64, columns: std::ops::Range<usize>| {
            let y = (y * 2.0) as usize;
            columns.filter(|&x| picture.at(x, y) != LIGHT.background).count()
        };
        // Above the diamond at the peak's middle, and below it; the label of a grid line is far off.
        for below_top_px in [1.0, 8.0, 30.0] {
            let y = scene.graph.y + below_top_px;
            assert!(inked(y, x - 2..x + 3) > 0, "spike {spike}, {below_top_px} px below the top");
        }
        let aside = (x + 200) % (scene.graph.right() as usize * 2 - 300);
        let aside = aside.max(scene.graph.x as usize * 2 + 40);
        assert_eq!(inked(scene.graph.y + 30.0, aside..aside + 5), 0, "spike {spike}");
    }
}

#[test]
fn names_of_every_script_leave_ink_in_the_key_and_hostile_ones_do_no_harm() {
    let names: Vec<&[u8]> =
        ["plain", "größe", "λ→y", "Привет", "日本", "שלום", "سلام", "\u{1fffe}"].map(str::as_bytes).to_vec();
    let scene = stacked(&profile_of(&names));
    let picture = Picture::of(&scene, &LIGHT, 2.0);
    for row in &scene.key.rows {
        let left = (scene.key.xs.1 * 2.0) as usize;
        let right = left + (hp2svg::scene::width_px(&row.label, scene.key.font_px) * 2.0) as usize;
        let (top, foot) = ((row.y - 6.0) as usize * 2, (row.y + 6.0) as usize * 2);
        let inked = picture.part_inked([left, top, right, foot], LIGHT.background);
        assert!((0.1..0.9).contains(&inked), "{}: {inked}", row.label);
        // Nothing runs beyond the width that the layout counts on.
        assert_eq!(
            picture.part_inked([right + 3, top, right + 9, foot], LIGHT.background),
            0.0,
            "{}",
            row.label
        );
    }
    let names = hostile_names();
    let names: Vec<&[u8]> = names.iter().map(Vec::as_slice).collect();
    for names in names.chunks(7) {
        Picture::of(&stacked(&profile_of(names)), &DARK, 1.0);
    }
}

#[test]
fn patterns_tell_bands_apart_without_colour() {
    let names: Vec<String> = (0..hatch::COUNT).map(|at| format!("band{at}")).collect();
    let names: Vec<&[u8]> = names.iter().map(|name| name.as_bytes()).collect();
    let mut scene = patterned(&profile_of(&names));
    scene.shapes.iter_mut().for_each(|shape| shape.colour = Colour([90, 90, 90]));
    let plain = Picture::of(&scene, &LIGHT, 2.0);
    let (ground, ink) = hatch::inks(Colour([90, 90, 90]), &LIGHT);
    let mut boxes = Vec::new();
    for row in &scene.key.rows {
        let (left, top) = ((scene.key.xs.0 * 2.0).ceil() as usize, ((row.y - 5.0) * 2.0).ceil() as usize);
        let points = (0..20).flat_map(|y| (0..20).map(move |x| (left + x, top + y)));
        let colours: Vec<Colour> = points.map(|(x, y)| plain.at(x, y)).collect();
        assert!(colours.contains(&ground) && colours.contains(&ink), "row {}", row.band);
        boxes.push(colours);
    }
    assert_eq!(boxes.len(), hatch::COUNT);
    for (at, one) in boxes.iter().enumerate() {
        for (before, other) in boxes[..at].iter().enumerate() {
            let differ = one.iter().zip(other).filter(|(one, other)| one != other).count();
            assert!(differ > 100, "boxes {before} and {at} of the key differ in {differ} of 400 pixels");
        }
    }
}

#[test]
fn the_same_scene_is_the_same_bytes() {
    let profile = std::fs::read(data("ghc-phases-hd.hp")).expect("a profile");
    assert_eq!(png_of(&patterned(&profile), &DARK, 1.3), png_of(&patterned(&profile), &DARK, 1.3));
}

#[test]
fn scenes_in_a_row_are_the_single_pictures_side_by_side() {
    let scenes = [patterned(&profile_of(&[b"a", b"b"])), stacked(&profile_of(&[b"c"]))];
    let mut png = Vec::new();
    png::write_row(&mut png, &scenes, &LIGHT, 1.0).expect("a Vec takes everything");
    let row = Picture::decoded(&png);
    let singles = scenes.each_ref().map(|scene| Picture::of(scene, &LIGHT, 1.0));
    assert_eq!((row.width, row.height), (singles[0].width + singles[1].width, singles[0].height));
    for (x, y) in (0..row.height).flat_map(|y| (0..singles[0].width).map(move |x| (x, y))) {
        assert_eq!(row.at(x, y), singles[0].at(x, y), "{x} {y}");
    }
    // Letters of the second stand on other fractions of a pixel.
    let right = (0..row.height).flat_map(|y| (0..singles[1].width).map(move |x| (x, y)));
    let differ = right.filter(|&(x, y)| row.at(singles[0].width + x, y) != singles[1].at(x, y)).count();
    assert!(differ * 100 < singles[1].width * singles[1].height, "{differ} pixels differ");
}

#[test]
fn a_picture_without_pixels_or_with_too_many_is_refused() {
    let scene = stacked(&profile_of(&[b"a"]));
    for scale in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e-9, 20.0, 1e300] {
        let error = png::write(&mut Vec::new(), &scene, &LIGHT, scale).expect_err("no such picture");
        assert!(error.to_string().contains("expected 1 to 100 million pixels"), "{scale}: {error}");
    }
}
