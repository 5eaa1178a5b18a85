//! The rows of the tables: what is built, how it is started, and how much of a workload it bears.

/// One thing to measure.
pub(crate) struct Row {
    pub(crate) name: &'static str,
    /// The cargo feature that its worker is built with.
    pub(crate) feature: &'static str,
    /// What starts it: environment variables and their values.
    pub(crate) environment: &'static [(&'static str, &'static str)],
    /// Share of the workload in percent, for one thread and for two: below 100 where a full one
    /// would take minutes. The plain run that it is compared with has the same share.
    pub(crate) share_percent: Share,
    /// What a reader has to know of it.
    pub(crate) about: &'static str,
}

#[derive(Clone, Copy)]
pub(crate) struct Share {
    pub(crate) one_thread: u32,
    pub(crate) two_threads: u32,
}

const FULL: Share = Share { one_thread: 100, two_threads: 100 };
/// Shared atomic counters: tens of times slower with two threads.
const CONTENDED: Share = Share { one_thread: 100, two_threads: 20 };

const LONG_INTERVAL: [(&str, &str); 1] = [("HEAPPROF_INTERVAL", "3600")];
const SHORT_INTERVAL: [(&str, &str); 1] = [("HEAPPROF_INTERVAL", "0.1")];
const SAMPLED_PROFILE: [(&str, &str); 1] =
    [(JEMALLOC_OPTIONS, "prof:true,prof_active:true,lg_prof_sample:19")];

/// Names of call sites are not made: what is measured is the program's part.
const ARCS: [(&str, &str); 3] =
    [("HEAPPROF_INTERVAL", "3600"), ("HEAPPROF_BREAKDOWN", "arc"), ("HEAPPROF_SYMBOLS", "offline")];
const CALL_STACKS: [(&str, &str); 3] =
    [("HEAPPROF_INTERVAL", "3600"), ("HEAPPROF_BREAKDOWN", "callstack"), ("HEAPPROF_SYMBOLS", "offline")];
const TYPES: [(&str, &str); 2] = [("HEAPPROF_INTERVAL", "0.1"), ("HEAPPROF_BREAKDOWN", "type")];
const ALL: [(&str, &str); 2] = [("HEAPPROF_INTERVAL", "0.1"), ("HEAPPROF_BREAKDOWN", "all")];
const SAMPLED: [(&str, &str); 3] =
    [("HEAPPROF_INTERVAL", "3600"), ("HEAPPROF_BREAKDOWN", "stack"), ("HEAPPROF_SAMPLE", "512k")];
const SAMPLED_ARCS: [(&str, &str); 4] = [
    ("HEAPPROF_INTERVAL", "3600"),
    ("HEAPPROF_BREAKDOWN", "arc"),
    ("HEAPPROF_SAMPLE", "512k"),
    ("HEAPPROF_SYMBOLS", "offline"),
];

/// The variable that a jemalloc built with the prefix `_rjem_` reads.
pub(crate) const JEMALLOC_OPTIONS: &str = "_RJEM_MALLOC_CONF";

/// What every other row is compared with.
pub(crate) static PLAIN: Row = Row {
    name: "plain jemalloc",
    feature: "plain",
    environment: &[],
    share_percent: FULL,
    about: "the yardstick",
};

const fn full(
    name: &'static str,
    feature: &'static str,
    environment: &'static [(&'static str, &'static str)],
    about: &'static str,
) -> Row {
    Row { name, feature, environment, share_percent: FULL, about }
}

/// heapprof in its states, and the allocators that bound it.
static OWN: [Row; 9] = [
    full("control", "plain", &[], "a second copy of the plain binary: the noise"),
    full(
        "jemalloc-stats",
        "jemalloc-stats",
        &[],
        "plain jemalloc with the statistics that heapprof reads: its part of the rows below",
    ),
    full("system", "system", &[], "the C library's allocator, unprofiled"),
    full("disabled", "disabled", &[], "heapprof with its feature `disabled`"),
    full("off", "heapprof", &[], "heapprof linked, cost centres set, no profile running"),
    full("exact", "heapprof", &LONG_INTERVAL, "a profile running, every block counted"),
    full("exact-lean", "lean", &LONG_INTERVAL, "the same without the feature `resident`"),
    full("exact-0.1s", "heapprof", &SHORT_INTERVAL, "the same with a sample every 0.1 s"),
    full("scopes", "scopes", &LONG_INTERVAL, "cost centres without heapprof's allocator"),
];

