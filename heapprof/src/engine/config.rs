//! Settings and where they come from: environment over `heapprof.toml` over builder over defaults.
//!
//! One table, [`KEYS`], names every setting with its variable and its key in the file, what it
//! accepts and how it is read; the documentation's table is checked against it by a test.

use std::time::Duration;

use crate::error::{Error, Kind, cut};
use crate::options::{Breakdown, Clock, Sampler};

use super::capture::DEPTH_MAX;
use super::mode::{STACKS_DEFAULT, STACKS_RANGE, Switch};
use super::os;

/// All settings, decided.
#[derive(Clone, Debug)]
pub(crate) struct Config {
    pub(crate) interval: Duration,
    pub(crate) tick: Duration,
    pub(crate) output: String,
    /// None: call sites until a cost centre is entered, then stacks.
    pub(crate) breakdowns: Vec<Breakdown>,
    pub(crate) select: Vec<Selector>,
    pub(crate) depth: usize,
    pub(crate) sample: Sample,
    pub(crate) symbols: Symbols,
    pub(crate) clock: Clock,
    pub(crate) sampler: Sampler,
    pub(crate) stacks: u32,
    pub(crate) samples: u32,
    pub(crate) name_chars: usize,
    pub(crate) resident: bool,
    pub(crate) own: bool,
    pub(crate) quiet: bool,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            interval: Duration::from_secs(1),
            tick: Duration::from_millis(1),
            output: String::from("%e"),
            breakdowns: Vec::new(),
            select: Vec::new(),
            depth: 32,
            sample: Sample::AsNeeded,
            symbols: Symbols::InRun,
            clock: Clock::Elapsed,
            sampler: Sampler::Thread,
            stacks: STACKS_DEFAULT,
            samples: 5_000,
            name_chars: 60,
            resident: false,
            own: false,
            quiet: false,
        }
    }
}

/// Which blocks get their call sites.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Sample {
    /// All of them by frame pointers; without those a sample, beside exact totals.
    AsNeeded,
    /// All of them, whatever it costs.
    Off,
    /// One in so many bytes, and no other block is counted.
    Bytes(u64),
}

/// Where the names of call sites come from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Symbols {
    /// From the debug information of the loaded files, while the program runs.
    InRun,
    /// From a tool, later: bands are addresses.
    Offline,
}

/// A pattern that blocks must match to be in the profile.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Selector {
    pub(crate) breakdown: Breakdown,
    /// With `*` for any text and `?` for any character.
    pub(crate) pattern: String,
}

/// One setting: its key in `heapprof.toml`, its variable, what it accepts, and how it is read.
pub(crate) struct Key {
    pub(crate) key: &'static str,
    pub(crate) variable: &'static str,
    pub(crate) accepted: &'static str,
    /// Sets the value from its text; `false` when the text is not accepted.
    set: fn(&mut Config, &str) -> bool,
}

