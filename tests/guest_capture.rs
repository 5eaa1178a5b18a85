//! The guest rule while call stacks are captured: a program that is profiled by call site ends as it ends
//! alone, whatever stacks it runs on and whatever it leaves in its registers. No crash, no hang, no other
//! exit code or output, no lost `errno`.
//!
//! Every role runs without a profile, with all breakdowns and with whole call stacks, each at a sample and
//! a tick per millisecond; and built without frame pointers, where call stacks are unwound.
//!
//! With `--cfg unframed` this is the guest alone: see `unframed_common`.

#![allow(unexpected_cfgs, reason = "see above")]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[cfg(not(unframed))]
mod common;
#[cfg(not(unframed))]
mod unframed_common;

#[global_allocator]
static ALLOC: heapprof::HeapProf = heapprof::HeapProf::new();

/// What the guest does.
mod roles {
    use std::cell::{Cell, RefCell};
    use std::ffi::CString;
    use std::hint::black_box;
    use std::mem::ManuallyDrop;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::{Mutex, PoisonError};

    /// Allocates and frees in several ways; `errno` stays what it was. Called by everything here.
    #[inline(never)]
    pub(super) extern "C" fn allocates(size: usize) -> usize {
        // SAFETY: -1 is no descriptor; the second call returns this thread's cell.
        let errno = || unsafe { *libc::__errno_location() };
        // SAFETY: as above.
        unsafe { libc::close(-1) };
        assert_eq!(errno(), libc::EBADF);
        let mut block: Vec<u8> = black_box(vec![1; 1 + size % 900]);
        let boxed = black_box(Box::new([size; 3]));
        block.extend_from_slice(&[2; 100]);
        block.shrink_to_fit();
        let sum = block.iter().map(|&byte| usize::from(byte)).sum::<usize>() + boxed[1];
        drop((block, boxed));
        assert_eq!(errno(), libc::EBADF, "after an allocation");
        sum
    }

    /// Runs `work` on `threads` threads at once.
    fn on_threads(threads: usize, work: impl Fn(usize) + Sync) {
        let work = &work;
        std::thread::scope(|scope| {
            for thread in 0..threads {
                scope.spawn(move || work(thread));
            }
        });
    }

    /// Threads of many names that end as soon as they have allocated.
    pub(super) fn starts_threads(_: &[String]) {
        on_threads(4, |thread| {
            for round in 0..30 {
                let work = move || (0..20).map(|size| allocates(size * round)).sum::<usize>();
                let name = format!("a thread of quite a long name {thread} {}", round % 9);
                assert!(std::thread::Builder::new().name(name).spawn(work).unwrap().join().unwrap() > 0);
            }
        });
    }

    /// Recursion without end, with blocks on every level.
    pub(super) fn overflows(args: &[String]) {
        #[inline(never)]
        fn down(level: usize) -> usize {
            let block = black_box(vec![level; 2]);
            let below = if black_box(true) { down(level + 1) } else { 0 };
            below + block[0] + allocates(level % 50)
        }
        match &*args[0] {
            "main" => println!("{}", down(0)),
            _ => println!("{:?}", std::thread::Builder::new().spawn(|| down(0)).unwrap().join()),
        }
    }

    /// Recursion just not to the end, again and again, formatting at the deepest.
    pub(super) fn recurses(_: &[String]) {
        fn down(levels: usize) -> usize {
            if levels == 0 {
                return format!("{:?}", black_box([[1, 2], [3, 4]])).len();
            }
            black_box(down(levels - 1)) + allocates(levels)
        }
        on_threads(2, |_| println!("{}", (0..4).map(|round| down(round * 300)).sum::<usize>()));
    }

    /// Runs `work` on a thread made by pthread, with a stack of this size.
    fn raw_thread(work: impl FnOnce() + Send + 'static, stack_bytes: usize) {
        extern "C" fn body(work: *mut libc::c_void) -> *mut libc::c_void {
            // SAFETY: made by `Box::into_raw` below, and used once.
            let work = unsafe { Box::from_raw(work.cast::<Box<dyn FnOnce() + Send>>()) };
            work();
            std::ptr::without_provenance_mut(1)
        }
        let work: Box<Box<dyn FnOnce() + Send>> = Box::new(Box::new(work));
        // SAFETY: plain data that the calls initialise; every pointer is to a live local or to `work`.
        let result = unsafe {
            let (mut attributes, mut thread, mut result) = (std::mem::zeroed(), 0, std::ptr::null_mut());
            libc::pthread_attr_init(&mut attributes);
            assert_eq!(libc::pthread_attr_setstacksize(&mut attributes, stack_bytes), 0);
            assert_eq!(libc::pthread_create(&mut thread, &attributes, body, Box::into_raw(work).cast()), 0);
            libc::pthread_join(thread, &mut result);
            libc::pthread_attr_destroy(&mut attributes);
            result
        };
        assert_eq!(result.addr(), 1, "the thread has failed");
    }

    /// Threads that consist of one function, over C's.
    pub(super) fn has_short_stacks(_: &[String]) {
        extern "C" fn body(_: *mut libc::c_void) -> *mut libc::c_void {
            for size in 1..60 {
                drop(black_box(vec![0_u8; size]));
                std::thread::sleep(std::time::Duration::from_millis(2));
            }
            std::ptr::null_mut()
        }
        let start = |()| {
            let mut thread = 0;
            // SAFETY: the function takes nothing; the handle goes to a live local.
            let failed =
                unsafe { libc::pthread_create(&mut thread, std::ptr::null(), body, std::ptr::null_mut()) };
            assert_eq!(failed, 0);
            thread
        };
        for thread in [(); 3].map(start) {
            // SAFETY: started above, joined once.
            unsafe { libc::pthread_join(thread, std::ptr::null_mut()) };
        }
        println!("short");
    }

