//! Runs of which it is known what leaks in them, and what the leak finder says about them.
#![allow(dead_code, reason = "each test file uses its part")]

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use heapprof::hp::Profile;
use hp2svg::trend::{Run, Trend, Verdict};

/// The name of the sum of all bands.
pub(crate) const ALL: &str = "all_bands";

/// Values as (sample, value).
pub(crate) type Points = Vec<(usize, f64)>;

/// A run with labels.
pub(crate) struct Labelled {
    pub(crate) run: Run,
    pub(crate) trends: Vec<(String, Trend)>,
}

impl Labelled {
    /// A run of these bands.
    pub(crate) fn new(times_s: &[f64], bands: &[(String, Points)]) -> Labelled {
        let mut totals = vec![0.0; times_s.len()];
        bands.iter().flat_map(|band| &band.1).for_each(|&(sample, value)| totals[sample] += value);
        let run = Run::new(times_s, &totals);
        let trend = |points: &Points| run.trend(&run.levels(points.iter().copied()));
        let trends = bands.iter().map(|(name, points)| (name.clone(), trend(points))).collect();
        Labelled { run, trends }
    }

    /// The run of a profile; of the names of its bands only the innermost centre, without its number.
    pub(crate) fn of_profile(profile: &Profile) -> Labelled {
        let bands = profile.bands.iter().map(|band| {
            let points = band.points.iter().map(|&(sample, value)| (sample, value as f64)).collect();
            (short(&String::from_utf8_lossy(&band.name)).to_owned(), points)
        });
        Labelled::new(&profile.times_s, &bands.collect::<Vec<_>>())
    }

    /// The bands that are found to grow steadily, sorted.
    pub(crate) fn named(&self) -> Vec<&str> {
        let grows = |trend: &Trend| trend.verdict == Verdict::GrowsSteadily;
        let bands = self.trends.iter().filter(|band| grows(&band.1)).map(|band| &*band.0);
        let mut named: Vec<&str> = bands.chain(grows(&self.run.total()).then_some(ALL)).collect();
        named.sort_unstable();
        named
    }
}

fn short(name: &str) -> &str {
    let without_number = name.strip_prefix('(').and_then(|rest| {
        let (number, name) = rest.split_once(')')?;
        number.bytes().all(|byte| byte.is_ascii_digit()).then_some(name)
    });
    let name = without_number.unwrap_or(name);
    name.split('/').next().unwrap_or(name)
}

/// What was found in labelled runs: a line for each run, and the sums.
#[derive(Default)]
pub(crate) struct Findings {
    lines: String,
    hits: usize,
    misses: usize,
    false_alarms: usize,
    quiet: usize,
}

impl Findings {
    /// Adds a run in which these bands leak. Named are hits or false alarms, the others misses or quiet.
    pub(crate) fn add(&mut self, name: &str, run: &Labelled, leaks: &[&str]) {
        let named = run.named();
        let (hits, false_alarms): (Vec<&str>, Vec<&str>) =
            named.iter().partition(|name| leaks.contains(name));
        let misses: Vec<&str> = leaks.iter().copied().filter(|leak| !named.contains(leak)).collect();
        let quiet = run.trends.len() + 1 - hits.len() - false_alarms.len() - misses.len();
        let _ = write!(self.lines, "{name:24} {:4} named, {quiet:3} quiet", hits.len());
        for (what, names) in [("missed", &misses), ("false alarm", &false_alarms)] {
            if !names.is_empty() {
                let _ = write!(self.lines, ", {what}: {}", names.join(" "));
            }
        }
        self.lines.push('\n');
        self.hits += hits.len();
        self.misses += misses.len();
        self.false_alarms += false_alarms.len();
        self.quiet += quiet;
    }

    /// Prints the table and asserts that it is the stored one; `HEAPPROF_BLESS=1` makes it so.
    #[track_caller]
    pub(crate) fn assert_recorded(&self, file: &str) {
        let Findings { lines, hits, misses, false_alarms, quiet } = self;
        let table = format!(
            "{lines}leaks: {hits} named, {misses} missed; others: {quiet} quiet, {false_alarms} false alarms\n"
        );
        println!("{table}");
        let path = data("leaks").join(file);
        if std::env::var_os("HEAPPROF_BLESS").is_some() {
            std::fs::write(&path, table).expect("goldens can be written");
            return;
        }
        let recorded = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(table == recorded, "expected, by {}:\n{recorded}", path.display());
    }
}

/// A file of `tests/data`.
pub(crate) fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/data").join(name)
}
