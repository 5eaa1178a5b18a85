//! Choices that a profile's settings offer.

/// What a band of an `.hp` file stands for.
///
/// Bands by call site, call stack, description and type need no cost centres; they need the feature
/// `symbols`. All breakdowns of a run agree on the total in every sample.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
#[non_exhaustive]
pub enum Breakdown {
    /// `c`, one band per cost-centre stack (GHC's `-hc`).
    #[default]
    Stack,
    /// One band per cost centre: all stacks whose top it is.
    Centre,
    /// `m`, one band per module: of the top cost centre (GHC's `-hm`), and of the function that asked
    /// for the memory where no centre was entered.
    Module,
    /// `a`, one band per call-site arc: the function that asked for the memory, and the place in the
    /// function that called it.
    Arc,
    /// `s`, one band per call stack.
    CallStack,
    /// `d`, one band per allocating operation, as `Vec::push` (the place of GHC's `-hd`).
    Description,
    /// `y`, one band per type of what was allocated, as `Vec<u64>` (GHC's `-hy`).
    Type,
    /// `t`, one band per name of the thread that asked.
    Thread,
    /// `z`, one band per size class: powers of two.
    Size,
    /// `b`, one band per interval in which blocks were allocated.
    Birth,
}

impl Breakdown {
    /// Every breakdown, with its letter if it has one, and its name.
    const NAMES: [(Self, &'static str, &'static str); 10] = [
        (Self::Stack, "c", "stack"),
        (Self::Centre, "", "centre"),
        (Self::Module, "m", "module"),
        (Self::Arc, "a", "arc"),
        (Self::CallStack, "s", "callstack"),
        (Self::Description, "d", "description"),
        (Self::Type, "y", "type"),
        (Self::Thread, "t", "thread"),
        (Self::Size, "z", "size"),
        (Self::Birth, "b", "birth"),
    ];

    /// The name by which `HEAPPROF_BREAKDOWN` knows it, and which its file has: `app.type.hp`.
    ///
    /// ```
    /// assert_eq!(heapprof::Breakdown::CallStack.name(), "callstack");
    /// ```
    pub fn name(self) -> &'static str {
        let known = Self::NAMES.iter().find(|(breakdown, ..)| *breakdown == self);
        known.map_or("stack", |(.., name)| name)
    }

    /// The breakdown of a letter or name.
    #[cfg_attr(any(feature = "disabled", not(target_os = "linux")), allow(dead_code, reason = "as Kind"))]
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let text = if text == "center" { "centre" } else { text };
        let is_meant =
            |(_, letter, name): &&(Self, &str, &str)| text == *name || !text.is_empty() && text == *letter;
        Self::NAMES.iter().find(is_meant).map(|(breakdown, ..)| *breakdown)
    }
}

/// What the times in the `.hp` file count.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub enum Clock {
    /// Seconds since the start of the profile.
    #[default]
    Elapsed,
    /// CPU seconds of the process since the start of the profile, as GHC counts.
    Cpu,
}

/// Who takes the samples.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub enum Sampler {
    /// A thread of the profiler's own; it also keeps the time profile.
    #[default]
    Thread,
    /// The program's threads, as they allocate: for programs that must stay single-threaded. Samples
    /// come no sooner than the next allocations (the clock is read every 64 KiB or 256 blocks), and every
    /// allocation takes the slower path.
    Inline,
}
