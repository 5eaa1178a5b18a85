//! The `.aux` file: ranges, order and shades of one chart, for the next one to reuse.
//!
//! ```text
//! X_RANGE 12.50        seconds
//! Y_RANGE 8192.00      in the value unit
//! ORDER name 1         from the bottom of the chart up
//! SHADE name 0.20      grey from 0 (black) to 1, or a packed colour
//! ```
//!
//! A name is a word, or if the text is no sequence of such items all between the keyword and the last word of a line. One
//! with blanks is written in double quotes, with `\\n` and `\\\\` for line ends and backslashes in it; GHC's tool has no such names.

use std::borrow::Cow;
use std::collections::HashMap;
use std::io::{self, BufRead, Write};

use crate::Error;
use crate::shade::{self, Shade};

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
    /// Red, green and blue of names, as far as the earlier page tells them.
    pub colours: HashMap<Vec<u8>, [f64; 3]>,
    /// The names of the ORDER lines, repeated ones too.
    sequence: Vec<Vec<u8>>,
}

impl Previous {
    /// Reads the text of an `.aux` file. Of two lines about one name the first counts; a name may be anything.
    ///
    /// # Errors
    /// [`Error::Aux`] with the line that is none of the four forms.
    ///
    /// ```
    /// let previous = hp2ps::Previous::parse(b"X_RANGE 2.00\nY_RANGE 8.00\nORDER a b 1\nSHADE a b 0.20\n")?;
    /// assert_eq!((previous.x_range, previous.shades[&b"a b"[..]]), (2.0, 0.2));
    /// # Ok::<(), hp2ps::Error>(())
    /// ```
    pub fn parse(text: &[u8]) -> Result<Previous, Error> {
        if let Some(previous) = Previous::from_words(text) {
            return Ok(previous);
        }
        let mut previous = Previous::default();
        for (at, line) in text.split(|&byte| byte == b'\n').enumerate() {
            previous.note(line.trim_ascii()).ok_or_else(|| Error::Aux {
                line: at + 1,
                read: String::from_utf8_lossy(line).trim().escape_debug().take(60).collect(),
            })?;
        }
        Ok(previous)
    }

    /// As GHC's tool reads it: words, wherever lines end. `None` if that is not what the text is.
    fn from_words(text: &[u8]) -> Option<Previous> {
        let mut previous = Previous::default();
        let mut words = text.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
        while let Some(keyword) = words.next() {
            let word = words.next()?;
            let item = match keyword {
                b"ORDER" | b"SHADE" => [keyword, word, words.next()?].join(&b' '),
                _ => [keyword, word].join(&b' '),
            };
            let quoted = word.starts_with(b"\"");
            previous.note(&item).filter(|()| !quoted)?;
        }
        Some(previous)
    }

    fn note(&mut self, line: &[u8]) -> Option<()> {
        if line.is_empty() {
            return Some(());
        }
        let (keyword, value) = split_first_word(line)?;
        match keyword {
            b"X_RANGE" => self.x_range = number(value)?,
            b"Y_RANGE" => self.y_range = number(value)?,
            b"ORDER" => {
                let (name, place) = name_and_number(value)?;
                self.order.entry(name.clone()).or_insert(place);
                self.sequence.push(name);
            }
            b"SHADE" => {
                let (name, shade) = name_and_number(value)?;
                self.shades.entry(name).or_insert(shade);
            }
            _ => return None,
        }
        Some(())
    }

    /// Takes the colours of the earlier chart from the head of its PostScript page, for `.aux` numbers tell hardly
    /// more than red. They count only if that page is one of this chart: a colour for each ORDER line, each with
    /// the number that its SHADE line has. GHC's pages tell none.
    ///
    /// ```
    /// let mut previous = hp2ps::Previous::parse(b"ORDER a 1\nORDER b 2\nSHADE a 0.05\nSHADE b 0.10\n")?;
    /// previous.take_colours(&b"%!PS-Adobe-3.0\n%%hp2psColours: 0.5,0.9,0 1,1,1\n"[..]);
    /// assert_eq!(previous.colours[&b"a"[..]], [0.5, 0.9, 0.0]);
    /// # Ok::<(), hp2ps::Error>(())
    /// ```
    pub fn take_colours(&mut self, page: impl BufRead) {
        let colours = shade::read_colours(page);
        let is_shade_of = |(name, colour): (&Vec<u8>, &[f64; 3])| {
            let known = self.shades.get(name);
            known.is_some_and(|&known| two_decimals(known) == two_decimals(Shade::of_colour(*colour).number))
        };
        let same_chart =
            colours.len() == self.sequence.len() && self.sequence.iter().zip(&colours).all(is_shade_of);
        if same_chart {
            self.colours = self.sequence.iter().cloned().zip(colours).collect();
        }
    }
}

fn two_decimals(number: f64) -> String {
    format!("{number:.2}")
}

fn split_first_word(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = line.iter().position(u8::is_ascii_whitespace)?;
    Some((&line[..end], line[end..].trim_ascii_start()))
}

/// The number is the last word, the name all before it.
fn name_and_number(value: &[u8]) -> Option<(Vec<u8>, f64)> {
    let end = value.iter().rposition(u8::is_ascii_whitespace)?;
    let name = value[..end].trim_ascii_end();
    let name = match name.strip_prefix(b"\"") {
        Some(quoted) => unescape(quoted.strip_suffix(b"\"")?)?,
        None => name.to_vec(),
    };
    Some((name, number(&value[end + 1..])?))
}

