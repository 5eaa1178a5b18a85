//! Programs of others that the tests need: GHC's hp2ps, ghostscript, binutils.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::guest::{Folder, wait};

/// Where a program is. Without it the calling test says so and is over, but in CI it fails.
#[track_caller]
pub(crate) fn find(tool: &str) -> Option<PathBuf> {
    let paths = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&paths).map(|folder| folder.join(tool)).find(|path| path.is_file());
    if found.is_none() {
        skip(&format!("{tool} not found"));
    }
    found
}

/// Says that a test, or the rest of it, is left out; fails in CI.
#[track_caller]
pub(crate) fn skip(reason: &str) {
    assert!(std::env::var_os("CI").is_none(), "{reason}, and CI may not skip");
    println!("SKIPPED: {reason}");
}

/// Draws a `.hp` file with GHC's hp2ps, in a folder of its own.
#[track_caller]
pub(crate) fn ghc_draws(hp: &Path) -> Option<Drawing> {
    let hp2ps = find("hp2ps")?;
    let folder = Folder::new();
    std::fs::copy(hp, folder.file("chart.hp")).unwrap();
    let drawn = Command::new(hp2ps).args(["-c", "chart.hp"]).current_dir(folder.out()).output().unwrap();
    let said = String::from_utf8_lossy(&drawn.stderr);
    assert!(drawn.status.success(), "hp2ps on {}: {said}", hp.display());
    let bytes = std::fs::metadata(folder.file("chart.ps")).map_or(0, |met| met.len());
    assert!(bytes > 1000, "hp2ps on {}: {bytes} bytes, {said}", hp.display());
    Some(Drawing(folder))
}

/// A chart that GHC's hp2ps has drawn.
pub(crate) struct Drawing(Folder);

impl Drawing {
    /// That ghostscript takes it.
    #[track_caller]
    pub(crate) fn is_postscript(&self) {
        let Some(gs) = find("gs") else { return };
        let mut gs = Command::new(gs);
        gs.args(["-q", "-dNOPAUSE", "-dBATCH", "-dSAFER", "-sDEVICE=nullpage"]).arg(self.0.file("chart.ps"));
        let mut running = gs.stdin(Stdio::null()).stdout(Stdio::null()).spawn().unwrap();
        assert!(wait(&mut running).success(), "gs on {}", self.0.out().display());
    }
}

/// Whether the tests run as root.
pub(crate) fn is_root() -> bool {
    // SAFETY: no preconditions.
    unsafe { libc::geteuid() == 0 }
}
