//! What grew and what shrank from one profile to another.

use std::collections::HashMap;
use std::io::{Read, Seek};

use hp2ps::{Census, Error, Header};

use crate::choice::ChoiceOptions;
use crate::reduce::Columns;
use crate::view::{Band, Detail, Kind, Mode, Peak, View, ViewOptions};

/// How a band's mean changed.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// Its name.
    pub name: Vec<u8>,
    /// Its mean over the samples of the first profile.
    pub before: f64,
    /// Its mean over those of the second.
    pub after: f64,
}

impl Change {
    fn size(&self) -> f64 {
        (self.after - self.before).abs()
    }
}

impl View {
    /// Compares two profiles: the bands whose means differ most, each with its difference over the time since the
    /// start of its run, as long as both ran.
    ///
    /// # Errors
    /// As [`View::read`]; those of the second profile come with `true`.
    ///
    /// ```
    /// use hp2svg::view::{View, ViewOptions};
    /// let profile = |a: u32| format!("JOB \"j\" DATE \"d\" SAMPLE_UNIT \"seconds\" VALUE_UNIT \"bytes\"
    /// BEGIN_SAMPLE 0.0 a {a} b 30 END_SAMPLE 0.0 BEGIN_SAMPLE 2.0 a {a} b 30 END_SAMPLE 2.0");
    /// let [before, after] = [profile(10), profile(70)].map(std::io::Cursor::new);
    /// let view = View::difference(before, after, &ViewOptions::default()).map_err(|(error, _)| error)?;
    /// assert_eq!(view.bands[0].curve, [(0.0, 60.0), (2.0, 60.0)]);
    /// assert_eq!((view.changes[0].before, view.changes[0].after), (10.0, 70.0));
    /// # Ok::<(), hp2ps::Error>(())
    /// ```
    pub fn difference(
        mut before: impl Read + Seek,
        mut after: impl Read + Seek,
        options: &ViewOptions,
    ) -> Result<View, (Error, bool)> {
        let mut first = Census::take(&mut before).map_err(|error| (error, false))?;
        let mut second = Census::take(&mut after).map_err(|error| (error, true))?;
        let changes = changes(&first, &second, &options.choice);
        let drawn = drawn(&changes, &options.choice);
        let length_s = length_s(&first).min(length_s(&second));
        let samples = first.times_s.len().min(second.times_s.len());
        let columns = Columns::new((0.0, length_s), options.columns.min(samples), usize::MAX);
        let grid =
            |census: &mut Census, input: &mut dyn ReadSeek| Grid::read(census, input, &drawn, &columns);
        let low = grid(&mut first, &mut before).map_err(|error| (error, false))?;
        let high = grid(&mut second, &mut after).map_err(|error| (error, true))?;
        Ok(view(&changes, &drawn, &columns, [low, high], [&first, &second]))
    }
}

trait ReadSeek: Read + Seek {}

impl<T: Read + Seek> ReadSeek for T {}

fn length_s(census: &Census) -> f64 {
    let times_s = &census.times_s;
    times_s.last().zip(times_s.first()).map_or(0.0, |(last, first)| last - first)
}

/// The bands of both, that with the largest change first.
fn changes(first: &Census, second: &Census, options: &ChoiceOptions) -> Vec<Change> {
    let mut places: HashMap<&[u8], usize> = HashMap::new();
    let mut changes: Vec<Change> = Vec::new();
    for (census, is_second) in [(first, false), (second, true)] {
        let samples = census.times_s.len() as f64;
        for (name, total) in census.names.iter().zip(&census.totals).filter(|(name, _)| options.leaves(name))
        {
            let at = *places.entry(name).or_insert_with(|| {
                changes.push(Change { name: name.to_vec(), before: 0.0, after: 0.0 });
                changes.len() - 1
            });
            let mean = if is_second { &mut changes[at].after } else { &mut changes[at].before };
            *mean = total.sum / samples;
        }
    }
    changes.sort_by(|a, b| b.size().total_cmp(&a.size()).then_with(|| a.name.cmp(&b.name)));
    changes.retain(|change| change.size() > 0.0);
    changes
}

