//! The files loaded in this process: where each lies, what it is called and which build it is.
//!
//! It asks the dynamic loader (`dl_iterate_phdr`) and the kernel (`/proc/self/maps`), and reads memory only
//! through the kernel, so that a header that lies, or a library unloaded meanwhile, gives no answer instead
//! of a fault. It never opens the files themselves; [`Module::image`] does.

use std::collections::HashSet;
use std::ffi::{CStr, OsStr, c_int, c_void};
use std::fs::{self, File};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use super::Image;

/// The file of the running program, also when its path is gone or holds another build.
const OWN_FILE: &str = "/proc/self/exe";
/// What the kernel adds to the path of a mapped file that has been removed or replaced.
const DELETED: &[u8] = b" (deleted)";
/// The longest note segment that is read; the build id lies in one of some hundred bytes.
const MAX_NOTE_BYTES: usize = 64 << 10;
/// The longest build id that is taken; linkers write 8 to 20 bytes, `--build-id=0x...` whatever is given.
const MAX_BUILD_ID_BYTES: usize = 64;
const NOTE_GNU_BUILD_ID: u32 = 3;
/// The longest call instruction in bytes that ends in a return address: x86-64's, with SIB and disp32.
const MAX_CALL_BYTES: usize = 7;

/// One loaded file: the program, a shared object or the kernel's `[vdso]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Module {
    /// Where the file was when it was mapped, absolute where the kernel tells; `[vdso]` for the kernel's own.
    pub path: PathBuf,
    /// The last part of `path`, unique in the list: a second module of the same name has `#2` behind it.
    pub name: String,
    /// The GNU build id in memory, 1 to 64 bytes; none if the linker wrote none.
    pub build_id: Option<Vec<u8>>,
    /// What the loader added to the addresses in the file, modulo 2^64.
    pub bias: u64,
    /// Executable parts in memory, `[start, end)` with `start < end`.
    code: Vec<(u64, u64)>,
    /// Whether this is the program itself.
    is_program: bool,
    /// Whether the file at `path` was another one already when the list was made.
    is_replaced: bool,
}

impl Module {
    /// Opens the file this module was loaded from, if it is still the same build.
    ///
    /// # Errors
    /// One line: there is no such file, it is no ELF file, its build id is another one, or it was
    /// replaced and has no build id to tell by.
    pub fn image(&self) -> Result<Image, String> {
        let id = self.build_id.as_deref();
        // Nothing but the kernel's own way to it tells a program without build id from its successor.
        if self.is_program && id.is_none() {
            return Image::open(Path::new(OWN_FILE), None);
        }
        let opened = match self.is_replaced && (id.is_none() || self.is_program) {
            true => Err(format!("{}: it was replaced while the program ran", self.path.display())),
            false => Image::open(&self.path, id),
        };
        match opened {
            Err(_) if self.is_program => Image::open(Path::new(OWN_FILE), id),
            opened => opened,
        }
    }
}

/// The loaded files at one moment, found by address.
#[derive(Clone, Debug)]
pub struct Modules {
    /// In the loader's order, the program first.
    modules: Vec<Module>,
    /// Start and end of all executable parts and the index of their module, by rising start.
    code: Vec<(u64, u64, usize)>,
    /// What [`load_counts`] was when the list was begun.
    counts: (u64, u64),
}

impl Modules {
    /// Asks which files are loaded now. What is loaded meanwhile may be missing: see [`is_current`](Self::is_current).
    ///
    /// It takes the loader's lock for a moment and allocates while it has it, as unwinding does.
    pub fn loaded() -> Modules {
        let counts = load_counts();
        let files = mapped_files();
        let mut names = HashSet::new();
        let modules: Vec<Module> =
            loaded_objects().into_iter().map(|object| module(object, &files, &mut names)).collect();
        let mut code: Vec<(u64, u64, usize)> = modules
            .iter()
            .enumerate()
            .flat_map(|(index, module)| module.code.iter().map(move |&(start, end)| (start, end, index)))
            .collect();
        code.sort_unstable();
        Modules { modules, code, counts }
    }

