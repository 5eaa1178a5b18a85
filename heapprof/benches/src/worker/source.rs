//! Rust source text from a seed: the input of the syn and regex workloads.
//!
//! The text looks like ordinary library code (doc comments, structs, enums, traits, impls,
//! functions with nested control flow, string and number literals) so that a parser meets its
//! usual mixture of tokens. It must parse; it need not type-check.

use crate::workloads::Random;

/// Nouns and verbs that names are put together from; one is not ASCII, for Unicode patterns.
const WORDS: [&str; 16] = [
    "account", "buffer", "cursor", "draft", "entry", "field", "größe", "header", "index", "journal",
    "kernel", "ledger", "message", "number", "offset", "packet",
];

const TYPES: [&str; 8] = [
    "u32",
    "String",
    "Vec<u8>",
    "Option<usize>",
    "&'static str",
    "f64",
    "[u16; 4]",
    "Box<dyn Fn(u32) -> u64>",
];

const OPERATORS: [&str; 8] = ["+", "-", "*", "^", "&", "|", "%", "<<"];

/// At least `bytes` bytes of valid Rust, the same for the same length.
pub(crate) fn rust_source(bytes: usize) -> String {
    let mut writer = Writer { text: String::with_capacity(bytes + 4_096), random: Random::new(0xC0FFEE) };
    while writer.text.len() < bytes {
        writer.item();
    }
    writer.text
}

struct Writer {
    /// The source so far: whole items only, between calls of `item`.
    text: String,
    random: Random,
}

impl Writer {
    fn put(&mut self, text: &str) {
        self.text.push_str(text);
    }

