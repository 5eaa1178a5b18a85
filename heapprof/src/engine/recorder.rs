//! One profile being written: the `.hp` files sample by sample, the `.prof` file now and then.
//!
//! The data flow of a sample: clock, live bytes by origin, rows by band, text, one write to each file.

use std::collections::BTreeMap;
#[cfg(feature = "symbols")]
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::bands::{self, Bands, Selection, Source};
use super::capture::{self, Plan};
use super::ccs::{self, STACKS};
use super::config::{Config, Sample, Symbols};
use super::files::{self, HpFile};
use super::snapshot::{self, LiveBytes, Work};
use super::{origin, os, resident, walk};
use crate::error::Error;
use crate::figures::Summary;
use crate::hp;
use crate::options::{Breakdown, Clock};
use crate::prof;

/// Share of the elapsed time that rewriting the `.prof` file may take, as its inverse.
const PROF_COST_INVERSE: u64 = 100;
/// Least time between two rewrites of the `.prof` file, in nanoseconds.
const PROF_EVERY_NS: u64 = 1_000_000_000;

/// Birth intervals at first; then their length doubles, and again after each half as many.
const BIRTHS: u64 = 256;
/// Bytes of a file's other version that are kept until it is known which one is wanted.
const VERSION_BYTES_MAX: usize = 256 << 10;

/// The state of one profile, from its first sample to its last.
pub(crate) struct Recorder {
    config: Config,
    program: String,
    date: String,
    /// Readings of the two clocks at the start, in nanoseconds.
    start_elapsed_ns: u64,
    start_cpu_ns: u64,
    /// What is captured of each block, as it was at the start.
    plan: Plan,
    /// One for each breakdown.
    charts: Vec<Chart>,
    prof_path: PathBuf,
    /// Earliest next rewrite of the `.prof` file, on the elapsed clock.
    prof_due_ns: u64,
    /// Time of the last sample in microseconds of the chosen clock: times strictly increase.
    last_us: u64,
    /// Samples written.
    samples: u64,
    /// Samples in a birth interval at present, and those left of this one.
    birth_samples: u64,
    birth_left: u64,
    /// What had been done before the profile began.
    before: Work,
    /// The reader of live bytes.
    live_bytes: LiveBytes,
    selection: Selection,
    source: Source,
    /// Text of the sample being made.
    text: Vec<u8>,
}

/// One `.hp` file.
struct Chart {
    bands: Bands,
    breakdown: Breakdown,
    hp: HpFile,
    /// When nobody has said which breakdown is wanted: the same file by cost-centre stacks, for the case
    /// that the program enters a cost centre.
    version: Option<Version>,
}

/// A file's other version, whole.
struct Version {
    bands: Bands,
    text: Vec<u8>,
}

impl Recorder {
    /// Begins a profile: puts the plan in force, takes the first sample, makes the files.
    ///
    /// # Errors
    /// The file that could not be made; the plan's tables could not be had.
    pub(crate) fn begin(config: Config, stem: &Path, program: String) -> Result<Self, Error> {
        let date = os::date();
        let breakdowns = match config.breakdowns.as_slice() {
            [] => vec![default_breakdown()],
            wanted => wanted.to_vec(),
        };
        let plan = plan_for(&config, &breakdowns);
        if !capture::begin(plan, config.depth, sample_bytes(&config)) {
            return Err(crate::error::Kind::NoRoom.into());
        }
        let mut recorder = Self {
            program,
            date,
            start_elapsed_ns: os::elapsed_ns(),
            start_cpu_ns: os::process_cpu_ns(),
            plan,
            charts: Vec::new(),
            prof_path: PathBuf::new(),
            prof_due_ns: 0,
            last_us: 0,
            samples: 1,
            birth_samples: 1,
            birth_left: 1,
            before: Work::default(),
            live_bytes: LiveBytes::default(),
            selection: Selection::new(&config),
            source: Source {
                namer: namer(&config, plan),
                births_us: vec![0],
                first_birth: capture::birth(),
                name_chars: name_chars(&config),
            },
            text: Vec::new(),
            config,
        };
        let made = recorder.make_files(&breakdowns, stem).and_then(|()| {
            recorder.before = Work::now();
            recorder.write_prof()
        });
        match made {
            Ok(()) => Ok(recorder),
            Err(failure) => {
                recorder.charts.into_iter().for_each(|chart| chart.hp.discard());
                Err(failure)
            }
        }
    }

