//! What was allocated and by which operation, read off the library's functions between the allocator and
//! the user's code.
//!
//! The library's own parts stand for the types they are part of, so that builds without line tables,
//! where only the functions that were not inlined are left, say nearly the same:
//! ```text
//! RawVec<T>                 Vec<T>            RawTable<(K, V)>    HashMap<K, V>
//! Box<RcInner<T>>           Rc<T>             HashMap<K, ()>      HashSet<K>
//! Box<LeafNode<K, V>>       BTreeMap<K, V>    BTreeMap<K, SetValZST>  BTreeSet<K>
//! Box<[T; N]>::new_uninit   vec![..]
//! ```
//! An argument that is only a guess has a question mark: see [`is_shared_code`].

use super::owner::is_users_type;
use super::parse::{Path, Root, Segment, Type};
use super::short;

/// A type that owns memory: its name, and how many of its arguments a reader wants to see.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Kind {
    name: &'static str,
    args: usize,
}

const fn kind(name: &'static str, args: usize) -> Kind {
    Kind { name, args }
}

const VEC: Kind = kind("Vec", 1);
const STRING: Kind = kind("String", 0);
const BOX: Kind = kind("Box", 1);
const HASH_MAP: Kind = kind("HashMap", 2);
const BTREE_MAP: Kind = kind("BTreeMap", 2);

/// The types that users know, by the last name of their path.
const KINDS: [Kind; 15] = [
    VEC,
    STRING,
    BOX,
    kind("Rc", 1),
    kind("Arc", 1),
    HASH_MAP,
    kind("HashSet", 1),
    BTREE_MAP,
    kind("BTreeSet", 1),
    kind("VecDeque", 1),
    kind("BinaryHeap", 1),
    kind("LinkedList", 1),
    kind("OsString", 0),
    kind("PathBuf", 0),
    kind("CString", 0),
];

/// A known type, with its arguments as far as they are known.
#[derive(Clone, Debug, PartialEq)]
struct Held {
    kind: Kind,
    /// As many as the kind has; `None` for those that the name does not tell.
    args: Vec<Option<String>>,
}

impl Held {
    fn new(kind: Kind, args: impl IntoIterator<Item = Option<String>>) -> Self {
        let args = args.into_iter().chain(std::iter::repeat(None)).take(kind.args).collect();
        Self { kind, args }
    }

    fn is_whole(&self) -> bool {
        self.args.iter().all(is_told)
    }

    /// Takes arguments from a part of this type, or from a deeper call on it, as a guess.
    fn learn(&mut self, part: &Self) {
        for (own, known) in self.args.iter_mut().zip(&part.args) {
            if !is_told(own) && is_told(known) {
                *own = known.as_ref().map(|known| format!("{known}?"));
            }
        }
    }

    /// Whether `inner` can be the same memory: the type again, or what it is built on.
    fn is_built_on(&self, inner: &Self) -> bool {
        let base = match self.kind.name {
            "VecDeque" | "BinaryHeap" => "Vec",
            "HashSet" => "HashMap",
            "BTreeSet" => "BTreeMap",
            name => name,
        };
        inner.kind.name == base || inner.kind == self.kind
    }

    fn print(&self) -> String {
        let args: Vec<&str> = self.args.iter().map(|arg| arg.as_deref().unwrap_or("?")).collect();
        if args.is_empty() {
            self.kind.name.to_owned()
        } else {
            format!("{}<{}>", self.kind.name, args.join(","))
        }
    }
}

/// Whether a function is the same machine code for all types of one size: compilers then keep one of them,
/// under the name of any. What only such a function tells is a guess: `Vec<u64?>`.
fn is_shared_code(path: &Path<'_>) -> bool {
    match receiver_of(path) {
        On::Named("RawVec", ..) => true,
        On::Named("VecDeque", ..) => method(path) == "grow",
        _ => false,
    }
}

/// Whether an argument is known in all its parts: `[?]` is not.
fn is_told(arg: &Option<String>) -> bool {
    arg.as_ref().is_some_and(|arg| !arg.contains('?'))
}

