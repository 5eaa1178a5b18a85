//! Cost centres in the program's text: the site, the guard, and stacks handed between threads.

use std::marker::PhantomData;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use super::ccs::{self, STACKS};
use super::mode;
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
    /// A recent arc through the site: the child's tag in the high half, the parent's in the low one;
    /// 0 before the first entry. One word, so that whoever reads it has a pair that belongs together.
    arc: AtomicU64,
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
            arc: AtomicU64::new(0),
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
    ///
    /// One comparison serves most entries: with the parent of the last arc. In a process that does
    /// not tag it serves all: there the current stack reads 0, and so does the arc. A second one
    /// serves recursion, where the centre is on top already.
    #[doc(hidden)]
    #[inline(always)]
    pub fn enter(&'static self) -> Scope {
        let shard = thread::hot();
        let current = shard.current();
        // Acquire pairs with the Release in `remember`: the child is seen with its row in the tree.
        let arc = self.arc.load(Ordering::Acquire);
        let child = Tag((arc >> 32) as u32);
        if arc as u32 == current.0 {
            return if child.0 == 0 { Scope::inert() } else { Scope::new(shard, current, child) };
        }
        if child == current {
            return Scope::new(shard, current, current);
        }
        Scope::unpack(self.enter_again(shard, current))
    }

    /// The same for a name that is an expression: evaluated once per site, when first entered in a
    /// process that tags.
    #[doc(hidden)]
    #[inline]
    pub fn enter_named<N: Into<String>>(&'static self, name: impl FnOnce() -> N) -> Scope {
        if self.computed.get().is_none() && mode::is_tagging() {
            let label = Box::from(name().into());
            thread::as_profiler(|| self.computed.get_or_init(|| Box::clone(&label)));
        }
        self.enter()
    }

    /// Entry under another parent than the last arc's: the thread may remember it.
    #[inline(never)]
    fn enter_again(&'static self, shard: Shard, current: Tag) -> (*mut u8, u64) {
        match shard.cached_arc(current, self.centre.load(Ordering::Relaxed)) {
            Some(child) => {
                if shard.is_missed_often() {
                    self.remember(current, child);
                }
                Scope::new(shard, current, child).pack()
            }
            None => self.enter_anew().pack(),
        }
    }

    /// Entry by an arc that the thread has not gone lately, or of a thread on the cold paths.
    #[cold]
    #[inline(never)]
    fn enter_anew(&'static self) -> Scope {
        if !mode::is_tagging() {
            return Scope::inert();
        }
        let Some(shard) = thread::own() else {
            return Scope::inert();
        };
        let current = shard.current();
        let child = Tag::of(STACKS.push(current.stack(), self));
        if self.arc.load(Ordering::Relaxed) == 0 {
            self.remember(current, child);
        }
        shard.cache_arc(current, self.centre.load(Ordering::Relaxed), child);
        Scope::new(shard, current, child)
    }

    /// Keeps an arc for the fast path.
    fn remember(&self, parent: Tag, child: Tag) {
        self.arc.store(u64::from(child.0) << 32 | u64::from(parent.0), Ordering::Release);
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

    /// The guard as two words, which a function returns in registers: a guard returned through
    /// memory would be kept there on every path.
    #[inline(always)]
    fn pack(self) -> (*mut u8, u64) {
        let scope = std::mem::ManuallyDrop::new(self);
        (scope.shard, u64::from(scope.entered.0) << 32 | u64::from(scope.saved.0))
    }

    /// The guard again.
    #[inline(always)]
    fn unpack((shard, entered_saved): (*mut u8, u64)) -> Self {
        let (saved, entered) = (Tag(entered_saved as u32), Tag((entered_saved >> 32) as u32));
        Self { shard, saved, entered, _thread: PhantomData }
    }

    /// A guard that does nothing.
    #[inline(always)]
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

/// Marks, in the tag of a guard's entered stack, a guard of [`Stack::enter`]: tags are multiples of 8, so
/// such a guard never fits the current stack and always leaves by [`leave_out_of_order`].
const HANDED: u32 = 1;

/// Leaves a stack that is not the current one, or that was handed over.
///
/// If it is below the current one, an inner guard still lives, and everything above goes. If not, either
/// an outer guard has gone before, and nothing is left to do, or a stack handed over hides it: then it is
/// noted that the stack is gone, for the guard that would restore it.
#[cold]
#[inline(never)]
fn leave_out_of_order(shard: Shard, saved: Tag, entered: Tag) {
    let is_handed = entered.0 & HANDED != 0;
    let entered = Tag(entered.0 & !HANDED);
    if STACKS.ancestors(shard.current().stack()).any(|stack| stack == entered.stack()) {
        shard.set_current(if is_handed { shard.instead_of_gone(saved) } else { saved });
    } else if !is_handed {
        shard.note_gone(entered, saved);
    }
    if is_handed {
        shard.count_handed(-1);
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
        let tagging = mode::is_tagging();
        Self(if tagging {
            thread::own().map_or(Tag::of(ccs::MAIN), Shard::current)
        } else {
            Tag::of(ccs::MAIN)
        })
    }

    /// Makes this the calling thread's stack until the guard is dropped. Counts no entry: the
    /// centres were entered where the stack was captured.
    pub fn enter(self) -> Scope {
        if !mode::is_tagging() {
            return Scope::inert();
        }
        let Some(shard) = thread::own() else {
            return Scope::inert();
        };
        shard.count_handed(1);
        let saved = shard.current();
        shard.set_current(self.0);
        Scope { shard: shard.as_ptr(), saved, entered: Tag(self.0.0 | HANDED), _thread: PhantomData }
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
