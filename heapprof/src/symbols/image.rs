//! One ELF file on disk: which functions an address in it belongs to.
//!
//! DWARF is read by `addr2line`'s loader, which maps the files and parses what is asked for. Its symbol
//! lookup is not used, because that knows no sizes and gives an address behind a function to that function;
//! [`Symbols`] does that instead. A name is either right or missing: no debug information of
//! another build, no neighbour of a stripped function. The legacy scheme leaves generic arguments out of names;
//! [`Declared`] has them: `alloc::vec::Vec<T,A>::push<u64, alloc::alloc::Global>`.
//!
//! Everything goes when the [`Image`] is dropped. Any file may be given: what cannot be read is an error or
//! gives no frames.

mod declared;

use std::cell::OnceCell;
use std::cmp::Reverse;
use std::ffi::OsStr;
use std::fmt::{self, Write as _};
use std::fs::{self, File};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};

use addr2line::gimli::ReaderOffset as _;
use addr2line::{Loader, gimli};
use object::read::elf::{ElfFile, FileHeader, SectionHeader as _, Sym as _, SymbolTable};
use object::{Endianness, FileKind, Object as _, ReadCache, SectionIndex, elf};

use super::Frame;
use declared::Declared;

/// Where distributions put debug information of installed files.
const DEBUG_FOLDER: &str = "/usr/lib/debug";
/// The longest name that is kept, in bytes: what a writer of profiles can put into a band.
const MAX_NAME_BYTES: usize = 4 << 10;
/// The longest mangled name that is read, in bytes.
const MAX_MANGLED_BYTES: u64 = 64 << 10;
/// How a mangled name of the legacy scheme begins.
const LEGACY_PREFIX: &str = "_ZN";
/// What stands for the rest of a longer name.
const OMITTED: &str = "...";
/// The longest section of notes that is read, in bytes, and how many of them.
const MAX_NOTE_BYTES: u64 = 64 << 10;
const MAX_NOTE_SECTIONS: usize = 64;
/// Frames of one address; more inlined calls than that are nested nowhere.
const MAX_FRAMES: usize = 512;
/// Symbols that may lie around one another before the outer ones are no longer looked at.
const MAX_NESTED_SYMBOLS: usize = 64;

/// An ELF file, opened to name addresses in it.
pub struct Image {
    build_id: Option<Vec<u8>>,
    /// What `symbols` were read from: the file itself, or one with its debug information.
    file: Watched,
    symbols: Symbols,
    /// The file with debug information, if there is one.
    debug_file: Option<Watched>,
    /// What is in it; read when the first address is asked for, since it takes most of the time and memory.
    debug: OnceCell<Option<Debug>>,
}

impl fmt::Debug for Image {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut fields = f.debug_struct("Image");
        fields.field("path", &self.file.path).field("symbols", &self.symbols.table.len());
        fields.field("has_debug", &self.debug_file.is_some()).finish()
    }
}

impl Image {
    /// Opens a program or shared object, and its debug information: in itself, beside it as `.dwp` or `.dwo`,
    /// or in a file of the same build id that `.gnu_debuglink` or `/usr/lib/debug` leads to.
    ///
    /// # Errors
    /// One line that begins with the path: the file cannot be read, is no ELF program or shared object, or
    /// is not of the build with `expected_build_id`, if one is given.
    pub fn open(path: &Path, expected_build_id: Option<&[u8]>) -> Result<Image, String> {
        Image::read(path, expected_build_id).map_err(|why| format!("{}: {why}", path.display()))
    }

    fn read(path: &Path, expected_build_id: Option<&[u8]>) -> Result<Image, String> {
        let file = Watched::open(path)?;
        let elf = Elf::read(&file)?;
        check_build(elf.build_id.as_deref(), expected_build_id)?;
        let separate = if elf.has_debug { None } else { separate_debug(path, &elf) };
        let (debug_file, file, symbols) = match separate {
            None => (elf.has_debug.then(|| file.again()), file, elf.symbols),
            Some((other, debug)) => {
                let debug_file = debug.has_debug.then(|| other.again());
                match debug.has_symtab && !elf.has_symtab {
                    true => (debug_file, other, debug.symbols),
                    false => (debug_file, file, elf.symbols),
                }
            }
        };
        let debug_file = debug_file.transpose()?;
        Ok(Image { build_id: elf.build_id, file, symbols, debug_file, debug: OnceCell::new() })
    }

    /// The GNU build id in the file; none if the linker wrote none.
    pub fn build_id(&self) -> Option<&[u8]> {
        self.build_id.as_deref()
    }

    /// The functions that the call before `address_as_linked`, a return address, belongs to: innermost first,
    /// inlined ones before the one they are inlined in. Empty if no name is known, or if the file has changed
    /// since it was opened.
    pub fn frames(&self, address_as_linked: u64) -> Vec<Frame> {
        // A return address may be the first of the next line or even function.
        let Some(probe) = address_as_linked.checked_sub(1) else { return Vec::new() };
        let mut frames = self.debug_frames(probe);
        if !frames.last().is_some_and(|outer| outer.is_whole) {
            self.name_outermost(&mut frames, probe);
        }
        frames.into_iter().filter(|found| !found.name.is_empty()).map(Found::into_frame).collect()
    }

    fn debug_frames(&self, probe: u64) -> Vec<Found> {
        let Some(file) = self.debug_file.as_ref().filter(|file| file.is_unchanged()) else {
            return Vec::new();
        };
        let debug = self.debug.get_or_init(|| Debug::open(file));
        debug.as_ref().map_or_else(Vec::new, |debug| debug.frames(probe))
    }

    /// Gives the symbol's name to the function whose debug information is missing or has but a short name.
    fn name_outermost(&self, frames: &mut Vec<Found>, probe: u64) {
        if !self.file.is_unchanged() {
            return;
        }
        let Some(mangled) = self.symbols.name_at(&self.file.file, probe) else { return };
        let (name, is_path) = readable(&mangled);
        match frames.last_mut() {
            Some(outer) if is_path || outer.name.is_empty() => outer.name = name,
            Some(_) => {}
            None => frames.push(Found { name, ..Found::default() }),
        }
    }

