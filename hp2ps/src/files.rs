//! Names of inputs and outputs, and outputs that appear whole or not at all.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::{error, fmt};

pub use crate::input::Input;
use crate::output::{Staged, is_same_file};
use crate::{BandOptions, Chart, Error, Previous};

/// What writes the text of an output.
pub type Text<'a> = &'a dyn Fn(&mut dyn Write) -> io::Result<()>;

/// Where a chart comes from and goes to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Route {
    /// From standard input to standard output.
    Filter,
    /// From a file to files of the same root in the current folder.
    Files {
        /// The profile, `<root>.hp`.
        profile: PathBuf,
        /// The root without folders.
        base: OsString,
    },
}

impl Route {
    /// The route for a file argument: its last `.hp` may be left out.
    ///
    /// ```
    /// use hp2ps::files::Route;
    /// let route = Route::new(Some("runs/first.hp".as_ref()));
    /// assert_eq!(route, Route::new(Some("runs/first".as_ref())));
    /// assert_eq!(route.output("ps"), Some("first.ps".into()));
    /// assert_eq!(Route::new(None).output("ps"), None);
    /// ```
    pub fn new(argument: Option<&Path>) -> Route {
        let Some(argument) = argument else {
            return Route::Filter;
        };
        let root = match argument.extension() {
            Some(extension) if extension == "hp" => argument.with_extension(""),
            _ => argument.to_owned(),
        };
        let base = root.file_name().map(OsString::from).unwrap_or_default();
        Route::Files { profile: with_suffix(root.into(), "hp"), base }
    }

    /// The output file with an extension, in the current folder; none for a filter.
    pub fn output(&self, extension: &str) -> Option<PathBuf> {
        match self {
            Route::Filter => None,
            Route::Files { base, .. } => Some(with_suffix(base.clone(), extension)),
        }
    }

    /// The input's name for messages.
    pub fn input_name(&self) -> String {
        match self {
            Route::Filter => "stdin".into(),
            Route::Files { profile, .. } => profile.display().to_string(),
        }
    }

    /// Reads the chart of the profile.
    ///
    /// # Errors
    /// What opening or [`Chart::read`] reports, with the file's name.
    pub fn read_chart(&self, options: &BandOptions, previous: &Previous) -> Result<Chart, FileError> {
        self.read(|input| Chart::read(input, options, previous))
    }

    /// Reads the profile in any way.
    ///
    /// # Errors
    /// What opening or `read` reports, with the file's name.
    pub fn read<T>(&self, read: impl FnOnce(&mut Input) -> Result<T, Error>) -> Result<T, FileError> {
        read(&mut self.open()?).map_err(|error| self.error(error))
    }

    /// Opens the profile for several passes.
    ///
    /// # Errors
    /// What the file system reports, with the file's name.
    pub fn open(&self) -> Result<Input, FileError> {
        let input = match self {
            Route::Filter => Input::stdin(),
            Route::Files { profile, .. } => Input::open(profile),
        };
        input.map_err(|error| self.error(Error::Io(error)))
    }

    /// An error about the profile.
    pub fn error(&self, error: Error) -> FileError {
        FileError { file: self.input_name(), error }
    }

    /// Reads the `.aux` file that an earlier run left, and the colours from its page if that is there; empty for a
    /// filter, which leaves neither.
    ///
    /// # Errors
    /// What the file system or [`Previous::parse`] reports, with the file's name.
    pub fn read_previous(&self) -> Result<Previous, FileError> {
        let Some(path) = self.output("aux") else {
            return Ok(Previous::default());
        };
        let text = fs::read(&path).map_err(Error::Io);
        let previous = text.and_then(|text| Previous::parse(&text));
        let mut previous = previous.map_err(FileError::about(path.display()))?;
        let page = self.output("ps").filter(|page| page.is_file());
        if let Some(page) = page.and_then(|page| File::open(page).ok()) {
            previous.take_colours(BufReader::new(page));
        }
        Ok(previous)
    }

