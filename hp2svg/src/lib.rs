//! Charts of `.hp` heap profiles as SVG: the bands and the layout of `hp2ps`, drawn for screens.
//!
//! ```
//! use hp2ps::{BandOptions, Chart, Previous};
//! let text = b"JOB \"j\" DATE \"d\" SAMPLE_UNIT \"seconds\" VALUE_UNIT \"bytes\"
//! BEGIN_SAMPLE 0.0 main 10 END_SAMPLE 0.0 BEGIN_SAMPLE 1.0 main 30 END_SAMPLE 1.0";
//! let chart = Chart::read(&mut std::io::Cursor::new(text), &BandOptions::default(), &Previous::default())?;
//! let mut svg = Vec::new();
//! hp2svg::write_svg(&mut svg, &chart, hp2ps::layout::PageOptions::default())?;
//! assert!(svg.ends_with(b"</svg>\n"));
//! # Ok::<(), hp2ps::Error>(())
//! ```
#![forbid(unsafe_code)]

pub mod cli;
mod leaks;
mod svg;
pub mod trend;

use std::io::{self, Write};

use hp2ps::Chart;
use hp2ps::layout::{Page, PageOptions, Style};

pub use leaks::write_leaks;

/// Writes a chart as one self-contained SVG image in the readable style.
///
/// # Errors
/// What `out` reports.
pub fn write_svg(out: &mut (impl Write + ?Sized), chart: &Chart, options: PageOptions) -> io::Result<()> {
    let page = Page::new(chart, &PageOptions { text: Style::Readable, axes: Style::Readable, ..options });
    svg::write(out, &page, chart)
}
