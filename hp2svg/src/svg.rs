//! A page as SVG text. The page's y grows upward, SVG's downward: it is turned here and nowhere else.

use std::fmt::{self, Write as _};
use std::io::{self, Write};

use hp2ps::Chart;
use hp2ps::layout::{
    FRAME_PT, KEY_BOX_PT, KEY_TEXT_X_PT, LABEL_FONT_PT, LINE_PT, MARGIN_PT, Page, TICK_PT, TITLE_FONT_PT,
};
use hp2ps::metrics::shorten;

/// Pixels for a point: the size the image has where nothing scales it.
const PIXELS_PER_PT: f64 = 1.5;

/// Writes a laid-out chart.
pub(crate) fn write(out: &mut (impl Write + ?Sized), page: &Page, chart: &Chart) -> io::Result<()> {
    let (width, height) = FRAME_PT;
    let (wide, high) = (width * PIXELS_PER_PT, height * PIXELS_PER_PT);
    writeln!(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>")?;
    write!(out, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{wide}\" height=\"{high}\" ")?;
    write!(out, "viewBox=\"0 0 {width} {height}\" font-family=\"Helvetica, Arial, sans-serif\" ")?;
    writeln!(out, "font-size=\"{LABEL_FONT_PT}\" role=\"img\">")?;
    writeln!(out, "<title>{}</title>", Xml(&chart.header.job))?;
    writeln!(out, "<rect width=\"{width}\" height=\"{height}\" fill=\"white\"/>")?;
    title(out, page, chart)?;
    bands(out, page)?;
    axes(out, page)?;
    key(out, page)?;
    marks(out, page, chart)?;
    writeln!(out, "</svg>")
}

/// A y of the page in the image.
fn down(y: f64) -> f64 {
    FRAME_PT.1 - y
}

/// Text that XML takes: escaped, bad UTF-8 and characters that XML does not have replaced.
struct Xml<'a>(&'a [u8]);

impl fmt::Display for Xml<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for c in String::from_utf8_lossy(self.0).chars() {
            match c {
                '&' => f.write_str("&amp;"),
                '<' => f.write_str("&lt;"),
                '>' => f.write_str("&gt;"),
                '"' => f.write_str("&quot;"),
                '\0'..' ' | '\u{7f}' | '\u{fffe}' | '\u{ffff}' => f.write_char('\u{fffd}'),
                c => f.write_char(c),
            }?;
        }
        Ok(())
    }
}

/// The texts at the top: what ran, the area, when. A big title has two lines, the JOB alone on the upper one.
fn title(out: &mut (impl Write + ?Sized), page: &Page, chart: &Chart) -> io::Result<()> {
    /// What a small title leaves for the JOB and where the area is centred: the date is shorter than the JOB.
    const JOB_MOST_PT: f64 = 270.0;
    const AREA_X_PT: f64 = 355.0;
    let (left, right) = (2.0 * MARGIN_PT, FRAME_PT.0 - 2.0 * MARGIN_PT);
    let upper = MARGIN_PT + TITLE_FONT_PT;
    let (lower, job_most_pt, area_x, anchor) = if page.title.big {
        (upper + page.title.height / 2.0, right - left, left, "start")
    } else {
        (upper, JOB_MOST_PT, AREA_X_PT, "middle")
    };
    let job = shorten(&String::from_utf8_lossy(&chart.header.job), job_most_pt, TITLE_FONT_PT);
    let (job, area, date) = (Xml(job.as_bytes()), Xml(&page.title.area), Xml(&page.title.date));
    writeln!(out, "<g font-size=\"{TITLE_FONT_PT}\">\n<text x=\"{left}\" y=\"{upper}\">{job}</text>")?;
    write!(out, "<text x=\"{area_x}\" y=\"{lower}\" text-anchor=\"{anchor}\" fill=\"#555\">{area}</text>")?;
    writeln!(out, "<text x=\"{right}\" y=\"{lower}\" text-anchor=\"end\" fill=\"#555\">{date}</text>\n</g>")
}

/// Each band is a closed path: along the line below it, and back along its own.
fn bands(out: &mut (impl Write + ?Sized), page: &Page) -> io::Result<()> {
    let mut below = vec![0.0; page.xs.len()];
    let mut above = below.clone();
    writeln!(out, "<g stroke=\"white\" stroke-width=\"0.25\" stroke-linejoin=\"round\">")?;
    for (index, band) in page.bands.iter().enumerate() {
        band.stack_on(&mut above);
        let forth = page.xs.iter().zip(&below);
        let back = page.xs.iter().zip(&above).rev();
        write!(out, "<path fill=\"{}\" d=\"M", colour(index))?;
        for (x, y) in forth.chain(back) {
            write!(out, " {x:.2} {:.2}", down(page.graph.y + y))?;
        }
        writeln!(out, "Z\"><title>{}</title></path>", Xml(&band.name))?;
        below.copy_from_slice(&above);
    }
    writeln!(out, "</g>")
}

