//! Inputs: profiles mutated, put together from the words of the format, or of random bytes; `.aux` texts; arguments.
//! They are short on average, for many of them tell more than long ones.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt as _;

use crate::hp_common::{Random, data, random_hp};

/// The most that is taken of a stored profile, which may have its later samples left out.
const EXCERPT_BYTES: usize = 600;

/// Stored profiles, good and bad ones.
pub(crate) struct Profiles(Vec<Vec<u8>>);

impl Profiles {
    pub(crate) fn stored() -> Profiles {
        let folders = ["", "bad", "found"].map(data);
        let entries = folders.iter().flat_map(|folder| std::fs::read_dir(folder).expect("a stored folder"));
        let mut paths: Vec<_> = entries.map(|entry| entry.expect("readable").path()).collect();
        paths.retain(|path| path.extension().is_some_and(|extension| extension == "hp"));
        paths.sort();
        assert!(paths.len() > 30, "{paths:?}");
        Profiles(paths.iter().map(|path| std::fs::read(path).expect("readable")).collect())
    }

    /// The text of a profile, or what once may have been one.
    pub(crate) fn text(&self, random: &mut Random) -> Vec<u8> {
        let mut text = match random.below(16) {
            0 => return bytes(random),
            1..=6 => return sentences(random),
            7 => random_hp(random).into_bytes(),
            _ => excerpt(&self.0[random.below(self.0.len())], random).concat(),
        };
        mutate(&mut text, random);
        text
    }
}

/// The lines before the first sample, and some from there on.
fn excerpt<'a>(text: &'a [u8], random: &mut Random) -> [&'a [u8]; 2] {
    let is_start = |at: &usize| text[*at..].starts_with(b"BEGIN_SAMPLE");
    let starts: Vec<usize> = (0..text.len()).filter(is_start).collect();
    if text.len() <= EXCERPT_BYTES || starts.is_empty() {
        return [text, b""];
    }
    let samples = &text[starts[random.below(starts.len())]..];
    [&text[..starts[0]], &samples[..samples.len().min(EXCERPT_BYTES)]]
}

fn bytes(random: &mut Random) -> Vec<u8> {
    (0..random.below(100)).map(|_| random.next() as u8).collect()
}

/// Changes some bytes: overwrites, removes, doubles, cuts off, or puts words of the format in.
fn mutate(text: &mut Vec<u8>, random: &mut Random) {
    for _ in 0..random.below(4) {
        let at = random.below(text.len() + 1);
        let end = (at + random.below(20)).min(text.len());
        match random.below(7) {
            0 if at < text.len() => text[at] = random.next() as u8,
            1 => drop(text.drain(at..end)),
            2 => text.extend_from_within(at..end),
            3 => text.truncate(at),
            4 => {
                let copy = text[at..end].to_vec();
                let to = random.below(text.len() + 1);
                drop(text.splice(to..to, copy));
            }
            _ => {
                let mut word = Vec::new();
                item(&mut word, random);
                drop(text.splice(at..at, word));
            }
        }
    }
}

/// Items of the format, most of them right, and mostly so many samples that there is something to draw.
fn sentences(random: &mut Random) -> Vec<u8> {
    let mut text = Vec::new();
    if !random.once_in(8) {
        text.extend_from_slice(b"JOB \"j\" DATE \"d\"\nSAMPLE_UNIT \"s\" VALUE_UNIT \"b\"\n");
    }
    let most = if random.once_in(300) { 2_000 } else { 12 };
    let right = random.once_in(2);
    for _ in 0..1 + random.below(most) {
        match random.below(16) {
            0 | 1 if !right => item(&mut text, random),
            0..=5 => sample(&mut text, random),
            _ => row(&mut text, random),
        }
    }
    sample(&mut text, random);
    text
}

fn sample(text: &mut Vec<u8>, random: &mut Random) {
    let time = number(random);
    text.extend_from_slice(b"BEGIN_SAMPLE ");
    text.extend_from_slice(&time);
    text.push(b'\n');
    for _ in 0..random.below(4) {
        row(text, random);
    }
    text.extend_from_slice(b"END_SAMPLE ");
    text.extend_from_slice(&time);
    text.push(b'\n');
}

fn row(text: &mut Vec<u8>, random: &mut Random) {
    name(text, random);
    text.push(if random.once_in(8) { b' ' } else { b'\t' });
    match random.below(8) {
        0 => text.extend_from_slice(&number(random)),
        _ => text.extend_from_slice(random.below(1000).to_string().as_bytes()),
    }
    text.push(b'\n');
}

