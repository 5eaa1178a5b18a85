//! What formats of shapes and texts share: scenes placed in a row, and the letters of a text.

use hp2ps::glyphs::{self, Glyph, UNITS};
use hp2ps::helvetica::{self, Letter};
use hp2ps::lettering::visible;

use crate::colour::Theme;
use crate::scene::{Anchor, Primitive, Px, Rect, Scene};

/// Dashes of dashed lines: drawn, left out.
pub(crate) const DASHES_PX: [f32; 2] = [4.0, 3.0];

/// The width and the height of scenes side by side, their upper edges in a line.
pub(crate) fn size_px(scenes: &[Scene]) -> (f64, f64) {
    let sizes = scenes.iter().map(|scene| scene.size_px);
    sizes.fold((0.0, 0.0), |(wide, high), (width, height)| (wide + width, f64::max(high, height)))
}

/// Everything that scenes side by side show, from the back to the front.
pub(crate) fn primitives<'a>(scenes: &'a [Scene], theme: &Theme) -> Vec<Primitive<'a>> {
    let mut left = 0.0;
    let mut all = Vec::new();
    for scene in scenes {
        all.extend(scene.primitives(theme).into_iter().map(|primitive| moved(primitive, left)));
        left += scene.size_px.0;
    }
    all
}

fn moved(mut primitive: Primitive<'_>, right_px: f64) -> Primitive<'_> {
    match &mut primitive {
        Primitive::Area(points, ..) | Primitive::Line(points, ..) => {
            points.iter_mut().for_each(|(x, _)| *x += right_px);
        }
        Primitive::Text { at, .. } => at.0 += right_px,
    }
    primitive
}

/// A coordinate that every format takes: what is far out stays far out.
pub(crate) fn coordinate(px: f64) -> f32 {
    const MOST_PX: f64 = 1e5;
    if px.is_nan() { 0.0 } else { px.clamp(-MOST_PX, MOST_PX) as f32 }
}

/// The box around points.
pub(crate) fn bounds(points: &[Px]) -> Rect {
    let within = |&(x, y): &Px| (f64::from(coordinate(x)), f64::from(coordinate(y)));
    let all = points.iter().map(within).map(|(x, y)| [x, y, x, y]);
    let joined = |one: [f64; 4], other: [f64; 4]| {
        [one[0].min(other[0]), one[1].min(other[1]), one[2].max(other[2]), one[3].max(other[3])]
    };
    let [left, top, right, foot] = all.reduce(joined).unwrap_or_default();
    Rect { x: left, y: top, width: right - left, height: foot - top }
}

/// How a character is drawn.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Shape {
    /// By Helvetica.
    Latin(Letter),
    /// By a glyph.
    Glyph(Glyph),
}

impl Shape {
    /// The advance width as part of the size.
    pub(crate) fn advance(self) -> f64 {
        match self {
            Shape::Latin(letter) => f64::from(letter.advance) / 1000.0,
            Shape::Glyph(glyph) => f64::from(glyph.advance()) / f64::from(UNITS),
        }
    }
}

/// The characters that are drawn for a text, from left to right.
pub(crate) fn letters(text: &str) -> Vec<(char, Shape)> {
    let shape = |c: char| match helvetica::letter(c) {
        Some(letter) => Some(Shape::Latin(letter)),
        None => glyphs::find(c).map(Shape::Glyph),
    };
    visible(text).chars().filter_map(|c| shape(c).map(|shape| (c, shape))).collect()
}

/// Where the base line of a text begins.
pub(crate) fn start(at: Px, anchor: Anchor, letters: &[(char, Shape)], size_px: f64) -> Px {
    let width: f64 = letters.iter().map(|(_, shape)| shape.advance()).sum();
    let part = match anchor {
        Anchor::Start => 0.0,
        Anchor::Middle => 0.5,
        Anchor::End => 1.0,
    };
    (at.0 - part * width * size_px, at.1)
}

/// The bars of ink of a bitmap, in units of the glyph: left edge, lower edge over the base line, width, height.
/// None for an outline.
pub(crate) fn bars(glyph: Glyph) -> Vec<[i16; 4]> {
    const SIDE: usize = 16;
    let Glyph::Bitmap(bitmap) = glyph else {
        return Vec::new();
    };
    let pixel = UNITS.cast_signed() / SIDE as i16;
    let [_, lower, ..] = glyph.bounds();
    let mut bars = Vec::new();
    for row in 0..SIDE {
        let inked: Vec<bool> = (0..SIDE).map(|x| bitmap.get_pixel(x, row)).collect();
        let mut x = 0;
        for piece in inked.chunk_by(|one, next| one == next) {
            let (left, columns) = (x, piece.len() as i16);
            x += columns;
            if piece[0] {
                let up = (SIDE - 1 - row) as i16;
                bars.push([left * pixel, lower + up * pixel, columns * pixel, pixel]);
            }
        }
    }
    bars
}
