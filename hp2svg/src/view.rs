//! What is shown of a profile: the bands of a window of time, each with its figures, reduced to the pixels there are.
//!
//! Two passes over the profile do it, three if the window is not the whole run: the census counts, then the bands are
//! chosen, then their curves are drawn sample by sample. Memory depends on names and pixels, next to nothing on samples.

use std::collections::HashMap;
use std::io::{self, Read, Seek};
use std::ops::Range;

use hp2ps::{Census, Error, Header};

use crate::choice::{Choice, ChoiceOptions};
use crate::diff::Change;
use crate::leaks::Units;
use crate::reduce::{Columns, Point, Reducer};
use crate::ticks;
use crate::trend::{Levels, Run, Trend, Verdict};

/// How many members of OTHER are named at one time.
const NAMED_MEMBERS: usize = 5;
/// Of how many bands trends are told: those with the largest areas.
const MOST_TRENDS: usize = 10_000;

/// What a chart shows of each band.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Mode {
    /// Bands on top of each other.
    #[default]
    Stacked,
    /// A line for each.
    Lines,
    /// Bands on top of each other, as shares of their sum at each time.
    Share,
    /// A line for each, as share of its own largest value.
    OwnPeak,
    /// A line for each, less its value at a time in seconds.
    Growth {
        /// From this time on; the value is that of the last sample up to it.
        since_s: f64,
    },
    /// A line for each: its change from one profile to another.
    Change,
}

impl Mode {
    /// Whether bands lie on top of each other.
    pub fn is_stacked(self) -> bool {
        matches!(self, Mode::Stacked | Mode::Share)
    }
}

/// What is shown.
#[derive(Clone, Debug)]
pub struct ViewOptions {
    /// Which bands.
    pub choice: ChoiceOptions,
    /// What of each.
    pub mode: Mode,
    /// From this time; `None` for the first sample.
    pub from_s: Option<f64>,
    /// To this time; `None` for the last sample.
    pub to_s: Option<f64>,
    /// How many pixel columns the graph has.
    pub columns: usize,
}

impl Default for ViewOptions {
    fn default() -> Self {
        ViewOptions {
            choice: ChoiceOptions::default(),
            mode: Mode::Stacked,
            from_s: None,
            to_s: None,
            columns: 800,
        }
    }
}

/// A value at a time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Peak {
    /// When, in seconds.
    pub time_s: f64,
    /// How much, in the value unit.
    pub value: f64,
}

/// What a band stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A name of the profile.
    Named,
    /// So many names that are too small to be shown.
    Other(usize),
    /// A part of the gap between the live bytes and the resident memory.
    Resident,
}

/// A band of the chart.
#[derive(Clone, Debug)]
pub struct Band {
    /// Its name as the profile has it.
    pub name: Vec<u8>,
    /// What it stands for.
    pub kind: Kind,
    /// Its upper edge if bands are stacked, the foot of the graph being 0, and its line if not. In the value unit, or a
    /// share from 0 to 1.
    pub curve: Vec<Point>,
    /// Its largest value.
    pub peak: Peak,
    /// Its mean over the samples shown.
    pub mean: f64,
    /// Its part of the area shown, from 0 to 1.
    pub share: f64,
    /// How it develops over the window; none for bands that are not looked at.
    pub trend: Option<Trend>,
}

/// The exact values at one time: of every sample if there are few, of that with the largest sum in each
/// pixel column if not.
#[derive(Clone, Debug)]
pub struct Detail {
    /// The time of the sample.
    pub time_s: f64,
    /// Of each band, as [`View::bands`] has them.
    pub values: Vec<f64>,
    /// The largest members of OTHER, by their number in [`View::members`], and their values.
    pub members: Vec<(usize, f64)>,
}

