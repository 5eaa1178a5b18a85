//! The hp2svg command: options, formats, names of outputs, exit codes, whole outputs or none. What the pictures hold is
//! tested in hp2svg_svg, hp2svg_pdf, hp2svg_png and hp2svg_browser.

mod hp_common;

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use hp_common::{Random, data, folder, random_hp, run_in, stderr};

fn command(folder: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_hp2svg"));
    command.args(args).current_dir(folder).stdin(Stdio::null());
    command
}

fn hp2svg(folder: &Path, args: &[&str]) -> Output {
    run_in(folder, env!("CARGO_BIN_EXE_hp2svg"), args)
}

/// Sixty samples a second apart: `leak` grows by 1,000 a sample, `steady` stays, `spike` is there once.
fn growing() -> String {
    let mut text = String::from("JOB \"app\"\nDATE \"d\"\nSAMPLE_UNIT \"seconds\"\nVALUE_UNIT \"bytes\"\n");
    for second in 0..60 {
        let spike = if second == 20 { "spike\t90000\n" } else { "" };
        let rows = format!("leak\t{}\nsteady\t50000\n{spike}", 1000 + second * 1000);
        text += &format!("BEGIN_SAMPLE {second}.0\n{rows}END_SAMPLE {second}.0\n");
    }
    text
}

fn with_profile(name: &str) -> PathBuf {
    let folder = folder(name);
    fs::write(folder.join("app.hp"), growing()).expect("a new file");
    folder
}

/// What lies in the folder besides profiles.
fn outputs(folder: &Path) -> Vec<String> {
    let names = fs::read_dir(folder).expect("a folder").map(|file| file.expect("a file").file_name());
    let mut names: Vec<String> = names.map(|name| name.to_string_lossy().into_owned()).collect();
    names.retain(|name| !name.ends_with(".hp"));
    names.sort();
    names
}

fn read(folder: &Path, name: &str) -> String {
    fs::read_to_string(folder.join(name)).expect("UTF-8 text")
}

#[test]
fn the_output_has_the_ending_of_its_format() {
    for (args, output, start) in [
        (&["app"][..], "app.svg", &b"<?xml"[..]),
        (&["app.hp"], "app.svg", b"<?xml"),
        (&["--html", "app"], "app.html", b"<!DOCTYPE html>"),
        (&["--format=pdf", "app"], "app.pdf", b"%PDF-"),
        (&["--format", "png", "app"], "app.png", b"\x89PNG"),
        (&["-o", "x.pdf", "app"], "x.pdf", b"%PDF-"),
        (&["--output=x.PNG", "app"], "x.PNG", b"\x89PNG"),
        (&["-o", "x.htm", "app"], "x.htm", b"<!DOCTYPE html>"),
        (&["-o", "x", "app"], "x", b"<?xml"),
        (&["app", "app", "app"], "app.and-2.svg", b"<?xml"),
    ] {
        let folder = with_profile("svg_formats");
        let run = hp2svg(&folder, args);
        assert!(
            run.status.success() && run.stdout.is_empty() && run.stderr.is_empty(),
            "{args:?}: {}",
            stderr(&run)
        );
        assert_eq!(outputs(&folder), [output]);
        assert!(fs::read(folder.join(output)).expect("written").starts_with(start), "{args:?}");
    }
}

