//! The arguments of the command.

use std::path::PathBuf;

use clap::{Parser, ValueEnum};

/// The arguments of the `heapprof-resolve` command.
#[derive(Clone, Debug, Parser)]
#[command(
    name = "heapprof-resolve",
    version,
    about = "Name the raw call stacks of a profile recorded with HEAPPROF_SYMBOLS=offline",
    long_about = "Name the raw call stacks of a profile recorded with HEAPPROF_SYMBOLS=offline: app.hp becomes \
                  app.resolved.hp in the current folder. Bands such as app+0x1f2c/app+0x2210 get the names they would \
                  have had if the program had looked them up itself; bands of one name are added up, and the total of \
                  every sample stays as it is.\n\n\
                  Which files the addresses are in is told by app.modules, which lies beside app.hp. A file is used \
                  only if its build id is the one that ran.",
    after_help = "Exit codes: 0 the profile is written (bands may have stayed raw, which stderr tells), 1 an input \
                  cannot be used or the output cannot be written (there is none then), 2 wrong usage.\n\n\
                  Examples:\n  \
                  heapprof-resolve app.hp                          into app.resolved.hp\n  \
                  heapprof-resolve app.hp --binary build/app       the program is elsewhere\n  \
                  heapprof-resolve app.type.hp -o - | hp2svg > app.svg"
)]
pub(crate) struct ResolveArgs {
    /// Profile to name
    #[arg(value_hint = clap::ValueHint::FilePath)]
    pub(crate) profile: PathBuf,
    /// File to take for the module of its build id, or of its name if it has no build id; may be repeated
    #[arg(short, long, value_name = "PATH", value_hint = clap::ValueHint::FilePath)]
    pub(crate) binary: Vec<PathBuf>,
    /// List of modules [default: the .modules file beside the profile]
    #[arg(short, long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub(crate) modules: Option<PathBuf>,
    /// Output; `-` is standard output [default: the profile's name with .resolved.hp, in the current folder]
    #[arg(short, long, value_name = "OUT", value_hint = clap::ValueHint::FilePath)]
    pub(crate) output: Option<PathBuf>,
    /// What a band is [default: as the list of modules says of the profile]
    #[arg(long, value_name = "BREAKDOWN")]
    pub(crate) breakdown: Option<Breakdown>,
    /// Shorten names beyond N characters in their middle, 8 or more
    #[arg(long, value_name = "N", default_value = "60", value_parser = name_chars)]
    pub(crate) name_chars: usize,
}

/// The breakdowns whose bands are made of call stacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Breakdown {
    /// The function that asked for the memory, and the one that called it
    Arc,
    /// All functions of the program on the call stack
    Callstack,
    /// The module of the function that asked
    Module,
    /// The operation that allocated
    Description,
    /// The type that was allocated
    Type,
}

fn name_chars(text: &str) -> Result<usize, String> {
    let chars = text.parse().ok().filter(|chars| *chars >= 8);
    chars.ok_or_else(|| format!("read `{text}`, expected a whole number of 8 or more"))
}

impl From<Breakdown> for heapprof::Breakdown {
    fn from(breakdown: Breakdown) -> Self {
        match breakdown {
            Breakdown::Arc => Self::Arc,
            Breakdown::Callstack => Self::CallStack,
            Breakdown::Module => Self::Module,
            Breakdown::Description => Self::Description,
            Breakdown::Type => Self::Type,
        }
    }
}