    pub(super) fn has_small_stacks(args: &[String]) {
        let stack_bytes = args[0].parse().unwrap();
        for round in 0..150 {
            raw_thread(move || assert!(allocates(round) > 0), stack_bytes);
        }
        println!("small");
    }

    // ---- fibers ----------------------------------------------------------------------------------

    const PAGE: usize = 4096;

    /// Pages for a stack, by the kernel.
    struct Pages {
        start: usize,
        length: usize,
    }

    impl Pages {
        fn new(length: usize) -> Self {
            let (access, flags) =
                (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
            // SAFETY: a fresh mapping.
            let pages = unsafe { libc::mmap(std::ptr::null_mut(), length, access, flags, -1, 0) };
            assert_ne!(pages, libc::MAP_FAILED, "{}", std::io::Error::last_os_error());
            Self { start: pages.expose_provenance(), length }
        }
    }

    impl Drop for Pages {
        fn drop(&mut self) {
            // SAFETY: our own mapping, which nobody uses any more.
            unsafe { libc::munmap(std::ptr::with_exposed_provenance_mut(self.start), self.length) };
        }
    }

    thread_local! {
        /// The fiber that runs, and what it is to do.
        static FIBER: Cell<*mut Fiber> = const { Cell::new(std::ptr::null_mut()) };
    }

    /// A stack that a thread changes to and back from.
    struct Fiber {
        own: libc::ucontext_t,
        outside: libc::ucontext_t,
        work: Box<dyn FnMut()>,
        over: bool,
    }

    impl Fiber {
        fn new(stack: &Pages, work: impl FnMut() + 'static) -> Box<Self> {
            extern "C" fn body() {
                let fiber = FIBER.get();
                // SAFETY: `enter` has set it to a live fiber, which nobody else uses while it runs.
                unsafe {
                    ((*fiber).work)();
                    (*fiber).over = true;
                    libc::setcontext(&raw const (*fiber).outside);
                }
            }
            // SAFETY: plain data, made valid by the calls below before it is used.
            let [own, outside] = unsafe { [std::mem::zeroed(), std::mem::zeroed()] };
            let mut fiber = Box::new(Self { own, outside, work: Box::new(work), over: false });
            // SAFETY: the context and the stack are live and ours.
            unsafe {
                libc::getcontext(&mut fiber.own);
                fiber.own.uc_stack.ss_sp = std::ptr::with_exposed_provenance_mut(stack.start);
                fiber.own.uc_stack.ss_size = stack.length;
                fiber.own.uc_link = std::ptr::null_mut();
                libc::makecontext(&mut fiber.own, body, 0);
            }
            fiber
        }

        /// Runs it until it leaves or is over.
        fn enter(&mut self) {
            FIBER.set(self);
            let fiber = FIBER.get();
            // SAFETY: both contexts are live; the fiber comes back by `leave` or at its end.
            unsafe { libc::swapcontext(&raw mut (*fiber).outside, &raw const (*fiber).own) };
        }

        /// Goes on with whoever entered the running fiber.
        fn leave() {
            let fiber = FIBER.get();
            // SAFETY: as above.
            unsafe { libc::swapcontext(&raw mut (*fiber).own, &raw const (*fiber).outside) };
            FIBER.set(fiber);
        }
    }

    /// Thousands of short fibers, then a hundred that take turns.
    pub(super) fn has_fibers(_: &[String]) {
        on_threads(2, |thread| {
            for round in 0..1_500 {
                let stack = Pages::new((40 + round % 3 * 8) * PAGE);
                Fiber::new(&stack, move || assert!(allocates(round + thread) > 0)).enter();
            }
            let stacks: Vec<Pages> = (0..100).map(|_| Pages::new(40 * PAGE)).collect();
            let turns = |number: usize| {
                move || {
                    for turn in 0..20 {
                        assert!(allocates(turn * number) > 0);
                        Fiber::leave();
                    }
                }
            };
            let mut fibers: Vec<_> =
                stacks.iter().enumerate().map(|(number, stack)| Fiber::new(stack, turns(number))).collect();
            while fibers.iter().any(|fiber| !fiber.over) {
                for fiber in fibers.iter_mut().filter(|fiber| !fiber.over) {
                    fiber.enter();
                    assert!(allocates(1) > 0);
                }
            }
        });
        println!("fibers");
    }

    // ---- registers -------------------------------------------------------------------------------

    #[cfg(target_arch = "x86_64")]
    std::arch::global_asm!(
        ".globl heapprof_test_call_with_rbp",
        ".type heapprof_test_call_with_rbp,@function",
        "heapprof_test_call_with_rbp:",
        ".cfi_startproc",
        "push rbp",
        ".cfi_def_cfa_offset 16",
        ".cfi_offset rbp, -16",
        "mov rbp, rdx",
        "mov rax, rdi",
        "mov rdi, rsi",
        "call rax",
        "mov rax, rbp",
        "pop rbp",
        ".cfi_def_cfa_offset 8",
        "ret",
        ".cfi_endproc",
        ".size heapprof_test_call_with_rbp, . - heapprof_test_call_with_rbp",
    );

