//! Work handed between threads: blocks stay with the stack that allocated them, whoever frees them,
//! and a thread can work under the stack that gave it its work.
//!
//! `HEAPPROF_INTERVAL=0.01 cargo run --release --example threads`

use std::sync::mpsc;

#[global_allocator]
static ALLOC: heapprof::HeapProf = heapprof::HeapProf::new();

/// Pages that the producer makes and the consumers take apart.
const PAGES: usize = 20_000;

fn main() {
    let _pipeline = heapprof::cost_centre!("pipeline");
    let (pages, inbox) = mpsc::sync_channel::<Vec<u8>>(500);
    // `spawn` carries the stack over: the thread works under pipeline/produce, not under MAIN.
    let producer = heapprof::cost_centre!("produce" => heapprof::spawn(move || {
        for number in 0..PAGES {
            let page = vec![number as u8; 4_096 + number % 1_000];
            if pages.send(page).is_err() {
                break;
            }
        }
    }));
    // A pool's threads outlive the work: hand them the stack with each piece.
    let (words, counted) = mpsc::channel::<(heapprof::Stack, Vec<u8>)>();
    let counter = std::thread::spawn(move || {
        counted.iter().fold(0_u64, |sum, (stack, page)| {
            let _stack = stack.enter();
            let copy: Vec<u64> = page.iter().map(|&byte| u64::from(byte)).collect();
            sum + copy.iter().sum::<u64>()
        })
    });
    for (number, page) in inbox.into_iter().enumerate() {
        if number % 5_000 == 0 {
            let _ = heapprof::mark();
        }
        let _count = heapprof::cost_centre!("count");
        if words.send((heapprof::Stack::current(), page)).is_err() {
            break;
        }
    }
    drop(words);
    let sum = counter.join().unwrap_or_default();
    let _ = producer.join();
    println!("{sum}");
}
