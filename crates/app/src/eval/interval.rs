//! [`Interval`]: how precisely a count of solved tasks measures a model.
use serde::{Deserialize, Serialize};

/// The 97.5 % quantile of the normal distribution: 95 % of values are between its negative and this.
const Z: f64 = 1.959_963_984_540_054;

/// A 95 % confidence interval for the share of tasks that a model solves, from 0 to 1.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

impl Interval {
    /// The interval for `solved` successes in `of` independent attempts, by Wilson's score (1927). It stays between 0
    /// and 1, and is valid for few attempts and for shares near 0 and 1, where the usual approximation is not. Without
    /// an attempt, it is 0 to 1.
    #[must_use]
    pub fn of(solved: usize, of: usize) -> Self {
        if of == 0 {
            return Self { low: 0.0, high: 1.0 };
        }
        let (share, tries) = (solved as f64 / of as f64, of as f64);
        let scale = 1.0 + Z * Z / tries;
        let center = share + Z * Z / (2.0 * tries);
        let spread = Z * (share * (1.0 - share) / tries + Z * Z / (4.0 * tries * tries)).sqrt();
        Self { low: ((center - spread) / scale).max(0.0), high: ((center + spread) / scale).min(1.0) }
    }

    /// Whether the intervals may belong to the same share.
    #[must_use]
    pub fn overlaps(&self, other: &Self) -> bool {
        self.low <= other.high && other.low <= self.high
    }

    /// Whether the whole interval is below `other`.
    #[must_use]
    pub fn is_below(&self, other: &Self) -> bool {
        self.high < other.low
    }
}

/// The median: the middle value, or the mean of the two middle values; `None` without values.
pub(super) fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match (values.len(), values.len() % 2) {
        (0, _) => None,
        (_, 1) => Some(values[middle]),
        _ => Some(f64::midpoint(values[middle - 1], values[middle])),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fastrand::Rng;

    #[test]
    fn intervals_are_those_of_the_literature() {
        // Newcombe 1998 (Statistics in Medicine 17, 857-872), table I, method 3, and extreme cases.
        let table = [
            ((81, 263), (0.2553, 0.3662)),
            ((15, 148), (0.0624, 0.1605)),
            ((0, 20), (0.0, 0.1611)),
            ((1, 29), (0.0061, 0.1718)),
            ((20, 20), (0.8389, 1.0)),
            ((0, 0), (0.0, 1.0)),
        ];
        for ((solved, of), (low, high)) in table {
            let found = Interval::of(solved, of);
            assert!(
                (found.low - low).abs() < 5e-5 && (found.high - high).abs() < 5e-5,
                "{solved}/{of}: {found:?}"
            );
        }
    }

    #[test]
    fn a_median_is_in_the_middle() {
        let table = [
            (vec![], None),
            (vec![3.0], Some(3.0)),
            (vec![4.0, 1.0], Some(2.5)),
            (vec![9.0, 1.0, 2.0], Some(2.0)),
        ];
        for (values, expected) in table {
            assert_eq!(median(values.clone()), expected, "{values:?}");
        }
    }

    /// 200 simulated evaluations of three models whose true shares are known.
    #[test]
    fn intervals_hold_the_true_share_and_models_apart_are_ranked_right() {
        let (mut random, shares, mut held, mut apart) = (Rng::with_seed(1_927), [0.9, 0.6, 0.3], 0, 0);
        for _ in 0..200 {
            let tasks = random.usize(10..60);
            let found =
                shares.map(|share| Interval::of((0..tasks).filter(|_| random.f64() < share).count(), tasks));
            held += shares
                .iter()
                .zip(&found)
                .filter(|(share, at)| at.low <= **share && **share <= at.high)
                .count();
            for (better, worse) in [(0, 1), (1, 2), (0, 2)] {
                assert!(!found[better].is_below(&found[worse]), "{tasks} tasks: {found:?}");
                apart += usize::from(found[worse].is_below(&found[better]));
            }
        }
        // 95 % of 600, minus three standard deviations. Also, some pairs must be decided.
        assert!(held >= 554 && apart > 200, "{held} of 600 hold it, {apart} of 600 pairs are apart");
    }
}
