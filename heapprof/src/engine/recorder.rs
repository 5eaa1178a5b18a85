//! One profile being written: the `.hp` file sample by sample, the `.prof` file now and then.
//!
//! The data flow of a sample: clock, live bytes by stack, rows by band, text, one write.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::ccs::{self, STACKS};
use super::config::Config;
use super::files::{self, HpFile};
use super::os;
use super::resident;
use super::snapshot::{self, LiveBytes, Work};
use crate::error::Error;
use crate::figures::Summary;
use crate::hp;
use crate::options::{Breakdown, Clock};
use crate::prof;

/// Share of the elapsed time that rewriting the `.prof` file may take, as its inverse.
const PROF_COST_INVERSE: u64 = 100;
/// Least time between two rewrites of the `.prof` file, in nanoseconds.
const PROF_EVERY_NS: u64 = 1_000_000_000;

/// The state of one profile, from its first sample to its last.
pub(crate) struct Recorder {
    config: Config,
    program: String,
    date: String,
    /// Readings of the two clocks at the start, in nanoseconds.
    start_elapsed_ns: u64,
    start_cpu_ns: u64,
    hp: HpFile,
    prof_path: PathBuf,
    /// Earliest next rewrite of the `.prof` file, on the elapsed clock.
    prof_due_ns: u64,
    /// Time of the last sample in microseconds of the chosen clock: times strictly increase.
    last_us: u64,
    /// Samples written.
    samples: u64,
    /// What had been done before the profile began.
    before: Work,
    /// The reader of live bytes.
    live_bytes: LiveBytes,
    /// Band names by stack number, made when first needed.
    names: Vec<Option<String>>,
    /// Text of the sample being made.
    text: Vec<u8>,
}

impl Recorder {
    /// Begins a profile: takes the first sample, makes both files.
    ///
    /// # Errors
    /// The file that could not be made.
    pub(crate) fn begin(config: Config, stem: &Path, program: String) -> Result<Self, Error> {
        let date = os::date();
        let mut text = Vec::new();
        let header = hp::Header {
            job: program.clone(),
            date: date.clone(),
            sample_unit: String::from("seconds"),
            value_unit: String::from("bytes"),
        };
        hp::push_header(&mut text, &header);
        let mut names = Vec::new();
        let mut live_bytes = LiveBytes::default();
        push_sample(&mut text, 0, live_bytes.read(), &config, &mut names);
        let hp = HpFile::create(stem, &text)?;
        let prof_path = hp.path().with_extension("prof");
        let (start_elapsed_ns, start_cpu_ns) = (os::elapsed_ns(), os::process_cpu_ns());
        let before = Work::now();
        let mut recorder = Self {
            config,
            program,
            date,
            start_elapsed_ns,
            start_cpu_ns,
            hp,
            prof_path,
            prof_due_ns: 0,
            last_us: 0,
            samples: 1,
            before,
            live_bytes,
            names,
            text,
        };
        match recorder.write_prof() {
            Ok(()) => Ok(recorder),
            Err(failure) => {
                recorder.hp.discard();
                Err(failure)
            }
        }
    }

    /// Takes a sample and appends it, with the marks set since the last one (microseconds).
    ///
    /// # Errors
    /// The file that could not be written; it is complete up to the sample before.
    pub(crate) fn sample(&mut self, marks_us: &[u64]) -> Result<(), Error> {
        self.last_us = self.now_us().max(self.last_us + 1);
        self.text.clear();
        for &mark_us in marks_us {
            hp::push_mark(&mut self.text, seconds(mark_us));
        }
        let live = self.live_bytes.read();
        push_sample(&mut self.text, self.last_us, live, &self.config, &mut self.names);
        self.hp.append(&self.text)?;
        self.samples += 1;
        if os::elapsed_ns() >= self.prof_due_ns {
            self.write_prof()?;
        }
        Ok(())
    }

    /// Microseconds of the chosen clock since the start.
    pub(crate) fn now_us(&self) -> u64 {
        let ns = match self.config.clock {
            Clock::Elapsed => os::elapsed_ns() - self.start_elapsed_ns,
            Clock::Cpu => os::process_cpu_ns() - self.start_cpu_ns,
        };
        ns / 1_000
    }

    /// Time until the next sample: the interval, doubled for every `samples` taken, so that the
    /// file grows with the logarithm of the run's length.
    pub(crate) fn interval(&self) -> Duration {
        let doublings = self.samples / u64::from(self.config.samples);
        self.config.interval.saturating_mul(1 << doublings.min(20))
    }

    /// Replaces the `.prof` file by one with the figures up to now.
    ///
    /// # Errors
    /// The file that could not be written; an older one stays.
    pub(crate) fn write_prof(&mut self) -> Result<(), Error> {
        let begin_ns = os::elapsed_ns();
        let report = self.report(Work::now().since(&self.before));
        files::replace(&self.prof_path, |out| report.write_to(out))?;
        let now_ns = os::elapsed_ns();
        self.prof_due_ns = now_ns + PROF_EVERY_NS.max((now_ns - begin_ns) * PROF_COST_INVERSE);
        Ok(())
    }

