//! One scope in nanoseconds, and one sample of many stacks in milliseconds.

use crate::cli::Options;
use crate::progress;
use crate::run::{Answer, command, run};
use crate::table::Table;
use crate::workers::{Worker, Workers};

/// The worker of these rows answers `scope-ns` with something else than an empty loop.
const WITH_SCOPES: [&str; 3] = ["off", "exact", "scopes"];

/// The row whose samples are timed: a profile runs, and no sample comes by itself.
const WITH_SAMPLES: &str = "exact";

/// Scopes of the rows that have them, less the empty loop of the plain one, and a sample.
pub(crate) fn table(workers: &Workers, options: &Options) -> Result<String, String> {
    let with_scopes = |worker: &&Worker| WITH_SCOPES.contains(&worker.row.name);
    let rows: Vec<&Worker> = workers.compared.iter().filter(with_scopes).collect();
    if rows.is_empty() {
        return Ok(String::new());
    }
    let caption = "Enter and leave of one scope (median of 4,001 batches of 2,000, less the empty loop); one sample of \
                   10,000 stacks in each of 100 threads, CPU time, just after every thread touched every stack and at rest.";
    let mut table = Table::new(caption, &["", "scope", "sample, touched", "sample, at rest", "what it is"]);
    let empty_ns = answer(workers, &workers.plain, "scope-ns")?.number("ns")?;
    for worker in rows {
        progress(options, &format!("scopes and samples of {}", worker.row.name));
        let scope_ns = answer(workers, worker, "scope-ns")?.number("ns")? - empty_ns;
        let [touched, resting] = sample_cells(workers, worker)?;
        table.row(&[worker.row.name, &format!("{scope_ns:.2} ns"), &touched, &resting, worker.row.about]);
    }
    Ok(table.finish())
}

fn sample_cells(workers: &Workers, worker: &Worker) -> Result<[String; 2], String> {
    if worker.row.name != WITH_SAMPLES {
        return Ok([String::new(), String::new()]);
    }
    let answer = answer(workers, worker, "sample-cost")?;
    let cell = |key| answer.number(key).map(|ms| format!("{ms:.2} ms"));
    Ok([cell("touched_ms")?, cell("resting_ms")?])
}

fn answer(workers: &Workers, worker: &Worker, mode: &str) -> Result<Answer, String> {
    let mut command = command(worker, &workers.scratch, &[]);
    command.arg(mode);
    run(command).map(|(answer, _)| answer)
}