    /// The addresses, as linked, of the functions in the symbol table for whose mangled name `is_library` says
    /// yes: sorted, `[start, end)`, without overlap, neighbours merged.
    pub fn library_ranges(&self, is_library: impl Fn(&str) -> bool) -> Vec<(u64, u64)> {
        match self.file.is_unchanged() {
            true => merged(self.symbols.ranges(&self.file.file, is_library)),
            false => Vec::new(),
        }
    }
}

/// Joins sorted ranges that touch or overlap.
fn merged(ranges: Vec<(u64, u64)>) -> Vec<(u64, u64)> {
    let mut merged: Vec<(u64, u64)> = Vec::new();
    for (start, end) in ranges {
        match merged.last_mut() {
            Some(last) if start <= last.1 => last.1 = last.1.max(end),
            _ => merged.push((start, end)),
        }
    }
    merged
}

fn check_build(found: Option<&[u8]>, expected: Option<&[u8]>) -> Result<(), String> {
    match (found, expected) {
        (_, None) => Ok(()),
        (Some(found), Some(expected)) if found == expected => Ok(()),
        (Some(found), Some(expected)) => {
            Err(format!("has build id {}, expected {}", hex(found), hex(expected)))
        }
        (None, Some(expected)) => Err(format!("has no build id, expected {}", hex(expected))),
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

// ---- files ------------------------------------------------------------------------------------

/// A regular file and what tells that it is still as it was. The loader maps files, and reading a mapped
/// file that was cut meanwhile would end the process; so each look begins with this.
struct Watched {
    path: PathBuf,
    file: File,
    /// Device, inode, length in bytes, and time of the last change in seconds and nanoseconds.
    stamp: (u64, u64, u64, i64, i64),
}

impl Watched {
    fn open(path: &Path) -> Result<Watched, String> {
        let refused = |error: std::io::Error| format!("cannot be read: {error}");
        // Opening a pipe would wait for its writer.
        if !fs::metadata(path).map_err(refused)?.is_file() {
            return Err("is not a regular file".into());
        }
        let file = File::open(path).map_err(refused)?;
        let stamp = stamp(&file.metadata().map_err(refused)?);
        Ok(Watched { path: path.to_owned(), file, stamp })
    }

    fn handle(&self) -> Result<File, String> {
        self.file.try_clone().map_err(|error| format!("cannot be read: {error}"))
    }

    fn again(&self) -> Result<Watched, String> {
        Ok(Watched { path: self.path.clone(), file: self.handle()?, stamp: self.stamp })
    }

    fn is_unchanged(&self) -> bool {
        self.file.metadata().is_ok_and(|now| stamp(&now) == self.stamp)
    }

    /// Whether the path still leads to this file.
    fn is_at_path(&self) -> bool {
        fs::metadata(&self.path).is_ok_and(|now| stamp(&now) == self.stamp)
    }
}

fn stamp(data: &fs::Metadata) -> (u64, u64, u64, i64, i64) {
    (data.dev(), data.ino(), data.len(), data.mtime(), data.mtime_nsec())
}

/// What is read of a file at once.
struct Elf {
    build_id: Option<Vec<u8>>,
    /// The file name in `.gnu_debuglink`.
    debug_link: Option<PathBuf>,
    /// Whether the debug information can be read.
    has_debug: bool,
    /// Whether `symbols` are those of `.symtab`, not the few of `.dynsym`.
    has_symtab: bool,
    symbols: Symbols,
}

impl Elf {
    fn read(file: &Watched) -> Result<Elf, String> {
        let cache = ReadCache::new(file.handle()?);
        let refused = |error: object::Error| format!("is not a readable ELF file: {error}");
        match FileKind::parse(&cache).map_err(refused)? {
            FileKind::Elf64 => Elf::parse::<elf::FileHeader64<Endianness>>(&cache),
            FileKind::Elf32 => Elf::parse::<elf::FileHeader32<Endianness>>(&cache),
            _ => Err("is not an ELF file".into()),
        }
    }

    fn parse<Header: FileHeader<Endian = Endianness>>(data: &ReadCache<File>) -> Result<Elf, String> {
        let refused = |error: object::Error| format!("is not a readable ELF file: {error}");
        let file = ElfFile::<Header, _>::parse(data).map_err(refused)?;
        if !matches!(file.elf_header().e_type(file.endian()), elf::ET_EXEC | elf::ET_DYN) {
            return Err("is neither a program nor a shared object".into());
        }
        let has_symtab = !file.elf_symbol_table().is_empty();
        let table = if has_symtab { file.elf_symbol_table() } else { file.elf_dynamic_symbol_table() };
        let link = file.gnu_debuglink().ok().flatten();
        Ok(Elf {
            build_id: build_id(&file),
            debug_link: link.map(|(name, _)| PathBuf::from(OsStr::from_bytes(name))),
            has_debug: has_debug(&file),
            has_symtab,
            symbols: Symbols::new(&file, table),
        })
    }
}

type Parsed<'data, Header> = ElfFile<'data, Header, &'data ReadCache<File>>;

fn build_id<Header: FileHeader<Endian = Endianness>>(file: &Parsed<'_, Header>) -> Option<Vec<u8>> {
    let endian = file.endian();
    let notes = file.elf_section_table().iter().filter(|section| {
        section.sh_type(endian) == elf::SHT_NOTE && section.sh_size(endian).into() <= MAX_NOTE_BYTES
    });
    notes.take(MAX_NOTE_SECTIONS).find_map(|section| {
        let mut notes = section.notes(endian, file.data()).ok()??;
        while let Some(note) = notes.next().ok()? {
            if note.name() == elf::ELF_NOTE_GNU && note.n_type(endian) == elf::NT_GNU_BUILD_ID {
                return Some(note.desc().to_vec());
            }
        }
        None
    })
}

/// Whether the file has DWARF, and none that is still to be relocated: after `--emit-relocs` the loader would
/// relocate it a second time, and print what it cannot.
fn has_debug<Header: FileHeader<Endian = Endianness>>(file: &Parsed<'_, Header>) -> bool {
    let (endian, sections) = (file.endian(), file.elf_section_table());
    let name = |section: &Header::SectionHeader| sections.section_name(endian, section).unwrap_or_default();
    let mut has_info = false;
    for section in sections.iter() {
        let kind = section.sh_type(endian);
        // Programs also load a section `.debug_gdb_scripts`.
        has_info |= kind == elf::SHT_PROGBITS && matches!(name(section), b".debug_info" | b".zdebug_info");
        if matches!(kind, elf::SHT_REL | elf::SHT_RELA) {
            let target = sections.section(SectionIndex(section.sh_info(endian) as usize));
            if target.is_ok_and(|target| name(target).starts_with(b".debug_")) {
                return false;
            }
        }
    }
    has_info
}

// ---- symbols ----------------------------------------------------------------------------------

/// The functions of a symbol table. Their names stay in the file until one is asked for.
#[derive(Debug, Default)]
struct Symbols {
    /// By rising start; of those with one start, the one with the fewest bytes last.
    table: Vec<Function>,
    /// Where the names are in the file: start and length in bytes.
    strings: (u64, u64),
}

/// The symbol of a function with a size. Those without, of hand-written code, are left out: nothing tells where
/// such a function ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Function {
    start: u64,
    /// At least 1.
    bytes: u32,
    /// Of its name, in [`Symbols::strings`].
    name_at: u32,
}

impl Function {
    fn end(&self) -> u64 {
        self.start.saturating_add(self.bytes.into())
    }
}

impl Symbols {
    fn new<'data, Header: FileHeader<Endian = Endianness>>(
        file: &Parsed<'data, Header>,
        symbols: &SymbolTable<'data, Header, &'data ReadCache<File>>,
    ) -> Symbols {
        let endian = file.endian();
        let strings = file.elf_section_table().section(symbols.string_section()).ok();
        let Some(strings) = strings.and_then(|section| section.file_range(endian)) else {
            return Symbols::default();
        };
        let is_function = |symbol: &&Header::Sym| {
            let is_defined =
                !symbol.st_shndx(endian).is_special() || symbol.st_shndx(endian) == elf::SHN_XINDEX;
            is_defined && matches!(symbol.st_type(), elf::STT_FUNC | elf::STT_GNU_IFUNC)
        };
        let mut ranked: Vec<(u8, Function)> = symbols
            .iter()
            .filter(is_function)
            .map(|symbol| {
                let bytes = u32::try_from(symbol.st_size(endian).into()).unwrap_or(u32::MAX);
                let start = symbol.st_value(endian).into();
                (rank(symbol.st_bind()), Function { start, bytes, name_at: symbol.st_name(endian) })
            })
            .filter(|(_, function)| function.bytes > 0)
            .collect();
        // Of several names for the same bytes, an exported one, and always the same.
        ranked.sort_unstable_by_key(|&(rank, function)| {
            (function.start, Reverse(function.bytes), rank, function.name_at)
        });
        let mut table: Vec<Function> = ranked.into_iter().map(|(_, function)| function).collect();
        table.dedup_by_key(|function| (function.start, function.bytes));
        table.shrink_to_fit();
        Symbols { table, strings }
    }

    /// The mangled name of the innermost function around `address`.
    fn name_at(&self, file: &File, address: u64) -> Option<String> {
        let behind = self.table.partition_point(|function| function.start <= address);
        let near = self.table.get(..behind)?.iter().rev().take(MAX_NESTED_SYMBOLS);
        let function = near.into_iter().find(|function| address < function.end())?;
        let at = self.strings.0.checked_add(function.name_at.into())?;
        let room = self.strings.1.checked_sub(function.name_at.into())?.min(MAX_MANGLED_BYTES);
        let mut name = Vec::new();
        let mut chunk = [0; 256];
        while (name.len() as u64) < room {
            let wanted =
                usize::try_from(room - name.len() as u64).map_or(chunk.len(), |left| left.min(chunk.len()));
            let read = file.read_at(chunk.get_mut(..wanted)?, at.checked_add(name.len() as u64)?).ok()?;
            let read = chunk.get(..read).filter(|read| !read.is_empty())?;
            match read.iter().position(|&byte| byte == 0) {
                Some(end) => {
                    name.extend_from_slice(&read[..end]);
                    return text(&name);
                }
                None => name.extend_from_slice(read),
            }
        }
        None
    }

    /// Start and end of the functions for whose mangled name `is_wanted` says yes, by rising start.
    fn ranges(&self, file: &File, is_wanted: impl Fn(&str) -> bool) -> Vec<(u64, u64)> {
        let strings = self.strings(file).unwrap_or_default();
        let is_named_so = |function: &&Function| {
            let tail = usize::try_from(function.name_at).ok().and_then(|at| strings.get(at..));
            let name = tail.and_then(|tail| tail.split(|&byte| byte == 0).next()).and_then(text);
            name.is_some_and(|name| is_wanted(&name))
        };
        let wanted = self.table.iter().filter(is_named_so);
        wanted.map(|function| (function.start, function.end())).collect()
    }

    /// All names, for as long as they are looked through.
    fn strings(&self, file: &File) -> Option<Vec<u8>> {
        let (at, length) = self.strings;
        if at.checked_add(length)? > file.metadata().ok()?.len() {
            return None;
        }
        let mut strings = Vec::new();
        strings.try_reserve_exact(usize::try_from(length).ok()?).ok()?;
        strings.resize(usize::try_from(length).ok()?, 0);
        file.read_exact_at(&mut strings, at).ok()?;
        Some(strings)
    }
}

