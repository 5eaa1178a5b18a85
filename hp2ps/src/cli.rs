//! The command line: GHC's flags with long names beside them. The only file here that names clap.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Parser, ValueEnum};

use crate::layout::{KeyPlace, PageOptions, TitleSize};
use crate::{BandOptions, NameOrder, Placement};

/// What every chart command takes.
#[derive(Args, Clone, Debug)]
pub struct ChartArgs {
    /// Draw at most N bands, the rest as OTHER; 0 draws all of them
    #[arg(short = 'm', long = "bands", value_name = "N", default_value_t = 20)]
    pub bands: usize,
    /// Drop trace elements, which together have less than PERCENT of the area; 0 to 5
    #[arg(short, long, value_name = "PERCENT", default_value = "1", value_parser = trace_percent)]
    pub trace: f64,
    /// Order bands by standard deviation, the roughest on top
    #[arg(short = 'd', long = "by-deviation")]
    pub by_deviation: bool,
    /// Order bands by name: + the greatest on top, - the smallest
    #[arg(short = 'i', long = "by-name", value_name = "+|-", num_args = 0..=1, require_equals = true,
          default_missing_value = "+")]
    pub by_name: Option<ByName>,
    /// Leave marks out
    #[arg(short = 'y', long = "no-marks")]
    pub no_marks: bool,
    /// Use the big title box
    #[arg(short, long = "big-title")]
    pub big_title: bool,
    /// Use the small title box
    #[arg(short, long = "small-title")]
    pub small_title: bool,
    /// Profile to draw, `.hp` may be left out; without one read standard input, write standard output
    pub file: Option<PathBuf>,
}

/// The values of `--by-name`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ByName {
    /// The greatest name on top.
    #[value(name = "+")]
    GreatestOnTop,
    /// The smallest name on top.
    #[value(name = "-")]
    SmallestOnTop,
}

impl ChartArgs {
    /// The choice and order of bands they ask for.
    pub fn band_options(&self) -> BandOptions {
        BandOptions {
            limit: self.bands,
            trace_percent: self.trace,
            by_deviation: self.by_deviation,
            by_name: self.by_name.map(|order| match order {
                ByName::GreatestOnTop => NameOrder::GreatestOnTop,
                ByName::SmallestOnTop => NameOrder::SmallestOnTop,
            }),
        }
    }
}

impl ChartArgs {
    /// The layout they ask for, with the key on the graph.
    pub fn page_options(&self) -> PageOptions {
        let title = match (self.big_title, self.small_title) {
            (true, _) => TitleSize::Big,
            (_, true) => TitleSize::Small,
            _ => TitleSize::ByJob,
        };
        PageOptions { title, no_marks: self.no_marks, ..PageOptions::default() }
    }
}

/// The arguments of the `hp2ps` command.
#[derive(Clone, Debug, Parser)]
#[command(
    name = "hp2ps",
    version,
    about = "Draw an .hp heap profile as a PostScript chart",
    long_about = "Draw an .hp heap profile as a PostScript chart: R.hp becomes R.ps and R.aux in the current folder.",
    args_override_self = true,
    after_help = "Short flags are those of GHC's hp2ps, values attached: -m10, -e4in, -t0.5, -i-. -m0 also leaves the key out."
)]
pub struct PsArgs {
    #[command(flatten)]
    #[expect(missing_docs, reason = "a doc comment here would replace the help text")]
    pub chart: ChartArgs,
    /// Draw in colour
    #[arg(short, long, visible_alias = "color")]
    pub colour: bool,
    /// Write encapsulated PostScript of this width: points, or with in, mm or pt; above 144 pt
    #[arg(short, long, value_name = "WIDTH", value_parser = eps_width_pt)]
    pub eps: Option<f64>,
    /// Place the page upright
    #[arg(short = 'g', long)]
    pub portrait: bool,
    /// Put the key on pages of its own; implied by more than 20 bands
    #[arg(short = 'M', long = "multi-page")]
    pub multi_page: bool,
    /// Take ranges, order and shades from the .aux file of the run before
    #[arg(short, long)]
    pub previous: bool,
}

