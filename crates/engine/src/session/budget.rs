//! [`TurnBudget`]: the budget that a session and its child sessions draw from.
use haft_core::{Budget, Fact, Price, Reached, Resource, Spending, Usage};
use std::{
    sync::{Arc, Mutex, MutexGuard},
    time::{Duration, Instant},
};

/// The spending of a turn, and the amounts reserved for running requests.
#[derive(Debug, Default)]
pub(crate) struct TurnBudget {
    state: Mutex<State>,
    /// The budget that this one is a part of, and the limits of that budget: spending counts in both.
    whole: Option<(Arc<TurnBudget>, Budget)>,
}

#[derive(Debug)]
struct State {
    spent: Spending,
    promised: Spending,
    since: Instant,
}

impl Default for State {
    fn default() -> Self {
        let (spent, promised) = Default::default();
        Self { spent, promised, since: Instant::now() }
    }
}

impl State {
    /// The amounts that are spent or reserved.
    fn gone(&self) -> Spending {
        let mut gone = self.spent;
        gone += self.promised;
        gone.seconds = self.since.elapsed().as_secs();
        gone
    }
}

impl TurnBudget {
    /// Creates a budget that is a part of `whole`, which has these limits.
    pub(crate) fn part_of(whole: Arc<Self>, limits: Budget) -> Self {
        Self { whole: Some((whole, limits)), ..Self::default() }
    }

    /// Opens the budget for a turn that begins, or continues after spending `spent`.
    pub(crate) fn open(&self, spent: Spending) {
        let mut state = self.lock();
        (state.spent, state.since) = (spent, Instant::now());
    }

    /// Reserves the maximum cost of a request: `prompt` tokens, and a reply of `wanted` tokens or fewer if less is
    /// left.
    pub(crate) fn reserve(
        self: &Arc<Self>,
        limits: &Budget,
        price: Option<Price>,
        prompt: u64,
        wanted: u64,
    ) -> Result<Reserved, Reached> {
        let whole = match &self.whole {
            Some((whole, all)) => {
                // At most what this part has, so that the other parts keep theirs.
                let wanted = limits.reply(&self.lock().gone(), price.as_ref(), prompt, wanted)?;
                Some(Box::new(whole.reserve(all, price, prompt, wanted)?))
            }
            None => None,
        };
        let wanted = whole.as_ref().map_or(wanted, |whole| whole.reply);
        let mut state = self.lock();
        let reply = limits.reply(&state.gone(), price.as_ref(), prompt, wanted)?;
        let promised = spending(price, Usage { input: prompt, output: reply, ..Usage::default() });
        state.promised += promised;
        drop(state);
        Ok(Reserved { budget: self.clone(), price, prompt, promised, reply, whole })
    }

    /// What the turn has cost so far.
    pub(crate) fn spent(&self) -> Spending {
        self.lock().spent
    }

    /// The remaining time of the turn; `None` if it is not limited.
    pub(crate) fn time_left(&self, limits: &Budget) -> Option<Duration> {
        let limit = Duration::from_secs(limits.seconds?);
        Some(limit.saturating_sub(self.lock().since.elapsed()))
    }

    /// The fact to record, if the time is up.
    pub(crate) fn out_of_time(&self, limits: &Budget) -> Option<Fact> {
        let over = self.time_left(limits).filter(Duration::is_zero);
        let limit = limits.seconds.unwrap_or_default() as f64;
        let spent = self.lock().since.elapsed().as_secs_f64();
        over.map(|_| reached(Reached { what: Resource::Seconds, spent, limit }))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no code panics while it holds the budget")
    }
}

/// The fact that records a reached limit.
pub(crate) fn reached(Reached { what, spent, limit }: Reached) -> Fact {
    Fact::BudgetReached { what, spent, limit }
}

pub(crate) fn spending(price: Option<Price>, usage: Usage) -> Spending {
    let usd = price.map(|price| price.cost(usage));
    Spending {
        requests: 1,
        usage,
        usd: usd.unwrap_or_default(),
        is_unpriced: usd.is_none(),
        ..Spending::default()
    }
}

