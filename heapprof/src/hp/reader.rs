//! Reads `.hp` text: a pull parser over bytes that holds one item at a time.

use std::fmt;
use std::io::{self, Read};

use super::{KEYWORDS, is_space};

/// GHC's reader ends a name after so many bytes; what follows is its operand.
pub const READER_NAME_BYTES: usize = 4_999;

/// GHC's reader ends a number after so many characters.
const NUMBER_BYTES: usize = 32;

/// Bytes asked of the source at once; also the size of the buffer unless one item needs more.
const CHUNK_BYTES: usize = 64 * 1024;

/// The longest line that may be a row whose name has blanks; what is longer is no name but a file without lines.
const LINE_BYTES: usize = 1 << 20;

/// One of the four header items.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Field {
    /// `JOB`
    Job,
    /// `DATE`
    Date,
    /// `VALUE_UNIT`
    ValueUnit,
    /// `SAMPLE_UNIT`
    SampleUnit,
}

impl Field {
    /// Each with its word, in the order in which a missing one is reported.
    pub const ALL: [(Field, &'static str); 4] = [
        (Field::Job, "JOB"),
        (Field::Date, "DATE"),
        (Field::ValueUnit, "VALUE_UNIT"),
        (Field::SampleUnit, "SAMPLE_UNIT"),
    ];
}

/// What a profile says, in the order in which it says it. Names and texts are bytes: GHC's run time
/// cuts names inside a UTF-8 character.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Event<'a> {
    /// A header item; the last of its kind counts.
    Header(Field, &'a [u8]),
    /// `BEGIN_SAMPLE` with its time in seconds.
    BeginSample(f64),
    /// A name and its value in the sample that the next [`EndSample`](Event::EndSample) ends.
    Row {
        /// The name as written.
        name: &'a [u8],
        /// The value, in the profile's value unit.
        value: Value,
    },
    /// A complete sample, with the time its `BEGIN_SAMPLE` gave (0 if there was none).
    EndSample(f64),
    /// `MARK` with its time in seconds, which may lie outside the samples.
    Mark(f64),
    /// The file ends in the middle; rows since the last [`EndSample`](Event::EndSample) belong to no sample.
    /// The last event if it comes at all.
    Cut(Cut),
}

/// The value of a row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value {
    /// As GHC and heapprof write it. At most 32 digits, so a `u128` always holds it.
    Whole(u128),
    /// With a decimal point, which GHC's tool refuses; 0 or more.
    Decimal(f64),
}

impl Value {
    /// The value as the double that GHC's tool makes of its digits.
    #[inline]
    pub fn as_f64(self) -> f64 {
        /// Out of the way: this conversion takes a call, and next to no value needs it.
        #[cold]
        #[inline(never)]
        fn beyond_64_bits(value: u128) -> f64 {
            value as f64
        }
        match self {
            Value::Whole(value) => {
                u64::try_from(value).map_or_else(|_| beyond_64_bits(value), |value| value as f64)
            }
            Value::Decimal(value) => value,
        }
    }
}

/// What a profile lacks that GHC's tool demands, and that the reader does without.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lack {
    /// The first line whose BEGIN_SAMPLE has a time before the one before it.
    pub unordered_line: Option<u64>,
    /// By `Field as usize`, whether the header item is missing; known at the end of the file.
    pub missing: [bool; 4],
}

/// Where a profile was cut off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cut {
    /// The line on which the unfinished part begins, from 1.
    pub line: u64,
    /// How many complete samples come before it.
    pub samples: usize,
    /// Whether an item is cut off, and not only a sample: GHC's tool refuses every such file.
    pub inside_item: bool,
}

impl fmt::Display for Cut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Cut { line, samples, .. } = self;
        let s = if *samples == 1 { "" } else { "s" };
        write!(f, "line {line}: the profile is cut off here; kept the {samples} complete sample{s} before it")
    }
}

