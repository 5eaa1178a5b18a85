//! The table of bands that grow steadily, for a terminal or a log.

use std::io::{self, Write};

use crate::ticks::amount;
use crate::trend::{LEAST_SAMPLES, Run, Trend, Verdict};

/// The longest name shown whole, in characters.
const NAME_CHARS: usize = 40;

/// The units of a profile, as its header names them.
#[derive(Clone, Copy, Debug)]
pub struct Units<'a> {
    /// VALUE_UNIT
    pub value: &'a [u8],
    /// SAMPLE_UNIT
    pub time: &'a [u8],
}

impl Units<'_> {
    /// Those of GHC and heapprof.
    pub const USUAL: Units<'static> = Units { value: b"bytes", time: b"seconds" };

    fn amount(self, value: f64) -> String {
        if self.value == b"bytes" { bytes(value) } else { amount(value, b"").trim_end().to_owned() }
    }

    fn rate(self, span: f64) -> Rate {
        if self.time == b"seconds" {
            Rate::for_run(span)
        } else {
            Rate { unit: shown(self.time), seconds: 1.0 }
        }
    }

    fn growth(self, trend: &Trend, rate: &Rate) -> String {
        format!("{}/{}", self.amount(trend.slope_per_s * rate.seconds), rate.unit)
    }

    fn span(self, span: f64) -> String {
        if self.time == b"seconds" { duration(span) } else { format!("{span} {}", shown(self.time)) }
    }
}

/// Writes one line for each band that grows steadily, the largest growth first, then one for all bands
/// together if their sum does, then one that says how many there are. True if there is any.
///
/// A command that checks a profile should leave with 0 if there is none, with 1 on trouble with its files,
/// with 2 on wrong usage, and with 3 if a band or the sum of all grows steadily.
///
/// Names are shown as the profile has them, the middle of long ones left out. Characters that a terminal acts
/// on are written as `\u{1b}`, bytes that are not UTF-8 as `\xC3`.
///
/// # Errors
/// What `out` reports.
///
/// ```
/// use hp2svg::trend::Run;
/// let times_s: Vec<f64> = (0..=60).map(f64::from).collect();
/// let cache: Vec<f64> = (0..=60).map(|sample| 4096.0 + 1024.0 * f64::from(sample)).collect();
/// let totals: Vec<f64> = cache.iter().map(|cache| cache + 32_768.0).collect();
/// let run = Run::new(&times_s, &totals);
/// let trend = |values: &[f64]| run.trend(&run.levels(values.iter().copied().enumerate()));
/// let bands = [(&b"cache"[..], trend(&cache)), (b"index", trend(&[32_768.0; 61]))];
/// let mut table = Vec::new();
/// assert!(hp2svg::write_leaks(&mut table, &run, &bands, hp2svg::Units::USUAL)?);
/// assert_eq!(
///     String::from_utf8_lossy(&table),
///     "band            start        peak         end          growth    share  confidence
/// cache         4.0 KiB    64.0 KiB    64.0 KiB       1.0 KiB/s   66.7 %    > 99.9 %
/// all bands    36.0 KiB    96.0 KiB    96.0 KiB       1.0 KiB/s  100.0 %    > 99.9 %
/// 1 of 2 bands grows steadily, in 61 samples over 60 s\n"
/// );
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn write_leaks(
    out: &mut dyn Write,
    run: &Run,
    bands: &[(&[u8], Trend)],
    units: Units<'_>,
) -> io::Result<bool> {
    let grows = |trend: &Trend| trend.verdict == Verdict::GrowsSteadily;
    let mut leaks: Vec<(String, &Trend)> =
        bands.iter().filter(|(_, trend)| grows(trend)).map(|(name, trend)| (shown(name), trend)).collect();
    leaks.sort_by(|a, b| b.1.growth.total_cmp(&a.1.growth).then_with(|| a.0.cmp(&b.0)));
    let count = leaks.len();
    let total = run.total();
    if grows(&total) {
        // No band has a blank in its name.
        leaks.push((String::from("all bands"), &total));
    }
    write_rows(out, run, &leaks, units)?;
    writeln!(out, "{}", closing_line(run, bands.len(), count, grows(&total), units))?;
    Ok(!leaks.is_empty())
}

fn write_rows(
    out: &mut dyn Write,
    run: &Run,
    leaks: &[(String, &Trend)],
    units: Units<'_>,
) -> io::Result<()> {
    if leaks.is_empty() {
        return Ok(());
    }
    let rate = units.rate(run.span_s());
    let width = leaks.iter().map(|(name, _)| name.chars().count()).fold("band".len(), usize::max);
    let head = ["start", "peak", "end", "growth", "share", "confidence"].map(String::from);
    write_row(out, width, "band", &head)?;
    for (name, trend) in leaks {
        let [start, peak, end] = [trend.start, trend.peak, trend.end].map(|value| units.amount(value));
        let share = format!("{:.1} %", 100.0 * trend.share);
        write_row(
            out,
            width,
            name,
            &[start, peak, end, units.growth(trend, &rate), share, percent(trend.confidence)],
        )?;
    }
    Ok(())
}

fn write_row(out: &mut dyn Write, width: usize, name: &str, cells: &[String; 6]) -> io::Result<()> {
    let [start, peak, end, growth, share, confidence] = cells;
    writeln!(
        out,
        "{name:width$}  {start:>10}  {peak:>10}  {end:>10}  {growth:>14}  {share:>7}  {confidence:>10}"
    )
}

