//! [`Limits`]: when the engine ends a turn that does not end by itself.
use crate::Budget;
use serde::{Deserialize, Serialize};

/// When a turn ends that does not end by itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Limits {
    /// Model calls per turn; none or 0 for no limit.
    pub max_rounds: Option<u32>,
    /// The same for a turn of a job, which no person can let continue.
    pub job_rounds: Option<u32>,
    /// What happens then.
    pub on_cap: OnCap,
    /// This many rounds with the same calls and the same results, or repetitions of the same few rounds in turn, end
    /// the turn; if the results change, ten times as many. The model is warned after half of them.
    pub max_repeats: usize,
    /// Seconds that a call may take, whichever tool it is of; 0 for no limit. Approvals do not count. Commands and tests
    /// have limits of their own, and who waits for a person or another agent is not stopped.
    pub call_seconds: u64,
    /// What counts as done.
    pub completion: Completion,
    /// What a turn may cost, with the agents that it delegates to.
    pub budget: Budget,
    /// Whether what the reply claims is held against what happened: a claim that nothing shows is answered once, and
    /// then the outcome is [`crate::Outcome::Unproven`].
    pub evidence: bool,
    /// The command line that shows that the work is well, such as `make check`; if it is not set, any run of tests does.
    pub check: Option<String>,
    /// Whether a turn sleeps until the vendor's limit is reset, where no model can answer and the vendor names that time.
    pub waits: bool,
    /// Maximum seconds that a turn sleeps so; 0 for never.
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

/// What happens at the cap on rounds. The outcome is [`crate::Outcome::RoundLimit`] in any case.
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
        /// Replies without calls, in a row.
        idle_rounds: u32,
        /// What the model reads after such a reply, if it is asked once more.
        #[serde(default = "go_on")]
        go_on: String,
    },
}
