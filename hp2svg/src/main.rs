//! The hp2svg command.
#![forbid(unsafe_code)]

use std::process::ExitCode;

use clap::Parser;
use hp2ps::Previous;
use hp2ps::cli::long_arguments;
use hp2ps::files::{FileError, Route, say};
use hp2svg::cli::SvgArgs;

fn main() -> ExitCode {
    let arguments = long_arguments(std::env::args_os());
    // Prints usage and leaves with 2 on a wrong option, with 0 on --help and --version.
    let args = SvgArgs::parse_from(arguments.long);
    arguments.ignored.iter().for_each(|ignored| say("hp2svg", &format!("warning: {ignored}")));
    match run(&args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            say("hp2svg", &error.to_string());
            ExitCode::FAILURE
        }
    }
}

fn run(args: &SvgArgs) -> Result<(), FileError> {
    let route = Route::new(args.chart.file.as_deref());
    let chart = route.read_chart(&args.chart.band_options(), &Previous::default())?;
    for warning in &chart.warnings {
        say("hp2svg", &format!("warning: {}, {warning}", route.input_name()));
    }
    let options = args.chart.page_options();
    route.write("svg", |out| hp2svg::write_svg(out, &chart, options))
}
