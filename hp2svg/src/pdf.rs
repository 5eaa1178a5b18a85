//! A scene as PDF: one page of vectors and real text, compressed, the same bytes for the same scene.
//!
//! Latin text is in Helvetica, which every reader has. Characters beyond it are in a subset of DejaVu Sans, and in
//! glyphs made of the bitmaps of Unifont for what that lacks; both tell which characters they stand for.

mod fonts;

use std::borrow::Cow;
use std::io::{self, Write};

use pdf_writer::types::{LineCapStyle, LineJoinStyle};
use pdf_writer::{Content, Filter, Finish, Name, Pdf, Ref, Str, TextStr};

use crate::colour::{Colour, Theme};
use crate::hatch;
use crate::scene::{Anchor, Primitive, Px, Scene};
use crate::sheet::{self, DASHES_PX, coordinate};
use fonts::Fonts;

/// Points for a pixel of a scene: 96 pixels are an inch.
const PT_PER_PX: f64 = 0.75;

/// Writes a scene as a document of one page, which is as large as the scene.
///
/// # Errors
/// What `out` reports.
///
/// ```
/// use hp2svg::{colour, pdf, scene::{Scene, SceneOptions}, view::{View, ViewOptions}};
/// let text = b"JOB \"j\" DATE \"d\" SAMPLE_UNIT \"seconds\" VALUE_UNIT \"bytes\"
/// BEGIN_SAMPLE 0.0 main 10 END_SAMPLE 0.0 BEGIN_SAMPLE 1.0 main 30 END_SAMPLE 1.0";
/// let view = View::read(&mut std::io::Cursor::new(text), &ViewOptions::default())?;
/// let mut document = Vec::new();
/// pdf::write(&mut document, &Scene::new(&view, &SceneOptions::default()), &colour::LIGHT)?;
/// assert!(document.starts_with(b"%PDF-1.7"));
/// # Ok::<(), hp2ps::Error>(())
/// ```
pub fn write(out: &mut (impl Write + ?Sized), scene: &Scene, theme: &Theme) -> io::Result<()> {
    write_row(out, std::slice::from_ref(scene), theme)
}

/// Writes scenes side by side on one page, as [`write()`] does one.
///
/// # Errors
/// What `out` reports.
pub fn write_row(out: &mut (impl Write + ?Sized), scenes: &[Scene], theme: &Theme) -> io::Result<()> {
    let primitives = sheet::primitives(scenes, theme);
    let fonts = Fonts::of(primitives.iter().filter_map(|primitive| match primitive {
        Primitive::Text { text, .. } => Some(&**text),
        _ => None,
    }));
    let size_px = sheet::size_px(scenes);
    let content = Sheet::new(size_px, theme, &fonts).drawn(&primitives);
    out.write_all(&document(scenes, size_px, &fonts, &content))
}

/// The objects around the content of the page.
fn document(scenes: &[Scene], size_px: Px, fonts: &Fonts, content: &[u8]) -> Vec<u8> {
    let mut pdf = Pdf::new();
    let mut refs = Refs::default();
    let [catalog, pages, page, content_ref, info] = [(); 5].map(|()| refs.next());
    pdf.set_version(1, 7);
    pdf.catalog(catalog).pages(pages).viewer_preferences().display_doc_title(true);
    pdf.pages(pages).kids([page]).count(1);
    let named = fonts.write(&mut pdf, &mut refs);
    let [width, height] = [size_px.0, size_px.1].map(|px| coordinate(px * PT_PER_PX));
    let mut page = pdf.page(page);
    page.media_box(pdf_writer::Rect::new(0.0, 0.0, width, height));
    page.parent(pages).contents(content_ref);
    let mut resources = page.resources();
    let mut of_page = resources.fonts();
    for (name, font) in &named {
        of_page.pair(Name(name.as_bytes()), *font);
    }
    of_page.finish();
    resources.finish();
    page.finish();
    stream(&mut pdf, content_ref, content);
    let program = concat!("hp2svg ", env!("CARGO_PKG_VERSION"));
    let mut about = pdf.document_info(info);
    about.title(TextStr(&title(scenes))).author(TextStr("hp2svg"));
    if let [scene] = scenes {
        about.subject(TextStr(&scene.subtitle));
    }
    about.creator(TextStr(program)).producer(TextStr(program));
    about.finish();
    pdf.finish()
}

/// The titles of scenes in one line.
fn title(scenes: &[Scene]) -> Cow<'_, str> {
    match scenes {
        [scene] => Cow::Borrowed(&scene.title),
        _ => Cow::Owned(scenes.iter().map(|scene| &*scene.title).collect::<Vec<_>>().join(" | ")),
    }
}

/// Numbers of objects.
#[derive(Default)]
struct Refs(i32);

impl Refs {
    fn next(&mut self) -> Ref {
        self.0 += 1;
        Ref::new(self.0)
    }
}

/// Writes a compressed stream.
fn stream(pdf: &mut Pdf, id: Ref, data: &[u8]) {
    pdf.stream(id, &compressed(data)).filter(Filter::FlateDecode);
}

fn compressed(data: &[u8]) -> Vec<u8> {
    /// Of all levels the one that makes paths smallest, at a third of the time of 6.
    const LEVEL: u8 = 4;
    miniz_oxide::deflate::compress_to_vec_zlib(data, LEVEL)
}

/// The content of the page, in pixels from the upper left corner down.
struct Sheet<'a> {
    content: Content,
    theme: &'a Theme,
    fonts: &'a Fonts,
}