/// Global names before weak before local ones.
fn rank(bind: elf::SymbolBind) -> u8 {
    match bind {
        elf::STB_GLOBAL => 0,
        elf::STB_WEAK => 1,
        _ => 2,
    }
}

fn text(name: &[u8]) -> Option<String> {
    (!name.is_empty()).then(|| String::from_utf8_lossy(name).into_owned())
}

// ---- debug information ------------------------------------------------------------------------

struct Debug {
    loader: Loader,
    file: Watched,
    /// The names that functions are declared with; read for the legacy scheme alone, whose names lack arguments.
    declared: OnceCell<Option<Declared>>,
}

/// A function that an address belongs to.
#[derive(Default)]
struct Found {
    /// Empty if there is none.
    name: String,
    /// Whether the name is a path or, in languages without, all there is: with
    /// `debug = "line-tables-only"` Rust's are without path.
    is_whole: bool,
    file: Option<String>,
    line: Option<u32>,
}

impl Found {
    fn new<R: gimli::Reader>(frame: addr2line::Frame<'_, R>) -> Found {
        let (file, line) = frame.location.map_or((None, None), |place| (place.file, place.line));
        let mut found =
            Found { file: file.map(str::to_owned), line: line.filter(|&line| line > 0), ..Found::default() };
        let Some(function) = frame.function else { return found };
        let Ok(raw) = function.raw_name() else { return found };
        let (name, is_path) = readable(&raw);
        let is_rust = function.language == Some(gimli::DW_LANG_Rust);
        found.is_whole = is_path || (!name.is_empty() && !is_rust);
        found.name = name;
        found
    }

