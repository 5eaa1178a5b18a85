//! The steps of the command.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use clap::ValueEnum as _;
use heapprof::hp::{Cut, escape_label};
use hp2ps::files::{self, Route, say};

use crate::PROGRAM;
use crate::args::{Breakdown, ResolveArgs};
use crate::binaries::Binaries;
use crate::modules::List;
use crate::names::Names;
use crate::profile::{Failure, pass_on};

/// Names the profile.
///
/// # Errors
/// One line that says which file cannot be used, and why.
pub(crate) fn run(args: &ResolveArgs) -> Result<(), String> {
    let profile = File::open(&args.profile).map_err(|error| told(&args.profile, error))?;
    let list_path = match &args.modules {
        Some(path) => path.clone(),
        None => list_beside(&args.profile)?,
    };
    let list = List::read(&list_path)?;
    let breakdown = match args.breakdown {
        Some(breakdown) => breakdown,
        None => listed_breakdown(&list, &list_path, &args.profile)?,
    };
    let depth = list.depth.unwrap_or(usize::MAX);
    let mut names = Names::new(Binaries::new(list, &args.binary)?, breakdown, args.name_chars, depth);
    let cut = write(args, &list_path, profile, |raw| names.band(raw))?;
    if let Some(cut) = cut {
        say(PROGRAM, &format!("warning: {}, {cut}", args.profile.display()));
    }
    Ok(())
}

fn told(path: &Path, why: impl std::fmt::Display) -> String {
    format!("{}: {why}", path.display())
}

/// The list beside `app.hp` is `app.modules`, and that beside `app.type.hp` too.
fn list_beside(profile: &Path) -> Result<PathBuf, String> {
    let mut root = profile.with_extension("");
    let wanted = with_suffix(&root, ".modules");
    loop {
        let list = with_suffix(&root, ".modules");
        if list.is_file() {
            return Ok(list);
        }
        if root.extension().is_none() {
            return Err(told(&wanted, "there is no such file, expected the list of modules, or --modules"));
        }
        root = root.with_extension("");
    }
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut path = path.as_os_str().to_owned();
    path.push(suffix);
    path.into()
}

fn listed_breakdown(list: &List, list_path: &Path, profile: &Path) -> Result<Breakdown, String> {
    let name = profile.file_name().unwrap_or_default().to_string_lossy();
    let of_this = |file: &String| *file == name || *file == escape_label(&name);
    let Some((_, word)) = list.profiles.iter().find(|(file, _)| of_this(file)) else {
        return Err(told(list_path, format!("has no line `profile {name}`, expected it or --breakdown")));
    };
    Breakdown::from_str(word, false).map_err(|_| {
        told(profile, format!("is a profile by `{word}`, expected one whose bands are call stacks"))
    })
}

/// Writes the named profile whole or, but for standard output, not at all.
fn write(
    args: &ResolveArgs,
    list_path: &Path,
    profile: File,
    band: impl FnMut(&str) -> Result<String, String>,
) -> Result<Option<Cut>, String> {
    let output = match &args.output {
        Some(path) => Some(path.clone()).filter(|path| path != Path::new("-")),
        None => {
            let stem = args.profile.file_stem().unwrap_or_default();
            Some(with_suffix(Path::new(stem), ".resolved.hp"))
        }
    };
    let inputs =
        [args.profile.as_path(), list_path].into_iter().chain(args.binary.iter().map(PathBuf::as_path));
    // None of them is to be overwritten.
    let inputs: Vec<Route> =
        inputs.map(|path| Route::Files { profile: path.to_owned(), base: OsString::new() }).collect();
    let mut cut = None;
    let mut refused = None;
    let written = files::write(output.as_deref(), &inputs, |out| match pass_on(profile, band, out) {
        Ok(found) => {
            cut = found;
            Ok(())
        }
        Err(Failure::Output(error)) => Err(error),
        Err(Failure::Input(why)) => {
            refused = Some(format!("{}, {why}", args.profile.display()));
            Err(io::ErrorKind::InvalidData.into())
        }
    });
    match (refused, written) {
        (Some(why), _) => Err(why),
        (None, Err(error)) => Err(error.to_string()),
        (None, Ok(())) => Ok(cut),
    }
}
