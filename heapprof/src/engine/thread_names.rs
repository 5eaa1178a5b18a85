//! The names of threads, numbered: threads of one name have one number, so there are few, and two runs
//! of a program have the same bands.
//!
//! Names are kept whole, in pages of their own. Two threads that add one name at the same time may add
//! it twice; whoever reads the names takes the texts for what they are.

use std::borrow::Cow;
#[cfg(heapprof_whole_thread_names)]
use std::mem::ManuallyDrop;
use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering};

use super::os;

/// The number of all threads whose names had no room.
pub(crate) const BEYOND: u16 = 0;
/// Names there can be at most.
const NAMES_MAX: usize = if cfg!(miri) { 16 } else { 4096 };
/// Bytes of all names together.
const TEXT_BYTES: usize = if cfg!(miri) { 1024 } else { 1 << 18 };
/// Stands for threads that nobody has named.
const UNNAMED: &[u8] = b"unnamed";

/// Entries by number: where a name's bytes begin in the text, and in the upper half their count plus 1; 0
/// before there is one. The bytes lie behind the entries.
static TABLE: AtomicPtr<AtomicU64> = AtomicPtr::new(std::ptr::null_mut());
static TEXT_USED: AtomicU32 = AtomicU32::new(0);

/// Maps the tables, if that has not been done; `false` when there is no memory for it. Called by one
/// thread at a time, before names are asked for.
pub(crate) fn set_up() -> bool {
    if TABLE.load(Ordering::Acquire).is_null() {
        let Some(pages) = os::zeroed_pages(NAMES_MAX * size_of::<AtomicU64>() + TEXT_BYTES) else {
            return false;
        };
        let comm = u128::from_be_bytes(os::thread_comm());
        MAIN_COMM[0].store((comm >> 64) as u64, Ordering::Relaxed);
        MAIN_COMM[1].store(comm as u64, Ordering::Relaxed);
        TABLE.store(pages.as_ptr().cast(), Ordering::Release);
    }
    true
}

fn entries() -> &'static [AtomicU64] {
    let table = TABLE.load(Ordering::Acquire);
    if table.is_null() {
        return &[];
    }
    // SAFETY: a mapping that begins with NAMES_MAX zeroed atomics, never unmapped.
    unsafe { std::slice::from_raw_parts(table, NAMES_MAX) }
}

/// The number of the calling thread's name.
pub(crate) fn of_this_thread() -> u16 {
    if os::thread_id() == os::process_id() {
        return number(b"main");
    }
    #[cfg(heapprof_whole_thread_names)]
    {
        // Not dropped on the way of a panic, which there is none of: so none has to be provided for.
        let thread = ManuallyDrop::new(std::thread::current());
        let named = thread.name().map(|name| number(name.as_bytes()));
        drop(ManuallyDrop::into_inner(thread));
        if let Some(number) = named {
            return number;
        }
    }
    // What C code has named its thread, or (older std) the front of the name. A thread without a name
    // has that of the thread that made it.
    let comm = os::thread_comm();
    if comm == main_comm() {
        return number(UNNAMED);
    }
    let length = comm.iter().position(|&byte| byte == 0).unwrap_or(comm.len());
    number(comm.get(..length).unwrap_or_default())
}

/// What the kernel called the thread that set this up, in two words.
static MAIN_COMM: [AtomicU64; 2] = [AtomicU64::new(0), AtomicU64::new(0)];

fn main_comm() -> [u8; 16] {
    let [front, back] = [&MAIN_COMM[0], &MAIN_COMM[1]].map(|word| word.load(Ordering::Relaxed));
    (u128::from(front) << 64 | u128::from(back)).to_be_bytes()
}

/// The number of a name, added if it is new; [`BEYOND`] without room.
fn number(name: &[u8]) -> u16 {
    for (number, entry) in entries().iter().enumerate().skip(1) {
        // Acquire: the text is seen with its entry.
        if entry.load(Ordering::Acquire) == 0 && !add(name, entry) {
            return BEYOND;
        }
        if text_of(entry.load(Ordering::Acquire)) == name {
            return number as u16;
        }
    }
    BEYOND
}

/// Writes a name's text and publishes it in `entry`, unless another thread was first there; `false`
/// when there is no room for the text.
fn add(name: &[u8], entry: &AtomicU64) -> bool {
    let length = u32::try_from(name.len()).unwrap_or(u32::MAX);
    let fits = |used: u32| used.checked_add(length).filter(|&end| end as usize <= TEXT_BYTES);
    let Ok(start) = TEXT_USED.fetch_update(Ordering::Relaxed, Ordering::Relaxed, fits) else {
        return false;
    };
    let text = TABLE.load(Ordering::Acquire).wrapping_add(NAMES_MAX).cast::<u8>();
    // SAFETY: the range from `start` on is within the text, and ours alone since the update.
    unsafe { std::ptr::copy_nonoverlapping(name.as_ptr(), text.add(start as usize), name.len()) };
    let value = u64::from(length + 1) << 32 | u64::from(start);
    // Release: publishes the text. A name that came second stays unused where it is.
    let _ = entry.compare_exchange(0, value, Ordering::Release, Ordering::Relaxed);
    true
}

/// The bytes of a published name.
fn text_of(entry: u64) -> &'static [u8] {
    let (start, length) = (entry as u32 as usize, (entry >> 32) as usize);
    let text = TABLE.load(Ordering::Acquire).wrapping_add(NAMES_MAX).cast::<u8>();
    // SAFETY: a published entry names a range within the text that is never written again.
    unsafe { std::slice::from_raw_parts(text.add(start), length.saturating_sub(1)) }
}

/// The name of a number; `None` for [`BEYOND`].
pub(crate) fn name(number: u16) -> Option<Cow<'static, str>> {
    let entry = entries().get(usize::from(number))?.load(Ordering::Acquire);
    (entry != 0).then(|| String::from_utf8_lossy(text_of(entry)))
}
