//! One workload under one allocator, in a process of its own.
//!
//! `worker <workload> <scale in percent>` runs a workload; `worker pair|regrow|scope <count>`
//! runs one operation in a loop, for callgrind; `worker scope-ns` and `worker sample-cost`
//! time themselves. The answer is one line of `key=value` fields that begins with `result`.
//! It knows nothing of ratios: the driver compares.

mod allocator;
mod operations;
mod sample_cost;
mod source;
mod workloads;

use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let recording = allocator::start();
    let fields = run(&arguments);
    let answer = fields.map(|fields| format!("result {fields} peak_kib={}", peak_resident_kib()));
    drop(recording);
    match answer {
        Ok(line) => {
            println!("{line}");
            ExitCode::SUCCESS
        }
        Err(message) => {
            eprintln!("worker: {message}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &[String]) -> Result<String, String> {
    let name = arguments.first().ok_or("expected a workload name as the first argument")?;
    let count = || number(arguments.get(1));
    match name.as_str() {
        "pair" => Ok(checksum(operations::pairs(count()?))),
        "regrow" => Ok(checksum(operations::reallocs(count()?))),
        "scope" => Ok(checksum(operations::scopes(count()?))),
        "scope-ns" => Ok(format!("ns={:.3}", operations::scope_ns())),
        "sample-cost" => sample_cost::measure(),
        _ => match workloads::by_name(name) {
            Some(workload) => Ok(checksum(workload(count()?))),
            None => Err(format!("no workload is named {name:?}")),
        },
    }
}

fn checksum(value: u64) -> String {
    format!("checksum={value}")
}

fn number(argument: Option<&String>) -> Result<usize, String> {
    let text = argument.ok_or("expected a number as the second argument")?;
    text.parse().map_err(|_| format!("expected a number as the second argument, read {text:?}"))
}

/// The highest resident memory so far, in KiB: read before the row's own report is written.
fn peak_resident_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|rest| rest.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}
