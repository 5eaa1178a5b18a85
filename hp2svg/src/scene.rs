//! Where everything stands on the picture, in pixels. The origin is the upper left corner, y grows downward.

use hp2ps::metrics::{helvetica_width_pt, shorten};

use crate::colour::{self, Colour, Theme};
use crate::diff::Change;
use crate::reduce::Point;
use crate::ticks::{self, Axis, Tick};
use crate::trend::Verdict;
use crate::view::{Band, Kind, Mode, View};

/// The size of labels.
pub const FONT_PX: f64 = 12.0;
/// The size of the title.
pub const TITLE_FONT_PX: f64 = 16.0;
/// Between the edge of the picture and what is in it.
const MARGIN_PX: f64 = 16.0;
/// From one line of text to the next.
const LINE_PX: f64 = 18.0;
/// The title's two lines, and one for the label of the peak.
const HEAD_PX: f64 = 56.0;
/// The side of a box in the key.
pub const BOX_PX: f64 = 11.0;
/// The part of the width that the key takes at most.
const KEY_PART: f64 = 0.34;
/// The width of the key at least, if that is no more: the search field of a browser stands above it.
const LEAST_KEY_PX: f64 = 150.0;
/// Rows of the key are no lower than this.
const LEAST_ROW_PX: f64 = 13.0;
/// The width of the line of a band that is not stacked.
pub(crate) const LINE_WIDTH_PX: f64 = 1.75;
/// The line that rims all bands together; its lower half lies under them.
pub(crate) const TOTAL_WIDTH_PX: f64 = 2.0;
/// The line that sets a band off from the one above.
pub(crate) const BORDER_PX: f64 = 0.5;
/// How far such a line goes up and down at most, in widths of the graph.
const MOST_BORDER_TRAVEL: f64 = 20.0;
/// The labels of the time axis, and a line for its unit.
const FOOT_PX: f64 = 40.0;
/// How many leaks are named under the chart.
const NAMED_LEAKS: usize = 5;

/// A point of the picture.
pub type Px = (f64, f64);

/// How the picture looks.
#[derive(Clone, Debug)]
pub struct SceneOptions {
    /// Width and height, in pixels.
    pub size_px: (f64, f64),
    /// Instead of the JOB.
    pub title: Option<String>,
    /// Whether marks are left out.
    pub no_marks: bool,
    /// Fill bands with patterns for print without colour.
    pub pattern: bool,
    /// Instead of the view's own: the largest value and the time from left to right, so that charts can be compared.
    pub value_range: Option<f64>,
    /// As `value_range`.
    pub time_range_s: Option<f64>,
}

impl Default for SceneOptions {
    fn default() -> Self {
        SceneOptions {
            size_px: (1000.0, 560.0),
            title: None,
            no_marks: false,
            pattern: false,
            value_range: None,
            time_range_s: None,
        }
    }
}

/// A rectangle.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Rect {
    /// The left edge.
    pub x: f64,
    /// The upper edge.
    pub y: f64,
    /// To the right.
    pub width: f64,
    /// Downward.
    pub height: f64,
}

impl Rect {
    /// The right edge.
    pub fn right(&self) -> f64 {
        self.x + self.width
    }

    /// The lower edge.
    pub fn foot(&self) -> f64 {
        self.y + self.height
    }
}

/// A band as it is drawn.
#[derive(Clone, Debug)]
pub struct Shape {
    /// Its upper edge from left to right if bands are stacked, its line if not.
    pub edge: Vec<Px>,
    /// Its fill or the colour of its line.
    pub colour: Colour,
    /// Its pattern, by number, if patterns are asked for.
    pub pattern: Option<usize>,
}

/// A row of the key.
#[derive(Clone, Debug)]
pub struct KeyRow {
    /// Which band, by its place from the bottom up.
    pub band: usize,
    /// The middle of the row.
    pub y: f64,
    /// The name, its middle left out if it is long.
    pub label: String,
    /// Its peak, with unit.
    pub figure: String,
    /// Whether it grows steadily.
    pub grows: bool,
}

