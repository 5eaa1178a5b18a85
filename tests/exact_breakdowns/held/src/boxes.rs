//! Boxes and counted pointers.

use std::hint::black_box;
use std::rc::Rc;
use std::sync::Arc;

use crate::book::{Held, called};
use crate::things::{Conn, Dog, Line, Speak};

/// The two counts in front of what an `Rc` or `Arc` points to.
const COUNTS: usize = 2 * size_of::<usize>();

#[inline(never)]
pub fn array() -> Held<Box<[u64; 20]>> {
    called!("array");
    let value = Box::new(black_box([1; 20]));
    Held::new(value, 160, "Box::new", "Box<[u64;20]>")
}

#[inline(never)]
pub fn conn(number: u64) -> Held<Box<Conn>> {
    called!("conn");
    Held::new(Box::new(Conn::new(number)), size_of::<Conn>(), "Box::new", "Box<Conn>")
}

#[inline(never)]
pub fn object(number: u64) -> Held<Box<dyn Speak>> {
    called!("object");
    let object: Box<dyn Speak> = Box::new(Dog([number; 5]));
    Held::new(object, size_of::<Dog>(), "Box::new", "Box<Dog>")
}

#[inline(never)]
pub fn counted(number: u64) -> Held<Rc<Conn>> {
    called!("counted");
    Held::new(Rc::new(Conn::new(number)), COUNTS + size_of::<Conn>(), "Rc::new", "Rc<Conn>")
}

#[inline(never)]
pub fn shared(byte: u8) -> Held<Arc<[u8; 100]>> {
    called!("shared");
    let shared = Arc::new(black_box([byte; 100]));
    Held::new(shared, (COUNTS + 100).next_multiple_of(8), "Arc::new", "Arc<[u8;100]>")
}

#[inline(never)]
pub fn text(text: &str) -> Held<Rc<str>> {
    called!("text");
    Held::new(Rc::from(text), (COUNTS + text.len()).next_multiple_of(8), "Rc::from", "Rc<str>")
}

#[inline(never)]
pub fn byte(byte: u8) -> Held<Box<u8>> {
    called!("byte");
    Held::new(Box::new(byte), 1, "Box::new", "Box<u8>")
}

#[inline(never)]
pub fn line(byte: u8) -> Held<Box<Line>> {
    called!("line");
    Held::new(Box::new(Line([byte; 64])), 64, "Box::new", "Box<Line>")
}
