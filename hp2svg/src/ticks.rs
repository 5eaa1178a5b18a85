//! Amounts and times in words, and the ticks of axes.

use hp2ps::round::{digits_of, multiples};

use crate::view::Mode;

/// Pixels from one tick to the next, at least.
const VALUE_APART_PX: f64 = 44.0;
const TIME_APART_PX: f64 = 84.0;

/// A tick of an axis.
#[derive(Clone, Debug, PartialEq)]
pub struct Tick {
    /// Its value, in the unit of the profile.
    pub value: f64,
    /// Its place in pixels.
    pub at: f64,
    /// Its label.
    pub label: String,
}

/// An axis.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    /// What labels count in, if they do not say it themselves.
    pub unit: String,
    /// In the order of their values.
    pub ticks: Vec<Tick>,
}

impl Axis {
    /// The axis with each tick where `place` puts its value.
    pub(crate) fn placed(mut self, place: impl Fn(f64) -> f64) -> Axis {
        self.ticks.iter_mut().for_each(|tick| tick.at = place(tick.value));
        self
    }
}

/// Ticks for values from `range.0` to `range.1` on an axis of that length.
pub(crate) fn values(range: (f64, f64), unit: &[u8], mode: Mode, length_px: f64) -> Axis {
    let about = (range.1 - range.0) * VALUE_APART_PX / length_px;
    if matches!(mode, Mode::Share | Mode::OwnPeak) {
        let step = nice_step(about * 100.0);
        let tick = |value: f64| Tick { value: value / 100.0, at: 0.0, label: format!("{value:.0} %") };
        let ticks = multiples(step, range.0 * 100.0, range.1 * 100.0).map(tick).collect();
        return Axis { unit: String::new(), ticks };
    }
    let scale = Scale::of(range.0.abs().max(range.1), unit);
    let step = nice_step(about / scale.size);
    let digits = digits_of(step);
    let tick = |value: f64| {
        let label = format!("{:.digits$} {}", value, scale.name);
        Tick { value: value * scale.size, at: 0.0, label: label.trim_end().to_owned() }
    };
    let ticks = multiples(step, range.0 / scale.size, range.1 / scale.size).map(tick).collect();
    Axis { unit: if unit == b"bytes" { String::new() } else { lossy(unit) }, ticks }
}

/// Ticks for times on an axis of that length. Seconds are counted in minutes and hours where that is shorter.
pub(crate) fn times((from, to): (f64, f64), unit: &[u8], length_px: f64) -> Axis {
    /// Round spans of time in seconds.
    const SPANS_S: [f64; 16] = [
        1.0, 2.0, 5.0, 10.0, 15.0, 30.0, 60.0, 120.0, 300.0, 600.0, 900.0, 1800.0, 3600.0, 7200.0, 10_800.0,
        21_600.0,
    ];
    let about = (to - from) * TIME_APART_PX / length_px;
    let clock = unit == b"seconds" && about > 1.0;
    let step = match SPANS_S.iter().find(|&&span_s| span_s >= about) {
        Some(&span_s) if clock => span_s,
        None if clock => nice_step(about / 43_200.0).max(1.0) * 43_200.0,
        _ => nice_step(about),
    };
    let digits = digits_of(step);
    let longest = from.abs().max(to.abs());
    let label = |value: f64| match longest {
        _ if !clock || longest < 120.0 => format!("{value:.digits$}"),
        3600.0.. => format!("{:.0}:{:02.0}", (value / 3600.0).floor(), (value % 3600.0) / 60.0),
        _ => format!("{:.0}:{:02.0}", (value / 60.0).floor(), value % 60.0),
    };
    let name = match longest {
        _ if !clock || longest < 120.0 => lossy(unit),
        3600.0.. => "hours:minutes".to_owned(),
        _ => "minutes:seconds".to_owned(),
    };
    let ticks = multiples(step, from, to).map(|value| Tick { value, at: 0.0, label: label(value) });
    Axis { unit: name, ticks: ticks.collect() }
}

/// An amount with three digits and its unit: bytes in powers of 1024, all else in powers of 1000.
///
/// ```
/// use hp2svg::ticks::amount;
/// assert_eq!(amount(1536.0, b"bytes"), "1.50 KiB");
/// assert_eq!(amount(12.0, b"bytes"), "12 B");
/// assert_eq!(amount(3_400_000.0, b"words"), "3.40 M words");
/// ```
pub fn amount(value: f64, unit: &[u8]) -> String {
    let scale = Scale::of(value.abs(), unit);
    let scaled = value / scale.size;
    let digits = if scale.size == 1.0 && scaled.fract() == 0.0 {
        0
    } else {
        2_usize.saturating_sub(magnitude(scaled))
    };
    let name =
        if unit == b"bytes" { scale.name.to_owned() } else { format!("{} {}", scale.name, lossy(unit)) };
    format!("{scaled:.digits$} {}", name.trim()).trim_end().to_owned()
}

/// An amount per second, minute, hour or day: the shortest in which it is one or more.
///
/// ```
/// assert_eq!(hp2svg::ticks::rate(2048.0, b"bytes"), "+2.00 KiB/s");
/// assert_eq!(hp2svg::ticks::rate(0.5, b"bytes"), "+30 B/min");
/// ```
pub fn rate(per_s: f64, unit: &[u8]) -> String {
    const SPANS: [(f64, &str); 4] = [(1.0, "s"), (60.0, "min"), (3600.0, "h"), (86_400.0, "day")];
    let shortest = SPANS.iter().find(|(length_s, _)| per_s.abs() * length_s >= 1.0).unwrap_or(&SPANS[3]);
    let sign = if per_s < 0.0 { "−" } else { "+" };
    format!("{sign}{}/{}", amount(per_s.abs() * shortest.0, unit), shortest.1)
}