    /// Adds generic arguments to a path that has room for them and ends with a function's name, unlike
    /// `core::ptr::drop_in_place<u8>` and `FnOnce::call_once{{vtable.shim}}`.
    fn append(&mut self, arguments: &str) {
        let has_room = self.name.len() + arguments.len() <= MAX_NAME_BYTES;
        let is_open = !["shim}}", ">", OMITTED].iter().any(|end| self.name.ends_with(end));
        if self.is_whole && has_room && is_open {
            self.name.push_str(arguments);
        }
    }

    fn into_frame(self) -> Frame {
        Frame { function: self.name, file: self.file, line: self.line, named: true }
    }
}

impl Debug {
    fn open(file: &Watched) -> Option<Debug> {
        let loader = Loader::new(&file.path).ok()?;
        // The loader opened the path once more.
        let is_same = file.is_at_path();
        is_same.then_some(Debug { loader, file: file.again().ok()?, declared: OnceCell::new() })
    }

    fn frames(&self, probe: u64) -> Vec<Found> {
        let mut found = Vec::new();
        let Ok(mut frames) = self.loader.find_frames(probe) else { return found };
        while let Ok(Some(frame)) = frames.next() {
            if found.len() == MAX_FRAMES {
                return Vec::new();
            }
            let arguments = self.arguments(&frame, probe);
            let mut frame = Found::new(frame);
            frame.append(arguments.as_deref().unwrap_or_default());
            found.push(frame);
        }
        found
    }

    /// The generic arguments, `<u64, alloc::alloc::Global>`, that the name of a function lacks.
    fn arguments<R: gimli::Reader>(&self, frame: &addr2line::Frame<'_, R>, probe: u64) -> Option<String> {
        let function = frame.function.as_ref()?;
        let mangled = function.raw_name().ok()?;
        // C++ has the same prefix.
        if function.language != Some(gimli::DW_LANG_Rust) || !mangled.starts_with(LEGACY_PREFIX) {
            return None;
        }
        let entry = usize::try_from(frame.dw_die_offset?.0.into_u64()).ok()?;
        let declared = self.declared.get_or_init(|| Declared::open(self.file.handle().ok()?));
        let mut name = declared.as_ref()?.name(probe, entry, &mangled)?;
        let arguments = name.split_off(name.find('<')?);
        arguments.ends_with('>').then_some(arguments)
    }
}

/// The debug information of the same build in another file, if there is some.
fn separate_debug(path: &Path, elf: &Elf) -> Option<(Watched, Elf)> {
    let id = elf.build_id.as_deref().filter(|id| id.len() > 1)?;
    let by_id = format!("{DEBUG_FOLDER}/.build-id/{}/{}.debug", hex(&id[..1]), hex(&id[1..]));
    let by_link = elf.debug_link.iter().flat_map(|name| linked_debug(path, name));
    std::iter::once(PathBuf::from(by_id)).chain(by_link).find_map(|path| {
        let file = Watched::open(&path).ok()?;
        let other = Elf::read(&file).ok()?;
        let is_of_use = other.has_debug || other.has_symtab;
        (is_of_use && other.build_id.as_deref() == Some(id)).then_some((file, other))
    })
}

/// Where debuggers look for the file that a `.gnu_debuglink` names.
fn linked_debug(path: &Path, name: &Path) -> Vec<PathBuf> {
    let folder = fs::canonicalize(path).ok().and_then(|path| Some(path.parent()?.to_owned()));
    // A name with folders in it would lead anywhere.
    let (Some(folder), 1) = (folder, name.components().count()) else { return Vec::new() };
    let installed = Path::new(DEBUG_FOLDER).join(folder.strip_prefix("/").unwrap_or(&folder));
    [folder.join(name), folder.join(".debug").join(name), installed.join(name)].into()
}

// ---- names ------------------------------------------------------------------------------------

/// The demangled name and true, or the name as it is and false.
fn readable(mangled: &str) -> (String, bool) {
    let mut name = Bounded(String::new());
    let demangled =
        (mangled.len() as u64 <= MAX_MANGLED_BYTES).then(|| rustc_demangle::try_demangle(mangled).ok());
    // The only error is that the name is too long, and then its beginning is there.
    let (is_path, _) = match demangled.flatten() {
        Some(path) => (true, write!(name, "{path:#}")),
        None => (false, name.write_str(mangled)),
    };
    (name.0, is_path)
}

/// Takes at most [`MAX_NAME_BYTES`]: a short mangled name can stand for a very long one.
struct Bounded(String);

impl fmt::Write for Bounded {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let room = (MAX_NAME_BYTES - OMITTED.len()).saturating_sub(self.0.len());
        if text.len() <= room {
            self.0.push_str(text);
            return Ok(());
        }
        let end = (0..=room).rev().find(|&end| text.is_char_boundary(end)).unwrap_or(0);
        self.0.push_str(&text[..end]);
        self.0.push_str(OMITTED);
        Err(fmt::Error)
    }
}

/// Builds small programs for tests.
#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
pub(super) mod testing {
    use std::ffi::OsStr;
    use std::path::{Path, PathBuf};
    use std::process::Command;

    /// A folder that is removed with what is in it.
    pub(in super::super) struct Folder(PathBuf);

    impl Folder {
        pub(in super::super) fn new(name: &str) -> Folder {
            let path = std::env::temp_dir().join(format!("heapprof-{}-{name}", std::process::id()));
            std::fs::create_dir_all(&path).unwrap();
            Folder(path)
        }

        pub(in super::super) fn join(&self, name: &str) -> PathBuf {
            self.0.join(name)
        }