    /// Calls `call(size)` as a function would that uses the frame pointer's register for a number of its own.
    #[inline(never)]
    fn with_register(call: extern "C" fn(usize) -> usize, size: usize, register: usize) {
        #[cfg(target_arch = "x86_64")]
        {
            unsafe extern "C" {
                fn heapprof_test_call_with_rbp(
                    call: extern "C" fn(usize) -> usize,
                    size: usize,
                    register: usize,
                ) -> usize;
            }
            // SAFETY: follows the calling convention, which leaves the register to each function.
            let kept = unsafe { heapprof_test_call_with_rbp(call, size, register) };
            assert_eq!(kept, register, "a register of the caller's was changed");
        }
        #[cfg(not(target_arch = "x86_64"))]
        let _ = (call(size), register);
    }

    /// The limits of the calling thread's stack.
    fn stack_limits() -> (usize, usize) {
        // SAFETY: plain data, filled in by the calls.
        unsafe {
            let (mut attributes, mut start, mut length) = (std::mem::zeroed(), std::ptr::null_mut(), 0);
            libc::pthread_getattr_np(libc::pthread_self(), &mut attributes);
            libc::pthread_attr_getstack(&attributes, &mut start, &mut length);
            libc::pthread_attr_destroy(&mut attributes);
            (start.addr(), start.addr() + length)
        }
    }

    /// Numbers that mean nothing, and addresses of everything that there is.
    fn odd_numbers(low: usize, high: usize) -> Vec<usize> {
        let local = 0_usize;
        let here = (&raw const local).addr();
        let unmapped = {
            let pages = Pages::new(4 * PAGE);
            pages.start
        };
        let heap = Box::new([1_usize, 2, 3]);
        let code = allocates as extern "C" fn(usize) -> usize as usize;
        let mut numbers =
            vec![0, 1, 7, 8, 16, PAGE, unmapped, unmapped + 8, code, code + 1, heap.as_ptr().addr()];
        numbers.extend([1_usize, 2, 8, 9, 16, 24, PAGE].map(usize::wrapping_neg));
        numbers.extend([1_usize << 46, 1 << 47, 1 << 63, (1 << 47) - 8, (1 << 47) - 16]);
        numbers.extend([low, low + 8, low.wrapping_sub(8), low.wrapping_sub(PAGE)]);
        for end in [high, high & !(PAGE - 1)] {
            numbers.extend([0, 8, 15, 16, 17, 24, 32].map(|below| end - below));
            numbers.extend([8, 16, PAGE].map(|above| end + above));
        }
        for step in 0..200 {
            numbers.extend([here + step * 8, here - step * 8, here + step * 8 + 3]);
        }
        numbers
    }

    #[inline(never)]
    fn goes_through_numbers(low: usize, high: usize) {
        for register in odd_numbers(low, high) {
            with_register(allocates, register % 800, register);
        }
        // Rings and ladders of frames that nobody has called.
        let mut frames = [0_usize; 64];
        let start = (&raw mut frames).addr();
        for (at, frame) in frames.iter_mut().enumerate() {
            *frame = match at % 4 {
                0 => start + (at + 2) % 64 * 8,
                1 => allocates as extern "C" fn(usize) -> usize as usize + at,
                2 => start + (at + 62) % 64 * 8,
                _ => 1 << at,
            };
        }
        for at in 0..64 {
            with_register(allocates, at, start + at * 8);
        }
        black_box(frames);
    }

    /// Leaves odd numbers in the register for the frame pointer: on the main stack, on that of a thread
    /// and on that of a fiber.
    pub(super) fn has_odd_registers(_: &[String]) {
        let on_own_stack = || {
            let (low, high) = stack_limits();
            goes_through_numbers(low, high);
        };
        on_own_stack();
        on_threads(2, |_| on_own_stack());
        let stack = Pages::new(64 * PAGE);
        let (low, high) = (stack.start, stack.start + stack.length);
        Fiber::new(&stack, move || goes_through_numbers(low, high)).enter();
        println!("registers");
    }

    /// A stack in the lower half of where an earlier one was, while the register points to where the
    /// upper half is no more.
    pub(super) fn reuses_stacks(_: &[String]) {
        let room = Pages::new(129 * PAGE);
        let [low, high] = [0, 64].map(|page| room.start + page * PAGE);
        let allow = |start: usize, pages: usize, access| {
            // SAFETY: our own pages, which no stack in use lies in.
            let done =
                unsafe { libc::mprotect(std::ptr::with_exposed_provenance_mut(start), pages * PAGE, access) };
            assert_eq!(done, 0);
        };
        // A border, so that what lies above is another mapping.
        allow(low + 128 * PAGE, 1, libc::PROT_NONE);
        for round in 0..40 {
            let stacks = [128, 64].map(|pages| ManuallyDrop::new(Pages { start: low, length: pages * PAGE }));
            let mut long = Fiber::new(&stacks[0], move || assert!(allocates(round) > 0));
            let mut short = Fiber::new(&stacks[1], move || {
                for page in 0..64 {
                    with_register(allocates, page, high + page * PAGE + 16);
                }
            });
            // From here on nothing is allocated on any other stack.
            long.enter();
            allow(high, 64, libc::PROT_NONE);
            short.enter();
            allow(high, 64, libc::PROT_READ | libc::PROT_WRITE);
        }
        println!("reused");
    }

    // ---- C ---------------------------------------------------------------------------------------

    /// A library that has been loaded.
    struct Library(*mut libc::c_void);

    impl Library {
        fn open(path: &str) -> Self {
            let path = CString::new(path).unwrap();
            // SAFETY: one of our own libraries, which has no code that runs as it is loaded.
            let library = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
            assert!(!library.is_null(), "{path:?}");
            Self(library)
        }

        /// Calls a function of the library, which calls `back`.
        fn call(&self, name: &str, back: extern "C" fn(usize) -> usize, size: usize) -> usize {
            let name = CString::new(name).unwrap();
            // SAFETY: our libraries have functions of this type only.
            unsafe {
                let function = libc::dlsym(self.0, name.as_ptr());
                assert!(!function.is_null(), "{name:?}");
                let function: extern "C" fn(extern "C" fn(usize) -> usize, usize) -> usize =
                    std::mem::transmute(function);
                function(back, size)
            }
        }
    }

