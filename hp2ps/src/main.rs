//! The hp2ps command.
#![forbid(unsafe_code)]

use std::process::ExitCode;

use hp2ps::cli::{PsArgs, arguments_or_exit};
use hp2ps::files::{self, FileError, Route, say};
use hp2ps::{Drawing, Previous};

const PROGRAM: &str = "hp2ps";

fn main() -> ExitCode {
    let args = match arguments_or_exit::<PsArgs>(PROGRAM) {
        Ok(args) => args,
        Err(code) => return code,
    };
    match run(&args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            say(PROGRAM, &error.to_string());
            ExitCode::FAILURE
        }
    }
}

fn run(args: &PsArgs) -> Result<(), FileError> {
    if let Some(generated) = args.generate {
        return files::write(None, &[], |out| out.write_all(generated.text()));
    }
    let route = Route::new(args.file.as_deref());
    let previous = if args.chart.previous { route.read_previous()? } else { Previous::default() };
    let chart = route.read_chart(&args.band_options(), &previous)?;
    let drawing = Drawing::new(&chart, &args.page_options(), args.colour, &previous);
    for warning in chart.warnings.iter().chain(&drawing.warnings()) {
        say(PROGRAM, &format!("warning: {}, {warning}", route.input_name()));
    }
    route.write(&[
        ("ps", &|out| drawing.write_ps(out, args.placement())),
        ("aux", &|out| drawing.write_aux(out)),
    ])
}