/// What is shown of a profile.
#[derive(Clone, Debug)]
pub struct View {
    /// Its header.
    pub header: Header,
    /// What is shown of each band.
    pub mode: Mode,
    /// From the left edge of the graph to its right.
    pub window_s: (f64, f64),
    /// How many samples lie in it.
    pub samples: usize,
    /// From the bottom up.
    pub bands: Vec<Band>,
    /// The sum of the shown bands that are not resident memory beyond the live bytes, as the profile has it.
    pub total: Vec<Point>,
    /// Where it is largest.
    pub peak: Peak,
    /// Marks in the window, in seconds.
    pub marks_s: Vec<f64>,
    /// In the order of time.
    pub details: Vec<Detail>,
    /// The names of members of OTHER that details tell.
    pub members: Vec<Vec<u8>>,
    /// Bands that grow steadily in the window, the fastest first; those in OTHER too.
    pub leaks: Vec<(Vec<u8>, Trend)>,
    /// How all shown bands grow together, if they do so steadily.
    pub together: Option<Trend>,
    /// How bands changed from another profile, the largest change first; empty unless two are compared.
    pub changes: Vec<Change>,
    /// What was made good while reading, one line each.
    pub warnings: Vec<String>,
}

impl View {
    /// Reads a profile in passes over `input`.
    ///
    /// # Errors
    /// As [`Census::take`].
    ///
    /// ```
    /// use hp2svg::view::{View, ViewOptions};
    /// let text = b"JOB \"j\" DATE \"d\" SAMPLE_UNIT \"seconds\" VALUE_UNIT \"bytes\"
    /// BEGIN_SAMPLE 0.0 small 10 large 30 END_SAMPLE 0.0 BEGIN_SAMPLE 2.0 small 20 large 50 END_SAMPLE 2.0";
    /// let view = View::read(&mut std::io::Cursor::new(text), &ViewOptions::default())?;
    /// assert_eq!(view.bands[1].name, b"large");
    /// assert_eq!(view.bands[1].curve, [(0.0, 40.0), (2.0, 70.0)]);
    /// assert_eq!((view.peak.time_s, view.peak.value), (2.0, 70.0));
    /// # Ok::<(), hp2ps::Error>(())
    /// ```
    pub fn read(input: &mut (impl Read + Seek), options: &ViewOptions) -> Result<View, Error> {
        let mut census = Census::take(input)?;
        let window = samples_within(&census.times_s, options)?;
        let choice = Choice::new(&mut census, input, &window, &options.choice)?;
        let mut trends = Trends::new(&mut census, input, &choice, window.clone())?;
        let mut painter = Painter::new(&census, &choice, window, options);
        census.each_row(input, |sample, band, value| {
            trends.add(sample, band, value);
            painter.add(sample, band, value);
        })?;
        Ok(painter.finish(census, &trends))
    }
}

impl View {
    /// A time of the profile in words.
    pub fn moment(&self, time: f64) -> String {
        match &self.header.sample_unit[..] {
            b"seconds" => ticks::time(time),
            unit => ticks::amount(time, unit),
        }
    }

    /// A growth in words: for a second or a longer span, or for one of the unit of time.
    pub fn rate(&self, trend: &Trend) -> String {
        let (unit, per) = (&self.header.value_unit, trend.slope_per_s);
        match &self.header.sample_unit[..] {
            b"seconds" => ticks::rate(per, unit),
            time => format!(
                "{}{} per {}",
                if per < 0.0 { "−" } else { "+" },
                ticks::amount(per.abs(), unit),
                String::from_utf8_lossy(time)
            ),
        }
    }

    /// The largest value that any curve reaches.
    pub fn largest(&self) -> f64 {
        self.bands.iter().flat_map(|band| &band.curve).map(|point| point.1).fold(0.0, f64::max)
    }
}

/// The samples of the window.
fn samples_within(times_s: &[f64], options: &ViewOptions) -> Result<Range<usize>, Error> {
    let from = options.from_s.map_or(0, |from_s| times_s.partition_point(|&time_s| time_s < from_s));
    let to = options.to_s.map_or(times_s.len(), |to_s| times_s.partition_point(|&time_s| time_s <= to_s));
    if from < to {
        return Ok(from..to);
    }
    let [first, last] = [times_s.first(), times_s.last()].map(|time_s| time_s.copied().unwrap_or_default());
    Err(Error::Io(io::Error::other(format!(
        "no sample in that window; the profile has them from {first} to {last}"
    ))))
}

/// What [`write_leaks`] tells besides the table.
#[derive(Clone, Debug)]
pub struct LeakReport {
    /// Whether any band, or all together, grow steadily.
    pub found: bool,
    /// What was made good while reading, one line each.
    pub warnings: Vec<String>,
}

