//! Names of bands and of `.prof` rows: one rule that is injective, readable and reversible.

use std::borrow::Cow;

use super::KEYWORDS;

/// No name we write is longer: readers in GHC's tradition end a name after 4,999 bytes.
pub const MAX_NAME_BYTES: usize = 4_900;

/// What stands for labels left out: ASCII, since GHC's PostScript is not UTF-8.
const OMITTED: &str = "...";

/// Writes one label (a cost centre, a module, a source cell) as a single word that every reader of `.hp`
/// and `.prof` takes whole.
///
/// A blank becomes `~`. Bytes that readers break on become `^` and two upper hex digits: control bytes, ASCII
/// and Unicode white space, DEL, `~`, `^`, the stack separator `/`, a leading `"`, and the first byte
/// of a label that equals one of the [`KEYWORDS`]. The empty label becomes `^.`. All else stays, UTF-8 included.
/// Different labels give different words; [`unescape_label`] is the inverse.
///
/// ```
/// use heapprof::hp::escape_label;
/// assert_eq!(escape_label("read line"), "read~line");
/// assert_eq!(escape_label("src/main.rs"), "src^2Fmain.rs");
/// assert_eq!(escape_label("größe"), "größe");
/// assert_eq!(escape_label("MARK"), "^4DARK");
/// assert_eq!(escape_label(""), "^.");
/// ```
pub fn escape_label(label: &str) -> Cow<'_, str> {
    if label.is_empty() {
        return Cow::Borrowed("^.");
    }
    let forced = label.starts_with('"') || KEYWORDS.contains(&label);
    if !forced && !label.chars().any(breaks_readers) {
        return Cow::Borrowed(label);
    }
    let mut word = String::with_capacity(label.len() + 8);
    for (at, c) in label.char_indices() {
        match c {
            ' ' => word.push('~'),
            _ if (forced && at == 0) || breaks_readers(c) => push_hex(&mut word, c),
            _ => word.push(c),
        }
    }
    Cow::Owned(word)
}

fn breaks_readers(c: char) -> bool {
    c.is_ascii_control() || c.is_whitespace() || matches!(c, '~' | '^' | '/')
}

fn push_hex(word: &mut String, c: char) {
    const HEX: &[u8; 16] = b"0123456789ABCDEF";
    for &byte in c.encode_utf8(&mut [0; 4]).as_bytes() {
        word.push('^');
        word.push(char::from(HEX[usize::from(byte >> 4)]));
        word.push(char::from(HEX[usize::from(byte & 15)]));
    }
}

/// Gives the label back that [`escape_label`] wrote. A word it never writes, say one of GHC's with a
/// `^` of its own, keeps what cannot be decoded.
///
/// ```
/// use heapprof::hp::unescape_label;
/// assert_eq!(unescape_label("read~line"), "read line");
/// assert_eq!(unescape_label("src^2Fmain.rs"), "src/main.rs");
/// assert_eq!(unescape_label("^."), "");
/// assert_eq!(unescape_label("a^b"), "a^b");
/// ```
pub fn unescape_label(word: &str) -> Cow<'_, str> {
    if word == "^." {
        return Cow::Borrowed("");
    }
    if !word.contains(['~', '^']) {
        return Cow::Borrowed(word);
    }
    let mut label = Vec::with_capacity(word.len());
    let mut rest = word.as_bytes();
    while let [first, tail @ ..] = rest {
        let (byte, after) = match (first, hex_pair(tail)) {
            (b'~', _) => (b' ', tail),
            (b'^', Some(byte)) => (byte, &tail[2..]),
            _ => (*first, tail),
        };
        label.push(byte);
        rest = after;
    }
    String::from_utf8(label).map_or(Cow::Borrowed(word), Cow::Owned)
}

/// The byte written by two upper hex digits at the start of `text`.
fn hex_pair(text: &[u8]) -> Option<u8> {
    let digit = |at: usize| match text.get(at)? {
        d @ b'0'..=b'9' => Some(d - b'0'),
        d @ b'A'..=b'F' => Some(d - b'A' + 10),
        _ => None,
    };
    Some(digit(0)? << 4 | digit(1)?)
}

