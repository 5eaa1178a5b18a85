//! Builds one worker per row and keeps the binaries side by side.

use crate::rows::{PLAIN, Row};
use std::path::{Path, PathBuf};
use std::process::Command;

/// A row with the binary that runs it.
pub(crate) struct Worker {
    pub(crate) row: &'static Row,
    pub(crate) binary: PathBuf,
}

/// The yardstick and the rows compared with it, ready to run.
pub(crate) struct Workers {
    pub(crate) plain: Worker,
    pub(crate) compared: Vec<Worker>,
    /// Where workers run and leave their profiles; removed when dropped.
    pub(crate) scratch: Scratch,
}

pub(crate) struct Scratch(pub(crate) PathBuf);

impl Drop for Scratch {
    fn drop(&mut self) {
        // What is left over in a temporary folder harms nobody.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Builds the worker of each row, and copies it to a name of its own: the next build replaces it.
///
/// # Errors
/// A build that fails, with cargo's messages on standard error above it.
pub(crate) fn build(rows: &[&'static Row], profile: &str) -> Result<Workers, String> {
    let target = target_folder()?;
    let binaries = target.join("rows");
    let scratch = Scratch(std::env::temp_dir().join(format!("heapprof-overhead-{}", std::process::id())));
    for folder in [&binaries, &scratch.0] {
        std::fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    }
    let worker = |row: &'static Row| {
        let binary = binaries.join(row.name.replace(' ', "-"));
        compile(row.feature, profile, &target)?;
        replace(&target.join(profile_folder(profile)).join("worker"), &binary)?;
        Ok(Worker { row, binary })
    };
    let plain = worker(&PLAIN)?;
    let compared = rows.iter().map(|row| worker(row)).collect::<Result<_, String>>()?;
    Ok(Workers { plain, compared, scratch })
}

/// The target folder that this driver itself was built in: `<target>/<profile>/overhead`.
fn target_folder() -> Result<PathBuf, String> {
    let driver = std::env::current_exe().map_err(|error| format!("the driver's own path: {error}"))?;
    let target = driver.parent().and_then(Path::parent);
    target.map(Path::to_path_buf).ok_or(format!("{}: expected it in a target folder", driver.display()))
}

fn profile_folder(profile: &str) -> &str {
    if profile == "dev" { "debug" } else { profile }
}

fn compile(feature: &str, profile: &str, target: &Path) -> Result<(), String> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let status = Command::new(cargo)
        .args(["build", "--quiet", "--bin", "worker", "--features", feature, "--profile", profile])
        .args(["--manifest-path", concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml")])
        .arg("--target-dir")
        .arg(target)
        .status()
        .map_err(|error| format!("cargo cannot be started: {error}"))?;
    status.success().then_some(()).ok_or(format!("the worker with feature {feature} does not build"))
}

/// Copies through a removed name, so that a worker that still runs is not written to.
fn replace(from: &Path, to: &Path) -> Result<(), String> {
    let _ = std::fs::remove_file(to);
    std::fs::copy(from, to).map(drop).map_err(|error| format!("{}: {error}", to.display()))
}
