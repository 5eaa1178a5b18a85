//! The fonts of a document: Helvetica by name, and embedded what it lacks, only the characters that are used. A
//! character has a code of its own in each, so that a reader that copies text gets what was written.

use std::collections::BTreeSet;

use hp2ps::glyphs::{self, Glyph, UNITS};
use hp2ps::helvetica::{self, Letter};
use hp2ps::lettering::unjoined;
use pdf_writer::types::{CidFontType, FontFlags, SystemInfo, UnicodeCmap};
use pdf_writer::writers::FontDescriptor;
use pdf_writer::{Content, Filter, Finish, Name, Pdf, Rect, Ref, Str};
use subsetter::GlyphRemapper;
use ttf_parser::Face;

use super::{Refs, compressed, stream};
use crate::sheet::{self, Shape};

/// The codes of one font of bitmaps.
const FONT_CODES: usize = 256;
/// What a character map maps to.
const UNICODE: SystemInfo<'_> = SystemInfo { registry: Str(b"Adobe"), ordering: Str(b"UCS"), supplement: 0 };
const HELVETICA: &str = "H";
const DEJAVU: &str = "D";

/// The characters that a document draws, by font, each kind in order.
#[derive(Debug, Default)]
pub(super) struct Fonts {
    latin: Vec<Letter>,
    outlines: Vec<char>,
    bitmaps: Vec<char>,
}

impl Fonts {
    /// For texts.
    pub(super) fn of<'a>(texts: impl Iterator<Item = &'a str>) -> Fonts {
        let letters: BTreeSet<char> =
            texts.flat_map(|text| sheet::letters(text).into_iter().map(|(c, _)| c)).collect();
        let mut fonts = Fonts::default();
        for c in letters {
            match helvetica::letter(c) {
                Some(letter) => fonts.latin.push(letter),
                None if matches!(glyphs::find(c), Some(Glyph::Outline(_))) => fonts.outlines.push(c),
                None => fonts.bitmaps.push(c),
            }
        }
        fonts
    }

    /// The pieces of a text that have one font: its name, and the codes.
    pub(super) fn pieces(&self, letters: &[(char, Shape)]) -> Vec<(String, Vec<u8>)> {
        let mut pieces: Vec<(String, Vec<u8>)> = Vec::new();
        for &(c, shape) in letters {
            let Some((font, code)) = self.code(c, shape) else { continue };
            match pieces.last_mut() {
                Some((last, codes)) if *last == font => codes.extend(code),
                _ => pieces.push((font, code)),
            }
        }
        pieces
    }

    fn code(&self, c: char, shape: Shape) -> Option<(String, Vec<u8>)> {
        match shape {
            Shape::Latin(letter) => Some((HELVETICA.to_owned(), vec![letter.code])),
            Shape::Glyph(Glyph::Outline(_)) => {
                let at = self.outlines.binary_search(&c).ok()?;
                Some((DEJAVU.to_owned(), (at as u16 + 1).to_be_bytes().to_vec()))
            }
            Shape::Glyph(Glyph::Bitmap(_)) => {
                let at = self.bitmaps.binary_search(&c).ok()?;
                Some((bitmap_font(at / FONT_CODES), vec![(at % FONT_CODES) as u8]))
            }
        }
    }

    /// Writes all fonts that are used; their names and numbers.
    pub(super) fn write(&self, pdf: &mut Pdf, refs: &mut Refs) -> Vec<(String, Ref)> {
        let mut named = vec![(HELVETICA.to_owned(), self.helvetica(pdf, refs))];
        if !self.outlines.is_empty() {
            named.extend(self.dejavu(pdf, refs).map(|font| (DEJAVU.to_owned(), font)));
        }
        for (number, chars) in self.bitmaps.chunks(FONT_CODES).enumerate() {
            named.push((bitmap_font(number), unifont(pdf, refs, chars)));
        }
        named
    }

    fn helvetica(&self, pdf: &mut Pdf, refs: &mut Refs) -> Ref {
        let id = refs.next();
        let mut font = pdf.type1_font(id);
        font.base_font(Name(b"Helvetica"));
        let mut encoding = font.encoding_custom();
        encoding.base_encoding(Name(b"WinAnsiEncoding"));
        let mut differences = encoding.differences();
        for letter in &self.latin {
            if let Some(name) = letter.name {
                differences.consecutive(letter.code, [Name(name.as_bytes())]);
            }
        }
        id
    }

    /// None only if the font in the program were damaged.
    fn dejavu(&self, pdf: &mut Pdf, refs: &mut Refs) -> Option<Ref> {
        let face = glyphs::dejavu()?;
        let [id, cid_font, descriptor, program, places, to_unicode] = [(); 6].map(|()| refs.next());
        self.dejavu_program(face, pdf, program, places)?;
        let name = format!("{}+DejaVuSans", tag(&self.outlines));
        let name = Name(name.as_bytes());
        let mut font = pdf.type0_font(id);
        font.base_font(name).encoding_predefined(Name(b"Identity-H"));
        font.descendant_font(cid_font).to_unicode(to_unicode);
        font.finish();
        let mut font = pdf.cid_font(cid_font);
        font.subtype(CidFontType::Type2).base_font(name).font_descriptor(descriptor);
        font.system_info(SystemInfo { ordering: Str(b"Identity"), ..UNICODE });
        font.cid_to_gid_map_stream(places);
        let advance = |&c: &char| glyphs::find(c).map_or(0, Glyph::advance).cast_signed();
        font.widths().consecutive(1, self.outlines.iter().map(advance).map(thousandths));
        font.finish();
        describe(face, pdf.font_descriptor(descriptor), name, program);
        // Readers put letters in the order they are read, but do not take the forms of Arabic apart.
        let mut map = UnicodeCmap::<u16>::new(Name(b"Characters"), UNICODE);
        (1..).zip(&self.outlines).for_each(|(code, &c)| map.pair(code, unjoined(c)));
        stream(pdf, to_unicode, &map.finish());
        Some(id)
    }

    /// Writes the part of the font file that is used, and the table from codes to its glyphs.
    fn dejavu_program(&self, face: &Face<'_>, pdf: &mut Pdf, program: Ref, places: Ref) -> Option<()> {
        let mut remapper = GlyphRemapper::new();
        let glyph = |&c: &char| face.glyph_index(c).map_or(0, |id| remapper.remap(id.0));
        // Code 0 is that of no character.
        let glyphs: Vec<u16> = [0].into_iter().chain(self.outlines.iter().map(glyph)).collect();
        let file = subsetter::subset(face.raw_face().data, 0, &remapper).ok()?;
        let data = compressed(&file);
        let mut embedded = pdf.stream(program, &data);
        embedded.filter(Filter::FlateDecode).pair(Name(b"Length1"), file.len() as i32);
        embedded.finish();
        stream(pdf, places, &glyphs.into_iter().flat_map(u16::to_be_bytes).collect::<Vec<u8>>());
        Some(())
    }
}

