//! The name under which a function is declared: beside its mangled name, debug information has it with its
//! generic arguments, `push<u64, alloc::alloc::Global>`, which the legacy scheme leaves out.
//!
//! `addr2line` gives one name and the place of the function's entry, and its loader does not give the sections.
//! They are read here by a second reader, a page at a time, so that they take no memory: what is kept is where
//! units begin and the last units that were used.

use std::borrow::Cow;
use std::cell::RefCell;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::{Arc, Mutex, PoisonError};

use addr2line::gimli::{self, AttributeValue, Reader as _};
use object::read::elf::{ElfFile, FileHeader, SectionHeader as _};
use object::{Endianness, FileKind, ReadCache, elf};

/// Entries that refer to one another before the name.
const MAX_REFERENCES: usize = 16;
/// Units that are kept: as many as a call stack may go through again and again.
const MAX_UNITS: usize = 64;
/// What is read of the file at once, in bytes.
const PAGE_BYTES: u64 = 4 << 10;
/// The longest string that is read, in bytes.
const MAX_STRING_BYTES: u64 = 64 << 10;

type Unit = Arc<gimli::Unit<Bytes>>;
type UnitAt = gimli::DebugInfoOffset<usize>;

/// The names of functions in one file.
pub(super) struct Declared {
    dwarf: gimli::Dwarf<Bytes>,
    /// All units, as they follow one another in the file.
    units: Vec<UnitAt>,
    /// From which address on which unit's code is; by rising address.
    code: Vec<(u64, UnitAt)>,
    /// The units used last, the last one first.
    used: RefCell<Vec<(UnitAt, Unit)>>,
}

impl Declared {
    /// Looks where the units of an ELF file are. `None` if that cannot be read; compressed sections are not.
    pub(super) fn open(file: File) -> Option<Declared> {
        let pages = Arc::new(Pages::new(file.try_clone().ok()?));
        let cache = ReadCache::new(file);
        let (endian, sections) = match FileKind::parse(&cache).ok()? {
            FileKind::Elf64 => sections::<elf::FileHeader64<Endianness>>(&cache)?,
            FileKind::Elf32 => sections::<elf::FileHeader32<Endianness>>(&cache)?,
            _ => return None,
        };
        let section = |id: gimli::SectionId| -> Result<Bytes, gimli::Error> {
            let found = sections.iter().find(|section| section.0 == id.name().as_bytes());
            let (at, length) = found.map_or((0, 0), |section| section.1);
            Ok(Bytes { pages: Arc::clone(&pages), at, end: at.saturating_add(length), endian })
        };
        let dwarf = gimli::Dwarf::load(section).ok()?;
        let (units, code) = (units(&dwarf)?, code(&dwarf)?);
        Some(Declared { dwarf, units, code, used: RefCell::default() })
    }

    /// The declared name of the function that is called `mangled`, the place of whose entry, in the unit with
    /// the code at `address`, is `entry`. `None` if the entry there is not that function's.
    pub(super) fn name(&self, address: u64, entry: usize, mangled: &str) -> Option<String> {
        let behind = self.code.partition_point(|&(start, _)| start <= address);
        let mut unit = self.unit(self.code.get(behind.checked_sub(1)?)?.1)?;
        let mut entry_at = gimli::UnitOffset(entry);
        for _ in 0..MAX_REFERENCES {
            let entry = unit.entry(entry_at).ok()?;
            let text = |value| self.dwarf.attr_string(&unit, value).ok();
            if let Some(linkage) = entry.attr_value(gimli::DW_AT_linkage_name) {
                let name = text(entry.attr_value(gimli::DW_AT_name)?)?;
                let is_same = text(linkage)?.to_slice().ok()? == mangled.as_bytes();
                return is_same.then(|| name.to_string().ok().map(Cow::into_owned)).flatten();
            }
            let origin = entry.attr_value(gimli::DW_AT_abstract_origin);
            match origin.or_else(|| entry.attr_value(gimli::DW_AT_specification))? {
                AttributeValue::UnitRef(at) => entry_at = at,
                AttributeValue::DebugInfoRef(at) => {
                    let behind = self.units.partition_point(|start| start.0 <= at.0);
                    unit = self.unit(*self.units.get(behind.checked_sub(1)?)?)?;
                    entry_at = at.to_unit_offset(&unit.header)?;
                }
                _ => return None,
            }
        }
        None
    }

    fn unit(&self, at: UnitAt) -> Option<Unit> {
        let mut used = self.used.borrow_mut();
        let unit = match used.iter().position(|(known, _)| *known == at) {
            Some(known) => used.remove(known).1,
            None => {
                let header = self.dwarf.debug_info.header_from_offset(at).ok()?;
                Arc::new(self.dwarf.unit(header).ok()?)
            }
        };
        used.insert(0, (at, Arc::clone(&unit)));
        used.truncate(MAX_UNITS);
        Some(unit)
    }
}

