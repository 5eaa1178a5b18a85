//! The hp2ps command.
#![forbid(unsafe_code)]

use std::io::{self, Write};
use std::process::ExitCode;

use clap::Parser;
use hp2ps::cli::{PsArgs, long_arguments};
use hp2ps::files::Route;
use hp2ps::{Chart, Drawing, Error, Previous};

fn main() -> ExitCode {
    let arguments = long_arguments(std::env::args_os());
    // Prints usage and leaves with 2 on a wrong option, with 0 on --help and --version.
    let args = PsArgs::parse_from(arguments.long);
    arguments
        .ignored
        .iter()
        .for_each(|ignored| eprintln!("hp2ps: warning: {ignored}"));
    match run(&args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("hp2ps: {message}");
            ExitCode::FAILURE
        }
    }
}

/// Draws; an error is a line that begins with the file it is about.
fn run(args: &PsArgs) -> Result<(), String> {
    let route = Route::new(args.chart.file.as_deref());
    let name = route.input_name();
    let mut input = route.open().map_err(about(&name))?;
    let previous = if args.previous {
        read_previous(&route)?
    } else {
        Previous::default()
    };
    let chart =
        Chart::read(&mut input, &args.chart.band_options(), &previous).map_err(about(&name))?;
    if let Some(cut) = chart.cut {
        eprintln!("hp2ps: warning: {name}, {cut}");
    }
    let drawing = Drawing::new(&chart, &args.page_options(), args.colour, &previous);
    write(&route, "ps", |out| drawing.write_ps(out, args.placement()))?;
    if let Route::Files { .. } = route {
        write(&route, "aux", |out| drawing.write_aux(out))?;
    }
    Ok(())
}

fn read_previous(route: &Route) -> Result<Previous, String> {
    let Some(path) = route.output("aux") else {
        return Ok(Previous::default());
    };
    let text = std::fs::read(&path).map_err(Error::Io);
    text.and_then(|text| Previous::parse(&text))
        .map_err(about(path.display()))
}

fn write(
    route: &Route,
    extension: &str,
    text: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<(), String> {
    let target = route
        .output(extension)
        .map_or("stdout".into(), |path| path.display().to_string());
    route.write(extension, text).map_err(about(target))
}

fn about<E: std::fmt::Display>(file: impl std::fmt::Display) -> impl FnOnce(E) -> String {
    move |error| format!("{file}, {error}")
}
