//! Real and made-up profiles of GHC's format drawn as GHC's `hp2ps` draws them: the same pixels of every page and
//! the same `.aux` texts. `tests/data/pages/README.md` tells what is compared.
//!
//! A debug build leaves out the largest profile and most of the rasterising.

mod hp_common;

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use hp_common::{first_difference, folder, ghc_tool};

const LARGE: &str = "manycc-huge-hc";

#[derive(Debug)]
struct Case {
    id: String,
    profile: String,
    expected: Expected,
    /// The argument, or `stdin`.
    input: String,
    previous: Option<String>,
    page_pt: (u32, u32),
    dpi: u32,
    options: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Expected {
    Draws,
    Complete,
    Reads,
    Breaks,
    Refuses(u64),
}

impl Case {
    fn parse(line: &str) -> Case {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [id, profile, expected, input, previous, page, dpi, options @ ..] = &words[..] else {
            panic!("`{line}`: expected seven columns and options");
        };
        let number = |text: &str| text.parse().unwrap_or_default();
        Case {
            id: (*id).into(),
            profile: (*profile).into(),
            expected: Expected::parse(expected),
            input: (*input).into(),
            previous: (*previous != "-").then(|| (*previous).into()),
            page_pt: page.split_once('x').map_or((0, 0), |(width, height)| (number(width), number(height))),
            dpi: number(dpi),
            options: options.iter().map(|&option| option.into()).collect(),
        }
    }

    /// Whether GHC's page is there to compare with.
    fn has_page(&self) -> bool {
        matches!(self.expected, Expected::Draws | Expected::Complete)
    }

    fn profile_path(&self) -> PathBuf {
        stored().folder.join("profiles").join(format!("{}.hp", self.profile))
    }

    /// What GHC's tool wrote.
    fn ghc(&self, extension: &str) -> PathBuf {
        stored().folder.join("ghc").join(format!("{}.{extension}", self.id))
    }
}

impl Expected {
    fn parse(word: &str) -> Expected {
        match word.split_once(':') {
            None if word == "draws" => Expected::Draws,
            None if word == "complete" => Expected::Complete,
            None if word == "reads" => Expected::Reads,
            None if word == "breaks" => Expected::Breaks,
            Some(("refuses", line)) => Expected::Refuses(line.parse().expect("a line")),
            _ => panic!("`{word}`: README.md tells what may be expected"),
        }
    }
}

/// The unpacked archives and the cases on their profiles.
struct Stored {
    folder: PathBuf,
    cases: Vec<Case>,
}

fn stored() -> &'static Stored {
    static STORED: OnceLock<Stored> = OnceLock::new();
    STORED.get_or_init(|| {
        let whole = !cfg!(debug_assertions);
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/data/pages");
        let folder = folder(if whole { "pages" } else { "pages_debug" });
        let archives = if whole { &["pages", "large"][..] } else { &["pages"] };
        archives.iter().for_each(|name| unpack(&source.join(format!("{name}.tar.lzma")), &folder));
        let table = fs::read_to_string(source.join("cases")).expect("the table of cases");
        let cases = table.lines().filter(|line| !line.starts_with('#')).map(Case::parse);
        Stored { folder, cases: cases.filter(|case| whole || case.profile != LARGE).collect() }
    })
}

fn unpack(archive: &Path, folder: &Path) {
    let file = File::open(archive).expect("an archive");
    let text = lzma_rust2::LzmaReader::new_mem_limit(file, u32::MAX, None).expect("compressed by xz");
    tar::Archive::new(text).unpack(folder).expect("a whole archive");
}

/// What a tool made of a case.
struct Drawn {
    exit: Option<i32>,
    stderr: String,
    page: PathBuf,
    aux: PathBuf,
}

