//! A chart as one self-contained SVG file: a whole picture where scripts and styles are not allowed, and one that
//! answers to pointer and keys where they are.
//!
//! Colours are attributes; styles only replace them in the dark scheme. Stacked bands are painted from the top one
//! down, each from the foot of the graph up to its upper edge, so that lower ones lie on it: half as long as
//! polygons, and without seams.

mod data;
mod path;
mod text;

use std::fmt::Write as _;
use std::io::{self, Write};

use crate::colour::{self, Colour, Theme};
use crate::hatch::{self, Dot};
use crate::scene::{
    Anchor, BORDER_PX, FONT_PX, Flag, LINE_WIDTH_PX, Primitive, Rect, Scene, TOTAL_WIDTH_PX, isolated,
    peak_flag,
};
use crate::ticks;
use crate::trend::Verdict;
use crate::view::{Band, Kind, View};
use path::{Above, Closed, Line};
pub(crate) use text::{Xml, readable};

/// The longest name in titles and data, in characters.
pub(crate) const NAME_CHARS: usize = 1000;
/// The longest name in a sentence.
const PHRASE_CHARS: usize = 80;
/// How many bands a description names.
const NAMED_BANDS: usize = 3;

const STYLE: &str = include_str!("assets/style.css");
const FORMAT_SCRIPT: &str = include_str!("assets/format.js");
const CHART_SCRIPT: &str = include_str!("assets/script.js");

/// The scheme of a picture.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ThemeChoice {
    /// That of the reader's desktop; light where that is not known.
    #[default]
    Auto,
    /// Dark on light.
    Light,
    /// Light on dark.
    Dark,
}

impl ThemeChoice {
    /// The colours of attributes.
    pub(crate) fn theme(self) -> &'static Theme {
        match self {
            ThemeChoice::Auto | ThemeChoice::Light => &colour::LIGHT,
            ThemeChoice::Dark => &colour::DARK,
        }
    }
}

/// Writes a laid-out view.
///
/// # Errors
/// What `out` reports.
///
/// ```
/// use hp2svg::scene::{Scene, SceneOptions};
/// use hp2svg::svg::{self, ThemeChoice};
/// use hp2svg::view::{View, ViewOptions};
/// let text = b"JOB \"j\" DATE \"d\" SAMPLE_UNIT \"seconds\" VALUE_UNIT \"bytes\"
/// BEGIN_SAMPLE 0.0 main 10 END_SAMPLE 0.0 BEGIN_SAMPLE 1.0 main 30 END_SAMPLE 1.0";
/// let view = View::read(&mut std::io::Cursor::new(text), &ViewOptions::default())?;
/// let mut out = Vec::new();
/// svg::write(&mut out, &view, &Scene::new(&view, &SceneOptions::default()), ThemeChoice::Auto)?;
/// assert!(String::from_utf8_lossy(&out).contains("<title>main\npeak 30 B at 1 s, mean 20 B, 100.0 % of the area</title>"));
/// # Ok::<(), hp2ps::Error>(())
/// ```
pub fn write(
    out: &mut (impl Write + ?Sized),
    view: &View,
    scene: &Scene,
    theme: ThemeChoice,
) -> io::Result<()> {
    write_panels(out, &[(view, scene)], theme)
}