        pub(in super::super) fn write(&self, name: &str, text: &str) -> PathBuf {
            std::fs::write(self.join(name), text).unwrap();
            self.join(name)
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    /// Runs a tool that has to succeed; false, with a line on stderr, if it is not installed.
    pub(in super::super) fn run(tool: &mut Command) -> bool {
        match tool.output() {
            Ok(output) => {
                assert!(output.status.success(), "{tool:?}: {}", String::from_utf8_lossy(&output.stderr));
                true
            }
            Err(error) => {
                assert!(std::env::var_os("CI").is_none(), "{tool:?}: {error}");
                eprintln!("skipped: {tool:?}: {error}");
                false
            }
        }
    }

    /// Builds a Rust program in its own folder.
    pub(in super::super) fn rustc<'a>(
        source: &Path,
        out: &Path,
        options: impl IntoIterator<Item = &'a str>,
    ) -> bool {
        let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
        // Without a scheme among the options, the newer one: what the default is depends on the compiler.
        let common = [
            "--edition=2024",
            "-O",
            "-Ccodegen-units=1",
            "--crate-name=probe",
            "-Csymbol-mangling-version=v0",
        ];
        let mut command = Command::new(rustc);
        command.args(common).args(options).arg("-o").arg(out).arg(source);
        run(command.current_dir(out.parent().unwrap()))
    }