/// The key.
#[derive(Clone, Debug, Default)]
pub struct Key {
    /// Left edge of the boxes, of the names, and right edge of the figures.
    pub xs: (f64, f64, f64),
    /// From the top down, as bands lie.
    pub rows: Vec<KeyRow>,
    /// From one row to the next.
    pub row_px: f64,
    /// The size of its texts.
    pub font_px: f64,
    /// What is said at its foot about bands without a row.
    pub rest: Option<(f64, String)>,
}

/// A labelled place on a time.
#[derive(Clone, Debug)]
pub struct Flag {
    /// Where.
    pub at: Px,
    /// What it says.
    pub label: String,
    /// Whether the label stands left of it, as there is no room on the right.
    pub leftward: bool,
}

/// A laid-out chart.
#[derive(Clone, Debug)]
pub struct Scene {
    /// Width and height.
    pub size_px: (f64, f64),
    /// What is shown of each band.
    pub mode: Mode,
    /// What ran.
    pub title: String,
    /// What the chart shows, in a line.
    pub subtitle: String,
    /// When.
    pub date: String,
    /// Where the bands are.
    pub graph: Rect,
    /// From the bottom up.
    pub shapes: Vec<Shape>,
    /// The sum of all bands; empty if bands are not stacked by value.
    pub total: Vec<Px>,
    /// The place of zero.
    pub zero_y: f64,
    /// Below the graph.
    pub x_axis: Axis,
    /// Left of the graph.
    pub y_axis: Axis,
    /// The largest sum.
    pub peak: Option<Flag>,
    /// At the foot of the graph.
    pub marks: Vec<Flag>,
    /// Right of the graph.
    pub key: Key,
    /// Under the graph: the middle of each line and what it says; the first is the heading.
    pub notes: Vec<(f64, String)>,
    /// Seconds at the left edge of the graph, and per pixel.
    pub time_scale: (f64, f64),
    /// Values per pixel upward from `zero_y`.
    pub value_per_px: f64,
}

impl Scene {
    /// Lays a view out.
    pub fn new(view: &View, options: &SceneOptions) -> Scene {
        let (width, height) = options.size_px;
        let notes = notes(view, options.size_px);
        let key_width = key_width(view, width);
        let top = MARGIN_PX + HEAD_PX;
        let foot = height - MARGIN_PX - notes.len() as f64 * LINE_PX - FOOT_PX;
        let range = value_range(view, options);
        let y_axis = ticks::values(range, &view.header.value_unit, view.mode, (foot - top).max(1.0));
        let left = MARGIN_PX + widest(y_axis.ticks.iter().map(|tick| &*tick.label)) + 8.0;
        let graph = Rect {
            x: left,
            y: top,
            width: (width - MARGIN_PX - key_width - left).max(1.0),
            height: (foot - top).max(1.0),
        };
        let scales = Scales::new(view, options, graph, range);
        let colours = colours(view);
        let shapes = view.bands.iter().zip(colours).enumerate().map(|(at, (band, colour))| Shape {
            edge: scales.line(&band.curve),
            colour,
            pattern: options.pattern.then_some(at),
        });
        Scene {
            size_px: options.size_px,
            mode: view.mode,
            title: title(view, options, width),
            subtitle: subtitle(view, graph.right() - MARGIN_PX),
            date: lossy(&view.header.date),
            shapes: shapes.collect(),
            total: match view.mode {
                Mode::Stacked => scales.line(&view.total),
                _ => Vec::new(),
            },
            zero_y: scales.px(0.0, 0.0).1,
            x_axis: time_axis(view, &scales).placed(|time_s| scales.px(time_s, 0.0).0),
            y_axis: y_axis.placed(|value| scales.px(0.0, value).1),
            peak: peak(view, &scales),
            marks: if options.no_marks { Vec::new() } else { marks(view, &scales) },
            key: key(view, graph, width, key_width),
            notes,
            time_scale: (scales.window_s.0, (scales.window_s.1 - scales.window_s.0) / graph.width),
            value_per_px: (range.1 - range.0) / graph.height,
            graph,
        }
    }

