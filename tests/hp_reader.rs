//! The reader keeps the complete samples of a profile cut anywhere, and tells the line of what it refuses.

mod hp_common;

use heapprof::hp::{self, Event, Field, Lack, Reader, Value};
use hp_common::{Random, random_hp};

const HEAD: &str = "JOB \"j\"\nDATE \"d\"\nSAMPLE_UNIT \"s\"\nVALUE_UNIT \"b\"\n";

fn message(body: &str) -> String {
    hp::read(format!("{HEAD}{body}").as_bytes()).expect_err("not a profile").to_string()
}

#[test]
fn errors_tell_line_text_and_expectation() {
    let number = "expected a number of 0 or more after the name";
    let time = "expected a time of 0 or more";
    for (body, expected) in [
        ("BEGIN_SAMPLE 0.0\na\t-5\nEND_SAMPLE 0.0\n", format!("line 6: read `-5`, {number}")),
        (
            "BEGIN_SAMPLE 0.0\na\t1.5\nEND_SAMPLE 0.0\n",
            "line 6: read `1.5`, expected a whole number after the name".into(),
        ),
        ("BEGIN_SAMPLE 0.0\na b -5\nEND_SAMPLE 0.0\n", format!("line 6: read `b`, {number}")),
        ("BEGIN_SAMPLE 0.0\na b\t5 x\nEND_SAMPLE 0.0\n", format!("line 6: read `b`, {number}")),
        ("BEGIN_SAMPLE 0.0\na\n\n\nEND_SAMPLE 0.0\n", format!("line 9: read `END_SAMPLE`, {number}")),
        ("BEGIN_SAMPLE -1.0\nEND_SAMPLE 0.0\n", format!("line 5: read `-1.0`, {time}")),
        ("BEGIN_SAMPLE 1.0\nMARK\t5\n", "line 6: read MARK, expected END_SAMPLE before it".into()),
        ("MARK x\n", format!("line 5: read `x`, {time}")),
        ("\"q\"\n", "line 5: read `\"q\"`, expected a name or one of the words of the format".into()),
        ("JOB 5\n", "line 5: read `5`, expected a string in double quotes".into()),
        ("JOB \"open\nline\n", "line 5: read `open\\nline\\n`, expected a closing double quote".into()),
        ("", "line 5: read the end of the file, expected at least one complete sample".into()),
    ] {
        assert_eq!(message(body), expected);
    }
}

#[test]
fn strings_over_several_lines_do_not_shift_line_numbers() {
    assert!(message("JOB \"a\nb\nc\"\nBEGIN_SAMPLE 0.0\na x\n").starts_with("line 9: read `x`"));
}

/// The rows of a body, and what it lacks.
fn rows(body: &str) -> (Vec<(String, Value)>, Lack) {
    let text = format!("{HEAD}{body}");
    let mut reader = Reader::new(text.as_bytes());
    let mut rows = Vec::new();
    while let Some(event) = reader.next_event().expect("legal") {
        if let Event::Row { name, value } = event {
            rows.push((String::from_utf8_lossy(name).into_owned(), value));
        }
    }
    (rows, reader.lack())
}

#[test]
fn a_profile_without_header_items_is_read_and_they_are_told() {
    for (at, (field, _)) in Field::ALL.into_iter().enumerate() {
        let order = [Field::Job, Field::Date, Field::SampleUnit, Field::ValueUnit];
        let mut lines: Vec<&str> = HEAD.lines().collect();
        lines.remove(order.iter().position(|&known| known as usize == field as usize).expect("all four"));
        let text = format!("{}\nBEGIN_SAMPLE 0.0\nEND_SAMPLE 0.0\n", lines.join("\n"));
        let mut reader = Reader::new(text.as_bytes());
        while reader.next_event().expect("read all the same").is_some() {}
        let missing = reader.lack().missing;
        assert!(Field::ALL.iter().all(|(other, _)| missing[*other as usize] == (*other == field)), "{at}");
    }
    // A file without any sample is no profile: then what is missing first is named.
    let error = hp::read(&b"JOB \"j\"\n"[..]).expect_err("nothing in it");
    assert_eq!(error.to_string(), "line 2: read the end of the file, expected DATE");
}