fn describe(face: &Face<'_>, mut about: FontDescriptor<'_>, name: Name<'_>, program: Ref) {
    // No reader draws by it, but it has to be there.
    const STEM: f32 = 80.0;
    let bounds = face.global_bounding_box();
    let bounds = [bounds.x_min, bounds.y_min, bounds.x_max, bounds.y_max].map(thousandths);
    about.name(name).flags(FontFlags::SYMBOLIC).italic_angle(0.0).stem_v(STEM).font_file2(program);
    about.bbox(Rect::new(bounds[0], bounds[1], bounds[2], bounds[3]));
    about.ascent(thousandths(face.ascender())).descent(thousandths(face.descender()));
    about.cap_height(thousandths(face.capital_height().unwrap_or_default()));
}

fn bitmap_font(number: usize) -> String {
    format!("U{number}")
}

fn thousandths(units: i16) -> f32 {
    (f32::from(units) * 1000.0 / f32::from(UNITS)).round()
}

/// Six capitals that tell subsets of a font apart.
fn tag(chars: &[char]) -> String {
    let hash = chars
        .iter()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, &c| (hash ^ u64::from(c)).wrapping_mul(0x0100_0000_01b3));
    (0..6).map(|at| char::from(b'A' + ((hash >> (8 * at)) % 26) as u8)).collect()
}

/// A font whose glyphs are bars of ink.
fn unifont(pdf: &mut Pdf, refs: &mut Refs, chars: &[char]) -> Ref {
    let [id, to_unicode] = [(); 2].map(|()| refs.next());
    let known: Vec<Glyph> = chars.iter().filter_map(|&c| glyphs::find(c)).collect();
    let procedures: Vec<Ref> = known
        .iter()
        .map(|&glyph| {
            let procedure = refs.next();
            stream(pdf, procedure, &bars(glyph));
            procedure
        })
        .collect();
    let names: Vec<String> = chars.iter().map(|&c| format!("u{:04X}", u32::from(c))).collect();
    let names: Vec<Name<'_>> = names.iter().map(|name| Name(name.as_bytes())).collect();
    let unit = 1.0 / f32::from(UNITS);
    let last = (chars.len() - 1) as u8;
    let mut font = pdf.type3_font(id);
    // A box without an area leaves the bounds to each glyph.
    font.bbox(Rect::new(0.0, 0.0, 0.0, 0.0)).matrix([unit, 0.0, 0.0, unit, 0.0, 0.0]);
    font.first_char(0).last_char(last).widths(known.iter().map(|glyph| f32::from(glyph.advance())));
    font.to_unicode(to_unicode).resources();
    font.encoding_custom().differences().consecutive(0, names.iter().copied());
    let mut drawn = font.char_procs();
    for (&name, &procedure) in names.iter().zip(&procedures) {
        drawn.pair(name, procedure);
    }
    drawn.finish();
    font.finish();
    let mut map = UnicodeCmap::<u8>::new(Name(b"Characters"), UNICODE);
    (0..=last).zip(chars).for_each(|(code, &c)| map.pair(code, unjoined(c)));
    stream(pdf, to_unicode, &map.finish());
    id
}

/// The procedure that draws a bitmap.
fn bars(glyph: Glyph) -> Vec<u8> {
    let [left, lower, right, upper] = glyph.bounds().map(f32::from);
    let mut content = Content::new();
    content.start_shape_glyph(f32::from(glyph.advance()), left, lower, right, upper);
    for bar in sheet::bars(glyph) {
        let [left, lower, width, height] = bar.map(f32::from);
        content.rect(left, lower, width, height);
    }
    content.fill_nonzero();
    content.finish().into_vec()
}
