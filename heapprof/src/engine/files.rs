//! The profile's files: claimed without overwriting a living process's, grown by whole samples,
//! replaced in one step; and the one file that is read.
//!
//! A new file is written under a temporary name and then put in place, never opened through a name
//! that somebody else may have left there as a symbolic link. While a profile is being written its
//! `.hp` file is locked (`flock`); a second process that wants the same name (a child, another run)
//! finds the lock and adds its own process number to the name.

use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, ErrorKind, Write};
use std::mem::ManuallyDrop;
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicI32, AtomicU64, Ordering};

use super::os;
use crate::error::Error;

/// Files that one profile writes at a time, at most.
const FILES_MAX: usize = 12;

/// An `.hp` file being written, for the child that a fork makes.
struct Open {
    /// -1 = none.
    descriptor: AtomicI32,
    device: AtomicU64,
    number: AtomicU64,
}

static OPEN: [Open; FILES_MAX] =
    [const { Open { descriptor: AtomicI32::new(-1), device: AtomicU64::new(0), number: AtomicU64::new(0) } };
        FILES_MAX];

/// A growing `.hp` file.
pub(crate) struct HpFile {
    /// Never dropped by itself: the program may have closed the descriptor and got it for a file of
    /// its own.
    file: ManuallyDrop<File>,
    path: PathBuf,
    /// Device and number of the file, by which it is known again.
    identity: (u64, u64),
    /// Bytes of whole samples written: where the file is cut if a write fails half-way.
    whole_bytes: u64,
    /// Its place in [`OPEN`].
    slot: usize,
}

impl HpFile {
    /// Makes `stem`.hp with `first` as its content, or `stem`.PID.hp if a living process is writing
    /// that name. An older file is replaced.
    ///
    /// # Errors
    /// The file that could not be made, and why.
    pub(crate) fn create(stem: &Path, first: &[u8]) -> Result<Self, Error> {
        let wanted = with_extension(stem, "hp");
        let temporary = temporary_beside(&wanted);
        let made =
            Self::fill(&temporary, first).map_err(|cause| Error::file(&wanted, cause)).and_then(|file| {
                let own_name = with_extension(&with_extension(stem, &os::process_id().to_string()), "hp");
                for path in [wanted.clone(), own_name] {
                    if put_in_place(&temporary, &path)? {
                        return Ok((file, path));
                    }
                }
                Err(Error::file(&wanted, io::Error::other("another process is writing it")))
            });
        if made.is_err() {
            let _ = std::fs::remove_file(&temporary);
        }
        let (file, path) = made?;
        let identity = identity(&file).ok_or_else(|| Error::file(&path, io::Error::last_os_error()))?;
        let is_free = |open: &Open| open.descriptor.load(Ordering::Relaxed) < 0;
        let slot = OPEN.iter().position(is_free).unwrap_or(FILES_MAX);
        let made =
            Self { file: ManuallyDrop::new(file), path, identity, whole_bytes: first.len() as u64, slot };
        made.note_open();
        Ok(made)
    }

    /// Replaces all that was written by `text`, in one step.
    ///
    /// # Errors
    /// The file and the cause; the old content then stays.
    pub(crate) fn rewrite(&mut self, text: &[u8]) -> Result<(), Error> {
        if self.is_open() && self.file.metadata().is_ok_and(|met| met.nlink() == 0) {
            return Err(Error::file(&self.path, io::Error::other("has been removed")));
        }
        let temporary = temporary_beside(&self.path);
        let written = Self::fill(&temporary, text)
            .and_then(|file| std::fs::rename(&temporary, &self.path).map(|()| file))
            .and_then(|file| Ok((identity(&file).ok_or_else(io::Error::last_os_error)?, file)));
        match written {
            Ok((identity, file)) => {
                if self.is_open() {
                    os::close(self.file.as_raw_fd());
                }
                (self.file, self.identity) = (ManuallyDrop::new(file), identity);
                self.whole_bytes = text.len() as u64;
                self.note_open();
                Ok(())
            }
            Err(cause) => {
                let _ = std::fs::remove_file(&temporary);
                Err(Error::file(&self.path, cause))
            }
        }
    }

