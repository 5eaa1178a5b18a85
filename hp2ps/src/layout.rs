//! The page: where everything stands, in points. The origin is the lower left corner of the frame, y grows upward.

use crate::census::c_integer;
use crate::chart::Chart;
use crate::metrics::{helvetica_width_pt, rough_width_pt, shorten, shorten_to_chars};

/// The frame around everything.
pub const FRAME_PT: (f64, f64) = (648.0, 432.0);
/// The gap between the frame and what is in it.
pub const MARGIN_PT: f64 = 5.0;
/// The thickness of all lines.
pub const LINE_PT: f64 = 0.5;
/// The side of a box in the key.
pub const KEY_BOX_PT: f64 = 14.0;
/// Where key texts begin, right of [`Page::key_x`]: behind the box and a margin on each side of it.
pub const KEY_TEXT_X_PT: f64 = MARGIN_PT + KEY_BOX_PT + MARGIN_PT;
/// How far ticks and marks reach out of the graph.
pub const TICK_PT: f64 = 4.0;
/// The size of labels.
pub const LABEL_FONT_PT: f64 = 10.0;
/// The size of the title.
pub const TITLE_FONT_PT: f64 = 12.0;

/// The lower left corner of the graph.
const GRAPH_PT: (f64, f64) = (45.0, 20.0);
/// The heights of the title box.
const TITLE_PT: f64 = 20.0;
const BIG_TITLE_PT: f64 = 40.0;
/// What ticks leave free beside the unit of their axis.
const LEGEND_GAP_PT: f64 = 15.0;
/// The most that the readable style gives a text of the key.
const KEY_TEXT_MOST_PT: f64 = 190.0;
/// A JOB of more bytes makes the title big unless asked otherwise; a small title shows so many.
const SMALL_JOB_BYTES: usize = 35;
const BIG_JOB_BYTES: usize = 80;
/// How many bands one page of the key holds.
const KEY_PAGE_BANDS: usize = 20;
/// More ticks than any axis gets; an end to loops that rounding might keep going.
const MOST_TICKS: usize = 100;

/// The height of the title box.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TitleSize {
    /// Big if the JOB is long.
    #[default]
    ByJob,
    /// Two lines.
    Big,
    /// One line.
    Small,
}

/// Where the key goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum KeyPlace {
    /// Right of the graph.
    #[default]
    OnGraph,
    /// On pages of its own before the graph.
    OwnPages,
    /// Nowhere.
    Nowhere,
}

/// Whose rules a part of the page follows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Style {
    /// As GHC's tool does, to the last digit.
    #[default]
    Ghc,
    /// For reading. Fills: none white, and outlines as thin as samples are dense. Texts: real widths, any script, a key
    /// that leaves the graph most of the page. Axes: ticks at round values with as many digits as they need, all in one
    /// unit.
    Readable,
}

/// How the page is laid out.
#[derive(Clone, Copy, Debug, Default)]
pub struct PageOptions {
    /// How texts are measured and drawn.
    pub text: Style,
    /// Where ticks stand and what they say.
    pub axes: Style,
    /// Which fills and outlines bands get.
    pub fills: Style,
    /// The most characters of a name in the key; the middle of a longer one is left out.
    pub name_chars: Option<usize>,
    /// The height of the title box.
    pub title: TitleSize,
    /// Where the key goes.
    pub key: KeyPlace,
    /// Whether marks are left out.
    pub no_marks: bool,
}

