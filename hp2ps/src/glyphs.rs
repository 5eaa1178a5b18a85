//! Glyphs of characters that Helvetica lacks: outlines of DejaVu Sans, and bitmaps of GNU Unifont for what that lacks
//! too, such as Chinese. Without the feature `glyphs` there are none.

#[cfg(feature = "glyphs")]
pub use embedded::{Glyph, dejavu, find};
#[cfg(not(feature = "glyphs"))]
pub use none::{Glyph, find};

/// Units of a glyph in one size.
pub const UNITS: u16 = 2048;

#[cfg(feature = "glyphs")]
mod embedded {
    use std::io::Write;
    use std::sync::LazyLock;

    use ttf_parser::{Face, GlyphId, OutlineBuilder};

    use super::UNITS;

    /// None only if the font in the program were damaged; all characters then are bitmaps.
    static DEJAVU: LazyLock<Option<Face<'static>>> = LazyLock::new(|| {
        let face = Face::parse(dejavu::sans::regular(), 0).ok();
        face.filter(|face| face.units_per_em() == UNITS)
    });

    /// DejaVu Sans.
    pub fn dejavu() -> Option<&'static Face<'static>> {
        DEJAVU.as_ref()
    }

    /// The glyph of a character.
    #[derive(Clone, Copy, Debug)]
    pub enum Glyph {
        /// Of DejaVu Sans.
        Outline(GlyphId),
        /// Of Unifont, 16 pixels high.
        Bitmap(&'static unifont::Glyph),
    }

    /// The glyph of a character, if a font has it.
    pub fn find(c: char) -> Option<Glyph> {
        let outline = DEJAVU.as_ref().and_then(|face| face.glyph_index(c)).map(Glyph::Outline);
        outline.or_else(|| unifont::get_glyph(c).map(Glyph::Bitmap))
    }

    impl Glyph {
        /// The advance width in [`UNITS`].
        pub fn advance(self) -> u16 {
            match self {
                Glyph::Outline(id) => {
                    DEJAVU.as_ref().and_then(|face| face.glyph_hor_advance(id)).unwrap_or_default()
                }
                Glyph::Bitmap(bitmap) if bitmap.is_fullwidth() => UNITS,
                Glyph::Bitmap(_) => UNITS / 2,
            }
        }

        /// The left, lower, right and upper edges of its ink in [`UNITS`].
        pub fn bounds(self) -> [i16; 4] {
            match self {
                Glyph::Outline(id) => {
                    let bounds = DEJAVU.as_ref().and_then(|face| face.glyph_bounding_box(id));
                    bounds.map_or([0; 4], |ink| [ink.x_min, ink.y_min, ink.x_max, ink.y_max])
                }
                Glyph::Bitmap(_) => {
                    [0, -ROWS_BELOW * PIXEL, self.advance().cast_signed(), (SIDE - ROWS_BELOW) * PIXEL]
                }
            }
        }

        /// The PostScript that draws it, with `m`, `l`, `c` and `h` for the operators of paths.
        pub(crate) fn procedure(self) -> Vec<u8> {
            match self {
                Glyph::Outline(id) => {
                    let mut path = Path::default();
                    let _ = DEJAVU.as_ref().and_then(|face| face.outline_glyph(id, &mut path));
                    path.text.extend_from_slice(b"fill");
                    path.text
                }
                Glyph::Bitmap(bitmap) => image(bitmap),
            }
        }
    }

    /// Outlines as PostScript, a segment on each line.
    #[derive(Default)]
    struct Path {
        text: Vec<u8>,
        at: (f32, f32),
    }

    impl Path {
        fn segment<const N: usize>(&mut self, operator: &str, points: [(f32, f32); N]) {
            for (x, y) in points {
                // Writing to a Vec cannot fail.
                let _ = write!(self.text, "{} {} ", x.round(), y.round());
                self.at = (x, y);
            }
            self.text.extend_from_slice(operator.as_bytes());
            self.text.push(b'\n');
        }
    }

    impl OutlineBuilder for Path {
        fn move_to(&mut self, x: f32, y: f32) {
            self.segment("m", [(x, y)]);
        }

        fn line_to(&mut self, x: f32, y: f32) {
            self.segment("l", [(x, y)]);
        }

        /// The control points of the same curve as a cubic one lie two thirds of the way.
        fn quad_to(&mut self, x1: f32, y1: f32, x: f32, y: f32) {
            let toward =
                |from: (f32, f32)| (from.0 + (x1 - from.0) * 2.0 / 3.0, from.1 + (y1 - from.1) * 2.0 / 3.0);
            self.segment("c", [toward(self.at), toward((x, y)), (x, y)]);
        }

        fn curve_to(&mut self, x1: f32, y1: f32, x2: f32, y2: f32, x: f32, y: f32) {
            self.segment("c", [(x1, y1), (x2, y2), (x, y)]);
        }

        fn close(&mut self) {
            self.segment::<0>("h", []);
        }
    }

    /// The rows of a bitmap, those of them below the base line, and the side of a pixel.
    const SIDE: i16 = 16;
    const ROWS_BELOW: i16 = 2;
    const PIXEL: i16 = UNITS.cast_signed() / SIDE;

    fn image(bitmap: &unifont::Glyph) -> Vec<u8> {
        let (columns, foot) = (bitmap.get_width(), ROWS_BELOW * PIXEL);
        let mut text = format!(
            "0 -{foot} translate {} {UNITS} scale\n\
             {columns} {SIDE} true [{columns} 0 0 -{SIDE} 0 {SIDE}] {{<",
            columns as i16 * PIXEL
        );
        for y in 0..SIDE as usize {
            let row = (0..columns).fold(0_u16, |row, x| row << 1 | u16::from(bitmap.get_pixel(x, y)));
            let digits = columns / 4;
            text.push_str(&format!("{row:0digits$x}"));
        }
        text.push_str(">} imagemask");
        text.into_bytes()
    }
}

#[cfg(not(feature = "glyphs"))]
mod none {
    /// There is no glyph.
    #[derive(Clone, Copy, Debug)]
    pub enum Glyph {}

    /// None.
    pub fn find(_: char) -> Option<Glyph> {
        None
    }

    impl Glyph {
        /// Of none.
        pub fn advance(self) -> u16 {
            match self {}
        }

        /// Of none.
        pub fn bounds(self) -> [i16; 4] {
            match self {}
        }

        pub(crate) fn procedure(self) -> Vec<u8> {
            match self {}
        }
    }
}
