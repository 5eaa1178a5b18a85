//! Cost centres in the program's text: the site, the guard, and stacks handed between threads.

use std::marker::PhantomData;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use super::ccs::{self, STACKS};
use super::mode::{self, Mode};
use super::shard::{Figure, Shard, Tag};
use super::thread;

/// A cost centre's place in the program: made by [`cost_centre!`](crate::cost_centre), one static
/// each. Sites with the same label are different cost centres, as in GHC.
#[derive(Debug)]
pub struct Site {
    label: &'static str,
    /// The label of a site whose name is an expression, computed on first entry.
    computed: OnceLock<Box<str>>,
    module: &'static str,
    file: &'static str,
    line: u32,
    /// The centre's number; 0 before the first entry.
    pub(crate) centre: AtomicU32,
    /// The tag of the first parent under which the site was entered; 0 before. Written once, after
    /// `child`, so that whoever reads it (Acquire) reads the child that belongs to it.
    parent: AtomicU32,
    /// The tag of the stack that this parent leads to; 0 before. Written once.
    child: AtomicU32,
}

impl Site {
    /// A site with a literal name.
    #[doc(hidden)]
    pub const fn new(label: &'static str, module: &'static str, file: &'static str, line: u32) -> Self {
        Self {
            label,
            computed: OnceLock::new(),
            module,
            file,
            line,
            centre: AtomicU32::new(0),
            parent: AtomicU32::new(0),
            child: AtomicU32::new(0),
        }
    }

    pub(crate) const fn built_in(label: &'static str) -> Self {
        Self::new(label, label, "<built-in>", 0)
    }

    /// The cost centre's name.
    pub(crate) fn label(&self) -> &str {
        self.computed.get().map_or(self.label, |label| label)
    }

    /// The module that holds the site.
    pub(crate) fn module(&self) -> &'static str {
        self.module
    }

    /// File and line, as `src/main.rs:12`; `<built-in>` for built-in centres.
    pub(crate) fn source(&self) -> String {
        if self.line == 0 { self.file.to_owned() } else { format!("{}:{}", self.file, self.line) }
    }

    /// Pushes the cost centre on the thread's stack until the guard is dropped.
    #[doc(hidden)]
    #[inline(always)]
    pub fn enter(&'static self) -> Scope {
        let shard = thread::hot();
        let current = shard.current();
        // Acquire pairs with the Release in `remember`.
        if self.parent.load(Ordering::Acquire) == current.0 {
            let child = Tag(self.child.load(Ordering::Relaxed));
            return Scope::new(shard, current, child);
        }
        self.enter_cold()
    }

    /// The same for a name that is an expression: evaluated once per site, when first entered in a
    /// process that tags.
    #[doc(hidden)]
    #[inline]
    pub fn enter_named<N: Into<String>>(&'static self, name: impl FnOnce() -> N) -> Scope {
        if self.computed.get().is_none() && matches!(mode::mode(), Mode::Armed | Mode::Started) {
            let label = Box::from(name().into());
            thread::as_profiler(|| self.computed.get_or_init(|| Box::clone(&label)));
        }
        self.enter()
    }

    #[inline(never)]
    fn enter_cold(&'static self) -> Scope {
        if mode::is_off() { Scope::inert() } else { self.enter_colder() }
    }

    /// Entry under another parent than the first: recursion, the thread's recent arcs, the tree.
    #[inline(never)]
    fn enter_colder(&'static self) -> Scope {
        if !matches!(mode::mode(), Mode::Armed | Mode::Started) {
            return Scope::inert();
        }
        let Some(shard) = thread::own() else {
            return Scope::inert();
        };
        let current = shard.current();
        let centre = self.centre.load(Ordering::Relaxed);
        if centre != 0
            && let Some(child) = shard.cached_arc(current, centre)
        {
            return Scope::new(shard, current, child);
        }
        let child = Tag::of(STACKS.push(current.stack(), self));
        self.remember(current, child);
        shard.cache_arc(current, self.centre.load(Ordering::Relaxed), child);
        Scope::new(shard, current, child)
    }

    /// Keeps the first arc through this site for the fast path.
    fn remember(&self, parent: Tag, child: Tag) {
        // Only the winner of `child` writes `parent`, so the pair belongs together for ever.
        if self.child.compare_exchange(0, child.0, Ordering::Relaxed, Ordering::Relaxed).is_ok() {
            self.parent.store(parent.0, Ordering::Release);
        }
    }
}