/// Everything on the page.
#[derive(Clone, Debug)]
pub struct Page {
    /// How texts are measured and drawn.
    pub text: Style,
    /// How thick outlines of bands are; 0 for none.
    pub outline_pt: f64,
    /// Where labels of ticks stand: on their base line, or with their middle at the tick.
    pub axes: Style,
    /// The box at the top.
    pub title: Title,
    /// The graph's rectangle.
    pub graph: Rect,
    /// The axis below the graph.
    pub x_axis: Axis,
    /// The axis left of the graph.
    pub y_axis: Axis,
    /// Pages of the key; one if it is beside the graph, none if there is no key.
    pub key: Vec<Vec<KeyEntry>>,
    /// Where the key goes.
    pub key_place: KeyPlace,
    /// The left edge of the key: its boxes begin a margin to the right.
    pub key_x: f64,
    /// The x of each sample.
    pub xs: Vec<f64>,
    /// The bands from the bottom up.
    pub bands: Vec<Band>,
    /// The x of the lower tip of each mark; the mark hangs below the graph.
    pub marks: Vec<f64>,
}

/// The title box and its texts.
#[derive(Clone, Debug)]
pub struct Title {
    /// Whether it has two lines.
    pub big: bool,
    /// Its height.
    pub height: f64,
    /// As much of the JOB as is shown.
    pub job: Vec<u8>,
    /// The area under the top line with its units.
    pub area: Vec<u8>,
    /// The DATE.
    pub date: Vec<u8>,
}

/// A rectangle.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rect {
    /// The left edge.
    pub x: f64,
    /// The lower edge.
    pub y: f64,
    /// To the right; negative on a page whose key is wider than the frame.
    pub width: f64,
    /// Upward.
    pub height: f64,
}

/// An axis of the graph.
#[derive(Clone, Debug)]
pub struct Axis {
    /// The unit, written at the far end.
    pub unit: Vec<u8>,
    /// From the origin on.
    pub ticks: Vec<Tick>,
}

impl Axis {
    fn shorten_unit(&mut self, room_pt: f64) {
        /// What is left free beside it.
        const GAP_PT: f64 = 10.0;
        let unit = String::from_utf8_lossy(&self.unit);
        self.unit = shorten(&unit, room_pt - GAP_PT, LABEL_FONT_PT).into_bytes();
    }
}

/// A tick of an axis.
#[derive(Clone, Debug, PartialEq)]
pub struct Tick {
    /// Its place, x or y.
    pub at: f64,
    /// Its label.
    pub label: String,
}

/// A line of the key.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct KeyEntry {
    /// The band it names, by its place in [`Page::bands`].
    pub band: usize,
    /// The y of its middle.
    pub y: f64,
}

/// A band of the graph.
#[derive(Clone, Debug)]
pub struct Band {
    /// Its name.
    pub name: Vec<u8>,
    /// What the key says: the name, shortened if the style does that.
    pub label: Vec<u8>,
    /// (sample, height); samples without one have height 0, several of one sample add up.
    pub heights: Vec<(usize, f64)>,
}

impl Band {
    /// Adds the band on top of a line of y values, one per sample, counted from the foot of the graph.
    ///
    /// ```
    /// use hp2ps::layout::Band;
    /// let band = Band { name: b"a".to_vec(), label: b"a".to_vec(), heights: vec![(1, 5.0)] };
    /// let mut line = vec![2.0, 2.0];
    /// band.stack_on(&mut line);
    /// assert_eq!(line, [2.0, 7.0]);
    /// ```
    pub fn stack_on(&self, line: &mut [f64]) {
        for &(sample, height) in &self.heights {
            line[sample] += height;
        }
    }
}

impl Page {
    /// Whether the key leaves the graph less than a third of the width it could have.
    pub fn is_squeezed(&self) -> bool {
        self.key_place == KeyPlace::OnGraph && self.graph.width < room_pt() / 3.0
    }

