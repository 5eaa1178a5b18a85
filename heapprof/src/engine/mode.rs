//! Whether this process tags its blocks: decided once, before the first block, never changed.
//!
//! ```text
//! Undecided ─▶ Off                      blocks go straight to the inner allocator
//!          └─▶ Armed ─▶ Started         blocks are tagged; from the first start on, with their stacks
//! ```
//!
//! Invariant: no block is handed out before the decision, so that every block of the process has a
//! tag or none has.

use std::ffi::CStr;
use std::sync::atomic::{AtomicU8, Ordering};

use super::shard::{self, Shard};
use super::{ccs, os, profiler, thread};

/// The state of the process.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(crate) enum Mode {
    /// Nobody has asked yet; a thread that finds this decides.
    Undecided = 0,
    /// Blocks are not tagged, for the life of the process.
    Off,
    /// Blocks are tagged as allocated before the profile.
    Armed,
    /// A profile has been started; blocks carry their stacks, also after it stops.
    Started,
    /// A thread is deciding: the others wait the few system calls that takes.
    Deciding,
}

static MODE: AtomicU8 = AtomicU8::new(Mode::Undecided as u8);

/// Stacks there can be when nobody asks for another number.
pub(crate) const STACKS_DEFAULT: u32 = 1 << 16;
/// The least and the greatest stack limit, built-in stacks included.
pub(crate) const STACKS_RANGE: std::ops::RangeInclusive<u32> = 16..=1 << 20;

/// The state, without deciding it.
#[inline]
pub(crate) fn mode() -> Mode {
    // Acquire: pairs with the Release of `set`; whoever sees Armed sees the tables.
    match MODE.load(Ordering::Acquire) {
        0 => Mode::Undecided,
        1 => Mode::Off,
        2 => Mode::Armed,
        3 => Mode::Started,
        _ => Mode::Deciding,
    }
}

/// Whether the process has decided to leave its blocks untagged.
///
/// Relaxed: the answer is about this word alone, and once true it stays.
#[inline(always)]
pub(crate) fn is_off() -> bool {
    MODE.load(Ordering::Relaxed) == Mode::Off as u8
}

/// Whether the process tags its blocks.
#[inline]
pub(crate) fn is_tagging() -> bool {
    matches!(mode(), Mode::Armed | Mode::Started)
}

fn set(mode: Mode) {
    MODE.store(mode as u8, Ordering::Release);
}

/// Decides on first call, and returns [`Mode::Off`], [`Mode::Armed`] or [`Mode::Started`].
///
/// `by_program`: the program declares that it may start a profile later. Allocates nothing.
pub(crate) fn decide(by_program: bool) -> Mode {
    loop {
        match mode() {
            Mode::Undecided => {
                let [from, to] = [Mode::Undecided as u8, Mode::Deciding as u8];
                if MODE.compare_exchange(from, to, Ordering::Acquire, Ordering::Relaxed).is_ok() {
                    let _errno = os::KeepErrno::new();
                    let tagging = asked().unwrap_or(by_program) && set_up();
                    if !tagging {
                        Shard::turn_off();
                    }
                    set(if tagging { Mode::Armed } else { Mode::Off });
                }
            }
            Mode::Deciding => os::yield_now(),
            decided => return decided,
        }
    }
}

/// Whether the environment or the file have anything to say about profiles.
pub(crate) fn is_addressed() -> bool {
    asked().is_some()
}

/// Lets blocks carry their stacks from now on.
pub(crate) fn start() {
    set(Mode::Started);
}

/// What `HEAPPROF` says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Switch {
    /// Profile from the start.
    On,
    /// Neither tag nor profile.
    Off,
    /// Tag, so that the program can start a profile.
    Armed,
}

impl Switch {
    /// What is accepted, for error lines.
    pub(crate) const ACCEPTED: &'static str = "on, off or armed";

    /// Reads a switch; `None` when it is none of the accepted words.
    pub(crate) fn parse(text: &[u8]) -> Option<Self> {
        match text {
            b"1" | b"on" | b"true" | b"yes" => Some(Self::On),
            b"0" | b"off" | b"false" | b"no" | b"" => Some(Self::Off),
            b"armed" => Some(Self::Armed),
            _ => None,
        }
    }
}

/// The name of the configuration file, looked for in the working folder.
pub(crate) const CONFIG_FILE: &CStr = c"heapprof.toml";

/// Whether the environment or a configuration file wants blocks tagged; `None` when they say nothing
/// about it, and the program decides.
///
/// A value that cannot be read asks for nothing: the program runs unprofiled, and the start-up hook
/// says why.
fn asked() -> Option<bool> {
    if os::is_privileged() {
        return None;
    }
    if let Some(value) = os::variable(c"HEAPPROF") {
        return Some(matches!(Switch::parse(value), Some(Switch::On | Switch::Armed)));
    }
    let interval = os::variable(c"HEAPPROF_INTERVAL").is_some_and(|value| !value.is_empty());
    (interval || cfg!(feature = "config") && os::is_readable(CONFIG_FILE)).then_some(true)
}

/// Maps every table that the hook touches, and asks to be told of forks: a child's thread has another
/// number and another clock, whether a profile runs or not.
fn set_up() -> bool {
    let (room, stacks) = table_sizes();
    let ready = shard::SHARDS.set_up(room) && ccs::STACKS.set_up(room, stacks) && thread::set_up();
    if ready {
        os::in_forked_child(profiler::on_fork);
    }
    ready
}

/// Numbers that the tables have room for, and how many of them are for stacks: a smaller limit of stacks
/// may be set later, a greater one not. The rest is for origins, of which several breakdowns need more.
///
/// Under a limit of address space all tables of some threads together take an eighth of it at most:
/// the program comes first.
fn table_sizes() -> (u32, u32) {
    const THREADS: u64 = 4;
    let asked =
        os::variable(c"HEAPPROF_STACKS").and_then(|value| std::str::from_utf8(value).ok()?.parse().ok());
    let stacks = asked.filter(|stacks| STACKS_RANGE.contains(stacks)).unwrap_or(STACKS_DEFAULT);
    let origins = match os::variable(c"HEAPPROF_BREAKDOWN") {
        Some(_) => 1 << 18,
        None => 1 << 16,
    };
    let bearable = os::address_space_bytes() / 8 / THREADS / shard::BYTES_PER_STACK;
    let bearable = u32::try_from(bearable).unwrap_or(u32::MAX).max(2 * STACKS_RANGE.start());
    let room = (stacks + if cfg!(miri) { 64 } else { origins }).min(bearable);
    // Less than asked only where there is not enough.
    (room, if room < bearable { stacks } else { stacks.min(room / 2) })
}
