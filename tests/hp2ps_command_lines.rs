//! Command lines as GHC's `hp2ps` takes them, the odd ones too: both tools draw the same, fail or show their usage,
//! but for the differences the table names. Where GHC's tool is missing, ours alone is held to the table.

mod hp_common;

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use hp_common::{folder, ghc_statements, ghc_tool, statements};

const PROFILE: &str = "JOB \"cli\"\nDATE \"d\"\nSAMPLE_UNIT \"seconds\"\nVALUE_UNIT \"bytes\"\n\
    BEGIN_SAMPLE 0.0\na 10\nb 5\nEND_SAMPLE 0.0\nMARK 0.5\nBEGIN_SAMPLE 1.0\na 30\nEND_SAMPLE 1.0\n";

#[derive(Clone, Copy, Debug, PartialEq)]
enum Outcome {
    /// A page and an `.aux` file of this root.
    Draws(&'static str),
    /// A page on standard output.
    Filters,
    /// Usage on request.
    Help,
    /// Usage since an option is wrong: 2 and stderr; from GHC's tool 0 and stdout.
    Usage,
    /// 1 and one line on stderr.
    Fails,
}

use Outcome::{Draws, Fails, Filters, Help, Usage};

/// Arguments, and what comes of them with both tools. The folder has `t.hp`, `t.hp.hp`, `x.y.hp`, `d/t.hp`, `d/u.hp`.
const SAME: [(&str, Outcome); 41] = [
    ("-x t.hp", Usage),
    ("-px t", Usage),
    ("-cx t.hp", Draws("t")),
    ("-pc t", Fails),
    ("-pp t", Fails),
    ("-p t", Fails),
    ("- t.hp", Draws("t")),
    ("", Filters),
    ("-c", Filters),
    ("-p", Filters),
    ("t", Draws("t")),
    ("t.hp", Draws("t")),
    ("./t.hp", Draws("t")),
    ("d/t.hp", Draws("t")),
    ("d/u", Draws("u")),
    ("t.hp.hp", Draws("t.hp")),
    ("x.y.hp", Draws("x.y")),
    ("x.y", Draws("x.y")),
    ("nofile", Fails),
    ("t.HP", Fails),
    ("no/folder/t.hp", Fails),
    ("-e t", Usage),
    ("-e144 t", Usage),
    ("-e144.5 t", Draws("t")),
    ("-e2in t", Usage),
    ("-e2.01in t", Draws("t")),
    ("-e50mm t", Usage),
    ("-e51mm t", Draws("t")),
    ("-e-500 t", Usage),
    ("-t5 t", Draws("t")),
    ("-t5.1 t", Usage),
    ("-t-1 t", Usage),
    ("-t t", Draws("t")),
    ("-m t", Draws("t")),
    ("-m21 t", Draws("t")),
    ("-m1000000 t", Draws("t")),
    ("-iz t", Draws("t")),
    ("-bd t", Draws("t")),
    ("-b -s t", Draws("t")),
    ("-s -b -y -g t", Draws("t")),
    ("-c -c -d -i- t", Draws("t")),
];

/// Arguments, what comes of them with GHC's tool, and with ours.
const OTHERWISE: [(&str, Outcome, Outcome); 10] = [
    ("-?", Usage, Help),
    ("--help", Usage, Help),
    // Bands without a limit, as the tool's older manual has it.
    ("-l t", Usage, Draws("t")),
    // Numbers that are none.
    ("-tx t", Draws("t"), Usage),
    ("-mx t", Draws("t"), Usage),
    ("-m-3 t", Draws("t"), Usage),
    ("-e300xx t", Draws("t"), Usage),
    ("-e1e999 t", Draws("t"), Usage),
    // What GHC's tool drops without a word.
    ("t.hp nofile", Draws("t"), Usage),
    ("t.hp -c", Draws("t"), Draws("t")),
];

struct Run {
    output: Output,
    folder: PathBuf,
}

impl Run {
    fn new(tool: &Path, line: &str, name: &str) -> Run {
        let folder = folder(&format!("command_lines_{name}"));
        fs::create_dir(folder.join("d")).expect("a new folder");
        for file in ["t.hp", "t.hp.hp", "x.y.hp", "d/t.hp", "d/u.hp"] {
            fs::write(folder.join(file), PROFILE).expect("a new file");
        }
        let mut command = Command::new(tool);
        command.args(line.split_whitespace()).current_dir(&folder);
        let input = File::open(folder.join("t.hp")).expect("just written");
        let output = command.stdin(Stdio::from(input)).output().expect("the tool starts");
        Run { output, folder }
    }