    /// Gives every module the name that it has in `seen`, or one that no module there has, and adds it: so that
    /// a name means one module over many lists.
    pub fn name_apart(&mut self, seen: &mut Vec<Module>) {
        for module in &mut self.modules {
            let same = |other: &&Module| (&other.path, &other.build_id) == (&module.path, &module.build_id);
            if let Some(known) = seen.iter().find(same) {
                module.name.clone_from(&known.name);
                continue;
            }
            let is_taken = |name: &str| seen.iter().any(|other| other.name == name);
            let stem = module.name.clone();
            let mut number = 2;
            while is_taken(&module.name) {
                module.name = format!("{stem}#{number}");
                number += 1;
            }
            seen.push(module.clone());
        }
    }

    /// All modules, in the order of loading.
    pub fn iter(&self) -> impl Iterator<Item = &Module> {
        self.modules.iter()
    }

    /// Whether no file has been loaded or unloaded since. An unloaded library's addresses may by now be another's.
    pub fn is_current(&self) -> bool {
        self.counts == load_counts()
    }

    /// If a file was unloaded after `earlier` was made: the code that stayed what it was, as sorted `[start, end)`
    /// pairs. Any other address may have been one file's and then another's.
    pub fn lasting_since(&self, earlier: &Modules) -> Option<Vec<(u64, u64)>> {
        if self.counts.1 == earlier.counts.1 {
            return None;
        }
        let stayed = |module: &Module| {
            let same = |other: &Module| {
                (&other.path, &other.build_id, other.bias) == (&module.path, &module.build_id, module.bias)
            };
            earlier.modules.iter().any(same)
        };
        let lasting = self.code.iter().filter(|(.., index)| self.modules.get(*index).is_some_and(stayed));
        Some(lasting.map(|&(start, end, _)| (start, end)).collect())
    }

    /// The module whose code ends at or goes on behind `address`, a return address, and the address as it was
    /// linked, before the loader moved the file.
    ///
    /// A return address is behind its call, so one at the very end of the code still belongs to it.
    pub fn find(&self, address: u64) -> Option<(&Module, u64)> {
        let call = address.checked_sub(1)?;
        let behind = self.code.partition_point(|&(start, _, _)| start <= call);
        let &(_, end, index) = self.code.get(behind.checked_sub(1)?)?;
        let module = self.modules.get(index)?;
        (call < end).then(|| (module, address.wrapping_sub(module.bias)))
    }

    /// Whether `address` lies behind a byte of code.
    pub fn is_code(&self, address: u64) -> bool {
        self.find(address).is_some()
    }

    /// Whether `address` is in code and the bytes before it are a call, so that it can be a return address.
    /// On processors other than x86-64 and AArch64, whether it is in code.
    pub fn is_return_address(&self, address: u64) -> bool {
        self.is_code(address) && follows_call(address)
    }
}

/// What the loader says of one object.
struct Object {
    /// Empty for the program itself with glibc.
    name: Vec<u8>,
    bias: u64,
    /// Where the loader has the program headers, in memory.
    headers_at: u64,
    /// Those of `PT_LOAD` and `PT_NOTE`.
    segments: Vec<Segment>,
}

#[derive(Clone, Copy)]
struct Segment {
    is_note: bool,
    flags: u32,
    /// In memory.
    start: u64,
    /// `start <= end`.
    end: u64,
}

fn module(object: Object, files: &[MappedFile], names: &mut HashSet<String>) -> Module {
    let code: Vec<(u64, u64)> = object
        .segments
        .iter()
        .filter(|segment| !segment.is_note && segment.flags & libc::PF_X != 0)
        .map(|segment| (segment.start, segment.end))
        .collect();
    let is_vdso = is_within(&object, auxiliary(libc::AT_SYSINFO_EHDR));
    let is_program = object.headers_at == auxiliary(libc::AT_PHDR);
    let mapped = code.first().and_then(|&(start, _)| file_at(files, start));
    let (path, is_replaced) = match mapped {
        _ if is_vdso => (PathBuf::from("[vdso]"), false),
        Some(file) => undeleted(&file.path),
        None if is_program => fs::read_link(OWN_FILE)
            .map_or((PathBuf::new(), false), |path| undeleted(path.as_os_str().as_bytes())),
        None => (PathBuf::from(OsStr::from_bytes(&object.name)), false),
    };
    Module {
        name: unique(base_name(&path), names),
        // With `ld.so program`, the running file is the loader.
        is_program: is_program
            && fs::read_link(OWN_FILE).is_ok_and(|own| undeleted(own.as_os_str().as_bytes()).0 == path),
        path,
        build_id: build_id(&object),
        bias: object.bias,
        code,
        is_replaced,
    }
}

