//! Instructions per operation, counted by valgrind's callgrind: the repeatable figure.

use crate::cli::Options;
use crate::progress;
use crate::run::{command, run};
use crate::table::Table;
use crate::workers::{Worker, Workers};

/// Operations counted; the same run with none is subtracted, and with it start and exit.
const OPERATIONS: u32 = 1_000_000;

const MODES: [&str; 3] = ["pair", "regrow", "scope"];

/// Instructions of each operation in each row, and how many more than in the plain one.
pub(crate) fn table(workers: &Workers, options: &Options) -> Result<String, String> {
    let caption = format!(
        "Instructions per operation over plain jemalloc (in brackets: all, with the loop), by callgrind over {OPERATIONS} \
         operations less an empty run: an allocation of 64 bytes and its free; a realloc between 64 and 128 bytes; \
         entering and leaving a scope."
    );
    let mut table = Table::new(&caption, &["", "alloc and free", "realloc", "scope", "what it is"]);
    let plain = counts(workers, &workers.plain, options)?;
    table.row(&line(&workers.plain, &plain, &plain));
    for worker in &workers.compared {
        table.row(&line(worker, &counts(workers, worker, options)?, &plain));
    }
    Ok(table.finish())
}

fn line(worker: &Worker, own: &[f64], plain: &[f64]) -> Vec<String> {
    let mut cells = vec![worker.row.name.to_owned()];
    // Adding zero turns a rounded -0.0 into +0.0.
    let over = |own: f64, plain: f64| ((own - plain) * 10.0).round() / 10.0 + 0.0;
    cells.extend(own.iter().zip(plain).map(|(own, plain)| format!("{:+.1} ({own:.1})", over(*own, *plain))));
    cells.push(worker.row.about.to_owned());
    cells
}

/// Instructions of one operation in each mode; of the row's share of the operations.
fn counts(workers: &Workers, worker: &Worker, options: &Options) -> Result<Vec<f64>, String> {
    progress(options, &format!("instructions of {}", worker.row.name));
    let operations = OPERATIONS / 100 * worker.row.share_percent.one_thread;
    let per_operation = |mode: &&str| {
        let full = instructions(workers, worker, mode, operations)?;
        let empty = instructions(workers, worker, mode, 0)?;
        Ok((full - empty) / f64::from(operations))
    };
    MODES.iter().map(per_operation).collect()
}

fn instructions(workers: &Workers, worker: &Worker, mode: &str, operations: u32) -> Result<f64, String> {
    const CALLGRIND: [&str; 3] = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null"];
    let mut command = command(worker, &workers.scratch, &CALLGRIND);
    command.args([mode, &operations.to_string()]);
    let (_, output) = run(command)?;
    let stderr = String::from_utf8_lossy(&output.stderr);
    let total = stderr.lines().find_map(|line| line.split_once("Collected : ")?.1.trim().parse().ok());
    total.ok_or(format!("{}: expected valgrind's line \"Collected : <number>\"", worker.row.name))
}