/// Why a profile cannot be read: the line, what was read there, and what was expected.
#[derive(Debug)]
pub struct Error {
    line: u64,
    cause: Cause,
}

#[derive(Debug)]
enum Cause {
    Syntax { read: String, expected: String },
    Io(io::Error),
}

impl Error {
    /// The line of the offending token, from 1.
    pub fn line(&self) -> u64 {
        self.line
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.cause {
            Cause::Syntax { read, expected } => {
                write!(f, "line {}: read {read}, expected {expected}", self.line)
            }
            Cause::Io(error) => write!(f, "line {}: cannot read on: {error}", self.line),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.cause {
            Cause::Syntax { .. } => None,
            Cause::Io(error) => Some(error),
        }
    }
}

/// A pull parser: each [`next_event`](Reader::next_event) reads one item from the source, which may be a
/// byte slice, a file (the reader buffers by itself) or a pipe. Memory stays at one item.
///
/// ```
/// use heapprof::hp::{Event, Reader};
/// let text = b"JOB \"j\" DATE \"d\" SAMPLE_UNIT \"s\" VALUE_UNIT \"b\"\nBEGIN_SAMPLE 1.0\na\t7\nEND_SAMPLE 1.0\n";
/// let mut reader = Reader::new(&text[..]);
/// let mut total = 0.0;
/// while let Some(event) = reader.next_event()? {
///     if let Event::Row { value, .. } = event {
///         total += value.as_f64();
///     }
/// }
/// assert_eq!(total, 7.0);
/// # Ok::<(), heapprof::hp::Error>(())
/// ```
#[derive(Debug)]
pub struct Reader<R> {
    source: R,
    /// Bytes read; those before `at` are taken, those before `item` no longer needed.
    buffer: Buffer,
    /// Where the current item begins in `buffer`.
    item: usize,
    /// The next byte of `buffer` to take.
    at: usize,
    /// Whether nothing was taken yet.
    at_start: bool,
    /// Whether the source has nothing more.
    drained: bool,
    /// The line of the byte at `at`, from 1.
    at_line: u64,
    /// The line on which the current item begins.
    item_line: u64,
    /// Where the current token begins, in bytes from `item`, and its line: what errors point at.
    token: (usize, u64),
    /// The number that the current item is glued to, and its line: `1e5` is read as 1 and a name, as GHC's reader does.
    glued: Option<(String, u64)>,
    /// The string of the current header item, its doubled quotes made single.
    text: Vec<u8>,
    state: State,
}

/// What the samples read so far demand of the next items.
#[derive(Debug, Default)]
struct State {
    /// Complete samples so far.
    samples: usize,
    /// The line that opened the unfinished sample: its BEGIN_SAMPLE, or a row before any.
    open_line: Option<u64>,
    /// Whether BEGIN_SAMPLE was read without its END_SAMPLE.
    begun: bool,
    /// The time of the unfinished sample; 0 until its BEGIN_SAMPLE.
    time_s: f64,
    /// The last BEGIN_SAMPLE time; the next should not be less.
    last_s: f64,
    /// The first line on which it was.
    unordered_line: Option<u64>,
    /// Which header items were seen, by `Field as usize`.
    seen: [bool; 4],
    /// Whether the end of the file was reported.
    ended: bool,
}

/// An event without its borrowed bytes, which lie in the reader.
enum Item {
    Header(Field),
    Begin(f64),
    Row { name_bytes: usize, value: Value },
    End(f64),
    Mark(f64),
    Cut(Cut),
}

enum Operand {
    Whole(u128),
    Decimal(f64),
    Text,
    Word,
    /// The file ends before the operand, or so that a time may lack its dot.
    CutOff,
}

impl<R: Read> Reader<R> {
    /// Reads from the start of `source`.
    pub fn new(source: R) -> Self {
        Reader {
            source,
            buffer: Buffer::default(),
            item: 0,
            at: 0,
            at_start: true,
            drained: false,
            at_line: 1,
            item_line: 1,
            token: (0, 1),
            glued: None,
            text: Vec::new(),
            state: State::default(),
        }
    }

