//! The chart: chosen bands with their values, and the ranges and the area they span.

use std::io::{Read, Seek};

use crate::auxfile::Previous;
use crate::census::{C_INTEGER_LIMIT, Census, Header};
use crate::{Error, bands};

/// The name of the band that stands for those beyond the limit, and for trace elements that are folded.
const OTHER: &[u8] = b"OTHER";

/// How names order bands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NameOrder {
    /// The greatest name on top.
    GreatestOnTop,
    /// The smallest name on top.
    SmallestOnTop,
}

/// Which bands are drawn and in which order; without an order the largest area is on top.
#[derive(Clone, Debug)]
pub struct BandOptions {
    /// The most bands, the rest go into one named OTHER; 0 for no limit.
    pub limit: usize,
    /// Trace elements, which together have less than this share of the area, are dropped; in percent, from 0 to 5.
    pub trace_percent: f64,
    /// Put trace elements into OTHER instead, so that the height is the whole.
    pub fold_trace: bool,
    /// Keep the largest bands by themselves whatever the order, rather than the topmost.
    pub limit_by_area: bool,
    /// Mend what GHC's tool gets wrong: totals beyond 2^63, deviations that pass over the samples without the band, and
    /// ramps up from an empty first sample and down to an empty last one, which GHC's run time always writes.
    pub mend: bool,
    /// Order by standard deviation, the roughest on top.
    pub by_deviation: bool,
    /// Order by name, after `by_deviation`.
    pub by_name: Option<NameOrder>,
}

impl Default for BandOptions {
    fn default() -> Self {
        BandOptions {
            limit: 20,
            trace_percent: 1.0,
            fold_trace: false,
            limit_by_area: false,
            mend: false,
            by_deviation: false,
            by_name: None,
        }
    }
}

/// A profile reduced to what is drawn of it.
#[derive(Clone, Debug)]
pub struct Chart {
    /// The header strings.
    pub header: Header,
    /// The time of each sample, in the sample unit; at least one.
    pub times_s: Vec<f64>,
    /// The times of the marks, which may lie outside the samples.
    pub marks_s: Vec<f64>,
    /// From the bottom of the chart up.
    pub bands: Vec<Band>,
    /// The width of the chart in the sample unit, above 0.
    pub x_range: f64,
    /// The height of the chart in the value unit, above 0.
    pub y_range: f64,
    /// The area under the top line, in value unit times sample unit.
    pub area: f64,
    /// What was made good while reading, one line each, without the file's name.
    pub warnings: Vec<String>,
}

/// One band of a chart.
#[derive(Clone, Debug)]
pub struct Band {
    /// Its name as the profile has it.
    pub name: Vec<u8>,
    /// (sample, value) in the order of the file; samples that do not name the band have no point, and
    /// several points of one sample add up.
    pub points: Vec<(usize, f64)>,
}

impl Chart {
    /// Reads a profile in passes over `input`, which is rewound before each.
    ///
    /// # Errors
    /// [`Error::Profile`] with the line if the input is not a profile, [`Error::Io`] if it cannot be rewound.
    ///
    /// ```
    /// use hp2ps::{BandOptions, Chart, Previous};
    /// let text = b"JOB \"j\" DATE \"d\" SAMPLE_UNIT \"s\" VALUE_UNIT \"b\"
    /// BEGIN_SAMPLE 1.0 small 10 large 30 END_SAMPLE 1.0
    /// BEGIN_SAMPLE 3.0 small 10 large 50 END_SAMPLE 3.0";
    /// let mut input = std::io::Cursor::new(text);
    /// let chart = Chart::read(&mut input, &BandOptions::default(), &Previous::default())?;
    /// assert_eq!(chart.bands[1].name, b"large");
    /// assert_eq!((chart.x_range, chart.y_range, chart.area), (2.0, 60.0, 100.0));
    /// # Ok::<(), hp2ps::Error>(())
    /// ```
    pub fn read(
        input: &mut (impl Read + Seek),
        options: &BandOptions,
        previous: &Previous,
    ) -> Result<Chart, Error> {
        let mut census = Census::take(input)?;
        let (trace, by_area) = if options.mend {
            bands::apart_from_trace(&census, options.trace_percent, |total| total.sum)
        } else {
            bands::apart_from_trace(&census, options.trace_percent, |total| total.area)
        };
        let mut order = by_area.clone();
        if options.by_deviation {
            let deviations = if options.mend { whole_deviations } else { deviations };
            let deviations = deviations(&mut census, input)?;
            order = bands::sort_by_key(order, |band| deviations[band]);
        }
        if let Some(by_name) = options.by_name {
            order = sort_by_name(order, &census, by_name);
        }
        if !previous.order.is_empty() {
            let place = |band: usize| previous.order.get(&census.names[band]).unwrap_or(&0.0);
            order = bands::sort_by_key(order, place);
        }
        let trace = if options.fold_trace { trace } else { Vec::new() };
        let limit = bands::Limit { most: options.limit, by_area: options.limit_by_area.then_some(&by_area) };
        let (pooled, drawn) = limit.split(order, trace);
        let (mut bands, mut heights) = series(&mut census, input, &pooled, &drawn)?;
        let mut warnings: Vec<String> = census.warnings().collect();
        if options.mend {
            drop_empty_ends(&mut census.times_s, &mut bands, &mut heights);
        } else if census.totals.iter().any(|total| total.sum >= C_INTEGER_LIMIT) {
            warnings
                .push("totals beyond 2^63 are wrong as in GHC's hp2ps; --modern adds them up right".into());
        }
        Ok(Chart { warnings, ..Chart::new(census, bands, &heights, previous) })
    }

