//! [`Standing`]: the status of a job, folded from its journal.
use crate::{Asking, Conclusion, Entry, Fact, JobStatus, Order, SessionOpened, active_path};
use std::sync::Arc;

/// A job as its journal tells it.
#[derive(Clone, Debug, PartialEq)]
pub struct Standing {
    /// What it is to do.
    pub order: Order,
    /// How it stands.
    pub status: JobStatus,
    /// Model replies so far.
    pub rounds: u32,
    /// What it is doing, or what it came to.
    pub progress: String,
    /// Where there is one.
    pub conclusion: Option<Conclusion>,
}

impl Standing {
    /// Folds the entries of a session; `None` where it is not a job. `is_alive`: a process has it open.
    pub fn of(entries: &[Arc<Entry>], is_alive: bool) -> Option<Self> {
        let order = SessionOpened::of(entries)?.order.as_ref()?;
        let mut fold = Fold::default();
        for entry in active_path(entries) {
            fold.apply(&entry.fact);
        }
        let Fold { rounds, progress, has_begun, asking, conclusion } = fold;
        let status = match &conclusion {
            Some(conclusion) => conclusion.status,
            None if !has_begun => JobStatus::Pending,
            None if is_alive && asking.is_empty() => JobStatus::Running,
            None => JobStatus::Waiting,
        };
        Some(Self { order: order.clone(), status, rounds, progress, conclusion })
    }
}

#[derive(Default)]
struct Fold {
    rounds: u32,
    progress: String,
    has_begun: bool,
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
            // Talking about what is done does not undo it.
            Fact::Prompted { .. } | Fact::Continued if self.is_completed() => {}
            Fact::Prompted { .. } | Fact::Continued => {
                (self.has_begun, self.conclusion, self.progress) = (true, None, "thinking".into());
            }
            Fact::Replied { .. } => self.rounds += 1,
            Fact::ToolStarted { name, .. } => self.progress = format!("`{name}`"),
            Fact::ApprovalAsked { reason, .. } => self.progress.clone_from(reason),
            Fact::QuestionAsked { question, .. } => self.progress.clone_from(&question.text),
            Fact::ToolEnded { .. } => self.progress = "thinking".into(),
            Fact::ModelFailed { message, .. } | Fact::PromptDenied { reason: message, .. } => {
                self.progress.clone_from(message);
            }
            Fact::Concluded(conclusion) => {
                self.progress.clone_from(&conclusion.reason);
                self.conclusion = Some(conclusion.clone());
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{CallId, Part, Seq, SessionId, StopReason, Usage, event::JOURNAL_VERSION};

    fn standing(facts: Vec<Fact>, is_alive: bool) -> (JobStatus, u32, String) {
        let order = Order {
            kind: "builder".into(),
            job_type: "build".into(),
            description: "x".into(),
            origin: "/w".into(),
            branch: None,
            start: None,
            debug: false,
        };
        let opened = Fact::SessionOpened(SessionOpened {
            version: JOURNAL_VERSION,
            session: SessionId("s".into()),
            agent: "builder".into(),
            model: "m".into(),
            workspace: "/w".into(),
            profile: "default".into(),
            delegated_by: None,
            forked_from: None,
            order: Some(order),
        });
        let facts = std::iter::once(opened).chain(facts).zip(0..);
        let entries: Vec<_> =
            facts.map(|(fact, seq)| Arc::new(Entry { seq: Seq(seq), parent: None, at: 0, fact })).collect();
        let Standing { status, rounds, progress, .. } = Standing::of(&entries, is_alive).unwrap();
        (status, rounds, progress)
    }

    // P-46, P-49, P-50
    #[test]
    fn the_journal_tells_how_a_job_stands() {
        let prompted = || Fact::Prompted { parts: vec![Part::text("x")], channel: None };
        let replied = || Fact::Replied { parts: vec![], usage: Usage::default(), stop: StopReason::EndTurn };
        let asked = || Fact::ApprovalAsked {
            call: CallId("1".into()),
            reason: "`git push` needs approval".into(),
            effects: vec![],
            changes: vec![],
            bulk: vec![],
            runs: None,
        };
        let concluded =
            |status| Fact::Concluded(Conclusion { status, reason: "so".into(), evidence: vec![] });
        let table = [
            (vec![], false, JobStatus::Pending, 0, ""),
            (vec![prompted(), replied()], true, JobStatus::Running, 1, "thinking"),
            (vec![prompted(), replied()], false, JobStatus::Waiting, 1, "thinking"),
            (vec![prompted(), asked()], true, JobStatus::Waiting, 0, "`git push` needs approval"),
            (vec![prompted(), concluded(JobStatus::Completed)], false, JobStatus::Completed, 0, "so"),
            (
                vec![prompted(), concluded(JobStatus::Completed), prompted()],
                false,
                JobStatus::Completed,
                0,
                "so",
            ),
            (vec![prompted(), concluded(JobStatus::Failed)], false, JobStatus::Failed, 0, "so"),
            (
                vec![prompted(), concluded(JobStatus::Failed), Fact::Continued],
                true,
                JobStatus::Running,
                0,
                "thinking",
            ),
        ];
        for (facts, is_alive, status, rounds, progress) in table {
            assert_eq!(standing(facts.clone(), is_alive), (status, rounds, progress.to_owned()), "{facts:?}");
        }
    }
}
