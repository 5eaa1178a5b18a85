//! The ways in which a program's memory moves, among them five leaks: try the leak finder on them.
//!
//! ```console
//! $ cargo run --example leaks -- sweep      # writes leaks-sweep.hp
//! $ hp2svg --leaks leaks-sweep.hp
//! ```
//!
//! The samples are taken by hand, one for each turn, so that every run of a program has the same bytes in
//! them.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::time::Duration;

use heapprof::cost_centre;

#[global_allocator]
static ALLOC: heapprof::HeapProf = heapprof::HeapProf::new().armed();

/// Turns of a run, and samples besides the first and the last.
const TURNS: usize = 240;

/// What a program does in one turn.
type Turn = Box<dyn FnMut(usize)>;

/// A program at its start.
type Program = fn() -> Turn;

/// All programs: a name and the work.
pub(crate) const PROGRAMS: [(&str, Program); 11] = [
    ("cache", cache),
    ("doubling", doubling),
    ("late", late),
    ("listeners", listeners),
    ("log", log),
    ("phases", phases),
    ("pool", pool),
    ("queue", queue),
    ("render", render),
    ("sawtooth", sawtooth),
    ("sweep", sweep),
];

/// A cache with a limit, which it reaches after two fifths of the run.
fn cache() -> Turn {
    let mut pages = BTreeMap::new();
    Box::new(move |turn| {
        let _cache = cost_centre!("page_cache");
        for number in turn * 50..(turn + 1) * 50 {
            pages.insert(number, vec![0_u8; 200 + number % 100]);
            if pages.len() > 50 * TURNS * 2 / 5 {
                pages.pop_first();
            }
        }
    })
}

/// A leak: numbers are kept for ever. But a bare `Vec` doubles its room now and then and is flat in between.
fn doubling() -> Turn {
    let mut history = Vec::new();
    Box::new(move |turn| {
        let _history = cost_centre!("history");
        history.extend((0..100).map(|number| (turn * number) as u64));
    })
}

/// A leak that begins when a feature is switched on, before the middle of the run.
fn late() -> Turn {
    let mut metrics = vec![vec![0_u8; 50_000]];
    Box::new(move |turn| {
        let _metrics = cost_centre!("metrics");
        if turn > TURNS * 9 / 20 {
            metrics.push(vec![0; 900]);
        }
    })
}

/// A leak by steps: each time the connection is made anew the listeners are registered again.
fn listeners() -> Turn {
    let mut listeners: Vec<Box<dyn Fn(usize) -> usize>> = Vec::with_capacity(2_000);
    Box::new(move |turn| {
        let _connect = cost_centre!("connect");
        if turn % 17 == 0 {
            listeners.extend((0..100_usize).map(|n| -> Box<dyn Fn(usize) -> usize> {
                let context = vec![n; 40];
                Box::new(move |event| context[event % 40])
            }));
        }
    })
}

/// The last lines of a log, after a start that takes some turns.
fn log() -> Turn {
    let mut lines = VecDeque::new();
    Box::new(move |turn| {
        let _log = cost_centre!("log");
        for number in 0..30 {
            lines.push_back(format!("turn {turn:04}, line {number:04}: {}", "=".repeat(turn * number % 60)));
        }
        lines.drain(..lines.len().saturating_sub(1_000));
    })
}

/// Three phases, each with its own memory that grows while it lasts.
fn phases() -> Turn {
    let (mut text, mut tree, mut image) = (Vec::new(), Vec::new(), Vec::new());
    Box::new(move |turn| match turn * 10 / TURNS {
        0..=3 => cost_centre!("read" => text.push(vec![0_u8; 3_000])),
        4..=6 => cost_centre!("parse" => {
            text = Vec::new();
            tree.push(Box::new([0_u64; 700]));
        }),
        _ => cost_centre!("draw" => {
            tree = Vec::new();
            image.push(vec![0_u8; 4_000]);
        }),
    })
}

/// Buffers that go back to a pool, which is as large as the demand once was.
fn pool() -> Turn {
    let mut free: Vec<Vec<u8>> = Vec::new();
    Box::new(move |turn| {
        let _pool = cost_centre!("pool");
        let demand = 20 + turn * 7_919 % 83;
        let buffers: Vec<Vec<u8>> =
            (0..demand).map(|_| free.pop().unwrap_or_else(|| vec![0; 4_096])).collect();
        free.extend(buffers);
    })
}

/// A leak: the producer is a little faster than the consumer, and nothing limits the queue.
fn queue() -> Turn {
    let mut jobs = VecDeque::new();
    Box::new(move |turn| {
        cost_centre!("enqueue" => jobs.extend((0..40).map(|job| format!("{turn:04}-{job:04}").repeat(10))));
        cost_centre!("dequeue" => drop(jobs.drain(..38 + turn % 2).collect::<Vec<_>>()));
    })
}

/// A leak: the key of the cache has the request's number in it, so that nothing is ever found again. The
/// sessions beside it come and go.
fn render() -> Turn {
    let (mut pages, mut sessions) = (HashMap::new(), HashMap::new());
    Box::new(move |turn| {
        for request in turn * 20..(turn + 1) * 20 {
            cost_centre!("sessions" => sessions.insert(request % 160, vec![0_u8; 200 + request * 7 % 900]));
            cost_centre!("render" => {
                let key = format!("/page/{:02}?request={request:06}", request % 30);
                pages.insert(key, "<p>".repeat(100));
            });
        }
    })
}

/// A batch that is collected and then sent.
fn sawtooth() -> Turn {
    let mut batch = Vec::new();
    Box::new(move |turn| {
        let _batch = cost_centre!("batch");
        batch.extend((0..20).map(|number| vec![0_u8; 100 + number]));
        if turn % 37 == 0 {
            batch = Vec::new();
        }
    })
}

/// A leak under saw-teeth: old sessions are swept out every eight turns, except those that still have a file.
fn sweep() -> Turn {
    let mut sessions = BTreeMap::new();
    Box::new(move |turn| {
        let _sessions = cost_centre!("sessions");
        for session in turn * 40..(turn + 1) * 40 {
            sessions.insert(session, vec![0_u8; 500]);
        }
        if turn % 8 == 0 {
            sessions.retain(|session, _| session % 25 == 0);
        }
    })
}

/// Runs a program under a profile, and says how many samples there are.
pub(crate) fn profile(program: Program, output: &str) -> Result<heapprof::Summary, heapprof::Error> {
    let by_hand = Duration::from_secs(86_400);
    let profile = heapprof::Profiler::builder().interval(by_hand).output(output).quiet(true).start()?;
    let mut turn = program();
    for number in 0..TURNS {
        turn(number);
        heapprof::sample_now()?;
    }
    drop(turn);
    profile.stop()
}

fn main() -> Result<(), heapprof::Error> {
    let asked = std::env::args().nth(1).unwrap_or_default();
    let Some((name, program)) = PROGRAMS.iter().find(|(name, _)| *name == asked) else {
        let names = PROGRAMS.map(|(name, _)| name).join(", ");
        eprintln!("which of {names}?");
        std::process::exit(2);
    };
    let files = profile(*program, &format!("leaks-{name}"))?;
    println!("{} has {} samples", files.hp.display(), files.samples);
    Ok(())
}