    /// The colour of a band.
    pub fn colour(&self, band: usize) -> Colour {
        self.shapes[band].colour
    }
}

/// From times and values to pixels.
struct Scales {
    graph: Rect,
    window_s: (f64, f64),
    range: (f64, f64),
    /// Whether all samples have one time: it stands in the middle, and bands are as wide as the graph.
    at_once: bool,
}

impl Scales {
    fn new(view: &View, options: &SceneOptions, graph: Rect, range: (f64, f64)) -> Scales {
        let (from_s, to_s) = view.window_s;
        let width_s = options.time_range_s.unwrap_or(to_s - from_s);
        let at_once = width_s <= 0.0;
        let window_s = if at_once { (from_s - 0.5, from_s + 0.5) } else { (from_s, from_s + width_s) };
        Scales { graph, window_s, range, at_once }
    }

    fn line(&self, curve: &[Point]) -> Vec<Px> {
        let mut line: Vec<Px> = curve.iter().map(|&(time_s, value)| self.px(time_s, value)).collect();
        if let (true, Some(first), Some(last)) = (self.at_once, line.first().copied(), line.last().copied()) {
            line.insert(0, (self.graph.x, first.1));
            line.push((self.graph.right(), last.1));
        }
        line
    }

    fn px(&self, time_s: f64, value: f64) -> Px {
        let part = (time_s - self.window_s.0) / (self.window_s.1 - self.window_s.0);
        let height = (value - self.range.0) / (self.range.1 - self.range.0);
        (self.graph.x + part * self.graph.width, self.graph.foot() - height * self.graph.height)
    }
}

fn time_axis(view: &View, scales: &Scales) -> Axis {
    let axis = ticks::times(scales.window_s, &view.header.sample_unit, scales.graph.width);
    if !scales.at_once {
        return axis;
    }
    let value = view.window_s.0;
    Axis { ticks: vec![Tick { value, at: 0.0, label: value.to_string() }], ..axis }
}

/// The values at the foot and the top of the graph.
fn value_range(view: &View, options: &SceneOptions) -> (f64, f64) {
    let values = view.bands.iter().flat_map(|band| &band.curve).map(|point| point.1);
    let (least, largest) =
        values.fold((0.0, 0.0), |(low, high), value| (f64::min(low, value), f64::max(high, value)));
    let largest = match view.mode {
        Mode::Share | Mode::OwnPeak => 1.0,
        _ => options.value_range.unwrap_or(largest),
    };
    (least, if largest > least { largest } else { least + 1.0 })
}

fn colours(view: &View) -> Vec<Colour> {
    let named = |band: &&Band| band.kind == Kind::Named;
    let bands: Vec<(&[u8], f64)> =
        view.bands.iter().filter(named).map(|band| (&*band.name, band.share)).collect();
    let mut of_names = colour::of_bands(&bands).into_iter();
    let mut of_resident = colour::RESIDENT.into_iter().cycle();
    let colour = |band: &Band| match band.kind {
        Kind::Named => of_names.next(),
        Kind::Other(_) => Some(colour::OTHER),
        Kind::Resident => of_resident.next(),
    };
    view.bands.iter().map(colour).map(|colour| colour.unwrap_or(colour::OTHER)).collect()
}

fn title(view: &View, options: &SceneOptions, width: f64) -> String {
    let job = lossy(&view.header.job);
    let date = width_px(&lossy(&view.header.date), FONT_PX);
    let room = width - 3.0 * MARGIN_PX - date;
    shorten(options.title.as_deref().unwrap_or(&job), room, TITLE_FONT_PX)
}

