//! Maps, sets and queues. How large their blocks are the library alone knows: they are measured.

use std::collections::{BTreeMap, BinaryHeap, HashMap, HashSet, VecDeque};

use crate::book::{self, Held, called};
use crate::things::Conn;

/// Bytes and blocks that have come since.
fn more(before: heapprof::Stats) -> (usize, u64) {
    let now = book::stats();
    ((now.live_bytes - before.live_bytes) as usize, now.live_blocks - before.live_blocks)
}

#[inline(never)]
pub fn hashed(count: u32) -> Held<HashMap<u32, u64>> {
    called!("hashed");
    let before = book::stats();
    let mut map = HashMap::new();
    for number in 0..count {
        map.insert(number, 1);
    }
    let (bytes, blocks) = more(before);
    assert_eq!(blocks, 1);
    Held::new(map, bytes, "HashMap::insert", "HashMap<u32,u64>")
}

#[inline(never)]
pub fn reserved(count: usize) -> Held<HashMap<u64, Conn>> {
    called!("reserved");
    let before = book::stats();
    let map = HashMap::with_capacity(count);
    let (bytes, _) = more(before);
    Held::new(map, bytes, "HashMap::with_capacity", "HashMap<u64,Conn>")
}

#[inline(never)]
pub fn set(count: u16) -> Held<HashSet<u16>> {
    called!("set");
    let before = book::stats();
    let mut set = HashSet::new();
    for number in 0..count {
        set.insert(number);
    }
    let (bytes, _) = more(before);
    Held::new(set, bytes, "HashSet::insert", "HashSet<u16>")
}

/// Twelve entries: two leaves and the node above them.
#[inline(never)]
pub fn sorted() -> Held<BTreeMap<u32, Conn>, 3> {
    called!("sorted");
    const DOES: [&str; 2] = ["BTreeMap::insert", "BTreeMap<u32,Conn>"];
    let mut map = BTreeMap::new();
    let before = book::stats();
    map.insert(0, Conn::new(0));
    let (leaf_bytes, blocks) = more(before);
    assert_eq!(blocks, 1);
    let leaf = book::add(leaf_bytes, DOES[0], DOES[1]);
    for number in 1..11 {
        map.insert(number, Conn::new(0));
    }
    let before = book::stats();
    map.insert(11, Conn::new(0));
    let (bytes, blocks) = more(before);
    assert_eq!(blocks, 2);
    let other = book::add(leaf_bytes, DOES[0], DOES[1]);
    let above = book::add(bytes - leaf_bytes, DOES[0], DOES[1]);
    Held { value: map, keys: [leaf, other, above] }
}

#[inline(never)]
pub fn queue(count: u64) -> Held<VecDeque<u64>> {
    called!("queue");
    let mut queue = VecDeque::new();
    for number in 0..count {
        queue.push_back(number);
    }
    let bytes = queue.capacity() * 8;
    Held::new(queue, bytes, "VecDeque::push_back", "VecDeque<u64>")
}

#[inline(never)]
pub fn heap(count: u32) -> Held<BinaryHeap<u32>> {
    called!("heap");
    let mut heap = BinaryHeap::new();
    for number in 0..count {
        heap.push(number);
    }
    let bytes = heap.capacity() * 4;
    Held::new(heap, bytes, "BinaryHeap::push", "BinaryHeap<u32>")
}
