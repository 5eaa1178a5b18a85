//! Ways of being called: closures, recursion, functions that the compiler makes part of their callers.

use std::hint::black_box;

use crate::book::{Held, at, called};
use crate::vecs::bytes_of;

#[inline(never)]
fn each<T>(mut make: impl FnMut(usize) -> T) -> [T; 2] {
    called!("each");
    let first = at!(make(40));
    let second = at!(make(50));
    [first, second]
}

#[inline(never)]
pub fn closure() -> [Held<Vec<u16>>; 2] {
    called!("closure");
    at!(each(
        #[inline(never)]
        |room| {
            called!("closure::{closure}");
            let vec = Vec::with_capacity(room);
            let bytes = bytes_of(&vec);
            Held::new(vec, bytes, "Vec::with_capacity", "Vec<u16>")
        }
    ))
}

#[inline(never)]
pub fn deep(steps: usize) -> Held<Vec<u8>> {
    called!("deep");
    if steps > 0 {
        return at!(deep(steps - 1));
    }
    let vec = vec![9; 1001];
    let bytes = bytes_of(&vec);
    Held::new(vec, bytes, "vec!", "Vec<u8>")
}

#[inline(always)]
fn inlined(count: usize) -> Held<Vec<u32>> {
    called!("inlined");
    let vec = black_box(Vec::with_capacity(count));
    let bytes = bytes_of(&vec);
    Held::new(vec, bytes, "Vec::with_capacity", "Vec<u32>")
}

#[inline(always)]
fn between(count: usize) -> Held<Vec<u32>> {
    called!("between");
    at!(inlined(count))
}

/// Two functions become part of this one.
#[inline(never)]
pub fn outer() -> [Held<Vec<u32>>; 2] {
    called!("outer");
    let one = at!(between(60));
    let other = at!(inlined(70));
    [one, other]
}

/// A number of bytes to ask for.
struct Pool(usize);

impl Pool {
    #[inline(always)]
    fn take(&self) -> Held<Vec<u8>> {
        called!("Pool::take");
        let vec = black_box(Vec::with_capacity(self.0));
        let bytes = bytes_of(&vec);
        Held::new(vec, bytes, "Vec::with_capacity", "Vec<u8>")
    }
}

/// A method becomes part of this function.
#[inline(never)]
pub fn method(count: usize) -> Held<Vec<u8>> {
    called!("method");
    at!(Pool(count).take())
}

type Function = Box<dyn Fn(u64) -> u64>;

/// A closure with what it has captured.
#[inline(never)]
pub fn boxed(number: u64) -> Held<Function> {
    called!("boxed");
    let numbers = black_box([number; 3]);
    let function: Function = Box::new(move |other| numbers[1] + other);
    Held::new(function, 24, "Box::new", "Box<boxed::{closure}>")
}
