//! A scene as PNG: areas and lines by `tiny-skia`, texts by the outlines of DejaVu Sans, narrowed to the widths of
//! Helvetica that the layout counts on, and by the bitmaps of Unifont for what DejaVu lacks.

use std::io::{self, Write};

use ::png::{
    BitDepth, ColorType, DeflateCompression, Encoder, Filter, PixelDimensions, SrgbRenderingIntent, Unit,
};
use hp2ps::glyphs::{self, Glyph, UNITS};
use tiny_skia::{
    Color, FillRule, LineCap, LineJoin, Mask, Paint, Path, PathBuilder, Pixmap, Stroke, StrokeDash, Transform,
};
use ttf_parser::{GlyphId, OutlineBuilder};

use crate::colour::{Colour, Theme};
use crate::hatch;
use crate::scene::{Primitive, Px, Scene};
use crate::sheet::{self, DASHES_PX, Shape, coordinate};

/// Pixels of a scene in an inch where nothing scales them.
const PX_PER_INCH: f64 = 96.0;
const METRES_PER_INCH: f64 = 0.0254;
/// Pixels of the largest picture: 400 MB while it is drawn.
const MOST_PIXELS: f64 = 1e8;

/// Writes a scene, `scale` pixels of the picture for one of the scene.
///
/// # Errors
/// What `out` reports; a picture without pixels or with more than 100 million.
///
/// ```
/// use hp2svg::{colour, png, scene::{Scene, SceneOptions}, view::{View, ViewOptions}};
/// let text = b"JOB \"j\" DATE \"d\" SAMPLE_UNIT \"seconds\" VALUE_UNIT \"bytes\"
/// BEGIN_SAMPLE 0.0 main 10 END_SAMPLE 0.0 BEGIN_SAMPLE 1.0 main 30 END_SAMPLE 1.0";
/// let view = View::read(&mut std::io::Cursor::new(text), &ViewOptions::default())?;
/// let mut picture = Vec::new();
/// png::write(&mut picture, &Scene::new(&view, &SceneOptions::default()), &colour::LIGHT, 2.0)?;
/// assert!(picture.starts_with(b"\x89PNG"));
/// # Ok::<(), hp2ps::Error>(())
/// ```
pub fn write(out: &mut (impl Write + ?Sized), scene: &Scene, theme: &Theme, scale: f64) -> io::Result<()> {
    write_row(out, std::slice::from_ref(scene), theme, scale)
}

/// Writes scenes side by side, as [`write()`] does one.
///
/// # Errors
/// As [`write()`].
pub fn write_row(
    out: &mut (impl Write + ?Sized),
    scenes: &[Scene],
    theme: &Theme,
    scale: f64,
) -> io::Result<()> {
    let mut picture = Picture::new(sheet::size_px(scenes), theme, scale)?;
    for primitive in sheet::primitives(scenes, theme) {
        picture.draw(&primitive);
    }
    picture.encode(out)
}

struct Picture<'a> {
    pixels: Pixmap,
    theme: &'a Theme,
    scale: f32,
}