/// Writes laid-out views side by side, the first on the left.
///
/// # Errors
/// What `out` reports.
pub fn write_panels(
    out: &mut (impl Write + ?Sized),
    panels: &[(&View, &Scene)],
    theme: ThemeChoice,
) -> io::Result<()> {
    writeln!(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>")?;
    write_element(out, panels, theme, "")
}

/// Writes the `svg` element, with more attributes if there are any.
pub(crate) fn write_element(
    out: &mut (impl Write + ?Sized),
    panels: &[(&View, &Scene)],
    theme: ThemeChoice,
    attributes: &str,
) -> io::Result<()> {
    let width: f64 = panels.iter().map(|(_, scene)| scene.size_px.0).sum();
    let height = panels.iter().map(|(_, scene)| scene.size_px.1).fold(0.0, f64::max);
    write!(out, "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"hp-chart\" role=\"img\" ")?;
    write!(out, "width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" ")?;
    write!(out, "aria-labelledby=\"hp-title hp-desc\" font-size=\"{FONT_PX}\" ")?;
    write!(out, "font-family=\"Helvetica, Arial, 'Liberation Sans', 'Nimbus Sans', sans-serif\"")?;
    writeln!(out, "{attributes}>")?;
    let titles: Vec<&str> = panels.iter().map(|(_, scene)| &*scene.title).collect();
    let descriptions: Vec<String> = panels.iter().map(|(view, _)| describe(view)).collect();
    writeln!(out, "<title id=\"hp-title\">{}</title>", Xml(&titles.join(", ")))?;
    writeln!(out, "<desc id=\"hp-desc\">{}</desc>", Xml(&descriptions.join(" ")))?;
    writeln!(out, "<style>{}</style>", style(theme))?;
    let mut left = 0.0;
    for (at, (view, scene)) in panels.iter().enumerate() {
        let mut panel = Panel { out, view, scene, theme, id: format!("hp{at}") };
        panel.write(left)?;
        left += scene.size_px.0;
    }
    writeln!(
        out,
        "<script><![CDATA[(function () {{\n'use strict';\n{FORMAT_SCRIPT}\n{CHART_SCRIPT}}})();]]></script>"
    )?;
    writeln!(out, "</svg>")
}

/// The rules of the file: those that are always so, and the colours of the dark scheme.
pub(crate) fn style(theme: ThemeChoice) -> String {
    let dark = rules(&colour::DARK);
    let by_desktop = match theme {
        ThemeChoice::Auto => format!("@media (prefers-color-scheme: dark) {{\n{dark}}}\n"),
        ThemeChoice::Light | ThemeChoice::Dark => String::new(),
    };
    format!("\n{}{by_desktop}{STYLE}", rules(theme.theme()))
}

fn rules(theme: &Theme) -> String {
    let mut rules = String::new();
    let mut variables = String::new();
    for (role, colour) in roles(theme) {
        let _ = write!(variables, "--hp-{role}:{colour};");
        let _ = writeln!(rules, ".hp-fill-{role}{{fill:{colour}}} .hp-line-{role}{{stroke:{colour}}}");
    }
    let scheme = if *theme == colour::DARK { "dark" } else { "light" };
    format!(
        ":root{{{variables}color-scheme:{scheme}}}\n.hp-chart:root{{background:{}}}\n{rules}",
        theme.background
    )
}

fn roles(theme: &Theme) -> [(&'static str, Colour); 5] {
    [
        ("background", theme.background),
        ("text", theme.text),
        ("muted", theme.muted),
        ("grid", theme.grid),
        ("accent", theme.accent),
    ]
}

/// What the picture shows, for readers who do not see it.
fn describe(view: &View) -> String {
    let unit = &view.header.value_unit;
    let name = |name: &[u8]| isolated(&readable(name, PHRASE_CHARS));
    let mut largest: Vec<&Band> = view.bands.iter().filter(|band| band.kind == Kind::Named).collect();
    largest.sort_by(|a, b| b.share.total_cmp(&a.share));
    let largest = largest
        .iter()
        .take(NAMED_BANDS)
        .map(|band| format!("{} ({:.0} %)", name(&band.name), band.share * 100.0));
    let leaks = view.leaks.iter().take(NAMED_BANDS);
    let leaks = leaks.map(|(band, trend)| format!("{} ({})", name(band), view.rate(trend)));
    let list = |what: &str, items: Vec<String>| match &items[..] {
        [] => String::new(),
        items => format!(" {what}: {}.", items.join(", ")),
    };
    format!(
        "Heap profile of {}, {} samples from {} to {}. Peak {} at {}.{}{}",
        name(&view.header.job),
        view.samples,
        view.moment(view.window_s.0),
        view.moment(view.window_s.1),
        ticks::amount(view.peak.value, unit),
        view.moment(view.peak.time_s),
        list("Largest bands", largest.collect()),
        list("Growing steadily", leaks.collect())
    )
}

/// What is said of a band under the pointer.
fn band_title(view: &View, band: &Band) -> String {
    let unit = &view.header.value_unit;
    let count = match band.kind {
        Kind::Other(count) => format!(" ({count} more)"),
        _ => String::new(),
    };
    let growth = match &band.trend {
        Some(trend) if trend.verdict == Verdict::GrowsSteadily => {
            format!(", grows steadily, {}", view.rate(trend))
        }
        _ => String::new(),
    };
    format!(
        "{}{count}\npeak {} at {}, mean {}, {:.1} % of the area{growth}",
        readable(&band.name, NAME_CHARS),
        ticks::amount(band.peak.value, unit),
        view.moment(band.peak.time_s),
        ticks::amount(band.mean, unit),
        band.share * 100.0
    )
}

/// Writes one chart.
struct Panel<'a, W: Write + ?Sized> {
    out: &'a mut W,
    view: &'a View,
    scene: &'a Scene,
    theme: ThemeChoice,
    /// What ids begin with.
    id: String,
}

impl<W: Write + ?Sized> Panel<'_, W> {
    fn write(&mut self, left: f64) -> io::Result<()> {
        let (scene, theme) = (self.scene, self.theme.theme());
        let label = Xml(&scene.title).to_string();
        writeln!(self.out, "<g class=\"hp-panel\" aria-label=\"{label}\"{}>", shift(left))?;
        self.definitions()?;
        let (width, height) = scene.size_px;
        let paint = paint("fill", theme.background, theme);
        writeln!(self.out, "<rect width=\"{width}\" height=\"{height}\"{paint}/>")?;
        self.group("hp-grid", "", scene.grid(theme))?;
        self.bands()?;
        self.group("hp-frame", "", scene.frame(theme))?;
        self.group("hp-x", "", scene.x_axis.ticks.iter().flat_map(|tick| scene.x_tick(tick, theme)))?;
        self.group("hp-y", "", scene.y_axis.ticks.iter().map(|tick| scene.y_tick(tick, theme)))?;
        self.flags()?;
        self.key()?;
        self.group("hp-texts", "", scene.texts(theme))?;
        write!(self.out, "<script type=\"application/json\" class=\"hp-data\">")?;
        data::write(self.out, self.view, scene, self.theme)?;
        writeln!(self.out, "</script>\n</g>")
    }

    fn group<'a>(
        &mut self,
        class: &str,
        attributes: &str,
        parts: impl IntoIterator<Item = Primitive<'a>>,
    ) -> io::Result<()> {
        writeln!(self.out, "<g class=\"{class}\"{attributes}>")?;
        parts.into_iter().try_for_each(|part| self.primitive(&part))?;
        writeln!(self.out, "</g>")
    }

    fn primitive(&mut self, primitive: &Primitive<'_>) -> io::Result<()> {
        let theme = self.theme.theme();
        match primitive {
            Primitive::Area(points, colour, pattern) => {
                let fill = self.fill(*colour, *pattern);
                writeln!(self.out, "<path d=\"{}\"{fill}/>", Closed(points))
            }
            Primitive::Line(points, ..) if points.is_empty() => Ok(()),
            Primitive::Line(points, colour, width, dashed) => {
                let dashes = if *dashed { " stroke-dasharray=\"3 3\"" } else { "" };
                let paint = paint("stroke", *colour, theme);
                write!(self.out, "<path d=\"{}\" fill=\"none\"{paint}", Line(points))?;
                writeln!(self.out, " stroke-width=\"{width}\"{dashes}/>")
            }
            Primitive::Text { text, .. } if text.is_empty() => Ok(()),
            Primitive::Text { at: (x, y), anchor, size_px, colour, text } => {
                write!(self.out, "<text x=\"{x:.1}\" y=\"{y:.1}\"{}", anchor_attribute(*anchor))?;
                if *size_px != FONT_PX {
                    write!(self.out, " font-size=\"{size_px:.1}\"")?;
                }
                writeln!(self.out, "{}>{}</text>", paint("fill", *colour, theme), Xml(text))
            }
        }
    }

    /// The attribute that fills an area of a band, or another one.
    fn fill(&self, colour: Colour, band: Option<usize>) -> String {
        match band {
            Some(band) => format!(" fill=\"url(#{}-pattern{band})\"", self.id),
            None => paint("fill", colour, self.theme.theme()),
        }
    }

    /// The outline of the graph, and the patterns in use.
    fn definitions(&mut self) -> io::Result<()> {
        let (id, graph) = (&self.id, &self.scene.graph);
        write!(
            self.out,
            "<defs>\n<clipPath id=\"{id}-clip\"><rect x=\"{:.1}\" y=\"{:.1}\" ",
            graph.x, graph.y
        )?;
        writeln!(self.out, "width=\"{:.1}\" height=\"{:.1}\"/></clipPath>", graph.width, graph.height)?;
        for (band, shape) in self.scene.shapes.iter().enumerate() {
            if let Some(number) = shape.pattern {
                self.pattern(band, number)?;
            }
        }
        writeln!(self.out, "</defs>")
    }

    fn pattern(&mut self, band: usize, number: usize) -> io::Result<()> {
        let hatch = hatch::of(number);
        let side = hatch.side_px;
        let (ground, ink) = hatch::inks(self.scene.colour(band), self.theme.theme());
        write!(self.out, "<pattern id=\"{}-pattern{band}\" width=\"{side}\" height=\"{side}\" ", self.id)?;
        write!(self.out, "patternUnits=\"userSpaceOnUse\"><rect width=\"{side}\" height=\"{side}\" ")?;
        write!(self.out, "fill=\"{ground}\"/>")?;
        let tile = Rect { x: 0.0, y: 0.0, width: side, height: side };
        for line in hatch.lines(tile) {
            let ends = [line.from, line.to];
            write!(self.out, "<path d=\"{}\" stroke=\"{ink}\" ", Line(&ends))?;
            write!(self.out, "stroke-width=\"{}\"/>", line.width_px)?;
        }
        for Dot { at: (x, y), radius_px } in hatch.dots(tile) {
            write!(self.out, "<circle cx=\"{x}\" cy=\"{y}\" r=\"{radius_px}\" fill=\"{ink}\"/>")?;
        }
        writeln!(self.out, "</pattern>")
    }

    fn bands(&mut self) -> io::Result<()> {
        let (scene, theme) = (self.scene, self.theme.theme());
        let patterns = scene.shapes.iter().any(|shape| shape.pattern.is_some());
        let border = if patterns { theme.text } else { theme.background };
        let paint = classed("hp-bands", "stroke", border, theme);
        writeln!(self.out, "<g class=\"hp-graph\" clip-path=\"url(#{}-clip)\">", self.id)?;
        writeln!(self.out, "<g{paint} stroke-width=\"{BORDER_PX}\" stroke-linejoin=\"round\">")?;
        let live = self.view.bands.iter().take_while(|band| band.kind != Kind::Resident).count();
        // From the top down, as lower ones are to lie on higher ones.
        (live..scene.shapes.len()).rev().try_for_each(|band| self.band(band))?;
        self.total()?;
        (0..live).rev().try_for_each(|band| self.band(band))?;
        writeln!(self.out, "</g>\n</g>")
    }

    /// The upper edge of all live bands; its lower half is painted over by them.
    fn total(&mut self) -> io::Result<()> {
        let rim = self.scene.rim();
        if rim.is_empty() {
            return Ok(());
        }
        let theme = self.theme.theme();
        let paint = classed("hp-total", "stroke", theme.text, theme);
        write!(self.out, "<path{paint} pointer-events=\"none\" fill=\"none\" ")?;
        writeln!(self.out, "stroke-width=\"{TOTAL_WIDTH_PX}\" d=\"{}\"/>", Line(rim))
    }

    fn band(&mut self, band: usize) -> io::Result<()> {
        let scene = self.scene;
        let shape = &scene.shapes[band];
        let title = Xml(&band_title(self.view, &self.view.bands[band])).to_string();
        write!(self.out, "<path class=\"hp-band\" data-band=\"{band}\" d=\"")?;
        if scene.is_stacked() {
            let above = Above { edge: &shape.edge, foot: scene.zero_y };
            let border = if scene.has_border(band) { "" } else { " stroke=\"none\"" };
            write!(self.out, "{above}\"{}{border}", self.fill(shape.colour, shape.pattern.map(|_| band)))?;
        } else {
            write!(self.out, "{}\" fill=\"none\" stroke=\"{}\"", Line(&shape.edge), shape.colour)?;
            write!(self.out, " stroke-width=\"{LINE_WIDTH_PX}\"{}", dashes(shape.pattern))?;
        }
        writeln!(self.out, "><title>{title}</title></path>")
    }

    /// The marks and the peak. Their labels have a rim, as they stand on bands.
    fn flags(&mut self) -> io::Result<()> {
        let (scene, theme) = (self.scene, self.theme.theme());
        let rim = classed("hp-flags", "stroke", theme.background, theme);
        let mark = |flag: &Flag| format!(" data-x=\"{:.1}\"", flag.at.0);
        write!(self.out, "<g{rim} pointer-events=\"none\" paint-order=\"stroke\" ")?;
        writeln!(self.out, "stroke-linejoin=\"round\" stroke-width=\"3\">")?;
        for flag in &scene.marks {
            self.group("hp-mark", &mark(flag), scene.mark(flag, theme))?;
        }
        if let Some(flag) = &scene.peak {
            self.group("hp-peak", &mark(flag), peak_flag(flag, theme))?;
        }
        writeln!(self.out, "</g>")
    }

    fn key(&mut self) -> io::Result<()> {
        let (scene, theme) = (self.scene, self.theme.theme());
        writeln!(self.out, "<g class=\"hp-key\">")?;
        for row in &scene.key.rows {
            let (band, y) = (row.band, row.y);
            writeln!(self.out, "<g class=\"hp-row\" data-band=\"{band}\" data-y=\"{y:.1}\">")?;
            let title = band_title(self.view, &self.view.bands[row.band]);
            writeln!(self.out, "<title>{}</title>", Xml(&title))?;
            scene.key_row(row, theme).iter().try_for_each(|part| self.primitive(part))?;
            writeln!(self.out, "</g>")?;
        }
        scene.key_rest(theme).iter().try_for_each(|rest| self.primitive(rest))?;
        writeln!(self.out, "</g>")
    }
}

