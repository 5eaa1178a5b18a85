//! The arguments of the command, nothing else: the build makes the manual page and the completions of shells from
//! this file too.

use std::path::PathBuf;

use clap::{Parser, ValueEnum};
use hp2ps::cli::{ChartArgs, Generated};

/// The arguments of the `hp2svg` command.
#[derive(Clone, Debug, Parser)]
#[command(
    name = "hp2svg",
    version,
    about = "Draw an .hp heap profile as an interactive SVG chart, or as HTML, PDF or PNG",
    long_about = "Draw an .hp heap profile as an interactive SVG chart, or as HTML, PDF or PNG: R.hp becomes R.svg in the \
                  current folder. Bands that grow steadily are named under the chart.",
    args_override_self = true,
    after_help = "Short flags are those of GHC's hp2ps, values attached: -m10, -t0.5, -i-.\n\n\
                  Examples:\n  \
                  hp2svg app.hp                        app.svg, for any browser\n  \
                  hp2svg --leaks app.hp                the bands that grow steadily; exit code 3 if there are any\n  \
                  hp2svg -o chart.png --theme=dark app.hp\n  \
                  hp2svg --from=10s --to=1min --only='cache|pool' app.hp\n  \
                  hp2svg --uniform=both before.hp after.hp -o both.svg\n  \
                  hp2svg --diff before.hp after.hp -o change.svg\n  \
                  hp2svg --follow app.hp               drawn again while the program runs"
)]
pub struct SvgArgs {
    #[command(flatten)]
    #[allow(missing_docs, reason = "a doc comment here would replace the help text")]
    pub chart: ChartArgs,
    /// What is shown of each band
    #[arg(long, value_enum, default_value_t = ModeArg::Stacked)]
    pub mode: ModeArg,
    /// With --mode=growth: the time from which on growth counts
    #[arg(long, value_name = "TIME", value_parser = time_s)]
    pub since: Option<f64>,
    /// Show what happened from this time on: seconds, or with ms, s, min or h
    #[arg(long, value_name = "TIME", value_parser = time_s)]
    pub from: Option<f64>,
    /// Show what happened up to this time
    #[arg(long, value_name = "TIME", value_parser = time_s)]
    pub to: Option<f64>,
    /// Show only bands whose names match
    #[arg(long, value_name = "REGEX", value_parser = regex)]
    pub only: Option<regex::bytes::Regex>,
    /// Show no bands whose names match
    #[arg(long, value_name = "REGEX", value_parser = regex)]
    pub hide: Option<regex::bytes::Regex>,
    /// Say this instead of the program's name
    #[arg(long, value_name = "TEXT")]
    pub title: Option<String>,
    /// Width and height in pixels; a PNG has twice as many
    #[arg(long, value_name = "WxH", default_value = "1000x560", value_parser = size_px)]
    pub size: (f64, f64),
    /// Light or dark; auto follows the viewer where the format can
    #[arg(long, value_enum, default_value_t = ThemeArg::Auto)]
    pub theme: ThemeArg,
    /// Fill bands with patterns, for print without colour
    #[arg(long)]
    pub pattern: bool,
    /// What to write; otherwise the ending of the output's name decides
    #[arg(long, value_enum)]
    pub format: Option<Format>,
    /// Short for --format=html: the chart with a table of its bands
    #[arg(long, conflicts_with = "format")]
    pub html: bool,
    /// Write this file, `-` for standard output
    #[arg(short, long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub output: Option<PathBuf>,
    /// Print the bands that grow steadily and draw nothing; leave with 3 if there are any
    #[arg(long, conflicts_with_all = ["output", "format", "html", "follow"])]
    pub leaks: bool,
    /// Several profiles side by side: on one scale of these
    #[arg(long, value_enum, default_value_t = Uniform::None)]
    pub uniform: Uniform,
    /// Two profiles: what grew and what shrank from the first to the second
    #[arg(long, conflicts_with_all = ["leaks", "follow"])]
    pub diff: bool,
    /// Draw again whenever the profile has grown, until interrupted
    #[arg(long)]
    pub follow: bool,
    /// Print the manual page or the completions of a shell, and draw nothing
    #[arg(long, value_name = "WHAT", exclusive = true)]
    pub generate: Option<Generated>,
    /// Profiles to draw, `.hp` may be left out; without one read standard input, write standard output
    #[arg(value_hint = clap::ValueHint::FilePath)]
    pub files: Vec<PathBuf>,
}

/// The values of `--mode`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ModeArg {
    /// Bands on top of each other
    Stacked,
    /// A line for each
    Lines,
    /// Bands on top of each other as shares of their sum
    Share,
    /// A line for each, against its own peak
    OwnPeak,
    /// A line for each, less its value at --since
    Growth,
}

/// The values of `--theme`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ThemeArg {
    /// As the viewer has it, else light
    Auto,
    /// Dark on light
    Light,
    /// Light on dark
    Dark,
}

/// The values of `--format`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// A picture for browsers and documents, interactive where scripts run
    Svg,
    /// The same in a page with a table
    Html,
    /// For papers and print
    Pdf,
    /// For chats
    Png,
}

/// The values of `--uniform`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Uniform {
    /// Each on its own scale
    None,
    /// The same length of time
    Time,
    /// The same amount of memory
    Memory,
    /// Both the same
    Both,
}

fn regex(text: &str) -> Result<regex::bytes::Regex, String> {
    let reason = |error: regex::Error| error.to_string().lines().last().unwrap_or_default().to_owned();
    regex::bytes::Regex::new(text)
        .map_err(|error| format!("read `{text}`, expected a regular expression ({})", reason(error)))
}

fn time_s(text: &str) -> Result<f64, String> {
    const UNITS: [(&str, f64); 6] =
        [("ms", 1e-3), ("us", 1e-6), ("min", 60.0), ("h", 3600.0), ("s", 1.0), ("", 1.0)];
    let in_unit = |&(unit, length_s): &(&str, f64)| {
        let time: f64 = text.strip_suffix(unit)?.trim_end().parse().ok()?;
        Some(time * length_s)
    };
    let time_s = UNITS.iter().find_map(in_unit).filter(|time_s| (0.0..1e15).contains(time_s));
    time_s.ok_or_else(|| format!("read `{text}`, expected a time of 0 or more such as 12.5, 300ms or 2min"))
}

fn size_px(text: &str) -> Result<(f64, f64), String> {
    const LEAST: (f64, f64) = (400.0, 260.0);
    const MOST: f64 = 20_000.0;
    let side = |text: &str, least: f64| {
        let side: f64 = text.parse().ok()?;
        ((least..=MOST).contains(&side) && side.fract() == 0.0).then_some(side)
    };
    let size =
        text.split_once('x').and_then(|(width, height)| side(width, LEAST.0).zip(side(height, LEAST.1)));
    size.ok_or_else(|| format!("read `{text}`, expected pixels from 400x260 to 20000x20000 such as 1000x560"))
}
