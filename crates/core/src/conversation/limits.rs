//! [`Limits`]: limits at which the engine ends a turn.
use crate::Budget;
use serde::{Deserialize, Serialize};

/// Limits of a turn, and related settings.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Limits {
    /// Model calls per turn; none or 0 for no limit.
    pub max_rounds: Option<u32>,
    /// The same for a turn of a job, which no user can continue.
    pub job_rounds: Option<u32>,
    /// What happens when the limit on model calls is reached.
    pub on_cap: OnCap,
    /// Number of rounds with the same calls and the same results, or of repetitions of the same few rounds, that end
    /// the turn; ten times as many if the results change. The model is warned after half of them.
    pub max_repeats: usize,
    /// Maximum seconds of a call, for all tools; 0 for no limit. Time for approvals does not count. Commands and tests
    /// have timeouts of their own, and calls that wait for the user or another agent are not stopped.
    pub call_seconds: u64,
    /// When the agent has finished.
    pub completion: Completion,
    /// The budget of a turn, including the agents that it delegates to.
    pub budget: Budget,
    /// Whether the claims of a reply are checked against the journal: unproven claims cause one reminder, and then the
    /// outcome [`crate::Outcome::Unproven`].
    pub evidence: bool,
    /// The command line that proves the work, such as `make check`; if it is not set, any run of tests does.
    pub check: Option<String>,
    /// Whether a turn sleeps until the vendor's limit is reset, if no model can answer and the vendor names the time of
    /// the reset.
    pub waits: bool,
    /// Maximum seconds of such a sleep; 0 for never.
    pub max_wait: u64,
}

impl Default for Limits {
    /// 200 rounds, 1,000 in a job; 6 repeats, so that an identical call ends a turn before the 8th and two alternating
    /// ones before the 16th; ten minutes for a call, and six hours for a wait.
    fn default() -> Self {
        Self {
            max_rounds: Some(200),
            job_rounds: Some(1_000),
            on_cap: OnCap::Stop,
            max_repeats: 6,
            call_seconds: 600,
            completion: Completion::NoCalls,
            budget: Budget::default(),
            evidence: false,
            check: None,
            waits: false,
            max_wait: 6 * 60 * 60,
        }
    }
}

fn go_on() -> String {
    "Continue with next steps.".into()
}

/// What happens when the limit on rounds is reached. The outcome is [`crate::Outcome::RoundLimit`] in any case.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnCap {
    /// The turn ends.
    #[default]
    Stop,
    /// This text becomes the last reply.
    Apologize(String),
}

/// When the agent has finished.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Completion {
    /// When a reply holds no calls.
    #[default]
    NoCalls,
    /// When a reply without calls holds the phrase, in any case, or after this many replies in a row without calls.
    PhraseOrIdle {
        /// E.g. "task complete".
        phrase: String,
        /// Number of consecutive replies without calls.
        idle_rounds: u32,
        /// The text for the model after such a reply, if it is asked again.
        #[serde(default = "go_on")]
        go_on: String,
    },
}
