//! One ELF file on disk: which functions an address in it belongs to.
//!
//! DWARF is read by `addr2line`'s loader, which maps the files and parses what is asked for. Its symbol
//! lookup is not used, because that knows no sizes and gives an address behind a function to that function;
//! [`Symbols`] does that instead. A name is either right or missing: no debug information of
//! another build, no neighbour of a stripped function.
//!
//! Everything goes when the [`Image`] is dropped. Any file may be given: what cannot be read is an error or
//! gives no frames.

use std::cmp::Reverse;
use std::ffi::OsStr;
use std::fmt::{self, Write as _};
use std::fs::{self, File};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};

use addr2line::Loader;
use addr2line::gimli::DW_LANG_Rust;
use object::read::elf::{ElfFile, FileHeader, SectionHeader as _, Sym as _, SymbolTable};
use object::{Endianness, FileKind, Object as _, ReadCache, SectionIndex, elf};

use super::Frame;

/// Where distributions put debug information of installed files.
const DEBUG_FOLDER: &str = "/usr/lib/debug";
/// The longest name that is kept, in bytes: what a writer of profiles can put into a band.
const MAX_NAME_BYTES: usize = 4 << 10;
/// The longest mangled name that is read, in bytes.
const MAX_MANGLED_BYTES: u64 = 64 << 10;
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
    /// What `symbols` were read from: the file itself, or one with its debug information.
    file: Watched,
    symbols: Symbols,
    /// None without usable debug information.
    debug: Option<Debug>,
}

impl fmt::Debug for Image {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut fields = f.debug_struct("Image");
        fields.field("path", &self.file.path).field("symbols", &self.symbols.table.len());
        fields.field("has_debug", &self.debug.is_some()).finish()
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
        let debug = match &separate {
            Some((file, elf)) => Debug::open(file, elf),
            None => Debug::open(&file, &elf),
        };
        let (file, symbols) = match separate {
            Some((file, other)) if other.has_symtab && !elf.has_symtab => (file, other.symbols),
            _ => (file, elf.symbols),
        };
        Ok(Image { file, symbols, debug })
    }

    /// The functions that the call before `address_as_linked`, a return address, belongs to: innermost first,
    /// inlined ones before the one they are inlined in. Empty if no name is known, or if the file has changed
    /// since it was opened.
    pub fn frames(&self, address_as_linked: u64) -> Vec<Frame> {
        // A return address may be the first of the next line or even function.
        let Some(probe) = address_as_linked.checked_sub(1) else { return Vec::new() };
        let mut frames = self.debug.as_ref().map_or_else(Vec::new, |debug| debug.frames(probe));
        if !frames.last().is_some_and(|outer| outer.is_whole) {
            self.name_outermost(&mut frames, probe);
        }
        frames.into_iter().filter(|found| !found.name.is_empty()).map(Found::into_frame).collect()
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
    let is_debug = |section: &Header::SectionHeader| {
        sections
            .section_name(endian, section)
            .is_ok_and(|name| name.starts_with(b".debug_") || name.starts_with(b".zdebug_"))
    };
    let mut has_info = false;
    for section in sections.iter() {
        let kind = section.sh_type(endian);
        has_info |= kind == elf::SHT_PROGBITS && is_debug(section);
        if matches!(kind, elf::SHT_REL | elf::SHT_RELA) {
            let target = sections.section(SectionIndex(section.sh_info(endian) as usize));
            if target.is_ok_and(is_debug) {
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
    fn into_frame(self) -> Frame {
        Frame { function: self.name, file: self.file, line: self.line, named: true }
    }
}

impl Debug {
    fn open(file: &Watched, elf: &Elf) -> Option<Debug> {
        if !elf.has_debug {
            return None;
        }
        let loader = Loader::new(&file.path).ok()?;
        // The loader opened the path once more.
        file.is_at_path().then(|| Some(Debug { loader, file: file.again().ok()? }))?
    }

    fn frames(&self, probe: u64) -> Vec<Found> {
        let mut found = Vec::new();
        if !self.file.is_unchanged() {
            return found;
        }
        let Ok(mut frames) = self.loader.find_frames(probe) else { return found };
        while let Ok(Some(frame)) = frames.next() {
            if found.len() == MAX_FRAMES {
                return Vec::new();
            }
            let language = frame.function.as_ref().and_then(|function| function.language);
            let raw = frame.function.as_ref().and_then(|function| function.raw_name().ok());
            let (name, is_path) = raw.map_or_else(Default::default, |raw| readable(&raw));
            let is_whole = is_path || (!name.is_empty() && language != Some(DW_LANG_Rust));
            let (file, line) = frame.location.map_or((None, None), |place| (place.file, place.line));
            let line = line.filter(|&line| line > 0);
            found.push(Found { name, is_whole, file: file.map(str::to_owned), line });
        }
        found
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
