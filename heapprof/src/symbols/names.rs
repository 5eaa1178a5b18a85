//! What a band that stands for a call stack is called: the function that asked for the memory, its
//! module, the operation that allocated, and the type that was allocated.
//!
//! All functions here are pure and total: any text may be a name. Frames of the standard library, of
//! `hashbrown` and of this profiler are *library* frames; a band never names them if a user's is there.
//! ```text
//! <heapprof::HeapProf as core::alloc::global::GlobalAlloc>::alloc  ┐
//! <alloc::raw_vec::RawVec<u64>>::grow_one                          │ library: description, type
//! <alloc::vec::Vec<u64>>::push                                     ┘
//! app::parse::<&str>::{closure#0}         user: asked; arc[0] = app::parse::{closure}; module = app
//! core::iter::adapters::map::map_fold     library, passed over
//! app::main                               user: called; arc[1] = app::main:12
//! std::rt::lang_start_internal            runtime, left out
//! ```

mod mangled;
mod memory;
mod owner;
mod parse;
mod short;

use super::Frame;
use owner::Owner;
use parse::{Path, Root, Type};

/// The label where a name tells nothing.
const UNKNOWN: &str = "?";

/// Whether a symbol, mangled as in the binary, is a function of the standard library or of the allocator.
///
/// A generic function belongs to the crate that wrote it, whatever types it is used for; the method of a
/// trait to the crate with the `impl`, or to the trait's if it is provided by the trait.
///
/// ```ignore
/// assert!(is_library_symbol("_RNvMs3_NtCs1_5alloc7raw_vecINtB5_6RawVecyE8grow_oneCs2_3app"));
/// assert!(!is_library_symbol("_ZN3app4main17h0123456789abcdefE"));
/// ```
pub fn is_library_symbol(mangled: &str) -> bool {
    if let Some(name) = mangled::crate_of(mangled) {
        return owner::is_library_crate(name);
    }
    match mangled::legacy_first(mangled) {
        Some(first) if !first.starts_with("_$LT$") => owner::is_library_crate(first),
        Some(_) => is_library(&format!("{:#}", rustc_demangle::demangle(mangled))),
        None => owner::is_library_name(mangled),
    }
}

/// Whether a function, demangled as in [`Frame::function`], is one of the standard library or of the
/// allocator.
///
/// The demangled name of a trait's method does not tell who wrote it. A user's type has its own `next`
/// and `clone`, but the library's `collect` and `to_string`.
///
/// ```ignore
/// assert!(is_library("<alloc::vec::Vec<app::Foo> as core::clone::Clone>::clone"));
/// assert!(is_library("alloc::vec::Vec<T,A>::push"));
/// assert!(!is_library("<app::Foo as core::clone::Clone>::clone"));
/// ```
pub fn is_library(function: &str) -> bool {
    let Some(path) = parse::parse(function) else { return owner::is_library_name(function) };
    match owner::of(&path) {
        Owner::Library => true,
        Owner::User => false,
        Owner::Either { is_likely_library } => is_likely_library,
    }
}

/// The arc that a call stack ends with: the user's function that asked for the memory, and
/// `function:line` of the one that called it; one label if nothing of the user's called it.
///
/// Labels have no generic arguments and no hash, and are the same for both mangling schemes as far as
/// the names tell. Library frames are passed over. Without any frame of the user's, the label is the
/// outermost library function that is not the runtime's; without any name, the innermost frame.
///
/// ```ignore
/// assert_eq!(arc(&frames), ["app::cache::Cache::insert", "app::main:12"]);
/// ```
pub fn arc(frames: &[Frame]) -> Vec<String> {
    let stack = Stack::of(frames);
    let mut users = stack.users();
    let Some(asked) = users.next() else {
        return vec![stack.substitute().map_or(UNKNOWN.into(), Seen::label)];
    };
    let mut arc = vec![asked.label()];
    arc.extend(users.next().map(Seen::call));
    arc
}

