//! Colours of bands and of what is around them.

use std::fmt;

/// Red, green and blue, each from 0 to 255.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Colour(pub [u8; 3]);

impl fmt::Display for Colour {
    /// As `#rrggbb`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [red, green, blue] = self.0;
        write!(f, "#{red:02x}{green:02x}{blue:02x}")
    }
}

/// The scheme of a picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Theme {
    /// Behind everything.
    pub background: Colour,
    /// Names and figures.
    pub text: Colour,
    /// What is said by the way.
    pub muted: Colour,
    /// Lines at ticks.
    pub grid: Colour,
    /// Marks, peaks and leaks.
    pub accent: Colour,
}

/// Dark on light. Texts have a contrast of at least 4.5 to the background (WCAG AA).
pub const LIGHT: Theme = Theme {
    background: Colour([255, 255, 255]),
    text: Colour([28, 30, 33]),
    muted: Colour([92, 97, 104]),
    grid: Colour([224, 227, 231]),
    accent: Colour([176, 32, 32]),
};

/// Light on dark, with the same contrast.
pub const DARK: Theme = Theme {
    background: Colour([22, 24, 28]),
    text: Colour([232, 234, 237]),
    muted: Colour([165, 171, 179]),
    grid: Colour([52, 56, 63]),
    accent: Colour([255, 138, 128]),
};

/// OTHER, which is no name.
pub const OTHER: Colour = Colour([154, 160, 166]);

/// The gap up to the resident memory: paler than all bands.
pub const RESIDENT: [Colour; 4] =
    [Colour([206, 211, 217]), Colour([188, 194, 201]), Colour([216, 220, 225]), Colour([198, 203, 210])];

/// Eight colours that colour-blind readers tell apart (Okabe and Ito 2008, their black replaced by brown).
const HUES: [[u8; 3]; 8] = [
    [0, 114, 178],
    [230, 159, 0],
    [0, 158, 115],
    [204, 121, 167],
    [86, 180, 233],
    [213, 94, 0],
    [240, 228, 66],
    [122, 87, 62],
];

/// How far apart the colours of neighbours are for every reader, in the units of [`distance`].
const NEIGHBOURS_APART: f64 = 0.09;

/// All colours for bands: each hue as it is, lighter, and darker.
fn palette() -> Vec<Colour> {
    let mix = |hue: [u8; 3], with: f64, part: f64| {
        Colour(hue.map(|level| (f64::from(level) * (1.0 - part) + with * part).round() as u8))
    };
    [(0.0, 0.0), (255.0, 0.45), (0.0, 0.38)]
        .into_iter()
        .flat_map(|(with, part)| HUES.map(|hue| mix(hue, with, part)))
        .collect()
}

/// The colours of bands with these names, from the bottom up, and weights. A name has the same colour in every chart
/// unless a heavier band there has it already or a heavier neighbour's is like it.
///
/// ```
/// let alone = hp2svg::colour::of_bands(&[(b"cache", 1.0)]);
/// let among = hp2svg::colour::of_bands(&[(b"a", 0.2), (b"cache", 3.0), (b"b", 0.1)]);
/// assert_eq!(alone[0], among[1]);
/// ```
pub fn of_bands(bands: &[(&[u8], f64)]) -> Vec<Colour> {
    let palette = palette();
    let mut given: Vec<Option<Colour>> = vec![None; bands.len()];
    let mut heaviest_first: Vec<usize> = (0..bands.len()).collect();
    heaviest_first.sort_by(|&a, &b| bands[b].1.total_cmp(&bands[a].1));
    for at in heaviest_first {
        let own = hash(bands[at].0) as usize % palette.len();
        let in_turn = (0..palette.len()).map(|step| palette[(own + step * 7) % palette.len()]);
        let neighbours = [at.checked_sub(1), Some(at + 1)].into_iter().flatten();
        let neighbours: Vec<Colour> = neighbours.filter_map(|at| given.get(at).copied().flatten()).collect();
        let apart =
            |colour: &Colour| neighbours.iter().all(|other| distance(*colour, *other) >= NEIGHBOURS_APART);
        let fresh = in_turn.clone().find(|colour| apart(colour) && !given.contains(&Some(*colour)));
        given[at] = fresh.or_else(|| in_turn.clone().find(apart)).or(Some(palette[own]));
    }
    given.into_iter().flatten().collect()
}

