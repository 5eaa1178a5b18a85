//! A real crate under the profiler: serde_json, with a cost centre around each phase. Which takes the
//! memory, the text, the parsed document or the structs made of it?
//!
//! `HEAPPROF_INTERVAL=0.01 cargo run --release --example json`

use std::fmt::Write as _;

use heapprof::cost_centre;
use serde_json::Value;

#[global_allocator]
static ALLOC: heapprof::HeapProf = heapprof::HeapProf::new();

/// Orders in the document: some 20 MB of text.
const ORDERS: u32 = 100_000;

/// What the program keeps of an order.
struct Order {
    customer: String,
    pieces: u64,
    cents: u64,
}

fn main() -> serde_json::Result<()> {
    let text = cost_centre!("write" => document());
    let parsed: Value = cost_centre!("parse" => serde_json::from_str(&text))?;
    let orders: Vec<Order> =
        cost_centre!("collect" => parsed.as_array().into_iter().flatten().filter_map(order).collect());
    let _ = heapprof::mark();
    cost_centre!("drop_document" => drop(parsed));
    drop(text);

    let _report = cost_centre!("report");
    let pieces: u64 = orders.iter().map(|order| order.pieces).sum();
    let cents: u64 = orders.iter().map(|order| order.cents).sum();
    let longest = orders.iter().map(|order| order.customer.len()).max().unwrap_or(0);
    println!("{} orders, {pieces} pieces, {cents} cents, longest name {longest} bytes", orders.len());
    Ok(())
}

fn document() -> String {
    let mut text = String::from("[");
    for number in 0..ORDERS {
        let comma = if number > 0 { "," } else { "" };
        // Writing to a String cannot fail.
        let _ = write!(
            text,
            "{comma}{{\"id\":{number},\"customer\":\"customer no. {}\",\"lines\":[{{\"item\":\"a{}\",\"pieces\":{},\"cents\":{}}},\
             {{\"item\":\"b{}\",\"pieces\":1,\"cents\":99}}],\"paid\":{}}}",
            number % 977,
            number % 13,
            number % 7 + 1,
            number % 5_000,
            number % 17,
            number % 3 == 0
        );
    }
    text.push(']');
    text
}

fn order(value: &Value) -> Option<Order> {
    let lines = value["lines"].as_array()?;
    let sum = |key: &str| lines.iter().filter_map(|line| line[key].as_u64()).sum();
    Some(Order {
        customer: value["customer"].as_str()?.to_owned(),
        pieces: sum("pieces"),
        cents: sum("cents"),
    })
}
