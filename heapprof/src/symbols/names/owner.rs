//! Whose a function is: the library's, which charts pass over, or the user's.

use super::parse::{Path, Root, Type};

/// Crates whose functions are never whom a chart should name: the standard library, what it is built of,
/// the test harness, this profiler, and what it is built of where it calls or looks at the stack. A user cannot name a package like the first ones.
const LIBRARY_CRATES: [&str; 20] = [
    "core",
    "alloc",
    "std",
    "hashbrown",
    "compiler_builtins",
    "__rustc",
    "heapprof",
    "tikv_jemallocator",
    "tikv_jemalloc_sys",
    "backtrace",
    "test",
    "std_detect",
    "panic_unwind",
    "panic_abort",
    "unwind",
    "rustc_demangle",
    "gimli",
    "addr2line",
    "miniz_oxide",
    "rustc_std_workspace_core",
];

/// The first letters of functions without path that belong to the allocator or to starting a thread.
const LIBRARY_PREFIXES: [&str; 9] = [
    "__rust_",
    "__rustc",
    "__rg_",
    "__rdl_",
    "rust_eh_personality",
    "_rjem_",
    "__libc_start_",
    "__scrt_common_main",
    "_pthread_",
];

/// Functions without path that belong to the allocator or to starting a program or a thread.
const LIBRARY_NAMES: [&str; 17] = [
    "_start",
    "start",
    "start_thread",
    "thread_start",
    "clone",
    "clone3",
    "__clone",
    "__clone3",
    "malloc",
    "calloc",
    "realloc",
    "aligned_alloc",
    "posix_memalign",
    "memalign",
    "BaseThreadInitThunk",
    "RtlUserThreadStart",
    "invoke_main",
];

/// Whose a function is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Owner {
    Library,
    User,
    /// A method of a library's trait on a user's type: the user wrote it, or the trait provides it.
    /// The source file decides; without it, which method it is.
    Either {
        is_likely_library: bool,
    },
}

pub(super) fn is_library_crate(name: &str) -> bool {
    LIBRARY_CRATES.contains(&name)
}

/// Whether a name without path is the allocator's or the runtime's.
pub(super) fn is_library_name(name: &str) -> bool {
    LIBRARY_NAMES.contains(&name) || LIBRARY_PREFIXES.iter().any(|prefix| name.starts_with(prefix))
}

/// Whether a source file is one of the standard library, as its debug information or rustup's
/// `rust-src` has it.
pub(super) fn is_library_file(file: &str) -> bool {
    let file = file.replace('\\', "/");
    let is_built_in = file.starts_with("/rustc/") && file.contains("/library/");
    is_built_in || file.contains("/lib/rustlib/src/rust/library/") || file.starts_with("/rust/deps/")
}

/// The module that a Rust source file most likely is, from Cargo's layout:
/// `/build/me/app/src/cache/mod.rs` is `app::cache`, `../serde_json-1.0.1/src/de.rs` is `serde_json::de`.
pub(super) fn module_of_file(file: &str) -> Option<String> {
    let file = file.replace('\\', "/");
    let (package, path) = file.strip_suffix(".rs")?.rsplit_once("/src/")?;
    let folder = package.rsplit('/').next().filter(|folder| !folder.is_empty())?;
    let is_version = |text: &str| text.starts_with(|c: char| c.is_ascii_digit()) && text.contains('.');
    let name = match folder.rsplit_once('-') {
        Some((name, version)) if is_version(version) => name,
        _ => folder,
    };
    let inner = path.split('/').filter(|part| !matches!(*part, "lib" | "main" | "mod" | "bin"));
    let names: Vec<String> = std::iter::once(name).chain(inner).map(|name| name.replace('-', "_")).collect();
    Some(names.join("::"))
}