    /// The line on which the last event began, from 1.
    pub fn line(&self) -> u64 {
        self.item_line
    }

    /// What the items read so far lack.
    pub fn lack(&self) -> Lack {
        Lack { unordered_line: self.state.unordered_line, missing: self.state.seen.map(|seen| !seen) }
    }

    /// The next event, or `None` at the end.
    ///
    /// # Errors
    /// The first item that is not of the format, a mark inside a sample, at the end a profile without one
    /// complete sample, and what the source reports. After an error the reader is of no more use.
    pub fn next_event(&mut self) -> Result<Option<Event<'_>>, Error> {
        self.item = self.at;
        let glued = self.glued.take();
        self.skip_space()?;
        self.glued = glued.filter(|_| self.item == self.at);
        self.item = self.at;
        self.item_line = self.at_line;
        self.token = (0, self.at_line);
        // Not by way of an `Item`: moving one takes longer than reading the row.
        if let Some((name_bytes, value)) = self.plain_row() {
            let name = &self.buffer[self.item..self.item + name_bytes];
            return Ok(Some(Event::Row { name, value: Value::Whole(value.into()) }));
        }
        let Some(item) = self.next_item()? else {
            return Ok(None);
        };
        Ok(Some(match item {
            Item::Header(field) => Event::Header(field, &self.text),
            Item::Begin(time_s) => Event::BeginSample(time_s),
            Item::Row { name_bytes, value } => {
                Event::Row { name: &self.buffer[self.item..self.item + name_bytes], value }
            }
            Item::End(time_s) => Event::EndSample(time_s),
            Item::Mark(time_s) => Event::Mark(time_s),
            Item::Cut(cut) => Event::Cut(cut),
        }))
    }

    fn next_item(&mut self) -> Result<Option<Item>, Error> {
        self.skip_byte_order_mark()?;
        match self.buffer.get(self.at) {
            None => self.end(),
            Some(b'"') => match self.row_with_blanks()? {
                Some(row) => Ok(Some(row)),
                None => Err(self.unexpected("a name or one of the words of the format")),
            },
            Some(_) => self.word_and_operand().map(Some),
        }
    }

    /// Takes the next item if it is a row of `name`, written as GHC and heapprof write one: on a new line, a tab
    /// after the name, fewer than 20 digits; returns its value. Otherwise takes nothing, and
    /// [`next_event`](Reader::next_event) tells what comes.
    ///
    /// This is for speed: most of a profile are rows whose names can be guessed from the sample before, and comparing
    /// a guess costs a fraction of finding a name's end and looking the name up.
    ///
    /// ```
    /// let mut reader = heapprof::hp::Reader::new(&b"BEGIN_SAMPLE 1.0\na\t7\nb\t8\n"[..]);
    /// reader.next_event()?;
    /// assert_eq!((reader.row_named(b"b"), reader.row_named(b"a")), (None, Some(7)));
    /// # Ok::<(), heapprof::hp::Error>(())
    /// ```
    #[inline]
    pub fn row_named(&mut self, name: &[u8]) -> Option<u64> {
        let (text, number) = self.buffer.get(self.at..)?.split_at_checked(name.len() + 2)?;
        if text[0] != b'\n' || text[name.len() + 1] != b'\t' || !same(&text[1..=name.len()], name) {
            return None;
        }
        let (value, digits) = plain_number(number)?;
        self.item = self.at + 1;
        self.at_line += 1;
        self.item_line = self.at_line;
        self.at += text.len() + digits;
        self.state.open_line.get_or_insert(self.item_line);
        Some(value)
    }

