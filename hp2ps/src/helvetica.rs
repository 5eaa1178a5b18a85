//! Helvetica as every PostScript interpreter has it: its characters, their widths, and the codes they are drawn by.

/// Advance widths of the characters from blank to tilde, in thousandths of the size (Adobe's font metrics for
/// Helvetica, with the ASCII quotes).
const ASCII: [u16; 95] = [
    278, 278, 355, 556, 556, 889, 667, 191, 333, 333, 389, 584, 278, 333, 278, 278, // blank to /
    556, 556, 556, 556, 556, 556, 556, 556, 556, 556, 278, 278, 584, 584, 584, 556, // 0 to ?
    1015, 667, 667, 722, 722, 667, 611, 778, 722, 278, 500, 667, 556, 833, 722, 778, // @ to O
    667, 778, 722, 667, 611, 722, 667, 944, 667, 667, 611, 278, 278, 278, 469, 556, // P to _
    333, 556, 556, 500, 556, 556, 278, 556, 556, 222, 222, 500, 222, 833, 556, 556, // ` to o
    556, 556, 333, 500, 278, 556, 500, 722, 500, 500, 500, 334, 260, 334, 584, // p to ~
];

/// The characters beyond ASCII: code in the standard encoding or 0, advance width, name. The fraction slash, whose
/// width is not the same in every make of the font, is left out.
const BEYOND_ASCII: [(char, u8, u16, &str); 132] = [
    ('¡', 161, 333, "exclamdown"),
    ('¢', 162, 556, "cent"),
    ('£', 163, 556, "sterling"),
    ('¤', 168, 556, "currency"),
    ('¥', 165, 556, "yen"),
    ('¦', 0, 260, "brokenbar"),
    ('§', 167, 556, "section"),
    ('¨', 200, 333, "dieresis"),
    ('©', 0, 737, "copyright"),
    ('ª', 227, 370, "ordfeminine"),
    ('«', 171, 556, "guillemotleft"),
    ('¬', 0, 584, "logicalnot"),
    ('®', 0, 737, "registered"),
    ('¯', 197, 333, "macron"),
    ('°', 0, 400, "degree"),
    ('±', 0, 584, "plusminus"),
    ('²', 0, 333, "twosuperior"),
    ('³', 0, 333, "threesuperior"),
    ('´', 194, 333, "acute"),
    ('µ', 0, 556, "mu"),
    ('¶', 182, 537, "paragraph"),
    ('·', 180, 278, "periodcentered"),
    ('¸', 203, 333, "cedilla"),
    ('¹', 0, 333, "onesuperior"),
    ('º', 235, 365, "ordmasculine"),
    ('»', 187, 556, "guillemotright"),
    ('¼', 0, 834, "onequarter"),
    ('½', 0, 834, "onehalf"),
    ('¾', 0, 834, "threequarters"),
    ('¿', 191, 611, "questiondown"),
    ('À', 0, 667, "Agrave"),
    ('Á', 0, 667, "Aacute"),
    ('Â', 0, 667, "Acircumflex"),
    ('Ã', 0, 667, "Atilde"),
    ('Ä', 0, 667, "Adieresis"),
    ('Å', 0, 667, "Aring"),
    ('Æ', 225, 1000, "AE"),
    ('Ç', 0, 722, "Ccedilla"),
    ('È', 0, 667, "Egrave"),
    ('É', 0, 667, "Eacute"),
    ('Ê', 0, 667, "Ecircumflex"),
    ('Ë', 0, 667, "Edieresis"),
    ('Ì', 0, 278, "Igrave"),
    ('Í', 0, 278, "Iacute"),
    ('Î', 0, 278, "Icircumflex"),
    ('Ï', 0, 278, "Idieresis"),
    ('Ð', 0, 722, "Eth"),
    ('Ñ', 0, 722, "Ntilde"),
    ('Ò', 0, 778, "Ograve"),
    ('Ó', 0, 778, "Oacute"),
    ('Ô', 0, 778, "Ocircumflex"),
    ('Õ', 0, 778, "Otilde"),
    ('Ö', 0, 778, "Odieresis"),
    ('×', 0, 584, "multiply"),
    ('Ø', 233, 778, "Oslash"),
    ('Ù', 0, 722, "Ugrave"),
    ('Ú', 0, 722, "Uacute"),
    ('Û', 0, 722, "Ucircumflex"),
    ('Ü', 0, 722, "Udieresis"),
    ('Ý', 0, 667, "Yacute"),
    ('Þ', 0, 667, "Thorn"),
    ('ß', 251, 611, "germandbls"),
    ('à', 0, 556, "agrave"),
    ('á', 0, 556, "aacute"),
    ('â', 0, 556, "acircumflex"),
    ('ã', 0, 556, "atilde"),
    ('ä', 0, 556, "adieresis"),
    ('å', 0, 556, "aring"),
    ('æ', 241, 889, "ae"),
    ('ç', 0, 500, "ccedilla"),
    ('è', 0, 556, "egrave"),
    ('é', 0, 556, "eacute"),
    ('ê', 0, 556, "ecircumflex"),
    ('ë', 0, 556, "edieresis"),
    ('ì', 0, 278, "igrave"),
    ('í', 0, 278, "iacute"),
    ('î', 0, 278, "icircumflex"),
    ('ï', 0, 278, "idieresis"),
    ('ð', 0, 556, "eth"),
    ('ñ', 0, 556, "ntilde"),
    ('ò', 0, 556, "ograve"),
    ('ó', 0, 556, "oacute"),
    ('ô', 0, 556, "ocircumflex"),
    ('õ', 0, 556, "otilde"),
    ('ö', 0, 556, "odieresis"),
    ('÷', 0, 584, "divide"),
    ('ø', 249, 611, "oslash"),
    ('ù', 0, 556, "ugrave"),
    ('ú', 0, 556, "uacute"),
    ('û', 0, 556, "ucircumflex"),
    ('ü', 0, 556, "udieresis"),
    ('ý', 0, 500, "yacute"),
    ('þ', 0, 556, "thorn"),
    ('ÿ', 0, 500, "ydieresis"),
    ('ı', 245, 278, "dotlessi"),
    ('Ł', 232, 556, "Lslash"),
    ('ł', 248, 222, "lslash"),
    ('Œ', 234, 1000, "OE"),
    ('œ', 250, 944, "oe"),
    ('Š', 0, 667, "Scaron"),
    ('š', 0, 500, "scaron"),
    ('Ÿ', 0, 667, "Ydieresis"),
    ('Ž', 0, 611, "Zcaron"),
    ('ž', 0, 500, "zcaron"),
    ('ƒ', 166, 556, "florin"),
    ('ˆ', 195, 333, "circumflex"),
    ('ˇ', 207, 333, "caron"),
    ('˘', 198, 333, "breve"),
    ('˙', 199, 333, "dotaccent"),
    ('˚', 202, 333, "ring"),
    ('˛', 206, 333, "ogonek"),
    ('˜', 196, 333, "tilde"),
    ('˝', 205, 333, "hungarumlaut"),
    ('–', 177, 556, "endash"),
    ('—', 208, 1000, "emdash"),
    ('‘', 96, 222, "quoteleft"),
    ('’', 39, 222, "quoteright"),
    ('‚', 184, 222, "quotesinglbase"),
    ('“', 170, 333, "quotedblleft"),
    ('”', 186, 333, "quotedblright"),
    ('„', 185, 333, "quotedblbase"),
    ('†', 178, 556, "dagger"),
    ('‡', 179, 556, "daggerdbl"),
    ('•', 183, 350, "bullet"),
    ('…', 188, 1000, "ellipsis"),
    ('‰', 189, 1000, "perthousand"),
    ('‹', 172, 333, "guilsinglleft"),
    ('›', 173, 333, "guilsinglright"),
    ('™', 0, 1000, "trademark"),
    ('−', 0, 584, "minus"),
    ('ﬁ', 174, 500, "fi"),
    ('ﬂ', 175, 500, "fl"),
];