/// FNV-1a, 64 bits: the same on every machine and in every version.
fn hash(name: &[u8]) -> u64 {
    name.iter()
        .fold(0xcbf2_9ce4_8422_2325, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

/// How different two colours are in OKLab for the reader who tells them apart least: with full colour
/// vision, without red or without green cones (simulated after Viénot, Brettel and Mollon 1999).
pub fn distance(a: Colour, b: Colour) -> f64 {
    const SEEN: [[[f64; 3]; 3]; 3] = [
        [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]],
        [[0.11238, 0.88762, 0.0], [0.11238, 0.88762, 0.0], [0.00401, -0.00401, 1.0]],
        [[0.29275, 0.70725, 0.0], [0.29275, 0.70725, 0.0], [-0.02234, 0.02234, 1.0]],
    ];
    let apart = |seen: &[[f64; 3]; 3]| {
        let [a, b] = [a, b].map(|colour| oklab(times(seen, linear(colour))));
        a.iter().zip(b).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt()
    };
    SEEN.iter().map(apart).fold(f64::MAX, f64::min)
}

fn times(matrix: &[[f64; 3]; 3], vector: [f64; 3]) -> [f64; 3] {
    matrix.map(|row| row.iter().zip(vector).map(|(factor, value)| factor * value).sum())
}

/// Light intensities of sRGB levels.
fn linear(colour: Colour) -> [f64; 3] {
    colour.0.map(|level| {
        let level = f64::from(level) / 255.0;
        if level <= 0.04045 { level / 12.92 } else { ((level + 0.055) / 1.055).powf(2.4) }
    })
}

/// Björn Ottosson's OKLab (2020) of light intensities.
fn oklab(linear: [f64; 3]) -> [f64; 3] {
    const CONES: [[f64; 3]; 3] = [
        [0.412_221_470_8, 0.536_332_536_3, 0.051_445_992_9],
        [0.211_903_498_2, 0.680_699_545_1, 0.107_396_956_6],
        [0.088_302_461_9, 0.281_718_837_6, 0.629_978_700_5],
    ];
    const LAB: [[f64; 3]; 3] = [
        [0.210_454_255_3, 0.793_617_785_0, -0.004_072_046_8],
        [1.977_998_495_1, -2.428_592_205_0, 0.450_593_709_9],
        [0.025_904_037_1, 0.782_771_766_2, -0.808_675_766_0],
    ];
    times(&LAB, times(&CONES, linear).map(f64::cbrt))
}

/// The contrast of two colours, from 1 to 21 (WCAG 2).
pub fn contrast(a: Colour, b: Colour) -> f64 {
    let luminance = |colour| {
        let [red, green, blue] = linear(colour);
        0.2126 * red + 0.7152 * green + 0.0722 * blue + 0.05
    };
    let (a, b) = (luminance(a), luminance(b));
    a.max(b) / a.min(b)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_stand_out_in_both_themes() {
        for theme in [LIGHT, DARK] {
            for colour in [theme.text, theme.muted, theme.accent] {
                assert!(contrast(colour, theme.background) >= 4.5, "{colour}");
            }
        }
    }

    #[test]
    fn neighbours_are_told_apart_by_every_reader() {
        let mut seed = 7_u64;
        for count in [2, 5, 20, 60] {
            for _ in 0..50 {
                let names: Vec<(String, f64)> = (0..count)
                    .map(|_| {
                        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                        (format!("({})name", seed >> 40), (seed >> 33) as f64)
                    })
                    .collect();
                let bands: Vec<(&[u8], f64)> =
                    names.iter().map(|(name, weight)| (name.as_bytes(), *weight)).collect();
                let colours = of_bands(&bands);
                assert_eq!(colours.len(), count);
                for pair in colours.windows(2) {
                    assert!(distance(pair[0], pair[1]) >= NEIGHBOURS_APART, "{} {}", pair[0], pair[1]);
                }
                let distinct: std::collections::HashSet<_> = colours.iter().collect();
                assert!(count > 20 || distinct.len() >= count.min(20) * 3 / 4, "{}", distinct.len());
            }
        }
    }

    #[test]
    fn a_name_keeps_its_colour_from_chart_to_chart() {
        let one = of_bands(&[(b"x", 1.0), (b"(12)cache/main", 9.0), (b"y", 2.0)]);
        let other = of_bands(&[(b"(12)cache/main", 5.0), (b"z", 1.0)]);
        assert_eq!(one[1], other[0]);
    }
}
