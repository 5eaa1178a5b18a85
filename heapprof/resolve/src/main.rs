//! The heapprof-resolve command: names the raw call stacks of a profile.
//!
//! ```text
//! app.modules ─▶ modules: names, build ids, paths ─▶ binaries: a file of the right build for each
//! app.hp ─▶ profile: rows ─▶ names: raw call stack ─▶ frames ─▶ band ─▶ rows that add up ─▶ app.resolved.hp
//! ```
#![forbid(unsafe_code)]

mod args;

#[cfg(target_os = "linux")]
mod binaries;
#[cfg(target_os = "linux")]
mod modules;
#[cfg(target_os = "linux")]
mod names;
#[cfg(target_os = "linux")]
mod profile;
#[cfg(target_os = "linux")]
mod run;

/// Profiles are recorded on Linux only, and so are the files that their addresses are in.
#[cfg(not(target_os = "linux"))]
mod run {
    pub(crate) fn run(_: &crate::args::ResolveArgs) -> Result<(), String> {
        Err("names are found on Linux only".into())
    }
}

use std::process::ExitCode;

use clap::Parser;
use hp2ps::files::say;

const PROGRAM: &str = "heapprof-resolve";

fn main() -> ExitCode {
    let args = match args::ResolveArgs::try_parse() {
        Ok(args) => args,
        Err(message) => {
            // Nothing is left to be done where help cannot be printed.
            let _ = message.print();
            return ExitCode::from(u8::try_from(message.exit_code()).unwrap_or(2));
        }
    };
    match run::run(&args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            say(PROGRAM, &message);
            ExitCode::FAILURE
        }
    }
}