    impl Drop for Library {
        fn drop(&mut self) {
            // SAFETY: opened once, closed once; nothing of it runs.
            unsafe { libc::dlclose(self.0) };
        }
    }

    /// C without frame pointers calls back into Rust.
    pub(super) fn is_called_by_c(args: &[String]) {
        let library = Library::open(&args[0]);
        let sums: Vec<usize> = (0..400).map(|size| library.call("turn", allocates, size)).collect();
        println!("{:x}", sums.iter().fold(0, |sum: usize, more| sum.rotate_left(3) ^ more));
    }

    /// Blocks that are kept.
    static KEPT: Mutex<Vec<Vec<u8>>> = Mutex::new(Vec::new());

    fn keep(block: Vec<u8>) -> usize {
        let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
        kept.push(block);
        kept.len()
    }

    #[inline(never)]
    extern "C" fn asked_under_one(size: usize) -> usize {
        keep(black_box(vec![1; size]))
    }

    #[inline(never)]
    extern "C" fn asked_under_two(size: usize) -> usize {
        keep(black_box(vec![2; size]))
    }

    /// Two libraries at one address, one after the other; the blocks stay.
    pub(super) fn loads_libraries(args: &[String]) {
        let rounds: usize = args[2].parse().unwrap();
        for round in 0..rounds {
            let one = Library::open(&args[0]);
            one.call("one_call", asked_under_one, 100 + round % 7);
            if args[3] == "samples" {
                let _ = heapprof::sample_now();
            }
            drop(one);
            let two = Library::open(&args[1]);
            two.call("two_call", asked_under_two, 10 + round % 5);
            if args[3] == "samples" {
                let _ = heapprof::sample_now();
            }
            if round + 1 == rounds {
                let _ = heapprof::sample_now();
            }
        }
        println!("{}", KEPT.lock().unwrap_or_else(PoisonError::into_inner).len());
    }

    // ---- signals, processes, limits ----------------------------------------------------------------

    static HANDLED: AtomicUsize = AtomicUsize::new(0);

    /// Handlers that allocate, on a stack of their own; raised where that is allowed.
    pub(super) fn handles_signals(_: &[String]) {
        extern "C" fn handler(_: libc::c_int) {
            HANDLED.fetch_add(1, Ordering::Relaxed);
            assert!(allocates(33) > 0);
        }
        // SAFETY: plain data; the handler is called between allocations only, by `raise`.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = handler as extern "C" fn(libc::c_int) as usize;
            action.sa_flags = libc::SA_ONSTACK;
            assert_eq!(libc::sigaction(libc::SIGUSR1, &action, std::ptr::null_mut()), 0);
        }
        on_threads(2, |_| {
            // With room for a sample.
            let stack = Pages::new(96 * PAGE);
            let mut before = libc::stack_t { ss_sp: std::ptr::null_mut(), ss_flags: 0, ss_size: 0 };
            let ours = libc::stack_t {
                ss_sp: std::ptr::with_exposed_provenance_mut(stack.start),
                ss_flags: 0,
                ss_size: stack.length,
            };
            // SAFETY: the stack lives until the thread has gone back to the one before.
            unsafe { libc::sigaltstack(&ours, &mut before) };
            for size in 0..600 {
                assert!(allocates(size) > 0);
                // SAFETY: no preconditions.
                unsafe { libc::raise(libc::SIGUSR1) };
            }
            // SAFETY: as above.
            unsafe { libc::sigaltstack(&before, std::ptr::null_mut()) };
        });
        println!("{}", HANDLED.load(Ordering::Relaxed));
    }