    pub(in super::super) fn cc(source: &Path, out: &Path, options: &[&str]) -> bool {
        let cc = std::env::var_os("CC").unwrap_or_else(|| "cc".into());
        let files = [source.as_os_str(), OsStr::new("-o"), out.as_os_str()];
        run(Command::new(cc).args(["-shared", "-fPIC", "-O1"]).args(options).args(files))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use std::process::Command;

    use super::testing::{Folder, cc, run, rustc};
    use super::*;

    /// The call of `leaf` is in line 4, inlined to line 9.
    const SOURCE: &str = "\
#[inline(never)] pub fn leaf(n: u64) { std::hint::black_box(n); }
pub struct Pair<T>(T);
impl<T: Copy + Into<u64>> Pair<T> {
    #[inline(always)] pub fn middle(&self) { leaf(self.0.into()); std::hint::black_box(self.0.into()); }
}
#[unsafe(no_mangle)] #[inline(never)] pub extern \"C\" fn exported() { leaf(7); std::hint::black_box(7); }
#[inline(never)]
pub fn outer(pair: &Pair<u32>) {
    pair.middle();
}
fn main() { outer(&Pair(std::hint::black_box(1))); exported(); }
";

    /// Functions in the symbol table with their start, end and name, read without the code under test.
    fn functions(path: &Path) -> Vec<(u64, u64, String)> {
        use object::{ObjectSymbol, SymbolKind};
        let bytes = fs::read(path).unwrap();
        let file = object::File::parse(&*bytes).unwrap();
        let is_function = |symbol: &object::Symbol<'_, '_>| {
            symbol.kind() == SymbolKind::Text && symbol.is_definition() && symbol.size() > 0
        };
        let described = |symbol: object::Symbol<'_, '_>| {
            let name = format!("{:#}", rustc_demangle::demangle(symbol.name().unwrap()));
            (symbol.address(), symbol.address() + symbol.size(), name)
        };
        file.symbols().chain(file.dynamic_symbols()).filter(is_function).map(described).collect()
    }

    fn function(path: &Path, name: &str) -> (u64, u64) {
        let found = functions(path).into_iter().find(|function| function.2 == name);
        let (start, end, _) = found.unwrap_or_else(|| panic!("{} has no {name}", path.display()));
        (start, end)
    }

    fn own_build_id(path: &Path) -> Option<Vec<u8>> {
        let bytes = fs::read(path).unwrap();
        object::File::parse(&*bytes).unwrap().build_id().unwrap().map(<[u8]>::to_vec)
    }

    /// The different call stacks of return addresses in `probe::outer`, as `function:line`.
    fn stacks_in_outer(image: &Image, (start, end): (u64, u64)) -> Vec<String> {
        let written = |frame: &Frame| match frame.line {
            Some(line) => format!("{}:{line}", frame.function),
            None => frame.function.clone(),
        };
        let stack = |address| image.frames(address).iter().map(written).collect::<Vec<_>>().join(" ");
        let mut stacks: Vec<String> = (start + 1..=end).map(stack).collect();
        stacks.sort();
        stacks.dedup();
        stacks
    }

    /// A program and what `probe::outer` is called in it.
    fn program(folder: &Folder, name: &str, options: &[&str]) -> Option<PathBuf> {
        let source = folder.write("probe.rs", SOURCE);
        let out = folder.join(name);
        rustc(&source, &out, options.iter().copied()).then_some(out)
    }

    const INLINED: &str = "<probe::Pair<u32>>::middle:4 probe::outer:9";

    #[test]
    fn debug_information_tells_inlined_functions_and_lines() {
        let folder = Folder::new("levels");
        for level in ["1", "2"] {
            let Some(path) = program(&folder, level, &[&format!("-Cdebuginfo={level}")]) else { return };
            let image = Image::open(&path, own_build_id(&path).as_deref()).unwrap();
            let stacks = stacks_in_outer(&image, function(&path, "probe::outer"));
            assert!(stacks.iter().any(|stack| stack == INLINED), "{level}: {stacks:?}");
            assert!(stacks.iter().all(|stack| stack.contains("probe::outer:")), "{level}: {stacks:?}");
            let frames = image.frames(function(&path, "probe::outer").1);
            assert!(frames.last().unwrap().file.as_ref().unwrap().ends_with("probe.rs"), "{frames:?}");
            let first = image.frames(function(&path, "probe::outer").0);
            assert!(first.iter().all(|frame| frame.function != "probe::outer"), "{first:?}");
        }
    }

    #[test]
    fn without_paths_in_the_debug_information_the_symbol_gives_the_outer_one() {
        let folder = Folder::new("lines");
        let Some(path) = program(&folder, "lines", &["-Cdebuginfo=line-tables-only"]) else { return };
        let image = Image::open(&path, None).unwrap();
        let (start, end) = function(&path, "probe::outer");
        let stacks = stacks_in_outer(&image, (start, end));
        assert!(stacks.iter().any(|stack| stack == "middle<u32>:4 probe::outer:9"), "{stacks:?}");
        // The library's functions are told by their files.
        let of_library = (start + 1..=end).flat_map(|address| image.frames(address)).find(|frame| {
            frame.function == "black_box<u64>"
                && frame.file.as_ref().is_some_and(|file| file.ends_with("/library/core/src/hint.rs"))
        });
        assert!(of_library.is_some(), "{stacks:?}");
    }

    #[test]
    fn without_debug_information_every_function_has_its_symbol_s_name() {
        let folder = Folder::new("symbols");
        let variants: [&[&str]; 3] = [
            &["-Cstrip=debuginfo"],
            &["-Cstrip=debuginfo", "-Crelocation-model=static"],
            &["-Cstrip=debuginfo", "-Copt-level=0"],
        ];
        for (number, options) in variants.iter().enumerate() {
            let Some(path) = program(&folder, &format!("app{number}"), options) else { return };
            let image = Image::open(&path, None).unwrap();
            let outer = function(&path, "probe::outer");
            assert_eq!(stacks_in_outer(&image, outer), ["probe::outer"], "{options:?}");
            assert_eq!(stacks_in_outer(&image, function(&path, "exported")), ["exported"], "{options:?}");
        }
    }

    /// As [`program`], with names of the legacy scheme.
    fn legacy_program(folder: &Folder, name: &str, options: &[&str]) -> Option<PathBuf> {
        let source = folder.write("probe.rs", SOURCE);
        let out = folder.join(name);
        let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
        let mut command = Command::new(rustc);
        // Newer compilers do not write the legacy scheme unless told so.
        command.env("RUSTC_BOOTSTRAP", "1").args(["--edition=2024", "-O", "--crate-name=probe"]);
        command.args(["-Zunstable-options", "-Csymbol-mangling-version=legacy"]).args(options);
        run(command.arg("-o").arg(&out).arg(&source).current_dir(out.parent().unwrap())).then_some(out)
    }

    #[test]
    fn names_of_both_schemes_come_without_hash() {
        let folder = Folder::new("legacy");
        let Some(path) = legacy_program(&folder, "app", &["-Cdebuginfo=0"]) else { return };
        let image = Image::open(&path, None).unwrap();
        assert_eq!(stacks_in_outer(&image, function(&path, "probe::outer")), ["probe::outer"]);
    }

    #[test]
    fn names_of_the_legacy_scheme_have_the_arguments_that_debug_information_tells() {
        let folder = Folder::new("arguments");
        let variants: [&[&str]; 5] = [
            &["-Cdebuginfo=1"],
            &["-Cdebuginfo=2"],
            &["-Cdebuginfo=1", "-Cdwarf-version=5"],
            &["-Cdebuginfo=1", "-Clto=fat"],
            &["-Cdebuginfo=1", "-Clink-arg=-Wl,--gc-sections", "-Copt-level=s"],
        ];
        for (number, options) in variants.iter().enumerate() {
            let Some(path) = legacy_program(&folder, &format!("app{number}"), options) else { return };
            let image = Image::open(&path, None).unwrap();
            let stacks = stacks_in_outer(&image, function(&path, "probe::outer"));
            let inlined = "probe::Pair<T>::middle<u32>:4 probe::outer:9";
            assert!(stacks.iter().any(|stack| stack == inlined), "{options:?}: {stacks:?}");
            assert!(stacks.iter().all(|stack| stack.contains("probe::outer:")), "{options:?}: {stacks:?}");
        }
    }

    #[test]
    fn names_take_arguments_where_a_function_s_name_ends() {
        let appended = |name: &str, is_whole, arguments: &str| {
            let mut found = Found { name: name.to_owned(), is_whole, ..Found::default() };
            found.append(arguments);
            found.name
        };
        assert_eq!(appended("a::f", true, "<u8>"), "a::f<u8>");
        assert_eq!(appended("a::f::{{closure}}", true, "<u8>"), "a::f::{{closure}}<u8>");
        for name in ["a::f<u8>", "a::f{{vtable.shim}}", "a::f..."] {
            assert_eq!(appended(name, true, "<u8>"), name);
        }
        assert_eq!(appended("f", false, "<u8>"), "f");
        assert_eq!(appended("a::f", true, &format!("<{}>", "x".repeat(MAX_NAME_BYTES))), "a::f");
    }

    /// Every address of a program against the plainest search there is.
    #[test]
    fn an_address_has_the_name_of_the_symbol_around_it_or_none() {
        let folder = Folder::new("sweep");
        let Some(path) = program(&folder, "sweep", &["-Cstrip=debuginfo"]) else { return };
        let image = Image::open(&path, None).unwrap();
        let functions = functions(&path);
        let first = functions.iter().map(|function| function.0).min().unwrap();
        let last = functions.iter().map(|function| function.1).max().unwrap();
        let (mut named, mut unnamed) = (0, 0);
        for address in (first - 64..last + 64).step_by(13) {
            let names: Vec<&str> = functions
                .iter()
                .filter(|(start, end, _)| (*start..*end).contains(&(address - 1)))
                .map(|function| function.2.as_str())
                .collect();
            let frames = image.frames(address);
            match &frames[..] {
                [] => assert!(names.is_empty(), "{address:#x} has no name, expected one of {names:?}"),
                [frame] => assert!(
                    names.contains(&frame.function.as_str()),
                    "{address:#x}: {frame:?} not of {names:?}"
                ),
                more => panic!("{address:#x}: {more:?}"),
            }
            *if frames.is_empty() { &mut unnamed } else { &mut named } += 1;
        }
        assert!(named > 1000 && unnamed > 10, "{named} and {unnamed}");
    }

    #[test]
    fn a_stripped_file_gives_no_name_of_a_neighbour() {
        let folder = Folder::new("stripped");
        let Some(path) = program(&folder, "whole", &["-Cdebuginfo=0"]) else { return };
        let stripped = folder.join("stripped");
        if !run(Command::new("strip").arg("-o").arg(&stripped).arg(&path)) {
            return;
        }
        let image = Image::open(&stripped, own_build_id(&path).as_deref()).unwrap();
        assert_eq!(stacks_in_outer(&image, function(&path, "probe::outer")), [""]);
        assert_eq!(image.library_ranges(|name| name.contains("probe")), []);
    }

    const C_SOURCE: &str = "\
void *last; static __attribute__((noinline)) void hidden(void *p) { last = p; __asm__ volatile(\"nop\"); }
void first_call(void *p) { hidden(p); last = 0; }
void second_call(void *p) { hidden(last); last = p; }
";

    #[test]
    fn a_stripped_shared_object_names_what_it_exports_and_nothing_else() {
        let folder = Folder::new("shared");
        let (whole, stripped) = (folder.join("whole.so"), folder.join("stripped.so"));
        if !cc(&folder.write("c.c", C_SOURCE), &whole, &["-Wl,--build-id=sha1"])
            || !run(Command::new("strip").arg("-o").arg(&stripped).arg(&whole))
        {
            return;
        }
        let image = Image::open(&stripped, own_build_id(&whole).as_deref()).unwrap();
        for (name, expected) in [("hidden", ""), ("first_call", "first_call"), ("second_call", "second_call")]
        {
            assert_eq!(stacks_in_outer(&image, function(&whole, name)), [expected]);
        }
    }

    #[test]
    fn debug_information_that_is_still_to_be_relocated_is_left_alone() {
        let folder = Folder::new("relocations");
        let (source, path) = (folder.write("c.c", C_SOURCE), folder.join("c.so"));
        for (options, has_lines) in [(["-g", "-Wl,--emit-relocs"], false), (["-g", "-Wl,-O1"], true)] {
            if !cc(&source, &path, &options) {
                return;
            }
            let image = Image::open(&path, None).unwrap();
            let frames = image.frames(function(&path, "first_call").1);
            assert_eq!(frames.last().unwrap().function, "first_call");
            assert_eq!(frames.last().unwrap().line.is_some(), has_lines, "{options:?}");
        }
    }

    #[test]
    fn another_build_is_refused_with_one_line() {
        let folder = Folder::new("builds");
        let (with, without) = (folder.join("with.so"), folder.join("without.so"));
        let source = folder.write("c.c", C_SOURCE);
        if !cc(&source, &with, &["-Wl,--build-id=0x1234abcd"])
            || !cc(&source, &without, &["-Wl,--build-id=none"])
        {
            return;
        }
        let refusal = |path: &Path, id: &[u8]| Image::open(path, Some(id)).map(|_| ()).unwrap_err();
        assert!(Image::open(&with, Some(&[0x12, 0x34, 0xAB, 0xCD])).is_ok());
        assert_eq!(Image::open(&with, None).unwrap().build_id(), Some(&[0x12, 0x34, 0xAB, 0xCD][..]));
        assert_eq!(Image::open(&without, None).unwrap().build_id(), None);
        let (with_name, without_name) = (with.display(), without.display());
        assert_eq!(refusal(&with, &[1, 0xFF]), format!("{with_name}: has build id 1234abcd, expected 01ff"));
        assert_eq!(refusal(&without, &[1]), format!("{without_name}: has no build id, expected 01"));
    }

    #[test]
    fn what_is_no_elf_file_is_refused_with_one_line() {
        let folder = Folder::new("refused");
        let text = folder.write("text", "no program");
        let refusal = |path: &Path| Image::open(path, None).map(|_| ()).unwrap_err();
        assert!(refusal(&text).contains("text: is not a"), "{}", refusal(&text));
        assert!(refusal(&folder.write("empty", "")).contains("empty: is not a"));
        assert!(refusal(&folder.join("missing")).contains("missing: cannot be read: "));
        let folder_name = folder.join("");
        assert!(refusal(&folder_name).ends_with("is not a regular file"), "{}", refusal(&folder_name));
        // A pipe without writer would hold up whoever opens it.
        let pipe = folder.join("pipe");
        if run(Command::new("mkfifo").arg(&pipe)) {
            assert!(refusal(&pipe).ends_with("is not a regular file"));
        }
    }

    #[test]
    fn split_debug_information_is_found_beside_the_program() {
        for kind in ["packed", "unpacked"] {
            let folder = Folder::new(kind);
            let options = ["-Cdebuginfo=2", &format!("-Csplit-debuginfo={kind}")];
            let Some(path) = program(&folder, "app", &options) else { return };
            let image = Image::open(&path, None).unwrap();
            let stacks = stacks_in_outer(&image, function(&path, "probe::outer"));
            assert!(stacks.iter().any(|stack| stack == INLINED), "{kind}: {stacks:?}");
        }
    }

    #[test]
    fn linked_debug_information_is_taken_from_the_same_build_only() {
        let folder = Folder::new("linked");
        let Some(path) = program(&folder, "app", &["-Cdebuginfo=2", "-Clink-arg=-Wl,--build-id=0x11223344"])
        else {
            return;
        };
        let (debug, stripped) = (folder.join("app.debug"), folder.join("stripped"));
        if !run(Command::new("objcopy").arg("--only-keep-debug").arg(&path).arg(&debug)) {
            return;
        }
        let link = format!("--add-gnu-debuglink={}", debug.display());
        assert!(run(Command::new("objcopy").args(["--strip-all", &link]).arg(&path).arg(&stripped)));
        let outer = function(&path, "probe::outer");
        let image = Image::open(&stripped, Some(&[0x11, 0x22, 0x33, 0x44])).unwrap();
        let stacks = stacks_in_outer(&image, outer);
        assert!(stacks.iter().any(|stack| stack == INLINED), "{stacks:?}");
        assert!(!image.library_ranges(|name| name.contains("probe")).is_empty());

        let other =
            program(&folder, "other", &["-Cdebuginfo=2", "-Clink-arg=-Wl,--build-id=0x55667788"]).unwrap();
        assert!(run(Command::new("objcopy").arg("--only-keep-debug").arg(&other).arg(&debug)));
        assert_eq!(stacks_in_outer(&Image::open(&stripped, None).unwrap(), outer), [""]);
    }

    #[test]
    fn a_file_that_changes_gives_no_more_names() {
        let folder = Folder::new("changed");
        let Some(path) = program(&folder, "app", &["-Cdebuginfo=1"]) else { return };
        let outer = function(&path, "probe::outer");
        let image = Image::open(&path, None).unwrap();
        assert!(!image.frames(outer.1).is_empty());
        fs::write(&path, "").unwrap();
        assert_eq!(image.frames(outer.1), []);
        assert_eq!(image.library_ranges(|_| true), []);
    }

    #[test]
    fn library_ranges_are_those_of_the_named_functions() {
        let folder = Folder::new("ranges");
        let Some(path) = program(&folder, "app", &["-Cdebuginfo=0"]) else { return };
        let image = Image::open(&path, None).unwrap();
        let (outer, leaf) = (function(&path, "probe::outer"), function(&path, "probe::leaf"));
        let ranges = image.library_ranges(|mangled| {
            let name = format!("{:#}", rustc_demangle::demangle(mangled));
            name == "probe::outer" || name == "probe::leaf"
        });
        let mut expected = vec![outer, leaf];
        expected.sort_unstable();
        assert_eq!(ranges, merged(expected));
        assert_eq!(image.library_ranges(|_| false), []);
        let all = image.library_ranges(|_| true);
        assert!(all.windows(2).all(|pair| pair[0].1 < pair[1].0), "{all:x?}");
        for (start, end, name) in functions(&path) {
            assert!(all.iter().any(|range| range.0 <= start && end <= range.1), "{name}");
        }
    }

    #[test]
    fn ranges_that_touch_are_one() {
        assert_eq!(merged(vec![(1, 3), (3, 4), (6, 9), (7, 8), (10, 11)]), [(1, 4), (6, 9), (10, 11)]);
    }

    #[test]
    fn the_innermost_symbol_is_taken_and_the_end_is_not_in_it() {
        let function = |start, bytes| Function { start, bytes, name_at: 0 };
        let folder = Folder::new("nested");
        let names = File::open(folder.write("names", "x\0")).unwrap();
        let symbols = Symbols { table: vec![function(10, 100), function(20, 5)], strings: (0, 2) };
        let named = |address| symbols.name_at(&names, address).is_some();
        assert_eq!([9, 10, 24, 25, 109, 110].map(named), [false, true, true, true, true, false]);
        let unterminated = Symbols { strings: (0, 1), ..symbols };
        assert_eq!(unterminated.name_at(&names, 20), None);
    }

    #[test]
    fn long_names_are_cut() {
        assert_eq!(readable("_ZN4core3fmt5write17h0123456789abcdefE"), ("core::fmt::write".to_owned(), true));
        assert_eq!(readable("_RNvCs1234_7mycrate3foo"), ("mycrate::foo".to_owned(), true));
        assert_eq!(readable("_ZN3foo3barEv"), ("_ZN3foo3barEv".to_owned(), false));
        // Each level names the one before twice.
        let mut doubling = "_RIC1a".to_owned();
        for _ in 0..40 {
            doubling.push_str("TB6_B6_E");
        }
        doubling.push('E');
        let long = format!("{}ü", "x".repeat(MAX_NAME_BYTES - OMITTED.len() - 1));
        for name in [doubling, long, "ü".repeat(100_000)] {
            let (name, _) = readable(&name);
            assert!(name.len() <= MAX_NAME_BYTES, "{}", name.len());
        }
        assert!(readable(&"y".repeat(5000)).0.ends_with("y..."));
    }

    /// Looks at a damaged file in every way there is.
    fn look(path: &Path, addresses: &[u64]) -> usize {
        let Ok(image) = Image::open(path, None) else { return 0 };
        image.library_ranges(|name| name.len() % 2 == 0);
        addresses.iter().map(|&address| image.frames(address).len()).sum()
    }

    /// Numbers that look random and are the same in every run (xorshift).
    fn numbers() -> impl FnMut(usize) -> usize {
        let mut state = 0x9E37_79B9_7F4A_7C15_u64;
        move |below| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            usize::try_from(state >> 16).unwrap() % below.max(1)
        }
    }

