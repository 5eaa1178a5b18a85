//! Charts as PDF, as other programs read them: whole, the same picture as the PNG, and with text that can be copied.

mod hp_common;
mod picture_common;

use std::path::{Path, PathBuf};
use std::process::Command;

use hp2svg::colour::{DARK, LIGHT, Theme};
use hp2svg::scene::{Scene, SceneOptions};
use hp2svg::view::Mode;
use hp2svg::{pdf, png};

use hp_common::{Random, data, folder};
use picture_common::{Picture, hostile_names, patterned, profile_of, profiles, scene, stacked};

/// How far the picture that pdftoppm draws may be from the PNG, as [`Picture::apart`] tells it. Most of it is that
/// their fonts differ; two bands of the 25 that change places are more.
const APART: f64 = 1.0;

fn pdf_of(scene: &Scene, theme: &Theme) -> Vec<u8> {
    let mut pdf = Vec::new();
    pdf::write(&mut pdf, scene, theme).expect("a Vec takes everything");
    pdf
}

/// A program of Debian's package, if it is there. In CI it has to be.
fn tool(name: &str, package: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).map(|folder| folder.join(name)).find(|tool| tool.is_file());
    if found.is_none() {
        assert!(std::env::var_os("CI").is_none(), "{name} (package {package}) is not on the PATH");
        eprintln!("SKIPPED: {name} (package {package}) is not on the PATH");
    }
    found
}

/// What a tool prints about a document; it must not complain.
fn said(tool: &Path, before: &[&str], document: &Path, after: &[&str]) -> Vec<u8> {
    let run = Command::new(tool).args(before).arg(document).args(after).output().expect("the tool starts");
    let stderr = String::from_utf8_lossy(&run.stderr);
    assert!(run.status.success() && stderr.is_empty(), "{}: {stderr}", document.display());
    run.stdout
}

/// The words of a document, a blank between them, each letter in the order it is read.
fn text_of(pdftotext: &Path, document: &Path) -> String {
    let text =
        String::from_utf8(said(pdftotext, &["-raw", "-enc", "UTF-8"], document, &["-"])).expect("UTF-8");
    let marks = ['\u{202a}', '\u{202b}', '\u{202c}', '\u{200e}', '\u{200f}'];
    words(&text.replace(marks, ""))
}

fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<&str>>().join(" ")
}

/// Checks a document with qpdf, and its picture at so many pixels of the screen against the PNG; how far they are
/// apart.
fn check(scene: &Scene, theme: &Theme, scale: u32, file: &Path) -> f64 {
    std::fs::write(file, pdf_of(scene, theme)).expect("a new file");
    if let Some(qpdf) = tool("qpdf", "qpdf") {
        said(&qpdf, &["--check"], file, &[]);
    }
    let Some(pdftoppm) = tool("pdftoppm", "poppler-utils") else {
        return 0.0;
    };
    let drawn = Picture::of_ppm(&said(&pdftoppm, &["-r", &(96 * scale).to_string()], file, &[]));
    let all = [0, 0, drawn.width, drawn.height];
    assert!(drawn.part_inked(all, theme.background) > 0.003, "{}: blank", file.display());
    drawn.apart(&Picture::of(scene, theme, scale.into()))
}

#[test]
fn every_profile_is_a_valid_document_that_draws_what_the_png_shows() {
    let folder = folder("pdf_pictures");
    for (at, (name, profile)) in profiles().into_iter().enumerate() {
        let mode =
            [Mode::Stacked, Mode::Lines, Mode::Share, Mode::OwnPeak, Mode::Growth { since_s: 0.5 }][at % 5];
        let (theme, scene) = ([LIGHT, DARK][at % 2], scene(&profile, mode, &SceneOptions::default()));
        let apart = check(&scene, &theme, 1, &folder.join(format!("{name}.pdf")));
        assert!(apart < APART, "{name}: {apart}");
    }
}

#[test]
fn two_bands_that_change_places_are_seen() {
    let file = folder("pdf_swapped").join("run.pdf");
    let scene = stacked(&std::fs::read(data("25-bands.hp")).expect("a profile"));
    check(&scene, &LIGHT, 1, &file);
    let Some(pdftoppm) = tool("pdftoppm", "poppler-utils") else { return };
    let drawn = Picture::of_ppm(&said(&pdftoppm, &["-r", "96"], &file, &[]));
    for upper in 1..scene.shapes.len() {
        let mut other = scene.clone();
        other.shapes[upper].colour = scene.colour(upper - 1);
        other.shapes[upper - 1].colour = scene.colour(upper);
        let apart = drawn.apart(&Picture::of(&other, &LIGHT, 1.0));
        assert!(apart > APART, "bands {} and {upper}: {apart}", upper - 1);
    }
}

