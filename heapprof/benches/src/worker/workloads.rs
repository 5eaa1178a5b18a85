//! Ten programs that allocate: eight on one thread, two on two threads.
//!
//! Every workload is a pure function of its scale in percent and returns a checksum, which the
//! driver compares between rows. At 100 percent each takes about half a second over jemalloc.
//! The cost centres are set as a user would set them: per phase, with a few in hot loops.

use crate::allocator::scope;
use crate::source::rust_source;
use std::collections::hash_map::DefaultHasher;
use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;
use std::hash::BuildHasherDefault;
use std::hint::black_box;

pub(crate) type Workload = fn(usize) -> u64;

/// The workload of that name, to be called with a scale in percent.
pub(crate) fn by_name(name: &str) -> Option<Workload> {
    let workload: Workload = match name {
        "micro" => micro,
        "churn" => churn,
        "maps" => maps,
        "json" => json,
        "realloc" => realloc,
        "syn" => syn_items,
        "regex" => regex_matches,
        "deep" => deep,
        "micro-2" => micro_two_threads,
        "handover" => handover,
        _ => return None,
    };
    Some(workload)
}

/// A xorshift generator with a multiplied output: repeatable, and cheap next to an allocation.
pub(crate) struct Random(u64);

impl Random {
    /// `seed` must not be 0, where xorshift stays.
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    /// A number from 0 to `limit - 1`, from the high half, which is the better one.
    pub(crate) fn below(&mut self, limit: usize) -> usize {
        ((u128::from(self.next()) * limit as u128) >> 64) as usize
    }
}

/// `full` units at 100 percent; at least one.
fn scaled(full: usize, percent: usize) -> usize {
    (full * percent / 100).max(1)
}

/// A block of that many bytes with its first byte written.
#[inline]
fn block(bytes: usize, first: u8) -> Vec<u8> {
    let mut block = Vec::with_capacity(bytes);
    block.push(first);
    black_box(block)
}

/// Short-lived blocks of 8 to 1,024 bytes, each freed 64 allocations later: nothing but the
/// allocator, in cache.
fn micro(percent: usize) -> u64 {
    micro_seeded(percent, 42)
}

fn micro_two_threads(percent: usize) -> u64 {
    let threads = [42, 43].map(|seed| std::thread::spawn(move || micro_seeded(percent, seed)));
    let sums = threads.map(|thread| thread.join().expect("micro does not panic"));
    sums[0].wrapping_add(sums[1])
}

fn micro_seeded(percent: usize, seed: u64) -> u64 {
    scope!("micro");
    let mut random = Random::new(seed);
    let mut live: [Vec<u8>; 64] = std::array::from_fn(|_| Vec::new());
    let mut sum = 0_u64;
    for _ in 0..scaled(800_000, percent) {
        scope!("batch");
        for slot in &mut live {
            let bytes = 8 + random.below(1_017);
            *slot = block(bytes, bytes as u8);
        }
        sum = sum.wrapping_add(u64::from(live[random.below(64)][0]));
    }
    sum
}

/// Blocks of 16 to 256 bytes replaced at random in a table of 400,000: every free is cold.
fn churn(percent: usize) -> u64 {
    scope!("churn");
    let mut random = Random::new(7);
    let slots = scaled(400_000, percent);
    let mut table: Vec<Vec<u8>> = {
        scope!("fill");
        (0..slots).map(|_| block_in_one_of_eight(&mut random)).collect()
    };
    let mut sum = 0_u64;
    for _ in 0..scaled(4_500_000, percent) {
        let slot = random.below(slots);
        sum = sum.wrapping_add(u64::from(table[slot][0]));
        table[slot] = block_in_one_of_eight(&mut random);
    }
    scope!("drop");
    drop(table);
    sum
}

/// Spreads the blocks over eight cost centres, so that neighbours in memory differ in theirs.
///
/// In every row the eight places are eight functions: where `scope!` is empty they would else be one,
/// and the rows with cost centres would pay for a branch that no processor can foresee.
fn block_in_one_of_eight(random: &mut Random) -> Vec<u8> {
    macro_rules! choose {
        ($bytes:expr; $($number:pat => $name:literal in $place:ident),*) => {{
            $(#[inline(never)]
            fn $place(bytes: usize) -> Vec<u8> {
                scope!($name);
                black_box($name);
                block(bytes, bytes as u8)
            })*
            match $bytes & 7 { $($number => $place($bytes)),* }
        }};
    }
    let bytes = 16 + random.below(241);
    choose!(bytes; 0 => "0 mod 8" in place_0, 1 => "1 mod 8" in place_1, 2 => "2 mod 8" in place_2,
                   3 => "3 mod 8" in place_3, 4 => "4 mod 8" in place_4, 5 => "5 mod 8" in place_5,
                   6 => "6 mod 8" in place_6, _ => "7 mod 8" in place_7)
}

