//! The order and the forms in which characters of a text stand on the page: Arabic letters joined, and runs from right
//! to left turned. Lines run from left to right whatever script they begin with, as stacks of cost centres do.

use unicode_bidi::{BidiInfo, Level};

/// The characters from left to right. Marks stay behind the letter they are on.
pub(crate) fn in_visual_order(text: &str) -> String {
    let joined = join_arabic(text);
    let info = BidiInfo::new(&joined, Some(Level::ltr()));
    let mut visual = String::with_capacity(joined.len());
    for paragraph in &info.paragraphs {
        let (levels, runs) = info.visual_runs(paragraph, paragraph.range.clone());
        for run in runs {
            if levels[run.start].is_rtl() {
                visual.extend(turned(&joined[run]));
            } else {
                visual.push_str(&joined[run]);
            }
        }
    }
    visual
}

/// A run from right to left as it stands from left to right.
fn turned(run: &str) -> Vec<char> {
    let mut letters: Vec<Vec<char>> = Vec::new();
    for c in run.chars() {
        match letters.last_mut() {
            Some(letter) if is_mark(c) => letter.push(c),
            _ => letters.push(vec![mirrored(c)]),
        }
    }
    letters.into_iter().rev().flatten().collect()
}

/// Marks of Hebrew and Arabic, and the combining ones of all scripts.
fn is_mark(c: char) -> bool {
    matches!(c, '\u{300}'..='\u{36f}' | '\u{591}'..='\u{5bd}' | '\u{5bf}' | '\u{5c1}'..='\u{5c2}'
        | '\u{5c4}'..='\u{5c5}' | '\u{5c7}' | '\u{610}'..='\u{61a}' | '\u{64b}'..='\u{65f}' | '\u{670}'
        | '\u{6d6}'..='\u{6dc}' | '\u{6df}'..='\u{6e4}')
}

fn mirrored(c: char) -> char {
    const PAIRS: [(char, char); 6] = [('(', ')'), ('[', ']'), ('{', '}'), ('<', '>'), ('«', '»'), ('‹', '›')];
    let partner = |&(open, close): &(char, char)| match c {
        _ if c == open => Some(close),
        _ if c == close => Some(open),
        _ => None,
    };
    PAIRS.iter().find_map(partner).unwrap_or(c)
}

/// The forms of a letter stand in a row: alone, after one that joins, before one, between two.
struct Forms {
    alone: u32,
    /// 1, 2 or all 4 of them.
    count: u32,
}

const LAM: char = '\u{644}';
const TATWEEL: char = '\u{640}';

impl Forms {
    fn of(c: char) -> Option<Forms> {
        /// From U+0621 to U+064A; the forms of all follow one another.
        const COUNTS: &[u8; 42] = b"122224242444442222444444440000004444444224";
        const FIRST: u32 = 0xfe80;
        /// Letters of Persian and Urdu.
        const MORE: [(char, u32, u32); 13] = [
            ('\u{679}', 0xfb66, 4),
            ('\u{67e}', 0xfb56, 4),
            ('\u{686}', 0xfb7a, 4),
            ('\u{688}', 0xfb88, 2),
            ('\u{691}', 0xfb8c, 2),
            ('\u{698}', 0xfb8a, 2),
            ('\u{6a9}', 0xfb8e, 4),
            ('\u{6af}', 0xfb92, 4),
            ('\u{6ba}', 0xfb9e, 2),
            ('\u{6be}', 0xfbaa, 4),
            ('\u{6c1}', 0xfba6, 4),
            ('\u{6cc}', 0xfbfc, 4),
            ('\u{6d2}', 0xfbae, 2),
        ];
        if let Some(&(_, alone, count)) = MORE.iter().find(|row| row.0 == c) {
            return Some(Forms { alone, count });
        }
        let at = (c as usize).checked_sub(0x621).filter(|&at| at < COUNTS.len())?;
        let count = |at: usize| u32::from(COUNTS[at] - b'0');
        let alone = FIRST + (0..at).map(count).sum::<u32>();
        Some(Forms { alone, count: count(at) }).filter(|forms| forms.count > 0)
    }
}

