//! Where the files may go, whom they may overwrite (nobody), and what happens when they cannot grow.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::ffi::{CString, OsStr};
use std::fs::File;
use std::hint::black_box;
use std::io::Write as _;
use std::os::fd::AsRawFd as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _, symlink};
use std::os::unix::net::UnixListener;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

mod common;
use common::guest::{Folder, Guest, Outcome};
use common::harness::{self, ROLE, named};
use common::profile::{bytes_at, last_bytes, whole_hp, whole_prof};
use common::tools::{ghc_draws, is_root, skip};
use heapprof::cost_centre;

#[global_allocator]
static ALLOC: heapprof::HeapProf = heapprof::HeapProf::new();

// ---- roles -------------------------------------------------------------------------------------

/// Holds `args[0]` bytes under `kept`, takes `args[1]` samples, ends with 7.
fn keeps(args: &[String]) {
    let [bytes, samples] = [&args[0], &args[1]].map(|number| number.parse::<usize>().unwrap());
    let kept = cost_centre!("kept" => black_box(vec![1u8; bytes]));
    for _ in 0..samples {
        let _ = heapprof::sample_now();
    }
    std::mem::forget(kept);
    println!("kept {bytes}");
    std::process::exit(7);
}

/// Like `keeps`, but says `ready-args[0]` and waits for `go` in the folder above.
fn waits(args: &[String]) {
    let bytes = args[0].parse().unwrap();
    std::mem::forget(cost_centre!("kept" => black_box(vec![1u8; bytes])));
    std::fs::write(format!("../ready-{}", args[0]), "").unwrap();
    wait_for(Path::new("../go"));
}

/// Holds something and runs another process of this program, which holds something else.
fn has_a_child(_: &[String]) {
    std::mem::forget(cost_centre!("kept" => black_box(vec![1u8; 1_000])));
    let own = std::env::current_exe().unwrap();
    let status = Command::new(own).args([&format!("{ROLE}keeps"), "2000", "5"]).status().unwrap();
    assert_eq!(status.code(), Some(7));
}

/// Runs fifty children that are not profiled programs.
fn has_fifty_children(_: &[String]) {
    for _ in 0..50 {
        assert!(Command::new("true").status().unwrap().success());
    }
}

/// Goes to another folder and works on there.
fn changes_folder(_: &[String]) {
    std::env::set_current_dir("../elsewhere").unwrap();
    keeps(&[String::from("1000"), String::from("50")]);
}

/// Closes every descriptor that it did not open, as a daemon does, and uses those numbers itself.
fn closes_descriptors(_: &[String]) {
    std::mem::forget(cost_centre!("kept" => black_box(vec![1u8; 1_000])));
    let take_samples = |samples| (0..samples).for_each(|_| drop(heapprof::sample_now()));
    take_samples(5);
    for descriptor in 3..=1_000 {
        // SAFETY: the descriptors are none of this program's own.
        unsafe { libc::close(descriptor) };
    }
    let mut own: Vec<File> = (0..20).map(|at| File::create_new(format!("../own-{at}")).unwrap()).collect();
    assert!(own.iter().any(|file| file.as_raw_fd() == 3), "the least free number");
    std::mem::forget(cost_centre!("later" => black_box(vec![1u8; 500])));
    for (at, file) in own.iter_mut().enumerate() {
        take_samples(1);
        writeln!(file, "file {at}").unwrap();
    }
    std::mem::forget(own);
    println!("closed");
    std::process::exit(7);
}

fn wait_for(path: &Path) {
    while !path.exists() {
        std::thread::sleep(Duration::from_millis(1));
    }
}

// ---- helpers -----------------------------------------------------------------------------------

/// A profiled run of `keeps`.
fn keeps_1000(folder: &Folder) -> Guest {
    folder.guest("keeps").arg("1000").arg("20").profiled()
}

/// Calls in the guest's process before its program begins.
fn before_main(
    mut guest: Guest,
    prepare: impl FnMut() -> std::io::Result<()> + Send + Sync + 'static,
) -> Guest {
    // SAFETY: the closures below only make system calls.
    unsafe { guest.command.pre_exec(prepare) };
    guest
}

/// That the guest ran unprofiled to its ordinary end, with one line that names the file and the cause.
#[track_caller]
fn refused(outcome: Outcome, file: &str, cause: &str) {
    let outcome = outcome.ended_with(7);
    assert_eq!(outcome.text(), "kept 1000\n");
    let line = outcome.only_line();
    assert!(line.contains(file) && line.contains(cause), "{line}");
    assert!(line.ends_with("; the program runs unprofiled"), "{line}");
}

