//! Trends of bands over a run, and the verdict whether a band grows steadily.
//!
//! What a program takes for a while and gives back says nothing about a leak; what it never gives back
//! does. So the verdict looks at the *floor* of a band. The run is cut into twelve windows of equal time
//! (down to eight if there are few samples); the floor of a window is the band's least value in it. A band
//! grows steadily if there is an onset, the start of a window and not after the middle of the run, from
//! which on
//!
//! 1. the growth, the rise from the onset's floor to the last one, is at least 5 % of the last floor and
//!    0.5 % of the largest sample of all bands;
//! 2. the floor has at no time after the first window come down by more than a quarter of the growth, as it
//!    does in saw-teeth and phases;
//! 3. at least half of all growth comes after the onset, if that is later than the first sixth, the
//!    warm-up;
//! 4. no rise from one window to the next makes more than 45 % of the growth, as a single step does;
//! 5. the average floor rises from the first third to the middle one at least a quarter as much as to the
//!    last: what goes up only at the end does not;
//! 6. it rises from the middle third to the last at least 0.6 times as much as to the middle, and over the
//!    last sixth at least half as much as the average rate makes: what fills up and stops does not;
//! 7. the floors rise with a confidence of [`LEAST_CONFIDENCE`] in the one-sided rank test of Mann (1945)
//!    and Kendall (1975).
//!
//! # Limits
//! These follow from the numbers; the tests measure them on models of programs.
//! - A leak under saw-teeth is seen if they come down once in each twelfth of the run, with six samples or
//!   more to a tooth.
//! - A leak under random fluctuation is seen 9 times in 10 if it makes 8 times the standard deviation (200
//!   samples), and 5 times in 10 if it makes 4 times. A band that wanders at random is named once in 10 or
//!   15 times.
//! - A leak that begins after two thirds of the run is not named; a cache that is full only after three
//!   quarters of it mostly is.
//! - One or two steps are not named, eight and more are 19 times in 20. Capacity that doubles, as a bare
//!   `Vec`'s, is a few steps.
//! - With 16 to 60 samples more is missed, and 1 or 2 in 100 saw-teeth are named, as are 5 in 100 humps that
//!   end in the last samples. A tooth that is as long as the interval between samples looks like slow growth.
//!
//! # What is left out
//! Empty samples at both ends belong to no run: run-time systems write them before the program begins and
//! after it has freed everything. Neither do samples at the end, up to a twentieth of them, in which the
//! heap falls by a fifth or more: the program takes itself down. A last sample below the one before is left
//! out too.
//!
//! The cost of a trend does not depend on the number of samples, beyond adding them up. At most 960 samples
//! are looked at for floors, and of two that are closer than half the typical interval one; so a run whose
//! interval was doubled on the way is seen as if it had not been, and no floor is lower just because its
//! window has more samples. Slopes are taken between the averages of five columns in each window.
//!
//! ```
//! use hp2svg::trend::{Run, Verdict};
//! let times_s: Vec<f64> = (0..100).map(f64::from).collect();
//! let leak = |sample: usize| 1000.0 + 50.0 * sample as f64;
//! let tooth = |sample: usize| 300.0 * (sample % 5) as f64;
//! let totals: Vec<f64> = (0..100).map(|sample| leak(sample) + tooth(sample)).collect();
//!
//! let run = Run::new(&times_s, &totals);
//! let trend = run.trend(&run.levels((0..100).map(|sample| (sample, leak(sample)))));
//! assert_eq!((trend.verdict, trend.slope_per_s), (Verdict::GrowsSteadily, 50.0));
//! assert_eq!((trend.start, trend.peak_s, trend.end), (1000.0, 99.0, 5950.0));
//! let trend = run.trend(&run.levels((0..100).map(|sample| (sample, tooth(sample)))));
//! assert_eq!(trend.verdict, Verdict::NoSteadyGrowth);
//! ```

use std::ops::Range;

/// Fewer samples than this get no verdict.
pub const LEAST_SAMPLES: usize = 8;
/// The confidence from which on floors count as rising.
pub const LEAST_CONFIDENCE: f64 = 0.98;

