//! Prints what heapprof costs, as ratios to the plain inner allocator, in Markdown.
//!
//! `cargo run --release --manifest-path heapprof/benches/Cargo.toml -- --help` tells the options.
//! The driver builds one worker per row, runs the workers in processes of their own and compares
//! only runs that follow each other: A B A B, with the median of the pairs. A control row, a second
//! copy of the plain binary, states how much of a difference is noise.

mod cli;
mod cpu;
mod instructions;
mod latency;
mod machine;
mod memory;
mod rows;
mod run;
mod statistics;
mod table;
mod workers;

use cli::{Options, Parts};
use std::process::ExitCode;

/// The eight workloads of one thread; the geometric mean is over these.
const ONE_THREAD: [&str; 8] = ["micro", "churn", "maps", "json", "realloc", "syn", "regex", "deep"];

/// Two threads: the same as `micro`, and blocks freed by another thread.
const TWO_THREADS: [&str; 2] = ["micro-2", "handover"];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.iter().any(|argument| argument == "--help") {
        print!("{}", cli::HELP);
        return ExitCode::SUCCESS;
    }
    match measure(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("overhead: {message}");
            ExitCode::FAILURE
        }
    }
}

/// Options, workers, then each part asked for: a table is printed as soon as it is known.
fn measure(arguments: &[String]) -> Result<(), String> {
    let options = cli::parse(arguments)?;
    let workers = workers::build(&options.rows, &options.profile)?;
    println!("{}", machine::heading(arguments, &options));
    let Parts { cpu, memory, instructions, latency } = options.parts;
    print_part(cpu, || cpu::table(&workers, &options))?;
    print_part(memory, || memory::table(&workers, &options))?;
    print_part(instructions, || instructions::table(&workers, &options))?;
    print_part(latency, || latency::table(&workers, &options))
}

fn print_part(wanted: bool, part: impl FnOnce() -> Result<String, String>) -> Result<(), String> {
    if wanted {
        println!("{}", part()?);
    }
    Ok(())
}

/// Says on standard error what is being measured, for the minutes without a table.
fn progress(options: &Options, what: &str) {
    if !options.silent {
        eprintln!("overhead: {what}");
    }
}
