//! A page as PostScript text. The statements and their order are those of GHC's tool, which makes
//! the pages equal to the last pixel; strings are escaped throughout, which GHC's are not.

use std::io::{self, Write};

use crate::census::Header;
use crate::dsc;
use crate::helvetica::standard_advance;
use crate::layout::{
    FRAME_PT, KEY_BOX_PT, KEY_TEXT_X_PT, KeyEntry, KeyPlace, LABEL_FONT_PT, LINE_PT, MARGIN_PT, Page, Rect,
    Style, TICK_PT, TITLE_FONT_PT, Title,
};
use crate::lettering::Typecase;
use crate::metrics::{helvetica_width_pt, shorten};
use crate::shade::{Fill, Shade};
use crate::text::{Origin, literal, shown_by_ghc};

/// Where the texts of the title begin, end and are centred.
pub(crate) const TITLE_LEFT_PT: f64 = 2.0 * MARGIN_PT + 1.0;
pub(crate) const TITLE_RIGHT_PT: f64 = FRAME_PT.0 - TITLE_LEFT_PT;
pub(crate) const TITLE_MIDDLE_PT: f64 = (FRAME_PT.0 - 2.0 * MARGIN_PT) / 2.0;

/// How pages lie on the paper: turned by a quarter unless it says otherwise.
///
/// Every page sets its place up by itself, so that pages can be drawn alone and in any order. GHC's tool loses the
/// scale of an encapsulated document on the pages after the first; here all of them have it. A document of several
/// pages does not call itself encapsulated, as that form has one.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Placement {
    /// Upright; no effect on an encapsulated page, which is upright anyway.
    pub portrait: bool,
    /// Encapsulated, scaled to a width in points.
    pub eps_width_pt: Option<f64>,
}

/// Where the frame's corner comes to lie: the lower left one upright, the same one in the upper left when turned.
const UPRIGHT_PT: (f64, f64) = (72.0, 108.0);
const TURNED_PT: (f64, f64) = (72.0, 756.0);

impl Placement {
    pub(crate) fn scale(self) -> Option<f64> {
        self.eps_width_pt.map(|width_pt| width_pt / FRAME_PT.0)
    }

    /// Whether the paper must be turned to read the page.
    pub(crate) fn is_turned(self) -> bool {
        self.eps_width_pt.is_none() && !self.portrait
    }

    /// Where a point of the page comes to lie.
    pub(crate) fn of(self, x: f64, y: f64) -> (f64, f64) {
        match self.scale() {
            Some(scale) => (scale * x, scale * y),
            None if self.portrait => (UPRIGHT_PT.0 + x, UPRIGHT_PT.1 + y),
            None => (TURNED_PT.0 + y, TURNED_PT.1 - x),
        }
    }

    fn write(self, out: &mut (impl Write + ?Sized)) -> io::Result<()> {
        match self.scale() {
            Some(scale) => {
                writeln!(out, "{scale:.6} {scale:.6} scale")?;
                clip_to_frame(out)
            }
            None if self.portrait => writeln!(out, "{:.6} {:.6} translate", UPRIGHT_PT.0, UPRIGHT_PT.1),
            None => writeln!(out, "-90 rotate\n{:.6} {:.6} translate", -TURNED_PT.1, TURNED_PT.0),
        }
    }
}

/// An encapsulated page must not draw outside its box, as marks and long names would.
fn clip_to_frame(out: &mut (impl Write + ?Sized)) -> io::Result<()> {
    const CORNER: f64 = -LINE_PT / 2.0;
    const SIDES: (f64, f64) = (FRAME_PT.0 + LINE_PT, FRAME_PT.1 + LINE_PT);
    write!(out, "newpath {CORNER:.6} {CORNER:.6} moveto {:.6} 0 rlineto ", SIDES.0)?;
    writeln!(out, "0 {:.6} rlineto -{:.6} 0 rlineto closepath clip newpath", SIDES.1, SIDES.0)
}

/// What is written.
pub(crate) struct Sheet<'a> {
    pub(crate) page: &'a Page,
    /// Of the bands from the bottom up.
    pub(crate) shades: &'a [Shade],
    pub(crate) placement: Placement,
    pub(crate) title: &'a [u8],
    pub(crate) date: &'a [u8],
    /// What the texts of the readable style are drawn with; GHC's is one font as it is.
    pub(crate) typecase: Option<Typecase>,
    /// The JOB as the title shows it.
    pub(crate) job: Vec<u8>,
}

