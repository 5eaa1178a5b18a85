//! Choices that a profile's settings offer.

/// What a band of the `.hp` file stands for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub enum Breakdown {
    /// One band per cost-centre stack (GHC's `-hc`).
    #[default]
    Stack,
    /// One band per cost centre: all stacks whose top it is.
    Centre,
    /// One band per module of the top cost centre (GHC's `-hm`).
    Module,
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
