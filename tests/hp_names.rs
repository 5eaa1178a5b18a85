//! Escaped names are whole words for every reader, and the label comes back from them.

mod hp_common;

use std::collections::HashMap;

use heapprof::hp::{KEYWORDS, MAX_NAME_BYTES, escape_label, stack_name, unescape_label};
use hp_common::Random;

/// Labels made of what could go wrong.
fn random_label(random: &mut Random) -> String {
    const PARTS: [&str; 22] = [
        "a", "~", "^", "^2F", "^.", "/", "\"", " ", "\t", "\0", "\u{7f}", "\u{85}", "\u{a0}", "\u{2003}",
        "\u{3000}", "MARK", "JOB", "ü", "²F", "2F", ".", "E2",
    ];
    (0..random.below(5)).map(|_| random.pick(&PARTS)).collect()
}

#[test]
fn escaping_is_injective_reversible_and_leaves_whole_words() {
    let mut random = Random::new(1);
    let mut seen = HashMap::new();
    for _ in 0..200_000 {
        let label = random_label(&mut random);
        let word = escape_label(&label).into_owned();
        assert_eq!(unescape_label(&word), label);
        assert!(!word.is_empty() && !word.starts_with('"'), "{label:?}");
        assert!(!word.contains(char::is_whitespace) && !word.contains('/'), "{label:?}");
        assert!(!word.bytes().any(|byte| byte.is_ascii_control()), "{label:?}");
        assert!(!KEYWORDS.contains(&&*word), "{label:?}");
        let earlier = seen.insert(word, label.clone());
        assert!(earlier.is_none_or(|earlier| earlier == label));
    }
}

#[test]
fn every_character_alone_is_reversible() {
    for c in char::MIN..=char::MAX {
        let label = c.to_string();
        let word = escape_label(&label).into_owned();
        assert_eq!(unescape_label(&word), label);
        let plain = !c.is_whitespace() && !c.is_ascii_control() && !"~^/\"".contains(c);
        assert_eq!(word == label, plain, "{c:?}");
    }
}

#[test]
fn words_that_were_never_escaped_keep_what_cannot_be_decoded() {
    for word in ["^", "a^", "^G0", "^2", "^2f", "x^."] {
        assert_eq!(unescape_label(word), word);
    }
    // Not UTF-8 once decoded: the word stays whole.
    assert_eq!(unescape_label("^FF~"), "^FF~");
}

#[test]
fn shortening_keeps_the_id_and_never_cuts_an_escape() {
    let mut random = Random::new(2);
    for _ in 0..50_000 {
        let labels: Vec<String> = (0..random.below(6)).map(|_| random_label(&mut random)).collect();
        let limit = random.below(40);
        let id = random.below(1000) as u32;
        let name = stack_name(id, labels.iter().map(String::as_str), limit);
        let prefix = format!("({id})");
        assert!(name.starts_with(&prefix), "{name}");
        assert!(name.chars().count() <= limit.max(prefix.len()), "{limit} {name}");
        assert!(!name.contains(char::is_whitespace));
        for label in name[prefix.len()..].split('/').flat_map(|label| label.split("...")) {
            assert!(!label.ends_with('^'), "{labels:?} {limit} {name}");
        }
        let whole = stack_name(id, labels.iter().map(String::as_str), usize::MAX);
        assert!(whole == name || whole.chars().count() > limit);
    }
}

#[test]
fn different_stacks_have_different_names_at_any_length() {
    let labels = ["a very long leaf", "middle", "root"];
    for limit in 0..30 {
        assert_ne!(stack_name(1, labels, limit), stack_name(2, labels, limit));
    }
    assert!(stack_name(1, [&*"ü".repeat(5000)], usize::MAX).len() <= MAX_NAME_BYTES);
}
