//! What the operating system is asked, in one place: pages, clocks, threads, exit and fork hooks,
//! and the one way to speak to the user. Nothing here allocates from the global allocator unless it
//! says so.

use std::ffi::{CStr, c_int, c_void};
use std::fs::File;
use std::io::Write as _;
use std::os::fd::{AsRawFd as _, FromRawFd as _};
use std::ptr::NonNull;

/// Zeroed, private, lazily backed pages that are never returned. `None` when the address space or
/// the process's limits do not allow it.
pub(crate) fn zeroed_pages(bytes: usize) -> Option<NonNull<u8>> {
    #[cfg(miri)]
    {
        let layout = std::alloc::Layout::from_size_align(bytes, 4096).ok()?;
        // SAFETY: the layout has a non-zero size.
        NonNull::new(unsafe { std::alloc::System.alloc_zeroed(layout) })
    }
    #[cfg(not(miri))]
    {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        let access = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: a fresh anonymous mapping; no existing memory is touched.
        let address = unsafe { libc::mmap(std::ptr::null_mut(), bytes, access, flags, -1, 0) };
        if address == libc::MAP_FAILED { None } else { NonNull::new(address.cast()) }
    }
}
#[cfg(miri)]
use std::alloc::GlobalAlloc as _;

/// Makes pages of [`zeroed_pages`], of which `start` are the first `bytes`, zero again, and gives their
/// memory back.
pub(crate) fn zero_pages(start: *mut u8, bytes: usize) {
    // SAFETY: private anonymous pages that the caller owns; they read as zero afterwards.
    #[cfg(not(miri))]
    unsafe {
        libc::madvise(start.cast(), bytes, libc::MADV_DONTNEED)
    };
    #[cfg(miri)]
    // SAFETY: the caller owns the memory.
    unsafe {
        start.write_bytes(0, bytes)
    };
}

/// Keeps the caller's `errno` over whatever runs until it is dropped.
pub(crate) struct KeepErrno(c_int);

impl KeepErrno {
    pub(crate) fn new() -> Self {
        // SAFETY: `__errno_location` returns this thread's valid errno cell.
        Self(unsafe { *libc::__errno_location() })
    }
}

impl Drop for KeepErrno {
    fn drop(&mut self) {
        // SAFETY: as above; the cell lives as long as the thread.
        unsafe { *libc::__errno_location() = self.0 }
    }
}

/// Whether the kernel marked the process as set-user-id or otherwise of raised privilege.
pub(crate) fn is_privileged() -> bool {
    // SAFETY: reads the auxiliary vector, no preconditions. Miri has none.
    !cfg!(miri) && unsafe { libc::getauxval(libc::AT_SECURE) != 0 }
}

/// The most address space that the process may have, in bytes.
pub(crate) fn address_space_bytes() -> u64 {
    let mut limit = libc::rlimit { rlim_cur: libc::RLIM_INFINITY, rlim_max: libc::RLIM_INFINITY };
    // Miri does not have the call.
    if !cfg!(miri) {
        // SAFETY: a valid place for the result.
        unsafe { libc::getrlimit(libc::RLIMIT_AS, &mut limit) };
    }
    limit.rlim_cur
}

/// Whether every other thread of the process has ended: its main thread left by `pthread_exit`, and
/// what stays of it until the last thread ends is a zombie.
pub(crate) fn is_last_thread() -> bool {
    let Ok(tasks) = std::fs::read_dir("/proc/self/task") else {
        return false;
    };
    let own = thread_id();
    let numbers = tasks.filter_map(|task| task.ok()?.file_name().to_str()?.parse::<u32>().ok());
    numbers.filter(|&thread| thread != own).all(|thread| matches!(thread_state(thread), Some(b'Z' | b'X')))
}

/// A mapping of memory.
pub(crate) struct Mapping {
    pub(crate) low: usize,
    pub(crate) high: usize,
}

