//! A program with a space leak that sets no cost centre: nothing of heapprof but the allocator.
//!
//! Orders come in as JSON, are booked, answered and forgotten, or so the author thinks. Look for what
//! grows: by call site, by type, by module.
//!
//! `HEAPPROF_INTERVAL=0.05 HEAPPROF_BREAKDOWN=arc,type,module cargo run --release --example unannotated`

#[global_allocator]
static ALLOC: heapprof::HeapProf = heapprof::HeapProf::new();

use std::time::{Duration, Instant};

/// How long the shop is open, and how many orders it has in that time.
const RUN: Duration = Duration::from_secs(3);
const ORDERS: u64 = 40_000;

mod order {
    use serde_json::Value;

    pub(crate) struct Order {
        pub(crate) number: u64,
        pub(crate) article: String,
        pub(crate) pieces: u64,
    }

    /// Reads an order; the JSON goes as soon as it has been read.
    pub(crate) fn parse(text: &str) -> Option<Order> {
        let json: Value = serde_json::from_str(text).ok()?;
        let number = json["number"].as_u64()?;
        let article = json["article"].as_str()?.to_owned();
        Some(Order { number, article, pieces: json["pieces"].as_u64()? })
    }
}

mod stock {
    use std::collections::BTreeMap;

    /// One shelf for each of some thousand articles: grows at first, then stays.
    #[derive(Default)]
    pub(crate) struct Stock {
        shelves: BTreeMap<String, Vec<u64>>,
    }

    impl Stock {
        pub(crate) fn book(&mut self, article: &str, pieces: u64) -> u64 {
            let shelf = self.shelves.entry(article.to_owned()).or_default();
            if shelf.len() < 32 {
                shelf.push(pieces);
            }
            shelf.iter().sum()
        }
    }
}

mod receipts {
    use std::collections::HashMap;

    pub(crate) struct Receipt {
        pub(crate) lines: Vec<String>,
    }

    /// Meant to answer a repeated order from memory. No order comes twice, and none is ever removed: the leak.
    #[derive(Default)]
    pub(crate) struct Receipts {
        by_number: HashMap<u64, Receipt>,
    }

    impl Receipts {
        pub(crate) fn write(&mut self, number: u64, article: &str, left: u64) -> &Receipt {
            self.by_number.entry(number).or_insert_with(|| Receipt {
                lines: vec![format!("order {number}"), format!("{article}: {left} left, with many thanks")],
            })
        }
    }
}

mod journal {
    use std::collections::VecDeque;

    /// The last lines of a log: a ring.
    #[derive(Default)]
    pub(crate) struct Journal(VecDeque<String>);

    impl Journal {
        pub(crate) fn note(&mut self, line: String) {
            if self.0.len() == 2_000 {
                self.0.pop_front();
            }
            self.0.push_back(line);
        }
    }
}

fn main() {
    let (mut stock, mut receipts) = (stock::Stock::default(), receipts::Receipts::default());
    let (mut journal, mut sent) = (journal::Journal::default(), 0);
    let begin = Instant::now();
    for number in 0..ORDERS {
        let article = format!("article {}", number * 7_919 % 3_000);
        let text = format!(r#"{{"number": {number}, "article": "{article}", "pieces": {}}}"#, number % 9);
        let Some(order) = order::parse(&text) else { continue };
        let left = stock.book(&order.article, order.pieces);
        let receipt = receipts.write(order.number, &order.article, left);
        sent += receipt.lines.iter().map(String::len).sum::<usize>();
        journal.note(text);
        // Evenly over the run.
        let due = RUN.mul_f64(number as f64 / ORDERS as f64);
        if number % 50 == 0 {
            std::thread::sleep(due.saturating_sub(begin.elapsed()));
        }
    }
    println!("{ORDERS} orders, {sent} bytes sent");
}