    /// Writes outputs, each to `<base>.<extension>` and all of them whole; for a filter the first to standard output,
    /// where a reader that went away is no error.
    ///
    /// # Errors
    /// What the texts or the file system report, with the file's name; no output has changed then, unless the
    /// system fails to rename one.
    pub fn write(&self, outputs: &[(&str, Text<'_>)]) -> Result<(), FileError> {
        let Route::Files { .. } = self else {
            let Some((_, text)) = outputs.first() else { return Ok(()) };
            return write(None, &[], text);
        };
        let mut staged: Vec<Staged> = Vec::new();
        for (extension, text) in outputs {
            let Some(path) = self.output(extension) else { continue };
            let next = stage(&path, std::slice::from_ref(self), text)?;
            if staged.iter().any(|other| is_same_file(other.target(), next.target())) {
                return Err(FileError::new(&path, "is the same file as another output"));
            }
            staged.push(next);
        }
        staged.into_iter().try_for_each(publish)
    }
}

/// Writes a file whole, or standard output if there is none, where a reader that went away is no error. A file that
/// is one of the profiles of `inputs` is refused.
///
/// # Errors
/// What `text` or the file system reports, with the file's name; the old file, if any, is then as it was.
pub fn write(
    path: Option<&Path>,
    inputs: &[Route],
    text: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<(), FileError> {
    match path {
        Some(path) => publish(stage(path, inputs, text)?),
        None => {
            to_stdout(text).map_err(|error| FileError { file: "stdout".to_owned(), error: Error::Io(error) })
        }
    }
}

fn stage(
    path: &Path,
    inputs: &[Route],
    text: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<Staged, FileError> {
    let is_input =
        |route: &Route| matches!(route, Route::Files { profile, .. } if is_same_file(profile, path));
    if inputs.iter().any(is_input) {
        return Err(FileError::new(path, "is the profile itself"));
    }
    Staged::new(path, text).map_err(|error| FileError::new(path, error))
}

fn publish(staged: Staged) -> Result<(), FileError> {
    let path = staged.target().to_owned();
    staged.publish().map_err(|error| FileError::new(&path, error))
}

/// An error and the file it is about.
#[derive(Debug)]
pub struct FileError {
    file: String,
    error: Error,
}

impl FileError {
    /// Whether the profile is at fault, and not the system.
    pub fn is_about_profile(&self) -> bool {
        matches!(self.error, Error::Profile(_))
    }

    fn new(file: &Path, error: impl Into<Box<dyn error::Error + Send + Sync>>) -> FileError {
        let error = match error.into().downcast::<io::Error>() {
            Ok(error) => *error,
            Err(other) => io::Error::other(other),
        };
        FileError { file: file.display().to_string(), error: Error::Io(error) }
    }

    fn about(file: impl fmt::Display) -> impl FnOnce(Error) -> FileError {
        move |error| FileError { file: file.to_string(), error }
    }
}

impl fmt::Display for FileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let FileError { file, error } = self;
        match error {
            Error::Io(error) => write!(f, "{file}: {error}"),
            _ => write!(f, "{file}, {error}"),
        }
    }
}

impl error::Error for FileError {
    fn source(&self) -> Option<&(dyn error::Error + 'static)> {
        Some(&self.error)
    }
}

fn to_stdout(text: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let mut out = BufWriter::new(io::stdout().lock());
    match text(&mut out).and_then(|()| out.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        result => result,
    }
}

fn with_suffix(mut root: OsString, extension: &str) -> PathBuf {
    root.push(".");
    root.push(extension);
    root.into()
}

/// Says one line on stderr. Control characters, as a file's name may hold them, are shown as `?`, and a
/// stderr that takes nothing changes nothing.
///
/// ```
/// hp2ps::files::say("hp2ps", "warning: one\nline");
/// ```
pub fn say(program: &str, text: &str) {
    let line: String = text.chars().map(|c| if c.is_control() { '?' } else { c }).collect();
    let _ = writeln!(io::stderr(), "{program}: {line}");
}
