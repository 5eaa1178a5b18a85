//! The command line: which rows, workloads and parts, and how many pairs.

use crate::rows::{self, Row};
use crate::{ONE_THREAD, TWO_THREADS};

pub(crate) const HELP: &str = "\
usage: overhead [OPTIONS]

  --quick             2 pairs at a quarter of the scale: a trial, not a measurement
  --pairs N           pairs of runs per cell (default 5)
  --scale P           scale of the workloads in percent (default 100: 0.3 to 1 s a run)
  --rows A,B          rows by name, or the groups own, sites, peers, all (default all)
  --workloads X,Y     workloads by name (default all)
  --profile NAME      cargo profile of the workers (default release)
  --silent            no progress on standard error

Parts; without any of these all are measured:
  --cpu               CPU time against plain jemalloc
  --memory            peak resident memory against plain jemalloc
  --callgrind         instructions per operation, counted by valgrind
  --latency           one scope in nanoseconds, one sample in milliseconds
";

pub(crate) struct Options {
    /// Pairs of runs per cell; at least 1.
    pub(crate) pairs: usize,
    /// Scale of the workloads in percent, before the row's own share; at least 1.
    pub(crate) scale_percent: u32,
    /// The rows to compare, without the plain one that they are compared with.
    pub(crate) rows: Vec<&'static Row>,
    pub(crate) workloads: Vec<&'static str>,
    pub(crate) profile: String,
    pub(crate) silent: bool,
    pub(crate) parts: Parts,
}

#[derive(Clone, Copy, Default)]
pub(crate) struct Parts {
    pub(crate) cpu: bool,
    pub(crate) memory: bool,
    pub(crate) instructions: bool,
    pub(crate) latency: bool,
}

impl Parts {
    const ALL: Self = Self { cpu: true, memory: true, instructions: true, latency: true };

    fn or_all(self) -> Self {
        if self.cpu || self.memory || self.instructions || self.latency { self } else { Self::ALL }
    }
}

/// Reads the options.
///
/// # Errors
/// An unknown option, row or workload, or a value that is not a positive number.
pub(crate) fn parse(arguments: &[String]) -> Result<Options, String> {
    let mut options = Options {
        pairs: 5,
        scale_percent: 100,
        rows: rows::select("all")?,
        workloads: workloads("all")?,
        profile: "release".into(),
        silent: false,
        parts: Parts::default(),
    };
    let mut rest = arguments.iter();
    while let Some(option) = rest.next() {
        let mut value = || rest.next().ok_or(format!("{option}: expected a value after it"));
        match option.as_str() {
            "--quick" => (options.pairs, options.scale_percent) = (2, 25),
            "--pairs" => options.pairs = positive(option, value()?)?,
            "--scale" => options.scale_percent = positive(option, value()?)?,
            "--rows" => options.rows = rows::select(value()?)?,
            "--workloads" => options.workloads = workloads(value()?)?,
            "--profile" => options.profile.clone_from(value()?),
            "--silent" => options.silent = true,
            "--cpu" => options.parts.cpu = true,
            "--memory" => options.parts.memory = true,
            "--callgrind" => options.parts.instructions = true,
            "--latency" => options.parts.latency = true,
            _ => return Err(format!("{option:?} is not an option; --help lists them")),
        }
    }
    options.parts = options.parts.or_all();
    Ok(options)
}

fn positive<T: std::str::FromStr + Default + PartialEq>(option: &str, text: &str) -> Result<T, String> {
    let number = text.parse().ok().filter(|number| *number != T::default());
    number.ok_or(format!("{option}: expected a positive number, read {text:?}"))
}

fn workloads(names: &str) -> Result<Vec<&'static str>, String> {
    let known: Vec<&'static str> = ONE_THREAD.into_iter().chain(TWO_THREADS).collect();
    if names == "all" {
        return Ok(known);
    }
    let find = |name: &str| {
        let found = known.iter().find(|known| **known == name).copied();
        found.ok_or(format!("--workloads: {name:?} is none of {}", known.join(", ")))
    };
    names.split(',').map(find).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<Options, String> {
        parse(&line.split_whitespace().map(String::from).collect::<Vec<_>>())
    }

    #[test]
    fn no_part_named_means_all_parts() {
        let parts = parsed("--quick").expect("a valid line").parts;
        assert!(parts.cpu && parts.memory && parts.instructions && parts.latency);
        let parts = parsed("--memory").expect("a valid line").parts;
        assert!(parts.memory && !parts.cpu && !parts.instructions && !parts.latency);
    }

    #[test]
    fn a_wrong_value_is_quoted_in_the_error() {
        let error = |line| parsed(line).err().expect("an error");
        assert_eq!(error("--pairs 0"), "--pairs: expected a positive number, read \"0\"");
        assert_eq!(error("--pairs"), "--pairs: expected a value after it");
        assert_eq!(error("--fast"), "\"--fast\" is not an option; --help lists them");
        assert!(error("--workloads micro,nano").starts_with("--workloads: \"nano\" is none of micro,"));
    }
}