    fn new(census: Census, bands: Vec<Band>, heights: &[f64], previous: &Previous) -> Chart {
        let Census { header, times_s, marks_s, .. } = census;
        let width = times_s.last().zip(times_s.first()).map_or(0.0, |(last, first)| last - first);
        let height = heights.iter().copied().fold(0.0, f64::max);
        Chart {
            x_range: range(width, previous.x_range),
            y_range: range(height, previous.y_range),
            area: area(&times_s, heights),
            header,
            times_s,
            marks_s,
            bands,
            warnings: Vec::new(),
        }
    }
}

/// A range that holds both and has some extent.
fn range(own: f64, previous: f64) -> f64 {
    let range = own.max(previous);
    if range > 0.0 { range } else { 1.0 }
}

fn area(times_s: &[f64], heights: &[f64]) -> f64 {
    let mut area = 0.0;
    for (times, heights) in times_s.windows(2).zip(heights.windows(2)) {
        let base = times[1] - times[0];
        let (low, high) = (heights[0].min(heights[1]), heights[0].max(heights[1]));
        area += base * low + (base * (high - low)) / 2.0;
    }
    area
}

fn sort_by_name(order: Vec<usize>, census: &Census, by_name: NameOrder) -> Vec<usize> {
    let name = |band: usize| &census.names[band];
    match by_name {
        NameOrder::GreatestOnTop => bands::sort_by_key(order, name),
        NameOrder::SmallestOnTop => bands::sort_by_key(order, |band| std::cmp::Reverse(name(band))),
    }
}

/// The standard deviation of each band: over all samples in its average, over the samples that name it in its
/// squares, as GHC's tool has it.
fn deviations(census: &mut Census, input: &mut (impl Read + Seek)) -> Result<Vec<f64>, Error> {
    let samples = census.times_s.len() as f64;
    let averages: Vec<f64> = census.totals.iter().map(|total| total.sum / samples).collect();
    let mut squares = vec![0.0; averages.len()];
    census.each_row(input, |_, band, value| {
        let off = value - averages[band];
        squares[band] += off * off;
    })?;
    Ok(squares.into_iter().map(|sum: f64| (sum / (samples - 1.0)).sqrt()).collect())
}

/// The standard deviation of each band over all samples.
fn whole_deviations(census: &mut Census, input: &mut (impl Read + Seek)) -> Result<Vec<f64>, Error> {
    let samples = census.times_s.len();
    let averages: Vec<f64> = census.totals.iter().map(|total| total.sum / samples as f64).collect();
    // As if no sample named the band; then each sample that does is put right.
    let mut squares: Vec<f64> = averages.iter().map(|average| average * average * samples as f64).collect();
    // Rows of one sample add up to one value.
    let mut last = vec![(usize::MAX, 0.0); averages.len()];
    census.each_row(input, |sample, band, value| {
        let before = if last[band].0 == sample { last[band].1 } else { 0.0 };
        last[band] = (sample, before + value);
        let square = |value: f64| (value - averages[band]).powi(2);
        squares[band] += square(before + value) - square(before);
    })?;
    let divisor = (samples as f64 - 1.0).max(1.0);
    Ok(squares.into_iter().map(|sum| (sum.max(0.0) / divisor).sqrt()).collect())
}

/// Leaves out a first and a last sample without anything in it, if two samples or more remain.
fn drop_empty_ends(times_s: &mut Vec<f64>, bands: &mut [Band], heights: &mut Vec<f64>) {
    if times_s.len() > 2 && heights.last() == Some(&0.0) {
        times_s.pop();
        heights.pop();
    }
    let first = usize::from(times_s.len() > 2 && heights.first() == Some(&0.0));
    times_s.drain(..first);
    heights.drain(..first);
    for band in bands {
        band.points.retain(|(sample, _)| (first..first + times_s.len()).contains(sample));
        band.points.iter_mut().for_each(|(sample, _)| *sample -= first);
    }
}

/// The values of the drawn bands, OTHER first if any are pooled, and the sum of all of them in each sample.
fn series(
    census: &mut Census,
    input: &mut (impl Read + Seek),
    pooled: &[usize],
    drawn: &[usize],
) -> Result<(Vec<Band>, Vec<f64>), Error> {
    let samples = census.times_s.len();
    let mut slots = vec![None; census.names.len()];
    let mut bands: Vec<Band> = Vec::with_capacity(drawn.len() + 1);
    if !pooled.is_empty() {
        let points = (0..samples).map(|sample| (sample, 0.0)).collect();
        bands.push(Band { name: OTHER.to_vec(), points });
        pooled.iter().for_each(|&band| slots[band] = Some((0, true)));
    }
    for &band in drawn {
        slots[band] = Some((bands.len(), false));
        bands.push(Band { name: census.names[band].to_vec(), points: Vec::new() });
    }
    let mut heights = vec![0.0; samples];
    census.each_row(input, |sample, band, value| {
        let Some((slot, pooled)) = slots[band] else {
            return;
        };
        heights[sample] += value;
        match &mut bands[slot].points {
            other if pooled => other[sample].1 += value,
            points => points.push((sample, value)),
        }
    })?;
    Ok((bands, heights))
}
