//! Starting and stopping a profile: by the environment, by the program, at exit, in a forked child.
//!
//! ```text
//! Idle ─start─▶ Busy ─▶ Running ─stop, exit, failed write─▶ Busy ─▶ Idle
//! ```
//! The state is one atomic word, so that a second start is refused at once, whoever holds what. The
//! session of a run lives for ever (some hundred bytes): whoever still looks at it may.

use std::ffi::c_void;
use std::path::PathBuf;
use std::sync::atomic::{AtomicPtr, AtomicU8, AtomicU32, AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::{Duration, Instant};

use super::ccs::{self, STACKS};
use super::config::{self, Config, Sample};
use super::mode::{self, Mode};
use super::recorder::Recorder;
use super::shard::Figure;
use super::traces::TRACES;
use super::{capture, files, os, snapshot, thread, ticker, walk};
use crate::error::{Error, Kind};
use crate::figures::Summary;
use crate::options::{Breakdown, Clock, Sampler};

const IDLE: u8 = 0;
const BUSY: u8 = 1;
const RUNNING: u8 = 2;

/// The life cycle of the module's head. Acquire on taking a state, Release on leaving one.
static STATE: AtomicU8 = AtomicU8::new(IDLE);
/// The session while `STATE` is RUNNING, and after.
static SESSION: AtomicPtr<Session> = AtomicPtr::new(std::ptr::null_mut());
/// The process whose exit ends the running profile; a child by raw `clone` has another number.
static OWNER: AtomicU32 = AtomicU32::new(0);

/// Stack that a thread of the program's must have left if it is to make names.
const NAMING_STACK_BYTES: usize = 512 << 10;

/// How long the exit of the program waits for a sample that is just being written.
const EXIT_PATIENCE: Duration = Duration::from_secs(2);

/// What all threads share of one run.
pub(crate) struct Session {
    pub(crate) config: Config,
    /// Empty once the profile has ended.
    recorder: Mutex<Option<Recorder>>,
    /// Marks set since the last sample, in microseconds of the profile's clock.
    marks_us: Mutex<Vec<u64>>,
    /// Whether the ticker has been asked to end.
    pub(crate) ending: Mutex<bool>,
    pub(crate) wake: Condvar,
    /// Elapsed-clock nanoseconds at which the allocating threads take the next sample.
    pub(crate) inline_due_ns: AtomicU64,
    /// Times that the ticker has looked at the threads.
    pub(crate) looks: AtomicU64,
    /// Which of the process's sessions this is.
    pub(crate) number: u64,
}

/// Locks; a panic while it was held has left nothing half-done that matters.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Session {
    /// Takes a sample now, with the marks so far. A profile that cannot be written stops with one
    /// line on stderr.
    pub(crate) fn sample(&self) -> Result<(), Error> {
        let mut recorder = lock(&self.recorder);
        let marks_us = std::mem::take(&mut *lock(&self.marks_us));
        let Some(running) = recorder.as_mut() else {
            return Err(Kind::NotRunning.into());
        };
        let Err(failure) = running.sample(&marks_us) else {
            return Ok(());
        };
        *recorder = None;
        drop(recorder);
        self.fail(&failure);
        Err(failure)
    }

    /// The same if nobody else is at it; for the allocating threads.
    pub(crate) fn try_sample(&self) {
        if !matches!(self.recorder.try_lock(), Err(TryLockError::WouldBlock)) {
            let _ = self.sample();
        }
    }

    /// Time from one sample to the next.
    pub(crate) fn interval(&self) -> Duration {
        lock(&self.recorder).as_ref().map_or(self.config.interval, Recorder::interval)
    }

    /// The same without waiting; `None` while somebody takes a sample, who may be the calling thread.
    fn try_interval(&self) -> Option<Duration> {
        let recorder = match self.recorder.try_lock() {
            Ok(recorder) => recorder,
            Err(TryLockError::Poisoned(held)) => held.into_inner(),
            Err(TryLockError::WouldBlock) => return None,
        };
        recorder.as_ref().map(Recorder::interval)
    }

    /// A write failed: says so once, and leaves the files complete up to the last sample.
    fn fail(&self, failure: &Error) {
        os::say(&format!("{failure}; the profile stops here"));
        capture::end();
        self.end_ticker();
        let _ = STATE.compare_exchange(RUNNING, IDLE, Ordering::Release, Ordering::Relaxed);
    }

    fn end_ticker(&self) {
        *lock(&self.ending) = true;
        self.wake.notify_all();
    }

    fn mark(&self) -> Result<(), Error> {
        // The recorder's lock keeps the mark's time from passing a sample's that is written first.
        let recorder = lock(&self.recorder);
        let now_us = recorder.as_ref().ok_or(Kind::NotRunning)?.now_us();
        lock(&self.marks_us).push(now_us);
        Ok(())
    }

    /// Takes the recorder for good.
    fn take_recorder(&self, patience: Patience) -> Option<Recorder> {
        let deadline = Instant::now() + EXIT_PATIENCE;
        loop {
            match self.recorder.try_lock() {
                Ok(mut recorder) => return recorder.take(),
                Err(TryLockError::Poisoned(held)) => return held.into_inner().take(),
                Err(TryLockError::WouldBlock) if patience == Patience::Short && Instant::now() > deadline => {
                    os::say("a sample is still being written at exit; the profile ends with the one before");
                    return None;
                }
                Err(TryLockError::WouldBlock) => std::thread::sleep(Duration::from_micros(200)),
            }
        }
    }
}

