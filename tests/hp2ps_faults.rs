//! The faults of GHC's `hp2ps`, one test each: what it does and what is done here. Where its page is a page, the default
//! stays that page, and a switch (or `--modern` for all of them) draws the better one.

mod hp_common;

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use hp_common::{filter, folder};

const OURS: &str = env!("CARGO_BIN_EXE_hp2ps");

struct Run {
    code: Option<i32>,
    page: String,
    stderr: String,
}

fn draw(text: impl AsRef<[u8]>, args: &[&str]) -> Run {
    let args: Vec<String> = args.iter().map(|&arg| arg.to_owned()).collect();
    let run = filter(OURS.as_ref(), &args, text.as_ref());
    Run {
        code: run.status.code(),
        page: String::from_utf8_lossy(&run.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&run.stderr).into_owned(),
    }
}

/// The page of a run that must succeed.
fn page(text: impl AsRef<[u8]>, args: &[&str]) -> String {
    let run = draw(text, args);
    assert_eq!(run.code, Some(0), "{args:?}: {}", run.stderr);
    run.page
}

/// The texts shown on a page, in its order. A text for reading is in brackets with its font.
fn texts(page: &str) -> Vec<&str> {
    page.lines()
        .filter_map(|line| {
            let line = line.strip_prefix("[HE10").or_else(|| line.strip_prefix("[HE12")).unwrap_or(line);
            line.strip_prefix('(')?.rsplit_once(')').map(|(text, _)| text)
        })
        .collect()
}

/// The fill of each band, from the bottom up: what `setgray` or `setrgbcolor` got, without the key's and the marks'.
fn fills(page: &str, bands: usize) -> Vec<&str> {
    let fills: Vec<&str> =
        page.lines().filter(|line| line.ends_with(" setgray") || line.ends_with(" setrgbcolor")).collect();
    fills.into_iter().take(bands).collect()
}

/// A profile of samples a second apart.
fn profile(samples: &[&[(&str, &str)]]) -> String {
    let mut text = String::from("JOB \"j\"\nDATE \"d\"\nSAMPLE_UNIT \"seconds\"\nVALUE_UNIT \"bytes\"\n");
    for (time_s, rows) in samples.iter().enumerate() {
        let _ = writeln!(text, "BEGIN_SAMPLE {time_s}.0");
        for (name, value) in *rows {
            let _ = writeln!(text, "{name}\t{value}");
        }
        let _ = writeln!(text, "END_SAMPLE {time_s}.0");
    }
    text
}

/// Two samples, 100 then 300 bytes of `a`.
fn plain() -> String {
    profile(&[&[("a", "100")], &[("a", "300")]])
}

#[test]
fn fault_01_a_cut_profile_is_drawn_up_to_its_last_complete_sample() {
    let whole = plain();
    for tail in ["BEGIN_SAMPLE 2.0\na\t500\n", "BEGIN_SAMPLE 2.0\na\t5", "BEGIN_SAMPLE 2", "BEGIN_SA", "a"] {
        let run = draw(format!("{whole}{tail}"), &[]);
        assert_eq!((run.code, run.page.as_str()), (Some(0), page(&whole, &[]).as_str()), "{tail}");
        let expected = "hp2ps: warning: stdin, line 11: the profile is cut off here; kept the 2 complete samples before it\n";
        assert_eq!(run.stderr, expected, "{tail}");
    }
}

/// What was cut off chooses no bands: neither shows up in the chart nor moves the threshold of trace elements.
#[test]
fn fault_01_what_is_cut_off_has_no_part_in_the_page() {
    let rows: &[(&str, &str)] = &[("big", "1000"), ("small", "8")];
    let whole = profile(&[rows, rows]);
    for tail in [
        "BEGIN_SAMPLE 2.0\nnew\t10\nbi",
        "BEGIN_SAMPLE 2.0\nnew\t10\nbig\t",
        "BEGIN_SAMPLE 2.0\nnew\t10\nEND_SAMPLE",
    ] {
        assert_eq!(page(format!("{whole}{tail}"), &[]), page(&whole, &[]), "{tail}");
    }
}

