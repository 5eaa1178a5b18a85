//! A program that asks for memory at places whose names are known, in ways that the first argument says.

use std::ffi::{CString, c_void};
use std::hint::black_box;

mod sites;
mod threads;

#[global_allocator]
static ALLOC: heapprof::HeapProf<std::alloc::System> = heapprof::HeapProf::with(std::alloc::System);

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let rest: Vec<&str> = args.iter().skip(1).map(String::as_str).collect();
    match args[0].as_str() {
        "sites" => {
            // Where the program lies in memory.
            println!("{:p}", main as fn());
            held(sites::all);
        }
        "replaced" => {
            let own = std::env::current_exe().unwrap();
            match rest.first() {
                Some(other) => std::fs::rename(other, own).unwrap(),
                None => std::fs::remove_file(own).unwrap(),
            }
            held(sites::all);
        }
        "idle" => idles(rest[0].parse().unwrap()),
        "forks" => forks(),
        "libraries" => calls_libraries(&rest),
        "threads" => threads::all(),
        other => panic!("no role {other}"),
    }
}

/// Takes a sample while there is what `work` gives.
#[inline(never)]
fn held<T>(work: impl FnOnce() -> T) {
    let held = work();
    heapprof::sample_now().unwrap();
    drop(black_box(held));
}

/// A child with a profile of its own asks at the places.
fn forks() {
    // SAFETY: the only thread that runs code of ours; the profiler makes its own ready for this.
    match unsafe { libc::fork() } {
        0 => {
            let profile = heapprof::Profiler::builder().start().unwrap();
            held(sites::all);
            profile.stop().unwrap();
        }
        child => {
            let mut status = 0;
            // SAFETY: a child of ours; the status goes to a live local.
            assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
            assert_eq!(status, 0);
            println!("{child}");
        }
    }
}

/// New places to be named, five times, each followed by samples until long after they have names. Says how much
/// memory is resident, in KiB: before, with the names just made, and at the end of each turn, when what the C
/// library keeps of freed memory has been given back.
fn idles(samples: usize) {
    println!("{}", resident_kib());
    let turns = [turn::<1>, turn::<2>, turn::<3>, turn::<4>, turn::<5>];
    let held = turns.map(|turn| {
        let held = turn();
        heapprof::sample_now().unwrap();
        println!("{}", resident_kib());
        for _ in 0..samples {
            heapprof::sample_now().unwrap();
        }
        // SAFETY: no preconditions.
        unsafe { libc::malloc_trim(0) };
        println!("{}", resident_kib());
        held
    });
    drop(black_box(held));
}

#[inline(never)]
fn turn<const NUMBER: usize>() -> Vec<u64> {
    Vec::with_capacity(black_box(NUMBER * 100))
}

fn resident_kib() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.split_whitespace().next().unwrap().parse().unwrap()
}

// ---- libraries ---------------------------------------------------------------------------------

/// Calls the function `call` of each library in turn, which calls back. `path` is loaded for good, `-path` is
/// unloaded after the sample that follows. Says the addresses of the functions.
#[inline(never)]
fn calls_libraries(paths: &[&str]) {
    let mut held = Vec::with_capacity(paths.len());
    for (number, path) in paths.iter().enumerate() {
        let (path, is_unloaded) = path.strip_prefix('-').map_or((*path, false), |path| (path, true));
        let path = CString::new(path).unwrap();
        // SAFETY: one of the test's own libraries, which has no code that runs as it is loaded.
        let library = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
        assert!(!library.is_null(), "{path:?}");
        // SAFETY: the handle is open, the name a C string.
        let call = unsafe { libc::dlsym(library, c"call".as_ptr()) };
        assert!(!call.is_null(), "{path:?}");
        println!("{call:p}");
        // SAFETY: that is what the function is in each of the libraries.
        let call: extern "C" fn(extern "C" fn(usize) -> *mut c_void, usize) -> *mut c_void =
            unsafe { std::mem::transmute(call) };
        held.push(call(called_back, 1 << number));
        heapprof::sample_now().unwrap();
        if is_unloaded {
            // SAFETY: the handle is open, and none of its code runs.
            assert_eq!(unsafe { libc::dlclose(library) }, 0);
        }
    }
    heapprof::sample_now().unwrap();
    black_box(held);
}

/// Never to be freed.
#[inline(never)]
extern "C" fn called_back(bytes: usize) -> *mut c_void {
    black_box(Vec::<u8>::with_capacity(black_box(bytes))).leak().as_mut_ptr().cast()
}
