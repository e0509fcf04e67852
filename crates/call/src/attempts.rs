//! [`Attempt`]: one of several sessions that try to reach the same goal, none of which sees the others.
use crate::stacked::StackedStage;
use haft_core::{Budget, Goal, Part, SessionId, Usage};
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// What one session is to try.
pub struct Attempt {
    /// Number of the attempt, counted from 1. The turn itself is number 1.
    pub number: u32,
    /// What it is to reach.
    pub goal: Goal,
    /// What it is told.
    pub prompt: Vec<Part>,
    /// What it changes is here.
    pub stage: Arc<StackedStage>,
    /// What it may spend, of what the turn may spend.
    pub budget: Budget,
    /// Ends it.
    pub stop: CancellationToken,
}

/// What came of an attempt.
#[derive(Debug)]
pub struct Attempted {
    /// The session in which it was made.
    pub session: SessionId,
    /// Whether its journal shows that the goal is reached.
    pub is_reached: bool,
    /// Why the goal is not reached: a sentence without its dot.
    pub why: String,
    /// Tokens that it took.
    pub usage: Usage,
    /// US dollars that it cost; `None` if a price is unknown.
    pub cost_usd: Option<f64>,
}