impl<'a> Sheet<'a> {
    pub(crate) fn new(page: &'a Page, shades: &'a [Shade], placement: Placement, header: &'a Header) -> Self {
        let readable = page.text == Style::Readable;
        let job = if readable { readable_job(&header.job, &page.title) } else { page.title.job.clone() };
        let typecase = readable.then(|| Typecase::of(page, &job));
        Sheet { page, shades, placement, title: &header.job, date: &header.date, typecase, job }
    }

    /// The width of a text as it is drawn.
    pub(crate) fn width_pt(&self, text: &[u8], size_pt: f64) -> f64 {
        if self.typecase.is_some() {
            return helvetica_width_pt(&String::from_utf8_lossy(text), size_pt);
        }
        let thousandths: u32 = text.iter().map(|&byte| u32::from(standard_advance(byte))).sum();
        f64::from(thousandths) * size_pt / 1000.0
    }

    /// A text as an operand.
    fn text(
        &self,
        out: &mut (impl Write + ?Sized),
        text: &[u8],
        origin: Origin,
        size_pt: f64,
    ) -> io::Result<()> {
        match &self.typecase {
            None => out.write_all(&literal(&shown_by_ghc(text, origin))),
            Some(typecase) => out.write_all(&typecase.operand(text, size_pt)),
        }
    }

    /// The operator that draws such an operand.
    fn show(&self) -> &'static str {
        if self.typecase.is_some() { "textshow" } else { "show" }
    }

    /// The operators that leave its width.
    fn width(&self) -> &'static str {
        if self.typecase.is_some() { "textwidth" } else { "stringwidth pop" }
    }
}

/// As much of the JOB as the title has room for: up to the area if there is one line.
fn readable_job(job: &[u8], title: &Title) -> Vec<u8> {
    let area_pt = helvetica_width_pt(&String::from_utf8_lossy(&title.area), TITLE_FONT_PT);
    let end = if title.big { TITLE_RIGHT_PT } else { TITLE_MIDDLE_PT - area_pt / 2.0 - 2.0 * MARGIN_PT };
    shorten(&String::from_utf8_lossy(job), end - TITLE_LEFT_PT, TITLE_FONT_PT).into_bytes()
}

/// Writes a whole document: the pages of the key if it has some, and the page of the graph.
pub(crate) fn write(out: &mut (impl Write + ?Sized), sheet: &Sheet<'_>) -> io::Result<()> {
    dsc::header(out, sheet)?;
    setup(out, sheet.typecase.as_ref())?;
    let page = sheet.page;
    let (key_pages, key_on_graph) = match page.key_place {
        KeyPlace::OwnPages => (&page.key[..], &[][..]),
        _ => (&[][..], &page.key[..]),
    };
    for (at, entries) in key_pages.iter().enumerate() {
        begin_page(out, sheet, at + 1)?;
        key(out, entries, sheet)?;
        end_page(out)?;
    }
    begin_page(out, sheet, key_pages.len() + 1)?;
    x_axis(out, sheet)?;
    y_axis(out, sheet)?;
    key_on_graph.iter().try_for_each(|entries| key(out, entries, sheet))?;
    bands(out, sheet)?;
    if page.axes == Style::Readable {
        units(out, sheet)?;
    }
    page.marks.iter().filter(|x| on_paper(x)).try_for_each(|&x| mark(out, x, page.graph.y))?;
    end_page(out)?;
    writeln!(out, "%%Trailer\n%%EOF")
}

fn setup(out: &mut (impl Write + ?Sized), typecase: Option<&Typecase>) -> io::Result<()> {
    writeln!(out, "%%BeginProlog")?;
    if typecase.is_some() {
        Typecase::operators(out)?;
    }
    writeln!(out, "%%EndProlog\n%%BeginSetup\n%%IncludeResource: font Helvetica")?;
    match typecase {
        Some(typecase) => typecase.define(out)?,
        None => {
            for size in [LABEL_FONT_PT, TITLE_FONT_PT] {
                writeln!(out, "/HE{size} /Helvetica findfont {size} scalefont def")?;
            }
        }
    }
    writeln!(out, "%%EndSetup")
}