impl PsArgs {
    /// The layout they ask for: more than 20 bands put the key on pages of its own, no limit removes it.
    pub fn page_options(&self) -> PageOptions {
        let key = match self.chart.bands {
            21.. => KeyPlace::OwnPages,
            _ if self.multi_page => KeyPlace::OwnPages,
            0 => KeyPlace::Nowhere,
            _ => KeyPlace::OnGraph,
        };
        PageOptions { key, ..self.chart.page_options() }
    }

    /// The place on paper they ask for.
    pub fn placement(&self) -> Placement {
        Placement { portrait: self.portrait, eps_width_pt: self.eps }
    }
}

fn trace_percent(text: &str) -> Result<f64, String> {
    let percent = text.parse().ok().filter(|percent| (0.0..=5.0).contains(percent));
    percent.ok_or_else(|| format!("read `{text}`, expected a number from 0 to 5"))
}

fn eps_width_pt(text: &str) -> Result<f64, String> {
    const UNITS: [(&str, f64); 4] = [("in", 72.0), ("mm", 2.834646), ("pt", 1.0), ("", 1.0)];
    let in_unit = |&(unit, points): &(&str, f64)| {
        let width: f64 = text.strip_suffix(unit)?.parse().ok()?;
        Some(width * points)
    };
    let width_pt = UNITS.iter().find_map(in_unit);
    let allowed = width_pt.filter(|&width_pt| width_pt > 144.0 && width_pt < 1e6);
    allowed.ok_or_else(|| format!("read `{text}`, expected a width above 144 pt such as 4in, 120mm or 300"))
}

/// Arguments for clap, and what was passed over in them.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Arguments {
    /// For clap, the program's name first.
    pub long: Vec<OsString>,
    /// Trailing letters without effect, in words.
    pub ignored: Vec<String>,
}

/// Turns GHC's groups of letters into long options.
///
/// In a group only `p` lets the next letter be a flag; every other letter takes the rest as its value
/// or, if it has none, leaves it without effect. A lone `-` means nothing.
///
/// ```
/// let arguments = hp2ps::cli::long_arguments(["hp2ps", "-pc", "-m10", "-i-", "run.hp"].map(Into::into));
/// assert_eq!(arguments.long, ["hp2ps", "--previous", "--colour", "--bands=10", "--by-name=-", "run.hp"]);
/// ```
pub fn long_arguments(arguments: impl IntoIterator<Item = OsString>) -> Arguments {
    let mut result = Arguments::default();
    let mut arguments = arguments.into_iter();
    result.long.extend(arguments.next());
    for argument in arguments.by_ref() {
        match argument.to_str().and_then(|text| text.strip_prefix('-')) {
            Some("-") => {
                result.long.push(argument);
                break;
            }
            Some(group) if !group.starts_with('-') => result.expand(group),
            _ => result.long.push(argument),
        }
    }
    result.long.extend(arguments);
    result
}

impl Arguments {
    fn expand(&mut self, group: &str) {
        let letters = group.trim_start_matches('p');
        if letters.len() < group.len() {
            self.long.push("--previous".into());
        }
        let Some(letter) = letters.chars().next() else {
            return;
        };
        let value = &letters[letter.len_utf8()..];
        let (long, takes_value) = match letter {
            'b' => ("--big-title".into(), false),
            'c' => ("--colour".into(), false),
            'd' => ("--by-deviation".into(), false),
            'g' => ("--portrait".into(), false),
            'M' => ("--multi-page".into(), false),
            's' => ("--small-title".into(), false),
            'y' => ("--no-marks".into(), false),
            'i' if value.starts_with('-') => ("--by-name=-".into(), value == "-"),
            'i' => ("--by-name=+".into(), value == "+"),
            'e' => (format!("--eps={value}"), true),
            // GHC's tool reads a missing number as 0.
            'm' | 't' if value.is_empty() => (format!("{}=0", valued(letter)), true),
            'm' | 't' => (format!("{}={value}", valued(letter)), true),
            '?' | 'h' => ("--help".into(), false),
            'V' => ("--version".into(), false),
            _ => (format!("-{letters}"), true),
        };
        if !takes_value && !value.is_empty() {
            self.ignored.push(format!("-{group}: `{value}` after `{letter}` has no effect"));
        }
        self.long.push(long.into());
    }
}

fn valued(letter: char) -> &'static str {
    if letter == 'm' { "--bands" } else { "--trace" }
}
