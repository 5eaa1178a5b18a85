//! How wide texts are.

use crate::lettering::{advance, visible};

/// The rough width of a text that GHC's tool reserves room by, in points. Bytes beyond ASCII count nothing.
///
/// ```
/// assert!(hp2ps::metrics::rough_width_pt(b"OTHER") > hp2ps::metrics::rough_width_pt(b"iii"));
/// ```
pub fn rough_width_pt(text: &[u8]) -> f64 {
    /// Points in a millimetre; the weights are in units of 0.6 mm.
    const POINTS_PER_MM: f64 = 2.834646;
    let weight: u32 = text.iter().map(|&byte| weight(byte)).sum();
    f64::from(weight) * (POINTS_PER_MM * 0.6)
}

fn weight(byte: u8) -> u32 {
    match byte {
        b'!' | b'"' | b'\'' | b',' | b'.' | b':' | b';' | b'I' | b'^' | b'`' | b'i' | b'l' | b'|' => 1,
        b'*' | b'?' | b'[' | b']' | b'j' | b'r' | b't' | b'{' | b'}' | b'~' => 2,
        b'0'..=b'9' => 4,
        b'A'..=b'Z' | b'm' => 5,
        b' '..=b'~' => 3,
        _ => 0,
    }
}

/// The width of a text as the readable style draws it at `size_pt` points, in points: in Helvetica, and in the glyphs
/// that stand for the characters it lacks.
///
/// ```
/// assert_eq!(hp2ps::metrics::helvetica_width_pt("Hi", 10.0), 9.44);
/// assert_eq!(hp2ps::metrics::helvetica_width_pt("é", 10.0), 5.56);
/// # #[cfg(feature = "glyphs")]
/// assert_eq!(hp2ps::metrics::helvetica_width_pt("日本", 10.0), 20.0);
/// ```
pub fn helvetica_width_pt(text: &str, size_pt: f64) -> f64 {
    let thousandths: f64 = visible(text).chars().map(advance).sum();
    thousandths * size_pt / 1000.0
}

/// The text, its middle replaced by `...` if it is wider than `room_pt` in Helvetica of `size_pt`.
///
/// ```
/// assert_eq!(hp2ps::metrics::shorten("an_unusually_long_name", 60.0, 10.0), "an_u...name");
/// ```
pub fn shorten(text: &str, room_pt: f64, size_pt: f64) -> String {
    const OMITTED: &str = "...";
    if helvetica_width_pt(text, size_pt) <= room_pt {
        return text.to_owned();
    }
    let half = (room_pt - helvetica_width_pt(OMITTED, size_pt)) / 2.0;
    let kept = |chars: &mut dyn Iterator<Item = char>| {
        let mut used = 0.0;
        let fits = |&c: &char| {
            used += helvetica_width_pt(c.encode_utf8(&mut [0; 4]), size_pt);
            used <= half
        };
        chars.take_while(fits).map(char::len_utf8).sum::<usize>()
    };
    let head = kept(&mut text.chars());
    let tail = kept(&mut text.chars().rev());
    format!("{}{OMITTED}{}", &text[..head], &text[text.len() - tail..])
}

/// The text, its middle replaced by `...` if it has more than `most` characters, those three counted. Bytes that
/// are not UTF-8 count one each and stay as they are.
///
/// ```
/// assert_eq!(hp2ps::metrics::shorten_to_chars(b"an_unusually_long_name", 11), b"an_u...name");
/// assert_eq!(hp2ps::metrics::shorten_to_chars(b"short", 11), b"short");
/// ```
pub fn shorten_to_chars(text: &[u8], most: usize) -> Vec<u8> {
    const OMITTED: &[u8] = b"...";
    let ends: Vec<usize> = text
        .utf8_chunks()
        .flat_map(|chunk| {
            let valid = chunk.valid().chars().map(char::len_utf8);
            valid.chain(chunk.invalid().iter().map(|_| 1))
        })
        .scan(0, |end, bytes| {
            *end += bytes;
            Some(*end)
        })
        .collect();
    if ends.len() <= most {
        return text.to_vec();
    }
    let kept = most.saturating_sub(OMITTED.len());
    let (head, tail) = (kept.div_ceil(2), kept / 2);
    let end = |chars: usize| chars.checked_sub(1).map_or(0, |last| ends[last]);
    [&text[..end(head)], OMITTED, &text[end(ends.len() - tail)..]].concat()
}
