//! A page as PostScript text. The statements and their order are those of GHC's tool, which makes
//! the pages equal to the last pixel; strings are escaped throughout, which GHC's are not.

use std::io::{self, Write};

use crate::layout::{
    Axis, FRAME_PT, KEY_BOX_PT, KEY_TEXT_X_PT, KeyEntry, KeyPlace, LABEL_FONT_PT, LINE_PT, MARGIN_PT, Page,
    Rect, TICK_PT, TITLE_FONT_PT, Title,
};
use crate::shade::{Fill, Shade};

/// How the page lies on the paper: turned by a quarter unless it says otherwise.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Placement {
    /// Upright; no effect on the first page of an encapsulated one.
    pub portrait: bool,
    /// Encapsulated, scaled to a width in points.
    pub eps_width_pt: Option<f64>,
}

impl Placement {
    fn scale(self) -> Option<f64> {
        self.eps_width_pt.map(|width_pt| width_pt / FRAME_PT.0)
    }

    fn first(self, out: &mut (impl Write + ?Sized)) -> io::Result<()> {
        match self.scale() {
            Some(scale) => writeln!(out, "{scale:.6} {scale:.6} scale"),
            None => self.later(out),
        }
    }

    /// Pages after the first never keep the scale; so it is in GHC's tool.
    fn later(self, out: &mut (impl Write + ?Sized)) -> io::Result<()> {
        if self.portrait {
            writeln!(out, "72.000000 108.000000 translate")
        } else {
            writeln!(out, "-90 rotate\n-756.000000 72.000000 translate")
        }
    }
}

/// Writes a page, with the shades of its bands from the bottom up.
pub(crate) fn write(
    out: &mut (impl Write + ?Sized),
    page: &Page,
    shades: &[Shade],
    placement: Placement,
    comments: &Comments,
) -> io::Result<()> {
    comments.write(out, placement)?;
    placement.first(out)?;
    for size in [LABEL_FONT_PT, TITLE_FONT_PT] {
        writeln!(out, "/HE{size} /Helvetica findfont {size} scalefont def")?;
    }
    frame_and_title(out, &page.title)?;
    let new_page = |out: &mut _| next_page(out, page, placement);
    if page.key_place == KeyPlace::OwnPages {
        for (at, entries) in page.key.iter().enumerate() {
            if at > 0 {
                new_page(out)?;
            }
            key(out, entries, page, shades)?;
        }
        new_page(out)?;
    }
    x_axis(out, &page.x_axis, &page.graph)?;
    y_axis(out, &page.y_axis, &page.graph)?;
    if page.key_place == KeyPlace::OnGraph {
        page.key.iter().try_for_each(|entries| key(out, entries, page, shades))?;
    }
    bands(out, page, shades)?;
    page.marks.iter().try_for_each(|&x| mark(out, x, page.graph.y))?;
    writeln!(out, "showpage")
}

/// The comment lines at the head.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Comments<'a> {
    pub(crate) title: &'a [u8],
    pub(crate) date: &'a [u8],
}

impl Comments<'_> {
    fn write(&self, out: &mut (impl Write + ?Sized), placement: Placement) -> io::Result<()> {
        out.write_all(b"%!PS-Adobe-2.0\n%%Title: ")?;
        out.write_all(&one_line(self.title))?;
        write!(out, "\n%%Creator: hp2ps (heapprof {})\n%%CreationDate: ", env!("CARGO_PKG_VERSION"))?;
        out.write_all(&one_line(self.date))?;
        if let Some(scale) = placement.scale() {
            let upper = |side: f64| (side * scale + 0.5) as i64;
            write!(out, "\n%%BoundingBox: 0 0 {} {}", upper(FRAME_PT.0), upper(FRAME_PT.1))?;
        }
        out.write_all(b"\n%%EndComments\n")
    }
}