/// Names a cost-centre stack as GHC does, `(id)leaf/parent/root`, with each label escaped. The caller leaves
/// MAIN out; without labels the name is `(id)`.
///
/// A name longer than `max_chars` characters is shortened in its middle, so that leaf and root stay readable:
/// whole labels give way to `...` first; if leaf and root alone are too long, each is shortened inside. The
/// `(id)` is always kept, so shortening never makes two stacks one. Whatever `max_chars` says, the
/// name has at most [`MAX_NAME_BYTES`] bytes.
///
/// ```
/// use heapprof::hp::stack_name;
/// assert_eq!(stack_name(7, ["parse", "load", "run", "main"], 80), "(7)parse/load/run/main");
/// assert_eq!(stack_name(7, ["parse", "load", "run", "main"], 20), "(7)parse/.../main");
/// assert_eq!(stack_name(7, ["deserialize_everything"], 15), "(7)deser...hing");
/// ```
pub fn stack_name<'a>(
    id: u32,
    labels_leaf_first: impl IntoIterator<Item = &'a str>,
    max_chars: usize,
) -> String {
    let prefix = format!("({id})");
    let labels: Vec<Cow<str>> = labels_leaf_first.into_iter().map(escape_label).collect();
    let name = fit(&prefix, &labels, max_chars, |text| text.chars().count());
    if name.len() <= MAX_NAME_BYTES {
        return name;
    }
    fit(&prefix, &labels, MAX_NAME_BYTES, str::len)
}

/// Names a band by labels, leaf first, each escaped: `leaf/parent/root`. One longer than `max_chars` characters or
/// [`MAX_NAME_BYTES`] bytes gets a number in front that is made of the whole name: the same in every run, and
/// different for names that are shortened alike. Then paths such as `app::cache::Cache::put` lose their front, down to
/// two segments, the longest first; what is still too long is shortened as by [`stack_name`].
///
/// ```
/// use heapprof::hp::path_name;
/// assert_eq!(path_name(["app::load", "app::main:7"], 60), "app::load/app::main:7");
/// let arc = ["app::cache::Cache::put::{closure}", "app::cache::Cache::put:70"];
/// assert_eq!(path_name(arc, 57), "(473184)...Cache::put::{closure}/...cache::Cache::put:70");
/// assert!(path_name(arc, 20).starts_with("(473184)"));
/// ```
pub fn path_name<'a>(labels_leaf_first: impl IntoIterator<Item = &'a str>, max_chars: usize) -> String {
    let labels: Vec<&str> = labels_leaf_first.into_iter().collect();
    let whole = labels.iter().map(|label| escape_label(label)).collect::<Vec<_>>().join("/");
    if whole.chars().count() <= max_chars && whole.len() <= MAX_NAME_BYTES {
        return whole;
    }
    // FNV-1a, to six digits.
    let step = |hash: u32, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193);
    let number = whole.bytes().fold(0x811C_9DC5, step) % 1_000_000;
    let mut labels: Vec<String> = labels.into_iter().map(str::to_owned).collect();
    let excess = |labels: &[String]| {
        let chars: usize = labels.iter().map(|label| escape_label(label).chars().count() + 1).sum();
        (chars + "(000000)".len()).saturating_sub(max_chars + 1)
    };
    // A long stack loses whole labels instead.
    while labels.len() <= 2 && excess(&labels) > 0 {
        let by_length = |label: &&mut String| label.len();
        let Some(label) =
            labels.iter_mut().filter(|label| without_front(label).is_some()).max_by_key(by_length)
        else {
            break;
        };
        *label = without_front(label).unwrap_or_default();
    }
    stack_name(number, labels.iter().map(String::as_str), max_chars)
}