/// What is shown, and what is most worth to know of it; less of that if there is no room.
fn subtitle(view: &View, room_px: f64) -> String {
    let unit = lossy(&view.header.value_unit);
    let amount = if unit == "bytes" { "live bytes" } else { &unit };
    let what = match view.mode {
        Mode::Stacked => format!("{amount} by band"),
        Mode::Lines => format!("{amount} of each band"),
        Mode::Share => "share of each band".to_owned(),
        Mode::OwnPeak => "each band against its own peak".to_owned(),
        Mode::Growth { since_s } => format!("growth of each band since {}", view.moment(since_s)),
        Mode::Change => format!("change of {amount} from the first profile to the second"),
    };
    let peak = ticks::amount(view.peak.value, &view.header.value_unit);
    let plural = |count: usize| if count == 1 { "" } else { "s" };
    let whose = if view.mode == Mode::Stacked { "peak" } else { "sum at most" };
    let peak = format!("{whose} {peak} at {}", view.moment(view.peak.time_s));
    let samples = format!("{} sample{}", view.samples, plural(view.samples));
    let leaks = match view.leaks.len() {
        0 => view.together.as_ref().map(|_| "all together grow steadily".to_owned()),
        1 => Some("1 band grows steadily".to_owned()),
        count => Some(format!("{count} bands grow steadily")),
    };
    let line = |parts: &[Option<&String>]| {
        let parts: Vec<&str> = parts.iter().flatten().map(|part| &***part).collect();
        parts.join(" · ")
    };
    let leaks = leaks.as_ref();
    let lines = [
        line(&[Some(&what), Some(&peak), Some(&samples), leaks]),
        line(&[Some(&what), Some(&peak), leaks]),
        line(&[Some(&peak), leaks]),
    ];
    let fits = |line: &&String| width_px(line, FONT_PX) <= room_px;
    lines.iter().find(fits).cloned().unwrap_or_else(|| shorten(&peak, room_px, FONT_PX))
}

/// The largest sum, labelled.
fn peak(view: &View, scales: &Scales) -> Option<Flag> {
    if view.mode != Mode::Stacked || view.peak.value <= 0.0 {
        return None;
    }
    let at = scales.px(view.peak.time_s, view.peak.value);
    let label = format!("peak {}", ticks::amount(view.peak.value, &view.header.value_unit));
    let leftward = at.0 + width_px(&label, FONT_PX) + 12.0 > scales.graph.right();
    Some(Flag { at, label, leftward })
}

/// The marks in the order of time; a label that would meet the one before is left out.
fn marks(view: &View, scales: &Scales) -> Vec<Flag> {
    let mut marks_s = view.marks_s.clone();
    marks_s.sort_by(f64::total_cmp);
    marks_s.dedup();
    let mut taken_to = f64::MIN;
    let flag = |time_s: f64| {
        let (x, _) = scales.px(time_s, 0.0);
        let label = view.moment(time_s);
        let width = width_px(&label, FONT_PX) + 6.0;
        let leftward = x + width > scales.graph.right();
        let ends = if leftward { (x - width, x) } else { (x, x + width) };
        let is_free = ends.0 >= taken_to;
        if is_free {
            taken_to = ends.1;
        }
        Flag { at: (x, scales.graph.y), label: if is_free { label } else { String::new() }, leftward }
    };
    marks_s.into_iter().map(flag).collect()
}

fn label_of(band: &Band) -> String {
    let name = lossy(&band.name);
    match band.kind {
        Kind::Other(count) => format!("{name} ({count} more)"),
        _ => name,
    }
}

/// What the key says of a band besides its name.
fn figure_of(view: &View, band: &Band) -> String {
    match view.mode {
        Mode::Share => format!("{:.0} %", band.share * 100.0),
        _ => ticks::amount(band.peak.value, &view.header.value_unit),
    }
}

fn key_width(view: &View, width: f64) -> f64 {
    let label = widest(view.bands.iter().map(label_of));
    let figure = widest(view.bands.iter().map(|band| figure_of(view, band)));
    let all = MARGIN_PX + BOX_PX + 6.0 + label + 14.0 + figure;
    all.max(LEAST_KEY_PX).min(width * KEY_PART)
}