/// The mapping that an address lies in, from what `/proc` shows. Allocates nothing; the kernel locks
/// its own list of mappings meanwhile.
pub(crate) fn mapping_of(address: usize) -> Option<Mapping> {
    let mut text = [0_u8; 1024];
    let mut line = MapsLine::default();
    // SAFETY: a path that ends with NUL; the buffer is valid for its length; the descriptor is ours until
    // we close it.
    unsafe {
        let file = libc::open(c"/proc/self/maps".as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC);
        if file < 0 {
            return None;
        }
        let mut found = None;
        while found.is_none() {
            let length = libc::read(file, text.as_mut_ptr().cast(), text.len());
            let Some(read) = usize::try_from(length).ok().filter(|&length| length > 0) else {
                break;
            };
            let mappings = text.iter().take(read).filter_map(|&byte| line.take(byte));
            found = mappings.into_iter().find(|mapping| (mapping.low..mapping.high).contains(&address));
        }
        libc::close(file);
        found
    }
}

/// One line of `/proc/self/maps` as it comes in: `7ffc0000-7ffd0000 rw-p …`.
#[derive(Default)]
struct MapsLine {
    low: usize,
    high: usize,
    /// 0 in front of the dash, 1 in front of the first blank, 2 behind it.
    part: u8,
}

impl MapsLine {
    /// Takes a byte; the mapping at the line's end.
    fn take(&mut self, byte: u8) -> Option<Mapping> {
        let digit = char::from(byte).to_digit(16).map(|digit| digit as usize);
        match (self.part, byte, digit) {
            (_, b'\n', _) => {
                let line = std::mem::take(self);
                return Some(Mapping { low: line.low, high: line.high });
            }
            (0, b'-', _) | (1, b' ', _) => self.part += 1,
            (0, _, Some(digit)) => self.low = self.low << 4 | digit,
            (1, _, Some(digit)) => self.high = self.high << 4 | digit,
            _ => {}
        }
        None
    }
}

/// An address at the very top of the main thread's stack, where the kernel has put the program's name.
pub(crate) fn main_stack_top() -> Option<usize> {
    // SAFETY: reads the auxiliary vector, no preconditions.
    let name = unsafe { libc::getauxval(libc::AT_EXECFN) };
    usize::try_from(name).ok().filter(|&name| name != 0)
}

/// Copies this process's own memory from `address` on into `copy`, page by page as far as there is any;
/// how many bytes. Nothing that is not mapped is touched.
pub(crate) fn read_memory(address: usize, copy: &mut [u8]) -> usize {
    const PAGE: usize = 4096;
    const PAGES_MAX: usize = 8;
    let nothing = || libc::iovec { iov_base: std::ptr::null_mut(), iov_len: 0 };
    let mut pages = [(); PAGES_MAX].map(|()| nothing());
    let (mut at, mut left, mut count) = (address, copy.len(), 0);
    for page in &mut pages {
        let length = left.min(PAGE - at % PAGE);
        if length == 0 {
            break;
        }
        *page = libc::iovec { iov_base: at as *mut c_void, iov_len: length };
        (at, left, count) = (at.saturating_add(length), left - length, count + 1);
    }
    let into = libc::iovec { iov_base: copy.as_mut_ptr().cast(), iov_len: copy.len() - left };
    // SAFETY: the kernel writes into `copy` only, at most its length, and checks what it reads.
    let read = unsafe { libc::process_vm_readv(libc::getpid(), &into, 1, pages.as_ptr(), count, 0) };
    usize::try_from(read).unwrap_or(0)
}

/// The address of the C library's own block of the calling thread. On Linux it lies above the stack of
/// every thread but the main one.
pub(crate) fn thread_block() -> usize {
    // SAFETY: no preconditions.
    unsafe { libc::pthread_self() as usize }
}

/// The most bytes that the main thread's stack may have; 128 MiB where nothing limits it.
pub(crate) fn stack_bytes_max() -> usize {
    const UNLIMITED_BYTES: u64 = 128 << 20;
    let mut limit = libc::rlimit { rlim_cur: UNLIMITED_BYTES, rlim_max: UNLIMITED_BYTES };
    // SAFETY: a valid place for the result.
    unsafe { libc::getrlimit(libc::RLIMIT_STACK, &mut limit) };
    limit.rlim_cur.min(UNLIMITED_BYTES) as usize
}