fn name(text: &mut Vec<u8>, random: &mut Random) {
    const PARTS: [&[u8]; 28] = [
        b"a",
        b"b",
        b"main",
        b"(12)",
        b"x/y",
        b"7",
        b"OTHER",
        b"MARK",
        b"JOBS",
        b"...",
        b"\\",
        b"(",
        b")",
        b"%",
        b"\"",
        b"\"\"",
        b"'",
        b" ",
        b"  ",
        b"\x1b[2J",
        b"\0",
        b"\x0b",
        b"\r",
        b"\xff",
        b"\xe6\x97",
        "日本".as_bytes(),
        "ü".as_bytes(),
        "\u{202e}\u{5d0}".as_bytes(),
    ];
    for _ in 0..1 + random.below(2) {
        let parts = if random.once_in(4) { PARTS.len() } else { 6 };
        text.extend_from_slice(PARTS[random.below(parts)]);
    }
    if random.once_in(2_000) {
        let length = [100, 4_990, 5_000, 70_000][random.below(4)] + random.below(12);
        text.extend(std::iter::repeat_n(b'n', length));
    }
}

/// Up to 40 digits with dots, signs and exponents; mostly a plain time.
fn number(random: &mut Random) -> Vec<u8> {
    if !random.once_in(16) {
        return format!("{:.2}", random.below(100) as f64 / 4.0).into_bytes();
    }
    const ODD: [&[u8]; 8] = [b".", b".", b"-", b"+", b"e", b"e-", b"inf", b"nan"];
    let mut text = Vec::new();
    if random.once_in(8) {
        text.extend_from_slice(ODD[random.below(ODD.len())]);
    }
    let most = [1, 8, 19, 40][random.below(4)];
    for _ in 0..1 + random.below(most) {
        match random.below(12) {
            0 => text.extend_from_slice(ODD[random.below(2)]),
            1 if random.once_in(16) => text.extend_from_slice(ODD[random.below(ODD.len())]),
            2..=5 => text.push(b'0'),
            _ => text.push(b'0' + random.below(10) as u8),
        }
    }
    text
}

/// One word with or without what belongs to it.
fn item(text: &mut Vec<u8>, random: &mut Random) {
    const WORDS: [&[u8]; 12] = [
        b"JOB",
        b"DATE",
        b"SAMPLE_UNIT",
        b"VALUE_UNIT",
        b"BEGIN_SAMPLE",
        b"END_SAMPLE",
        b"MARK",
        b"MARK",
        b"\"",
        b"\0",
        b"\xff",
        b"\r\n",
    ];
    text.extend_from_slice(WORDS[random.below(WORDS.len())]);
    text.push([b' ', b'\n', b'\t'][random.below(3)]);
    match random.below(4) {
        0 => text.extend_from_slice(&number(random)),
        1 => {
            text.push(b'"');
            (0..random.below(3)).for_each(|_| name(text, random));
            text.push(b'"');
        }
        2 => name(text, random),
        _ => {}
    }
    text.push([b' ', b'\n'][random.below(2)]);
}

/// The text of an `.aux` file, or nearly one.
pub(crate) fn aux(random: &mut Random) -> Vec<u8> {
    let mut text = Vec::new();
    let lines = random.below(8);
    for _ in 0..lines {
        let word: [&[u8]; 6] = [b"X_RANGE ", b"Y_RANGE ", b"ORDER ", b"SHADE ", b"ORDER\t", b"SHADE  "];
        text.extend_from_slice(word[random.below(word.len())]);
        if random.once_in(3) {
            text.extend_from_slice(&number(random));
        } else {
            name(&mut text, random);
            text.push(b' ');
            text.extend_from_slice(&number(random));
        }
        text.push(b'\n');
    }
    if random.once_in(3) && !text.is_empty() {
        mutate(&mut text, random);
    }
    text
}

/// A command line, the program's name first.
pub(crate) fn arguments(random: &mut Random) -> Vec<OsString> {
    const WORDS: [&str; 44] = [
        "-",
        "--",
        "-b",
        "-c",
        "-d",
        "-g",
        "-i",
        "-i+",
        "-i-",
        "-iz",
        "-l",
        "-M",
        "-p",
        "-pc",
        "-pp",
        "-s",
        "-y",
        "-m",
        "-t",
        "-e",
        "--bands",
        "--trace=",
        "--by-name=",
        "--eps=",
        "--names=",
        "--modern",
        "--fold-trace",
        "--axes",
        "--text",
        "--limit-by-area",
        "--colour",
        "--color",
        "--portrait",
        "--multi-page",
        "--previous",
        "--no-marks",
        "--big-title",
        "--small-title",
        "--by-deviation",
        "run.hp",
        "+",
        "in",
        "mm",
        "pt",
    ];
    let mut arguments = vec![OsString::from("hp2ps")];
    for _ in 0..random.below(5) {
        let mut argument = WORDS[random.below(WORDS.len())].as_bytes().to_vec();
        match random.below(8) {
            0..=3 => {}
            4 => argument.extend_from_slice(&number(random)),
            5 => argument.extend_from_slice(random.below(400).to_string().as_bytes()),
            6 => argument
                .extend_from_slice(WORDS[random.below(WORDS.len())].trim_start_matches('-').as_bytes()),
            _ => name(&mut argument, random),
        }
        argument.retain(|&byte| byte != 0);
        arguments.push(OsString::from_vec(argument));
    }
    arguments
}
