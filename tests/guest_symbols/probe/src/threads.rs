//! Threads with and without names, by std and by C.

use std::ffi::{CStr, c_void};
use std::hint::black_box;
use std::thread::Builder;

/// Never to be freed.
#[inline(never)]
fn asks(bytes: usize) {
    black_box(Vec::<u8>::with_capacity(black_box(bytes))).leak();
}

/// Asks on a thread of this name, under which `work` is done before.
fn on_thread(name: Option<&str>, bytes: usize, work: impl FnOnce() + Send + 'static) {
    let builder = name.map_or_else(Builder::new, |name| Builder::new().name(name.to_owned()));
    let thread = builder.spawn(move || {
        work();
        asks(bytes);
    });
    thread.unwrap().join().unwrap();
}

fn rename(name: &'static CStr) {
    // SAFETY: this thread, and a C string of less than 16 bytes.
    assert_eq!(unsafe { libc::pthread_setname_np(libc::pthread_self(), name.as_ptr()) }, 0);
}

/// A thread by C whose body names it, if it has a name.
fn on_raw_thread(body: extern "C" fn(*mut c_void) -> *mut c_void) {
    let mut thread = 0;
    // SAFETY: the body takes nothing; the handle goes to a live local, and is joined once.
    unsafe {
        assert_eq!(libc::pthread_create(&mut thread, std::ptr::null(), body, std::ptr::null_mut()), 0);
        assert_eq!(libc::pthread_join(thread, std::ptr::null_mut()), 0);
    }
}

extern "C" fn of_c(_: *mut c_void) -> *mut c_void {
    asks(1 << 20);
    std::ptr::null_mut()
}

extern "C" fn named_by_c(_: *mut c_void) -> *mut c_void {
    // SAFETY: a C string of less than 16 bytes.
    assert_eq!(unsafe { libc::prctl(libc::PR_SET_NAME, c"by prctl".as_ptr()) }, 0);
    asks(1 << 21);
    std::ptr::null_mut()
}

pub fn all() {
    on_thread(Some("a worker with quite a long name 1"), 1 << 14, || {});
    on_thread(Some("a worker with quite a long name 2"), 1 << 15, || {});
    on_thread(Some("a worker with quite a long name 2"), 1 << 16, || {});
    on_thread(None, 1 << 17, || {});
    // Renamed after it asked for the first time, in either way: std goes on with the name it was given.
    on_thread(Some("renamed by pthread"), 1 << 18, || {
        asks(1);
        rename(c"another name");
    });
    on_thread(None, 1 << 19, || {
        asks(1);
        rename(c"named later");
    });
    on_raw_thread(of_c);
    on_raw_thread(named_by_c);
    asks(1 << 22);
    heapprof::sample_now().unwrap();
}