#[test]
fn wrong_usage_leaves_with_2_and_help_with_0() {
    let folder = with_profile("svg_usage");
    for args in [
        &["--nothing", "app"][..],
        &["-x", "app"],
        &["-c", "app"],
        &["-m-3", "app"],
        &["-t6", "app"],
        &["--size=10x10", "app"],
        &["--size=big", "app"],
        &["--only=(", "app"],
        &["--from=soon", "app"],
        &["--from=-1", "app"],
        &["--from=nan", "app"],
        &["--from=5", "--to=2", "app"],
        &["--mode=pie", "app"],
        &["--theme=blue", "app"],
        &["-o", "x.gif", "app"],
        &["--html", "--format=pdf", "app"],
        &["--leaks", "-o", "x.txt", "app"],
        &["--leaks", "--follow", "app"],
        &["--size=200x200", "app"],
        &["--diff", "app"],
        &["--follow"],
    ] {
        let run = hp2svg(&folder, args);
        assert_eq!((run.status.code(), run.stdout.is_empty()), (Some(2), true), "{args:?}");
        assert!(!run.stderr.is_empty(), "{args:?}");
    }
    assert_eq!(outputs(&folder), [""; 0]);
    for args in [&["--help"][..], &["-h"], &["--version"], &["--generate=man"], &["--generate=zsh"]] {
        let run = hp2svg(&folder, args);
        assert_eq!((run.status.code(), run.stdout.is_empty(), stderr(&run).as_str()), (Some(0), false, ""));
    }
}

#[test]
fn leaks_are_a_table_and_an_exit_code() {
    let folder = with_profile("svg_leaks");
    let run = hp2svg(&folder, &["--leaks", "app"]);
    let table = String::from_utf8_lossy(&run.stdout).into_owned();
    assert_eq!(run.status.code(), Some(3), "{}", stderr(&run));
    assert!(table.contains("leak  ") && !table.contains("steady") && !table.contains("spike"), "{table}");
    assert!(table.ends_with("1 of 3 bands grows steadily, in 60 samples over 59 s\n"), "{table}");
    // What is hidden is known of, and what lies beyond the window says nothing.
    for args in
        [["--leaks", "--hide=leak", "app"], ["--leaks", "--to=5", "app"], ["--leaks", "--only=steady", "app"]]
    {
        assert_eq!(hp2svg(&folder, &args).status.code(), Some(0), "{args:?}");
    }
    let run = hp2svg(&folder, &["--leaks", "--from=99", "app"]);
    assert_eq!(run.status.code(), Some(1));
    assert_eq!(stderr(&run), "hp2svg: app.hp: no sample in that window; the profile has them from 0 to 59\n");
    fs::write(folder.join("cut.hp"), growing() + "BEGIN_SAMPLE 60.0\nleak\t7").expect("a new file");
    assert!(stderr(&hp2svg(&folder, &["--leaks", "cut"])).contains("the profile is cut off here"));
    let other = growing().replace("bytes", "closures").replace("seconds", "ms");
    fs::write(folder.join("other.hp"), other).expect("a new file");
    let run = hp2svg(&folder, &["--leaks", "other"]);
    let table = String::from_utf8_lossy(&run.stdout).into_owned();
    assert!(
        table.contains("60.0 k") && table.contains("1.00 k/ms") && table.contains("over 59 ms"),
        "{table}"
    );
    let flat = growing().replace("leak\t", "x\t0 y\t");
    fs::write(
        folder.join("flat.hp"),
        flat.lines().filter(|line| !line.starts_with('x')).collect::<Vec<_>>().join("\n"),
    )
    .expect("a new file");
    let run = hp2svg(&folder, &["--leaks", "flat"]);
    assert_eq!(run.status.code(), Some(0), "{}", String::from_utf8_lossy(&run.stdout));
    assert_eq!(hp2svg(&folder, &["--leaks", "nope"]).status.code(), Some(1));
    assert_eq!(outputs(&folder), [""; 0]);
}

