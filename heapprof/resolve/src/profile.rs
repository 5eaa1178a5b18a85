//! Passes a profile on with other names, one sample at a time.

use std::collections::HashMap;
use std::io::{self, Read, Write};

use heapprof::hp::{self, Cut, Event, Field, Header, Reader, Value};

/// Why a profile was not passed on.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The profile or a name: one line, without the profile's path.
    Input(String),
    /// The output.
    Output(io::Error),
}

/// Writes `profile` to `out` with the names that `band` gives. Rows of one sample that get equal names are added
/// up, in the place of the first. Says where the profile was cut off, if it was.
///
/// Memory grows with the different names, not with the samples.
///
/// # Errors
/// What the reader or `band` reports, a value that heapprof does not write, a profile cut before the end of its first
/// sample, and what `out` reports.
pub(crate) fn pass_on(
    profile: impl Read,
    mut band: impl FnMut(&str) -> Result<String, String>,
    out: &mut dyn Write,
) -> Result<Option<Cut>, Failure> {
    let mut reader = Reader::new(profile);
    let mut bands = Bands::default();
    let mut sample = Sample::default();
    let mut header = Header::default();
    let mut is_header_due = false;
    let mut text = Vec::new();
    while let Some(event) = reader.next_event().map_err(|error| Failure::Input(error.to_string()))? {
        let mut problem = None;
        match event {
            Event::Header(field, value) => {
                *field_of(&mut header, field) = String::from_utf8_lossy(value).into_owned();
                is_header_due = true;
            }
            Event::BeginSample(_) => {}
            Event::Row { name, value } => {
                problem = row(name, value, &mut bands, &mut band, &mut sample).err();
            }
            Event::EndSample(time_s) => {
                if std::mem::take(&mut is_header_due) {
                    hp::push_header(&mut text, &header);
                }
                hp::push_sample(&mut text, time_s, sample.rows(&bands));
                sample.clear();
            }
            Event::Mark(time_s) => {
                if std::mem::take(&mut is_header_due) {
                    hp::push_header(&mut text, &header);
                }
                hp::push_mark(&mut text, time_s);
            }
            Event::Cut(cut) if cut.samples == 0 => return Err(Failure::Input(cut.to_string())),
            Event::Cut(cut) => return Ok(Some(cut)),
        }
        if let Some(why) = problem {
            return Err(Failure::Input(format!("line {}: {why}", reader.line())));
        }
        out.write_all(&text).map_err(Failure::Output)?;
        text.clear();
    }
    Ok(None)
}

fn field_of(header: &mut Header, field: Field) -> &mut String {
    match field {
        Field::Job => &mut header.job,
        Field::Date => &mut header.date,
        Field::ValueUnit => &mut header.value_unit,
        Field::SampleUnit => &mut header.sample_unit,
    }
}

/// The names of all bands so far.
#[derive(Default)]
struct Bands {
    /// By number.
    names: Vec<String>,
    by_name: HashMap<String, usize>,
    by_raw_name: HashMap<String, usize>,
}

impl Bands {
    fn of(
        &mut self,
        raw: &str,
        band: &mut impl FnMut(&str) -> Result<String, String>,
    ) -> Result<usize, String> {
        if let Some(&number) = self.by_raw_name.get(raw) {
            return Ok(number);
        }
        let name = band(raw)?;
        let number = *self.by_name.entry(name.clone()).or_insert(self.names.len());
        if number == self.names.len() {
            self.names.push(name);
        }
        self.by_raw_name.insert(raw.to_owned(), number);
        Ok(number)
    }
}

/// The sample that is being read.
#[derive(Default)]
struct Sample {
    /// By band, the place in `rows` plus 1; 0 for a band that the sample does not have.
    place: Vec<usize>,
    /// Band and value.
    rows: Vec<(usize, u64)>,
}

impl Sample {
    fn add(&mut self, band: usize, value: u64) -> Result<(), String> {
        self.place.resize(self.place.len().max(band + 1), 0);
        if self.place[band] == 0 {
            self.rows.push((band, 0));
            self.place[band] = self.rows.len();
        }
        let sum = &mut self.rows[self.place[band] - 1].1;
        *sum = sum.checked_add(value).ok_or("a band's values add up to more than 64 bits hold")?;
        Ok(())
    }