/// A text that stays in its comment line.
fn one_line(text: &[u8]) -> Vec<u8> {
    text.iter().map(|&byte| if byte.is_ascii_control() { b' ' } else { byte }).collect()
}

/// A string with its parentheses: escaped so that it ends nowhere else and stays on its line.
fn string(out: &mut (impl Write + ?Sized), text: &[u8]) -> io::Result<()> {
    let mut escaped = Vec::with_capacity(text.len() + 2);
    escaped.push(b'(');
    for &byte in text {
        match byte {
            b'\\' | b'(' | b')' => escaped.extend([b'\\', byte]),
            _ if byte.is_ascii_control() => write!(escaped, "\\{byte:03o}")?,
            _ => escaped.push(byte),
        }
    }
    escaped.push(b')');
    out.write_all(&escaped)
}

fn next_page(out: &mut (impl Write + ?Sized), page: &Page, placement: Placement) -> io::Result<()> {
    writeln!(out, "showpage")?;
    placement.later(out)?;
    frame_and_title(out, &page.title)
}

fn frame_and_title(out: &mut (impl Write + ?Sized), title: &Title) -> io::Result<()> {
    let (width, height) = FRAME_PT;
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
    title_texts(out, title)
}

fn title_texts(out: &mut (impl Write + ?Sized), title: &Title) -> io::Result<()> {
    const PADDING_PT: f64 = 6.0;
    let (left, right) = (MARGIN_PT + PADDING_PT, FRAME_PT.0 - MARGIN_PT - PADDING_PT);
    let lower = FRAME_PT.1 - title.height + 1.0;
    let upper = if title.big { FRAME_PT.1 - title.height / 2.0 + 1.0 } else { lower };
    write!(out, "HE12 setfont\n{left:.6} {upper:.6} moveto\n")?;
    string(out, &title.job)?;
    writeln!(out, " show\nHE12 setfont")?;
    if title.big {
        writeln!(out, "{left:.6} {lower:.6} moveto")?;
        string(out, &title.area)?;
        writeln!(out, "\nshow")?;
    } else {
        let centre = (FRAME_PT.0 - 2.0 * MARGIN_PT) / 2.0;
        string(out, &title.area)?;
        writeln!(out, "\ndup stringwidth pop\n2 div\n{centre:.6}\nexch sub\n{lower:.6} moveto\nshow")?;
    }
    writeln!(out, "HE12 setfont")?;
    string(out, &title.date)?;
    writeln!(out, "\ndup stringwidth pop\n{right:.6}\nexch sub\n{lower:.6} moveto\nshow")
}

fn x_axis(out: &mut (impl Write + ?Sized), axis: &Axis, graph: &Rect) -> io::Result<()> {
    let Rect { x, y, width, .. } = graph;
    let (end, foot) = (x + width, MARGIN_PT);
    writeln!(out, "{x:.6} {y:.6} moveto\n{width:.6} 0 rlineto")?;
    writeln!(out, "{LINE_PT:.6} setlinewidth\nstroke\nHE10 setfont")?;
    string(out, &axis.unit)?;
    writeln!(out, "\ndup stringwidth pop\n{end:.6}\nexch sub\n{foot:.6} moveto\nshow")?;
    for tick in &axis.ticks {
        let at = tick.at;
        writeln!(out, "{at:.6} {y:.6} moveto\n0 -{TICK_PT} rlineto\nstroke\nHE10 setfont")?;
        string(out, tick.label.as_bytes())?;
        writeln!(out, "\ndup stringwidth pop\n2 div\n{at:.6} exch sub\n{foot:.6} moveto\nshow")?;
    }
    Ok(())
}