/// Maps of formatted strings. The hasher has fixed keys, or no two runs would be alike.
type Lists = HashMap<String, Vec<u32>, BuildHasherDefault<DefaultHasher>>;

fn maps(percent: usize) -> u64 {
    scope!("maps");
    let mut random = Random::new(99);
    let mut sum = 0_u64;
    for _ in 0..2 {
        let entries = scaled(180_000, percent);
        let mut lists = Lists::default();
        let mut names: BTreeMap<String, String> = BTreeMap::new();
        for number in 0..entries {
            let key = random.below(1 << 40);
            {
                scope!("lists");
                lists.entry(format!("list {}", key % (entries / 2 + 1))).or_default().push(number as u32);
            }
            scope!("names");
            let value = {
                scope!("value");
                format!("entry {number}")
            };
            names.insert(format!("name/{key:x}"), value);
        }
        sum = sum.wrapping_add(sum_of_lengths(&lists, &names));
        scope!("drop");
        drop((lists, names));
    }
    sum
}

fn sum_of_lengths(lists: &Lists, names: &BTreeMap<String, String>) -> u64 {
    scope!("iterate");
    let lists: usize = lists.iter().map(|(key, list)| key.len() * list.len()).sum();
    let names: usize = names.iter().map(|(key, value)| key.len() + value.len()).sum();
    (lists + names) as u64
}

/// Parses a document into a tree of values, walks it and drops it.
fn json(percent: usize) -> u64 {
    scope!("json");
    let document = json_document(scaled(13_000_000, percent));
    let mut sum = 0_u64;
    for _ in 0..3 {
        let tree: serde_json::Value = {
            scope!("parse");
            serde_json::from_str(&document).expect("the document is well formed")
        };
        {
            scope!("walk");
            sum = sum.wrapping_add(weight(&tree));
        }
        scope!("drop");
        drop(tree);
    }
    sum
}

fn json_document(bytes: usize) -> String {
    scope!("document");
    let mut random = Random::new(5);
    let mut document = String::with_capacity(bytes + 1_000);
    document.push('[');
    while document.len() < bytes {
        write_order(&mut document, &mut random).expect("writing to a string does not fail");
        document.push(',');
    }
    document.push_str("null]");
    document
}