/// The labels of all user's functions in a call stack, of the one that asked first; recursion is kept.
/// As in [`arc`], one label if there is none.
pub fn call_stack(frames: &[Frame]) -> Vec<String> {
    let stack = Stack::of(frames);
    let labels: Vec<String> = stack.users().map(Seen::label).collect();
    if labels.is_empty() { arc(frames) } else { labels }
}

/// The path of the module of the function that asked: `app::cache` for `app::cache::Cache::insert`.
///
/// A method is in the module of its type, or of its trait if the type is not the user's. A function in a
/// function counts as in a module. `?` for functions without path, as those of C.
pub fn module(frames: &[Frame]) -> String {
    let stack = Stack::of(frames);
    let asked = stack.users().next().or_else(|| stack.substitute());
    let module = asked.and_then(|seen| match &seen.path {
        Some(path) => module_of(path),
        None => seen.frame.function.split_once("+0x").map(|(file, _)| file.to_owned()),
    });
    module.filter(|module| !module.is_empty()).unwrap_or_else(|| UNKNOWN.to_owned())
}

/// The operation that allocated: `Vec::push`, `String::from`, `format!`, `Iterator::collect`.
///
/// It is the one nearest to the user's code, as the library frames tell it. `alloc`, `realloc` or
/// `alloc_zeroed` if no library function lies between the user's function and the allocator; so too
/// where all of them are inlined and the line tables that would tell so are missing.
pub fn description(frames: &[Frame]) -> String {
    let stack = Stack::of(frames);
    memory::description(stack.library_paths())
}

/// The type that was allocated, or that holds what was: `Vec<u64>`, `HashMap<String,Conn>`,
/// `Box<dyn Error>`; `?` for arguments that the names do not tell, and `?` alone if no known type of
/// the library is there.
///
/// It is the known type nearest to the user's code. A user's type that calls the allocator itself is the
/// type, if its name is there.
pub fn type_name(frames: &[Frame]) -> String {
    let stack = Stack::of(frames);
    let known = memory::type_name(stack.library_paths());
    let own = || stack.users().next().and_then(|asked| memory::own_type(asked.path.as_ref()?));
    known
        .or_else(|| memory::is_direct(stack.library_paths()).then(own).flatten())
        .unwrap_or_else(|| UNKNOWN.to_owned())
}

/// What a frame is to a chart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    User,
    Library,
    Unnamed,
}

/// A frame, parsed.
struct Seen<'a> {
    frame: &'a Frame,
    /// None for names that are no paths.
    path: Option<Path<'a>>,
    kind: Kind,
}

impl<'a> Seen<'a> {
    fn of(frame: &'a Frame) -> Self {
        if !frame.named {
            return Self { frame, path: None, kind: Kind::Unnamed };
        }
        let path = parse::parse(&frame.function);
        let is_in_library = || frame.file.as_deref().map(owner::is_library_file);
        let is_library = match path.as_ref().map(owner::of) {
            Some(Owner::Library) => true,
            // Debug information has functions without their path.
            Some(Owner::User) => {
                let is_bare =
                    path.as_ref().is_some_and(|path| path.segments.len() == 1 && path.root == Root::Crate);
                is_bare && is_in_library() == Some(true)
            }
            Some(Owner::Either { is_likely_library }) => is_in_library().unwrap_or(is_likely_library),
            None => owner::is_library_name(&frame.function),
        };
        Self { frame, path, kind: if is_library { Kind::Library } else { Kind::User } }
    }

    fn label(&self) -> String {
        let label = match &self.path {
            Some(path) => short::function(path),
            None => self.frame.function.split_whitespace().collect::<Vec<_>>().join(" "),
        };
        if label.is_empty() { UNKNOWN.to_owned() } else { label }
    }

    /// The label with the line of the call.
    fn call(&self) -> String {
        let label = self.label();
        self.frame.line.map_or(label.clone(), |line| format!("{label}:{line}"))
    }

    /// Whether this is C's `main`, in Rust programs a shim before `lang_start`.
    fn is_c_main(&self) -> bool {
        matches!(self.frame.function.as_str(), "main" | "_main") && self.frame.named
    }

