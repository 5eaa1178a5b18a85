//! A whole profile in memory, for programs that want to look at one.

use std::collections::HashMap;
use std::io::Read;

use super::{Cut, Error, Event, Field, Header, Reader, Value};

/// A profile as [`read`] gives it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Profile {
    /// Its four header strings; bytes that are not UTF-8 are replaced.
    pub header: Header,
    /// The time of each sample in seconds, in the order of the file.
    pub times_s: Vec<f64>,
    /// The bands in the order of their first row.
    pub bands: Vec<Band>,
    /// The times of the marks in seconds, in the order of the file.
    pub marks_s: Vec<f64>,
    /// Where the file was cut off, if it was.
    pub cut: Option<Cut>,
}

impl Profile {
    /// The band of that name.
    pub fn band(&self, name: &str) -> Option<&Band> {
        self.bands.iter().find(|band| band.name == name.as_bytes())
    }
}

/// One name and its values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Band {
    /// The name as written: bytes, since GHC's run time cuts names inside a UTF-8 character.
    pub name: Vec<u8>,
    /// (index of the sample, value), one per sample that names the band, in the order of the samples. A name
    /// twice in a sample is added up; a sum above `u64::MAX` stays there.
    pub points: Vec<(usize, u64)>,
}

impl Band {
    /// The value in a sample, from 0; zero where the sample does not name the band.
    pub fn value(&self, sample: usize) -> u64 {
        let at = self.points.binary_search_by_key(&sample, |&(sample, _)| sample);
        at.map_or(0, |at| self.points[at].1)
    }

    fn add(&mut self, sample: usize, value: u128) {
        let value = u64::try_from(value).unwrap_or(u64::MAX);
        match self.points.last_mut() {
            Some((last, sum)) if *last == sample => *sum = sum.saturating_add(value),
            _ => self.points.push((sample, value)),
        }
    }

    /// Forgets the rows of a sample that was never completed.
    fn drop_from(&mut self, samples: usize) {
        self.points.pop_if(|&mut (sample, _)| sample >= samples);
    }
}

/// Reads a whole profile.
///
/// # Errors
/// As [`Reader::next_event`]: the line, what was read there and what was expected; and a value
/// with a decimal point.
///
/// ```
/// let error = heapprof::hp::read(&b"JOB 12"[..]).unwrap_err();
/// assert_eq!(error.to_string(), "line 1: read `12`, expected a string in double quotes");
/// ```
pub fn read(source: impl Read) -> Result<Profile, Error> {
    let mut reader = Reader::new(source);
    let mut profile = Profile::default();
    let mut by_name = HashMap::<Vec<u8>, usize>::new();
    while let Some(event) = reader.next_event()? {
        match event {
            Event::Header(field, text) => {
                *field_of(&mut profile.header, field) = String::from_utf8_lossy(text).into_owned();
            }
            Event::BeginSample(_) => {}
            Event::Row { name, value } => {
                let at = by_name.get(name).copied().unwrap_or_else(|| {
                    profile.bands.push(Band { name: name.to_vec(), points: Vec::new() });
                    by_name.insert(name.to_vec(), profile.bands.len() - 1);
                    profile.bands.len() - 1
                });
                match value {
                    Value::Whole(value) => profile.bands[at].add(profile.times_s.len(), value),
                    Value::Decimal(value) => return Err(reader.not_whole(value)),
                }
            }
            Event::EndSample(time_s) => profile.times_s.push(time_s),
            Event::Mark(time_s) => profile.marks_s.push(time_s),
            Event::Cut(cut) => profile.cut = Some(cut),
        }
    }
    let samples = profile.times_s.len();
    profile.bands.iter_mut().for_each(|band| band.drop_from(samples));
    profile.bands.retain(|band| !band.points.is_empty());
    Ok(profile)
}

fn field_of(header: &mut Header, field: Field) -> &mut String {
    match field {
        Field::Job => &mut header.job,
        Field::Date => &mut header.date,
        Field::ValueUnit => &mut header.value_unit,
        Field::SampleUnit => &mut header.sample_unit,
    }
}
