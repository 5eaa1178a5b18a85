//! Models of how memory moves over a run, drawn at random: leaks, what is no leak, and what lies between.

use std::f64::consts::TAU;

use crate::hp_common::Random;

/// What a kind of band is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Truth {
    Leak,
    NoLeak,
    /// Either, by its parameters: how often it is named is a property to know, not a fault.
    Between,
}

use Truth::{Between, Leak, NoLeak};

/// A kind of band: its values, at about 1, at times from 0 to 1.
pub(crate) struct Kind {
    pub(crate) name: &'static str,
    pub(crate) truth: Truth,
    draw: fn(&mut Random, &[f64]) -> Vec<f64>,
    /// How many percent of the runs of 16 to 60 samples, and of those of 60 to 2000, are named: least and
    /// most.
    pub(crate) named_percent: [[f64; 2]; 2],
}

/// A run of two bands.
pub(crate) struct Drawn {
    pub(crate) times_s: Vec<f64>,
    pub(crate) values: Vec<f64>,
    /// A band that stays where it is.
    pub(crate) rest: Vec<f64>,
}

impl Kind {
    /// A run of this many samples. Times: at an interval, about an interval, or at one that doubles. Ends:
    /// the program is killed, or samples without memory stand at both ends, or it takes its memory down.
    pub(crate) fn run(&self, random: &mut Random, samples: usize) -> Drawn {
        let interval_s = logarithmic(random, 0.01, 60.0);
        let pace = random.below(3);
        let mut times_s = vec![0.0];
        for sample in 1..samples {
            let intervals = match pace {
                0 => 1.0,
                1 => uniform(random, 0.7, 1.3),
                _ => f64::from(1 << (sample * 4 / samples)),
            };
            times_s.push(times_s[sample - 1] + interval_s * intervals);
        }
        let parts: Vec<f64> = times_s.iter().map(|time_s| time_s / times_s[samples - 1]).collect();
        let bytes = logarithmic(random, 1e4, 1e9);
        let values = self.scaled(random, &parts, bytes);
        let rest = bytes * logarithmic(random, 0.1, 5.0);
        let rest = (0..samples).map(|_| (rest * (1.0 + 0.02 * normal(random))).round()).collect();
        let mut drawn = Drawn { times_s, values, rest };
        match random.below(3) {
            0 => {}
            1 => drawn.empty_ends(),
            _ => drawn.take_down(),
        }
        drawn
    }

    /// Only the values, at a steady interval.
    pub(crate) fn values(&self, random: &mut Random, samples: usize, bytes: f64) -> Vec<f64> {
        let parts: Vec<f64> = (0..samples).map(|sample| sample as f64 / (samples - 1) as f64).collect();
        self.scaled(random, &parts, bytes)
    }

    fn scaled(&self, random: &mut Random, parts: &[f64], bytes: f64) -> Vec<f64> {
        (self.draw)(random, parts).iter().map(|part| (part.max(0.0) * bytes).round()).collect()
    }
}

impl Drawn {
    fn empty_ends(&mut self) {
        for values in [&mut self.values, &mut self.rest] {
            values[0] = 0.0;
            *values.last_mut().expect("samples") = 0.0;
        }
    }

    /// The last samples, one in 33, have ever less; the very last has nothing.
    fn take_down(&mut self) {
        for values in [&mut self.values, &mut self.rest] {
            let samples = values.len();
            let count = (samples / 33).max(1);
            for sample in samples - count..samples {
                let left = (samples - 1 - sample) as f64 / count as f64;
                values[sample] = (values[samples - count - 1] * left * 0.8).round();
            }
        }
    }
}

pub(crate) fn uniform(random: &mut Random, from: f64, to: f64) -> f64 {
    from + (to - from) * (random.next() >> 11) as f64 / (1_u64 << 53) as f64
}

pub(crate) fn logarithmic(random: &mut Random, from: f64, to: f64) -> f64 {
    uniform(random, from.ln(), to.ln()).exp()
}

/// Average 0, deviation 1, never beyond 6.
pub(crate) fn normal(random: &mut Random) -> f64 {
    (0..12).map(|_| uniform(random, 0.0, 1.0)).sum::<f64>() - 6.0
}

