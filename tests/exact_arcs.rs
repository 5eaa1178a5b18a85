//! Bands by call site and by call stack against a second opinion: random programs ask the crate
//! `backtrace` for their call stack at the places where they allocate, and keep live bytes by what it says.
//! Both must agree to the byte, whatever was inlined, called through a trait object, a closure or C.
//!
//! The second opinion knows nothing of heapprof's rules. A frame is the program's own if its line is in this
//! file, but for the bookkeeping; names are shortened by a rule of their own.
//!
//! With `--cfg unframed` this is the guest alone: `unframed_common` builds it without frame pointers.

#![allow(unexpected_cfgs, reason = "see above")]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[cfg(not(unframed))]
mod common;
#[cfg(not(unframed))]
mod unframed_common;

#[global_allocator]
static ALLOC: heapprof::HeapProf = heapprof::HeapProf::new();

/// Where the guest writes what the bands are to be.
const WANTED: &str = "wanted.txt";

// ---- the second opinion ------------------------------------------------------------------------

/// The bookkeeping: what it allocates itself is in bands of its own.
mod book {
    use std::collections::{BTreeMap, HashMap};
    use std::fmt::Write as _;
    use std::sync::{LazyLock, Mutex, MutexGuard};

    /// Return addresses of a call stack that are kept.
    const ADDRESSES_MAX: usize = 500;

    /// A call stack, innermost call first.
    #[derive(Clone, Copy)]
    pub(super) struct Stack {
        addresses: [usize; ADDRESSES_MAX],
        length: usize,
    }

    impl Stack {
        /// The call stack here.
        #[inline(never)]
        pub(super) fn here() -> Self {
            let mut stack = Self { addresses: [0; ADDRESSES_MAX], length: 0 };
            backtrace::trace(|frame| {
                if let Some(slot) = stack.addresses.get_mut(stack.length) {
                    *slot = frame.ip().addr();
                    stack.length += 1;
                }
                stack.length < ADDRESSES_MAX
            });
            stack
        }
    }

    type Live = HashMap<Box<[usize]>, u64>;

