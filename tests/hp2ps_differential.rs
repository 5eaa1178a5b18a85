//! Random profiles and options drawn by GHC's own `hp2ps` and by ours: the same statements, and the same `.aux` file.
//!
//! Runs where GHC's tool is on the PATH, and says so where it is not; under CI a missing tool fails.

mod hp_common;

use std::path::{Path, PathBuf};
use std::process::Command;

use hp_common::{Random, filter, first_difference, folder, ghc_statements, ghc_tool, random_hp, statements};

const OURS: &str = env!("CARGO_BIN_EXE_hp2ps");

fn random_args(random: &mut Random) -> Vec<String> {
    let mut args = Vec::new();
    for flag in ["-b", "-c", "-d", "-g", "-i", "-i-", "-i+", "-M", "-s", "-y", "-p"] {
        if random.once_in(6) {
            args.push(flag.to_owned());
        }
    }
    if random.once_in(2) {
        args.push(format!("-m{}", [0, 1, 2, 5, 10, 20, 21, 30][random.below(8)]));
    }
    if random.once_in(2) {
        args.push(format!("-t{}", ["", "0", "0.5", "2", "5"][random.below(5)]));
    }
    if random.once_in(5) {
        args.push(format!("-e{}", ["4in", "150", "300pt", "120mm", "2.5in"][random.below(5)]));
    }
    args
}

fn assert_same_page(ghc: &[u8], ours: &[u8], about: &str) {
    assert_same(&ghc_statements(ghc), &statements(ours), about);
}

fn assert_same(ghc: &[u8], ours: &[u8], about: &str) {
    if let Some(line) = first_difference(ghc, ours) {
        let at = |text: &[u8]| String::from_utf8_lossy(text).lines().nth(line - 1).unwrap_or("").to_owned();
        panic!("{about}\nline {line}: GHC's `{}`, ours `{}`", at(ghc), at(ours));
    }
}

#[test]
fn random_profiles_are_drawn_as_ghc_draws_them() {
    let Some(ghc) = ghc_tool() else { return };
    let mut random = Random::new(8);
    let cases = if cfg!(debug_assertions) { 300 } else { 1_500 };
    for case in 0..cases {
        let text = random_hp(&mut random);
        let args = random_args(&mut random);
        let theirs = filter(&ghc, &args, text.as_bytes());
        let ours = filter(OURS.as_ref(), &args, text.as_bytes());
        assert!(theirs.status.success(), "{args:?}\n{text}");
        assert!(ours.status.success(), "{args:?}\n{text}\n{}", String::from_utf8_lossy(&ours.stderr));
        assert_same_page(&theirs.stdout, &ours.stdout, &format!("case {case} {args:?}\n{text}"));
    }
}

/// What GHC's tool draws of a profile cut anywhere stays the same; what it refuses we draw.
#[test]
fn cut_profiles_are_drawn_as_ghc_draws_them_if_it_does() {
    let Some(ghc) = ghc_tool() else { return };
    let mut random = Random::new(9);
    let mut drawn = 0;
    for _ in 0..if cfg!(debug_assertions) { 200 } else { 1_000 } {
        let text = random_hp(&mut random);
        let first = text.find("END_SAMPLE").expect("has a sample") + 20;
        let cut =
            &text.as_bytes()[..first.min(text.len()) + random.below(text.len().saturating_sub(first) + 1)];
        let theirs = filter(&ghc, &[], cut);
        let ours = filter(OURS.as_ref(), &[], cut);
        assert!(ours.status.success(), "{}", String::from_utf8_lossy(&ours.stderr));
        if theirs.status.success() {
            assert_same_page(&theirs.stdout, &ours.stdout, &String::from_utf8_lossy(cut));
            drawn += 1;
        }
    }
    assert!(drawn > 20);
}

#[test]
fn a_second_run_takes_over_what_the_first_left_as_ghc_does() {
    let Some(ghc) = ghc_tool() else { return };
    let mut random = Random::new(10);
    let folders = [folder("differential_ghc"), folder("differential_ours")];
    for case in 0..if cfg!(debug_assertions) { 60 } else { 300 } {
        let text = random_hp(&mut random).replace("\n7", "\nseven");
        let later = random_hp(&mut random).replace("\n7", "\nseven");
        let first = random_args(&mut random).into_iter().filter(|arg| arg != "-p").collect();
        let mut second = random_args(&mut random);
        second.push("-p".into());
        let about = format!("case {case} {first:?} {second:?}\n{text}{later}");
        // Half the time the same profile again, as for a chart in colour after one in grey.
        let later = if random.once_in(2) { &text } else { &later };
        let runs = [&ghc, Path::new(OURS)].map(PathBuf::from);
        let results = [0, 1].map(|at| {
            [(&text, &first), (later, &second)]
                .map(|(text, args)| file_run(&runs[at], &folders[at], text, args))
        });
        for (theirs, ours) in results[0].iter().zip(&results[1]) {
            // GHC's tool refuses an .aux file of another run with many more bands; ours does not.
            let Some((postscript, aux)) = theirs else { break };
            let (ours_postscript, ours_aux) = ours.as_ref().expect(&about);
            assert_same_page(postscript, ours_postscript, &about);
            assert_same(aux, ours_aux, &about);
        }
    }
}

/// A run beside the `.aux` file of the one before, but without its page: ours finds its colours there, of which the
/// `.aux` file tells hardly more than red.
fn file_run(tool: &Path, folder: &Path, text: &str, args: &[String]) -> Option<(Vec<u8>, Vec<u8>)> {
    let _ = std::fs::remove_file(folder.join("run.ps"));
    std::fs::write(folder.join("run.hp"), text).expect("the folder takes files");
    let run = Command::new(tool).args(args).arg("run").current_dir(folder).output().expect("the tool starts");
    let file = |name: &str| std::fs::read(folder.join(name)).expect("written");
    run.status.success().then(|| (file("run.ps"), file("run.aux")))
}
