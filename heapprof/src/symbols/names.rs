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

mod generics;
mod mangled;
mod memory;
mod owner;
mod parse;
mod short;

use std::borrow::Cow;

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
/// ```
/// use heapprof::symbols::is_library_symbol;
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
/// ```
/// use heapprof::symbols::is_library;
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
/// outermost library function that is not the runtime's; without that, as in a stripped program, frames
/// without name count as the user's.
///
/// ```
/// use heapprof::symbols::{Frame, arc};
/// let frame = |function: &str, line| Frame { function: function.into(), file: None, line, named: true };
/// let frames = [
///     frame("<alloc::vec::Vec<u64>>::push", None),
///     frame("<app::cache::Cache<u64>>::insert", Some(30)),
///     frame("app::main", Some(12)),
/// ];
/// assert_eq!(arc(&frames), ["app::cache::Cache::insert", "app::main:12"]);
/// ```
pub fn arc(frames: &[Frame]) -> Vec<String> {
    let names = full_names(frames);
    let stack = Stack::of(frames, &names);
    match stack.shown()[..] {
        [] => vec![UNKNOWN.to_owned()],
        [asked] => vec![asked.label()],
        [asked, caller, ..] => vec![asked.label(), caller.call()],
    }
}

/// The labels of all user's functions in a call stack, of the one that asked first; recursion is kept.
/// Where there is none, as in [`arc`].
///
/// ```
/// use heapprof::symbols::{Frame, call_stack};
/// let frame = |function: &str| Frame { function: function.into(), file: None, line: None, named: true };
/// let frames = ["alloc::vec::Vec<T,A>::push", "app::walk", "app::walk", "app::main", "std::rt::lang_start"];
/// assert_eq!(call_stack(&frames.map(frame)), ["app::walk", "app::walk", "app::main"]);
/// ```
pub fn call_stack(frames: &[Frame]) -> Vec<String> {
    let names = full_names(frames);
    let stack = Stack::of(frames, &names);
    match stack.shown()[..] {
        [] => vec![UNKNOWN.to_owned()],
        ref shown => shown.iter().map(|seen| seen.label()).collect(),
    }
}

/// The path of the module of the function that asked: `app::cache` for `app::cache::Cache::insert`.
///
/// A method is in the module of its type, or of its trait if the type is not the user's. A function in a
/// function counts as in a module. `?` for functions without path, as those of C.
///
/// ```
/// use heapprof::symbols::{Frame, module};
/// let function = "<app::cache::Cache<u8> as core::clone::Clone>::clone".to_owned();
/// let frame = Frame { function, file: None, line: None, named: true };
/// assert_eq!(module(&[frame]), "app::cache");
/// ```
pub fn module(frames: &[Frame]) -> String {
    let names = full_names(frames);
    let stack = Stack::of(frames, &names);
    let module = stack.shown().first().and_then(|seen| match &seen.path {
        Some(_) if seen.is_by_file() => {
            seen.name.strip_suffix(&seen.frame.function)?.strip_suffix("::").map(str::to_owned)
        }
        Some(path) => module_of(path),
        None => seen.name.split_once("+0x").map(|(file, _)| file.to_owned()),
    });
    module.filter(|module| !module.is_empty()).unwrap_or_else(|| UNKNOWN.to_owned())
}

/// The operation that allocated: `Vec::push`, `String::from`, `format!`, `Iterator::collect`.
///
/// It is the one nearest to the user's code, as the library frames tell it. `alloc`, `realloc` or
/// `alloc_zeroed` if no library function lies between the user's function and the allocator; so too
/// where all of them are inlined and the line tables that would tell so are missing.
///
/// ```
/// use heapprof::symbols::{Frame, description};
/// let frame = |function: &str| Frame { function: function.into(), file: None, line: None, named: true };
/// let frames = ["<alloc::raw_vec::RawVec<u8>>::reserve", "<alloc::string::String>::push_str", "app::main"];
/// assert_eq!(description(&frames.map(frame)), "String::push_str");
/// ```
pub fn description(frames: &[Frame]) -> String {
    let names = full_names(frames);
    let stack = Stack::of(frames, &names);
    memory::description(stack.library_paths().iter())
}