/// Runs a tool on a case in a folder of its own.
fn run(tool: &Path, case: &Case, folder: &Path, profile: impl FnOnce(Vec<u8>) -> Vec<u8>) -> Drawn {
    let folder = folder.join(&case.id);
    let root = case.input.strip_suffix(".hp").unwrap_or(&case.input);
    let path = |extension: &str| folder.join(format!("{root}.{extension}"));
    fs::create_dir_all(&folder).expect("a new folder");
    fs::write(path("hp"), profile(fs::read(case.profile_path()).expect("stored"))).expect("a new file");
    if let Some(previous) = &case.previous {
        let previous = stored().folder.join("previous").join(format!("{previous}.aux"));
        fs::copy(previous, path("aux")).expect("stored");
    }
    let mut command = Command::new(tool);
    command.args(&case.options).current_dir(&folder).stdin(Stdio::null());
    if case.input == "stdin" {
        command.stdin(File::open(path("hp")).expect("just written"));
        command.stdout(File::create(path("ps")).expect("a new file"));
    } else {
        command.arg(&case.input);
    }
    let output = command.output().expect("the tool starts");
    Drawn {
        exit: output.status.code(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        page: path("ps"),
        aux: path("aux"),
    }
}

/// All cases drawn by our tool, in the order of the table.
fn ours() -> &'static [Drawn] {
    static OURS: OnceLock<Vec<Drawn>> = OnceLock::new();
    OURS.get_or_init(|| {
        let folder = stored().folder.join("ours");
        let draw = |case: &Case| run(env!("CARGO_BIN_EXE_hp2ps").as_ref(), case, &folder, |text| text);
        stored().cases.iter().map(draw).collect()
    })
}

/// Asserts what holds for each case, two at a time; tells all that fail.
fn assert_each(wanted: impl Fn(&Case) -> bool, holds: impl Fn(&Case, &Drawn) -> Result<(), String> + Sync) {
    let cases: Vec<_> = stored().cases.iter().zip(ours()).filter(|(case, _)| wanted(case)).collect();
    assert!(!cases.is_empty());
    let next = AtomicUsize::new(0);
    let check = || {
        let mut failures = Vec::new();
        while let Some((case, drawn)) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
            if let Err(why) = holds(case, drawn) {
                failures.push(format!("{} {} {:?}: {why}", case.id, case.profile, case.options));
            }
        }
        failures
    };
    let failures = std::thread::scope(|scope| {
        let threads = [0, 1].map(|_| scope.spawn(check));
        threads.map(|thread| thread.join().expect("no panic")).concat()
    });
    assert!(failures.is_empty(), "{} of {}:\n{}", failures.len(), cases.len(), failures.join("\n"));
}

fn has_ghostscript() -> bool {
    let found = Command::new("gs").arg("--version").output().is_ok_and(|run| run.status.success());
    assert!(found || std::env::var_os("CI").is_none(), "gs is not on the PATH, and CI must compare pixels");
    if !found {
        eprintln!("SKIPPED: gs is not on the PATH, no pixels to compare");
    }
    found
}

/// All pages as uncompressed pictures, one after the other.
fn pictures(page: &Path, case: &Case) -> Result<Vec<u8>, String> {
    const FIXED: [&str; 10] = [
        "-q",
        "-dSAFER",
        "-dNOPAUSE",
        "-dBATCH",
        "-dTextAlphaBits=1",
        "-dGraphicsAlphaBits=1",
        "-dFIXEDMEDIA",
        "-sstdout=%stderr",
        "-sDEVICE=ppmraw",
        "-sOutputFile=-",
    ];
    let (width, height) = case.page_pt;
    let mut command = Command::new("gs");
    command.args(FIXED).arg(format!("-r{}", case.dpi)).arg(format!("-dDEVICEWIDTHPOINTS={width}"));
    command.arg(format!("-dDEVICEHEIGHTPOINTS={height}")).arg("-f").arg(page).stdin(Stdio::null());
    let output = command.output().expect("gs starts");
    let said = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() || output.stdout.is_empty() {
        return Err(format!("gs on {}: {} {}", page.display(), output.status, said.trim()));
    }
    Ok(output.stdout)
}

/// Whether our page looks like `other`, pixel by pixel.
fn same_pixels(case: &Case, ours: &Path, other: &Path) -> Result<(), String> {
    let (ours, other) = (pictures(ours, case)?, pictures(other, case)?);
    if ours == other {
        return Ok(());
    }
    if ours.len() != other.len() {
        return Err(format!("pages of {} bytes, expected {}", ours.len(), other.len()));
    }
    let bytes = ours.iter().zip(&other).filter(|(one, other)| one != other).count();
    Err(format!("{bytes} bytes of {} differ", ours.len()))
}

#[test]
fn pages_have_the_pixels_of_ghcs_pages() {
    if !has_ghostscript() {
        return;
    }
    let every = if cfg!(debug_assertions) { 8 } else { 1 };
    let chosen = |case: &Case| case.id.bytes().map(usize::from).sum::<usize>() % every == 0;
    assert_each(
        |case| case.has_page() && chosen(case),
        |case, drawn| same_pixels(case, &drawn.page, &case.ghc("ps")),
    );
}