/// The place of each drawn name; 0 is for all others: those beyond the limit, and those that together make a trace of
/// all changes.
fn drawn(changes: &[Change], options: &ChoiceOptions) -> HashMap<Vec<u8>, usize> {
    let whole: f64 = changes.iter().map(Change::size).sum();
    let mut rest = 0.0;
    let traces = changes.iter().rev().take_while(|change| {
        rest += change.size();
        rest * 100.0 < whole * options.trace_percent
    });
    let limit = if options.limit == 0 { usize::MAX } else { options.limit };
    let kept = changes.len() - traces.count();
    // OTHER takes a place if there is need of it.
    let most = if kept == changes.len() && kept <= limit { kept } else { kept.min(limit.saturating_sub(1)) };
    (1..).zip(changes.iter().take(most)).map(|(place, change)| (change.name.clone(), place)).collect()
}

/// The means of bands in each column of time since the start.
struct Grid {
    /// By column, then by place.
    values: Vec<Vec<f64>>,
}

impl Grid {
    fn read(
        census: &mut Census,
        input: &mut dyn ReadSeek,
        drawn: &HashMap<Vec<u8>, usize>,
        columns: &Columns,
    ) -> Result<Grid, Error> {
        let start_s = census.times_s.first().copied().unwrap_or_default();
        let column_of: Vec<Option<usize>> = census
            .times_s
            .iter()
            .map(|time_s| time_s - start_s)
            .map(|time_s| (time_s <= columns.to_s).then(|| columns.of(time_s)))
            .collect();
        let places: Vec<usize> =
            census.names.iter().map(|name| drawn.get(name).copied().unwrap_or_default()).collect();
        let mut values = vec![vec![0.0; drawn.len() + 1]; columns.count];
        let mut samples = vec![0.0; columns.count];
        column_of.iter().flatten().for_each(|&column| samples[column] += 1.0);
        let mut input = input;
        census.each_row(&mut input, |sample, band, value| {
            if let Some(column) = column_of[sample] {
                values[column][places[band]] += value;
            }
        })?;
        for at in 0..columns.count {
            if samples[at] > 0.0 {
                values[at].iter_mut().for_each(|value| *value /= samples[at]);
            } else if at > 0 {
                // No sample: as before.
                values[at] = values[at - 1].clone();
            }
        }
        Ok(Grid { values })
    }
}

fn view(
    changes: &[Change],
    drawn: &HashMap<Vec<u8>, usize>,
    columns: &Columns,
    [low, high]: [Grid; 2],
    [first, second]: [&Census; 2],
) -> View {
    // From edge to edge, so that one column is a line as well.
    let step_s = columns.to_s / (columns.count.max(2) - 1) as f64;
    let times_s: Vec<f64> = (0..columns.count).map(|at| at as f64 * step_s).collect();
    let difference = |at: usize, place: usize| high.values[at][place] - low.values[at][place];
    let whole: f64 = changes.iter().map(Change::size).sum();
    let others = changes.len() - drawn.len();
    // OTHER at the bottom, the largest change on top.
    let places: Vec<usize> = (others > 0).then_some(0).into_iter().chain((1..=drawn.len()).rev()).collect();
    let band = |&place: &usize| {
        let curve: Vec<(f64, f64)> =
            times_s.iter().enumerate().map(|(at, &time_s)| (time_s, difference(at, place))).collect();
        let (rest, own) = changes.split_at(drawn.len());
        let of_band = if place == 0 { own } else { &rest[place - 1..place] };
        let mean: f64 = of_band.iter().map(|change| change.after - change.before).sum();
        Band {
            name: if place == 0 { b"OTHER".to_vec() } else { of_band[0].name.clone() },
            kind: if place == 0 { Kind::Other(others) } else { Kind::Named },
            peak: farthest(&curve),
            curve,
            mean,
            share: if whole > 0.0 { of_band.iter().map(Change::size).sum::<f64>() / whole } else { 0.0 },
            trend: None,
        }
    };
    let bands: Vec<Band> = places.iter().map(band).collect();
    let total = |at: usize| (0..=drawn.len()).map(|place| difference(at, place)).sum();
    let total: Vec<(f64, f64)> =
        times_s.iter().enumerate().map(|(at, &time_s)| (time_s, total(at))).collect();
    let detail = |(at, &time_s): (usize, &f64)| Detail {
        time_s,
        values: places.iter().map(|&place| difference(at, place)).collect(),
        members: Vec::new(),
    };
    View {
        header: Header {
            job: [&*first.header.job, b" \xe2\x86\x92 ", &*second.header.job].concat(),
            ..second.header.clone()
        },
        mode: Mode::Change,
        window_s: (0.0, columns.to_s),
        samples: first.times_s.len() + second.times_s.len(),
        details: times_s.iter().enumerate().map(detail).collect(),
        peak: farthest(&total),
        total,
        bands,
        marks_s: Vec::new(),
        members: Vec::new(),
        leaks: Vec::new(),
        together: None,
        changes: changes.to_vec(),
        warnings: warnings(first, second),
    }
}