    /// Forks while other threads allocate; the children allocate too.
    pub(super) fn forks(_: &[String]) {
        static OVER: AtomicUsize = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    while OVER.load(Ordering::Relaxed) == 0 {
                        assert!(allocates(77) > 0);
                    }
                });
            }
            for round in 0..60 {
                // SAFETY: the child allocates, which this allocator and libc allow, and ends.
                let child = unsafe { libc::fork() };
                if child == 0 {
                    let sum = (0..50).map(|size| allocates(size + round)).sum::<usize>();
                    // SAFETY: no preconditions.
                    unsafe { libc::_exit(i32::from(sum > 0) + 41) };
                }
                let mut status = 0;
                // SAFETY: the pointer is to a live local.
                assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
                assert_eq!(libc::WEXITSTATUS(status), 42);
            }
            OVER.store(1, Ordering::Relaxed);
        });
        println!("forked");
    }

    /// Threads after the last descriptor is gone, so that `/proc` cannot be read.
    pub(super) fn has_no_files(_: &[String]) {
        let none = libc::rlimit { rlim_cur: 3, rlim_max: 3 };
        // SAFETY: reads a live local.
        assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &none) }, 0);
        assert!(std::fs::File::open("/proc/self/maps").is_err());
        on_threads(8, |thread| (0..200).for_each(|size| assert!(allocates(size + thread) > 0)));
        std::thread::sleep(std::time::Duration::from_millis(1_200));
        on_threads(8, |thread| (0..200).for_each(|size| assert!(allocates(size * thread) > 0)));
        println!("without files");
    }

    /// The same in a folder without `/proc`.
    pub(super) fn is_locked_up(args: &[String]) {
        let root = CString::new(&*args[0]).unwrap();
        // SAFETY: a string that ends with NUL.
        assert_eq!(unsafe { libc::chroot(root.as_ptr()) }, 0, "{}", std::io::Error::last_os_error());
        assert!(std::fs::File::open("/proc/self/maps").is_err());
        on_threads(8, |thread| (0..200).for_each(|size| assert!(allocates(size + thread) > 0)));
        println!("locked up");
    }

    /// A program that needs little.
    pub(super) fn needs_little(_: &[String]) {
        on_threads(2, |_| {
            let held: Vec<_> = (0..200).map(|size| vec![1_u8; size]).collect();
            std::thread::sleep(std::time::Duration::from_millis(150));
            assert!(held.iter().map(Vec::len).sum::<usize>() + allocates(1) > 0);
        });
        println!("little");
    }

    /// As many call stacks as there are numbers of so many bits, each of which holds 16 bytes.
    pub(super) fn has_many_stacks(args: &[String]) {
        #[inline(never)]
        #[allow(clippy::vec_box, reason = "the boxes are the blocks")]
        fn down(bits: u32, held: &mut Vec<Box<[u64; 2]>>) {
            if bits == 0 {
                held.push(black_box(Box::new([1, 2])));
                return black_box(());
            }
            down(bits - 1, held);
            black_box(());
            down(bits - 1, held);
            black_box(());
        }
        let bits: u32 = args[0].parse().unwrap();
        let mut held = Vec::with_capacity(1_usize << bits);
        down(bits, &mut held);
        let stats = heapprof::stats().map_or(0, |stats| stats.live_bytes);
        let _ = heapprof::mark();
        let _ = heapprof::sample_now();
        println!("{} {stats}", held.len());
    }

    /// Starts and stops profiles of all breakdowns in turn, with blocks that outlive them.
    pub(super) fn starts_profiles(_: &[String]) {
        use heapprof::Breakdown::{
            Arc, Birth, CallStack, Centre, Description, Module, Size, Stack, Thread, Type,
        };
        let plans: [&[heapprof::Breakdown]; 9] = [
            &[Arc],
            &[Stack],
            &[CallStack, Type],
            &[Size],
            &[Thread, Birth, Stack],
            &[Module],
            &[Description, Arc, CallStack, Type, Thread, Size, Birth, Centre],
            &[Centre],
            &[Type],
        ];
        for round in 0..9 {
            let plan = plans[round % plans.len()];
            let mut builder = heapprof::Profiler::builder().output(format!("run{round}")).quiet(true);
            builder = builder.interval(std::time::Duration::from_millis(1)).breakdowns(plan.iter().copied());
            builder = builder.depth(1 + round * 12);
            let profile = builder.start().unwrap();
            let work = || {
                for size in 0..100 {
                    keep(black_box(vec![0; 1 + size * round]));
                    assert!(allocates(size) > 0);
                }
            };
            if round % 3 == 0 {
                heapprof::cost_centre!("inside" => work());
            } else {
                std::thread::scope(|scope| scope.spawn(work).join().unwrap());
            }
            let _ = KEPT.lock().unwrap().pop();
            let live = heapprof::stats().unwrap().live_bytes;
            let files = profile.stop().unwrap();
            for file in std::iter::once(&files.hp).chain(&files.more) {
                let profile = heapprof::hp::read(std::fs::File::open(file).unwrap()).unwrap();
                let last = profile.times_s.len() - 1;
                let sum: u64 = profile.bands.iter().map(|band| band.value(last)).sum();
                assert_eq!(sum, live, "round {round}, {}", file.display());
            }
        }
        println!("started");
    }

    thread_local! {
        static LATE: RefCell<Vec<Late>> = const { RefCell::new(Vec::new()) };
    }

    struct Late;

    impl Drop for Late {
        fn drop(&mut self) {
            assert!(allocates(9) > 0);
        }
    }

    /// Threads whose last blocks come from the end of their thread-locals.
    pub(super) fn ends_late(_: &[String]) {
        on_threads(4, |_| {
            for _ in 0..50 {
                std::thread::spawn(|| LATE.with(|late| late.borrow_mut().extend([Late, Late])))
                    .join()
                    .unwrap();
            }
        });
        println!("late");
    }

    type Role = (&'static str, fn(&[String]));

    pub(super) const ROLES: &[Role] = &[
        ("starts_threads", starts_threads),
        ("overflows", overflows),
        ("recurses", recurses),
        ("has_short_stacks", has_short_stacks),
        ("has_small_stacks", has_small_stacks),
        ("has_fibers", has_fibers),
        ("has_odd_registers", has_odd_registers),
        ("reuses_stacks", reuses_stacks),
        ("is_called_by_c", is_called_by_c),
        ("loads_libraries", loads_libraries),
        ("handles_signals", handles_signals),
        ("forks", forks),
        ("has_no_files", has_no_files),
        ("is_locked_up", is_locked_up),
        ("needs_little", needs_little),
        ("has_many_stacks", has_many_stacks),
        ("starts_profiles", starts_profiles),
        ("ends_late", ends_late),
    ];
}

#[cfg(unframed)]
fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let name = args[0].strip_prefix("role=").unwrap();
    let role = roles::ROLES.iter().find(|(known, _)| *known == name).unwrap();
    role.1(&args[1..]);
}

// ---- tests -------------------------------------------------------------------------------------

#[cfg(not(unframed))]
use tests::main;

#[cfg(not(unframed))]
mod tests {
    use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
    use std::path::Path;
    use std::process::{Command, ExitCode};

    use heapprof::hp::unescape_label;

    use super::common::guest::{Folder, Guest, Outcome};
    use super::common::harness::{self, named};
    use super::common::profile::whole_hp;
    use super::common::tools::{find, is_root, skip};
    use super::{roles, unframed_common};

