//! Vectors.

use std::hint::black_box;

use crate::book::{self, Held, at, called};

pub fn bytes_of<T>(vec: &Vec<T>) -> usize {
    vec.capacity() * size_of::<T>()
}

#[inline(never)]
pub fn pushed(count: u64) -> Held<Vec<u64>> {
    called!("pushed");
    let mut vec = Vec::new();
    for number in 0..count {
        vec.push(number);
    }
    let bytes = bytes_of(&vec);
    Held::new(vec, bytes, "Vec::push", "Vec<u64>")
}

#[inline(never)]
pub fn reserved(count: usize) -> Held<Vec<u32>> {
    called!("reserved");
    let vec = Vec::with_capacity(count);
    let bytes = bytes_of(&vec);
    Held::new(vec, bytes, "Vec::with_capacity", "Vec<u32>")
}

#[inline(never)]
pub fn filled(count: usize) -> Held<Vec<u16>> {
    called!("filled");
    let vec = vec![7; count];
    let bytes = bytes_of(&vec);
    Held::new(vec, bytes, "vec!", "Vec<u16>")
}

#[inline(never)]
pub fn zeroed(count: usize) -> Held<Vec<u64>> {
    called!("zeroed");
    let vec = vec![0; count];
    let bytes = bytes_of(&vec);
    Held::new(vec, bytes, "vec!", "Vec<u64>")
}

#[inline(never)]
pub fn listed(number: u8) -> Held<Vec<u8>> {
    called!("listed");
    let vec = vec![number, 2, 3, 4, 5];
    let bytes = bytes_of(&vec);
    Held::new(vec, bytes, "vec!", "Vec<u8>")
}

#[inline(never)]
pub fn collected(count: i16) -> Held<Vec<i32>> {
    called!("collected");
    let vec: Vec<i32> = (0..count).map(i32::from).collect();
    let bytes = bytes_of(&vec);
    Held::new(vec, bytes, "Iterator::collect", "Vec<i32>")
}

#[inline(never)]
pub fn extended(count: u32) -> Held<Vec<u32>> {
    called!("extended");
    let mut vec = Vec::new();
    vec.extend((0..count).filter(|number| number % 3 == 0));
    let bytes = bytes_of(&vec);
    Held::new(vec, bytes, "Vec::extend", "Vec<u32>")
}

#[inline(never)]
pub fn copied(from: &[f32]) -> Held<Vec<f32>> {
    called!("copied");
    let vec = from.to_vec();
    let bytes = bytes_of(&vec);
    Held::new(vec, bytes, "<[T]>::to_vec", "Vec<f32>")
}

#[inline(never)]
pub fn slice(count: u32) -> Held<Box<[u32]>> {
    called!("slice");
    let slice: Box<[u32]> = (0..count).collect();
    let bytes = size_of_val(&*slice);
    Held::new(slice, bytes, "Iterator::collect", "Box<[u32]>")
}

/// Converted where it is: no new block.
#[inline(never)]
pub fn doubled(vec: Held<Vec<i32>>) -> Held<Vec<i32>> {
    called!("doubled");
    let Held { value, keys } = vec;
    Held { value: value.into_iter().map(|number| number * 2).collect(), keys }
}

/// One function for all types.
#[inline(never)]
pub fn generic<T: Clone>(value: T, count: usize, holds: &'static str) -> Held<Vec<T>> {
    called!("generic");
    let vec = vec![value; count];
    let bytes = bytes_of(&vec);
    Held::new(vec, bytes, "vec!", holds)
}

/// Grows a block that another function has asked for.
#[inline(never)]
pub fn grow(vec: &mut Held<Vec<u64>>) {
    called!("grow");
    let room = vec.value.capacity() - vec.value.len();
    for _ in 0..=room {
        vec.value.push(1);
    }
    book::grown(vec.keys[0], bytes_of(&vec.value), "Vec::push", "Vec<u64>");
}

#[inline(never)]
pub fn reserve(vec: &mut Held<Vec<u32>>, more: usize) {
    called!("reserve");
    vec.value.reserve_exact(vec.value.capacity() + more);
    book::grown(vec.keys[0], bytes_of(&vec.value), "Vec::reserve_exact", "Vec<u32>");
}

#[inline(never)]
pub fn shrink(vec: &mut Held<Vec<u64>>) {
    called!("shrink");
    vec.value.truncate(3);
    vec.value.shrink_to_fit();
    book::shrunk(vec.keys[0], bytes_of(&vec.value));
}

/// Vectors in a vector: two sites in one function, one of them in a closure.
#[inline(never)]
pub fn nested() -> Held<Vec<Vec<u8>>, 4> {
    called!("nested");
    let mut keys = [None; 3];
    let row = |number: usize| {
        called!("nested::{closure}");
        let row = black_box(Vec::with_capacity(10 + number));
        keys[number] = Some(book::add(bytes_of(&row), "Vec::with_capacity", "Vec<u8>"));
        row
    };
    let vec: Vec<Vec<u8>> = at!((0..3).map(row).collect());
    let own = book::add(bytes_of(&vec), "Iterator::collect", "Vec<Vec<u8>>");
    let [one, two, three] = keys.map(|key| key.expect("three rows"));
    Held { value: vec, keys: [one, two, three, own] }
}
