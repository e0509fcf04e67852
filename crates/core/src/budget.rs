//! [`Budget`] and [`Spending`]: what work may cost, and what it has cost: model calls, tokens, money, time.
use crate::Usage;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::{fmt, ops::RangeInclusive};

/// Limits of a turn, including the agents that it delegates to. `None` for no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Budget {
    /// Requests to models, those for summaries included.
    pub requests: Option<u64>,
    /// Tokens read and written, cached ones included.
    pub tokens: Option<u64>,
    /// US dollars.
    #[serde(deserialize_with = "amount::optional")]
    pub usd: Option<f64>,
    /// Maximum seconds since the beginning of the turn.
    pub seconds: Option<u64>,
}

impl Budget {
    /// One of `count` equal shares of the budget that `spent` leaves. Time passes for all shares at once, so each has
    /// all of it.
    pub fn share(&self, spent: &Spending, count: u64) -> Self {
        let count = count.max(1);
        let part = |limit: Option<u64>, spent: u64| limit.map(|limit| limit.saturating_sub(spent) / count);
        Self {
            requests: part(self.requests, spent.requests),
            tokens: part(self.tokens, spent.tokens()),
            usd: self.usd.map(|limit| (limit - spent.usd).max(0.0) / count as f64),
            seconds: self.seconds,
        }
    }
}

/// What has been spent, or is about to be.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Spending {
    /// Requests to models.
    pub requests: u64,
    /// Tokens, as servers count them.
    pub usage: Usage,
    /// Tokens that no server counted, by estimate.
    pub uncounted: u64,
    /// US dollars, as far as prices are known.
    pub usd: f64,
    /// Whether the price of some of it is unknown.
    pub is_unpriced: bool,
    /// Since the beginning of the turn.
    pub seconds: u64,
}

/// Returns US dollars as people read them, with the digits that matter: `$12.00`, `$0.0042`.
pub fn dollars(cost: f64) -> String {
    if cost > 0.0 && cost < 0.1 { format!("${cost:.4}") } else { format!("${cost:.2}") }
}

/// US dollars for a million tokens.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Price {
    /// Input tokens that were not cached.
    #[serde(deserialize_with = "amount::of")]
    pub input: f64,
    /// Output tokens, thinking included.
    #[serde(deserialize_with = "amount::of")]
    pub output: f64,
    /// Input tokens read from the provider's cache (default: as `input`).
    #[serde(default, deserialize_with = "amount::optional")]
    pub cache_read: Option<f64>,
    /// Input tokens written to the provider's cache (default: as `input`).
    #[serde(default, deserialize_with = "amount::optional")]
    pub cache_write: Option<f64>,
}

/// Amounts of money as people write them: no limit holds what is not a number, or less than nothing.
pub mod amount {
    use serde::{Deserialize, Deserializer, de::Error};

    /// A finite number of at least 0.
    pub fn of<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
        let amount = f64::deserialize(from)?;
        match amount.is_finite() && amount >= 0.0 {
            true => Ok(amount),
            false => Err(D::Error::custom(format!("expected an amount of at least 0, found {amount}"))),
        }
    }

    /// As the function above, for an optional value.
    pub fn optional<'de, D: Deserializer<'de>>(from: D) -> Result<Option<f64>, D::Error> {
        match Option::<f64>::deserialize(from)? {
            None => Ok(None),
            Some(amount) => of(serde::de::value::F64Deserializer::new(amount)).map(Some),
        }
    }
}

/// What a budget limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Resource {
    /// Requests to models.
    Requests,
    /// Tokens.
    Tokens,
    /// US dollars.
    Usd,
    /// Seconds.
    Seconds,
}

impl fmt::Display for Resource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Requests => "requests",
            Self::Tokens => "tokens",
            Self::Usd => "US dollars",
            Self::Seconds => "seconds",
        })
    }
}

/// A limit that the next request would pass.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reached {
    /// The resource.
    pub what: Resource,
    /// What has been spent of it.
    pub spent: f64,
    /// What may be.
    pub limit: f64,
}

impl fmt::Display for Reached {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { what, spent, limit } = self;
        write!(f, "the budget of {limit} {what} is used up")?;
        // Time is spent by the request that the limit ends; of everything else a request is estimated before it is
        // made.
        if *what == Resource::Seconds {
            return Ok(());
        }
        let spent_rounded = (spent * 10_000.0).round() / 10_000.0;
        write!(f, ": {spent_rounded} spent")?;
        if spent < limit { write!(f, ", which leaves too little for the next request") } else { Ok(()) }
    }
}

impl Usage {
    /// Returns all tokens, read and written.
    pub fn total(&self) -> u64 {
        self.input + self.output + self.cache_read + self.cache_write
    }
}

impl Price {
    /// The price of a model on the user's own machine.
    pub const FREE: Self = Self { input: 0.0, output: 0.0, cache_read: None, cache_write: None };

    /// Returns what these tokens cost, in US dollars.
    pub fn cost(&self, usage: Usage) -> f64 {
        let of = |tokens: u64, price: f64| tokens as f64 * price / 1e6;
        of(usage.input, self.input)
            + of(usage.output, self.output)
            + of(usage.cache_read, self.cache_read.unwrap_or(self.input))
            + of(usage.cache_write, self.cache_write.unwrap_or(self.input))
    }