    /// Lays a chart out.
    pub fn new(chart: &Chart, options: &PageOptions) -> Page {
        let title = Title::new(chart, options);
        let labels: Vec<Vec<u8>> = chart.bands.iter().map(|band| options.key_label(&band.name)).collect();
        let graph = graph(&labels, options, title.height);
        let scales = Scales::new(chart, graph);
        let (mut x_axis, mut y_axis) = match options.axes {
            Style::Ghc => (x_axis(chart, &scales), y_axis(chart, &scales)),
            Style::Readable => (readable::x_axis(chart, &scales), readable::y_axis(chart, &scales)),
        };
        if (options.axes, options.text) == (Style::Readable, Style::Readable) {
            x_axis.shorten_unit(graph.width);
            y_axis.shorten_unit(graph.height);
        }
        let bands = chart.bands.iter().zip(labels);
        Page {
            text: options.text,
            outline_pt: outline_pt(options, graph, chart.times_s.len()),
            axes: options.axes,
            x_axis,
            y_axis,
            key: key(chart.bands.len(), graph.height, options.key),
            key_place: options.key,
            key_x: if options.key == KeyPlace::OnGraph { graph.x + graph.width } else { graph.x },
            xs: chart.times_s.iter().map(|&time_s| scales.x(time_s)).collect(),
            bands: bands.map(|(band, label)| scales.band(band, label)).collect(),
            marks: marks(chart, &scales, options),
            title,
            graph,
        }
    }
}

impl PageOptions {
    fn width_pt(&self, text: &[u8]) -> f64 {
        match self.text {
            Style::Ghc => rough_width_pt(text),
            Style::Readable => text_width_pt(text, LABEL_FONT_PT),
        }
    }

    fn key_label(&self, name: &[u8]) -> Vec<u8> {
        let shortened = self.name_chars.map(|most| shorten_to_chars(name, most));
        match self.text {
            Style::Ghc => shortened.unwrap_or_else(|| name.to_vec()),
            Style::Readable => {
                let text = String::from_utf8_lossy(shortened.as_deref().unwrap_or(name));
                shorten(&text, KEY_TEXT_MOST_PT, LABEL_FONT_PT).into_bytes()
            }
        }
    }
}

/// From times and values to points.
struct Scales {
    graph: Rect,
    /// The time at the left edge.
    first_s: f64,
    last_s: f64,
    x_range: f64,
    /// Points for one of the sample unit.
    x_scale: f64,
    /// Points for one of the value unit.
    y_scale: f64,
}

impl Scales {
    fn new(chart: &Chart, graph: Rect) -> Scales {
        Scales {
            graph,
            first_s: chart.times_s.first().copied().unwrap_or_default(),
            last_s: chart.times_s.last().copied().unwrap_or_default(),
            x_range: chart.x_range,
            x_scale: graph.width / chart.x_range,
            y_scale: graph.height / chart.y_range,
        }
    }

    /// Divides first, as GHC's tool does for samples and marks but not for ticks: the last digit depends on it.
    fn x(&self, time_s: f64) -> f64 {
        self.graph.x + ((time_s - self.first_s) / self.x_range) * self.graph.width
    }

    fn band(&self, band: &crate::chart::Band, label: Vec<u8>) -> Band {
        let scaled = |&(sample, value): &(usize, f64)| (sample, value * self.y_scale);
        Band { name: band.name.clone(), label, heights: band.points.iter().map(scaled).collect() }
    }
}

impl Title {
    fn new(chart: &Chart, options: &PageOptions) -> Title {
        let job = &chart.header.job;
        let big = match options.title {
            TitleSize::ByJob => job.len() > SMALL_JOB_BYTES,
            size => size == TitleSize::Big,
        };
        let shown = job.len().min(if big { BIG_JOB_BYTES } else { SMALL_JOB_BYTES });
        let area = match options.axes {
            Style::Ghc => with_commas(c_integer(chart.area)),
            Style::Readable => readable::number(chart.area),
        };
        let (value, sample) = (&chart.header.value_unit, &chart.header.sample_unit);
        let mut area = [area.as_bytes(), b" ", value, b" x ", sample].concat();
        if options.text == Style::Readable {
            // Half the box: beside it there is room for the JOB and for the DATE.
            area = shorten(&String::from_utf8_lossy(&area), FRAME_PT.0 / 2.0, TITLE_FONT_PT).into_bytes();
        }
        // A small title has the area in its middle.
        let beside = if big { 0.0 } else { (FRAME_PT.0 + text_width_pt(&area, TITLE_FONT_PT)) / 2.0 };
        let job = match options.text {
            Style::Ghc => job[..shown].to_vec(),
            Style::Readable => {
                let most_pt = FRAME_PT.0 - 4.0 * MARGIN_PT - beside;
                shorten(&String::from_utf8_lossy(job), most_pt, TITLE_FONT_PT).into_bytes()
            }
        };
        Title {
            big,
            height: if big { BIG_TITLE_PT } else { TITLE_PT },
            job,
            area,
            date: chart.header.date.clone(),
        }
    }
}

