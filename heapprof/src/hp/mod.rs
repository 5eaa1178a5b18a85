//! The `.hp` format: its names, its writer and its reader, in one module so that one round-trip
//! property binds them. It imports nothing else of this crate and works on every platform.
//!
//! ```text
//! JOB "prog args"              four header items, each with a string; `""` inside is one quote
//! DATE "Mon Nov 30 16:28 2026"
//! SAMPLE_UNIT "seconds"
//! VALUE_UNIT "bytes"
//! BEGIN_SAMPLE 0.000000        times have a dot and never decrease
//! (12)parse/main<TAB>1024      a name without white space, then a whole number without sign
//! END_SAMPLE 0.000000
//! MARK 0.250000                between samples only
//! ```
//! The file is a stream of tokens separated by ASCII white space, not of lines: a file with CRLF, or one
//! line long, reads the same. What a token is depends on its place:
//! - *First* of an item: every byte up to white space. One of the [`KEYWORDS`], or else a name. A leading `"` is
//!   an error, and after 4,999 bytes ([`READER_NAME_BYTES`]) a name ends wherever it is.
//! - *Operand*: digits and dots (at most 32), a whole number unless it has a dot; or a string.
//!   Anything else, a sign too, is an error.
//!
//! A name outside a sample counts in the next one; a name twice in one sample adds up. Header items may come
//! anywhere, the last one wins. The grammar is that of `hp2ps` in GHC 9.0.2, which is unchanged in GHC of 2024.
//!
//! Some things are read that GHC's tool refuses:
//! - a file cut anywhere, as a killed program leaves it: its complete samples are kept, and
//!   [`Event::Cut`] tells where the rest was dropped;
//! - times without a dot, values with one, missing header items, and times that decrease ([`Lack`] tells of these two);
//! - a line whose first word is not followed by a number: a name with blanks in it, and the number after
//!   the last tab of the line or, if it has no tab, after its last blank.
//!
//! # Example: write a profile, read it back
//! ```
//! use heapprof::hp;
//! let header = hp::Header {
//!     job: "demo".into(),
//!     date: "Mon Nov 30 16:28 2026".into(),
//!     sample_unit: "seconds".into(),
//!     value_unit: "bytes".into(),
//! };
//! let mut writer = hp::Writer::new(Vec::new(), &header)?;
//! let name = hp::stack_name(12, ["parse tree", "main"], 80);
//! assert_eq!(name, "(12)parse~tree/main");
//! writer.sample(0.5, [(name.as_str(), 1024)])?;
//! let profile = hp::read(&writer.into_inner()[..])?;
//! assert_eq!(profile.times_s, [0.5]);
//! assert_eq!(profile.band(&name).map(|band| band.value(0)), Some(1024));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

mod name;
mod profile;
mod reader;
mod writer;

pub use name::{MAX_NAME_BYTES, escape_label, path_name, stack_name, unescape_label};
pub use profile::{Band, Profile, read};
pub use reader::{Cut, Error, Event, Field, Lack, READER_NAME_BYTES, Reader, Value};
pub use writer::{MAX_TIME_S, Writer, push_header, push_mark, push_sample};

/// The seven words of the format. No band can have one of them as its name;
/// [`escape_label`] turns them into something else.
pub const KEYWORDS: [&str; 7] =
    ["JOB", "DATE", "SAMPLE_UNIT", "VALUE_UNIT", "MARK", "BEGIN_SAMPLE", "END_SAMPLE"];

/// The four strings at the head of a profile.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Header {
    /// The program and its arguments.
    pub job: String,
    /// When it ran; free text, GHC writes `Mon Nov 30 16:28 2026`.
    pub date: String,
    /// The unit of the times, `seconds` from GHC and from heapprof.
    pub sample_unit: String,
    /// The unit of the values, `bytes` from GHC and from heapprof.
    pub value_unit: String,
}

/// White space between tokens, as C's `isspace` has it.
const fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t'..=b'\r')
}