    /// A way to run a role: whether without frame pointers, and the settings.
    #[derive(Clone, Copy, Debug)]
    struct Way(bool, &'static [(&'static str, &'static str)]);

    const ALONE: [Way; 2] = [Way(false, &[]), Way(true, &[])];
    const ALL: Way = Way(false, &[("HEAPPROF_INTERVAL", "1ms"), ("HEAPPROF_BREAKDOWN", "all")]);
    const STACKS: Way = Way(
        false,
        &[("HEAPPROF_INTERVAL", "1ms"), ("HEAPPROF_BREAKDOWN", "callstack"), ("HEAPPROF_DEPTH", "128")],
    );
    const INLINE: Way = Way(
        false,
        &[("HEAPPROF_INTERVAL", "1ms"), ("HEAPPROF_BREAKDOWN", "all"), ("HEAPPROF_SAMPLER", "inline")],
    );
    const THIN: Way =
        Way(false, &[("HEAPPROF_INTERVAL", "1ms"), ("HEAPPROF_BREAKDOWN", "all"), ("HEAPPROF_SAMPLE", "1k")]);
    const UNWOUND: Way = Way(
        true,
        &[("HEAPPROF_INTERVAL", "1ms"), ("HEAPPROF_BREAKDOWN", "callstack,type"), ("HEAPPROF_SAMPLE", "off")],
    );
    const NOW_AND_THEN: Way = Way(true, &[("HEAPPROF_INTERVAL", "1ms")]);

    fn unframed_program() -> &'static Path {
        unframed_common::build("guest_capture")
    }

    fn guest(folder: &Folder, role: &str, args: &[&str], Way(unframed, settings): Way) -> Guest {
        let mut guest = folder.guest(role);
        if unframed {
            let mut command = Command::new(unframed_program());
            command.arg0("app").arg(format!("role={role}")).current_dir(folder.out());
            for (variable, _) in std::env::vars_os() {
                if variable.to_string_lossy().starts_with("HEAPPROF") {
                    command.env_remove(variable);
                }
            }
            command.env("RUST_BACKTRACE", "0");
            guest.command = command;
        }
        guest.command.args(args);
        settings.iter().fold(guest, |guest, (variable, value)| guest.env(variable, value))
    }

    /// Exit code, signal, output, and what it said on stderr besides our lines and without numbers.
    type End = (Option<i32>, Option<i32>, String, String);

    fn end(outcome: &Outcome) -> End {
        let lines = outcome.stderr.lines().filter(|line| !line.starts_with("heapprof: "));
        let said: Vec<&str> = lines.collect();
        let said = said.join("\n").chars().filter(|letter| !letter.is_ascii_digit()).collect();
        (outcome.status.code(), outcome.status.signal(), outcome.text(), said)
    }

    /// Runs a role alone and in some ways; all must end alike, and well.
    #[track_caller]
    fn ends_well(role: &str, args: &[&str], ways: &[Way]) -> Vec<Folder> {
        let alone = ALONE.map(|way| {
            let is_needed = ways.iter().any(|other| other.0 == way.0);
            is_needed.then(|| end(&guest(&Folder::new(), role, args, way).run().ended_with(0)))
        });
        let run = |&way: &Way| {
            let folder = Folder::new();
            let outcome = guest(&folder, role, args, way).run();
            let wanted = alone[usize::from(way.0)].as_ref().unwrap();
            assert_eq!(&end(&outcome), wanted, "{role}, {way:?}: {}", outcome.stderr);
            whole_hp(&folder.file("app.hp"));
            folder
        };
        ways.iter().map(run).collect()
    }

    fn threads_end_while_they_are_sampled() {
        ends_well("starts_threads", &[], &[STACKS, INLINE, UNWOUND]);
        ends_well("ends_late", &[], &[ALL]);
    }

    /// Std tells an overflow from other faults by the address; C code with large frames can miss the page
    /// that it knows, with or without us. So either end may be, but never another, and not always the mute one.
    fn an_overflow_stays_an_overflow() {
        for (thread, ways) in [("other", [ALONE[0], ALL, STACKS]), ("main", [ALONE[0], INLINE, UNWOUND])] {
            for way in ways {
                let told = (0..6).find(|_| {
                    let outcome = guest(&Folder::new(), "overflows", &[thread], way).run();
                    let ended = outcome.status.signal();
                    let is_told = outcome.stderr.contains("has overflowed its stack");
                    assert_eq!(
                        ended,
                        Some(if is_told { libc::SIGABRT } else { libc::SIGSEGV }),
                        "{way:?}: {outcome:?}"
                    );
                    assert_eq!(outcome.text(), "", "{way:?}");
                    is_told
                });
                assert!(told.is_some(), "{way:?}: no overflow was told of");
            }
        }
    }

    fn deep_recursion_is_no_trouble() {
        ends_well("recurses", &[], &[STACKS, UNWOUND]);
    }

    fn threads_of_c_may_be_one_function() {
        const SITES: Way = Way(
            true,
            &[("HEAPPROF_INTERVAL", "1ms"), ("HEAPPROF_BREAKDOWN", "arc,type"), ("HEAPPROF_SAMPLE", "off")],
        );
        ends_well("has_short_stacks", &[], &[STACKS, UNWOUND, SITES, NOW_AND_THEN]);
    }

