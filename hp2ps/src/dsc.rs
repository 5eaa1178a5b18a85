//! Document structuring comments: what viewers and spoolers learn of a document without running it. The form is
//! that of version 3.0, whose lines have at most 255 characters.

use std::io::{self, Write};

use crate::layout::{
    FRAME_PT, KEY_TEXT_X_PT, KeyPlace, LABEL_FONT_PT, LINE_PT, MARGIN_PT, Page, TICK_PT, TITLE_FONT_PT,
};
use crate::ps::{Placement, Sheet, TITLE_LEFT_PT, TITLE_MIDDLE_PT, TITLE_RIGHT_PT, on_paper};
use crate::{shade, text};

/// The most bytes of a comment line, its end not counted.
pub(crate) const LINE_MOST_BYTES: usize = 254;

/// Writes the comments at the head.
pub(crate) fn header(out: &mut (impl Write + ?Sized), sheet: &Sheet<'_>) -> io::Result<()> {
    let pages = pages(sheet.page);
    let eps = if sheet.placement.eps_width_pt.is_some() && pages == 1 { " EPSF-3.0" } else { "" };
    writeln!(out, "%!PS-Adobe-3.0{eps}")?;
    text_comment(out, "%%Title: ", sheet.title)?;
    writeln!(out, "%%Creator: hp2ps (heapprof {})", env!("CARGO_PKG_VERSION"))?;
    text_comment(out, "%%CreationDate: ", sheet.date)?;
    boxes(out, sheet)?;
    writeln!(out, "%%DocumentData: Clean8Bit\n%%DocumentNeededResources: font Helvetica")?;
    if let Some(typecase) = &sheet.typecase {
        typecase.comments(out)?;
    }
    let orientation = if sheet.placement.is_turned() { "Landscape" } else { "Portrait" };
    writeln!(out, "%%Orientation: {orientation}\n%%Pages: {pages}\n%%PageOrder: Ascend")?;
    shade::write_colours(out, sheet.shades)?;
    writeln!(out, "%%EndComments")
}

/// How many pages a document has: the graph's, and those of the key.
fn pages(page: &Page) -> usize {
    1 + if page.key_place == KeyPlace::OwnPages { page.key.len() } else { 0 }
}

/// A comment whose value is a text that stays on its line.
fn text_comment(out: &mut (impl Write + ?Sized), keyword: &str, value: &[u8]) -> io::Result<()> {
    let shown = |c: char| match c {
        '\u{fffd}' => '?',
        _ if c.is_control() => ' ',
        _ => c,
    };
    let value: String = String::from_utf8_lossy(value).chars().map(shown).collect();
    let value = value.trim();
    out.write_all(keyword.as_bytes())?;
    let room = LINE_MOST_BYTES - keyword.len();
    if value.starts_with('(') {
        /// Twice that, all escaped, fits a line and needs no break.
        const ESCAPED_BYTES: usize = 110;
        // It would be read as a string of PostScript, or as the promise of a value at the end.
        out.write_all(&text::literal(head(value, ESCAPED_BYTES).as_bytes()))?;
    } else {
        out.write_all(head(value, room).as_bytes())?;
    }
    out.write_all(b"\n")
}

/// At most the first `most` bytes.
fn head(text: &str, most: usize) -> &str {
    let most = most.min(text.len());
    let end = (0..=most).rev().find(|&at| text.is_char_boundary(at));
    &text[..end.unwrap_or_default()]
}

/// The boxes around all that is drawn. An encapsulated page has its frame alone, as it is clipped to it; in whole
/// points that is half a line too small, as GHC's tool has it.
fn boxes(out: &mut (impl Write + ?Sized), sheet: &Sheet<'_>) -> io::Result<()> {
    let scale = sheet.placement.scale();
    let extent = if scale.is_some() { Extent::of_frame() } else { Extent::of(sheet) };
    let Extent { left, lower, right, upper } = extent.placed(sheet.placement);
    match scale {
        Some(scale) => {
            let rounded = |side: f64| (side * scale + 0.5) as i64;
            writeln!(out, "%%BoundingBox: 0 0 {} {}", rounded(FRAME_PT.0), rounded(FRAME_PT.1))?;
        }
        None => {
            let (left, lower) = (left.floor(), lower.floor());
            writeln!(out, "%%BoundingBox: {left} {lower} {} {}", right.ceil(), upper.ceil())?;
        }
    }
    writeln!(out, "%%HiResBoundingBox: {left:.6} {lower:.6} {right:.6} {upper:.6}")
}

