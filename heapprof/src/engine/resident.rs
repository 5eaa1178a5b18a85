//! The gap between the program's live bytes and the memory that the operating system sees, as bands.
//!
//! ```text
//! live bytes │ ALLOCATOR_ROUNDING │ ALLOCATOR_UNUSED │ OUTSIDE_HEAP  = resident set size
//! ```
//! With jemalloc and the feature `resident`, rounding is what its blocks are larger than asked (size classes, tags), unused is
//! what it keeps resident beyond its blocks (fragmentation, dirty pages, its own metadata), and
//! outside is the rest of the process (code, thread stacks, the profiler's tables). Otherwise
//! there is one band for all of it. Pages that were asked for and never touched are live
//! but not resident: then the bands of the gap shrink to nothing, the top line is the live bytes,
//! and the chart says more than the resident set.

use super::os;

/// The bands of the gap above `live` bytes of the program and `own` bytes already shown.
pub(crate) fn bands(live: u64, own: u64) -> Vec<(&'static str, u64)> {
    let Some(resident) = os::resident_bytes() else {
        return Vec::new();
    };
    let shown = live + own;
    #[cfg(feature = "resident")]
    if let Some((allocated, heap_resident)) = jemalloc() {
        let steps = [
            ("ALLOCATOR_ROUNDING", allocated),
            ("ALLOCATOR_UNUSED", heap_resident),
            ("OUTSIDE_HEAP", resident),
        ];
        return stack_up(shown, &steps, resident);
    }
    stack_up(shown, &[("NOT_IN_BLOCKS", resident)], resident)
}

/// Bands that lift the top line from `from` to each level in turn, none above `most`.
fn stack_up(from: u64, levels: &[(&'static str, u64)], most: u64) -> Vec<(&'static str, u64)> {
    let mut top = from;
    let band = |&(name, level): &(&'static str, u64)| {
        let height = level.min(most).saturating_sub(top);
        top += height;
        (name, height)
    };
    levels.iter().map(band).collect()
}

/// What jemalloc has handed out and what it holds resident, in bytes; `None` when jemalloc serves
/// nobody here (the feature is on, but the program installed another inner allocator).
#[cfg(feature = "resident")]
fn jemalloc() -> Option<(u64, u64)> {
    use tikv_jemalloc_ctl::{epoch, stats};
    epoch::advance().ok()?;
    let allocated = stats::allocated::read().ok()? as u64;
    let resident = stats::resident::read().ok()? as u64;
    (allocated > 0).then_some((allocated, resident))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bands_reach_the_resident_set_and_never_exceed_it() {
        assert_eq!(stack_up(10, &[("a", 15), ("b", 12), ("c", 40)], 40), [("a", 5), ("b", 0), ("c", 25)]);
        assert_eq!(stack_up(10, &[("a", 50), ("c", 40)], 40), [("a", 30), ("c", 0)]);
        assert_eq!(stack_up(90, &[("a", 50), ("c", 40)], 40), [("a", 0), ("c", 0)]);
    }
}
