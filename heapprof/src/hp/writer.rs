//! Writes `.hp` text: functions that append to a buffer of the caller's, and a streaming writer on top.

use std::io::{self, Write};

use super::name::shorten;
use super::{Header, KEYWORDS, MAX_NAME_BYTES, escape_label};

/// The greatest time that is written, in seconds (some 31,000 years); with six decimals it stays below the
/// 32 characters that GHC's reader takes for a number.
pub const MAX_TIME_S: f64 = 1e12;

/// Appends the four header lines. Quotes are doubled; control characters, line ends among them, become blanks.
///
/// ```
/// use heapprof::hp::{Header, push_header};
/// let mut text = Vec::new();
/// push_header(&mut text, &Header { job: "say \"hi\"".into(), ..Header::default() });
/// assert!(text.starts_with(b"JOB \"say \"\"hi\"\"\"\nDATE \"\"\n"));
/// ```
pub fn push_header(out: &mut Vec<u8>, header: &Header) {
    let Header { job, date, sample_unit, value_unit } = header;
    for (keyword, text) in KEYWORDS.iter().zip([job, date, sample_unit, value_unit]) {
        out.extend_from_slice(keyword.as_bytes());
        out.extend_from_slice(b" \"");
        for byte in text.bytes() {
            match byte {
                b'"' => out.extend_from_slice(b"\"\""),
                _ if byte.is_ascii_control() => out.push(b' '),
                _ => out.push(byte),
            }
        }
        out.extend_from_slice(b"\"\n");
    }
}

/// Appends one sample: `time_s` in seconds with six decimals, then a row per name; rows of zero are left out.
///
/// Times below zero or not a number are written as zero, those above [`MAX_TIME_S`] as that.
/// A name no reader would take whole (with white space, a leading quote, empty, or a keyword) is written through
/// [`escape_label`], and one longer than [`MAX_NAME_BYTES`] loses its middle: the text always reads back.
///
/// ```
/// use heapprof::hp::push_sample;
/// let mut text = Vec::new();
/// push_sample(&mut text, 1.25, [("(1)main", 96), ("(2)idle", 0)]);
/// assert_eq!(text, b"BEGIN_SAMPLE 1.250000\n(1)main\t96\nEND_SAMPLE 1.250000\n");
/// ```
pub fn push_sample<'a>(out: &mut Vec<u8>, time_s: f64, rows: impl IntoIterator<Item = (&'a str, u64)>) {
    push_line(out, "BEGIN_SAMPLE ", time_s);
    for (name, value) in rows {
        if value != 0 {
            push_name(out, name);
            out.push(b'\t');
            push_number(out, value);
            out.push(b'\n');
        }
    }
    push_line(out, "END_SAMPLE ", time_s);
}

/// Appends a mark at `time_s` seconds, written as [`push_sample`] writes its time.
///
/// ```
/// let mut text = Vec::new();
/// heapprof::hp::push_mark(&mut text, 0.5);
/// assert_eq!(text, b"MARK 0.500000\n");
/// ```
pub fn push_mark(out: &mut Vec<u8>, time_s: f64) {
    push_line(out, "MARK ", time_s);
}

fn push_line(out: &mut Vec<u8>, keyword: &str, time_s: f64) {
    // A NaN is not above zero, and neither is the zero with a sign.
    let time_s = if time_s > 0.0 { time_s.min(MAX_TIME_S) } else { 0.0 };
    // Writing to a Vec cannot fail.
    let _ = writeln!(out, "{keyword}{time_s:.6}");
}

fn push_name(out: &mut Vec<u8>, name: &str) {
    let taken_whole = !name.is_empty()
        && !name.starts_with('"')
        && !name.bytes().any(super::is_space)
        && !KEYWORDS.contains(&name);
    if taken_whole && name.len() <= MAX_NAME_BYTES {
        return out.extend_from_slice(name.as_bytes());
    }
    let word = if taken_whole { name.into() } else { escape_label(name) };
    out.extend_from_slice(shorten(&word, MAX_NAME_BYTES, str::len).as_bytes());
}

