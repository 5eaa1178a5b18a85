//! A parser of demangled names, of the legacy and the v0 scheme and of debug information.
//!
//! ```text
//! path    = root segment*            root    = ident | '<' type ['as' path] '>'
//! segment = '::' (ident | braces) [args] | '::' args | '::<impl ' [path 'for'] type '>'
//! args    = '<' (type | lifetime | constant | ident '=' type), .. '>'
//! type    = path | '&' type | '*const' type | '[' type [';' n] ']' | '(' type, .. ')' | 'dyn' path + ..
//!         | 'fn(' type, .. ')' ['->' type] | '_' | '!'
//! ```
//! The text may be anything: what does not parse gives `None`, and nesting is limited so that the stack
//! is safe.

/// How deep types may nest.
const MOST_NESTED: usize = 128;

/// A path to a function, a type or a trait.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Path<'a> {
    pub(super) root: Root<'a>,
    /// What follows the root; with [`Root::Crate`] the first is the crate (or the only name there is).
    pub(super) segments: Vec<Segment<'a>>,
    /// The crate that wrote the `impl`, where the name tells (`home::<impl Trait for Type>`).
    pub(super) home: Option<&'a str>,
}

/// Where a path starts.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Root<'a> {
    /// At a crate, a primitive type, a type parameter, or a name without path.
    Crate,
    /// `<type>`: at the inherent methods of a type.
    Type(Box<Type<'a>>),
    /// `<type as trait>`.
    Trait(Box<Type<'a>>, Box<Path<'a>>),
}

/// A name between two `::`, with its generic arguments (`Vec<u8>`, `push::<u8>`); lifetimes are left out.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Segment<'a> {
    /// An identifier, or `{..}` with its braces.
    pub(super) name: &'a str,
    pub(super) args: Vec<Type<'a>>,
}