#[test]
fn bands_are_chosen_by_name_and_window() {
    let folder = with_profile("svg_choice");
    let picture = |args: &[&str]| {
        let run = hp2svg(&folder, &[args, &["app"]].concat());
        assert!(run.status.success(), "{}", stderr(&run));
        read(&folder, "app.svg")
    };
    let has = |picture: &str, name: &str| picture.contains(&format!(">{name}<"));
    let whole = picture(&[]);
    assert!(has(&whole, "leak") && has(&whole, "steady") && has(&whole, "spike"));
    let only = picture(&["--only=^le"]);
    assert!(has(&only, "leak") && !has(&only, "steady"));
    let hidden = picture(&["--hide=leak|spike"]);
    assert!(!has(&hidden, "leak") && has(&hidden, "steady"));
    let early = picture(&["--to=10s"]);
    assert!(!has(&early, "spike"), "it has nothing there");
    // Two bands and OTHER: a spike of half the height is not lost among larger areas.
    assert!(has(&picture(&["-m3", "--from=15", "--to=25"]), "spike"));
    assert!(picture(&["--title=A title"]).contains("A title"));
    // The text is about what is shown.
    assert!(whole.contains("1 band grows steadily") && !hidden.contains("steadily"));
    assert!(!picture(&["--to=5s"]).contains("grows steadily"));
    let run = hp2svg(&folder, &["--only=nothing", "app"]);
    assert_eq!(stderr(&run), "hp2svg: warning: app.hp, no band is left to show\n");
    let run = hp2svg(&folder, &["--from=100", "app"]);
    assert_eq!((run.status.code(), stderr(&run).contains("no sample in that window")), (Some(1), true));
    fs::write(folder.join("other.hp"), growing().replace("bytes", "closures").replace("seconds", "ms"))
        .expect("a new file");
    assert!(hp2svg(&folder, &["other"]).status.success());
    let other = read(&folder, "other.svg");
    assert!(
        other.contains("closures by band") && other.contains("at 20 ms") && !other.contains("live bytes")
    );
}

#[test]
fn every_mode_theme_and_pattern_draws_every_profile() {
    let folder = folder("svg_modes");
    let mut random = Random::new(14);
    let modes = ["stacked", "lines", "share", "own-peak", "growth"];
    for case in 0..40 {
        fs::write(folder.join("run.hp"), random_hp(&mut random)).expect("a new file");
        let mode = format!("--mode={}", modes[case % modes.len()]);
        let more = ["--pattern", "--theme=dark", "-m2", "-i", "-d", "-y", "--from=0.5", "-t0"];
        let run = hp2svg(&folder, &[&mode, random.pick(&more), "run"]);
        assert!(run.status.success(), "{mode}: {}", stderr(&run));
        let picture = read(&folder, "run.svg");
        assert!(!picture.contains("NaN") && !picture.contains("\"inf"), "{mode}");
    }
}

#[test]
fn several_profiles_stand_on_one_scale() {
    let folder = with_profile("svg_uniform");
    let larger = growing().replace("steady\t50000", "steady\t5000000");
    fs::write(folder.join("larger.hp"), larger).expect("a new file");
    let picture = |uniform: &str| {
        let run = hp2svg(&folder, &[uniform, "app", "larger", "-o", "both.svg"]);
        assert!(run.status.success(), "{}", stderr(&run));
        read(&folder, "both.svg")
    };
    let (own, common) = (picture("--uniform=none"), picture("--uniform=memory"));
    assert!(
        own.contains(">100 KiB<") && !common.contains(">100 KiB<"),
        "the smaller one has the larger one's scale"
    );
    assert_eq!(common.matches(">4 MiB<").count(), 2);
}

#[test]
fn two_profiles_are_compared() {
    let folder = with_profile("svg_diff");
    fs::write(folder.join("after.hp"), growing().replace("leak\t", "leak\t9")).expect("a new file");
    let run = hp2svg(&folder, &["--diff", "app", "after", "-o", "d.svg"]);
    assert!(run.status.success() && run.stderr.is_empty(), "{}", stderr(&run));
    let picture = read(&folder, "d.svg");
    assert!(picture.contains("Changed most") && picture.contains(">leak<") && !picture.contains(">steady<"));
    let unlike = growing().replace("bytes", "closures").replace("SAMPLE 59.0", "SAMPLE 90.0");
    fs::write(folder.join("unlike.hp"), unlike).expect("a new file");
    let said = stderr(&hp2svg(&folder, &["--diff", "app", "unlike", "-o", "d.svg"]));
    assert!(
        said.contains("different units") && said.contains("differ in length") && said.lines().count() == 2,
        "{said}"
    );
    fs::write(folder.join("bad.hp"), "JOB 5").expect("a new file");
    for (args, file) in [
        (["--diff", "bad", "app"], "bad.hp"),
        (["--diff", "app", "bad"], "bad.hp"),
        (["--diff", "app", "none"], "none.hp"),
    ] {
        let run = hp2svg(&folder, &args);
        assert_eq!(run.status.code(), Some(1));
        assert!(stderr(&run).starts_with(&format!("hp2svg: {file}")), "{}", stderr(&run));
    }
}