/// The running session of this process: a child that no fork hook has told of itself (made by raw
/// `clone` or `_Fork`) has its parent's state, and none of its own.
fn session() -> Result<&'static Session, Error> {
    if STATE.load(Ordering::Acquire) != RUNNING || OWNER.load(Ordering::Relaxed) != os::process_id() {
        return Err(Kind::NotRunning.into());
    }
    latest_session().ok_or_else(|| Kind::NotRunning.into())
}

/// The session that began last, running or not.
fn latest_session() -> Option<&'static Session> {
    // SAFETY: null or the address of a leaked session. Acquire pairs with the Release in `begin`: the
    // session's content is seen with its address.
    unsafe { SESSION.load(Ordering::Acquire).as_ref() }
}

/// Starts profiles from within the program.
///
/// The process must tag its blocks from its first one on: declare the allocator with
/// [`HeapProf::armed`](crate::HeapProf::armed), or set `HEAPPROF=armed`. What `heapprof.toml` and
/// the environment say goes over what is set here.
///
/// ```
/// # #[global_allocator]
/// # static ALLOC: heapprof::HeapProf = heapprof::HeapProf::new().armed();
/// use std::time::Duration;
/// # let folder = std::env::temp_dir().join("heapprof-doc-%p");
/// # let app = folder.to_str().unwrap();
/// let profile = heapprof::Profiler::builder()
///     .interval(Duration::from_millis(100))
///     .output(app)
///     .start()
///     .unwrap();
/// assert!(heapprof::Profiler::builder().start().unwrap_err().is_already_running());
/// let files = profile.stop().unwrap();
/// assert!(files.samples >= 2);
/// std::fs::remove_file(files.hp).unwrap();
/// std::fs::remove_file(files.prof).unwrap();
/// ```
#[derive(Debug)]
pub struct Profiler(());

impl Profiler {
    /// Settings for a profile, at their defaults.
    pub fn builder() -> ProfilerBuilder {
        ProfilerBuilder { config: Config::default() }
    }
}

/// Settings for a profile: see the table in the crate's documentation.
#[derive(Clone, Debug)]
#[must_use = "a profile begins with start()"]
pub struct ProfilerBuilder {
    config: Config,
}

impl ProfilerBuilder {
    /// Time between samples, 1 ms to a day. Default: 1 s.
    pub fn interval(mut self, interval: Duration) -> Self {
        self.config.interval = interval;
        self
    }

    /// Length of a tick of the time profile, 100 µs to 1 s. Default: 1 ms.
    pub fn tick(mut self, tick: Duration) -> Self {
        self.config.tick = tick;
        self
    }

    /// File name without `.hp`, with `%e` for the program, `%p` for the process, `%t` for the start
    /// in seconds since 1970. Default: `%e`.
    pub fn output(mut self, pattern: impl Into<String>) -> Self {
        let pattern = pattern.into();
        self.config.output = pattern.strip_suffix(".hp").map(str::to_owned).unwrap_or(pattern);
        self
    }

    /// What a band stands for. Default: a call-site arc until the program enters a cost centre, then a
    /// cost-centre stack.
    pub fn breakdown(self, breakdown: Breakdown) -> Self {
        self.breakdowns([breakdown])
    }

