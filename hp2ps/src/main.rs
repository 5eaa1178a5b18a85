//! The hp2ps command.
fn main() {}