    fn pick(&mut self, from: &'static [&'static str]) -> &'static str {
        from[self.random.below(from.len())]
    }

    /// A name such as `ledger_entry_17`: few enough that names recur.
    fn name(&mut self) -> String {
        format!("{}_{}_{}", self.pick(&WORDS), self.pick(&WORDS), self.random.below(40))
    }

    /// The same words in the shape of a type: `LedgerEntry17`.
    fn type_name(&mut self) -> String {
        let name = self.name();
        let capital = |word: &str| word[..1].to_uppercase() + &word[1..];
        name.split('_').map(capital).collect()
    }

    fn item(&mut self) {
        let name = self.name();
        self.put(&format!(
            "/// Keeps the {} of one call, and says \"why\" when it fails.\n",
            name.replace('_', " ")
        ));
        match self.random.below(6) {
            0 => self.structure(),
            1 => self.enumeration(),
            2 => self.interface(),
            3 => self.implementation(),
            4 => self.constant(),
            _ => self.function("pub "),
        }
        self.put("\n");
    }

    fn structure(&mut self) {
        let name = self.type_name();
        self.put(&format!("#[derive(Clone, Debug)]\npub struct {name}<'a, T: Clone = u8> {{\n"));
        for _ in 0..2 + self.random.below(6) {
            let field = format!("    pub(crate) {}: {},\n", self.name(), self.pick(&TYPES));
            self.put(&field);
        }
        self.put("    marker: std::marker::PhantomData<&'a T>,\n}\n");
    }

    fn enumeration(&mut self) {
        let name = self.type_name();
        self.put(&format!("#[non_exhaustive]\npub enum {name} {{\n"));
        for number in 0..3 + self.random.below(5) {
            let variant = self.type_name();
            let payload = self.pick(&TYPES);
            self.put(&match number % 3 {
                0 => format!("    {variant},\n"),
                1 => format!("    {variant}({payload}, u64), // the usual case\n"),
                _ => format!("    {variant} {{ value: {payload}, at: usize }},\n"),
            });
        }
        self.put("}\n");
    }

    fn interface(&mut self) {
        let (name, constant) = (self.type_name(), self.random.below(500));
        self.put(&format!(
            "pub trait {name}: Send + 'static {{\n    type Output;\n    const LIMIT: usize = {constant};\n"
        ));
        for _ in 0..1 + self.random.below(3) {
            let method =
                format!("    fn {}(&mut self, from: {}) -> Self::Output;\n", self.name(), self.pick(&TYPES));
            self.put(&method);
        }
        self.put("}\n");
    }

    fn implementation(&mut self) {
        let name = self.type_name();
        self.put(&format!("impl<'a, T> {name}<'a, T>\nwhere\n    T: Clone + PartialOrd,\n{{\n"));
        for _ in 0..1 + self.random.below(4) {
            self.function("    pub(crate) ");
        }
        self.put("}\n");
    }

    fn constant(&mut self) {
        let name = self.name().to_uppercase();
        let (small, large) = (self.random.below(999), self.random.below(99));
        self.put(&format!("pub const {name}: [f64; 3] = [{small}.5e-3, {large}_000.0, 1.0 / 3.0];\n"));
    }

    fn function(&mut self, visibility: &str) {
        let head = format!(
            "{visibility}fn {}({}: {}, limit: usize) -> Result<u64, Error> {{\n",
            self.name(),
            self.name(),
            self.pick(&TYPES)
        );
        self.put(&head);
        self.block(3);
        self.put("    Ok(limit as u64)\n}\n");
    }

    /// A few statements; those that hold blocks nest at most `depth` deep.
    fn block(&mut self, depth: usize) {
        for _ in 0..1 + self.random.below(4) {
            self.statement(depth);
        }
    }

    fn statement(&mut self, depth: usize) {
        let name = self.name();
        let value = self.expression(3);
        match self.random.below(if depth == 0 { 3 } else { 7 }) {
            0 => self.put(&format!("    let mut {name} = {value};\n")),
            1 => self.put(&format!("    writer.{name}({value}, |item| item.len() + 1)?; // may fail\n")),
            2 => self.put(&format!("    println!(\"{name}: {{}} of {{:?}}\\n\", {value}, limit);\n")),
            3 => self.nested(&format!("    if {value} > limit && !{name}.is_empty() {{\n"), depth, "    }\n"),
            4 => self.nested(&format!("    for {name} in 0..({value}) {{\n"), depth, "    }\n"),
            5 => self.nested(&format!("    while let Some({name}) = stack.pop() {{\n"), depth, "    }\n"),
            _ => {
                let head = format!(
                    "    match {value} {{\n    0 | 1 => return Err(Error::{name}),\n    other @ 2..=9 if other != limit => {{\n"
                );
                self.nested(&head, depth, "    }\n    _ => {}\n    }\n");
            }
        }
    }

    fn nested(&mut self, head: &str, depth: usize, tail: &str) {
        self.put(head);
        self.block(depth - 1);
        self.put(tail);
    }

    fn expression(&mut self, depth: usize) -> String {
        if depth == 0 || self.random.below(4) == 0 {
            return self.operand();
        }
        let (left, right) = (self.expression(depth - 1), self.operand());
        format!("({left} {} {right})", self.pick(&OPERATORS))
    }

    fn operand(&mut self) -> String {
        let name = self.name();
        match self.random.below(6) {
            0 => format!("{}", self.random.below(100_000)),
            1 => format!("self.{name}.iter().map(|x| x * 2).sum::<u64>()"),
            2 => format!("compute(&{name}[..], \"{name} \\\"quoted\\\"\")"),
            3 => format!("{}.{}e3", self.random.below(99), self.random.below(99)),
            4 => format!("Some::<u32>({name} as u32).unwrap_or(0x{:x})", self.random.below(1 << 20)),
            _ => name,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::rust_source;

    #[test]
    fn the_source_is_valid_rust_and_always_the_same() {
        let source = rust_source(100_000);
        let file = syn::parse_file(&source).expect("valid Rust");
        assert!(file.items.len() > 40, "{} items are too few to resemble a file", file.items.len());
        assert_eq!(source, rust_source(100_000));
    }
}
