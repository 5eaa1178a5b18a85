//! How wide texts are.

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

/// Advance widths of Helvetica for the characters from blank to tilde, in thousandths of the size
/// (Adobe's font metrics for Helvetica, with the ASCII quotes).
const HELVETICA: [u16; 95] = [
    278, 278, 355, 556, 556, 889, 667, 191, 333, 333, 389, 584, 278, 333, 278, 278, // blank to /
    556, 556, 556, 556, 556, 556, 556, 556, 556, 556, 278, 278, 584, 584, 584, 556, // 0 to ?
    1015, 667, 667, 722, 722, 667, 611, 778, 722, 278, 500, 667, 556, 833, 722, 778, // @ to O
    667, 778, 722, 667, 611, 722, 667, 944, 667, 667, 611, 278, 278, 278, 469, 556, // P to _
    333, 556, 556, 500, 556, 556, 278, 556, 556, 222, 222, 500, 222, 833, 556, 556, // ` to o
    556, 556, 333, 500, 278, 556, 500, 722, 500, 500, 500, 334, 260, 334, 584, // p to ~
];

/// The width of a text in Helvetica of `size_pt` points, in points. Characters beyond ASCII count as
/// wide as a digit, those of wide scripts as a whole em.
///
/// ```
/// assert_eq!(hp2ps::metrics::helvetica_width_pt("Hi", 10.0), 9.44);
/// ```
pub fn helvetica_width_pt(text: &str, size_pt: f64) -> f64 {
    let thousandths: u64 = text.chars().map(advance).sum();
    thousandths as f64 * size_pt / 1000.0
}

fn advance(c: char) -> u64 {
    match c {
        ' '..='~' => HELVETICA[c as usize - ' ' as usize].into(),
        '\u{1100}'.. => 1000,
        _ => 556,
    }
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
            used += advance(c) as f64 * size_pt / 1000.0;
            used <= half
        };
        chars.take_while(fits).map(char::len_utf8).sum::<usize>()
    };
    let head = kept(&mut text.chars());
    let tail = kept(&mut text.chars().rev());
    format!("{}{OMITTED}{}", &text[..head], &text[text.len() - tail..])
}
