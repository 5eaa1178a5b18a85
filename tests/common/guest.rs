//! The guest's runs: a folder of its own, a program by any name, a watchdog.

use std::ffi::OsStr;
use std::fs::File;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use super::harness::ROLE;

/// How long a run may take before it counts as hanging.
const PATIENCE: Duration = Duration::from_secs(60);

/// A folder for one test, removed at its end unless the test fails.
pub(crate) struct Folder(PathBuf);

impl Folder {
    /// A new, empty folder with `out` for the guest's files and `bin` for programs.
    pub(crate) fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("guest-{}-{number}", std::process::id());
        let root = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        for part in ["out", "bin"] {
            std::fs::create_dir_all(root.join(part)).unwrap();
        }
        Self(root)
    }

    pub(crate) fn root(&self) -> &Path {
        &self.0
    }

    /// Where guests run and leave their files.
    pub(crate) fn out(&self) -> PathBuf {
        self.0.join("out")
    }

    /// A file of the guest's.
    pub(crate) fn file(&self, name: impl AsRef<Path>) -> PathBuf {
        self.out().join(name)
    }

    /// The names of the guest's files, sorted.
    pub(crate) fn files(&self) -> Vec<String> {
        names_in(&self.out())
    }

    /// This test's program under another name.
    pub(crate) fn program(&self, name: impl AsRef<OsStr>) -> PathBuf {
        let path = self.0.join("bin").join(name.as_ref());
        let own = std::env::current_exe().unwrap();
        if !path.exists() && std::fs::hard_link(&own, &path).is_err() {
            std::fs::copy(&own, &path).unwrap();
        }
        path
    }

    /// A run of the program `app` in this folder, without a profile, to play a role.
    pub(crate) fn guest(&self, role: &str) -> Guest {
        self.guest_named("app", role)
    }

    /// The same under another program name.
    pub(crate) fn guest_named(&self, name: impl AsRef<OsStr>, role: &str) -> Guest {
        let mut command = Command::new(self.program(name));
        for (variable, _) in std::env::vars_os() {
            if variable.to_string_lossy().starts_with("HEAPPROF") {
                command.env_remove(variable);
            }
        }
        command.arg(format!("{ROLE}{role}")).current_dir(self.out()).stdin(Stdio::null());
        command.env("RUST_BACKTRACE", "0");
        Guest { command, logs: self.0.clone(), instead: [None, None] }
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }
}

/// The names in a folder, sorted.
pub(crate) fn names_in(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// A run to be made.
pub(crate) struct Guest {
    pub(crate) command: Command,
    logs: PathBuf,
    /// Standard output and standard error instead of files to be read afterwards.
    instead: [Option<Stdio>; 2],
}

impl Guest {
    pub(crate) fn arg(mut self, arg: impl AsRef<OsStr>) -> Self {
        self.command.arg(arg);
        self
    }

    pub(crate) fn env(mut self, variable: &str, value: impl AsRef<OsStr>) -> Self {
        self.command.env(variable, value);
        self
    }

    /// With a profile that samples every millisecond.
    pub(crate) fn profiled(self) -> Self {
        self.env("HEAPPROF_INTERVAL", "1ms")
    }

    /// With this as its standard output; the outcome then has none.
    pub(crate) fn stdout(mut self, stdout: Stdio) -> Self {
        self.instead[0] = Some(stdout);
        self
    }

    /// With this as its standard error; the outcome then has none.
    pub(crate) fn stderr(mut self, stderr: Stdio) -> Self {
        self.instead[1] = Some(stderr);
        self
    }

    /// Starts the run; its output goes to files, which never fill up as a pipe does.
    pub(crate) fn start(mut self) -> Running {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let logs = ["stdout", "stderr"].map(|name| self.logs.join(format!("{name}-{number}")));
        let [stdout, stderr] = [0, 1].map(|at| {
            let log = File::create(&logs[at]).unwrap();
            self.instead[at].take().unwrap_or_else(|| log.into())
        });
        self.command.stdout(stdout).stderr(stderr);
        let child = self.command.spawn().unwrap();
        Running { child, logs }
    }

    /// The run from start to end.
    pub(crate) fn run(self) -> Outcome {
        self.start().finish()
    }
}

/// A run that has started.
pub(crate) struct Running {
    pub(crate) child: Child,
    logs: [PathBuf; 2],
}

impl Running {
    /// Waits for the end.
    pub(crate) fn finish(mut self) -> Outcome {
        let status = wait(&mut self.child);
        let [stdout, stderr] = self.logs.map(|log| std::fs::read(log).unwrap());
        Outcome { status, stdout, stderr: String::from_utf8_lossy(&stderr).into_owned() }
    }

    /// Kills the guest at once and waits for its end.
    pub(crate) fn kill(mut self) -> Outcome {
        self.child.kill().unwrap();
        self.finish()
    }
}

/// Waits for a process, and kills it if it hangs.
pub(crate) fn wait(child: &mut Child) -> ExitStatus {
    let begin = Instant::now();
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return status;
        }
        if begin.elapsed() > PATIENCE {
            let _ = child.kill();
            let _ = child.wait();
            panic!("process {} hangs", child.id());
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// What a run left besides its files.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) status: ExitStatus,
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: String,
}

impl Outcome {
    /// The output as text.
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.stdout).into_owned()
    }

    /// The profiler's lines on stderr, without its name.
    pub(crate) fn lines(&self) -> Vec<&str> {
        self.stderr.lines().filter_map(|line| line.strip_prefix("heapprof: ")).collect()
    }

    /// The only line that the profiler said.
    #[track_caller]
    pub(crate) fn only_line(&self) -> &str {
        let lines = self.lines();
        assert_eq!(lines.len(), 1, "one line of ours in {self:?}");
        lines[0]
    }

    /// That the guest ended with this exit code.
    #[track_caller]
    pub(crate) fn ended_with(self, code: i32) -> Self {
        assert_eq!((self.status.code(), self.status.signal()), (Some(code), None), "{self:?}");
        self
    }
}
