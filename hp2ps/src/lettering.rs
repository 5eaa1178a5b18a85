//! Texts of the readable style: any script, drawn with Helvetica as far as it goes and with embedded glyphs beyond.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::io::{self, Write};

use crate::glyphs::{self, Glyph, UNITS};
use crate::helvetica::{self, Letter};
use crate::layout::{LABEL_FONT_PT, Page, TITLE_FONT_PT};
#[cfg(feature = "glyphs")]
pub use crate::script::unjoined;
use crate::text::literal;

/// The advance width of a character that is drawn, in thousandths of the size.
pub(crate) fn advance(c: char) -> f64 {
    match helvetica::letter(c) {
        Some(letter) => letter.advance.into(),
        None => glyphs::find(c).map_or(0.0, |glyph| f64::from(glyph.advance()) * 1000.0 / f64::from(UNITS)),
    }
}

/// The characters that a text is drawn as, from left to right. All of them have a glyph.
///
/// ```
/// # #[cfg(feature = "glyphs")]
/// assert_eq!(hp2ps::lettering::visible("a\u{200b}b\n"), "ab␊");
/// ```
pub fn visible(text: &str) -> Cow<'_, str> {
    if text.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
        return Cow::Borrowed(text);
    }
    let text: String = text.chars().map(stand_in).collect();
    let mut visible = String::with_capacity(text.len());
    for c in in_visual_order(&text).chars().filter(|&c| !is_invisible(c)) {
        if helvetica::letter(c).is_some() || glyphs::find(c).is_some() {
            visible.push(c);
        } else if cfg!(feature = "glyphs") {
            visible.push(char::REPLACEMENT_CHARACTER);
        } else {
            visible.push_str(&format!("<U+{:04X}>", u32::from(c)));
        }
    }
    Cow::Owned(visible)
}

#[cfg(feature = "glyphs")]
fn in_visual_order(text: &str) -> Cow<'_, str> {
    // Nothing before Hebrew runs from right to left.
    if text.chars().all(|c| c < '\u{590}') {
        return Cow::Borrowed(text);
    }
    Cow::Owned(crate::script::in_visual_order(text))
}

#[cfg(not(feature = "glyphs"))]
fn in_visual_order(text: &str) -> Cow<'_, str> {
    Cow::Borrowed(text)
}

/// A picture for a control character.
fn stand_in(c: char) -> char {
    match c {
        '\0'..='\u{1f}' => char::from_u32(0x2400 + u32::from(c)).unwrap_or(c),
        '\u{7f}' => '\u{2421}',
        '\u{80}'..='\u{9f}' | '\u{2028}' | '\u{2029}' => char::REPLACEMENT_CHARACTER,
        c => c,
    }
}

