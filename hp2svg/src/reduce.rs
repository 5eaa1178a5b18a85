//! Curves reduced to what a screen can show.

/// A point of a curve: a time in seconds and a value.
pub type Point = (f64, f64);

/// Takes the points of a curve in any order and keeps those that its picture needs.
///
/// A picture with so many pixel columns looks the same if each column has its first, least, largest and
/// last point: the line enters and leaves it where it did, and no peak is lost (Jugel and others, "M4", 2014).
/// A curve with so few points that nothing is gained keeps all.
#[derive(Clone, Debug)]
pub(crate) struct Reducer {
    from_s: f64,
    columns_per_s: f64,
    kept: Kept,
}

#[derive(Clone, Debug)]
enum Kept {
    All(Vec<Point>),
    Columns(Vec<Option<Column>>),
}

/// What is kept of a column.
#[derive(Clone, Copy, Debug)]
struct Column {
    first: Point,
    least: Point,
    largest: Point,
    last: Point,
}

/// How the time from the first to the last pixel is cut into columns.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Columns {
    /// The left edge of the first.
    pub(crate) from_s: f64,
    /// The right edge of the last.
    pub(crate) to_s: f64,
    /// How many.
    pub(crate) count: usize,
    /// Whether all points are kept, as there are no more than two in a column.
    pub(crate) keep_all: bool,
}

impl Columns {
    /// Columns for so many samples.
    pub(crate) fn new((from_s, to_s): (f64, f64), count: usize, samples: usize) -> Columns {
        Columns { from_s, to_s, count: count.max(1), keep_all: samples <= 2 * count }
    }

    fn per_s(&self) -> f64 {
        let width_s = self.to_s - self.from_s;
        if width_s > 0.0 { self.count as f64 / width_s } else { 0.0 }
    }

    /// The column of a time.
    pub(crate) fn of(&self, time_s: f64) -> usize {
        (((time_s - self.from_s) * self.per_s()) as usize).min(self.count - 1)
    }

    /// A reducer for one curve.
    pub(crate) fn reducer(&self) -> Reducer {
        let kept = if self.keep_all { Kept::All(Vec::new()) } else { Kept::Columns(vec![None; self.count]) };
        Reducer { from_s: self.from_s, columns_per_s: self.per_s(), kept }
    }
}

impl Reducer {
    pub(crate) fn push(&mut self, time_s: f64, value: f64) {
        let point = (time_s, value);
        match &mut self.kept {
            Kept::All(points) => points.push(point),
            Kept::Columns(columns) => {
                let at = (((time_s - self.from_s) * self.columns_per_s) as usize).min(columns.len() - 1);
                match &mut columns[at] {
                    Some(column) => column.add(point),
                    empty => {
                        *empty = Some(Column { first: point, least: point, largest: point, last: point })
                    }
                }
            }
        }
    }

    /// The kept points in the order of time.
    pub(crate) fn finish(self) -> Vec<Point> {
        match self.kept {
            Kept::All(mut points) => {
                points.sort_by(|a, b| a.0.total_cmp(&b.0));
                points
            }
            Kept::Columns(columns) => columns.into_iter().flatten().flat_map(Column::points).collect(),
        }
    }
}

impl Column {
    fn add(&mut self, point: Point) {
        if point.0 < self.first.0 {
            self.first = point;
        }
        if point.1 < self.least.1 {
            self.least = point;
        }
        if point.1 > self.largest.1 {
            self.largest = point;
        }
        if point.0 >= self.last.0 {
            self.last = point;
        }
    }

    /// In the order of time, none twice.
    fn points(self) -> impl Iterator<Item = Point> {
        let (early, late) = if self.least.0 <= self.largest.0 {
            (self.least, self.largest)
        } else {
            (self.largest, self.least)
        };
        let mut points = vec![self.first, early, late, self.last];
        points.dedup();
        points.into_iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn random_points(seed: &mut u64, count: usize) -> Vec<Point> {
        let mut next = || {
            *seed ^= *seed << 13;
            *seed ^= *seed >> 7;
            *seed ^= *seed << 17;
            (*seed >> 11) as f64 / (1_u64 << 53) as f64
        };
        let mut time_s = 3.0;
        (0..count)
            .map(|_| {
                time_s += next() * 0.02;
                (time_s, (next() * 50.0).floor() * next().round())
            })
            .collect()
    }

    #[test]
    fn each_column_keeps_its_extremes_and_its_ends() {
        let mut seed = 88_172_645_463_325_252;
        for count in [1, 7, 500, 3_000] {
            let points = random_points(&mut seed, count);
            let window = (points[0].0, points[count - 1].0);
            let columns = Columns::new(window, 40, count);
            let mut reducer = columns.reducer();
            points.iter().for_each(|&(time_s, value)| reducer.push(time_s, value));
            let kept = reducer.finish();
            assert!(
                kept.is_sorted_by(|a, b| a.0 <= b.0) && kept.len() <= points.len() && kept.len() <= 4 * 40
            );
            assert!(kept.iter().all(|point| points.contains(point)));
            let within = |points: &[Point], column| -> Vec<Point> {
                points.iter().copied().filter(|point| columns.of(point.0) == column).collect()
            };
            for column in 0..40 {
                let (all, some) = (within(&points, column), within(&kept, column));
                assert_eq!((all.first(), all.last()), (some.first(), some.last()));
                let extremes = |points: &[Point]| {
                    let values = points.iter().map(|point| point.1);
                    (values.clone().fold(f64::MAX, f64::min), values.fold(f64::MIN, f64::max))
                };
                assert_eq!(extremes(&all), extremes(&some));
            }
        }
    }
}