/// A name as it stands in its line.
fn word(name: &[u8]) -> Cow<'_, [u8]> {
    let plain = !name.is_empty() && !name.starts_with(b"\"") && !name.iter().any(u8::is_ascii_whitespace);
    if plain {
        return Cow::Borrowed(name);
    }
    let mut quoted = vec![b'"'];
    for &byte in name {
        match byte {
            b'\\' => quoted.extend_from_slice(b"\\\\"),
            b'\n' => quoted.extend_from_slice(b"\\n"),
            _ => quoted.push(byte),
        }
    }
    quoted.push(b'"');
    Cow::Owned(quoted)
}

fn unescape(quoted: &[u8]) -> Option<Vec<u8>> {
    let mut name = Vec::with_capacity(quoted.len());
    let mut bytes = quoted.iter();
    while let Some(&byte) = bytes.next() {
        name.push(match byte {
            b'\\' => match bytes.next()? {
                b'n' => b'\n',
                b'\\' => b'\\',
                _ => return None,
            },
            _ => byte,
        });
    }
    Some(name)
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
        out.write_all(&word(name))?;
        writeln!(out, " {}", at + 1)?;
    }
    for (name, shade) in bands {
        out.write_all(b"SHADE ")?;
        out.write_all(&word(name))?;
        writeln!(out, " {:.2}", shade.number)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const GREY: Shade = Shade { fill: shade::Fill::Grey(0.2), number: 0.2 };

    fn written(names: &[Vec<u8>]) -> Vec<u8> {
        let mut text = Vec::new();
        let bands = names.iter().map(|name| (&name[..], GREY));
        write(&mut text, (1.0, 2.0), bands).expect("a Vec takes all");
        text
    }

    #[test]
    fn any_names_come_back() {
        const PARTS: [&[u8]; 20] = [
            b"a",
            b"7",
            b" ",
            b"  ",
            b"\t",
            b"\n",
            b"\r",
            b"\x0b",
            b"\x0c",
            b"\0",
            b"\"",
            b"\\",
            b"n",
            b"X_RANGE",
            b"ORDER",
            b"SHADE 1",
            b"\xff",
            "ü".as_bytes(),
            b"0.20",
            b"%",
        ];
        let mut seed = 88_172_645_463_325_252_u64;
        let mut below = |end: usize| {
            seed ^= seed << 13;
            seed ^= seed >> 7;
            seed ^= seed << 17;
            (seed >> 11) as usize % end
        };
        for _ in 0..5_000 {
            let names: Vec<Vec<u8>> = (0..below(5))
                .map(|_| (0..below(6)).map(|_| PARTS[below(PARTS.len())]).collect::<Vec<_>>().concat())
                .collect();
            let text = written(&names);
            let previous = Previous::parse(&text).unwrap_or_else(|error| panic!("{names:?}: {error}"));
            assert_eq!(previous.sequence, names, "{}", String::from_utf8_lossy(&text));
            assert!(names.iter().all(|name| previous.shades[name] == 0.2));
            let place =
                |name: &Vec<u8>| names.iter().position(|known| known == name).map(|at| (at + 1) as f64);
            assert!(names.iter().all(|name| Some(previous.order[name]) == place(name)));
        }
    }

    #[test]
    fn only_names_with_blanks_are_quoted() {
        let names = [&b"X_RANGE"[..], b"7", b"a\"b\\", b"two words"].map(<[u8]>::to_vec);
        let text = String::from_utf8(written(&names)).expect("ASCII names");
        let [keyword, seven, quote, words] = ["X_RANGE", "7", "a\"b\\", "\"two words\""];
        for (at, name) in [keyword, seven, quote, words].iter().enumerate() {
            assert!(text.contains(&format!("\nORDER {name} {}\n", at + 1)), "{text}");
        }
    }

    /// An `.aux` text of two bands of these colours, read back beside a page with `comments`.
    fn colours_beside(comments: &str) -> HashMap<Vec<u8>, [f64; 3]> {
        let text = b"ORDER a 1\nORDER b 2\nSHADE a 0.00\nSHADE b 0.10\n";
        let mut previous = Previous::parse(text).expect("an .aux text");
        previous.take_colours(format!("%!PS-Adobe-3.0\n{comments}").as_bytes());
        previous.colours
    }

    #[test]
    fn colours_count_only_beside_their_own_aux_file() {
        let known =
            colours_beside("%%Title: x\n%%hp2psColours: 0,0.5,1\n%%hp2psColours: 1,0.5,0\n%%EndComments\n");
        assert_eq!((known[&b"a"[..]], known[&b"b"[..]]), ([0.0, 0.5, 1.0], [1.0, 0.5, 0.0]));
        for comments in [
            "",
            "%%hp2psColours: 0,0.5,1\n",
            "%%hp2psColours: 0,0.5,1 1,0.5,0 0,0,0\n",
            "%%hp2psColours: 1,0.5,1 1,0.5,0\n",
            "%%hp2psColours: 0,0.5 1,0.5,0\n",
            "%%hp2psColours: 0,0.5,2 1,0.5,0\n",
            "%%hp2psColours: 0,NaN,1 1,0.5,0\n",
            "newpath\n%%hp2psColours: 0,0.5,1 1,0.5,0\n",
        ] {
            assert!(colours_beside(comments).is_empty(), "{comments}");
        }
    }
}