fn joins_next(c: char) -> bool {
    c == TATWEEL || Forms::of(c).is_some_and(|forms| forms.count == 4)
}

fn joins_previous(c: char) -> bool {
    c == TATWEEL || Forms::of(c).is_some_and(|forms| forms.count > 1)
}

/// Arabic letters in the forms that they take beside each other.
fn join_arabic(text: &str) -> String {
    let chars: Vec<char> = text.chars().collect();
    let mut joined = String::with_capacity(text.len());
    let mut before = None;
    let mut at = 0;
    while let Some(&c) = chars.get(at) {
        at += 1;
        let Some(forms) = Forms::of(c) else {
            if !is_mark(c) {
                before = Some(c);
            }
            joined.push(c);
            continue;
        };
        let after = chars[at..].iter().copied().find(|&c| !is_mark(c));
        let joins_before = forms.count > 1 && before.is_some_and(joins_next);
        let code = match chars.get(at).copied().and_then(lam_alef).filter(|_| c == LAM) {
            Some(ligature) => {
                at += 1;
                before = None;
                ligature + u32::from(joins_before)
            }
            None => {
                before = Some(c);
                let joins_after = forms.count == 4 && after.is_some_and(joins_previous);
                forms.alone + u32::from(joins_before) + 2 * u32::from(joins_after)
            }
        };
        joined.push(char::from_u32(code).unwrap_or(c));
    }
    joined
}

/// The form alone of lam with this alef behind it.
fn lam_alef(alef: char) -> Option<u32> {
    let at = ['\u{622}', '\u{623}', '\u{625}', '\u{627}'].iter().position(|&known| known == alef)?;
    Some(0xfef5 + 2 * at as u32)
}

/// The letter that a form on the page stands for; the form itself if it is of two letters.
///
/// ```
/// assert_eq!(hp2ps::lettering::unjoined('\u{fee1}'), '\u{645}');
/// ```
pub fn unjoined(form: char) -> char {
    let is_of = |c: &char| {
        let codes = Forms::of(*c).map(|forms| forms.alone..forms.alone + forms.count);
        codes.is_some_and(|codes| codes.contains(&u32::from(form)))
    };
    ('\u{621}'..='\u{6d2}').find(is_of).unwrap_or(form)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_are_the_letters_they_were_made_of() {
        for text in ["باب", "ءآأؤإئابةتثجحخدذرزسشصضطظعغفقكلمنهوىي", "پچژکگیہھے", "x٣שלום"]
        {
            let letters: String = join_arabic(text).chars().map(unjoined).collect();
            assert_eq!(letters, text);
        }
    }

    #[test]
    fn arabic_letters_take_the_forms_of_their_place() {
        // Salam: initial seen, then lam and alef as one in its final form, then a meem alone.
        assert_eq!(join_arabic("سلام"), "\u{feb3}\u{fefc}\u{fee1}");
        // Bab: initial beh, final alef, beh alone, as alef does not join the next.
        assert_eq!(join_arabic("باب"), "\u{fe91}\u{fe8e}\u{fe8f}");
        // A mark is passed over; yeh is the last letter of the row.
        assert_eq!(join_arabic("بَي"), "\u{fe91}\u{64e}\u{fef2}");
        assert_eq!(join_arabic("ء a"), "\u{fe80} a");
    }

    #[test]
    fn runs_from_right_to_left_are_turned_in_place() {
        assert_eq!(in_visual_order("main/שלום(x)"), "main/םולש(x)");
        assert_eq!(in_visual_order("אב (גד)"), "(דג) בא");
        assert_eq!(in_visual_order("שלום 12 עולם"), "םלוע 12 םולש");
        assert_eq!(in_visual_order("plain"), "plain");
    }
}
