//! Passes over a profile: the first counts, the later ones look at single rows. None keeps all rows, so
//! memory depends on samples and names, not on their product.

use std::collections::HashMap;
use std::io::{Read, Seek};

use heapprof::hp::{self, Cut, Event, Field, Reader};

use crate::Error;

/// The four header strings as bytes, since nothing promises UTF-8.
#[derive(Clone, Debug, Default)]
pub struct Header {
    /// JOB
    pub job: Vec<u8>,
    /// DATE
    pub date: Vec<u8>,
    /// SAMPLE_UNIT
    pub sample_unit: Vec<u8>,
    /// VALUE_UNIT
    pub value_unit: Vec<u8>,
}

/// What the first pass counts. Bands have numbers in the order in which the profile first names them.
#[derive(Debug, Default)]
pub(crate) struct Census {
    pub(crate) header: Header,
    /// Of each complete sample, in seconds.
    pub(crate) times_s: Vec<f64>,
    /// In the order of the file, in seconds.
    pub(crate) marks_s: Vec<f64>,
    pub(crate) names: Names,
    /// Of each band, over complete samples.
    pub(crate) totals: Vec<Total>,
    /// (band, value) of rows after the last complete sample.
    pub(crate) unfinished: Vec<(usize, f64)>,
    pub(crate) cut: Option<Cut>,
    /// How much the first pass read. Later passes stop there, so that they see the same
    /// samples even if the program still writes.
    bytes: u64,
}

/// One band's sum over rows.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Total {
    /// As GHC adds up: through a double into 64 bits after each row.
    pub(crate) area: i64,
    /// In doubles, for the average.
    pub(crate) sum: f64,
    /// How many rows.
    pub(crate) rows: u64,
}

impl Total {
    pub(crate) fn add(&mut self, value: f64) {
        self.area = c_integer(self.area as f64 + value);
        self.sum += value;
        self.rows += 1;
    }
}

/// A double as 64-bit integer the way GHC's tool converts: toward zero, and -2^63 for what does not fit.
pub(crate) fn c_integer(value: f64) -> i64 {
    const LIMIT: f64 = 9_223_372_036_854_775_808.0;
    if (-LIMIT..LIMIT).contains(&value) { value as i64 } else { i64::MIN }
}

impl Census {
    /// The first pass.
    pub(crate) fn take(input: &mut (impl Read + Seek)) -> Result<Census, Error> {
        let mut census = Census::default();
        input.rewind().map_err(Error::Io)?;
        let mut source = input.take(u64::MAX);
        let mut reader = Reader::new(&mut source);
        while let Some(event) = reader.next_event()? {
            census.note(event);
        }
        drop(reader);
        census.bytes = u64::MAX - source.limit();
        census.totals.resize(census.names.all.len(), Total::default());
        Ok(census)
    }

    fn note(&mut self, event: Event) {
        match event {
            Event::Header(field, text) => {
                text.clone_into(match field {
                    Field::Job => &mut self.header.job,
                    Field::Date => &mut self.header.date,
                    Field::SampleUnit => &mut self.header.sample_unit,
                    Field::ValueUnit => &mut self.header.value_unit,
                });
            }
            Event::BeginSample(_) => {}
            Event::Row { name, value } => {
                let band = self.names.intern(name);
                self.unfinished.push((band, double(value)));
            }
            Event::EndSample(time_s) => {
                self.times_s.push(time_s);
                self.totals.resize(self.names.all.len(), Total::default());
                for (band, value) in self.unfinished.drain(..) {
                    self.totals[band].add(value);
                }
            }
            Event::Mark(time_s) => self.marks_s.push(time_s),
            Event::Cut(cut) => self.cut = Some(cut),
        }
    }

    /// A later pass: hands each row of a complete sample over as (sample, band, value), in the order of the file.
    pub(crate) fn each_row(
        &mut self,
        input: &mut (impl Read + Seek),
        mut each: impl FnMut(usize, usize, f64),
    ) -> Result<(), Error> {
        input.rewind().map_err(Error::Io)?;
        let mut reader = Reader::new(input.take(self.bytes));
        let mut sample = 0;
        while let Some(event) = reader.next_event()? {
            match event {
                Event::EndSample(_) => sample += 1,
                // A file that changed under us may name a new band; it is not drawn.
                Event::Row { name, value } if sample < self.times_s.len() => {
                    if let Some(band) = self.names.find(name) {
                        each(sample, band, double(value));
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }
}

/// A value as the double that GHC's tool makes of its digits.
fn double(value: u128) -> f64 {
    /// Out of the way: this conversion takes a call, and next to no value needs it.
    #[cold]
    #[inline(never)]
    fn beyond_64_bits(value: u128) -> f64 {
        value as f64
    }
    u64::try_from(value).map_or_else(|_| beyond_64_bits(value), |value| value as f64)
}

/// Numbers for names.
#[derive(Debug, Default)]
pub(crate) struct Names {
    pub(crate) all: Vec<Box<[u8]>>,
    numbers: HashMap<Box<[u8]>, usize>,
    /// The name that followed each name when it was last hashed. Samples list names mostly in the same order
    /// and leave few out, so the next name or the one after it needs no hashing.
    next: Vec<usize>,
    last: usize,
}

impl Names {
    fn find(&mut self, name: &[u8]) -> Option<usize> {
        let after = |number: usize| self.next.get(number).copied().unwrap_or_default();
        let known = |number: &usize| self.all.get(*number).is_some_and(|known| **known == *name);
        let guess = after(self.last);
        if let Some(number) = [guess, after(guess)].into_iter().find(known) {
            self.last = number;
            return Some(number);
        }
        let number = *self.numbers.get(name)?;
        self.next[self.last] = number;
        self.last = number;
        Some(number)
    }

    fn intern(&mut self, name: &[u8]) -> usize {
        if let Some(number) = self.find(name) {
            return number;
        }
        let number = self.all.len();
        self.all.push(name.into());
        self.numbers.insert(name.into(), number);
        self.next.push(0);
        self.next[self.last] = number;
        self.last = number;
        number
    }
}

impl From<hp::Error> for Error {
    fn from(error: hp::Error) -> Self {
        Error::Profile(error)
    }
}