/// The type that the library's functions were called on, outermost first; `None` if none is known.
pub(super) fn type_name<'a>(paths: impl Iterator<Item = &'a Path<'a>>) -> Option<String> {
    let mut paths = paths.peekable();
    let mut held: Option<Held> = None;
    let mut is_shared = false;
    while held.is_none() {
        let path = paths.next()?;
        is_shared = is_shared_code(path);
        held = held_by(path);
    }
    let mut held: Held = held?;
    if is_shared {
        let part = held;
        held = Held::new(part.kind, []);
        held.learn(&part);
    }
    for path in paths {
        if held.is_whole() {
            break;
        }
        let Some(inner) = held_by(path) else { continue };
        if !held.is_built_on(&inner) {
            break;
        }
        held.learn(&inner);
    }
    Some(held.print())
}

/// The operation that the library's functions stand for, outermost first.
pub(super) fn description<'a>(paths: impl Iterator<Item = &'a Path<'a>>) -> String {
    let mut direct = "alloc";
    for path in paths {
        if let Some(operation) = operation(path) {
            return operation;
        }
        direct = allocator_call(path).unwrap_or(direct);
    }
    direct.to_owned()
}

/// Whether the user's code called `std::alloc` itself, as the outermost of the library's functions tells.
pub(super) fn is_direct<'a>(mut paths: impl Iterator<Item = &'a Path<'a>>) -> bool {
    paths.next().is_some_and(|path| {
        let is_in_alloc = path.segments.first().is_some_and(|first| first.name == "alloc");
        path.root == Root::Crate && is_in_alloc && allocator_call(path).is_some()
    })
}

/// The user's own type whose method `path` is, if all of its arguments are known.
pub(super) fn own_type(path: &Path<'_>) -> Option<String> {
    let (name, args) = receiver(path)?;
    let args: Option<Vec<String>> = args.iter().filter(|arg| !short::is_default(arg)).map(known).collect();
    let args = args?;
    Some(if args.is_empty() { name.to_owned() } else { format!("{name}<{}>", args.join(",")) })
}

/// The name and arguments of a user's type before a method.
fn receiver<'a>(path: &'a Path<'a>) -> Option<(&'a str, &'a [Type<'a>])> {
    let of = match &path.root {
        Root::Crate => type_segment(path)?,
        Root::Type(of) | Root::Trait(of, _) => match &**of {
            Type::Path(inner) if is_users_type(of) && inner.root == Root::Crate => inner.segments.last()?,
            _ => return None,
        },
    };
    (!of.name.starts_with('{')).then(|| (of.name, &of.args[..]))
}

/// In a path without root, the type: the last name with a capital before the function's.
fn type_segment<'a>(path: &'a Path<'a>) -> Option<&'a Segment<'a>> {
    let before = path.segments.len().checked_sub(1)?;
    path.segments[..before].iter().rev().find(|segment| segment.name.starts_with(|c: char| c.is_uppercase()))
}

/// The function's name: the first after the type, before closures and nested functions.
fn method<'a>(path: &Path<'a>) -> &'a str {
    match path.root {
        Root::Crate => {
            let end = path.segments.iter().position(|segment| segment.name.starts_with('{'));
            let names = &path.segments[..end.unwrap_or(path.segments.len())];
            let of = names.iter().rposition(|name| name.name.starts_with(|c: char| c.is_uppercase()));
            let at = of.map_or(names.len().saturating_sub(1), |of| of + 1);
            names.get(at).map_or("", |segment| segment.name)
        }
        _ => path.segments.first().map_or("", |segment| segment.name),
    }
}