/// The most windows. With few samples there are fewer, so that a window has two if it can.
const MOST_WINDOWS: usize = 12;
/// Windows without samples are passed over; with fewer than this, ranks say too little.
const LEAST_WINDOWS: usize = 6;
/// The columns of a window, between whose averages slopes are taken.
const COLUMNS: usize = 5;
/// The most samples that are looked at for floors.
const MOST_KEPT: usize = 960;
/// The column of a sample that is not looked at.
const NO_COLUMN: u8 = u8::MAX;

/// What is said about one band.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Trend {
    /// From when on the band grows steadily; the start of the run if it does not.
    pub since_s: f64,
    /// The median of the slopes between any two columns since then (Theil 1950, Sen 1968), in values a
    /// second.
    pub slope_per_s: f64,
    /// How sure it is that the floors rise since then: one minus the chance that floors in random order rise
    /// as clearly (Mann 1945, Kendall 1975), from 0 to 1. It is that of one band: among a thousand without
    /// trend one has 0.999.
    pub confidence: f64,
    /// The value in the first sample of the run.
    pub start: f64,
    /// The largest value.
    pub peak: f64,
    /// When it was first reached.
    pub peak_s: f64,
    /// The value in the last sample of the run.
    pub end: f64,
    /// The band's part of the last sample of the run, from 0 to 1.
    pub share: f64,
    /// How far the last floor lies above that at `since_s`; below zero if it has come down.
    pub growth: f64,
    /// Whether it looks like a leak.
    pub verdict: Verdict,
}

/// Whether a band looks like a leak.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Its floor rises to the end of the run.
    GrowsSteadily,
    /// It does not.
    NoSteadyGrowth,
    /// The run has less than [`LEAST_SAMPLES`] samples that stand apart, or too large gaps between them.
    TooFewSamples,
}

/// The times of a run, and how the values of every band are reduced.
#[derive(Clone, Debug)]
pub struct Run {
    times_s: Vec<f64>,
    /// The samples that belong to the run.
    alive: Range<usize>,
    /// Of each sample.
    column_of: Vec<u8>,
    /// Those that have samples.
    columns: Vec<Column>,
    /// Of all bands together.
    total: Levels,
}

/// A stretch of the run.
#[derive(Clone, Copy, Debug)]
struct Column {
    /// Its place among all columns, with samples or without.
    place: usize,
    /// The number of its window among those with samples.
    window: usize,
    /// When its first sample was taken.
    start_s: f64,
    samples: u32,
    /// The sum of their times.
    times_s: f64,
}

/// The values of one band, reduced as its run asks for: what a trend is made of.
#[derive(Clone, Debug)]
pub struct Levels {
    columns: Vec<Level>,
    /// The sample whose values are being added up, and their sum.
    sample: usize,
    value: f64,
    start: f64,
    peak: f64,
    peak_sample: usize,
    end: f64,
}

/// The values of one band in one column.
#[derive(Clone, Copy, Debug)]
struct Level {
    /// Among the samples that name the band; in the others it has 0.
    least: f64,
    sum: f64,
    samples: u32,
}

impl Run {
    /// The run with samples at these times, never decreasing, and the sum of all bands in each of them.
    pub fn new(times_s: &[f64], totals: &[f64]) -> Run {
        let alive = alive(&totals[..times_s.len().min(totals.len())]);
        let kept = kept(times_s, alive.clone());
        let mut column_of = vec![NO_COLUMN; times_s.len()];
        let columns = columns(times_s, &kept, &mut column_of);
        let mut run = Run { times_s: times_s.to_vec(), alive, column_of, columns, total: Levels::new(0) };
        run.total = run.levels(totals.iter().copied().enumerate());
        run
    }

    /// The levels of a band with these (sample, value), in the order of samples. In a sample that is not
    /// named it has 0; several values in one sample add up.
    pub fn levels(&self, points: impl IntoIterator<Item = (usize, f64)>) -> Levels {
        let mut levels = Levels::new(self.columns.len());
        points.into_iter().for_each(|(sample, value)| levels.add(self, sample, value));
        levels.close_sample(self);
        levels
    }

