//! The arguments of the command, nothing else: the build makes the manual page and the completions of shells from
//! this file too.

use std::path::PathBuf;

use clap::{Args, Parser, ValueEnum};

/// What every chart command takes.
#[derive(Args, Clone, Debug)]
pub struct ChartArgs {
    /// Draw at most N bands, the rest as OTHER; 0 draws all of them
    #[arg(short = 'm', long = "bands", value_name = "N", default_value = "20", value_parser = band_limit)]
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
    /// Take ranges, order and, in hp2ps, shades from the .aux file that hp2ps left
    #[arg(short, long)]
    pub previous: bool,
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

/// The arguments of the `hp2ps` command.
#[derive(Clone, Debug, Parser)]
#[command(
    name = "hp2ps",
    version,
    about = "Draw an .hp heap profile as a PostScript chart",
    long_about = "Draw an .hp heap profile as a PostScript chart: R.hp becomes R.ps and R.aux in the current folder. \
                  The page is that of GHC's hp2ps; --modern draws one that is easier to read.",
    args_override_self = true,
    after_help = "Short flags are those of GHC's hp2ps, values attached: -m10, -e4in, -t0.5, -i-. -m0 (or -l) also leaves \
                  the key out.\n\n\
                  Examples:\n  \
                  hp2ps -c -m10 app.hp            the ten largest bands in colour, into app.ps\n  \
                  hp2ps -e4in -c app              an EPS four inches wide\n  \
                  hp2ps --modern -c app.hp        readable axes, short names, nothing dropped\n  \
                  hp2ps -c < app.hp | ps2pdf - app.pdf"
)]
pub struct PsArgs {
    #[command(flatten)]
    #[allow(missing_docs, reason = "a doc comment here would replace the help text")]
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
    /// Use the big title box
    #[arg(short, long = "big-title")]
    pub big_title: bool,
    /// Use the small title box
    #[arg(short, long = "small-title")]
    pub small_title: bool,
    /// Draw for reading, not as GHC does: --fold-trace --limit-by-area --names=32 --axes --text
    #[arg(long, help_heading = "Beyond GHC's hp2ps")]
    pub modern: bool,
    /// Put trace elements into OTHER, so that the height is the whole
    #[arg(long, help_heading = "Beyond GHC's hp2ps")]
    pub fold_trace: bool,
    /// Keep the largest bands by themselves whatever their order
    #[arg(long, help_heading = "Beyond GHC's hp2ps")]
    pub limit_by_area: bool,
    /// Leave the middle of names in the key out beyond N characters, 8 or more
    #[arg(long, value_name = "N", value_parser = name_chars, help_heading = "Beyond GHC's hp2ps")]
    pub names: Option<u16>,
    /// Put ticks at round values, with the digits and the unit they need
    #[arg(long, help_heading = "Beyond GHC's hp2ps")]
    pub axes: bool,
    /// Draw texts of any script, and measure them exactly
    #[arg(long, help_heading = "Beyond GHC's hp2ps")]
    pub text: bool,
    /// Print the manual page or the completions of a shell, and draw nothing
    #[arg(long, value_name = "WHAT", exclusive = true, help_heading = "Beyond GHC's hp2ps")]
    pub generate: Option<Generated>,
    /// Profile to draw, `.hp` may be left out; without one read standard input, write standard output
    #[arg(value_hint = clap::ValueHint::FilePath)]
    pub file: Option<PathBuf>,
}

/// What `--generate` prints.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Generated {
    /// A manual page in troff.
    Man,
    /// Completions of bash.
    Bash,
    /// Completions of zsh.
    Zsh,
    /// Completions of fish.
    Fish,
}

fn band_limit(text: &str) -> Result<usize, String> {
    text.parse().map_err(|_| format!("read `{text}`, expected a whole number of 0 or more"))
}

fn name_chars(text: &str) -> Result<u16, String> {
    let chars = text.parse().ok().filter(|chars| *chars >= 8);
    chars.ok_or_else(|| format!("read `{text}`, expected a whole number from 8 to 65535"))
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
    allowed.ok_or_else(|| {
        format!("read `{text}`, expected a width above 144 and below 1000000 pt such as 4in, 120mm or 300")
    })
}