/// A cost centre entered; dropping it restores the stack that was current before.
///
/// Guards may be dropped in any order: one that is dropped while an inner one still lives takes the
/// inner one's centre off the stack with its own, and the inner one then changes nothing. The guard
/// belongs to its thread.
#[must_use = "the cost centre is left as soon as the guard is dropped: bind it to a name such as `_scope`"]
#[derive(Debug)]
pub struct Scope {
    /// The thread's shard; null in a process that does not tag.
    shard: *mut u8,
    /// The stack to restore.
    saved: Tag,
    /// The stack that was entered.
    entered: Tag,
    /// Guards are about the calling thread's stack, so they must not leave it.
    _thread: PhantomData<*const ()>,
}

impl Scope {
    /// Makes `entered` the thread's stack and counts the entry.
    #[inline(always)]
    fn new(shard: Shard, saved: Tag, entered: Tag) -> Self {
        shard.counter(entered, Figure::Entries).add(1);
        shard.set_current(entered);
        Self { shard: shard.as_ptr(), saved, entered, _thread: PhantomData }
    }

    /// A guard that does nothing.
    fn inert() -> Self {
        Self { shard: std::ptr::null_mut(), saved: Tag(0), entered: Tag(0), _thread: PhantomData }
    }
}

impl Drop for Scope {
    #[inline(always)]
    fn drop(&mut self) {
        let Some(shard) = Shard::from_ptr(self.shard) else {
            return;
        };
        if shard.current() == self.entered {
            shard.set_current(self.saved);
        } else {
            leave_out_of_order(shard, self.saved, self.entered);
        }
    }
}

/// Leaves a stack that is not the current one. If it is below the current one, an inner guard still
/// lives, and everything above goes; if not, an outer guard has gone before, and nothing is left to do.
#[cold]
#[inline(never)]
fn leave_out_of_order(shard: Shard, saved: Tag, entered: Tag) {
    if STACKS.ancestors(shard.current().stack()).any(|stack| stack == entered.stack()) {
        shard.set_current(saved);
    }
}

/// A cost-centre stack, to be carried to another thread: work done there counts under it.
///
/// ```
/// # #[global_allocator]
/// # static ALLOC: heapprof::HeapProf = heapprof::HeapProf::new();
/// let stack = {
///     let _request = heapprof::cost_centre!("request");
///     heapprof::Stack::current()
/// };
/// std::thread::spawn(move || {
///     let _request = stack.enter();
///     // allocations here belong to `request`
///     assert_eq!(heapprof::Stack::current(), stack);
/// })
/// .join()
/// .unwrap();
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stack(Tag);

impl Stack {
    /// The calling thread's current stack.
    pub fn current() -> Self {
        let tagging = matches!(mode::mode(), Mode::Armed | Mode::Started);
        Self(if tagging {
            thread::own().map_or(Tag::of(ccs::MAIN), Shard::current)
        } else {
            Tag::of(ccs::MAIN)
        })
    }

    /// Makes this the calling thread's stack until the guard is dropped. Counts no entry: the
    /// centres were entered where the stack was captured.
    pub fn enter(self) -> Scope {
        if !matches!(mode::mode(), Mode::Armed | Mode::Started) {
            return Scope::inert();
        }
        let Some(shard) = thread::own() else {
            return Scope::inert();
        };
        let saved = shard.current();
        shard.set_current(self.0);
        Scope { shard: shard.as_ptr(), saved, entered: self.0, _thread: PhantomData }
    }
}

/// Wraps a closure so that it runs, on whichever thread, under the stack that is current now.
///
/// ```
/// # #[global_allocator]
/// # static ALLOC: heapprof::HeapProf = heapprof::HeapProf::new();
/// let _request = heapprof::cost_centre!("request");
/// let answer = std::thread::spawn(heapprof::inherit(|| 6 * 7)).join().unwrap();
/// assert_eq!(answer, 42);
/// ```
pub fn inherit<R>(work: impl FnOnce() -> R) -> impl FnOnce() -> R {
    let stack = Stack::current();
    move || {
        let _stack = stack.enter();
        work()
    }
}

/// `std::thread::spawn` whose thread works under the caller's current stack instead of MAIN.
///
/// # Panics
/// As `std::thread::spawn`, when the system cannot make a thread.
///
/// ```
/// # #[global_allocator]
/// # static ALLOC: heapprof::HeapProf = heapprof::HeapProf::new();
/// let _pool = heapprof::cost_centre!("pool");
/// assert_eq!(heapprof::spawn(|| vec![1, 2, 3].len()).join().unwrap(), 3);
/// ```
pub fn spawn<R: Send + 'static>(work: impl FnOnce() -> R + Send + 'static) -> std::thread::JoinHandle<R> {
    std::thread::spawn(inherit(work))
}
