//! Types of the program's own: plain ones, a trait, and a collection that calls the allocator itself.

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};

use crate::book::{Held, called};
use crate::vecs::bytes_of;

pub struct Conn([u64; 3]);

impl Conn {
    pub fn new(number: u64) -> Self {
        Self([number; 3])
    }

    pub fn number(&self) -> u64 {
        self.0[0]
    }
}

/// Aligned beyond what the system's allocator gives by itself.
#[repr(align(64))]
pub struct Line(pub [u8; 64]);

pub struct Dog(pub [u64; 5]);

pub trait Speak {
    fn speak(&self) -> Held<Vec<u64>>;

    #[inline(never)]
    fn whisper(&self) -> Held<Vec<u8>> {
        called!("<held::things::Dog as Speak>::whisper", in "held::things");
        let vec = Vec::with_capacity(33);
        let bytes = bytes_of(&vec);
        Held::new(vec, bytes, "Vec::with_capacity", "Vec<u8>")
    }
}

impl Speak for Dog {
    #[inline(never)]
    fn speak(&self) -> Held<Vec<u64>> {
        called!("<held::things::Dog as Speak>::speak", in "held::things");
        let vec = self.0.to_vec();
        let bytes = bytes_of(&vec);
        Held::new(vec, bytes, "<[T]>::to_vec", "Vec<u64>")
    }
}

/// A method on a type of the library.
pub trait Make {
    fn make(&self) -> Held<String>;
}

impl Make for Vec<f32> {
    #[inline(never)]
    fn make(&self) -> Held<String> {
        called!("<Vec as held::things::Make>::make", in "held::things");
        let string = "v".repeat(self.len());
        let bytes = string.capacity();
        Held::new(string, bytes, "str::repeat", "String")
    }
}

/// A collection of the program's own.
pub struct Ring<T> {
    start: *mut T,
    room: usize,
}

impl<T> Ring<T> {
    fn layout(room: usize) -> Layout {
        Layout::array::<T>(room).expect("small")
    }

    #[inline(never)]
    pub fn with_room(room: usize, holds: &'static str) -> Held<Self> {
        called!("Ring::with_room");
        let layout = Self::layout(room);
        // SAFETY: the tests ask for some room.
        let start = unsafe { alloc(layout) }.cast::<T>();
        if start.is_null() {
            handle_alloc_error(layout);
        }
        Held::new(Self { start, room }, layout.size(), "alloc", holds)
    }
}

impl<T> Drop for Ring<T> {
    fn drop(&mut self) {
        // SAFETY: allocated in `with_room` with this layout.
        unsafe { dealloc(self.start.cast(), Self::layout(self.room)) };
    }
}
