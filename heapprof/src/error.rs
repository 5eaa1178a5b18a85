//! What can go wrong for a caller of the profiler.

use std::fmt;
use std::io;
use std::path::PathBuf;

/// Why a profile could not be started, written or asked.
///
/// Its text is one line that names the file or the setting, what was found and what is accepted.
#[derive(Debug)]
pub struct Error(Box<Kind>);

#[derive(Debug)]
#[cfg_attr(
    any(feature = "disabled", not(target_os = "linux")),
    allow(dead_code, reason = "a build that records nothing fails in one way only")
)]
pub(crate) enum Kind {
    /// A profile is running (or is just being started or stopped).
    AlreadyRunning,
    /// No profile is running.
    NotRunning,
    /// The process decided at its first block not to tag.
    NotTagging,
    /// A setting cannot be read.
    Setting { from: String, value: String, accepted: &'static str },
    /// A setting's name is not known.
    #[cfg(feature = "config")]
    UnknownSetting { from: String },
    /// A file could not be made, written or renamed.
    File { path: PathBuf, cause: io::Error },
    /// A configuration file that is not TOML.
    #[cfg(feature = "config")]
    Config { cause: String },
    /// The ticker thread could not be started.
    NoThread,
    /// There is no memory for the tables of call stacks or of thread names.
    NoRoom,
    /// This build or platform records nothing.
    #[cfg_attr(
        any(not(feature = "disabled"), target_os = "linux"),
        allow(dead_code, reason = "the recording build never says so")
    )]
    Unsupported,
}

#[cfg(all(target_os = "linux", not(feature = "disabled")))]
impl Error {
    pub(crate) fn file(path: &std::path::Path, cause: io::Error) -> Self {
        Kind::File { path: path.to_owned(), cause }.into()
    }

    pub(crate) fn is_not_running(&self) -> bool {
        matches!(*self.0, Kind::NotRunning)
    }
}

impl Error {
    /// Whether the cause is a profile that is already running.
    pub fn is_already_running(&self) -> bool {
        matches!(*self.0, Kind::AlreadyRunning)
    }
}

impl From<Kind> for Error {
    #[cold]
    fn from(kind: Kind) -> Self {
        Self(Box::new(kind))
    }
}

/// As much of somebody's text as one line can show: 100 characters.
#[cfg_attr(any(feature = "disabled", not(target_os = "linux")), allow(dead_code, reason = "as Kind"))]
pub(crate) fn cut(text: &str) -> String {
    const CHARS_MAX: usize = 100;
    let mut cut: String = text.chars().take(CHARS_MAX).collect();
    if cut.len() < text.len() {
        cut.push('…');
    }
    cut
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &*self.0 {
            Kind::AlreadyRunning => f.write_str("a profile is already running"),
            Kind::NotRunning => f.write_str("no profile is running"),
            Kind::NotTagging => f.write_str(
                "this process does not tag its blocks: set HEAPPROF=armed, or declare the allocator with .armed()",
            ),
            Kind::Setting { from, value, accepted } => {
                write!(f, "{from}: read `{}`, expected {accepted}", cut(value))
            }
            #[cfg(feature = "config")]
            Kind::UnknownSetting { from } => write!(f, "{}: no such setting", cut(from)),
            Kind::File { path, cause } => write!(f, "{}: {cause}", path.display()),
            #[cfg(feature = "config")]
            Kind::Config { cause } => write!(f, "heapprof.toml: {cause}"),
            Kind::NoRoom => f.write_str("no address space for the tables of this breakdown"),
            Kind::NoThread => f.write_str("the system has no thread for the profiler"),
            Kind::Unsupported => f.write_str("heapprof records nothing in this build or on this platform"),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &*self.0 {
            Kind::File { cause, .. } => Some(cause),
            _ => None,
        }
    }
}
