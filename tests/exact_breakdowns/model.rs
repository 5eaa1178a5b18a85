//! What the program says that it held, as bands.

use std::collections::BTreeMap;

use heapprof::hp::{escape_label, path_name};

/// Bytes by band, as a sample has them.
pub(crate) type Bands = BTreeMap<String, u64>;

/// All that the program said, sample by sample.
pub(crate) struct Model(pub(crate) Vec<Sample>);

pub(crate) struct Sample {
    /// What `heapprof::stats` said.
    pub(crate) live_bytes: u64,
    /// Bytes that were there before the profile began.
    before: u64,
    pub(crate) blocks: Vec<Block>,
}

/// A live block.
#[derive(Clone)]
pub(crate) struct Block {
    pub(crate) bytes: u64,
    pub(crate) does: String,
    pub(crate) holds: String,
    pub(crate) thread: String,
    birth: usize,
    /// As in a band's name; empty outside all cost centres.
    pub(crate) centres: String,
    pub(crate) module: String,
    /// The functions from the one that asked outwards, each with the line of the call it was making.
    pub(crate) calls: Vec<(String, String)>,
}

impl Model {
    pub(crate) fn read(said: &str) -> Self {
        let mut samples = Vec::<Sample>::new();
        for line in said.lines() {
            if let Some(rest) = line.strip_prefix("sample ") {
                let numbers: Vec<u64> = rest.split(' ').map(|number| number.parse().unwrap()).collect();
                assert_eq!(numbers[0] as usize, samples.len());
                samples.push(Sample { live_bytes: numbers[1], before: numbers[2], blocks: Vec::new() });
            } else if let Some(sample) = samples.last_mut() {
                sample.blocks.push(Block::read(line));
            }
        }
        Self(samples)
    }

    /// Leaves out all other blocks, and those that were there before the profile.
    pub(crate) fn keep_only(&mut self, keeps: impl Fn(&Block) -> bool) {
        for sample in &mut self.0 {
            sample.before = 0;
            sample.blocks.retain(&keeps);
        }
    }

    /// Changes every block as the names of another build tell of it.
    pub(crate) fn change(&mut self, change: impl Fn(&mut Block)) {
        self.0.iter_mut().flat_map(|sample| &mut sample.blocks).for_each(change);
    }
}

impl Block {
    fn read(line: &str) -> Self {
        let mut fields = line.split('\t').map(str::to_owned);
        let mut next = || fields.next().unwrap();
        let bytes = next().parse().unwrap();
        let [does, holds, thread] = [next(), next(), next()];
        let birth = next().parse().unwrap();
        let [centres, module] = [next(), next()];
        let call = |call: String| {
            let (label, line) = call.rsplit_once(':').unwrap();
            (label.to_owned(), line.to_owned())
        };
        Self { bytes, does, holds, thread, birth, centres, module, calls: fields.map(call).collect() }
    }

    /// The function that asked.
    pub(crate) fn asked(&self) -> &str {
        self.calls.first().map_or("", |(label, _)| label)
    }

    /// The block's band. `times_s`: when the samples were taken.
    fn band(&self, breakdown: &str, times_s: &[f64]) -> String {
        let label = |text: &str| escape_label(text).into_owned();
        match breakdown {
            "stack" if self.centres.is_empty() => String::from("MAIN"),
            "stack" => self.centres.clone(),
            "module" => label(if self.centres.is_empty() { &self.module } else { "held" }),
            "arc" => {
                let asked = self.calls[0].0.clone();
                let with_line = |(label, line): &(String, String)| match line.as_str() {
                    "" => label.clone(),
                    line => format!("{label}:{line}"),
                };
                let called = self.calls.get(1).map(with_line);
                path_name([asked].iter().chain(&called).map(String::as_str), usize::MAX)
            }
            "callstack" => path_name(self.calls.iter().map(|(label, _)| label.as_str()), usize::MAX),
            "description" => label(&self.does),
            "type" => label(&self.holds),
            "thread" => label(&self.thread),
            "size" => size_class(self.bytes),
            // Samples within a millisecond give intervals of one name.
            "birth" => format!("{:012.3}", if self.birth == 0 { 0.0 } else { times_s[self.birth - 1] }),
            _ => panic!("{breakdown}"),
        }
    }
}

/// The powers of two between which a size lies.
fn size_class(bytes: u64) -> String {
    let end = bytes.next_power_of_two();
    if end <= 2 { end.to_string() } else { format!("{}-{end}", end / 2 + 1) }
}

impl Sample {
    /// The sample's bands in a breakdown.
    pub(crate) fn bands(&self, breakdown: &str, times_s: &[f64]) -> Bands {
        let mut bands = Bands::new();
        if self.before > 0 {
            bands.insert(String::from("BEFORE_PROFILE"), self.before);
        }
        for block in &self.blocks {
            *bands.entry(block.band(breakdown, times_s)).or_default() += block.bytes;
        }
        bands
    }
}