    /// Several breakdowns of one run: the first in the profile's file, each other one in a file that has
    /// the breakdown's name before `.hp`.
    pub fn breakdowns(mut self, breakdowns: impl IntoIterator<Item = Breakdown>) -> Self {
        self.config.breakdowns.clear();
        for breakdown in breakdowns {
            if !self.config.breakdowns.contains(&breakdown) {
                self.config.breakdowns.push(breakdown);
            }
        }
        self
    }

    /// Functions of a call stack, 1 to 128, for [`Breakdown::CallStack`]. Default: 32.
    pub fn depth(mut self, frames: usize) -> Self {
        self.config.depth = frames;
        self
    }

    /// Chooses one block in so many bytes on average, by chance, and counts no other: figures are then
    /// estimates. 1 byte to 1 GiB. Default: every block is counted.
    pub fn sample(mut self, bytes: u64) -> Self {
        self.config.sample = Sample::Bytes(bytes);
        self
    }

    /// What the sample times count. Default: elapsed seconds.
    pub fn clock(mut self, clock: Clock) -> Self {
        self.config.clock = clock;
        self
    }

    /// Who takes the samples. Default: a thread of the profiler's own.
    pub fn sampler(mut self, sampler: Sampler) -> Self {
        self.config.sampler = sampler;
        self
    }

    /// Stacks there may be, 16 to 65,536; later ones fold into the band OTHER.
    pub fn stacks(mut self, stacks: u32) -> Self {
        self.config.stacks = stacks;
        self
    }

    /// Adds bands for the gap up to the resident memory. Default: no.
    pub fn resident(mut self, resident: bool) -> Self {
        self.config.resident = resident;
        self
    }

    /// Shows the profiler's own memory as the band HEAPPROF. Default: no.
    pub fn own(mut self, own: bool) -> Self {
        self.config.own = own;
        self
    }

    /// No line on stderr when the profile has been written. Default: no.
    pub fn quiet(mut self, quiet: bool) -> Self {
        self.config.quiet = quiet;
        self
    }

    /// Starts the profile.
    ///
    /// # Errors
    /// A profile is running; the process does not tag; a setting is out of range, here, in
    /// `heapprof.toml` or in the environment; a file cannot be made.
    pub fn start(self) -> Result<Profile, Error> {
        thread::as_profiler(|| {
            // A copy of our own: what the program's calls have made of it is the program's, and goes.
            let mut config = self.config.clone();
            drop(self);
            config.check()?;
            config.overlay()?;
            start(config)
        })
        .map(|session| Profile(session.number))
    }
}

/// A profile started by the program; stops when dropped.
#[derive(Debug)]
#[must_use = "the profile stops as soon as this is dropped"]
pub struct Profile(u64);

impl Profile {
    /// Stops the profile with a last sample, and says where its files are.
    ///
    /// # Errors
    /// The profile has already ended (by a failed write), or its end cannot be written.
    pub fn stop(self) -> Result<Summary, Error> {
        let number = std::mem::ManuallyDrop::new(self).0;
        thread::as_profiler(|| stop(number, Patience::Long))
    }
}

impl Drop for Profile {
    fn drop(&mut self) {
        thread::as_profiler(|| say_failure(stop(self.0, Patience::Long)));
    }
}

/// Says why a profile could not be ended well; one that had ended before has said so itself.
pub(crate) fn say_failure(ended: Result<Summary, Error>) {
    if let Err(failure) = ended
        && !failure.is_not_running()
    {
        os::say(&failure.to_string());
    }
}

/// Takes a sample at once, besides the regular ones.
///
/// # Errors
/// No profile is running, or the sample cannot be written (the profile then has stopped).
pub fn sample_now() -> Result<(), Error> {
    thread::as_profiler(|| session()?.sample())
}

/// Sets a mark at the present moment: a small triangle under the chart's axis.
///
/// # Errors
/// No profile is running.
pub fn mark() -> Result<(), Error> {
    thread::as_profiler(|| session()?.mark())
}

/// Starts a profile with decided settings.
fn start(config: Config) -> Result<&'static Session, Error> {
    if mode::decide(true) == Mode::Off {
        return Err(Kind::NotTagging.into());
    }
    if STATE.compare_exchange(IDLE, BUSY, Ordering::Acquire, Ordering::Relaxed).is_err() {
        return Err(Kind::AlreadyRunning.into());
    }
    let started = begin(config);
    STATE.store(if started.is_ok() { RUNNING } else { IDLE }, Ordering::Release);
    started
}

