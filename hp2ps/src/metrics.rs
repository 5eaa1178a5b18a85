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
        b'!' | b'"' | b'\'' | b',' | b'.' | b':' | b';' | b'I' | b'^' | b'`' | b'i' | b'l'
        | b'|' => 1,
        b'*' | b'?' | b'[' | b']' | b'j' | b'r' | b't' | b'{' | b'}' | b'~' => 2,
        b'0'..=b'9' => 4,
        b'A'..=b'Z' | b'm' => 5,
        b' '..=b'~' => 3,
        _ => 0,
    }
}