impl<'a> Sheet<'a> {
    fn new((width, height): Px, theme: &'a Theme, fonts: &'a Fonts) -> Sheet<'a> {
        let mut content = Content::new();
        let scale = PT_PER_PX as f32;
        content.transform([scale, 0.0, 0.0, -scale, 0.0, coordinate(height * PT_PER_PX)]);
        fill_colour(&mut content, theme.background);
        content.rect(0.0, 0.0, coordinate(width), coordinate(height)).fill_nonzero();
        content.set_line_join(LineJoinStyle::RoundJoin);
        Sheet { content, theme, fonts }
    }

    fn drawn(mut self, primitives: &[Primitive<'_>]) -> Vec<u8> {
        for primitive in primitives {
            match primitive {
                // Nothing to draw, and no path.
                Primitive::Area(points, ..) | Primitive::Line(points, ..) if points.len() < 2 => {}
                Primitive::Area(points, colour, None) => self.fill(points, *colour),
                Primitive::Area(points, colour, Some(pattern)) => self.hatch(points, *colour, *pattern),
                Primitive::Line(points, colour, width, dashed) => {
                    let dashes: &[f32] = if *dashed { &DASHES_PX } else { &[] };
                    self.content.set_dash_pattern(dashes.iter().copied(), 0.0);
                    self.stroke(points, *colour, *width);
                }
                Primitive::Text { at, anchor, size_px, colour, text } => {
                    fill_colour(&mut self.content, *colour);
                    self.text(*at, *anchor, *size_px, text);
                }
            }
        }
        self.content.finish().into_vec()
    }

    fn fill(&mut self, points: &[Px], colour: Colour) {
        fill_colour(&mut self.content, colour);
        self.path(points);
        self.content.close_path().fill_nonzero();
    }

    fn stroke(&mut self, points: &[Px], colour: Colour, width: f64) {
        stroke_colour(&mut self.content, colour);
        self.content.set_line_width(rounded(width));
        self.path(points);
        self.content.stroke();
    }

    /// Fills an area with the ground of a pattern and draws its lines and dots within it.
    fn hatch(&mut self, points: &[Px], colour: Colour, pattern: usize) {
        let (ground, ink) = hatch::inks(colour, self.theme);
        self.content.save_state();
        fill_colour(&mut self.content, ground);
        self.path(points);
        self.content.close_path().clip_nonzero().fill_nonzero().set_dash_pattern([], 0.0);
        let (hatch, over) = (hatch::of(pattern), sheet::bounds(points));
        // Filled and not stroked, as some programs round the widths of strokes up to pixels of the screen.
        fill_colour(&mut self.content, ink);
        for line in hatch.lines(over) {
            let [first, second, third, fourth] = corners(&line);
            self.content.move_to(first.0, first.1).line_to(second.0, second.1);
            self.content.line_to(third.0, third.1).line_to(fourth.0, fourth.1);
            self.content.close_path().fill_nonzero();
        }
        // A row of dots is a line of dashes without length and with round ends.
        self.content.set_line_cap(LineCapStyle::RoundCap).set_dash_pattern([0.0, hatch.side_px as f32], 0.0);
        let dots = hatch.dots(over);
        for row in dots.chunk_by(|one, next| one.at.1 == next.at.1) {
            let end = row[row.len() - 1].at;
            self.stroke(&[row[0].at, (end.0 + 0.1, end.1)], ink, 2.0 * row[0].radius_px);
        }
        self.content.restore_state();
    }

    /// Begins a path, to tenths of a pixel, 1/960 inch; points that the rounding makes equal are one.
    fn path(&mut self, points: &[Px]) {
        let tenths = |px: f64| coordinate((px * 10.0).round() / 10.0);
        let mut last = None;
        for point in points.iter().map(|&(x, y)| (tenths(x), tenths(y))) {
            match last {
                None => drop(self.content.move_to(point.0, point.1)),
                Some(last) if last == point => {}
                Some(_) => drop(self.content.line_to(point.0, point.1)),
            }
            last = Some(point);
        }
    }

    fn text(&mut self, at: Px, anchor: Anchor, size_px: f64, text: &str) {
        let letters = sheet::letters(text);
        let (x, y) = sheet::start(at, anchor, &letters, size_px);
        self.content.begin_text();
        // The page is turned upside down, letters are not.
        self.content.set_text_matrix([1.0, 0.0, 0.0, -1.0, rounded(x), rounded(y)]);
        for (font, codes) in self.fonts.pieces(&letters) {
            self.content.set_font(Name(font.as_bytes()), size_px as f32).show(Str(&codes));
        }
        self.content.end_text();
    }
}

/// The corners of a line with its width.
fn corners(line: &hatch::Line) -> [(f32, f32); 4] {
    let ((x0, y0), (x1, y1)) = (line.from, line.to);
    let half = line.width_px / 2.0 / (x1 - x0).hypot(y1 - y0);
    let (aside_x, aside_y) = ((y0 - y1) * half, (x1 - x0) * half);
    let corners = [
        (x0 + aside_x, y0 + aside_y),
        (x1 + aside_x, y1 + aside_y),
        (x1 - aside_x, y1 - aside_y),
        (x0 - aside_x, y0 - aside_y),
    ];
    corners.map(|(x, y)| (rounded(x), rounded(y)))
}

/// To hundredths of a pixel.
fn rounded(px: f64) -> f32 {
    coordinate((px * 100.0).round() / 100.0)
}

fn levels(colour: Colour) -> [f32; 3] {
    colour.0.map(|level| (f32::from(level) / 255.0 * 1000.0).round() / 1000.0)
}

fn fill_colour(content: &mut Content, colour: Colour) {
    let [red, green, blue] = levels(colour);
    content.set_fill_rgb(red, green, blue);
}

fn stroke_colour(content: &mut Content, colour: Colour) {
    let [red, green, blue] = levels(colour);
    content.set_stroke_rgb(red, green, blue);
}