#[test]
fn fault_02_a_failed_run_leaves_the_older_output() {
    let folder = folder("fault_02");
    fs::write(folder.join("t.hp"), "JOB \"j\"\nnonsense\n").expect("a new file");
    fs::write(folder.join("t.ps"), "old").expect("a new file");
    let run = Command::new(OURS).arg("t").current_dir(&folder).stdin(Stdio::null()).output().expect("starts");
    assert_eq!(run.status.code(), Some(1));
    assert_eq!(fs::read(folder.join("t.ps")).expect("kept"), b"old");
    assert_eq!(fs::read_dir(&folder).expect("a folder").count(), 2);
}

#[test]
fn fault_03_a_wrong_option_is_an_error_and_help_is_none() {
    for (args, code) in
        [(&["-x"][..], 2), (&["--nothing"], 2), (&["--help"], 0), (&["--version"], 0), (&["-?"], 0)]
    {
        let run = draw(plain(), args);
        assert_eq!(
            (run.code, run.page.is_empty(), run.stderr.is_empty()),
            (Some(code), code == 2, code == 0)
        );
    }
}

/// Instructions are counted, as time is noisy.
#[test]
fn fault_04_work_grows_with_the_input_and_no_faster() {
    let folder = folder("fault_04");
    let cost = |samples: usize, bands: usize| {
        let names: Vec<String> = (0..bands).map(|band| format!("({band})name/of/a/band")).collect();
        let rows: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "1234")).collect();
        fs::write(folder.join("t.hp"), profile(&vec![&rows[..]; samples])).expect("a new file");
        instructions(&folder)
    };
    let Some(one) = cost(30, 100) else { return };
    for (samples, bands) in [(120, 100), (30, 400)] {
        let four = cost(samples, bands).expect("counted before");
        assert!(four < 5 * one, "{samples} samples of {bands} bands: {four}, a quarter of them {one}");
    }
    // A sample that is cut off, of as many other names.
    let cut = |bands: usize| {
        let rows = |prefix: &str| (0..bands).map(|band| format!("{prefix}{band}\t9\n")).collect::<String>();
        let text =
            plain() + "BEGIN_SAMPLE 2.0\n" + &rows("a") + "END_SAMPLE 2.0\nBEGIN_SAMPLE 3.0\n" + &rows("b");
        fs::write(folder.join("t.hp"), text).expect("a new file");
        instructions(&folder).expect("counted before")
    };
    let (one, four) = (cut(2_000), cut(8_000));
    assert!(four < 5 * one, "cut off: {four}, a quarter {one}");
}

fn instructions(folder: &Path) -> Option<u64> {
    let mut command = Command::new("valgrind");
    command.args(["--tool=callgrind", "--callgrind-out-file=/dev/null", OURS, "t"]).current_dir(folder);
    let Ok(run) = command.output() else {
        assert!(std::env::var_os("CI").is_none(), "CI has valgrind");
        eprintln!("SKIPPED: no valgrind");
        return None;
    };
    let text = String::from_utf8_lossy(&run.stderr).into_owned();
    let count = text.lines().find_map(|line| line.split_once("refs:")).expect(&text).1;
    Some(count.trim().replace(',', "").parse().expect("a number"))
}

#[test]
fn fault_05_long_names_leave_the_graph_its_width() {
    let long = format!("(1){}/end", "very_long_function_name/".repeat(8));
    let text = profile(&[&[(&long, "100")], &[(&long, "300")]]);
    let run = draw(&text, &[]);
    assert_eq!(run.code, Some(0));
    assert_eq!(
        run.stderr,
        "hp2ps: warning: stdin, long names leave the graph little width; --names=32 or --modern shortens them\n"
    );
    let short = draw(&text, &["--names=32"]);
    assert!(short.stderr.is_empty());
    assert!(texts(&short.page).contains(&"\\(1\\)very_long_fu...tion_name//end"), "{:?}", texts(&short.page));
    assert!(graph_width(&short.page) > 300.0 && graph_width(&run.page) < 0.0);
    assert!(graph_width(&page(&text, &["--modern"])) > 300.0);
}

/// The length of the line of the x axis.
fn graph_width(page: &str) -> f64 {
    let mut axis = page.lines().filter_map(|line| line.strip_suffix(" 0 rlineto")?.parse::<f64>().ok());
    axis.find(|width| width.abs() > 20.0 && *width != 638.0 && *width != 648.0).expect("an axis")
}