/// A path without its first segment; `None` for one of two. What is inside of brackets, and `{closure}`, are no
/// segments of their own.
fn without_front(path: &str) -> Option<String> {
    let mut depth = 0_u32;
    let mut ends = path.char_indices().filter_map(|(at, c)| {
        match c {
            '<' | '(' | '[' => depth += 1,
            '>' | ')' | ']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        let is_end = depth == 0 && path[at..].starts_with("::") && !path[at..].starts_with("::{");
        is_end.then_some(at + 2)
    });
    let first = ends.next()?;
    ends.next()?;
    Some(format!("{OMITTED}{}", &path[first..])).filter(|shorter| shorter.len() < path.len())
}

/// `prefix` and as much of `labels` as has room in `limit`, in the unit of `measure`.
fn fit(prefix: &str, labels: &[Cow<str>], limit: usize, measure: fn(&str) -> usize) -> String {
    let whole = labels.iter().map(|label| measure(label) + 1).sum::<usize>().saturating_sub(1);
    let room = limit.saturating_sub(measure(prefix));
    let path = match labels {
        _ if whole <= room => labels.join("/"),
        [] => String::new(),
        [only] => shorten(only, room, measure),
        [leaf, middle @ .., root] => fit_middle(leaf, middle, root, room, measure),
    };
    format!("{prefix}{path}")
}

/// Leaf and root with as many of their neighbours as fit, taken in turn from both ends.
fn fit_middle(
    leaf: &str,
    middle: &[Cow<str>],
    root: &str,
    room: usize,
    measure: fn(&str) -> usize,
) -> String {
    let gap = if middle.is_empty() { "/" } else { "/.../" };
    let Some(mut spare) = room.checked_sub(measure(leaf) + gap.len() + measure(root)) else {
        return fit_ends(leaf, gap, root, room, measure);
    };
    let (mut front, mut back) = (0, middle.len());
    let mut take = |label: &str| {
        let left = spare.checked_sub(measure(label) + 1);
        spare = left.unwrap_or(spare);
        left.is_some()
    };
    loop {
        let before = (front, back);
        if front < back && take(&middle[front]) {
            front += 1;
        }
        if front < back && take(&middle[back - 1]) {
            back -= 1;
        }
        if before == (front, back) {
            break;
        }
    }
    let near = std::iter::once(leaf).chain(middle[..front].iter().map(AsRef::as_ref));
    let far = middle[back..].iter().map(AsRef::as_ref).chain(std::iter::once(root));
    let omitted = (front < back).then_some(OMITTED);
    near.chain(omitted).chain(far).collect::<Vec<_>>().join("/")
}

/// Leaf and root alone, each cut inside; a short one leaves its share to the other.
fn fit_ends(leaf: &str, gap: &str, root: &str, room: usize, measure: fn(&str) -> usize) -> String {
    let Some(room) = room.checked_sub(gap.len() + 2) else {
        return shorten(leaf, room, measure);
    };
    let room = room + 2;
    let leaf_room = (room - room / 2).max(room.saturating_sub(measure(root)));
    let leaf = shorten(leaf, leaf_room, measure);
    let root = shorten(root, room.saturating_sub(measure(&leaf)), measure);
    format!("{leaf}{gap}{root}")
}

/// `label` with its middle left out, at most `room` long; escapes such as `^2F` are never cut.
pub(super) fn shorten(label: &str, room: usize, measure: fn(&str) -> usize) -> String {
    if measure(label) <= room {
        return label.to_owned();
    }
    let units = units(label);
    let kept = |units: &mut dyn Iterator<Item = &str>, room: usize| {
        let mut used = 0;
        let fits = |unit: &&str| {
            used += measure(unit);
            used <= room
        };
        units.take_while(fits).map(str::len).sum::<usize>()
    };
    let Some(room) = room.checked_sub(OMITTED.len() + 2).map(|room| room + 2) else {
        return label[..kept(&mut units.iter().copied(), room)].to_owned();
    };
    let head = kept(&mut units.iter().copied(), room - room / 2);
    let tail = kept(&mut units.iter().rev().copied(), room / 2);
    format!("{}{OMITTED}{}", &label[..head], &label[label.len() - tail..])
}

/// The characters of an escaped label, an escape counting as one.
fn units(mut word: &str) -> Vec<&str> {
    let mut units = Vec::new();
    while let Some(first) = word.chars().next() {
        let length = match &word.as_bytes()[1..] {
            tail if first == '^' && hex_pair(tail).is_some() => 3,
            [b'.', ..] if first == '^' => 2,
            _ => first.len_utf8(),
        };
        let (unit, rest) = word.split_at(length);
        units.push(unit);
        word = rest;
    }
    units
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn middle_labels_go_before_ends_are_cut() {
        let labels = ["leaf", "b", "c", "d", "root"];
        assert_eq!(stack_name(1, labels, 17), "(1)leaf/.../root");
        assert_eq!(stack_name(1, labels, 18), "(1)leaf/b/c/d/root");
        assert_eq!(stack_name(1, ["leaf", "bb", "cc", "dd", "root"], 19), "(1)leaf/bb/.../root");
    }

    #[test]
    fn the_id_survives_any_limit() {
        for limit in 0..40 {
            let name = stack_name(123, ["a/b\u{2003}c", "middle", "rööt"], limit);
            assert!(name.starts_with("(123)"), "{name}");
            assert!(name.chars().count() <= limit.max(5), "{limit}: {name}");
        }
    }

    #[test]
    fn paths_that_are_shortened_alike_have_numbers_of_their_own() {
        let name = |leaf: &str, chars| path_name([&*leaf.repeat(30), "root"], chars);
        assert_ne!(name("ab", 20), name("ac", 20));
        assert!(name("ab", 20).chars().count() <= 20);
        assert_eq!(name("a", 60), format!("{}/root", "a".repeat(30)));
        assert_eq!(path_name(["app::a b", "app::main:3"], 60), "app::a~b/app::main:3");
    }

    #[test]
    fn no_name_is_longer_than_readers_take() {
        let long = "ü".repeat(9_000);
        for labels in [vec![&*long], vec![&*long, &*long], vec!["x"; 9_000], vec![&*long; 3]] {
            let name = stack_name(u32::MAX, labels, usize::MAX);
            assert!(name.len() <= MAX_NAME_BYTES && name.len() > MAX_NAME_BYTES - 20, "{}", name.len());
        }
    }
}