#[test]
fn the_filter_writes_what_the_file_run_writes() {
    let folder = folder("svg_filter");
    fs::copy(data("marks.hp"), folder.join("run.hp")).expect("stored");
    for format in ["svg", "html", "pdf", "png"] {
        let format = format!("--format={format}");
        assert!(hp2svg(&folder, &[&format, "-o", "file", "run"]).status.success());
        let input = fs::File::open(folder.join("run.hp")).expect("written");
        let run = command(&folder, &[&format]).stdin(input).output().expect("hp2svg starts");
        assert!(run.status.success() && run.stderr.is_empty());
        assert!(run.stdout == fs::read(folder.join("file")).expect("written"), "{format}");
        let run = hp2svg(&folder, &[&format, "-o", "-", "run"]);
        assert!(run.stdout == fs::read(folder.join("file")).expect("written"), "{format}");
    }
}

#[test]
fn a_failed_run_leaves_the_old_output_and_a_cut_profile_warns() {
    let folder = folder("svg_failed");
    fs::write(folder.join("bad.hp"), "JOB 5").expect("a new file");
    fs::write(folder.join("bad.svg"), "old").expect("a new file");
    let run = hp2svg(&folder, &["bad"]);
    assert_eq!(run.status.code(), Some(1));
    assert_eq!(stderr(&run), "hp2svg: bad.hp, line 1: read `5`, expected a string in double quotes\n");
    assert_eq!(read(&folder, "bad.svg"), "old");
    fs::write(folder.join("cut.hp"), growing() + "BEGIN_SAMPLE 60.0\nleak\t7").expect("a new file");
    let run = hp2svg(&folder, &["cut"]);
    assert!(run.status.success());
    let line = "line 246: the profile is cut off here; kept the 60 complete samples before it\n";
    assert_eq!(stderr(&run), format!("hp2svg: warning: cut.hp, {line}"));
}

/// Waits for something that must come, a bounded time.
fn wait_for(what: &str, mut come: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !come() {
        assert!(begin.elapsed() < Duration::from_secs(60), "{what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_followed_profile_is_drawn_again_until_it_is_gone() {
    let folder = folder("svg_follow");
    // Before the first sample there is nothing to draw, and that is no error.
    fs::write(folder.join("app.hp"), "JOB \"app\"\nDA").expect("a new file");
    let mut command = command(&folder, &["--follow", "app"]);
    let follower = command.stderr(Stdio::piped()).spawn().expect("hp2svg starts");
    std::thread::sleep(Duration::from_millis(700));
    fs::write(folder.join("app.hp"), growing() + "BEGIN_SAMPLE 59.5\nleak").expect("written");
    let drawn = |name: &str| {
        fs::read_to_string(folder.join("app.svg")).is_ok_and(|picture| picture.contains(&format!(">{name}<")))
    };
    wait_for("a first picture", || drawn("leak"));
    let mut profile = fs::OpenOptions::new().append(true).open(folder.join("app.hp")).expect("there");
    write!(profile, "\t9\nEND_SAMPLE 59.5\nBEGIN_SAMPLE 60.0\nlate\t9000000\nEND_SAMPLE 60.0\n")
        .expect("written");
    wait_for("a second one", || drawn("late"));
    fs::remove_file(folder.join("app.hp")).expect("there");
    let run = follower.wait_with_output().expect("ends");
    assert_eq!((run.status.code(), stderr(&run).as_str()), (Some(0), "hp2svg: app.hp is gone; stopped\n"));
}
