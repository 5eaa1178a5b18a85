//! CPU time against plain jemalloc.

use crate::cli::Options;
use crate::rows::Row;
use crate::run::{command, run};
use crate::statistics::{Ratio, geometric_mean, median, places};
use crate::table::Table;
use crate::workers::{Worker, Workers};
use crate::{ONE_THREAD, TWO_THREADS, progress};

/// Interleaved pairs of every row with the plain one, on every workload.
pub(crate) fn table(workers: &Workers, options: &Options) -> Result<String, String> {
    let caption = format!(
        "CPU time (user and system, whole process) against plain jemalloc: median of {} interleaved pairs (least–most); \
         mean: geometric, over the workloads of one thread.",
        options.pairs
    );
    let mut table = Table::new(&caption, &heading(options));
    let mut plain_ms: Vec<Vec<f64>> = vec![Vec::new(); options.workloads.len()];
    let mut lines = Vec::new();
    for worker in &workers.compared {
        progress(options, &format!("CPU time of {}", worker.row.name));
        let mut ratios = Vec::new();
        for (workload, plain_ms) in options.workloads.iter().zip(&mut plain_ms) {
            let pairs = pairs(workers, worker, workload, options)?;
            if share_percent(worker.row, workload) == 100 {
                plain_ms.extend(pairs.iter().map(|pair| pair.plain_us / 1e3));
            }
            ratios.push(Ratio::of(pairs.iter().map(Pair::ratio).collect()));
        }
        lines.push(line(worker.row, &ratios, options));
    }
    table.row(&yardstick(&mut plain_ms));
    lines.iter().for_each(|line| table.row(line));
    Ok(table.finish())
}

/// The two CPU times of neighbouring runs, in microseconds.
struct Pair {
    plain_us: f64,
    compared_us: f64,
}

impl Pair {
    fn ratio(&self) -> f64 {
        self.compared_us / self.plain_us
    }
}

fn pairs(workers: &Workers, worker: &Worker, workload: &str, options: &Options) -> Result<Vec<Pair>, String> {
    let scale = scale_argument(worker.row, workload, options);
    let once = |worker: &Worker| {
        let mut command = command(worker, &workers.scratch, &[]);
        command.args([workload, scale.as_str()]);
        run(command).map(|(answer, _)| answer)
    };
    let mut pairs = Vec::with_capacity(options.pairs);
    for _ in 0..options.pairs {
        let (plain, compared) = (once(&workers.plain)?, once(worker)?);
        compared.agrees_with(&plain).map_err(|error| format!("{}, {workload}: {error}", worker.row.name))?;
        // A run shorter than the clock's step would divide by zero.
        pairs.push(Pair { plain_us: plain.cpu_us.max(1) as f64, compared_us: compared.cpu_us as f64 });
    }
    Ok(pairs)
}

fn share_percent(row: &Row, workload: &str) -> u32 {
    let share = row.share_percent;
    if TWO_THREADS.contains(&workload) { share.two_threads } else { share.one_thread }
}

/// The workload's argument: the scale asked for, times the row's share of it, at least 1.
pub(crate) fn scale_argument(row: &Row, workload: &str, options: &Options) -> String {
    (options.scale_percent * share_percent(row, workload) / 100).max(1).to_string()
}

pub(crate) fn heading(options: &Options) -> Vec<&'static str> {
    let mut heading = vec!["", "mean"];
    heading.extend(&options.workloads);
    heading.push("what it is");
    heading
}

fn yardstick(plain_ms: &mut [Vec<f64>]) -> Vec<String> {
    let cell = |values: &mut Vec<f64>| {
        if values.is_empty() { String::new() } else { format!("{:.0} ms", median(values)) }
    };
    let mut cells = vec!["plain jemalloc".to_owned(), "1".to_owned()];
    cells.extend(plain_ms.iter_mut().map(cell));
    cells.push("the yardstick".to_owned());
    cells
}

pub(crate) fn line(row: &Row, ratios: &[Ratio], options: &Options) -> Vec<String> {
    let mut cells = vec![row.name.to_owned(), mean(ratios, options)];
    cells.extend(ratios.iter().map(|ratio| ratio.cell()));
    cells.push(about(row));
    cells
}

fn mean(ratios: &[Ratio], options: &Options) -> String {
    let of_one_thread = options.workloads.iter().zip(ratios).filter(|(name, _)| ONE_THREAD.contains(name));
    let medians: Vec<f64> = of_one_thread.map(|(_, ratio)| ratio.median).collect();
    if medians.is_empty() { String::new() } else { format!("**{}**", places(geometric_mean(&medians))) }
}

/// The row's remark, with its share of the workload where that is not all.
fn about(row: &Row) -> String {
    let share = row.share_percent;
    match (share.one_thread, share.two_threads) {
        (100, 100) => row.about.to_owned(),
        (one, two) => format!("{}; {one} % and {two} % of the scale with one and two threads", row.about),
    }
}
