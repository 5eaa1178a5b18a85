//! A page with the chart and a table of its bands. Without scripts the table has its first order, and all else is as
//! in the SVG alone.

use std::io::{self, Write};

use crate::scene::Scene;
use crate::svg::{self, NAME_CHARS, ThemeChoice, Xml, readable};
use crate::ticks;
use crate::trend::{Trend, Verdict};
use crate::view::{Band, Kind, View};

const STYLE: &str = include_str!("assets/page.css");
const SCRIPT: &str = include_str!("assets/table.js");

/// The longest name in a table; the pointer shows longer ones.
const CELL_CHARS: usize = 120;
/// The columns of a table.
const COLUMNS: [&str; 9] =
    ["Band", "Peak", "Peak at", "Mean", "Share", "Start", "End", "Growth", "Confidence"];

/// Writes a page with laid-out views side by side, and a table for each.
///
/// # Errors
/// What `out` reports.
pub fn write(
    out: &mut (impl Write + ?Sized),
    panels: &[(&View, &Scene)],
    theme: ThemeChoice,
) -> io::Result<()> {
    let titles: Vec<&str> = panels.iter().map(|(_, scene)| &*scene.title).collect();
    let title = titles.join(", ");
    writeln!(out, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">")?;
    writeln!(out, "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">")?;
    writeln!(out, "<title>{}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>", Xml(&title))?;
    // The chart looks for the field when it is read.
    write!(out, "<p><label>Search bands <input id=\"hp-search\" type=\"search\" class=\"hp-search\" ")?;
    writeln!(out, "placeholder=\"/\" autocomplete=\"off\"></label></p>")?;
    svg::write_element(out, panels, theme, " data-search=\"hp-search\"")?;
    for (number, (view, scene)) in panels.iter().enumerate() {
        table(out, view, scene, number)?;
    }
    writeln!(out, "<script>(function () {{\n'use strict';\n{SCRIPT}}})();</script>\n</body>\n</html>")
}

fn table(out: &mut (impl Write + ?Sized), view: &View, scene: &Scene, number: usize) -> io::Result<()> {
    writeln!(out, "<table data-panel=\"{number}\">\n<caption>{}</caption>", Xml(&scene.title))?;
    writeln!(out, "<thead><tr>")?;
    for column in COLUMNS {
        writeln!(out, "<th scope=\"col\"><button type=\"button\">{column}</button></th>")?;
    }
    writeln!(out, "</tr></thead>\n<tbody>")?;
    // As the key has them.
    for (at, band) in view.bands.iter().enumerate().rev() {
        row(out, view, band, at, &scene.colour(at).to_string())?;
    }
    writeln!(out, "</tbody>\n</table>")
}

fn row(out: &mut (impl Write + ?Sized), view: &View, band: &Band, at: usize, colour: &str) -> io::Result<()> {
    let unit = &view.header.value_unit;
    let amount = |value: f64| (ticks::amount(value, unit), value);
    let grows = band.trend.is_some_and(|trend| trend.verdict == Verdict::GrowsSteadily);
    let class = if grows { " class=\"grows\"" } else { "" };
    let (name, whole) = (readable(&band.name, CELL_CHARS), readable(&band.name, NAME_CHARS));
    let title = if name == whole { String::new() } else { format!(" title=\"{}\"", Xml(&whole)) };
    let count = match band.kind {
        Kind::Other(count) => format!(" ({count} more)"),
        _ => String::new(),
    };
    write!(out, "<tr data-band=\"{at}\"{class}><th scope=\"row\">")?;
    write!(out, "<svg width=\"11\" height=\"11\" aria-hidden=\"true\">")?;
    write!(out, "<rect width=\"11\" height=\"11\" fill=\"{colour}\"/></svg> ")?;
    write!(out, "<button type=\"button\"{title}><bdi>{}</bdi>{count}</button></th>", Xml(&name))?;
    let of_trend = |of: &dyn Fn(&Trend) -> (String, f64)| band.trend.as_ref().map(of);
    let cells = [
        Some(amount(band.peak.value)),
        Some((view.moment(band.peak.time_s), band.peak.time_s)),
        Some(amount(band.mean)),
        Some((format!("{:.1} %", band.share * 100.0), band.share)),
        of_trend(&|trend| amount(trend.start)),
        of_trend(&|trend| amount(trend.end)),
        of_trend(&|trend| (growth(view, trend), trend.slope_per_s)),
        of_trend(&|trend| (percent(trend.confidence), trend.confidence)),
    ];
    for cell in cells {
        match cell {
            Some((text, value)) => write!(out, "<td data-value=\"{value}\">{}</td>", Xml(&text))?,
            None => write!(out, "<td>–</td>")?,
        }
    }
    writeln!(out, "</tr>")
}

fn growth(view: &View, trend: &Trend) -> String {
    let mark = if trend.verdict == Verdict::GrowsSteadily { "▲ " } else { "" };
    format!("{mark}{}", view.rate(trend))
}

/// A chance that is never shown as certain.
fn percent(chance: f64) -> String {
    if chance > 0.999 { "> 99.9 %".to_owned() } else { format!("{:.1} %", chance * 100.0) }
}
