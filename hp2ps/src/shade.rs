//! Fills of bands: ten greys or 27 colours, given out from the bottom of the chart up.

use std::collections::HashMap;

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
    /// The shade of the band drawn as number `index` from 0; the shades repeat.
    fn fresh(index: usize, colour: bool) -> Shade {
        if !colour {
            return Shade::from_number(GREYS[index % GREYS.len()], false);
        }
        let channels = COLOURS[index % COLOURS.len()].map(|tenths| f64::from(tenths) / 10.0);
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
    fixed: &HashMap<Vec<u8>, f64>,
) -> Vec<Shade> {
    let mut known = HashMap::new();
    let mut fresh = 0;
    let mut shade = |name: &'a [u8]| {
        *known.entry(name).or_insert_with(|| match fixed.get(name) {
            Some(&number) => Shade::from_number(number, colour),
            None => {
                fresh += 1;
                Shade::fresh(fresh - 1, colour)
            }
        })
    };
    names.map(&mut shade).collect()
}
