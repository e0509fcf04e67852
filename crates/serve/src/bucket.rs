//! [`Bucket`]: a token bucket that limits a rate: a burst, and an amount per second.
use std::time::Instant;

/// Holds the amount that is left.
pub(crate) struct Bucket {
    most: f64,
    a_second: f64,
    left: f64,
    since: Option<Instant>,
}

impl Bucket {
    pub(crate) fn full(most: f64, a_second: f64) -> Self {
        Self { most, a_second, left: most, since: None }
    }

    /// Takes one unit from the bucket. Returns false if the bucket is empty.
    pub(crate) fn take(&mut self, now: Instant) -> bool {
        let passed = self.since.map_or(0.0, |since| now.saturating_duration_since(since).as_secs_f64());
        self.since = Some(now);
        self.left = (self.left + passed * self.a_second).min(self.most);
        let is_there = self.left >= 1.0;
        self.left -= f64::from(u8::from(is_there));
        is_there
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn what_was_taken_comes_back_with_time() {
        let (mut bucket, begin) = (Bucket::full(2.0, 1.0), Instant::now());
        let takes = [(0.0, true), (0.0, true), (0.0, false), (0.5, false), (1.0, true), (1.0, false)];
        let later = [(100.0, true), (100.0, true), (100.0, false)];
        for (after, expected) in takes.into_iter().chain(later) {
            assert_eq!(bucket.take(begin + Duration::from_secs_f64(after)), expected, "{after}");
        }
    }
}
