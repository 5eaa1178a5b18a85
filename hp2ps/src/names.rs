//! Numbers for the names of bands.

use std::collections::HashMap;
use std::ops::Index;

use foldhash::fast::RandomState;

/// Names numbered from 0 in the order in which they came.
#[derive(Debug, Default)]
pub struct Names {
    all: Vec<Box<[u8]>>,
    /// A hash that no input can be made to collide in, as its seed differs from run to run; no result depends on it.
    numbers: HashMap<Box<[u8]>, usize, RandomState>,
    /// For each name the one that followed it when it was last looked up. Samples list names mostly in the order of the
    /// sample before and leave some out, so the next name is mostly a few steps on.
    next: Vec<u32>,
    last: usize,
}

/// How many names are tried as the next one before it is looked up.
const GUESSES: usize = 4;

impl Names {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.all.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// All of them by number.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &[u8]> {
        self.all.iter().map(|name| &**name)
    }

    /// Tries the names that are likely to come now: the first for which `take` returns something came.
    #[inline]
    pub(crate) fn guess<T>(&mut self, mut take: impl FnMut(&[u8]) -> Option<T>) -> Option<(usize, T)> {
        let mut number = self.last;
        for _ in 0..GUESSES {
            number = *self.next.get(number)? as usize;
            if let Some(taken) = take(&self.all[number]) {
                self.last = number;
                return Some((number, taken));
            }
        }
        None
    }

    /// The number of a name.
    pub(crate) fn find(&mut self, name: &[u8]) -> Option<usize> {
        let number = *self.numbers.get(name)?;
        self.follow_with(number);
        Some(number)
    }

    /// The number of a name, a new one if it is new.
    pub(crate) fn intern(&mut self, name: &[u8]) -> usize {
        if let Some(number) = self.find(name) {
            return number;
        }
        let number = self.all.len();
        self.all.push(name.into());
        self.numbers.insert(name.into(), number);
        // A new name stands between its neighbours.
        self.next.push(self.next.get(self.last).copied().unwrap_or_default());
        self.follow_with(number);
        number
    }

    fn follow_with(&mut self, number: usize) {
        // Beyond 2^32 names guesses go wrong, which costs time only.
        self.next[self.last] = number as u32;
        self.last = number;
    }
}

impl Index<usize> for Names {
    type Output = [u8];

    fn index(&self, number: usize) -> &[u8] {
        &self.all[number]
    }
}
