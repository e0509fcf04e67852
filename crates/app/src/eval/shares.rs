//! [`Shares`]: divides the budget of an evaluation between its runs. Each run gets a share when it begins.

/// Smallest share with which a model is asked, in US dollars.
const LEAST: f64 = 1e-6;

/// The remaining budget.
#[derive(Debug)]
pub(super) struct Shares {
    /// The rest in US dollars; `None` for no limit.
    left: Option<f64>,
    /// Maximum number of runs at the same time.
    jobs: usize,
    running: usize,
    /// Whether a run has reached its limit, so that no further run begins.
    is_spent: bool,
}

/// Cost limit of a run, in US dollars; `None` for no limit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Share(pub(super) Option<f64>);

impl Shares {
    pub(super) fn new(limit: Option<f64>, spent: f64, jobs: usize) -> Self {
        Self { left: limit.map(|limit| limit - spent), jobs, running: 0, is_spent: false }
    }

    /// The share of the next run: the budget that is not assigned, divided equally between the runs that may begin
    /// beside those under way. `None` if the budget is spent.
    pub(super) fn take(&mut self) -> Option<Share> {
        if self.is_spent {
            return None;
        }
        let free = self.jobs.saturating_sub(self.running).max(1);
        let share = self.left.map(|left| left / free as f64);
        if share.is_some_and(|share| share < LEAST) {
            self.is_spent = true;
            return None;
        }
        self.left = self.left.zip(share).map(|(left, share)| left - share);
        self.running += 1;
        Some(Share(share))
    }

    /// Records that a run has ended with the cost `spent`. `met_limit`: whether its share was not enough.
    pub(super) fn give_back(&mut self, share: Share, spent: f64, met_limit: bool) {
        self.running -= 1;
        self.is_spent |= met_limit;
        self.left = self.left.zip(share.0).map(|(left, share)| left + share - spent);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_never_add_up_to_more_than_the_budget() {
        let mut shares = Shares::new(Some(10.0), 2.0, 2);
        let (first, second) = (shares.take(), shares.take());
        assert_eq!((first, second), (Some(Share(Some(4.0))), Some(Share(Some(4.0)))));
        shares.give_back(Share(Some(4.0)), 1.0, false);
        assert_eq!(shares.take(), Some(Share(Some(3.0))));
        shares.give_back(Share(Some(4.0)), 4.0, true);
        assert_eq!(shares.take(), None, "a run met the limit");
        assert_eq!(Shares::new(Some(1.0), 1.0, 1).take(), None);
        assert_eq!(Shares::new(None, 5.0, 3).take(), Some(Share(None)));
    }
}
