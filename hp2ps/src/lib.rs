//! Charts of `.hp` heap profiles, with the picture of GHC's `hp2ps`: what the `hp2ps` command does, as a
//! library. The steps know only the one before:
//!
//! ```text
//! .hp ──▶ Chart (bands, order, ranges) ──▶ layout::Page (points) ──▶ PostScript
//! ```
//!
//! ```
//! use hp2ps::{BandOptions, Chart, Drawing, Previous};
//! let text = b"JOB \"j\" DATE \"d\" SAMPLE_UNIT \"seconds\" VALUE_UNIT \"bytes\"
//! BEGIN_SAMPLE 0.0 main 10 END_SAMPLE 0.0 BEGIN_SAMPLE 1.0 main 30 END_SAMPLE 1.0";
//! let chart = Chart::read(&mut std::io::Cursor::new(text), &BandOptions::default(), &Previous::default())?;
//! let drawing = Drawing::new(&chart, &Default::default(), false, &Previous::default());
//! let mut postscript = Vec::new();
//! drawing.write_ps(&mut postscript, Default::default())?;
//! assert!(postscript.starts_with(b"%!PS-Adobe"));
//! # Ok::<(), hp2ps::Error>(())
//! ```
#![forbid(unsafe_code)]

mod args;
mod auxfile;
mod bands;
mod census;
mod chart;
pub mod cli;
mod dsc;
pub mod files;
pub mod glyphs;
pub mod helvetica;
mod input;
pub mod layout;
pub mod lettering;
pub mod metrics;
mod names;
mod output;
mod ps;
pub mod round;
#[cfg(feature = "glyphs")]
mod script;
mod shade;
mod text;

use std::fmt;
use std::io::{self, Write};

pub use auxfile::Previous;
pub use census::{Census, Header, Total};
pub use chart::{Band, BandOptions, Chart, NameOrder};
pub use ps::Placement;
pub use shade::{Fill, Shade};

/// A chart laid out and shaded, ready to be written.
#[derive(Debug)]
pub struct Drawing<'a> {
    chart: &'a Chart,
    /// Where everything stands.
    pub page: layout::Page,
    /// Of each band, from the bottom up.
    pub shades: Vec<Shade>,
}

impl<'a> Drawing<'a> {
    /// Lays `chart` out and gives its bands shades, colours if `colour`, those of `previous` first.
    pub fn new(chart: &'a Chart, options: &layout::PageOptions, colour: bool, previous: &Previous) -> Self {
        let names = chart.bands.iter().map(|band| &band.name[..]);
        Drawing {
            page: layout::Page::new(chart, options),
            shades: shade::assign(names, colour, previous, options.fills),
            chart,
        }
    }

    /// What the page does not show well: texts that GHC's page does not show either, and a graph that its key leaves
    /// no room. A line for each.
    pub fn warnings(&self) -> Vec<String> {
        let mut warnings = match self.page.text {
            layout::Style::Ghc => text::losses(&self.page),
            layout::Style::Readable => Vec::new(),
        };
        if self.page.is_squeezed() {
            warnings
                .push("long names leave the graph little width; --names=32 or --modern shortens them".into());
        }
        warnings
    }

    /// Writes the PostScript text, in many small pieces.
    ///
    /// # Errors
    /// What `out` reports.
    pub fn write_ps(&self, out: &mut (impl Write + ?Sized), placement: Placement) -> io::Result<()> {
        ps::write(out, &ps::Sheet::new(&self.page, &self.shades, placement, &self.chart.header))
    }

    /// Writes the `.aux` text that [`Previous::parse`] reads.
    ///
    /// # Errors
    /// What `out` reports.
    pub fn write_aux(&self, out: &mut (impl Write + ?Sized)) -> io::Result<()> {
        let names = self.chart.bands.iter().map(|band| &band.name[..]);
        let ranges = (self.chart.x_range, self.chart.y_range);
        auxfile::write(out, ranges, names.zip(self.shades.iter().copied()))
    }
}

/// Why there is no chart.
#[derive(Debug)]
pub enum Error {
    /// The input is not a profile.
    Profile(heapprof::hp::Error),
    /// A line of an `.aux` file is none of its four forms.
    Aux {
        /// The line, from 1.
        line: usize,
        /// What it says.
        read: String,
    },
    /// A file cannot be read or written.
    Io(io::Error),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Profile(error) => error.fmt(f),
            Error::Aux { line, read } => write!(
                f,
                "line {line}: read `{read}`, expected X_RANGE, Y_RANGE, ORDER or SHADE with its values"
            ),
            Error::Io(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Error::Profile(error) => Some(error),
            Error::Aux { .. } => None,
            Error::Io(error) => Some(error),
        }
    }
}

impl From<io::Error> for Error {
    fn from(error: io::Error) -> Self {
        Error::Io(error)
    }
}