impl<'a> Picture<'a> {
    fn new((width, height): Px, theme: &'a Theme, scale: f64) -> io::Result<Picture<'a>> {
        let (wide, high) = ((width * scale).round(), (height * scale).round());
        let fits = wide >= 1.0 && high >= 1.0 && wide * high <= MOST_PIXELS;
        let pixels = fits.then(|| Pixmap::new(wide as u32, high as u32)).flatten();
        let mut pixels = pixels.ok_or_else(|| {
            let why = format!("a picture of {wide} x {high} pixels: expected 1 to 100 million pixels");
            io::Error::new(io::ErrorKind::InvalidInput, why)
        })?;
        pixels.fill(opaque(theme.background));
        Ok(Picture { pixels, theme, scale: scale as f32 })
    }

    fn draw(&mut self, primitive: &Primitive<'_>) {
        match primitive {
            Primitive::Area(points, colour, None) => self.fill(path(points, true), *colour),
            Primitive::Area(points, colour, Some(pattern)) => self.hatch(points, *colour, *pattern),
            Primitive::Line(points, colour, width, dashed) => {
                let stroke = Stroke {
                    width: *width as f32,
                    line_join: LineJoin::Round,
                    dash: dashed.then(|| StrokeDash::new(DASHES_PX.to_vec(), 0.0)).flatten(),
                    ..Stroke::default()
                };
                self.stroke(path(&self.crisp(points, *width), false), &stroke, *colour, None);
            }
            Primitive::Text { at, anchor, size_px, colour, text } => {
                let letters = sheet::letters(text);
                let start = sheet::start(*at, *anchor, &letters, *size_px);
                self.fill(lettering(&letters, start, *size_px), *colour);
            }
        }
    }

    fn transform(&self) -> Transform {
        Transform::from_scale(self.scale, self.scale)
    }

    fn fill(&mut self, path: Option<Path>, colour: Colour) {
        if let Some(path) = path {
            let transform = self.transform();
            self.pixels.fill_path(&path, &paint(colour), FillRule::Winding, transform, None);
        }
    }

    fn stroke(&mut self, path: Option<Path>, stroke: &Stroke, colour: Colour, mask: Option<&Mask>) {
        if let Some(path) = path {
            let transform = self.transform();
            self.pixels.stroke_path(&path, &paint(colour), stroke, transform, mask);
        }
    }

    fn hatch(&mut self, points: &[Px], colour: Colour, pattern: usize) {
        let (ground, ink) = hatch::inks(colour, self.theme);
        let mask = Mask::new(self.pixels.width(), self.pixels.height());
        let (Some(outline), Some(mut mask)) = (path(points, true), mask) else {
            return;
        };
        mask.fill_path(&outline, FillRule::Winding, true, self.transform());
        self.fill(Some(outline), ground);
        let over = sheet::bounds(points);
        for line in hatch::of(pattern).lines(over) {
            let stroke = Stroke { width: line.width_px as f32, line_cap: LineCap::Butt, ..Stroke::default() };
            self.stroke(path(&[line.from, line.to], false), &stroke, ink, Some(&mask));
        }
        let mut dots = PathBuilder::new();
        for dot in hatch::of(pattern).dots(over) {
            dots.push_circle(coordinate(dot.at.0), coordinate(dot.at.1), dot.radius_px as f32);
        }
        if let Some(dots) = dots.finish() {
            let transform = self.transform();
            self.pixels.fill_path(&dots, &paint(ink), FillRule::Winding, transform, Some(&mask));
        }
    }

    /// Lines along the axes, moved by less than a pixel so that they fill whole rows or columns.
    fn crisp(&self, points: &[Px], width: f64) -> Vec<Px> {
        let along = |pair: &[Px]| pair[0].0 == pair[1].0 || pair[0].1 == pair[1].1;
        if !points.windows(2).all(along) {
            return points.to_vec();
        }
        let scale = f64::from(self.scale);
        let half = (width * scale).round() / 2.0;
        let moved = |at: f64| ((at * scale - half).round() + half) / scale;
        points.iter().map(|&(x, y)| (moved(x), moved(y))).collect()
    }

    fn encode(&self, out: &mut (impl Write + ?Sized)) -> io::Result<()> {
        let mut encoder = Encoder::new(out, self.pixels.width(), self.pixels.height());
        encoder.set_color(ColorType::Rgb);
        encoder.set_depth(BitDepth::Eight);
        encoder.set_source_srgb(SrgbRenderingIntent::Perceptual);
        // Of the pairs of filter and level, the smallest picture in a third of the default's time: plain areas
        // repeat as they are.
        encoder.set_filter(Filter::NoFilter);
        encoder.set_deflate_compression(DeflateCompression::Level(4));
        let per_metre = (f64::from(self.scale) * PX_PER_INCH / METRES_PER_INCH).round() as u32;
        encoder.set_pixel_dims(Some(PixelDimensions { xppu: per_metre, yppu: per_metre, unit: Unit::Meter }));
        let mut writer = encoder.write_header()?;
        // The background is opaque, and so is all that is drawn on it.
        let mut colours = Vec::with_capacity(self.pixels.data().len() / 4 * 3);
        self.pixels.data().chunks_exact(4).for_each(|pixel| colours.extend_from_slice(&pixel[..3]));
        writer.write_image_data(&colours)?;
        writer.finish()?;
        Ok(())
    }
}

fn opaque(colour: Colour) -> Color {
    let [red, green, blue] = colour.0;
    Color::from_rgba8(red, green, blue, u8::MAX)
}

fn paint(colour: Colour) -> Paint<'static> {
    let mut paint = Paint::default();
    paint.set_color(opaque(colour));
    paint
}

