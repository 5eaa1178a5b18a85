//! Texts as strings of PostScript.

use std::io::Write;

/// A text as a string with its parentheses: escaped so that it ends nowhere else, in lines of less than 255 bytes.
pub(crate) fn literal(text: &[u8]) -> Vec<u8> {
    /// Where a line is broken; an escape takes up to four bytes, and something may stand before and behind.
    const LINE_BYTES: usize = 230;
    let mut escaped = Vec::with_capacity(text.len() + 2);
    escaped.push(b'(');
    let mut line = 0;
    for &byte in text {
        if escaped.len() - line > LINE_BYTES {
            escaped.extend_from_slice(b"\\\n");
            line = escaped.len();
        }
        match byte {
            b'\\' | b'(' | b')' => escaped.extend([b'\\', byte]),
            _ if byte.is_ascii_control() => {
                // Writing to a Vec cannot fail.
                let _ = write!(escaped, "\\{byte:03o}");
            }
            _ => escaped.push(byte),
        }
    }
    escaped.push(b')');
    escaped
}