/// What a function works on.
enum On<'a> {
    /// A type of a path, by its last name, with its arguments; the path is that of the type's module.
    Named(&'a str, &'a [Type<'a>], bool),
    Slice(&'a Type<'a>),
    Other,
}

/// What the function at `path` works on: the type before the method.
fn receiver_of<'a>(path: &'a Path<'a>) -> On<'a> {
    let of = match &path.root {
        Root::Crate => {
            return match type_segment(path) {
                Some(of) => On::Named(of.name, &of.args, is_btree(path)),
                None => On::Other,
            };
        }
        Root::Type(of) | Root::Trait(of, _) => of,
    };
    match &**of {
        Type::Path(inner) => match inner.segments.last() {
            Some(last) => On::Named(last.name, &last.args, is_btree(inner)),
            None => On::Other,
        },
        Type::Slice(of) | Type::Array(of, _) => On::Slice(of),
        _ => On::Other,
    }
}

fn is_btree(path: &Path<'_>) -> bool {
    path.segments.iter().any(|segment| segment.name == "btree")
}

/// The last name of the trait of a method.
fn trait_name<'a>(path: &'a Path<'a>) -> &'a str {
    match &path.root {
        Root::Trait(_, what) => what.segments.last().map_or("", |last| last.name),
        // `Iterator::collect`: the legacy scheme names a provided method by its trait's path.
        Root::Crate => type_segment(path).map_or("", |of| of.name),
        Root::Type(_) => "",
    }
}

/// The names of a path without root, with `::`; empty for a method.
fn plain_names(path: &Path<'_>) -> String {
    if path.root != Root::Crate {
        return String::new();
    }
    let names: Vec<&str> = path.segments.iter().map(|segment| segment.name).collect();
    names.join("::")
}

/// The known type that a function works on or gives.
fn held_by(path: &Path<'_>) -> Option<Held> {
    // What is made is told by the `From` inside of it, not by what it is made from.
    if matches!(trait_name(path), "Into" | "TryInto") {
        return None;
    }
    free_function_gives(path).or_else(|| trait_gives(path)).or_else(|| match receiver_of(path) {
        On::Named(name, args, is_btree) => named(name, args, is_btree, method(path)),
        On::Slice(of) => slice_gives(of, path),
        On::Other => module_gives(path),
    })
}

/// What the library's functions without type give.
fn free_function_gives(path: &Path<'_>) -> Option<Held> {
    let names = plain_names(path);
    let arg = || path.segments.last().and_then(|last| last.args.first()).and_then(known);
    let is_of_str = || path.segments.last().and_then(|last| last.args.first()).is_some_and(is_str);
    match names.as_str() {
        "alloc::vec::from_elem" => Some(Held::new(VEC, [arg()])),
        "alloc::str::join_generic_copy" if is_of_str() => Some(Held::new(STRING, [])),
        "alloc::boxed::box_new_uninit" | "alloc::alloc::exchange_malloc" => Some(Held::new(BOX, [])),
        // Debug information lists the trait's `Self` before the method's arguments.
        "core::iter::traits::iterator::collect" => collected(path.segments.last()?.args.get(1)?),
        names if names.starts_with("alloc::fmt::format") => Some(Held::new(STRING, [])),
        _ => None,
    }
}

/// Debug information names a function by its module, without its type: `alloc::vec::push<u64, Global>`, or
/// `alloc::vec::{impl#1}::push<u64, Global>`. Its arguments begin with those of the type.
fn module_gives(path: &Path<'_>) -> Option<Held> {
    let (owner, is_exact) = module_owner(path)?;
    let last = path.segments.last()?;
    // `from` and `clone` of a boxed slice list the type of its elements.
    let is_pointer = matches!(owner, "Box" | "Rc" | "Arc");
    let is_of_type =
        is_exact && (!is_pointer || last.name.starts_with("new") || last.name.starts_with("try_new"));
    let args: &[Type<'_>] = if is_of_type { &last.args } else { &[] };
    let end = args.iter().position(short::is_default).unwrap_or(args.len());
    match owner {
        "[T]" => slice_gives(args[..end].first()?, path),
        owner => named(owner, &args[..end], is_btree(path), method(path)),
    }
}

/// The type whose methods a module of the library holds, as far as that is clear, and whether the module is
/// the type's own and not one inside it.
fn module_owner<'a>(path: &Path<'a>) -> Option<(&'static str, bool)> {
    if path.root != Root::Crate || type_segment(path).is_some() {
        return None;
    }
    let before = path.segments.len().checked_sub(1)?;
    let mut modules = path.segments[..before].iter().map(|segment| segment.name);
    let crate_name = modules.next()?;
    let has = |name: &str| path.segments[..before].iter().any(|segment| segment.name == name);
    let mut is_exact = true;
    for module in modules.rev().filter(|module| !module.starts_with('{')) {
        let owner = match module {
            "vec" => "Vec",
            "raw_vec" => "RawVec",
            "string" => "String",
            "boxed" => "Box",
            "rc" => "Rc",
            "sync" if crate_name == "alloc" => "Arc",
            "vec_deque" => "VecDeque",
            "binary_heap" => "BinaryHeap",
            "linked_list" => "LinkedList",
            "entry" => "Entry",
            "rustc_entry" => "RustcEntry",
            "map" if has("btree") => "BTreeMap",
            "set" if has("btree") => "BTreeSet",
            "node" if has("btree") => "LeafNode",
            "map" if has("hash") || crate_name == "hashbrown" => "HashMap",
            "set" if has("hash") || crate_name == "hashbrown" => "HashSet",
            "raw" if crate_name == "hashbrown" => "RawTable",
            "path" => "Path",
            "os_str" => "OsString",
            "c_str" => "CString",
            "slice" if crate_name == "alloc" => "[T]",
            "str" if crate_name == "alloc" => "str",
            _ => {
                is_exact = false;
                continue;
            }
        };
        return Some((owner, is_exact));
    }
    None
}

/// What the methods of some traits give, whatever they are called on.
fn trait_gives(path: &Path<'_>) -> Option<Held> {
    let of = match &path.root {
        Root::Trait(of, _) => Some(&**of),
        _ => None,
    };
    match (trait_name(path), method(path)) {
        ("ToString" | "SpecToString", _) => Some(Held::new(STRING, [])),
        ("Iterator", "collect" | "collect_into") => path.segments.last()?.args.first().and_then(collected),
        ("Fn" | "FnMut" | "FnOnce", _) => None,
        ("ConvertVec", "to_vec") => Some(Held::new(VEC, [of.and_then(known)])),
        ("SpecFromElem", _) => Some(Held::new(VEC, [of.and_then(known)])),
        ("ToOwned", "to_owned") => match of? {
            Type::Path(of) => borrowed_gives(of.segments.last()?.name),
            _ => None,
        },
        _ => None,
    }
}

/// The known type in what `collect` gives: `Result<Vec<u32>, E>` gives `Vec<u32>`.
fn collected(of: &Type<'_>) -> Option<Held> {
    let Type::Path(path) = of else { return None };
    let last = path.segments.last()?;
    if matches!(last.name, "Option" | "Result") {
        return collected(last.args.first()?);
    }
    named(last.name, &last.args, is_btree(path), "")
}

/// What owns the data of a borrowed type.
fn borrowed_gives(name: &str) -> Option<Held> {
    let kind = match name {
        "str" => STRING,
        "OsStr" => kind("OsString", 0),
        "Path" => kind("PathBuf", 0),
        "CStr" => kind("CString", 0),
        _ => return None,
    };
    Some(Held::new(kind, []))
}

/// The type a name stands for, known by users or a part of one.
fn named(name: &str, args: &[Type<'_>], is_btree: bool, method: &str) -> Option<Held> {
    let arg = |at: usize| args.get(at).and_then(known);
    match name {
        "RawVec" => Some(Held::new(VEC, [arg(0)])),
        "RawVecInner" => Some(Held::new(VEC, [])),
        "RawTable" => Some(args.first().map_or_else(|| Held::new(HASH_MAP, []), table)),
        "RawTableInner" => Some(Held::new(HASH_MAP, [])),
        "Entry" | "VacantEntry" | "LeafNode" | "InternalNode" if is_btree => Some(tree([arg(0), arg(1)])),
        "Entry" | "VacantEntry" | "RustcEntry" | "RustcVacantEntry" => {
            Some(Held::new(HASH_MAP, [arg(0), arg(1)]))
        }
        "NodeRef" => Some(tree([arg(1), arg(2)])),
        "HashMap" => Some(map_or_set(arg(0), arg(1))),
        "BTreeMap" => Some(tree([arg(0), arg(1)])),
        "Box" => Some(boxed(args.first(), method)),
        _ => {
            let kind = KINDS.iter().find(|kind| kind.name == name);
            kind.map(|kind| Held::new(*kind, (0..kind.args).map(arg))).or_else(|| borrowed_gives(name))
        }
    }
}

/// The map, or the set, whose entries a table of `hashbrown` has.
fn table(of: &Type<'_>) -> Held {
    match of {
        Type::Tuple(of) if of.len() == 2 => map_or_set(known(&of[0]), known(&of[1])),
        _ => Held::new(HASH_MAP, []),
    }
}

fn map_or_set(key: Option<String>, value: Option<String>) -> Held {
    if value.as_deref() == Some("()") {
        Held::new(kind("HashSet", 1), [key])
    } else {
        Held::new(HASH_MAP, [key, value])
    }
}

fn tree([key, value]: [Option<String>; 2]) -> Held {
    if value.as_deref() == Some("SetValZST") {
        Held::new(kind("BTreeSet", 1), [key])
    } else {
        Held::new(BTREE_MAP, [key, value])
    }
}

/// A box, or what a box is a part of.
fn boxed(content: Option<&Type<'_>>, method: &str) -> Held {
    let Some(content) = content else { return Held::new(BOX, []) };
    match (content, method) {
        (Type::Array(element, _), "new_uninit") => return Held::new(VEC, [known(element)]),
        (content, "new_uninit") if short::is_unknown(content) => return Held::new(VEC, []),
        _ => {}
    }
    let inside = match content {
        Type::Path(path) => path.segments.last(),
        _ => None,
    };
    let arg = |at: usize| inside.and_then(|inside| inside.args.get(at)).and_then(known);
    match inside.map_or("", |inside| inside.name) {
        "RcInner" | "RcBox" => Held::new(kind("Rc", 1), [arg(0)]),
        "ArcInner" => Held::new(kind("Arc", 1), [arg(0)]),
        "LeafNode" | "InternalNode" => tree([arg(0), arg(1)]),
        "Node" if is_list_node(content) => Held::new(kind("LinkedList", 1), [arg(0)]),
        _ => Held::new(BOX, [known(content)]),
    }
}

fn is_list_node(of: &Type<'_>) -> bool {
    matches!(of, Type::Path(path) if path.segments.iter().any(|segment| segment.name == "linked_list"))
}

/// What the methods of a slice give; `concat` and `join` give what the next frame tells.
fn slice_gives(of: &Type<'_>, path: &Path<'_>) -> Option<Held> {
    let gives_vec = matches!(method(path), "to_vec" | "to_vec_in" | "into_vec" | "repeat" | "to_owned");
    gives_vec.then(|| Held::new(VEC, [known(of)]))
}

fn known(of: &Type<'_>) -> Option<String> {
    (!short::is_unknown(of)).then(|| short::ty(of))
}

fn is_str(of: &Type<'_>) -> bool {
    short::ty(of) == "str"
}

/// The call of the allocator that a function is.
fn allocator_call(path: &Path<'_>) -> Option<&'static str> {
    let name = path.segments.last()?.name;
    let is_plain = matches!(&path.root, Root::Crate)
        && (path.segments.len() < 3 || path.segments.iter().any(|segment| segment.name == "alloc"));
    let is_hook = trait_name(path) == "GlobalAlloc";
    if !is_plain && !is_hook {
        return None;
    }
    match name.trim_start_matches("__rust_").trim_start_matches("__rg_") {
        "alloc" => Some("alloc"),
        "alloc_zeroed" => Some("alloc_zeroed"),
        "realloc" => Some("realloc"),
        _ => None,
    }
}

/// The operation that a function of the library is, in a user's words; `None` for functions of which the
/// one they were called from says more.
fn operation(path: &Path<'_>) -> Option<String> {
    let of_receiver = || match receiver_of(path) {
        On::Named(name, args, is_btree) => method_operation(name, args, is_btree, path),
        On::Slice(_) => Some(format!("<[T]>::{}", public_method(method(path)))),
        On::Other => owned_module_operation(path),
    };
    free_operation(path)
        .or_else(|| trait_operation(path))
        .or_else(of_receiver)
        .or_else(|| module_operation(path))
}

fn free_operation(path: &Path<'_>) -> Option<String> {
    let names = plain_names(path);
    let operation = match names.as_str() {
        "alloc::vec::from_elem" => "vec!",
        "core::fmt::write" | "core::fmt::write_fmt" | "std::io::write_fmt" => "write!",
        "core::iter::traits::iterator::collect" => "Iterator::collect",
        "alloc::boxed::box_new_uninit" | "alloc::alloc::exchange_malloc" => "Box::new",
        "alloc::str::join_generic_copy" => "<[T]>::join",
        names if names.starts_with("alloc::fmt::format") => "format!",
        _ => return None,
    };
    Some(operation.to_owned())
}

fn trait_operation(path: &Path<'_>) -> Option<String> {
    let method = method(path);
    let operation = match (trait_name(path), method) {
        ("ToString" | "SpecToString", _) => "ToString::to_string",
        ("Write", "write_fmt") => "write!",
        ("SpecFromElem", _) => "vec!",
        ("ConvertVec", _) => "<[T]>::to_vec",
        ("Iterator", "collect" | "unzip" | "partition") | ("Read" | "BufRead", _) => {
            return Some(format!("{}::{method}", trait_name(path)));
        }
        _ => return None,
    };
    Some(operation.to_owned())
}

/// The operation of a method of a known type.
fn method_operation(name: &str, args: &[Type<'_>], is_btree: bool, path: &Path<'_>) -> Option<String> {
    let method = method(path);
    if matches!(
        trait_name(path),
        "Fn" | "FnMut" | "FnOnce" | "Iterator" | "Allocator" | "GlobalAlloc" | "Drop"
    ) {
        return None;
    }
    if name == "Box" && method == "new_uninit" {
        let is_array =
            args.first().is_none_or(|arg| matches!(arg, Type::Array(..)) || short::is_unknown(arg));
        return Some(if is_array { "vec!" } else { "Box::new_uninit" }.to_owned());
    }
    let is_borrowed = borrowed_gives(name).is_some() || name == "Cow";
    let owner = if is_borrowed { name } else { named(name, args, is_btree, method)?.kind.name };
    let method = match name {
        "Entry" | "RustcEntry" => "entry",
        "VacantEntry" | "RustcVacantEntry" => "insert",
        _ => public_method(method),
    };
    Some(format!("{owner}::{method}"))
}

/// The operation of a function that is named by the module of its type.
fn owned_module_operation(path: &Path<'_>) -> Option<String> {
    let (owner, _) = module_owner(path)?;
    let args = path.segments.last().map_or(&[][..], |last| &last.args[..]);
    match (owner, method(path)) {
        ("String", "to_string" | "spec_to_string") => Some("ToString::to_string".to_owned()),
        ("Entry", method) if !method.starts_with("or_") => Some(format!("{}::insert", map_name(path))),
        ("[T]", method) => Some(format!("<[T]>::{}", public_method(method))),
        (owner, _) => method_operation(owner, args, is_btree(path), path),
    }
}

fn map_name(path: &Path<'_>) -> &'static str {
    if is_btree(path) { BTREE_MAP.name } else { HASH_MAP.name }
}

/// The method that users know, for one that stands for it in the library.
fn public_method(method: &str) -> &str {
    match method {
        "grow_one" | "grow_amortized" | "grow_exact" | "finish_grow" | "reserve_rehash" | "resize_inner" => {
            "grow"
        }
        "reserve_rehash_inner" | "prepare_resize" => "grow",
        "do_reserve_and_handle" => "reserve",
        "try_allocate_in" | "fallible_with_capacity" | "new_uninitialized" => "with_capacity",
        "spec_from_iter" => "from_iter",
        "spec_extend" | "extend_trusted" | "extend_desugared" | "spec_extend_front" => "extend",
        "push_mut" => "push",
        "push_back_mut" => "push_back",
        "push_front_mut" => "push_front",
        "insert_mut" | "insert_entry" => "insert",
        "_join" => "join",
        method => method.strip_suffix("_in").unwrap_or(method),
    }
}

/// The operation of another function of the library: its module, or its type, and its name.
fn module_operation(path: &Path<'_>) -> Option<String> {
    let own = match &path.root {
        Root::Crate => path,
        Root::Type(of) => match &**of {
            Type::Path(of) => of,
            _ => return None,
        },
        Root::Trait(..) => return None,
    };
    let names: Vec<&str> = own.segments.iter().map(|segment| segment.name).collect();
    let [first, second, .., last] = names[..] else { return None };
    if !matches!(first, "std" | "alloc") || INNER_MODULES.contains(&second) {
        return None;
    }
    let owner = match path.root {
        Root::Crate => type_segment(path).map_or_else(|| public_module(&names), |of| of.name),
        _ => last,
    };
    if LAZY_TYPES.contains(&owner) {
        return None;
    }
    Some(format!("{owner}::{}", method(path)))
}

/// Types whose methods call the user's code, which may be inlined in them.
const LAZY_TYPES: [&str; 6] = ["Once", "OnceLock", "OnceCell", "LazyLock", "LazyCell", "LocalKey"];

/// Modules of the library whose functions without a known type say less than those around them.
const INNER_MODULES: [&str; 14] = [
    "rt",
    "sys",
    "sys_common",
    "panicking",
    "panic",
    "backtrace",
    "alloc",
    "raw_vec",
    "boxed",
    "collections",
    "vec",
    "slice",
    "rc",
    "str",
];

/// The module of a function as users write it: `thread` for `std::thread::functions::spawn`.
fn public_module<'a>(names: &[&'a str]) -> &'a str {
    match names {
        [_, "sync", module, _, ..] | [_, module, ..] => module,
        _ => "",
    }
}