fn path(points: &[Px], closed: bool) -> Option<Path> {
    let mut path = PathBuilder::with_capacity(points.len() + 1, points.len() + 1);
    let (first, rest) = points.split_first()?;
    path.move_to(coordinate(first.0), coordinate(first.1));
    rest.iter().for_each(|&(x, y)| path.line_to(coordinate(x), coordinate(y)));
    if closed {
        path.close();
    }
    path.finish()
}

/// A text as one path.
fn lettering(letters: &[(char, Shape)], (mut x, y): Px, size_px: f64) -> Option<Path> {
    let mut path = PathBuilder::new();
    let unit = size_px / f64::from(UNITS);
    for piece in letters.chunk_by(|one, next| is_latin(one) == is_latin(next)) {
        let narrower = if is_latin(&piece[0]) { narrowness(piece) } else { 1.0 };
        for &(c, shape) in piece {
            let glyph = match shape {
                Shape::Latin(_) => glyphs::find(c),
                Shape::Glyph(glyph) => Some(glyph),
            };
            let Some(glyph) = glyph else { continue };
            Pen { path: &mut path, origin: (x, y), scale: (unit * narrower, unit) }.draw(glyph);
            x += f64::from(glyph.advance()) * unit * narrower;
        }
    }
    path.finish()
}

fn is_latin((_, shape): &(char, Shape)) -> bool {
    matches!(shape, Shape::Latin(_))
}

/// How much narrower letters are in Helvetica than in DejaVu Sans.
fn narrowness(letters: &[(char, Shape)]) -> f64 {
    let wanted: f64 = letters.iter().map(|(_, shape)| shape.advance()).sum();
    let advance = |&(c, _): &(char, Shape)| glyphs::find(c).map_or(0, Glyph::advance);
    let own = letters.iter().map(advance).map(f64::from).sum::<f64>() / f64::from(UNITS);
    if own > 0.0 { wanted / own } else { 1.0 }
}

/// Draws glyphs on a base line.
struct Pen<'a> {
    path: &'a mut PathBuilder,
    origin: Px,
    /// Of a unit to the right and upward.
    scale: Px,
}

impl Pen<'_> {
    fn draw(&mut self, glyph: Glyph) {
        match glyph {
            Glyph::Outline(id) => self.outline(id),
            Glyph::Bitmap(_) => sheet::bars(glyph).into_iter().for_each(|bar| self.bar(bar)),
        }
    }

    fn outline(&mut self, id: GlyphId) {
        // A glyph without an outline, such as a blank, draws nothing.
        let _ = glyphs::dejavu().and_then(|face| face.outline_glyph(id, self));
    }

    fn bar(&mut self, [left, lower, width, height]: [i16; 4]) {
        let (left, lower) = (f32::from(left), f32::from(lower));
        let (right, upper) = (left + f32::from(width), lower + f32::from(height));
        self.move_to(left, lower);
        [(right, lower), (right, upper), (left, upper)].into_iter().for_each(|(x, y)| self.line_to(x, y));
        self.close();
    }

    fn px(&self, x: f32, y: f32) -> (f32, f32) {
        let (left, base) = self.origin;
        (coordinate(left + f64::from(x) * self.scale.0), coordinate(base - f64::from(y) * self.scale.1))
    }
}

impl OutlineBuilder for Pen<'_> {
    fn move_to(&mut self, x: f32, y: f32) {
        let (x, y) = self.px(x, y);
        self.path.move_to(x, y);
    }

    fn line_to(&mut self, x: f32, y: f32) {
        let (x, y) = self.px(x, y);
        self.path.line_to(x, y);
    }

    fn quad_to(&mut self, x1: f32, y1: f32, x: f32, y: f32) {
        let ((x1, y1), (x, y)) = (self.px(x1, y1), self.px(x, y));
        self.path.quad_to(x1, y1, x, y);
    }

    fn curve_to(&mut self, x1: f32, y1: f32, x2: f32, y2: f32, x: f32, y: f32) {
        let ((x1, y1), (x2, y2), (x, y)) = (self.px(x1, y1), self.px(x2, y2), self.px(x, y));
        self.path.cubic_to(x1, y1, x2, y2, x, y);
    }

    fn close(&mut self) {
        self.path.close();
    }
}
