//! The command line: GHC's flags with long names beside them.

use std::ffi::OsString;
use std::io;
use std::process::ExitCode;

use clap::Parser;

pub use crate::args::{ByName, ChartArgs, Generated, PsArgs};
use crate::files::say;
use crate::layout::{KeyPlace, PageOptions, Style, TitleSize};
use crate::{BandOptions, NameOrder, Placement};

/// The length of names in the key with `--modern`.
const MODERN_NAME_CHARS: u16 = 32;

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
            ..BandOptions::default()
        }
    }
}

impl PsArgs {
    /// The choice and order of bands they ask for.
    pub fn band_options(&self) -> BandOptions {
        BandOptions {
            fold_trace: self.fold_trace || self.modern,
            limit_by_area: self.limit_by_area || self.modern,
            mend: self.modern,
            ..self.chart.band_options()
        }
    }

    /// The layout they ask for: more than 20 bands put the key on pages of its own, no limit removes it.
    pub fn page_options(&self) -> PageOptions {
        let key = match self.chart.bands {
            21.. => KeyPlace::OwnPages,
            _ if self.multi_page => KeyPlace::OwnPages,
            0 => KeyPlace::Nowhere,
            _ => KeyPlace::OnGraph,
        };
        let title = match (self.big_title, self.small_title) {
            (true, _) => TitleSize::Big,
            (_, true) => TitleSize::Small,
            _ => TitleSize::ByJob,
        };
        let style = |readable| if readable || self.modern { Style::Readable } else { Style::Ghc };
        let names = self.names.or(self.modern.then_some(MODERN_NAME_CHARS));
        PageOptions {
            key,
            text: style(self.text),
            axes: style(self.axes),
            fills: style(false),
            name_chars: names.map(usize::from),
            title,
            no_marks: self.chart.no_marks,
        }
    }

    /// The place on paper they ask for.
    pub fn placement(&self) -> Placement {
        Placement { portrait: self.portrait, eps_width_pt: self.eps }
    }
}

impl Generated {
    /// The text, as the build made it.
    pub fn text(self) -> &'static [u8] {
        match self {
            Generated::Man => include_bytes!(concat!(env!("OUT_DIR"), "/hp2ps.1")),
            Generated::Bash => include_bytes!(concat!(env!("OUT_DIR"), "/hp2ps.bash")),
            Generated::Zsh => include_bytes!(concat!(env!("OUT_DIR"), "/_hp2ps")),
            Generated::Fish => include_bytes!(concat!(env!("OUT_DIR"), "/hp2ps.fish")),
        }
    }
}

/// The arguments of this process, or the code to leave with: 2 for a wrong option, 0 for help and version if they
/// could be printed. Trailing letters without effect are pointed out on stderr.
///
/// # Errors
/// The exit code, everything having been said.
pub fn arguments_or_exit<T: Parser>(program: &str) -> Result<T, ExitCode> {
    let arguments = long_arguments(std::env::args_os());
    match T::try_parse_from(arguments.long) {
        Ok(parsed) => {
            arguments.ignored.iter().for_each(|ignored| say(program, &format!("warning: {ignored}")));
            Ok(parsed)
        }
        Err(message) => Err(match message.print() {
            Err(error) if !message.use_stderr() && error.kind() != io::ErrorKind::BrokenPipe => {
                say(program, &format!("stdout: {error}"));
                ExitCode::FAILURE
            }
            _ => ExitCode::from(u8::try_from(message.exit_code()).unwrap_or(2)),
        }),
    }
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
            // Standard output, if an option before it wants a name.
            Some("") if result.long.last().is_some_and(|last| last == "-o" || last == "--output") => {
                result.long.push(argument);
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
            // Of the tool's older manual: all bands, no key.
            'l' => ("--bands=0".into(), false),
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
