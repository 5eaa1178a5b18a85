//! What holds for every input: no panic, no more reading and writing than its size allows, errors in one line that
//! names one, pages of words and finite numbers, and `.aux` texts that come back as they were written.

use std::io::{self, Cursor, Read, Seek, SeekFrom, Write};

use hp2ps::layout::{KeyPlace, PageOptions, Style, TitleSize};
use hp2ps::{BandOptions, Chart, Drawing, Error, NameOrder, Placement, Previous};

use crate::hp_common::Random;

/// How a chart is asked for.
#[derive(Clone, Debug)]
pub(crate) struct Options {
    pub(crate) bands: BandOptions,
    pub(crate) page: PageOptions,
    pub(crate) placement: Placement,
    pub(crate) colour: bool,
}

impl Options {
    pub(crate) fn random(random: &mut Random) -> Options {
        let style = |random: &mut Random| [Style::Ghc, Style::Readable][random.below(2)];
        Options {
            bands: BandOptions {
                limit: [0, 1, 2, 20, 30][random.below(5)],
                trace_percent: [0.0, 1.0, 5.0][random.below(3)],
                fold_trace: random.once_in(2),
                limit_by_area: random.once_in(2),
                mend: random.once_in(2),
                by_deviation: random.once_in(3),
                by_name: [None, Some(NameOrder::GreatestOnTop), Some(NameOrder::SmallestOnTop)]
                    [random.below(3)],
            },
            page: PageOptions {
                text: style(random),
                axes: style(random),
                fills: style(random),
                name_chars: [None, Some(8), Some(32)][random.below(3)],
                title: [TitleSize::ByJob, TitleSize::Big, TitleSize::Small][random.below(3)],
                key: [KeyPlace::OnGraph, KeyPlace::OwnPages, KeyPlace::Nowhere][random.below(3)],
                no_marks: random.once_in(3),
            },
            placement: Placement {
                portrait: random.once_in(2),
                eps_width_pt: random.once_in(3).then_some(300.0),
            },
            colour: random.once_in(2),
        }
    }
}

/// Reads, lays out and writes; true if there was a chart.
pub(crate) fn draw(text: &[u8], aux: &[u8], options: &Options) -> bool {
    let previous = match Previous::parse(aux) {
        Ok(previous) => previous,
        Err(error) => {
            assert_tells_its_line(&error, aux);
            Previous::default()
        }
    };
    let Some(chart) = read(text, options, &previous) else { return false };
    let drawing = Drawing::new(&chart, &options.page, options.colour, &previous);
    chart.warnings.iter().chain(&drawing.warnings()).for_each(|line| assert_one_line(line));
    let mut page = Bounded::new(text, &chart);
    drawing.write_ps(&mut page, options.placement).expect("a page in proportion to the input");
    assert_page(&page.text);
    assert_comes_back(text, options, &drawing, &chart, aux.is_empty());
    true
}

fn read(text: &[u8], options: &Options, previous: &Previous) -> Option<Chart> {
    let mut input = Counted { text: Cursor::new(text), bytes: 0, calls: 0 };
    let chart = Chart::read(&mut input, &options.bands, previous);
    input.assert_bounded();
    match chart {
        Ok(chart) => {
            assert!(chart.x_range > 0.0 && chart.x_range.is_finite(), "{}", chart.x_range);
            assert!(chart.y_range > 0.0 && chart.y_range.is_finite(), "{}", chart.y_range);
            Some(chart)
        }
        Err(error) => {
            assert_tells_its_line(&error, text);
            None
        }
    }
}

/// The next chart finds a place and a shade for each band in the `.aux` text, and leaves the same text.
fn assert_comes_back(text: &[u8], options: &Options, drawing: &Drawing, chart: &Chart, first: bool) {
    let written = aux_text(text, drawing, chart);
    let shown = String::from_utf8_lossy(&written);
    let previous = Previous::parse(&written).unwrap_or_else(|error| panic!("{error}\n{shown}"));
    for band in &chart.bands {
        assert!(
            previous.order.contains_key(&band.name) && previous.shades.contains_key(&band.name),
            "{shown}"
        );
    }
    // Ranges below two decimals are lost, and matter if another chart had asked for them. Bands in OTHER have no
    // place of their own, and one that is named OTHER takes theirs.
    if first && !chart.bands.iter().any(|band| band.name == b"OTHER") {
        let next = read(text, options, &previous).expect("a chart as before");
        let drawing = Drawing::new(&next, &options.page, options.colour, &previous);
        assert_eq!(String::from_utf8_lossy(&aux_text(text, &drawing, &next)), shown);
    }
}

