//! Prints what drawing large profiles costs: CPU time and peak memory against `wc -w`, which finds the same words
//! and does nothing with them; whether both grow with the input; and instructions.
//!
//! ```console
//! $ cargo bench -p hp2ps                 # two profiles of 200 MB: some minutes
//! $ cargo bench -p hp2ps -- --quick      # a tenth of that, with GHC's hp2ps if it is on the PATH
//! $ cargo bench -p hp2ps -- --ghc        # GHC's too, once: minutes more
//! ```

mod process;
mod profile;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use process::{Cost, cost};
use profile::{Shape, write_profile};

const OURS: &str = env!("CARGO_BIN_EXE_hp2ps");
const ROUNDS: usize = 5;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let has = |name: &str| arguments.iter().any(|argument| argument == name);
    // `cargo test --benches` leaves the word out; then there is nothing to measure.
    if !has("--bench") {
        println!("run by cargo bench");
        return ExitCode::SUCCESS;
    }
    let known = ["--bench", "--quick", "--ghc"];
    if let Some(wrong) = arguments.iter().find(|argument| !known.contains(&argument.as_str())) {
        eprintln!("speed: {wrong:?} is not an option; expected --quick or --ghc");
        return ExitCode::FAILURE;
    }
    match measure(has("--quick"), has("--ghc")) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("speed: {message}");
            ExitCode::FAILURE
        }
    }
}

/// The heading, then each table as soon as it is known.
fn measure(quick: bool, ghc: bool) -> Result<(), String> {
    let scale = if quick { 10 } else { 1 };
    let folder = Folder::new()?;
    println!("{}", heading(quick));
    let ghc = if quick || ghc { ghc_tool(&folder.0) } else { None };
    for shape in
        [Shape { samples: 20_000 / scale, bands: 750 }, Shape { samples: 2_000 / scale, bands: 7_500 }]
    {
        let whole = folder.profile(shape)?;
        println!("{}", costs(&whole, ghc.as_deref(), quick)?);
        for half in [Shape { samples: shape.samples / 2, ..shape }, Shape { bands: shape.bands / 2, ..shape }]
        {
            println!("{}", growth(&folder.profile(half)?, &whole)?);
        }
        if quick {
            println!("- {}", instructions(&whole)?);
        }
        println!();
    }
    Ok(())
}

/// A profile in the folder.
struct Profile {
    shape: Shape,
    path: PathBuf,
    bytes: u64,
}

/// Where profiles and pages lie until the end.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Result<Folder, String> {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("speed-{}", std::process::id()));
        std::fs::create_dir_all(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        Ok(Folder(path))
    }

    fn profile(&self, shape: Shape) -> Result<Profile, String> {
        let path = self.0.join(format!("{}x{}.hp", shape.samples, shape.bands));
        let bytes = write_profile(&path, shape).map_err(|error| format!("{}: {error}", path.display()))?;
        Ok(Profile { shape, path, bytes })
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What is left over is in the target folder.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// GHC's tool, known by the comment it writes.
fn ghc_tool(folder: &Path) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let text = "JOB \"j\" DATE \"d\" SAMPLE_UNIT \"s\" VALUE_UNIT \"b\" BEGIN_SAMPLE 0.0 END_SAMPLE 0.0";
    let input = folder.join("ghc.hp");
    std::fs::write(&input, text).ok()?;
    std::env::split_paths(&path).map(|folder| folder.join("hp2ps")).find(|tool| {
        let page = std::fs::File::open(&input).and_then(|input| Command::new(tool).stdin(input).output());
        page.is_ok_and(|page| String::from_utf8_lossy(&page.stdout).contains("(version 0.25)"))
    })
}

/// How a run is started on a profile.
type Start<'a> = Box<dyn Fn() -> Command + 'a>;

fn in_folder(tool: &Path, profile: &Path) -> Command {
    let mut command = Command::new(tool);
    command.arg(profile).current_dir(profile.parent().unwrap_or(profile)).stdin(Stdio::null());
    command
}

fn wc(flag: &str, profile: &Path) -> Command {
    let mut command = Command::new("wc");
    command.arg(flag).arg(profile).env("LC_ALL", "C");
    command
}

