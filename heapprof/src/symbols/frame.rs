//! One function in a call stack.

/// One function in a call stack, as the debug information or the symbol table tells it.
///
/// A return address gives several frames where functions were inlined. Call stacks are slices of
/// frames, innermost (the one that called the allocator) first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Frame {
    /// The function's path, demangled and without the hash of the legacy scheme; generic arguments
    /// as far as the scheme tells them. `module+0x1f2c` when no name is known.
    pub function: String,
    /// The source file as the compiler wrote it; none without line tables.
    pub file: Option<String>,
    /// Line in that file, from 1: of the call that the frame was making.
    pub line: Option<u32>,
    /// Whether `function` is a name and not an offset.
    pub named: bool,
}