/// Whose the function at `path` is.
pub(super) fn of(path: &Path<'_>) -> Owner {
    let by_crate = |is_users| if is_users { Owner::User } else { Owner::Library };
    if let Some(home) = path.home {
        return by_crate(!is_library_crate(home));
    }
    match &path.root {
        Root::Crate => match &path.segments[..] {
            [only] => by_crate(!is_library_name(only.name)),
            _ => by_crate(is_users_path(path)),
        },
        // Only the library has methods on slices, tuples and pointers, whatever they are of.
        Root::Type(of) => by_crate(matches!(**of, Type::Path(_) | Type::Dyn(_)) && is_users_type(of)),
        Root::Trait(_, what) if is_users_path(what) => Owner::User,
        Root::Trait(of, what) => of_library_trait(of, what, method(path)),
    }
}

/// The first name after the root: the method, whatever is nested in it.
fn method<'a>(path: &Path<'a>) -> &'a str {
    path.segments.first().map_or("", |first| first.name)
}

/// Whose the `method` of a library's trait is on the type `of`.
fn of_library_trait(of: &Type<'_>, what: &Path<'_>, method: &str) -> Owner {
    let trait_name = what.segments.last().map_or("", |last| last.name);
    let is_call = matches!(trait_name, "Fn" | "FnMut" | "FnOnce");
    match of {
        _ if is_call => Owner::Library,
        Type::Path(path) if is_users_path(path) => {
            let is_closure = path.segments.last().is_some_and(|last| last.name.starts_with('{'));
            let is_likely_library = is_closure || is_provided(trait_name, method);
            Owner::Either { is_likely_library }
        }
        Type::Path(path) if is_conversion_from_users(path, what) => Owner::User,
        Type::Dyn(_) if is_users_type(of) => {
            Owner::Either { is_likely_library: is_provided(trait_name, method) }
        }
        Type::Pointer(_, inner) if is_users_type(inner) => {
            Owner::Either { is_likely_library: trait_name != "IntoIterator" }
        }
        _ => Owner::Library,
    }
}

/// Whether a type of the library without arguments is made from a user's: an `impl From<Foo> for String`.
fn is_conversion_from_users(of: &Path<'_>, what: &Path<'_>) -> bool {
    let has_args = of.segments.last().is_some_and(|last| !last.args.is_empty());
    let Some(trait_name) = what.segments.last() else { return false };
    !has_args && trait_name.name == "From" && trait_name.args.first().is_some_and(is_users_type)
}

/// Whether a library's trait most likely has the method ready, so that a user need not write it.
fn is_provided(trait_name: &str, method: &str) -> bool {
    match trait_name {
        "Iterator" => !matches!(method, "next" | "size_hint"),
        "DoubleEndedIterator" => method != "next_back",
        "Read" => method != "read",
        "Write" => !matches!(method, "write" | "flush" | "write_str"),
        "BufRead" => !matches!(method, "fill_buf" | "consume"),
        "ToString" | "Into" | "TryInto" | "Any" | "ExactSizeIterator" => true,
        // Traits for the library's own use, on every type.
        "ConvertVec" | "WriteCloneIntoRaw" | "CloneToUninit" | "InPlaceCollect" => true,
        name => name.starts_with("Spec") || name.ends_with("Spec"),
    }
}

/// Whether a path starts in a user's crate. Primitive types and type parameters do not.
pub(super) fn is_users_path(path: &Path<'_>) -> bool {
    match &path.root {
        Root::Crate => match &path.segments[..] {
            [] | [_] => false,
            [first, ..] => !is_library_crate(first.name),
        },
        Root::Type(of) => is_users_type(of),
        Root::Trait(of, what) => is_users_type(of) || is_users_path(what),
    }
}

/// Whether a type is a user's, or made of one by `&`, `[]`, `()` or `dyn`.
pub(super) fn is_users_type(of: &Type<'_>) -> bool {
    match of {
        Type::Path(path) => is_users_path(path),
        Type::Pointer(_, of) | Type::Slice(of) | Type::Array(of, _) => is_users_type(of),
        Type::Tuple(of) => of.iter().any(is_users_type),
        Type::Dyn(bounds) => bounds.first().is_some_and(is_users_path),
        Type::Fn(..) | Type::Binding(..) | Type::Text(_) => false,
    }
}
