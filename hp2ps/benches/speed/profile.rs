//! Makes large profiles of the shape that GHC's run time writes: bands come and go, most of the living are in each
//! sample, and their order changes now and then.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

/// How large a profile is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    pub(crate) samples: usize,
    pub(crate) bands: usize,
}

struct Band {
    name: String,
    /// When it comes and how long it stays, in shares of the run.
    start: f64,
    life: f64,
    most_bytes: f64,
    curve: Curve,
}

enum Curve {
    Hill,
    Ramp,
    /// Ups and downs, from this phase on.
    Waves(f64),
}

/// Writes a profile, the same for the same shape; returns its length in bytes.
pub(crate) fn write_profile(path: &Path, shape: Shape) -> io::Result<u64> {
    const SAMPLES_IN_ONE_ORDER: usize = 7;
    let mut random = Random(0x5eed ^ (shape.samples as u64) << 20 ^ shape.bands as u64);
    let bands: Vec<Band> = (0..shape.bands).map(|number| Band::new(number, &mut random)).collect();
    let mut order: Vec<usize> = (0..bands.len()).collect();
    let mut out = BufWriter::new(File::create(path)?);
    out.write_all(b"JOB \"large +RTS -hc -i0.1\"\nDATE \"Thu Jan  1 00:00 2026\"\n")?;
    out.write_all(b"SAMPLE_UNIT \"seconds\"\nVALUE_UNIT \"bytes\"\n")?;
    let mut time_s = 0.0;
    for sample in 0..shape.samples {
        writeln!(out, "BEGIN_SAMPLE {time_s:.6}")?;
        if sample % SAMPLES_IN_ONE_ORDER == 0 {
            random.shuffle(&mut order);
        }
        let share = sample as f64 / shape.samples as f64;
        // The first and the last sample are empty, as GHC writes them.
        let listed = if sample == 0 || sample + 1 == shape.samples { &[][..] } else { &order };
        for &band in listed {
            bands[band].write_row(&mut out, share, &mut random)?;
        }
        writeln!(out, "END_SAMPLE {time_s:.6}")?;
        time_s += 0.09 + 0.02 * random.unit();
    }
    out.flush()?;
    Ok(out.get_ref().metadata()?.len())
}

impl Band {
    fn new(number: usize, random: &mut Random) -> Band {
        const NAME_BYTES: usize = 24;
        const PARTS: [&str; 12] = [
            "parse", "fold/", "map.", "insert", "lookup/", "render'", "Main.", "Data.", "Map/", "Text.",
            "worker", "loop/",
        ];
        let mut name = format!("({})", 100 + number);
        while name.len() < NAME_BYTES {
            name.push_str(PARTS[random.below(PARTS.len())]);
        }
        name.truncate(NAME_BYTES);
        name.push_str(&number.to_string());
        Band {
            name,
            start: random.unit() * 0.9 - 0.2,
            life: 0.05 + random.unit() * 1.2,
            // Few are large.
            most_bytes: 16.0 + 4e6 * random.unit().powi(4),
            curve: match random.below(3) {
                0 => Curve::Hill,
                1 => Curve::Ramp,
                _ => Curve::Waves(random.unit() * std::f64::consts::TAU),
            },
        }
    }

    /// The row at this share of the run, if the band lives then and is not left out by chance.
    fn write_row(&self, out: &mut impl Write, share: f64, random: &mut Random) -> io::Result<()> {
        let age = (share - self.start) / self.life;
        if !(0.0..=1.0).contains(&age) || random.below(5) == 0 {
            return Ok(());
        }
        let height = match self.curve {
            Curve::Hill => (std::f64::consts::PI * age).sin(),
            Curve::Ramp => age,
            Curve::Waves(phase) => 0.5 + 0.5 * (phase + 40.0 * share).sin(),
        };
        let words = (self.most_bytes * height) as u64 / 8 + 1;
        writeln!(out, "{}\t{}", self.name, words * 8)
    }
}

/// A xorshift generator.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    fn below(&mut self, end: usize) -> usize {
        ((self.next() >> 11) % end as u64) as usize
    }

    /// From 0 to below 1.
    fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn shuffle(&mut self, order: &mut [usize]) {
        for at in (1..order.len()).rev() {
            order.swap(at, self.below(at + 1));
        }
    }
}