/// That a profile under `stem` holds `bytes` in `kept`.
#[track_caller]
fn profile_of(folder: &Folder, stem: &str, bytes: u64) {
    let hp = whole_hp(&folder.file(format!("{stem}.hp")));
    assert_eq!(last_bytes(&hp, "kept"), bytes, "{stem}");
    whole_prof(&folder.file(format!("{stem}.prof")));
}

// ---- a file that cannot grow -------------------------------------------------------------------

/// Under a limit of address space that the program bears, the profiler's tables shrink: the largest
/// stack limit would otherwise map 64 MiB a thread, and leave no profile or no program.
fn a_limit_of_address_space_is_borne_as_without_a_profile() {
    for mib in [150, 200, 400] {
        let limited = |guest: Guest| {
            before_main(guest, move || {
                let limit = libc::rlimit { rlim_cur: mib << 20, rlim_max: mib << 20 };
                // SAFETY: the pointer is to a live local.
                let failed = unsafe { libc::setrlimit(libc::RLIMIT_AS, &limit) };
                if failed == 0 { Ok(()) } else { Err(std::io::Error::last_os_error()) }
            })
        };
        let folder = Folder::new();
        limited(folder.guest("keeps").arg("1000").arg("100")).run().ended_with(7);
        let guest = folder.guest("keeps").arg("1000").arg("100").profiled();
        limited(guest.env("HEAPPROF_STACKS", "1048576")).run().ended_with(7);
        profile_of(&folder, "app", 1_000);
    }
}

/// No file of the guest may exceed `bytes`; `ignore`: nor does the guest die of the attempt.
fn limit_files(guest: Guest, bytes: u64, ignore: bool) -> Guest {
    before_main(guest, move || {
        let limit = libc::rlimit { rlim_cur: bytes, rlim_max: bytes };
        // SAFETY: the pointer is to a live local; ignoring a signal has no preconditions.
        let failed = unsafe {
            libc::signal(libc::SIGXFSZ, if ignore { libc::SIG_IGN } else { libc::SIG_DFL });
            libc::setrlimit(libc::RLIMIT_FSIZE, &limit)
        };
        if failed == 0 { Ok(()) } else { Err(std::io::Error::last_os_error()) }
    })
}

fn a_full_file_ends_the_profile_and_not_the_program() {
    let cases = [(2_000, true), (2_001, false), (2_017, true), (5_000, false), (8_192, true), (8_191, false)];
    for (at, (bytes, ignore)) in cases.into_iter().enumerate() {
        let folder = Folder::new();
        let sampler = ["thread", "inline"][at % 2];
        let guest = folder.guest("keeps").arg("1000").arg("900").profiled().env("HEAPPROF_SAMPLER", sampler);
        let outcome = limit_files(guest, bytes, ignore).run().ended_with(7);
        let line = outcome.only_line();
        assert!(line.contains("app.hp: ") && line.ends_with("; the profile stops here"), "{line}");
        let hp = whole_hp(&folder.file("app.hp"));
        assert_eq!(last_bytes(&hp, "kept"), 1_000);
        let size = std::fs::metadata(folder.file("app.hp")).unwrap().len();
        assert!(size <= bytes && size + 200 > bytes, "{size} of {bytes} bytes");
        whole_prof(&folder.file("app.prof"));
        assert_eq!(folder.files(), ["app.hp", "app.prof"]);
        ghc_draws(&folder.file("app.hp"));
    }
}

fn a_file_that_is_full_at_once_leaves_nothing() {
    for (bytes, ignore) in [(60, true), (61, false), (200, true), (500, false)] {
        let folder = Folder::new();
        // The limit is for the log of stderr as well, so that the line may be cut short.
        let outcome = limit_files(keeps_1000(&folder), bytes, ignore).run();
        let outcome = outcome.ended_with(7);
        assert!(outcome.stderr.len() as u64 <= bytes, "{outcome:?}");
        assert_eq!(folder.files(), [""; 0], "limit {bytes}");
    }
}