/// What the kernel calls the calling thread: 15 bytes at most. Allocates nothing.
pub(crate) fn thread_comm() -> [u8; 16] {
    let mut name = [0; 16];
    // SAFETY: PR_GET_NAME writes at most 16 bytes, the last of them 0.
    unsafe { libc::prctl(libc::PR_GET_NAME, name.as_mut_ptr()) };
    name
}

/// The value of an environment variable, read without allocating.
///
/// The bytes stay valid until somebody changes the environment; copy or parse them at once.
pub(crate) fn variable(name: &CStr) -> Option<&'static [u8]> {
    // SAFETY: `name` ends with NUL; getenv has no other precondition but that nobody changes the
    // environment meanwhile, which std's own `env::set_var` demands of its callers.
    let value = unsafe { libc::getenv(name.as_ptr()) };
    // SAFETY: a non-null result is a NUL-terminated string in the environment block.
    (!value.is_null()).then(|| unsafe { CStr::from_ptr(value) }.to_bytes())
}

/// Whether a file of this name can be read from the working folder, without allocating.
pub(crate) fn is_readable(path: &CStr) -> bool {
    // SAFETY: `path` ends with NUL.
    unsafe { libc::access(path.as_ptr(), libc::R_OK) == 0 }
}

/// This process's number.
pub(crate) fn process_id() -> u32 {
    std::process::id()
}

/// This thread's kernel number.
pub(crate) fn thread_id() -> u32 {
    // SAFETY: no preconditions.
    unsafe { libc::syscall(libc::SYS_gettid) as u32 }
}

fn clock_ns(clock: libc::clockid_t) -> Option<u64> {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid place for the result.
    let failed = unsafe { libc::clock_gettime(clock, &mut time) } != 0;
    (!failed).then(|| time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
}

/// Nanoseconds of a clock that never steps back.
pub(crate) fn elapsed_ns() -> u64 {
    clock_ns(libc::CLOCK_MONOTONIC).unwrap_or(0)
}

/// CPU nanoseconds of the whole process.
pub(crate) fn process_cpu_ns() -> u64 {
    clock_ns(libc::CLOCK_PROCESS_CPUTIME_ID).unwrap_or(0)
}

/// CPU nanoseconds of the calling thread.
pub(crate) fn own_cpu_ns() -> u64 {
    clock_ns(libc::CLOCK_THREAD_CPUTIME_ID).unwrap_or(0)
}

/// CPU nanoseconds of any thread of this process by its kernel number; `None` once it is gone.
///
/// The clock number is the kernel's encoding (Linux `posix-timers.h`: inverted id, per-thread bit 4,
/// scheduler clock 2); asking pthread for it would need a handle that may be stale.
pub(crate) fn thread_cpu_ns(thread: u32) -> Option<u64> {
    clock_ns((!(thread as libc::clockid_t) << 3) | 6)
}

/// Whether a thread of this process runs or waits for a processor only, by its kernel number.
pub(crate) fn is_runnable(thread: u32) -> bool {
    thread_state(thread) == Some(b'R')
}

/// The letter by which the kernel tells a thread's state.
///
/// Reads what `/proc` shows behind the thread's name; a name has at most 15 bytes. Allocates nothing.
fn thread_state(thread: u32) -> Option<u8> {
    let mut path = [0; 40];
    let written = write!(&mut path[..], "/proc/self/task/{thread}/stat\0");
    debug_assert!(written.is_ok(), "the longest number fits");
    let mut text = [0; 64];
    // SAFETY: `path` ends with NUL, and the buffer is valid for its length.
    let length = unsafe {
        let file = libc::open(path.as_ptr().cast(), libc::O_RDONLY | libc::O_CLOEXEC);
        if file < 0 {
            return None;
        }
        let length = libc::read(file, text.as_mut_ptr().cast(), text.len());
        libc::close(file);
        length
    };
    let text = text.get(..usize::try_from(length).unwrap_or(0)).unwrap_or_default();
    let end_of_name = text.iter().rposition(|&byte| byte == b')')?;
    text.get(end_of_name + 2).copied()
}

/// Resident memory of the process in bytes, from the kernel.
pub(crate) fn resident_bytes() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/self/statm").ok()?;
    let pages: u64 = text.split_ascii_whitespace().nth(1)?.parse().ok()?;
    // SAFETY: no preconditions.
    let page_bytes = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    Some(pages * u64::try_from(page_bytes).ok()?)
}