    /// Whether a frame starts or ends programs and threads, or has no path.
    fn is_runtime(&self) -> bool {
        let Some(path) = &self.path else { return true };
        match &path.segments[..] {
            [_] => path.root == Root::Crate,
            [first, second, ..] if path.root == Root::Crate && first.name == "std" => {
                matches!(second.name, "rt" | "sys" | "panicking" | "panic")
            }
            _ => matches!(&path.root, Root::Trait(_, what)
                if what.segments.last().is_some_and(|last| matches!(last.name, "Fn" | "FnMut" | "FnOnce"))),
        }
    }
}

/// A call stack, innermost frame first.
struct Stack<'a> {
    seen: Vec<Seen<'a>>,
}

impl<'a> Stack<'a> {
    fn of(frames: &'a [Frame]) -> Self {
        let mut seen: Vec<Seen<'a>> = frames.iter().map(Seen::of).collect();
        drop_main_shim(&mut seen);
        Self { seen }
    }

    fn users(&self) -> impl Iterator<Item = &Seen<'a>> {
        self.seen.iter().filter(|seen| seen.kind == Kind::User)
    }

    /// The paths of the library's frames between the allocator and the user's code, outermost first.
    fn library_paths(&self) -> impl Iterator<Item = &Path<'a>> {
        let end = self.seen.iter().position(|seen| seen.kind == Kind::User).unwrap_or(self.seen.len());
        self.seen[..end].iter().rev().filter_map(|seen| seen.path.as_ref())
    }

    /// The frame that stands in where no frame is the user's.
    fn substitute(&self) -> Option<&Seen<'a>> {
        let named = || self.seen.iter().rev().filter(|seen| seen.kind == Kind::Library);
        named().find(|seen| !seen.is_runtime()).or_else(|| named().next()).or_else(|| self.seen.first())
    }
}

/// Makes `main` a library frame where the library called by it: then the compiler wrote it.
fn drop_main_shim(seen: &mut [Seen<'_>]) {
    let Some(outermost) = seen.iter().rposition(|seen| seen.kind == Kind::User) else { return };
    let inner = seen[..outermost].iter().rev().find(|seen| seen.kind != Kind::Unnamed);
    if seen[outermost].is_c_main() && inner.is_some_and(|seen| seen.kind == Kind::Library) {
        seen[outermost].kind = Kind::Library;
    }
}

/// The module of a function, type or trait; empty for a name without path.
fn module_of(path: &Path<'_>) -> Option<String> {
    match &path.root {
        Root::Crate => Some(module_in_crate(path)),
        Root::Type(of) => module_of_type(of),
        Root::Trait(of, what) if owner::is_users_path(what) => {
            module_of_type(of).filter(|_| is_plain_users(of)).or_else(|| module_of(what))
        }
        Root::Trait(of, _) => module_of_type(of),
    }
}

fn is_plain_users(of: &Type<'_>) -> bool {
    matches!(of, Type::Path(path) if owner::is_users_path(path))
}

fn module_of_type(of: &Type<'_>) -> Option<String> {
    match of {
        Type::Path(path) => module_of(path),
        Type::Pointer(_, of) | Type::Slice(of) | Type::Array(of, _) => module_of_type(of),
        Type::Tuple(of) => of.iter().find(|of| owner::is_users_type(of)).and_then(module_of_type),
        Type::Dyn(bounds) => bounds.first().and_then(module_of),
        Type::Fn(..) | Type::Binding(..) | Type::Text(_) => None,
    }
}

/// What is before the type or the function: a type starts with a capital, and closures come after.
fn module_in_crate(path: &Path<'_>) -> String {
    let names: Vec<&str> = path.segments.iter().map(|segment| segment.name).collect();
    let closure = names.iter().position(|name| name.starts_with('{')).unwrap_or(names.len());
    let function = closure.saturating_sub(1);
    let is_type = |name: &&str| name.starts_with(|c: char| c.is_uppercase());
    let end = names[..function].iter().position(is_type).unwrap_or(function);
    names[..end].join("::")
}
