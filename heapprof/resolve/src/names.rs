//! From the raw name of a band to the name it would have had if the program had looked it up itself.

use std::collections::HashMap;
use std::rc::Rc;

use heapprof::hp;
use heapprof::symbols::{self, Frame};

use crate::args::Breakdown;
use crate::binaries::Binaries;
use crate::modules::canonical;

/// Addresses whose frames are kept; beyond it all are dropped and found again.
const FRAMES_MAX: usize = 1 << 16;

/// Names bands.
pub(crate) struct Names {
    binaries: Binaries,
    breakdown: Breakdown,
    name_chars: usize,
    /// Labels of a whole call stack at most.
    depth: usize,
    /// By label, `app+0x1f2c`.
    frames: HashMap<String, Rc<[Frame]>>,
}

impl Names {
    pub(crate) fn new(binaries: Binaries, breakdown: Breakdown, name_chars: usize, depth: usize) -> Names {
        Names { binaries, breakdown, name_chars, depth, frames: HashMap::new() }
    }

    /// The name of a band, as a word for the file. A name without addresses stays, and so does one of whose
    /// addresses none has a name, and every one while the program's file is missing.
    ///
    /// # Errors
    /// As [`Binaries::frames`].
    pub(crate) fn band(&mut self, raw: &str) -> Result<String, String> {
        // A program may be called `(7)app`.
        let is_whole =
            raw.split('/').next().and_then(address).is_some_and(|(module, _)| self.binaries.has(&module));
        let labels = if is_whole { raw } else { without_number(raw) };
        if !labels.split('/').any(|label| address(label).is_some()) {
            return Ok(raw.to_owned());
        }
        let mut frames: Vec<Frame> = Vec::new();
        for label in labels.split('/') {
            frames.extend(self.frames(label)?.iter().cloned());
        }
        // Without the program's names those of libraries would stand for it.
        if self.binaries.lacks_program() || !frames.iter().any(|frame| frame.named) {
            return Ok(raw.to_owned());
        }
        let mut labels = symbols::labels(&frames, self.breakdown.into());
        if self.breakdown == Breakdown::Callstack {
            labels.truncate(self.depth);
        }
        Ok(hp::path_name(labels.iter().map(String::as_str), self.name_chars))
    }

    fn frames(&mut self, label: &str) -> Result<Rc<[Frame]>, String> {
        if let Some(known) = self.frames.get(label) {
            return Ok(Rc::clone(known));
        }
        let mut frames = match address(label) {
            Some((module, address)) => self.binaries.frames(&module, address)?,
            None => Vec::new(),
        };
        if frames.is_empty() {
            let function = hp::unescape_label(label).into_owned();
            frames.push(Frame { function, ..Frame::default() });
        }
        if self.frames.len() == FRAMES_MAX {
            self.frames.clear();
        }
        let frames: Rc<[Frame]> = frames.into();
        self.frames.insert(label.to_owned(), Rc::clone(&frames));
        Ok(frames)
    }
}

/// The labels of a name that was too long for the file and so got a number in front: `(7)app+0x1/.../app+0x2`.
fn without_number(name: &str) -> &str {
    let numbered = name.strip_prefix('(').and_then(|rest| rest.split_once(')'));
    match numbered {
        Some((number, labels)) if number.bytes().all(|byte| byte.is_ascii_digit()) => labels,
        _ => name,
    }
}

/// Module, as in the list, and address as linked of `app+0x1f2c`.
fn address(label: &str) -> Option<(String, u64)> {
    let (module, digits) = label.rsplit_once("+0x")?;
    let is_plain = !module.is_empty() && digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    is_plain.then(|| Some((canonical(module), u64::from_str_radix(digits, 16).ok()?)))?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_told_from_other_labels() {
        assert_eq!(address("app+0x1f2C"), Some(("app".into(), 0x1F2C)));
        assert_eq!(address("a+0x1+0x2"), Some(("a+0x1".into(), 2)));
        assert_eq!(address("MARK+0x1"), Some(("^4DARK".into(), 1)));
        for label in
            ["MAIN", "app", "+0x1", "app+0x", "app+0x+1", "app+0xg", "app+0x11111111111111111", "?", "..."]
        {
            assert_eq!(address(label), None, "{label}");
        }
        assert_eq!(without_number("(12)app+0x1/app+0x2"), "app+0x1/app+0x2");
        assert_eq!([without_number("(x)app+0x1"), without_number("(1app")], ["(x)app+0x1", "(1app"]);
    }
}
