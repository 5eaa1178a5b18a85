//! The hp2ps command: names of files, options, exit codes, one-line errors, outputs that are whole or old.

mod hp_common;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use hp_common::{data, folder, run_in, stderr};

const SMALL: &str = "JOB \"cli\"\nDATE \"d\"\nSAMPLE_UNIT \"seconds\"\nVALUE_UNIT \"bytes\"\n\
    BEGIN_SAMPLE 0.0\na 10\nb 5\nEND_SAMPLE 0.0\nMARK 0.5\nBEGIN_SAMPLE 1.0\na 30\nEND_SAMPLE 1.0\n";

/// A folder with the small profile under several names.
fn profiles(name: &str) -> PathBuf {
    let folder = folder(name);
    fs::create_dir(folder.join("d")).expect("a new folder");
    for file in ["t.hp", "t.hp.hp", "x.y.hp", "d/u.hp"] {
        fs::write(folder.join(file), SMALL).expect("a new file");
    }
    folder
}

fn hp2ps(folder: &Path, args: &[&str]) -> Output {
    run_in(folder, env!("CARGO_BIN_EXE_hp2ps"), args)
}

/// What a run leaves in the folder, without the profiles.
fn outputs(folder: &Path) -> Vec<String> {
    let names = fs::read_dir(folder).expect("a folder").map(|file| file.expect("a file").file_name());
    let mut names: Vec<String> = names.map(|name| name.to_string_lossy().into_owned()).collect();
    names.retain(|name| !name.ends_with(".hp") && name != "d");
    names.sort();
    names
}

#[test]
fn outputs_are_named_after_the_profile_and_lie_in_the_current_folder() {
    for (argument, root) in [
        ("t", "t"),
        ("t.hp", "t"),
        ("./t.hp", "t"),
        ("d/u", "u"),
        ("d/u.hp", "u"),
        ("t.hp.hp", "t.hp"),
        ("x.y", "x.y"),
    ] {
        let folder = profiles("cli_names");
        let run = hp2ps(&folder, &[argument]);
        assert!(run.status.success() && run.stdout.is_empty() && run.stderr.is_empty(), "{argument}");
        assert_eq!(outputs(&folder), [format!("{root}.aux"), format!("{root}.ps")]);
    }
}

#[test]
fn without_a_file_it_is_a_filter() {
    let folder = profiles("cli_filter");
    let input = fs::File::open(folder.join("t.hp")).expect("the small profile");
    let run = Command::new(env!("CARGO_BIN_EXE_hp2ps")).arg("-p").current_dir(&folder).stdin(input).output();
    let run = run.expect("hp2ps starts");
    assert!(run.status.success() && run.stdout.ends_with(b"%%EOF\n"));
    assert_eq!(outputs(&folder), [""; 0]);
    hp2ps(&folder, &["t"]);
    assert_eq!(fs::read(folder.join("t.ps")).expect("written"), run.stdout);
}

#[test]
fn help_and_version_leave_with_0_and_wrong_options_with_2() {
    let folder = profiles("cli_codes");
    for args in [["--help"], ["--version"], ["-?"], ["-h"], ["-V"]] {
        let run = hp2ps(&folder, &args);
        assert_eq!((run.status.code(), run.stderr.is_empty(), run.stdout.is_empty()), (Some(0), true, false));
    }
    for option in [
        "-x",
        "-px",
        "--nothing",
        "-m-3",
        "-mx",
        "-m1.5",
        "-t5.1",
        "-t-1",
        "-tx",
        "-tnan",
        "-e",
        "-e144",
        "-e2in",
        "-e50mm",
        "-e-500",
        "-einf",
        "-enan",
        "-e300xx",
        "--by-name=x",
    ] {
        let run = hp2ps(&folder, &[option, "t"]);
        assert_eq!((run.status.code(), run.stdout.is_empty()), (Some(2), true), "{option}");
        assert!(stderr(&run).starts_with("error: "), "{option}: {}", stderr(&run));
    }
    assert_eq!(hp2ps(&folder, &["t", "d/u"]).status.code(), Some(2));
    assert_eq!(outputs(&folder), [""; 0]);
}

