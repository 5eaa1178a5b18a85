//! What the tests of profiles and charts share: seeded random numbers, random profiles, goldens, folders.
#![allow(dead_code, reason = "each test file uses its part")]

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// A xorshift generator: the same numbers on every machine.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// A number from 0 to `end` - 1.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        ((self.next() >> 11) % end as u64) as usize
    }

    /// True once in `times`.
    pub(crate) fn once_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }

    pub(crate) fn pick<'a, T: ?Sized>(&mut self, from: &[&'a T]) -> &'a T {
        from[self.below(from.len())]
    }
}

/// Runs a tool in a folder, with nothing on its standard input.
pub(crate) fn run_in(folder: &Path, tool: &str, args: &[&str]) -> Output {
    let mut command = Command::new(tool);
    command.args(args).current_dir(folder).stdin(Stdio::null()).output().expect("the tool starts")
}

/// What a run said on stderr.
pub(crate) fn stderr(run: &Output) -> String {
    String::from_utf8_lossy(&run.stderr).into_owned()
}

/// The text of a random profile that GHC's tool reads: ties, zeros, repeated names, equal times,
/// marks anywhere, rows outside samples, names of all widths.
pub(crate) fn random_hp(random: &mut Random) -> String {
    let mut text = String::new();
    let job = "job with a rather long line of arguments +RTS -hc -i0.01 and so on and so on until it is cut";
    let job = &job[..1 + random.below(job.len())];
    let unit = random.pick(&["seconds", "s", "mutator CPU seconds", "MB x MMMM"]);
    let _ = writeln!(text, "JOB \"{job}\"\nDATE \"Thu Jan  1 00:00 2026\"");
    let _ = writeln!(text, "SAMPLE_UNIT \"{unit}\"\nVALUE_UNIT \"{}\"", random.pick(&["bytes", "W"]));
    let bands = [0, 1, 3, 8, 24, 45][random.below(6)];
    let names: Vec<String> = (0..bands).map(|_| random_name(random)).collect();
    let most = [1, 3, 50, 5_000, 8_000_000, 4_000_000_000_000][random.below(6)];
    let mut time = random.below(4) as f64 * 0.25;
    for _ in 0..1 + random.below(12) {
        if random.once_in(4) {
            let _ = writeln!(text, "MARK {:.6}", random.below(40) as f64 * 0.1);
        }
        let _ = writeln!(text, "BEGIN_SAMPLE {time:.6}");
        for name in &names {
            if !random.once_in(3) {
                let _ = writeln!(text, "{name}\t{}", random.below(most + 1));
            }
            if random.once_in(40) {
                let _ = writeln!(text, "{name} {}", random.below(most + 1));
            }
        }
        let _ = writeln!(text, "END_SAMPLE {time:.6}");
        time += [0.0, 0.01, 0.25, 3.0, 1000.0][random.below(5)] * (1 + random.below(3)) as f64;
    }
    text
}

fn random_name(random: &mut Random) -> String {
    let parts = [
        "(12)", "main", "/", "CAF", "a", "b", "MMM", "\\", "ü", "x.y", "(", ")", "7", "OTHER", "MARKET",
        "JOBS", "...",
    ];
    let mut name = String::new();
    let most = [2, 3, 9][random.below(3)];
    for _ in 0..1 + random.below(most) {
        name.push_str(random.pick(&parts));
    }
    name
}

/// An empty folder for one test.
pub(crate) fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).expect("the target folder takes folders");
    folder
}

/// A file of `tests/data/hp`.
pub(crate) fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/data/hp").join(name)
}

/// Asserts that `actual` is the golden of that name; `HEAPPROF_BLESS=1` makes it so.
pub(crate) fn assert_golden(name: &str, actual: &[u8]) {
    let path = data("want").join(name);
    if std::env::var_os("HEAPPROF_BLESS").is_some() {
        std::fs::write(&path, actual).expect("goldens can be written");
        return;
    }
    let expected = std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    if let Some(line) = first_difference(&expected, actual) {
        panic!("{} differs from line {line} on; HEAPPROF_BLESS=1 rewrites it", path.display());
    }
}