/// Characters that only tell how others are to be drawn.
fn is_invisible(c: char) -> bool {
    matches!(c, '\u{34f}' | '\u{61c}' | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{e0000}'..='\u{e0fff}')
}

/// The characters beyond ASCII that a document draws, and the fonts that they need.
#[derive(Debug, Default)]
pub(crate) struct Typecase {
    letters: BTreeSet<char>,
    /// In order, each with a code of its own.
    glyphs: Vec<char>,
}

/// The codes of one font.
const FONT_CODES: usize = 256;

impl Typecase {
    /// For all texts of a page.
    pub(crate) fn of(page: &Page, job: &[u8]) -> Typecase {
        let title = [job, &page.title.area, &page.title.date, &page.x_axis.unit, &page.y_axis.unit];
        let ticks = page.x_axis.ticks.iter().chain(&page.y_axis.ticks).map(|tick| tick.label.as_bytes());
        let labels = page.key.iter().flatten().map(|entry| &page.bands[entry.band].label[..]);
        let mut typecase = Typecase::default();
        let mut glyphs = BTreeSet::new();
        for text in title.into_iter().chain(ticks).chain(labels) {
            for c in visible(&String::from_utf8_lossy(text)).chars() {
                match helvetica::letter(c) {
                    Some(Letter { name: Some(_), .. }) => drop(typecase.letters.insert(c)),
                    Some(_) => {}
                    None => drop(glyphs.insert(c)),
                }
            }
        }
        typecase.glyphs = glyphs.into_iter().collect();
        typecase
    }

    fn fonts(&self) -> usize {
        self.glyphs.len().div_ceil(FONT_CODES)
    }

    /// The comments that name the fonts.
    pub(crate) fn comments(&self, out: &mut (impl Write + ?Sized)) -> io::Result<()> {
        writeln!(out, "%%DocumentSuppliedResources: font hp2psLatin")?;
        (0..self.fonts()).try_for_each(|font| writeln!(out, "%%+ font hp2psGlyphs{font}"))
    }

    /// The operators that measure and show a text, which is an array of fonts and strings.
    pub(crate) fn operators(out: &mut (impl Write + ?Sized)) -> io::Result<()> {
        let by_kind =
            |string: &str| format!("{{dup type /stringtype eq {{{string}}} {{setfont}} ifelse}} forall");
        writeln!(out, "/textwidth {{0 exch {}}} bind def", by_kind("stringwidth pop add"))?;
        writeln!(out, "/textshow {{{}}} bind def", by_kind("show"))
    }

    /// Defines the fonts in both sizes.
    pub(crate) fn define(&self, out: &mut (impl Write + ?Sized)) -> io::Result<()> {
        self.latin(out)?;
        for (number, glyphs) in self.glyphs.chunks(FONT_CODES).enumerate() {
            glyph_font(out, number, glyphs)?;
        }
        for size in [LABEL_FONT_PT, TITLE_FONT_PT] {
            writeln!(out, "/HE{size} /hp2psLatin findfont {size} scalefont def")?;
            for font in 0..self.fonts() {
                writeln!(out, "/G{font}-{size} /hp2psGlyphs{font} findfont {size} scalefont def")?;
            }
        }
        Ok(())
    }

    /// Helvetica by the codes of [`helvetica::letter`].
    fn latin(&self, out: &mut (impl Write + ?Sized)) -> io::Result<()> {
        writeln!(out, "%%BeginResource: font hp2psLatin\n/Helvetica findfont dup length dict begin")?;
        writeln!(out, "{{1 index /FID eq {{pop pop}} {{def}} ifelse}} forall")?;
        writeln!(out, "/Encoding StandardEncoding 256 array copy def")?;
        for letter in self.letters.iter().filter_map(|&c| helvetica::letter(c)) {
            if let Letter { code, name: Some(name), .. } = letter {
                writeln!(out, "Encoding {code} /{name} put")?;
            }
        }
        writeln!(out, "/hp2psLatin currentdict end definefont pop\n%%EndResource")
    }

    /// An array of fonts and strings that the operators take.
    pub(crate) fn operand(&self, text: &[u8], size_pt: f64) -> Vec<u8> {
        let mut operand = b"[".to_vec();
        let text = String::from_utf8_lossy(text);
        let text = visible(&text);
        let codes: Vec<(Option<usize>, u8)> = text.chars().filter_map(|c| self.code(c)).collect();
        for piece in codes.chunk_by(|one, next| one.0 == next.0) {
            let font = match piece[0].0 {
                None => format!("HE{size_pt}"),
                Some(font) => format!("G{font}-{size_pt}"),
            };
            let string: Vec<u8> = piece.iter().map(|&(_, code)| code).collect();
            if operand.len() > 1 {
                operand.push(b'\n');
            }
            operand.extend_from_slice(font.as_bytes());
            operand.extend(literal(&string));
        }
        operand.push(b']');
        operand
    }

    /// The font of glyphs if it is none of Helvetica, and the code.
    fn code(&self, c: char) -> Option<(Option<usize>, u8)> {
        if let Some(letter) = helvetica::letter(c) {
            return Some((None, letter.code));
        }
        let at = self.glyphs.binary_search(&c).ok()?;
        Some((Some(at / FONT_CODES), (at % FONT_CODES) as u8))
    }
}

/// A font whose characters are procedures.
fn glyph_font(out: &mut (impl Write + ?Sized), number: usize, glyphs: &[char]) -> io::Result<()> {
    let unit = 1.0 / f64::from(UNITS);
    let known: Vec<(char, Glyph)> =
        glyphs.iter().filter_map(|&c| glyphs::find(c).map(|glyph| (c, glyph))).collect();
    let bounds = known.iter().map(|(_, glyph)| glyph.bounds());
    let [left, lower, right, upper] = bounds.fold([0; 4], |[left, lower, right, upper], ink| {
        [left.min(ink[0]), lower.min(ink[1]), right.max(ink[2]), upper.max(ink[3])]
    });
    writeln!(out, "%%BeginResource: font hp2psGlyphs{number}\n16 dict begin")?;
    writeln!(out, "/FontType 3 def /FontMatrix [{unit} 0 0 {unit} 0 0] def")?;
    writeln!(out, "/FontBBox [{left} {lower} {right} {upper}] def")?;
    writeln!(out, "/Encoding 256 array def 0 1 255 {{Encoding exch /.notdef put}} for")?;
    writeln!(out, "/m {{moveto}} def /l {{lineto}} def /c {{curveto}} def /h {{closepath}} def")?;
    writeln!(out, "/BuildChar {{exch begin Encoding exch get CharProcs exch get exec end}} def")?;
    writeln!(
        out,
        "/BuildGlyph {{exch begin CharProcs exch 2 copy known not {{pop /.notdef}} if get exec end}} def"
    )?;
    writeln!(
        out,
        "/CharProcs {} dict def CharProcs begin\n/.notdef {{0 0 setcharwidth}} def",
        glyphs.len() + 1
    )?;
    known.iter().try_for_each(|&(c, glyph)| procedure(out, c, glyph))?;
    writeln!(out, "end")?;
    for (code, (c, _)) in known.iter().enumerate() {
        writeln!(out, "Encoding {code} /{} put", name(*c))?;
    }
    writeln!(out, "/hp2psGlyphs{number} currentdict end definefont pop\n%%EndResource")
}

fn procedure(out: &mut (impl Write + ?Sized), c: char, glyph: Glyph) -> io::Result<()> {
    let [left, lower, right, upper] = glyph.bounds();
    writeln!(out, "/{} {{{} 0 {left} {lower} {right} {upper} setcachedevice", name(c), glyph.advance())?;
    out.write_all(&glyph.procedure())?;
    writeln!(out, "}} def")
}

/// The name by which other programs know the character.
fn name(c: char) -> String {
    match u32::from(c) {
        code @ ..0x10000 => format!("uni{code:04X}"),
        code => format!("u{code:X}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ascii_is_drawn_as_it_is() {
        assert_eq!(visible("(12)main/a.b~"), "(12)main/a.b~");
    }

    #[test]
    fn what_cannot_be_seen_is_pictured_or_left_out() {
        assert_eq!(stand_in('\n'), '␊');
        assert_eq!(stand_in('\u{7f}'), '␡');
        assert_eq!(visible("a\u{200b}b\u{feff}é"), "abé");
    }

    #[cfg(feature = "glyphs")]
    #[test]
    fn every_character_is_drawn_as_something() {
        let all = (char::MIN..='\u{33ff}').chain(('\u{3400}'..=char::MAX).step_by(97));
        for c in all {
            let text = c.to_string();
            let drawn = visible(&text);
            assert!(drawn.chars().all(|c| helvetica::letter(c).is_some() || glyphs::find(c).is_some()));
            assert_eq!(drawn.is_empty(), is_invisible(c), "{c:?}");
        }
        assert_eq!(visible("\u{85}\u{2029}\u{1fffe}"), "\u{fffd}\u{fffd}\u{fffd}");
    }

    #[cfg(not(feature = "glyphs"))]
    #[test]
    fn characters_without_a_glyph_are_named() {
        assert_eq!(visible("日é"), "<U+65E5>é");
    }

    #[cfg(feature = "glyphs")]
    #[test]
    fn widths_are_those_of_the_fonts() {
        assert_eq!([advance('é'), advance('–'), advance('日')], [556.0, 556.0, 1000.0]);
        // Cyrillic be of DejaVu Sans: 1263 units of 2048.
        assert_eq!(advance('б'), 1263.0 * 1000.0 / 2048.0);
    }
}