    fn rows<'a>(&'a self, bands: &'a Bands) -> impl Iterator<Item = (&'a str, u64)> {
        self.rows.iter().map(|&(band, value)| (bands.names[band].as_str(), value))
    }

    fn clear(&mut self) {
        for (band, _) in self.rows.drain(..) {
            self.place[band] = 0;
        }
    }
}

fn row(
    name: &[u8],
    value: Value,
    bands: &mut Bands,
    band: &mut impl FnMut(&str) -> Result<String, String>,
    sample: &mut Sample,
) -> Result<(), String> {
    let Value::Whole(whole) = value else {
        return Err(format!("read {}, expected a whole number", value.as_f64()));
    };
    let value =
        u64::try_from(whole).map_err(|_| format!("read {whole}, expected a number of at most 64 bits"))?;
    let name = str::from_utf8(name).map_err(|_| "read a name that is not UTF-8".to_owned())?;
    sample.add(bands.of(name, band)?, value)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    const HEADER: &str =
        "JOB \"say \"\"hi\"\"\"\nDATE \"d\"\nSAMPLE_UNIT \"seconds\"\nVALUE_UNIT \"bytes\"\n";

    /// Gives names their first letter.
    fn first(name: &str) -> Result<String, String> {
        if name == "bad" { Err("refused".into()) } else { Ok(name.chars().take(1).collect()) }
    }

    fn passed(samples: &str) -> (Result<Option<Cut>, String>, String) {
        let mut out = Vec::new();
        let result = pass_on(format!("{HEADER}{samples}").as_bytes(), first, &mut out);
        let result = result.map_err(|failure| match failure {
            Failure::Input(why) => why,
            Failure::Output(error) => error.to_string(),
        });
        (result, String::from_utf8(out).unwrap())
    }

    #[test]
    fn equal_names_add_up_in_each_sample_by_itself() {
        let (result, text) = passed(
            "BEGIN_SAMPLE 0.500000\naa\t1\nb\t2\nab\t30\naa\t400\nEND_SAMPLE 0.500000\nMARK 0.600000\n\
             BEGIN_SAMPLE 1.000000\nb\t18446744073709551615\nEND_SAMPLE 1.000000\n",
        );
        assert!(matches!(result, Ok(None)));
        let expected = format!(
            "{HEADER}BEGIN_SAMPLE 0.500000\na\t431\nb\t2\nEND_SAMPLE 0.500000\nMARK 0.600000\n\
             BEGIN_SAMPLE 1.000000\nb\t18446744073709551615\nEND_SAMPLE 1.000000\n"
        );
        assert_eq!(text, expected);
    }

    #[test]
    fn a_cut_profile_keeps_its_complete_samples() {
        let (result, text) = passed("BEGIN_SAMPLE 0.5\naa\t1\nEND_SAMPLE 0.5\nBEGIN_SAMPLE 1.0\nab\t");
        assert_eq!(result.unwrap().unwrap().samples, 1);
        assert_eq!(text, format!("{HEADER}BEGIN_SAMPLE 0.500000\na\t1\nEND_SAMPLE 0.500000\n"));
    }

    #[test]
    fn a_profile_cut_before_its_first_sample_is_refused() {
        let refusal = "line 5: the profile is cut off here; kept the 0 complete samples before it";
        assert_eq!(passed("BEGIN_SAMPLE 0.5\naa\t1\n"), (Err(refusal.to_owned()), String::new()));
    }

    #[test]
    fn what_cannot_be_passed_on_is_said_with_its_line() {
        let sample =
            |rows: &str| passed(&format!("BEGIN_SAMPLE 0.5\n{rows}\nEND_SAMPLE 0.5\n")).0.unwrap_err();
        assert_eq!(sample("a\t1.5"), "line 6: read 1.5, expected a whole number");
        let beyond = "18446744073709551616";
        assert_eq!(
            sample(&format!("a\t{beyond}")),
            format!("line 6: read {beyond}, expected a number of at most 64 bits")
        );
        let sum = "line 7: a band's values add up to more than 64 bits hold";
        assert_eq!(sample("ab\t18446744073709551615\nac\t1"), sum);
        assert_eq!(sample("a\t1\nbad\t1"), "line 7: refused");
        let refusal = sample("MARK 0.7\na\t1");
        assert!(refusal.starts_with("line 6: read "), "{refusal}");
    }
}