/// What heapprof looks at beyond stacks. No cost centre is set.
static SITES: [Row; 6] = [
    full("arcs", "sites", &ARCS, "the call site of every block, named after the run"),
    full("callstacks", "sites", &CALL_STACKS, "32 frames of every block, named after the run"),
    full("types", "sites", &TYPES, "the type of every block, named as it runs, a sample every 0.1 s"),
    full("all", "sites", &ALL, "nine breakdowns at once, the same"),
    full("sampled", "sites", &SAMPLED, "one block in 512 KiB, by cost-centre stack"),
    full("sampled-arcs", "sites", &SAMPLED_ARCS, "one block in 512 KiB, by call site"),
];

/// Where Debian's package has the library that heaptrack preloads.
const HEAPTRACK: &str = "/usr/lib/heaptrack/libheaptrack_preload.so";

/// Other people's profilers and counters, over jemalloc unless said.
static PEERS: [Row; 7] = [
    full("jemalloc-prof", "jemalloc-prof", &SAMPLED_PROFILE, "jemalloc's own profile, one sample in 512 KiB"),
    Row {
        name: "hotpath",
        feature: "hotpath",
        environment: &[],
        share_percent: CONTENDED,
        about: "totals only, no scope set",
    },
    Row {
        name: "tracking-allocator",
        feature: "tracking-allocator",
        environment: &[],
        share_percent: CONTENDED,
        about: "totals only, two atomic counters",
    },
    Row {
        name: "stats_alloc",
        feature: "stats_alloc",
        environment: &[],
        share_percent: CONTENDED,
        about: "totals only, over the system allocator (on stable Rust it takes no other)",
    },
    Row {
        name: "mod-alloc",
        feature: "mod-alloc",
        environment: &[],
        share_percent: Share { one_thread: 50, two_threads: 5 },
        about: "call sites, over the system allocator",
    },
    Row {
        name: "heaptrack",
        feature: "system",
        environment: &[("LD_PRELOAD", HEAPTRACK), ("DUMP_HEAPTRACK_OUTPUT", "/dev/null")],
        share_percent: Share { one_thread: 10, two_threads: 3 },
        about: "whole stacks, preloaded over the C library's allocator, its output thrown away",
    },
    Row {
        name: "dhat",
        feature: "dhat",
        environment: &[],
        share_percent: Share { one_thread: 3, two_threads: 2 },
        about: "whole stacks, over the system allocator",
    },
];

/// The rows named in a list with commas: names, or `own`, `sites`, `peers`, `all`.
///
/// # Errors
/// A name that is no row and no group.
pub(crate) fn select(names: &str) -> Result<Vec<&'static Row>, String> {
    let all = || OWN.iter().chain(&SITES).chain(&PEERS);
    let mut chosen = Vec::new();
    for name in names.split(',') {
        match name {
            "all" => chosen.extend(all()),
            "own" => chosen.extend(&OWN),
            "sites" => chosen.extend(&SITES),
            "peers" => chosen.extend(PEERS.iter().filter(|row| is_here(row))),
            _ => chosen.push(all().find(|row| row.name == name).ok_or_else(|| unknown(name, all()))?),
        }
    }
    Ok(chosen)
}

/// Whether what the row preloads is installed; says so if not.
fn is_here(row: &Row) -> bool {
    let preloaded = row.environment.iter().find(|(name, _)| *name == "LD_PRELOAD");
    let missing = preloaded.filter(|(_, library)| !std::path::Path::new(library).exists());
    if let Some((_, library)) = missing {
        eprintln!("{}: {library} is not installed, the row is left out", row.name);
    }
    missing.is_none()
}

fn unknown<'a>(name: &str, rows: impl Iterator<Item = &'a Row>) -> String {
    let names: Vec<&str> = rows.map(|row| row.name).collect();
    format!("--rows: {name:?} is none of own, sites, peers, all, {}", names.join(", "))
}
