//! Names of inputs and outputs, and outputs that appear whole or not at all.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::{error, fmt};

pub use crate::input::Input;
use crate::{BandOptions, Chart, Error, Previous};

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

    /// Writes the output whole: to `<base>.<extension>`, or to standard output for a filter, where a reader
    /// that went away is no error.
    ///
    /// # Errors
    /// What `text` or the file system reports, with the file's name; the old file, if any, is then as it was.
    pub fn write(
        &self,
        extension: &str,
        text: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> Result<(), FileError> {
        write(self.output(extension).as_deref(), text)
    }
}

/// Writes a file whole, or standard output if there is none, where a reader that went away is no error.
///
/// # Errors
/// What `text` or the file system reports, with the file's name; the old file, if any, is then as it was.
pub fn write(
    path: Option<&Path>,
    text: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<(), FileError> {
    let written = match path {
        Some(path) => replace(path, text).map_err(|error| (path.display().to_string(), error)),
        None => to_stdout(text).map_err(|error| ("stdout".to_owned(), error)),
    };
    written.map_err(|(file, error)| FileError { file, error: Error::Io(error) })
}

/// An error and the file it is about.
#[derive(Debug)]
pub struct FileError {
    file: String,
    error: Error,
}

impl FileError {
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

/// Writes `path`, or what it links to, by way of a temporary file in the same folder. What is no regular file, such as
/// a device or a pipe, is written into.
fn replace(path: &Path, text: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let path = &fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    if fs::metadata(path).is_ok_and(|known| !known.is_file() && !known.is_dir()) {
        let mut out = BufWriter::new(fs::OpenOptions::new().write(true).open(path)?);
        return text(&mut out).and_then(|()| out.flush());
    }
    let mut hidden = OsString::from(".");
    hidden.push(path.file_name().unwrap_or_default());
    hidden.push(format!(".{}.tmp", std::process::id()));
    let temporary = path.with_file_name(hidden);
    let written = File::create(&temporary).and_then(|file| {
        let mut out = BufWriter::with_capacity(256 * 1024, file);
        text(&mut out)?;
        out.flush()?;
        fs::rename(&temporary, path)
    });
    if written.is_err() {
        // Nothing more can be done about a leftover than to report the first error.
        let _ = fs::remove_file(&temporary);
    }
    written
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