    /// How many samples belong to the run.
    pub fn samples(&self) -> usize {
        self.alive.len()
    }

    /// From the first of these samples to the last.
    pub fn span_s(&self) -> f64 {
        let alive_s = &self.times_s[self.alive.clone()];
        alive_s.first().zip(alive_s.last()).map_or(0.0, |(first, last)| last - first)
    }

    /// The trend of all bands together.
    pub fn total(&self) -> Trend {
        self.trend(&self.total)
    }

    /// The trend of one band.
    pub fn trend(&self, band: &Levels) -> Trend {
        let mut band = band.clone();
        band.close_sample(self);
        let floors = self.floors(&band);
        let samples: u32 = self.columns.iter().map(|column| column.samples).sum();
        let enough = samples as usize >= LEAST_SAMPLES && floors.len() >= LEAST_WINDOWS;
        let onset = if enough { onset(&floors, 0.005 * self.total.peak) } else { None };
        let verdict = match onset {
            _ if !enough => Verdict::TooFewSamples,
            Some(_) => Verdict::GrowsSteadily,
            None => Verdict::NoSteadyGrowth,
        };
        let since = onset.unwrap_or(0);
        Trend {
            since_s: self
                .columns
                .iter()
                .find(|column| column.window == since)
                .map_or(0.0, |first| first.start_s),
            slope_per_s: self.slope_per_s(&band, since),
            confidence: confidence(&floors[since..]),
            start: band.start,
            peak: band.peak,
            peak_s: self.times_s.get(band.peak_sample).copied().unwrap_or_default(),
            end: band.end,
            share: if self.total.end > 0.0 { band.end / self.total.end } else { 0.0 },
            growth: floors.last().map_or(0.0, |last| last - floors[since]),
            verdict,
        }
    }

    /// The least value of the band in each window that has samples.
    fn floors(&self, band: &Levels) -> Vec<f64> {
        let mut floors = vec![f64::INFINITY; self.columns.last().map_or(0, |last| last.window + 1)];
        for (column, level) in self.columns.iter().zip(&band.columns) {
            let least = if level.samples < column.samples { 0.0 } else { level.least };
            floors[column.window] = floors[column.window].min(least);
        }
        floors
    }

    /// The median slope between the averages of any two columns from a window on, the upper one of two.
    fn slope_per_s(&self, band: &Levels, since: usize) -> f64 {
        let columns = self.columns.iter().zip(&band.columns).filter(|(column, _)| column.window >= since);
        let average = |(column, level): (&Column, &Level)| {
            let samples = f64::from(column.samples);
            (column.times_s / samples, level.sum / samples)
        };
        let points: Vec<(f64, f64)> = columns.map(average).collect();
        let mut slopes = Vec::with_capacity(points.len() * points.len() / 2);
        for (at, later) in points.iter().enumerate() {
            slopes.extend(points[..at].iter().map(|earlier| (later.1 - earlier.1) / (later.0 - earlier.0)));
        }
        let middle = slopes.len() / 2;
        if slopes.is_empty() { 0.0 } else { *slopes.select_nth_unstable_by(middle, f64::total_cmp).1 }
    }
}

impl Levels {
    fn new(columns: usize) -> Levels {
        Levels {
            columns: vec![Level { least: f64::INFINITY, sum: 0.0, samples: 0 }; columns],
            sample: 0,
            value: 0.0,
            start: 0.0,
            peak: 0.0,
            peak_sample: 0,
            end: 0.0,
        }
    }

    /// Adds a value of the band in a sample of its run: the sample last added to, or a later one.
    #[inline]
    pub fn add(&mut self, run: &Run, sample: usize, value: f64) {
        if sample != self.sample {
            self.close_sample(run);
            self.sample = sample;
        }
        self.value += value;
    }