type Sections = Vec<(Vec<u8>, (u64, u64))>;

/// The names of sections, and where they are in the file: start and length in bytes.
fn sections<Header: FileHeader<Endian = Endianness>>(
    data: &ReadCache<File>,
) -> Option<(gimli::RunTimeEndian, Sections)> {
    let file = ElfFile::<Header, _>::parse(data).ok()?;
    let (endian, table) = (file.endian(), file.elf_section_table());
    let is_plain = |section: &&Header::SectionHeader| !section.sh_flags(endian).contains(elf::SHF_COMPRESSED);
    let sections = table.iter().filter(is_plain).filter_map(|section| {
        Some((table.section_name(endian, section).ok()?.to_vec(), section.file_range(endian)?))
    });
    let dwarf_endian = match endian {
        Endianness::Little => gimli::RunTimeEndian::Little,
        Endianness::Big => gimli::RunTimeEndian::Big,
    };
    Some((dwarf_endian, sections.collect()))
}

fn units(dwarf: &gimli::Dwarf<Bytes>) -> Option<Vec<UnitAt>> {
    let mut units = Vec::new();
    let mut headers = dwarf.units();
    while let Some(header) = headers.next().ok()? {
        units.extend(header.debug_info_offset());
    }
    Some(units)
}

/// Where code of another unit begins. It does not tell where code ends: what lies there has another name.
fn code(dwarf: &gimli::Dwarf<Bytes>) -> Option<Vec<(u64, UnitAt)>> {
    let mut code = Vec::new();
    let mut headers = dwarf.debug_aranges.headers();
    while let Some(header) = headers.next().ok()? {
        let mut entries = header.entries();
        while let Some(entry) = entries.next().ok()? {
            if entry.length() > 0 {
                code.push((entry.address(), header.debug_info_offset()));
            }
        }
    }
    code.sort_unstable();
    code.dedup_by_key(|&mut (_, unit)| unit);
    code.shrink_to_fit();
    Some(code)
}

/// A file of which one page is in memory.
struct Pages {
    file: File,
    /// Where the page is in the file, and what is there.
    page: Mutex<(u64, Vec<u8>)>,
}

impl Pages {
    fn new(file: File) -> Pages {
        Pages { file, page: Mutex::new((0, Vec::new())) }
    }

    /// Fills `into` with what is at `at` in the file; `None` if there is not so much.
    fn read(&self, mut at: u64, mut into: &mut [u8]) -> Option<()> {
        let mut page = self.page.lock().unwrap_or_else(PoisonError::into_inner);
        while !into.is_empty() {
            let start = at - at % PAGE_BYTES;
            if page.0 != start || page.1.is_empty() {
                self.turn(&mut page, start)?;
            }
            let rest = page.1.get(usize::try_from(at - start).ok()?..).filter(|rest| !rest.is_empty())?;
            let length = rest.len().min(into.len());
            let (now, later) = into.split_at_mut(length);
            now.copy_from_slice(&rest[..length]);
            (at, into) = (at.checked_add(length as u64)?, later);
        }
        Some(())
    }

    fn turn(&self, page: &mut (u64, Vec<u8>), start: u64) -> Option<()> {
        page.1.resize(usize::try_from(PAGE_BYTES).ok()?, 0);
        let read = self.file.read_at(&mut page.1, start);
        page.1.truncate(*read.as_ref().unwrap_or(&0));
        page.0 = start;
        read.is_ok().then_some(())
    }
}

/// A part of a file, as `gimli` reads it.
#[derive(Clone)]
struct Bytes {
    pages: Arc<Pages>,
    at: u64,
    end: u64,
    endian: gimli::RunTimeEndian,
}

impl std::fmt::Debug for Bytes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}..{}", self.at, self.end)
    }
}

impl Bytes {
    fn ended<T>(&self) -> gimli::Result<T> {
        Err(gimli::Error::UnexpectedEof(self.offset_id()))
    }
}

impl gimli::Reader for Bytes {
    type Endian = gimli::RunTimeEndian;
    type Offset = usize;

    fn endian(&self) -> Self::Endian {
        self.endian
    }

    fn len(&self) -> usize {
        usize::try_from(self.end.saturating_sub(self.at)).unwrap_or(usize::MAX)
    }

    fn empty(&mut self) {
        self.end = self.at;
    }

    fn truncate(&mut self, length: usize) -> gimli::Result<()> {
        if length > self.len() {
            return self.ended();
        }
        self.end = self.at + length as u64;
        Ok(())
    }

    fn offset_from(&self, base: &Self) -> usize {
        usize::try_from(self.at.saturating_sub(base.at)).unwrap_or(usize::MAX)
    }

    fn offset_id(&self) -> gimli::ReaderOffsetId {
        gimli::ReaderOffsetId(self.at)
    }

