//! Outputs that appear whole or not at all.

use std::ffi::OsStr;
use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, BufWriter, Seek as _, Write};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

/// Links to links are followed so far.
const MOST_LINKS: usize = 40;

/// A text that is complete but not yet in its place. Dropped, it leaves nothing behind.
#[derive(Debug)]
pub(crate) struct Staged {
    target: PathBuf,
    text: Text,
}

#[derive(Debug)]
enum Text {
    /// Beside the target, to be renamed.
    Beside(NamedTempFile),
    /// To be copied into the target: a device, a pipe, or a file in a folder that takes no new files.
    Elsewhere(File),
}

impl Staged {
    /// Writes a text for `path`, or for what that links to.
    pub(crate) fn new(
        path: &Path,
        write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> io::Result<Staged> {
        let target = linked(path);
        let known = fs::metadata(&target).ok();
        if known.as_ref().is_some_and(Metadata::is_dir) {
            return Err(io::ErrorKind::IsADirectory.into());
        }
        let text = match known {
            Some(known) if !known.is_file() => Text::Elsewhere(tempfile::tempfile()?),
            known => match beside(&target, known.as_ref()) {
                Ok(file) => Text::Beside(file),
                Err(error) if known.is_some() && is_denied(&error) => Text::Elsewhere(tempfile::tempfile()?),
                Err(error) => return Err(error),
            },
        };
        let mut staged = Staged { target, text };
        let file = match &mut staged.text {
            Text::Beside(file) => file.as_file_mut(),
            Text::Elsewhere(file) => file,
        };
        let mut out = BufWriter::with_capacity(256 * 1024, file);
        write(&mut out)?;
        out.flush()?;
        drop(out);
        Ok(staged)
    }

    /// Where the text goes.
    pub(crate) fn target(&self) -> &Path {
        &self.target
    }

    /// Puts the text in its place.
    pub(crate) fn publish(self) -> io::Result<()> {
        let file = match self.text {
            Text::Elsewhere(file) => file,
            Text::Beside(file) => match file.persist(&self.target) {
                Ok(_) => return Ok(()),
                // In a folder with the sticky bit others' files can be written but not replaced.
                Err(failed) if is_denied(&failed.error) => failed.file.reopen()?,
                Err(failed) => return Err(failed.error),
            },
        };
        copy(file, &self.target)
    }
}

fn copy(mut text: File, target: &Path) -> io::Result<()> {
    let mut out = OpenOptions::new().write(true).truncate(true).open(target)?;
    text.rewind()?;
    io::copy(&mut text, &mut out).map(|_| ())
}

fn is_denied(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::PermissionDenied
}

/// A new file in the folder of `target`, by a name that nobody knows before, with the rights and as far as may be
/// the owner of the file it will replace.
fn beside(target: &Path, known: Option<&Metadata>) -> io::Result<NamedTempFile> {
    let folder = target.parent().filter(|folder| *folder != OsStr::new("")).unwrap_or(Path::new("."));
    // Its error is about the folder and not about a name that nobody gave.
    fs::metadata(folder)?;
    let mut builder = tempfile::Builder::new();
    builder.prefix(".hp");
    #[cfg(unix)]
    {
        use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, fchown};
        // As any new file: what the process's mask leaves of it.
        const NEW_MODE: u32 = 0o666;
        builder.permissions(fs::Permissions::from_mode(NEW_MODE));
        let file = builder.tempfile_in(folder)?;
        if let Some(known) = known {
            let own = file.as_file().metadata()?;
            if (own.uid(), own.gid()) != (known.uid(), known.gid()) {
                // Only a privileged process may; for others the file becomes theirs.
                let _ = fchown(file.as_file(), Some(known.uid()), Some(known.gid()));
            }
            file.as_file().set_permissions(known.permissions())?;
        }
        Ok(file)
    }
    #[cfg(not(unix))]
    {
        let _ = known;
        builder.tempfile_in(folder)
    }
}

/// What a path links to, whether that exists or not.
fn linked(path: &Path) -> PathBuf {
    let mut path = path.to_owned();
    for _ in 0..MOST_LINKS {
        let Ok(next) = fs::read_link(&path) else { break };
        path = path.parent().map_or_else(|| next.clone(), |folder| folder.join(&next));
    }
    path
}

/// Whether two paths lead to one file.
pub(crate) fn is_same_file(a: &Path, b: &Path) -> bool {
    match (fs::canonicalize(a), fs::canonicalize(b)) {
        (Ok(a), Ok(b)) => a == b || is_same_inode(&a, &b),
        _ => linked(a) == linked(b),
    }
}

#[cfg(unix)]
fn is_same_inode(a: &Path, b: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    let known = |path| fs::metadata(path).map(|known| (known.dev(), known.ino())).ok();
    known(a).is_some_and(|of_a| Some(of_a) == known(b))
}

#[cfg(not(unix))]
fn is_same_inode(_: &Path, _: &Path) -> bool {
    false
}