fn y_axis(out: &mut (impl Write + ?Sized), axis: &Axis, graph: &Rect) -> io::Result<()> {
    let Rect { x, y, height, .. } = graph;
    let (end, left) = (y + height, x - MARGIN_PT);
    writeln!(out, "{x:.6} {y:.6} moveto\n0 {height:.6} rlineto")?;
    writeln!(out, "{LINE_PT:.6} setlinewidth\nstroke\ngsave\nHE10 setfont")?;
    string(out, &axis.unit)?;
    writeln!(out, "\ndup stringwidth pop\n{end:.6}\nexch sub\n{left:.6} exch\ntranslate")?;
    writeln!(out, "90 rotate\n0 0 moveto\nshow\ngrestore")?;
    for tick in &axis.ticks {
        let at = tick.at;
        writeln!(out, "{x:.6} {at:.6} moveto\n-{TICK_PT} 0 rlineto\nstroke\nHE10 setfont")?;
        string(out, tick.label.as_bytes())?;
        writeln!(out, "\ndup stringwidth\n2 div\n{at:.6} exch sub\nexch")?;
        writeln!(out, "{left:.6} exch sub\nexch\nmoveto\nshow")?;
    }
    Ok(())
}

fn key(
    out: &mut (impl Write + ?Sized),
    entries: &[KeyEntry],
    page: &Page,
    shades: &[Shade],
) -> io::Result<()> {
    const SIDE: f64 = KEY_BOX_PT;
    for entry in entries {
        let (x, y) = (page.key_x + MARGIN_PT, entry.y - SIDE / 2.0);
        writeln!(out, "{x:.6} {y:.6} moveto\n0 {SIDE} rlineto\n{SIDE} 0 rlineto\n0 -{SIDE} rlineto")?;
        fill_and_stroke(out, shades[entry.band])?;
        let (x, y) = (page.key_x + KEY_TEXT_X_PT, entry.y - LABEL_FONT_PT / 2.0);
        writeln!(out, "HE10 setfont\n{x:.6} {y:.6} moveto")?;
        string(out, &page.bands[entry.band].label)?;
        writeln!(out, " show")?;
    }
    Ok(())
}

fn fill_and_stroke(out: &mut (impl Write + ?Sized), shade: Shade) -> io::Result<()> {
    writeln!(out, "closepath\ngsave")?;
    match shade.fill {
        Fill::Grey(level) => writeln!(out, "{level:.6} setgray")?,
        Fill::Colour([red, green, blue]) => {
            writeln!(out, "{red:.6} {green:.6} {blue:.6} setrgbcolor")?;
        }
    }
    writeln!(out, "fill\ngrestore\nstroke")
}

/// Each band runs along the line below it to the last sample and back along its own.
fn bands(out: &mut (impl Write + ?Sized), page: &Page, shades: &[Shade]) -> io::Result<()> {
    let mut below = vec![0.0; page.xs.len()];
    let mut above = below.clone();
    for (band, &shade) in page.bands.iter().zip(shades) {
        band.stack_on(&mut above);
        outline(out, page, &below, &above)?;
        fill_and_stroke(out, shade)?;
        below.copy_from_slice(&above);
    }
    Ok(())
}

fn outline(out: &mut (impl Write + ?Sized), page: &Page, below: &[f64], above: &[f64]) -> io::Result<()> {
    let mut command = " moveto\n";
    let mut text = Vec::new();
    let forth = page.xs.iter().zip(below);
    let back = page.xs.iter().zip(above).rev();
    let doubled_ends = forth.clone().take(1).chain(forth).chain(back.clone().take(1)).chain(back);
    for (x, y) in doubled_ends {
        push_fixed(&mut text, *x);
        text.push(b' ');
        push_fixed(&mut text, page.graph.y + y);
        text.extend_from_slice(command.as_bytes());
        command = " lineto\n";
    }
    out.write_all(&text)
}

/// Appends what `{:.6}` prints, several times as fast: outlines are most of a page.
fn push_fixed(out: &mut Vec<u8>, value: f64) {
    /// Up to here a product with a million is off by less than `DOUBT`.
    const MOST: f64 = 1e4;
    const DOUBT: f64 = 1e-4;
    let millionths = value * 1e6;
    let whole = millionths.floor();
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
