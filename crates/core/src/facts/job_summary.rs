//! [`JobSummary`]: the status of a job, folded from its journal.
use crate::{Asking, Conclusion, Direction, Entry, Fact, JobSpec, JobStatus, SessionOpened, active_path};
use std::sync::Arc;

/// The state of a job according to its journal.
#[derive(Clone, Debug, PartialEq)]
pub struct JobSummary {
    /// The task of the job.
    pub order: JobSpec,
    /// The status of the job.
    pub status: JobStatus,
    /// Model replies so far.
    pub rounds: u32,
    /// Its current activity, or its result.
    pub progress: String,
    /// The conclusion, once there is one.
    pub conclusion: Option<Conclusion>,
}

impl JobSummary {
    /// Folds the entries of a session; `None` if it is not a job. `is_alive`: whether a process has the session open.
    pub fn of(entries: &[Arc<Entry>], is_alive: bool) -> Option<Self> {
        let order = SessionOpened::of(entries)?.order.as_ref()?;
        let mut fold = Fold::default();
        for entry in active_path(entries) {
            fold.apply(&entry.fact);
        }
        let Fold { rounds, mut progress, has_begun, is_undone, asking, mut conclusion } = fold;
        if conclusion.is_none() && is_undone {
            UNDONE.clone_into(&mut progress);
            let reason = UNDONE.to_owned();
            conclusion = Some(Conclusion { status: JobStatus::Cancelled, reason, evidence: Vec::new() });
        }
        let status = match &conclusion {
            Some(conclusion) => conclusion.status,
            None if !has_begun => JobStatus::Pending,
            None if is_alive && asking.is_empty() => JobStatus::Running,
            None => JobStatus::Waiting,
        };
        Some(Self { order: order.clone(), status, rounds, progress, conclusion })
    }
}

/// The progress of a job whose work the user has undone: it does not restart by itself.
const UNDONE: &str = "undone by a person; `haft jobs retry` begins again";

#[derive(Default)]
struct Fold {
    rounds: u32,
    progress: String,
    has_begun: bool,
    /// Whether the user has undone work since the last prompt or continuation.
    is_undone: bool,
    asking: Asking,
    conclusion: Option<Conclusion>,
}

impl Fold {
    fn is_completed(&self) -> bool {
        self.conclusion.as_ref().is_some_and(|conclusion| conclusion.status == JobStatus::Completed)
    }

    fn apply(&mut self, fact: &Fact) {
        self.asking.apply(fact);
        match fact {
            // A prompt after the completion does not change the status.
            Fact::Prompted { .. } | Fact::Continued if self.is_completed() => {}
            Fact::Prompted { .. } | Fact::Continued => {
                (self.has_begun, self.conclusion, self.progress) = (true, None, "thinking".into());
                self.is_undone = false;
            }
            Fact::Rewound { way, .. } => self.is_undone = *way == Direction::Undo,
            Fact::Replied { .. } => self.rounds += 1,
            Fact::ToolStarted { name, .. } => self.progress = format!("`{name}`"),
            Fact::ApprovalAsked { reason, .. } => self.progress.clone_from(reason),
            Fact::QuestionAsked { question, .. } => self.progress.clone_from(&question.text),
            Fact::ToolEnded { .. } => self.progress = "thinking".into(),
            Fact::ModelFailed { message, .. } | Fact::PromptDenied { reason: message, .. } => {
                self.progress.clone_from(message);
            }
            Fact::JobFinished(conclusion) => {
                self.progress.clone_from(&conclusion.reason);
                self.conclusion = Some(conclusion.clone());
            }
            _ => {}
        }
    }
}