#[test]
fn a_name_may_have_blanks_and_ends_at_the_last_tab_or_blank() {
    let body = "BEGIN_SAMPLE 0.0\nVec<A, B>\t5\nfn of x 6\n\"quoted\" name\t7.5\na  b \t 8 \r\nplain 9 other 10\n\
        tab in\tname\t11\nEND_SAMPLE 0.0\n";
    let (rows, lack) = rows(body);
    let whole = |name: &str, value| (name.to_owned(), Value::Whole(value));
    let expected = [
        whole("Vec<A, B>", 5),
        whole("fn of x", 6),
        ("\"quoted\" name".to_owned(), Value::Decimal(7.5)),
        whole("a  b", 8),
        whole("plain", 9),
        whole("other", 10),
        whole("tab in\tname", 11),
    ];
    assert_eq!(rows, expected);
    assert_eq!(lack, Lack::default());
}

#[test]
fn a_long_name_is_read_whole_where_a_tab_ends_it() {
    let long = "n".repeat(hp::READER_NAME_BYTES * 3);
    let (rows, _) = rows(&format!("BEGIN_SAMPLE 0.0\n{long}\t12\nEND_SAMPLE 0.0\n"));
    assert_eq!(rows, [(long, Value::Whole(12))]);
}

#[test]
fn times_without_a_dot_and_times_that_decrease_are_read() {
    let body = "BEGIN_SAMPLE 2\nEND_SAMPLE 2\nBEGIN_SAMPLE 1\na 3\nEND_SAMPLE 1\nMARK 5\n";
    let profile = hp::read(format!("{HEAD}{body}").as_bytes()).expect("legal");
    assert_eq!((profile.times_s, profile.marks_s), (vec![2.0, 1.0], vec![5.0]));
    assert_eq!(rows(body).1, Lack { unordered_line: Some(7), ..Lack::default() });
}

/// A row taken by its name, and one taken as it comes, are the same: value, line and what follows.
#[test]
fn a_guessed_row_is_the_row_that_comes() {
    let mut random = Random::new(11);
    let names = ["a", "bb", "seven77", "eight888", "(12)nine/9", "0123456789abcdef", "x\u{3bb}"];
    let mut guessed = 0;
    for _ in 0..20_000 {
        let name = random.pick(&names);
        let digits: String =
            (0..random.below(22)).map(|_| char::from(b'0' + random.below(10) as u8)).collect();
        let (before, between, after) = (
            random.pick(&["\n", "\n", "\r\n", " ", "\n\n"]),
            random.pick(&["\t", "\t", " ", "\t\t"]),
            random.pick(&["\n", " ", "", ".5\n", "x\n", "\u{e9}\n"]),
        );
        let text = format!("BEGIN_SAMPLE 0.5{before}{name}{between}{digits}{after}next\t1\nEND_SAMPLE 0.5\n");
        let [mut by_name, mut plain] = [0; 2].map(|_| Reader::new(text.as_bytes()));
        by_name.next_event().expect("a time");
        plain.next_event().expect("a time");
        let guess = random.pick(&names);
        let row = by_name.row_named(guess.as_bytes());
        if let Some(value) = row {
            guessed += 1;
            let expected = Event::Row { name: guess.as_bytes(), value: Value::Whole(value.into()) };
            assert_eq!(plain.next_event().expect("a row"), Some(expected), "{text}");
            assert_eq!(plain.line(), by_name.line());
        }
        let rest = |reader: &mut Reader<&[u8]>| -> Vec<String> {
            std::iter::from_fn(|| match reader.next_event() {
                Ok(None) => None,
                Ok(Some(event)) => Some(format!("{event:?}")),
                Err(error) => Some(error.to_string()),
            })
            .take(3)
            .collect()
        };
        assert_eq!(rest(&mut by_name), rest(&mut plain), "{text}");
    }
    assert!(guessed > 100, "{guessed}");
}

#[test]
fn the_text_in_an_error_is_short_and_printable() {
    let error = message(&format!("\"{}\u{1b}[2J\n", "x".repeat(300)));
    assert!(error.len() < 200 && !error.contains('\u{1b}'), "{error}");
}

#[test]
fn header_items_may_come_late_and_the_last_one_wins() {
    let text = format!("BEGIN_SAMPLE 0.0\nEND_SAMPLE 0.0\n{HEAD}JOB \"say \"\"hi\"\"\"");
    assert_eq!(hp::read(text.as_bytes()).expect("legal").header.job, "say \"hi\"");
}

#[test]
fn rows_outside_samples_count_in_the_next_and_repeated_ones_add_up() {
    let body = "a 1\nBEGIN_SAMPLE 0.0\na 2\nb 5\nEND_SAMPLE 0.0\nb 7\nBEGIN_SAMPLE 1.0\nEND_SAMPLE 1.0\n";
    let profile = hp::read(format!("{HEAD}{body}").as_bytes()).expect("legal");
    let values = |name| profile.band(name).map(|band| [band.value(0), band.value(1)]);
    assert_eq!((values("a"), values("b")), (Some([3, 0]), Some([5, 7])));
    assert_eq!(profile.cut, None);
}