/// The state is saved around each page: none depends on another.
fn begin_page(out: &mut (impl Write + ?Sized), sheet: &Sheet<'_>, number: usize) -> io::Result<()> {
    writeln!(out, "%%Page: {number} {number}")?;
    if sheet.placement.is_turned() {
        writeln!(out, "%%ViewingOrientation: 0 -1 1 0")?;
    }
    writeln!(out, "%%BeginPageSetup\nsave")?;
    sheet.placement.write(out)?;
    writeln!(out, "%%EndPageSetup")?;
    frame_and_title(out, sheet)
}

fn end_page(out: &mut (impl Write + ?Sized)) -> io::Result<()> {
    writeln!(out, "showpage\n%%PageTrailer\nrestore")
}

fn frame_and_title(out: &mut (impl Write + ?Sized), sheet: &Sheet<'_>) -> io::Result<()> {
    let (width, height) = FRAME_PT;
    let title = &sheet.page.title;
    writeln!(out, "newpath\n0 0 moveto\n0 {height:.6} rlineto\n{width:.6} 0 rlineto")?;
    writeln!(out, "0 -{height:.6} rlineto\nclosepath\n{LINE_PT:.6} setlinewidth\nstroke")?;
    let (x, y, up) = (MARGIN_PT, height - title.height - MARGIN_PT, title.height);
    let across = width - 2.0 * MARGIN_PT;
    writeln!(out, "newpath\n{x:.6} {y:.6} moveto\n0 {up:.6} rlineto\n{across:.6} 0 rlineto")?;
    writeln!(out, "0 -{up:.6} rlineto\nclosepath\n{LINE_PT:.6} setlinewidth\nstroke")?;
    if title.big {
        let middle = height - up / 2.0 - MARGIN_PT;
        writeln!(out, "{x:.6} {middle:.6} moveto\n{across:.6} 0 rlineto\nstroke")?;
    }
    title_texts(out, sheet)
}

fn title_texts(out: &mut (impl Write + ?Sized), sheet: &Sheet<'_>) -> io::Result<()> {
    let (title, show, width) = (&sheet.page.title, sheet.show(), sheet.width());
    let (left, right) = (TITLE_LEFT_PT, TITLE_RIGHT_PT);
    let lower = FRAME_PT.1 - title.height + 1.0;
    let upper = if title.big { FRAME_PT.1 - title.height / 2.0 + 1.0 } else { lower };
    write!(out, "HE12 setfont\n{left:.6} {upper:.6} moveto\n")?;
    sheet.text(out, &sheet.job, Origin::Job, TITLE_FONT_PT)?;
    writeln!(out, " {show}\nHE12 setfont")?;
    if title.big {
        writeln!(out, "{left:.6} {lower:.6} moveto")?;
        sheet.text(out, &title.area, Origin::Other, TITLE_FONT_PT)?;
        writeln!(out, "\n{show}")?;
    } else {
        sheet.text(out, &title.area, Origin::Other, TITLE_FONT_PT)?;
        writeln!(out, "\ndup {width}\n2 div\n{TITLE_MIDDLE_PT:.6}\nexch sub\n{lower:.6} moveto\n{show}")?;
    }
    writeln!(out, "HE12 setfont")?;
    sheet.text(out, &title.date, Origin::Other, TITLE_FONT_PT)?;
    writeln!(out, "\ndup {width}\n{right:.6}\nexch sub\n{lower:.6} moveto\n{show}")
}

