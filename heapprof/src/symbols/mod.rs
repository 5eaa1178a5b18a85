//! From return addresses to names: which loaded file an address lies in, which functions it belongs
//! to (inlined ones included), and what a band that stands for them is called.
//!
//! ```text
//! address ─▶ modules: (file, build id, offset) ─▶ image: frames, innermost first ─▶ names: a band
//! ```
//! Nothing here runs on the program's threads: the ticker names new places before it writes a sample,
//! or a tool does later (`HEAPPROF_SYMBOLS=offline`).

mod frame;
mod image;
mod modules;
mod names;

pub use frame::Frame;
pub use image::Image;
pub use modules::{Module, Modules};
pub use names::{arc, call_stack, description, is_library, is_library_symbol, module, type_name};