fn is_within(object: &Object, address: u64) -> bool {
    let mut loads = object.segments.iter().filter(|segment| !segment.is_note);
    address != 0 && loads.any(|load| (load.start..load.end).contains(&address))
}

/// The path without the kernel's remark, and whether it was there. A file may really be called so.
fn undeleted(path: &[u8]) -> (PathBuf, bool) {
    let whole = PathBuf::from(OsStr::from_bytes(path));
    match path.strip_suffix(DELETED) {
        Some(before) if !whole.exists() => (PathBuf::from(OsStr::from_bytes(before)), true),
        _ => (whole, false),
    }
}

fn base_name(path: &Path) -> String {
    let last = path.file_name().unwrap_or(path.as_os_str());
    match last.to_string_lossy() {
        name if name.is_empty() => "unknown".to_owned(),
        name => name.into_owned(),
    }
}

fn unique(name: String, taken: &mut HashSet<String>) -> String {
    let numbered = (2u64..).map(|number| format!("{name}#{number}"));
    let free = std::iter::once(name.clone()).chain(numbered).find(|name| !taken.contains(name));
    let free = free.unwrap_or(name);
    taken.insert(free.clone());
    free
}

// ---- the loader -------------------------------------------------------------------------------

/// How often a file was loaded and unloaded in this process so far.
fn load_counts() -> (u64, u64) {
    let mut counts = (0, 0);
    // SAFETY: `first_counts` takes its last argument as the `(u64, u64)` that it is, and the call ends before
    // `counts` does.
    unsafe { libc::dl_iterate_phdr(Some(first_counts), (&raw mut counts).cast()) };
    counts
}

/// Reads the counters, which are the same for every object, and ends the iteration.
unsafe extern "C" fn first_counts(info: *mut libc::dl_phdr_info, size: usize, counts: *mut c_void) -> c_int {
    // Loaders older than the counters pass a shorter structure.
    if size >= std::mem::offset_of!(libc::dl_phdr_info, dlpi_subs) + size_of::<u64>() {
        // SAFETY: the loader passes a structure of `size` bytes that lives during the call, which has both
        // counters; `load_counts` passes a `(u64, u64)` of its own.
        unsafe {
            let (adds, subs) = ((*info).dlpi_adds, (*info).dlpi_subs);
            *counts.cast::<(u64, u64)>() = (adds, subs);
        }
    }
    1
}

fn loaded_objects() -> Vec<Object> {
    let mut objects: Vec<Object> = Vec::new();
    // SAFETY: `push_object` takes its last argument as the `Vec<Object>` that it is, and the call ends before
    // `objects` does.
    unsafe { libc::dl_iterate_phdr(Some(push_object), (&raw mut objects).cast()) };
    objects
}

unsafe extern "C" fn push_object(info: *mut libc::dl_phdr_info, _size: usize, objects: *mut c_void) -> c_int {
    // SAFETY: the loader passes a structure that lives during the call and has at least these members, and
    // `loaded_objects` passes a `Vec<Object>` that nothing else uses meanwhile.
    let (info, objects) = unsafe { (&*info, &mut *objects.cast::<Vec<Object>>()) };
    let name = match info.dlpi_name.is_null() {
        true => Vec::new(),
        // SAFETY: the loader's name is a C string that lives as long as the object is loaded, thus during the call.
        false => unsafe { CStr::from_ptr(info.dlpi_name) }.to_bytes().to_vec(),
    };
    let headers = match info.dlpi_phdr.is_null() {
        true => &[][..],
        // SAFETY: the loader's own program headers, `dlpi_phnum` of them, which it keeps while the object is loaded.
        false => unsafe { std::slice::from_raw_parts(info.dlpi_phdr, usize::from(info.dlpi_phnum)) },
    };
    let bias = widened(info.dlpi_addr);
    objects.push(Object {
        name,
        bias,
        headers_at: info.dlpi_phdr.addr() as u64,
        segments: headers.iter().filter_map(|header| segment(header, bias)).collect(),
    });
    0
}

#[cfg(target_pointer_width = "64")]
type Header = libc::Elf64_Phdr;
#[cfg(target_pointer_width = "32")]
type Header = libc::Elf32_Phdr;