fn a_file_that_may_hold_nothing_ends_the_profile_and_not_the_program() {
    for sampler in ["thread", "inline"] {
        let folder = Folder::new();
        let guest =
            keeps_1000(&folder).env("HEAPPROF_SAMPLER", sampler).stdout(Stdio::null()).stderr(Stdio::null());
        limit_files(guest, 0, false).run().ended_with(7);
        assert_eq!(folder.files(), [""; 0]);
    }
}

fn a_reader_of_stderr_that_is_gone_ends_no_program() {
    for (setting, value) in
        [("HEAPPROF_INTERVAL", "1ms"), ("HEAPPROF_INTERVAL", "bad"), ("HEAPPROF_OUTPUT", "%q")]
    {
        let folder = Folder::new();
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let guest = keeps_1000(&folder).env(setting, value).stderr(writer.into());
        // A shell's guest has the default action, which ends whoever writes.
        let guest = before_main(guest, || {
            // SAFETY: no preconditions.
            unsafe { libc::signal(libc::SIGPIPE, libc::SIG_DFL) };
            Ok(())
        });
        assert_eq!(guest.run().ended_with(7).text(), "kept 1000\n");
    }
}

/// A file system of some pages, unmounted when dropped.
struct SmallDisk(std::path::PathBuf);

