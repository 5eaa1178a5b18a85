//! The leak finder: what it names in runs of known content, how often it is right about kinds of bands, and
//! what its table looks like.

mod hp_common;
mod leaks_common;
#[path = "leaks_common/models.rs"]
mod models;

use hp_common::Random;
use hp2svg::trend::{Run, Trend, Verdict};
use hp2svg::{Units, write_leaks};
use leaks_common::{ALL, Findings, Labelled, Points};
use models::{Drawn, KINDS, Kind, Truth};

/// A band with a value in each sample.
fn points(values: &[f64]) -> Points {
    values.iter().copied().enumerate().collect()
}

fn seconds(samples: usize) -> Vec<f64> {
    (0..samples).map(|sample| sample as f64).collect()
}

/// The run of a kind's `band` beside the band `rest`.
fn labelled(drawn: &Drawn) -> Labelled {
    let bands = [("band", &drawn.values), ("rest", &drawn.rest)];
    Labelled::new(&drawn.times_s, &bands.map(|(name, values)| (name.to_owned(), points(values))))
}

/// The trend of a band that is alone, of one value for each second.
fn trend(values: &[f64]) -> Trend {
    let run = Run::new(&seconds(values.len()), values);
    run.trend(&run.levels(values.iter().copied().enumerate()))
}

/// How many of the runs of a kind are named, in percent.
fn named_percent(kind: &Kind, samples: [f64; 2], seeds: u64) -> f64 {
    let is_named = |seed: &u64| {
        let mut random = Random::new(seed * 7_919 + 13);
        let samples = models::logarithmic(&mut random, samples[0], samples[1]) as usize;
        labelled(&kind.run(&mut random, samples)).named().contains(&"band")
    };
    (0..seeds).filter(is_named).count() as f64 * 100.0 / seeds as f64
}