    fn live() -> MutexGuard<'static, Live> {
        static LIVE: LazyLock<Mutex<Live>> = LazyLock::new(Mutex::default);
        LIVE.lock().unwrap()
    }

    /// The parts of a block (or of a map, which is several blocks), with whom they belong to.
    #[derive(Default)]
    pub(super) struct Parts(Vec<(Box<[usize]>, u64)>);

    impl Parts {
        pub(super) fn add(&mut self, stack: &Stack, bytes: u64) {
            let addresses: Box<[usize]> = stack.addresses[..stack.length].into();
            *live().entry(addresses.clone()).or_default() += bytes;
            self.0.push((addresses, bytes));
        }

        /// What shrinks stays whose it was; for blocks of one part.
        pub(super) fn shrink_to(&mut self, bytes: u64) {
            let (addresses, before) = &mut self.0[0];
            *live().get_mut(addresses).unwrap() -= *before - bytes;
            *before = bytes;
        }

        pub(super) fn clear(&mut self) {
            for (addresses, bytes) in self.0.drain(..) {
                *live().get_mut(&addresses).unwrap() -= bytes;
            }
        }
    }

    impl Drop for Parts {
        fn drop(&mut self) {
            self.clear();
        }
    }

    /// A list that will never grow.
    pub(super) fn list<T>(capacity: usize) -> Vec<T> {
        Vec::with_capacity(capacity)
    }

    /// What is held at one moment.
    pub(super) struct Moment(Live);

    pub(super) fn moment() -> Moment {
        Moment(live().clone())
    }

    /// Lines of a moment's number, live bytes, and a call stack as `name:line@frame`, innermost first,
    /// with tabs between all.
    pub(super) fn lines(moments: &[Moment]) -> String {
        let (mut text, mut names) = (String::new(), BTreeMap::new());
        for (number, Moment(live)) in moments.iter().enumerate() {
            for (addresses, bytes) in live.iter().filter(|(_, bytes)| **bytes > 0) {
                write!(text, "{number}\t{bytes}").unwrap();
                let mut first = None;
                for (frame, &address) in addresses.iter().enumerate() {
                    let functions = names.entry(address).or_insert_with(|| functions(address));
                    for (name, line) in functions.iter() {
                        let first = *first.get_or_insert(frame);
                        write!(text, "\t{name}:{line}@{}", frame - first).unwrap();
                    }
                }
                text.push('\n');
            }
        }
        text
    }

    /// The program's own functions at a return address, innermost first.
    fn functions(address: usize) -> Vec<(String, u32)> {
        let mut functions = Vec::new();
        backtrace::resolve(std::ptr::with_exposed_provenance_mut(address), |symbol| {
            let is_here = symbol.filename().is_some_and(|file| file.ends_with("tests/exact_arcs.rs"));
            let name = symbol.name().map(|name| short(&format!("{name:#}"))).unwrap_or_default();
            if is_here && !name.contains("exact_arcs::book::") {
                functions.push((name, symbol.lineno().unwrap_or(0)));
            }
        });
        functions
    }

    /// A function's name without generic arguments; closures without number.
    fn short(name: &str) -> String {
        let (mut out, mut depth, mut last) = (String::new(), 0, ' ');
        let (receiver, rest) = match name.strip_prefix('<') {
            Some(_) => name.split_at(end_of_brackets(name)),
            None => ("", name),
        };
        if let Some(inner) = receiver.strip_prefix('<').and_then(|inner| inner.strip_suffix('>')) {
            out = match inner.split_once(" as ") {
                Some((of, what)) => {
                    let what = short(what);
                    format!("<{} as {}>", short(of), what.rsplit("::").next().unwrap())
                }
                None => short(inner),
            };
        }
        for letter in rest.chars() {
            match letter {
                '<' => depth += 1,
                '>' if last != '-' => depth -= 1,
                _ if depth == 0 => out.push(letter),
                _ => {}
            }
            last = letter;
        }
        for number in 0..10 {
            out = out.replace(&format!("{{closure#{number}}}"), "{closure}");
        }
        out.replace("::::", "::").trim_end_matches("::").to_owned()
    }

    fn end_of_brackets(name: &str) -> usize {
        let mut depth = 0;
        let is_last = |(_, letter): &(usize, char)| {
            depth += i32::from(*letter == '<') - i32::from(*letter == '>');
            depth == 0
        };
        name.char_indices().find(is_last).map_or(name.len(), |(at, _)| at + 1)
    }
}

// ---- the random programs -----------------------------------------------------------------------

/// What is profiled: only bands of functions in here are compared.
mod tree {
    use std::cell::Cell;
    use std::collections::{BTreeMap, HashMap};
    use std::fmt;
    use std::hint::black_box;

    use super::book::{self, Parts, Stack};

    /// Blocks that a walk holds at most.
    const HELD_MAX: usize = 45;

    #[allow(dead_code, reason = "maps are only held")]
    pub(super) enum Block {
        Bytes(Vec<u8>),
        Words(Vec<u64>),
        Text(String),
        Shape(Box<dyn Shape>),
        Map(HashMap<u64, u64>),
        Tree(BTreeMap<u64, [u64; 4]>),
    }

    impl Block {
        /// Its bytes; of a map, as many as the profiler itself has measured, since maps do not tell.
        fn bytes(&self, measured: i64) -> u64 {
            match self {
                Self::Bytes(bytes) => bytes.capacity() as u64,
                Self::Words(words) => words.capacity() as u64 * 8,
                Self::Text(text) => text.capacity() as u64,
                Self::Shape(shape) => size_of_val(&**shape) as u64,
                Self::Map(_) | Self::Tree(_) => u64::try_from(measured).unwrap(),
            }
        }
    }

    pub(super) struct Held {
        block: Block,
        parts: Parts,
    }

    /// One walk through the functions below.
    pub(super) struct Walk {
        state: u64,
        depth: usize,
        held: Vec<Held>,
        pub(super) made: usize,
    }

    impl Walk {
        pub(super) fn new(seed: u64) -> Self {
            let state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
            Self { state, depth: 0, held: book::list(HELD_MAX), made: 0 }
        }

        fn below(&mut self, end: usize) -> usize {
            self.state ^= self.state << 13;
            self.state ^= self.state >> 7;
            self.state ^= self.state << 17;
            (self.state >> 33) as usize % end
        }

        fn size(&mut self) -> usize {
            let bits = 1 + self.below(12);
            1 + self.below(1 << bits)
        }