    /// The facts of the time and allocation report.
    fn report(&self, work: Work) -> prof::Report {
        let (centres, centre_index) = centres();
        let tick_ns = self.config.tick.as_nanos() as u64;
        let ticks = whole_ticks(&work.cpu_ns, tick_ns);
        // Stack numbers begin at MAIN; holes and stacks without a figure are left to the renderer,
        // which prunes what was never entered.
        let stacks = (ccs::MAIN..work.allocated.len() as u32).map(|stack| {
            let at = stack as usize;
            prof::Stack {
                id: stack,
                centre: centre_index.get(&STACKS.centre(stack)).copied().unwrap_or(0),
                // A row just being written has no parent yet: MAIN's child for the moment.
                parent: (stack != ccs::MAIN).then(|| STACKS.parent(stack).saturating_sub(ccs::MAIN) as usize),
                entries: work.entries[at],
                ticks: ticks[at],
                bytes: work.allocated[at],
                hidden: stack == ccs::HEAPPROF,
            }
        });
        prof::Report {
            program: self.program.clone(),
            rts_args: String::from(if self.config.breakdown == Breakdown::Module {
                "-p -hm"
            } else {
                "-p -hc"
            }),
            args: String::new(),
            date: self.date.clone(),
            tick_us: tick_ns / 1_000,
            processors: 1,
            centres,
            stacks: stacks.collect(),
            level: prof::Level::Summary,
            ghc_exact: false,
        }
    }

    /// Takes back a profile that could not begin after all.
    pub(crate) fn discard(self) {
        self.hp.discard();
        let _ = std::fs::remove_file(self.prof_path);
    }

    /// Ends the profile with a last sample and report, and says where they are.
    ///
    /// # Errors
    /// The file that could not be written.
    pub(crate) fn end(mut self, marks_us: &[u64]) -> Result<Summary, Error> {
        self.sample(marks_us)?;
        self.write_prof()?;
        Ok(Summary { hp: self.hp.path().to_owned(), prof: self.prof_path.clone(), samples: self.samples })
    }
}

fn seconds(us: u64) -> f64 {
    us as f64 / 1e6
}

/// Appends one sample of `live` bytes by stack: rows by band, text.
fn push_sample(
    text: &mut Vec<u8>,
    time_us: u64,
    mut live: Vec<u64>,
    config: &Config,
    names: &mut Vec<Option<String>>,
) {
    let own = snapshot::own_bytes(&live);
    live[ccs::HEAPPROF as usize] = 0;
    let mut extra: Vec<(&str, u64)> = Vec::new();
    if config.own {
        extra.push(("HEAPPROF", own));
    }
    if config.resident {
        extra.extend(resident::bands(live.iter().sum(), if config.own { own } else { 0 }));
    }
    match config.breakdown {
        Breakdown::Stack => {
            name_stacks(&live, config, names);
            let rows = names.iter().zip(&live).filter_map(|(name, &bytes)| Some((name.as_deref()?, bytes)));
            hp::push_sample(text, seconds(time_us), rows.chain(extra));
        }
        by_top => {
            let bands = by_top_centre(&live, by_top);
            let rows = bands.iter().map(|(name, &bytes)| (name.as_str(), bytes));
            hp::push_sample(text, seconds(time_us), rows.chain(extra));
        }
    }
}

/// Makes the names of the stacks that hold something and have none yet.
fn name_stacks(live: &[u64], config: &Config, names: &mut Vec<Option<String>>) {
    names.resize(live.len().max(names.len()), None);
    for (stack, _) in live.iter().enumerate().filter(|(_, bytes)| **bytes > 0) {
        names[stack].get_or_insert_with(|| stack_name(stack as u32, config.name_chars));
    }
}

/// A stack's band name: `MAIN`, or `(id)leaf/parent/root` without MAIN.
fn stack_name(stack: u32, chars: usize) -> String {
    if stack == ccs::MAIN {
        return String::from("MAIN");
    }
    hp::stack_name(stack, labels(stack), chars)
}

/// The labels of a stack, top first, without MAIN.
pub(crate) fn labels(stack: u32) -> impl Iterator<Item = &'static str> {
    let named = STACKS.ancestors(stack).take_while(|&stack| stack != ccs::MAIN);
    named.map(|stack| STACKS.site(STACKS.centre(stack)).map_or("?", |site| site.label()))
}

/// Live bytes added up by top centre or by its module.
fn by_top_centre(live: &[u64], breakdown: Breakdown) -> BTreeMap<String, u64> {
    let mut bands = BTreeMap::new();
    for (stack, &bytes) in live.iter().enumerate().filter(|(_, bytes)| **bytes > 0) {
        let centre = STACKS.centre(stack as u32);
        let name = match STACKS.site(centre) {
            Some(site) if breakdown == Breakdown::Module => hp::escape_label(site.module()).into_owned(),
            Some(_) if centre == ccs::MAIN => String::from("MAIN"),
            Some(site) => hp::stack_name(centre, [site.label()], usize::MAX),
            None => String::from("?"),
        };
        *bands.entry(name).or_insert(0) += bytes;
    }
    bands
}

/// The cost centres in order of registration, and where each number's entry is.
fn centres() -> (Vec<prof::Centre>, BTreeMap<u32, usize>) {
    let mut centres = Vec::new();
    let mut index = BTreeMap::new();
    for (number, site) in STACKS.sites() {
        index.insert(number, centres.len());
        centres.push(prof::Centre {
            label: site.label().to_owned(),
            module: site.module().to_owned(),
            src: site.source(),
        });
    }
    (centres, index)
}

/// CPU time in whole ticks, so rounded that the ticks add up to the total's.
fn whole_ticks(cpu_ns: &[u64], tick_ns: u64) -> Vec<u64> {
    let mut sum_ns = 0;
    let upto = |ns: u64| (ns + tick_ns / 2) / tick_ns;
    let ticks = cpu_ns.iter().map(|&ns| {
        let before = upto(sum_ns);
        sum_ns += ns;
        upto(sum_ns) - before
    });
    ticks.collect()
}
