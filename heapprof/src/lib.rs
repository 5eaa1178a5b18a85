//! Exact heap and time profiler: who holds the memory, over time.
//!
//! heapprof tags every block with who asked for it, a call site or a cost-centre stack, and writes the
//! live bytes of each, at a regular interval, in the format of GHC's heap profiler; beside that, a
//! time and allocation report in the layout of GHC's. Every figure is exact to the byte of the sizes
//! that the program asked for; only call sites of programs without frame pointers are sampled, and
//! what `HEAPPROF_SAMPLE` asks for.
//!
//! # A first profile
//!
//! The program (never a library) installs the allocator. That is enough for bands by call site; places that
//! it wants to tell apart itself it names:
//!
//! ```
//! #[global_allocator]
//! static ALLOC: heapprof::HeapProf = heapprof::HeapProf::new();
//!
//! fn main() {
//!     let words: Vec<String> = {
//!         let _read = heapprof::cost_centre!("read");
//!         (0..1000).map(|n| n.to_string()).collect()
//!     };
//!     let total = heapprof::cost_centre!("count" => words.iter().map(String::len).sum::<usize>());
//!     assert_eq!(total, 2890);
//! }
//! ```
//!
//! ```console
//! $ HEAPPROF_INTERVAL=0.2 ./app       # writes app.hp and app.prof
//! $ hp2ps -c -m10 app.hp              # draws app.ps
//! $ hp2svg app.hp                     # draws app.svg
//! ```
//!
//! Without the variable (and without `HEAPPROF=on` and a `heapprof.toml`) the program runs as over its
//! allocator alone: whether blocks are tagged is decided once, at the first block. A profile started
//! from outside is the one that runs: [`ProfilerBuilder::start`] then says so. A program that does not install the allocator is not profiled by
//! the environment, so tools that only read profiles never are.
//!
//! # Settings
//!
//! The environment goes over `heapprof.toml` in the working folder, which goes over the
//! [builder](ProfilerBuilder), which goes over the defaults. A value that cannot be read is one line
//! on stderr, and the program runs unprofiled. In a process of raised privilege (set-user-id and the
//! like) neither environment nor file is read. A file cannot name an output outside its folder.
//!
//! | variable | key in `heapprof.toml` | meaning | default |
//! |---|---|---|---|
//! | `HEAPPROF` | `profile` | `on`: profile from the start; `armed`: tag, so that the program can start a profile; `off` | on when the file is there or the interval is set, else off |
//! | `HEAPPROF_INTERVAL` | `interval` | seconds between samples (or `200ms`, `2m`); set alone, it starts a profile | 1 |
//! | `HEAPPROF_OUTPUT` | `output` | file name without `.hp`; `%e` program, `%p` process, `%t` start in seconds since 1970 | `%e` |
//! | `HEAPPROF_BREAKDOWN` | `breakdown` | what a band is, one or several with commas, or `all`: see below | `arc` until a cost centre is entered, then `stack` |
//! | `HEAPPROF_SELECT` | `select` | only blocks whose band in a breakdown matches, as `centre=cache*` or `type=Vec*`: `*` is any text, `?` any character; several with commas: all must match | |
//! | `HEAPPROF_DEPTH` | `depth` | functions of a call stack, from the one that asked outwards | 32 |
//! | `HEAPPROF_SAMPLE` | `sample` | `512k`: choose one block in so many bytes and count no other; `off`: look at every block, also without frame pointers | |
//! | `HEAPPROF_SYMBOLS` | `symbols` | `on`; `offline`: bands are addresses, to be named by `heapprof-resolve` | `on` |
//! | `HEAPPROF_CLOCK` | `clock` | sample times in `elapsed` or `cpu` seconds | `elapsed` |
//! | `HEAPPROF_SAMPLER` | `sampler` | `thread`: a thread of our own samples; `inline`: the allocating threads do | `thread` |
//! | `HEAPPROF_TICK` | `tick` | seconds between looks at the threads' stacks and CPU clocks | 0.001 |
//! | `HEAPPROF_STACKS` | `stacks` | stacks there may be; later ones fold into the band `OTHER` | 65536 |
//! | `HEAPPROF_SAMPLES` | `samples` | samples after which the interval doubles, and again after as many | 5000 |
//! | `HEAPPROF_NAME_CHARS` | `name_chars` | longest band name in the `.hp` file; the `.prof` file has the whole stack under the same number | 60 |
//! | `HEAPPROF_RESIDENT` | `resident` | adds bands for the gap up to the resident memory | off |
//! | `HEAPPROF_OWN` | `own` | shows the profiler's own memory as the band `HEAPPROF` | off |
//! | `HEAPPROF_QUIET` | `quiet` | no lines on stderr about success | off |
//!
//! # Breakdowns
//!
//! One run answers every question: with several breakdowns the first is in `app.hp`, each other one in
//! `app.NAME.hp`, and in every sample all of them have the same total.
//!
//! | name | letter | a band is |
//! |---|---|---|
//! | `stack` | `c` | a cost-centre stack |
//! | `centre` | | a cost centre, on top of whatever stack |
//! | `module` | `m` | the module of the top cost centre; where none was entered, of the function that asked |
//! | `arc` | `a` | the function that asked for the memory, and the place in the function that called it |
//! | `callstack` | `s` | a whole call stack, to the depth set |
//! | `description` | `d` | the allocating operation: `Vec::push`, `Box::new` |
//! | `type` | `y` | the type of what was allocated: `Vec<u64>`, `HashMap<String,Conn>` |
//! | `thread` | `t` | the name of the thread that asked |
//! | `size` | `z` | a size class: powers of two |
//! | `birth` | `b` | the interval in which the block was allocated, by its begin in seconds |
//!
//! Nothing has to be written into the program for any but the first two. Names come from its debug
//! information, and call stacks from frame pointers. Two settings of Cargo give both:
//!
//! ```toml
//! # .cargo/config.toml
//! [build]
//! rustflags = ["-Cforce-frame-pointers=yes", "-Csymbol-mangling-version=v0"]
//!
//! # Cargo.toml
//! [profile.release]
//! debug = 1
//! ```
//!
//! - **Without frame pointers** call stacks are taken from the compiler's unwind tables. That is slow, so it is
//!   done for one block in 512 KiB, and the total, which is exact, is spread over the bands as the chosen
//!   blocks stand for it; the file's title says so. `HEAPPROF_SAMPLE=off` looks at every block.
//! - **Without debug information** inlined functions and lines are missing, and types are `Vec<?>`; of a stripped
//!   program bands are `app+0x1f2c`, the address in the file. With the legacy mangling some types are not whole:
//!   of an own type with several parameters, and where debug information is split off or compressed. A question mark
//!   stands for what is not certain, as in `Vec<u64?>`.
//! - **std's frames** are passed over: the function that asked is the first one of the program's own or of
//!   a crate it uses. Frames of a library that keeps no frame pointers (C code) can be missing or end
//!   the call stack; a name is never made up.
//! - **A function that ends by calling std** (`vec![0; n]` as its last expression) may have left the call stack
//!   by then: optimised code jumps there. Its caller then is the function that asked.
//! - **A block that grows** belongs to whoever made it grow, in every breakdown.
//! - **A pattern** of `HEAPPROF_SELECT` is for a whole name, or one function of a call stack, as it is or as it
//!   stands in the file. The file's title tells what was selected.
//! - **Reading debug information** takes some tenths of a second when the first names are made, and longer in a large
//!   program: a sample is late then, with its right time. With `HEAPPROF_SAMPLER=inline` names are made on the
//!   program's threads, those with half a megabyte of stack to spare.
//! - **A library that was unloaded** takes its names with it: blocks that were asked for through it fall to `?`.
//! - **Under a limit of address space** below 4 GiB (`ulimit -v`) call stacks are not looked at.
//! - A breakdown that lacks something, since a table was full, has those blocks in the band `OTHER`; blocks from
//!   before the profile are `BEFORE_PROFILE`. `?` is what has no name, `unnamed` a thread without one.
//!
//! A program that installs [`HeapProf::armed`] can start and stop profiles itself: see [`Profiler`].
//!
//! # What is counted, and where
//!
//! - **A block** counts under the stack that allocated it, in the size asked for, until it is freed,
//!   by whichever thread. Growing a block under another stack moves it there, whole; shrinking leaves
//!   it: a band says who asked for the memory held now.
//! - **Stacks** follow GHC's rule: entering a centre that is already on the stack truncates the stack
//!   to it. A thread starts at `MAIN`; [`spawn`], [`inherit`] and [`Stack`] carry a stack over.
//! - **Time** is CPU time. A thread of our own looks at every thread's CPU clock and current stack
//!   at each tick; no signal is used, so no system call of the program is ever interrupted.
//!   The report's total is the CPU seconds of all threads.
//! - **Async code**: a guard that lives over an `.await` stays on its thread's stack while other tasks
//!   run there, and takes their blocks. Enter centres between two `.await`.
//! - **Built-in stacks**: `MAIN` (no centre), `OTHER` (stacks beyond the limit), `BEFORE_PROFILE`
//!   (allocated while armed, or between two profiles), `EXIT` (allocated by a thread after its thread-locals are gone).
//! - **Not counted**: what C code gets from `malloc`, memory mapped directly, thread stacks; the CPU
//!   time of threads that never allocate and enter no centre; allocations of the profiler itself.
//!
//! # The files
//!
//! `app.hp` grows by whole samples, one write each, so it is complete up to the last sample whatever
//! ends the program. (One exception: SIGKILL just while a sample of more than 4 KiB is being copied can
//! cut that sample; `hp2ps` and `hp2svg` then draw all before it.) `app.prof` is replaced in one step, at least every second or so while there are
//! samples, and at exit. A profile whose file cannot be written stops with one line on stderr. If a
//! living process is writing `app.hp`, another one writes `app.PID.hp`. A forked child writes nothing
//! unless it starts a profile of its own.
//!
//! Names are escaped by one reversible rule ([`hp::escape_label`]): a blank becomes `~`, other bytes
//! that readers break on become `^` and two hexadecimal digits.
//!
//! # In the program's own tests
//!
//! [`measure`] tells what the calling thread did during some work, whatever other threads do;
//! [`stats`] and [`stacks`] read the whole process.
//!
//! # Features
//!
//! | feature | default | what it brings |
//! |---|---|---|
//! | `jemalloc` | yes | [`HeapProf::new`] over jemalloc (a C build) instead of `std::alloc::System` |
//! | `resident` | yes | jemalloc's own figures in the bands of `HEAPPROF_RESIDENT` |
//! | `config` | yes | `heapprof.toml` |
//! | `macros` | yes | the attribute `#[cost_centre]` in [`attr`] |
//! | `symbols` | yes | breakdowns by call site, call stack, description and type, and `symbols` |
//! | `disabled` | no | everything compiles to nothing; the allocator passes through |
//!
//! Profiles are recorded on Linux; elsewhere the crate builds and records nothing.

