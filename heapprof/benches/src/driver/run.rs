//! One run of a worker: its CPU time, and the fields of its answer.

use crate::rows::JEMALLOC_OPTIONS;
use crate::workers::{Scratch, Worker};
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike as _;
use std::process::{Command, Output, Stdio};

/// Variables that would start a profile or change an allocator in rows that do not ask for it.
const INHERITED: [&str; 8] = [
    "HEAPPROF_INTERVAL",
    "HEAPPROF_OUTPUT",
    "HEAPPROF_BREAKDOWN",
    "HEAPPROF_SYMBOLS",
    "HEAPPROF_SAMPLE",
    "HEAPPROF_CONFIG",
    "MALLOC_CONF",
    JEMALLOC_OPTIONS,
];

/// What one run answered.
pub(crate) struct Answer {
    /// User and system time of the whole process in microseconds, with start and exit.
    pub(crate) cpu_us: i64,
    /// The line that begins with `result`.
    fields: String,
}

impl Answer {
    /// The value of `key=value`.
    ///
    /// # Errors
    /// The field is missing or is no number.
    pub(crate) fn number(&self, key: &str) -> Result<f64, String> {
        let value =
            self.fields.split_whitespace().find_map(|field| field.strip_prefix(key)?.strip_prefix('='));
        let number = value.and_then(|value| value.parse().ok());
        number.ok_or(format!("expected {key}=<number>, read {:?}", self.fields))
    }

    /// Fails unless both runs computed the same.
    ///
    /// # Errors
    /// Their checksums differ: one of the two is not the program that it is taken for.
    pub(crate) fn agrees_with(&self, other: &Self) -> Result<(), String> {
        let (this, that) = (self.number("checksum")?, other.number("checksum")?);
        if this == that { Ok(()) } else { Err(format!("expected the checksum {that}, read {this}")) }
    }
}

/// The command that runs a worker with its row's environment, in the scratch folder.
pub(crate) fn command(worker: &Worker, scratch: &Scratch, wrapper: &[&str]) -> Command {
    let mut command = match wrapper {
        [] => Command::new(&worker.binary),
        [program, arguments @ ..] => {
            let mut command = Command::new(program);
            command.args(arguments).arg(&worker.binary);
            command
        }
    };
    for name in INHERITED {
        command.env_remove(name);
    }
    command
        .envs(worker.row.environment.iter().copied())
        .env("HEAPPROF_QUIET", "1")
        .env("HEAPPROF_OUTPUT", scratch.0.join("%e.%p"))
        .current_dir(&scratch.0)
        .stdin(Stdio::null());
    command
}

/// Runs to the end. Runs must not overlap: the CPU time is the growth of all children's.
///
/// # Errors
/// The worker cannot be started, fails, or answers nothing.
pub(crate) fn run(mut command: Command) -> Result<(Answer, Output), String> {
    let before_us = children_cpu_us()?;
    let output = command.output().map_err(|error| format!("{:?}: {error}", command.get_program()))?;
    let cpu_us = children_cpu_us()? - before_us;
    let stdout = String::from_utf8_lossy(&output.stdout);
    let line = stdout.lines().find(|line| line.starts_with("result "));
    match line {
        Some(line) if output.status.success() => Ok((Answer { cpu_us, fields: line.to_owned() }, output)),
        _ => {
            let stderr = String::from_utf8_lossy(&output.stderr);
            Err(format!("{:?}: {}, {}", command.get_program(), output.status, stderr.trim_end()))
        }
    }
}

fn children_cpu_us() -> Result<i64, String> {
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN).map_err(|error| format!("getrusage: {error}"))?;
    Ok(usage.user_time().num_microseconds() + usage.system_time().num_microseconds())
}
