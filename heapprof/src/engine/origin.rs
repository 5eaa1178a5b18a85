//! What a block's tag stands for: a cost-centre stack and, as far as the run's breakdowns ask for it,
//! which thread asked for the block, how large it is, when, and from which call stack.
//!
//! An origin is a path in the tree of cost-centre stacks: below a stack come facets, each a child with
//! a key that no centre has. So one number at each block serves every breakdown: a band of any of them
//! is a sum over origins, and all of them agree on the total.
//!
//! ```text
//! stack ─▶ thread and size class ─▶ birth ─▶ trace        (those that are wanted, in this order)
//! ```
//! When the tree is full a block keeps the origin found so far; the facets it lacks are in the band
//! OTHER of their breakdowns, and the totals stay exact.

use super::ccs::STACKS;

/// The kind of a key: the two bits on top. Centres are numbered below 2^16, so theirs are 0.
const KIND: u32 = 3 << 30;
const THREAD_AND_CLASS: u32 = 1 << 30;
const BIRTH: u32 = 2 << 30;
const TRACE: u32 = 3 << 30;
/// In the key of a trace: the block stands for others by chance.
const SAMPLED: u32 = 1 << 29;
/// In the key of a trace: and those others are not counted.
const THIN: u32 = 1 << 28;

/// What an origin says, as far as its run wanted to know.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Origin {
    /// The cost-centre stack.
    pub(crate) stack: u32,
    /// Number of the thread's name, see [`super::thread_names`].
    pub(crate) thread: Option<u16>,
    /// See [`class`].
    pub(crate) class: Option<u8>,
    /// Number of the interval, see [`super::capture`].
    pub(crate) birth: Option<u32>,
    /// See [`super::traces`].
    pub(crate) trace: Option<u32>,
    /// Whether the block was chosen to stand for others.
    pub(crate) sampled: bool,
    /// Whether those others are not counted.
    pub(crate) thin: bool,
}

impl Origin {
    /// Reads an origin's number.
    pub(crate) fn of(mut number: u32) -> Self {
        let mut origin = Self::default();
        loop {
            let key = STACKS.centre(number);
            match key & KIND {
                TRACE => {
                    origin.trace = Some(key & (THIN - 1));
                    origin.sampled = key & SAMPLED != 0;
                    origin.thin = key & THIN != 0;
                }
                BIRTH => origin.birth = Some(key & !KIND),
                THREAD_AND_CLASS => {
                    // Both are numbered from 1 here; 0 is for one that was not asked for.
                    let (thread, class) = ((key & !KIND) >> 9, key & 0x1FF);
                    origin.thread = thread.checked_sub(1).and_then(|thread| u16::try_from(thread).ok());
                    origin.class = class.checked_sub(1).and_then(|class| u8::try_from(class).ok());
                }
                _ => {
                    origin.stack = number;
                    return origin;
                }
            }
            number = STACKS.parent(number);
        }
    }

    /// The number of this origin, added if it is new; where the tree is full, the nearest one above it.
    pub(crate) fn number(self) -> u32 {
        let thread_and_class = (self.thread.is_some() || self.class.is_some()).then(|| {
            let thread = self.thread.map_or(0, |thread| u32::from(thread) + 1);
            let class = self.class.map_or(0, |class| u32::from(class) + 1);
            THREAD_AND_CLASS | thread << 9 | class
        });
        let birth = self.birth.map(|birth| BIRTH | birth & !KIND);
        let marks = if self.sampled { SAMPLED } else { 0 } | if self.thin { THIN } else { 0 };
        let trace = self.trace.map(|trace| TRACE | marks | trace);
        let keys = [thread_and_class, birth, trace].into_iter().flatten();
        keys.fold(self.stack, |parent, key| STACKS.refine(parent, key))
    }
}

/// Whether a number is an origin below a stack, not a stack.
pub(crate) fn is_facet(number: u32) -> bool {
    STACKS.centre(number) & KIND != 0
}

/// Whether blocks of this origin stand for others. A trace is always the last facet.
pub(crate) fn is_sampled(number: u32) -> bool {
    STACKS.centre(number) & (KIND | SAMPLED) == TRACE | SAMPLED
}

/// Whether blocks of this origin stand for others that are not counted.
pub(crate) fn is_thin(number: u32) -> bool {
    STACKS.centre(number) & (KIND | THIN) == TRACE | THIN
}

/// The cost-centre stack of an origin.
pub(crate) fn stack_of(mut number: u32) -> u32 {
    while is_facet(number) {
        number = STACKS.parent(number);
    }
    number
}

/// The size class of a block: four to each doubling, 0 for one byte. The upper bits, `class / 4`, tell
/// the power of two that is the least upper bound: class / 4 = k for 2^(k-1) < size <= 2^k.
pub(crate) fn class(bytes: usize) -> u8 {
    let below = bytes.saturating_sub(1);
    let octave = usize::BITS - below.leading_zeros();
    let quarter = if octave < 3 { 0 } else { below >> (octave - 3) & 3 };
    (octave as usize * 4 + quarter) as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_are_ordered_and_their_octaves_are_powers_of_two() {
        let sizes = (0..5_000).chain([1 << 20, (1 << 20) + 1, usize::MAX >> 2]);
        let mut last = 0;
        for bytes in sizes {
            let class = class(bytes);
            assert!(class >= last, "{bytes}");
            last = class;
            let octave = u32::from(class / 4);
            assert!(bytes as u128 <= 1 << octave, "{bytes}");
            assert!(bytes < 2 || bytes as u128 > 1 << (octave - 1), "{bytes}");
        }
        assert_eq!([1, 2, 3, 4, 5, 16, 17, 32].map(|bytes| class(bytes) / 4), [0, 1, 2, 2, 3, 4, 5, 5]);
    }
}