    /// Makes every chart's file with the first sample in it.
    fn make_files(&mut self, breakdowns: &[Breakdown], stem: &Path) -> Result<(), Error> {
        let held = self.read();
        let mut stem = stem.to_owned();
        for (index, &breakdown) in breakdowns.iter().enumerate() {
            let mut text = self.header(breakdown);
            let is_open = self.plan.wants(Plan::UNTIL_CENTRE) && breakdown == Breakdown::Arc;
            let version = is_open.then(|| Version {
                bands: Bands::new(Breakdown::Stack),
                text: self.header(Breakdown::Stack),
            });
            let mut bands = Bands::new(breakdown);
            held.push(&mut text, 0, &mut bands, breakdown, &mut self.source);
            let path = if index == 0 { stem.clone() } else { files::with_extension(&stem, breakdown.name()) };
            let hp = HpFile::create(&path, &text)?;
            if index == 0 {
                // A file of another name than wanted has companions of that name.
                stem = hp.path().with_extension("");
                self.prof_path = hp.path().with_extension("prof");
            }
            let mut chart = Chart { bands, breakdown, hp, version };
            if let Some(version) = &mut chart.version {
                held.push(&mut version.text, 0, &mut version.bands, Breakdown::Stack, &mut self.source);
            }
            self.charts.push(chart);
        }
        #[cfg(feature = "symbols")]
        self.write_modules()?;
        Ok(())
    }

    /// The head of a file.
    fn header(&self, breakdown: Breakdown) -> Vec<u8> {
        let mut text = Vec::new();
        let header = hp::Header {
            job: self.job(breakdown),
            date: self.date.clone(),
            sample_unit: String::from("seconds"),
            value_unit: String::from("bytes"),
        };
        hp::push_header(&mut text, &header);
        text
    }

    /// What the file says it is of: the program, and how it was sampled and what was selected.
    fn job(&self, breakdown: Breakdown) -> String {
        let bytes = sample_bytes(&self.config);
        let mut notes = Vec::new();
        if self.plan.wants(Plan::THIN) {
            notes.push(format!("sampled every {bytes} bytes"));
        } else if self.plan.wants(Plan::SAMPLED) && bands::is_of_traces(breakdown) {
            notes.push(format!("call sites sampled every {bytes} bytes"));
        }
        for selector in &self.config.select {
            notes.push(format!("only {}={}", selector.breakdown.name(), selector.pattern));
        }
        match notes.as_slice() {
            [] => self.program.clone(),
            notes => format!("{} ({})", self.program, notes.join(", ")),
        }
    }

    /// Takes a sample and appends it, with the marks set since the last one (microseconds).
    ///
    /// # Errors
    /// The file that could not be written; it is complete up to the sample before.
    pub(crate) fn sample(&mut self, marks_us: &[u64]) -> Result<(), Error> {
        self.last_us = self.now_us().max(self.last_us + 1);
        self.refresh_names()?;
        let held = self.read();
        self.take_version()?;
        for chart in &mut self.charts {
            self.text.clear();
            push_marks(&mut self.text, marks_us);
            held.push(&mut self.text, self.last_us, &mut chart.bands, chart.breakdown, &mut self.source);
            chart.hp.append(&self.text)?;
            if let Some(version) = &mut chart.version {
                push_marks(&mut version.text, marks_us);
                held.push(
                    &mut version.text,
                    self.last_us,
                    &mut version.bands,
                    Breakdown::Stack,
                    &mut self.source,
                );
            }
        }
        self.samples += 1;
        self.begin_birth();
        if os::elapsed_ns() >= self.prof_due_ns {
            self.write_prof()?;
        }
        Ok(())
    }