/// A shape under fluctuation of this deviation.
fn noisy(random: &mut Random, times: &[f64], deviation: f64, shape: impl Fn(f64) -> f64) -> Vec<f64> {
    times.iter().map(|&time| shape(time) + deviation * normal(random)).collect()
}

/// A straight rise from 0 at one time to 1 at another, flat before and after.
fn ramp(time: f64, from: f64, to: f64) -> f64 {
    ((time - from) / (to - from)).clamp(0.0, 1.0)
}

fn tooth(time: f64, period: f64, phase: f64) -> f64 {
    (time / period + phase).fract()
}

/// Steps at random times that together make 1, mostly one in each of `count` equal parts of the run.
fn stairs(random: &mut Random, count: usize) -> impl Fn(f64) -> f64 + use<> {
    let mut step = |part: usize| {
        let within = uniform(random, 0.0, 1.0);
        let at = if random.once_in(3) { within } else { (part as f64 + within) / count as f64 };
        (at, uniform(random, 0.5, 1.5))
    };
    let steps: Vec<(f64, f64)> = (0..count).map(&mut step).collect();
    let sum: f64 = steps.iter().map(|step| step.1).sum();
    move |time| steps.iter().filter(|step| step.0 <= time).map(|step| step.1 / sum).sum()
}

fn linear(random: &mut Random, times: &[f64]) -> Vec<f64> {
    let (base, deviation) = (uniform(random, 0.0, 3.0), uniform(random, 0.0, 0.1));
    noisy(random, times, deviation, |time| base + time)
}

fn in_a_big_band(random: &mut Random, times: &[f64]) -> Vec<f64> {
    let (base, deviation) = (uniform(random, 3.0, 9.0), uniform(random, 0.0, 0.06));
    noisy(random, times, deviation, |time| base + time)
}

fn in_a_fluctuating_band(random: &mut Random, times: &[f64]) -> Vec<f64> {
    let (base, deviation) = (uniform(random, 2.0, 5.0), uniform(random, 0.14, 0.17));
    noisy(random, times, deviation, |time| base + time)
}

fn under_saw_teeth(random: &mut Random, times: &[f64]) -> Vec<f64> {
    let (base, height) = (uniform(random, 0.0, 2.0), uniform(random, 0.2, 2.0));
    let (period, phase) = (uniform(random, 1.0 / 60.0, 1.0 / 14.0), uniform(random, 0.0, 1.0));
    noisy(random, times, 0.01, |time| base + time + height * tooth(time, period, phase))
}

fn by_many_steps(random: &mut Random, times: &[f64]) -> Vec<f64> {
    let count = 8 + random.below(33);
    by_steps(random, times, count)
}

fn by_steps(random: &mut Random, times: &[f64], count: usize) -> Vec<f64> {
    let (base, stairs) = (uniform(random, 0.0, 1.0), stairs(random, count));
    noisy(random, times, 0.005, |time| base + stairs(time))
}

fn from_the_middle_on(random: &mut Random, times: &[f64]) -> Vec<f64> {
    rising_from(random, times, [0.1, 0.5])
}

fn rising_from(random: &mut Random, times: &[f64], onset: [f64; 2]) -> Vec<f64> {
    let (base, onset) = (uniform(random, 0.0, 1.5), uniform(random, onset[0], onset[1]));
    let deviation = uniform(random, 0.0, 0.03);
    noisy(random, times, deviation, |time| base + ramp(time, onset, 1.0))
}

fn exponential(random: &mut Random, times: &[f64]) -> Vec<f64> {
    let factor = logarithmic(random, 8.0, 300.0);
    noisy(random, times, 0.005, |time| factor.powf(time - 1.0))
}

fn after_start_up(random: &mut Random, times: &[f64]) -> Vec<f64> {
    let (base, started) = (uniform(random, 0.5, 5.0), uniform(random, 0.01, 0.14));
    noisy(random, times, 0.015, |time| base * ramp(time, 0.0, started) + time)
}

fn in_busy_hours(random: &mut Random, times: &[f64]) -> Vec<f64> {
    let (turns, phase) = (TAU * uniform(random, 4.0, 12.0), uniform(random, 0.0, TAU));
    noisy(random, times, 0.005, |time| 0.3 + time + (1.0 - (turns * time + phase).cos()) / turns)
}

