//! The lines above the tables: command, machine, compiler, date. A number without them is hearsay.

use crate::cli::Options;
use std::process::Command;

/// A Markdown paragraph that says how the figures below it came about.
pub(crate) fn heading(arguments: &[String], options: &Options) -> String {
    let command = "cargo run --release --manifest-path heapprof/benches/Cargo.toml --";
    format!(
        "`{command} {}`\n\n{}, {} cores, load {}, Linux {}; {}; {}; profile `{}` (codegen-units = 1, no LTO), scale {} %.\n",
        arguments.join(" "),
        cpu_model(),
        std::thread::available_parallelism().map_or(1, usize::from),
        load(),
        first_line_of_file("/proc/sys/kernel/osrelease"),
        first_line_of("rustc", &["--version"]),
        first_line_of("date", &["-u", "+%Y-%m-%d"]),
        options.profile,
        options.scale_percent,
    )
}

fn cpu_model() -> String {
    let cpus = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = cpus.lines().find(|line| line.starts_with("model name"));
    let model = model.and_then(|line| line.split_once(": ")).map(|(_, model)| model.to_owned());
    model.unwrap_or("unknown processor".to_owned())
}

/// The load of the last minute. With another job on the machine two threads seldom run at once, and
/// shared counters then look cheaper than they are.
fn load() -> String {
    let load = first_line_of_file("/proc/loadavg");
    load.split_whitespace().next().unwrap_or_default().to_owned()
}

fn first_line_of_file(path: &str) -> String {
    first_line(std::fs::read(path).ok(), path)
}

fn first_line_of(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).output().ok();
    first_line(output.map(|output| output.stdout), program)
}

fn first_line(bytes: Option<Vec<u8>>, source: &str) -> String {
    let text = bytes.map(|bytes| String::from_utf8_lossy(&bytes).trim().to_owned());
    text.filter(|text| !text.is_empty()).unwrap_or(format!("unknown {source}"))
}
