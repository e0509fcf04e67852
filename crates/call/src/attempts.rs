//! [`Attempt`]: one of several sessions that try to reach the same goal independently.
use crate::stacked::StackedStage;
use haft_core::{Budget, Goal, Part, SessionId, Usage};
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// The task of one attempt.
pub struct Attempt {
    /// Number of the attempt, counted from 1. The turn itself is number 1.
    pub number: u32,
    /// The goal to reach.
    pub goal: Goal,
    /// The prompt of the attempt.
    pub prompt: Vec<Part>,
    /// The stage with the changes of the attempt.
    pub stage: Arc<StackedStage>,
    /// The attempt's part of the turn's budget.
    pub budget: Budget,
    /// Ends the attempt.
    pub stop: CancellationToken,
}

/// The result of an attempt.
#[derive(Debug)]
pub struct Attempted {
    /// The session in which it was made.
    pub session: SessionId,
    /// Whether its journal shows that the goal is reached.
    pub is_reached: bool,
    /// Why the goal is not reached: a sentence without its full stop.
    pub why: String,
    /// Tokens that it took.
    pub usage: Usage,
    /// US dollars that it cost; `None` if a price is unknown.
    pub cost_usd: Option<f64>,
}