    /// Some editors begin a file with these three bytes.
    fn skip_byte_order_mark(&mut self) -> Result<(), Error> {
        const MARK: &[u8] = "\u{feff}".as_bytes();
        if !std::mem::take(&mut self.at_start) || self.at > 0 {
            return Ok(());
        }
        while self.buffer.len() < MARK.len() && self.fill()? {}
        if self.buffer.starts_with(MARK) {
            self.at = MARK.len();
            self.skip_space()?;
            self.item = self.at;
        }
        Ok(())
    }

    /// The common case in one go: a row that lies whole in the buffer, one blank or tab after its name, few
    /// enough digits for a `u64`. Returns the length of the name and the value; for all else `None`, and
    /// nothing is taken.
    #[inline]
    fn plain_row(&mut self) -> Option<(usize, u64)> {
        let rest = &self.buffer[self.item..];
        let rest = &rest[..rest.len().min(READER_NAME_BYTES)];
        let name_bytes = space_at(rest)?;
        let name = &rest[..name_bytes];
        let apart = matches!(rest[name_bytes], b'\t' | b' ');
        let (value, digits) = plain_number(&rest[name_bytes + 1..])?;
        if !apart || name.starts_with(b"\"") || is_keyword(name) {
            return None;
        }
        self.at += name_bytes + 1 + digits;
        self.state.open_line.get_or_insert(self.item_line);
        Some((name_bytes, value))
    }

    fn word_and_operand(&mut self) -> Result<Item, Error> {
        let name_bytes = self.take_word()?;
        match &self.buffer[self.item..self.item + name_bytes] {
            b"JOB" => self.header(Field::Job),
            b"DATE" => self.header(Field::Date),
            b"SAMPLE_UNIT" => self.header(Field::SampleUnit),
            b"VALUE_UNIT" => self.header(Field::ValueUnit),
            b"BEGIN_SAMPLE" => self.begin(),
            b"END_SAMPLE" => self.finish(),
            b"MARK" => self.mark(),
            _ => self.row(name_bytes),
        }
    }

    fn header(&mut self, field: Field) -> Result<Item, Error> {
        match self.operand()? {
            Operand::Text => {}
            // Perhaps a longer name that the end of the file cut to this word.
            Operand::CutOff if self.state.samples > 0 => return Ok(self.cut()),
            _ => return Err(self.unexpected("a string in double quotes")),
        }
        self.state.seen[field as usize] = true;
        Ok(Item::Header(field))
    }

    fn begin(&mut self) -> Result<Item, Error> {
        let Some(time_s) = self.time()? else {
            return Ok(self.cut());
        };
        // At the end of the file the time may be cut off as well.
        if time_s < self.state.last_s && !self.at_end() {
            self.state.unordered_line.get_or_insert(self.item_line);
        }
        self.state.open_line.get_or_insert(self.item_line);
        self.state.begun = true;
        self.state.time_s = time_s;
        self.state.last_s = time_s;
        Ok(Item::Begin(time_s))
    }

    fn finish(&mut self) -> Result<Item, Error> {
        if self.time()?.is_none() {
            return Ok(self.cut());
        }
        let time_s = std::mem::take(&mut self.state.time_s);
        self.state.samples += 1;
        self.state.begun = false;
        self.state.open_line = None;
        Ok(Item::End(time_s))
    }

    fn mark(&mut self) -> Result<Item, Error> {
        let begun = self.state.begun;
        match self.time() {
            Ok(None) => Ok(self.cut()),
            // What stands after the word does not matter then.
            _ if begun => Err(self.syntax("MARK".into(), "END_SAMPLE before it".into())),
            Ok(Some(time_s)) => Ok(Item::Mark(time_s)),
            Err(error) => Err(error),
        }
    }