#[test]
fn fault_06_the_key_is_as_wide_as_its_texts() {
    for name in ["iiiiiiiiiiiiiiiiiiii", "WWWWWWWWWWWWWWWWWWWW", "mmmmmmmmmm__________"] {
        let text = profile(&[&[(name, "100")], &[(name, "300")]]);
        let width = hp2ps::metrics::helvetica_width_pt(name, 10.0);
        // The frame without margins and the left axis; then the box and what stands around it.
        let expected = 648.0 - 10.0 - 45.0 - (width + 15.0 + 14.0);
        assert!((graph_width(&page(&text, &["--text"])) - expected).abs() < 1e-5, "{name}");
    }
}

#[test]
fn fault_07_names_of_any_script_are_drawn_and_ghcs_garble_is_told() {
    let text = profile(&[
        &[("gr\u{f6}\u{df}e/\u{3bb}", "100"), ("\u{65e5}\u{672c}", "60")],
        &[("\u{65e5}\u{672c}", "5")],
    ]);
    let run = draw(&text, &[]);
    assert!(run.stderr.contains("--modern draws them readably"), "{}", run.stderr);
    assert_eq!(draw(&text, &["--text"]).stderr, "");
    // The glyphs themselves: hp2ps_postscript.
}

#[test]
fn fault_08_no_text_leaves_its_place() {
    let hostile = "\"a) showpage (\" DATE \"(d\\\" SAMPLE_UNIT \"s)\" VALUE_UNIT \"b(\\\"";
    let text = plain().replace("\"j\"", "\"x\ny\"") + "JOB " + hostile;
    for args in [&[][..], &["--modern"], &["-b"], &["-M"]] {
        let page = page(&text, args);
        let pages = if args == ["-M"] { 2 } else { 1 };
        assert_eq!(page.lines().filter(|line| *line == "showpage").count(), pages, "{args:?}");
        assert!(page.contains("b\\("), "{args:?}");
    }
}

#[test]
fn fault_09_a_second_run_in_colour_keeps_the_colours() {
    let folder = folder("fault_09");
    let rows: &[(&str, &str)] = &[("a", "10"), ("b", "20"), ("c", "30"), ("d", "40"), ("e", "50")];
    fs::write(folder.join("t.hp"), profile(&[rows, rows])).expect("a new file");
    let draw = |args: &[&str]| {
        let run = Command::new(OURS).args(args).arg("t").current_dir(&folder).output().expect("starts");
        assert!(run.status.success());
        fs::read_to_string(folder.join("t.ps")).expect("ASCII")
    };
    let first = draw(&["-c"]);
    assert_eq!(fills(&first, 5).iter().collect::<std::collections::HashSet<_>>().len(), 5);
    assert_eq!(fills(&draw(&["-c", "-p"]), 5), fills(&first, 5));
    assert_eq!(fills(&draw(&["-pc"]), 5), fills(&first, 5), "and a third");
}

#[test]
fn fault_10_an_aux_file_is_read_back_whatever_the_names() {
    let folder = folder("fault_10");
    // Words may stand on any lines, as GHC's tool reads them.
    fs::write(folder.join("w.hp"), plain()).expect("a new file");
    fs::write(folder.join("w.aux"), "X_RANGE 1.00 Y_RANGE\n900.00 ORDER\na 1 SHADE a\n0.20\n")
        .expect("a new file");
    let run = Command::new(OURS).args(["-p", "w"]).current_dir(&folder).output().expect("starts");
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    assert!(fs::read_to_string(folder.join("w.aux")).expect("written").contains("Y_RANGE 900.00"));
    let small: &[(&str, &str)] = &[("7a", "10"), ("X_RANGE", "20"), ("Vec<A, B>", "30"), ("ORDER", "5")];
    let many: Vec<String> = (0..200).map(|band| format!("b{band}")).collect();
    let many: Vec<(&str, &str)> = many.iter().map(|name| (name.as_str(), "10")).collect();
    let run = |rows: &[(&str, &str)], args: &[&str]| {
        fs::write(folder.join("t.hp"), profile(&[rows, rows])).expect("a new file");
        let run = Command::new(OURS).args(args).arg("t").current_dir(&folder).output().expect("starts");
        assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
        fs::read_to_string(folder.join("t.aux")).expect("written")
    };
    let first = run(small, &["-t0"]);
    assert_eq!(run(small, &["-t0", "-p"]), first);
    run(&many, &["-t0", "-m0"]);
    assert_eq!(run(small, &["-t0", "-p", "-i"]).lines().count(), first.lines().count());
}