#[test]
fn option_groups_mean_what_they_mean_to_ghc() {
    let folder = profiles("cli_groups");
    let draw = |args: &[&str]| {
        let run = hp2ps(&folder, &[args, &["t"]].concat());
        assert!(run.status.success(), "{args:?}: {}", stderr(&run));
        fs::read(folder.join("t.ps")).expect("written")
    };
    let plain = draw(&[]);
    assert_ne!(draw(&["-c"]), plain);
    for (args, same) in [
        (&["-"][..], &[][..]),
        (&["-pc"], &["--previous", "--colour"]),
        (&["-pp"], &["-p"]),
        (&["-m", "-t"], &["--bands=0", "--trace=0"]),
        (&["-l"], &["-m0"]),
        (&["-m", "-t"], &["--bands", "0", "--trace", "0"]),
        (&["-m21"], &["--bands=21"]),
        (&["-i"], &["--by-name=+"]),
        (&["-i+"], &["--by-name"]),
        (&["-i-"], &["--by-name=-"]),
        (&["-e2.01in"], &["--eps", "144.72"]),
        (&["-b", "-s"], &["-b"]),
        (&["-m5", "-m1"], &["-m1"]),
        (&["-c", "-c"], &["--color"]),
    ] {
        assert_eq!(draw(args), draw(same), "{args:?}");
    }
    // Flags after the file count, unlike in GHC's tool, which drops them without a word.
    assert!(hp2ps(&folder, &["t", "-c"]).status.success());
    assert_eq!(fs::read(folder.join("t.ps")).expect("written"), draw(&["-c"]));
}

#[test]
fn letters_without_effect_are_pointed_out() {
    let folder = profiles("cli_ignored");
    let run = hp2ps(&folder, &["-bd", "t"]);
    assert!(run.status.success());
    assert_eq!(stderr(&run), "hp2ps: warning: -bd: `d` after `b` has no effect\n");
}

#[test]
fn a_failed_run_says_why_in_one_line_and_leaves_the_old_output() {
    let folder = profiles("cli_failed");
    fs::write(folder.join("bad.ps"), "old").expect("a new file");
    for (bad, line, expected) in [
        ("empty-file", 1, "read the end of the file, expected JOB"),
        ("header-only", 5, "read the end of the file, expected at least one complete sample"),
        ("keyword-name", 6, "read MARK, expected END_SAMPLE before it"),
        ("mark-in-sample", 6, "read MARK, expected END_SAMPLE before it"),
        ("negative-value", 6, "read `-100`, expected a number of 0 or more after the name"),
        (
            "unterminated-string",
            1,
            "read `edge\\nDATE x\\nBEGIN_SAMPLE 0.0\\na\\t1\\nEND_SAM...`, expected a closing double quote",
        ),
    ] {
        fs::copy(data(&format!("bad/{bad}.hp")), folder.join("bad.hp")).expect("stored");
        let run = hp2ps(&folder, &["bad"]);
        let message = stderr(&run);
        let expected = format!("hp2ps: bad.hp, line {line}: {expected}\n");
        assert_eq!((run.status.code(), message), (Some(1), expected));
        assert_eq!(outputs(&folder), ["bad.ps"], "{bad}");
        assert_eq!(fs::read(folder.join("bad.ps")).expect("kept"), b"old");
    }
}

#[test]
fn missing_files_are_named() {
    let folder = profiles("cli_missing");
    for (args, file) in [
        (&["nofile"][..], "nofile.hp"),
        (&["t.HP"], "t.HP.hp"),
        (&["-p", "t"], "t.aux"),
        (&["-pc", "t"], "t.aux"),
    ] {
        let run = hp2ps(&folder, args);
        assert_eq!(run.status.code(), Some(1));
        let message = stderr(&run);
        assert!(
            message.starts_with(&format!("hp2ps: {file}: ")) && message.lines().count() == 1,
            "{message}"
        );
        assert_eq!(outputs(&folder), [""; 0]);
    }
}

#[test]
fn a_bad_aux_file_is_an_error_with_its_line() {
    let folder = profiles("cli_aux");
    fs::write(folder.join("t.aux"), "X_RANGE 2.00\nORDER a\n").expect("a new file");
    let run = hp2ps(&folder, &["-p", "t"]);
    let expected =
        "hp2ps: t.aux, line 2: read `ORDER a`, expected X_RANGE, Y_RANGE, ORDER or SHADE with its values\n";
    assert_eq!((run.status.code(), stderr(&run)), (Some(1), expected.into()));
}

#[test]
fn names_that_ghc_cannot_read_back_from_an_aux_file_are_taken() {
    let folder = profiles("cli_aux_names");
    fs::write(folder.join("t.hp"), SMALL.replace("a ", "7a ").replace("\nb ", "\nX_RANGE "))
        .expect("a new file");
    assert!(hp2ps(&folder, &["t"]).status.success());
    let aux = fs::read(folder.join("t.aux")).expect("written");
    assert!(hp2ps(&folder, &["-p", "t"]).status.success());
    assert_eq!(fs::read(folder.join("t.aux")).expect("written"), aux);
}