fn text_width_pt(text: &[u8], size_pt: f64) -> f64 {
    helvetica_width_pt(&String::from_utf8_lossy(text), size_pt)
}

/// The width of a graph without a key beside it.
fn room_pt() -> f64 {
    FRAME_PT.0 - 2.0 * MARGIN_PT - GRAPH_PT.0
}

/// How thick the outlines of bands are. Where samples are dense, outlines as thick as lines would be all there is to see.
fn outline_pt(options: &PageOptions, graph: Rect, samples: usize) -> f64 {
    /// The part of the way from sample to sample that an outline may take, and the thinnest one.
    const PART: f64 = 1.0 / 8.0;
    const LEAST_PT: f64 = 0.1;
    let suiting = PART * graph.width / samples as f64;
    match options.fills {
        Style::Ghc => LINE_PT,
        Style::Readable if suiting < LEAST_PT => 0.0,
        Style::Readable => suiting.min(LINE_PT),
    }
}

/// Where the marks are. GHC's tool draws those beyond the samples too, outside the frame.
fn marks(chart: &Chart, scales: &Scales, options: &PageOptions) -> Vec<f64> {
    let all = options.axes == Style::Ghc;
    let end_s = scales.first_s + scales.x_range;
    let shown = |time_s: &&f64| !options.no_marks && (all || (scales.first_s..=end_s).contains(*time_s));
    chart.marks_s.iter().filter(shown).map(|&time_s| scales.x(time_s)).collect()
}

fn graph(labels: &[Vec<u8>], options: &PageOptions, title_height: f64) -> Rect {
    let (x, y) = GRAPH_PT;
    let widest = labels.iter().map(|label| options.width_pt(label)).fold(0.0, f64::max);
    let key_width = widest + LEGEND_GAP_PT + KEY_BOX_PT;
    Rect {
        x,
        y,
        width: if options.key == KeyPlace::OnGraph { room_pt() - key_width } else { room_pt() },
        height: FRAME_PT.1 - title_height - 2.0 * MARGIN_PT - y,
    }
}

/// Ticks from the first sample to before the last, as far as the unit leaves room.
fn x_axis(chart: &Chart, scales: &Scales) -> Axis {
    let unit = chart.header.sample_unit.clone();
    let room = scales.graph.width - (rough_width_pt(&unit) + LEGEND_GAP_PT);
    let step = nice_step(scales.x_range / 7.0);
    let values = steps(scales.first_s, step).take_while(|&value| value < scales.last_s);
    let places = values.map(|value| (value, (value - scales.first_s) * scales.x_scale));
    let ticks = places
        .filter(|&(_, x)| x < room)
        .map(|(value, x)| Tick { at: scales.graph.x + x, label: format!("{value:.1}") })
        .collect();
    Axis { unit, ticks }
}

/// Ticks from zero to the top, as far as the unit leaves room.
fn y_axis(chart: &Chart, scales: &Scales) -> Axis {
    let unit = chart.header.value_unit.clone();
    let room = scales.graph.height - (rough_width_pt(&unit) + LEGEND_GAP_PT);
    let step = nice_step((chart.y_range / 7.0).max(1.0));
    let (divisor, suffix) = match step {
        1e6.. => (1e6, "M"),
        1e3.. => (1e3, "k"),
        _ => (1.0, ""),
    };
    let values = steps(0.0, step).take_while(|&value| value <= chart.y_range);
    let places = values.map(|value| (value, value * scales.y_scale));
    let ticks = places
        .filter(|&(_, y)| y < room)
        .map(|(value, y)| {
            let number = with_commas(c_integer(value / divisor + 0.5));
            Tick { at: scales.graph.y + y, label: format!("{number}{suffix}") }
        })
        .collect();
    Axis { unit, ticks }
}