/// The type that was allocated, or that holds what was: `Vec<u64>`, `HashMap<String,Conn>`,
/// `Box<dyn Error>`; `?` for arguments that the names do not tell, and `?` alone if no known type of
/// the library is there. An argument with a question mark, `Vec<u64?>`, is the name of a function
/// that all types of that size may share, as compilers keep one of several equal functions.
///
/// It is the known type nearest to the user's code. A user's type that calls the allocator itself is the
/// type, if its name is there.
///
/// ```
/// use heapprof::symbols::{Frame, type_name};
/// let frame = |function: &str| Frame { function: function.into(), file: None, line: None, named: true };
/// let of_v0 = ["<alloc::vec::Vec<app::Conn>>::push", "app::main"];
/// assert_eq!(type_name(&of_v0.map(frame)), "Vec<Conn>");
/// let of_legacy = ["alloc::vec::Vec<T,A>::push", "app::main"];
/// assert_eq!(type_name(&of_legacy.map(frame)), "Vec<?>");
/// let with_debug_information = ["alloc::vec::Vec<T,A>::push<app::Conn, Global>", "app::main"];
/// assert_eq!(type_name(&with_debug_information.map(frame)), "Vec<Conn>");
/// ```
pub fn type_name(frames: &[Frame]) -> String {
    let names = full_names(frames);
    let stack = Stack::of(frames, &names);
    let paths = stack.library_paths();
    let asked = || stack.users().next().and_then(|asked| asked.path.as_ref());
    let own = || memory::own_type(&generics::filled(asked()?));
    memory::type_name(paths.iter())
        .or_else(|| memory::is_direct(paths.iter()).then(own).flatten())
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
    name: &'a str,
    /// None for names that are no paths.
    path: Option<Path<'a>>,
    kind: Kind,
}

impl<'a> Seen<'a> {
    fn of(frame: &'a Frame, name: &'a str) -> Self {
        if !frame.named {
            return Self { frame, name, path: None, kind: Kind::Unnamed };
        }
        let path = parse::parse(name);
        let is_library = match path.as_ref().map(owner::of) {
            Some(Owner::Library) => true,
            Some(Owner::User) => false,
            Some(Owner::Either { is_likely_library }) => {
                frame.file.as_deref().map_or(is_likely_library, owner::is_library_file)
            }
            None => owner::is_library_name(name),
        };
        Self { frame, name, path, kind: if is_library { Kind::Library } else { Kind::User } }
    }

    fn label(&self) -> String {
        let label = match &self.path {
            Some(path) => short::function(path),
            None => self.name.split_whitespace().collect::<Vec<_>>().join(" "),
        };
        if label.is_empty() { UNKNOWN.to_owned() } else { label }
    }

    /// The label with the line of the call.
    fn call(&self) -> String {
        let label = self.label();
        self.frame.line.map_or(label.clone(), |line| format!("{label}:{line}"))
    }

    /// Whether the module before the name is from the source file: see [`full_names`].
    fn is_by_file(&self) -> bool {
        self.name.len() > self.frame.function.len()
    }

    /// Whether this is C's `main`, in Rust programs a shim before `lang_start`.
    fn is_c_main(&self) -> bool {
        matches!(self.name, "main" | "_main")
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

/// The names of frames. Line tables alone give inlined functions names without path; the source file
/// then stands for the module.
fn full_names(frames: &[Frame]) -> Vec<Cow<'_, str>> {
    let full_name = |frame: &Frame| {
        let name = frame.function.as_str();
        let is_bare = frame.named && !name.starts_with('<') && !before_args(name).contains("::");
        let file = frame.file.as_deref().filter(|_| is_bare && !name.starts_with("__"))?;
        Some(format!("{}::{name}", owner::module_of_file(file)?))
    };
    let whole = |frame| full_name(frame).map_or(Cow::Borrowed(frame.function.as_str()), Cow::Owned);
    frames.iter().map(whole).collect()
}

fn before_args(name: &str) -> &str {
    name.split_once('<').map_or(name, |(before, _)| before)
}

/// A call stack, innermost frame first.
struct Stack<'a> {
    seen: Vec<Seen<'a>>,
}