/// Writes the table of the bands that grow steadily in the window, among those that the options leave.
///
/// # Errors
/// As [`View::read`].
pub fn write_leaks(
    input: &mut (impl Read + Seek),
    options: &ViewOptions,
    out: &mut dyn io::Write,
) -> Result<LeakReport, Error> {
    let mut census = Census::take(input)?;
    let window = samples_within(&census.times_s, options)?;
    let choice = Choice::new(&mut census, input, &window, &options.choice)?;
    let mut trends = Trends::new(&mut census, input, &choice, window)?;
    census.each_row(input, |sample, band, value| trends.add(sample, band, value))?;
    let bands: Vec<(&[u8], Trend)> =
        trends.levels.iter().map(|(band, levels)| (&census.names[*band], trends.run.trend(levels))).collect();
    let units = Units { value: &census.header.value_unit, time: &census.header.sample_unit };
    let found = crate::leaks::write_leaks(out, &trends.run, &bands, units)?;
    Ok(LeakReport { found, warnings: warnings(&census, &choice) })
}

/// What was made good while reading, and what the options leave nothing of.
fn warnings(census: &Census, choice: &Choice) -> Vec<String> {
    let nothing = choice.shown.is_empty() && choice.pooled.is_empty() && !census.names.is_empty();
    let nothing = nothing.then(|| "no band is left to show".to_owned());
    census.warnings().chain(nothing).collect()
}

/// The trends of the larger bands.
struct Trends {
    run: Run,
    /// The samples that are looked at.
    window: Range<usize>,
    /// Of each band, its place among `levels`.
    places: Vec<Option<u32>>,
    /// (band, its levels), the largest area first.
    levels: Vec<(usize, Levels)>,
}

impl Trends {
    /// For the bands of `choice`, without the memory beyond live bytes.
    fn new(
        census: &mut Census,
        input: &mut (impl Read + Seek),
        choice: &Choice,
        window: Range<usize>,
    ) -> Result<Trends, Error> {
        let mut bands: Vec<usize> = choice.shown.iter().chain(&choice.pooled).copied().collect();
        let sums = sums_of(census, input, &bands)?;
        let run = Run::new(&census.times_s[window.clone()], &sums[window.clone()]);
        bands.sort_by(|&a, &b| census.totals[b].sum.total_cmp(&census.totals[a].sum));
        bands.truncate(MOST_TRENDS);
        let mut places = vec![None; census.names.len()];
        (0..).zip(&bands).for_each(|(place, &band)| places[band] = Some(place));
        let levels = bands.into_iter().map(|band| (band, run.levels([]))).collect();
        Ok(Trends { run, window, places, levels })
    }

    #[inline]
    fn add(&mut self, sample: usize, band: usize, value: f64) {
        if let Some(place) = self.places[band].filter(|_| self.window.contains(&sample)) {
            self.levels[place as usize].1.add(&self.run, sample - self.window.start, value);
        }
    }

    fn of(&self, band: usize) -> Option<Trend> {
        self.places[band].map(|place| self.run.trend(&self.levels[place as usize].1))
    }

    /// The bands that grow steadily, that with the most growth first.
    fn leaks(&self) -> Vec<(usize, Trend)> {
        let trends = self.levels.iter().map(|(band, levels)| (*band, self.run.trend(levels)));
        let mut leaks: Vec<_> = trends.filter(|(_, trend)| trend.verdict == Verdict::GrowsSteadily).collect();
        leaks.sort_by(|(_, a), (_, b)| b.growth.total_cmp(&a.growth));
        leaks
    }
}

/// The sum of these bands in each sample. Another pass, unless they are all there are.
fn sums_of(census: &mut Census, input: &mut (impl Read + Seek), bands: &[usize]) -> Result<Vec<f64>, Error> {
    let mut counts = vec![false; census.names.len()];
    bands.iter().for_each(|&band| counts[band] = true);
    let all = counts.iter().zip(&census.totals).all(|(&counts, total)| counts || total.sum == 0.0);
    if all {
        return Ok(census.sums.clone());
    }
    let mut sums = vec![0.0; census.times_s.len()];
    census.each_row(input, |sample, band, value| {
        if counts[band] {
            sums[sample] += value;
        }
    })?;
    Ok(sums)
}

/// Where a band of the profile goes in the chart.
#[derive(Clone, Copy)]
enum Place {
    Nowhere,
    Own(usize),
    Other,
}