#[test]
fn fault_11_trace_elements_can_be_kept_in_other() {
    let text =
        profile(&[&[("a", "9950"), ("b", "30"), ("c", "20")], &[("a", "9950"), ("b", "30"), ("c", "20")]]);
    assert!(texts(&page(&text, &[])).contains(&"9,950 bytes x seconds"));
    let folded = page(&text, &["--fold-trace"]);
    assert!(texts(&folded).contains(&"10,000 bytes x seconds") && texts(&folded).contains(&"OTHER"));
}

#[test]
fn fault_12_the_largest_bands_can_stay_in_any_order() {
    let rows: &[(&str, &str)] = &[("p", "500"), ("q", "10"), ("r", "20"), ("s", "400")];
    let text = profile(&[rows, rows]);
    let names = |args: &[&str]| -> Vec<String> {
        let page = page(&text, args);
        let keyed = |text: &&&str| matches!(**text, "p" | "q" | "r" | "s" | "OTHER");
        texts(&page).iter().filter(keyed).map(|text| (*text).to_owned()).collect()
    };
    assert_eq!(names(&["-i", "-m3", "-t0"]), ["OTHER", "r", "s"]);
    assert_eq!(names(&["-i", "-m3", "-t0", "--limit-by-area"]), ["OTHER", "p", "s"]);
}

#[test]
fn fault_13_deviations_can_count_all_samples() {
    // `a` is there once only: over all samples it is the rougher one, over those that name it `b` is.
    let text = profile(&[&[("a", "90"), ("b", "76")], &[("b", "4")], &[("b", "76")], &[("b", "4")]]);
    let top = |args: &[&str]| {
        let page = page(&text, args);
        let top = texts(&page).into_iter().rfind(|text| matches!(*text, "a" | "b")).map(str::to_owned);
        top.expect("a key")
    };
    assert_eq!((top(&["-d", "-t0"]), top(&["-d", "-t0", "--modern"])), ("b".to_owned(), "a".to_owned()));
    // One sample, where GHC divides zero by zero.
    assert_eq!(draw(profile(&[&[("a", "1"), ("b", "2")]]), &["-d", "--modern"]).code, Some(0));
}

#[test]
fn fault_14_no_modern_band_is_white() {
    let names: Vec<String> = (0..20).map(|band| format!("b{band:02}")).collect();
    let rows: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "10")).collect();
    let text = profile(&[&rows, &rows]);
    for (args, white) in [
        (&["--modern", "-c"][..], "1.000000 1.000000 1.000000 setrgbcolor"),
        (&["--modern"], "1.000000 setgray"),
    ] {
        let page = page(&text, args);
        let fills = fills(&page, 20);
        assert!(fills.len() == 20 && !fills.contains(&white), "{fills:?}");
    }
}

/// Outlines as thick as lines would be all there is to see of a thousand samples.
#[test]
fn fault_14_dense_modern_bands_have_thin_outlines_or_none() {
    let dense = |samples: usize| profile(&vec![&[("a", "10"), ("b", "20")][..]; samples]);
    let widths = |page: &str| -> Vec<String> {
        page.lines().filter_map(|line| line.strip_suffix(" setlinewidth")).map(str::to_owned).collect()
    };
    let thin = page(dense(300), &["--modern"]);
    assert!(widths(&thin).iter().any(|width| (0.1..0.4).contains(&width.parse::<f64>().expect("a number"))));
    let none = page(dense(3000), &["--modern"]);
    assert!(none.contains("grestore\nnewpath\n"));
    assert!(widths(&page(dense(3000), &[])).iter().all(|width| width == "0.500000"));
}