#[test]
fn numbers_end_after_32_characters_and_names_after_4999_bytes() {
    let digits = "1".repeat(32);
    let long = "n".repeat(hp::READER_NAME_BYTES);
    // The number follows at once, as GHC's reader splits a name that is too long.
    let body = format!("BEGIN_SAMPLE 0.5.9\na {digits}7 5\n{long}12\nEND_SAMPLE 0.5\n");
    let profile = hp::read(format!("{HEAD}{body}").as_bytes()).expect("legal");
    assert_eq!(profile.times_s, [0.5]);
    assert_eq!(profile.band("a").map(|band| band.value(0)), Some(u64::MAX));
    assert_eq!(profile.band("7").map(|band| band.value(0)), Some(5));
    assert_eq!(profile.band(&long).map(|band| band.value(0)), Some(12));
}

#[test]
fn values_are_exact_up_to_32_digits() {
    let text = format!("{HEAD}a 99999999999999999999999999999999 b 18446744073709551615\nEND_SAMPLE 0.0");
    let mut reader = Reader::new(text.as_bytes());
    let mut values = Vec::new();
    while let Some(event) = reader.next_event().expect("legal") {
        if let Event::Row { value, .. } = event {
            values.push(value);
        }
    }
    assert_eq!(values, [10_u128.pow(32) - 1, u128::from(u64::MAX)].map(Value::Whole));
}

/// END_SAMPLE words whose time has come to its dot.
fn complete_samples(text: &str) -> usize {
    text.split("END_SAMPLE ").skip(1).filter(|after| after.contains('.')).count()
}

#[test]
fn a_profile_cut_anywhere_keeps_its_complete_samples() {
    let mut random = Random::new(6);
    for _ in 0..40 {
        let text = random_hp(&mut random);
        let whole = hp::read(text.as_bytes()).expect("legal");
        let body = text.find("BEGIN_SAMPLE").expect("has samples");
        for end in body..=text.len() {
            let cut = &text.as_bytes()[..end];
            let complete = complete_samples(&String::from_utf8_lossy(cut));
            let read = hp::read(cut);
            if complete == 0 {
                assert!(read.is_err());
                continue;
            }
            let read = read.expect("complete samples");
            assert_eq!(read.times_s, whole.times_s[..complete]);
            for band in &read.bands {
                let points = |band: &hp::Band| -> Vec<_> {
                    band.points.iter().copied().filter(|(sample, _)| *sample < complete).collect()
                };
                let same = whole.bands.iter().find(|known| known.name == band.name);
                assert_eq!(same.map(points), Some(points(band)));
                assert_eq!(points(band), band.points);
            }
        }
    }
}

#[test]
fn a_cut_tells_where_and_how_many_samples_are_kept() {
    let body = "BEGIN_SAMPLE 0.0\nEND_SAMPLE 0.0\nBEGIN_SAMPLE 1.0\na 5\nb 1";
    let profile = hp::read(format!("{HEAD}{body}").as_bytes()).expect("one sample");
    let cut = profile.cut.expect("ends inside a sample");
    assert_eq!(cut.to_string(), "line 7: the profile is cut off here; kept the 1 complete sample before it");
    assert!(profile.bands.is_empty());
}

#[test]
fn no_bytes_make_the_reader_panic() {
    let mut random = Random::new(7);
    let parts: [&[u8]; 16] = [
        b"JOB ",
        b"\"",
        b"x\"",
        b"BEGIN_SAMPLE ",
        b"END_SAMPLE ",
        b"MARK ",
        b"1.5 ",
        b"7",
        b".",
        b"\n",
        b"a\t",
        b"\0",
        b"\xff",
        b"\r",
        b"99999999999999999999999999999999999",
        b"\"j\" DATE \"d\" SAMPLE_UNIT \"s\" VALUE_UNIT \"b\"\n",
    ];
    let inputs = if cfg!(debug_assertions) { 20_000 } else { 200_000 };
    for _ in 0..inputs {
        let text: Vec<u8> = if random.once_in(4) {
            (0..random.below(80)).map(|_| random.next() as u8).collect()
        } else {
            (0..random.below(30)).flat_map(|_| random.pick(&parts)).copied().collect()
        };
        if let Err(error) = hp::read(&text[..]) {
            assert!(error.line() >= 1 && error.line() <= 1 + text.len() as u64);
        }
    }
}
