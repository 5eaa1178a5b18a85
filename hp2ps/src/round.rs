//! Round numbers for the ticks of axes that are made for reading.

/// More ticks than any axis gets; an end to loops that rounding might keep going.
const MOST_TICKS: usize = 200;

/// The multiples of `step` from `low` to `high`, an end counting as reached within a billionth of a step.
///
/// ```
/// assert!(hp2ps::round::multiples(0.5, 0.3, 2.0).eq([0.5, 1.0, 1.5, 2.0]));
/// ```
pub fn multiples(step: f64, low: f64, high: f64) -> impl Iterator<Item = f64> {
    let first = (low / step - 1e-9).ceil();
    // Not `-0`.
    let multiple = move |at: usize| (first + at as f64) * step + 0.0;
    (0..MOST_TICKS).map(multiple).take_while(move |&value| value <= high + step * 1e-9)
}

/// How many decimals tell multiples of `step` apart.
///
/// ```
/// assert_eq!([5.0, 0.5, 0.02, 2e6].map(hp2ps::round::digits_of), [0, 1, 2, 0]);
/// ```
pub fn digits_of(step: f64) -> usize {
    const MOST: usize = 12;
    let rounded = |digits: &usize| {
        let text = format!("{step:.digits$}");
        text.parse().is_ok_and(|value: f64| (value - step).abs() <= step * 1e-6)
    };
    (0..MOST).find(rounded).unwrap_or(MOST)
}