fn begin(mut config: Config) -> Result<&'static Session, Error> {
    config.check_together()?;
    config.stacks = STACKS.limit_to(config.stacks);
    if config.sampler == Sampler::Inline {
        thread::sample_inline();
    }
    let program = program_name();
    let stem = stem(&config.output, &program)?;
    let recorder = Recorder::begin(config.clone(), &stem, program)?;
    let interval_ns = config.interval.as_nanos() as u64;
    let session: &'static Session = Box::leak(Box::new(Session {
        recorder: Mutex::new(Some(recorder)),
        marks_us: Mutex::new(Vec::new()),
        ending: Mutex::new(false),
        wake: Condvar::new(),
        inline_due_ns: AtomicU64::new(os::elapsed_ns() + interval_ns),
        looks: AtomicU64::new(0),
        number: latest_session().map_or(1, |last| last.number + 1),
        config,
    }));
    SESSION.store(std::ptr::from_ref(session).cast_mut(), Ordering::Release);
    OWNER.store(os::process_id(), Ordering::Relaxed);
    hook_exit();
    mode::start();
    if session.config.sampler == Sampler::Thread && ticker::start(session).is_none() {
        if let Some(recorder) = session.take_recorder(Patience::Short) {
            recorder.discard();
        }
        return Err(Kind::NoThread.into());
    }
    Ok(session)
}

/// Asks, once per process, to be told of its exit.
fn hook_exit() {
    static HOOKED: AtomicU8 = AtomicU8::new(0);
    if HOOKED.swap(1, Ordering::Relaxed) == 0 {
        os::at_exit(on_exit);
    }
}

/// How long to wait for a sample in the making, and for the ticker.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Patience {
    /// Until it is done: the program asks.
    Long,
    /// Two seconds, and not for the ticker: the program ends, and a slow disk must not keep it.
    Short,
}

/// Ends the running profile if it is the session of this number.
pub(crate) fn stop(number: u64, patience: Patience) -> Result<Summary, Error> {
    let session = session()?;
    if session.number != number
        || STATE.compare_exchange(RUNNING, BUSY, Ordering::Acquire, Ordering::Relaxed).is_err()
    {
        return Err(Kind::NotRunning.into());
    }
    session.end_ticker();
    let recorder = session.take_recorder(patience);
    if patience == Patience::Long {
        ticker::join();
    }
    let marks_us = std::mem::take(&mut *lock(&session.marks_us));
    let ended = recorder.ok_or_else(|| Kind::NotRunning.into()).and_then(|recorder| recorder.end(&marks_us));
    capture::end();
    STATE.store(IDLE, Ordering::Release);
    if let Ok(summary) = &ended
        && !session.config.quiet
    {
        tell(summary, session.looks.load(Ordering::Relaxed));
    }
    ended
}

/// The lines at the end of a profile. `looks`: times that the ticker has looked at the threads.
fn tell(summary: &Summary, looks: u64) {
    let (hp, prof) = (summary.hp.display(), summary.prof.display());
    let more: String = summary.more.iter().map(|path| format!(", {}", path.display())).collect();
    let has = if summary.more.is_empty() { "has" } else { "have" };
    os::say(&format!(
        "{hp}{more} {has} {} samples, {prof} the time and allocation report from {looks} looks at the threads",
        summary.samples
    ));
    if TRACES.is_full() || STACKS.is_full() {
        os::say(
            "there was no room for all call sites, threads, sizes and births: see the band OTHER (HEAPPROF_STACKS)",
        );
    }
    let count = STACKS.count();
    // Nothing but folding leads there.
    let folded = snapshot::total(Figure::Entries, count)[ccs::OTHER as usize];
    if folded > 0 {
        os::say(&format!(
            "the limit of {} stacks was reached; {folded} entries went to the band OTHER (HEAPPROF_STACKS)",
            STACKS.limit()
        ));
    }
}

extern "C" fn on_exit() {
    if OWNER.load(Ordering::Relaxed) != os::process_id() {
        return;
    }
    if let Some(session) = latest_session() {
        thread::as_profiler(|| say_failure(stop(session.number, Patience::Short)));
    }
}

/// In a forked child: the parent's profile is not ours. The child may start one of its own.
pub(crate) extern "C" fn on_fork() {
    files::forget_after_fork();
    ticker::forget_after_fork();
    thread::adopt_after_fork();
    STATE.store(IDLE, Ordering::Release);
}