/// A header that loads bytes or holds notes; none if it is empty or wraps around the end of memory.
fn segment(header: &Header, bias: u64) -> Option<Segment> {
    if !matches!(header.p_type, libc::PT_LOAD | libc::PT_NOTE) {
        return None;
    }
    let start = bias.wrapping_add(widened(header.p_vaddr));
    let end = start.checked_add(widened(header.p_memsz))?;
    let is_note = header.p_type == libc::PT_NOTE;
    (start < end).then_some(Segment { is_note, flags: header.p_flags, start, end })
}

/// An address or size of this machine; 32 or 64 bits wide.
fn widened(word: impl Into<u64>) -> u64 {
    word.into()
}

fn auxiliary(kind: libc::c_ulong) -> u64 {
    // SAFETY: `getauxval` reads the process's auxiliary vector and takes any number.
    widened(unsafe { libc::getauxval(kind) })
}

/// The build id in the notes, of which only what lies within a loaded segment is read.
fn build_id(object: &Object) -> Option<Vec<u8>> {
    let loads = || object.segments.iter().filter(|segment| !segment.is_note);
    let notes = object.segments.iter().filter(|segment| segment.is_note);
    let loaded = notes.filter(|note| loads().any(|load| load.start <= note.start && note.end <= load.end));
    loaded.into_iter().find_map(|note| {
        let length = usize::try_from(note.end - note.start).ok()?.min(MAX_NOTE_BYTES);
        let mut bytes = vec![0; length];
        read_memory(note.start, &mut bytes).then(|| id_in_notes(&bytes)).flatten()
    })
}

/// A note is three words (lengths of name and content, kind), the name and the content, each filled up to
/// four bytes. Notes that are filled up to eight (properties) are in a segment of their own.
fn id_in_notes(mut notes: &[u8]) -> Option<Vec<u8>> {
    while let Some((head, rest)) = notes.split_first_chunk::<12>() {
        let word = |at: usize| head.get(at..at + 4)?.try_into().ok().map(u32::from_ne_bytes);
        let (name_bytes, content_bytes) = (word(0)? as usize, word(4)? as usize);
        let content_at = name_bytes.checked_next_multiple_of(4)?;
        let content = rest.get(content_at..)?.get(..content_bytes)?;
        if word(8)? == NOTE_GNU_BUILD_ID && rest.get(..name_bytes)? == b"GNU\0" {
            return (1..=MAX_BUILD_ID_BYTES).contains(&content_bytes).then(|| content.to_vec());
        }
        notes = rest.get(content_at + content_bytes.checked_next_multiple_of(4)?..)?;
    }
    None
}

// ---- the kernel -------------------------------------------------------------------------------

/// A part of memory that a file is mapped to.
#[derive(Debug, PartialEq, Eq)]
struct MappedFile {
    start: u64,
    end: u64,
    path: Vec<u8>,
}

/// The mapped files by rising address; none if `/proc` is not there.
fn mapped_files() -> Vec<MappedFile> {
    fs::read("/proc/self/maps").map_or_else(|_| Vec::new(), |maps| parse_maps(&maps))
}

fn file_at(files: &[MappedFile], address: u64) -> Option<&MappedFile> {
    let behind = files.partition_point(|file| file.start <= address);
    files.get(behind.checked_sub(1)?).filter(|file| address < file.end)
}

/// Lines such as `55d0c000-55d0e000 r-xp 00002000 08:01 1311 /usr/bin/app (deleted)`; those without a path
/// are left out.
fn parse_maps(maps: &[u8]) -> Vec<MappedFile> {
    maps.split(|&byte| byte == b'\n').filter_map(mapped_file).collect()
}

fn mapped_file(line: &[u8]) -> Option<MappedFile> {
    let path_at = line.iter().position(|&byte| byte == b'/')?;
    let range = std::str::from_utf8(line.split(|&byte| byte == b' ').next()?).ok()?;
    let (start, end) = range.split_once('-')?;
    let (start, end) = (u64::from_str_radix(start, 16).ok()?, u64::from_str_radix(end, 16).ok()?);
    Some(MappedFile { start, end, path: unescape_newlines(&line[path_at..]) })
}

