//! The leak finder on programs that really run: those of the example `leaks`, under heapprof.
#![cfg(target_os = "linux")]

mod leaks_common;
#[expect(dead_code, reason = "its main is for the command line")]
#[path = "../examples/leaks.rs"]
mod programs;

use leaks_common::{ALL, Findings, Labelled};

#[test]
fn programs_are_judged_as_recorded() {
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("leaks_programs");
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).expect("the target folder takes folders");
    let mut findings = Findings::default();
    for (name, program) in programs::PROGRAMS {
        let output = folder.join(name);
        let files = programs::profile(program, output.to_str().expect("a plain path")).expect("profiled");
        let file = std::fs::File::open(&files.hp).expect("written");
        let mut profile = heapprof::hp::read(file).expect("a profile");
        // The values are the same in every run; so are the times now.
        profile.times_s = (0..profile.times_s.len()).map(|sample| sample as f64).collect();
        let leaks: &[&str] = match name {
            "doubling" => &["history", ALL],
            "late" => &["metrics", ALL],
            "listeners" => &["connect", ALL],
            "queue" => &["enqueue", ALL],
            "render" => &["render", ALL],
            "sweep" => &["sessions", ALL],
            _ => &[],
        };
        findings.add(name, &Labelled::of_profile(&profile), leaks);
    }
    findings.assert_recorded("findings-programs.txt");
}