/// Colours far from their neighbours: hues turned by the golden angle, lightness in three steps.
fn colour(index: usize) -> String {
    const GOLDEN_ANGLE: f64 = 137.508;
    let hue = (215.0 + index as f64 * GOLDEN_ANGLE) % 360.0;
    let lightness = [0.55, 0.68, 0.42][index % 3];
    // Hue, saturation and lightness to red, green and blue.
    let reach = 0.55 * f64::min(lightness, 1.0 - lightness);
    let channel = |offset: f64| {
        let turn = (offset + hue / 30.0) % 12.0;
        let level = lightness - reach * (turn - 3.0).min(9.0 - turn).clamp(-1.0, 1.0);
        (level * 255.0).round() as u8
    };
    format!("#{:02x}{:02x}{:02x}", channel(0.0), channel(8.0), channel(4.0))
}

fn axes(out: &mut (impl Write + ?Sized), page: &Page) -> io::Result<()> {
    let graph = page.graph;
    let (left, foot) = (graph.x, down(graph.y));
    let (right, top) = (graph.x + graph.width, down(graph.y + graph.height));
    writeln!(
        out,
        "<path d=\"M{left} {top}V{foot}H{right:.2}\" fill=\"none\" stroke=\"black\" stroke-width=\"{LINE_PT}\"/>"
    )?;
    writeln!(out, "<g text-anchor=\"middle\">")?;
    for tick in &page.x_axis.ticks {
        let (at, low, label) = (tick.at, foot + TICK_PT, foot + TICK_PT + LABEL_FONT_PT);
        writeln!(out, "<path d=\"M{at:.2} {foot}V{low}\" stroke=\"black\" stroke-width=\"{LINE_PT}\"/>")?;
        writeln!(out, "<text x=\"{at:.2}\" y=\"{label}\">{}</text>", tick.label)?;
    }
    writeln!(out, "</g>\n<g text-anchor=\"end\">")?;
    for tick in &page.y_axis.ticks {
        let (at, out_to, label) = (down(tick.at), left - TICK_PT, left - TICK_PT - 1.0);
        // A third of the size puts the middle of a digit on the tick.
        let base = at + LABEL_FONT_PT / 3.0;
        writeln!(out, "<path d=\"M{left} {at:.2}H{out_to}\" stroke=\"black\" stroke-width=\"{LINE_PT}\"/>")?;
        writeln!(out, "<text x=\"{label}\" y=\"{base:.2}\">{}</text>", tick.label)?;
    }
    writeln!(out, "</g>")?;
    units(out, page)
}

/// The units of the axes, inside the graph where no tick label can meet them.
fn units(out: &mut (impl Write + ?Sized), page: &Page) -> io::Result<()> {
    const GAP_PT: f64 = 3.0;
    let graph = page.graph;
    let (right, foot) = (graph.x + graph.width - GAP_PT, down(graph.y) - GAP_PT);
    let (x, y) = (graph.x + GAP_PT + LABEL_FONT_PT, down(graph.y + graph.height) + GAP_PT);
    writeln!(
        out,
        "<g text-anchor=\"end\" fill=\"#333\" stroke=\"white\" stroke-width=\"2\" paint-order=\"stroke\">"
    )?;
    writeln!(out, "<text x=\"{right:.2}\" y=\"{foot}\">{}</text>", Xml(&page.x_axis.unit))?;
    let unit = Xml(&page.y_axis.unit);
    writeln!(out, "<text transform=\"translate({x} {y}) rotate(-90)\">{unit}</text>\n</g>")
}

/// A box and a label for each band, in the order of the bands; the full name shows under the pointer.
fn key(out: &mut (impl Write + ?Sized), page: &Page) -> io::Result<()> {
    /// Boxes of a crowded key keep this share of their row.
    const SHARE: f64 = 0.8;
    for entry in page.key.iter().flatten() {
        let row = page.graph.height / (page.bands.len() as f64 + 1.0);
        let side = KEY_BOX_PT.min(row * SHARE);
        let band = &page.bands[entry.band];
        let (x, y) = (page.key_x + MARGIN_PT, down(entry.y) - side / 2.0);
        writeln!(out, "<g><title>{}</title>", Xml(&band.name))?;
        let fill = colour(entry.band);
        writeln!(
            out,
            "<rect x=\"{x:.2}\" y=\"{y:.2}\" width=\"{side:.2}\" height=\"{side:.2}\" fill=\"{fill}\"/>"
        )?;
        let (x, size) = (page.key_x + KEY_TEXT_X_PT, LABEL_FONT_PT.min(side));
        let base = down(entry.y) + size / 3.0;
        writeln!(
            out,
            "<text x=\"{x:.2}\" y=\"{base:.2}\" font-size=\"{size:.2}\">{}</text></g>",
            Xml(&band.label)
        )?;
    }
    Ok(())
}

/// Triangles below the axis; the time shows under the pointer. Marks outside the samples are not drawn.
fn marks(out: &mut (impl Write + ?Sized), page: &Page, chart: &Chart) -> io::Result<()> {
    let graph = page.graph;
    let (foot, tip) = (down(graph.y), down(graph.y) + TICK_PT);
    let inside = |x: &f64| (graph.x..=graph.x + graph.width).contains(x);
    for (&x, time_s) in page.marks.iter().zip(&chart.marks_s).filter(|(x, _)| inside(x)) {
        let (left, right) = (x - TICK_PT, x + TICK_PT);
        write!(out, "<path d=\"M{left:.2} {tip}H{right:.2}L{x:.2} {foot}Z\" fill=\"black\">")?;
        writeln!(out, "<title>mark at {time_s} {}</title></path>", Xml(&page.x_axis.unit))?;
    }
    Ok(())
}