    #[inline]
    fn close_sample(&mut self, run: &Run) {
        let value = std::mem::take(&mut self.value);
        if value > self.peak && run.alive.contains(&self.sample) {
            (self.peak, self.peak_sample) = (value, self.sample);
        }
        let column = run.column_of.get(self.sample).copied().unwrap_or(NO_COLUMN);
        if column != NO_COLUMN && value > 0.0 {
            self.enter(run, column, value);
        }
    }

    /// Enters the value of a sample that is looked at, as the run's first and last one are. Out of the way:
    /// of many samples few are looked at.
    #[inline(never)]
    fn enter(&mut self, run: &Run, column: u8, value: f64) {
        if self.sample == run.alive.start {
            self.start = value;
        }
        if self.sample + 1 == run.alive.end {
            self.end = value;
        }
        if let Some(level) = self.columns.get_mut(usize::from(column)) {
            level.least = level.least.min(value);
            level.sum += value;
            level.samples += 1;
        }
    }
}

/// The samples that belong to the run, by the sum of all bands in each.
fn alive(totals: &[f64]) -> Range<usize> {
    let filled = |&total: &f64| total > 0.0;
    let (Some(start), Some(last)) = (totals.iter().position(filled), totals.iter().rposition(filled)) else {
        return 0..0;
    };
    let last_part = start.max(last.saturating_sub((last - start) / 20 + 1))..last + 1;
    let higher = |highest, sample| if totals[sample] >= totals[highest] { sample } else { highest };
    let highest = last_part.clone().fold(last_part.start, higher);
    if totals[last] < 0.8 * totals[highest] {
        start..highest + 1
    } else if last > start && totals[last] < totals[last - 1] {
        start..last
    } else {
        start..last + 1
    }
}

/// The samples of a run that are looked at for floors: at most [`MOST_KEPT`], no two but the last closer
/// than half the typical interval. A quarter of the run's time lies in intervals shorter than that, so that
/// a pause does not count.
fn kept(times_s: &[f64], alive: Range<usize>) -> Vec<usize> {
    let pairs = times_s[alive.clone()].windows(2);
    let mut intervals_s: Vec<f64> = pairs.map(|pair| pair[1] - pair[0]).collect();
    intervals_s.sort_unstable_by(f64::total_cmp);
    let span_s: f64 = intervals_s.iter().sum();
    let mut passed_s = 0.0;
    let typical_s = intervals_s.iter().find(|&interval_s| {
        passed_s += interval_s;
        passed_s >= span_s / 4.0
    });
    let apart_s = typical_s.map_or(0.0, |typical_s| typical_s / 2.0).max(span_s / (MOST_KEPT - 2) as f64);
    let end = alive.end;
    let mut due_s = f64::NEG_INFINITY;
    let is_kept = |&sample: &usize| {
        let due = times_s[sample] >= due_s;
        if due {
            due_s = times_s[sample] + apart_s;
        }
        due || sample + 1 == end
    };
    alive.filter(is_kept).collect()
}

/// Cuts the run into windows and these into columns, all of equal time; notes the column of each kept sample.
fn columns(times_s: &[f64], kept: &[usize], column_of: &mut [u8]) -> Vec<Column> {
    let (Some(&first), Some(&last)) = (kept.first(), kept.last()) else {
        return Vec::new();
    };
    let places = (kept.len() / 2).clamp(LEAST_SAMPLES, MOST_WINDOWS) * COLUMNS;
    // Each sample stands in the middle of its interval.
    let interval_s = (times_s[last] - times_s[first]) / (kept.len() - 1).max(1) as f64;
    let span_s = times_s[last] - times_s[first] + interval_s;
    let mut columns: Vec<Column> = Vec::with_capacity(places);
    for &sample in kept {
        let passed_s = times_s[sample] - times_s[first] + interval_s / 2.0;
        let place = ((passed_s / span_s * places as f64) as usize).min(places - 1);
        let window = columns
            .last()
            .map_or(0, |last| last.window + usize::from(last.place / COLUMNS != place / COLUMNS));
        if columns.last().is_none_or(|last| last.place != place) {
            columns.push(Column { place, window, start_s: times_s[sample], samples: 0, times_s: 0.0 });
        }
        column_of[sample] = (columns.len() - 1) as u8;
        if let Some(column) = columns.last_mut() {
            column.samples += 1;
            column.times_s += times_s[sample];
        }
    }
    columns
}

