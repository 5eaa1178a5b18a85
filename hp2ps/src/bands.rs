//! Which bands are drawn, and in which order. Every list runs from the bottom of the chart to its top.

use std::cmp::{Ordering, Reverse};
use std::collections::{BinaryHeap, HashSet};

use crate::census::{Census, Total};
use crate::names::Names;

/// A band's area: 64 bits as in GHC's tool, whose order of ties and of sums beyond 2^63 depends on it, or a double.
pub(crate) trait Area: PartialOrd + Copy {
    fn as_f64(self) -> f64;
}

impl Area for i64 {
    fn as_f64(self) -> f64 {
        self as f64
    }
}

impl Area for f64 {
    fn as_f64(self) -> f64 {
        self
    }
}

/// The trace elements, and the bands that stay without them, smallest area first.
///
/// The rows of an unfinished last sample count toward the areas as in GHC's tool, so that a page it
/// draws stays the same. It refuses to draw when a band that stays has such a row, and when the file ends inside
/// an item; then they are left out.
pub(crate) fn apart_from_trace<A: Area>(
    census: &Census,
    threshold_percent: f64,
    area: impl Fn(&Total) -> A,
) -> (Vec<usize>, Vec<usize>) {
    let mut with_unfinished = census.totals.clone();
    for &(band, value) in &census.unfinished {
        with_unfinished[band].add(value);
    }
    let order = initial_order(&census.names);
    let (trace, kept) = split_trace(order.clone(), threshold_percent, |band| area(&with_unfinished[band]));
    let mut stays = vec![false; census.names.len()];
    kept.iter().for_each(|&band| stays[band] = true);
    let refused = census.cut.is_some_and(|cut| cut.inside_item);
    if !refused && !census.unfinished.iter().any(|&(band, _)| stays[band]) {
        return (trace, kept);
    }
    let complete = order.into_iter().filter(|&band| census.totals[band].rows > 0).collect();
    split_trace(complete, threshold_percent, |band| area(&census.totals[band]))
}

/// Sorts by area and splits off bands from the bottom while together they hold less than the threshold. If all
/// areas are zero every band is a trace element.
fn split_trace<A: Area>(
    order: Vec<usize>,
    threshold_percent: f64,
    area: impl Fn(usize) -> A,
) -> (Vec<usize>, Vec<usize>) {
    let mut order = sort_by_key(order, &area);
    let grand: f64 = order.iter().map(|&band| area(band).as_f64()).sum();
    let mut percent = 0.0;
    let first_kept = order.iter().position(|&band| {
        percent += (100.0 * area(band).as_f64()) / grand;
        percent >= threshold_percent
    });
    let kept = order.split_off(first_kept.unwrap_or(order.len()));
    (order, kept)
}

/// The order in which GHC's tool first lists names: by hash chain, and newest first within a chain. It
/// decides ties in the sorts that follow.
fn initial_order(names: &Names) -> Vec<usize> {
    let mut order: Vec<usize> = (0..names.len()).collect();
    order.sort_by_cached_key(|&band| (hash_chain(&names[band]), Reverse(band)));
    order
}

fn hash_chain(name: &[u8]) -> u32 {
    const CHAINS: u32 = 513;
    let signed = |byte: u8| i32::from(byte.cast_signed());
    let step = |hash: i32, &byte: &u8| hash.wrapping_mul(3).wrapping_add(signed(byte));
    name.iter().fold(0, step).unsigned_abs() % CHAINS
}

/// Sorts as [`selection_order`] does.
pub(crate) fn sort_by_key<K: PartialOrd>(order: Vec<usize>, key: impl Fn(usize) -> K) -> Vec<usize> {
    let keys: Vec<K> = order.iter().map(|&band| key(band)).collect();
    selection_order(&keys).into_iter().map(|at| order[at]).collect()
}

/// How many bands are drawn, and which.
pub(crate) struct Limit<'a> {
    /// The most bands, OTHER among them; 0 for any number.
    pub(crate) most: usize,
    /// All bands, smallest area first, if the largest stay by themselves; else the topmost do.
    pub(crate) by_area: Option<&'a [usize]>,
}

impl Limit<'_> {
    /// Splits `order` into the bands that share OTHER, among them those of `folded` anyway, and those drawn by
    /// themselves. Returns (pooled, drawn).
    pub(crate) fn split(&self, order: Vec<usize>, folded: Vec<usize>) -> (Vec<usize>, Vec<usize>) {
        let bands = order.len() + usize::from(!folded.is_empty());
        if self.most == 0 || bands <= self.most {
            return (folded, order);
        }
        let pooled_count = order.len() - (self.most - 1);
        let smallest = &self.by_area.unwrap_or(&order)[..pooled_count];
        let pool: HashSet<usize> = smallest.iter().copied().collect();
        let (pooled, drawn) = order.into_iter().partition::<Vec<_>, _>(|band| pool.contains(band));
        (folded.into_iter().chain(pooled).collect(), drawn)
    }
}

