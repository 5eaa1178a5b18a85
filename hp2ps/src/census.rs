//! Passes over a profile: the first counts, the later ones look at single rows. None keeps all rows, so
//! memory depends on samples and names, not on their product.

use std::io::{Read, Seek};

use heapprof::hp::{self, Cut, Event, Field, Lack, Reader};

use crate::Error;
use crate::names::Names;

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

/// What the first pass counts. Bands have numbers in the order in which the profile first names them, samples in
/// the order of their times.
#[derive(Debug, Default)]
pub struct Census {
    /// The header strings, empty where they are missing.
    pub header: Header,
    /// Of each complete sample, in seconds; they never decrease.
    pub times_s: Vec<f64>,
    /// The sum of all rows of each sample.
    pub sums: Vec<f64>,
    /// In the order of the file, in seconds.
    pub marks_s: Vec<f64>,
    /// Of each band.
    pub names: Names,
    /// Of each band, over complete samples.
    pub totals: Vec<Total>,
    /// (band, value) of rows after the last complete sample.
    pub(crate) unfinished: Vec<(usize, f64)>,
    /// Where the profile was cut off, if it was.
    pub cut: Option<Cut>,
    /// What it lacks.
    pub lack: Lack,
    /// The place in time of each sample of the file, if the file has them in another order.
    places: Option<Vec<usize>>,
    /// How much the first pass read. Later passes stop there, so that they see the same
    /// samples even if the program still writes.
    bytes: u64,
}

/// One band's sum over rows.
#[derive(Clone, Copy, Debug, Default)]
pub struct Total {
    /// As GHC adds up: through a double into 64 bits after each row.
    pub area: i64,
    /// In doubles, for the average.
    pub sum: f64,
    /// The largest row.
    pub peak: f64,
    /// How many rows.
    pub rows: u64,
}

impl Total {
    #[inline]
    pub(crate) fn add(&mut self, value: f64) {
        self.peak = self.peak.max(value);
        self.area = c_integer(self.area as f64 + value);
        self.sum += value;
        self.rows += 1;
    }
}

/// The first whole number that no longer fits.
pub(crate) const C_INTEGER_LIMIT: f64 = 9_223_372_036_854_775_808.0;

/// A double as 64-bit integer the way GHC's tool converts: toward zero, and -2^63 for what does not fit.
pub(crate) fn c_integer(value: f64) -> i64 {
    if (-C_INTEGER_LIMIT..C_INTEGER_LIMIT).contains(&value) { value as i64 } else { i64::MIN }
}

impl Census {
    /// The first pass over a profile, from its start.
    ///
    /// # Errors
    /// [`Error::Profile`] with the line if the input is not a profile, [`Error::Io`] if it cannot be rewound.
    ///
    /// ```
    /// use hp2ps::Census;
    /// let text = b"JOB \"j\" DATE \"d\" SAMPLE_UNIT \"s\" VALUE_UNIT \"b\"
    /// BEGIN_SAMPLE 1.0 a 10 b 30 END_SAMPLE 1.0 BEGIN_SAMPLE 3.0 b 50 END_SAMPLE 3.0";
    /// let mut input = std::io::Cursor::new(text);
    /// let mut census = Census::take(&mut input)?;
    /// assert_eq!(census.times_s, [1.0, 3.0]);
    /// assert_eq!(census.totals[1].area, 80);
    /// let mut rows = Vec::new();
    /// census.each_row(&mut input, |sample, band, value| rows.push((sample, band, value)))?;
    /// assert_eq!(rows, [(0, 0, 10.0), (0, 1, 30.0), (1, 1, 50.0)]);
    /// # Ok::<(), hp2ps::Error>(())
    /// ```
    pub fn take(input: &mut (impl Read + Seek)) -> Result<Census, Error> {
        let mut census = Census::default();
        input.rewind().map_err(Error::Io)?;
        let mut source = input.take(u64::MAX);
        let mut reader = Reader::new(&mut source);
        loop {
            while let Some((band, value)) = census.names.guess(|name| reader.row_named(name)) {
                census.unfinished.push((band, value as f64));
            }
            match reader.next_event()? {
                Some(event) => census.note(event),
                None => break,
            }
        }
        census.lack = reader.lack();
        drop(reader);
        census.bytes = u64::MAX - source.limit();
        census.totals.resize(census.names.len(), Total::default());
        census.put_in_order();
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
                self.unfinished.push((band, value.as_f64()));
            }
            Event::EndSample(time_s) => {
                self.times_s.push(time_s);
                self.sums.push(self.unfinished.iter().map(|(_, value)| value).sum());
                self.totals.resize(self.names.len(), Total::default());
                for (band, value) in self.unfinished.drain(..) {
                    self.totals[band].add(value);
                }
            }
            Event::Mark(time_s) => self.marks_s.push(time_s),
            Event::Cut(cut) => self.cut = Some(cut),
        }
    }

    /// Sorts samples by time if the file does not; those of one time stay in its order.
    fn put_in_order(&mut self) {
        if self.times_s.is_sorted() {
            return;
        }
        let mut samples: Vec<usize> = (0..self.times_s.len()).collect();
        samples.sort_by(|&a, &b| self.times_s[a].total_cmp(&self.times_s[b]));
        let mut places = vec![0; samples.len()];
        samples.iter().enumerate().for_each(|(place, &sample)| places[sample] = place);
        self.times_s.sort_by(f64::total_cmp);
        self.sums = samples.iter().map(|&sample| self.sums[sample]).collect();
        self.places = Some(places);
    }

    /// A later pass: hands each row of a complete sample over as (sample, band, value), in the order of the file.
    ///
    /// # Errors
    /// As [`take`](Census::take).
    pub fn each_row(
        &mut self,
        input: &mut (impl Read + Seek),
        mut each: impl FnMut(usize, usize, f64),
    ) -> Result<(), Error> {
        input.rewind().map_err(Error::Io)?;
        let Census { names, times_s, places, bytes, .. } = self;
        let mut reader = Reader::new(input.take(*bytes));
        let place = |sample: usize| places.as_ref().map_or(sample, |places| places[sample]);
        let (mut read, mut sample) = (0, place(0));
        loop {
            while let Some((band, value)) = names.guess(|name| reader.row_named(name)) {
                each(sample, band, value as f64);
            }
            match reader.next_event()? {
                // A file that changed under us may name a new band; it is not drawn.
                Some(Event::Row { name, value }) => {
                    if let Some(band) = names.find(name) {
                        each(sample, band, value.as_f64());
                    }
                }
                Some(Event::EndSample(_)) => {
                    read += 1;
                    if read == times_s.len() {
                        return Ok(());
                    }
                    sample = place(read);
                }
                Some(_) => {}
                None => return Ok(()),
            }
        }
    }

    /// What was made good while reading, one line each.
    pub fn warnings(&self) -> impl Iterator<Item = String> {
        let missing = hp::Field::ALL.into_iter().filter(|(field, _)| self.lack.missing[*field as usize]);
        let missing: Vec<&str> = missing.map(|(_, word)| word).collect();
        let missing = (!missing.is_empty()).then(|| format!("no {} in it; left blank", missing.join(", ")));
        let unordered = self
            .lack
            .unordered_line
            .map(|line| format!("line {line}: a sample earlier than the one before it; sorted by time"));
        missing.into_iter().chain(unordered).chain(self.cut.map(|cut| cut.to_string()))
    }
}

impl From<hp::Error> for Error {
    fn from(error: hp::Error) -> Self {
        Error::Profile(error)
    }
}