/// The window from which on the floors rise steadily to the end, by at least `least_growth`: the first, or
/// the last that is next to as low.
fn onset(floors: &[f64], least_growth: f64) -> Option<usize> {
    let last = *floors.last()?;
    let least_from = |window: usize| floors[window..].iter().copied().fold(f64::INFINITY, f64::min);
    let given_back = (1..floors.len()).map(|window| floors[window] - least_from(window)).fold(0.0, f64::max);
    let all_growth = last - least_from(0);
    let sixth = floors.len() / 6;
    let latest = (floors.len() / 2).min(floors.len().saturating_sub(LEAST_WINDOWS));
    let growth = |onset: usize| last - floors[onset];
    let rises = |&onset: &usize| {
        growth(onset) >= least_growth.max(0.05 * last)
            && given_back <= 0.25 * growth(onset)
            && (onset <= sixth || growth(onset) >= 0.5 * all_growth)
            && rises_throughout(&floors[onset..], sixth)
            && confidence(&floors[onset..]) >= LEAST_CONFIDENCE
    };
    let first = (0..=latest).find(rises)?;
    // A flat start belongs to the time before.
    (first..=latest).filter(|&later| growth(later) >= 0.95 * growth(first)).rfind(rises)
}

/// Whether floors rise in many steps, from their start to their end. `sixth`: windows in a sixth of the run.
fn rises_throughout(floors: &[f64], sixth: usize) -> bool {
    let average = |floors: &[f64]| floors.iter().sum::<f64>() / floors.len() as f64;
    let (count, third) = (floors.len(), floors.len() / 3);
    let growth = floors[count - 1] - floors[0];
    let highest_step = floors.windows(2).map(|pair| pair[1] - pair[0]).fold(0.0, f64::max);
    let middle = average(&floors[third..count - third]);
    let before = middle - average(&floors[..third]);
    let after = average(&floors[count - third..]) - middle;
    let (last_but_one, last) = floors[count - 2 * sixth..].split_at(sixth);
    let at_end = average(last) - average(last_but_one);
    let average_rate = growth / (count - 1) as f64;
    highest_step <= 0.45 * growth
        && before >= 0.25 * (before + after)
        && after >= 0.6 * before
        && at_end >= 0.5 * sixth as f64 * average_rate
}

/// One minus the chance that values in random order rise as clearly as these, one-sided. The score counts
/// pairs that rise less pairs that fall; it is taken as normal, with the variance corrected for ties and the
/// score for continuity.
fn confidence(values: &[f64]) -> f64 {
    let count = values.len() as f64;
    let (mut score, mut tied) = (0.0, 0.0);
    for (at, later) in values.iter().enumerate() {
        for earlier in &values[..at] {
            score += f64::from(i8::from(later > earlier) - i8::from(later < earlier));
        }
        // A group of t equal values takes off t (t - 1) (2t + 5): the same for each of its t values.
        let equal = values.iter().filter(|value| *value == later).count() as f64;
        tied += (equal - 1.0) * (2.0 * equal + 5.0);
    }
    let variance = (count * (count - 1.0) * (2.0 * count + 5.0) - tied) / 18.0;
    let continuous = score.signum() * (score.abs() - 1.0).max(0.0);
    if variance > 0.0 { normal(continuous / variance.sqrt()) } else { 0.0 }
}

