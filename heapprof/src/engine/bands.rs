//! Sorting origins into the bands of a breakdown.
//!
//! Every origin is put into its band once, when it first holds something, and stays there: a sample
//! is then a sum over origins, whatever the breakdown.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use super::ccs::{self, STACKS};
use super::config::{Config, Selector};
use super::origin::Origin;
use super::recorder::labels;
use super::thread_names;
use super::traces::{self, TRACES};
use crate::hp;
use crate::options::Breakdown;

#[cfg(feature = "symbols")]
pub(crate) use super::namer::Namer;

/// Without the feature `symbols` no call stack has a name, and none is asked for.
#[cfg(not(feature = "symbols"))]
pub(crate) struct Namer;

/// What names are made from.
pub(crate) struct Source {
    /// None while no call stack was captured.
    pub(crate) namer: Option<Namer>,
    /// The times at which the birth intervals began, in microseconds.
    pub(crate) births_us: Vec<u64>,
    /// The number of the first of them.
    pub(crate) first_birth: u32,
    pub(crate) name_chars: usize,
}

/// The band of origins that lack what the breakdown asks for: there was no room, or their blocks are of a
/// time when nobody asked.
fn lacking() -> Name {
    let is_full = STACKS.is_full() || TRACES.is_full();
    Name::plain(if is_full { "OTHER" } else { "BEFORE_PROFILE" })
}

/// The band of blocks of which no call site is known.
const UNKNOWN: &str = "?";

impl Source {
    /// The name of an origin's band, in labels, leaf first; a stack's number where the name needs it.
    fn name(&mut self, origin: Origin, breakdown: Breakdown) -> Name {
        // Built-in stacks are bands of their own in every breakdown.
        if (ccs::OTHER..ccs::FIRST).contains(&origin.stack) {
            return Name::plain(STACKS.site(origin.stack).map_or(UNKNOWN, |site| site.label()));
        }
        let centre = STACKS.centre(origin.stack);
        match breakdown {
            _ if origin.stack == ccs::MAIN && is_of_centres(breakdown) => {
                self.outside_centres(origin, breakdown)
            }
            Breakdown::Stack => Name::numbered(STACKS.ordinal(origin.stack), labels(origin.stack)),
            Breakdown::Centre => match STACKS.site(centre) {
                Some(site) => Name::numbered(centre, [site.label()]),
                None => Name::plain(UNKNOWN),
            },
            Breakdown::Module => Name::plain(STACKS.site(centre).map_or(UNKNOWN, |site| site.module())),
            Breakdown::Thread => match origin.thread.and_then(thread_names::name) {
                Some(name) => Name::plain(&name),
                None => lacking(),
            },
            Breakdown::Size => match origin.class {
                Some(class) => Name::plain(&sizes(class)),
                None => lacking(),
            },
            Breakdown::Birth => self.birth(origin.birth),
            Breakdown::Arc | Breakdown::CallStack | Breakdown::Description | Breakdown::Type => {
                self.of_trace(origin.trace, breakdown)
            }
        }
    }

    fn birth(&self, birth: Option<u32>) -> Name {
        let Some(birth) = birth else {
            return lacking();
        };
        let interval = birth.checked_sub(self.first_birth).map(|interval| interval as usize);
        match interval.map(|interval| self.births_us.get(interval)) {
            // All of one length, so that the order of names is that of times.
            Some(Some(us)) => Name::plain(&format!("{:012.3}", *us as f64 / 1e6)),
            Some(None) => lacking(),
            None => Name::plain("BEFORE_PROFILE"),
        }
    }

    /// The name for blocks under no cost centre: by module, that of the function that asked.
    fn outside_centres(&mut self, origin: Origin, breakdown: Breakdown) -> Name {
        match origin.trace {
            Some(trace) if breakdown == Breakdown::Module && trace > traces::EMPTY => {
                self.of_trace(Some(trace), breakdown)
            }
            _ => Name::plain("MAIN"),
        }
    }

    fn of_trace(&mut self, trace: Option<u32>, breakdown: Breakdown) -> Name {
        match trace {
            None | Some(traces::BEYOND) => lacking(),
            Some(traces::EMPTY) => Name::plain(UNKNOWN),
            Some(trace) => self.of_frames(trace, breakdown),
        }
    }

    #[cfg(feature = "symbols")]
    fn of_frames(&mut self, trace: u32, breakdown: Breakdown) -> Name {
        match self.namer.as_mut().map(|namer| namer.labels(trace, breakdown)) {
            Some(labels) if !labels.is_empty() => Name { number: None, labels },
            _ => Name::plain(UNKNOWN),
        }
    }