    fn row(&mut self, name_bytes: usize) -> Result<Item, Error> {
        let value = match self.operand()? {
            Operand::Whole(value) => Value::Whole(value),
            Operand::Decimal(value) => Value::Decimal(value),
            Operand::CutOff => return Ok(self.cut()),
            // Its name may be longer than the first word.
            Operand::Word | Operand::Text => {
                const EXPECTED: &str = "a number of 0 or more after the name";
                const PLAIN_NUMBER: &str = "a number of at most 32 digits without exponent";
                let row = self.row_with_blanks()?;
                return row.ok_or_else(|| match self.glued.take() {
                    Some((read, line)) => {
                        Error { line, cause: Cause::Syntax { read, expected: PLAIN_NUMBER.into() } }
                    }
                    None => self.unexpected(EXPECTED),
                });
            }
        };
        self.state.open_line.get_or_insert(self.item_line);
        Ok(Item::Row { name_bytes, value })
    }

    /// The current item as a whole line: a name with blanks in it, and the number after the last tab or, without
    /// any tab, after the last blank. GHC's tool refuses all such lines, so what it accepts keeps its meaning.
    /// `None` if the line is no such row.
    fn row_with_blanks(&mut self) -> Result<Option<Item>, Error> {
        let Some(line_bytes) = self.line_bytes()? else {
            return Ok(None);
        };
        let line = self.buffer[self.item..self.item + line_bytes].trim_ascii_end();
        let ends_the_file = self.drained && self.item + line_bytes == self.buffer.len();
        let tab = line.iter().rposition(|&byte| byte == b'\t');
        let parts = tab.or_else(|| line.iter().rposition(|&byte| is_space(byte)));
        let (name, number) = parts.map_or((line, &b""[..]), |at| (&line[..at], &line[at + 1..]));
        let name_bytes = name.trim_ascii_end().len();
        let Some(value) = value_of(number.trim_ascii_start()) else {
            return Ok(ends_the_file.then(|| self.cut()));
        };
        self.at = self.item + line_bytes;
        self.at_line = self.item_line;
        self.state.open_line.get_or_insert(self.item_line);
        Ok(Some(Item::Row { name_bytes, value }))
    }

    /// The length of the line that begins with the current item, without its end; `None` if it is too long for a row.
    fn line_bytes(&mut self) -> Result<Option<usize>, Error> {
        let mut searched = 0;
        loop {
            let line = &self.buffer[self.item..];
            if let Some(end) = line[searched..].iter().position(|&byte| byte == b'\n') {
                return Ok(Some(searched + end));
            }
            searched = line.len();
            if searched > LINE_BYTES {
                return Ok(None);
            }
            if !self.fill()? {
                return Ok(Some(searched));
            }
        }
    }

    /// A time, or `None` if the file ends before it is certain.
    fn time(&mut self) -> Result<Option<f64>, Error> {
        match self.operand()? {
            Operand::Decimal(time_s) => Ok(Some(time_s)),
            Operand::CutOff => Ok(None),
            Operand::Whole(_) if self.at_end() => Ok(None),
            Operand::Whole(time_s) => Ok(Some(time_s as f64)),
            _ => Err(self.unexpected("a time of 0 or more")),
        }
    }

    /// Reports the unfinished end once; then checks that the profile is whole enough to draw.
    fn end(&mut self) -> Result<Option<Item>, Error> {
        if !self.state.ended && self.state.open_line.is_some() {
            return Ok(Some(self.cut_off(false)));
        }
        if self.state.samples > 0 {
            return Ok(None);
        }
        let missing = Field::ALL.iter().find(|&&(field, _)| !self.state.seen[field as usize]);
        Err(self.unexpected(missing.map_or("at least one complete sample", |(_, keyword)| keyword)))
    }

    /// The end of a file that ends inside an item.
    fn cut(&mut self) -> Item {
        self.cut_off(true)
    }

    fn cut_off(&mut self, inside_item: bool) -> Item {
        self.state.ended = true;
        self.at = self.buffer.len();
        let line = self.state.open_line.unwrap_or(self.item_line);
        Item::Cut(Cut { line, samples: self.state.samples, inside_item })
    }