/// The chance that a normal variable is below `z`; Abramowitz and Stegun, formula 26.2.17, off by less than
/// 7.5e-8.
fn normal(z: f64) -> f64 {
    const FACTORS: [f64; 5] = [0.319_381_53, -0.356_563_782, 1.781_477_937, -1.821_255_978, 1.330_274_429];
    let t = 1.0 / (1.0 + 0.231_641_9 * z.abs());
    let series = FACTORS.iter().rfold(0.0, |sum, factor| (sum + factor) * t);
    let beyond = (-z * z / 2.0).exp() / std::f64::consts::TAU.sqrt() * series;
    if z < 0.0 { beyond } else { 1.0 - beyond }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Twelve floors that rise by 1.
    fn linear() -> [f64; 12] {
        std::array::from_fn(|window| 10.0 + window as f64)
    }

    #[test]
    fn floors_that_rise_to_the_end_have_an_onset() {
        let from_the_middle = [5.0, 5.0, 5.0, 5.0, 5.0, 5.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0];
        let after_start_up =
            [0.0, 50.0, 100.0, 102.0, 104.0, 106.0, 108.0, 110.0, 112.0, 114.0, 116.0, 118.0];
        let doubling: [f64; 12] = std::array::from_fn(|window| 1.5_f64.powi(window as i32));
        for (floors, since) in [(linear(), 0), (from_the_middle, 6), (after_start_up, 2), (doubling, 5)] {
            assert_eq!(onset(&floors, 0.0), Some(since), "{floors:?}");
        }
    }

    #[test]
    fn growth_counts_from_five_percent_of_the_band_and_the_least_on() {
        let growing_by =
            |percent: f64| linear().map(|floor| 100.0 - percent + percent * (floor - 10.0) / 11.0);
        assert_eq!(onset(&growing_by(4.9), 0.0), None);
        assert_eq!(onset(&growing_by(5.1), 0.0), Some(0));
        assert_eq!((onset(&linear(), 10.9), onset(&linear(), 11.1)), (Some(0), None));
    }

    #[test]
    fn floors_may_come_down_by_a_quarter_of_the_growth() {
        let with_hump = |height: f64| {
            let mut floors = linear();
            floors[4] = floors[5] + height;
            floors
        };
        // The growth is 11, a quarter 2.75.
        assert_eq!((onset(&with_hump(2.7), 0.0), onset(&with_hump(2.8), 0.0)), (Some(0), None));
        let mut start_up = linear();
        start_up[0] = 20.0;
        assert_eq!(onset(&start_up, 0.0), Some(1), "the first window may be anything");
    }

    #[test]
    fn a_late_onset_needs_half_of_all_growth() {
        let slow_start_up = [0.0, 20.0, 40.0, 60.0, 80.0, 100.0, 104.0, 108.0, 112.0, 116.0, 120.0, 124.0];
        assert!(rises_throughout(&slow_start_up[5..], 2));
        assert_eq!(onset(&slow_start_up, 0.0), None);
        assert_eq!(onset(&slow_start_up.map(|floor| floor.max(95.0)), 0.0), Some(4));
    }

    #[test]
    fn one_rise_may_make_45_percent_of_the_growth() {
        let with_step = |height: f64| linear().map(|floor| if floor > 15.5 { floor + height } else { floor });
        // The step is 1 + height of 11 + height.
        assert_eq!((onset(&with_step(7.1), 0.0), onset(&with_step(7.4), 0.0)), (Some(0), None));
    }

    #[test]
    fn the_rise_is_spread_over_the_run() {
        let bent = |early: f64, late: f64| {
            let rate = |window: usize| if window < 6 { early } else { late };
            std::array::from_fn::<f64, 12, _>(|window| 10.0 + (0..window).map(rate).sum::<f64>())
        };
        assert!(rises_throughout(&bent(1.0, 0.7), 2) && !rises_throughout(&bent(1.0, 0.4), 2), "slows down");
        assert!(rises_throughout(&bent(0.4, 1.0), 2) && !rises_throughout(&bent(0.1, 1.0), 2), "speeds up");
        let stops = |at: f64| linear().map(|floor| floor.min(10.0 + at));
        assert!(
            rises_throughout(&stops(9.5), 2) && !rises_throughout(&stops(9.0), 2),
            "stops before the end"
        );
    }

    #[test]
    fn floors_that_may_rise_by_chance_have_no_onset() {
        let many = [10.0, 12.0, 11.0, 13.0, 12.0, 14.0, 13.0, 15.0, 14.0, 16.0, 15.0, 17.0];
        assert_eq!(onset(&many, 0.0), Some(0));
        let few = [10.0, 11.0, 10.9, 12.4, 12.3, 13.5];
        assert!(rises_throughout(&few, 1) && (0.96..0.98).contains(&confidence(&few)));
        assert_eq!(onset(&few, 0.0), None);
        let surer = [10.0, 11.0, 12.0, 11.9, 13.0, 14.0];
        assert!((0.98..0.99).contains(&confidence(&surer)));
        assert_eq!(onset(&surer, 0.0), Some(0));
    }

    /// The part of all orders of `values` in which fewer pairs rise than in theirs, ties halved.
    fn exact_confidence(values: &[f64]) -> f64 {
        fn score(values: &[f64]) -> i32 {
            let pairs = (0..values.len()).flat_map(|at| (0..at).map(move |earlier| (earlier, at)));
            pairs.map(|(earlier, at)| values[at].total_cmp(&values[earlier]) as i32).sum()
        }
        fn each_order(values: &mut Vec<f64>, fixed: usize, each: &mut impl FnMut(&[f64])) {
            if fixed == values.len() {
                return each(values);
            }
            for at in fixed..values.len() {
                values.swap(fixed, at);
                each_order(values, fixed + 1, each);
                values.swap(fixed, at);
            }
        }
        let (mut below, mut orders) = (0.0, 0.0);
        each_order(&mut values.to_vec(), 0, &mut |order| {
            orders += 1.0;
            below += f64::from(u8::from(score(order) < score(values)));
        });
        below / orders
    }

    #[test]
    fn confidence_is_that_of_all_orders() {
        for values in [
            [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0],
            [2.0, 1.0, 3.0, 4.0, 6.0, 5.0, 7.0, 8.0],
            [1.0, 1.0, 1.0, 2.0, 2.0, 3.0, 3.0, 3.0],
            [5.0, 1.0, 4.0, 2.0, 6.0, 3.0, 8.0, 7.0],
            [8.0, 7.0, 5.0, 6.0, 4.0, 3.0, 1.0, 2.0],
        ] {
            let (own, exact) = (confidence(&values), exact_confidence(&values));
            assert!((own - exact).abs() < 0.01, "{values:?}: {own}, expected {exact}");
        }
        assert_eq!((confidence(&[]), confidence(&[1.0]), confidence(&[1.0; 9])), (0.0, 0.0, 0.0));
    }

    #[test]
    fn the_normal_distribution_has_its_known_values() {
        for (z, chance) in [(0.0, 0.5), (1.0, 0.841_344_746), (-1.0, 0.158_655_254), (3.0, 0.998_650_102)] {
            assert!((normal(z) - chance).abs() < 1e-7, "{z}: {}", normal(z));
        }
    }

    #[test]
    fn empty_samples_and_the_taking_down_do_not_belong_to_the_run() {
        let known: [(&[f64], Range<usize>); 10] = [
            (&[], 0..0),
            (&[0.0, 0.0], 0..0),
            (&[0.0, 5.0, 6.0, 7.0, 0.0, 0.0], 1..4),
            (&[5.0, 0.0, 6.0, 7.0], 0..4),
            (&[5.0, 6.0, 7.0, 6.9], 0..3),
            (&[5.0, 6.0, 7.0, 2.0], 0..3),
            (&[5.0, 6.0, 7.0, 5.0, 2.0], 0..4),
            (&[7.0], 0..1),
            (&[7.0, 3.0], 0..1),
            (&[7.0, 7.0], 0..2),
        ];
        for (totals, samples) in known {
            assert_eq!(alive(totals), samples, "{totals:?}");
        }
        let mut long = vec![100.0; 200];
        long[191..].copy_from_slice(&[90.0, 80.0, 70.0, 60.0, 50.0, 40.0, 30.0, 20.0, 10.0]);
        assert_eq!(alive(&long), 0..191);
        long[191..].fill(81.0);
        assert_eq!(alive(&long), 0..200, "a fall by less than a fifth");
        long[191..].fill(79.0);
        assert_eq!(alive(&long), 0..191);
        long[185..191].fill(95.0);
        long[191..].fill(70.0);
        assert_eq!(alive(&long), 0..191, "from the highest sample of the last twentieth on");
    }

    #[test]
    fn an_interval_that_doubles_is_seen_as_its_last_one() {
        let mut times_s = vec![0.0];
        for interval_s in [1.0, 2.0, 4.0, 8.0] {
            let last_s = times_s[times_s.len() - 1];
            times_s.extend((1..=500).map(|sample| last_s + interval_s * f64::from(sample)));
        }
        let kept = kept(&times_s, 0..times_s.len());
        assert!(kept.len() <= MOST_KEPT, "{}", kept.len());
        // 7500 s, 960 samples: 7.8 s apart, which is every eighth sample of the first part.
        assert_eq!((&kept[..4], kept.last()), (&[0, 8, 16, 24][..], Some(&2000)));
        let counts = columns(&times_s, &kept, &mut vec![NO_COLUMN; times_s.len()]);
        assert_eq!(counts.len(), MOST_WINDOWS * COLUMNS);
        assert!(counts.iter().all(|column| (13..=17).contains(&column.samples)), "{counts:?}");
    }

    #[test]
    fn few_samples_have_a_window_each_and_gaps_have_none() {
        let windows = |times_s: &[f64]| {
            let kept = kept(times_s, 0..times_s.len());
            let columns = columns(times_s, &kept, &mut vec![NO_COLUMN; times_s.len()]);
            columns.iter().map(|column| column.window).collect::<Vec<_>>()
        };
        assert_eq!(windows(&[0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]), [0, 1, 2, 3, 4, 5, 6, 7]);
        assert_eq!(windows(&[0.0, 1.0, 2.0, 3.0, 20.0, 21.0, 22.0, 23.0]).last(), Some(&3));
        assert_eq!((windows(&[3.0; 9]), windows(&[])), (vec![0], vec![]));
    }

    #[test]
    fn of_two_samples_that_are_too_close_one_is_looked_at() {
        let pairs_s = |apart_s: f64| -> Vec<f64> {
            (0..20).map(|sample| f64::from(sample / 2) + apart_s * f64::from(sample % 2)).collect()
        };
        // Eight tenths of the time lie in intervals of 0.8, half of that is 0.4.
        assert_eq!(kept(&pairs_s(0.2), 0..20), [0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 19]);
        assert_eq!(kept(&pairs_s(0.4), 0..20), (0..20).collect::<Vec<_>>());
    }

    #[test]
    fn samples_in_few_windows_are_too_few() {
        let verdict = |pause_s: f64| {
            let times_s: Vec<f64> =
                (0..10).map(|n| f64::from(n) + if n < 5 { 0.0 } else { pause_s }).collect();
            let values: Vec<f64> = (1..=10).map(f64::from).collect();
            Run::new(&times_s, &values).total().verdict
        };
        assert_eq!((verdict(8.0), verdict(9.0)), (Verdict::GrowsSteadily, Verdict::TooFewSamples));
    }

    #[test]
    fn slopes_are_the_median_of_all_pairs() {
        let times_s: Vec<f64> = (0..40).map(|sample| f64::from(sample * sample % 7 + sample * 9)).collect();
        let values: Vec<f64> =
            (0..40).map(|sample| 1000.0 + f64::from(sample * 37 % 101 + sample * 11)).collect();
        let run = Run::new(&times_s, &[1e6; 40]);
        let columns: u32 = run.columns.iter().map(|column| u32::from(column.samples == 1)).sum();
        assert_eq!(columns, 40, "each sample has a column of its own");
        let mut slopes: Vec<f64> = (0..40)
            .flat_map(|b| (0..b).map(move |a| (a, b)))
            .map(|(a, b)| (values[b] - values[a]) / (times_s[b] - times_s[a]))
            .collect();
        slopes.sort_by(f64::total_cmp);
        let trend = run.trend(&run.levels(values.into_iter().enumerate()));
        assert_eq!(trend.slope_per_s, slopes[slopes.len() / 2]);
    }
}