    fn lookup_offset_id(&self, id: gimli::ReaderOffsetId) -> Option<usize> {
        let is_here = (self.at..=self.end).contains(&id.0);
        is_here.then(|| usize::try_from(id.0 - self.at).ok()).flatten()
    }

    fn find(&self, byte: u8) -> gimli::Result<usize> {
        let mut rest = self.clone();
        let mut chunk = [0; 256];
        while !rest.is_empty() {
            let length = chunk.len().min(rest.len());
            rest.read_slice(&mut chunk[..length])?;
            if let Some(found) = chunk[..length].iter().position(|&here| here == byte) {
                return Ok(rest.offset_from(self) - length + found);
            }
        }
        self.ended()
    }

    fn skip(&mut self, length: usize) -> gimli::Result<()> {
        if length > self.len() {
            return self.ended();
        }
        self.at += length as u64;
        Ok(())
    }

    fn split(&mut self, length: usize) -> gimli::Result<Self> {
        let mut first = self.clone();
        first.truncate(length)?;
        self.skip(length)?;
        Ok(first)
    }

    fn to_slice(&self) -> gimli::Result<Cow<'_, [u8]>> {
        let length = usize::try_from(MAX_STRING_BYTES).unwrap_or(usize::MAX);
        if self.len() > length {
            return self.ended();
        }
        let mut bytes = vec![0; self.len()];
        self.clone().read_slice(&mut bytes)?;
        Ok(Cow::Owned(bytes))
    }

    fn to_string(&self) -> gimli::Result<Cow<'_, str>> {
        let text = String::from_utf8(self.to_slice()?.into_owned());
        text.map(Cow::Owned).map_err(|_| gimli::Error::BadUtf8)
    }

    fn to_string_lossy(&self) -> gimli::Result<Cow<'_, str>> {
        Ok(Cow::Owned(String::from_utf8_lossy(&self.to_slice()?).into_owned()))
    }

    fn read_slice(&mut self, into: &mut [u8]) -> gimli::Result<()> {
        if into.len() > self.len() || self.pages.read(self.at, into).is_none() {
            return self.ended();
        }
        self.at += into.len() as u64;
        Ok(())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::super::testing::Folder;
    use super::*;

    /// A file that is longer than two pages, and a part of it with the same bytes.
    fn part(folder: &Folder) -> (Vec<u8>, Bytes) {
        let all: Vec<u8> = (0..9000_u32).map(|at| u8::try_from(at * 7 % 251).unwrap() + 1).collect();
        let path = folder.join("bytes");
        std::fs::write(&path, &all).unwrap();
        let pages = Arc::new(Pages::new(File::open(path).unwrap()));
        (all[100..8900].to_vec(), Bytes { pages, at: 100, end: 8900, endian: gimli::RunTimeEndian::Little })
    }

    #[test]
    fn a_part_of_a_file_reads_as_the_slice_does() {
        let folder = Folder::new("bytes");
        let (slice, whole) = part(&folder);
        let expected = gimli::EndianSlice::new(&slice, gimli::RunTimeEndian::Little);
        for (skipped, length) in [(0, 8800), (0, 0), (3990, 20), (3995, 4097), (8000, 800), (8800, 0)] {
            let (mut got, mut want) = (whole.clone(), expected);
            got.skip(skipped).unwrap();
            want.skip(skipped).unwrap();
            assert_eq!((got.offset_from(&whole), got.len()), (skipped, want.len()));
            assert_eq!(whole.lookup_offset_id(got.offset_id()), Some(skipped));
            let first = got.split(length).unwrap();
            assert_eq!(first.to_slice().unwrap(), want.split(length).unwrap().to_slice().unwrap());
            assert_eq!(got.to_slice().unwrap(), want.to_slice().unwrap());
            assert_eq!(got.read_u64().ok(), want.read_u64().ok());
            for byte in [1, 200, 255] {
                assert_eq!(
                    got.find(byte).ok(),
                    gimli::Reader::find(&want, byte).ok(),
                    "{byte} after {skipped}"
                );
            }
        }
    }

    #[test]
    fn nothing_is_read_behind_the_end() {
        let folder = Folder::new("bytes-end");
        let (_, whole) = part(&folder);
        for length in [8801, usize::MAX] {
            assert!(whole.clone().skip(length).is_err() && whole.clone().split(length).is_err());
            assert!(whole.clone().truncate(length).is_err());
        }
        let mut empty = whole.clone();
        empty.empty();
        assert!(empty.is_empty() && empty.read_u8().is_err() && empty.find(1).is_err());
        // A file that is shorter than its sections say.
        let mut beyond = Bytes { at: 8990, end: u64::MAX, ..whole };
        assert!(beyond.read_u64().is_ok() && beyond.read_u64().is_err());
        assert!(beyond.find(0).is_err() && beyond.to_slice().is_err());
    }
}