    /// What every origin holds now, restricted to what the profile is of.
    fn read(&mut self) -> Held {
        let mut bytes = self.live_bytes.read();
        let own = snapshot::own_bytes(&bytes);
        bytes[ccs::HEAPPROF as usize] = 0;
        // Blocks that were not counted, of which only what was freed is known.
        bytes[0] = 0;
        let mut extra: Vec<(&str, u64)> = Vec::new();
        if self.plan.wants(Plan::THIN) {
            snapshot::weigh(&mut bytes, &mut snapshot::live_blocks());
        }
        if self.config.own {
            extra.push(("HEAPPROF", own));
        }
        if self.config.resident {
            extra.extend(resident::bands(bytes.iter().sum(), if self.config.own { own } else { 0 }));
        }
        let by_trace = self.plan.wants(Plan::SAMPLED) && !self.plan.wants(Plan::THIN);
        let mut by_trace = by_trace.then(|| spread(&bytes));
        self.selection.apply(&mut bytes, &mut self.source);
        if let Some(bytes) = &mut by_trace {
            self.selection.apply(bytes, &mut self.source);
        }
        Held { bytes, by_trace, extra }
    }

    /// When the program has entered a cost centre and nobody has chosen a breakdown: goes over to stacks,
    /// from the first sample on.
    fn take_version(&mut self) -> Result<(), Error> {
        let has_centres = !capture::plan().wants(Plan::UNTIL_CENTRE);
        for chart in self.charts.iter_mut().filter(|chart| chart.version.is_some()) {
            if has_centres && let Some(version) = chart.version.take() {
                chart.hp.rewrite(&version.text)?;
                (chart.bands, chart.breakdown) = (version.bands, Breakdown::Stack);
            } else if chart.version.as_ref().is_some_and(|version| version.text.len() > VERSION_BYTES_MAX) {
                capture::stay();
                chart.version = None;
            }
        }
        Ok(())
    }

    /// Begins a new birth interval when the present one has had its samples.
    fn begin_birth(&mut self) {
        if !self.plan.wants(Plan::BIRTH) {
            return;
        }
        self.birth_left -= 1;
        if self.birth_left == 0 {
            let births = self.source.births_us.len() as u64;
            if births >= BIRTHS && births.is_multiple_of(BIRTHS / 2) {
                self.birth_samples *= 2;
            }
            self.birth_left = self.birth_samples;
            self.source.births_us.push(self.last_us);
            capture::begin_birth();
        }
    }

    /// Looks which code is loaded now.
    ///
    /// # Errors
    /// The list of modules that could not be written.
    fn refresh_names(&mut self) -> Result<(), Error> {
        #[cfg(feature = "symbols")]
        if self.source.namer.as_mut().is_some_and(bands::Namer::refresh) {
            self.write_modules()?;
        }
        Ok(())
    }