/// One object with nested arrays and objects, strings of several lengths, floats and flags.
fn write_order(out: &mut String, random: &mut Random) -> std::fmt::Result {
    let (order, price) = (random.below(1_000_000), random.below(10_000));
    write!(out, r#"{{"order":{order},"customer":{{"name":"Customer no. {}","#, random.below(5_000))?;
    write!(
        out,
        r#""mail":"c{order:x}@example.org","place":{{"lat":{}.5,"lon":-{}.25}}}},"#,
        price % 90,
        price % 180
    )?;
    write!(out, r#""paid":{},"total":{price}.{:02},"notes":["#, price & 1 == 0, price % 100)?;
    for note in 0..random.below(4) {
        write!(out, r#""note {note} on {order}","#)?;
    }
    write!(out, r#""end"],"lines":["#)?;
    for line in 0..1 + random.below(3) {
        write!(
            out,
            r#"{{"sku":"S-{:05}","count":{},"line":{line}}},"#,
            random.below(99_999),
            random.below(9)
        )?;
    }
    out.push_str("{}]}");
    Ok(())
}

fn weight(value: &serde_json::Value) -> u64 {
    use serde_json::Value;
    match value {
        Value::Array(items) => 1 + items.iter().map(weight).sum::<u64>(),
        Value::Object(fields) => fields.iter().map(|(name, value)| name.len() as u64 + weight(value)).sum(),
        Value::String(text) => text.len() as u64,
        Value::Null | Value::Bool(_) | Value::Number(_) => 1,
    }
}

/// Growing vectors and strings, a zeroed block and now and then a shrink.
fn realloc(percent: usize) -> u64 {
    scope!("realloc");
    let mut random = Random::new(11);
    let mut sum = 0_u64;
    for round in 0..scaled(110_000, percent) {
        scope!("grow");
        let length = 16 << random.below(9);
        let mut columns: [Vec<u32>; 8] = Default::default();
        for number in 0..length * 2 {
            columns[((number * 5) ^ round) & 7].push(number as u32);
        }
        let mut text = String::new();
        for number in 0..length / 4 {
            text.push_str(if number % 2 == 0 { "growing " } else { "größer " });
        }
        let zeroed = black_box(vec![0_u8; length * 3]);
        if round % 16 == 0 {
            columns.iter_mut().for_each(Vec::shrink_to_fit);
        }
        let columns = black_box(columns);
        sum += (columns.iter().map(Vec::len).sum::<usize>() + text.len()) as u64 + u64::from(zeroed[length]);
    }
    sum
}

/// Parses generated Rust and prints every item again.
fn syn_items(percent: usize) -> u64 {
    use quote::ToTokens as _;
    scope!("syn");
    let source = rust_source(scaled(400_000, percent));
    let mut sum = 0_u64;
    for _ in 0..10 {
        let file = {
            scope!("parse");
            syn::parse_file(&source).expect("the generated source is valid Rust")
        };
        for item in &file.items {
            scope!("print");
            sum += item.to_token_stream().to_string().len() as u64;
        }
        scope!("drop");
        drop(file);
    }
    sum
}

const PATTERNS: [&str; 6] = [
    r"(?i)\b[a-z_]+\s*\(",
    r"[\p{L}_][\p{L}\p{N}_]*",
    r"(fn|struct|enum|impl)\s+(\w+)",
    r#""([^"\\]|\\.)*""#,
    r"\d{1,3}(\.\d+)?([eE][+-]?\d+)?",
    r"//[^\n]*\n",
];

/// Compiles patterns and collects the text of their first matches as strings.
fn regex_matches(percent: usize) -> u64 {
    scope!("regex");
    let source = rust_source(200_000);
    let mut sum = 0_u64;
    for _ in 0..scaled(130, percent) {
        for pattern in PATTERNS {
            let pattern = {
                scope!("compile");
                regex::Regex::new(pattern).expect("the pattern is valid")
            };
            scope!("find");
            let captures = pattern.captures_iter(&source).take(2_000);
            let found: Vec<String> = captures.map(|capture| capture[0].to_owned()).collect();
            sum += found.iter().map(String::len).sum::<usize>() as u64;
        }
    }
    sum
}

/// Recursion eighty deep with a cost centre at every level, and a hundred blocks at the bottom.
fn deep(percent: usize) -> u64 {
    scope!("deep");
    let mut random = Random::new(1);
    (0..scaled(270_000, percent)).fold(0, |sum, _| sum.wrapping_add(descend(80, &mut random)))
}

#[inline(never)]
fn descend(levels: usize, random: &mut Random) -> u64 {
    scope!("descend");
    if levels == 0 {
        return (0..100).map(|_| leaf(random)).sum();
    }
    let held = black_box(Box::new(levels as u64));
    descend(levels - 1, random) + *held
}

#[inline]
fn leaf(random: &mut Random) -> u64 {
    scope!("leaf");
    let bytes = 32 + random.below(200);
    u64::from(block(bytes, bytes as u8)[0])
}

/// Batches of 256 blocks made by one thread and freed by another.
fn handover(percent: usize) -> u64 {
    scope!("handover");
    let (sender, receiver) = std::sync::mpsc::sync_channel::<Vec<Vec<u8>>>(64);
    let producer = std::thread::spawn(move || {
        scope!("producer");
        let mut random = Random::new(3);
        for _ in 0..scaled(45_000, percent) {
            scope!("produce");
            let blocks = (0..256).map(|_| {
                let bytes = 16 + random.below(500);
                block(bytes, bytes as u8)
            });
            if sender.send(blocks.collect()).is_err() {
                return;
            }
        }
    });
    let mut sum = 0_u64;
    for blocks in receiver {
        scope!("consume");
        sum += blocks.iter().map(|block| u64::from(block[0])).sum::<u64>();
    }
    producer.join().expect("the producer does not panic");
    sum
}