#[test]
fn patterns_are_those_of_the_png() {
    // Programs shade the edges of the many lines differently, and a pattern is all edges.
    const PATTERNS_APART: f64 = 3.0;
    let file = folder("pdf_patterns").join("run.pdf");
    let mut scene = patterned(&std::fs::read(data("25-bands.hp")).expect("a profile"));
    let apart = check(&scene, &LIGHT, 4, &file);
    assert!(apart < PATTERNS_APART, "{apart}");
    let Some(pdftoppm) = tool("pdftoppm", "poppler-utils") else { return };
    let drawn = Picture::of_ppm(&said(&pdftoppm, &["-r", "384"], &file, &[]));
    scene.shapes.iter_mut().for_each(|shape| shape.pattern = shape.pattern.map(|pattern| pattern + 1));
    let apart = drawn.apart(&Picture::of(&scene, &LIGHT, 4.0));
    assert!(apart > 5.0 * PATTERNS_APART, "{apart}");
}

#[test]
fn every_text_of_the_scene_can_be_copied() {
    let Some(pdftotext) = tool("pdftotext", "poppler-utils") else { return };
    let folder = folder("pdf_texts");
    for (name, profile) in profiles() {
        let (scene, file) = (stacked(&profile), folder.join(format!("{name}.pdf")));
        std::fs::write(&file, pdf_of(&scene, &LIGHT)).expect("a new file");
        let text = text_of(&pdftotext, &file);
        let ticks = scene.x_axis.ticks.iter().chain(&scene.y_axis.ticks).map(|tick| &tick.label);
        let rows = scene.key.rows.iter().flat_map(|row| [&row.label, &row.figure]);
        let notes = scene.notes.iter().map(|(_, note)| note);
        let all =
            [&scene.title, &scene.subtitle, &scene.date].into_iter().chain(ticks).chain(rows).chain(notes);
        for wanted in all {
            assert!(text.contains(&words(wanted)), "{name}: `{wanted}` is not in {text}");
        }
    }
}

#[test]
fn names_of_every_script_can_be_copied() {
    let Some(pdftotext) = tool("pdftotext", "poppler-utils") else { return };
    let names = [
        "main/größe",
        "λ→y",
        "(12)Привет/мир",
        "日本語の名前",
        "한국어",
        "שלום",
        "مرحبا",
        "Łódź–„x”",
        "a\\)b((",
        "%PDF<</x>>",
        "ﻼ",
        "🦀x",
    ];
    let file = folder("pdf_scripts").join("run.pdf");
    let scene = stacked(&profile_of(&names.map(str::as_bytes)));
    std::fs::write(&file, pdf_of(&scene, &DARK)).expect("a new file");
    let text = text_of(&pdftotext, &file);
    for name in names {
        // What no font has is drawn as, and copied as, the replacement character.
        let wanted = name.replace('🦀', "\u{fffd}");
        assert!(text.contains(&wanted), "`{name}` is not in {text}");
    }
}

#[test]
fn letters_beyond_helvetica_look_as_in_the_png() {
    let Some(pdftoppm) = tool("pdftoppm", "poppler-utils") else { return };
    let file = folder("pdf_letters").join("run.pdf");
    let scene = stacked(&profile_of(&["λόγος", "Привет", "日本語", "한국어", "שלום"].map(str::as_bytes)));
    std::fs::write(&file, pdf_of(&scene, &LIGHT)).expect("a new file");
    let drawn = Picture::of_ppm(&said(&pdftoppm, &["-r", "384"], &file, &[]));
    let png = Picture::of(&scene, &LIGHT, 4.0);
    let of_row = |picture: &Picture, y: f64| {
        let left = scene.key.xs.1 as usize * 4;
        picture.cut([left, (y as usize - 8) * 4, left + 128, (y as usize + 8) * 4])
    };
    let rows: Vec<f64> = scene.key.rows.iter().map(|row| row.y).collect();
    for (at, &y) in rows.iter().enumerate() {
        let (one, same) = (of_row(&drawn, y), of_row(&png, y));
        let other = of_row(&png, rows[(at + 1) % rows.len()]);
        let (near, far) = (one.apart(&same), one.apart(&other));
        assert!(near < 6.0 && far > 20.0, "{}: {near}, {far}", scene.key.rows[at].label);
    }
}