    /// Returns the most that a token of a prompt may cost.
    fn dearest_input(&self) -> f64 {
        self.input.max(self.cache_write.unwrap_or(self.input)) / 1e6
    }
}

impl Spending {
    /// All tokens.
    pub fn tokens(&self) -> u64 {
        self.usage.total() + self.uncounted
    }

    /// Without `other`, which is a part of it.
    pub fn less(self, other: Self) -> Self {
        let usage = Usage {
            input: self.usage.input - other.usage.input,
            output: self.usage.output - other.usage.output,
            cache_read: self.usage.cache_read - other.usage.cache_read,
            cache_write: self.usage.cache_write - other.usage.cache_write,
        };
        let (requests, uncounted) = (self.requests - other.requests, self.uncounted - other.uncounted);
        // Whether the rest has no price is not known; it is asked of what was spent only.
        Self { requests, usage, uncounted, usd: self.usd - other.usd, is_unpriced: false, ..self }
    }

    /// In US dollars; `None` if the price of some of it is unknown.
    pub fn cost_usd(&self) -> Option<f64> {
        (!self.is_unpriced).then_some(self.usd)
    }
}

impl std::ops::AddAssign for Spending {
    fn add_assign(&mut self, other: Self) {
        self.requests += other.requests;
        self.usage += other.usage;
        self.uncounted += other.uncounted;
        self.usd += other.usd;
        self.is_unpriced |= other.is_unpriced;
    }
}

/// A reply shorter than this is not worth its prompt.
const MIN_REPLY_TOKENS: u64 = 256;

impl Budget {
    /// Returns how many tokens a reply may have to a prompt of `prompt` tokens, `wanted` at most, where `spent` is gone
    /// or promised to others. Fails where less than a short reply is left.
    pub fn reply(
        &self,
        spent: &Spending,
        price: Option<&Price>,
        prompt: u64,
        wanted: u64,
    ) -> Result<u64, Reached> {
        self.between(spent, price, prompt, MIN_REPLY_TOKENS.min(wanted)..=wanted)
    }

    /// Fails if there is no room for a reply of `reply` tokens to such a prompt.
    pub fn fits(
        &self,
        spent: &Spending,
        price: Option<&Price>,
        prompt: u64,
        reply: u64,
    ) -> Result<(), Reached> {
        self.between(spent, price, prompt, reply..=reply).map(|_| ())
    }

    fn between(
        &self,
        spent: &Spending,
        price: Option<&Price>,
        prompt: u64,
        wanted: RangeInclusive<u64>,
    ) -> Result<u64, Reached> {
        self.over(spent)?;
        let (least, wanted) = wanted.into_inner();
        let by_tokens = self.tokens.map(|limit| limit.saturating_sub(spent.tokens()).saturating_sub(prompt));
        let by_money = self.usd.zip(price).map(|(limit, price)| affordable(limit - spent.usd, price, prompt));
        let reply = wanted.min(by_tokens.unwrap_or(wanted)).min(by_money.unwrap_or(wanted));
        match (reply < least, by_tokens.is_some_and(|tokens| tokens < least)) {
            (false, _) => Ok(reply),
            (true, true) => {
                Err(reached(Resource::Tokens, spent.tokens() as f64, self.tokens.unwrap_or_default() as f64))
            }
            (true, false) => Err(reached(Resource::Usd, spent.usd, self.usd.unwrap_or_default())),
        }
    }

    /// Fails if a limit has been passed.
    fn over(&self, spent: &Spending) -> Result<(), Reached> {
        let counts = [
            (Resource::Requests, spent.requests, self.requests),
            (Resource::Tokens, spent.tokens(), self.tokens),
            (Resource::Seconds, spent.seconds, self.seconds),
        ];
        for (what, spent, limit) in counts {
            if let Some(limit) = limit.filter(|limit| spent >= *limit) {
                return Err(reached(what, spent as f64, limit as f64));
            }
        }
        match self.usd {
            Some(limit) if spent.usd >= limit => Err(reached(Resource::Usd, spent.usd, limit)),
            _ => Ok(()),
        }
    }
}

fn affordable(usd: f64, price: &Price, prompt: u64) -> u64 {
    let left = usd - prompt as f64 * price.dearest_input();
    match left / (price.output / 1e6) {
        // A reply that costs nothing may be as long as it likes.
        tokens if tokens.is_nan() || tokens.is_infinite() => {
            if left < 0.0 {
                0
            } else {
                u64::MAX
            }
        }
        tokens => tokens.max(0.0) as u64,
    }
}

fn reached(what: Resource, spent: f64, limit: f64) -> Reached {
    Reached { what, spent, limit }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_amounts_are_not_told_as_nothing() {
        let table =
            [(0.0, "$0.00"), (0.001, "$0.0010"), (0.01234, "$0.0123"), (0.5, "$0.50"), (50.0, "$50.00")];
        for (usd, expected) in table {
            assert_eq!(dollars(usd), expected);
        }
    }
}
