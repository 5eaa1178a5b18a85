//! What the writer writes, the reader reads; and each sample leaves in one piece.

mod hp_common;

use std::io::{self, Read, Write};

use heapprof::hp::{self, Band, Header, Profile, Writer, escape_label};
use hp_common::{Random, random_hp};

fn random_profile(random: &mut Random) -> Profile {
    let text = |random: &mut Random| {
        (0..random.below(6)).map(|_| random.pick(&["\"", "a", " ", "ü", "\\", "("])).collect()
    };
    let names: Vec<String> = (0..random.below(8))
        .map(|at| escape_label(&format!("{at}{}", random.pick(&[" x", "/", "MARK", "ü"]))).into_owned())
        .collect();
    let mut profile = Profile {
        header: Header {
            job: text(random),
            date: text(random),
            sample_unit: text(random),
            value_unit: text(random),
        },
        ..Profile::default()
    };
    let mut micros = 0;
    for sample in 0..1 + random.below(6) {
        micros += 1 + random.below(3_000_000);
        profile.times_s.push(micros as f64 / 1e6);
        for name in &names {
            let value = random.next() >> random.below(64);
            let known = profile.bands.iter_mut().find(|band| band.name == name.as_bytes());
            match known {
                _ if value == 0 || random.once_in(3) => {}
                Some(band) => band.points.push((sample, value)),
                None => profile.bands.push(Band { name: name.clone().into(), points: vec![(sample, value)] }),
            }
        }
        if random.once_in(3) {
            profile.marks_s.push(random.below(9_000_000) as f64 / 1e6);
        }
    }
    profile
}

fn written(profile: &Profile) -> io::Result<Vec<u8>> {
    let mut writer = Writer::new(Vec::new(), &profile.header)?;
    let name = |band: &Band| String::from_utf8(band.name.clone()).expect("names here are UTF-8");
    let names: Vec<String> = profile.bands.iter().map(name).collect();
    for (sample, &time_s) in profile.times_s.iter().enumerate() {
        let rows = profile.bands.iter().zip(&names).map(|(band, name)| (&**name, band.value(sample)));
        writer.sample(time_s, rows)?;
    }
    profile.marks_s.iter().try_for_each(|&time_s| writer.mark(time_s))?;
    Ok(writer.into_inner())
}

#[test]
fn a_written_profile_reads_back_the_same() {
    let mut random = Random::new(3);
    for _ in 0..3_000 {
        let profile = random_profile(&mut random);
        let text = written(&profile).expect("a Vec takes all");
        assert_eq!(hp::read(&text[..]).expect("our own text"), profile, "{}", String::from_utf8_lossy(&text));
    }
}

/// A source that gives a few bytes at a time.
struct Trickle<'a>(&'a [u8], Random);

impl Read for Trickle<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.1.once_in(5) {
            return Err(io::ErrorKind::Interrupted.into());
        }
        let most = 1 + self.1.below(7);
        let most = most.min(into.len());
        self.0.read(&mut into[..most])
    }
}

#[test]
fn how_the_source_gives_its_bytes_changes_nothing() {
    let mut random = Random::new(4);
    for seed in 0..200 {
        let text = random_hp(&mut random);
        let whole = hp::read(text.as_bytes()).expect("a legal profile");
        let trickled = hp::read(Trickle(text.as_bytes(), Random::new(seed))).expect("the same profile");
        assert_eq!(whole, trickled);
        let crlf = text.replace('\n', "\r\n");
        assert_eq!(whole, hp::read(crlf.as_bytes()).expect("line ends are white space"));
        let one_line = text.replace('\n', " ");
        assert_eq!(whole, hp::read(one_line.as_bytes()).expect("line ends are white space"));
    }
}

#[test]
fn a_long_profile_reads_across_buffer_ends() {
    let mut text = b"JOB \"j\" DATE \"d\" SAMPLE_UNIT \"s\" VALUE_UNIT \"b\"".to_vec();
    let mut random = Random::new(5);
    let mut total = 0;
    for sample in 0..3_000 {
        let names: Vec<String> = (0..20).map(|at| format!("{}{at}", "n".repeat(random.below(60)))).collect();
        let rows: Vec<(&str, u64)> = names.iter().map(|name| (&**name, random.next() >> 44)).collect();
        total += rows.iter().map(|(_, value)| value).sum::<u64>();
        hp::push_sample(&mut text, f64::from(sample), rows);
    }
    assert!(text.len() > 2_000_000);
    let profile = hp::read(&text[..]).expect("our own text");
    let read: u64 = profile.bands.iter().flat_map(|band| &band.points).map(|(_, value)| value).sum();
    assert_eq!((read, profile.times_s.len()), (total, 3_000));
}

/// A sink that counts its calls and refuses when told to.
#[derive(Default)]
struct Calls {
    pieces: Vec<Vec<u8>>,
    full: bool,
}

impl Write for Calls {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.full {
            return Err(io::ErrorKind::StorageFull.into());
        }
        self.pieces.push(bytes.to_vec());
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn each_sample_is_handed_over_in_one_write() {
    let mut writer = Writer::new(Calls::default(), &Header::default()).expect("not full");
    for sample in 0..10 {
        let rows = (0..500).map(|_| ("name", sample));
        writer.sample(sample as f64, rows).expect("not full");
    }
    let pieces = writer.into_inner().pieces;
    assert_eq!(pieces.len(), 11);
    for piece in &pieces[1..] {
        assert!(piece.starts_with(b"BEGIN_SAMPLE ") && piece.ends_with(b".000000\n"));
    }
}

#[test]
fn a_full_disk_is_an_error_and_not_more() {
    assert!(Writer::new(Calls { full: true, ..Calls::default() }, &Header::default()).is_err());
}

#[test]
fn times_must_increase_as_written() {
    let mut writer = Writer::new(Vec::new(), &Header::default()).expect("a Vec takes all");
    writer.sample(1.0, []).expect("the first time");
    let before = 1.000_000_4;
    for time_s in [1.0, before, 0.5, -1.0, f64::NAN, f64::INFINITY, 1e13] {
        let error = writer.sample(time_s, [("a", 1)]).expect_err("refused");
        assert_eq!(error.kind(), io::ErrorKind::InvalidInput, "{time_s}");
    }
    writer.sample(1.000_000_6, []).expect("rounds up to the next microsecond");
    let text = String::from_utf8(writer.into_inner()).expect("ASCII");
    assert_eq!(text.matches("BEGIN_SAMPLE").count(), 2);
    assert!(!text.contains("a\t"));
}

#[test]
fn whatever_is_pushed_reads_back() {
    let long = format!("(7)leaf/{}", "x".repeat(6_000));
    let names = ["", "a b", "\"q", "MARK", "END_SAMPLE", "\u{b}", &long, "plain"];
    for time_s in [f64::NAN, -0.0, -5.0, f64::INFINITY, 1e300, 3.5] {
        let mut text = Vec::new();
        hp::push_header(&mut text, &Header { job: "two\nlines \"\0".into(), ..Header::default() });
        hp::push_sample(&mut text, time_s, names.map(|name| (name, 1)));
        hp::push_mark(&mut text, time_s);
        let profile = hp::read(&text[..]).expect("always legal");
        assert_eq!(profile.bands.len(), names.len());
        assert_eq!(profile.header.job, "two lines \" ");
        assert!(
            profile.bands[6].name.starts_with(b"(7)leaf/")
                && profile.bands[6].name.len() <= hp::MAX_NAME_BYTES
        );
    }
}