    /// Leaves word of the file for a forked child.
    fn note_open(&self) {
        if let Some(open) = OPEN.get(self.slot) {
            open.device.store(self.identity.0, Ordering::Relaxed);
            open.number.store(self.identity.1, Ordering::Relaxed);
            open.descriptor.store(self.file.as_raw_fd(), Ordering::Relaxed);
        }
    }

    fn fill(temporary: &Path, first: &[u8]) -> io::Result<File> {
        let file = create_new(temporary)?;
        os::try_lock_file(file.as_raw_fd());
        os::write_whole(file.as_raw_fd(), first)?;
        Ok(file)
    }

    /// Appends one sample in one write. If it cannot be written whole, what was written of it is cut
    /// off again.
    ///
    /// # Errors
    /// The file and the cause.
    pub(crate) fn append(&mut self, sample: &[u8]) -> Result<(), Error> {
        let fail = |cause| Error::file(&self.path, cause);
        if !self.is_open() {
            self.file = self.reopen().map_err(fail)?;
            self.note_open();
        }
        if self.file.metadata().map_err(fail)?.nlink() == 0 {
            return Err(fail(io::Error::other("has been removed")));
        }
        match os::write_whole(self.file.as_raw_fd(), sample) {
            Ok(()) => {
                self.whole_bytes += sample.len() as u64;
                Ok(())
            }
            Err(cause) => {
                let _ = self.file.set_len(self.whole_bytes);
                Err(fail(cause))
            }
        }
    }

    /// Whether the descriptor is still that of our file: a program that becomes a daemon closes all
    /// that it finds, and opens files of its own.
    fn is_open(&self) -> bool {
        identity(&self.file) == Some(self.identity)
    }

    /// The file under a new descriptor.
    fn reopen(&self) -> io::Result<ManuallyDrop<File>> {
        let file = OpenOptions::new().append(true).custom_flags(libc::O_NOFOLLOW).open(&self.path)?;
        if identity(&file) != Some(self.identity) {
            return Err(io::Error::other("has been replaced"));
        }
        os::try_lock_file(file.as_raw_fd());
        above_standard_streams(file).map(ManuallyDrop::new)
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
        if let Some(open) = OPEN.get(self.slot) {
            open.descriptor.store(-1, Ordering::Relaxed);
        }
        if self.is_open() {
            os::close(self.file.as_raw_fd());
        }
    }
}

/// Device and number of an open file.
fn identity(file: &File) -> Option<(u64, u64)> {
    os::identity(file.as_raw_fd())
}

/// Makes a file that was not there; follows no link, and keeps to the user's umask.
fn create_new(path: &Path) -> io::Result<File> {
    let file = OpenOptions::new().write(true).create_new(true).mode(0o666).open(path)?;
    above_standard_streams(file)
}

/// The file under a descriptor above 2: in a program without stderr it would be 2, and get what the
/// program says there.
fn above_standard_streams(file: File) -> io::Result<File> {
    if file.as_raw_fd() > libc::STDERR_FILENO { Ok(file) } else { os::above_standard_streams(file) }
}

/// In a forked child: gives back the parent's descriptors, and with them the share in the locks, unless
/// the program has made other files of them.
#[inline]
pub(crate) fn forget_after_fork() {
    for open in &OPEN {
        let descriptor = open.descriptor.swap(-1, Ordering::Relaxed);
        let known = (open.device.load(Ordering::Relaxed), open.number.load(Ordering::Relaxed));
        if descriptor >= 0 && os::identity(descriptor) == Some(known) {
            os::close(descriptor);
        }
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

/// The longest file that is read: a program must not wait for somebody's mistake.
#[cfg(feature = "config")]
const READ_BYTES_MAX: u64 = 64 << 10;

/// Reads a file that must be a regular one: a pipe would keep the program waiting.
///
/// # Errors
/// The kernel's, or that the file is of another kind.
#[cfg(feature = "config")]
pub(crate) fn read_regular(path: &Path) -> io::Result<Vec<u8>> {
    use std::io::Read as _;
    let file = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("is not a regular file"));
    }
    let mut content = Vec::new();
    file.take(READ_BYTES_MAX + 1).read_to_end(&mut content)?;
    if content.len() as u64 > READ_BYTES_MAX {
        return Err(io::Error::other("is larger than 64 KiB"));
    }
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