    fn file(&self, root: &str, extension: &str) -> Option<Vec<u8>> {
        fs::read(self.folder.join(format!("{root}.{extension}"))).ok()
    }

    /// The page and the `.aux` text, as far as written.
    fn drawn(&self, outcome: Outcome) -> Option<(Vec<u8>, Option<Vec<u8>>)> {
        match outcome {
            Draws(root) => self.file(root, "ps").map(|page| (page, self.file(root, "aux"))),
            Filters => Some((self.output.stdout.clone(), None)),
            Help | Usage | Fails => None,
        }
    }

    /// The written files that are not empty: GHC's tool leaves an empty page when it fails.
    fn files(&self) -> Vec<String> {
        let entries = fs::read_dir(&self.folder).expect("a folder").map(|entry| entry.expect("a file"));
        let written =
            entries.filter(|entry| entry.metadata().is_ok_and(|data| data.is_file() && data.len() > 0));
        let names = written.map(|entry| entry.file_name().to_string_lossy().into_owned());
        let mut names: Vec<String> = names.filter(|name| !name.ends_with(".hp")).collect();
        names.sort();
        names
    }

    fn outcome(&self) -> Option<Outcome> {
        let Output { status, stdout, stderr } = &self.output;
        let files = self.files();
        let usage = |text: &[u8]| text.starts_with(b"error: ") && text.len() > 100;
        match (status.code()?, &files[..]) {
            (0, [aux, page]) if stdout.is_empty() => {
                let root =
                    ["t", "u", "t.hp", "x.y"].into_iter().find(|root| *page == format!("{root}.ps"))?;
                (*aux == format!("{root}.aux")).then_some(Draws(root))
            }
            (0, []) if stdout.starts_with(b"%!PS-Adobe") => Some(Filters),
            (0, []) if usage(stdout) => Some(Usage),
            (0, []) if stderr.is_empty() && stdout.len() > 100 => Some(Help),
            (2, []) if usage(stderr) && stdout.is_empty() => Some(Usage),
            (1, []) if stderr.starts_with(b"hp2ps: ") && stderr.ends_with(b"\n") => {
                (stderr.iter().filter(|&&byte| byte == b'\n').count() == 1).then_some(Fails)
            }
            _ => None,
        }
    }
}

fn bounds(page: &[u8]) -> Option<String> {
    let page = String::from_utf8_lossy(page);
    page.lines().find(|line| line.starts_with("%%BoundingBox: ")).map(Into::into)
}

#[test]
fn command_lines_do_what_they_do_with_ghcs_tool() {
    for (line, expected) in SAME {
        let run = Run::new(env!("CARGO_BIN_EXE_hp2ps").as_ref(), line, "ours");
        assert_eq!(run.outcome(), Some(expected), "{line}: {:?}", run.output);
    }
}

#[test]
fn command_lines_that_mean_nothing_to_ghcs_tool_are_told() {
    for (line, _, expected) in OTHERWISE {
        let run = Run::new(env!("CARGO_BIN_EXE_hp2ps").as_ref(), line, "ours_otherwise");
        assert_eq!(run.outcome(), Some(expected), "{line}: {:?}", run.output);
    }
}

#[test]
fn the_table_says_what_ghc_does_and_pages_are_the_same() {
    let Some(ghc) = ghc_tool() else { return };
    for (line, expected) in SAME {
        let theirs = Run::new(&ghc, line, "both_ghc");
        assert_eq!(theirs.outcome(), Some(expected), "{line}: {:?}", theirs.output);
        let ours = Run::new(env!("CARGO_BIN_EXE_hp2ps").as_ref(), line, "both_ours");
        let drawn = theirs.drawn(expected).map(|(page, aux)| (ghc_statements(&page), aux));
        assert_eq!(ours.drawn(expected).map(|(page, aux)| (statements(&page), aux)), drawn, "{line}");
        if line.starts_with("-e") {
            let bounds = [&theirs, &ours].map(|run| run.drawn(expected).and_then(|(page, _)| bounds(&page)));
            assert_eq!(bounds[0], bounds[1], "{line}");
        }
    }
    for (line, expected, _) in OTHERWISE {
        let run = Run::new(&ghc, line, "ghc_otherwise");
        assert_eq!(run.outcome(), Some(expected), "{line}: {:?}", run.output);
    }
}