    /// See [`Namer::losses`].
    fn losses(&self) -> usize {
        #[cfg(feature = "symbols")]
        return self.namer.as_ref().map_or(0, Namer::losses);
        #[cfg(not(feature = "symbols"))]
        return 0;
    }

    /// See [`Namer::is_lost`].
    fn is_lost(&self, trace: u32) -> bool {
        #[cfg(feature = "symbols")]
        return self.namer.as_ref().is_some_and(|namer| namer.is_lost(trace));
        #[cfg(not(feature = "symbols"))]
        return trace == u32::MAX;
    }

    #[cfg(not(feature = "symbols"))]
    fn of_frames(&mut self, _trace: u32, _breakdown: Breakdown) -> Name {
        Name::plain(UNKNOWN)
    }
}

/// Whether a breakdown's bands are made of cost centres.
fn is_of_centres(breakdown: Breakdown) -> bool {
    matches!(breakdown, Breakdown::Stack | Breakdown::Centre | Breakdown::Module)
}

/// Whether a breakdown's bands are made of call stacks.
pub(crate) fn is_of_traces(breakdown: Breakdown) -> bool {
    matches!(breakdown, Breakdown::Arc | Breakdown::CallStack | Breakdown::Description | Breakdown::Type)
}

/// A size class as its least and greatest sizes in bytes: `17-32`.
fn sizes(class: u8) -> String {
    let octave = u32::from(class / 4);
    match octave {
        0 | 1 => octave_end(octave).to_string(),
        _ => format!("{}-{}", octave_end(octave - 1) + 1, octave_end(octave)),
    }
}

fn octave_end(octave: u32) -> u128 {
    1 << octave
}

/// A band's name before it is made to fit.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Name {
    /// The number that tells cost centres of equal names apart.
    number: Option<u32>,
    /// Leaf first.
    labels: Vec<String>,
}

impl Name {
    fn plain(label: &str) -> Self {
        Self { number: None, labels: vec![label.to_owned()] }
    }

    fn numbered<'a>(number: u32, labels: impl IntoIterator<Item = &'a str>) -> Self {
        Self { number: Some(number), labels: labels.into_iter().map(str::to_owned).collect() }
    }

    /// The word that stands for the name in the file: shortened to `chars`, and then with a number that is
    /// the same in every run.
    fn word(&self, chars: usize) -> String {
        let labels = self.labels.iter().map(String::as_str);
        match self.number {
            Some(number) => hp::stack_name(number, labels, chars),
            None => hp::path_name(labels, chars),
        }
    }

    /// Whether a pattern matches the name or, of a stack, any of its labels.
    fn is_like(&self, pattern: &str) -> bool {
        let pattern: Vec<char> = pattern.chars().collect();
        let whole = self.labels.join("/");
        // As it stands in a file, too.
        let word = self.word(usize::MAX);
        self.labels
            .iter()
            .chain([&whole, &word])
            .any(|text| is_like(&pattern, &text.chars().collect::<Vec<_>>()))
    }
}

/// Whether a text matches a pattern, in which `*` is any text and `?` any character.
fn is_like(pattern: &[char], text: &[char]) -> bool {
    let (mut at, mut in_text, mut star) = (0, 0, None);
    while in_text < text.len() {
        match pattern.get(at) {
            Some('*') => {
                star = Some((at, in_text));
                at += 1;
            }
            Some(&c) if c == '?' || c == text[in_text] => {
                at += 1;
                in_text += 1;
            }
            // The last star takes one character more.
            _ => match &mut star {
                Some((star_at, taken)) => {
                    *taken += 1;
                    (at, in_text) = (*star_at + 1, *taken);
                }
                None => return false,
            },
        }
    }
    pattern[at..].iter().all(|&c| c == '*')
}

/// The bands of one breakdown.
pub(crate) struct Bands {
    breakdown: Breakdown,
    /// Band by origin number, plus 1; 0 before it was asked for.
    of_origin: Vec<u32>,
    words: Vec<String>,
    by_name: HashMap<Name, u32>,
    by_word: HashMap<String, u32>,
    /// How often call stacks had lost their names when origins were last looked through.
    losses: usize,
}

