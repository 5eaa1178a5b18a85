//! Another real crate under the profiler: regex. Compiling an expression, searching with it and
//! keeping what was found have a cost centre each.
//!
//! `HEAPPROF_INTERVAL=0.01 cargo run --release --example search`

use std::collections::HashMap;

use heapprof::attr::cost_centre;
use regex::Regex;

#[global_allocator]
static ALLOC: heapprof::HeapProf = heapprof::HeapProf::new();

const EXPRESSIONS: [&str; 5] = [
    r"(?i)\b[a-z_]+\s*\(",
    r"[\p{L}_][\p{L}\p{N}_]*",
    r"(fn|struct|enum|impl)\s+(\w+)",
    r"\d{1,3}(\.\d+)?([eE][+-]?\d+)?",
    r"(\w+)@(\w+)\.(org|net)",
];

#[cost_centre]
fn text() -> String {
    (0..60_000u32)
        .map(|n| format!("fn call_{n}(x{}) {{ mail me{n}@example.org {}.5e3 }}\n", n % 7, n % 1000))
        .collect()
}

#[cost_centre]
fn compile(expression: &str) -> Option<Regex> {
    Regex::new(expression).ok()
}

/// Counts the different matches; the map is what stays of a search.
#[cost_centre("find")]
fn find<'t>(regex: &Regex, text: &'t str) -> HashMap<&'t str, usize> {
    let mut found = HashMap::new();
    for hit in regex.find_iter(text) {
        *found.entry(hit.as_str()).or_insert(0) += 1;
    }
    found
}

fn main() {
    let text = text();
    let mut kept = Vec::new();
    for expression in EXPRESSIONS {
        let Some(regex) = compile(expression) else { continue };
        kept.push(find(&regex, &text));
        let _ = heapprof::mark();
    }
    let different: usize = kept.iter().map(HashMap::len).sum();
    let all: usize = kept.iter().flat_map(HashMap::values).sum();
    println!("{all} matches, {different} of them different");
}
