//! What a turn may cost, and whether its reply is held against what happened.
use clap::Args;

/// Limits of a turn besides its rounds.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct LimitArgs {
    /// At most so many US dollars in a turn, subagents included
    #[arg(long, value_name = "USD", value_parser = dollars)]
    pub(crate) max_cost: Option<f64>,
    /// At most so many tokens in a turn, read and written, subagents included
    #[arg(long, value_name = "N")]
    pub(crate) max_tokens: Option<u64>,
    /// At most so many seconds in a turn
    #[arg(long, value_name = "SECONDS")]
    pub(crate) max_time: Option<u64>,
    /// Hold what the reply claims against what happened
    #[arg(long)]
    pub(crate) evidence: bool,
}

fn dollars(word: &str) -> Result<f64, &'static str> {
    let amount = word.trim_start_matches('$').parse().ok().filter(|usd: &f64| usd.is_finite() && *usd >= 0.0);
    amount.ok_or("expected an amount in US dollars, e.g. 0.50")
}
