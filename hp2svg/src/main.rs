//! The hp2svg command.
#![forbid(unsafe_code)]

use std::process::ExitCode;

use clap::Parser;
use hp2ps::Previous;
use hp2ps::cli::long_arguments;
use hp2ps::files::{FileError, Route};
use hp2svg::cli::SvgArgs;

fn main() -> ExitCode {
    let arguments = long_arguments(std::env::args_os());
    // Prints usage and leaves with 2 on a wrong option, with 0 on --help and --version.
    let args = SvgArgs::parse_from(arguments.long);
    arguments.ignored.iter().for_each(|ignored| eprintln!("hp2svg: warning: {ignored}"));
    match run(&args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("hp2svg: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(args: &SvgArgs) -> Result<(), FileError> {
    let route = Route::new(args.chart.file.as_deref());
    let chart = route.read_chart(&args.chart.band_options(), &Previous::default())?;
    if let Some(cut) = chart.cut {
        eprintln!("hp2svg: warning: {}, {cut}", route.input_name());
    }
    let options = args.chart.page_options();
    route.write("svg", |out| hp2svg::write_svg(out, &chart, options))
}
