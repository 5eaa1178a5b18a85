//! Threads that are there before the profile begins, and do what they are told.

use std::sync::{Condvar, Mutex};
use std::thread::{Builder, JoinHandle};

use crate::book::{self, Held, at, called};
use crate::vecs;

/// What a thread is to do next.
#[derive(Clone, Copy, PartialEq)]
enum Order {
    Wait,
    Make(usize),
    Grow,
    Free,
    End,
}

pub struct Worker {
    pub name: &'static str,
    order: Mutex<Order>,
    changed: Condvar,
    held: Mutex<Option<Held<Vec<u64>>>>,
}

const fn worker(name: &'static str) -> Worker {
    Worker { name, order: Mutex::new(Order::Wait), changed: Condvar::new(), held: Mutex::new(None) }
}

pub static WORKERS: [Worker; 5] = [
    worker("reader"),
    worker("reader"),
    worker("a-name-of-more-than-fifteen-bytes"),
    worker("unnamed"),
    worker("late"),
];

impl Worker {
    pub fn start(&'static self) -> JoinHandle<()> {
        let builder = Builder::new();
        let builder = if self.name == "unnamed" { builder } else { builder.name(self.name.to_owned()) };
        let work = [work::<0>, work::<1>, work::<2>, work::<3>, work::<4>];
        let at = WORKERS.iter().position(|worker| std::ptr::eq(worker, self)).expect("one of them");
        builder.spawn(work[at]).expect("a thread")
    }

    fn tell(&self, order: Order) {
        let mut current = self.order.lock().unwrap();
        *current = order;
        self.changed.notify_all();
        while *current != Order::Wait {
            current = self.changed.wait(current).unwrap();
        }
    }

    pub fn make(&self, count: usize) {
        self.tell(Order::Make(count));
    }

    pub fn grow(&self) {
        self.tell(Order::Grow);
    }

    pub fn free(&self) {
        self.tell(Order::Free);
    }

    pub fn end(&self) {
        self.tell(Order::End);
    }

    /// Hands over what the thread holds.
    pub fn take(&self) -> Held<Vec<u64>> {
        self.held.lock().unwrap().take().expect("it holds something")
    }

    /// Gives the thread something to hold.
    pub fn give(&self, held: Held<Vec<u64>>) {
        *self.held.lock().unwrap() = Some(held);
    }
}

fn work<const AT: usize>() {
    called!("work");
    let worker = &WORKERS[AT];
    book::this_is_thread(worker.name);
    let mut order = worker.order.lock().unwrap();
    loop {
        match *order {
            Order::Wait => {}
            Order::Make(count) => worker.give(at!(make(count))),
            Order::Grow => at!(vecs::grow(worker.held.lock().unwrap().as_mut().expect("held"))),
            Order::Free => worker.take().free(),
            Order::End => {}
        }
        let is_last = *order == Order::End;
        *order = Order::Wait;
        worker.changed.notify_all();
        if is_last {
            return;
        }
        while *order == Order::Wait {
            order = worker.changed.wait(order).unwrap();
        }
    }
}

#[inline(never)]
fn make(count: usize) -> Held<Vec<u64>> {
    called!("make");
    let vec = vec![5; count];
    let bytes = vecs::bytes_of(&vec);
    Held::new(vec, bytes, "vec!", "Vec<u64>")
}