    fn small_stacks_are_enough() {
        let runs = |kib: u64, way: Way| {
            let outcome = guest(&Folder::new(), "has_small_stacks", &[&(kib << 10).to_string()], way).run();
            outcome.text() == "small\n"
        };
        for unframed in [false, true] {
            let alone = ALONE[usize::from(unframed)];
            let least = (16..256).step_by(8).find(|&kib| runs(kib, alone)).expect("a stack that is enough");
            for way in [STACKS, INLINE, UNWOUND].into_iter().filter(|way| way.0 == unframed) {
                let needed = (least..256).step_by(8).find(|&kib| runs(kib, way)).unwrap();
                println!("{least} KiB alone, {needed} KiB with {way:?}");
                // A sample on the thread itself takes what the profiler's own thread has.
                let more = if way.1 == INLINE.1 { 112 } else { 12 };
                assert!(needed <= least + more, "{least} KiB alone, {needed} KiB with {way:?}");
            }
        }
    }

    fn fibers_are_stacks_too() {
        ends_well("has_fibers", &[], &[ALL, STACKS, UNWOUND]);
    }

    fn any_number_may_be_in_the_frame_pointers_register() {
        ends_well("has_odd_registers", &[], &[ALL, STACKS, UNWOUND]);
    }

    fn a_stack_may_be_shorter_than_the_one_before() {
        ends_well("reuses_stacks", &[], &[ALL, STACKS, UNWOUND]);
    }

    /// Compiles C to a library.
    fn library(folder: &Folder, name: &str, code: &str, options: &[&str]) -> Option<String> {
        let cc = find("cc")?;
        let [source, library] = ["c", "so"].map(|end| folder.root().join(format!("{name}.{end}")));
        std::fs::write(&source, code).unwrap();
        let mut cc = Command::new(cc);
        cc.args(["-O2", "-shared", "-fPIC"]).args(options).arg("-o").arg(&library).arg(&source);
        assert!(cc.status().unwrap().success());
        Some(library.to_str().unwrap().to_owned())
    }

    fn c_without_frame_pointers_calls_back() {
        const CODE: &str = "
            #include <stddef.h>
            typedef size_t (*back)(size_t);
            /* More numbers than there are registers, so that none is spared. */
            size_t turn(back call, size_t n) {
                size_t a = n * 3, b = n ^ 0x5555, c = n + 7, d = ~n, e = n << 3, f = n - 9;
                for (size_t i = 0; i < n % 5 + 1; i++) {
                    a += call(b & 1023); b += call(c & 1023); c ^= call(d & 511); d += e; e ^= f; f += a;
                }
                return a ^ b ^ c ^ d ^ e ^ f;
            }";
        let folder = Folder::new();
        let Some(path) = library(&folder, "odd", CODE, &["-fomit-frame-pointer"]) else { return };
        ends_well("is_called_by_c", &[&path], &[STACKS, THIN, UNWOUND]);
    }

    fn libraries_come_and_go() {
        let build = Folder::new();
        let Some((one, two)) = libraries(&build) else { return };
        for (how, way) in [("samples", STACKS), ("-", UNWOUND)] {
            ends_well("loads_libraries", &[&one, &two, "2", how], &[way]);
        }
    }

    /// Two libraries at one address: a block keeps the name of the one that was there when it was asked for,
    /// or has none.
    fn no_name_is_another_librarys() {
        let build = Folder::new();
        let Some((one, two)) = libraries(&build) else { return };
        const EACH: &[(&str, &str)] = &[
            ("HEAPPROF_INTERVAL", "1ms"),
            ("HEAPPROF_BREAKDOWN", "callstack,arc"),
            ("HEAPPROF_NAME_CHARS", "4900"),
            ("HEAPPROF_SAMPLE", "off"),
        ];
        for unframed in [false, true] {
            let way = Way(unframed, EACH);
            for folder in ends_well("loads_libraries", &[&one, &two, "4", "samples"], &[way]) {
                right_names(&folder, true, way);
            }
        }
        // Nobody has looked while the first library was there.
        const LATE: &[(&str, &str)] = &[
            ("HEAPPROF_INTERVAL", "3600"),
            ("HEAPPROF_BREAKDOWN", "callstack,arc"),
            ("HEAPPROF_NAME_CHARS", "4900"),
        ];
        let way = Way(false, LATE);
        for folder in ends_well("loads_libraries", &[&one, &two, "1", "-"], &[way]) {
            right_names(&folder, false, way);
        }
    }

    fn libraries(build: &Folder) -> Option<(String, String)> {
        let code = "
            #include <stddef.h>
            size_t NAME(size_t (*call)(size_t), size_t n) { return call(n) + 1; }";
        let options = ["-fno-omit-frame-pointer", "-DNAME=one_call"];
        let one = library(build, "one", code, &options)?;
        Some((one, library(build, "two", code, &[options[0], "-DNAME=two_call"])?))
    }

    /// That no band has a function of one library in a call stack through the other.
    fn right_names(folder: &Folder, all: bool, way: Way) {
        let (mut right, mut others) = (0, 0);
        for file in folder.files().iter().filter(|file| file.ends_with(".hp")) {
            for band in whole_hp(&folder.file(file)).bands {
                let name = String::from_utf8_lossy(&band.name).into_owned();
                let labels: Vec<String> =
                    name.split('/').map(|label| unescape_label(label).into_owned()).collect();
                let has = |part: &str| labels.iter().any(|label| label.contains(part));
                for (asked, own, other) in
                    [("asked_under_one", "one_call", "two"), ("asked_under_two", "two_call", "one")]
                {
                    if has(asked) {
                        let is_others = |label: &String| {
                            label.starts_with(&format!("{other}_call"))
                                || label.contains(&format!("{other}.so"))
                        };
                        others += usize::from(labels.iter().any(is_others));
                        right += usize::from(has(own));
                    }
                }
            }
        }
        assert_eq!(others, 0, "{others} bands have the other library's name, {right} the right one: {way:?}");
        assert!(right >= if all { 2 } else { 0 }, "{right} bands have the libraries' names: {way:?}");
    }

