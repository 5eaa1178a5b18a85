//! Makes the manual page and the completions of shells from the definition of the arguments. They lie in the folder
//! that cargo gives this build, and in the program (`hp2svg --generate`).

use std::path::Path;
use std::{env, error, fs};

use clap::CommandFactory;
use clap_complete::Shell;

#[path = "src/args.rs"]
#[allow(dead_code, missing_docs, unreachable_pub, reason = "the program uses the rest")]
mod args;

fn main() -> Result<(), Box<dyn error::Error>> {
    println!("cargo::rerun-if-changed=src/args.rs");
    let folder = env::var_os("OUT_DIR").ok_or("cargo sets OUT_DIR")?;
    let mut command = args::SvgArgs::command();
    for shell in [Shell::Bash, Shell::Zsh, Shell::Fish] {
        clap_complete::generate_to(shell, &mut command, "hp2svg", &folder)?;
    }
    let mut page = Vec::new();
    clap_mangen::Man::new(command).render(&mut page)?;
    fs::write(Path::new(&folder).join("hp2svg.1"), page)?;
    Ok(())
}
