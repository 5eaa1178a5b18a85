//! Fills of bands: ten greys or 27 colours, given out from the bottom of the chart up.

use std::collections::HashMap;
use std::io::{self, BufRead, Write};

use crate::auxfile::Previous;
use crate::dsc::LINE_MOST_BYTES;
use crate::layout::Style;

/// Grey levels, 0 is black.
const GREYS: [f64; 10] = [0.0, 0.2, 0.6, 0.3, 0.9, 0.4, 1.0, 0.7, 0.5, 0.8];

/// Colours as tenths of red, green and blue. The 9 in entry 14 is what GHC's tool draws: a full ten lost to rounding.
const COLOURS: [[u8; 3]; 27] = [
    [0, 0, 0],
    [0, 0, 10],
    [0, 10, 0],
    [0, 10, 10],
    [10, 0, 0],
    [10, 0, 10],
    [10, 10, 0],
    [10, 10, 10],
    [0, 0, 5],
    [0, 5, 0],
    [0, 5, 10],
    [0, 10, 5],
    [5, 0, 0],
    [5, 0, 10],
    [5, 9, 0],
    [5, 10, 10],
    [10, 0, 5],
    [10, 5, 0],
    [10, 5, 10],
    [10, 10, 5],
    [0, 5, 5],
    [5, 0, 5],
    [5, 5, 0],
    [5, 5, 10],
    [5, 10, 5],
    [10, 5, 5],
    [5, 5, 5],
];

/// How a band is filled.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Fill {
    /// From 0 (black) to 1 (white).
    Grey(f64),
    /// Red, green and blue, each from 0 to 1.
    Colour([f64; 3]),
}

/// A fill and the one number that an `.aux` file has for it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shade {
    /// How the band is filled.
    pub fill: Fill,
    /// The grey level, or the channels in two decimals each: 0.RRGGBB, 10 for full.
    pub(crate) number: f64,
}

impl Shade {
    /// All shades in their order, GHC's or those that are seen against a white page; they repeat without end.
    fn fresh(colour: bool, style: Style) -> impl Iterator<Item = Shade> {
        let seen = move |shade: &Shade| style == Style::Ghc || !shade.is_white();
        let of_tenths = |tenths: [u8; 3]| Shade::of_colour(tenths.map(|tenths| f64::from(tenths) / 10.0));
        let of_level = |level| Shade::from_number(level, false);
        let shades: Vec<Shade> =
            if colour { COLOURS.map(of_tenths).to_vec() } else { GREYS.map(of_level).to_vec() };
        shades.into_iter().filter(seen).collect::<Vec<_>>().into_iter().cycle()
    }

    fn is_white(&self) -> bool {
        matches!(self.fill, Fill::Grey(1.0) | Fill::Colour([1.0, 1.0, 1.0]))
    }

    pub(crate) fn of_colour(channels: [f64; 3]) -> Shade {
        let [red, green, blue] = channels;
        Shade { fill: Fill::Colour(channels), number: red / 10.0 + green / 1e3 + blue / 1e5 }
    }

    /// The shade that an `.aux` file gives as one number. Only a number from a chart in colour
    /// is a colour, but GHC's tool takes any.
    fn from_number(number: f64, colour: bool) -> Shade {
        let channel = |factor: f64| {
            let digits = (number * factor) as i64;
            (digits - 100 * (digits / 100)) as f64 / 10.0
        };
        let fill = if colour { Fill::Colour([1e2, 1e4, 1e6].map(channel)) } else { Fill::Grey(number) };
        Shade { fill, number }
    }
}

/// The shades of bands named from the bottom up: that of an earlier chart, or the next new one. Bands of
/// the same name share one.
pub(crate) fn assign<'a>(
    names: impl Iterator<Item = &'a [u8]>,
    colour: bool,
    previous: &Previous,
    style: Style,
) -> Vec<Shade> {
    let mut known = HashMap::new();
    let mut fresh = Shade::fresh(colour, style);
    let mut shade = |name: &'a [u8]| {
        *known.entry(name).or_insert_with(|| match (previous.colours.get(name), previous.shades.get(name)) {
            (Some(&channels), _) if colour => Shade::of_colour(channels),
            (_, Some(&number)) => Shade::from_number(number, colour),
            // It never ends.
            _ => fresh.next().unwrap_or(Shade::from_number(0.0, false)),
        })
    };
    names.map(&mut shade).collect()
}

/// What begins a line of colours among the comments at the head of a page.
const COLOURS_COMMENT: &str = "%%hp2psColours:";

/// Writes the colours of bands from the bottom up, each as red, green and blue, in as many comment lines as it takes;
/// none for a page in grey.
pub(crate) fn write_colours(out: &mut (impl Write + ?Sized), shades: &[Shade]) -> io::Result<()> {
    let mut line = String::new();
    for shade in shades {
        let Fill::Colour([red, green, blue]) = shade.fill else { return Ok(()) };
        let colour = format!(" {red},{green},{blue}");
        if COLOURS_COMMENT.len() + line.len() + colour.len() > LINE_MOST_BYTES {
            writeln!(out, "{COLOURS_COMMENT}{line}")?;
            line.clear();
        }
        line.push_str(&colour);
    }
    if line.is_empty() { Ok(()) } else { writeln!(out, "{COLOURS_COMMENT}{line}") }
}

/// Reads them back from the head of a page; none from what is no page of ours.
pub(crate) fn read_colours(page: impl BufRead) -> Vec<[f64; 3]> {
    /// Far more than the colours of any chart take.
    const MOST_BYTES: u64 = 1 << 22;
    let lines = page.take(MOST_BYTES).split(b'\n').map_while(Result::ok);
    let comments = lines.take_while(|line| line.starts_with(b"%"));
    let colours = comments.filter_map(|line| {
        let line = line.strip_prefix(COLOURS_COMMENT.as_bytes())?;
        Some(str::from_utf8(line).ok()?.split_whitespace().map_while(colour).collect::<Vec<_>>())
    });
    colours.flatten().collect()
}

fn colour(text: &str) -> Option<[f64; 3]> {
    let channels: Vec<f64> = text.split(',').filter_map(|channel| channel.parse().ok()).collect();
    let channels: [f64; 3] = channels.try_into().ok()?;
    channels.iter().all(|channel| (0.0..=1.0).contains(channel)).then_some(channels)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_come_back_from_short_lines() {
        let shades: Vec<Shade> = Shade::fresh(true, Style::Ghc).take(200).collect();
        let mut text = Vec::new();
        write_colours(&mut text, &shades).expect("a Vec takes all");
        assert!(text.split(|&byte| byte == b'\n').all(|line| line.len() < 255));
        let fills: Vec<Fill> = read_colours(&text[..]).into_iter().map(Fill::Colour).collect();
        assert_eq!(fills, shades.iter().map(|shade| shade.fill).collect::<Vec<_>>());
        write_colours(&mut text, &[Shade::from_number(0.0, false)]).expect("a Vec takes all");
        assert_eq!(read_colours(&text[..]).len(), 200);
    }
}
