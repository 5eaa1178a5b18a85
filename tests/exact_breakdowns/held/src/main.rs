//! A program whose every block is known: it asks for memory at known places and says, at each sample, what
//! a naive model has live. What is to be seen of it is up to the environment.

mod book;
mod boxes;
mod calls;
mod maps;
mod texts;
mod things;
mod threads;
mod vecs;

use std::hint::black_box;
use std::time::Duration;

use book::{at, called};
use things::{Conn, Dog, Make, Ring, Speak};
use threads::WORKERS;

#[global_allocator]
static ALLOC: heapprof::HeapProf<std::alloc::System> = heapprof::HeapProf::with(std::alloc::System).armed();

/// Arguments: `warm`: another profile goes before, until the profiler knows the library's functions. `annotated`:
/// with cost centres at the end. A profile that the environment has begun is taken as it is.
fn main() {
    called!("main");
    println!("held 1");
    let asked_for = |what: &str| std::env::args().any(|arg| arg == what);
    let (is_warm, is_annotated) = (asked_for("warm"), asked_for("annotated"));
    let mut handles = WORKERS.each_ref().map(|worker| (worker.name != "late").then(|| worker.start()));
    for worker in WORKERS.iter().filter(|worker| worker.name != "late") {
        worker.make(1);
        worker.free();
    }
    if is_warm {
        warm_up();
    }
    let profile = start();
    book::begin(profile.is_none());

    let mut numbers = at!(vecs::pushed(black_box(100)));
    let mut reserved = at!(vecs::reserved(black_box(33)));
    let filled = at!(vecs::filled(black_box(600)));
    let zeroed = at!(vecs::zeroed(black_box(70_000)));
    let listed = at!(vecs::listed(black_box(1)));
    let collected = at!(vecs::collected(black_box(90)));
    let extended = at!(vecs::extended(black_box(90)));
    let copied = at!(vecs::copied(black_box(&[1.5; 30])));
    let slice = at!(vecs::slice(black_box(44)));
    let generic = at!(vecs::generic(7_u8, 1000, "Vec<u8>"));
    let generics = at!(vecs::generic([1_u32, 2, 3], 10, "Vec<[u32;3]>"));
    let nested = at!(vecs::nested());
    book::sample();

    let texts = [
        at!(texts::from(black_box("a text"))),
        at!(texts::pushed(black_box("some more "))),
        at!(texts::formatted(black_box(17))),
        at!(texts::owned(black_box("another text, longer than the first"))),
        at!(texts::printed(black_box(1.25e30))),
        at!(texts::joined(black_box(&["one", "two", "three"]))),
    ];
    let copy = at!(texts::copied(&texts[3].value));
    let array = at!(boxes::array());
    let conn = at!(boxes::conn(black_box(1)));
    let object = at!(boxes::object(black_box(2)));
    let counted = at!(boxes::counted(black_box(3)));
    let shared = at!(boxes::shared(black_box(4)));
    let text = at!(boxes::text(black_box("counted text")));
    let byte = at!(boxes::byte(black_box(5)));
    let line = at!(boxes::line(black_box(6)));
    let collected = at!(vecs::doubled(collected));
    book::sample();

    let hashed = at!(maps::hashed(black_box(200)));
    let empty = at!(maps::reserved(black_box(20)));
    let set = at!(maps::set(black_box(50)));
    let sorted = at!(maps::sorted());
    let queue = at!(maps::queue(black_box(40)));
    let heap = at!(maps::heap(black_box(5)));
    let dog = black_box(Dog([6; 5]));
    let spoken = at!(dog.speak());
    let whispered = at!(dog.whisper());
    let again = at!(object.value.speak());
    let made = at!(copied.value.make());
    let ring = at!(Ring::<u32>::with_room(100, "Ring<u32>"));
    let conns = at!(Ring::<Conn>::with_room(9, "Ring<Conn>"));
    book::sample();

    let closures = at!(calls::closure());
    let deep = at!(calls::deep(black_box(4)));
    let shallow = at!(calls::deep(black_box(0)));
    let inlined = at!(calls::outer());
    let method = at!(calls::method(black_box(11)));
    let boxed = at!(calls::boxed(black_box(12)));
    at!(vecs::grow(&mut numbers));
    at!(vecs::reserve(&mut reserved, 1000));
    filled.free();
    generics.free();
    book::sample();

    for (worker, count) in WORKERS.iter().zip([10, 20, 30, 40]) {
        worker.make(count);
    }
    book::sample();

    WORKERS[1].grow();
    let passed = WORKERS[0].take();
    WORKERS[0].give(numbers);
    WORKERS[0].free();
    let mut numbers = WORKERS[2].take();
    at!(vecs::grow(&mut numbers));
    let mut numbers_of_others = WORKERS[3].take();
    at!(vecs::shrink(&mut numbers_of_others));
    passed.free();
    set.free();
    sorted.free();
    book::sample();

    // A thread that ends, and one that takes its place.
    let before = book::stats().live_bytes;
    WORKERS[3].end();
    handles[3].take().map(|handle| handle.join());
    book::less_before(before - book::stats().live_bytes);
    let late = WORKERS[4].start();
    WORKERS[4].make(50);
    let from_late = WORKERS[4].take();
    WORKERS[4].end();
    late.join().expect("no panic");
    book::sample();

    let mut annotated = [const { None }; 4];
    if is_annotated {
        annotated[0] = Some(at!(load()));
        annotated[1] = Some(at!(vecs::pushed(black_box(7))));
        book::sample();
        let _load = heapprof::cost_centre!("load");
        book::centres("load");
        annotated[2] = Some(at!(vecs::pushed(black_box(9))));
        let _index = heapprof::cost_centre!("index");
        book::centres("index/load");
        annotated[3] = Some(at!(vecs::pushed(black_box(1000))));
        at!(vecs::grow(&mut numbers));
        book::sample();
        book::centres("");
    }

    if let Some(profile) = profile {
        profile.stop().expect("files can be written");
    } else {
        heapprof::sample_now().expect("a profile runs");
    }
    // Nothing of it has gone before.
    black_box((&zeroed.value, &listed.value, &extended.value, &slice.value, &generic.value, &nested.value));
    black_box((&texts[0].value, &copy.value, &array.value, conn.value.number(), &object.value, &again.value));
    black_box((counted.value.number(), &shared.value, &text.value, &collected.value, &hashed.value));
    black_box((empty.value.get(&1).map(Conn::number), &queue.value, &heap.value, &spoken.value));
    black_box((&whispered.value, &made.value, &closures[0].value, &deep.value, &shallow.value));
    black_box((
        &inlined[0].value,
        &method.value,
        (boxed.value)(1),
        &byte.value,
        line.value.0[0],
        &from_late.value,
    ));
    drop((ring, conns, annotated));
    WORKERS[..3].iter().for_each(|worker| worker.end());
    handles.into_iter().flatten().for_each(|handle| handle.join().expect("no panic"));
}

/// Begins a profile, if the environment has not.
fn start() -> Option<heapprof::Profile> {
    let profile = heapprof::Profiler::builder().interval(Duration::from_secs(3600)).quiet(true);
    match profile.start() {
        Ok(profile) => Some(profile),
        Err(refused) if refused.is_already_running() => None,
        Err(refused) => panic!("{refused}"),
    }
}

/// Runs a profile until the profiler knows which functions are the library's: then it finds the caller of a
/// function far up the stack.
fn warm_up() {
    let profile = start().expect("no other profile runs");
    for _ in 0..10_000 {
        let probe = vecs::slice(black_box(3));
        heapprof::sample_now().expect("a profile runs");
        let is_known = std::fs::read_to_string("app.hp").expect("the profile").contains("held::vecs::slice/");
        probe.free();
        if is_known {
            profile.stop().expect("files can be written");
            return;
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    panic!("the library is not found");
}

#[inline(never)]
fn load() -> book::Held<Vec<u64>> {
    called!("load");
    let _load = heapprof::cost_centre!("load");
    book::centres("load");
    let held = at!(vecs::pushed(black_box(8)));
    book::centres("");
    held
}