    fn operand(&mut self) -> Result<Operand, Error> {
        self.skip_space()?;
        self.token = (self.at - self.item, self.at_line);
        match self.buffer.get(self.at) {
            None => Ok(Operand::CutOff),
            Some(b'0'..=b'9') => self.take_number(),
            Some(b'"') => self.take_string(),
            Some(_) => Ok(Operand::Word),
        }
    }

    /// Takes the bytes up to white space, at most [`READER_NAME_BYTES`]; returns how many.
    fn take_word(&mut self) -> Result<usize, Error> {
        loop {
            let word = &self.buffer[self.item..];
            let word = &word[..word.len().min(READER_NAME_BYTES)];
            let taken = self.at - self.item;
            let more = space_at(&word[taken..]);
            self.at = self.item + more.map_or(word.len(), |more| taken + more);
            let whole = more.is_some() || word.len() == READER_NAME_BYTES;
            if whole || !self.fill()? {
                return Ok(self.at - self.item);
            }
        }
    }

    fn take_number(&mut self) -> Result<Operand, Error> {
        while self.buffer.len() - self.at < NUMBER_BYTES && self.fill()? {}
        let start = self.at;
        let number = self.take_digits();
        if self.buffer.get(self.at).is_some_and(|&byte| !is_space(byte)) {
            let word = &self.buffer[start..];
            let end = word.iter().position(|&byte| is_space(byte)).unwrap_or(word.len());
            self.glued = Some((quoted(&word[..end]), self.at_line));
        }
        Ok(number)
    }

    /// Takes the number that lies whole in the buffer.
    fn take_digits(&mut self) -> Operand {
        let number = &self.buffer[self.at..self.buffer.len().min(self.at + NUMBER_BYTES)];
        let digits = number.iter().take_while(|byte| byte.is_ascii_digit()).count();
        if number.get(digits) != Some(&b'.') {
            let value = whole(&number[..digits]);
            self.at += digits;
            return Operand::Whole(value);
        }
        let fraction = number[digits + 1..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        let text = str::from_utf8(&number[..digits + 1 + fraction]).unwrap_or_default();
        // What follows a second dot belongs to the number but says nothing.
        let ignored = number[digits + 1 + fraction..]
            .iter()
            .take_while(|byte| byte.is_ascii_digit() || **byte == b'.')
            .count();
        let time_s = text.parse().unwrap_or_default();
        self.at += text.len() + ignored;
        Operand::Decimal(time_s)
    }

    /// Takes a string into `text`: doubled quotes made single, the rest after a NUL dropped as GHC's reader does.
    fn take_string(&mut self) -> Result<Operand, Error> {
        self.text.clear();
        self.at += 1;
        loop {
            match self.next_byte()? {
                Some(b'"') if self.peek()? == Some(b'"') => {
                    self.at += 1;
                    self.text.push(b'"');
                }
                Some(b'"') => break,
                Some(byte) => {
                    self.at_line += u64::from(byte == b'\n');
                    self.text.push(byte);
                }
                None => {
                    return Err(self.syntax(quoted(&self.text), "a closing double quote".into()));
                }
            }
        }
        let end = self.text.iter().position(|&byte| byte == 0);
        self.text.truncate(end.unwrap_or(self.text.len()));
        Ok(Operand::Text)
    }

    fn next_byte(&mut self) -> Result<Option<u8>, Error> {
        let byte = self.peek()?;
        self.at += usize::from(byte.is_some());
        Ok(byte)
    }

    fn peek(&mut self) -> Result<Option<u8>, Error> {
        while self.at == self.buffer.len() && self.fill()? {}
        Ok(self.buffer.get(self.at).copied())
    }

    /// Moves to the next byte that is not white space, or to the end of the source.
    fn skip_space(&mut self) -> Result<(), Error> {
        loop {
            while let Some(&byte) = self.buffer.get(self.at) {
                if !is_space(byte) {
                    return Ok(());
                }
                self.at_line += u64::from(byte == b'\n');
                self.at += 1;
            }
            if !self.fill()? {
                return Ok(());
            }
        }
    }

    fn at_end(&self) -> bool {
        self.drained && self.at == self.buffer.len()
    }

    /// Reads more behind the current item; false at the end of the source.
    fn fill(&mut self) -> Result<bool, Error> {
        if self.drained {
            return Ok(false);
        }
        self.buffer.drop_front(self.item);
        self.at -= self.item;
        self.item = 0;
        let read = self.buffer.read_from(&mut self.source);
        let bytes = read.map_err(|error| Error { line: self.at_line, cause: Cause::Io(error) })?;
        self.drained = bytes == 0;
        Ok(bytes > 0)
    }

    /// An error about the current token.
    #[cold]
    fn unexpected(&self, expected: &str) -> Error {
        let rest = &self.buffer[self.item + self.token.0..];
        let end = rest.iter().position(|&byte| is_space(byte)).unwrap_or(rest.len());
        let read = if rest.is_empty() { "the end of the file".into() } else { quoted(&rest[..end]) };
        self.syntax(read, expected.into())
    }

    /// The error for one who takes whole values only, about the row just read.
    pub(super) fn not_whole(&self, read: f64) -> Error {
        self.syntax(format!("`{read}`"), "a whole number after the name".into())
    }

    #[cold]
    fn syntax(&self, read: String, expected: String) -> Error {
        Error { line: self.token.1, cause: Cause::Syntax { read, expected } }
    }
}

/// Bytes read and not yet dropped. Space is made once and used again, which a `Vec` that grows and shrinks would
/// fill with zeros before each read.
#[derive(Debug, Default)]
struct Buffer {
    bytes: Vec<u8>,
    /// How many of `bytes` were read; the rest is space.
    filled: usize,
}

impl std::ops::Deref for Buffer {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        &self.bytes[..self.filled]
    }
}