/// A character of Helvetica.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Letter {
    /// Its code in the encoding of the readable style: ASCII and ISO Latin 1 keep theirs.
    pub code: u8,
    /// Its advance width in thousandths of the size.
    pub advance: u16,
    /// Its name, where the standard encoding has another character or none at the code.
    pub name: Option<&'static str>,
}

/// The character, if Helvetica has it.
///
/// ```
/// let letter = hp2ps::helvetica::letter('é').expect("Latin");
/// assert_eq!((letter.code, letter.advance, letter.name), (0xe9, 556, Some("eacute")));
/// assert_eq!(hp2ps::helvetica::letter('π'), None);
/// ```
pub fn letter(c: char) -> Option<Letter> {
    let ascii = |c: char| (c as u8, ASCII[c as usize - usize::from(b' ')]);
    let (code, advance, name) = match c {
        '\'' => (b'\'', ASCII[7], Some("quotesingle")),
        '`' => (b'`', ASCII[64], Some("grave")),
        // The standard encoding has the hyphen there, ISO Latin 1 the minus.
        ' '..='~' => (ascii(c).0, ascii(c).1, None),
        '\u{a0}' => (b' ', ASCII[0], None),
        '\u{ad}' | '\u{2010}' | '\u{2011}' => (b'-', ASCII[13], None),
        _ => {
            let at = BEYOND_ASCII.binary_search_by_key(&c, |row| row.0).ok()?;
            let (_, _, advance, name) = BEYOND_ASCII[at];
            (code(c, at), advance, Some(name))
        }
    };
    Some(Letter { code, advance, name })
}

