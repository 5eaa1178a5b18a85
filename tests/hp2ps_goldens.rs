//! The statements of pages and the `.aux` files of small profiles, stored once they were found equal to those of GHC's tool.
//! `HEAPPROF_BLESS=1` rewrites them; the differential test tells whether GHC agrees.

mod hp_common;

use std::path::Path;
use std::process::Command;

use hp_common::{assert_golden, data, first_difference, folder, ghc_statements, ghc_tool, statements};

/// (profile, options): a file of `want` is named by both.
const CASES: [(&str, &str); 27] = [
    ("all-zero", ""),
    ("begin-begin", ""),
    ("25-bands", "-c"),
    ("25-bands", "-m5 -i-"),
    ("25-bands", "-m0 -t0"),
    ("25-bands", "-m30 -e120mm"),
    ("crlf", ""),
    ("end-only", ""),
    ("equal-times", ""),
    ("ghc-foldsum-hc", "-c"),
    ("ghc-lazystate-hb", "-d"),
    ("ghc-lazystate-hr", ""),
    ("ghc-manycc-hr", "-M"),
    ("ghc-mapthunks-hm", "-t5 -e4in"),
    ("ghc-phases-hd", ""),
    ("ghc-tiny-hc", ""),
    ("ids-outside-sample", ""),
    ("job-120", ""),
    ("job-120", "-s -g"),
    ("marks", "-c -b"),
    ("one-sample", ""),
    ("other-name", "-m3"),
    ("parens-in-name", "-y"),
    ("repeated-name", "-d"),
    ("ties", "-i"),
    ("truncated-in-sample", ""),
    ("unicode", ""),
];

/// A case's PostScript and `.aux`.
fn draw(tool: &Path, folder: &Path, profile: &str, options: &str) -> Option<[Vec<u8>; 2]> {
    std::fs::copy(data(&format!("{profile}.hp")), folder.join("run.hp")).expect("a stored profile");
    let mut command = Command::new(tool);
    let run = command.args(options.split_whitespace()).arg("run.hp").current_dir(folder).output();
    let file = |name: &str| std::fs::read(folder.join(name)).expect("written");
    let drawn = run.expect("the tool starts").status.success();
    drawn.then(|| [file("run.ps"), file("run.aux")])
}

fn golden_name(profile: &str, options: &str) -> String {
    format!("{profile}{}", options.replace(' ', ""))
}

#[test]
fn pages_and_aux_files_are_as_stored() {
    let folder = folder("goldens");
    for (profile, options) in CASES {
        let drawn = draw(env!("CARGO_BIN_EXE_hp2ps").as_ref(), &folder, profile, options);
        let [postscript, aux] = drawn.unwrap_or_else(|| panic!("{profile} {options}"));
        let name = golden_name(profile, options);
        assert_golden(&format!("{name}.ps"), &statements(&postscript));
        assert_golden(&format!("{name}.aux"), &aux);
    }
}

#[test]
fn what_is_stored_is_what_ghc_draws() {
    let Some(ghc) = ghc_tool() else { return };
    let folder = folder("goldens_ghc");
    for (profile, options) in CASES {
        // It refuses profiles cut inside a sample.
        let Some([postscript, aux]) = draw(&ghc, &folder, profile, options) else {
            assert!(profile.starts_with("truncated"), "{profile} {options}");
            continue;
        };
        let stored = |extension: &str| {
            let name = format!("want/{}.{extension}", golden_name(profile, options));
            std::fs::read(data(&name)).expect("a golden")
        };
        assert_eq!(
            first_difference(&stored("ps"), &ghc_statements(&postscript)),
            None,
            "{profile} {options}"
        );
        assert_eq!(first_difference(&stored("aux"), &aux), None, "{profile} {options}");
    }
}

#[test]
fn every_golden_belongs_to_a_case() {
    let known: Vec<String> = CASES.iter().map(|(profile, options)| golden_name(profile, options)).collect();
    for file in std::fs::read_dir(data("want")).expect("goldens") {
        let path = file.expect("a name").path();
        let stem = path.file_stem().and_then(|stem| stem.to_str()).expect("UTF-8");
        assert!(known.iter().any(|name| name == stem), "{stem} is left over");
    }
}