/// The permutation that a selection sort makes of `keys`: in each step the first of the least remaining keys
/// changes places with the first remaining one. It is not stable, and GHC's order of ties follows from those
/// swaps. A key that is not comparable with itself (a NaN) is never less than another nor greater: it stays.
///
/// A heap of (key, place) finds each least key, a swapped element is entered again with its new place, and
/// entries whose element has moved on are skipped: O(n log n) where the plain sort is quadratic.
fn selection_order<K: PartialOrd>(keys: &[K]) -> Vec<usize> {
    let comparable = |element: usize| keys[element].partial_cmp(&keys[element]).is_some();
    let mut order: Vec<usize> = (0..keys.len()).collect();
    let entry = |place: usize, element: usize| Reverse(Entry { key: &keys[element], place, element });
    let mut heap: BinaryHeap<_> =
        (0..keys.len()).filter(|&at| comparable(at)).map(|at| entry(at, at)).collect();
    for place in 0..keys.len() {
        let displaced = order[place];
        if !comparable(displaced) {
            continue;
        }
        while let Some(Reverse(least)) = heap.pop() {
            if least.place >= place && order[least.place] == least.element {
                order.swap(place, least.place);
                heap.push(entry(least.place, displaced));
                break;
            }
        }
    }
    order
}

struct Entry<'a, K> {
    key: &'a K,
    place: usize,
    element: usize,
}

impl<K: PartialOrd> Ord for Entry<'_, K> {
    fn cmp(&self, other: &Self) -> Ordering {
        let by_key = self.key.partial_cmp(other.key).unwrap_or(Ordering::Equal);
        by_key.then(self.place.cmp(&other.place))
    }
}

impl<K: PartialOrd> PartialOrd for Entry<'_, K> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<K: PartialOrd> PartialEq for Entry<'_, K> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl<K: PartialOrd> Eq for Entry<'_, K> {}

#[cfg(test)]
mod tests {
    use super::*;

    /// The sort as the rule states it.
    fn naive(keys: &[f64]) -> Vec<usize> {
        let mut order: Vec<usize> = (0..keys.len()).collect();
        for place in 0..keys.len() {
            let mut least = place;
            for at in place + 1..keys.len() {
                if keys[order[at]] < keys[order[least]] {
                    least = at;
                }
            }
            order.swap(place, least);
        }
        order
    }

    #[test]
    fn heap_sort_makes_the_swaps_of_the_selection_sort() {
        let mut seed = 88_172_645_463_325_252_u64;
        let mut random = |below: u64| {
            seed ^= seed << 13;
            seed ^= seed >> 7;
            seed ^= seed << 17;
            seed % below
        };
        for _ in 0..20_000 {
            let length = random(14) as usize;
            let kinds = random(6) + 1;
            let keys: Vec<f64> = (0..length)
                .map(|_| match random(kinds) {
                    5 => f64::NAN,
                    4 => f64::INFINITY,
                    key => key as f64,
                })
                .collect();
            assert_eq!(selection_order(&keys), naive(&keys), "{keys:?}");
        }
    }

    #[test]
    fn limit_leaves_exactly_so_many_bands() {
        for (bands, folded, most) in [
            (0, 0, 3),
            (3, 0, 3),
            (4, 0, 3),
            (9, 0, 1),
            (5, 0, 20),
            (7, 0, 0),
            (3, 2, 3),
            (2, 2, 3),
            (4, 1, 1),
            (0, 4, 2),
        ] {
            let folded: Vec<usize> = (100..100 + folded).collect();
            let limit = Limit { most, by_area: None };
            let (pooled, drawn) = limit.split((0..bands).collect(), folded.clone());
            let all = bands + usize::from(!folded.is_empty());
            let expected = if most == 0 { all } else { all.min(most) };
            assert_eq!(drawn.len() + usize::from(!pooled.is_empty()), expected);
            assert!(pooled.iter().chain(&drawn).copied().eq(folded.into_iter().chain(0..bands)));
        }
    }

    #[test]
    fn a_limit_by_area_keeps_the_largest_in_their_order() {
        let limit = Limit { most: 3, by_area: Some(&[7, 5, 1, 3]) };
        assert_eq!(limit.split(vec![3, 5, 1, 7], Vec::new()), (vec![5, 7], vec![3, 1]));
    }
}