/// The amount reserved for one request. Dropping it releases what was not spent.
pub(crate) struct Reserved {
    budget: Arc<TurnBudget>,
    price: Option<Price>,
    prompt: u64,
    promised: Spending,
    /// Maximum tokens of the reply.
    pub(crate) reply: u64,
    /// The reservation in the budget that this one is a part of.
    whole: Option<Box<Reserved>>,
}

impl Reserved {
    /// Records the cost of the request; if the server did not count, about `written` tokens in addition to the prompt.
    pub(crate) fn spend(mut self, usage: Usage, written: u64) {
        if let Some(whole) = self.whole.take() {
            whole.spend(usage, written);
        }
        let counted = usage.total() > 0;
        let guess = Usage { input: self.prompt, output: written, ..Usage::default() };
        let mut spent = spending(self.price, if counted || written == 0 { usage } else { guess });
        if !counted {
            (spent.uncounted, spent.usage) = (spent.usage.total(), Usage::default());
        }
        self.budget.lock().spent += spent;
    }
}

impl Reserved {
    /// Records the cost of a failed request: the server's count, with at least `written` tokens of the reply, or an
    /// estimate if it did not count. The reservation remains. Returns the usage.
    pub(crate) fn lose(&self, counted: Usage, written: u64) -> Usage {
        let guess = Usage { input: self.prompt, ..Usage::default() };
        let usage = if counted.total() > 0 { counted } else { guess };
        let usage = Usage { output: usage.output.max(written), ..usage };
        if let Some(whole) = &self.whole {
            whole.lose(counted, written);
        }
        self.budget.lock().spent += Spending { requests: 0, ..spending(self.price, usage) };
        usage
    }

    /// Whether the same request may be sent again.
    pub(crate) fn fits_again(&self, limits: &Budget) -> Result<(), Reached> {
        if let (Some(whole), Some((_, limits))) = (&self.whole, &self.budget.whole) {
            whole.fits_again(limits)?;
        }
        let state = self.budget.lock();
        let mut gone = state.spent;
        gone += state.promised.less(self.promised);
        gone.seconds = state.since.elapsed().as_secs();
        limits.fits(&gone, self.price.as_ref(), self.prompt, self.reply)
    }
}

impl Drop for Reserved {
    fn drop(&mut self) {
        let promised = &mut self.budget.lock().promised;
        *promised = promised.less(self.promised);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PRICE: Option<Price> = Some(Price { input: 1.0, output: 2.0, cache_read: None, cache_write: None });

    #[test]
    fn what_is_promised_to_one_is_not_there_for_another() {
        let (budget, limits) =
            (Arc::new(TurnBudget::default()), Budget { tokens: Some(10_000), ..Budget::default() });
        let first = budget.reserve(&limits, PRICE, 2_000, 4_000).unwrap();
        let second = budget.reserve(&limits, PRICE, 2_000, 4_000).unwrap();
        assert_eq!((first.reply, second.reply), (4_000, 2_000));
        assert_eq!(
            budget.reserve(&limits, PRICE, 100, 4_000).err().map(|reached| reached.what),
            Some(Resource::Tokens)
        );
        first.spend(Usage { input: 1_000, output: 500, ..Usage::default() }, 0);
        second.spend(Usage::default(), 1_000);
        let spent = budget.spent();
        assert_eq!(
            (spent.requests, spent.tokens(), spent.uncounted, spent.usage.output),
            (2, 4_500, 3_000, 500)
        );
        assert!((spent.usd - (1_000.0 + 1_000.0 + 2_000.0 + 2_000.0) / 1e6).abs() < 1e-12, "{spent:?}");
        // A request that failed costs nothing, and all that was promised is back.
        drop(budget.reserve(&limits, PRICE, 2_000, 2_000).unwrap());
        assert_eq!(budget.reserve(&limits, PRICE, 500, 9_000).unwrap().reply, 5_000);
        assert_eq!(budget.spent().cost_usd(), Some(spent.usd));
        budget.reserve(&limits, None, 1, 300).unwrap().spend(Usage { input: 1, ..Usage::default() }, 1);
        assert_eq!(budget.spent().cost_usd(), None);
    }
}
