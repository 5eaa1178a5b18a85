//! What places in the program are called: the ticker's side of [`crate::symbols`], kept small.
//!
//! Files are opened when a call stack has no name yet, and closed again when none has come up for some
//! samples. Names stay with the bands; frames are dropped with the files.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::capture::{self, Library};
use super::config::Symbols;
use super::traces::TRACES;
use crate::hp;
use crate::options::Breakdown;
use crate::symbols::{self, Frame, Image, Module, Modules};

/// Frames kept at most; beyond it all are dropped and found again.
const FRAMES_MAX: usize = 1 << 16;
/// Samples without a new name after which the files are closed.
const IDLE_SAMPLES: u32 = 8;

/// Whether code was loaded since the hook was told which code is std's.
static IS_LIBRARY_STALE: AtomicBool = AtomicBool::new(true);

/// Tells the hook which code is std's, if that has changed. For the ticker: it takes some milliseconds, and
/// much longer without optimisation, so nobody may be waiting for it.
pub(crate) fn tell_library() {
    if !IS_LIBRARY_STALE.swap(false, Ordering::Relaxed) {
        return;
    }
    let mut library = Library::default();
    for module in Modules::loaded().iter() {
        let Ok(image) = module.image() else {
            continue;
        };
        let moved =
            |(first, end): (u64, u64)| (first.wrapping_add(module.bias), end.wrapping_add(module.bias));
        library.code.extend(image.library_ranges(symbols::is_library_symbol).into_iter().map(moved));
        library.ends.extend(image.library_ranges(is_outermost).into_iter().map(moved));
    }
    library.code.sort_unstable();
    library.ends.sort_unstable();
    capture::set_library(library);
}

/// Names call stacks.
pub(crate) struct Namer {
    symbols: Symbols,
    /// Labels of a call stack at most.
    depth: usize,
    /// Whether frames come from frame pointers, so that what is no return address ends the stack.
    by_frame_pointer: bool,
    modules: Modules,
    /// All modules that there ever were.
    seen: Vec<Module>,
    /// The files opened so far, by path; `None` for one that cannot be used.
    images: HashMap<PathBuf, Option<Image>>,
    frames: HashMap<u64, Arc<[Frame]>>,
    /// Samples since a name was last made.
    idle: u32,
    /// For each time that code was found to be unloaded: traces numbered below may be of code that is gone,
    /// unless it lies in these ranges.
    losses: Vec<(u32, Vec<(u64, u64)>)>,
}

impl Namer {
    pub(crate) fn new(symbols: Symbols, depth: usize, by_frame_pointer: bool) -> Self {
        let (mut modules, mut seen) = (Modules::loaded(), Vec::new());
        modules.name_apart(&mut seen);
        Self {
            symbols,
            depth,
            by_frame_pointer,
            modules,
            seen,
            images: HashMap::new(),
            frames: HashMap::new(),
            idle: 0,
            losses: Vec::new(),
        }
    }

    /// To be called before each sample: looks whether code was loaded or unloaded, which it returns, and
    /// closes files that nobody has asked for lately.
    pub(crate) fn refresh(&mut self) -> bool {
        let has_changed = !self.modules.is_current();
        if has_changed {
            let before = std::mem::replace(&mut self.modules, Modules::loaded());
            self.modules.name_apart(&mut self.seen);
            if let Some(lasting) = self.modules.lasting_since(&before) {
                // First the generation: a trace made meanwhile then is taken for lost, not for right.
                capture::begin_generation(lasting.clone());
                self.losses.push((TRACES.count(), lasting));
            }
            self.close();
            IS_LIBRARY_STALE.store(true, Ordering::Relaxed);
        }
        self.idle += 1;
        if self.idle == IDLE_SAMPLES || self.frames.len() > FRAMES_MAX {
            self.close();
        }
        has_changed
    }

