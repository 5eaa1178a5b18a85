//! Patterns that fill bands for print without colour. All formats draw them from the one table here, so a band looks
//! the same in each.
//!
//! A pattern is lines and dots that repeat in squares over the whole picture, the first square in its upper left
//! corner. A format that repeats tiles itself (SVG, PDF) takes [`Hatch::lines`] and [`Hatch::dots`] over one tile,
//! `Rect { x: 0.0, y: 0.0, width: side, height: side }`, and clips to it; one that does not (PNG) takes them over the
//! box around what is filled and clips to that. The ground and the ink are those of [`inks`].

use crate::colour::{Colour, Theme};
use crate::scene::{Px, Rect};

/// Which way a line runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    /// From left to right.
    Across,
    /// From top to bottom.
    Down,
    /// To the right and as much upward.
    Rising,
    /// To the right and as much downward.
    Falling,
}

/// Parallel lines, one for each square.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ruling {
    /// Which way they run.
    pub direction: Direction,
    /// Where a line crosses the left edge of the square if it runs across, the upper edge if not.
    pub at_px: f64,
    /// How wide they are.
    pub width_px: f64,
}

/// A disc in each square.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Dot {
    /// Its middle, in the square.
    pub at: Px,
    /// Its radius.
    pub radius_px: f64,
}

/// A straight line of a pattern.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Line {
    /// One end.
    pub from: Px,
    /// The other.
    pub to: Px,
    /// How wide it is.
    pub width_px: f64,
}

/// A pattern.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hatch {
    /// The side of the square that repeats.
    pub side_px: f64,
    /// Its lines.
    pub rulings: &'static [Ruling],
    /// Its dots.
    pub spots: &'static [Dot],
}

const fn ruling(direction: Direction, at_px: f64, width_px: f64) -> Ruling {
    Ruling { direction, at_px, width_px }
}

const fn dot(x: f64, y: f64, radius_px: f64) -> Dot {
    Dot { at: (x, y), radius_px }
}

use Direction::{Across, Down, Falling, Rising};

/// All patterns. Those that follow each other differ most, as bands on each other take them in turn.
const HATCHES: [Hatch; 12] = [
    Hatch { side_px: 7.0, rulings: &[ruling(Rising, 0.0, 1.2)], spots: &[] },
    Hatch { side_px: 6.0, rulings: &[], spots: &[dot(1.5, 1.5, 1.0), dot(4.5, 4.5, 1.0)] },
    Hatch { side_px: 7.0, rulings: &[ruling(Falling, 0.0, 1.2)], spots: &[] },
    Hatch { side_px: 6.0, rulings: &[ruling(Across, 3.0, 0.9), ruling(Down, 3.0, 0.9)], spots: &[] },
    Hatch { side_px: 9.0, rulings: &[ruling(Rising, 0.0, 3.2)], spots: &[] },
    Hatch { side_px: 4.0, rulings: &[ruling(Across, 2.0, 1.2)], spots: &[] },
    Hatch { side_px: 8.0, rulings: &[], spots: &[dot(2.0, 2.0, 1.9), dot(6.0, 6.0, 1.9)] },
    Hatch { side_px: 4.0, rulings: &[ruling(Down, 2.0, 1.2)], spots: &[] },
    Hatch { side_px: 9.0, rulings: &[ruling(Rising, 0.0, 0.9), ruling(Falling, 0.0, 0.9)], spots: &[] },
    Hatch { side_px: 8.0, rulings: &[ruling(Across, 2.0, 1.0), ruling(Across, 4.5, 1.0)], spots: &[] },
    Hatch { side_px: 9.0, rulings: &[ruling(Falling, 0.0, 3.2)], spots: &[] },
    Hatch { side_px: 8.0, rulings: &[ruling(Down, 2.0, 1.0)], spots: &[dot(6.0, 4.0, 1.2)] },
];

/// How many patterns there are.
pub const COUNT: usize = HATCHES.len();

/// The pattern of a number; numbers beyond the last begin again.
pub fn of(number: usize) -> &'static Hatch {
    &HATCHES[number % COUNT]
}

/// The ground and the ink of a pattern in a band of that colour: the colour paler, and stronger.
pub fn inks(colour: Colour, theme: &Theme) -> (Colour, Colour) {
    (mixed(colour, theme.background, 0.76), mixed(colour, theme.text, 0.6))
}

fn mixed(one: Colour, other: Colour, part: f64) -> Colour {
    let level = |at: usize| f64::from(one.0[at]) * (1.0 - part) + f64::from(other.0[at]) * part;
    Colour([0, 1, 2].map(|at| level(at).round() as u8))
}

impl Hatch {
    /// The lines that touch `over`, each from beyond one edge of it to beyond another.
    ///
    /// ```
    /// use hp2svg::{hatch, scene::Rect};
    /// let over = Rect { x: 0.0, y: 0.0, width: 8.0, height: 8.0 };
    /// let across = hatch::of(5).lines(over);
    /// assert_eq!((across.len(), across[0].from.1, across[1].from.1), (2, 2.0, 6.0));
    /// ```
    pub fn lines(&self, over: Rect) -> Vec<Line> {
        self.rulings.iter().flat_map(|ruling| self.ruled(ruling, over)).collect()
    }