/// A box around ink, in points.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Extent {
    left: f64,
    lower: f64,
    right: f64,
    upper: f64,
}

impl Extent {
    fn of_frame() -> Extent {
        const HALF_LINE: f64 = LINE_PT / 2.0;
        let (width, height) = FRAME_PT;
        Extent { left: -HALF_LINE, lower: -HALF_LINE, right: width + HALF_LINE, upper: height + HALF_LINE }
    }

    /// Of all pages: the frame and what reaches beyond it. A text counts with its advance width, and a little more,
    /// as letters may lean over it.
    fn of(sheet: &Sheet<'_>) -> Extent {
        let mut extent = Extent::of_frame();
        extent.cover_title(sheet);
        extent.cover_axes(sheet);
        extent.cover_key(sheet);
        extent.cover_curves(sheet.page);
        extent
    }

    fn cover_x(&mut self, left: f64, right: f64) {
        self.left = self.left.min(left);
        self.right = self.right.max(right);
    }

    /// A horizontal text of a width in a size, of which the share `before` lies left of `x`.
    fn cover_text(&mut self, width: f64, size_pt: f64, x: f64, before: f64) {
        let lean = LEAN * size_pt;
        self.cover_x(x - before * width - lean, x + (1.0 - before) * width + lean);
    }

    fn cover_title(&mut self, sheet: &Sheet<'_>) {
        let title = &sheet.page.title;
        let (area_x, before) = if title.big { (TITLE_LEFT_PT, 0.0) } else { (TITLE_MIDDLE_PT, 0.5) };
        for (text, x, before) in [
            (&sheet.job, TITLE_LEFT_PT, 0.0),
            (&title.area, area_x, before),
            (&title.date, TITLE_RIGHT_PT, 1.0),
        ] {
            self.cover_text(sheet.width_pt(text, TITLE_FONT_PT), TITLE_FONT_PT, x, before);
        }
    }

    /// Units stand at the ends of the axes: that of y runs upward to there.
    fn cover_axes(&mut self, sheet: &Sheet<'_>) {
        let Page { graph, x_axis, y_axis, .. } = sheet.page;
        let width_pt = |text: &[u8]| sheet.width_pt(text, LABEL_FONT_PT);
        self.cover_text(width_pt(&x_axis.unit), LABEL_FONT_PT, graph.x + graph.width, 1.0);
        for tick in &x_axis.ticks {
            self.cover_text(width_pt(tick.label.as_bytes()), LABEL_FONT_PT, tick.at, 0.5);
        }
        for tick in &y_axis.ticks {
            self.cover_text(width_pt(tick.label.as_bytes()), LABEL_FONT_PT, graph.x - MARGIN_PT, 1.0);
        }
        let unit = width_pt(&y_axis.unit) + LEAN * LABEL_FONT_PT + MARGIN_PT;
        self.lower = self.lower.min(graph.y + graph.height - unit);
    }

    fn cover_key(&mut self, sheet: &Sheet<'_>) {
        let page = sheet.page;
        for entry in page.key.iter().flatten() {
            let width = sheet.width_pt(&page.bands[entry.band].label, LABEL_FONT_PT);
            self.cover_text(width, LABEL_FONT_PT, page.key_x + KEY_TEXT_X_PT, 0.0);
        }
    }

    /// Bands and marks with the tips of their lines, which the miter limit of ten keeps short.
    fn cover_curves(&mut self, page: &Page) {
        const MOST_TIP: f64 = LINE_PT / 2.0 * 10.0;
        for &x in &page.xs {
            self.cover_x(x - MOST_TIP, x + MOST_TIP);
        }
        for x in page.marks.iter().copied().filter(on_paper) {
            // Corners of 45 degrees.
            const TIP: f64 = TICK_PT + LINE_PT * 1.31;
            self.cover_x(x - TIP, x + TIP);
        }
    }

    fn placed(self, placement: Placement) -> Extent {
        let corners = [(self.left, self.lower), (self.right, self.upper)].map(|(x, y)| placement.of(x, y));
        let [(x0, y0), (x1, y1)] = corners;
        Extent { left: x0.min(x1), lower: y0.min(y1), right: x0.max(x1), upper: y0.max(y1) }
    }
}

/// How far letters reach beyond their advance width, in sizes.
const LEAN: f64 = 0.1;
