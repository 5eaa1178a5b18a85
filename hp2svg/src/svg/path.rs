//! Path data: whole tenths of pixels, each point told as the way from the one before.

use std::fmt::{self, Display, Formatter};

use crate::scene::Px;

/// Tenths of a pixel. Differences of rounded places, not rounded differences: errors do not add up.
type Tenths = (i64, i64);

/// A line through points; in one piece, none twice, and none in the middle of a straight part.
pub(crate) struct Line<'a>(pub(crate) &'a [Px]);

/// The area between a line and the `foot`.
pub(crate) struct Above<'a> {
    pub(crate) edge: &'a [Px],
    pub(crate) foot: f64,
}

/// A closed line.
pub(crate) struct Closed<'a>(pub(crate) &'a [Px]);

impl Display for Line<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write_line(f, &corners(self.0))
    }
}

impl Display for Closed<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write_line(f, &corners(self.0))?;
        f.write_str("z")
    }
}

impl Display for Above<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let (Some(first), Some(last)) = (self.edge.first(), self.edge.last()) else { return Ok(()) };
        let from_foot: Vec<Px> = [&[(first.0, self.foot)], self.edge, &[(last.0, self.foot)]].concat();
        write!(f, "{}", Closed(&from_foot))
    }
}

fn corners(points: &[Px]) -> Vec<Tenths> {
    let mut corners: Vec<Tenths> = Vec::with_capacity(points.len());
    for &(x, y) in points {
        let point = (tenths(x), tenths(y));
        if corners.last() == Some(&point) {
            continue;
        }
        if let [.., before, last] = corners[..]
            && goes_on(before, last, point)
        {
            corners.pop();
        }
        corners.push(point);
    }
    corners
}

fn tenths(place: f64) -> i64 {
    /// Far beyond any picture; renderers count in 32 bits.
    const MOST_PX: f64 = 1e7;
    (place.clamp(-MOST_PX, MOST_PX) * 10.0).round() as i64
}

/// Whether the way from `b` to `c` has the direction of that from `a` to `b`.
fn goes_on(a: Tenths, b: Tenths, c: Tenths) -> bool {
    let (first, second) = (minus(b, a), minus(c, b));
    first.0 * second.1 == first.1 * second.0 && first.0 * second.0 + first.1 * second.1 > 0
}

fn minus(a: Tenths, b: Tenths) -> Tenths {
    (a.0 - b.0, a.1 - b.1)
}

fn write_line(f: &mut Formatter<'_>, corners: &[Tenths]) -> fmt::Result {
    let Some(&first) = corners.first() else { return Ok(()) };
    f.write_str("M")?;
    write_pair(f, first)?;
    if corners.len() > 1 {
        f.write_str("l")?;
    }
    for (at, pair) in corners.windows(2).enumerate() {
        let step = minus(pair[1], pair[0]);
        // A minus is enough between two numbers.
        f.write_str(if at > 0 && step.0 >= 0 { " " } else { "" })?;
        write_pair(f, step)?;
    }
    Ok(())
}

fn write_pair(f: &mut Formatter<'_>, (x, y): Tenths) -> fmt::Result {
    write_tenths(f, x)?;
    f.write_str(if y < 0 { "" } else { " " })?;
    write_tenths(f, y)
}

fn write_tenths(f: &mut Formatter<'_>, tenths: i64) -> fmt::Result {
    let (whole, part) = (tenths.abs() / 10, tenths.abs() % 10);
    f.write_str(if tenths < 0 { "-" } else { "" })?;
    match (whole, part) {
        (whole, 0) => write!(f, "{whole}"),
        (0, part) => write!(f, ".{part}"),
        (whole, part) => write!(f, "{whole}.{part}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_tenths_and_straight_parts_are_one() {
        let points = [(10.0, 50.0), (10.04, 50.04), (12.0, 50.0), (15.56, 50.0), (15.6, 49.5), (15.0, 52.25)];
        assert_eq!(Line(&points).to_string(), "M10 50l5.6 0 0-.5-.6 2.8");
        assert_eq!(Line(&points[..1]).to_string(), "M10 50");
        assert_eq!(Line(&[]).to_string(), "");
        // Back and forth is not straight on.
        assert_eq!(Line(&[(0.0, 0.0), (0.0, 9.0), (0.0, 3.0)]).to_string(), "M0 0l0 9 0-6");
        let edge = &[(0.0, 4.0), (2.0, 3.0)];
        assert_eq!(Above { edge, foot: 9.0 }.to_string(), "M0 9l0-5 2-1 0 6z");
    }

    #[test]
    fn errors_do_not_add_up() {
        let points: Vec<Px> =
            (0..1000).map(|at| (f64::from(at) * 0.333, f64::from(at % 3) * 0.249)).collect();
        let steps = Line(&points).to_string();
        let steps = steps.split_once('l').expect("more than one point").1.replace('-', " -");
        let sum: f64 = steps
            .split_ascii_whitespace()
            .step_by(2)
            .map(|step| step.parse::<f64>().expect("a number"))
            .sum();
        assert!((sum - 332.7).abs() < 1e-6, "{sum}");
    }
}
