//! Single operations in a loop: what callgrind counts, and the scope timed in nanoseconds.

use crate::allocator::scope;
use std::hint::black_box;
use std::time::Instant;

/// Size of the block of `pairs`, in bytes: a size class in the middle of the small ones, with
/// room for a tag in none of them.
const BLOCK_BYTES: usize = 64;

/// Allocates and frees a block of one size, `count` times.
pub(crate) fn pairs(count: usize) -> u64 {
    for _ in 0..count {
        drop(black_box(Vec::<u8>::with_capacity(BLOCK_BYTES)));
    }
    count as u64
}

/// Reallocates one block `count` times, up and down between two size classes.
pub(crate) fn reallocs(count: usize) -> u64 {
    let mut block = vec![0_u8; BLOCK_BYTES];
    for _ in 0..count / 2 {
        block.reserve_exact(BLOCK_BYTES);
        block = black_box(block);
        block.shrink_to(BLOCK_BYTES);
        block = black_box(block);
    }
    block.capacity() as u64
}

/// Enters and leaves one cost centre `count` times.
pub(crate) fn scopes(count: usize) -> u64 {
    scope!("outer");
    for turn in 0..count {
        scope!("inner");
        black_box(turn);
    }
    count as u64
}

/// Nanoseconds of one enter and leave with its loop: the median of many short batches, which a
/// preempted batch does not move.
pub(crate) fn scope_ns() -> f64 {
    const BATCHES: usize = 4_001;
    const TURNS: usize = 2_000;
    let mut batch_ns: Vec<f64> = (0..BATCHES).map(|_| timed_ns(TURNS)).collect();
    batch_ns.sort_by(f64::total_cmp);
    batch_ns[BATCHES / 2] / TURNS as f64
}

fn timed_ns(turns: usize) -> f64 {
    let begin = Instant::now();
    scopes(turns);
    begin.elapsed().as_nanos() as f64
}
