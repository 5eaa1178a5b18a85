//! The profile's files: claimed without overwriting a living process's, grown by whole samples,
//! replaced in one step; and the one file that is read.
//!
//! A new file is written under a temporary name and then put in place, never opened through a name
//! that somebody else may have left there as a symbolic link. While a profile is being written its
//! `.hp` file is locked (`flock`); a second process that wants the same name (a child, another run)
//! finds the lock and adds its own process number to the name.

use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, ErrorKind, Write};
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicI32, Ordering};

use super::os;
use crate::error::Error;

/// The descriptor of the `.hp` file being written, for the child that a fork makes; -1 = none.
static OPEN: AtomicI32 = AtomicI32::new(-1);

/// A growing `.hp` file.
pub(crate) struct HpFile {
    file: File,
    path: PathBuf,
    /// Bytes of whole samples written: where the file is cut if a write fails half-way.
    whole_bytes: u64,
}

impl HpFile {
    /// Makes `stem`.hp with `first` as its content, or `stem`.PID.hp if a living process is writing
    /// that name. An older file is replaced.
    ///
    /// # Errors
    /// The file that could not be made, and why.
    pub(crate) fn create(stem: &Path, first: &[u8]) -> Result<Self, Error> {
        let temporary = temporary_beside(&with_extension(stem, "hp"));
        let made = Self::fill(&temporary, first).and_then(|file| {
            let own_name = with_extension(&with_extension(stem, &os::process_id().to_string()), "hp");
            for path in [with_extension(stem, "hp"), own_name] {
                if put_in_place(&temporary, &path)? {
                    return Ok((file, path));
                }
            }
            Err(Error::file(&with_extension(stem, "hp"), io::Error::other("another process is writing it")))
        });
        if made.is_err() {
            let _ = std::fs::remove_file(&temporary);
        }
        let (file, path) = made?;
        OPEN.store(file.as_raw_fd(), Ordering::Relaxed);
        Ok(Self { file, path, whole_bytes: first.len() as u64 })
    }

    fn fill(temporary: &Path, first: &[u8]) -> Result<File, Error> {
        let fail = |cause| Error::file(temporary, cause);
        let file = create_new(temporary).map_err(fail)?;
        os::try_lock_file(file.as_raw_fd());
        os::write_whole(file.as_raw_fd(), first).map_err(fail)?;
        Ok(file)
    }

    /// Appends one sample in one write. If it cannot be written whole, what was written of it is cut
    /// off again.
    ///
    /// # Errors
    /// The file and the cause.
    pub(crate) fn append(&mut self, sample: &[u8]) -> Result<(), Error> {
        match os::write_whole(self.file.as_raw_fd(), sample) {
            Ok(()) => {
                self.whole_bytes += sample.len() as u64;
                Ok(())
            }
            Err(cause) => {
                let _ = self.file.set_len(self.whole_bytes);
                Err(Error::file(&self.path, cause))
            }
        }
    }

    /// Where the file is.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Removes a file whose profile could not begin after all.
    pub(crate) fn discard(self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

impl Drop for HpFile {
    fn drop(&mut self) {
        OPEN.store(-1, Ordering::Relaxed);
    }
}

/// Makes a file that was not there; follows no link, and keeps to the user's umask.
fn create_new(path: &Path) -> io::Result<File> {
    let file = OpenOptions::new().write(true).create_new(true).mode(0o666).open(path)?;
    // In a program without stderr the file would be 2, and get what the program says there.
    if file.as_raw_fd() > libc::STDERR_FILENO { Ok(file) } else { os::above_standard_streams(file) }
}

/// In a forked child: gives back the parent's descriptor, and with it the share in the lock.
pub(crate) fn forget_after_fork() {
    let descriptor = OPEN.swap(-1, Ordering::Relaxed);
    if descriptor >= 0 {
        os::close(descriptor);
    }
}

/// Makes `path` anew from what `fill` writes, in one step: readers see the old file or the new one.
///
/// # Errors
/// The file and the cause; the old file then stays.
pub(crate) fn replace(path: &Path, fill: impl FnOnce(&mut Pieces) -> io::Result<()>) -> Result<(), Error> {
    let temporary = temporary_beside(path);
    let fail = |cause| Error::file(path, cause);
    let written = create_new(&temporary)
        .and_then(|file| {
            let mut pieces = BufWriter::with_capacity(PIECE_BYTES, Unsignalled(file));
            fill(&mut pieces).and_then(|()| pieces.flush())
        })
        .and_then(|()| std::fs::rename(&temporary, path));
    if written.is_err() {
        let _ = std::fs::remove_file(&temporary);
    }
    written.map_err(fail)
}

/// Bytes handed to the kernel at a time: a report of many stacks never stands in memory whole.
const PIECE_BYTES: usize = 64 << 10;

/// Where [`replace`] has its content written.
pub(crate) type Pieces = BufWriter<Unsignalled>;

/// A file whose failing writes raise no signal in the program.
pub(crate) struct Unsignalled(File);

impl Write for Unsignalled {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        os::write_whole(self.0.as_raw_fd(), bytes).map(|()| bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Reads a file that must be a regular one: a pipe would keep the program waiting.
///
/// # Errors
/// The kernel's, or that the file is of another kind.
#[cfg(feature = "config")]
pub(crate) fn read_regular(path: &Path) -> io::Result<Vec<u8>> {
    use std::io::Read as _;
    let mut file = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("is not a regular file"));
    }
    let mut content = Vec::new();
    file.read_to_end(&mut content)?;
    Ok(content)
}

/// `stem` with `.extension` added (not replaced: a stem may hold dots).
pub(crate) fn with_extension(stem: &Path, extension: &str) -> PathBuf {
    let mut name = stem.as_os_str().to_owned();
    name.push(".");
    name.push(extension);
    PathBuf::from(name)
}

/// A hidden name in the same folder that no other process or call uses.
fn temporary_beside(path: &Path) -> PathBuf {
    // Without the name of `path`, which may already have all the bytes that a name can have.
    path.with_file_name(format!(".heapprof.{}-{}.tmp", os::process_id(), os::elapsed_ns()))
}

/// Gives a finished temporary file its name. `false`: a living process is writing that name.
fn put_in_place(temporary: &Path, path: &Path) -> Result<bool, Error> {
    let fail = |cause| Error::file(path, cause);
    match std::fs::hard_link(temporary, path) {
        Ok(()) => {
            let _ = std::fs::remove_file(temporary);
            return Ok(true);
        }
        Err(cause) if cause.kind() == ErrorKind::AlreadyExists => {}
        // File systems without hard links, and folders that only allow plain files.
        Err(_) => {
            return std::fs::rename(temporary, path).map(|()| true).map_err(fail);
        }
    }
    // Neither follow a link nor wait at a pipe.
    let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK;
    let old = OpenOptions::new().read(true).custom_flags(flags).open(path).map_err(|cause| {
        if cause.raw_os_error() == Some(libc::ELOOP) {
            fail(io::Error::other("is a symbolic link"))
        } else {
            fail(cause)
        }
    })?;
    let met = old.metadata().map_err(fail)?;
    if !met.is_file() {
        return Err(fail(io::Error::other("is not a regular file")));
    }
    if !os::try_lock_file(old.as_raw_fd()) {
        return Ok(false);
    }
    // With the old file's lock in hand, a rival that also found it unlocked has lost.
    let still =
        std::fs::symlink_metadata(path).is_ok_and(|now| (now.dev(), now.ino()) == (met.dev(), met.ino()));
    if !still {
        return Ok(false);
    }
    std::fs::rename(temporary, path).map(|()| true).map_err(fail)
}