fn key(view: &View, graph: Rect, width: f64, key_width: f64) -> Key {
    let count = view.bands.len();
    let room = ((graph.height / LEAST_ROW_PX) as usize).max(1);
    let shown = if count <= room { count } else { room - 1 };
    // Those with the largest areas have a row.
    let mut rows: Vec<usize> = (0..count).collect();
    rows.sort_by(|&a, &b| view.bands[b].share.total_cmp(&view.bands[a].share).then(b.cmp(&a)));
    rows.truncate(shown);
    rows.sort_unstable_by(|a, b| b.cmp(a));
    let row_px = (graph.height / (shown + usize::from(shown < count)).max(1) as f64).min(LINE_PX);
    let font_px = FONT_PX.min(row_px - 1.5);
    let left = width - MARGIN_PX - key_width + MARGIN_PX;
    let xs = (left, left + BOX_PX + 6.0, width - MARGIN_PX);
    let y_of = |row: usize| graph.y + (row as f64 + 0.5) * row_px;
    let rows = rows.into_iter().enumerate().map(|(row, at)| {
        let band = &view.bands[at];
        let figure = figure_of(view, band);
        let label_px = xs.2 - xs.1 - width_px(&figure, font_px) - 10.0;
        let grows = band.trend.is_some_and(|trend| trend.verdict == Verdict::GrowsSteadily);
        KeyRow { band: at, y: y_of(row), label: shorten(&label_of(band), label_px, font_px), figure, grows }
    });
    let rest = (shown < count).then(|| (y_of(shown), format!("and {} more", count - shown)));
    Key { xs, rows: rows.collect(), row_px, font_px, rest }
}

/// The lines under the graph: bands that grow steadily.
fn notes(view: &View, (width, height): (f64, f64)) -> Vec<(f64, String)> {
    /// What figures need.
    const FIGURES_PX: f64 = 260.0;
    let unit = &view.header.value_unit;
    let room_px = (width - FIGURES_PX).clamp(60.0, 420.0);
    let name = |name: &[u8]| isolated(&shorten(&lossy(name), room_px, FONT_PX));
    let change = |change: &Change| {
        let [before, after] = [change.before, change.after].map(|mean| ticks::amount(mean, unit));
        format!("{}: {before} → {after}", name(&change.name))
    };
    let changes: Vec<String> = view.changes.iter().take(NAMED_LEAKS).map(change).collect();
    if !changes.is_empty() {
        return lines_under("Changed most (means):", changes, height);
    }
    let lines = view.leaks.iter().take(NAMED_LEAKS).map(|(band, trend)| {
        format!(
            "{}: {} → {}, {}",
            name(band),
            ticks::amount(trend.start, unit),
            ticks::amount(trend.end, unit),
            view.rate(trend)
        )
    });
    let lines: Vec<String> = lines.collect();
    match view.leaks.len() {
        0 => match &view.together {
            None => Vec::new(),
            Some(trend) => {
                lines_under(&format!("All together grow steadily: {}", view.rate(trend)), Vec::new(), height)
            }
        },
        count if count > NAMED_LEAKS => {
            lines_under(&format!("Grow steadily ({NAMED_LEAKS} of {count}):"), lines, height)
        }
        _ => lines_under("Grow steadily:", lines, height),
    }
}

/// Lines at the foot of the picture, with the middle of each.
fn lines_under(heading: &str, mut lines: Vec<String>, height: f64) -> Vec<(f64, String)> {
    // Half of a low picture is for the graph.
    let room_px = height / 2.0 - 2.0 * MARGIN_PX - HEAD_PX - FOOT_PX;
    lines.truncate((room_px / LINE_PX - 1.0).max(0.0) as usize);
    if lines.is_empty() {
        return Vec::new();
    }
    lines.insert(0, heading.to_owned());
    let first = height - MARGIN_PX - lines.len() as f64 * LINE_PX;
    lines.into_iter().enumerate().map(|(at, line)| (first + (at as f64 + 0.5) * LINE_PX, line)).collect()
}