    /// Where bands are addresses: writes what they are addresses of, beside the `.hp` file.
    #[cfg(feature = "symbols")]
    fn write_modules(&self) -> Result<(), Error> {
        let (Some(namer), Some(first)) = (&self.source.namer, self.charts.first()) else {
            return Ok(());
        };
        if self.config.symbols != Symbols::Offline {
            return Ok(());
        }
        let mut text = String::from("heapprof modules 1\n");
        for chart in &self.charts {
            let file = chart.hp.path().file_name().unwrap_or_default().to_string_lossy();
            text += &format!("profile {} {}\n", hp::escape_label(&file), chart.breakdown.name());
        }
        text += &namer.module_lines();
        files::replace(&first.hp.path().with_extension("modules"), |out| out.write_all(text.as_bytes()))
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
            // A row just being written has no parent yet: MAIN's child for the moment. So is what is no
            // stack but an origin below one, which has no figures.
            let parent = if origin::is_facet(stack) { ccs::MAIN } else { STACKS.parent(stack) };
            prof::Stack {
                id: STACKS.ordinal(stack),
                centre: centre_index.get(&STACKS.centre(stack)).copied().unwrap_or(0),
                parent: (stack != ccs::MAIN).then(|| parent.saturating_sub(ccs::MAIN) as usize),
                entries: work.entries[at],
                ticks: ticks[at],
                bytes: work.allocated[at],
                hidden: stack == ccs::HEAPPROF,
            }
        });
        prof::Report {
            program: self.program.clone(),
            rts_args: String::from(match self.config.breakdowns.first() {
                Some(Breakdown::Module) => "-p -hm",
                Some(Breakdown::Description) => "-p -hd",
                Some(Breakdown::Type) => "-p -hy",
                _ => "-p -hc",
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
        self.charts.into_iter().for_each(|chart| chart.hp.discard());
        let _ = std::fs::remove_file(self.prof_path);
    }

    /// Ends the profile with a last sample and report, and says where they are.
    ///
    /// # Errors
    /// The file that could not be written.
    pub(crate) fn end(mut self, marks_us: &[u64]) -> Result<Summary, Error> {
        self.sample(marks_us)?;
        self.write_prof()?;
        let mut paths = self.charts.iter().map(|chart| chart.hp.path().to_owned());
        Ok(Summary {
            hp: paths.next().unwrap_or_default(),
            more: paths.collect(),
            prof: self.prof_path.clone(),
            samples: self.samples,
        })
    }
}

fn seconds(us: u64) -> f64 {
    us as f64 / 1e6
}

fn push_marks(text: &mut Vec<u8>, marks_us: &[u64]) {
    for &mark_us in marks_us {
        hp::push_mark(text, seconds(mark_us));
    }
}

/// What there is at the time of a sample.
struct Held {
    /// Live bytes by origin number.
    bytes: Vec<u64>,
    /// The same sum over the origins that have a trace, where only chosen blocks have one.
    by_trace: Option<Vec<u64>>,
    /// Bands of their own.
    extra: Vec<(&'static str, u64)>,
}

impl Held {
    /// Appends the sample as one breakdown shows it: rows by band, text.
    fn push(
        &self,
        text: &mut Vec<u8>,
        time_us: u64,
        bands: &mut Bands,
        breakdown: Breakdown,
        source: &mut Source,
    ) {
        let by_trace = self.by_trace.as_ref().filter(|_| bands::is_of_traces(breakdown));
        let rows = bands.rows(by_trace.unwrap_or(&self.bytes), source);
        hp::push_sample(text, seconds(time_us), rows.into_iter().chain(self.extra.iter().copied()));
    }
}

/// Spreads the live bytes of the program over those origins whose blocks stand for others, as they
/// stand for them: the sum stays what it is.
fn spread(bytes: &[u64]) -> Vec<u64> {
    let is_open = |number: usize| !(ccs::OTHER..ccs::FIRST).contains(&origin::stack_of(number as u32));
    let blocks = snapshot::live_blocks();
    let mut spread = bytes.to_vec();
    let (mut sum, mut weights, mut weight_sum) = (0_u128, Vec::new(), 0.0);
    for (number, bytes) in
        spread.iter_mut().enumerate().filter(|(number, bytes)| **bytes > 0 && is_open(*number))
    {
        let held = std::mem::take(bytes);
        sum += u128::from(held);
        if origin::is_sampled(number as u32) {
            weight_sum += capture::weigh(held, blocks.get(number).copied().unwrap_or(1).max(1)).0;
            weights.push((number, weight_sum));
        }
    }
    if weights.is_empty() {
        // Nothing was chosen yet: all of it is of unknown origin.
        if let Some(other) = spread.get_mut(ccs::OTHER as usize) {
            *other += sum as u64;
        }
        return spread;
    }
    // Rounded by their running sum, so that nothing is lost.
    let mut given = 0;
    for (number, upto) in weights {
        let upto = ((sum as f64) * (upto / weight_sum)).round().min(sum as f64) as u128;
        let upto = upto.max(given);
        spread[number] = (upto - given) as u64;
        given = upto;
    }
    let rest = (sum - given.min(sum)) as u64;
    if let Some(other) = spread.get_mut(ccs::OTHER as usize) {
        *other += rest;
    }
    spread
}

/// The breakdown of a run for which nobody has chosen one: call sites, as long as no cost centre is entered.
fn default_breakdown() -> Breakdown {
    let has_centres = STACKS.sites().any(|(number, _)| number >= ccs::FIRST);
    let can_look = cfg!(feature = "symbols") && capture::has_room_for_traces();
    if can_look && !has_centres { Breakdown::Arc } else { Breakdown::Stack }
}

/// The longest name: addresses are always whole, since a tool is to read them.
fn name_chars(config: &Config) -> usize {
    if config.symbols == Symbols::Offline { usize::MAX } else { config.name_chars }
}

/// Mean bytes between two chosen blocks.
fn sample_bytes(config: &Config) -> u64 {
    const DEFAULT: u64 = 512 << 10;
    match config.sample {
        Sample::Bytes(bytes) => bytes,
        Sample::AsNeeded | Sample::Off => DEFAULT,
    }
}

/// What is to be captured of each block for these breakdowns.
fn plan_for(config: &Config, breakdowns: &[Breakdown]) -> Plan {
    let wanted = breakdowns.iter().copied().chain(config.select.iter().map(|selector| selector.breakdown));
    let mut plan = Plan::default();
    for breakdown in wanted {
        plan = plan.and(match breakdown {
            Breakdown::Stack | Breakdown::Centre => Plan::default(),
            Breakdown::Module if !cfg!(feature = "symbols") => Plan::default(),
            Breakdown::Module | Breakdown::Arc | Breakdown::Description | Breakdown::Type => Plan::SITES,
            Breakdown::CallStack => Plan::STACKS,
            Breakdown::Thread => Plan::THREAD,
            Breakdown::Size => Plan::SIZE,
            Breakdown::Birth => Plan::BIRTH,
        });
    }
    let selects_traces = config.select.iter().any(|selector| bands::is_of_traces(selector.breakdown));
    if plan.wants_traces() && config.breakdowns.is_empty() && !selects_traces {
        plan = plan.and(Plan::UNTIL_CENTRE);
    }
    if plan.wants_traces() && !walk::keeps_frame_pointers() {
        plan = plan.and(Plan::UNWIND);
        if config.sample == Sample::AsNeeded {
            plan = plan.and(Plan::SAMPLED);
        }
    }
    match config.sample {
        Sample::Bytes(_) => plan.and(Plan::SAMPLED).and(Plan::THIN),
        Sample::AsNeeded | Sample::Off => plan,
    }
}

#[cfg(feature = "symbols")]
fn namer(config: &Config, plan: Plan) -> Option<bands::Namer> {
    plan.wants_traces().then(|| bands::Namer::new(config.symbols, config.depth, !plan.wants(Plan::UNWIND)))
}

#[cfg(not(feature = "symbols"))]
fn namer(_config: &Config, _plan: Plan) -> Option<bands::Namer> {
    None
}

/// The labels of a stack, top first, without MAIN.
pub(crate) fn labels(stack: u32) -> impl Iterator<Item = &'static str> {
    let named = STACKS.ancestors(stack).take_while(|&stack| stack != ccs::MAIN);
    named.map(|stack| STACKS.site(STACKS.centre(stack)).map_or("?", |site| site.label()))
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