        /// Keeps what a function has made, and where it said that it was.
        fn keep(&mut self, (block, stack): (Block, Stack), measured: i64) {
            if self.held.len() == HELD_MAX {
                let index = self.below(HELD_MAX);
                self.held.swap_remove(index);
            }
            let mut held = Held { block, parts: Parts::default() };
            held.parts.add(&stack, held.block.bytes(measured));
            self.held.push(held);
            self.made += 1;
        }

        /// Gives a block to whoever takes it.
        pub(super) fn take(&mut self) -> Option<Held> {
            let index = self.below(HELD_MAX);
            (index < self.held.len()).then(|| self.held.swap_remove(index))
        }

        pub(super) fn put(&mut self, held: Held) {
            if self.held.len() < HELD_MAX {
                self.held.push(held);
            }
        }
    }

    // Functions that allocate, in their own name.

    #[inline(never)]
    fn bytes(size: usize) -> (Block, Stack) {
        let bytes = black_box(vec![7_u8; size]);
        (Block::Bytes(bytes), Stack::here())
    }

    #[inline(always)]
    fn inlined(size: usize) -> (Block, Stack) {
        let words = black_box(vec![size as u64; 1 + size / 8]);
        (Block::Words(words), Stack::here())
    }

    #[inline(always)]
    fn inlined_twice(size: usize) -> (Block, Stack) {
        let (block, _) = inlined(size);
        drop(block);
        inlined(size + 1)
    }

    #[inline(never)]
    fn generic<T: Clone + Default>(size: usize, wrap: impl FnOnce(Vec<T>) -> Block) -> (Block, Stack) {
        let list = black_box(vec![T::default(); 1 + size / size_of::<T>()]);
        let stack = Stack::here();
        (wrap(list), stack)
    }

    #[inline(never)]
    fn in_a_closure(size: usize) -> (Block, Stack) {
        let make = |size: usize| {
            let text = black_box("x".repeat(size));
            (Block::Text(text), Stack::here())
        };
        black_box(make)(size)
    }

    /// The block is of the function that collects, the closures are asked for the items only.
    #[inline(never)]
    fn collected(size: usize) -> (Block, Stack) {
        let items = (0..black_box(size)).filter(|item| item % 3 != 1);
        let list: Vec<u64> = items.map(|item| item as u64).chain([1, 2]).collect();
        (Block::Words(list), Stack::here())
    }

    /// A closure that std calls allocates itself.
    #[inline(never)]
    fn called_by_std(size: usize) -> (Block, Stack) {
        let mut made: Vec<(Block, Stack)> = book::list(1);
        black_box([size]).iter().map(|size| (black_box(vec![1_u8; *size]), Stack::here())).for_each(
            |(bytes, stack)| {
                made.push((Block::Bytes(bytes), stack));
            },
        );
        made.pop().unwrap()
    }