/// Takes the rows of a profile sample by sample and draws the curves.
struct Painter {
    mode: Mode,
    window: Range<usize>,
    times_s: Vec<f64>,
    columns: Columns,
    /// Of each band of the profile.
    places: Vec<Place>,
    /// Of each band of the chart: its band of the profile, none for OTHER.
    sources: Vec<Option<usize>>,
    /// How many bands of the chart hold live bytes; those up to the resident memory follow.
    live: usize,
    pooled: usize,
    /// The sample being added up, its values, and the largest members of OTHER, largest first.
    sample: Option<usize>,
    values: Vec<f64>,
    members: Vec<(usize, f64)>,
    /// Which samples of the window had rows.
    seen: Vec<bool>,
    curves: Vec<Reducer>,
    total: Reducer,
    peaks: Vec<Peak>,
    peak: Peak,
    sums: Vec<f64>,
    /// The sample from which growth is told, and the values in it.
    since: usize,
    base: Vec<f64>,
    /// Of each column or sample, with the sum that decides.
    details: Vec<Option<(f64, Detail)>>,
    warnings: Vec<String>,
}

impl Painter {
    fn new(census: &Census, choice: &Choice, window: Range<usize>, options: &ViewOptions) -> Painter {
        let mut places = vec![Place::Nowhere; census.names.len()];
        choice.pooled.iter().for_each(|&band| places[band] = Place::Other);
        let resident =
            if options.mode.is_stacked() && options.mode != Mode::Share { &choice.resident[..] } else { &[] };
        let own = choice.shown.iter().chain(resident).map(|&band| Some(band));
        let sources: Vec<Option<usize>> =
            (!choice.pooled.is_empty()).then_some(None).into_iter().chain(own).collect();
        for (at, source) in sources.iter().enumerate() {
            if let Some(band) = *source {
                places[band] = Place::Own(at);
            }
        }
        let times_s = census.times_s.clone();
        let bands = sources.len();
        let edges = (times_s[window.start], times_s[window.end - 1]);
        let columns = Columns::new(edges, options.columns, window.len());
        let since = match options.mode {
            Mode::Growth { since_s } => times_s[window.clone()].partition_point(|&time_s| time_s <= since_s),
            _ => 0,
        };
        Painter {
            mode: options.mode,
            columns,
            places,
            live: bands - resident.len(),
            pooled: choice.pooled.len(),
            sample: None,
            values: vec![0.0; bands],
            members: Vec::new(),
            seen: vec![false; window.len()],
            curves: vec![columns.reducer(); bands],
            total: columns.reducer(),
            peaks: vec![Peak { time_s: edges.0, value: 0.0 }; bands],
            peak: Peak { time_s: edges.0, value: 0.0 },
            sums: vec![0.0; bands],
            since: window.start + since.saturating_sub(1),
            base: vec![0.0; bands],
            details: vec![None; if columns.keep_all { window.len() } else { columns.count }],
            warnings: warnings(census, choice),
            sources,
            times_s,
            window,
        }
    }

    #[inline]
    fn add(&mut self, sample: usize, band: usize, value: f64) {
        if self.sample != Some(sample) {
            self.flush();
            self.sample = Some(sample);
        }
        match self.places[band] {
            Place::Nowhere => {}
            Place::Own(at) => self.values[at] += value,
            Place::Other => {
                self.values[0] += value;
                self.note_member(band, value);
            }
        }
    }

    #[inline]
    fn note_member(&mut self, band: usize, value: f64) {
        let full = self.members.len() == NAMED_MEMBERS;
        if full && self.members.last().is_some_and(|least| least.1 >= value) {
            return;
        }
        self.members.truncate(NAMED_MEMBERS - 1);
        let at = self.members.partition_point(|member| member.1 >= value);
        self.members.insert(at, (band, value));
    }

    /// Draws the sample that is added up.
    fn flush(&mut self) {
        if let Some(sample) = self.sample.filter(|sample| self.window.contains(sample)) {
            self.draw(sample);
        }
        self.values.fill(0.0);
        self.members.clear();
    }

