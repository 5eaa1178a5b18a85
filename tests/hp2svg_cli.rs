//! The hp2svg command: valid XML whatever the names, whole outputs, exit codes as hp2ps.

mod hp_common;

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use hp_common::{Random, data, folder, random_hp};

fn hp2svg(folder: &Path, args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_hp2svg"));
    command.args(args).current_dir(folder).stdin(Stdio::null()).output().expect("hp2svg starts")
}

fn svg(folder: &Path, profile: &[u8], args: &[&str]) -> String {
    fs::write(folder.join("run.hp"), profile).expect("a new file");
    let run = hp2svg(folder, &[args, &["run"]].concat());
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    fs::read_to_string(folder.join("run.svg")).expect("UTF-8")
}

/// Checks that the text is well-formed for what we write: elements nest, attributes are quoted, no bare
/// `<` or `&`, no control characters. Returns the texts between tags.
fn texts_of_well_formed(xml: &str) -> Vec<String> {
    let body = xml.strip_prefix("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n").expect("declaration");
    assert!(!body.contains(|c: char| c.is_control() && c != '\n'), "control characters");
    let (mut open, mut texts) = (Vec::new(), Vec::new());
    for piece in body.split('<').skip(1) {
        let (tag, text) = piece.split_once('>').expect("a tag ends");
        let name = tag.trim_start_matches('/').split([' ', '/']).next().expect("a name");
        match tag {
            _ if tag.starts_with('/') => assert_eq!(open.pop(), Some(name)),
            _ if tag.ends_with('/') => {}
            _ => open.push(name),
        }
        assert_eq!(tag.matches('"').count() % 2, 0, "{tag}");
        texts.push(unescape(text));
    }
    assert!(open.is_empty(), "{open:?}");
    texts
}

fn unescape(text: &str) -> String {
    let mut plain = String::new();
    for (at, piece) in text.split('&').enumerate() {
        let (entity, rest) =
            if at == 0 { ("", piece) } else { piece.split_once(';').expect("an entity ends") };
        plain.push_str(match entity {
            "" => "",
            "amp" => "&",
            "lt" => "<",
            "gt" => ">",
            "quot" => "\"",
            other => panic!("&{other};"),
        });
        plain.push_str(rest);
    }
    plain
}

#[test]
fn names_are_shown_whole_under_the_pointer_whatever_they_contain() {
    let folder = folder("svg_names");
    let long = "x".repeat(200);
    let names = ["<script>", "a&b;", "\"'", "größe", "]]>", &long];
    let rows: String = names.iter().map(|name| format!("n{name}\t5\n")).collect();
    let text = format!(
        "JOB \"<j> & co\" DATE \"d\" SAMPLE_UNIT \"<s>\" VALUE_UNIT \"b&\"\nBEGIN_SAMPLE 0.0\n{rows}END_SAMPLE 0.0\n"
    );
    let texts = texts_of_well_formed(&svg(&folder, text.as_bytes(), &[]));
    for name in names {
        let shown = texts.iter().filter(|text| **text == format!("n{name}")).count();
        assert!(shown >= 2, "{name}: once in the graph, once in the key");
    }
    for text in ["<j> & co", "<s>", "b&"] {
        assert!(texts.iter().any(|known| known == text), "{text}");
    }
}

#[test]
fn random_profiles_give_well_formed_images() {
    let folder = folder("svg_random");
    let mut random = Random::new(14);
    for _ in 0..60 {
        let text = random_hp(&mut random);
        let args = ["-m0", "-m3", "-b", "-t0", "-y", "-i-"];
        let image = svg(&folder, text.as_bytes(), &[random.pick(&args)]);
        texts_of_well_formed(&image);
        assert!(!image.contains("NaN") && !image.contains("inf "), "{text}");
    }
}

#[test]
fn names_cut_inside_a_character_and_control_bytes_are_replaced() {
    let folder = folder("svg_bytes");
    let text = b"JOB \"j\x01\" DATE \"d\" SAMPLE_UNIT \"s\" VALUE_UNIT \"b\" BEGIN_SAMPLE 0.0 n\xc3 5 m\x02 6 END_SAMPLE 0.0";
    let texts = texts_of_well_formed(&svg(&folder, text, &[]));
    assert!(texts.iter().any(|text| text == "n\u{fffd}") && texts.iter().any(|text| text == "m\u{fffd}"));
}

#[test]
fn ticks_are_round_and_in_one_unit() {
    let folder = folder("svg_ticks");
    let text = "JOB \"j\" DATE \"d\" SAMPLE_UNIT \"seconds\" VALUE_UNIT \"bytes\"\n\
        BEGIN_SAMPLE 0.013 a 1500000 END_SAMPLE 0.0 BEGIN_SAMPLE 0.087 a 4100000 END_SAMPLE 0.0";
    let texts = texts_of_well_formed(&svg(&folder, text.as_bytes(), &[]));
    for label in ["0.02", "0.08", "0.0 MB", "0.5 MB", "4.0 MB"] {
        assert!(texts.iter().any(|text| text == label), "{label}: {texts:?}");
    }
}

#[test]
fn the_filter_writes_what_the_file_run_writes() {
    let folder = folder("svg_filter");
    let profile = fs::read(data("marks.hp")).expect("stored");
    let image = svg(&folder, &profile, &[]);
    let input = fs::File::open(folder.join("run.hp")).expect("written");
    let run = Command::new(env!("CARGO_BIN_EXE_hp2svg")).stdin(input).output().expect("hp2svg starts");
    assert!(run.status.success() && run.stderr.is_empty());
    assert_eq!(String::from_utf8_lossy(&run.stdout), image);
}

#[test]
fn a_failed_run_says_why_in_one_line_and_leaves_the_old_output() {
    let folder = folder("svg_failed");
    fs::copy(data("bad/negative-value.hp"), folder.join("bad.hp")).expect("stored");
    fs::write(folder.join("bad.svg"), "old").expect("a new file");
    let run = hp2svg(&folder, &["bad"]);
    let message = "hp2svg: bad.hp, line 6: read `-100`, expected a whole number after the name\n";
    assert_eq!((run.status.code(), &*String::from_utf8_lossy(&run.stderr)), (Some(1), message));
    assert_eq!(fs::read(folder.join("bad.svg")).expect("kept"), b"old");
    assert_eq!(fs::read_dir(&folder).expect("a folder").count(), 2);
}

#[test]
fn a_cut_profile_is_drawn_with_a_warning() {
    let folder = folder("svg_cut");
    fs::copy(data("truncated-in-line.hp"), folder.join("cut.hp")).expect("stored");
    let run = hp2svg(&folder, &["cut"]);
    let message = String::from_utf8_lossy(&run.stderr);
    assert!(run.status.success() && message.starts_with("hp2svg: warning: cut.hp, line "), "{message}");
    assert_eq!(message.lines().count(), 1);
}

#[test]
fn help_leaves_with_0_and_wrong_options_with_2() {
    let folder = folder("svg_codes");
    for (option, code) in [("--help", 0), ("--version", 0), ("-x", 2), ("-e4in", 2), ("-t9", 2)] {
        assert_eq!(hp2svg(&folder, &[option]).status.code(), Some(code), "{option}");
    }
}
