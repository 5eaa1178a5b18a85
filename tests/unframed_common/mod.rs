//! Test programs without frame pointers: the same source built once more, by hand and optimised, over a
//! heapprof that was built so too. By hand, because cargo would build every dependency of every test.
//!
//! The source is compiled with `--cfg unframed`: then it is the guest alone, and its first argument is the
//! role as ever.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// Types and functions in names, and nothing else: what a build that knows of no profiler has.
const FLAGS: &str = "-Csymbol-mangling-version=v0";

/// The program of `tests/{test}.rs` over the system's allocator, and without frame pointers; built once by each
/// process, which has one `test`.
pub(crate) fn build(test: &str) -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| build_anew(test))
}

fn build_anew(test: &str) -> PathBuf {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("unframed");
    let crate_root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["build", "--quiet", "--lib", "--no-default-features", "--features", "symbols"]);
    cargo.args(["--message-format", "json", "--target-dir"]).arg(&target).current_dir(crate_root);
    cargo.env("RUSTFLAGS", FLAGS).env_remove("CARGO_ENCODED_RUSTFLAGS");
    let built = cargo.output().unwrap();
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    let messages = String::from_utf8_lossy(&built.stdout).into_owned();
    let program = target.join(test);
    let mut rustc = Command::new("rustc");
    rustc.args(["--edition", "2024", "-O", "-Cdebuginfo=1", "--cfg", "unframed", FLAGS, "-o"]);
    rustc.arg(&program).arg(crate_root.join("../tests").join(format!("{test}.rs")));
    rustc.arg("-L").arg(target.join("debug/deps"));
    for name in ["heapprof", "backtrace", "libc"] {
        rustc.arg("--extern").arg(format!("{name}={}", library(&messages, name)));
    }
    let compiled = rustc.env("CARGO_TARGET_TMPDIR", env!("CARGO_TARGET_TMPDIR")).output().unwrap();
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    program
}

/// The path of a library in cargo's messages.
fn library<'a>(messages: &'a str, name: &str) -> &'a str {
    let is_wanted = |text: &&str| {
        let file = text.rsplit('/').next().unwrap_or_default();
        let stem = file.strip_prefix("lib").and_then(|rest| rest.strip_suffix(".rlib"));
        stem.is_some_and(|stem| {
            stem == name || stem.split_once('-').is_some_and(|(crate_, _)| crate_ == name)
        })
    };
    messages.split('"').find(is_wanted).unwrap_or_else(|| panic!("no library {name}"))
}
