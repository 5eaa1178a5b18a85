//! Outputs of hp2ps where files are not plain: links, rights, long names, devices, aliases, kills, and several
//! processes at once.
#![cfg(unix)]

mod hp_common;

use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use hp_common::{folder, run_in, stderr};

const SMALL: &str = "JOB \"j\"\nDATE \"d\"\nSAMPLE_UNIT \"seconds\"\nVALUE_UNIT \"bytes\"\n\
    BEGIN_SAMPLE 0.0\na 10\nEND_SAMPLE 0.0\nBEGIN_SAMPLE 1.0\na 30\nEND_SAMPLE 1.0\n";

fn with_profile(name: &str) -> PathBuf {
    let folder = folder(name);
    fs::write(folder.join("x.hp"), SMALL).expect("a new file");
    folder
}

fn hp2ps(folder: &Path, args: &[&str]) -> Output {
    run_in(folder, env!("CARGO_BIN_EXE_hp2ps"), args)
}

fn is_page(path: &Path) -> bool {
    fs::read(path).is_ok_and(|text| text.starts_with(b"%!PS") && text.ends_with(b"%%EOF\n"))
}

fn names(folder: &Path) -> Vec<String> {
    let names = fs::read_dir(folder).expect("a folder").map(|file| file.expect("a file").file_name());
    let mut names: Vec<String> = names.map(|name| name.to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

#[test]
fn an_output_keeps_its_rights_and_a_new_one_has_the_usual_ones() {
    let folder = with_profile("out_rights");
    assert!(hp2ps(&folder, &["x"]).status.success());
    let usual = fs::metadata(folder.join("x.hp")).expect("there").mode();
    assert_eq!(fs::metadata(folder.join("x.ps")).expect("there").mode(), usual);
    fs::set_permissions(folder.join("x.ps"), fs::Permissions::from_mode(0o600)).expect("ours");
    assert!(hp2ps(&folder, &["-c", "x"]).status.success());
    assert_eq!(fs::metadata(folder.join("x.ps")).expect("there").mode() & 0o777, 0o600);
}

#[test]
fn a_link_is_followed_whether_or_not_its_target_exists() {
    let folder = with_profile("out_links");
    fs::create_dir(folder.join("t")).expect("a new folder");
    symlink("t/new.ps", folder.join("x.ps")).expect("a link");
    symlink("t/old.aux", folder.join("x.aux")).expect("a link");
    fs::write(folder.join("t/old.aux"), "old").expect("a new file");
    assert!(hp2ps(&folder, &["x"]).status.success());
    assert!(is_page(&folder.join("t/new.ps")));
    assert!(fs::read_link(folder.join("x.ps")).is_ok() && fs::read_link(folder.join("x.aux")).is_ok());
    assert!(fs::read_to_string(folder.join("t/old.aux")).expect("written").starts_with("X_RANGE"));
    assert_eq!(names(&folder.join("t")), ["new.ps", "old.aux"]);
}

/// The temporary file has a name that nobody can lay a trap under.
#[test]
fn nothing_is_written_through_links_that_lie_beside() {
    let folder = with_profile("out_traps");
    fs::write(folder.join("victim"), "victim").expect("a new file");
    let trap = "ln -s victim .x.ps.$$.tmp; ln -s victim .hp$$; exec \"$0\" x";
    let run =
        Command::new("sh").args(["-c", trap, env!("CARGO_BIN_EXE_hp2ps")]).current_dir(&folder).output();
    assert!(run.expect("sh starts").status.success());
    assert_eq!(fs::read(folder.join("victim")).expect("there"), b"victim");
    assert!(is_page(&folder.join("x.ps")) && fs::read_link(folder.join("x.ps")).is_err());
}

#[test]
fn names_of_files_may_be_as_long_as_the_system_takes() {
    let folder = folder("out_long");
    let root = "L".repeat(251);
    fs::write(folder.join(format!("{root}.hp")), SMALL).expect("a new file");
    let run = hp2ps(&folder, &[&root]);
    assert!(run.status.success(), "{}", stderr(&run));
    assert!(is_page(&folder.join(format!("{root}.ps"))));
}

#[test]
fn no_output_is_replaced_if_another_cannot_be_written() {
    let folder = with_profile("out_both");
    fs::write(folder.join("x.ps"), "old").expect("a new file");
    fs::create_dir(folder.join("x.aux")).expect("a new folder");
    let run = hp2ps(&folder, &["x"]);
    assert_eq!((run.status.code(), stderr(&run).as_str()), (Some(1), "hp2ps: x.aux: is a directory\n"));
    assert_eq!(fs::read(folder.join("x.ps")).expect("kept"), b"old");
    assert_eq!(names(&folder), ["x.aux", "x.hp", "x.ps"]);
}

#[test]
fn outputs_are_never_the_profile_nor_each_other() {
    let folder = with_profile("out_aliases");
    symlink("x.hp", folder.join("x.ps")).expect("a link");
    let run = hp2ps(&folder, &["x"]);
    assert_eq!((run.status.code(), stderr(&run).as_str()), (Some(1), "hp2ps: x.ps: is the profile itself\n"));
    assert_eq!(fs::read(folder.join("x.hp")).expect("kept"), SMALL.as_bytes());
    fs::remove_file(folder.join("x.ps")).expect("there");
    fs::hard_link(folder.join("x.hp"), folder.join("x.aux")).expect("a link");
    assert_eq!(hp2ps(&folder, &["x"]).status.code(), Some(1));
    fs::remove_file(folder.join("x.aux")).expect("there");
    symlink("x.ps", folder.join("x.aux")).expect("a link");
    let run = hp2ps(&folder, &["x"]);
    assert_eq!(stderr(&run), "hp2ps: x.aux: is the same file as another output\n");
    assert_eq!(names(&folder), ["x.aux", "x.hp"]);
}

/// As another user in a folder that takes no new files, where a file of the output's name can be written. Needs root.
#[test]
fn a_writable_output_in_a_folder_that_is_not_is_written_in_place() {
    let folder = with_profile("out_in_place");
    let is_root = fs::metadata("/proc/self").is_ok_and(|own| own.uid() == 0);
    if !is_root {
        return eprintln!("SKIPPED: not root");
    }
    for (mode, case) in [(0o755, "not writable"), (0o1777, "sticky")] {
        for file in ["x.ps", "x.aux"] {
            fs::write(folder.join(file), "old").expect("ours");
            fs::set_permissions(folder.join(file), fs::Permissions::from_mode(0o666)).expect("ours");
        }
        fs::set_permissions(&folder, fs::Permissions::from_mode(mode)).expect("ours");
        let tool = folder.join("tool");
        fs::copy(env!("CARGO_BIN_EXE_hp2ps"), &tool).expect("a copy that all may run");
        let mut command = Command::new("./tool");
        command.arg("x").current_dir(&folder).uid(65_534).gid(65_534).env("TMPDIR", "/tmp");
        let Ok(run) = command.output() else {
            return eprintln!("SKIPPED: others cannot enter this folder");
        };
        if stderr(&run).contains("x.hp: Permission denied") {
            return eprintln!("SKIPPED: others cannot enter this folder");
        }
        assert!(run.status.success(), "{case}: {}", stderr(&run));
        assert!(is_page(&folder.join("x.ps")), "{case}");
    }
}

#[test]
fn devices_and_pipes_are_written_into() {
    let folder = with_profile("out_devices");
    symlink("/dev/null", folder.join("x.ps")).expect("a link");
    assert!(hp2ps(&folder, &["x"]).status.success());
    assert!(fs::read_link(folder.join("x.ps")).is_ok());
    symlink("/dev/full", folder.join("y.ps")).expect("a link");
    fs::write(folder.join("y.hp"), SMALL).expect("a new file");
    let run = hp2ps(&folder, &["y"]);
    assert_eq!(run.status.code(), Some(1));
    assert!(stderr(&run).contains("No space left"), "{}", stderr(&run));
}

/// A page of 2,000 samples; the colours tell which run a page is of.
#[test]
fn several_processes_leave_the_page_of_one_of_them() {
    let folder = folder("out_many");
    let mut text = String::from("JOB \"j\"\nDATE \"d\"\nSAMPLE_UNIT \"s\"\nVALUE_UNIT \"b\"\n");
    for sample in 0..2000 {
        let _ = writeln!(text, "BEGIN_SAMPLE {sample}.0\na\t{sample}\nb\t7\nEND_SAMPLE {sample}.0");
    }
    fs::write(folder.join("x.hp"), text).expect("a new file");
    let page = |args: &[&str]| {
        assert!(hp2ps(&folder, args).status.success());
        fs::read(folder.join("x.ps")).expect("written")
    };
    let pages = [page(&["-c", "x"]), page(&["x"])];
    for _ in 0..10 {
        let start = |args: &[&str]| {
            let mut command = Command::new(env!("CARGO_BIN_EXE_hp2ps"));
            command.args(args).current_dir(&folder).stdin(Stdio::null()).spawn().expect("hp2ps starts")
        };
        let runs = [start(&["-c", "x"]), start(&["x"]), start(&["-c", "x"])];
        for mut run in runs {
            assert!(run.wait().expect("ends").success());
        }
        assert!(pages.contains(&fs::read(folder.join("x.ps")).expect("written")));
    }
    assert_eq!(names(&folder), ["x.aux", "x.hp", "x.ps"]);
}