impl<'a> Stack<'a> {
    fn of(frames: &'a [Frame], names: &'a [Cow<'a, str>]) -> Self {
        let named = frames.iter().zip(names);
        let mut seen: Vec<Seen<'a>> = named.map(|(frame, name)| Seen::of(frame, name)).collect();
        drop_main_shim(&mut seen);
        Self { seen }
    }

    fn users(&self) -> impl Iterator<Item = &Seen<'a>> {
        self.seen.iter().filter(|seen| seen.kind == Kind::User)
    }

    /// The paths of the library's frames between the allocator and the user's code, outermost first, with the
    /// arguments that are known.
    fn library_paths(&self) -> Vec<Path<'a>> {
        let end = self.seen.iter().position(|seen| seen.kind == Kind::User).unwrap_or(self.seen.len());
        let paths = self.seen[..end].iter().rev().filter_map(|seen| seen.path.as_ref());
        paths.map(generics::filled).collect()
    }

    /// The frames that a band shows, innermost first: the user's; else the outermost function of the library
    /// that is not the runtime's; else frames without name, since the program may be stripped; else the
    /// runtime's outermost.
    fn shown(&self) -> Vec<&Seen<'a>> {
        let of = |kind| self.seen.iter().filter(move |seen| seen.kind == kind);
        let users: Vec<&Seen<'a>> = of(Kind::User).collect();
        if !users.is_empty() {
            return users;
        }
        if let Some(library) = of(Kind::Library).rfind(|seen| !seen.is_runtime()) {
            return vec![library];
        }
        let unnamed: Vec<&Seen<'a>> = of(Kind::Unnamed).collect();
        if unnamed.is_empty() { of(Kind::Library).next_back().into_iter().collect() } else { unnamed }
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

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use std::collections::HashMap;

    use super::*;

    const STACKS: &str = include_str!("../../../tests/data/symbols/names.txt");
    const SYMBOLS: &str = include_str!("../../../tests/data/symbols/names_symbols.txt");

    /// A stack of the data file, with what it is to be called.
    #[derive(Default)]
    struct Case {
        name: String,
        frames: Vec<Frame>,
        /// By `arc`, `module`, `does` and `type`.
        want: HashMap<String, String>,
    }

    /// Reads the frame of a line: its name, and after a tab its file and line.
    fn frame(line: &str) -> Frame {
        let (function, place) =
            line.split_once('\t').map_or((line, None), |(name, place)| (name, Some(place)));
        let (file, number) = match place.and_then(|place| place.rsplit_once(':')) {
            Some((file, number)) => (Some(file), number.parse().ok()),
            None => (place, None),
        };
        let named = function != "?";
        Frame { function: function.to_owned(), file: file.map(str::to_owned), line: number, named }
    }

    fn cases() -> Vec<Case> {
        let mut parts: HashMap<&str, Vec<Frame>> = HashMap::new();
        let mut cases: Vec<Case> = Vec::new();
        let mut part = None;
        for line in STACKS.lines().filter(|line| !line.is_empty() && !line.starts_with("//")) {
            if let Some(line) = line.strip_prefix('\t') {
                let more = match line.strip_prefix('@') {
                    Some(name) => parts[name].clone(),
                    None => vec![frame(line)],
                };
                let into = part.map_or_else(
                    || &mut cases.last_mut().unwrap().frames,
                    |name| parts.entry(name).or_default(),
                );
                into.extend(more);
                continue;
            }
            let (key, value) = line.split_once(": ").unwrap();
            match key {
                "part" => part = Some(value),
                "case" => {
                    part = None;
                    cases.push(Case { name: value.to_owned(), ..Case::default() });
                }
                _ => {
                    assert_eq!(cases.last_mut().unwrap().want.insert(key.to_owned(), value.to_owned()), None)
                }
            }
        }
        cases
    }

    #[test]
    fn real_stacks_have_the_names_a_reader_expects() {
        let cases = cases();
        assert_eq!(cases.len(), 269);
        let mut wrong = Vec::new();
        for case in &cases {
            let frames = &case.frames;
            let got = [
                ("arc", arc(frames).join("\t")),
                ("module", module(frames)),
                ("does", description(frames)),
                ("type", type_name(frames)),
            ];
            for (what, got) in got.into_iter().filter(|(what, got)| case.want[*what] != *got) {
                wrong.push(format!("{}: {what} is {got}, not {}", case.name, case.want[what]));
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }

    #[test]
    fn a_call_stack_is_of_users_functions_and_begins_with_the_arc() {
        for case in cases() {
            let stack = call_stack(&case.frames);
            assert_eq!(stack[0], arc(&case.frames)[0], "{}", case.name);
            let outermost = stack.last().unwrap();
            assert!(
                matches!(&**outermost, "app::main" | "app::main::{closure}" | "app::{closure}"),
                "{}",
                case.name
            );
        }
        let recursion = cases().into_iter().find(|case| case.name.ends_with("recursion")).unwrap();
        let walks = ["app::ops::down"; 4].into_iter();
        let want: Vec<&str> = walks.chain(["app::ops::recursion", "app::drive", "app::main"]).collect();
        assert_eq!(call_stack(&recursion.frames), want);
    }

    #[test]
    fn symbols_of_real_binaries_are_told_apart() {
        let symbols: Vec<(&str, &str)> = SYMBOLS.lines().filter_map(|line| line.split_once('\t')).collect();
        assert_eq!(symbols.len(), 131);
        for (whose, symbol) in symbols {
            assert_eq!(is_library_symbol(symbol), whose == "library", "{symbol}");
            let name = format!("{:#}", rustc_demangle::demangle(symbol));
            assert_eq!(is_library(&name), whose == "library", "{name}");
        }
        for library in ["__rust_alloc", "__rustc::__rust_realloc", "_rjem_mallocx", "_start", "clone3"] {
            assert!(is_library_symbol(library) && is_library(library), "{library}");
        }
        for user in ["main", "sqlite3_exec", "", "_R", "_ZN", "_RNv", "_ZN99999999999999999999core"] {
            assert!(!is_library_symbol(user), "{user}");
        }
    }

    #[test]
    fn the_crate_of_an_impl_says_whose_a_method_is() {
        for library in [
            "<alloc::vec::Vec<app::Foo>>::push",
            "<alloc::vec::Vec<app::Foo> as core::clone::Clone>::clone",
            "<app::main::{closure#0} as core::ops::function::FnOnce<()>>::call_once",
            "core::ops::function::FnOnce::call_once::<app::main::{closure#0}>",
            "<app::Foo as alloc::string::ToString>::to_string",
            "<app::Foo as <[_]>::to_vec_in::ConvertVec>::to_vec::<alloc::alloc::Global>",
            "<app::Words as core::iter::traits::iterator::Iterator>::collect::<alloc::vec::Vec<u8>>",
            "<[app::Foo]>::to_vec_in::<alloc::alloc::Global>",
            "std::io::impls::<impl std::io::Write for alloc::vec::Vec<u8,A>>::write_all",
            "core::ptr::drop_in_place<app::Foo>",
        ] {
            assert!(is_library(library), "{library}");
        }
        for user in [
            "<app::Foo as core::clone::Clone>::clone",
            "<app::Words as core::iter::traits::iterator::Iterator>::next",
            "<alloc::vec::Vec<u8> as app::Make>::make",
            "<alloc::string::String as core::convert::From<app::Foo>>::from",
            "app::ops::<impl core::fmt::Display for app::Foo>::fmt",
            "<dyn app::Shape>::area",
            "app::main::{closure#0}",
        ] {
            assert!(!is_library(user), "{user}");
        }
    }

    fn named(functions: &[&str]) -> Vec<Frame> {
        functions.iter().map(|function| frame(function)).collect()
    }

    #[test]
    fn stacks_without_a_users_function_have_a_name() {
        assert_eq!(arc(&[]), ["?"]);
        assert_eq!((module(&[]), description(&[]), type_name(&[])), ("?".into(), "alloc".into(), "?".into()));
        let threads_own =
            named(&["alloc::alloc::alloc", "std::thread::Thread::new", "std::rt::lang_start", "_start"]);
        assert_eq!(arc(&threads_own), ["std::thread::Thread::new"]);
        assert_eq!(module(&threads_own), "std::thread");
        let unnamed = Frame { function: "app+0x1f2c".into(), ..Frame::default() };
        assert_eq!(arc(std::slice::from_ref(&unnamed)), ["app+0x1f2c"]);
        assert_eq!(module(std::slice::from_ref(&unnamed)), "app");
        let stripped = [unnamed.clone(), unnamed.clone(), frame("__libc_start_call_main"), frame("_start")];
        assert_eq!(arc(&stripped), ["app+0x1f2c", "app+0x1f2c"]);
        assert_eq!(call_stack(&stripped), ["app+0x1f2c", "app+0x1f2c"]);
        assert_eq!(module(&stripped), "app");
        assert_eq!(arc(&named(&["start_thread", "clone3"])), ["clone3"]);
        let between = [frame("app::f"), unnamed, frame("app::main\tsrc/main.rs:3")];
        assert_eq!(arc(&between), ["app::f", "app::main:3"]);
    }

    #[test]
    fn main_is_left_out_where_the_compiler_wrote_it() {
        assert_eq!(call_stack(&named(&["app::f", "std::rt::lang_start", "main", "_start"])), ["app::f"]);
        assert_eq!(call_stack(&named(&["app::f", "main", "_start"])), ["app::f", "main"]);
    }

    #[test]
    fn a_source_file_stands_for_the_module_where_names_have_no_path() {
        let frames = [
            frame("push<u64, alloc::alloc::Global>\t/rustc/1/library/alloc/src/vec/mod.rs:9"),
            frame("{closure#0}\t/build/me/my-app/src/cache/mod.rs:7"),
            frame("serialize<u8>\t/build/me/.cargo/registry/src/index/serde_json-1.0.140/src/ser.rs:70"),
        ];
        assert_eq!(arc(&frames), ["my_app::cache::{closure}", "serde_json::ser::serialize:70"]);
        assert_eq!(module(&frames), "my_app::cache");
        assert_eq!((description(&frames), type_name(&frames)), ("Vec::push".into(), "Vec<u64>".into()));
    }

    #[test]
    fn parameters_take_the_arguments_that_debug_information_gives() {
        let frames = named(&["alloc::vec::Vec<T,A>::push<u64, alloc::alloc::Global>", "app::main"]);
        assert_eq!(type_name(&frames), "Vec<u64>");
        let frames = named(&["alloc::vec::{impl#1}::push<u64, alloc::alloc::Global>", "app::main"]);
        assert_eq!(type_name(&frames), "Vec<u64>");
        let into = [
            "<alloc::sync::Arc<[u32]> as core::convert::From<alloc::vec::Vec<u32>>>::from",
            "<alloc::vec::Vec<u32> as core::convert::Into<alloc::sync::Arc<[u32]>>>::into",
            "app::f",
        ];
        assert_eq!(type_name(&named(&into)), "Arc<[u32]>");
        let own = |name| type_name(&named(&["alloc::alloc::alloc", name]));
        assert_eq!(own("app::slab::Slab<T>::grow<app::Conn>"), "Slab<Conn>");
        assert_eq!(own("<app::slab::Slab<app::Conn>>::grow"), "Slab<Conn>");
        assert_eq!(own("app::slab::Slab<T>::grow"), "?");
    }

    #[test]
    fn a_parameter_stays_unknown_where_it_is_uncertain_which_argument_is_its() {
        let of = |name| type_name(&named(&["alloc::alloc::alloc", name, "app::main"]));
        for (name, expected) in [
            ("alloc::collections::btree::map::BTreeMap<K,V,A>::insert<u8, u16, Global>", "BTreeMap<u8,u16>"),
            ("alloc::boxed::Box<[T]>::new_uninit_slice<u16>", "Box<[u16]>"),
            ("alloc::slice::<impl [T]>::to_vec<app::Conn>", "Vec<Conn>"),
            ("<T as alloc::slice::<impl [T]>::to_vec_in::ConvertVec>::to_vec<u8, Global>", "Vec<u8>"),
            ("core::iter::traits::iterator::Iterator::collect<app::Words, Vec<u8>>", "Vec<u8>"),
            ("alloc::vec::Vec<T,A>::extend_trusted::{{closure}}<u8, Global, app::Words>", "Vec<u8>"),
            // `impl<T, I, A>`: the allocator's place is not told, the first is.
            (
                "<alloc::vec::Vec<T,A> as alloc::vec::spec_extend::SpecExtend<T,I>>::spec_extend<u8, I, G>",
                "Vec<u8>",
            ),
            (
                "<std::collections::hash::map::HashMap<K,V,S> as Index<&Q>>::index<u8, u16, u32, S>",
                "HashMap<?,?>",
            ),
            // `impl<T, I> .. for I`
            ("<I as alloc::rc::ToRcSlice<T>>::to_rc_slice<alloc::vec::Vec<u8>, app::Words>", "?"),
            // Fewer than the parameters are; a function in the method; lengths without name.
            ("alloc::collections::btree::map::BTreeMap<K,V,A>::insert<u8>", "BTreeMap<?,?>"),
            ("alloc::vec::Vec<T,A>::push::inner<u8, Global>", "Vec<?>"),
            ("alloc::boxed::Box<[T; N]>::new<u8, 3>", "Box<[?;N]>"),
        ] {
            assert_eq!(of(name), expected, "{name}");
        }
        let own = |name| type_name(&named(&["alloc::alloc::alloc", name]));
        assert_eq!(own("<app::Slab<T> as app::Grow>::grow<u8>"), "Slab<u8>");
        for unknown in [
            "app::Pair<A,B>::grow<u8, u16>",
            "app::Slab<T>::grow<u8, u16>",
            "app::Slab<T>::grow::inner<u8>",
            "<app::Slab<T> as app::From<U>>::from<u8>",
        ] {
            assert_eq!(own(unknown), "?", "{unknown}");
        }
    }

    /// A number that follows from the one before: a small generator of test data.
    fn next(state: &mut u64) -> usize {
        *state ^= *state << 13;
        *state ^= *state >> 7;
        *state ^= *state << 17;
        usize::try_from(*state >> 33).unwrap()
    }

    /// A name with one part cut out, doubled, or replaced.
    fn mutated(name: &str, state: &mut u64) -> String {
        const PIECES: [&str; 16] =
            ["<", ">", "::", "(", "]", "{", "&", "dyn ", " as ", "fn(", "'", ",", "é", "<impl ", "[", "-> "];
        let mut chars: Vec<char> = name.chars().collect();
        for _ in 0..=next(state) % 4 {
            let from = next(state) % (chars.len() + 1);
            let to = (from + next(state) % 6).min(chars.len());
            let piece = PIECES[next(state) % PIECES.len()];
            let with: Vec<char> = if next(state) % 3 < 1 { Vec::new() } else { piece.chars().collect() };
            chars.splice(from..to, with);
        }
        chars.into_iter().collect()
    }

    fn call_all(frames: &[Frame]) {
        let labels = [arc(frames), call_stack(frames)].concat();
        assert!(labels.iter().all(|label| !label.is_empty()), "{frames:?}");
        let rest = [module(frames), description(frames), type_name(frames)];
        assert!(rest.iter().all(|name| !name.is_empty()), "{frames:?}");
    }

    #[test]
    fn any_text_may_be_a_name() {
        let mut state = 0x9e37_79b9_7f4a_7c15;
        let cases = cases();
        for _ in 0..8 {
            for case in &cases {
                let mutate =
                    |frame: &Frame| Frame { function: mutated(&frame.function, &mut state), ..frame.clone() };
                call_all(&case.frames.iter().map(mutate).collect::<Vec<_>>());
            }
        }
        for symbol in SYMBOLS.lines().filter_map(|line| line.split_once('\t')).map(|(_, symbol)| symbol) {
            for end in (0..symbol.len()).filter(|&end| symbol.is_char_boundary(end)) {
                is_library_symbol(&symbol[..end]);
                is_library_symbol(&mutated(&symbol[..end], &mut state));
            }
        }
        for length in 0..2000 {
            let bytes: Vec<u8> =
                (0..length % 70).map(|_| u8::try_from(next(&mut state) % 256).unwrap()).collect();
            let text = String::from_utf8_lossy(&bytes);
            call_all(&[frame(&text), frame(&format!("<{text}>::f"))]);
            for start in ["", "_R", "_ZN", "_RNvX", "_RY"] {
                is_library_symbol(&format!("{start}{text}"));
            }
        }
        for deep in ["<", "(", "[", "a<", "&", "dyn a<", "fn(", "a::{", "<a as ", "a::<impl "] {
            call_all(&[frame(&deep.repeat(20_000))]);
        }
        for deep in ["NvY", "B_", "IC1a", "XC1a", "FKC", "T", "RT"] {
            is_library_symbol(&format!("_R{}", deep.repeat(20_000)));
        }
    }
}
