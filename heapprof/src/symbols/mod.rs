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

use crate::Breakdown;

/// The labels of the band that a call stack, innermost frame first, is in: for [`Breakdown::Arc`] the function
/// that asked and the place that called it, for [`Breakdown::CallStack`] every function, leaf first; one label for
/// [`Breakdown::Description`] and [`Breakdown::Type`], and the module for all others.
///
/// ```
/// use heapprof::Breakdown;
/// use heapprof::symbols::{Frame, labels};
/// let frame = |function: &str, line| Frame {
///     function: function.to_owned(),
///     file: Some(String::from("src/main.rs")),
///     line: Some(line),
///     named: true,
/// };
/// let frames = [frame("<alloc::vec::Vec<u64>>::push", 9), frame("app::load", 3), frame("app::main", 7)];
/// assert_eq!(labels(&frames, Breakdown::Type), ["Vec<u64>"]);
/// assert_eq!(labels(&frames, Breakdown::CallStack), ["app::load", "app::main"]);
/// ```
pub fn labels(frames: &[Frame], breakdown: Breakdown) -> Vec<String> {
    match breakdown {
        Breakdown::Arc => arc(frames),
        Breakdown::CallStack => call_stack(frames),
        Breakdown::Description => vec![description(frames)],
        Breakdown::Type => vec![type_name(frames)],
        _ => vec![module(frames)],
    }
}