#[test]
fn marks_are_dashed_as_in_the_png() {
    let file = folder("pdf_dashes").join("run.pdf");
    let scene = stacked(&std::fs::read(data("marks.hp")).expect("a profile"));
    std::fs::write(&file, pdf_of(&scene, &LIGHT)).expect("a new file");
    let mut pictures = vec![Picture::of(&scene, &LIGHT, 4.0)];
    let pdftoppm = tool("pdftoppm", "poppler-utils");
    pictures.extend(pdftoppm.map(|tool| Picture::of_ppm(&said(&tool, &["-r", "384"], &file, &[]))));
    for (picture, mark) in
        pictures.iter().flat_map(|picture| scene.marks.iter().map(move |mark| (picture, mark)))
    {
        let (x, top, foot) = (mark.at.0 * 4.0, scene.graph.y as usize * 4, scene.graph.foot() as usize * 4);
        let drawn = (top..foot).filter(|&y| picture.at(x as usize, y) == LIGHT.text).count();
        // Four pixels of seven.
        let part = drawn as f64 / (foot - top) as f64;
        assert!((part - 4.0 / 7.0).abs() < 0.05, "{part} at {x}");
    }
    assert!(scene.marks.len() > 1);
}

#[test]
fn hostile_names_leave_the_document_valid() {
    let folder = folder("pdf_hostile");
    let names = hostile_names();
    let names: Vec<&[u8]> = names.iter().map(Vec::as_slice).collect();
    for (at, names) in names.chunks(7).enumerate() {
        let mut profile = b"JOB \"".to_vec();
        profile.extend(names[0].iter().filter(|&&byte| byte != b'"' && byte != b'\\'));
        profile.extend(
            profile_of(names)
                .splitn(2, |&byte| byte == b'\n')
                .nth(1)
                .map(|rest| [b"\"\n", rest].concat())
                .expect("lines"),
        );
        check(&stacked(&profile), &LIGHT, 1, &folder.join(format!("{at}.pdf")));
    }
}

#[test]
fn figures_end_where_the_layout_puts_them() {
    let Some(pdftotext) = tool("pdftotext", "poppler-utils") else { return };
    let file = folder("pdf_places").join("run.pdf");
    let scene = stacked(&profile_of(&[b"narrow", b"WIDE", b"\xce\xbb"]));
    std::fs::write(&file, pdf_of(&scene, &LIGHT)).expect("a new file");
    let boxes = String::from_utf8(said(&pdftotext, &["-bbox"], &file, &["-"])).expect("UTF-8");
    let right_of = |word: &str| -> Vec<f64> {
        let lines = boxes.lines().filter(|line| line.ends_with(&format!(">{word}</word>")));
        let right = |line: &str| line.split("xMax=\"").nth(1)?.split('"').next()?.parse().ok();
        lines.filter_map(right).collect()
    };
    // In points; those of the ticks and of the peak end left of the key.
    let of_key = |x: &f64| *x > scene.key.xs.1 * 0.75;
    let units: Vec<f64> = right_of("KiB").into_iter().filter(of_key).collect();
    assert_eq!(units.len(), scene.key.rows.len());
    for x in units {
        assert!((x - scene.key.xs.2 * 0.75).abs() < 0.05, "{x}, expected {}", scene.key.xs.2 * 0.75);
    }
    let right_px = scene.key.xs.1 + hp2svg::scene::width_px("λ", scene.key.font_px);
    let [x] = right_of("λ")[..] else { panic!("one λ in {boxes}") };
    assert!((x - right_px * 0.75).abs() < 0.05, "{x}, expected {}", right_px * 0.75);
}

