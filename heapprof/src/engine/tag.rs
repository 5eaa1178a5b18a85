//! Where a block's tag lies: four bytes that name the stack which asked for the block.
//!
//! | alignment asked | outer block | tag at | block at |
//! |---|---|---|---|
//! | 1, 2, 4 | size + 4 | block - 4 | outer + 4 |
//! | 8 | size + 8 | block - 4 | outer + 8 |
//! | 16 and up | size + 4 | block + size | outer |
//!
//! A header costs least on a cold free (the line before the block is the block's own), but a header
//! that keeps a greater alignment would be as large as the alignment; there the tag trails, so that
//! a page stays a page plus four bytes. `GlobalAlloc` gives size and alignment again at every free,
//! so the place is found without a look-up.

use std::alloc::Layout;

use super::shard::Tag;

/// Bytes of a tag.
const TAG_BYTES: usize = size_of::<Tag>();
/// Greatest alignment of a block that has its tag in front.
pub(crate) const HEADER_ALIGN_MAX: usize = 8;
/// Sizes with this bit (4 EiB and up) are refused, as every allocator refuses them: so the outer
/// layout stays below `isize::MAX` for any header. One bit is the cheapest test there is.
const TOO_LARGE: usize = 1 << (usize::BITS - 2);

/// Whether a block has its tag in front.
#[inline(always)]
fn has_header(layout: Layout) -> bool {
    layout.align() <= HEADER_ALIGN_MAX
}

/// Whether no block of this size can be had.
#[inline(always)]
pub(crate) fn is_too_large(size: usize) -> bool {
    size & TOO_LARGE != 0
}

/// Bytes in front of a headed block: 4 below alignment 8, else 8.
#[inline(always)]
fn header(layout: Layout) -> usize {
    TAG_BYTES + (layout.align() & HEADER_ALIGN_MAX) / 2
}

/// What the inner allocator is asked for when the program asks for `layout`; `None` when no address
/// space can hold it.
#[inline(always)]
pub(crate) fn outer(layout: Layout) -> Option<Layout> {
    if is_too_large(layout.size()) {
        return None;
    }
    if has_header(layout) {
        // SAFETY: a header is as large as the alignment it keeps, a power of two; the size is below
        // TOO_LARGE + 8, which rounds up to no more than isize::MAX.
        return Some(unsafe {
            Layout::from_size_align_unchecked(layout.size() + header(layout), header(layout))
        });
    }
    Layout::from_size_align(layout.size() + TAG_BYTES, layout.align()).ok()
}

/// The same for a block that exists, so that its size is known to be in range.
///
/// # Safety
/// A block of this layout was allocated with [`outer`].
#[inline(always)]
pub(crate) unsafe fn outer_of_block(layout: Layout) -> Layout {
    let (extra, align) =
        if has_header(layout) { (header(layout), header(layout)) } else { (TAG_BYTES, layout.align()) };
    // SAFETY: `outer` made this very layout before; it refused sizes for which it would not be one.
    unsafe { Layout::from_size_align_unchecked(layout.size().unchecked_add(extra), align) }
}

/// From the inner allocator's block to the program's.
///
/// # Safety
/// `outer` is a block of the layout that [`outer`] gave for `layout`.
#[inline(always)]
pub(crate) unsafe fn block(outer: *mut u8, layout: Layout) -> *mut u8 {
    // SAFETY: the outer block is longer than the header.
    if has_header(layout) { unsafe { outer.add(header(layout)) } } else { outer }
}

/// The same address, of which the compiler knows nothing any more.
///
/// To the compiler a block from the allocation symbols is an object of the size asked for, and where
/// it inlines a free into the function that allocated, it takes what lies in front of that object (our
/// tag) for nothing: it drops the read, and counts the free under any stack. An empty instruction that
/// it cannot see through ends its knowledge, at no cost.
#[inline(always)]
pub(crate) fn opaque(block: *mut u8) -> *mut u8 {
    #[cfg(all(not(miri), any(target_arch = "x86_64", target_arch = "aarch64")))]
    #[allow(clippy::pointers_in_nomem_asm_block, reason = "nothing is accessed, and dead stores stay dead")]
    {
        let mut block = block;
        // SAFETY: no instruction, and the register keeps its value.
        unsafe { std::arch::asm!("/* {0} */", inout(reg) block, options(nostack, nomem, preserves_flags)) };
        block
    }
    #[cfg(not(all(not(miri), any(target_arch = "x86_64", target_arch = "aarch64"))))]
    std::hint::black_box(block)
}

/// From the program's block to the inner allocator's.
///
/// # Safety
/// `block` came from [`block`] with this `layout`.
#[inline(always)]
pub(crate) unsafe fn unblock(block: *mut u8, layout: Layout) -> *mut u8 {
    // SAFETY: `block` lies one header into the outer block.
    if has_header(layout) { unsafe { block.sub(header(layout)) } } else { block }
}

/// Where the tag of a block lies.
///
/// # Safety
/// `block` came from [`block`] with this `layout`.
#[inline(always)]
unsafe fn place(block: *mut u8, layout: Layout) -> *mut Tag {
    // SAFETY: either the last four bytes of the header or the four bytes behind the block.
    unsafe { if has_header(layout) { block.sub(TAG_BYTES) } else { block.add(layout.size()) }.cast() }
}

/// Writes a block's tag.
///
/// # Safety
/// `block` came from [`block`] with this `layout`, and the program does not yet or no longer use it.
#[inline(always)]
pub(crate) unsafe fn write(block: *mut u8, layout: Layout, tag: Tag) {
    // SAFETY: `place` is four bytes of the outer block that the program never touches; a trailer
    // may lie at any address.
    unsafe { place(block, layout).write_unaligned(tag) }
}

/// Reads a block's tag.
///
/// # Safety
/// The block is live and has been tagged with this `layout`.
#[inline(always)]
pub(crate) unsafe fn read(block: *mut u8, layout: Layout) -> Tag {
    // SAFETY: as in `write`; nobody writes there while the block is live.
    unsafe { place(block, layout).read_unaligned() }
}