/// Every setting but the switch `HEAPPROF` / `profile`, which [`super::mode`] reads.
pub(crate) const KEYS: &[Key] = &[
    Key {
        key: "interval",
        variable: "HEAPPROF_INTERVAL",
        accepted: "seconds from 0.001 to 86400, or a number with us, ms, s or m",
        set: |config, text| put(&mut config.interval, seconds(text, 0.001, 86_400.0)),
    },
    Key {
        key: "output",
        variable: "HEAPPROF_OUTPUT",
        accepted: "a file name without .hp; %e program, %p process, %t start in seconds since 1970, %% a percent sign",
        set: |config, text| put(&mut config.output, pattern(text)),
    },
    Key {
        key: "breakdown",
        variable: "HEAPPROF_BREAKDOWN",
        accepted: "stack (c), centre, module (m), arc (a), callstack (s), description (d), type (y), thread (t), size (z), birth (b), several with commas, or all",
        set: |config, text| put(&mut config.breakdowns, breakdowns(text)),
    },
    Key {
        key: "select",
        variable: "HEAPPROF_SELECT",
        accepted: "BREAKDOWN=PATTERN, several with commas, as centre=cache*",
        set: |config, text| put(&mut config.select, parts(text).into_iter().map(selector).collect()),
    },
    Key {
        key: "depth",
        variable: "HEAPPROF_DEPTH",
        accepted: "a whole number from 1 to 128",
        set: |config, text| {
            put(&mut config.depth, text.parse().ok().filter(|depth| (1..=DEPTH_MAX).contains(depth)))
        },
    },
    Key {
        key: "sample",
        variable: "HEAPPROF_SAMPLE",
        accepted: "off, or bytes from 1 to 1g, as 512k",
        set: |config, text| put(&mut config.sample, sample(text)),
    },
    Key {
        key: "symbols",
        variable: "HEAPPROF_SYMBOLS",
        accepted: "on or offline",
        set: |config, text| {
            let symbols = match text {
                "on" => Some(Symbols::InRun),
                "offline" => Some(Symbols::Offline),
                _ => None,
            };
            put(&mut config.symbols, symbols)
        },
    },
    Key {
        key: "clock",
        variable: "HEAPPROF_CLOCK",
        accepted: "elapsed or cpu",
        set: |config, text| {
            let clock = match text {
                "elapsed" => Some(Clock::Elapsed),
                "cpu" => Some(Clock::Cpu),
                _ => None,
            };
            put(&mut config.clock, clock)
        },
    },
    Key {
        key: "sampler",
        variable: "HEAPPROF_SAMPLER",
        accepted: "thread or inline",
        set: |config, text| {
            let sampler = match text {
                "thread" => Some(Sampler::Thread),
                "inline" => Some(Sampler::Inline),
                _ => None,
            };
            put(&mut config.sampler, sampler)
        },
    },
    Key {
        key: "tick",
        variable: "HEAPPROF_TICK",
        accepted: "seconds from 0.0001 to 1, or a number with us, ms or s",
        set: |config, text| put(&mut config.tick, seconds(text, 0.000_1, 1.0)),
    },
    Key {
        key: "stacks",
        variable: "HEAPPROF_STACKS",
        accepted: "a whole number from 16 to 1048576 (in heapprof.toml and in the program: to 65536)",
        set: |config, text| {
            put(&mut config.stacks, text.parse().ok().filter(|stacks| STACKS_RANGE.contains(stacks)))
        },
    },
    Key {
        key: "samples",
        variable: "HEAPPROF_SAMPLES",
        accepted: "a whole number from 2 to 4294967295: after so many samples the interval doubles",
        set: |config, text| put(&mut config.samples, text.parse().ok().filter(|&samples| samples >= 2)),
    },
    Key {
        key: "name_chars",
        variable: "HEAPPROF_NAME_CHARS",
        accepted: "a whole number from 8 to 4900",
        set: |config, text| {
            put(&mut config.name_chars, text.parse().ok().filter(|chars| (8..=4_900).contains(chars)))
        },
    },
    Key {
        key: "resident",
        variable: "HEAPPROF_RESIDENT",
        accepted: "on or off",
        set: |config, text| put(&mut config.resident, on_or_off(text)),
    },
    Key {
        key: "own",
        variable: "HEAPPROF_OWN",
        accepted: "on or off",
        set: |config, text| put(&mut config.own, on_or_off(text)),
    },
    Key {
        key: "quiet",
        variable: "HEAPPROF_QUIET",
        accepted: "on or off",
        set: |config, text| put(&mut config.quiet, on_or_off(text)),
    },
];

fn put<T>(place: &mut T, value: Option<T>) -> bool {
    let accepted = value.is_some();
    if let Some(value) = value {
        *place = value;
    }
    accepted
}

/// The breakdowns of a list, each once.
fn breakdowns(text: &str) -> Option<Vec<Breakdown>> {
    const ALL: &str = "c,m,a,s,d,y,t,z,b";
    let mut breakdowns = Vec::new();
    for name in if text == "all" { ALL } else { text }.split(',') {
        let breakdown = Breakdown::parse(name.trim())?;
        if !breakdowns.contains(&breakdown) {
            breakdowns.push(breakdown);
        }
    }
    let needs_symbols = |breakdown: &Breakdown| {
        use Breakdown::{Arc, CallStack, Description, Type};
        matches!(breakdown, Arc | CallStack | Description | Type)
    };
    (cfg!(feature = "symbols") || !breakdowns.iter().any(needs_symbols)).then_some(breakdowns)
}

/// The parts of a list, at commas that are in no brackets: types have some of their own.
fn parts(text: &str) -> Vec<&str> {
    let mut depth = 0_i32;
    let is_end = |c: char| {
        depth += i32::from(matches!(c, '<' | '(' | '[')) - i32::from(matches!(c, '>' | ')' | ']'));
        c == ',' && depth <= 0
    };
    text.split(is_end).collect()
}