impl Bands {
    pub(crate) fn new(breakdown: Breakdown) -> Self {
        Self {
            breakdown,
            of_origin: Vec::new(),
            words: Vec::new(),
            by_name: HashMap::new(),
            by_word: HashMap::new(),
            losses: 0,
        }
    }

    /// Bytes by band: (word, bytes), in the order in which the bands came up, without those that hold nothing.
    pub(crate) fn rows(&mut self, held: &[u64], source: &mut Source) -> Vec<(&str, u64)> {
        self.of_origin.resize(self.of_origin.len().max(held.len()), 0);
        self.take_losses(source);
        let mut sums = Vec::new();
        for (number, &bytes) in held.iter().enumerate().filter(|(_, bytes)| **bytes > 0) {
            let band = match self.of_origin[number] {
                0 => self.sort_in(number, source),
                known => known - 1,
            } as usize;
            sums.resize(sums.len().max(band + 1), 0);
            sums[band] += bytes;
        }
        let rows = self.words.iter().zip(sums).filter(|(_, bytes)| *bytes > 0);
        rows.map(|(word, bytes)| (word.as_str(), bytes)).collect()
    }

    /// Takes those origins out of their bands whose call stacks have lost their names since.
    fn take_losses(&mut self, source: &Source) {
        let losses = source.losses();
        if losses == self.losses {
            return;
        }
        self.losses = losses;
        for (number, band) in self.of_origin.iter_mut().enumerate().filter(|(_, band)| **band != 0) {
            if Origin::of(number as u32).trace.is_some_and(|trace| source.is_lost(trace)) {
                *band = 0;
            }
        }
    }

    /// Puts an origin into its band.
    fn sort_in(&mut self, number: usize, source: &mut Source) -> u32 {
        let name = source.name(Origin::of(number as u32), self.breakdown);
        let next = self.words.len() as u32;
        let band = match self.by_name.entry(name) {
            Entry::Occupied(known) => *known.get(),
            Entry::Vacant(new) => {
                let word = new.key().word(source.name_chars);
                let band = *self.by_word.entry(word.clone()).or_insert(next);
                if band == next {
                    self.words.push(word);
                }
                *new.insert(band)
            }
        };
        self.of_origin[number] = band + 1;
        band
    }
}

/// Which blocks a profile is restricted to.
pub(crate) struct Selection {
    selectors: Vec<Selector>,
    /// By origin number: not yet asked, in, out.
    known: Vec<Option<bool>>,
}

impl Selection {
    pub(crate) fn new(config: &Config) -> Self {
        Self { selectors: config.select.clone(), known: Vec::new() }
    }

    /// Leaves in `held` what the profile is restricted to.
    pub(crate) fn apply(&mut self, held: &mut [u64], source: &mut Source) {
        if self.selectors.is_empty() {
            return;
        }
        self.known.resize(self.known.len().max(held.len()), None);
        for (number, bytes) in held.iter_mut().enumerate().filter(|(_, bytes)| **bytes > 0) {
            let selectors = &self.selectors;
            let is_in = *self.known[number].get_or_insert_with(|| {
                let origin = Origin::of(number as u32);
                let mut matches =
                    |selector: &Selector| source.name(origin, selector.breakdown).is_like(&selector.pattern);
                selectors.iter().all(&mut matches)
            });
            if !is_in {
                *bytes = 0;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_whole_texts() {
        let like = |pattern: &str, text: &str| {
            is_like(&pattern.chars().collect::<Vec<_>>(), &text.chars().collect::<Vec<_>>())
        };
        for (pattern, text) in [
            ("", ""),
            ("*", ""),
            ("*", "abc"),
            ("a*c", "abbc"),
            ("*b*", "abc"),
            ("a?c", "abc"),
            ("*aab", "aaab"),
        ] {
            assert!(like(pattern, text), "{pattern} {text}");
        }
        for (pattern, text) in
            [("", "a"), ("a", ""), ("a*d", "abc"), ("?", "ab"), ("ab", "abc"), ("*a", "ab")]
        {
            assert!(!like(pattern, text), "{pattern} {text}");
        }
    }

    #[test]
    fn size_classes_are_named_by_their_limits() {
        let named = |bytes| sizes(super::super::origin::class(bytes));
        assert_eq!(named(1), "1");
        assert_eq!(named(2), "2");
        assert_eq!([named(3), named(4)], ["3-4", "3-4"]);
        assert_eq!([named(17), named(32), named(33)], ["17-32", "17-32", "33-64"]);
        assert_eq!(named(1 << 30), "536870913-1073741824");
    }
}