    /// Whether a trace has addresses at which there may have been two files, one after the other: its blocks
    /// cannot be told apart.
    pub(crate) fn is_lost(&self, trace: u32) -> bool {
        TRACES.frames(trace).any(|address| self.is_lost_at(trace, address))
    }

    fn is_lost_at(&self, trace: u32, address: u64) -> bool {
        let is_gone = |(before, lasting): &(u32, Vec<(u64, u64)>)| {
            trace < *before && !capture::contains(lasting, address)
        };
        self.losses.iter().any(is_gone)
    }

    /// How often traces were lost.
    pub(crate) fn losses(&self) -> usize {
        self.losses.len()
    }

    fn close(&mut self) {
        self.images = HashMap::new();
        self.frames = HashMap::new();
    }

    /// The labels of a call stack's band in a breakdown, leaf first.
    pub(crate) fn labels(&mut self, trace: u32, breakdown: Breakdown) -> Vec<String> {
        self.idle = 0;
        let is_real = |address: &u64| !self.by_frame_pointer || self.modules.is_return_address(*address);
        let is_lost = |address: &u64| self.is_lost_at(trace, *address);
        let is_cut = TRACES.frames(trace).any(|address| is_lost(&address));
        let known = TRACES.frames(trace).take_while(|address| !is_lost(address));
        let addresses: Vec<u64> = known.take_while(is_real).collect();
        if self.symbols == Symbols::Offline {
            return addresses.into_iter().map(|address| self.offset(address)).collect();
        }
        let mut frames = Vec::new();
        for address in addresses {
            frames.extend(self.frames_of(address).iter().cloned());
        }
        let mut labels = symbols::labels(&frames, breakdown);
        // What is inside of the place that is lost is still right, if it tells the whole of what is asked.
        if is_cut && breakdown != Breakdown::CallStack && symbols::arc(&frames).len() < 2 {
            return Vec::new();
        }
        if is_cut && breakdown == Breakdown::CallStack {
            labels.push(String::from("?"));
        }
        if breakdown == Breakdown::CallStack {
            labels.truncate(self.depth);
        }
        labels
    }

    /// The functions at a return address, innermost first; its offset where no name is known.
    fn frames_of(&mut self, address: u64) -> Arc<[Frame]> {
        if let Some(known) = self.frames.get(&address) {
            return Arc::clone(known);
        }
        let named = self.modules.find(address).map(|(module, linked)| {
            let image = self.images.entry(module.path.clone()).or_insert_with(|| module.image().ok());
            image.as_ref().map(|image| image.frames(linked)).unwrap_or_default()
        });
        let mut frames = named.unwrap_or_default();
        if frames.is_empty() {
            frames.push(Frame { function: self.offset(address), ..Frame::default() });
        }
        let frames: Arc<[Frame]> = frames.into();
        self.frames.insert(address, Arc::clone(&frames));
        frames
    }

    /// `module+0x1f2c`, with the address as it was linked.
    fn offset(&self, address: u64) -> String {
        match self.modules.find(address) {
            Some((module, linked)) => format!("{}+{linked:#x}", module.name),
            None => String::from("?"),
        }
    }

    /// The depth and the files that were loaded at any time as the lines of an `app.modules` file: name in the bands, build id, path.
    pub(crate) fn module_lines(&self) -> String {
        let hexadecimal = |id: &Vec<u8>| id.iter().map(|byte| format!("{byte:02x}")).collect();
        let line = |module: &Module| {
            let id = module.build_id.as_ref().map_or_else(|| String::from("-"), hexadecimal);
            // A line each, whatever the path.
            let path = module.path.display().to_string().replace('\n', "?");
            format!("module {} {id} {path}\n", hp::escape_label(&module.name))
        };
        std::iter::once(format!("depth {}\n", self.depth)).chain(self.seen.iter().map(line)).collect()
    }
}

/// Whether a symbol is of the function of std that calls `main` and the bodies of threads.
fn is_outermost(symbol: &str) -> bool {
    symbol.contains("__rust_begin_short_backtrace")
}