/// The attribute of a colour, and if it is one of the theme, the class that changes it in the dark scheme.
fn paint(attribute: &str, colour: Colour, theme: &Theme) -> String {
    classed("", attribute, colour, theme)
}

/// As [`paint`], with one more class.
fn classed(class: &str, attribute: &str, colour: Colour, theme: &Theme) -> String {
    let kind = if attribute == "fill" { "fill" } else { "line" };
    let role = roles(theme).into_iter().find(|(_, known)| *known == colour);
    let classes = role.map_or(String::new(), |(role, _)| format!("hp-{kind}-{role}"));
    match [class, &classes].join(" ").trim() {
        "" => format!(" {attribute}=\"{colour}\""),
        classes => format!(" class=\"{classes}\" {attribute}=\"{colour}\""),
    }
}

fn shift(left: f64) -> String {
    if left == 0.0 { String::new() } else { format!(" transform=\"translate({left} 0)\"") }
}

fn anchor_attribute(anchor: Anchor) -> &'static str {
    match anchor {
        Anchor::Start => "",
        Anchor::Middle => " text-anchor=\"middle\"",
        Anchor::End => " text-anchor=\"end\"",
    }
}

/// Lines told apart without colour.
fn dashes(pattern: Option<usize>) -> &'static str {
    const DASHES: [&str; 4] =
        ["", " stroke-dasharray=\"7 3\"", " stroke-dasharray=\"2 3\"", " stroke-dasharray=\"9 3 2 3\""];
    pattern.map_or("", |number| DASHES[number % DASHES.len()])
}