    /// The dots that touch `over`.
    pub fn dots(&self, over: Rect) -> Vec<Dot> {
        let in_rows = |spot: &Dot| {
            let (Dot { at: (x, y), radius_px }, reach) = (*spot, spot.radius_px);
            let rows = self.repeated(y, over.y - reach, over.foot() + reach);
            let row = move |y| {
                let columns = self.repeated(x, over.x - reach, over.right() + reach);
                columns.map(move |x| Dot { at: (x, y), radius_px })
            };
            rows.flat_map(row).collect::<Vec<Dot>>()
        };
        self.spots.iter().flat_map(in_rows).collect()
    }

    /// `first` and all places whole squares away from it, from `low` to `high`.
    fn repeated(&self, first: f64, low: f64, high: f64) -> impl Iterator<Item = f64> + use<> {
        let side = self.side_px;
        let before = ((low - first) / side).ceil();
        let count = ((high - first) / side - before).floor() + 1.0;
        // A count below zero or none becomes 0.
        (0..count as usize).map(move |step| first + (before + step as f64) * side)
    }

    fn ruled(&self, ruling: &Ruling, over: Rect) -> Vec<Line> {
        let Ruling { direction, at_px, width_px } = *ruling;
        let (left, right, top, foot) =
            (over.x - width_px, over.right() + width_px, over.y - width_px, over.foot() + width_px);
        let line = |from, to| Line { from, to, width_px };
        // A diagonal is told by the place where it crosses y = 0.
        let diagonals = |lean: f64| {
            let ends = [lean * top, lean * foot];
            let low = left - f64::max(ends[0], ends[1]) - width_px;
            let high = right - f64::min(ends[0], ends[1]) + width_px;
            let between = move |x| line((x + lean * top, top), (x + lean * foot, foot));
            self.repeated(at_px, low, high).map(between).collect::<Vec<Line>>()
        };
        match direction {
            Across => self.repeated(at_px, top, foot).map(|y| line((left, y), (right, y))).collect(),
            Down => self.repeated(at_px, left, right).map(|x| line((x, top), (x, foot))).collect(),
            Falling => diagonals(1.0),
            Rising => diagonals(-1.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::colour::{DARK, LIGHT, contrast, of_bands};

    /// Whether a point is inked.
    fn inked(hatch: &Hatch, over: Rect, (x, y): Px) -> bool {
        let near_line = hatch.lines(over).iter().any(|line| {
            let ((x0, y0), (x1, y1)) = (line.from, line.to);
            let length = (x1 - x0).hypot(y1 - y0);
            let aside = ((x1 - x0) * (y0 - y) - (x0 - x) * (y1 - y0)).abs() / length;
            let along = ((x - x0) * (x1 - x0) + (y - y0) * (y1 - y0)) / length;
            aside <= line.width_px / 2.0 && (0.0..=length).contains(&along)
        });
        let dots = hatch.dots(over);
        near_line || dots.iter().any(|dot| (dot.at.0 - x).hypot(dot.at.1 - y) <= dot.radius_px)
    }

    fn square(hatch: &Hatch) -> Rect {
        Rect { x: 0.0, y: 0.0, width: hatch.side_px, height: hatch.side_px }
    }

    #[test]
    fn tiles_in_a_row_are_the_pattern_over_the_whole() {
        let over = Rect { x: 13.0, y: -7.5, width: 31.0, height: 24.0 };
        for number in 0..COUNT {
            let hatch = of(number);
            for (x, y) in (0..310).step_by(7).flat_map(|x| (0..240).step_by(7).map(move |y| (x, y))) {
                let (x, y) = (over.x + f64::from(x) * 0.1 + 0.03, over.y + f64::from(y) * 0.1 + 0.03);
                let in_tile = (x.rem_euclid(hatch.side_px), y.rem_euclid(hatch.side_px));
                assert_eq!(
                    inked(hatch, over, (x, y)),
                    inked(hatch, square(hatch), in_tile),
                    "pattern {number} at {x} {y}"
                );
            }
        }
    }

    #[test]
    fn patterns_are_told_apart_and_ink_about_a_quarter() {
        let over = Rect { x: 0.0, y: 0.0, width: 24.0, height: 24.0 };
        // Off the edges of lines and dots, which lie on whole and half pixels.
        let on = |at: i32| f64::from(at) * 0.31 + 0.07;
        let points: Vec<Px> = (0..77 * 77).map(|at| (on(at % 77), on(at / 77))).collect();
        let pictures: Vec<Vec<bool>> = (0..COUNT)
            .map(|number| points.iter().map(|&point| inked(of(number), over, point)).collect())
            .collect();
        for (at, picture) in pictures.iter().enumerate() {
            let part = picture.iter().filter(|&&inked| inked).count() as f64 / points.len() as f64;
            assert!((0.1..0.55).contains(&part), "pattern {at} inks {part}");
            for (before, other) in pictures[..at].iter().enumerate() {
                let differ = picture.iter().zip(other).filter(|(one, other)| one != other).count();
                assert!(differ * 7 > points.len(), "patterns {before} and {at} differ at {differ} points");
            }
        }
    }

    #[test]
    fn ink_stands_out_from_the_ground_in_both_themes() {
        let names: Vec<String> = (0..200).map(|at| format!("band{at}")).collect();
        let bands: Vec<(&[u8], f64)> = names.iter().map(|name| (name.as_bytes(), 1.0)).collect();
        for theme in [LIGHT, DARK] {
            for colour in of_bands(&bands) {
                let (ground, ink) = inks(colour, &theme);
                assert!(contrast(ground, ink) >= 3.0, "{colour}: {ground} {ink}");
            }
        }
    }
}
