//! Texts as strings of PostScript, so escaped that they end nowhere else.
//!
//! GHC's tool escapes little: nothing in DATE and units, parentheses in the JOB, all that must be in names. Where
//! what it writes is a string all the same, its page is drawn; where it is none, the text itself.

use std::borrow::Cow;
use std::io::Write;

use crate::layout::Page;

/// Where a text comes from: what GHC's tool escapes of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// The JOB: parentheses.
    Job,
    /// A name: parentheses and backslashes.
    Name,
    /// DATE and units: nothing.
    Other,
}

/// What the page of GHC's tool shows of a text, as bytes in the standard encoding.
pub(crate) fn shown_by_ghc(text: &[u8], origin: Origin) -> Cow<'_, [u8]> {
    let body = match origin {
        Origin::Name => return Cow::Borrowed(text),
        Origin::Other => Cow::Borrowed(text),
        Origin::Job => Cow::Owned(text.iter().fold(Vec::new(), |mut body, &byte| {
            body.extend_from_slice(if matches!(byte, b'(' | b')') { b"\\" } else { b"" });
            body.push(byte);
            body
        })),
    };
    scan(&body).map_or(Cow::Borrowed(text), Cow::Owned)
}

/// Reads what stands between parentheses as PostScript does; none if the string would end elsewhere.
fn scan(body: &[u8]) -> Option<Vec<u8>> {
    let mut shown = Vec::with_capacity(body.len());
    let mut depth = 0_usize;
    let mut rest = body.iter().copied().peekable();
    while let Some(byte) = rest.next() {
        match byte {
            b'\\' => {
                shown.extend(escape(&mut rest)?);
                continue;
            }
            b'(' => depth += 1,
            b')' => depth = depth.checked_sub(1)?,
            _ => {}
        }
        shown.push(line_end(byte, &mut rest));
    }
    (depth == 0).then_some(shown)
}

type Rest<'a> = std::iter::Peekable<std::iter::Copied<std::slice::Iter<'a, u8>>>;

/// Every line end is a newline.
fn line_end(byte: u8, rest: &mut Rest<'_>) -> u8 {
    if byte != b'\r' {
        return byte;
    }
    rest.next_if_eq(&b'\n');
    b'\n'
}

/// The byte after a backslash, none if that joins two lines; no result at the end of the text.
fn escape(rest: &mut Rest<'_>) -> Option<Option<u8>> {
    let byte = rest.next()?;
    Some(match line_end(byte, rest) {
        b'\n' => None,
        b'n' => Some(b'\n'),
        b'r' => Some(b'\r'),
        b't' => Some(b'\t'),
        b'b' => Some(8),
        b'f' => Some(12),
        digit @ b'0'..=b'7' => {
            let mut code = digit - b'0';
            for _ in 0..2 {
                if let Some(digit) = rest.next_if(|digit| matches!(digit, b'0'..=b'7')) {
                    // What goes beyond a byte is lost.
                    code = (code << 3) | (digit - b'0');
                }
            }
            Some(code)
        }
        byte => Some(byte),
    })
}

/// What a page as GHC's tool draws it does not show of its texts, a line for each kind.
pub(crate) fn losses(page: &Page) -> Vec<String> {
    let headers = [
        ("JOB", &page.title.job, Origin::Job),
        ("DATE", &page.title.date, Origin::Other),
        ("SAMPLE_UNIT", &page.x_axis.unit, Origin::Other),
        ("VALUE_UNIT", &page.y_axis.unit, Origin::Other),
    ];
    let drops_backslash = |&&(_, text, origin): &&(&str, &Vec<u8>, Origin)| {
        text.contains(&b'\\') && *shown_by_ghc(text, origin) != text[..]
    };
    let mut losses: Vec<String> = headers
        .iter()
        .filter(drops_backslash)
        .map(|(keyword, ..)| {
            format!("{keyword}: backslashes are dropped as by GHC's hp2ps; --modern shows them")
        })
        .collect();
    let labels = page.key.iter().flatten().map(|entry| ("names", &page.bands[entry.band].label));
    let texts = headers.iter().map(|&(keyword, text, _)| (keyword, text)).chain(labels);
    let mut beyond: Vec<&str> = texts.filter(|(_, text)| !text.is_ascii()).map(|(what, _)| what).collect();
    beyond.dedup();
    if !beyond.is_empty() {
        losses.push(format!(
            "{}: characters beyond ASCII are drawn byte by byte as by GHC's hp2ps; --modern draws them readably",
            beyond.join(", ")
        ));
    }
    losses
}

/// A text as a string with its parentheses, in lines of less than 255 bytes.
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

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str, origin: Origin) -> String {
        String::from_utf8(shown_by_ghc(text.as_bytes(), origin).into_owned()).expect("UTF-8 in these tests")
    }

    #[test]
    fn a_valid_string_shows_what_postscript_reads() {
        for (text, expected) in [
            ("plain", "plain"),
            (r"a\nb\r\t\b\f", "a\nb\r\t\u{8}\u{c}"),
            (r"C:\prog\x", "C:progx"),
            (r"\101\7x\1018", "A\u{7}xA8"),
            (r"\501", "A"),
            ("a\\\nb\\\r\nc", "abc"),
            ("a\r\nb\rc\nd", "a\nb\nc\nd"),
            ("a (nested (twice)) b", "a (nested (twice)) b"),
            (r"\(", "("),
        ] {
            assert_eq!(shown(text, Origin::Other), expected, "{text}");
        }
        assert_eq!(shown(r"edge (x) back\slash)", Origin::Job), "edge (x) backslash)");
        assert_eq!(shown(r"a\b(c)", Origin::Name), r"a\b(c)");
    }

    #[test]
    fn what_is_no_string_shows_itself() {
        for text in [r"end\", "open(", "close)", "a)b(c", r"a\\\"] {
            assert_eq!(shown(text, Origin::Other), text);
        }
        // GHC's backslash before the parenthesis makes the one of the text a character.
        assert_eq!(shown(r"a\(b", Origin::Job), r"a\(b");
        assert_eq!(shown(r"a\(b\)", Origin::Job), r"a\(b\)");
    }

    #[test]
    fn literals_scan_back_and_have_short_lines() {
        let mut text: Vec<u8> = (0..=255).collect();
        text.extend_from_within(..);
        text.extend([b'\\'; 700]);
        let literal = literal(&text);
        assert!(literal.split(|&byte| byte == b'\n').all(|line| line.len() < 250));
        let body = literal.strip_prefix(b"(").and_then(|rest| rest.strip_suffix(b")")).expect("parentheses");
        assert_eq!(scan(body), Some(text));
    }
}