fn selector(text: &str) -> Option<Selector> {
    let (breakdown, pattern) = text.split_once('=')?;
    let breakdown = breakdowns(breakdown).filter(|breakdowns| breakdowns.len() == 1)?.remove(0);
    Some(Selector { breakdown, pattern: pattern.to_owned() })
}

fn sample(text: &str) -> Option<Sample> {
    if text == "off" {
        return Some(Sample::Off);
    }
    let units = [("k", 1 << 10), ("m", 1 << 20), ("g", 1 << 30), ("", 1)];
    let (number, unit) =
        units.into_iter().find_map(|(unit, bytes)| Some((text.strip_suffix(unit)?, bytes)))?;
    let bytes = number.parse::<u64>().ok()?.checked_mul(unit)?;
    (1..=1 << 30).contains(&bytes).then_some(Sample::Bytes(bytes))
}

fn on_or_off(text: &str) -> Option<bool> {
    match Switch::parse(text.as_bytes())? {
        Switch::On => Some(true),
        Switch::Off => Some(false),
        Switch::Armed => None,
    }
}

/// A span of time: a plain number is seconds.
fn seconds(text: &str, least: f64, most: f64) -> Option<Duration> {
    let units = [("us", 1e-6), ("ms", 1e-3), ("s", 1.0), ("m", 60.0), ("", 1.0)];
    let (number, unit_s) = units
        .into_iter()
        .find_map(|(unit, unit_s)| text.strip_suffix(unit).map(|number| (number, unit_s)))?;
    let number: f64 = number.trim().parse().ok()?;
    let span = number * unit_s;
    // 100us is a hair less than 0.0001 in binary.
    (span >= least * (1.0 - 1e-9) && span <= most).then(|| Duration::from_secs_f64(span))
}

/// An output pattern; `.hp` at its end is dropped.
fn pattern(text: &str) -> Option<String> {
    let stem = text.strip_suffix(".hp").unwrap_or(text);
    let name = stem.rsplit('/').next().unwrap_or(stem);
    let named = !matches!(name, "" | "." | "..") && !stem.contains('\0');
    (named && expand(stem, "e", 1, 1).is_some()).then(|| stem.to_owned())
}

/// The pattern with its placeholders filled in; `None` when a `%` is followed by no known letter.
pub(crate) fn expand(pattern: &str, program: &str, process: u32, start_s: u64) -> Option<String> {
    let mut stem = String::with_capacity(pattern.len() + program.len());
    let mut rest = pattern.chars();
    while let Some(letter) = rest.next() {
        if letter != '%' {
            stem.push(letter);
            continue;
        }
        match rest.next()? {
            'e' => stem.push_str(program),
            'p' => stem.push_str(&process.to_string()),
            't' => stem.push_str(&start_s.to_string()),
            '%' => stem.push('%'),
            _ => return None,
        }
    }
    Some(stem)
}

impl Config {
    /// Checks what a builder set, by the same rules as text.
    pub(crate) fn check(&self) -> Result<(), Error> {
        let texts = [
            ("interval", format!("{:.6}", self.interval.as_secs_f64())),
            ("output", self.output.clone()),
            ("tick", format!("{:.6}", self.tick.as_secs_f64())),
            ("stacks", self.stacks.to_string()),
            ("depth", self.depth.to_string()),
            ("sample", if let Sample::Bytes(bytes) = self.sample { bytes.to_string() } else { "off".into() }),
        ];
        for key in KEYS {
            if let Some((_, text)) = texts.iter().find(|(name, _)| *name == key.key) {
                apply(&mut self.clone(), key, text, || format!("builder, {}", key.key))?;
            }
        }
        self.check_stacks(|| String::from("builder, stacks"))
    }

    /// Refuses what cannot be had together.
    pub(crate) fn check_together(&self) -> Result<(), Error> {
        let needs_names = |selector: &&Selector| super::bands::is_of_traces(selector.breakdown);
        match self.select.iter().find(needs_names) {
            Some(selector) if self.symbols == Symbols::Offline => {
                let from = String::from("HEAPPROF_SELECT");
                let value = format!("{}={}", selector.breakdown.name(), selector.pattern);
                let accepted = "no call site, since HEAPPROF_SYMBOLS=offline makes no names";
                Err(Kind::Setting { from, value, accepted }.into())
            }
            _ => Ok(()),
        }
    }

