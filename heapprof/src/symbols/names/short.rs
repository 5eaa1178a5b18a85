//! How functions and types are written in labels: short enough for a chart's key, long enough to tell.

use super::owner::{is_users_path, is_users_type};
use super::parse::{Path, Root, Segment, Type};

/// Arguments that hardly anybody writes: the defaults for allocators and hashers.
const DEFAULTS: [&str; 2] = ["Global", "RandomState"];

/// Bounds of a trait object that say nothing of what it is.
const MARKERS: [&str; 5] = ["Send", "Sync", "Unpin", "UnwindSafe", "RefUnwindSafe"];

/// The label of a function: `crate::module::function`, without generic arguments.
///
/// ```text
/// app::ops::generic::<[u8; 4]>                           app::ops::generic
/// <app::cache::Cache<u32>>::insert                       app::cache::Cache::insert
/// app::cache::Cache<K>::closure::{{closure}}             app::cache::Cache::closure::{closure}
/// <app::cache::Cache<K> as core::ops::drop::Drop>::drop  <app::cache::Cache as Drop>::drop
/// <app::cache::Cache<u32> as From<u32>>::from            <app::cache::Cache as From<u32>>::from
/// <alloc::vec::Vec<u8> as app::ops::Make>::make          <Vec as app::ops::Make>::make
/// ```
pub(super) fn function(path: &Path<'_>) -> String {
    let mut label = match &path.root {
        Root::Crate => String::new(),
        Root::Type(of) => receiver(of),
        Root::Trait(of, what) => format!("<{} as {}>", receiver(of), trait_name(what, is_users_type(of))),
    };
    for name in path.segments.iter().filter_map(segment_name) {
        if !label.is_empty() {
            label.push_str("::");
        }
        label.push_str(name);
    }
    label
}

/// The type before a method: a user's with its whole path, another by its name alone.
fn receiver(of: &Type<'_>) -> String {
    match of {
        Type::Path(path) if is_users_path(path) => function(path),
        Type::Path(path) => last_name(path),
        of => ty(of),
    }
}

/// A trait: by its name and arguments if the type before it says whose method it is, else with its path.
fn trait_name(what: &Path<'_>, name_is_enough: bool) -> String {
    if name_is_enough || !is_users_path(what) { path_type(what) } else { function(what) }
}

/// How a part of a path is written; nothing for the shims around a function.
///
/// The legacy scheme does not number closures, so no label does.
pub(super) fn segment_name<'a>(segment: &Segment<'a>) -> Option<&'a str> {
    let name = segment.name;
    if !name.starts_with('{') {
        return Some(name);
    }
    let kind = name.trim_start_matches('{').trim_end_matches('}');
    match kind.split(['#', ':', '_']).next() {
        Some("closure" | "async" | "coroutine") => Some("{closure}"),
        Some("shim" | "vtable.shim") => None,
        Some("constant") => Some("{constant}"),
        _ => Some(name),
    }
}

/// The last name of a path, with the function's before it if it is a closure's.
fn last_name(path: &Path<'_>) -> String {
    let names: Vec<&str> = path.segments.iter().filter_map(segment_name).collect();
    let named = names.iter().rposition(|name| !name.starts_with('{')).unwrap_or(0);
    names.get(named..).unwrap_or_default().join("::")
}

/// A type, with the last name of each path and without blanks where none is needed:
/// `HashMap<String,Option<&str>>`.
pub(super) fn ty(of: &Type<'_>) -> String {
    match of {
        of if is_unknown(of) => "?".to_owned(),
        Type::Path(path) => path_type(path),
        Type::Pointer(sign, of) => format!("{sign}{}", ty(of)),
        Type::Slice(of) => format!("[{}]", ty(of)),
        Type::Array(of, length) => format!("[{};{length}]", ty(of)),
        Type::Tuple(of) if of.len() == 1 => format!("({},)", types(of)),
        Type::Tuple(of) => format!("({})", types(of)),
        Type::Dyn(bounds) => {
            let bounds: Vec<String> = bounds.iter().map(path_type).collect();
            let tells = |bound: &&String| !MARKERS.contains(&bound.as_str());
            let told: Vec<&str> = bounds.iter().filter(tells).map(String::as_str).collect();
            format!("dyn {}", if told.is_empty() { bounds.join("+") } else { told.join("+") })
        }
        Type::Fn(takes, None) => format!("fn({})", types(takes)),
        Type::Fn(takes, Some(gives)) => format!("fn({})->{}", types(takes), ty(gives)),
        Type::Binding(name, of) => format!("{name}={}", ty(of)),
        Type::Text(text) => (*text).to_owned(),
    }
}

fn types(of: &[Type<'_>]) -> String {
    let types: Vec<String> = of.iter().map(ty).collect();
    types.join(",")
}

/// Whether a type is a parameter, of which the legacy scheme tells the name only: `T`, or `_`.
pub(super) fn is_unknown(of: &Type<'_>) -> bool {
    match of {
        Type::Path(Path { root: Root::Crate, segments, .. }) => {
            matches!(segments[..], [Segment { name, .. }]
                if name.starts_with(|c: char| c.is_uppercase()))
        }
        Type::Text(text) => *text == "_",
        _ => false,
    }
}

fn path_type(path: &Path<'_>) -> String {
    let args: Vec<String> = match path.segments.last() {
        // Debug information adds the arguments of the function around a closure.
        Some(last) if !last.name.starts_with('{') => {
            last.args.iter().filter(|arg| !is_default(arg)).map(ty).collect()
        }
        _ => Vec::new(),
    };
    let mut name = last_name(path);
    if name.is_empty() {
        name.push('?');
    }
    if args.is_empty() { name } else { format!("{name}<{}>", args.join(",")) }
}

/// Whether an argument is a default allocator or hasher, or the parameter for it.
pub(super) fn is_default(of: &Type<'_>) -> bool {
    match of {
        Type::Path(path) => {
            let last = path.segments.last();
            let is_default = last.is_some_and(|last| DEFAULTS.contains(&last.name));
            let is_parameter = is_unknown(of) && last.is_some_and(|last| matches!(last.name, "A" | "S"));
            is_default && !is_users_path(path) || is_parameter
        }
        Type::Pointer(_, of) => is_default(of),
        _ => false,
    }
}