#[test]
fn fault_15_labels_of_times_have_the_digits_they_need() {
    let text = plain().replace("SAMPLE 1.0", "SAMPLE 0.004").replace("SAMPLE 0.0\n", "SAMPLE 0.000\n");
    assert!(texts(&page(&text, &[])).iter().filter(|text| **text == "0.0").count() > 2);
    let labels = page(&text, &["--axes"]);
    for label in ["0.0", "0.5", "3.5", "milliseconds"] {
        assert!(texts(&labels).contains(&label), "{:?}", texts(&labels));
    }
    // What numbers as large as these cannot tell apart is said once, and none is wider than its room.
    for (times, values) in [
        (["0.0", "10000000000000000000000000000."], "99999999999999999999999999999999"),
        (["10000000000000000000000000.0", "10000000000000000000000001.0"], "7"),
        (["100000000000000.00", "100000000000000.05"], "5"),
    ] {
        let text = format!(
            "JOB \"j\" DATE \"d\" SAMPLE_UNIT \"seconds\" VALUE_UNIT \"bytes\"\nBEGIN_SAMPLE {}\na {values}\nEND_SAMPLE 0.0\n\
             BEGIN_SAMPLE {}\na {values}\nEND_SAMPLE 0.0\n",
            times[0], times[1]
        );
        let labels = page(&text, &["--axes"]);
        let labels: Vec<&str> = texts(&labels)
            .into_iter()
            .filter(|text| text.starts_with(|c: char| c.is_ascii_digit()))
            .collect();
        let distinct: std::collections::HashSet<&&str> = labels.iter().collect();
        assert!(labels.len() < 24 && distinct.len() + 1 >= labels.len(), "{labels:?}");
        assert!(labels.iter().all(|label| label.len() <= 12 || label.contains("bytes")), "{labels:?}");
    }
    let long = plain().replace("SAMPLE 1.0", "SAMPLE 9000000.0");
    let long = page(&long, &["--axes"]);
    assert!(["20", "100", "days"].iter().all(|label| texts(&long).contains(label)), "{:?}", texts(&long));
}

#[test]
fn fault_16_and_17_labels_of_values_have_one_unit_up_to_the_top() {
    let text = profile(&[&[("a", "35000000")], &[("a", "35000000")]]);
    let readable = page(&text, &["--axes"]);
    let labels: Vec<&str> = texts(&readable).into_iter().filter(|text| text.ends_with("MB")).collect();
    assert_eq!(labels, ["0 MB", "5 MB", "10 MB", "15 MB", "20 MB", "25 MB", "30 MB", "35 MB"]);
}

#[test]
fn fault_18_the_document_tells_how_its_page_lies() {
    assert!(page(plain(), &[]).contains("\n%%Orientation: Landscape\n"));
    assert!(page(plain(), &["-g"]).contains("\n%%Orientation: Portrait\n"));
    assert!(page(plain(), &[]).contains("\n%%BoundingBox: "));
}

#[test]
fn fault_19_an_eps_says_so_and_every_page_keeps_its_scale() {
    let eps = page(plain(), &["-e4in"]);
    assert!(eps.starts_with("%!PS-Adobe-3.0 EPSF-3.0\n") && eps.contains("\n%%BoundingBox: 0 0 288 192\n"));
    let pages = page(plain(), &["-e4in", "-M"]);
    assert!(!pages.contains("EPSF"));
    assert_eq!(pages.lines().filter(|line| *line == "0.444444 0.444444 scale").count(), 2, "{pages}");
}

#[test]
fn fault_20_pages_are_counted() {
    let pages = page(plain(), &["-M"]);
    for comment in ["%%Pages: 2", "%%Page: 1 1", "%%Page: 2 2", "%%Trailer", "%%EOF"] {
        assert!(pages.lines().any(|line| line == comment), "{comment}");
    }
}

#[test]
fn fault_21_samples_out_of_order_are_sorted_with_a_warning() {
    let sorted = profile(&[&[("a", "1")], &[("a", "2"), ("b", "7")], &[("a", "3")]]);
    let (head, samples) = sorted.split_at(sorted.find("BEGIN").expect("samples"));
    let samples: Vec<&str> = samples.split_inclusive(".0\nBEGIN").collect();
    assert_eq!(samples.len(), 3);
    let parts = |at: &str| {
        let from = sorted.find(&format!("BEGIN_SAMPLE {at}")).expect("there");
        let end = format!("END_SAMPLE {at}.0\n");
        &sorted[from..sorted.find(&end).expect("there") + end.len()]
    };
    let mixed = format!("{head}{}{}{}", parts("1"), parts("2"), parts("0"));
    let run = draw(&mixed, &["-t0"]);
    assert_eq!(
        run.stderr,
        "hp2ps: warning: stdin, line 12: a sample earlier than the one before it; sorted by time\n"
    );
    // Names are numbered in another order, which decides nothing here.
    assert_eq!(run.page, page(&sorted, &["-t0"]));
}