fn power_law(random: &mut Random, times: &[f64]) -> Vec<f64> {
    let (power, base) = (uniform(random, 0.75, 3.0), uniform(random, 0.0, 0.5));
    noisy(random, times, 0.01, |time| base + time.powf(power))
}

fn constant(random: &mut Random, times: &[f64]) -> Vec<f64> {
    let deviation = uniform(random, 0.0, 0.3);
    noisy(random, times, deviation, |_| 1.0)
}

/// Fluctuation that remembers itself for up to a twelfth of the run.
fn slow_fluctuation(random: &mut Random, times: &[f64]) -> Vec<f64> {
    let (memory, deviation) = (logarithmic(random, 0.002, 0.08), uniform(random, 0.05, 0.3));
    let (mut off, mut last) = (normal(random), 0.0);
    let mut next = |&time: &f64| {
        let kept = ((last - time) / memory).exp();
        last = time;
        off = off * kept + normal(random) * (1.0 - kept * kept).sqrt();
        1.5 + deviation * off
    };
    times.iter().map(&mut next).collect()
}

fn cache_that_fills(random: &mut Random, times: &[f64]) -> Vec<f64> {
    filling(random, times, [0.1, 0.75])
}

fn filling(random: &mut Random, times: &[f64], full: [f64; 2]) -> Vec<f64> {
    let (base, full) = (uniform(random, 0.0, 1.0), uniform(random, full[0], full[1]));
    let deviation = uniform(random, 0.0, 0.03);
    noisy(random, times, deviation, |time| base + ramp(time, 0.0, full))
}

fn cache_of_chance(random: &mut Random, times: &[f64]) -> Vec<f64> {
    saturating(random, times, [0.03, 0.22])
}

fn saturating(random: &mut Random, times: &[f64], constant: [f64; 2]) -> Vec<f64> {
    let constant = uniform(random, constant[0], constant[1]);
    noisy(random, times, 0.01, |time| 1.2 - (-time / constant).exp())
}

fn fast_saw_teeth(random: &mut Random, times: &[f64]) -> Vec<f64> {
    let (period, phase) = (logarithmic(random, 0.005, 0.12), uniform(random, 0.0, 1.0));
    let base = uniform(random, 0.0, 1.0);
    noisy(random, times, 0.01, |time| base + tooth(time, period, phase))
}

/// A few teeth, or only one and a half: the first part of the run rises.
fn slow_saw_teeth(random: &mut Random, times: &[f64]) -> Vec<f64> {
    let (base, period) = (uniform(random, 0.0, 1.0), uniform(random, 0.12, 0.8));
    let phase = if period > 0.5 { 0.0 } else { uniform(random, 0.0, 1.0) };
    noisy(random, times, 0.01, |time| base + tooth(time, period, phase))
}

/// Each phase has its own level and slope; the last one, up to a third of the run, rises.
fn phases(random: &mut Random, times: &[f64]) -> Vec<f64> {
    let (count, last) = (2 + random.below(4), uniform(random, 0.67, 0.95));
    let mut levels: Vec<[f64; 2]> =
        (0..count).map(|_| [uniform(random, 0.0, 1.0), uniform(random, 0.0, 1.0)]).collect();
    levels.push([uniform(random, 0.0, 0.3), uniform(random, 0.5, 1.5)]);
    noisy(random, times, 0.01, |time| {
        let phase = if time >= last { count } else { (time / last * count as f64) as usize };
        let length = last / count as f64;
        let within = if time >= last { ramp(time, last, 1.0) } else { time / length - phase as f64 };
        0.2 + levels[phase][0] + (levels[phase][1] - levels[phase][0]) * within
    })
}

fn start_up(random: &mut Random, times: &[f64]) -> Vec<f64> {
    filling(random, times, [0.01, 0.3])
}

fn decline(random: &mut Random, times: &[f64]) -> Vec<f64> {
    let (loss, deviation) = (uniform(random, 0.1, 0.9), uniform(random, 0.0, 0.1));
    noisy(random, times, deviation, |time| 1.5 - loss * time)
}

fn one_step(random: &mut Random, times: &[f64]) -> Vec<f64> {
    by_steps(random, times, 1)
}

fn two_steps(random: &mut Random, times: &[f64]) -> Vec<f64> {
    by_steps(random, times, 2)
}

fn up_at_the_end(random: &mut Random, times: &[f64]) -> Vec<f64> {
    rising_from(random, times, [0.67, 0.97])
}

