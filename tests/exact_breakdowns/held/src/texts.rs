//! Strings.

use crate::book::{Held, called};

fn held(text: String, does: &'static str) -> Held<String> {
    let bytes = text.capacity();
    Held::new(text, bytes, does, "String")
}

#[inline(never)]
pub fn from(text: &str) -> Held<String> {
    called!("from");
    held(String::from(text), "String::from")
}

#[inline(never)]
pub fn pushed(text: &str) -> Held<String> {
    called!("pushed");
    let mut string = String::new();
    for _ in 0..5 {
        string.push_str(text);
    }
    held(string, "String::push_str")
}

#[inline(never)]
pub fn formatted(number: u32) -> Held<String> {
    called!("formatted");
    held(format!("number {number} of a list that goes on"), "format!")
}

#[inline(never)]
pub fn owned(text: &str) -> Held<String> {
    called!("owned");
    held(text.to_owned(), "str::to_owned")
}

#[inline(never)]
pub fn printed(number: f64) -> Held<String> {
    called!("printed");
    held(number.to_string(), "ToString::to_string")
}

#[inline(never)]
pub fn copied(text: &String) -> Held<String> {
    called!("copied");
    held(text.clone(), "String::clone")
}

#[inline(never)]
pub fn joined(parts: &[&str]) -> Held<String> {
    called!("joined");
    held(parts.join(", "), "<[T]>::join")
}