#[test]
fn fault_22_names_with_blanks_and_fractions_are_drawn_and_a_sign_is_refused() {
    let text = profile(&[&[("Vec<u8, A>", "10.5"), ("fn main", "7")], &[("Vec<u8, A>", "20.25")]]);
    let drawn = page(&text, &["-t0"]);
    assert!(texts(&drawn).contains(&"Vec<u8, A>") && texts(&drawn).contains(&"fn main"));
    let run = draw(profile(&[&[("a", "-5")]]), &[]);
    assert_eq!(
        (run.code, run.stderr.as_str()),
        (Some(1), "hp2ps: stdin, line 6: read `-5`, expected a number of 0 or more after the name\n")
    );
    // The number itself is named, not what follows it.
    for (row, read) in [("a\t1e5", "1e5"), ("a\t1.5x", "1.5x")] {
        let text = format!("{}{row}\nb\t2\nEND_SAMPLE 0.0\n", profile(&[]) + "BEGIN_SAMPLE 0.0\n");
        assert_eq!(
            draw(text, &[]).stderr,
            format!(
                "hp2ps: stdin, line 6: read `{read}`, expected a number of at most 32 digits without exponent\n"
            )
        );
    }
    // Some editors put a mark before all else.
    assert_eq!(page(format!("\u{feff}{}", plain()), &[]), page(plain(), &[]));
    // Missing header items and times without a dot as well.
    let run = draw("BEGIN_SAMPLE 0\na 5\nEND_SAMPLE 0\nBEGIN_SAMPLE 1\na 6\nEND_SAMPLE 1\n", &[]);
    assert_eq!(run.code, Some(0));
    assert_eq!(
        run.stderr,
        "hp2ps: warning: stdin, no JOB, DATE, VALUE_UNIT, SAMPLE_UNIT in it; left blank\n"
    );
}

#[test]
fn fault_23_nonsense_options_are_refused_and_none_is_dropped_silently() {
    assert!(draw(plain(), &["-m-5"]).stderr.contains("read `-5`, expected a whole number of 0 or more"));
    for option in ["-einf", "-enan", "-tnan", "-m-1", "-mx", "-t6", "-t-1", "-e0", "-e1e9", "--names=3"] {
        let run = draw(plain(), &[option]);
        assert_eq!((run.code, run.page.is_empty()), (Some(2), true), "{option}");
    }
    assert_eq!(draw(plain(), &["-cx"]).stderr, "hp2ps: warning: -cx: `x` after `c` has no effect\n");
}

#[test]
fn fault_24_modern_marks_stay_inside_the_frame() {
    let text = plain() + "MARK 0.5\nMARK 7.0\nMARK -3.0\n";
    assert_eq!(draw(&text, &[]).code, Some(1), "a time has no sign");
    let text = plain() + "MARK 0.5\nMARK 7.0\n";
    let marks = |args: &[&str]| page(&text, args).matches("1.0 setgray").count();
    assert_eq!((marks(&[]), marks(&["--axes"]), marks(&["-y"])), (2, 1, 0));
}

#[test]
fn fault_25_totals_beyond_64_bits_are_told_and_added_up_right() {
    let large = "9000000000000000000";
    let rows: &[(&str, &str)] = &[("a", large), ("b", "4000000000000000000"), ("a", large)];
    let text = profile(&[rows, rows, rows]);
    let run = draw(&text, &[]);
    assert!(run.stderr.contains("totals beyond 2^63"), "{}", run.stderr);
    let modern = page(&text, &["--modern"]);
    assert!(texts(&modern).contains(&"44,000,000,000,000,000,000 bytes x seconds"), "{:?}", texts(&modern));
    let top = texts(&modern).into_iter().rfind(|text| matches!(*text, "a" | "b"));
    assert_eq!(top, Some("a"), "the largest on top");
    // Without BEGIN_SAMPLE the time is 0; a name may hold control bytes.
    assert_eq!(draw("x\u{1}y 5\nEND_SAMPLE 3.0\n", &[]).code, Some(0));
}

#[test]
fn fault_26_modern_charts_have_no_ramps_at_empty_ends() {
    let text = profile(&[&[], &[("a", "100")], &[("a", "300")], &[]]);
    assert!(texts(&page(&text, &[])).contains(&"400 bytes x seconds"));
    let modern = page(&text, &["--modern"]);
    assert!(texts(&modern).contains(&"200 bytes x seconds"), "{:?}", texts(&modern));
}