fn aux_text(text: &[u8], drawing: &Drawing, chart: &Chart) -> Vec<u8> {
    let mut written = Bounded::new(text, chart);
    drawing.write_aux(&mut written).expect("an .aux text in proportion to the input");
    written.text
}

fn assert_one_line(message: &str) {
    assert!(!message.chars().any(char::is_control), "{message:?}");
    assert!(message.len() < 1_000, "{message}");
}

/// An error about a text names one of its lines.
fn assert_tells_its_line(error: &Error, text: &[u8]) {
    let message = error.to_string();
    assert_one_line(&message);
    let line = message.strip_prefix("line ").and_then(|rest| rest.split_once(": "));
    let line: usize = line.and_then(|(line, _)| line.parse().ok()).unwrap_or_else(|| panic!("{message}"));
    let lines = text.iter().filter(|&&byte| byte == b'\n').count() + 1;
    assert!((1..=lines).contains(&line), "{lines} lines: {message}");
    assert!(message.contains("read ") && message.contains(", expected "), "{message}");
}

/// Words, finite numbers, whole strings and comments, nothing else.
fn assert_page(page: &[u8]) {
    let mut rest = page;
    while let Some((&byte, after)) = rest.split_first() {
        rest = match byte {
            b'(' => after_string(after),
            b'%' => &after[after.iter().position(|&byte| byte == b'\n').map_or(after.len(), |end| end + 1)..],
            b' ' | b'\n' => after,
            b'{' | b'}' | b'[' | b']' | b'<' | b'>' => after,
            _ => {
                let end = rest.iter().position(|&byte| ends_word(byte)).unwrap_or(rest.len());
                assert_word(&rest[..end]);
                &rest[end..]
            }
        };
    }
}

fn ends_word(byte: u8) -> bool {
    matches!(byte, b' ' | b'\n' | b'(' | b')' | b'{' | b'}' | b'[' | b']' | b'<' | b'>' | b'%')
}

fn after_string(mut text: &[u8]) -> &[u8] {
    let mut depth = 1;
    while depth > 0 {
        text = match text {
            [b'\\', _, after @ ..] => after,
            [byte, after @ ..] => {
                depth += i32::from(*byte == b'(') - i32::from(*byte == b')');
                assert!(!byte.is_ascii_control() || *byte == b'\n', "{byte} in a string");
                after
            }
            [] => panic!("the page ends in a string"),
        };
    }
    text
}

fn assert_word(word: &[u8]) {
    let shown = || String::from_utf8_lossy(word);
    if word.iter().all(|byte| byte.is_ascii_digit() || b".-".contains(byte)) {
        // What has more digits no double prints.
        assert!(word.len() < 330, "{} in a page", shown());
        return;
    }
    assert!(word.iter().all(u8::is_ascii_graphic), "{:?} in a page", shown());
    let bare = word.strip_prefix(b"-").unwrap_or(word);
    let no_number = [&b"inf"[..], b"nan"].iter().any(|name| bare.eq_ignore_ascii_case(name));
    assert!(!no_number, "{} in a page", shown());
}

/// Counts what is read: time without a clock.
struct Counted<'a> {
    text: Cursor<&'a [u8]>,
    bytes: usize,
    calls: usize,
}

impl Counted<'_> {
    fn assert_bounded(&self) {
        const PASSES: usize = 4;
        let length = self.text.get_ref().len();
        assert!(self.bytes <= PASSES * length, "{} bytes read of {length}", self.bytes);
        assert!(self.calls <= PASSES * (3 + length / 16_384), "{} reads of {length} bytes", self.calls);
    }
}

impl Read for Counted<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let bytes = self.text.read(into)?;
        self.bytes += bytes;
        self.calls += 1;
        Ok(bytes)
    }
}

impl Seek for Counted<'_> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.text.seek(to)
    }
}

/// Takes as much as a text of its size may become.
struct Bounded {
    text: Vec<u8>,
    most: usize,
}

impl Bounded {
    fn new(input: &[u8], chart: &Chart) -> Bounded {
        /// Head, frame, title and axes of a page; the outlines of one character; a point of an outline.
        const PAGE_BYTES: usize = 20_000;
        const CHAR_BYTES: usize = 3_000;
        const POINT_BYTES: usize = 150;
        let points = chart.bands.len() * (2 * chart.times_s.len() + 20) + chart.marks_s.len() * 8;
        let pages = 2 + chart.bands.len() / 20;
        let chars = input.len().min(20_000) + 200;
        Bounded {
            text: Vec::new(),
            most: pages * PAGE_BYTES + chars * CHAR_BYTES + points * POINT_BYTES + input.len() * 40,
        }
    }
}

impl Write for Bounded {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.text.len() + bytes.len() > self.most {
            return Err(io::Error::other(format!("more than {} bytes", self.most)));
        }
        self.text.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
