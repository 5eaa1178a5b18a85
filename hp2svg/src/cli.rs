//! The command line: the chart arguments of `hp2ps`. The only file here that names clap.

use clap::Parser;
use hp2ps::cli::ChartArgs;

/// The arguments of the `hp2svg` command.
#[derive(Clone, Debug, Parser)]
#[command(
    name = "hp2svg",
    version,
    about = "Draw an .hp heap profile as an SVG chart",
    long_about = "Draw an .hp heap profile as an SVG chart: R.hp becomes R.svg in the current folder.",
    args_override_self = true,
    after_help = "Short flags are those of GHC's hp2ps, values attached: -m10, -t0.5, -i-."
)]
pub struct SvgArgs {
    #[command(flatten)]
    #[expect(missing_docs, reason = "a doc comment here would replace the help text")]
    pub chart: ChartArgs,
}