fn x_axis(out: &mut (impl Write + ?Sized), sheet: &Sheet<'_>) -> io::Result<()> {
    let Page { x_axis: axis, graph, .. } = sheet.page;
    let (show, text_width) = (sheet.show(), sheet.width());
    let Rect { x, y, width, .. } = graph;
    let (end, foot) = (x + width, MARGIN_PT);
    writeln!(out, "{x:.6} {y:.6} moveto\n{width:.6} 0 rlineto")?;
    writeln!(out, "{LINE_PT:.6} setlinewidth\nstroke")?;
    if sheet.page.axes == Style::Ghc {
        writeln!(out, "HE10 setfont")?;
        sheet.text(out, &axis.unit, Origin::Other, LABEL_FONT_PT)?;
        writeln!(out, "\ndup {text_width}\n{end:.6}\nexch sub\n{foot:.6} moveto\n{show}")?;
    }
    for tick in &axis.ticks {
        let at = tick.at;
        writeln!(out, "{at:.6} {y:.6} moveto\n0 -{TICK_PT} rlineto\nstroke\nHE10 setfont")?;
        sheet.text(out, tick.label.as_bytes(), Origin::Other, LABEL_FONT_PT)?;
        writeln!(out, "\ndup {text_width}\n2 div\n{at:.6} exch sub\n{foot:.6} moveto\n{show}")?;
    }
    Ok(())
}

fn y_axis(out: &mut (impl Write + ?Sized), sheet: &Sheet<'_>) -> io::Result<()> {
    let Page { y_axis: axis, graph, .. } = sheet.page;
    let (show, text_width) = (sheet.show(), sheet.width());
    let Rect { x, y, height, .. } = graph;
    let (end, left) = (y + height, x - MARGIN_PT);
    writeln!(out, "{x:.6} {y:.6} moveto\n0 {height:.6} rlineto")?;
    writeln!(out, "{LINE_PT:.6} setlinewidth\nstroke")?;
    if sheet.page.axes == Style::Ghc {
        writeln!(out, "gsave\nHE10 setfont")?;
        sheet.text(out, &axis.unit, Origin::Other, LABEL_FONT_PT)?;
        writeln!(out, "\ndup {text_width}\n{end:.6}\nexch sub\n{left:.6} exch\ntranslate")?;
        writeln!(out, "90 rotate\n0 0 moveto\n{show}\ngrestore")?;
    }
    for tick in &axis.ticks {
        let at = tick.at;
        writeln!(out, "{x:.6} {at:.6} moveto\n-{TICK_PT} 0 rlineto\nstroke\nHE10 setfont")?;
        sheet.text(out, tick.label.as_bytes(), Origin::Other, LABEL_FONT_PT)?;
        if (sheet.page.axes, sheet.page.text) == (Style::Ghc, Style::Ghc) {
            writeln!(out, "\ndup stringwidth\n2 div\n{at:.6} exch sub\nexch")?;
            writeln!(out, "{left:.6} exch sub\nexch\nmoveto\n{show}")?;
        } else {
            /// Half the height of a digit.
            const MIDDLE_PT: f64 = 0.35 * LABEL_FONT_PT;
            let base = if sheet.page.axes == Style::Ghc { at } else { at - MIDDLE_PT };
            writeln!(out, "\ndup {text_width}\n{left:.6} exch sub\n{base:.6} moveto\n{show}")?;
        }
    }
    Ok(())
}

/// The units of readable axes, inside the graph where no label of a tick can meet them.
fn units(out: &mut (impl Write + ?Sized), sheet: &Sheet<'_>) -> io::Result<()> {
    const GAP_PT: f64 = 3.0;
    let Page { x_axis, y_axis, graph, .. } = sheet.page;
    let right = graph.x + graph.width - GAP_PT;
    let x = right - sheet.width_pt(&x_axis.unit, LABEL_FONT_PT);
    bright_text(out, sheet, &x_axis.unit, (x, graph.y + GAP_PT))?;
    let top = graph.y + graph.height - GAP_PT;
    let y = top - sheet.width_pt(&y_axis.unit, LABEL_FONT_PT);
    writeln!(out, "gsave\n{:.6} {y:.6} translate\n90 rotate", graph.x + GAP_PT + LABEL_FONT_PT)?;
    bright_text(out, sheet, &y_axis.unit, (0.0, 0.0))?;
    writeln!(out, "grestore")
}