    /// Refuses more stacks than the tables have room for that were made before this was read.
    fn check_stacks(&self, from: impl Fn() -> String) -> Result<(), Error> {
        if self.stacks <= STACKS_DEFAULT {
            return Ok(());
        }
        let accepted = "a whole number from 16 to 65536 (more by HEAPPROF_STACKS)";
        Err(Kind::Setting { from: from(), value: self.stacks.to_string(), accepted }.into())
    }

    /// Lays `heapprof.toml` and the environment over these settings, and says whether they ask for a
    /// profile from the start. In a process of raised privilege neither is read.
    ///
    /// # Errors
    /// The first value that cannot be read, with its place.
    pub(crate) fn overlay(&mut self) -> Result<bool, Error> {
        if os::is_privileged() {
            return Ok(false);
        }
        let from_file = self.overlay_file()?;
        let from_environment = self.overlay_environment()?;
        Ok(from_environment.or(from_file) == Some(Switch::On))
    }

    /// Reads the variables; the switch if there is one.
    fn overlay_environment(&mut self) -> Result<Option<Switch>, Error> {
        let mut switch = None;
        for (name, value) in std::env::vars_os() {
            let Some(name) = name.to_str().filter(|name| name.starts_with("HEAPPROF")) else {
                continue;
            };
            let value = value.into_string().map_err(|value| {
                let value = value.to_string_lossy().into_owned();
                Error::from(Kind::Setting { from: name.to_owned(), value, accepted: "UTF-8" })
            })?;
            match KEYS.iter().find(|key| key.variable == name) {
                Some(_) if value.is_empty() => {}
                Some(key) => apply(self, key, &value, || name.to_owned())?,
                None if name == "HEAPPROF" => switch = Some(read_switch(&value, || name.to_owned())?),
                // Not an error: another version of heapprof may know it.
                None => os::say(&format!("{}: no such setting, ignored", cut(name))),
            }
        }
        let interval = std::env::var_os("HEAPPROF_INTERVAL").is_some_and(|value| !value.is_empty());
        Ok(switch.or(interval.then_some(Switch::On)))
    }

    #[cfg(not(feature = "config"))]
    fn overlay_file(&mut self) -> Result<Option<Switch>, Error> {
        Ok(None)
    }

    /// Reads `heapprof.toml`; a file without `profile` asks for a profile by being there.
    #[cfg(feature = "config")]
    fn overlay_file(&mut self) -> Result<Option<Switch>, Error> {
        let text = match super::files::read_regular("heapprof.toml".as_ref()) {
            Ok(text) => text,
            Err(cause) if cause.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(cause) => return Err(Error::file("heapprof.toml".as_ref(), cause)),
        };
        let text = String::from_utf8(text).map_err(|_| Kind::Config { cause: String::from("not UTF-8") })?;
        let mut switch = Switch::On;
        for (line, key, value) in file::settings(&text)? {
            let from = || format!("heapprof.toml, line {line}, {key}");
            match KEYS.iter().find(|known| known.key == key) {
                Some(known) => {
                    apply(self, known, &value, from)?;
                    self.check_stacks(from)?;
                }
                None if key == "profile" => switch = read_switch(&value, from)?,
                None => return Err(Kind::UnknownSetting { from: from() }.into()),
            }
            if key == "output" && value.contains('/') {
                let accepted = "a file name in this folder";
                return Err(Kind::Setting { from: from(), value, accepted }.into());
            }
        }
        Ok(Some(switch))
    }
}

fn read_switch(value: &str, from: impl Fn() -> String) -> Result<Switch, Error> {
    let bad = || Kind::Setting { from: from(), value: value.to_owned(), accepted: Switch::ACCEPTED }.into();
    Switch::parse(value.as_bytes()).ok_or_else(bad)
}

fn apply(config: &mut Config, key: &Key, value: &str, from: impl Fn() -> String) -> Result<(), Error> {
    if (key.set)(config, value) {
        return Ok(());
    }
    Err(Kind::Setting { from: from(), value: value.to_owned(), accepted: key.accepted }.into())
}

