//! Medians, spreads and means of ratios.

/// A ratio to the plain run: the median of its pairs and how far they lie apart.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Ratio {
    pub(crate) median: f64,
    pub(crate) least: f64,
    pub(crate) most: f64,
}

impl Ratio {
    /// Of at least one pair's ratio.
    pub(crate) fn of(mut ratios: Vec<f64>) -> Self {
        let median = median(&mut ratios);
        Self { median, least: ratios[0], most: ratios[ratios.len() - 1] }
    }

    /// `1.12 (1.08–1.15)`; large ratios with fewer places, since their noise is larger too.
    pub(crate) fn cell(self) -> String {
        if self.least == self.most {
            return places(self.median);
        }
        format!("{} ({}–{})", places(self.median), places(self.least), places(self.most))
    }
}

/// A ratio with as many places as it bears.
pub(crate) fn places(ratio: f64) -> String {
    let decimals = if ratio < 3.0 { 2 } else { 1 };
    format!("{ratio:.decimals$}")
}

/// Sorts the values and returns the middle one, or the mean of the two middle ones.
pub(crate) fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    if values.len() % 2 == 1 { values[middle] } else { (values[middle - 1] + values[middle]) / 2.0 }
}

/// The geometric mean: the only one for which a ratio and its inverse cancel.
pub(crate) fn geometric_mean(values: &[f64]) -> f64 {
    (values.iter().map(|value| value.ln()).sum::<f64>() / values.len() as f64).exp()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_of_an_even_number_lies_between_the_middle_two() {
        assert_eq!(median(&mut [4.0, 1.0, 3.0, 2.0]), 2.5);
        assert_eq!(median(&mut [9.0, 1.0, 3.0]), 3.0);
    }

    #[test]
    fn a_ratio_and_its_inverse_cancel_in_the_mean() {
        assert!((geometric_mean(&[4.0, 0.25]) - 1.0).abs() < 1e-12);
    }

    #[test]
    fn a_cell_names_median_least_and_most() {
        assert_eq!(Ratio::of(vec![1.2, 1.0, 1.1]).cell(), "1.10 (1.00–1.20)");
        assert_eq!(Ratio::of(vec![36.96]).cell(), "37.0");
    }
}
