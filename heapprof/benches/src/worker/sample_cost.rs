//! What one sample costs with 10,000 cost-centre stacks in each of 100 threads.

/// Only a build with heapprof can take a sample.
#[cfg(not(feature = "lean"))]
pub(crate) fn measure() -> Result<String, String> {
    Err("sample-cost needs a row with heapprof".into())
}

#[cfg(feature = "lean")]
pub(crate) use with_heapprof::measure;

#[cfg(feature = "lean")]
mod with_heapprof {
    use nix::time::{ClockId, clock_gettime};
    use std::sync::{Arc, Barrier};
    use std::time::Duration;

    const THREADS: usize = 100;
    /// Samples timed with the counters at rest, and samples timed after every thread has
    /// touched every stack again.
    const SAMPLES: usize = 9;
    /// How long the threads have to reach their next wait: a hundred wake-ups are about 1 ms.
    const TIME_TO_PARK: Duration = Duration::from_millis(50);

    /// Declares one level of ten cost centres: `$enter(digit, below)` runs `below` inside the
    /// one with that digit. A centre is a place in the source, so ten are written out.
    macro_rules! level {
        ($enter:ident: $($digit:literal $name:literal),*) => {
            fn $enter(digit: usize, below: impl FnOnce()) {
                match digit {
                    $($digit => { let _scope = heapprof::cost_centre!($name); below() })*
                    _ => below(),
                }
            }
        };
    }
    level!(first: 0 "a0", 1 "a1", 2 "a2", 3 "a3", 4 "a4", 5 "a5", 6 "a6", 7 "a7", 8 "a8", 9 "a9");
    level!(second: 0 "b0", 1 "b1", 2 "b2", 3 "b3", 4 "b4", 5 "b5", 6 "b6", 7 "b7", 8 "b8", 9 "b9");
    level!(third: 0 "c0", 1 "c1", 2 "c2", 3 "c3", 4 "c4", 5 "c5", 6 "c6", 7 "c7", 8 "c8", 9 "c9");
    level!(fourth: 0 "d0", 1 "d1", 2 "d2", 3 "d3", 4 "d4", 5 "d5", 6 "d6", 7 "d7", 8 "d8", 9 "d9");

    /// Adds one live block to each of 10 x 10 x 10 x 10 stacks.
    fn touch_every_stack(blocks: &mut Vec<Vec<u8>>) {
        for number in 0..10_000 {
            let digit = |place: usize| number / place % 10;
            first(digit(1_000), || {
                second(digit(100), || {
                    third(digit(10), || fourth(digit(1), || blocks.push(vec![1; 8])));
                });
            });
        }
    }

    /// Times samples in milliseconds of CPU: at rest and freshly touched, each the median.
    pub(crate) fn measure() -> Result<String, String> {
        let turn = Arc::new(Barrier::new(THREADS + 1));
        let threads: Vec<_> = (0..THREADS).map(|_| spawn_toucher(Arc::clone(&turn))).collect();
        let mut touched_ms = Vec::new();
        let mut resting_ms = Vec::new();
        let mut outcome = Ok(());
        for _ in 0..SAMPLES {
            turn.wait();
            turn.wait();
            std::thread::sleep(TIME_TO_PARK);
            outcome = outcome.and(timed_sample(&mut touched_ms)).and(timed_sample(&mut resting_ms));
        }
        turn.wait();
        for thread in threads {
            thread.join().map_err(|_| "a thread that touches stacks panicked")?;
        }
        outcome?;
        Ok(format!("touched_ms={:.3} resting_ms={:.3}", median(touched_ms), median(resting_ms)))
    }

    /// Between the two waits of a turn the thread touches all stacks; outside it is parked.
    fn spawn_toucher(turn: Arc<Barrier>) -> std::thread::JoinHandle<()> {
        std::thread::spawn(move || {
            let mut blocks = Vec::with_capacity(10_000);
            for _ in 0..SAMPLES {
                turn.wait();
                blocks.clear();
                touch_every_stack(&mut blocks);
                turn.wait();
            }
            // The blocks stay alive, and the thread parked, until the last sample is taken.
            turn.wait();
        })
    }

    /// The clock of the process, not of this thread: all others are parked, and so it does not
    /// matter which thread takes the sample.
    fn timed_sample(into_ms: &mut Vec<f64>) -> Result<(), String> {
        let begin = process_cpu()?;
        heapprof::sample_now().map_err(|error| format!("no sample was taken: {error}"))?;
        into_ms.push((process_cpu()? - begin).as_secs_f64() * 1e3);
        Ok(())
    }

    fn process_cpu() -> Result<Duration, String> {
        let clock = clock_gettime(ClockId::CLOCK_PROCESS_CPUTIME_ID);
        clock.map(Duration::from).map_err(|error| format!("the CPU clock cannot be read: {error}"))
    }

    fn median(mut values: Vec<f64>) -> f64 {
        values.sort_by(f64::total_cmp);
        values[values.len() / 2]
    }
}
