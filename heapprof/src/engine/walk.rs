//! The call stack of the calling thread, by its frame pointers.
//!
//! A frame that keeps a frame pointer begins with the caller's frame pointer, and the return address
//! lies above it. std is built so; a program's own crates are with `-Cforce-frame-pointers=yes`, and so
//! is heapprof then, which is how a run finds out ([`keeps_frame_pointers`]). C code is not: it may leave
//! anything in the register. So every hop must lead upwards, stay within the thread's stack, and be
//! aligned; what is read wrongly through a foreign frame is cut off when names are looked up. Stacks that
//! are not the thread's own are read through the kernel.

use super::os;

/// One stack's limits in addresses: frames lie in `low..high`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Bounds {
    pub(crate) low: usize,
    pub(crate) high: usize,
}

/// The frame pointer of the function that calls this; 0 where there is none to be had.
#[inline(always)]
#[allow(unused_mut, unused_assignments, reason = "assigned on some processors")]
pub(crate) fn frame_here() -> usize {
    let mut frame: usize = 0;
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: reads a register.
    unsafe {
        std::arch::asm!("mov {}, rbp", out(reg) frame, options(nomem, nostack, preserves_flags))
    };
    #[cfg(all(target_arch = "aarch64", not(miri)))]
    // SAFETY: reads a register.
    unsafe {
        std::arch::asm!("mov {}, x29", out(reg) frame, options(nomem, nostack, preserves_flags))
    };
    frame
}

/// The frames of a stack from a frame pointer upwards.
#[derive(Clone, Copy)]
pub(crate) struct Frames {
    frame: usize,
    /// Words from `frame` to the highest address at which a frame may begin; none at the end.
    room: Option<usize>,
    /// What is added to an address of the stack to read it: not 0 where a copy is read.
    shift: usize,
}

/// Bytes of a word, half of what is read of a frame.
const WORD: usize = size_of::<usize>();

impl Frames {
    /// Frames within `bounds`, from the frame pointer `frame` on; none when that lies outside.
    #[inline(always)]
    pub(crate) fn new(frame: usize, bounds: Bounds) -> Self {
        let inside = frame.wrapping_sub(bounds.low) < bounds.high.wrapping_sub(bounds.low);
        let room = bounds.high.wrapping_sub(frame) / WORD;
        let begins = inside && frame.is_multiple_of(WORD) && room >= 2;
        Self { frame, room: begins.then(|| room - 2), shift: 0 }
    }

    /// Frames of a stack of which `copy` is a copy from the address `frame` on, which holds the first.
    pub(crate) fn in_copy(frame: usize, copy: &'static [u8]) -> Self {
        let bounds = Bounds { low: frame, high: frame.saturating_add(copy.len()) };
        Self { shift: copy.as_ptr().addr().wrapping_sub(frame), ..Self::new(frame, bounds) }
    }

    /// The next return address; 0 at the end.
    #[inline(always)]
    pub(crate) fn next(&mut self) -> u64 {
        let Some(room) = self.room else {
            return 0;
        };
        let frame = self.frame.wrapping_add(self.shift) as *const usize;
        // SAFETY: the two words at `frame` lie in the mapped stack of the calling thread, or in a copy that is
        // never freed: `frame` is aligned, and was compared with both ends. Whatever is there, it is only a
        // number to us.
        let (above, address) = unsafe { (frame.read_volatile(), frame.add(1).read_volatile()) };
        // Words from the place behind this one to the next frame. One comparison for all: what is not
        // above is a huge number, and so is what is not aligned, since its low bits come to be the high ones.
        let words = above.wrapping_sub(self.frame + WORD).rotate_right(WORD.ilog2());
        self.room = (words < room).then(|| room - words - 1);
        self.frame = above;
        address as u64
    }
}

/// The four innermost return addresses of a stack, 0 where there are fewer; the same as four times
/// [`Frames::next`], in the shape that costs the hook least.
#[inline(always)]
pub(crate) fn first_four(mut frame: usize, bounds: Bounds) -> [u64; 4] {
    let mut addresses = [0; 4];
    // As in `Frames::new`: the first frame's two words have room, and are aligned.
    let inside = frame.wrapping_sub(bounds.low) < bounds.high.wrapping_sub(bounds.low);
    let words = bounds.high.wrapping_sub(frame) / WORD;
    if !inside || words < 2 || !frame.is_multiple_of(WORD) {
        return addresses;
    }
    let mut room = words - 2;
    for address in &mut addresses {
        // SAFETY: as in `Frames::next`.
        let above = unsafe {
            *address = (frame as *const usize).add(1).read_volatile() as u64;
            (frame as *const usize).read_volatile()
        };
        let words = above.wrapping_sub(frame + WORD).rotate_right(WORD.ilog2());
        if words >= room {
            break;
        }
        room -= words + 1;
        frame = above;
    }
    addresses
}

