//! The smallest profiled program. Run it with
//! `HEAPPROF_INTERVAL=0.01 cargo run --example first`, then `cargo run -p hp2ps -- -c first.hp`.

#[global_allocator]
static ALLOC: heapprof::HeapProf = heapprof::HeapProf::new();

fn main() {
    let words: Vec<String> =
        heapprof::cost_centre!("read" => (0..200_000).map(|n| format!("word {n}")).collect());
    let lengths: Vec<usize> = heapprof::cost_centre!("measure" => words.iter().map(String::len).collect());
    println!("{} words, {} letters", words.len(), lengths.iter().sum::<usize>());
}