fn push_number(out: &mut Vec<u8>, mut value: u64) {
    let mut digits = [0; 20];
    let mut at = digits.len();
    loop {
        at -= 1;
        digits[at] = b'0' + (value % 10) as u8;
        value /= 10;
        if value == 0 {
            return out.extend_from_slice(&digits[at..]);
        }
    }
}

/// Writes a profile sample by sample.
///
/// Each call hands its whole text to the sink in one `write_all`, so what a killed program leaves behind
/// ends with a complete sample unless the sink itself buffers or writes in parts.
///
/// Sample times must increase strictly *as written*, that is after rounding to six decimals; two samples within
/// one microsecond are refused, since readers would see no time between them.
#[derive(Debug)]
pub struct Writer<W> {
    sink: W,
    /// The text of one call; empty between calls.
    buffer: Vec<u8>,
    /// The time of the last sample in microseconds, as written.
    last_us: Option<u64>,
}

impl<W: Write> Writer<W> {
    /// Starts a profile: writes the header.
    ///
    /// # Errors
    /// What the sink reports.
    pub fn new(sink: W, header: &Header) -> io::Result<Self> {
        let mut writer = Writer { sink, buffer: Vec::new(), last_us: None };
        push_header(&mut writer.buffer, header);
        writer.hand_over()?;
        Ok(writer)
    }

    /// Writes one sample, `time_s` in seconds; see [`push_sample`] for names and zero rows.
    ///
    /// # Errors
    /// `InvalidInput`, and nothing is written, if `time_s` is negative, not a number, above [`MAX_TIME_S`], or
    /// rounds to six decimals no greater than the time before it. Otherwise what the sink reports.
    ///
    /// ```
    /// use heapprof::hp::{Header, Writer};
    /// let mut writer = Writer::new(Vec::new(), &Header::default())?;
    /// writer.sample(0.1, [("a", 1)])?;
    /// assert!(writer.sample(0.1000004, [("a", 2)]).is_err());
    /// writer.sample(0.1000006, [("a", 2)])?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn sample<'a>(
        &mut self,
        time_s: f64,
        rows: impl IntoIterator<Item = (&'a str, u64)>,
    ) -> io::Result<()> {
        let at_us = written_us(time_s)?;
        if let Some(last_us) = self.last_us.filter(|&last_us| at_us <= last_us) {
            return Err(refused(format!(
                "read sample time {time_s:.6}, expected more than {}.{:06}",
                last_us / 1_000_000,
                last_us % 1_000_000
            )));
        }
        self.last_us = Some(at_us);
        push_sample(&mut self.buffer, time_s, rows);
        self.hand_over()
    }

    /// Writes a mark at `time_s` seconds; marks may have any order.
    ///
    /// # Errors
    /// `InvalidInput` if `time_s` is negative, not a number or above [`MAX_TIME_S`]; otherwise what the sink reports.
    pub fn mark(&mut self, time_s: f64) -> io::Result<()> {
        written_us(time_s)?;
        push_mark(&mut self.buffer, time_s);
        self.hand_over()
    }

    /// Gives the sink back.
    pub fn into_inner(self) -> W {
        self.sink
    }

    fn hand_over(&mut self) -> io::Result<()> {
        let result = self.sink.write_all(&self.buffer);
        self.buffer.clear();
        result
    }
}

/// The microseconds that `{:.6}` prints for `time_s`. Taken from the text, so that both round alike.
fn written_us(time_s: f64) -> io::Result<u64> {
    if !(0.0..=MAX_TIME_S).contains(&time_s) {
        return Err(refused(format!("read time {time_s}, expected 0 to {MAX_TIME_S} seconds")));
    }
    let digits = format!("{time_s:.6}").replace(['.', '-'], "");
    digits.parse().map_err(io::Error::other)
}

fn refused(message: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, message)
}
