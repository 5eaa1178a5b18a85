//! Beyond the limit of stacks everything folds into OTHER: the stacks that there are stay exact, the
//! total too, and one line on stderr says so at the end.
//!
//! The limit is read from the environment at the first block, so the work runs in a process of its
//! own: this program again.

use std::process::Command;

mod exact_common;
use exact_common::{Block, Figures, Method, figures};

#[global_allocator]
static ALLOC: heapprof::HeapProf = heapprof::HeapProf::new().armed();

const LIMIT: usize = 32;
/// Numbers that are no stack or built-in: none, MAIN, OTHER, BEFORE_PROFILE, EXIT, HEAPPROF.
const BUILT_IN: usize = 6;
const OWN: usize = LIMIT - BUILT_IN;
const CENTRES: usize = 40;
const BYTES: usize = 1_000;

fn site(number: usize) -> &'static heapprof::Site {
    let name: &'static str = Box::leak(format!("limit_{number}").into_boxed_str());
    Box::leak(Box::new(heapprof::Site::new(name, "exact_limit", file!(), line!())))
}

/// `blocks` of BYTES, all live, after as many entries.
fn holding(blocks: usize, entries: usize) -> Figures {
    let mut figures = Figures { entries: entries as u64, ..Figures::default() };
    (0..blocks).for_each(|_| figures.allocate(BYTES));
    figures
}

fn child() {
    exact_common::prepare();
    let stem = format!("{}/exact_limit", env!("CARGO_TARGET_TMPDIR"));
    let profile = heapprof::Profiler::builder().output(stem).start().expect("armed");
    let sites: Vec<_> = (0..CENTRES).map(site).collect();
    let mut blocks: Vec<Block> = Vec::with_capacity(3 * CENTRES);
    let enter_all = |blocks: &mut Vec<Block>| {
        for site in &sites {
            let _scope = site.enter();
            blocks.push(Block::new(Method::Alloc, BYTES, 8));
        }
    };
    enter_all(&mut blocks);
    check(1, CENTRES - OWN);
    // Again: who has a stack keeps it, who has none stays in OTHER.
    enter_all(&mut blocks);
    check(2, 2 * (CENTRES - OWN));
    // What is entered from within OTHER is OTHER, whether it has a stack of its own elsewhere or not.
    let _folded = sites[CENTRES - 1].enter();
    enter_all(&mut blocks);
    let other = figures(&["OTHER"]);
    let from_within = 2 * (CENTRES - OWN) + CENTRES;
    assert_eq!(other, holding(from_within, from_within + 1));
    drop(_folded);
    let sum: u64 =
        heapprof::stacks().iter().filter(|stack| stack.id != 1).map(|stack| stack.live_bytes).sum();
    let before_profile = figures(&["BEFORE_PROFILE"]).live_bytes;
    assert_eq!(sum - before_profile, (3 * CENTRES * BYTES) as u64, "nothing is lost");
    blocks.into_iter().for_each(Block::free);
    let rest = figures(&["OTHER"]);
    assert_eq!((rest.live_bytes, rest.live_blocks), (0, 0));
    println!("{}", rest.entries);
    profile.stop().expect("the folder is writable");
}

/// Every centre has been entered `rounds` times, of which `folded` entries had no stack.
fn check(rounds: usize, folded: usize) {
    for number in 0..OWN {
        assert_eq!(figures(&[&format!("limit_{number}")]), holding(rounds, rounds), "limit_{number}");
    }
    for number in OWN..CENTRES {
        assert_eq!(figures(&[&format!("limit_{number}")]), Figures::default(), "limit_{number}");
    }
    assert_eq!(figures(&["OTHER"]), holding(folded, folded));
}

fn main() {
    if std::env::var_os("EXACT_LIMIT_CHILD").is_some() {
        return child();
    }
    let child = Command::new(std::env::current_exe().expect("Linux knows it"))
        .env("EXACT_LIMIT_CHILD", "1")
        .env("HEAPPROF_STACKS", LIMIT.to_string())
        .output()
        .expect("this program can be run");
    let [out, err] = [&child.stdout, &child.stderr].map(|bytes| String::from_utf8_lossy(bytes).into_owned());
    assert!(child.status.success(), "{err}");
    let notes: Vec<&str> = err.lines().filter(|line| line.contains("OTHER")).collect();
    let [note] = notes[..] else { panic!("one note about the limit, not:\n{err}") };
    assert!(note.contains(&format!("limit of {LIMIT} stacks")), "{note}");
    assert!(note.contains(&format!(" {} entries", out.trim())), "{note}; OTHER has {} entries", out.trim());
    assert_eq!(err.lines().count(), 2, "the note and where the files are:\n{err}");
    println!("{note}");
}
