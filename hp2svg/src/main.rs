//! The hp2svg command.
#![forbid(unsafe_code)]

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;
use std::{fs, io, thread};

use hp2ps::Previous;
use hp2ps::cli::arguments_or_exit;
use hp2ps::files::{self, FileError, Route, say};
use hp2svg::cli::{Format, SvgArgs, generated};
use hp2svg::scene::Scene;
use hp2svg::view::{self, View};

const PROGRAM: &str = "hp2svg";

/// What `--leaks` leaves with if there are any.
const LEAKS_FOUND: u8 = 3;
const WRONG_USAGE: u8 = 2;

fn main() -> ExitCode {
    let args = match arguments_or_exit::<SvgArgs>(PROGRAM) {
        Ok(args) => args,
        Err(code) => return code,
    };
    let format = match checked(&args) {
        Ok(format) => format,
        Err(message) => {
            say(PROGRAM, &format!("{message}; see --help"));
            return ExitCode::from(WRONG_USAGE);
        }
    };
    match run(&args, format) {
        Ok(code) => code,
        Err(error) => {
            say(PROGRAM, &error.to_string());
            ExitCode::FAILURE
        }
    }
}

/// What is written, and whether the arguments go together.
fn checked(args: &SvgArgs) -> Result<Format, String> {
    if args.from.zip(args.to).is_some_and(|(from, to)| from >= to) {
        return Err("--from is not before --to".into());
    }
    if args.follow && args.files.len() != 1 {
        return Err(format!("read {} files, expected one with --follow", args.files.len()));
    }
    if args.diff && args.files.len() != 2 {
        return Err(format!("read {} files, expected two with --diff", args.files.len()));
    }
    args.output_format()
}

fn run(args: &SvgArgs, format: Format) -> Result<ExitCode, FileError> {
    if let Some(what) = args.generate {
        files::write(None, &[], |out| out.write_all(generated(what)))?;
        return Ok(ExitCode::SUCCESS);
    }
    let routes: Vec<Route> = match &args.files[..] {
        [] => vec![Route::Filter],
        files => files.iter().map(|file| Route::new(Some(file))).collect(),
    };
    if args.diff {
        return difference(args, format, &routes);
    }
    if args.leaks {
        return print_leaks(args, &routes);
    }
    if args.follow {
        return follow(args, format, &routes[0]);
    }
    draw(args, format, &routes)?;
    Ok(ExitCode::SUCCESS)
}

fn print_leaks(args: &SvgArgs, routes: &[Route]) -> Result<ExitCode, FileError> {
    let options = args.view_options(&Previous::default());
    let mut any = false;
    for route in routes {
        let mut table = Vec::new();
        if routes.len() > 1 {
            table.extend_from_slice(format!("{}:\n", route.input_name()).as_bytes());
        }
        let report = route.read(|input| view::write_leaks(input, &options, &mut table))?;
        report.warnings.iter().for_each(|warning| warn(route, warning));
        any |= report.found;
        files::write(None, &[], |out| out.write_all(&table))?;
    }
    Ok(if any { ExitCode::from(LEAKS_FOUND) } else { ExitCode::SUCCESS })
}

fn warn(route: &Route, warning: &str) {
    say(PROGRAM, &format!("warning: {}, {warning}", route.input_name()));
}

fn draw(args: &SvgArgs, format: Format, routes: &[Route]) -> Result<(), FileError> {
    let previous = if args.chart.previous { routes[0].read_previous()? } else { Previous::default() };
    let options = args.view_options(&previous);
    let mut views = Vec::new();
    for route in routes {
        let view = route.read(|input| View::read(input, &options))?;
        // While the program writes, its last sample is always unfinished.
        let news = view.warnings.iter().filter(|_| !args.follow);
        news.for_each(|warning| warn(route, warning));
        views.push(view);
    }
    let look = args.scene_options(&views, &previous);
    let panels: Vec<(View, Scene)> = views
        .into_iter()
        .map(|view| (Scene::new(&view, &look), view))
        .map(|(scene, view)| (view, scene))
        .collect();
    let output = output(args, format, routes);
    files::write(output.as_deref(), routes, |out| hp2svg::write(out, format, &panels, args.theme.into()))
}

fn difference(args: &SvgArgs, format: Format, routes: &[Route]) -> Result<ExitCode, FileError> {
    let options = args.view_options(&Previous::default());
    let [before, after] = [&routes[0], &routes[1]];
    let view = View::difference(before.open()?, after.open()?, &options)
        .map_err(|(error, of_second)| if of_second { after } else { before }.error(error))?;
    view.warnings.iter().for_each(|warning| warn(after, warning));
    let scene = Scene::new(&view, &args.scene_options(std::slice::from_ref(&view), &Previous::default()));
    let output = output(args, format, routes);
    files::write(output.as_deref(), routes, |out| {
        hp2svg::write(out, format, &[(view, scene)], args.theme.into())
    })?;
    Ok(ExitCode::SUCCESS)
}

/// The file that is written, in the current folder unless told otherwise; none for standard output.
fn output(args: &SvgArgs, format: Format, routes: &[Route]) -> Option<PathBuf> {
    match &args.output {
        Some(path) if path == Path::new("-") => None,
        Some(path) => Some(path.clone()),
        // Several profiles have the name of the first and how many more.
        None if routes.len() > 1 => {
            routes[0].output(&format!("and-{}.{}", routes.len() - 1, format.ending()))
        }
        None => routes[0].output(format.ending()),
    }
}

/// Draws whenever the profile has changed, from its first complete sample until it is gone.
fn follow(args: &SvgArgs, format: Format, route: &Route) -> Result<ExitCode, FileError> {
    const PAUSE: Duration = Duration::from_millis(500);
    let Route::Files { profile, .. } = route else {
        return Ok(ExitCode::SUCCESS);
    };
    let state = || fs::metadata(profile).and_then(|known| Ok((known.len(), known.modified()?)));
    let (mut seen, mut drawn) = (None, false);
    loop {
        match state() {
            Err(error) if error.kind() == io::ErrorKind::NotFound && drawn => {
                say(PROGRAM, &format!("{} is gone; stopped", route.input_name()));
                return Ok(ExitCode::SUCCESS);
            }
            Ok(now) if Some(now) != seen => {
                seen = Some(now);
                match draw(args, format, std::slice::from_ref(route)) {
                    Ok(()) => drawn = true,
                    // Not yet a sample, or not yet all of its header.
                    Err(error) if drawn || !error.is_about_profile() => return Err(error),
                    Err(_) => {}
                }
            }
            _ => {}
        }
        thread::sleep(PAUSE);
    }
}