mod error;
mod figures;
pub mod hp;
mod options;
pub mod prof;
#[cfg(all(feature = "symbols", target_os = "linux"))]
pub mod symbols;

#[cfg(all(target_os = "linux", not(feature = "disabled")))]
mod engine;
#[cfg(not(all(target_os = "linux", not(feature = "disabled"))))]
#[path = "off.rs"]
mod engine;

pub use engine::{DefaultAllocator, HeapProf};
pub use engine::{Profile, Profiler, ProfilerBuilder, mark, sample_now};
pub use engine::{Scope, Stack, inherit, spawn};
pub use engine::{measure, stacks, stats};
pub use error::Error;
pub use figures::{Measured, StackStats, Stats, Summary};
pub use options::{Breakdown, Clock, Sampler};

#[doc(hidden)]
pub use engine::Site;

/// Enters a cost centre until the guard is dropped, or for one expression.
///
/// `cost_centre!("name")` is a guard: bind it to a name that begins with `_`. `cost_centre!("name" =>
/// expression)` enters the centre for the expression and has its value; `return` and `?` inside work
/// as outside. The name may be any expression that gives a `String` or `&str`; it is then computed
/// when the place is first entered, and kept. Each place in the program is a cost centre of its own,
/// also under an equal name.
///
/// ```
/// # #[global_allocator]
/// # static ALLOC: heapprof::HeapProf = heapprof::HeapProf::new().armed();
/// use heapprof::cost_centre;
///
/// fn load(shard: u32) -> Vec<u8> {
///     let _load = cost_centre!("load");
///     let header = cost_centre!("header" => vec![0; 100]);
///     let body = cost_centre!(format!("body of {shard}") => vec![1; 1000]);
///     [header, body].concat()
/// }
/// # let folder = std::env::temp_dir().join("heapprof-doc-%p");
/// # let app = folder.to_str().unwrap();
/// # let profile = heapprof::Profiler::builder().output(app).quiet(true).start().unwrap();
/// assert_eq!(load(7).len(), 1100);
/// let stacks = heapprof::stacks();
/// let body = stacks.iter().find(|stack| stack.centre() == "body of 7").unwrap();
/// assert_eq!(body.centres, ["body of 7", "load"]);
/// assert_eq!((body.entries, body.allocated_bytes, body.live_bytes), (1, 1000, 0));
/// # let files = profile.stop().unwrap();
/// # std::fs::remove_file(files.hp).unwrap();
/// # std::fs::remove_file(files.prof).unwrap();
/// ```
#[macro_export]
macro_rules! cost_centre {
    ($name:literal) => {{
        static SITE: $crate::Site =
            $crate::Site::new($name, ::core::module_path!(), ::core::file!(), ::core::line!());
        $crate::Site::enter(&SITE)
    }};
    ($name:literal => $work:expr) => {{
        let _scope = $crate::cost_centre!($name);
        $work
    }};
    ($name:expr => $work:expr) => {{
        let _scope = $crate::cost_centre!($name);
        $work
    }};
    ($name:expr) => {{
        static SITE: $crate::Site =
            $crate::Site::new("", ::core::module_path!(), ::core::file!(), ::core::line!());
        $crate::Site::enter_named(&SITE, || $name)
    }};
}

/// The attribute form of [`cost_centre!`]: `#[cost_centre]` on a function or method enters a centre
/// of the function's name while it runs, `#[cost_centre("name")]` one of that name.
///
/// It is not beside the macro because Rust gives one name in one place to one macro only.
///
/// ```
/// # #[global_allocator]
/// # static ALLOC: heapprof::HeapProf = heapprof::HeapProf::new();
/// use heapprof::attr::cost_centre;
///
/// struct Cache(Vec<String>);
///
/// impl Cache {
///     #[cost_centre("cache")]
///     fn put(&mut self, value: &str) -> usize {
///         self.0.push(value.to_owned());
///         self.0.len()
///     }
/// }
/// assert_eq!(Cache(Vec::new()).put("x"), 1);
/// ```
///
/// An `async fn` is refused, since a guard cannot follow it over an `.await`:
///
/// ```compile_fail
/// #[heapprof::attr::cost_centre]
/// async fn fetch() {}
/// ```
#[cfg(feature = "macros")]
pub mod attr {
    pub use heapprof_macros::cost_centre;
}
