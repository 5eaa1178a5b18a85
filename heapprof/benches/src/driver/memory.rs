//! Peak resident memory against plain jemalloc.

use crate::cli::Options;
use crate::cpu::{heading, line, scale_argument};
use crate::progress;
use crate::rows::JEMALLOC_OPTIONS;
use crate::run::{command, run};
use crate::statistics::{Ratio, median};
use crate::table::Table;
use crate::workers::{Worker, Workers};

/// Freed pages go back at once: otherwise the figure shows when jemalloc happened to purge.
const NO_DECAY: &str = "dirty_decay_ms:0,muzzy_decay_ms:0";

/// Peaks hardly vary, so three runs are enough.
const MOST_RUNS: usize = 3;

/// Every row against the plain one, each the median of up to three runs.
pub(crate) fn table(workers: &Workers, options: &Options) -> Result<String, String> {
    let caption = format!(
        "Peak resident memory (VmHWM at the end of the workload) against plain jemalloc, with {NO_DECAY}: \
         median of {} runs; mean: geometric, over the workloads of one thread.",
        options.pairs.min(MOST_RUNS)
    );
    let mut table = Table::new(&caption, &heading(options));
    let mut yardstick = vec!["plain jemalloc".to_owned(), "1".to_owned()];
    for workload in &options.workloads {
        let peak_kib =
            peak_kib(workers, &workers.plain, workload, &options.scale_percent.to_string(), options)?;
        yardstick.push(format!("{:.1} MiB", peak_kib / 1024.0));
    }
    yardstick.push("the yardstick".to_owned());
    table.row(&yardstick);
    for worker in &workers.compared {
        progress(options, &format!("memory of {}", worker.row.name));
        let ratio = |workload: &&'static str| ratio(workers, worker, workload, options);
        let ratios = options.workloads.iter().map(ratio).collect::<Result<Vec<_>, _>>()?;
        table.row(&line(worker.row, &ratios, options));
    }
    Ok(table.finish())
}

fn ratio(workers: &Workers, worker: &Worker, workload: &str, options: &Options) -> Result<Ratio, String> {
    let scale = scale_argument(worker.row, workload, options);
    let of = |worker| peak_kib(workers, worker, workload, &scale, options);
    Ok(Ratio::of(vec![of(worker)? / of(&workers.plain)?]))
}

fn peak_kib(
    workers: &Workers,
    worker: &Worker,
    workload: &str,
    scale: &str,
    options: &Options,
) -> Result<f64, String> {
    let once = |_| {
        let mut command = command(worker, &workers.scratch, &[]);
        command.env(JEMALLOC_OPTIONS, with_no_decay(worker)).args([workload, scale]);
        run(command)?.0.number("peak_kib")
    };
    let mut peaks = (0..options.pairs.min(MOST_RUNS)).map(once).collect::<Result<Vec<f64>, _>>()?;
    Ok(median(&mut peaks))
}

/// The row's own jemalloc options, if it has any, and no decay.
fn with_no_decay(worker: &Worker) -> String {
    let own = worker.row.environment.iter().find(|(name, _)| *name == JEMALLOC_OPTIONS);
    own.map_or(NO_DECAY.to_owned(), |(_, value)| format!("{value},{NO_DECAY}"))
}