/// The kernel writes a line feed in a path as `\012`, and only that.
fn unescape_newlines(path: &[u8]) -> Vec<u8> {
    let mut rest = path;
    let mut out = Vec::with_capacity(path.len());
    while let [first, tail @ ..] = rest {
        let feed = rest.strip_prefix(b"\\012");
        out.push(if feed.is_some() { b'\n' } else { *first });
        rest = feed.unwrap_or(tail);
    }
    out
}

/// Fills `bytes` from this process's memory at `address`, or says false if not all of it can be read.
fn read_memory(address: u64, bytes: &mut [u8]) -> bool {
    let Ok(at) = usize::try_from(address) else { return false };
    let local = libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: bytes.len() };
    let remote = libc::iovec { iov_base: std::ptr::without_provenance_mut(at), iov_len: bytes.len() };
    // SAFETY: the kernel writes at most `bytes.len()` bytes to `bytes`, and checks the remote address itself.
    let read = unsafe { libc::process_vm_readv(libc::getpid(), &local, 1, &remote, 1, 0) };
    if read == -1 && matches!(io::Error::last_os_error().raw_os_error(), Some(libc::EPERM | libc::ENOSYS)) {
        // Some sandboxes forbid the call, but not the file.
        return File::open("/proc/self/mem").and_then(|memory| memory.read_exact_at(bytes, address)).is_ok();
    }
    usize::try_from(read) == Ok(bytes.len())
}

/// Whether the bytes in memory before `address` are a call instruction.
fn follows_call(address: u64) -> bool {
    let mut bytes = [0; MAX_CALL_BYTES];
    // Before the first instructions of the code there may be nothing.
    let readable = (2..=MAX_CALL_BYTES).rev().find_map(|length| {
        let tail = bytes.get_mut(MAX_CALL_BYTES - length..)?;
        read_memory(address.checked_sub(length as u64)?, tail).then_some(length)
    });
    readable.is_some_and(|length| ends_in_call(&bytes[MAX_CALL_BYTES - length..], address))
}

#[cfg(target_arch = "x86_64")]
use ends_in_x86_call as ends_in_call;

#[cfg(target_arch = "aarch64")]
use ends_in_arm_call as ends_in_call;

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn ends_in_call(_bytes: &[u8], _address: u64) -> bool {
    true
}

/// `E8 rel32`, or `FF` with 2 in the middle of the next byte and as many bytes as that one asks for.
#[cfg(any(test, target_arch = "x86_64"))]
fn ends_in_x86_call(bytes: &[u8], _address: u64) -> bool {
    let is_direct = bytes.len() >= 5 && bytes[bytes.len() - 5] == 0xE8;
    is_direct
        || (2..=bytes.len()).any(|length| match bytes[bytes.len() - length..] {
            [0xFF, mode, ref rest @ ..] => {
                mode >> 3 & 7 == 2 && length == indirect_call_bytes(mode, rest.first().copied().unwrap_or(0))
            }
            _ => false,
        })
}

/// Length in bytes of `FF mode [scale] [displacement]`.
#[cfg(any(test, target_arch = "x86_64"))]
fn indirect_call_bytes(mode: u8, scale: u8) -> usize {
    let (kind, base) = (mode >> 6, mode & 7);
    let scale_bytes = usize::from(kind != 3 && base == 4);
    let displacement = match kind {
        0 if base == 5 || (base == 4 && scale & 7 == 5) => 4,
        1 => 1,
        2 => 4,
        _ => 0,
    };
    2 + scale_bytes + displacement
}