impl SmallDisk {
    fn mount(at: &Path) -> Option<Self> {
        let options = "size=24k,mode=777";
        let mount = Command::new("mount").args(["-t", "tmpfs", "-o", options, "tmpfs"]).arg(at).output();
        mount.is_ok_and(|done| done.status.success()).then(|| Self(at.to_owned()))
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

fn a_full_disk_ends_the_profile_and_not_the_program() {
    let folder = Folder::new();
    let Some(disk) = SmallDisk::mount(&folder.out()) else {
        println!("SKIPPED: a file system cannot be mounted here");
        return;
    };
    let outcome = folder.guest("keeps").arg("1000").arg("2000").profiled().run().ended_with(7);
    let line = outcome.only_line();
    assert!(line.contains("No space left on device") && line.ends_with("; the profile stops here"), "{line}");
    profile_of(&folder, "app", 1_000);
    assert_eq!(folder.files(), ["app.hp", "app.prof"]);
    drop(disk);
}

// ---- a file that is taken away -----------------------------------------------------------------

fn a_program_that_closes_every_descriptor_has_its_files_and_we_ours() {
    for sampler in ["thread", "inline"] {
        let folder = Folder::new();
        // Only the program's own samples: none may fall between its closing and its opening.
        let guest = folder.guest("closes_descriptors").env("HEAPPROF_INTERVAL", "1m");
        let outcome = guest.env("HEAPPROF_TICK", "1").env("HEAPPROF_SAMPLER", sampler).run().ended_with(7);
        assert_eq!(outcome.text(), "closed\n");
        assert!(outcome.only_line().contains("app.hp"), "{outcome:?}");
        for at in 0..20 {
            let own = std::fs::read_to_string(folder.root().join(format!("own-{at}"))).unwrap();
            assert_eq!(own, format!("file {at}\n"), "{sampler}");
        }
        profile_of(&folder, "app", 1_000);
        let hp = whole_hp(&folder.file("app.hp"));
        assert_eq!(last_bytes(&hp, "later"), 500, "{sampler}: the profile goes on");
        let before = (0..hp.times_s.len()).filter(|&sample| bytes_at(&hp, "later", sample) == 0).count();
        assert!(
            before >= 6 && hp.times_s.len() - before >= 20,
            "{sampler}: {before} of {}",
            hp.times_s.len()
        );
        assert_eq!(folder.files(), ["app.hp", "app.prof"]);
    }
}

fn a_file_that_is_removed_ends_the_profile_and_not_the_program() {
    for sampler in ["thread", "inline"] {
        let folder = Folder::new();
        let running = folder.guest("waits").arg("1000").profiled().env("HEAPPROF_SAMPLER", sampler).start();
        wait_for(&folder.root().join("ready-1000"));
        std::fs::remove_file(folder.file("app.hp")).unwrap();
        std::fs::write(folder.root().join("go"), "").unwrap();
        let outcome = running.finish().ended_with(0);
        let line = outcome.only_line();
        assert!(line.contains("/out/app.hp: has been removed"), "{sampler}: {line}");
        assert!(!folder.files().contains(&String::from("app.hp")), "{sampler}: {:?}", folder.files());
    }
}

// ---- names that may not be written -------------------------------------------------------------

fn a_folder_that_is_not_there_is_refused() {
    let folder = Folder::new();
    let outcome = keeps_1000(&folder).env("HEAPPROF_OUTPUT", "missing/app").run();
    refused(outcome, "/out/missing/", "No such file or directory");
    assert_eq!(folder.files(), [""; 0]);
}

fn the_file_asked_for_is_named_and_no_temporary_one() {
    let folder = Folder::new();
    let outcome = keeps_1000(&folder).env("HEAPPROF_OUTPUT", "nodir/app").run();
    let line = outcome.only_line();
    let (file, cause) = line.split_once(": ").expect("a file and a cause");
    assert!(file.ends_with("/out/nodir/app.hp"), "{line}");
    assert!(cause.starts_with("No such file or directory"), "{line}");
}

fn a_folder_that_may_not_be_written_is_refused() {
    if !is_root() {
        return skip("not root, so there is no other user to be");
    }
    let folder = Folder::new();
    let mut guest = keeps_1000(&folder);
    guest.command.uid(65_534).gid(65_534);
    refused(guest.run(), "/out/", "Permission denied");
    assert_eq!(folder.files(), [""; 0]);
}

fn a_symbolic_link_is_refused_and_its_target_untouched() {
    for target in ["precious", "dangling", "/dev/null"] {
        let folder = Folder::new();
        std::fs::write(folder.file("precious"), "precious").unwrap();
        symlink(target, folder.file("app.hp")).unwrap();
        refused(keeps_1000(&folder).run(), "/out/app.hp: ", "is a symbolic link");
        assert_eq!(std::fs::read_link(folder.file("app.hp")).unwrap(), Path::new(target));
        assert_eq!(std::fs::read(folder.file("precious")).unwrap(), b"precious");
        assert_eq!(folder.files(), ["app.hp", "precious"]);
    }
}

fn a_report_that_is_a_symbolic_link_is_not_written_through() {
    let folder = Folder::new();
    std::fs::write(folder.file("precious"), "precious").unwrap();
    symlink("precious", folder.file("app.prof")).unwrap();
    keeps_1000(&folder).run().ended_with(7);
    assert_eq!(std::fs::read(folder.file("precious")).unwrap(), b"precious");
}

fn a_pipe_is_refused() {
    let folder = Folder::new();
    let path = CString::new(folder.file("app.hp").as_os_str().as_bytes()).unwrap();
    // SAFETY: the path ends with NUL.
    assert_eq!(unsafe { libc::mkfifo(path.as_ptr(), 0o666) }, 0);
    refused(keeps_1000(&folder).run(), "/out/app.hp: ", "is not a regular file");
    assert!(std::fs::symlink_metadata(folder.file("app.hp")).unwrap().file_type().is_fifo());
    assert_eq!(folder.files(), ["app.hp"]);
}

fn a_socket_is_refused() {
    let folder = Folder::new();
    // A socket's path is short, so it is named from within its folder.
    let short = std::env::temp_dir().join(format!("heapprof-{}", std::process::id()));
    symlink(folder.out(), &short).unwrap();
    let _socket = UnixListener::bind(short.join("app.hp")).unwrap();
    std::fs::remove_file(short).unwrap();
    refused(keeps_1000(&folder).run(), "/out/app.hp: ", "");
    assert!(std::fs::symlink_metadata(folder.file("app.hp")).unwrap().file_type().is_socket());
    assert_eq!(folder.files(), ["app.hp"]);
}

fn a_folder_in_the_files_place_is_refused() {
    for (name, cause) in [("app.hp", "is not a regular file"), ("app.prof", "directory")] {
        let folder = Folder::new();
        std::fs::create_dir(folder.file(name)).unwrap();
        refused(keeps_1000(&folder).run(), name, cause);
        assert!(folder.file(name).is_dir());
        assert_eq!(folder.files(), [name]);
    }
}

fn a_hard_link_is_replaced_and_not_written_through() {
    let folder = Folder::new();
    for name in ["precious.hp", "precious.prof"] {
        std::fs::write(folder.file(name), "precious").unwrap();
    }
    std::fs::hard_link(folder.file("precious.hp"), folder.file("app.hp")).unwrap();
    std::fs::hard_link(folder.file("precious.prof"), folder.file("app.prof")).unwrap();
    keeps_1000(&folder).run().ended_with(7);
    for name in ["precious.hp", "precious.prof"] {
        assert_eq!(std::fs::read(folder.file(name)).unwrap(), b"precious", "{name}");
    }
    profile_of(&folder, "app", 1_000);
}

fn an_older_profile_is_replaced() {
    let folder = Folder::new();
    for bytes in [5_000, 1_000] {
        folder.guest("keeps").arg(bytes.to_string()).arg("9").profiled().run().ended_with(7);
        profile_of(&folder, "app", bytes);
        assert_eq!(folder.files(), ["app.hp", "app.prof"]);
    }
}

fn the_umask_is_kept_to() {
    for (mask, mode) in [(0o022, 0o644), (0o077, 0o600), (0o027, 0o640)] {
        let folder = Folder::new();
        let guest = before_main(keeps_1000(&folder), move || {
            // SAFETY: no preconditions.
            unsafe { libc::umask(mask) };
            Ok(())
        });
        guest.run().ended_with(7);
        for name in ["app.hp", "app.prof"] {
            assert_eq!(std::fs::metadata(folder.file(name)).unwrap().mode() & 0o777, mode, "{name}");
        }
    }
}

// ---- several processes -------------------------------------------------------------------------

fn two_processes_at_once_have_two_files() {
    let folder = Folder::new();
    let mut running = Vec::new();
    for bytes in ["1000", "2000"] {
        running.push(folder.guest("waits").arg(bytes).profiled().start());
        wait_for(&folder.root().join(format!("ready-{bytes}")));
    }
    let second = running[1].child.id();
    std::fs::write(folder.root().join("go"), "").unwrap();
    running.into_iter().for_each(|guest| drop(guest.finish().ended_with(0)));
    profile_of(&folder, "app", 1_000);
    profile_of(&folder, &format!("app.{second}"), 2_000);
    assert_eq!(folder.files().len(), 4, "{:?}", folder.files());
}

fn eight_processes_started_at_once_have_eight_files() {
    for _ in 0..5 {
        let folder = Folder::new();
        let start = |at: u32| folder.guest("waits").arg((1_000 * at).to_string()).profiled().start();
        let running: Vec<_> = (1..=8).map(start).collect();
        for at in 1..=8 {
            wait_for(&folder.root().join(format!("ready-{}", 1_000 * at)));
        }
        std::fs::write(folder.root().join("go"), "").unwrap();
        running.into_iter().for_each(|guest| drop(guest.finish().ended_with(0)));
        let names = folder.files();
        assert_eq!(names.len(), 16, "{names:?}");
        let hps = names.iter().filter(|name| name.ends_with(".hp"));
        let mut kept: Vec<u64> = hps.map(|name| last_bytes(&whole_hp(&folder.file(name)), "kept")).collect();
        kept.sort_unstable();
        assert_eq!(kept, [1_000, 2_000, 3_000, 4_000, 5_000, 6_000, 7_000, 8_000]);
    }
}

fn a_child_of_the_same_program_leaves_the_parents_file_alone() {
    let folder = Folder::new();
    folder.guest("has_a_child").profiled().run().ended_with(0);
    profile_of(&folder, "app", 1_000);
    let names = folder.files();
    let others: Vec<&String> =
        names.iter().filter(|name| !["app.hp", "app.prof"].contains(&name.as_str())).collect();
    assert_eq!(others.len(), 2, "{names:?}");
    profile_of(&folder, others[0].strip_suffix(".hp").unwrap(), 2_000);
}

fn fifty_children_leave_one_profile() {
    let folder = Folder::new();
    folder.guest("has_fifty_children").profiled().run().ended_with(0);
    assert_eq!(folder.files(), ["app.hp", "app.prof"]);
}

fn a_shell_around_the_program_leaves_one_profile() {
    let folder = Folder::new();
    let mut guest = folder.guest("unused");
    let mut shell = Command::new("sh");
    shell.args(["-c", "exec \"$0\" role=keeps 1000 5"]).arg(folder.program("app")).current_dir(folder.out());
    std::mem::swap(&mut guest.command, &mut shell);
    guest.profiled().run().ended_with(7);
    assert_eq!(folder.files(), ["app.hp", "app.prof"]);
}

// ---- names -------------------------------------------------------------------------------------

fn the_files_stay_where_the_profile_began() {
    let folder = Folder::new();
    std::fs::create_dir(folder.root().join("elsewhere")).unwrap();
    folder.guest("changes_folder").profiled().run().ended_with(7);
    profile_of(&folder, "app", 1_000);
    assert_eq!(common::guest::names_in(&folder.root().join("elsewhere")), [""; 0]);
}

fn placeholders_are_filled_in() {
    let folder = Folder::new();
    std::fs::create_dir(folder.root().join("elsewhere")).unwrap();
    let now = || SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    let before = now();
    let running = keeps_1000(&folder).env("HEAPPROF_OUTPUT", "../elsewhere/%e.%p-%t%%x.hp").start();
    let process = running.child.id();
    running.finish().ended_with(7);
    let names: Vec<String> = (before..=now()).map(|start| format!("app.{process}-{start}%x")).collect();
    let left = common::guest::names_in(&folder.root().join("elsewhere"));
    let stem = names.iter().find(|name| left[0] == format!("{name}.hp")).expect("the pattern's name");
    assert_eq!(left, [format!("{stem}.hp"), format!("{stem}.prof")]);
    assert_eq!(folder.files(), [""; 0]);
}

fn any_program_name_will_do() {
    let (long, longest) = ("n".repeat(200), "n".repeat(250));
    let names: [&[u8]; 18] = [
        b"with blank",
        b" leading",
        b"quo\"te",
        b"it's",
        b"100%e",
        b"%p",
        b"50%",
        "größe.π".as_bytes(),
        b"-c",
        b"--help",
        b"dots.in.name",
        b".hidden",
        b"back\\slash",
        b"$HOME`ls`",
        b"(paren",
        b"new\nline\ttab",
        long.as_bytes(),
        longest.as_bytes(),
    ];
    for name in names {
        let folder = Folder::new();
        let guest = folder.guest_named(OsStr::from_bytes(name), "keeps").arg("1000").arg("9").profiled();
        guest.env("HEAPPROF_BREAKDOWN", "stack").run().ended_with(7);
        let name = std::str::from_utf8(name).unwrap();
        assert_eq!(folder.files(), [format!("{name}.hp"), format!("{name}.prof")]);
        profile_of(&folder, name, 1_000);
        let hp = folder.file(format!("{name}.hp"));
        assert_eq!(whole_hp(&hp).header.job, name.replace(['\n', '\t'], " "));
        if let Some(drawing) = ghc_draws(&hp) {
            // GHC's hp2ps does not escape backslashes in its PostScript.
            if !name.contains('\\') {
                drawing.is_postscript();
            }
        }
    }
}

fn a_program_name_that_is_not_utf8_will_do() {
    let folder = Folder::new();
    let guest = folder.guest_named(OsStr::from_bytes(b"lat\xEFn"), "keeps").arg("1000").arg("9").profiled();
    guest.run().ended_with(7);
    profile_of(&folder, "lat\u{FFFD}n", 1_000);
}

fn main() -> ExitCode {
    let roles = named![keeps, waits, has_a_child, has_fifty_children, changes_folder, closes_descriptors];
    let tests = named![
        a_limit_of_address_space_is_borne_as_without_a_profile,
        a_full_file_ends_the_profile_and_not_the_program,
        a_file_that_is_full_at_once_leaves_nothing,
        a_file_that_may_hold_nothing_ends_the_profile_and_not_the_program,
        a_reader_of_stderr_that_is_gone_ends_no_program,
        a_full_disk_ends_the_profile_and_not_the_program,
        a_program_that_closes_every_descriptor_has_its_files_and_we_ours,
        a_file_that_is_removed_ends_the_profile_and_not_the_program,
        a_folder_that_is_not_there_is_refused,
        the_file_asked_for_is_named_and_no_temporary_one,
        a_folder_that_may_not_be_written_is_refused,
        a_symbolic_link_is_refused_and_its_target_untouched,
        a_report_that_is_a_symbolic_link_is_not_written_through,
        a_pipe_is_refused,
        a_socket_is_refused,
        a_folder_in_the_files_place_is_refused,
        a_hard_link_is_replaced_and_not_written_through,
        an_older_profile_is_replaced,
        the_umask_is_kept_to,
        two_processes_at_once_have_two_files,
        eight_processes_started_at_once_have_eight_files,
        a_child_of_the_same_program_leaves_the_parents_file_alone,
        fifty_children_leave_one_profile,
        a_shell_around_the_program_leaves_one_profile,
        the_files_stay_where_the_profile_began,
        placeholders_are_filled_in,
        any_program_name_will_do,
        a_program_name_that_is_not_utf8_will_do,
    ];
    harness::main(roles, tests, 2)
}
