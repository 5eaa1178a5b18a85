//! What the script knows of a chart: exact values, as JSON.

use std::io::{self, Write};

use super::text::{Json, readable};
use super::{NAME_CHARS, ThemeChoice};
use crate::scene::Scene;
use crate::view::{Band, Kind, Mode, View};

/// The longest name of a member of OTHER: there may be thousands.
const MEMBER_CHARS: usize = 120;

/// Writes the object, one line.
pub(super) fn write(
    out: &mut (impl Write + ?Sized),
    view: &View,
    scene: &Scene,
    theme: ThemeChoice,
) -> io::Result<()> {
    let text = |bytes: &[u8]| readable(bytes, NAME_CHARS);
    let (unit, time_unit) = (text(&view.header.value_unit), text(&view.header.sample_unit));
    write!(out, "{{\"unit\":{},\"timeUnit\":{},", Json(&unit), Json(&time_unit))?;
    write!(out, "\"mode\":\"{}\",", mode(scene.mode))?;
    let graph = &scene.graph;
    write!(out, "\"graph\":{},", list([graph.x, graph.y, graph.width, graph.height]))?;
    let value = |y: f64| (scene.zero_y - y) * scene.value_per_px;
    write!(out, "\"range\":{},", list([value(graph.foot()), value(graph.y)]))?;
    let (from_s, s_per_px) = scene.time_scale;
    write!(out, "\"window\":{},", list([from_s, from_s + s_per_px * graph.width]))?;
    write!(out, "\"key\":{},", list([scene.key.xs.0, scene.key.xs.2]))?;
    write!(out, "\"rowHeight\":{},", scene.key.row_px)?;
    let colours = theme.theme();
    write!(out, "\"colours\":{{\"text\":\"{}\",\"muted\":\"{}\",", colours.text, colours.muted)?;
    write!(out, "\"grid\":\"{}\",\"background\":\"{}\"}},", colours.grid, colours.background)?;
    write!(out, "\"bands\":[{}],", joined(view.bands.iter().map(|band| band_object(band, view.mode))))?;
    write!(out, "\"times\":{},", list(view.details.iter().map(|detail| detail.time_s)))?;
    let values =
        (0..view.bands.len()).map(|band| list(view.details.iter().map(|detail| detail.values[band])));
    write!(out, "\"values\":[{}],", joined(values))?;
    let names = view.members.iter().map(|name| Json(&readable(name, MEMBER_CHARS)).to_string());
    write!(out, "\"members\":[{}],", joined(names))?;
    let members = view.details.iter().map(|detail| &detail.members);
    let pairs = members.map(|members| list(members.iter().flat_map(|&(name, value)| [name as f64, value])));
    write!(out, "\"membersAt\":[{}]}}", joined(pairs))
}

fn mode(mode: Mode) -> &'static str {
    match mode {
        Mode::Stacked => "stacked",
        Mode::Lines => "lines",
        Mode::Share => "share",
        Mode::OwnPeak => "own-peak",
        Mode::Growth { .. } => "growth",
        Mode::Change => "change",
    }
}

fn band_object(band: &Band, mode: Mode) -> String {
    let kind = match band.kind {
        Kind::Named => "named",
        Kind::Other(_) => "other",
        Kind::Resident => "resident",
    };
    // A curve of growth is that of values less their value at a time.
    let base = match mode {
        Mode::Growth { .. } => {
            band.peak.value - band.curve.iter().map(|point| point.1).fold(f64::MIN, f64::max)
        }
        _ => 0.0,
    };
    format!(
        "{{\"name\":{},\"kind\":\"{kind}\",\"peak\":{},\"peakAt\":{},\"base\":{base}}}",
        Json(&readable(&band.name, NAME_CHARS)),
        band.peak.value,
        band.peak.time_s
    )
}

fn list(numbers: impl IntoIterator<Item = f64>) -> String {
    format!("[{}]", joined(numbers.into_iter().map(|number| number.to_string())))
}

fn joined(items: impl Iterator<Item = String>) -> String {
    items.collect::<Vec<_>>().join(",")
}