/// Axes for reading.
mod readable {
    use super::{Axis, Scales, Tick, grouped, nice_step};
    use crate::chart::Chart;
    use crate::round::{digits_of, multiples};

    /// Units of time, their length in seconds, and up to which range they suit.
    const TIMES: [(&[u8], f64, f64); 6] = [
        (b"microseconds", 1e-6, 1e-3),
        (b"milliseconds", 1e-3, 0.1),
        (b"seconds", 1.0, 300.0),
        (b"minutes", 60.0, 18_000.0),
        (b"hours", 3_600.0, 345_600.0),
        (b"days", 86_400.0, f64::INFINITY),
    ];

    /// Ticks at round times within the samples, in the unit of time that suits the range.
    pub(super) fn x_axis(chart: &Chart, scales: &Scales) -> Axis {
        let own = &chart.header.sample_unit;
        let suiting = TIMES.iter().find(|(_, _, most)| own == b"seconds" && scales.x_range <= *most);
        let (unit, length) = suiting.map_or((&own[..], 1.0), |(unit, length, _)| (unit, *length));
        let step = nice_step(scales.x_range / length / 7.0);
        let digits = digits_of(step);
        let end_s = scales.first_s + scales.x_range;
        let ticks = multiples(step, scales.first_s / length, end_s / length)
            .map(|value| Tick { at: scales.x(value * length), label: label(value, digits) });
        Axis { unit: unit.to_vec(), ticks: distinct(ticks) }
    }

    /// Ticks at round values, all in the unit that suits the topmost.
    pub(super) fn y_axis(chart: &Chart, scales: &Scales) -> Axis {
        const PREFIXES: [&str; 7] = ["", "k", "M", "G", "T", "P", "E"];
        let step = nice_step(chart.y_range / 7.0);
        let mut divisor = 1.0;
        let mut prefix = PREFIXES.iter();
        let mut letter = prefix.next();
        while chart.y_range / divisor >= 1000.0 && prefix.len() > 0 {
            divisor *= 1000.0;
            letter = prefix.next();
        }
        let unit = if chart.header.value_unit == b"bytes" { "B" } else { "" };
        let suffix = format!(" {}{unit}", letter.unwrap_or(&""));
        let digits = digits_of(step / divisor);
        let ticks = multiples(step, 0.0, chart.y_range).map(|value| Tick {
            at: scales.graph.y + value * scales.y_scale,
            label: format!("{}{}", label(value / divisor, digits), suffix.trim_end()),
        });
        Axis { unit: chart.header.value_unit.clone(), ticks: distinct(ticks) }
    }

    /// A number beside a tick; one with more digits than there is room for as a power of ten.
    fn label(value: f64, digits: usize) -> String {
        const MOST: f64 = 1e6;
        if value.abs() < MOST { format!("{value:.digits$}") } else { format!("{value:.0e}") }
    }

    /// Without ticks that numbers as large as these cannot tell apart.
    fn distinct(ticks: impl Iterator<Item = Tick>) -> Vec<Tick> {
        let mut ticks: Vec<Tick> = ticks.collect();
        ticks.dedup_by(|tick, before| tick.label == before.label);
        ticks
    }

    /// An amount in full as long as its digits mean something, and with three digits if it is small.
    pub(super) fn number(value: f64) -> String {
        match value {
            ..10.0 => format!("{value:.2}").trim_end_matches('0').trim_end_matches('.').to_owned(),
            ..1e21 => grouped(&format!("{value:.0}")),
            _ => format!("{value:.3e}"),
        }
    }
}

