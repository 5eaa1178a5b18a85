//! What the tests of pictures share: scenes of profiles, and pictures as rows of colours.
#![allow(dead_code, reason = "each test file uses its part")]

use std::fs;
use std::path::PathBuf;

use hp2svg::colour::{Colour, Theme};
use hp2svg::png;
use hp2svg::scene::{Scene, SceneOptions};
use hp2svg::view::{Mode, View, ViewOptions};

use crate::hp_common::data;

/// All profiles of the tests, by name.
pub(crate) fn profiles() -> Vec<(String, Vec<u8>)> {
    let is_profile = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "hp");
    let files = fs::read_dir(data("")).expect("the profiles are there");
    let mut files: Vec<PathBuf> =
        files.map(|file| file.expect("readable").path()).filter(is_profile).collect();
    files.sort();
    assert!(files.len() > 20, "only {} profiles", files.len());
    let named = |path: PathBuf| {
        let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
        (name, fs::read(path).expect("readable"))
    };
    files.into_iter().map(named).collect()
}

/// A profile laid out.
pub(crate) fn scene(profile: &[u8], mode: Mode, options: &SceneOptions) -> Scene {
    let view =
        View::read(&mut std::io::Cursor::new(profile), &ViewOptions { mode, ..ViewOptions::default() });
    Scene::new(&view.expect("a profile"), options)
}

/// A profile laid out as it is by default.
pub(crate) fn stacked(profile: &[u8]) -> Scene {
    scene(profile, Mode::Stacked, &SceneOptions::default())
}

/// With patterns.
pub(crate) fn patterned(profile: &[u8]) -> Scene {
    scene(profile, Mode::Stacked, &SceneOptions { pattern: true, ..SceneOptions::default() })
}

/// A profile with a band for each name: each grows, and each is larger than the one before.
pub(crate) fn profile_of(names: &[&[u8]]) -> Vec<u8> {
    let mut text =
        b"JOB \"job\"\nDATE \"Thu Jan  1 00:00 2026\"\nSAMPLE_UNIT \"seconds\"\nVALUE_UNIT \"bytes\"\n"
            .to_vec();
    for sample in 0..3 {
        text.extend(format!("BEGIN_SAMPLE {sample}.0\n").bytes());
        for (at, name) in names.iter().enumerate() {
            text.extend_from_slice(name);
            text.extend(format!("\t{}\n", (sample + 1) * (at + 4) * 1000).bytes());
        }
        text.extend(format!("END_SAMPLE {sample}.0\n").bytes());
    }
    text
}

/// Names that would like to be markup, commands or nothing at all.
pub(crate) fn hostile_names() -> Vec<Vec<u8>> {
    let mut names: Vec<Vec<u8>> = [
        "(((",
        ")))",
        "\\",
        "\\)",
        "<<>>",
        "endstream",
        "%PDF",
        "(\\ddd\\",
        "BT/F",
        "\u{1}\u{7f}\u{1b}[31m",
        "\u{202e}turned",
        "\u{200b}",
        "e\u{301}\u{301}\u{301}",
        "\u{fffe}",
        "\u{10ffff}",
        "😀",
        "日本語の名前",
        "שלום",
        "سلام",
        "ﬁ\u{ad}x",
        "Ω\u{2126}",
        "</svg>",
        "&amp;",
        "-->",
        "\u{feff}bom",
    ]
    .map(|name| name.as_bytes().to_vec())
    .to_vec();
    names.push(b"bad\xff\xfe\xc3utf8".to_vec());
    names.push(b"x".repeat(4000));
    names.push("語".repeat(900).into_bytes());
    names
}

/// Rows of colours.
pub(crate) struct Picture {
    pub(crate) width: usize,
    pub(crate) height: usize,
    colours: Vec<u8>,
}

impl Picture {
    /// A scene as PNG, decoded.
    pub(crate) fn of(scene: &Scene, theme: &Theme, scale: f64) -> Picture {
        Picture::decoded(&png_of(scene, theme, scale))
    }

