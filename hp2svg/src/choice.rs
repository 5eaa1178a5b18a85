//! Which bands are shown by themselves, and in which order: the larger ones, be it over the whole window or in a short
//! spike; the rest share OTHER.

use std::collections::HashMap;
use std::io::{Read, Seek};

use hp2ps::{Census, Error, NameOrder};
use regex::bytes::Regex;

/// The bands that heapprof puts on top for the gap from the live bytes up to the resident memory.
const RESIDENT: [&[u8]; 4] = [b"ALLOCATOR_ROUNDING", b"ALLOCATOR_UNUSED", b"OUTSIDE_HEAP", b"NOT_IN_BLOCKS"];

/// How much of the chart's height a band's peak must reach to count like a band with half that share of the area.
const PEAK_WEIGHT: f64 = 0.5;

/// Which bands are shown.
#[derive(Clone, Debug)]
pub struct ChoiceOptions {
    /// The most bands, OTHER among them; 0 for no limit.
    pub limit: usize,
    /// Bands that together have less than this share go into OTHER; in percent.
    pub trace_percent: f64,
    /// How they are ordered.
    pub order: Order,
    /// Only bands whose names match.
    pub only: Option<Regex>,
    /// No bands whose names match.
    pub hide: Option<Regex>,
}

impl Default for ChoiceOptions {
    fn default() -> Self {
        ChoiceOptions { limit: 20, trace_percent: 1.0, order: Order::Area, only: None, hide: None }
    }
}

impl ChoiceOptions {
    /// Whether a band of that name may be shown.
    pub(crate) fn leaves(&self, name: &[u8]) -> bool {
        self.only.as_ref().is_none_or(|only| only.is_match(name))
            && self.hide.as_ref().is_none_or(|hide| !hide.is_match(name))
    }
}

/// What decides the order of bands from the bottom up.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Order {
    /// The largest area on top.
    #[default]
    Area,
    /// The roughest on top.
    Deviation,
    /// By name.
    Name(NameOrder),
    /// As an earlier chart had them: by these places, names without one first.
    Previous(HashMap<Vec<u8>, f64>),
}

/// How much a band has in the window.
#[derive(Clone, Copy, Debug, Default)]
struct Measure {
    area: f64,
    squares: f64,
    peak: f64,
}

/// The chosen bands by number.
#[derive(Clone, Debug, Default)]
pub(crate) struct Choice {
    /// Shown by themselves, from the bottom up.
    pub(crate) shown: Vec<usize>,
    /// In OTHER.
    pub(crate) pooled: Vec<usize>,
    /// The gap up to the resident memory, in its order from the bottom up.
    pub(crate) resident: Vec<usize>,
}

impl Choice {
    /// Chooses among the bands of the samples `window`.
    pub(crate) fn new(
        census: &mut Census,
        input: &mut (impl Read + Seek),
        window: &std::ops::Range<usize>,
        options: &ChoiceOptions,
    ) -> Result<Choice, Error> {
        let whole = *window == (0..census.times_s.len()) && options.order != Order::Deviation;
        let measures = if whole { whole_measures(census) } else { measures(census, input, window)? };
        let (resident, mut bands) = candidates(census, &measures, options);
        let grand: f64 = bands.iter().map(|&band| measures[band].area).sum();
        let height = census.sums[window.clone()].iter().copied().fold(0.0, f64::max);
        let score = |band: usize| {
            let Measure { area, peak, .. } = measures[band];
            (area / grand).max(PEAK_WEIGHT * peak / height)
        };
        bands.sort_by(|&a, &b| score(a).total_cmp(&score(b)).then(b.cmp(&a)));
        let pooled_count = pooled_count(&bands, options, |band| score(band) * 100.0);
        let mut shown = bands.split_off(pooled_count);
        let samples = window.len() as f64;
        let deviation = |band: usize| measures[band].squares - measures[band].area.powi(2) / samples;
        shown.sort_by(|&a, &b| {
            let by_area = measures[a].area.total_cmp(&measures[b].area).then(b.cmp(&a));
            match &options.order {
                Order::Area => by_area,
                Order::Deviation => deviation(a).total_cmp(&deviation(b)).then(by_area),
                Order::Name(NameOrder::GreatestOnTop) => census.names[a].cmp(&census.names[b]),
                Order::Name(NameOrder::SmallestOnTop) => census.names[b].cmp(&census.names[a]),
                Order::Previous(places) => {
                    let place = |band: usize| places.get(&census.names[band]).copied().unwrap_or_default();
                    place(a).total_cmp(&place(b)).then(by_area)
                }
            }
        });
        Ok(Choice { shown, pooled: bands, resident })
    }
}

/// The resident bands and the others that the options leave, without those that have nothing in the window.
fn candidates(census: &Census, measures: &[Measure], options: &ChoiceOptions) -> (Vec<usize>, Vec<usize>) {
    let left = |&band: &usize| measures[band].area > 0.0 && options.leaves(&census.names[band]);
    let place = |band: &usize| RESIDENT.iter().position(|name| **name == census.names[*band]);
    let (mut resident, bands): (Vec<usize>, Vec<usize>) =
        (0..census.names.len()).filter(left).partition(|band| place(band).is_some());
    resident.sort_by_key(place);
    (resident, bands)
}

/// How many bands, least first, go into OTHER.
fn pooled_count(bands: &[usize], options: &ChoiceOptions, percent: impl Fn(usize) -> f64) -> usize {
    let mut sum = 0.0;
    let traces = bands.iter().take_while(|&&band| {
        sum += percent(band);
        sum < options.trace_percent
    });
    let traces = traces.count();
    let shown = bands.len() - traces + usize::from(traces > 0);
    if options.limit == 0 || shown <= options.limit { traces } else { bands.len() + 1 - options.limit }
}

fn whole_measures(census: &Census) -> Vec<Measure> {
    census.totals.iter().map(|total| Measure { area: total.sum, squares: 0.0, peak: total.peak }).collect()
}

fn measures(
    census: &mut Census,
    input: &mut (impl Read + Seek),
    window: &std::ops::Range<usize>,
) -> Result<Vec<Measure>, Error> {
    let mut measures = vec![Measure::default(); census.names.len()];
    census.each_row(input, |sample, band, value| {
        if window.contains(&sample) {
            let measure = &mut measures[band];
            measure.area += value;
            measure.squares += value * value;
            measure.peak = measure.peak.max(value);
        }
    })?;
    Ok(measures)
}