/// The file name without `.hp` that a pattern stands for.
fn stem(pattern: &str, program: &str) -> Result<PathBuf, Error> {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    let stem = config::expand(pattern, program, os::process_id(), now.as_secs());
    let bad = || Kind::Setting {
        from: String::from("output"),
        value: pattern.to_owned(),
        accepted: "%e, %p, %t or %% after a percent sign",
    };
    let stem = PathBuf::from(stem.ok_or_else(bad)?);
    // The program may change its folder later: the files stay where the profile began.
    std::path::absolute(&stem).map_err(|cause| Error::file(&stem, cause))
}

/// The program's file name.
fn program_name() -> String {
    let path = std::env::args_os().next().filter(|name| !name.is_empty()).map(PathBuf::from);
    let path = path.or_else(|| std::env::current_exe().ok()).unwrap_or_default();
    path.file_name().map_or_else(|| String::from("program"), |name| name.to_string_lossy().into_owned())
}

/// At process start, before `main`: begins a profile if environment or file ask for one.
///
/// Whatever is wrong with them is one line on stderr, and the program runs unprofiled.
#[used]
#[cfg_attr(not(miri), unsafe(link_section = ".init_array"))]
static AT_START: extern "C" fn() = {
    extern "C" fn at_start() {
        let _errno = os::KeepErrno::new();
        if !mode::is_addressed() {
            return;
        }
        // The allocator decides at its first block. If it does not, it is not installed: a tool that
        // only reads profiles is not to be profiled.
        drop(std::hint::black_box(Box::new(0_u8)));
        match mode::mode() {
            Mode::Off => return say_why_off(),
            Mode::Armed | Mode::Started => {}
            Mode::Undecided | Mode::Deciding => return,
        }
        thread::as_profiler(|| {
            let mut config = Config::default();
            let started =
                config.overlay().and_then(|asked| if asked { start(config).map(|_| ()) } else { Ok(()) });
            if let Err(failure) = started {
                os::say(&format!("{failure}; the program runs unprofiled"));
            }
        });
    }
    at_start
};

/// Says why a process that was asked for a profile does not tag: its switch could not be read, or its
/// tables could not be had.
fn say_why_off() {
    match os::variable(c"HEAPPROF") {
        Some(value) if mode::Switch::parse(value).is_none() => {
            let from = String::from("HEAPPROF");
            let value = String::from_utf8_lossy(value).into_owned();
            let refused: Error = Kind::Setting { from, value, accepted: mode::Switch::ACCEPTED }.into();
            os::say(&format!("{refused}; the program runs unprofiled"));
        }
        Some(value) if mode::Switch::parse(value) == Some(mode::Switch::Off) => {}
        _ => os::say("no address space for the tables (HEAPPROF_STACKS); the program runs unprofiled"),
    }
}

/// Called by the cold paths of the allocator: takes a sample on this thread when one is due and the
/// program's threads are to take them. `bytes` of the block at hand drive how often the clock is read.
#[inline]
pub(crate) fn inline_tick(bytes: usize) {
    if thread::samples_inline() && thread::spend(bytes) {
        inline_due();
    }
}

#[cold]
fn inline_due() {
    let _errno = os::KeepErrno::new();
    let (Ok(session), Some(shard)) = (session(), thread::own()) else {
        return;
    };
    shard.time(0, STACKS.attribute());
    let now_ns = os::elapsed_ns();
    let due_ns = session.inline_due_ns.load(Ordering::Relaxed);
    if now_ns < due_ns {
        return;
    }
    // Reading debug information takes more stack than many a thread has; another one will come by.
    if capture::plan().wants_traces() && !walk::has_room(NAMING_STACK_BYTES) {
        return;
    }
    thread::as_profiler(|| {
        // A sample that takes longer than the interval allocates when the next one is already due.
        let Some(interval) = session.try_interval() else {
            return;
        };
        let next_ns = now_ns + interval.as_nanos() as u64;
        if session
            .inline_due_ns
            .compare_exchange(due_ns, next_ns, Ordering::Relaxed, Ordering::Relaxed)
            .is_ok()
        {
            session.try_sample();
        }
    });
}

/// Body of the ticker thread, which must not unwind into C.
pub(crate) extern "C" fn run_ticker(session: *mut c_void) -> *mut c_void {
    // SAFETY: `ticker::start` passes a leaked session.
    let session: &'static Session = unsafe { &*session.cast() };
    if std::panic::catch_unwind(|| ticker::run(session)).is_err() {
        os::say("the profiler's thread has failed; the profile stops here");
    }
    std::ptr::null_mut()
}