/// The local time as C's `ctime` prints it without seconds, for instance `Mon Nov  3 16:23 2026`;
/// in the C locale whatever the program's is, since GHC's readers know English months only.
pub(crate) fn date() -> String {
    const DAYS: [&str; 7] = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"];
    const MONTHS: [&str; 12] =
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    // SAFETY: `time` accepts a null pointer; a zeroed `tm` is a valid value to be overwritten.
    let (now, mut tm) = unsafe { (libc::time(std::ptr::null_mut()), std::mem::zeroed::<libc::tm>()) };
    // SAFETY: both pointers are valid for the call.
    if unsafe { libc::localtime_r(&now, &mut tm) }.is_null() {
        return String::from("Thu Jan  1 00:00 1970");
    }
    let name = |names: &[&'static str], index: c_int| names.get(index as usize).copied().unwrap_or("???");
    format!(
        "{} {} {:2} {:02}:{:02} {}",
        name(&DAYS, tm.tm_wday),
        name(&MONTHS, tm.tm_mon),
        tm.tm_mday,
        tm.tm_hour,
        tm.tm_min,
        i64::from(tm.tm_year) + 1900
    )
}

/// Says one line on stderr, in one write, prefixed with our name. Failure to speak is ignored.
pub(crate) fn say(line: &str) {
    let text = format!("heapprof: {}\n", line.replace('\n', " "));
    let _errno = KeepErrno::new();
    // SAFETY: the buffer is valid for its length.
    write_unsignalled(|| unsafe { libc::write(2, text.as_ptr().cast(), text.len()) });
}

/// Makes a write without the signal that the kernel sends to a writer whose reader is gone (SIGPIPE)
/// or whose file may not grow (SIGXFSZ): our failing write must not end the program.
fn write_unsignalled(write: impl FnOnce() -> isize) -> isize {
    // SAFETY: plain data that the calls below fill in before it is read; every pointer is to a live
    // local; the mask is put back, and a signal is only taken that was blocked here.
    unsafe {
        let (mut ours, mut old, mut pending) = (std::mem::zeroed(), std::mem::zeroed(), std::mem::zeroed());
        libc::sigemptyset(&mut ours);
        libc::sigaddset(&mut ours, libc::SIGPIPE);
        libc::sigaddset(&mut ours, libc::SIGXFSZ);
        libc::sigpending(&mut pending);
        // One that waits already is the program's: it cannot be told from a second one.
        for signal in [libc::SIGPIPE, libc::SIGXFSZ] {
            if libc::sigismember(&pending, signal) == 1 {
                libc::sigdelset(&mut ours, signal);
            }
        }
        libc::pthread_sigmask(libc::SIG_BLOCK, &ours, &mut old);
        let written = write();
        let errno = KeepErrno::new();
        if written < 0 && matches!(errno.0, libc::EPIPE | libc::EFBIG) {
            let at_once = libc::timespec { tv_sec: 0, tv_nsec: 0 };
            libc::sigtimedwait(&ours, std::ptr::null_mut(), &at_once);
        }
        libc::pthread_sigmask(libc::SIG_SETMASK, &old, std::ptr::null_mut());
        written
    }
}

/// Starts a thread that runs `body(argument)`, with all signals blocked so that none of the
/// program's is ever delivered to it, and a small stack. `argument` must live for ever.
pub(crate) fn start_thread<T: Sync>(
    body: extern "C" fn(*mut c_void) -> *mut c_void,
    argument: &'static T,
) -> Option<Thread> {
    const STACK_BYTES: usize = 512 << 10;
    let _errno = KeepErrno::new();
    // SAFETY: plain data that the calls below initialise before any use.
    let (mut attributes, mut all, mut old, mut thread) = unsafe {
        (
            std::mem::zeroed::<libc::pthread_attr_t>(),
            std::mem::zeroed(),
            std::mem::zeroed(),
            std::mem::zeroed(),
        )
    };
    // SAFETY: every pointer is to a live local; `argument` is 'static; the signal mask is put back.
    let failed = unsafe {
        libc::pthread_attr_init(&mut attributes);
        libc::pthread_attr_setstacksize(&mut attributes, STACK_BYTES);
        libc::sigfillset(&mut all);
        libc::pthread_sigmask(libc::SIG_SETMASK, &all, &mut old);
        let argument = std::ptr::from_ref(argument).cast_mut().cast();
        let failed = libc::pthread_create(&mut thread, &attributes, body, argument);
        libc::pthread_sigmask(libc::SIG_SETMASK, &old, std::ptr::null_mut());
        libc::pthread_attr_destroy(&mut attributes);
        failed
    };
    (failed == 0).then_some(Thread(thread))
}

/// A thread started by [`start_thread`].
pub(crate) struct Thread(libc::pthread_t);

impl Thread {
    /// The thread as a number that is not 0, to be kept in an atomic.
    pub(crate) fn into_number(self) -> u64 {
        self.0
    }

    /// The thread of such a number; `None` of 0. Each number is to be taken back once.
    pub(crate) fn from_number(number: u64) -> Option<Self> {
        (number != 0).then_some(Self(number))
    }

    /// Waits until the thread has ended.
    pub(crate) fn join(self) {
        // SAFETY: the handle came from pthread_create and is joined once: `self` is consumed, and a
        // number is taken back once.
        unsafe { libc::pthread_join(self.0, std::ptr::null_mut()) };
    }
}

/// Names the calling thread for `top`, debuggers and the like (15 bytes at most).
pub(crate) fn name_this_thread(name: &CStr) {
    // SAFETY: PR_SET_NAME reads a NUL-terminated string.
    unsafe { libc::prctl(libc::PR_SET_NAME, name.as_ptr()) };
}

/// Lets the calling thread wake on time: not together with other timers, and (Linux 6.12 and up) before
/// threads of longer time slices. Else a thread that looks at others only runs when they sleep, or
/// have just woken. Without effect where the kernel knows neither.
pub(crate) fn wake_punctually() {
    /// `struct sched_attr` of the kernel, its first version.
    #[repr(C)]
    struct Attributes {
        size: u32,
        policy: u32,
        flags: u64,
        nice: i32,
        priority: u32,
        slice_ns: u64,
        deadline_ns: u64,
        period_ns: u64,
    }
    // SAFETY: reads the nice value of the calling thread.
    let nice = unsafe { libc::getpriority(libc::PRIO_PROCESS, 0) };
    let attributes = Attributes {
        size: size_of::<Attributes>() as u32,
        policy: libc::SCHED_OTHER as u32,
        flags: 0,
        nice,
        priority: 0,
        // The shortest slice that the kernel gives.
        slice_ns: 100_000,
        deadline_ns: 0,
        period_ns: 0,
    };
    // SAFETY: plain numbers; the last one reads a structure of the size that it states.
    unsafe {
        libc::prctl(libc::PR_SET_TIMERSLACK, 1 as libc::c_ulong, 0, 0, 0);
        // A program that runs under another policy has its reasons.
        if libc::sched_getscheduler(0) == libc::SCHED_OTHER {
            libc::syscall(libc::SYS_sched_setattr, 0, &raw const attributes, 0);
        }
    }
}

/// Runs `hook` when the process exits normally (`exit`, return from main).
pub(crate) fn at_exit(hook: extern "C" fn()) {
    // SAFETY: the hook is a plain function that never unwinds.
    unsafe { libc::atexit(hook) };
}

/// Runs `hook` in every child made by `fork`, in its only thread.
pub(crate) fn in_forked_child(hook: extern "C" fn()) {
    #[cfg(not(miri))]
    unsafe extern "C" {
        fn pthread_atfork(
            prepare: Option<extern "C" fn()>,
            parent: Option<extern "C" fn()>,
            child: Option<extern "C" fn()>,
        ) -> c_int;
    }
    // SAFETY: the signature is POSIX's; the hook only stores to atomics and closes a descriptor.
    #[cfg(not(miri))]
    unsafe {
        pthread_atfork(None, None, Some(hook))
    };
    #[cfg(miri)]
    let _ = hook;
}

/// A per-thread slot whose `hook` runs when a thread that set it ends.
pub(crate) fn thread_end_key(hook: unsafe extern "C" fn(*mut c_void)) -> Option<u32> {
    let mut key = 0;
    // SAFETY: `key` is a valid place for the result.
    (unsafe { libc::pthread_key_create(&mut key, Some(hook)) } == 0).then_some(key)
}

/// Asks for the key's hook at the end of the calling thread.
pub(crate) fn set_thread_end(key: u32, value: *mut c_void) {
    // SAFETY: the key was made by `thread_end_key`.
    unsafe { libc::pthread_setspecific(key, value) };
}

/// Gives the rest of this thread's time slice away.
pub(crate) fn yield_now() {
    // SAFETY: no preconditions.
    unsafe { libc::sched_yield() };
}

/// Device and number of the file that a descriptor stands for. Allocates nothing.
pub(crate) fn identity(descriptor: c_int) -> Option<(u64, u64)> {
    // SAFETY: plain data, filled in by the call before it is read.
    unsafe {
        let mut met = std::mem::zeroed::<libc::stat>();
        (libc::fstat(descriptor, &mut met) == 0).then_some((met.st_dev, met.st_ino))
    }
}

/// Takes the lock of an open file without waiting; `false` when another open file has it. The lock
/// goes with the last descriptor of the open file, however the process ends.
pub(crate) fn try_lock_file(descriptor: c_int) -> bool {
    // SAFETY: the descriptor is open.
    unsafe { libc::flock(descriptor, libc::LOCK_EX | libc::LOCK_NB) == 0 }
}

/// Hands `bytes` to the kernel in one write. If the kernel takes a part only, it is asked again for the
/// rest, so that it says why.
///
/// # Errors
/// The kernel's; some of the bytes may have been written then.
pub(crate) fn write_whole(descriptor: c_int, mut bytes: &[u8]) -> std::io::Result<()> {
    while !bytes.is_empty() {
        // SAFETY: the buffer is valid for its length.
        let write = || unsafe { libc::write(descriptor, bytes.as_ptr().cast(), bytes.len()) };
        match usize::try_from(write_unsignalled(write)) {
            Ok(0) => return Err(std::io::ErrorKind::WriteZero.into()),
            Ok(written) => bytes = bytes.get(written..).unwrap_or_default(),
            Err(_) => {
                let cause = std::io::Error::last_os_error();
                if cause.kind() != std::io::ErrorKind::Interrupted {
                    return Err(cause);
                }
            }
        }
    }
    Ok(())
}

/// The same open file under a descriptor above those of the three standard streams; closed on exec.
///
/// # Errors
/// The kernel's, when there are no more descriptors.
pub(crate) fn above_standard_streams(file: File) -> std::io::Result<File> {
    // SAFETY: the descriptor is open; the new one is nobody's yet.
    unsafe {
        match libc::fcntl(file.as_raw_fd(), libc::F_DUPFD_CLOEXEC, libc::STDERR_FILENO + 1) {
            -1 => Err(std::io::Error::last_os_error()),
            above => Ok(File::from_raw_fd(above)),
        }
    }
}

/// Closes a descriptor that nobody uses any more.
pub(crate) fn close(descriptor: c_int) {
    // SAFETY: no preconditions; the caller gives the descriptor up.
    unsafe { libc::close(descriptor) };
}