/// A time in seconds in words.
///
/// ```
/// use hp2svg::ticks::time;
/// assert_eq!([time(0.0125), time(4.2), time(95.0), time(4000.0)], ["12.5 ms", "4.2 s", "1:35 min", "1:06:40 h"]);
/// ```
pub fn time(time_s: f64) -> String {
    let short = |value: f64, unit: &str| {
        let digits = 2_usize.saturating_sub(magnitude(value));
        let text = format!("{value:.digits$}");
        let text = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
        format!("{text} {unit}")
    };
    match time_s.abs() {
        0.0 => "0 s".to_owned(),
        ..1e-3 => short(time_s * 1e6, "µs"),
        ..0.1 => short(time_s * 1e3, "ms"),
        ..60.0 => short(time_s, "s"),
        ..3600.0 => format!("{:.0}:{:02.0} min", (time_s / 60.0).floor(), (time_s % 60.0).floor()),
        _ => {
            let minutes = (time_s % 3600.0 / 60.0).floor();
            format!("{:.0}:{minutes:02.0}:{:02.0} h", (time_s / 3600.0).floor(), (time_s % 60.0).floor())
        }
    }
}

/// A unit and its size.
struct Scale {
    size: f64,
    name: &'static str,
}

impl Scale {
    /// The largest unit of which `value` has one or more.
    fn of(value: f64, unit: &[u8]) -> Scale {
        const IEC: [&str; 9] = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB", "ZiB", "YiB"];
        const SI: [&str; 9] = ["", "k", "M", "G", "T", "P", "E", "Z", "Y"];
        let (base, names) = if unit == b"bytes" { (1024.0, IEC) } else { (1000.0, SI) };
        let mut scale = Scale { size: 1.0, name: names[0] };
        // What would be rounded to the next unit is said in that.
        for name in &names[1..] {
            if value < scale.size * base * 0.9995 {
                break;
            }
            scale = Scale { size: scale.size * base, name };
        }
        scale
    }
}

/// How many digits stand before the point, less one.
fn magnitude(value: f64) -> usize {
    match value.abs() {
        ..9.995 => 0,
        ..99.95 => 1,
        _ => 2,
    }
}

fn lossy(unit: &[u8]) -> String {
    String::from_utf8_lossy(unit).into_owned()
}

/// One, two or five times a power of ten, at least `about`.
fn nice_step(about: f64) -> f64 {
    if about.is_nan() || about <= 0.0 || about.is_infinite() {
        return 1.0;
    }
    let power = 10_f64.powf(about.log10().floor());
    [1.0, 2.0, 5.0, 10.0]
        .map(|digit| digit * power)
        .into_iter()
        .find(|step| *step >= about * 0.999)
        .unwrap_or(about)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(axis: &Axis) -> Vec<&str> {
        axis.ticks.iter().map(|tick| &*tick.label).collect()
    }

    #[test]
    fn values_have_one_unit_and_exact_ticks() {
        let axis = values((0.0, 5.0 * 1024.0 * 1024.0), b"bytes", Mode::Stacked, 250.0);
        assert_eq!(labels(&axis), ["0 MiB", "1 MiB", "2 MiB", "3 MiB", "4 MiB", "5 MiB"]);
        assert_eq!(axis.ticks[3].value, 3.0 * 1024.0 * 1024.0);
        let axis = values((0.0, 1.0), b"bytes", Mode::Share, 250.0);
        assert_eq!(labels(&axis), ["0 %", "20 %", "40 %", "60 %", "80 %", "100 %"]);
        let axis = values((-1500.0, 2000.0), b"bytes", Mode::Growth { since_s: 0.0 }, 200.0);
        assert_eq!(labels(&axis), ["-1 KiB", "0 KiB", "1 KiB"]);
    }

    #[test]
    fn times_are_minutes_and_hours_where_that_is_shorter() {
        assert_eq!(
            labels(&times((0.0, 0.02), b"seconds", 500.0)),
            ["0.000", "0.005", "0.010", "0.015", "0.020"]
        );
        assert_eq!(
            labels(&times((0.0, 600.0), b"seconds", 500.0)),
            ["0:00", "2:00", "4:00", "6:00", "8:00", "10:00"]
        );
        let day = times((0.0, 86_400.0), b"seconds", 500.0);
        assert_eq!((labels(&day)[1], &*day.unit), ("6:00", "hours:minutes"));
        let month = times((0.0, 30.0 * 86_400.0), b"seconds", 500.0);
        assert!(month.ticks.len() > 2 && month.ticks.len() < 9, "{month:?}");
        assert_eq!(labels(&times((0.0, 4.0), b"GCs", 400.0)), ["0", "1", "2", "3", "4"]);
    }

    #[test]
    fn amounts_round_into_the_next_unit() {
        assert_eq!(amount(1023.9, b"bytes"), "1.00 KiB");
        assert_eq!(amount(1000.0, b"bytes"), "1000 B");
        assert_eq!(amount(999.6e3, b""), "1.00 M");
        assert_eq!(amount(0.0, b"bytes"), "0 B");
        assert_eq!(amount(-2048.0, b"bytes"), "-2.00 KiB");
    }
}