    #[test]
    fn damaged_files_are_refused_or_give_few_names() {
        let folder = Folder::new("damaged");
        let whole = folder.join("whole.so");
        if !cc(&folder.write("c.c", C_SOURCE), &whole, &["-g", "-nostdlib"]) {
            return;
        }
        let bytes = fs::read(&whole).unwrap();
        let (start, end) = function(&whole, "first_call");
        let addresses: Vec<u64> = (start - 32..end + 64).step_by(5).chain([0, 1, u64::MAX]).collect();
        assert!(look(&whole, &addresses) > 5);
        let damaged = folder.join("damaged.so");
        for length in (0..bytes.len()).step_by(31) {
            fs::write(&damaged, &bytes[..length]).unwrap();
            look(&damaged, &addresses);
        }
        let mut number = numbers();
        for round in 0..4000 {
            let mut bytes = bytes.clone();
            for _ in 0..=round % 4 {
                let at = number(bytes.len());
                bytes[at] = [bytes[at] ^ 1 << number(8), 0, 0xFF, 0x7F][number(4)];
            }
            fs::write(&damaged, &bytes).unwrap();
            look(&damaged, &addresses);
        }
    }

    /// As above, in the sections of debug information only, of a program with many units.
    #[test]
    fn damaged_debug_information_gives_few_names() {
        let folder = Folder::new("dwarf");
        let Some(path) = program(&folder, "app", &["-Cdebuginfo=2"]) else { return };
        let Some(legacy) = legacy_program(&folder, "legacy", &["-Cdebuginfo=2"]) else { return };
        look_at_damaged_debug_information(&folder, &path);
        look_at_damaged_debug_information(&folder, &legacy);
    }

    fn look_at_damaged_debug_information(folder: &Folder, path: &Path) {
        use object::ObjectSection as _;
        let bytes = fs::read(path).unwrap();
        let parsed = object::File::parse(&*bytes).unwrap();
        let is_debug = |name: &str| name.starts_with(".debug");
        let sections = parsed.sections().filter(|section| section.name().is_ok_and(is_debug));
        let places: Vec<(u64, u64)> = sections.filter_map(|section| section.file_range()).collect();
        assert!(places.len() > 4);
        let functions = functions(path);
        let addresses: Vec<u64> = functions.iter().step_by(8).map(|function| function.1).collect();
        let damaged = folder.join("damaged");
        let mut number = numbers();
        for _ in 0..60 {
            let mut bytes = bytes.clone();
            for _ in 0..200 {
                let (start, length) = places[number(places.len())];
                let at = usize::try_from(start).unwrap() + number(usize::try_from(length).unwrap());
                bytes[at] = u8::try_from(number(256)).unwrap();
            }
            fs::write(&damaged, &bytes).unwrap();
            look(&damaged, &addresses);
        }
    }

    #[test]
    fn an_image_may_move_to_another_thread() {
        fn is_send<T: Send>() {}
        is_send::<Image>();
    }
}