/// The limits of the stack that the system gave the calling thread. Asks the kernel; `None` when it does
/// not tell.
///
/// They stay what they are as long as the thread lives. Other stacks on which it may run (of fibers, of
/// signal handlers) may be unmapped at any time: they are read through [`copied`].
pub(crate) fn own_bounds() -> Option<Bounds> {
    if os::thread_id() == os::process_id() {
        let mapping = os::mapping_of(os::main_stack_top()?)?;
        // It grows downwards as far as it may.
        return Some(Bounds { low: mapping.high.saturating_sub(os::stack_bytes_max()), high: mapping.high });
    }
    // The C library's own block of a thread lies above its stack.
    let high = os::thread_block();
    os::mapping_of(high - 1).map(|mapping| Bounds { low: mapping.low, high })
}

/// Whether the calling thread has so many bytes of its own stack left; `false` on other stacks, and where
/// the kernel does not tell.
pub(crate) fn has_room(bytes: usize) -> bool {
    let here = 0_u8;
    let here = std::hint::black_box(&raw const here).addr();
    own_bounds()
        .is_some_and(|own| here < own.high && here.checked_sub(bytes).is_some_and(|end| end > own.low))
}

/// Copies the stack from the frame pointer `frame` on, as far as it is mapped and `copy` reaches: the kernel
/// reads it, so that nothing that is not there can do harm. The part that was copied.
pub(crate) fn copied(frame: usize, copy: &'static mut [u8]) -> &'static [u8] {
    let length = if frame.is_multiple_of(WORD) { os::read_memory(frame, copy) } else { 0 };
    copy.get(..length).unwrap_or_default()
}

/// Whether heapprof, and so most likely every crate of this build, keeps frame pointers: asked of two
/// functions of its own. Anything else in the register fails one of the comparisons.
pub(crate) fn keeps_frame_pointers() -> bool {
    #[inline(never)]
    fn inner(outer_mark: usize) -> bool {
        let mark = 0_usize;
        let low = std::hint::black_box(&raw const mark).addr();
        let frame = frame_here();
        if !(low < frame && frame < outer_mark && frame.is_multiple_of(WORD)) {
            return false;
        }
        // SAFETY: `frame` lies between two locals of this thread's live frames, so it is mapped.
        let above = unsafe { (frame as *const usize).read_volatile() };
        above > outer_mark
    }
    #[inline(never)]
    fn outer(top: usize) -> bool {
        let mark = 0_usize;
        let place = std::hint::black_box(&raw const mark).addr();
        let kept = inner(place);
        let frame = frame_here();
        kept && frame > place && std::hint::black_box(frame) < top
    }
    let mark = 0_usize;
    outer(std::hint::black_box(&raw const mark).addr())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A made-up stack of `words` words in memory of our own, and its limits.
    fn bounds(stack: &[usize]) -> Bounds {
        let low = stack.as_ptr().addr();
        Bounds { low, high: low + size_of_val(stack) }
    }

    fn addresses(frame: usize, bounds: Bounds) -> Vec<u64> {
        let mut frames = Frames::new(frame, bounds);
        std::iter::from_fn(|| Some(frames.next()).filter(|&address| address != 0)).collect()
    }

    #[test]
    fn a_chain_of_frames_is_followed_to_its_end() {
        let mut stack = vec![0_usize; 32];
        let bounds = bounds(&stack);
        let at = |index: usize| bounds.low + index * WORD;
        for (frame, above, address) in
            [(2, at(5), 71), (5, at(7), 72), (7, at(20), 73), (20, at(30), 74), (30, 0, 75)]
        {
            (stack[frame], stack[frame + 1]) = (above, address);
        }
        assert_eq!(addresses(at(2), bounds), [71, 72, 73, 74, 75]);
        assert_eq!(addresses(at(20), bounds), [74, 75]);
        // Beyond either end, not aligned, downwards, onto itself.
        assert_eq!(addresses(at(31), bounds), []);
        assert_eq!(addresses(bounds.low - WORD, bounds), []);
        assert_eq!(addresses(at(2) + 1, bounds), []);
        for above in [at(2), at(5), at(31), at(40), at(7) + 4, usize::MAX, 0] {
            stack[5] = above;
            assert_eq!(addresses(at(2), bounds), [71, 72], "{above:x}");
        }
    }

    #[test]
    fn whatever_the_stack_holds_both_ways_of_walking_agree_and_stay_inside() {
        let mut state = 7_u64;
        let mut random = move |below: usize| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state % below as u64) as usize
        };
        for _ in 0..20_000 {
            let mut stack = vec![0_usize; 1 + random(40)];
            let bounds = bounds(&stack);
            let place = |random: &mut dyn FnMut(usize) -> usize| match random(8) {
                0 => 0,
                1 => usize::MAX - random(20),
                2 => bounds.low.wrapping_sub(random(40)),
                3 => bounds.low + random(400),
                _ => bounds.low + random(50) * WORD,
            };
            stack.iter_mut().for_each(|word| *word = place(&mut random));
            let frame = place(&mut random);
            let four = first_four(frame, bounds);
            let mut frames = Frames::new(frame, bounds);
            assert_eq!([(); 4].map(|()| frames.next()), four, "{frame:x} {bounds:x?} {stack:x?}");
        }
    }
}