/// CPU time and peak memory of all tools on one profile, in interleaved rounds; GHC's in one of them.
fn costs(profile: &Profile, ghc: Option<&Path>, quick: bool) -> Result<String, String> {
    let path = &profile.path;
    let mut rows: Vec<(&str, usize, Start)> = vec![
        ("hp2ps FILE", ROUNDS, Box::new(|| in_folder(OURS.as_ref(), path))),
        ("cat FILE \\| hp2ps", ROUNDS, Box::new(|| Command::new(OURS))),
        ("wc -w", ROUNDS, Box::new(|| wc("-w", path))),
        ("wc -l", ROUNDS, Box::new(|| wc("-l", path))),
    ];
    if let Some(ghc) = ghc {
        rows.push(("GHC's hp2ps FILE", if quick { ROUNDS } else { 1 }, Box::new(|| in_folder(ghc, path))));
    }
    let mut measured: Vec<Vec<Cost>> = vec![Vec::new(); rows.len()];
    for round in 0..ROUNDS {
        for ((name, rounds, start), measured) in rows.iter().zip(&mut measured) {
            if round < *rounds {
                let pipe = name.starts_with("cat").then_some(path);
                measured.push(cost(start(), pipe.map(|path| &**path))?);
            }
        }
    }
    let words_s = median(&measured[2], |cost| cost.cpu_s);
    let mut text = format!(
        "{}\n\n| | CPU, s | against wc -w | peak memory, MB |\n|---|---:|---:|---:|\n",
        caption(profile)
    );
    for ((name, ..), measured) in rows.iter().zip(&measured) {
        let cpu_s = median(measured, |cost| cost.cpu_s);
        let (ratio, peak_mb) = (cpu_s / words_s, median(measured, |cost| cost.peak_mb));
        text += &format!("| {name} | {} | {ratio:.2} | {peak_mb:.0} |\n", spread(measured));
    }
    Ok(text)
}

fn caption(profile: &Profile) -> String {
    let Shape { samples, bands } = profile.shape;
    format!("{samples} samples of {bands} bands, {:.1} MB", profile.bytes as f64 / 1e6)
}

/// CPU time of a half and of the whole, per byte: linear is 1.
fn growth(half: &Profile, whole: &Profile) -> Result<String, String> {
    let mut measured: [Vec<Cost>; 2] = [Vec::new(), Vec::new()];
    for _ in 0..ROUNDS {
        for (profile, measured) in [half, whole].into_iter().zip(&mut measured) {
            measured.push(cost(in_folder(OURS.as_ref(), &profile.path), None)?);
        }
    }
    let [half_s, whole_s] = measured.map(|measured| median(&measured, |cost| cost.cpu_s));
    let (bytes, time) = (whole.bytes as f64 / half.bytes as f64, whole_s / half_s);
    Ok(format!(
        "- From {} × {} to {} × {}: {bytes:.2} times the bytes, {time:.2} times the CPU time ({:.2} per byte).",
        half.shape.samples,
        half.shape.bands,
        whole.shape.samples,
        whole.shape.bands,
        time / bytes
    ))
}

/// Instructions by callgrind, which repeat where times do not.
fn instructions(profile: &Profile) -> Result<String, String> {
    let mut parts = Vec::new();
    for (name, start) in
        [("hp2ps", in_folder(OURS.as_ref(), &profile.path)), ("wc -w", wc("-w", &profile.path))]
    {
        match process::instructions(start)? {
            Some(count) => parts.push(format!("{name} {:.2}", count as f64 / profile.bytes as f64)),
            None => return Ok("Instructions: valgrind is not on the PATH.".into()),
        }
    }
    Ok(format!("Instructions per byte of input, by callgrind: {}.", parts.join(", ")))
}

fn median(costs: &[Cost], figure: impl Fn(&Cost) -> f64) -> f64 {
    let mut figures: Vec<f64> = costs.iter().map(figure).collect();
    figures.sort_by(f64::total_cmp);
    figures[figures.len() / 2]
}

/// The median, and in brackets the least and the most.
fn spread(costs: &[Cost]) -> String {
    let seconds = |cost: &Cost| cost.cpu_s;
    let least = costs.iter().map(seconds).fold(f64::INFINITY, f64::min);
    let most = costs.iter().map(seconds).fold(0.0, f64::max);
    let median = median(costs, seconds);
    if costs.len() == 1 { format!("{median:.2}") } else { format!("{median:.2} ({least:.2}–{most:.2})") }
}

/// How the figures came about. A number without that is hearsay.
fn heading(quick: bool) -> String {
    let file = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let cpus = file("/proc/cpuinfo");
    let model = cpus.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    let first_line = |program: &str, argument: &str| {
        let output =
            Command::new(program).arg(argument).output().map(|output| output.stdout).unwrap_or_default();
        String::from_utf8_lossy(&output).lines().next().unwrap_or("?").to_owned()
    };
    format!(
        "`cargo bench -p hp2ps{}`: user and system time of the process, median of {ROUNDS} interleaved rounds \
         (least–most).\n\n{}, {} cores, load {}, Linux {}; {}; {}; profile `bench`; {}.\n",
        if quick { " -- --quick" } else { "" },
        model.map_or("unknown processor", |(_, model)| model),
        std::thread::available_parallelism().map_or(1, usize::from),
        file("/proc/loadavg").split_whitespace().next().unwrap_or("?"),
        file("/proc/sys/kernel/osrelease").trim(),
        first_line("rustc", "--version"),
        first_line("wc", "--version"),
        first_line("date", "+%Y-%m-%d"),
    )
}