#[test]
fn leaks_of_each_kind_are_named_and_others_are_not_as_often_as_measured() {
    let seeds = if cfg!(debug_assertions) { 30 } else { 200 };
    println!("{:35} {:>10} {:>10}   percent named, in runs of samples", "", "16-60", "60-2000");
    let mut wrong = String::new();
    for kind in &KINDS {
        let named = [[16.0, 60.0], [60.0, 2_000.0]].map(|samples| named_percent(kind, samples, seeds));
        let truth = format!("{:?}", kind.truth);
        println!("{:8} {:26} {:10.1} {:10.1}", truth, kind.name, named[0], named[1]);
        for (named, [least, most]) in named.into_iter().zip(kind.named_percent) {
            if !(least..=most).contains(&named) {
                wrong += &format!("{}: {named} % named, expected {least} to {most} %\n", kind.name);
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

/// One run of 300 samples of each kind that is clearly a leak or clearly none.
fn add_kinds(findings: &mut Findings) {
    for kind in KINDS.iter().filter(|kind| kind.truth != Truth::Between) {
        let run = labelled(&kind.run(&mut Random::new(5), 300));
        findings.add(kind.name, &run, if kind.truth == Truth::Leak { &["band", ALL] } else { &[] });
    }
}

/// Runs that no single kind makes.
fn add_mixtures(findings: &mut Findings) {
    let mut random = Random::new(8);
    let times_s = seconds(400);
    let mut band = |name: &str| {
        let kind = KINDS.iter().find(|kind| kind.name == name).expect("a kind");
        (name.replace(' ', "_"), points(&kind.values(&mut random, 400, 1e6)))
    };
    let several =
        ["linear", "exponential", "by 8 to 40 steps", "decline", "waves", "start-up"].map(&mut band);
    let leaks = ["linear", "exponential", "by_8_to_40_steps", ALL];
    findings.add("three leaks at once", &Labelled::new(&times_s, &several), &leaks);
    let quiet =
        ["constant", "phases, the last rises", "pool", "one step", "hump", "appears late"].map(&mut band);
    findings.add("no leak among six", &Labelled::new(&times_s, &quiet), &[]);

    let thin = |number: usize| {
        let values: Vec<f64> =
            times_s.iter().map(|time_s| 9e3 + time_s * (5.0 + (number % 3) as f64)).collect();
        (format!("stack_{number}"), points(&values))
    };
    let scattered: Vec<(String, Points)> = (0..500).map(thin).collect();
    findings.add("a leak over 500 bands", &Labelled::new(&times_s, &scattered), &[ALL]);
    let few =
        Labelled::new(&seconds(7), &[("band".to_owned(), points(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]))]);
    findings.add("seven samples", &few, &["band", ALL]);
}

/// Profiles of GHC's programs, labelled by eye.
fn add_ghc(findings: &mut Findings) {
    let known: [(&str, &[&str]); 18] = [
        ("leaks/ghc-bounded-hc", &[]),
        ("leaks/ghc-cafprimes-hr", &[]),
        ("leaks/ghc-cafprimes-hyfilt", &["Int", "[]", ALL]),
        ("leaks/ghc-counter-hy", &["*", "->>Int", ALL]),
        ("leaks/ghc-lazystate-hc", &[]),
        ("leaks/ghc-longrun-hc", &[]),
        ("leaks/ghc-manycc-hc", &[ALL]),
        ("leaks/ghc-mapthunks-hy", &[]),
        ("leaks/ghc-phases-hc", &[]),
        ("leaks/ghc-server-hc", &["MAIN", "audit", ALL]),
        ("leaks/ghc-server-killed-hc", &["MAIN", "audit", ALL]),
        ("hp/ghc-foldsum-hc", &[]),
        ("hp/ghc-lazystate-hb", &["VOID"]),
        ("hp/ghc-lazystate-hr", &[]),
        ("hp/ghc-manycc-hr", &[ALL]),
        ("hp/ghc-mapthunks-hm", &[]),
        ("hp/ghc-phases-hd", &[]),
        ("hp/ghc-tiny-hc", &[]),
    ];
    for (name, leaks) in known {
        let path = leaks_common::data(name).with_extension("hp");
        let profile = heapprof::hp::read(std::fs::File::open(&path).expect("stored")).expect("a profile");
        findings.add(name, &Labelled::of_profile(&profile), leaks);
    }
}

#[test]
fn labelled_runs_are_judged_as_recorded() {
    let mut findings = Findings::default();
    add_kinds(&mut findings);
    add_mixtures(&mut findings);
    add_ghc(&mut findings);
    findings.assert_recorded("findings.txt");
}

#[test]
fn figures_are_those_of_the_values() {
    let mut random = Random::new(3);
    for _ in 0..200 {
        let most = [60, 4_000][random.below(2)];
        let samples = 8 + random.below(most);
        let values: Vec<f64> = (0..samples).map(|_| 1.0 + random.below(1000) as f64).collect();
        let mut totals: Vec<f64> = values.iter().map(|value| value + random.below(500) as f64).collect();
        totals[samples - 1] = totals.iter().copied().fold(0.0, f64::max);
        totals[samples / 2] += 1000.0;
        let run = Run::new(&seconds(samples), &totals);
        let trend = run.trend(&run.levels(values.iter().copied().enumerate()));
        let peak = values.iter().copied().fold(0.0, f64::max);
        let peak_at = values.iter().position(|&value| value == peak).expect("a peak");
        assert_eq!((trend.start, trend.end), (values[0], values[samples - 1]));
        assert_eq!((trend.peak, trend.peak_s), (peak, peak_at as f64));
        assert_eq!(trend.share, values[samples - 1] / totals[samples - 1]);
        assert_eq!((run.samples(), run.span_s()), (samples, (samples - 1) as f64));
    }
}

#[test]
fn a_straight_leak_has_its_rate_and_nearly_its_growth() {
    let values: Vec<f64> = (0..120).map(|sample| 1e6 + 2048.0 * f64::from(sample)).collect();
    let trend = trend(&values);
    assert_eq!((trend.verdict, trend.since_s, trend.slope_per_s), (Verdict::GrowsSteadily, 0.0, 2048.0));
    // From the first of twelve floors to the last: eleven twelfths.
    assert_eq!(trend.growth, 110.0 * 2048.0);
    assert!(trend.confidence > 0.9999);
}

#[test]
fn a_leak_from_the_middle_on_is_told_since_then() {
    let values: Vec<f64> =
        (0..240).map(|sample: u32| 1e6 + 500.0 * f64::from(sample.saturating_sub(100))).collect();
    let trend = trend(&values);
    assert_eq!((trend.verdict, trend.since_s, trend.slope_per_s), (Verdict::GrowsSteadily, 100.0, 500.0));
}

#[test]
fn what_was_before_a_leak_does_not_count() {
    let value = |sample: u32| if sample < 10 { 3e6 } else { 1e6 + 1000.0 * f64::from(sample) };
    let trend = trend(&(0..120).map(value).collect::<Vec<_>>());
    assert_eq!((trend.verdict, trend.since_s, trend.growth), (Verdict::GrowsSteadily, 10.0, 100.0 * 1000.0));
    assert!(trend.confidence > 0.9999, "{trend:?}");
}

#[test]
fn a_band_that_is_away_now_and_then_has_no_floor() {
    let times_s = seconds(120);
    let run = Run::new(&times_s, &[1e6; 120]);
    let trend = |every: usize| {
        run.trend(&run.levels((0..120).step_by(every).map(|sample| (sample, 1000.0 * (1.0 + sample as f64)))))
    };
    assert_eq!((trend(1).verdict, trend(1).growth), (Verdict::GrowsSteadily, 110_000.0));
    assert_eq!((trend(3).verdict, trend(3).growth), (Verdict::NoSteadyGrowth, 0.0));
}

#[test]
fn a_peak_while_the_program_takes_itself_down_is_none_of_the_run() {
    let mut totals = vec![1e6; 50];
    let mut values = vec![1e5; 50];
    (totals[49], values[49]) = (5e5, 4e5);
    let run = Run::new(&seconds(50), &totals);
    let trend = run.trend(&run.levels(values.into_iter().enumerate()));
    assert_eq!((run.samples(), trend.peak, trend.peak_s, trend.end), (49, 1e5, 0.0, 1e5));
}

#[test]
fn empty_ends_and_the_taking_down_change_nothing() {
    let values: Vec<f64> = (0..100).map(|sample| 1e6 + 5000.0 * f64::from(sample)).collect();
    let alone = trend(&values);
    for after in [&[0.0][..], &[0.0, 0.0, 0.0], &[9e5], &[9e5, 4e5, 0.0]] {
        let ended = trend(&[&values, after].concat());
        assert_eq!(ended, alone, "{after:?}");
    }
    let begun = trend(&[&[0.0], &values[..]].concat());
    assert_eq!((begun.verdict, begun.start, begun.since_s), (Verdict::GrowsSteadily, 1e6, 1.0));
    let mut flat = vec![1e6; 100];
    (flat[0], flat[99]) = (0.0, 0.0);
    assert_eq!(trend(&flat).verdict, Verdict::NoSteadyGrowth);
}

#[test]
fn a_run_measured_in_other_units_has_the_same_trend() {
    for (seed, kind) in (0..).zip(&KINDS) {
        let drawn = kind.run(&mut Random::new(seed), 150);
        let scaled = |values: &[f64], by: f64| values.iter().map(|value| value * by).collect::<Vec<_>>();
        let of = |time: f64, size: f64| {
            let values = scaled(&drawn.values, size);
            let totals: Vec<f64> = values.iter().zip(&drawn.rest).map(|(a, b)| a + b * size).collect();
            let run = Run::new(&scaled(&drawn.times_s, time), &totals);
            run.trend(&run.levels(values.into_iter().enumerate()))
        };
        let (one, other) = (of(1.0, 1.0), of(0.25, 1024.0));
        assert_eq!((one.verdict, one.confidence, one.share), (other.verdict, other.confidence, other.share));
        assert_eq!((one.since_s * 0.25, one.peak * 1024.0), (other.since_s, other.peak), "{}", kind.name);
        assert_eq!((one.slope_per_s * 4096.0, one.growth * 1024.0), (other.slope_per_s, other.growth));
    }
}

#[test]
fn a_gap_in_a_run_hides_no_leak() {
    let mut times_s = seconds(100);
    times_s[50..].iter_mut().for_each(|time_s| *time_s += 40.0);
    let values: Vec<f64> = (0..100).map(|sample| 1e6 + 5000.0 * f64::from(sample)).collect();
    let run = Run::new(&times_s, &values);
    assert_eq!(run.total().verdict, Verdict::GrowsSteadily);
}

#[test]
fn rows_of_one_sample_add_up_and_samples_without_a_row_have_nothing() {
    let times_s = seconds(40);
    let run = Run::new(&times_s, &[100.0; 40]);
    let mut levels = run.levels([]);
    for sample in 0..40 {
        (0..sample % 4).for_each(|part| levels.add(&run, sample, part as f64 + 1.0));
    }
    let sums = (0..40).map(|sample| (sample, [0.0, 1.0, 3.0, 6.0][sample % 4]));
    assert_eq!(run.trend(&levels), run.trend(&run.levels(sums)));
    assert_eq!((run.trend(&levels).peak, run.trend(&levels).peak_s), (6.0, 3.0));
}

#[test]
fn no_run_is_too_odd() {
    let mut random = Random::new(17);
    for _ in 0..3_000 {
        let samples = random.below(40);
        let mut time_s = 0.0;
        let mut next_s = || {
            time_s += [0.0, 0.0, 1e-6, 1.0, 1e15][random.below(5)];
            time_s
        };
        let times_s: Vec<f64> = (0..samples).map(|_| next_s()).collect();
        let size = [0.0, 1.0, 1e12, 3.4e38][random.below(4)];
        let values: Vec<f64> = (0..samples).map(|_| size * random.below(3) as f64).collect();
        let totals = &values[..samples - random.below(2).min(samples)];
        let run = Run::new(&times_s, totals);
        let trend = run.trend(&run.levels(values.iter().copied().enumerate()));
        let figures = [trend.since_s, trend.slope_per_s, trend.confidence, trend.share, trend.growth];
        assert!(figures.iter().all(|figure| figure.is_finite()), "{trend:?}");
        assert!((0.0..=1.0).contains(&trend.confidence) && (0.0..=1.0).contains(&trend.share), "{trend:?}");
    }
}

/// What is written about bands of these values, one each minute, and whether a leak was found.
fn table(bands: &[(&[u8], Vec<f64>)]) -> (String, bool) {
    let samples = bands.iter().map(|band| band.1.len()).max().unwrap_or(0);
    let times_s: Vec<f64> = (0..samples).map(|sample| 60.0 * sample as f64).collect();
    let total = |sample: usize| bands.iter().map(|band| band.1[sample]).sum();
    let run = Run::new(&times_s, &(0..samples).map(total).collect::<Vec<f64>>());
    let trend = |values: &[f64]| run.trend(&run.levels(values.iter().copied().enumerate()));
    let trends: Vec<(&[u8], Trend)> = bands.iter().map(|(name, values)| (*name, trend(values))).collect();
    let mut text = Vec::new();
    let found = write_leaks(&mut text, &run, &trends, Units::USUAL).expect("a vector takes all");
    (String::from_utf8(text).expect("UTF-8"), found)
}

fn rising(start: f64, rate: f64) -> Vec<f64> {
    (0..=120).map(|sample| start + rate * f64::from(sample)).collect()
}

#[test]
fn leaks_stand_in_the_table_by_growth_with_names_that_do_no_harm() {
    let (text, found) = table(&[
        (b"(7)small/main", rising(0.0, 20_000.0)),
        (b"flat", vec![9e6; 121]),
        (b"\x1b[31mevil\xff", rising(1e6, 700_000.0)),
        ("render_cache_of_all_pages_ever_asked_for/größe/main".as_bytes(), rising(1e6, 300_000.0)),
    ]);
    let expected = "\
band                                           start        peak         end          growth    share  confidence
\\u{1b}[31mevil\\xFF                         976.6 KiB    81.1 MiB    81.1 MiB   683.6 KiB/min   63.7 %    > 99.9 %
render_cache_of_all...ked_for/größe/main   976.6 KiB    35.3 MiB    35.3 MiB   293.0 KiB/min   27.7 %    > 99.9 %
(7)small/main                                    0 B     2.3 MiB     2.3 MiB    19.5 KiB/min    1.8 %    > 99.9 %
all bands                                   10.5 MiB   127.2 MiB   127.2 MiB   996.1 KiB/min  100.0 %    > 99.9 %
3 of 4 bands grow steadily, in 121 samples over 120 min
";
    assert_eq!((&*text, found), (expected, true));
}

#[test]
fn a_leak_over_many_bands_stands_in_the_table_as_their_sum() {
    let names: Vec<String> = (0..300).map(|number| format!("stack_{number}")).collect();
    let bands: Vec<(&[u8], Vec<f64>)> =
        names.iter().map(|name| (name.as_bytes(), rising(1e6, 2_000.0))).collect();
    let (text, found) = table(&bands);
    let expected = "\
band            start        peak         end          growth    share  confidence
all bands   286.1 MiB   354.8 MiB   354.8 MiB   585.9 KiB/min  100.0 %    > 99.9 %
none of 300 bands grows steadily, but all together do, in 121 samples over 120 min
";
    assert_eq!((&*text, found), (expected, true));
}

#[test]
fn without_a_leak_there_is_one_line() {
    let none = "none of 2 bands grows steadily, in 121 samples over 120 min\n";
    assert_eq!(table(&[(b"a", vec![5.0; 121]), (b"b", vec![7.0; 121])]), (none.to_owned(), false));
    let few = "too few samples to tell: 5, expected 8 or more spread over the run\n";
    assert_eq!(table(&[(b"a", vec![1.0, 2.0, 3.0, 4.0, 5.0])]), (few.to_owned(), false));
    let empty = "too few samples to tell: 0, expected 8 or more spread over the run\n";
    assert_eq!(table(&[]), (empty.to_owned(), false));
}

#[test]
fn a_full_disk_is_reported() {
    let run = Run::new(&[], &[]);
    let mut full = [0_u8; 10];
    assert!(write_leaks(&mut &mut full[..], &run, &[], Units::USUAL).is_err());
}