/// A text of the profile. Characters that only turn the direction of what follows are replaced: they would make one
/// name look like another.
pub(crate) fn lossy(text: &[u8]) -> String {
    String::from_utf8_lossy(text).replace(turns, "\u{fffd}")
}

fn turns(c: char) -> bool {
    matches!(c, '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// A text that changes the direction of nothing beside it, wherever it is written from right to left.
pub(crate) fn isolated(text: &str) -> String {
    // Nothing before Hebrew is.
    if text.chars().all(|c| c < '\u{590}') { text.to_owned() } else { format!("\u{2068}{text}\u{2069}") }
}

fn widest(texts: impl Iterator<Item = impl AsRef<str>>) -> f64 {
    texts.map(|text| width_px(text.as_ref(), FONT_PX)).fold(0.0, f64::max)
}

/// The width of a text in Helvetica, and in the fonts of the same widths that stand in for it.
pub fn width_px(text: &str, size_px: f64) -> f64 {
    helvetica_width_pt(text, size_px)
}

/// A part of the picture without meaning, for formats that know shapes and texts only.
#[derive(Clone, Debug)]
pub enum Primitive<'a> {
    /// A filled area, with a pattern's number instead of the plain colour if one is asked for.
    Area(Vec<Px>, Colour, Option<usize>),
    /// A line, with its width; dashed or not.
    Line(Vec<Px>, Colour, f64, bool),
    /// A text on a base line.
    Text {
        /// Where the base line begins, has its middle, or ends.
        at: Px,
        /// Where `at` is.
        anchor: Anchor,
        /// In pixels.
        size_px: f64,
        /// Its colour.
        colour: Colour,
        /// What it says.
        text: std::borrow::Cow<'a, str>,
    },
}

/// Which point of a text its place is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Anchor {
    /// The left end.
    Start,
    /// The middle.
    Middle,
    /// The right end.
    End,
}

