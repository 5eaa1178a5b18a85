//! Inputs that can be read several times, and how far reading has come.

use std::fs::File;
use std::io::{self, IsTerminal as _, Read, Seek, SeekFrom, Write as _};
use std::path::Path;

use tempfile::SpooledTempFile;

/// How much of a pipe is held in memory; a longer one goes to a nameless file in the folder for temporary files.
const HELD_BYTES: usize = 16 << 20;

/// From this size on a terminal is told how far reading has come.
const LARGE_BYTES: u64 = 32 << 20;

/// A profile that can be read again from its start.
#[derive(Debug)]
pub struct Input {
    source: Source,
    progress: Option<Progress>,
}

#[derive(Debug)]
enum Source {
    /// A regular file; the profile reader buffers.
    File(File),
    /// A copy of what can be read only once.
    Copy(SpooledTempFile),
}

impl Input {
    /// The file of that name.
    pub(crate) fn open(path: &Path) -> io::Result<Input> {
        Input::new(File::open(path)?)
    }

    /// Standard input, as it is if a whole file was put there.
    pub(crate) fn stdin() -> io::Result<Input> {
        #[cfg(unix)]
        {
            use std::os::fd::AsFd as _;
            let mut stdin = File::from(io::stdin().as_fd().try_clone_to_owned()?);
            if stdin.metadata()?.is_file() && stdin.stream_position()? == 0 {
                return Input::new(stdin);
            }
        }
        Input::copy(io::stdin().lock())
    }

    fn new(file: File) -> io::Result<Input> {
        let metadata = file.metadata()?;
        if !metadata.is_file() {
            return Input::copy(file);
        }
        Ok(Input { source: Source::File(file), progress: Progress::of(metadata.len()) })
    }

    fn copy(mut once: impl Read) -> io::Result<Input> {
        let mut copy = tempfile::spooled_tempfile(HELD_BYTES);
        let bytes = io::copy(&mut once, &mut copy)?;
        Ok(Input { source: Source::Copy(copy), progress: Progress::of(bytes) })
    }
}

impl Read for Input {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let bytes = match &mut self.source {
            Source::File(file) => file.read(into),
            Source::Copy(copy) => copy.read(into),
        }?;
        if let Some(progress) = &mut self.progress {
            progress.advance(bytes as u64);
        }
        Ok(bytes)
    }
}

impl Seek for Input {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        match &mut self.source {
            Source::File(file) => file.seek(to),
            Source::Copy(copy) => copy.seek(to),
        }
    }
}

/// A line on a terminal's stderr that is written over until it is taken away.
#[derive(Debug)]
struct Progress {
    /// Of one pass.
    bytes: u64,
    read: u64,
    shown_percent: u64,
}

impl Progress {
    /// None if the input is small or nobody looks.
    fn of(bytes: u64) -> Option<Progress> {
        let wanted = bytes >= LARGE_BYTES && io::stderr().is_terminal();
        wanted.then(|| Progress { bytes, read: 0, shown_percent: 0 })
    }

    fn advance(&mut self, bytes: u64) {
        self.read += bytes;
        let percent = self.read * 100 / self.bytes;
        if percent > self.shown_percent {
            self.shown_percent = percent;
            let (pass, percent) = (percent / 100 + 1, percent % 100);
            // A terminal that takes nothing changes nothing.
            let _ = write!(io::stderr(), "\rreading, pass {pass}: {percent} %\x1b[K");
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        let _ = write!(io::stderr(), "\r\x1b[K");
    }
}