#[cfg(feature = "config")]
mod file {
    //! `heapprof.toml` as (line, key, text) rows.

    use super::{Error, Kind};
    use std::collections::BTreeMap;
    use toml::Spanned;

    /// A value as an environment variable could say it; lists and tables are refused.
    #[derive(serde::Deserialize)]
    #[serde(untagged, expecting = "expected a text, a number, true or false")]
    enum Plain {
        Switch(bool),
        Whole(i64),
        Number(f64),
        Text(String),
    }

    impl Plain {
        fn text(self) -> String {
            match self {
                Self::Switch(value) => value.to_string(),
                Self::Whole(value) => value.to_string(),
                Self::Number(value) => value.to_string(),
                Self::Text(value) => value,
            }
        }
    }

    pub(super) fn settings(text: &str) -> Result<Vec<(usize, String, String)>, Error> {
        let table: BTreeMap<Spanned<String>, Plain> = toml::from_str(text).map_err(|cause| {
            let line = cause.span().map_or(1, |span| line_of(text, span.start));
            Error::from(Kind::Config {
                cause: format!("line {line}: {}", cause.message().replace('\n', " ")),
            })
        })?;
        let row = |(key, value): (Spanned<String>, Plain)| {
            (line_of(text, key.span().start), key.into_inner(), value.text())
        };
        Ok(table.into_iter().map(row).collect())
    }

    fn line_of(text: &str, offset: usize) -> usize {
        1 + text.bytes().take(offset).filter(|&byte| byte == b'\n').count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_of_time_are_seconds_or_carry_a_unit() {
        for (text, want_us) in
            [("0.2", 200_000), ("200ms", 200_000), ("1s", 1_000_000), ("2m", 120_000_000), ("1500us", 1_500)]
        {
            assert_eq!(seconds(text, 0.001, 86_400.0), Some(Duration::from_micros(want_us)), "{text}");
        }
        for text in ["", "0", "-1", "nan", "inf", "1e9", "0.2x", "ms", "1h", "0,2"] {
            assert_eq!(seconds(text, 0.001, 86_400.0), None, "{text}");
        }
    }

    #[test]
    fn patterns_expand_or_are_refused() {
        assert_eq!(expand("a/%e.%p-%t%%", "app", 7, 9).as_deref(), Some("a/app.7-9%"));
        assert_eq!(expand("%", "app", 7, 9), None);
        assert_eq!(expand("%x", "app", 7, 9), None);
        assert_eq!(pattern("x.hp").as_deref(), Some("x"));
        for text in ["", ".hp", "dir/", "%q"] {
            assert_eq!(pattern(text), None, "{text}");
        }
    }

    #[test]
    #[cfg(feature = "symbols")]
    fn a_selection_is_cut_at_commas_outside_of_brackets() {
        let mut config = Config::default();
        let key = KEYS.iter().find(|key| key.key == "select").expect("the key");
        assert!((key.set)(&mut config, "type=HashMap<String,Vec<u8>>,thread=a*,y=(u8,u16)"));
        let of = |breakdown, pattern: &str| Selector { breakdown, pattern: pattern.to_owned() };
        let wanted = [
            of(Breakdown::Type, "HashMap<String,Vec<u8>>"),
            of(Breakdown::Thread, "a*"),
            of(Breakdown::Type, "(u8,u16)"),
        ];
        assert_eq!(config.select, wanted);
        assert!(config.check_together().is_ok());
        config.symbols = Symbols::Offline;
        assert!(config.check_together().is_err(), "call sites have no names then");
    }

    #[test]
    fn the_defaults_pass_their_own_check() {
        assert!(Config::default().check().is_ok());
        let zero = Config { interval: Duration::ZERO, ..Config::default() };
        let line = zero.check().expect_err("no interval").to_string();
        assert_eq!(
            line,
            "builder, interval: read `0.000000`, expected seconds from 0.001 to 86400, or a number with us, ms, s or m"
        );
    }

    #[test]
    fn every_key_has_its_variable_and_its_line_in_the_manual() {
        let manual = include_str!("../lib.rs");
        for key in KEYS {
            assert_eq!(key.variable, format!("HEAPPROF_{}", key.key.to_uppercase()));
            let line = format!("//! | `{}` | `{}` | ", key.variable, key.key);
            assert!(manual.contains(&line), "{line}");
        }
    }
}