    /// Shows itself with so long a text that the string surely grows in there.
    struct Long<'a>(&'a Cell<Option<Stack>>);

    impl fmt::Display for Long<'_> {
        #[inline(never)]
        fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
            formatter.write_str(LONG)?;
            self.0.set(Some(Stack::here()));
            Ok(())
        }
    }

    const LONG: &str = match str::from_utf8(&[b'l'; 700]) {
        Ok(text) => text,
        Err(_) => "",
    };

    #[inline(never)]
    fn formatted() -> (Block, Stack) {
        let cell = Cell::new(None);
        let text = format!("{}", Long(&cell));
        (Block::Text(text), cell.get().unwrap())
    }

    /// The block is of the function around `format!`: numbers are shown by std.
    #[inline(never)]
    fn formatted_number(size: usize) -> (Block, Stack) {
        let text = format!("{:>1$}", 1, black_box(size));
        (Block::Text(text), Stack::here())
    }

    #[inline(never)]
    fn mapped(size: usize) -> (Block, Stack) {
        let mut map = HashMap::with_capacity(1 + size / 16);
        map.insert(1, 2);
        (Block::Map(black_box(map)), Stack::here())
    }

    #[inline(never)]
    fn in_a_tree(size: usize) -> (Block, Stack) {
        let map: BTreeMap<u64, [u64; 4]> = (0..1 + size as u64 / 40).map(|key| (key, [key; 4])).collect();
        (Block::Tree(black_box(map)), Stack::here())
    }

    pub(super) trait Shape: Send {
        fn double(&self) -> (Block, Stack);
    }

    struct Round([u64; 5]);
    struct Square<T>(T, [u8; 33]);

    impl Shape for Round {
        #[inline(never)]
        fn double(&self) -> (Block, Stack) {
            let shape: Box<dyn Shape> = Box::new(Square(self.0, [0; 33]));
            (Block::Shape(black_box(shape)), Stack::here())
        }
    }

    impl<T: Send> Shape for Square<T> {
        #[inline(never)]
        fn double(&self) -> (Block, Stack) {
            let shape: Box<dyn Shape> = Box::new(Round([self.1[0].into(); 5]));
            (Block::Shape(black_box(shape)), Stack::here())
        }
    }

    #[inline(never)]
    fn virtually(walk: &mut Walk) -> (Block, Stack) {
        let round = Round([1; 5]);
        let square = Square(1_u16, [2; 33]);
        let shapes: [&dyn Shape; 2] = [&round, &square];
        black_box(shapes)[walk.below(2)].double()
    }

    struct Bag<T>(Vec<T>);

    impl<T: Copy> Bag<T> {
        #[inline(never)]
        fn fill(mut self, item: T, size: usize) -> (Vec<T>, Stack) {
            for _ in 0..size {
                self.0.push(item);
            }
            self.0.reserve_exact(self.0.capacity() - self.0.len() + 1);
            (self.0, Stack::here())
        }
    }

    #[inline(never)]
    fn deep(levels: usize, size: usize) -> (Block, Stack) {
        if levels == 0 {
            return bytes(size);
        }
        black_box(deep(levels - 1, size))
    }

    thread_local! {
        /// What the comparison below has made.
        static COMPARED: Cell<Option<(Vec<u8>, Stack)>> = const { Cell::new(None) };
        static WANTED: Cell<usize> = const { Cell::new(0) };
    }

    /// Called by C; allocates the first time only.
    unsafe extern "C" fn compare(one: *const libc::c_void, two: *const libc::c_void) -> libc::c_int {
        let size = WANTED.take();
        if size > 0 {
            let bytes = black_box(vec![9_u8; size]);
            COMPARED.set(Some((bytes, Stack::here())));
        }
        // SAFETY: the caller sorts bytes.
        unsafe { libc::c_int::from(*one.cast::<u8>()) - libc::c_int::from(*two.cast::<u8>()) }
    }

    #[inline(never)]
    fn sorted_by_c(size: usize) -> (Block, Stack) {
        let mut items = [3_u8, 1, 2, 9, 7];
        WANTED.set(size);
        // SAFETY: five items of one byte; the comparison reads one byte of each.
        unsafe { libc::qsort(items.as_mut_ptr().cast(), 5, 1, Some(compare)) };
        assert_eq!(items, [1, 2, 3, 7, 9]);
        let (bytes, stack) = COMPARED.take().unwrap();
        (Block::Bytes(bytes), stack)
    }

    /// Makes a block grow; where it did, if it did.
    #[inline(never)]
    fn grow(block: &mut Block, by: usize) -> Option<Stack> {
        let before = block.bytes(0);
        match block {
            Block::Bytes(bytes) => bytes.extend((0..by).map(|number| number as u8)),
            Block::Words(words) => words.resize(words.len() + by / 4, 3),
            Block::Text(text) => text.push_str(&LONG[..by % 700]),
            Block::Shape(_) | Block::Map(_) | Block::Tree(_) => return None,
        }
        (block.bytes(0) > before).then(Stack::here)
    }

    #[inline(never)]
    fn shrink(block: &mut Block) {
        match block {
            Block::Bytes(bytes) => {
                bytes.truncate(1 + bytes.len() / 2);
                bytes.shrink_to_fit();
            }
            Block::Words(words) => {
                words.truncate(1 + words.len() / 3);
                words.shrink_to_fit();
            }
            Block::Text(_) | Block::Shape(_) | Block::Map(_) | Block::Tree(_) => {}
        }
    }

    impl Walk {
        #[inline(never)]
        fn change(&mut self) {
            let by = self.size();
            let index = self.below(HELD_MAX);
            let Some(held) = self.held.get_mut(index) else { return };
            if let Some(stack) = grow(&mut held.block, by) {
                held.parts.clear();
                held.parts.add(&stack, held.block.bytes(0));
            }
            let index = self.below(HELD_MAX);
            let Some(held) = self.held.get_mut(index) else { return };
            if matches!(held.block, Block::Bytes(_) | Block::Words(_)) {
                shrink(&mut held.block);
                held.parts.shrink_to(held.block.bytes(0));
            }
        }
    }

    /// Functions that call the above and each other.
    macro_rules! node {
        ($($(#[$attribute:meta])* $name:ident)*) => { $(
            $(#[$attribute])*
            pub(super) fn $name(walk: &mut Walk) {
                let size = walk.size();
                match walk.below(17) {
                    0 => walk.keep(bytes(size), 0),
                    1 => walk.keep(inlined(size), 0),
                    2 => walk.keep(inlined_twice(size), 0),
                    3 => walk.keep(generic(size, Block::Bytes), 0),
                    4 => walk.keep(generic(size, Block::Words), 0),
                    5 => walk.keep(in_a_closure(size), 0),
                    6 => walk.keep(collected(size), 0),
                    7 => walk.keep(called_by_std(size), 0),
                    8 => walk.keep(formatted(), 0),
                    9 => walk.keep(formatted_number(size), 0),
                    10 => {
                        let (made, did) = heapprof::measure(|| mapped(size));
                        walk.keep(made, did.live_bytes());
                    }
                    11 => {
                        let (made, did) = heapprof::measure(|| in_a_tree(size));
                        walk.keep(made, did.live_bytes());
                    }
                    12 => {
                        let made = virtually(walk);
                        walk.keep(made, 0);
                    }
                    13 => {
                        let (bytes, stack) = Bag(Vec::new()).fill(1_u8, size);
                        walk.keep((Block::Bytes(bytes), stack), 0);
                    }
                    14 => walk.keep(sorted_by_c(size), 0),
                    15 => walk.change(),
                    _ => {
                        let levels = [3, 20, 150][walk.below(3).min(walk.below(3))];
                        walk.keep(deep(levels, size), 0);
                    }
                }
                walk.depth += 1;
                for _ in 0..2 {
                    if walk.depth < 9 { onwards(walk) }
                }
                walk.depth -= 1;
            }
        )* };
    }

    node! {
        #[inline(never)] north
        #[inline(never)] south
        #[inline] east
        west
    }

    #[inline(never)]
    fn again(walk: &mut Walk, times: usize) {
        if times > 0 {
            again(walk, times - 1);
            return black_box(());
        }
        north(walk);
        black_box(());
    }

    #[inline(never)]
    fn onwards(walk: &mut Walk) {
        match walk.below(9) {
            0 => north(walk),
            1 => south(walk),
            2 => east(walk),
            3 => west(walk),
            4 => again(walk, 2),
            5 => {
                let on = |walk: &mut Walk| {
                    south(walk);
                    black_box(());
                };
                black_box(on)(walk);
            }
            6 => {
                let on: &mut dyn FnMut(&mut Walk) = &mut |walk| {
                    west(walk);
                    black_box(());
                };
                black_box(on)(walk);
            }
            _ => {}
        }
        black_box(());
    }
}

/// The bands that show whether the profiler knows which functions are std's.
mod probe {
    use std::hint::black_box;
    use std::time::{Duration, Instant};

    /// A sequence within a sequence, to be shown by std.
    type Nested = [[[[[u64; 1]; 1]; 1]; 1]; 1];

    /// Waits until call sites behind many frames of std are found. Until then the profiler looks at a
    /// dozen frames at most.
    pub(super) fn wait() {
        let begin = Instant::now();
        while !is_known() {
            assert!(begin.elapsed() < Duration::from_secs(10), "std's functions are not known");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    #[inline(never)]
    fn shown() -> String {
        let nested: Nested = [[[[[7]]]]];
        format!("{:?}", black_box(nested))
    }

    fn is_known() -> bool {
        let text = shown();
        heapprof::sample_now().unwrap();
        drop(text);
        let profile = heapprof::hp::read(std::fs::File::open("app.hp").unwrap()).unwrap();
        let last = profile.times_s.len() - 1;
        let is_shown = |name: &[u8]| String::from_utf8_lossy(name).contains("exact_arcs::probe::shown/");
        profile.bands.iter().any(|band| is_shown(&band.name) && band.value(last) > 0)
    }
}

const THREADS: usize = 3;
const ROUNDS: usize = 2;

/// Walks on several threads, resting now and then for a sample. Writes what the bands are to be.
fn walks(args: &[String]) {
    let seed: u64 = args[0].parse().unwrap();
    // What it makes on its first use is not to be measured.
    let _ = book::Stack::here();
    if args[1] == "wait" {
        probe::wait();
    }
    let barrier = std::sync::Barrier::new(THREADS + 1);
    let pool = std::sync::Mutex::new(book::list(64));
    let mut moments = Vec::new();
    let walk_here = |thread: u64| {
        let mut walk = tree::Walk::new(seed * 100 + thread);
        for _ in 0..ROUNDS {
            let before = walk.made;
            while walk.made < before + 100 {
                tree::north(&mut walk);
                let mut pool = pool.lock().unwrap();
                if pool.len() < 60 {
                    pool.extend(walk.take());
                }
                if thread.is_multiple_of(2)
                    && let Some(held) = pool.pop()
                {
                    walk.put(held);
                }
            }
            barrier.wait();
            barrier.wait();
        }
    };
    std::thread::scope(|scope| {
        let walk_here = &walk_here;
        for thread in 0..THREADS as u64 {
            // Call stacks are handed back by value, through deep recursion.
            let large = std::thread::Builder::new().stack_size(64 << 20);
            large.spawn_scoped(scope, move || walk_here(thread)).unwrap();
        }
        for _ in 0..ROUNDS {
            barrier.wait();
            heapprof::mark().unwrap();
            heapprof::sample_now().unwrap();
            moments.push(book::moment());
            barrier.wait();
        }
    });
    std::fs::write(WANTED, book::lines(&moments)).unwrap();
}

#[cfg(unframed)]
fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    assert_eq!(args[0], "role=walks");
    walks(&args[1..]);
}

// ---- the comparison ----------------------------------------------------------------------------

#[cfg(not(unframed))]
use comparison::main;

#[cfg(not(unframed))]
mod comparison {
    use std::collections::{BTreeMap, BTreeSet};
    use std::path::Path;
    use std::process::{Command, ExitCode};

    use super::common::guest::Folder;
    use super::common::harness::{self, named};
    use super::common::profile::whole_hp;
    use super::{ROUNDS, WANTED, unframed_common, walks};

    /// The functions whose bands are compared.
    const COMPARED: &str = "exact_arcs::tree::";
    /// The function that C calls: beyond it, what is known depends on the C library's build.
    const BY_C: &str = "exact_arcs::tree::compare";
    /// Labels of a call stack that are compared; deeper ones are cut at the outer end.
    const LABELS: usize = 60;

    /// Live bytes by labels, innermost first.
    type Bands = BTreeMap<Vec<String>, u64>;

    /// A function on a call stack, by the second opinion.
    struct Call {
        name: String,
        line: u32,
    }

    /// What the guest says of every moment.
    fn wanted(folder: &Folder, label: impl Fn(&[Call]) -> Vec<String>) -> Vec<Bands> {
        let text = std::fs::read_to_string(folder.file(WANTED)).unwrap();
        let mut moments = vec![Bands::new(); ROUNDS];
        for line in text.lines() {
            let mut cells = line.split('\t');
            let [moment, bytes]: [u64; 2] = [(); 2].map(|()| cells.next().unwrap().parse().unwrap());
            let calls: Vec<Call> = cells
                .map(|cell| {
                    // Behind the @ stands the frame, of which inlined functions share one.
                    let (call, _) = cell.rsplit_once('@').unwrap();
                    let (name, line) = call.rsplit_once(':').unwrap();
                    Call { name: name.to_owned(), line: line.parse().unwrap() }
                })
                .collect();
            *moments[moment as usize].entry(label(&calls)).or_default() += bytes;
        }
        moments
    }

    /// The bands of the program's functions in the samples at the marks.
    fn bands(hp: &Path) -> Vec<Bands> {
        let profile = whole_hp(hp);
        let at = |mark_s: &f64| profile.times_s.iter().position(|time_s| time_s >= mark_s).unwrap();
        let samples: Vec<usize> = profile.marks_s.iter().map(at).collect();
        assert_eq!(samples.len(), ROUNDS);
        let mut moments = vec![Bands::new(); ROUNDS];
        for band in &profile.bands {
            let name = String::from_utf8_lossy(&band.name).into_owned();
            let labels = name.split('/').map(|label| heapprof::hp::unescape_label(label).into_owned());
            let labels: Vec<String> = labels.collect();
            for (moment, &sample) in moments.iter_mut().zip(&samples) {
                if labels[0].replacen('<', "", 1).starts_with(COMPARED) && band.value(sample) > 0 {
                    *moment.entry(labels.clone()).or_default() += band.value(sample);
                }
            }
        }
        moments
    }

    /// Bands by what is compared of their labels.
    fn by(bands: &[Bands], key: impl Fn(&[String]) -> Vec<String>) -> Vec<Bands> {
        let regroup = |bands: &Bands| {
            let mut by = Bands::new();
            for (labels, bytes) in bands {
                *by.entry(key(labels)).or_default() += bytes;
            }
            by
        };
        bands.iter().map(regroup).collect()
    }

    #[track_caller]
    fn same(got: &[Bands], want: &[Bands], what: &str) {
        for (moment, (got, want)) in got.iter().zip(want).enumerate() {
            let mut wrong = String::new();
            for labels in got.keys().chain(want.keys()).collect::<BTreeSet<_>>() {
                let of = |bands: &Bands| bands.get(labels).copied().unwrap_or(0);
                if of(got) != of(want) {
                    wrong += &format!("{} bytes, not {}: {}\n", of(got), of(want), labels.join(" / "));
                }
            }
            let first: Vec<&str> = wrong.lines().take(6).collect();
            let all = wrong.lines().count();
            assert!(all == 0, "{what}, moment {moment}, {all} wrong:\n{}", first.join("\n"));
        }
        let bytes: u64 = want.iter().flat_map(BTreeMap::values).sum();
        let bands = want.iter().map(BTreeMap::len).max().unwrap();
        assert!(bytes > 100_000 && bands > 10, "{what}: only {bytes} bytes in {bands} bands");
        println!("{what}: {bands} bands, {bytes} bytes in {} samples, exact", want.len());
    }

    fn arc_of(calls: &[Call]) -> Vec<String> {
        let mut arc = vec![calls[0].name.clone()];
        arc.extend(calls.get(1).map(|call| format!("{}:{}", call.name, call.line)));
        arc
    }

    fn stack_of(calls: &[Call]) -> Vec<String> {
        calls.iter().map(|call| call.name.clone()).collect()
    }

    /// What of an arc does not depend on the C library.
    fn arc_key(labels: &[String]) -> Vec<String> {
        labels[..if labels[0] == BY_C { 1 } else { labels.len() }].to_vec()
    }

    /// The same of a call stack.
    fn stack_key(labels: &[String]) -> Vec<String> {
        let by_c = labels.iter().position(|label| label == BY_C).map_or(labels.len(), |at| at + 1);
        labels[..by_c.min(LABELS)].to_vec()
    }

    /// Behind the function that C calls there may be anything of C's, and what is the program's is true.
    fn check_behind_c(got: &[Bands], want: &[Bands]) {
        for (got, want) in got.iter().zip(want) {
            let truly: BTreeSet<&[String]> = want.keys().filter_map(|labels| behind_c(labels)).collect();
            for labels in got.keys() {
                let Some(behind) = behind_c(labels) else { continue };
                let own: Vec<String> =
                    behind.iter().filter(|label| label.contains("exact_arcs::")).cloned().collect();
                let is_true = |true_: &&[String]| true_.starts_with(&own);
                assert!(truly.iter().any(is_true), "nobody called so: {labels:?}");
            }
        }
    }

    fn behind_c(labels: &[String]) -> Option<&[String]> {
        labels.iter().position(|label| label == BY_C).map(|at| &labels[at + 1..])
    }

    /// A run of the guest; `unframed`: of the program without frame pointers.
    fn run(unframed: bool, seed: u64, settings: &[(&str, &str)]) -> Folder {
        let folder = Folder::new();
        let mut guest = folder.guest("walks");
        if unframed {
            std::fs::copy(unframed_program(), folder.root().join("bin/unframed")).unwrap();
            let mut command = Command::new(folder.root().join("bin/unframed"));
            std::os::unix::process::CommandExt::arg0(&mut command, "app");
            command.arg("role=walks").current_dir(folder.out());
            for (variable, _) in std::env::vars_os() {
                if variable.to_string_lossy().starts_with("HEAPPROF") {
                    command.env_remove(variable);
                }
            }
            guest.command = command;
            guest = guest.env("HEAPPROF_SAMPLE", "off");
        }
        // Call sites are found for certain once std's functions are known; whole stacks at any time.
        let waits = settings.iter().any(|(_, value)| *value == "arc");
        guest = guest.arg(seed.to_string()).arg(if waits { "wait" } else { "-" });
        guest = guest.env("HEAPPROF_INTERVAL", "500ms").env("HEAPPROF_NAME_CHARS", "4900");
        for (variable, value) in settings {
            guest = guest.env(variable, value);
        }
        guest.run().ended_with(0);
        folder
    }

    fn unframed_program() -> &'static Path {
        unframed_common::build("exact_arcs")
    }

    fn check_arcs(unframed: bool, seed: u64, settings: &[(&str, &str)]) {
        let folder = run(unframed, seed, settings);
        let (got, want) = (bands(&folder.file("app.hp")), wanted(&folder, arc_of));
        check_behind_c(&got, &want);
        same(&by(&got, arc_key), &by(&want, arc_key), &format!("arcs, seed {seed}"));
    }

    fn check_stacks(unframed: bool, seed: u64) {
        let settings = [("HEAPPROF_BREAKDOWN", "callstack,arc"), ("HEAPPROF_DEPTH", "128")];
        let folder = run(unframed, seed, &settings);
        let (got, want) = (bands(&folder.file("app.hp")), wanted(&folder, stack_of));
        check_behind_c(&got, &want);
        same(&by(&got, stack_key), &by(&want, stack_key), &format!("call stacks, seed {seed}"));
        let longest = got.iter().flat_map(Bands::keys).map(Vec::len).max().unwrap();
        assert!((100..=128).contains(&longest), "the longest call stack has {longest} functions");
        let (got, want) = (bands(&folder.file("app.arc.hp")), wanted(&folder, arc_of));
        same(&by(&got, arc_key), &by(&want, arc_key), &format!("arcs of call stacks, seed {seed}"));
    }

    fn arcs_are_exact() {
        check_arcs(false, 1, &[("HEAPPROF_BREAKDOWN", "arc")]);
    }

    fn arcs_are_exact_as_the_programs_threads_take_the_samples() {
        check_arcs(false, 4, &[("HEAPPROF_BREAKDOWN", "arc"), ("HEAPPROF_SAMPLER", "inline")]);
    }

    fn call_stacks_are_exact() {
        check_stacks(false, 5);
    }

    fn arcs_are_exact_without_frame_pointers() {
        check_arcs(true, 7, &[("HEAPPROF_BREAKDOWN", "arc")]);
    }

    fn call_stacks_are_exact_without_frame_pointers() {
        check_stacks(true, 9);
    }

    /// A depth counts functions, inlined ones too, from the one that asked outwards.
    fn a_depth_counts_from_the_function_that_asked() {
        for (unframed, depth) in [(false, 1), (false, 2), (true, 2)] {
            let setting = depth.to_string();
            let settings = [("HEAPPROF_BREAKDOWN", "callstack"), ("HEAPPROF_DEPTH", setting.as_str())];
            let folder = run(unframed, 10, &settings);
            let cut = |calls: &[Call]| calls.iter().take(depth).map(|call| call.name.clone()).collect();
            let (got, want) = (bands(&folder.file("app.hp")), wanted(&folder, cut));
            same(&by(&got, stack_key), &by(&want, stack_key), &format!("depth {depth}"));
        }
    }

    const TESTS: &[harness::Test] = named![
        a_depth_counts_from_the_function_that_asked,
        arcs_are_exact,
        arcs_are_exact_as_the_programs_threads_take_the_samples,
        call_stacks_are_exact,
        arcs_are_exact_without_frame_pointers,
        call_stacks_are_exact_without_frame_pointers,
    ];

    pub(super) fn main() -> ExitCode {
        harness::main(named![walks], TESTS, 2)
    }
}