/// The first line in which two texts differ, from 1.
pub(crate) fn first_difference(one: &[u8], other: &[u8]) -> Option<usize> {
    let (mut ones, mut others) = (one.split(|b| *b == b'\n'), other.split(|b| *b == b'\n'));
    (1..).find_map(|line| match (ones.next(), others.next()) {
        (None, None) => Some(None),
        (one, other) => (one != other).then_some(Some(line)),
    })?
}

/// GHC's tool, known by the comment it writes.
pub(crate) fn ghc_tool() -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let text = "JOB \"j\" DATE \"d\" SAMPLE_UNIT \"s\" VALUE_UNIT \"b\" BEGIN_SAMPLE 0.0 END_SAMPLE 0.0";
    let found = std::env::split_paths(&path).map(|folder| folder.join("hp2ps")).find(|tool| {
        let drawn = tool.is_file().then(|| filter(tool, &[], text.as_bytes()).stdout);
        drawn.is_some_and(|drawn| String::from_utf8_lossy(&drawn).contains("(version 0.25)"))
    });
    if found.is_none() {
        assert!(
            std::env::var_os("CI").is_none(),
            "GHC's hp2ps is not on the PATH, and CI must compare with it"
        );
        eprintln!("SKIPPED: GHC's hp2ps is not on the PATH, nothing to compare with");
    }
    found
}

/// What the tool makes of a text on its standard input.
pub(crate) fn filter(tool: &Path, args: &[String], text: &[u8]) -> Output {
    let mut child = Command::new(tool)
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the tool starts");
    // A tool that fails may close its input early.
    let _ = child.stdin.take().expect("piped").write_all(text);
    child.wait_with_output().expect("the tool ends")
}

/// The statements of a document that GHC's tool has too: without comments, without the `save` and `restore` around
/// each page and the clipping of an encapsulated one, and with the fonts first, which GHC's tool defines on the
/// first page.
pub(crate) fn statements(postscript: &[u8]) -> Vec<u8> {
    let lines = postscript.split_inclusive(|&byte| byte == b'\n');
    let extra = |line: &[u8]| {
        line.starts_with(b"%")
            || line == b"save\n"
            || line == b"restore\n"
            || line.ends_with(b" clip newpath\n")
    };
    let common = lines.filter(|line| !extra(line));
    let (fonts, others): (Vec<_>, Vec<_>) = common.partition(|line| line.starts_with(b"/HE1"));
    assert_eq!(fonts.len(), 2, "{}", String::from_utf8_lossy(postscript));
    [fonts, others].concat().concat()
}

/// The statements of GHC's tool, with the scale of an encapsulated document on every page: it loses the scale after
/// the first.
pub(crate) fn ghc_statements(postscript: &[u8]) -> Vec<u8> {
    const LATER: [&str; 2] =
        ["72.000000 108.000000 translate\n", "-90 rotate\n-756.000000 72.000000 translate\n"];
    let text = statements(postscript);
    let scale = text.split_inclusive(|&byte| byte == b'\n').nth(2).expect("two fonts and the place");
    if !scale.ends_with(b" scale\n") {
        return text;
    }
    let mut pages = Vec::new();
    for (at, page) in split_after(&text, b"\nshowpage\n").into_iter().enumerate() {
        let place = LATER.iter().find(|place| at > 0 && page.starts_with(place.as_bytes()));
        if place.is_some() {
            pages.extend_from_slice(scale);
        }
        pages.extend_from_slice(&page[place.map_or(0, |place| place.len())..]);
    }
    pages
}

/// The pieces of a text, each but the last with `end` at its end.
pub(crate) fn split_after<'a>(text: &'a [u8], end: &[u8]) -> Vec<&'a [u8]> {
    let ends = (end.len()..=text.len()).filter(|&at| text[..at].ends_with(end));
    let bounds: Vec<usize> = std::iter::once(0).chain(ends).chain([text.len()]).collect();
    bounds.windows(2).map(|bounds| &text[bounds[0]..bounds[1]]).collect()
}