impl Buffer {
    fn drop_front(&mut self, count: usize) {
        self.bytes.copy_within(count..self.filled, 0);
        self.filled -= count;
    }

    /// Reads once; returns how many bytes came, 0 at the end of the source.
    fn read_from(&mut self, source: &mut impl Read) -> io::Result<usize> {
        if self.bytes.is_empty() {
            self.bytes = vec![0; CHUNK_BYTES];
        } else if self.filled > self.bytes.len() / 2 {
            self.bytes.resize(self.bytes.len() * 2, 0);
        }
        loop {
            match source.read(&mut self.bytes[self.filled..]) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                result => {
                    self.filled += *result.as_ref().unwrap_or(&0);
                    return result;
                }
            }
        }
    }
}

fn is_keyword(name: &[u8]) -> bool {
    // Most names end here: the comparisons that follow cost as much as all else.
    name.last().is_some_and(u8::is_ascii_uppercase) && KEYWORDS.iter().any(|word| word.as_bytes() == name)
}

/// Where the first white space is. Looks at eight bytes at once, since most time goes into names.
fn space_at(bytes: &[u8]) -> Option<usize> {
    const ONES: u64 = u64::from_ne_bytes([1; 8]);
    let mut passed = 0;
    for chunk in bytes.chunks_exact(8) {
        let word = chunk.try_into().map_or(0, u64::from_le_bytes);
        // The lowest of the top bits left marks the first byte up to a blank.
        if word.wrapping_sub(ONES * 0x21) & !word & (ONES * 0x80) != 0
            && let Some(at) = chunk.iter().position(|&byte| is_space(byte))
        {
            return Some(passed + at);
        }
        passed += 8;
    }
    bytes[passed..].iter().position(|&byte| is_space(byte)).map(|at| passed + at)
}