#[test]
fn a_profile_cut_anywhere_draws_its_complete_samples_with_one_warning() {
    let folder = profiles("cli_cut");
    let text = fs::read(data("ghc-lazystate-hb.hp")).expect("stored");
    let ends: Vec<usize> = (0..text.len()).filter(|&at| text[at..].starts_with(b"END_SAMPLE")).collect();
    for cut in (ends[2] + 20..text.len()).step_by(41) {
        fs::write(folder.join("cut.hp"), &text[..cut]).expect("a new file");
        let run = hp2ps(&folder, &["cut"]);
        let message = stderr(&run);
        assert!(run.status.success(), "{cut}: {message}");
        let whole = text[..cut].trim_ascii_end().rsplit(|&byte| byte == b'\n').next();
        let at_sample_end =
            whole.is_some_and(|line| line.starts_with(b"END_SAMPLE ") && line.contains(&b'.'));
        assert_eq!(message.is_empty(), at_sample_end, "{cut}: {message}");
        assert!(message.is_empty() || message.starts_with("hp2ps: warning: cut.hp, line "), "{message}");
        assert!(message.lines().count() <= 1);
    }
}

#[test]
fn a_profile_that_can_be_read_only_once_is_drawn() {
    let folder = profiles("cli_pipe");
    let status = Command::new("mkfifo").arg(folder.join("pipe.hp")).status();
    if !status.is_ok_and(|status| status.success()) {
        assert!(std::env::var_os("CI").is_none(), "CI has mkfifo");
        return eprintln!("SKIPPED: no mkfifo");
    }
    let path = folder.join("pipe.hp");
    let writer = std::thread::spawn(move || fs::write(path, SMALL));
    assert!(hp2ps(&folder, &["pipe"]).status.success());
    writer.join().expect("no panic").expect("read to its end");
    assert!(hp2ps(&folder, &["t"]).status.success());
    let page = |name: &str| fs::read(folder.join(name)).expect("written");
    assert_eq!(page("pipe.ps"), page("t.ps"));
}

#[test]
fn strings_cannot_leave_their_place_in_the_postscript() {
    let folder = profiles("cli_escape");
    let text = "JOB \"a) showpage (\\\n%%EOF\" DATE \"(d\\\" SAMPLE_UNIT \"s)\" VALUE_UNIT \"b(\"\n\
        BEGIN_SAMPLE 0.0 n\\)( 5 \u{1}x 7 END_SAMPLE 0.0";
    fs::write(folder.join("t.hp"), text).expect("a new file");
    assert!(hp2ps(&folder, &["t"]).status.success());
    let page = fs::read_to_string(folder.join("t.ps")).expect("ASCII");
    for line in [
        "%%Title: a) showpage (\\ %%EOF",
        // GHC's literal has a backslash before the line end, which PostScript drops with it.
        "(a\\) showpage \\(%%EOF) show",
        "(\\(d\\\\)",
        "(s\\))",
        "(b\\()",
        "(n\\\\\\)\\() show",
        "(\\001x) show",
    ] {
        assert!(page.lines().any(|known| known == line), "{line}\n{page}");
    }
    assert_eq!(page.matches("\nshowpage").count(), 1);
}

#[test]
fn a_stderr_that_takes_nothing_changes_no_exit_code() {
    let folder = profiles("cli_full_stderr");
    let with_full_stderr = |args: &[&str]| {
        let full = fs::OpenOptions::new().write(true).open("/dev/full").expect("Linux has it");
        let mut command = Command::new(env!("CARGO_BIN_EXE_hp2ps"));
        command.args(args).current_dir(&folder).stdin(Stdio::null()).stderr(full);
        command.output().expect("hp2ps starts").status.code()
    };
    assert_eq!(with_full_stderr(&["nope"]), Some(1));
    assert_eq!(with_full_stderr(&["-cx", "t"]), Some(0), "a warning that nobody hears");
}

#[test]
fn a_name_with_a_line_end_is_named_in_one_line() {
    let folder = profiles("cli_line_end");
    let run = hp2ps(&folder, &["no\npe"]);
    assert_eq!((run.status.code(), stderr(&run).lines().count()), (Some(1), 1), "{}", stderr(&run));
}

#[test]
fn the_tool_itself_is_never_profiled() {
    for (variable, value) in [("HEAPPROF_INTERVAL", "0.01"), ("HEAPPROF", "on"), ("HEAPPROF_INTERVAL", "bad")]
    {
        let folder = folder("cli_unprofiled");
        fs::write(folder.join("app.hp"), SMALL).expect("a new file");
        let mut command = Command::new(env!("CARGO_BIN_EXE_hp2ps"));
        command.arg("app").current_dir(&folder).stdin(Stdio::null());
        command.env(variable, value).env("HEAPPROF_OUTPUT", "app");
        let run = command.output().expect("hp2ps starts");
        assert!(run.status.success(), "{variable}={value}: {run:?}");
        assert_eq!(stderr(&run), "", "{variable}={value}");
        assert_eq!(fs::read(folder.join("app.hp")).expect("still there"), SMALL.as_bytes());
        assert_eq!(outputs(&folder), ["app.aux", "app.ps"], "{variable}={value}");
    }
}
