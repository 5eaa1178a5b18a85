//! The hp2ps command.
#![forbid(unsafe_code)]

use std::process::ExitCode;

use clap::Parser;
use hp2ps::cli::{PsArgs, long_arguments};
use hp2ps::files::{FileError, Route, say};
use hp2ps::{Drawing, Previous};

fn main() -> ExitCode {
    let arguments = long_arguments(std::env::args_os());
    // Prints usage and leaves with 2 on a wrong option, with 0 on --help and --version.
    let args = PsArgs::parse_from(arguments.long);
    arguments.ignored.iter().for_each(|ignored| say("hp2ps", &format!("warning: {ignored}")));
    match run(&args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            say("hp2ps", &error.to_string());
            ExitCode::FAILURE
        }
    }
}

fn run(args: &PsArgs) -> Result<(), FileError> {
    let route = Route::new(args.chart.file.as_deref());
    let previous = if args.previous { route.read_previous()? } else { Previous::default() };
    let chart = route.read_chart(&args.chart.band_options(), &previous)?;
    if let Some(cut) = chart.cut {
        say("hp2ps", &format!("warning: {}, {cut}", route.input_name()));
    }
    let drawing = Drawing::new(&chart, &args.page_options(), args.colour, &previous);
    route.write("ps", |out| drawing.write_ps(out, args.placement()))?;
    match route {
        Route::Filter => Ok(()),
        Route::Files { .. } => route.write("aux", |out| drawing.write_aux(out)),
    }
}