    fn handlers_allocate_on_their_stacks() {
        ends_well("handles_signals", &[], &[STACKS, INLINE, UNWOUND]);
    }

    fn forks_of_many_threads_go_on() {
        ends_well("forks", &[], &[ALL, UNWOUND]);
    }

    fn without_descriptors_there_is_no_trouble() {
        ends_well("has_no_files", &[], &[ALL, UNWOUND]);
    }

    fn without_proc_there_is_no_trouble() {
        if !is_root() {
            return skip("not root");
        }
        let empty = Folder::new();
        ends_well("is_locked_up", &[empty.out().to_str().unwrap()], &[ALL, STACKS, UNWOUND]);
    }

    fn little_address_space_ends_no_program() {
        for mib in [40, 60, 90, 130, 200, 300, 450, 700, 1_000] {
            let run = |way: Way| {
                let folder = Folder::new();
                let mut guest = guest(&folder, "needs_little", &[], way);
                let limit = libc::rlimit { rlim_cur: mib << 20, rlim_max: mib << 20 };
                // SAFETY: a system call on a number.
                let set = move || match unsafe { libc::setrlimit(libc::RLIMIT_AS, &limit) } {
                    0 => Ok(()),
                    _ => Err(std::io::Error::last_os_error()),
                };
                // SAFETY: the closure makes a system call only.
                unsafe { guest.command.pre_exec(set) };
                let outcome = guest.run();
                (end(&outcome), outcome.stderr)
            };
            let (alone, _) = run(ALONE[0]);
            if alone.0 != Some(0) {
                println!("{mib} MiB are not enough for the program alone");
                continue;
            }
            for way in [ALL, STACKS] {
                let (profiled, stderr) = run(way);
                let lines: Vec<&str> = stderr.lines().collect();
                assert_eq!(profiled, alone, "{mib} MiB, {way:?}: {lines:?}");
            }
        }
    }

    fn eight_thousand_call_stacks_have_bands_of_their_own() {
        check_many_stacks("13", &[("HEAPPROF_BREAKDOWN", "callstack,stack")], true);
    }

    fn more_call_stacks_than_there_is_room_for() {
        // Which breakdowns there will be is known before the first block if the environment says it: then
        // there is more room. Here it does not.
        check_many_stacks("17", &[], false);
    }

    /// As many call stacks as numbers of so many bits: totals are exact, and if there is no room for all,
    /// the rest is in OTHER and one line says so.
    fn check_many_stacks(bits: &str, settings: &'static [(&'static str, &'static str)], fits: bool) {
        let folder = Folder::new();
        let file = "breakdown = \"callstack,stack\"\nsymbols = \"offline\"\ninterval = 3600\n";
        std::fs::write(folder.file("heapprof.toml"), file).unwrap();
        let guest = guest(&folder, "has_many_stacks", &[bits], Way(false, settings));
        let outcome = guest.env("HEAPPROF_STACKS", "16").run().ended_with(0);
        let text = outcome.text();
        let (held, live) = text.trim_end().split_once(' ').unwrap();
        assert_eq!(held, (1_u32 << bits.parse::<u32>().unwrap()).to_string());
        let live: u64 = live.parse().unwrap();
        let [by_call, by_centre] = ["app.hp", "app.stack.hp"].map(|file| whole_hp(&folder.file(file)));
        let at = by_call.times_s.iter().position(|time_s| *time_s >= by_call.marks_s[0]).unwrap();
        let sum = |hp: &heapprof::hp::Profile| hp.bands.iter().map(|band| band.value(at)).sum::<u64>();
        assert_eq!((sum(&by_call), sum(&by_centre)), (live, live), "{bits} bits");
        let other = by_call.band("OTHER").map_or(0, |band| band.value(at));
        println!("{bits} bits: {} bands, {other} of {live} bytes in OTHER", by_call.bands.len());
        let full: Vec<&str> = outcome.lines().into_iter().filter(|line| line.contains("no room")).collect();
        assert_eq!((other == 0, full.is_empty()), (fits, fits), "{:?}", outcome.lines());
        assert_eq!(outcome.lines().len(), if fits { 1 } else { 2 }, "{:?}", outcome.lines());
    }

    fn profiles_of_all_kinds_follow_each_other() {
        for way in [Way(false, &[("HEAPPROF", "armed")]), Way(true, &[("HEAPPROF", "armed")])] {
            let outcome = guest(&Folder::new(), "starts_profiles", &[], way).run().ended_with(0);
            assert_eq!(outcome.text(), "started\n");
        }
    }

    const TESTS: &[harness::Test] = named![
        a_stack_may_be_shorter_than_the_one_before,
        no_name_is_another_librarys,
        little_address_space_ends_no_program,
        more_call_stacks_than_there_is_room_for,
        threads_end_while_they_are_sampled,
        an_overflow_stays_an_overflow,
        deep_recursion_is_no_trouble,
        threads_of_c_may_be_one_function,
        small_stacks_are_enough,
        fibers_are_stacks_too,
        any_number_may_be_in_the_frame_pointers_register,
        c_without_frame_pointers_calls_back,
        libraries_come_and_go,
        handlers_allocate_on_their_stacks,
        forks_of_many_threads_go_on,
        without_descriptors_there_is_no_trouble,
        without_proc_there_is_no_trouble,
        eight_thousand_call_stacks_have_bands_of_their_own,
        profiles_of_all_kinds_follow_each_other,
    ];

    pub(super) fn main() -> ExitCode {
        harness::main(roles::ROLES, TESTS, 2)
    }
}
