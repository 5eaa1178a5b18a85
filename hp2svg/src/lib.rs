//! Charts of `.hp` heap profiles for screens, papers and chats: interactive SVG, HTML, PDF and PNG.
//!
//! ```text
//! .hp ──▶ view (bands of a window, reduced to pixels; trends) ──▶ scene (layout in pixels) ──▶ SVG, HTML, PDF, PNG
//! ```
//!
//! ```
//! use hp2svg::scene::SceneOptions;
//! use hp2svg::view::{View, ViewOptions};
//! let text = b"JOB \"j\" DATE \"d\" SAMPLE_UNIT \"seconds\" VALUE_UNIT \"bytes\"
//! BEGIN_SAMPLE 0.0 main 10 END_SAMPLE 0.0 BEGIN_SAMPLE 1.0 main 30 END_SAMPLE 1.0";
//! let view = View::read(&mut std::io::Cursor::new(text), &ViewOptions::default())?;
//! let mut svg = Vec::new();
//! hp2svg::write_svg(&mut svg, &view, &SceneOptions::default(), Default::default())?;
//! assert!(svg.ends_with(b"</svg>\n"));
//! # Ok::<(), hp2ps::Error>(())
//! ```
#![forbid(unsafe_code)]

mod args;
pub mod choice;
pub mod cli;
pub mod colour;
pub mod diff;
pub mod hatch;
pub mod html;
mod leaks;
#[cfg(feature = "pdf")]
pub mod pdf;
#[cfg(feature = "png")]
pub mod png;
pub mod reduce;
pub mod scene;
#[cfg(any(feature = "pdf", feature = "png"))]
mod sheet;
pub mod svg;
pub mod ticks;
pub mod trend;
pub mod view;

use std::io::{self, Write};

pub use cli::Format;
pub use leaks::{Units, write_leaks};
pub use svg::ThemeChoice;

use scene::{Scene, SceneOptions};
use view::View;

/// Writes one view as one self-contained SVG image.
///
/// # Errors
/// What `out` reports.
pub fn write_svg(
    out: &mut (impl Write + ?Sized),
    view: &View,
    options: &SceneOptions,
    theme: ThemeChoice,
) -> io::Result<()> {
    svg::write(out, view, &Scene::new(view, options), theme)
}

/// Writes laid-out views side by side, the first on the left.
///
/// # Errors
/// What `out` reports; a format that this build is without.
pub fn write(
    out: &mut (impl Write + ?Sized),
    format: Format,
    panels: &[(View, Scene)],
    theme: ThemeChoice,
) -> io::Result<()> {
    let drawn: Vec<(&View, &Scene)> = panels.iter().map(|(view, scene)| (view, scene)).collect();
    match format {
        Format::Svg => svg::write_panels(out, &drawn, theme),
        Format::Html => html::write(out, &drawn, theme),
        Format::Pdf => write_pdf(out, panels, theme),
        Format::Png => write_png(out, panels, theme),
    }
}

#[cfg(any(feature = "pdf", feature = "png"))]
fn scenes(panels: &[(View, Scene)]) -> Vec<Scene> {
    panels.iter().map(|(_, scene)| scene.clone()).collect()
}

#[cfg(feature = "pdf")]
fn write_pdf(
    out: &mut (impl Write + ?Sized),
    panels: &[(View, Scene)],
    theme: ThemeChoice,
) -> io::Result<()> {
    pdf::write_row(out, &scenes(panels), theme.theme())
}

#[cfg(feature = "png")]
fn write_png(
    out: &mut (impl Write + ?Sized),
    panels: &[(View, Scene)],
    theme: ThemeChoice,
) -> io::Result<()> {
    /// Two pixels of the picture for one of the layout: sharp on today's screens.
    const SCALE: f64 = 2.0;
    png::write_row(out, &scenes(panels), theme.theme(), SCALE)
}

#[cfg(not(feature = "pdf"))]
fn write_pdf(_: &mut (impl Write + ?Sized), _: &[(View, Scene)], _: ThemeChoice) -> io::Result<()> {
    Err(io::Error::other("this hp2svg was built without its feature `pdf`"))
}

#[cfg(not(feature = "png"))]
fn write_png(_: &mut (impl Write + ?Sized), _: &[(View, Scene)], _: ThemeChoice) -> io::Result<()> {
    Err(io::Error::other("this hp2svg was built without its feature `png`"))
}