/// A label with a white rim, to be read on any band: the text in white all around, then in black.
fn bright_text(
    out: &mut (impl Write + ?Sized),
    sheet: &Sheet<'_>,
    text: &[u8],
    (x, y): (f64, f64),
) -> io::Result<()> {
    const RIM_PT: f64 = 0.8;
    let rim = [
        (1.0, 0.0),
        (0.7, 0.7),
        (0.0, 1.0),
        (-0.7, 0.7),
        (-1.0, 0.0),
        (-0.7, -0.7),
        (0.0, -1.0),
        (0.7, -0.7),
    ];
    let white = rim.map(|(dx, dy)| ("1 setgray", x + RIM_PT * dx, y + RIM_PT * dy));
    for (colour, x, y) in white.into_iter().chain([("0 setgray", x, y)]) {
        writeln!(out, "{colour}\nHE10 setfont\n{x:.6} {y:.6} moveto")?;
        sheet.text(out, text, Origin::Other, LABEL_FONT_PT)?;
        writeln!(out, " {}", sheet.show())?;
    }
    Ok(())
}

fn key(out: &mut (impl Write + ?Sized), entries: &[KeyEntry], sheet: &Sheet<'_>) -> io::Result<()> {
    const SIDE: f64 = KEY_BOX_PT;
    let page = sheet.page;
    for entry in entries {
        let (x, y) = (page.key_x + MARGIN_PT, entry.y - SIDE / 2.0);
        writeln!(out, "{x:.6} {y:.6} moveto\n0 {SIDE} rlineto\n{SIDE} 0 rlineto\n0 -{SIDE} rlineto")?;
        fill_and_stroke(out, sheet.shades[entry.band])?;
        let (x, y) = (page.key_x + KEY_TEXT_X_PT, entry.y - LABEL_FONT_PT / 2.0);
        writeln!(out, "HE10 setfont\n{x:.6} {y:.6} moveto")?;
        sheet.text(out, &page.bands[entry.band].label, Origin::Name, LABEL_FONT_PT)?;
        writeln!(out, " {}", sheet.show())?;
    }
    Ok(())
}

fn fill_and_stroke(out: &mut (impl Write + ?Sized), shade: Shade) -> io::Result<()> {
    fill(out, shade)?;
    writeln!(out, "stroke")
}

/// Fills the path, which stays.
fn fill(out: &mut (impl Write + ?Sized), shade: Shade) -> io::Result<()> {
    writeln!(out, "closepath\ngsave")?;
    match shade.fill {
        Fill::Grey(level) => writeln!(out, "{level:.6} setgray")?,
        Fill::Colour([red, green, blue]) => {
            writeln!(out, "{red:.6} {green:.6} {blue:.6} setrgbcolor")?;
        }
    }
    writeln!(out, "fill\ngrestore")
}

/// Each band runs along the line below it to the last sample and back along its own.
fn bands(out: &mut (impl Write + ?Sized), sheet: &Sheet<'_>) -> io::Result<()> {
    let page = sheet.page;
    let xs = Numbers::new(page.xs.iter().copied());
    let mut line = vec![0.0; page.xs.len()];
    let on_page = |line: &[f64]| Numbers::new(line.iter().map(|y| page.graph.y + y));
    let mut below = on_page(&line);
    if page.outline_pt != LINE_PT {
        writeln!(out, "{:.6} setlinewidth", page.outline_pt)?;
    }
    for (band, &shade) in page.bands.iter().zip(sheet.shades) {
        band.stack_on(&mut line);
        let above = on_page(&line);
        outline(out, &xs, &below, &above)?;
        fill(out, shade)?;
        writeln!(out, "{}", if page.outline_pt > 0.0 { "stroke" } else { "newpath" })?;
        below = above;
    }
    if page.outline_pt != LINE_PT {
        writeln!(out, "{LINE_PT:.6} setlinewidth")?;
    }
    Ok(())
}

fn outline(
    out: &mut (impl Write + ?Sized),
    xs: &Numbers,
    below: &Numbers,
    above: &Numbers,
) -> io::Result<()> {
    let mut command = " moveto\n";
    let mut text = Vec::with_capacity(2 * (xs.text.len() + above.text.len()) + 32 * xs.ends.len());
    let forth = xs.iter().zip(below.iter());
    let back = xs.iter().zip(above.iter()).rev();
    let doubled_ends = forth.clone().take(1).chain(forth).chain(back.clone().take(1)).chain(back);
    for (x, y) in doubled_ends {
        text.extend_from_slice(x);
        text.push(b' ');
        text.extend_from_slice(y);
        text.extend_from_slice(command.as_bytes());
        command = " lineto\n";
    }
    out.write_all(&text)
}

