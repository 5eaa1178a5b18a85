//! Builds the program `held` as users build theirs, in several ways.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};

/// One way of building.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Build {
    /// `cargo build`.
    Debug,
    /// `cargo build --release`, with line tables.
    Release,
    /// The same with link-time optimisation over all crates.
    Lto,
    /// The same, optimised for size.
    Small,
    /// As `Debug`, with the older scheme of symbol names.
    Legacy,
    /// As `Release`, without line tables.
    NoLines,
    /// As `Release`, without any name.
    Stripped,
    /// As `Debug`, without frame pointers.
    NoFrames,
}

impl Build {
    /// Flags for all crates, and those that only the program's own crate gets: what others are built with stays
    /// the same where it can, so that they are built four times and not eight.
    fn flags(self) -> (&'static str, &'static [&'static str]) {
        // Bitcode in all crates is for link-time optimisation, and changes nothing in the others.
        const RELEASE: &str = "-Cforce-frame-pointers=yes -Csymbol-mangling-version=v0 -Cembed-bitcode=yes";
        match self {
            Self::Debug => ("-Cforce-frame-pointers=yes -Csymbol-mangling-version=v0", &[]),
            Self::Legacy => ("-Cforce-frame-pointers=yes", &[]),
            Self::NoFrames => ("-Cforce-frame-pointers=no -Csymbol-mangling-version=v0", &[]),
            Self::Release => (RELEASE, &[]),
            Self::Lto => (RELEASE, &["-Clto=fat", "-Ccodegen-units=1"]),
            Self::Small => (RELEASE, &["-Copt-level=s"]),
            Self::NoLines => (RELEASE, &["-Cdebuginfo=0"]),
            Self::Stripped => (RELEASE, &["-Cstrip=symbols"]),
        }
    }

    fn is_release(self) -> bool {
        !matches!(self, Self::Debug | Self::Legacy | Self::NoFrames)
    }

    /// The program, built when first asked for.
    pub(crate) fn program(self) -> PathBuf {
        static BUILT: Mutex<BTreeMap<Build, PathBuf>> = Mutex::new(BTreeMap::new());
        let mut built = BUILT.lock().unwrap_or_else(PoisonError::into_inner);
        built.entry(self).or_insert_with(|| self.make()).clone()
    }

    fn make(self) -> PathBuf {
        let root = Path::new(env!("CARGO_TARGET_TMPDIR")).join("exact_breakdowns");
        let folder = root.join("built").join(format!("{self:?}"));
        std::fs::create_dir_all(&folder).unwrap();
        // All builds leave their program in one place: another run of this test waits until ours is copied.
        let only_one = File::create(root.join("lock")).unwrap();
        #[allow(clippy::incompatible_msrv, reason = "tests are built by the newest toolchain alone")]
        only_one.lock().unwrap();
        copy_source(&root.join("held"));
        let target = root.join("target");
        let output = self.cargo(&root.join("held"), &target).output().expect("cargo runs");
        assert!(output.status.success(), "{self:?}: {}", String::from_utf8_lossy(&output.stderr));
        let kind = if self.is_release() { "release" } else { "debug" };
        let (program, copy) = (folder.join("held"), folder.join("copy"));
        std::fs::copy(target.join(kind).join("held"), &copy).unwrap();
        std::fs::rename(copy, &program).unwrap();
        program
    }

    fn cargo(self, folder: &Path, target: &Path) -> Command {
        let (for_all, for_own) = self.flags();
        let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("CARGO_PROFILE_") {
                cargo.env_remove(name);
            }
        }
        cargo.env("CARGO_TARGET_DIR", target).env("RUSTFLAGS", for_all).env_remove("CARGO_ENCODED_RUSTFLAGS");
        cargo.env("CARGO_INCREMENTAL", "0").args(["rustc", "--quiet"]).current_dir(folder);
        cargo.args(self.is_release().then_some("--release")).arg("--").args(for_own);
        cargo
    }
}

/// Puts the program's crate into a folder of the name that its modules have, with the lock file of this workspace,
/// so that nothing is looked for elsewhere.
fn copy_source(folder: &Path) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let from = root.join("../tests/exact_breakdowns/held");
    std::fs::create_dir_all(folder.join("src")).unwrap();
    let manifest = std::fs::read_to_string(from.join("Cargo.toml")).unwrap();
    write_changed(
        &folder.join("Cargo.toml"),
        manifest.replace("HEAPPROF", root.to_str().unwrap()).as_bytes(),
    );
    std::fs::copy(root.join("../Cargo.lock"), folder.join("Cargo.lock")).unwrap();
    for entry in std::fs::read_dir(from.join("src")).unwrap() {
        let source = entry.unwrap().path();
        let copy = folder.join("src").join(source.file_name().unwrap());
        write_changed(&copy, &std::fs::read(&source).unwrap());
    }
}

/// Leaves a file alone that has the content already: it would be built anew.
fn write_changed(path: &Path, content: &[u8]) {
    if std::fs::read(path).ok().as_deref() != Some(content) {
        std::fs::write(path, content).unwrap();
    }
}