    fn draw(&mut self, sample: usize) {
        let time_s = self.times_s[sample];
        self.seen[sample - self.window.start] = true;
        let total: f64 = self.values[..self.live].iter().sum();
        self.total.push(time_s, total);
        if total > self.peak.value {
            self.peak = Peak { time_s, value: total };
        }
        if sample == self.since {
            self.base.clone_from(&self.values);
        }
        let mut height = 0.0;
        for (at, &value) in self.values.iter().enumerate() {
            self.sums[at] += value;
            if value > self.peaks[at].value {
                self.peaks[at] = Peak { time_s, value };
            }
            height += value;
            let drawn = match self.mode {
                Mode::Stacked => height,
                Mode::Share if total > 0.0 => height / total,
                Mode::Share => 0.0,
                Mode::Lines | Mode::OwnPeak | Mode::Growth { .. } | Mode::Change => value,
            };
            self.curves[at].push(time_s, drawn);
        }
        self.keep_detail(sample, total);
    }

    fn keep_detail(&mut self, sample: usize, total: f64) {
        let time_s = self.times_s[sample];
        let at = if self.columns.keep_all { sample - self.window.start } else { self.columns.of(time_s) };
        if self.details[at].as_ref().is_none_or(|(known, _)| total > *known) {
            let detail = Detail { time_s, values: self.values.clone(), members: self.members.clone() };
            self.details[at] = Some((total, detail));
        }
    }

    fn finish(mut self, census: Census, trends: &Trends) -> View {
        self.flush();
        for sample in self.window.clone() {
            if !self.seen[sample - self.window.start] {
                self.draw(sample);
            }
        }
        let samples = self.window.len() as f64;
        let area: f64 = self.sums[..self.live].iter().sum();
        let curves = std::mem::take(&mut self.curves);
        let bands = curves.into_iter().enumerate().map(|(at, curve)| Band {
            name: self.sources[at].map_or_else(|| b"OTHER".to_vec(), |band| census.names[band].to_vec()),
            kind: match self.sources[at] {
                None => Kind::Other(self.pooled),
                Some(_) if at >= self.live => Kind::Resident,
                Some(_) => Kind::Named,
            },
            curve: self.scaled(at, curve.finish()),
            peak: self.peaks[at],
            mean: self.sums[at] / samples,
            share: if area > 0.0 { self.sums[at] / area } else { 0.0 },
            trend: self.sources[at].filter(|_| at < self.live).and_then(|band| trends.of(band)),
        });
        let bands = bands.collect();
        let details: Vec<Detail> = self.details.into_iter().flatten().map(|(_, detail)| detail).collect();
        let (details, members) = numbered(details, &census);
        let window_s = (self.columns.from_s, self.columns.to_s);
        let shown = |time_s: &f64| (window_s.0..=window_s.1).contains(time_s);
        View {
            mode: self.mode,
            window_s,
            samples: self.window.len(),
            bands,
            total: self.total.finish(),
            peak: self.peak,
            marks_s: census.marks_s.iter().copied().filter(shown).collect(),
            details,
            members,
            together: Some(trends.run.total()).filter(|trend| trend.verdict == Verdict::GrowsSteadily),
            leaks: trends
                .leaks()
                .into_iter()
                .map(|(band, trend)| (census.names[band].to_vec(), trend))
                .collect(),
            changes: Vec::new(),
            warnings: std::mem::take(&mut self.warnings),
            header: census.header,
        }
    }

    /// A band's curve in the terms of the mode.
    fn scaled(&self, at: usize, mut curve: Vec<Point>) -> Vec<Point> {
        let (less, divisor) = match self.mode {
            Mode::OwnPeak if self.peaks[at].value > 0.0 => (0.0, self.peaks[at].value),
            Mode::Growth { .. } => (self.base[at], 1.0),
            _ => return curve,
        };
        curve.iter_mut().for_each(|(_, value)| *value = (*value - less) / divisor);
        curve
    }
}

/// Numbers the members of OTHER that any detail tells.
fn numbered(mut details: Vec<Detail>, census: &Census) -> (Vec<Detail>, Vec<Vec<u8>>) {
    let mut numbers = HashMap::new();
    let mut names = Vec::new();
    for (band, _) in details.iter_mut().flat_map(|detail| &mut detail.members) {
        *band = *numbers.entry(*band).or_insert_with(|| {
            names.push(census.names[*band].to_vec());
            names.len() - 1
        });
    }
    (details, names)
}