/// The number at the start of `bytes` if it is whole, has fewer than 20 digits and white space after it; with the
/// count of its digits.
#[inline]
fn plain_number(bytes: &[u8]) -> Option<(u64, usize)> {
    const MOST_DIGITS: usize = 19;
    const ZEROS: u64 = u64::from_ne_bytes([b'0'; 8]);
    const TOPS: u64 = u64::from_ne_bytes([0x80; 8]);
    if let Some(chunk) = bytes.first_chunk() {
        // Up to seven digits at once: without a loop whose length the processor would have to guess.
        let word = u64::from_le_bytes(*chunk) ^ ZEROS;
        // Top bit set in each byte that is no digit now, that is above 9.
        let others = (word.wrapping_add(u64::from_ne_bytes([0x76; 8])) | word) & TOPS;
        let digits = others.trailing_zeros() as usize / 8;
        if (1..8).contains(&digits) && is_space(chunk[digits]) {
            // The first digit is the lowest byte: shifted so that the last one is the highest.
            return Some((eight_digits(word << (64 - 8 * digits)), digits));
        }
    }
    let digits = bytes.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let plain = (1..=MOST_DIGITS).contains(&digits) && is_space(*bytes.get(digits)?);
    plain.then(|| {
        (bytes[..digits].iter().fold(0, |value, digit| value * 10 + u64::from(digit - b'0')), digits)
    })
}

/// The number whose eight digits, the first in the lowest byte, are the bytes of `digits`: pairs, then fours, then
/// all, each step one multiplication.
fn eight_digits(digits: u64) -> u64 {
    let pairs = (digits.wrapping_mul(10 * 256 + 1) >> 8) & 0x00ff_00ff_00ff_00ff;
    let fours = (pairs.wrapping_mul(100 * 65_536 + 1) >> 16) & 0x0000_ffff_0000_ffff;
    fours.wrapping_mul(10_000 * (1 << 32) + 1) >> 32
}

/// Whether two texts of one length are equal: in place, where a call would take longer than the comparison.
#[inline]
fn same(a: &[u8], b: &[u8]) -> bool {
    let ((a, a_rest), (b, b_rest)) = (a.as_chunks::<8>(), b.as_chunks::<8>());
    let word = |chunk: &[u8; 8]| u64::from_ne_bytes(*chunk);
    a.iter().zip(b).all(|(a, b)| word(a) == word(b)) && a_rest.iter().zip(b_rest).all(|(a, b)| a == b)
}

/// The value that a whole text is.
fn value_of(text: &[u8]) -> Option<Value> {
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    if digits == 0 || text.len() > NUMBER_BYTES {
        return None;
    }
    if digits == text.len() {
        return Some(Value::Whole(whole(text)));
    }
    let fraction = text[digits..].strip_prefix(b".")?;
    let decimal = fraction.iter().all(u8::is_ascii_digit);
    decimal.then(|| {
        Value::Decimal(str::from_utf8(text).ok().and_then(|text| text.parse().ok()).unwrap_or_default())
    })
}

/// The value of at most 32 digits.
fn whole(digits: &[u8]) -> u128 {
    // 19 digits fit a u64, whose arithmetic is much faster.
    let (head, tail) = digits.split_at(digits.len().min(19));
    let short = head.iter().fold(0, |value, digit| value * 10 + u64::from(digit - b'0'));
    tail.iter().fold(u128::from(short), |value, digit| value * 10 + u128::from(digit - b'0'))
}

/// A token for an error message: in quotes, printable, at most 40 characters.
fn quoted(token: &[u8]) -> String {
    const SHOWN: usize = 40;
    let text = String::from_utf8_lossy(&token[..token.len().min(SHOWN * 4)]);
    let printable = |c: char| match c {
        '"' | '\'' | '\\' => c.to_string(),
        _ => c.escape_debug().to_string(),
    };
    let mut shown: String = text.chars().take(SHOWN).map(printable).collect();
    if text.chars().count() > SHOWN {
        shown.push_str("...");
    }
    format!("`{shown}`")
}
