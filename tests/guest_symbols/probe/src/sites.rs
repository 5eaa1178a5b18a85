//! Places that ask for memory, each for a size of its own.

use std::hint::black_box;

pub struct Pair<T>(pub T);

impl<T: Copy> Pair<T> {
    #[inline(never)]
    pub fn boxed(&self) -> Box<[T]> {
        vec![self.0; black_box(11)].into_boxed_slice()
    }
}

pub trait Fill {
    fn fill(&self) -> Vec<u64>;
}

impl Fill for Pair<u64> {
    #[inline(never)]
    fn fill(&self) -> Vec<u64> {
        vec![self.0; black_box(13)]
    }
}

#[inline(always)]
fn innermost(bytes: usize) -> Vec<u8> {
    Vec::with_capacity(black_box(bytes))
}

#[inline(always)]
fn between(bytes: usize) -> Vec<u8> {
    innermost(bytes)
}

/// With the functions above inside.
#[inline(never)]
fn outermost() -> Vec<u8> {
    between(1_000)
}

#[inline(never)]
fn plain() -> Vec<u8> {
    Vec::with_capacity(black_box(2_000))
}

#[inline(never)]
fn closed() -> Vec<u8> {
    let make: &dyn Fn(usize) -> Vec<u8> = &|bytes| Vec::with_capacity(black_box(bytes));
    black_box(make)(black_box(4_000))
}

#[inline(never)]
fn recursive(levels: usize, held: &mut Vec<Box<[u8; 300]>>) {
    held.push(Box::new([1; 300]));
    if black_box(levels) > 0 {
        recursive(levels - 1, held);
    }
    black_box(&held);
}

type All = ([Vec<u8>; 3], Box<[u32]>, Vec<u64>, Vec<Box<[u8; 300]>>);

#[inline(never)]
pub fn all() -> All {
    let mut boxes = Vec::with_capacity(black_box(3));
    recursive(2, &mut boxes);
    ([outermost(), plain(), closed()], Pair(7_u32).boxed(), Pair(8_u64).fill(), boxes)
}