/// `BL`, `BLR` and the forms of `BLR` that check the pointer.
#[cfg(any(test, target_arch = "aarch64"))]
fn ends_in_arm_call(bytes: &[u8], address: u64) -> bool {
    let Some(word) = bytes.last_chunk::<4>().map(|&word| u32::from_le_bytes(word)) else { return false };
    let is_call =
        word >> 26 == 0b10_0101 || word & 0xFFFF_FC1F == 0xD63F_0000 || word & 0xFEFF_F800 == 0xD63F_0800;
    address.is_multiple_of(4) && is_call
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use std::ffi::CString;
    use std::sync::{Mutex, MutexGuard, PoisonError};

    use super::super::image::testing::{Folder, cc};
    use super::*;

    /// Held by tests that load files or say that none is loaded.
    fn loading() -> MutexGuard<'static, ()> {
        static LOADING: Mutex<()> = Mutex::new(());
        LOADING.lock().unwrap_or_else(PoisonError::into_inner)
    }

    #[inline(never)]
    fn somewhere(n: u64) -> u64 {
        std::hint::black_box(n) + 1
    }

    fn address_of_somewhere() -> u64 {
        (somewhere as fn(u64) -> u64 as *const ()).addr() as u64
    }

    #[test]
    fn the_program_is_found_with_its_path_and_build() {
        let modules = Modules::loaded();
        let (module, linked) = modules.find(address_of_somewhere() + 1).unwrap();
        let own = std::env::current_exe().unwrap();
        assert_eq!(module.path, own);
        assert_eq!(Some(module.name.as_str()), own.file_name().and_then(OsStr::to_str));
        assert_eq!(linked.wrapping_add(module.bias), address_of_somewhere() + 1);
        assert!(module.is_program && !module.is_replaced);
        let image = module.image().unwrap();
        let frames = image.frames(linked);
        assert!(frames.last().unwrap().function.ends_with("modules::tests::somewhere"), "{frames:?}");
        assert_eq!(modules.iter().filter(|module| module.is_program).count(), 1);
    }

    #[test]
    fn a_program_whose_path_is_gone_is_read_all_the_same() {
        let modules = Modules::loaded();
        let mut module = modules.find(address_of_somewhere() + 1).unwrap().0.clone();
        module.is_replaced = true;
        module.path = "/nowhere/app".into();
        assert!(module.image().is_ok());
        module.is_program = false;
        module.build_id = None;
        let refusal = "/nowhere/app: it was replaced while the program ran";
        assert_eq!(module.image().map(|_| ()).unwrap_err(), refusal);
    }

    #[test]
    fn the_kernel_s_object_has_its_own_name() {
        let at = auxiliary(libc::AT_SYSINFO_EHDR);
        let modules = Modules::loaded();
        let Some((module, _)) = modules
            .iter()
            .flat_map(|module| &module.code)
            .find_map(|&(start, end)| (start..end).contains(&(at + 1)).then(|| modules.find(end)).flatten())
        else {
            return assert_eq!(at, 0);
        };
        assert_eq!((module.name.as_str(), module.path.as_path()), ("[vdso]", Path::new("[vdso]")));
        assert!(module.image().is_err());
    }

    #[test]
    fn equal_names_are_numbered() {
        let mut taken = HashSet::new();
        let mut name = |name: &str| unique(base_name(Path::new(name)), &mut taken);
        assert_eq!(name("/a/libx.so"), "libx.so");
        assert_eq!(name("/b/libx.so#2"), "libx.so#2");
        assert_eq!(name("/c/libx.so"), "libx.so#3");
        assert_eq!(name(""), "unknown");
        assert_eq!(name("/"), "/");
    }

    struct Library(*mut c_void);

    impl Library {
        fn open(path: &Path) -> Library {
            let path = CString::new(path.as_os_str().as_bytes()).unwrap();
            // SAFETY: a C string, of a shared object that runs no code when it is loaded.
            let library = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
            assert!(!library.is_null(), "{path:?}");
            Library(library)
        }

        fn address(&self, name: &CStr) -> u64 {
            // SAFETY: the handle is open as long as `self`.
            let address = unsafe { libc::dlsym(self.0, name.as_ptr()) };
            assert!(!address.is_null(), "{name:?}");
            address.addr() as u64
        }
    }

    impl Drop for Library {
        fn drop(&mut self) {
            // SAFETY: the handle is open, and nothing of the library is used any more.
            unsafe { libc::dlclose(self.0) };
        }
    }

    /// `called` has one call, to `caller`'s pointer, and `caller` calls it.
    const SOURCE: &str = "\
__attribute__((noinline)) void *caller(void) { return __builtin_return_address(0); }
void *called(void) { void *back = caller(); __asm__ volatile(\"\" : : \"r\"(back)); return back; }
";

    #[test]
    fn a_library_is_found_while_it_is_loaded() {
        let _loading = loading();
        let (one, two) = (Folder::new("load-one"), Folder::new("load-two"));
        let source = one.write("c.c", SOURCE);
        let paths = [one.join("libprobe.so"), two.join("libprobe.so")];
        let before = Modules::loaded();
        for (path, id) in paths.iter().zip(["-Wl,--build-id=0x01020304", "-Wl,--build-id=none"]) {
            if !cc(&source, path, &[id]) {
                return;
            }
        }
        assert!(before.is_current());
        let libraries = [Library::open(&paths[0]), Library::open(&paths[1])];
        assert!(!before.is_current());
        let modules = Modules::loaded();
        assert!(modules.is_current());
        for (library, (name, id)) in
            libraries.iter().zip([("libprobe.so", Some(vec![1, 2, 3, 4])), ("libprobe.so#2", None)])
        {
            let start = library.address(c"called");
            assert!(!before.is_code(start + 1) && modules.is_code(start + 1));
            let (module, linked) = modules.find(start + 1).unwrap();
            assert_eq!((module.name.as_str(), &module.build_id), (name, &id));
            let frames = module.image().unwrap().frames(linked);
            assert_eq!(frames.len(), 1);
            assert_eq!(frames[0].function, "called");
            // SAFETY: the C function of that name, without arguments, which gives a pointer.
            let called: extern "C" fn() -> *const c_void = unsafe { std::mem::transmute(start as usize) };
            let back = called().addr() as u64;
            assert!((start..start + 64).contains(&back), "{back:x} {start:x}");
            assert!(modules.is_return_address(back));
            assert!(!before.is_return_address(back));
            let others = (1..4).map(|off| back + off).filter(|&near| modules.is_return_address(near)).count();
            assert_eq!(others, 0);
        }
        // Another file takes the place of each: it must not be taken for the one in memory.
        for path in &paths {
            std::fs::remove_file(path).unwrap();
            assert!(cc(&source, path, &["-Wl,--build-id=0x05060708"]));
        }
        let replaced = Modules::loaded();
        let refusals = libraries.each_ref().map(|library| {
            let (module, _) = replaced.find(library.address(c"called") + 1).unwrap();
            assert_eq!(module.path.file_name().unwrap(), "libprobe.so");
            module.image().map(|_| ()).unwrap_err()
        });
        assert!(
            refusals[0].ends_with("libprobe.so: has build id 05060708, expected 01020304"),
            "{refusals:?}"
        );
        assert!(refusals[1].ends_with("libprobe.so: it was replaced while the program ran"), "{refusals:?}");
        drop(libraries);
        assert!(!modules.is_current());
    }

    #[test]
    fn no_address_faults() {
        let modules = Modules::loaded();
        for address in [0, 1, 2, 7, 4096, 1 << 47, u64::MAX - 1, u64::MAX] {
            assert!(!modules.is_return_address(address) && !follows_call(address), "{address:x}");
        }
        let mut bytes = [0; 4];
        assert!(!read_memory(0, &mut bytes) && !read_memory(u64::MAX - 1, &mut bytes));
        let word = 0x0102_0304_u32;
        assert!(read_memory((&raw const word).addr() as u64, &mut bytes));
        assert_eq!(u32::from_ne_bytes(bytes), word);
    }

    #[test]
    fn calls_of_every_length_are_known() {
        let calls: [&[u8]; 12] = [
            &[0xE8, 1, 2, 3, 4],
            &[0xFF, 0xD0],                   // call rax
            &[0x41, 0xFF, 0xD4],             // call r12
            &[0xFF, 0x10],                   // call [rax]
            &[0xFF, 0x14, 0xC8],             // call [rax+rcx*8]
            &[0xFF, 0x50, 0x18],             // call [rax+24]
            &[0xFF, 0x54, 0x24, 0x08],       // call [rsp+8]
            &[0xFF, 0x15, 1, 2, 3, 4],       // call [rip+...]
            &[0xFF, 0x90, 1, 2, 3, 4],       // call [rax+...]
            &[0xFF, 0x94, 0x24, 1, 2, 3, 4], // call [rsp+...]
            &[0xFF, 0x14, 0x25, 1, 2, 3, 4], // call [...]
            &[0x67, 0xE8, 1, 2, 3, 4],       // as linkers write it for a call by table
        ];
        for call in calls {
            let mut bytes = [0x90; MAX_CALL_BYTES];
            bytes[MAX_CALL_BYTES - call.len()..].copy_from_slice(call);
            assert!(ends_in_x86_call(&bytes, 0), "{call:x?}");
            assert!(ends_in_x86_call(call, 0), "{call:x?}");
            let mut moved = [0x90; MAX_CALL_BYTES];
            moved[..MAX_CALL_BYTES - 1].copy_from_slice(&bytes[1..]);
            assert!(!ends_in_x86_call(&moved, 0), "{call:x?} and one more");
            assert!(!ends_in_x86_call(&call[..call.len() - 1], 0), "{call:x?} less one");
        }
        for other in [&[0xE9, 1, 2, 3, 4][..], &[0xFF, 0xE0], &[0xFF, 0xD8], &[0xC3], &[]] {
            assert!(!ends_in_x86_call(other, 0), "{other:x?}");
        }
    }

    #[test]
    fn calls_of_arm_are_known() {
        let is_call = |word: u32| ends_in_arm_call(&word.to_le_bytes(), 8);
        assert!(
            [0x9400_0001, 0x97FF_FFFF, 0xD63F_0000, 0xD63F_03C0, 0xD73F_0811, 0xD63F_081F].map(is_call)
                == [true; 6]
        );
        // b, br, ret, nop
        assert!([0x1400_0001, 0xD61F_0000, 0xD65F_03C0, 0xD503_201F].map(is_call) == [false; 4]);
        assert!(!ends_in_arm_call(&0x9400_0001_u32.to_le_bytes(), 6) && !ends_in_arm_call(&[0, 0], 8));
    }

    #[test]
    fn cut_notes_give_no_build_id() {
        let note = |kind: u32, name: &[u8], content: &[u8]| {
            let mut note = Vec::new();
            for word in [name.len() as u32, content.len() as u32, kind] {
                note.extend(word.to_ne_bytes());
            }
            for part in [name, content] {
                note.extend(part);
                note.resize(note.len().next_multiple_of(4), 0);
            }
            note
        };
        let other = note(1, b"GNU\0", &[9; 6]);
        let build = note(NOTE_GNU_BUILD_ID, b"GNU\0", &[1, 2, 3, 4, 5, 6, 7, 8]);
        let notes = [note(3, b"Go\0", b"x"), other, build].concat();
        assert_eq!(id_in_notes(&notes), Some(vec![1, 2, 3, 4, 5, 6, 7, 8]));
        for length in 0..notes.len() {
            assert_eq!(id_in_notes(&notes[..length]), None);
        }
        assert_eq!(id_in_notes(&note(3, b"GNU\0", &[0; MAX_BUILD_ID_BYTES + 1])), None);
        assert_eq!(id_in_notes(&note(3, b"GNU\0", &[])), None);
        assert_eq!(id_in_notes(&[0xFF; 64]), None);
    }

    #[test]
    fn an_absurd_object_is_read_within_its_segments_only() {
        let segment = |is_note, start, end| Segment { is_note, flags: libc::PF_R | libc::PF_X, start, end };
        let object = |segments| Object { name: b"x".to_vec(), bias: 0, headers_at: 1, segments };
        let loads_nothing = object(vec![segment(true, 0x1000, 0x2000)]);
        let unmapped = object(vec![segment(false, 1, 4095), segment(true, 8, 4095)]);
        assert_eq!((build_id(&loads_nothing), build_id(&unmapped)), (None, None));
        let made = module(unmapped, &[], &mut HashSet::new());
        assert_eq!((made.path, made.build_id, made.code), ("x".into(), None, vec![(1, 4095)]));
    }

    #[test]
    fn lines_of_maps() {
        let maps =
            b"55d0-55d9 r-xp 00002000 08:01 1311  /usr/bin/a b (deleted)\n7f00-7f10 rw-p 00000000 00:00 0\n\
            7f20-7f30 r--p 00000000 08:01 7 /x\\012y\\040\nzz-7 r /z\n7 /\n/\n";
        let file = |start, end, path: &[u8]| MappedFile { start, end, path: path.to_vec() };
        let files = parse_maps(maps);
        assert_eq!(
            files,
            [file(0x55D0, 0x55D9, b"/usr/bin/a b (deleted)"), file(0x7F20, 0x7F30, b"/x\ny\\040"),]
        );
        assert_eq!(file_at(&files, 0x55D8), Some(&files[0]));
        assert_eq!([0x55CF, 0x55D9, 0x7F30].map(|address| file_at(&files, address)), [None; 3]);
        assert_eq!(undeleted(&files[0].path), ("/usr/bin/a b".into(), true));
        assert_eq!(undeleted(b"/usr/bin/a"), ("/usr/bin/a".into(), false));
    }
}
