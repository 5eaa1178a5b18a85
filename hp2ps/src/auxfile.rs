//! The `.aux` file: ranges, order and shades of one chart, for the next one to reuse.
//!
//! ```text
//! X_RANGE 12.50        seconds
//! Y_RANGE 8192.00      in the value unit
//! ORDER name 1         from the bottom of the chart up
//! SHADE name 0.20      grey from 0 (black) to 1, or a packed colour
//! ```

use std::collections::HashMap;
use std::io::{self, Write};

use crate::Error;
use crate::shade::Shade;

/// What a chart takes over from an earlier one.
#[derive(Clone, Debug, Default)]
pub struct Previous {
    /// The least width of the chart, in the sample unit.
    pub x_range: f64,
    /// The least height of the chart, in the value unit.
    pub y_range: f64,
    /// Places of names; those without one count as 0.
    pub order: HashMap<Vec<u8>, f64>,
    /// Shades of names.
    pub shades: HashMap<Vec<u8>, f64>,
}

impl Previous {
    /// Reads the text of an `.aux` file. Of two lines about one name the first counts; a name may be
    /// any word.
    ///
    /// # Errors
    /// [`Error::Aux`] with the line that is none of the four forms.
    ///
    /// ```
    /// let previous = hp2ps::Previous::parse(b"X_RANGE 2.00\nY_RANGE 8.00\nORDER a 1\nSHADE a 0.20\n")?;
    /// assert_eq!((previous.x_range, previous.shades[&b"a"[..]]), (2.0, 0.2));
    /// # Ok::<(), hp2ps::Error>(())
    /// ```
    pub fn parse(text: &[u8]) -> Result<Previous, Error> {
        let mut previous = Previous::default();
        for (at, line) in text.split(|&byte| byte == b'\n').enumerate() {
            let words: Vec<&[u8]> =
                line.split(|byte| byte.is_ascii_whitespace()).filter(|word| !word.is_empty()).collect();
            previous.note(&words).ok_or_else(|| Error::Aux {
                line: at + 1,
                read: String::from_utf8_lossy(line).trim().escape_debug().take(60).collect(),
            })?;
        }
        Ok(previous)
    }

    fn note(&mut self, words: &[&[u8]]) -> Option<()> {
        match *words {
            [] => {}
            [b"X_RANGE", range] => self.x_range = number(range)?,
            [b"Y_RANGE", range] => self.y_range = number(range)?,
            [b"ORDER", name, place] => {
                self.order.entry(name.to_vec()).or_insert(number(place)?);
            }
            [b"SHADE", name, shade] => {
                self.shades.entry(name.to_vec()).or_insert(number(shade)?);
            }
            _ => return None,
        }
        Some(())
    }
}

fn number(word: &[u8]) -> Option<f64> {
    let value: f64 = str::from_utf8(word).ok()?.parse().ok()?;
    (0.0..1e300).contains(&value).then_some(value)
}

/// Writes the `.aux` text of a chart: its ranges, and its bands from the bottom up with their shades.
pub(crate) fn write<'a>(
    out: &mut (impl Write + ?Sized),
    (x_range, y_range): (f64, f64),
    bands: impl Iterator<Item = (&'a [u8], Shade)> + Clone,
) -> io::Result<()> {
    write!(out, "X_RANGE {x_range:.2}\nY_RANGE {y_range:.2}\n")?;
    for (at, (name, _)) in bands.clone().enumerate() {
        out.write_all(b"ORDER ")?;
        out.write_all(name)?;
        writeln!(out, " {}", at + 1)?;
    }
    for (name, shade) in bands {
        out.write_all(b"SHADE ")?;
        out.write_all(name)?;
        writeln!(out, " {:.2}", shade.number)?;
    }
    Ok(())
}
