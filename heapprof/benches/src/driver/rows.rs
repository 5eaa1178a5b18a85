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

/// Other people's profilers and counters, over jemalloc unless said.
static PEERS: [Row; 6] = [
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
        name: "dhat",
        feature: "dhat",
        environment: &[],
        share_percent: Share { one_thread: 3, two_threads: 2 },
        about: "whole stacks, over the system allocator",
    },
];

/// The rows named in a list with commas: names, or `own`, `peers`, `all`.
///
/// # Errors
/// A name that is no row and no group.
pub(crate) fn select(names: &str) -> Result<Vec<&'static Row>, String> {
    let all = || OWN.iter().chain(&PEERS);
    let mut chosen = Vec::new();
    for name in names.split(',') {
        match name {
            "all" => chosen.extend(all()),
            "own" => chosen.extend(&OWN),
            "peers" => chosen.extend(&PEERS),
            _ => chosen.push(all().find(|row| row.name == name).ok_or_else(|| unknown(name, all()))?),
        }
    }
    Ok(chosen)
}

fn unknown<'a>(name: &str, rows: impl Iterator<Item = &'a Row>) -> String {
    let names: Vec<&str> = rows.map(|row| row.name).collect();
    format!("--rows: {name:?} is none of own, peers, all, {}", names.join(", "))
}
