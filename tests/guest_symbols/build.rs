//! Builds the program `probe` and libraries for it, in many ways: what it depends upon once, by cargo, and the rest by
//! the compiler alone.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use super::common::tools::find;

/// As in `exact_breakdowns`, with whose target folder this one is shared.
const FLAGS: &str = "-Cforce-frame-pointers=yes -Csymbol-mangling-version=v0 -Cembed-bitcode=yes";

/// Where programs are built.
pub(crate) fn root() -> PathBuf {
    let root = Path::new(env!("CARGO_TARGET_TMPDIR")).join("guest_symbols");
    std::fs::create_dir_all(&root).unwrap();
    root
}

/// Removes the programs that this process has kept there, `built-PID-NUMBER`.
pub(crate) fn remove_kept() {
    let front = format!("built-{}-", std::process::id());
    for entry in std::fs::read_dir(root()).unwrap().flatten() {
        if entry.file_name().to_string_lossy().starts_with(&front) {
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

/// What the program links to.
struct Libraries {
    heapprof: String,
    libc: String,
    folder: PathBuf,
}

/// Built when first asked for.
fn libraries() -> &'static Libraries {
    static BUILT: OnceLock<Libraries> = OnceLock::new();
    BUILT.get_or_init(|| {
        let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("exact_breakdowns/target");
        let folder = root().join("probe");
        copy_source(&folder);
        let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        let is_profile = |name: &str| name.starts_with("CARGO_PROFILE_");
        for (name, _) in std::env::vars_os().filter(|(name, _)| is_profile(&name.to_string_lossy())) {
            cargo.env_remove(name);
        }
        cargo.args(["build", "--release", "--quiet", "--message-format", "json"]).current_dir(&folder);
        cargo.env("CARGO_TARGET_DIR", &target).env("RUSTFLAGS", FLAGS).env("CARGO_INCREMENTAL", "0");
        let output = cargo.env_remove("CARGO_ENCODED_RUSTFLAGS").output().expect("cargo runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let messages = String::from_utf8_lossy(&output.stdout).into_owned();
        let [heapprof, libc] = ["heapprof", "libc"].map(|name| library(&messages, name));
        Libraries { heapprof, libc, folder: target.join("release/deps") }
    })
}

/// Puts the crate into a folder with the lock file of this workspace, so that nothing is looked for elsewhere.
fn copy_source(folder: &Path) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    copy_sources_to(&folder.join("src"));
    let manifest = std::fs::read_to_string(source().join("Cargo.toml")).unwrap();
    std::fs::write(folder.join("Cargo.toml"), manifest.replace("HEAPPROF", root.to_str().unwrap())).unwrap();
    std::fs::copy(root.join("../Cargo.lock"), folder.join("Cargo.lock")).unwrap();
}

fn source() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/guest_symbols/probe")
}

/// Copies the program's sources into a folder.
pub(crate) fn copy_sources_to(folder: &Path) {
    std::fs::create_dir_all(folder).unwrap();
    for entry in std::fs::read_dir(source().join("src")).unwrap() {
        let source = entry.unwrap().path();
        std::fs::copy(&source, folder.join(source.file_name().unwrap())).unwrap();
    }
}

/// The path of a library in cargo's messages.
fn library(messages: &str, name: &str) -> String {
    let front = format!("/lib{name}-");
    let is_wanted = |text: &&str| text.ends_with(".rlib") && text.contains(&front);
    messages.split('"').find(is_wanted).unwrap_or_else(|| panic!("no library {name}")).to_owned()
}

/// The program, optimised, with line tables, frame pointers and v0 names, and what `options` change of that.
pub(crate) fn program(out: &Path, options: &[&str]) -> PathBuf {
    program_of(&source().join("src/main.rs"), out, options)
}

/// The same of another source.
pub(crate) fn program_of(main: &Path, out: &Path, options: &[&str]) -> PathBuf {
    try_program_of(main, out, options).unwrap_or_else(|why| panic!("{options:?}: {why}"))
}

/// The same, or what the compiler says.
pub(crate) fn try_program_of(main: &Path, out: &Path, options: &[&str]) -> Result<PathBuf, String> {
    let libraries = libraries();
    let mut rustc = rustc("probe");
    // The older scheme has no option of its own.
    if !options.contains(&LEGACY) {
        rustc.arg("-Csymbol-mangling-version=v0");
    }
    rustc.args(["-Copt-level=3", "-Cdebuginfo=1"]).args(options.iter().filter(|option| **option != LEGACY));
    rustc.arg("--extern").arg(format!("heapprof={}", libraries.heapprof));
    rustc.arg("--extern").arg(format!("libc={}", libraries.libc));
    rustc.arg("-L").arg(format!("dependency={}", libraries.folder.display()));
    let output = rustc.arg("-o").arg(out).arg(main).output().expect("the compiler runs");
    match output.status.success() {
        true => Ok(out.to_owned()),
        false => Err(String::from_utf8_lossy(&output.stderr).into_owned()),
    }
}

/// Stands for the names of the older scheme among the options.
pub(crate) const LEGACY: &str = "legacy";

fn rustc(name: &str) -> Command {
    let mut rustc = Command::new(std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()));
    rustc.args(["--edition=2024", "-Cforce-frame-pointers=yes", "--crate-name", name]);
    rustc
}

/// A library in C whose function `call` calls `inner`, which calls back; `None` without a compiler.
pub(crate) fn c_library(out: &Path, inner: &str) -> Option<String> {
    const CODE: &str = "
        #include <stddef.h>
        #define KEEP __asm__ volatile(\"\" ::: \"memory\")
        void *INNER(void *(*back)(size_t), size_t n) { void *block = back(n); KEEP; return block; }
        void *call(void *(*back)(size_t), size_t n) { void *block = INNER(back, n); KEEP; return block; }";
    let cc = find("cc")?;
    std::fs::create_dir_all(out.parent().unwrap()).unwrap();
    let source = out.with_extension("c");
    std::fs::write(&source, CODE).unwrap();
    let mut cc = Command::new(cc);
    cc.args(["-O1", "-shared", "-fPIC", "-fno-omit-frame-pointer", "-Wl,--build-id"]);
    let output = cc.arg(format!("-DINNER={inner}")).arg("-o").arg(out).arg(source).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(out.to_str().unwrap().to_owned())
}

/// The same in Rust: `late::inner::calls` calls back.
pub(crate) fn rust_library(out: &Path) -> String {
    const CODE: &str = "
        type Back = extern \"C\" fn(usize) -> *mut u8;
        mod inner {
            #[inline(never)]
            pub fn calls<T>(back: super::Back, n: usize) -> *mut u8 { std::hint::black_box(back(n)) }
        }
        #[unsafe(no_mangle)]
        pub extern \"C\" fn call(back: Back, n: usize) -> *mut u8 { std::hint::black_box(inner::calls::<u8>(back, n)) }";
    let source = out.with_extension("rs");
    std::fs::write(&source, CODE).unwrap();
    let mut rustc = rustc("late");
    rustc.args(["--crate-type=cdylib", "-Copt-level=1", "-Csymbol-mangling-version=v0"]);
    let output = rustc.arg("-o").arg(out).arg(source).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    out.to_str().unwrap().to_owned()
}
