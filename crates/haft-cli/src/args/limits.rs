//! What a turn may cost, and whether its reply is held against what happened.
use clap::Args;

/// Limits of a turn besides its rounds.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct LimitArgs {
    /// Maximum cost per turn in US dollars, including subagents; a lower limit in the configuration or profile wins
    #[arg(long, value_name = "USD", value_parser = dollars)]
    pub(crate) max_cost: Option<f64>,
    /// Maximum tokens per turn, input and output, including subagents; a lower limit in the configuration or profile wins
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) max_tokens: Option<u64>,
    /// Maximum seconds per turn; a lower limit in the configuration or profile wins
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) max_time: Option<u64>,
    /// Check claims in the reply against the journal; exit with 5 if one is unproven
    #[arg(long)]
    pub(crate) evidence: bool,
}

fn dollars(word: &str) -> Result<f64, &'static str> {
    let amount = word.trim_start_matches('$').parse().ok().filter(|usd: &f64| usd.is_finite() && *usd > 0.0);
    amount.ok_or("expected an amount of more than nothing in US dollars, e.g. 0.50")
}