/// `first`, `first + step` and so on, each added to the one before.
fn steps(first: f64, step: f64) -> impl Iterator<Item = f64> {
    std::iter::successors(Some(first), move |value| Some(value + step)).take(MOST_TICKS)
}

/// One, two or five times a power of ten, near `about` and not above it by rounding's leave.
fn nice_step(about: f64) -> f64 {
    /// No double takes more divisions or multiplications by ten.
    const MOST_POWERS: usize = 400;
    let (mut digit, mut down, mut up) = (about, 0, 0);
    while digit > 10.0 && down < MOST_POWERS {
        digit /= 10.0;
        down += 1;
    }
    while digit < 1.0 && up < MOST_POWERS {
        digit *= 10.0;
        up += 1;
    }
    let mut step = match digit {
        _ if digit > 4.0 => 5.0,
        _ if digit > 1.0 => 2.0,
        _ => 1.0,
    };
    // One power at a time, as GHC's tool does: the last digits depend on it.
    (0..down).for_each(|_| step *= 10.0);
    (0..up).for_each(|_| step /= 10.0);
    step
}

/// A whole number in groups of three. Negative ones, which only an overflow makes, are printed like GHC's
/// tool: the low 32 bits without groups.
fn with_commas(number: i64) -> String {
    if number < 1000 {
        return (number as i32).to_string();
    }
    format!("{},{:03}", with_commas(number / 1000), number % 1000)
}

/// Digits in groups of three.
fn grouped(digits: &str) -> String {
    let comma = |at: usize| at > 0 && (digits.len() - at).is_multiple_of(3);
    let parts = digits
        .char_indices()
        .map(|(at, digit)| if comma(at) { format!(",{digit}") } else { digit.to_string() });
    parts.collect()
}

fn key(bands: usize, graph_height: f64, place: KeyPlace) -> Vec<Vec<KeyEntry>> {
    let spread = graph_height / (bands as f64 + 1.0);
    match place {
        KeyPlace::Nowhere => Vec::new(),
        KeyPlace::OnGraph => vec![key_page(0..bands, GRAPH_PT.1, spread)],
        KeyPlace::OwnPages if bands <= KEY_PAGE_BANDS => vec![key_page(0..bands, 0.0, spread)],
        KeyPlace::OwnPages => (0..bands)
            .step_by(KEY_PAGE_BANDS)
            .map(|first| first..bands.min(first + KEY_PAGE_BANDS))
            .map(|page| key_page(page, 0.0, graph_height / KEY_PAGE_BANDS as f64))
            .collect(),
    }
}

fn key_page(bands: std::ops::Range<usize>, foot: f64, spread: f64) -> Vec<KeyEntry> {
    let mut y = foot;
    let mut entry = |band| {
        y += spread;
        KeyEntry { band, y }
    };
    bands.map(&mut entry).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_one_two_or_five_times_a_power_of_ten() {
        for (about, step) in
            [(1.0, 1.0), (1.1, 2.0), (4.0, 2.0), (4.1, 5.0), (10.0, 5.0), (11.0, 20.0), (1e6, 5e5)]
        {
            assert_eq!(nice_step(about), step, "{about}");
        }
        assert_eq!(nice_step(0.03), 0.02);
        assert!(nice_step(0.0) >= 0.0 && nice_step(1e300).is_finite());
    }

    #[test]
    fn numbers_are_grouped_by_three() {
        let groups = [(0, "0"), (999, "999"), (1000, "1,000"), (12_034_005, "12,034,005")];
        for (number, text) in groups.into_iter().chain([(-5, "-5"), (i64::MIN, "0")]) {
            assert_eq!(with_commas(number), text);
        }
        for (digits, text) in [
            ("7", "7"),
            ("123", "123"),
            ("1234", "1,234"),
            ("18446744073709551616", "18,446,744,073,709,551,616"),
        ] {
            assert_eq!(grouped(digits), text);
        }
    }
}
