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
pub enum Shade {
    /// From 0 (black) to 1 (white).
    Grey(f64),
    /// Red, green and blue, each from 0 to 1.
    Colour([f64; 3]),
}

impl Shade {
    /// The shade of the band drawn as number `index` from 0; the shades repeat.
    fn fresh(index: usize, colour: bool) -> Shade {
        if colour {
            Shade::Colour(COLOURS[index % COLOURS.len()].map(|tenths| f64::from(tenths) / 10.0))
        } else {
            Shade::Grey(GREYS[index % GREYS.len()])
        }
    }

    /// The shade that an `.aux` file gives as one number: the grey, or two decimals for each of the channels.
    fn from_number(number: f64, colour: bool) -> Shade {
        let channel = |factor: f64| {
            let digits = (number * factor) as i64;
            (digits - 100 * (digits / 100)) as f64 / 10.0
        };
        if colour {
            Shade::Colour([1e2, 1e4, 1e6].map(channel))
        } else {
            Shade::Grey(number)
        }
    }

    /// The one number an `.aux` file has for this shade.
    pub(crate) fn number(self) -> f64 {
        match self {
            Shade::Grey(level) => level,
            Shade::Colour([red, green, blue]) => red / 10.0 + green / 1e3 + blue / 1e5,
        }
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
