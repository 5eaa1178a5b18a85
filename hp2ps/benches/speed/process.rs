//! Runs a process to its end and tells what it cost.

use std::fs::File;
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// Of one process, its threads included.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cost {
    /// User and system time.
    pub(crate) cpu_s: f64,
    /// The most that was resident. No less than this process has, whose pages count until the new program is loaded.
    pub(crate) peak_mb: f64,
}

/// Runs `command`, its output thrown away; with `piped` that file comes through a pipe, whose writer does not count.
///
/// # Errors
/// What cannot be started or fails.
pub(crate) fn cost(mut command: Command, piped: Option<&Path>) -> Result<Cost, String> {
    let about = format!("{:?}", command.get_program());
    let failed = |error: std::io::Error| format!("{about}: {error}");
    let mut writer = None;
    if let Some(path) = piped {
        let input = File::open(path).map_err(failed)?;
        let mut cat = Command::new("cat").stdin(input).stdout(Stdio::piped()).spawn().map_err(failed)?;
        command.stdin(cat.stdout.take().map_or_else(Stdio::null, Stdio::from));
        writer = Some(cat);
    }
    let child = command.stdout(Stdio::null()).stderr(Stdio::inherit()).spawn().map_err(failed)?;
    // Its copy of the pipe's end would keep the writer alive.
    drop(command);
    let cost = wait(&child).map_err(failed)?;
    if let Some(mut writer) = writer {
        writer.wait().map_err(failed)?;
    }
    cost.ok_or_else(|| format!("{about}: failed"))
}

/// Waits, and takes what the kernel counted for this child alone; `None` if it failed. The handle is spent.
fn wait(child: &Child) -> std::io::Result<Option<Cost>> {
    let mut status = 0;
    // SAFETY: zeros are a value of this struct of integers.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: both pointers are to locals that live across the call; the child is ours and nothing else waits for it.
    let waited = unsafe { libc::wait4(child.id().cast_signed(), &raw mut status, 0, &raw mut usage) };
    if waited < 0 {
        return Err(std::io::Error::last_os_error());
    }
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
    let cost = Cost {
        cpu_s: seconds(usage.ru_utime) + seconds(usage.ru_stime),
        peak_mb: usage.ru_maxrss as f64 * 1024.0 / 1e6,
    };
    Ok((status == 0).then_some(cost))
}

/// Instructions that `command` takes under callgrind; `None` without valgrind.
///
/// # Errors
/// The command fails, or valgrind says no number.
pub(crate) fn instructions(command: Command) -> Result<Option<u64>, String> {
    let mut valgrind = Command::new("valgrind");
    valgrind.args(["--tool=callgrind", "--callgrind-out-file=/dev/null"]).arg(command.get_program());
    valgrind.args(command.get_args()).env("LC_ALL", "C").stdin(Stdio::null());
    if let Some(folder) = command.get_current_dir() {
        valgrind.current_dir(folder);
    }
    let Ok(output) = valgrind.output() else { return Ok(None) };
    let stderr = String::from_utf8_lossy(&output.stderr);
    let total = stderr.lines().find_map(|line| line.split_once("Collected : ")?.1.trim().parse().ok());
    match total {
        Some(total) if output.status.success() => Ok(Some(total)),
        _ => Err(format!("{:?} under valgrind: {}", command.get_program(), stderr.trim())),
    }
}