impl Scene {
    /// Everything, from the back to the front.
    pub fn primitives(&self, theme: &Theme) -> Vec<Primitive<'_>> {
        let mut all = self.grid(theme);
        all.extend(self.bands(theme));
        all.extend(self.axes(theme));
        all.extend(self.marks.iter().flat_map(|mark| self.mark(mark, theme)));
        all.extend(self.peak.iter().flat_map(|peak| peak_flag(peak, theme)));
        all.extend(self.key.rows.iter().flat_map(|row| self.key_row(row, theme)));
        all.extend(self.key_rest(theme));
        all.extend(self.texts(theme));
        all
    }

    /// The polygon between a stacked band's edge and the one below it, or the foot of the graph.
    pub fn polygon(&self, band: usize) -> Vec<Px> {
        let edge = &self.shapes[band].edge;
        let below = band.checked_sub(1).map(|below| &self.shapes[below].edge);
        let foot =
            || [edge.last(), edge.first()].into_iter().flatten().map(|&(x, _)| (x, self.zero_y)).collect();
        let back: Vec<Px> = below.map_or_else(foot, |below| below.iter().rev().copied().collect());
        edge.iter().copied().chain(back).collect()
    }

    /// Lines through the graph at the ticks of values.
    pub(crate) fn grid(&self, theme: &Theme) -> Vec<Primitive<'_>> {
        let line =
            |y| Primitive::Line(vec![(self.graph.x, y), (self.graph.right(), y)], theme.grid, 1.0, false);
        self.y_axis.ticks.iter().map(|tick| line(tick.at)).collect()
    }

    fn bands(&self, theme: &Theme) -> Vec<Primitive<'_>> {
        // Bands hide the lower half of the line, so that it rims them and covers none where it goes up and down.
        let mut all = vec![Primitive::Line(self.rim().to_vec(), theme.text, TOTAL_WIDTH_PX, false)];
        for (at, shape) in self.shapes.iter().enumerate() {
            if self.is_stacked() {
                all.push(Primitive::Area(self.polygon(at), shape.colour, shape.pattern));
                if self.has_border(at) {
                    all.push(Primitive::Line(shape.edge.clone(), theme.background, BORDER_PX, false));
                }
            } else {
                let dashed = shape.pattern.is_some_and(|at| at % 2 == 1);
                all.push(Primitive::Line(shape.edge.clone(), shape.colour, LINE_WIDTH_PX, dashed));
            }
        }
        all
    }

    /// Whether a line along the upper edge of a band sets it off. The rim does so for the top one.
    pub(crate) fn has_border(&self, band: usize) -> bool {
        let edge = &self.shapes[band].edge;
        self.is_calm(edge) && edge != self.rim()
    }

    /// Whether an edge can have a line along it. On one that goes up and down in every column it would cover what
    /// it is to set off.
    fn is_calm(&self, edge: &[Px]) -> bool {
        let travel: f64 = edge.windows(2).map(|pair| (pair[1].1 - pair[0].1).abs()).sum();
        travel < MOST_BORDER_TRAVEL * self.graph.width
    }

    /// The upper edge of all bands together, if it is rimmed.
    pub(crate) fn rim(&self) -> &[Px] {
        if self.is_calm(&self.total) { &self.total } else { &[] }
    }

    /// Whether bands are areas on each other.
    pub fn is_stacked(&self) -> bool {
        self.mode.is_stacked()
    }

    fn axes(&self, theme: &Theme) -> Vec<Primitive<'_>> {
        let mut all = self.frame(theme);
        all.extend(self.x_axis.ticks.iter().flat_map(|tick| self.x_tick(tick, theme)));
        all.extend(self.y_axis.ticks.iter().map(|tick| self.y_tick(tick, theme)));
        all
    }

    /// The left edge and the foot of the graph, and the units beside them.
    pub(crate) fn frame(&self, theme: &Theme) -> Vec<Primitive<'_>> {
        let Rect { x, y, .. } = self.graph;
        let (right, foot) = (self.graph.right(), self.graph.foot());
        vec![
            Primitive::Line(vec![(x, y), (x, foot), (right, foot)], theme.muted, 1.0, false),
            text((right, foot + 33.0), Anchor::End, FONT_PX, theme.muted, &self.x_axis.unit),
            text((x, y - 6.0), Anchor::Start, FONT_PX, theme.muted, &self.y_axis.unit),
        ]
    }

    /// A tick of the time axis and its label.
    pub(crate) fn x_tick<'a>(&self, tick: &'a Tick, theme: &Theme) -> [Primitive<'a>; 2] {
        let foot = self.graph.foot();
        let line = vec![(tick.at, foot), (tick.at, foot + 4.0)];
        let label = text((tick.at, foot + 17.0), Anchor::Middle, FONT_PX, theme.muted, &tick.label);
        [Primitive::Line(line, theme.muted, 1.0, false), label]
    }

    /// The label of a tick of the value axis.
    pub(crate) fn y_tick<'a>(&self, tick: &'a Tick, theme: &Theme) -> Primitive<'a> {
        let at = (self.graph.x - 8.0, tick.at + MIDDLE * FONT_PX);
        text(at, Anchor::End, FONT_PX, theme.muted, &tick.label)
    }

    /// A dashed line through the graph and its label.
    pub(crate) fn mark<'a>(&self, mark: &'a Flag, theme: &Theme) -> [Primitive<'a>; 2] {
        let (x, y) = mark.at;
        let line = Primitive::Line(vec![(x, y), (x, self.graph.foot())], theme.text, 1.0, true);
        [line, mark.text(10.0, FONT_PX - 1.0, theme.text)]
    }

    /// The box, the name and the figure of a band, and an arrow if it grows steadily.
    pub(crate) fn key_row<'a>(&'a self, row: &'a KeyRow, theme: &Theme) -> Vec<Primitive<'a>> {
        let Key { xs, font_px, .. } = &self.key;
        let half = BOX_PX.min(*font_px) / 2.0;
        let base = row.y + MIDDLE * font_px;
        let (left, right) = (xs.0, xs.0 + 2.0 * half);
        let (top, foot) = (row.y - half, row.y + half);
        let shape = &self.shapes[row.band];
        let corners = vec![(left, top), (right, top), (right, foot), (left, foot)];
        let mut parts = vec![
            Primitive::Area(corners, shape.colour, shape.pattern),
            text((xs.1, base), Anchor::Start, *font_px, theme.text, &row.label),
            text((xs.2, base), Anchor::End, *font_px, theme.muted, &row.figure),
        ];
        if row.grows {
            // In the margin, pointing upward.
            let (x, y) = (xs.2 + 8.0, row.y);
            let arrow = vec![(x, y - 4.0), (x + 4.0, y + 3.0), (x - 4.0, y + 3.0)];
            parts.push(Primitive::Area(arrow, theme.accent, None));
        }
        parts
    }

    /// What the key says at its foot.
    pub(crate) fn key_rest(&self, theme: &Theme) -> Option<Primitive<'_>> {
        let Key { xs, font_px, rest, .. } = &self.key;
        let (y, rest) = rest.as_ref()?;
        Some(text((xs.1, y + MIDDLE * font_px), Anchor::Start, *font_px, theme.muted, rest))
    }

    /// The title, the line under it, the date, and the notes.
    pub(crate) fn texts(&self, theme: &Theme) -> Vec<Primitive<'_>> {
        let title = (MARGIN_PX, MARGIN_PX + TITLE_FONT_PX - 3.0);
        let date = (self.size_px.0 - MARGIN_PX, title.1);
        let mut all = vec![
            text(title, Anchor::Start, TITLE_FONT_PX, theme.text, &self.title),
            text(date, Anchor::End, FONT_PX, theme.muted, &self.date),
            text((MARGIN_PX, title.1 + LINE_PX), Anchor::Start, FONT_PX, theme.muted, &self.subtitle),
        ];
        if self.shapes.is_empty() {
            let middle = (self.graph.x + self.graph.width / 2.0, self.graph.y + self.graph.height / 2.0);
            all.push(text(middle, Anchor::Middle, FONT_PX, theme.muted, "no live bytes in these samples"));
        }
        for (at, (y, note)) in self.notes.iter().enumerate() {
            let colour = if at == 0 { theme.accent } else { theme.text };
            let left = MARGIN_PX + if at == 0 { 0.0 } else { 12.0 };
            all.push(text((left, y + MIDDLE * FONT_PX), Anchor::Start, FONT_PX, colour, note));
        }
        all
    }
}

/// A diamond at the largest sum and its label.
pub(crate) fn peak_flag<'a>(peak: &'a Flag, theme: &Theme) -> [Primitive<'a>; 2] {
    let (x, y) = peak.at;
    let diamond = vec![(x, y - 4.0), (x + 4.0, y), (x, y + 4.0), (x - 4.0, y)];
    [Primitive::Area(diamond, theme.accent, None), peak.text(-6.0, FONT_PX, theme.accent)]
}

/// From the middle of a line of text down to its base line, as part of the size.
pub const MIDDLE: f64 = 0.36;

impl Flag {
    /// The label beside its place, `down` pixels lower.
    fn text(&self, down: f64, size_px: f64, colour: Colour) -> Primitive<'_> {
        let (x, y) = self.at;
        let (anchor, aside) = if self.leftward { (Anchor::End, -6.0) } else { (Anchor::Start, 6.0) };
        text((x + aside, y + down), anchor, size_px, colour, &self.label)
    }
}

fn text(at: Px, anchor: Anchor, size_px: f64, colour: Colour, text: &str) -> Primitive<'_> {
    Primitive::Text { at, anchor, size_px, colour, text: text.into() }
}