fn appears_late(random: &mut Random, times: &[f64]) -> Vec<f64> {
    let (onset, deviation) = (uniform(random, 0.3, 0.97), uniform(random, 0.0, 0.1));
    noisy(random, times, deviation, |time| if time < onset { -9.0 } else { 1.0 })
}

/// A load that wanders between nothing and a limit.
fn pool(random: &mut Random, times: &[f64]) -> Vec<f64> {
    let (mut load, mut last) = (uniform(random, 0.0, 1.0), 0.0);
    let pace = uniform(random, 1.5, 6.0);
    let mut next = |&time: &f64| {
        load = (load + pace * (time - last).sqrt() * normal(random)).rem_euclid(2.0);
        last = time;
        0.1 + load.min(2.0 - load)
    };
    times.iter().map(&mut next).collect()
}

fn waves(random: &mut Random, times: &[f64]) -> Vec<f64> {
    let (turns, phase) = (TAU * uniform(random, 1.2, 9.0), uniform(random, 0.0, TAU));
    noisy(random, times, 0.02, |time| 1.2 + (turns * time + phase).sin())
}

/// A hump of which something stays.
fn hump(random: &mut Random, times: &[f64]) -> Vec<f64> {
    let (from, to) = (uniform(random, 0.1, 0.4), uniform(random, 0.5, 0.85));
    let (height, rest) = (uniform(random, 0.6, 3.0), uniform(random, 0.1, 0.5));
    let shape = |time: f64| if time < to { height * ramp(time, from, to) } else { rest };
    noisy(random, times, 0.01, |time| 0.1 + shape(time))
}

/// Growth that no one need look for: a five-hundredth of what is there.
fn growth_of_no_weight(random: &mut Random, times: &[f64]) -> Vec<f64> {
    noisy(random, times, 0.0, |time| 1.0 + time / 25.0)
}

fn fills_late(random: &mut Random, times: &[f64]) -> Vec<f64> {
    filling(random, times, [0.75, 0.85])
}

fn fills_at_the_end(random: &mut Random, times: &[f64]) -> Vec<f64> {
    filling(random, times, [0.87, 0.97])
}

fn nearly_full(random: &mut Random, times: &[f64]) -> Vec<f64> {
    saturating(random, times, [0.25, 0.43])
}

fn from_beyond_the_middle_on(random: &mut Random, times: &[f64]) -> Vec<f64> {
    rising_from(random, times, [0.5, 0.67])
}

fn random_walk(random: &mut Random, times: &[f64]) -> Vec<f64> {
    let (pace, mut off, mut last) = (uniform(random, 0.2, 1.5), 2.0_f64, 0.0);
    let mut next = |&time: &f64| {
        off = (off + pace * (time - last).sqrt() * normal(random)).abs();
        last = time;
        off
    };
    times.iter().map(&mut next).collect()
}

fn by_doubling(random: &mut Random, times: &[f64]) -> Vec<f64> {
    let last = logarithmic(random, 64.0, 128.0);
    noisy(random, times, 0.0, |time| (time * last).max(0.5).log2().ceil().exp2())
}

fn logarithm(random: &mut Random, times: &[f64]) -> Vec<f64> {
    let pace = logarithmic(random, 5.0, 500.0);
    noisy(random, times, 0.01, |time| (1.0 + pace * time).ln())
}

fn square_root(random: &mut Random, times: &[f64]) -> Vec<f64> {
    noisy(random, times, 0.005, f64::sqrt)
}

fn by_three_steps(random: &mut Random, times: &[f64]) -> Vec<f64> {
    by_steps(random, times, 3)
}

fn by_five_steps(random: &mut Random, times: &[f64]) -> Vec<f64> {
    by_steps(random, times, 5)
}

fn by_seven_steps(random: &mut Random, times: &[f64]) -> Vec<f64> {
    by_steps(random, times, 7)
}

const fn kind(
    name: &'static str,
    truth: Truth,
    draw: fn(&mut Random, &[f64]) -> Vec<f64>,
    named_percent: [[f64; 2]; 2],
) -> Kind {
    Kind { name, truth, draw, named_percent }
}

