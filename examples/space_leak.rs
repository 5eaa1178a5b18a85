//! A small service with a space leak: find it in the chart.
//!
//! Requests are parsed, answered and logged. Sessions come and go, the index grows to its size and
//! stays, the log is a ring. One of the caches, though, is keyed by something that never repeats.
//!
//! `HEAPPROF_INTERVAL=0.05 cargo run --release --example space_leak`

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::time::{Duration, Instant};

use heapprof::attr::cost_centre;

#[global_allocator]
static ALLOC: heapprof::HeapProf = heapprof::HeapProf::new();

/// How long the service runs, and how many requests it serves in that time.
const RUN: Duration = Duration::from_secs(3);
const REQUESTS: u64 = 30_000;

/// Users who have a session at one time, pages in the index, lines in the log.
const USERS: u64 = 800;
const PAGES: u64 = 3_000;
const LOG_LINES: usize = 4_000;
/// Users remembered of each page.
const FIRST_VISITS: usize = 4;

struct Request {
    number: u64,
    user: u64,
    page: String,
}

#[derive(Default)]
struct Service {
    sessions: HashMap<u64, Vec<u8>>,
    index: BTreeMap<String, Vec<u64>>,
    rendered: HashMap<String, String>,
    log: VecDeque<String>,
}

impl Service {
    #[cost_centre]
    fn serve(&mut self, text: &str) -> usize {
        let Some(request) = parse(text) else { return 0 };
        self.touch_session(&request);
        self.update_index(&request);
        let length = self.render(&request).len();
        self.write_log(&request, length);
        length
    }

    /// One session a user; an old one goes when the user comes back.
    #[cost_centre("sessions")]
    fn touch_session(&mut self, request: &Request) {
        let bytes = 1_000 + (request.number % 3_000) as usize;
        self.sessions.insert(request.user, vec![0; bytes]);
        if request.number.is_multiple_of(5_000) {
            self.sessions.clear();
        }
    }

    /// Grows until every page has been seen, then stays.
    #[cost_centre("index")]
    fn update_index(&mut self, request: &Request) {
        let visits = self.index.entry(request.page.clone()).or_default();
        if visits.len() < FIRST_VISITS {
            visits.push(request.user);
        }
    }

    /// Meant to save work for pages that are asked for again. But the key holds the request's number,
    /// so no entry is ever found, and none is ever evicted: the leak.
    #[cost_centre("render_cache")]
    fn render(&mut self, request: &Request) -> &str {
        let key = format!("{}?request={}", request.page, request.number);
        self.rendered
            .entry(key)
            .or_insert_with_key(|key| format!("<html><h1>{key}</h1>{}</html>", "·".repeat(120)))
    }

    #[cost_centre("log")]
    fn write_log(&mut self, request: &Request, length: usize) {
        self.log.push_back(format!(
            "{} user {} page {} bytes {length}",
            request.number, request.user, request.page
        ));
        if self.log.len() > LOG_LINES {
            self.log.pop_front();
        }
    }
}

#[cost_centre]
fn parse(text: &str) -> Option<Request> {
    let fields: Vec<&str> = text.split(' ').collect();
    let [number, user, page] = fields[..] else {
        return None;
    };
    Some(Request { number: number.parse().ok()?, user: user.parse().ok()?, page: page.to_owned() })
}

fn main() {
    let mut service = Service::default();
    let begin = Instant::now();
    let mut bytes = 0;
    for number in 0..REQUESTS {
        let text = format!("{number} {} /page/{}", number * 7_919 % USERS, number * 104_729 % PAGES);
        bytes += service.serve(&text);
        if number == REQUESTS / 2 {
            let _ = heapprof::mark();
        }
        // Requests come in over the whole run, not all at once.
        let due = RUN.mul_f64(number as f64 / REQUESTS as f64);
        if number % 50 == 0 {
            std::thread::sleep(due.saturating_sub(begin.elapsed()));
        }
    }
    println!("{REQUESTS} requests, {bytes} bytes sent");
}