/// A type, or another generic argument.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Type<'a> {
    Path(Path<'a>),
    /// `&`, `&mut `, `*const ` or `*mut ` before a type.
    Pointer(&'static str, Box<Type<'a>>),
    Slice(Box<Type<'a>>),
    Array(Box<Type<'a>>, &'a str),
    Tuple(Vec<Type<'a>>),
    Dyn(Vec<Path<'a>>),
    Fn(Vec<Type<'a>>, Option<Box<Type<'a>>>),
    /// `Item = type` among the arguments of a trait.
    Binding(&'a str, Box<Type<'a>>),
    /// A constant, `_` or `!`.
    Text(&'a str),
}

/// Parses the demangled name of a function; without the arguments at its end if these do not parse.
pub(super) fn parse(name: &str) -> Option<Path<'_>> {
    parse_whole(name).or_else(|| parse_whole(before_arguments(name)?))
}

/// What is before the `<` of the `>` at the end, unless `::` is.
fn before_arguments(name: &str) -> Option<&str> {
    let mut open = 0_usize;
    let end = name.strip_suffix('>')?.len();
    for (at, byte) in name.bytes().enumerate().rev() {
        match byte {
            // Not that of `->`.
            b'>' if at == end || !name[..at].ends_with(['-', '=']) => open += 1,
            b'<' => open -= 1,
            _ => {}
        }
        if open == 0 {
            return Some(&name[..at]).filter(|before| !before.ends_with(':'));
        }
    }
    None
}

fn parse_whole(name: &str) -> Option<Path<'_>> {
    let mut parser = Parser { rest: name.trim_start(), nested: 0 };
    let path = parser.path()?;
    // What the compiler or the linker appends: `.llvm.123`, `.cold`, ` (.llvm.123)`, `{{vtable.shim}}`.
    let done = parser.rest.is_empty() || parser.rest.starts_with(['.', ' ', '{', '@']);
    done.then_some(path)
}

/// The text that is not yet parsed, and how deep in types it is.
struct Parser<'a> {
    rest: &'a str,
    nested: usize,
}

impl<'a> Parser<'a> {
    fn eat(&mut self, text: &str) -> bool {
        let rest = self.rest.strip_prefix(text);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn expect(&mut self, text: &str) -> Option<()> {
        self.eat(text).then_some(())
    }

    fn skip_blanks(&mut self) {
        self.rest = self.rest.trim_start_matches(' ');
    }

    fn take(&mut self, bytes: usize) -> Option<&'a str> {
        let (taken, rest) = self.rest.split_at_checked(bytes)?;
        self.rest = rest;
        (!taken.is_empty()).then_some(taken)
    }

    /// Parses something that may nest; `None` when it nests too deep.
    fn nest<T>(&mut self, parse: impl FnOnce(&mut Self) -> Option<T>) -> Option<T> {
        if self.nested == MOST_NESTED {
            return None;
        }
        self.nested += 1;
        let parsed = parse(self);
        self.nested -= 1;
        parsed
    }

    fn path(&mut self) -> Option<Path<'a>> {
        self.nest(Self::path_inside)
    }

    fn path_inside(&mut self) -> Option<Path<'a>> {
        let mut path = if self.eat("<") {
            Path { root: self.rooted()?, segments: Vec::new(), home: None }
        } else {
            let first = self.segment()?;
            Path { root: Root::Crate, segments: vec![first], home: None }
        };
        while self.rest.starts_with("::") {
            self.rest = &self.rest[2..];
            if self.eat("<impl ") {
                let home = path.segments.first().map(|crate_name| crate_name.name);
                path = Path { root: self.impl_block()?, segments: Vec::new(), home };
            } else if self.rest.starts_with('<') {
                let args = self.args()?;
                path.segments.last_mut()?.args.extend(args);
            } else {
                let segment = self.segment()?;
                path.segments.push(segment);
            }
        }
        Some(path)
    }

    /// Parses what follows the `<` of `<type>` or `<type as trait>`.
    fn rooted(&mut self) -> Option<Root<'a>> {
        let of = Box::new(self.ty()?);
        self.skip_blanks();
        let root = if self.eat("as ") { Root::Trait(of, Box::new(self.path()?)) } else { Root::Type(of) };
        self.expect(">")?;
        Some(root)
    }

    /// Parses what follows the `<impl ` of `<impl type>` or `<impl trait for type>`.
    fn impl_block(&mut self) -> Option<Root<'a>> {
        let first = self.ty()?;
        self.skip_blanks();
        let root = match first {
            Type::Path(of) if self.eat("for ") => Root::Trait(Box::new(self.ty()?), Box::new(of)),
            of => Root::Type(Box::new(of)),
        };
        self.expect(">")?;
        Some(root)
    }

    fn segment(&mut self) -> Option<Segment<'a>> {
        let name = if self.rest.starts_with('{') { self.braces()? } else { self.ident()? };
        let args = if self.rest.starts_with('<') { self.args()? } else { Vec::new() };
        // `call_once{{vtable.shim}}`: the shim of a function is the function.
        if self.rest.starts_with("{{") {
            self.braces()?;
        }
        Some(Segment { name, args })
    }

    fn ident(&mut self) -> Option<&'a str> {
        let part = |c: char| c.is_alphanumeric() || c == '_' || c == '$';
        let end = self.rest.find(|c| !part(c)).unwrap_or(self.rest.len());
        self.take(end)
    }

    /// Takes `{..}` with the braces in it.
    fn braces(&mut self) -> Option<&'a str> {
        let mut open = 0_usize;
        for (at, byte) in self.rest.bytes().enumerate() {
            match byte {
                b'{' => open += 1,
                b'}' => open = open.checked_sub(1)?,
                _ => {}
            }
            if open == 0 {
                return self.take(at + 1);
            }
        }
        None
    }

    fn args(&mut self) -> Option<Vec<Type<'a>>> {
        self.expect("<")?;
        self.list(">")
    }

    /// Parses types with commas between them, up to and with `end`.
    fn list(&mut self, end: &str) -> Option<Vec<Type<'a>>> {
        let mut types = Vec::new();
        loop {
            self.skip_blanks();
            if self.eat(end) {
                return Some(types);
            }
            if !self.lifetime() {
                types.push(self.argument()?);
            }
            self.skip_blanks();
            if !self.eat(",") {
                self.expect(end)?;
                return Some(types);
            }
        }
    }

    /// Skips `'a`, but not the character `'a'`.
    fn lifetime(&mut self) -> bool {
        let Some(rest) = self.rest.strip_prefix('\'') else { return false };
        let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
        if end == 0 || rest[end..].starts_with('\'') {
            return false;
        }
        self.rest = &rest[end..];
        true
    }

    fn argument(&mut self) -> Option<Type<'a>> {
        if self.rest.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '-' | '\'' | '"' | '{')) {
            return self.constant();
        }
        let of = self.ty()?;
        self.skip_blanks();
        let Type::Path(Path { root: Root::Crate, segments, .. }) = &of else { return Some(of) };
        let [Segment { name, .. }] = segments[..] else { return Some(of) };
        if !self.eat("=") {
            return Some(of);
        }
        self.skip_blanks();
        Some(Type::Binding(name, Box::new(self.argument()?)))
    }

    fn constant(&mut self) -> Option<Type<'a>> {
        if self.rest.starts_with('{') {
            return self.braces().map(Type::Text);
        }
        if let quote @ ('\'' | '"') = self.rest.chars().next()? {
            return self.quoted(quote).map(Type::Text);
        }
        let end = self.rest.find(|c: char| !c.is_alphanumeric() && !matches!(c, '-' | '_' | '.'));
        self.take(end.unwrap_or(self.rest.len())).map(Type::Text)
    }

    /// Takes a character or a string with its quotes; a backslash keeps the next one from ending it.
    fn quoted(&mut self, quote: char) -> Option<&'a str> {
        let mut escaped = false;
        for (at, c) in self.rest.char_indices().skip(1) {
            if c == quote && !escaped {
                return self.take(at + c.len_utf8());
            }
            escaped = c == '\\' && !escaped;
        }
        None
    }

    fn ty(&mut self) -> Option<Type<'a>> {
        self.nest(Self::type_inside)
    }

    fn type_inside(&mut self) -> Option<Type<'a>> {
        self.skip_blanks();
        if self.eat("&") {
            self.lifetime();
            self.skip_blanks();
            let sign = if self.eat("mut ") { "&mut " } else { "&" };
            return Some(Type::Pointer(sign, Box::new(self.ty()?)));
        }
        if self.eat("*const ") {
            return Some(Type::Pointer("*const ", Box::new(self.ty()?)));
        }
        if self.eat("*mut ") {
            return Some(Type::Pointer("*mut ", Box::new(self.ty()?)));
        }
        if self.eat("[") {
            return self.array();
        }
        if self.eat("(") {
            return self.tuple();
        }
        if self.eat("!") {
            return Some(Type::Text("!"));
        }
        self.binder()?;
        if self.eat("dyn ") {
            return self.bounds().map(Type::Dyn);
        }
        if self.function_head() {
            return self.function();
        }
        self.path().map(|path| if is_blank(&path) { Type::Text("_") } else { Type::Path(path) })
    }

    fn array(&mut self) -> Option<Type<'a>> {
        let of = Box::new(self.ty()?);
        self.skip_blanks();
        if self.eat("]") {
            return Some(Type::Slice(of));
        }
        self.expect(";")?;
        self.skip_blanks();
        let end = self.rest.find(']')?;
        let length = self.take(end)?;
        self.expect("]")?;
        Some(Type::Array(of, length))
    }

    /// Parses a tuple, or one type in parentheses, after `(`.
    fn tuple(&mut self) -> Option<Type<'a>> {
        let before = self.rest;
        let mut types = self.list(")")?;
        let text = &before[..before.len() - self.rest.len() - 1];
        if types.len() == 1 && !text.trim_end().ends_with(',') {
            return types.pop();
        }
        Some(Type::Tuple(types))
    }

    /// Skips `for<'a, 'b> `.
    fn binder(&mut self) -> Option<()> {
        if self.eat("for<") {
            let end = self.rest.find('>')?;
            self.rest = &self.rest[end + 1..];
            self.skip_blanks();
        }
        Some(())
    }

    /// Parses the bounds of a trait object; lifetimes, and bindings that stand apart, are left out.
    fn bounds(&mut self) -> Option<Vec<Path<'a>>> {
        let mut bounds = Vec::new();
        loop {
            self.skip_blanks();
            self.binder()?;
            if !self.lifetime() {
                let bound = self.path()?;
                self.skip_blanks();
                // The legacy scheme writes `dyn FnOnce<()>+Output = ()`.
                if self.eat("=") {
                    self.ty()?;
                } else {
                    bounds.push(bound);
                }
            }
            let rest = self.rest.trim_start_matches(' ');
            let Some(more) = rest.strip_prefix('+') else { return Some(bounds) };
            self.rest = more;
        }
    }

    /// Skips `unsafe extern "C" fn(`; leaves anything else.
    fn function_head(&mut self) -> bool {
        let before = self.rest;
        self.eat("unsafe ");
        if self.eat("extern \"") {
            let Some(end) = self.rest.find('"') else {
                self.rest = before;
                return false;
            };
            self.rest = &self.rest[end + 1..];
            self.skip_blanks();
        }
        let is_function = self.eat("fn(");
        if !is_function {
            self.rest = before;
        }
        is_function
    }

    fn function(&mut self) -> Option<Type<'a>> {
        let takes = self.list(")")?;
        let rest = self.rest.trim_start_matches(' ');
        // Demangling the legacy scheme leaves a dot of the arrow's dash.
        let Some(more) = rest.strip_prefix("->").or_else(|| rest.strip_prefix(".>")) else {
            return Some(Type::Fn(takes, None));
        };
        self.rest = more;
        Some(Type::Fn(takes, Some(Box::new(self.ty()?))))
    }
}

