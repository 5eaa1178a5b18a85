//! Puts what debug information tells of a function's arguments where the legacy scheme has but parameters.
//!
//! The image writes the arguments behind the path of such a function. They are those of the `impl` in the order
//! in which it declares them, or of the trait with `Self` first, and then the function's own:
//! ```text
//! alloc::vec::Vec<T,A>::push<u64, Global>                         alloc::vec::Vec<u64, Global>::push
//! alloc::slice::<impl [T]>::to_vec<u8>                            <[u8]>::to_vec
//! <alloc::vec::Vec<T> as SpecFromIter<T,I>>::from_iter<u64, Map>  <alloc::vec::Vec<u64> as ..>::from_iter
//! core::iter::traits::iterator::Iterator::collect<Map, String>    ..::Iterator::collect<String>
//! app::Pair<A,B>::grow<u8, u16>                                   as it is
//! ```
//! A parameter stays where the order of the declaration does not follow from the name: a user's `impl` may be
//! of `<B, A>`. That the library's are in the order of the type is what its source says.

use super::owner::{is_users_path, is_users_type};
use super::parse::{Path, Root, Segment, Type};
use super::short::is_unknown;

/// The path with arguments for its parameters, as far as it is certain which is which.
pub(super) fn filled<'a>(path: &Path<'a>) -> Path<'a> {
    let mut filled = path.clone();
    let method = method_at(path);
    let is_whole = |at: usize| path.segments[at + 1..].iter().all(|inner| inner.name.starts_with('{'));
    // A function in a method has parameters of its own.
    let Some(method) = method.filter(|&at| is_whole(at)) else { return filled };
    if is_provided(path, method) {
        if let Some(last) = filled.segments.last_mut().filter(|last| last.args.len() > 1) {
            last.args.remove(0);
        }
        return filled;
    }
    let known = bindings(path, method);
    for of in receiver(&mut filled, method) {
        each_leaf(of, &mut |leaf| {
            let argument = name_of(leaf).and_then(|name| known.iter().find(|(known, _)| *known == name));
            if let Some((_, argument)) = argument {
                *leaf = (*argument).clone();
            }
        });
    }
    filled
}

/// Where the function after the type is.
fn method_at(path: &Path<'_>) -> Option<usize> {
    match path.root {
        Root::Crate => {
            let is_type = |segment: &Segment<'_>| segment.name.starts_with(|c: char| c.is_uppercase());
            let of = path.segments.iter().rposition(is_type)?;
            (of + 1 < path.segments.len()).then_some(of + 1)
        }
        _ => (!path.segments.is_empty()).then_some(0),
    }
}

/// Whether a function is one that `Iterator` has ready: the legacy scheme has the trait's path before it.
fn is_provided(path: &Path<'_>, method: usize) -> bool {
    path.root == Root::Crate && path.segments[method - 1].name == "Iterator"
}

/// The type before a method, or its arguments.
fn receiver<'p, 'a>(path: &'p mut Path<'a>, method: usize) -> &'p mut [Type<'a>] {
    match &mut path.root {
        Root::Crate => &mut path.segments[method - 1].args,
        Root::Type(of) | Root::Trait(of, _) => std::slice::from_mut(&mut **of),
    }
}

/// The parameters of the type before a method for which the argument is certain, with it.
fn bindings<'p, 'a>(path: &'p Path<'a>, method: usize) -> Vec<(&'a str, &'p Type<'a>)> {
    let args = path.segments.last().map_or(&[][..], |last| &last.args[..]);
    let mut copy = path.clone();
    let Some(own) = parameters(receiver(&mut copy, method)) else { return Vec::new() };
    let certain = if args.len() < own.len() { 0 } else { certain(path, &own, args.len()) };
    own.into_iter().zip(args).take(certain).collect()
}

/// How many of the parameters `own` are certainly the first of the `args` arguments.
fn certain(path: &Path<'_>, own: &[&str], args: usize) -> usize {
    let (of_trait, is_users) = match &path.root {
        Root::Crate => (Some(Vec::new()), is_users_path(path)),
        Root::Type(of) => (Some(Vec::new()), is_users_type(of)),
        Root::Trait(of, what) => {
            let Some(what) = what.segments.last() else { return 0 };
            // An `impl` for any type may name others before it.
            if is_unknown(of) && !matches!(what.name, "ConvertVec" | "SpecFromElem") {
                return 0;
            }
            (parameters(&mut what.args.clone()), is_users_type(of))
        }
    };
    let Some(of_trait) = of_trait else { return 0 };
    let has_more = of_trait.iter().any(|name| !own.contains(name));
    match (is_users, has_more) {
        (true, _) => usize::from(!has_more && own.len() == 1 && args == 1),
        (false, false) => own.len(),
        // `impl<T, I, A> SpecExtend<T, I> for Vec<T, A>`
        (false, true) => usize::from(of_trait.first() == own.first()),
    }
}

/// The names of parameters, in the order in which they are first used; `None` if some have no name.
fn parameters<'a>(of: &mut [Type<'a>]) -> Option<Vec<&'a str>> {
    let mut names = Vec::new();
    let mut all_have_names = true;
    for of in of {
        each_leaf(of, &mut |leaf| match (name_of(leaf), &leaf) {
            (Some(name), _) if !names.contains(&name) => names.push(name),
            (_, Type::Text("_")) => all_have_names = false,
            _ => {}
        });
    }
    all_have_names.then_some(names)
}

/// The name of a parameter.
fn name_of<'a>(of: &Type<'a>) -> Option<&'a str> {
    match of {
        Type::Path(path) if is_unknown(of) => path.segments.first().map(|only| only.name),
        // The length of an array.
        _ => None,
    }
}

/// Calls `see` with each part of a type that has no parts; what it puts there is not looked at.
fn each_leaf<'a>(of: &mut Type<'a>, see: &mut impl FnMut(&mut Type<'a>)) {
    match of {
        Type::Path(_) if is_unknown(of) => see(of),
        Type::Path(path) => each_leaf_of_path(path, see),
        Type::Pointer(_, of) | Type::Slice(of) | Type::Binding(_, of) => each_leaf(of, see),
        Type::Array(element, length) => {
            if !length.trim().starts_with(|c: char| c.is_ascii_digit()) {
                see(&mut Type::Text("_"));
            }
            each_leaf(element, see);
        }
        Type::Tuple(of) => of.iter_mut().for_each(|of| each_leaf(of, see)),
        Type::Dyn(bounds) => bounds.iter_mut().for_each(|bound| each_leaf_of_path(bound, see)),
        Type::Fn(takes, gives) => {
            takes.iter_mut().for_each(|of| each_leaf(of, see));
            if let Some(gives) = gives {
                each_leaf(gives, see);
            }
        }
        Type::Text(_) => see(of),
    }
}

fn each_leaf_of_path<'a>(path: &mut Path<'a>, see: &mut impl FnMut(&mut Type<'a>)) {
    match &mut path.root {
        Root::Crate => {}
        Root::Type(of) => each_leaf(of, see),
        Root::Trait(of, what) => {
            each_leaf(of, see);
            each_leaf_of_path(what, see);
        }
    }
    path.segments.iter_mut().flat_map(|segment| &mut segment.args).for_each(|of| each_leaf(of, see));
}
