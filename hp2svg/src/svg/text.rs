//! Texts of profiles in XML and JSON, so escaped that they end nowhere else.

use std::fmt::{self, Write};

use hp2ps::metrics::shorten_to_chars;

use crate::scene::lossy;

/// A name for a reader: the middle of a long one left out, and in the place of bytes that are not UTF-8, of control
/// characters, and of those that change the direction of a text, a mark that something is there.
pub(crate) fn readable(name: &[u8], most_chars: usize) -> String {
    lossy(&shorten_to_chars(name, most_chars)).replace(char::is_control, "\u{fffd}")
}

/// A text in XML or HTML, between tags or in an attribute.
pub(crate) struct Xml<'a>(pub(crate) &'a str);

impl fmt::Display for Xml<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for c in self.0.chars() {
            match c {
                '&' => f.write_str("&amp;"),
                '<' => f.write_str("&lt;"),
                '>' => f.write_str("&gt;"),
                '"' => f.write_str("&quot;"),
                // XML 1.0 has few control characters and no non-characters, escaped or not.
                '\n' => f.write_char('\n'),
                '\u{fffe}' | '\u{ffff}' => f.write_char(char::REPLACEMENT_CHARACTER),
                c if c.is_control() => f.write_char(char::REPLACEMENT_CHARACTER),
                c => f.write_char(c),
            }?;
        }
        Ok(())
    }
}

/// A text as string in JSON. XML and HTML around it see neither markup nor the end of a script.
pub(crate) struct Json<'a>(pub(crate) &'a str);

impl fmt::Display for Json<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_char('"')?;
        for c in self.0.chars() {
            match c {
                '"' | '\\' => write!(f, "\\{c}"),
                '&' | '<' | '>' | '\u{2028}' | '\u{2029}' | '\u{fffe}' | '\u{ffff}' => {
                    write!(f, "\\u{:04x}", u32::from(c))
                }
                c if c.is_control() => write!(f, "\\u{:04x}", u32::from(c)),
                c => f.write_char(c),
            }?;
        }
        f.write_char('"')
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_ends_an_element_an_attribute_or_a_string() {
        let text = "a<b>&\"'\\]]>\u{1}\u{85}\u{ffff}\u{2028}ü";
        assert_eq!(Xml(text).to_string(), "a&lt;b&gt;&amp;&quot;'\\]]&gt;\u{fffd}\u{fffd}\u{fffd}\u{2028}ü");
        let json = Json(text).to_string();
        assert_eq!(json, "\"a\\u003cb\\u003e\\u0026\\\"'\\\\]]\\u003e\\u0001\\u0085\\uffff\\u2028ü\"");
    }

    #[test]
    fn names_turn_no_text_around_and_are_cut_in_the_middle() {
        assert_eq!(
            readable(b"n\xc3\xe2\x80\xae\x01 \xe2\x81\xa9x", 99),
            "n\u{fffd}\u{fffd}\u{fffd} \u{fffd}x"
        );
        assert_eq!(readable("ü".repeat(70_000).as_bytes(), 7), "üü...üü");
    }
}