#[test]
fn other_pages_have_other_pixels() {
    if !has_ghostscript() {
        return;
    }
    let case = |id: &str| stored().cases.iter().find(|case| case.id == id).expect("a case");
    // The same page with marks, which are a few pixels, and without.
    let (with, without) = (case("e31-0"), case("e31-1"));
    assert_eq!(same_pixels(with, &with.ghc("ps"), &with.ghc("ps")), Ok(()));
    let answer = same_pixels(with, &with.ghc("ps"), &without.ghc("ps"));
    assert!(answer.clone().is_err_and(|why| why.ends_with(" differ")), "{answer:?}");
}

#[test]
fn aux_files_have_ghcs_text() {
    assert_each(
        |case| case.has_page() && case.input != "stdin",
        |case, drawn| {
            let [ghc, ours] = [&case.ghc("aux"), &drawn.aux].map(|path| fs::read(path).unwrap_or_default());
            match first_difference(&ghc, &ours) {
                None if !ghc.is_empty() => Ok(()),
                line => Err(format!("differs from line {line:?} on: {}", String::from_utf8_lossy(&ours))),
            }
        },
    );
}

/// The first line of a page that begins so.
fn comment(page: &Path, start: &str) -> Option<String> {
    let text = fs::read(page).ok()?;
    let lines = text.split(|&byte| byte == b'\n').map(String::from_utf8_lossy);
    lines.take_while(|line| line != "%%EndComments").find(|line| line.starts_with(start)).map(Into::into)
}

#[test]
fn encapsulated_pages_have_ghcs_box() {
    assert_each(
        |case| case.has_page() && case.options.iter().any(|option| option.starts_with("-e")),
        |case, drawn| {
            let bounds = [&case.ghc("ps"), &drawn.page].map(|page| comment(page, "%%BoundingBox:"));
            let (width, height) = case.page_pt;
            let expected = Some(format!("%%BoundingBox: 0 0 {width} {height}"));
            if bounds == [&expected, &expected].map(Clone::clone) {
                Ok(())
            } else {
                Err(format!("{bounds:?}"))
            }
        },
    );
}

#[test]
fn what_ghc_refuses_is_drawn_or_refused_with_its_line() {
    let gs = has_ghostscript();
    assert_each(
        |case| case.expected != Expected::Draws,
        |case, drawn| match case.expected {
            Expected::Refuses(line) => {
                let start = format!("hp2ps: {}, line {line}: read ", case.input);
                let one_line = drawn.stderr.starts_with(&start) && drawn.stderr.lines().count() == 1;
                let nothing = !drawn.page.exists() && !drawn.aux.exists();
                let refused = drawn.exit == Some(1) && one_line && nothing;
                if refused { Ok(()) } else { Err(format!("{:?} {}", drawn.exit, drawn.stderr)) }
            }
            _ if drawn.exit != Some(0) => Err(drawn.stderr.clone()),
            _ if gs => pictures(&drawn.page, case).map(drop),
            _ => Ok(()),
        },
    );
}

/// A profile up to its last complete sample, which ends with a line.
fn complete(mut text: Vec<u8>) -> Vec<u8> {
    let last = text.windows(11).rposition(|word| word == b"END_SAMPLE ").expect("a sample");
    let line = text[last..].iter().position(|&byte| byte == b'\n').map_or(text.len(), |end| last + end);
    text.truncate(line + 1);
    text
}

#[test]
fn what_is_stored_is_what_ghc_draws() {
    let Some(ghc) = ghc_tool() else { return };
    let folder = stored().folder.join("again");
    let same = |case: &Case, drawn: &Drawn| {
        let files = [("ps", &drawn.page), ("aux", &drawn.aux)];
        files.iter().all(|(extension, path)| fs::read(path).ok() == fs::read(case.ghc(extension)).ok())
    };
    assert_each(
        |_| true,
        |case, _| {
            let drawn = match case.expected {
                Expected::Complete => run(&ghc, case, &folder, complete),
                _ => run(&ghc, case, &folder, |text| text),
            };
            let refuses = matches!(case.expected, Expected::Reads | Expected::Refuses(_));
            let as_stored = if refuses { drawn.exit == Some(1) } else { same(case, &drawn) };
            if as_stored { Ok(()) } else { Err(format!("{:?} {}", drawn.exit, drawn.stderr)) }
        },
    );
}