fn closing_line(run: &Run, bands: usize, leaks: usize, total: bool, units: Units<'_>) -> String {
    let samples = run.samples();
    if run.total().verdict == Verdict::TooFewSamples {
        return format!(
            "too few samples to tell: {samples}, expected {LEAST_SAMPLES} or more spread over the run"
        );
    }
    let verb = if leaks > 1 { "grow" } else { "grows" };
    let together = match (leaks, total) {
        (0, true) => ", but all together do",
        _ => "",
    };
    let leaks = if leaks == 0 { String::from("none") } else { leaks.to_string() };
    format!(
        "{leaks} of {bands} bands {verb} steadily{together}, in {samples} samples over {}",
        units.span(run.span_s())
    )
}

/// The time over which growth is told: the unit in which a reader thinks of a run that long.
struct Rate {
    unit: String,
    seconds: f64,
}

impl Rate {
    fn for_run(span_s: f64) -> Rate {
        let (unit, seconds) = match span_s {
            ..600.0 => ("s", 1.0),
            ..36_000.0 => ("min", 60.0),
            _ => ("h", 3600.0),
        };
        Rate { unit: unit.to_owned(), seconds }
    }
}

/// A number of bytes, in the largest unit of which there is one.
fn bytes(value: f64) -> String {
    const UNITS: [&str; 6] = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    if value.abs() < 1024.0 {
        return format!("{value:.0} B");
    }
    let power = ((value.abs().log2() / 10.0) as usize).clamp(1, UNITS.len());
    format!("{:.1} {}", value / 1024_f64.powi(power as i32), UNITS[power - 1])
}

/// A chance that is never shown as certain.
fn percent(chance: f64) -> String {
    if chance > 0.999 { String::from("> 99.9 %") } else { format!("{:.1} %", 100.0 * chance) }
}

fn duration(span_s: f64) -> String {
    match span_s {
        ..10.0 => format!("{span_s:.2} s"),
        ..600.0 => format!("{span_s:.0} s"),
        ..36_000.0 => format!("{:.0} min", span_s / 60.0),
        _ => format!("{:.0} h", span_s / 3600.0),
    }
}

/// A name that is safe to print, at most [`NAME_CHARS`] characters long.
fn shown(name: &[u8]) -> String {
    let mut text = String::new();
    for chunk in name.utf8_chunks() {
        for c in chunk.valid().chars() {
            if is_acted_on(c) { text.extend(c.escape_unicode()) } else { text.push(c) }
        }
        text.extend(chunk.invalid().iter().map(|byte| format!("\\x{byte:02X}")));
    }
    let chars: Vec<char> = text.chars().collect();
    if chars.len() <= NAME_CHARS {
        return text;
    }
    let half = (NAME_CHARS - 3) / 2;
    let (head, tail) = (&chars[..half + 1], &chars[chars.len() - half..]);
    head.iter().chain(&['.'; 3]).chain(tail).collect()
}

/// Whether a terminal does something on this character rather than showing it: controls, and those of
/// direction and joining, which can make a line look like another one.
fn is_acted_on(c: char) -> bool {
    c.is_control()
        || matches!(
            c,
            '\u{ad}' | '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
                | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}'
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_safe_to_print_and_cut_in_the_middle_by_characters() {
        assert_eq!(shown(b"(12)main/CAF"), "(12)main/CAF");
        assert_eq!(
            shown("größe\u{1b}[2J\r\u{202e}x\u{9b}".as_bytes()),
            "größe\\u{1b}[2J\\u{d}\\u{202e}x\\u{9b}"
        );
        assert_eq!(shown(b"n\xc3\xff"), "n\\xC3\\xFF");
        assert_eq!(shown("ü".repeat(40).as_bytes()), "ü".repeat(40));
        let long = format!("{}{}", "ü".repeat(30), "z".repeat(30));
        assert_eq!(shown(long.as_bytes()), format!("{}...{}", "ü".repeat(19), "z".repeat(18)));
    }

    #[test]
    fn bytes_go_into_the_largest_unit_of_which_there_is_one() {
        let known = [
            (0.0, "0 B"),
            (1023.0, "1023 B"),
            (1024.0, "1.0 KiB"),
            (-1536.0, "-1.5 KiB"),
            (1_048_576.0, "1.0 MiB"),
            (2.5e10, "23.3 GiB"),
            (1.2e24, "1040834.1 EiB"),
        ];
        for (value, text) in known {
            assert_eq!(bytes(value), text);
        }
    }

    #[test]
    fn growth_is_told_per_second_minute_or_hour_by_the_length_of_the_run() {
        for (span_s, unit, text) in [
            (599.0, "s", "599 s"),
            (601.0, "min", "10 min"),
            (35_999.0, "min", "600 min"),
            (36_001.0, "h", "10 h"),
        ] {
            assert_eq!((&*Rate::for_run(span_s).unit, &*duration(span_s)), (unit, text));
        }
    }

    #[test]
    fn confidence_is_never_shown_as_certain() {
        assert_eq!(
            [0.5, 0.98, 0.9989, 0.99901, 1.0].map(percent),
            ["50.0 %", "98.0 %", "99.9 %", "> 99.9 %", "> 99.9 %"]
        );
    }
}