/// Whether a path is `_`: an argument that the name does not tell.
fn is_blank(path: &Path<'_>) -> bool {
    path.root == Root::Crate && matches!(path.segments[..], [Segment { name: "_", .. }])
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    /// The names of the segments, and of the root's type and trait.
    fn names(path: &Path<'_>) -> String {
        let root = match &path.root {
            Root::Crate => String::new(),
            Root::Type(of) => format!("<{of:?}>"),
            Root::Trait(of, what) => format!("<{of:?} as {}>", names(what)),
        };
        let segments: Vec<&str> = path.segments.iter().map(|segment| segment.name).collect();
        root + &segments.join("/")
    }

    #[test]
    fn arguments_belong_to_the_segment_before_them() {
        let path = parse("app::Map<alloc::string::String, _, 3>::get::<&mut [u8; 4]>").unwrap();
        assert_eq!(names(&path), "app/Map/get");
        assert_eq!(path.segments[1].args.len(), 3);
        assert_eq!(path.segments[1].args[1..], [Type::Text("_"), Type::Text("3")]);
        let Type::Pointer("&mut ", array) = &path.segments[2].args[0] else { panic!("{path:?}") };
        assert!(matches!(**array, Type::Array(_, "4")));
    }

    #[test]
    fn an_impl_block_of_the_legacy_scheme_is_a_root() {
        let path =
            parse("std::io::impls::<impl std::io::Write for alloc::vec::Vec<u8,A>>::write_all").unwrap();
        assert!(matches!(path.root, Root::Trait(..)));
        assert_eq!((path.home, path.segments[0].name), (Some("std"), "write_all"));
        let path = parse("<T as alloc::slice::<impl [T]>::to_vec_in::ConvertVec>::to_vec").unwrap();
        let Root::Trait(_, what) = &path.root else { panic!("{path:?}") };
        assert!(matches!(what.root, Root::Type(_)) && what.segments.len() == 2);
    }

    #[test]
    fn trait_objects_functions_and_constants_parse() {
        for name in [
            "core::ptr::drop_in_place<alloc::vec::Vec<fn(u32) .> u64>>",
            "<&dyn core::ops::function::Fn<(), Output = i32> + core::marker::Sync as app::T>::f",
            "<alloc::boxed::Box<dyn core::ops::function::FnOnce<()>+Output = ()> as app::T>::f",
            "<for<'a> unsafe extern \"C\" fn(&'a u8, ...) -> *const u8 as app::T>::f",
            "app::f::<for<'a> fn(&'a u8) -> (u8,), (dyn app::A + 'static), 'x', '\\'', \"a>b\", true, -5>",
            "app::f::<{const { 3 }}, [(); 0], !>::{closure#0}::{{closure}}",
            "core::ops::function::FnOnce::call_once{{vtable.shim}}",
            "push<u64, alloc::alloc::Global>",
        ] {
            let name = name.replace(", ...", "");
            assert!(parse(&name).is_some(), "{name}");
        }
        assert_eq!(parse("app::f<u8, #>"), parse("app::f"));
        assert_eq!(parse("app::f<fn(#) -> u8>"), parse("app::f"));
        assert_eq!([parse("app::<#>"), parse("<#>"), parse("app::f>")], [None, None, None]);
        assert_eq!(parse("app::f<"), None);
        assert_eq!(parse(""), None);
        assert_eq!(parse(&"<".repeat(100_000)), None);
    }
}