/// What was made good while reading, and what makes the two hard to compare.
fn warnings(first: &Census, second: &Census) -> Vec<String> {
    /// Runs whose lengths differ by less are as long as each other.
    const MUCH: f64 = 0.01;
    let units = |census: &Census| (census.header.value_unit.clone(), census.header.sample_unit.clone());
    let [one, other] = [first, second].map(length_s);
    let differ = (units(first) != units(second)).then(|| "the two profiles have different units".to_owned());
    let cut = (one - other).abs() > MUCH * one.max(other);
    let cut = cut.then(|| {
        "the two runs differ in length: drawn as long as both ran; means are of whole runs".to_owned()
    });
    first.warnings().chain(second.warnings()).chain(differ).chain(cut).collect()
}

/// The value farthest from zero.
fn farthest(curve: &[(f64, f64)]) -> Peak {
    let farther = |peak: Peak, &(time_s, value): &(f64, f64)| {
        if value.abs() > peak.value.abs() { Peak { time_s, value } } else { peak }
    };
    curve.iter().fold(Peak::default(), farther)
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;

    fn profile(rows: &[(&str, [u32; 3])]) -> Cursor<Vec<u8>> {
        let mut text = String::from("JOB \"j\" DATE \"d\" SAMPLE_UNIT \"seconds\" VALUE_UNIT \"bytes\"\n");
        for sample in 0..3 {
            text += &format!("BEGIN_SAMPLE {}.0\n", sample + 5);
            rows.iter().for_each(|(name, values)| text += &format!("{name}\t{}\n", values[sample]));
            text += &format!("END_SAMPLE {}.0\n", sample + 5);
        }
        Cursor::new(text.into_bytes())
    }

    fn difference(limit: usize) -> View {
        let before = profile(&[("same", [9; 3]), ("gone", [6; 3]), ("grows", [1, 2, 3]), ("a", [5; 3])]);
        let after = profile(&[("grows", [1, 20, 30]), ("same", [9; 3]), ("new", [0, 0, 3]), ("a", [6; 3])]);
        let mut options = ViewOptions::default();
        options.choice.limit = limit;
        View::difference(before, after, &options).map_err(|(error, _)| error).expect("two profiles")
    }

    #[test]
    fn bands_that_changed_are_drawn_by_their_differences() {
        let view = difference(20);
        let expected = [
            ("new", [0.0, 0.0, 3.0]),
            ("a", [1.0, 1.0, 1.0]),
            ("gone", [-6.0, -6.0, -6.0]),
            ("grows", [0.0, 18.0, 27.0]),
        ];
        assert_eq!(view.bands.len(), expected.len());
        for (band, (name, [first, second, third])) in view.bands.iter().zip(expected) {
            assert_eq!(band.name, name.as_bytes());
            assert_eq!(band.curve, [(0.0, first), (1.0, second), (2.0, third)], "{name}");
        }
        assert_eq!(view.total, [(0.0, -5.0), (1.0, 13.0), (2.0, 25.0)]);
        assert_eq!(view.changes[0], Change { name: b"grows".to_vec(), before: 2.0, after: 17.0 });
    }

    #[test]
    fn other_has_the_smaller_changes() {
        let view = difference(2);
        let bands: Vec<_> = view.bands.iter().map(|band| (&*band.name, band.kind)).collect();
        assert_eq!(bands, [(&b"OTHER"[..], Kind::Other(3)), (b"grows", Kind::Named)]);
        assert_eq!(view.bands[0].curve, [(0.0, -5.0), (1.0, -5.0), (2.0, -2.0)]);
    }
}