/// All kinds, with what was measured.
pub(crate) const KINDS: [Kind; 38] = [
    kind("linear", Leak, linear, [[90.0, 100.0], [93.0, 100.0]]),
    kind("in a big band", Leak, in_a_big_band, [[93.0, 100.0], [95.0, 100.0]]),
    kind("in a fluctuating band", Leak, in_a_fluctuating_band, [[35.0, 60.0], [70.0, 90.0]]),
    kind("under saw-teeth", Leak, under_saw_teeth, [[15.0, 40.0], [88.0, 100.0]]),
    kind("by 8 to 40 steps", Leak, by_many_steps, [[80.0, 100.0], [90.0, 100.0]]),
    kind("from 10 to 50 % on", Leak, from_the_middle_on, [[92.0, 100.0], [99.0, 100.0]]),
    kind("exponential", Leak, exponential, [[70.0, 100.0], [99.0, 100.0]]),
    kind("after start-up", Leak, after_start_up, [[93.0, 100.0], [99.0, 100.0]]),
    kind("in busy hours", Leak, in_busy_hours, [[93.0, 100.0], [99.0, 100.0]]),
    kind("power law", Leak, power_law, [[93.0, 100.0], [99.0, 100.0]]),
    kind("constant", NoLeak, constant, [[0.0, 1.0], [0.0, 1.0]]),
    kind("slow fluctuation", NoLeak, slow_fluctuation, [[0.0, 1.0], [0.0, 1.0]]),
    kind("cache full at 10 to 75 %", NoLeak, cache_that_fills, [[0.0, 3.0], [0.0, 1.0]]),
    kind("cache of chance", NoLeak, cache_of_chance, [[0.0, 1.0], [0.0, 1.0]]),
    kind("fast saw-teeth", NoLeak, fast_saw_teeth, [[0.0, 4.0], [0.0, 1.0]]),
    kind("slow saw-teeth", NoLeak, slow_saw_teeth, [[0.0, 4.0], [0.0, 1.0]]),
    kind("phases, the last rises", NoLeak, phases, [[0.0, 2.0], [0.0, 1.0]]),
    kind("start-up", NoLeak, start_up, [[0.0, 1.0], [0.0, 1.0]]),
    kind("decline", NoLeak, decline, [[0.0, 0.0], [0.0, 0.0]]),
    kind("one step", NoLeak, one_step, [[0.0, 0.0], [0.0, 0.0]]),
    kind("two steps", NoLeak, two_steps, [[0.0, 1.0], [0.0, 1.0]]),
    kind("up from 67 to 97 % on", NoLeak, up_at_the_end, [[0.0, 3.0], [0.0, 2.0]]),
    kind("appears late", NoLeak, appears_late, [[0.0, 0.0], [0.0, 0.0]]),
    kind("pool", NoLeak, pool, [[0.0, 2.0], [0.0, 1.0]]),
    kind("waves", NoLeak, waves, [[0.0, 2.0], [0.0, 1.0]]),
    kind("hump", NoLeak, hump, [[0.0, 8.0], [0.0, 1.0]]),
    kind("growth of no weight", NoLeak, growth_of_no_weight, [[0.0, 0.0], [0.0, 0.0]]),
    kind("cache full at 75 to 85 %", Between, fills_late, [[50.0, 72.0], [65.0, 85.0]]),
    kind("cache full at 87 to 97 %", Between, fills_at_the_end, [[93.0, 100.0], [99.0, 100.0]]),
    kind("cache 90 to 98 % full", Between, nearly_full, [[0.0, 6.0], [0.0, 3.0]]),
    kind("from 50 to 67 % on", Between, from_beyond_the_middle_on, [[65.0, 85.0], [80.0, 95.0]]),
    kind("random walk", Between, random_walk, [[2.0, 12.0], [4.0, 13.0]]),
    kind("by doubling", Between, by_doubling, [[0.0, 0.0], [0.0, 0.0]]),
    kind("logarithm", Between, logarithm, [[15.0, 40.0], [12.0, 38.0]]),
    kind("square root", Between, square_root, [[93.0, 100.0], [99.0, 100.0]]),
    kind("by 3 steps", Between, by_three_steps, [[18.0, 32.0], [20.0, 45.0]]),
    kind("by 5 steps", Between, by_five_steps, [[40.0, 60.0], [55.0, 72.0]]),
    kind("by 7 steps", Between, by_seven_steps, [[60.0, 78.0], [65.0, 80.0]]),
];
