//! The hp2svg command.
fn main() {}