/// Numbers as text. The x of a sample is written for every band, and a line for the bands on both of its sides.
struct Numbers {
    text: Vec<u8>,
    /// Where each number ends.
    ends: Vec<usize>,
}

impl Numbers {
    fn new(values: impl ExactSizeIterator<Item = f64>) -> Numbers {
        let mut numbers =
            Numbers { text: Vec::with_capacity(12 * values.len()), ends: Vec::with_capacity(values.len()) };
        for value in values {
            push_fixed(&mut numbers.text, value);
            numbers.ends.push(numbers.text.len());
        }
        numbers
    }

    fn iter(&self) -> impl DoubleEndedIterator<Item = &[u8]> + ExactSizeIterator + Clone {
        let start = |at: usize| at.checked_sub(1).map_or(0, |before| self.ends[before]);
        (0..self.ends.len()).map(move |at| &self.text[start(at)..self.ends[at]])
    }
}

/// Appends what `{:.6}` prints, several times as fast: outlines are most of a page.
fn push_fixed(out: &mut Vec<u8>, value: f64) {
    /// Up to here a product with a million is off by less than `DOUBT`.
    const MOST: f64 = 1e4;
    const DOUBT: f64 = 1e-4;
    let millionths = value * 1e6;
    // As `floor` for what is used below; that would be a call.
    let whole = millionths as u64 as f64;
    // Near the middle between two texts the exact value decides, and the sign of a zero is left to it too.
    if !(0.0..MOST).contains(&value) || (millionths - whole - 0.5).abs() < DOUBT || value == 0.0 {
        // Writing to a Vec cannot fail.
        let _ = write!(out, "{value:.6}");
        return;
    }
    let mut rest = whole as u64 + u64::from(millionths - whole > 0.5);
    // Five digits, since rounding may carry up to 10000, the dot and six decimals.
    const DOT: usize = 5;
    let mut digits = [0; DOT + 7];
    let mut at = digits.len();
    while at >= DOT || rest > 0 {
        at -= 1;
        if at == DOT {
            digits[at] = b'.';
            at -= 1;
        }
        digits[at] = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
    out.extend_from_slice(&digits[at..]);
}

/// Whether a mark can be seen on any paper. Coordinates far beyond are not numbers to every interpreter.
pub(crate) fn on_paper(x: &f64) -> bool {
    x.abs() < 1e9
}

/// A white triangle that hangs below the axis.
fn mark(out: &mut (impl Write + ?Sized), x: f64, y: f64) -> io::Result<()> {
    const SIDE: f64 = TICK_PT;
    let left = x - SIDE;
    writeln!(out, "{left:.6} {y:.6} moveto\n{SIDE:.6} -{SIDE:.6} rlineto\n{SIDE:.6} {SIDE:.6} rlineto")?;
    writeln!(out, "closepath\ngsave\n1.0 setgray\nfill\ngrestore\nstroke")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn assert_as_formatted(value: f64) {
        let mut text = Vec::new();
        push_fixed(&mut text, value);
        assert_eq!(String::from_utf8_lossy(&text), format!("{value:.6}"));
    }

    #[test]
    fn fast_numbers_are_the_formatted_ones() {
        let mut seed = 0x2545_f491_4f6c_dd1d_u64;
        for _ in 0..if cfg!(debug_assertions) { 20_000 } else { 300_000 } {
            seed ^= seed << 13;
            seed ^= seed >> 7;
            seed ^= seed << 17;
            let unit = (seed >> 11) as f64 / (1_u64 << 53) as f64;
            for most in [1e-7, 1e-3, 1.0, 648.0, 9_999.999_999_9, 1e5] {
                assert_as_formatted(unit * most);
            }
            // Halves of millionths, which are ties or nearly so.
            assert_as_formatted((seed >> 44) as f64 / 2e6);
            assert_as_formatted((seed >> 40) as f64 / 1_048_576.0);
            assert_as_formatted(f64::from_bits(seed));
        }
    }

    #[test]
    fn rounding_carries_into_the_whole_part() {
        for value in [0.0, -0.0, 0.000_000_4, 0.999_999_9, 9.999_999_6, 9_999.999_999_6, 1e4, -1.5, 20.0, 0.5]
        {
            assert_as_formatted(value);
        }
    }
}