/// ISO Latin 1 keeps its codes; what is beyond gets those of the control characters.
fn code(c: char, at: usize) -> u8 {
    const LATIN_1: usize = 94;
    const UPPER_CONTROLS: usize = 32;
    match u8::try_from(c) {
        Ok(code) => code,
        Err(_) if at < LATIN_1 + UPPER_CONTROLS => (0x80 + at - LATIN_1) as u8,
        Err(_) => (1 + at - LATIN_1 - UPPER_CONTROLS) as u8,
    }
}

/// The advance width of a byte in the standard encoding, in thousandths of the size.
pub(crate) fn standard_advance(byte: u8) -> u16 {
    /// Of a code without a character, and of the fraction slash.
    const NO_CHARACTER: u16 = 278;
    match byte {
        // The curly quotes.
        b'\'' | b'`' => 222,
        b' '..=b'~' => ASCII[usize::from(byte - b' ')],
        // The straight ones.
        0xa9 => ASCII[7],
        0xc1 => ASCII[64],
        _ => {
            let row = BEYOND_ASCII.iter().find(|row| row.1 == byte && byte != 0);
            row.map_or(NO_CHARACTER, |row| row.2)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_character_has_a_code_of_its_own() {
        let letters: Vec<Letter> =
            BEYOND_ASCII.iter().map(|row| letter(row.0).expect("in the table")).collect();
        let mut codes: Vec<u8> = letters.iter().map(|letter| letter.code).collect();
        assert!(codes.iter().all(|&code| code != 0 && !(b' '..=b'~').contains(&code)));
        codes.sort_unstable();
        codes.dedup();
        assert_eq!(codes.len(), BEYOND_ASCII.len());
        assert_eq!(letter('é').map(|letter| letter.code), Some(0xe9));
        assert_eq!(letter('π'), None);
    }

    #[test]
    fn quotes_are_curly_in_the_standard_encoding_only() {
        assert_eq!((standard_advance(b'\''), letter('\'').map(|quote| quote.advance)), (222, Some(191)));
        assert_eq!((standard_advance(0xa9), standard_advance(0xe9), standard_advance(0xff)), (191, 778, 278));
    }
}