    /// A PNG of three bytes for each pixel.
    pub(crate) fn decoded(png: &[u8]) -> Picture {
        let mut reader = ::png::Decoder::new(std::io::Cursor::new(png)).read_info().expect("a PNG");
        let mut colours = vec![0; reader.output_buffer_size().expect("it fits")];
        let info = reader.next_frame(&mut colours).expect("a picture");
        assert_eq!((info.color_type, info.bit_depth), (::png::ColorType::Rgb, ::png::BitDepth::Eight));
        Picture { width: info.width as usize, height: info.height as usize, colours }
    }

    /// A PPM of three bytes for each pixel.
    pub(crate) fn of_ppm(ppm: &[u8]) -> Picture {
        let mut words = ppm.splitn(4, u8::is_ascii_whitespace);
        let mut word = || String::from_utf8_lossy(words.next().expect("a header")).into_owned();
        let (magic, width, height) = (word(), word(), word());
        let rest = words.next().expect("colours");
        assert_eq!((&*magic, &rest[..4]), ("P6", &b"255\n"[..]));
        let (width, height) = (width.parse().expect("a number"), height.parse().expect("a number"));
        let colours = rest[4..].to_vec();
        assert_eq!(colours.len(), width * height * 3);
        Picture { width, height, colours }
    }

    pub(crate) fn at(&self, x: usize, y: usize) -> Colour {
        let from = (y * self.width + x) * 3;
        Colour([self.colours[from], self.colours[from + 1], self.colours[from + 2]])
    }

    /// How far two pictures are apart in squares of 8 pixels: the mean over all levels, of 255. That leaves out how
    /// edges, letters and patterns are shaded, which programs do differently.
    pub(crate) fn apart(&self, other: &Picture) -> f64 {
        assert_eq!((self.width, self.height), (other.width, other.height));
        let (ones, others) = (self.squares(), other.squares());
        let apart: f64 = ones.iter().zip(&others).map(|(one, other)| (one - other).abs()).sum();
        apart / ones.len() as f64
    }

    /// The mean levels of whole squares of 8 pixels, in rows.
    fn squares(&self) -> Vec<f64> {
        const SIDE: usize = 8;
        let (columns, rows) = (self.width / SIDE, self.height / SIDE);
        let mut sums = vec![0_u32; columns * rows * 3];
        for (y, row) in self.colours.chunks_exact(self.width * 3).take(rows * SIDE).enumerate() {
            for (at, &level) in row[..columns * SIDE * 3].iter().enumerate() {
                let square = y / SIDE * columns + at / 3 / SIDE;
                sums[square * 3 + at % 3] += u32::from(level);
            }
        }
        sums.into_iter().map(|sum| f64::from(sum) / (SIDE * SIDE) as f64).collect()
    }

    /// A rectangle from (left, top) to (right, foot).
    pub(crate) fn cut(&self, [left, top, right, foot]: [usize; 4]) -> Picture {
        let row = |y: usize| &self.colours[(y * self.width + left) * 3..(y * self.width + right) * 3];
        Picture {
            width: right - left,
            height: foot - top,
            colours: (top..foot).flat_map(row).copied().collect(),
        }
    }

    /// The part of a rectangle from (left, top) to (right, foot) that has not the colour.
    pub(crate) fn part_inked(&self, [left, top, right, foot]: [usize; 4], ground: Colour) -> f64 {
        let points = (top..foot).flat_map(|y| (left..right).map(move |x| (x, y)));
        let inked = points.filter(|&(x, y)| self.at(x, y) != ground).count();
        inked as f64 / ((right - left) * (foot - top)) as f64
    }
}

/// A scene as PNG.
pub(crate) fn png_of(scene: &Scene, theme: &Theme, scale: f64) -> Vec<u8> {
    let mut png = Vec::new();
    png::write(&mut png, scene, theme, scale).expect("a Vec takes everything");
    png
}