#[test]
fn a_document_says_what_it_is_and_is_the_same_bytes_every_time() {
    let scene = stacked(&std::fs::read(data("unicode.hp")).expect("a profile"));
    let document = pdf_of(&scene, &LIGHT);
    assert_eq!(document, pdf_of(&scene, &LIGHT));
    let Some(pdfinfo) = tool("pdfinfo", "poppler-utils") else { return };
    let file = folder("pdf_about").join("run.pdf");
    std::fs::write(&file, document).expect("a new file");
    let about = String::from_utf8(said(&pdfinfo, &["-enc", "UTF-8"], &file, &[])).expect("UTF-8");
    let value = |key: &str| {
        let line = about.lines().find(|line| line.starts_with(key));
        line.map(|line| line[key.len()..].trim().to_owned())
    };
    assert_eq!(value("Title:").as_deref(), Some("größe λ"));
    assert_eq!(value("Creator:"), Some(format!("hp2svg {}", env!("CARGO_PKG_VERSION"))));
    assert_eq!(value("Page size:").as_deref(), Some("750 x 420 pts"));
    assert_eq!((value("Pages:").as_deref(), value("CreationDate:")), (Some("1"), None));
}

#[test]
fn fonts_beyond_helvetica_are_embedded_in_part() {
    let plain = pdf_of(&stacked(&profile_of(&[b"plain"])), &LIGHT);
    let greek = pdf_of(&stacked(&profile_of(&["λόγος".as_bytes()])), &LIGHT);
    let has = |document: &[u8], word: &[u8]| document.windows(word.len()).any(|part| part == word);
    assert!(!has(&plain, b"DejaVuSans") && has(&greek, b"+DejaVuSans"));
    assert!(plain.len() < 4_000 && greek.len() < plain.len() + 8_000, "{} {}", plain.len(), greek.len());
}

#[test]
fn more_characters_than_a_font_has_codes_take_a_second_font() {
    let Some(pdftotext) = tool("pdftotext", "poppler-utils") else { return };
    let chars: Vec<char> = ('\u{4e00}'..).take(300).collect();
    let names: Vec<String> = chars.chunks(15).map(|piece| piece.iter().collect()).collect();
    let names: Vec<&[u8]> = names.iter().map(|name| name.as_bytes()).collect();
    let (scene, file) = (stacked(&profile_of(&names)), folder("pdf_many").join("run.pdf"));
    check(&scene, &LIGHT, 1, &file);
    let text = text_of(&pdftotext, &file);
    for name in names {
        let name = std::str::from_utf8(name).expect("UTF-8");
        assert!(text.contains(name), "{name} is not in {text}");
    }
}

#[test]
fn scenes_in_a_row_are_the_single_documents_side_by_side() {
    let Some(pdftoppm) = tool("pdftoppm", "poppler-utils") else { return };
    let scenes = [stacked(&profile_of(&[b"a", b"b"])), stacked(&profile_of(&[b"c"]))];
    let file = folder("pdf_row").join("run.pdf");
    let mut document = Vec::new();
    pdf::write_row(&mut document, &scenes, &LIGHT).expect("a Vec takes everything");
    std::fs::write(&file, document).expect("a new file");
    let drawn = Picture::of_ppm(&said(&pdftoppm, &["-r", "96"], &file, &[]));
    let mut png = Vec::new();
    png::write_row(&mut png, &scenes, &LIGHT, 1.0).expect("a Vec takes everything");
    let apart = drawn.apart(&Picture::decoded(&png));
    assert!(apart < APART, "{apart}");
}

#[test]
fn a_large_chart_is_compressed() {
    let scene = stacked(&noisy(20, 5_000));
    let points: usize = scene.shapes.iter().map(|shape| shape.edge.len()).sum();
    let bytes = pdf_of(&scene, &LIGHT).len();
    // Each point is twice in an area, once in a line.
    assert!(bytes < points * 12, "{bytes} bytes for {points} points");
}

/// A profile of many samples in which all bands change all the time.
fn noisy(bands: usize, samples: usize) -> Vec<u8> {
    let mut random = Random::new(5);
    let mut text = b"JOB \"noisy\"\nDATE \"d\"\nSAMPLE_UNIT \"seconds\"\nVALUE_UNIT \"bytes\"\n".to_vec();
    for sample in 0..samples {
        text.extend(format!("BEGIN_SAMPLE {sample}.0\n").bytes());
        for band in 0..bands {
            text.extend(format!("band{band}\t{}\n", 1000 + random.below(500)).bytes());
        }
        text.extend(format!("END_SAMPLE {sample}.0\n").bytes());
    }
    text
}
