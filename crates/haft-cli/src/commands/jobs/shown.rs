//! [`Shown`]: the turns of a job at a terminal.
use super::work_tree::WorkTree;
use haft_core::{Command, Entry, Fact, JobSpec, Outcome};
use haft_engine::{Session, Turns};
use haft_terminal::{Exit, print, signals::Interrupts};
use std::{path::Path, sync::Arc};

/// Turns as `haft run` shows them.
pub(super) struct Shown<'a> {
    pub(super) session: &'a Session,
    pub(super) options: &'a print::Options,
    pub(super) interrupts: &'a mut Interrupts,
    pub(super) order: &'a JobSpec,
    pub(super) folder: &'a Path,
}

impl Turns for Shown<'_> {
    type Error = anyhow::Error;

    async fn turn(&mut self, command: Command) -> Result<Outcome, anyhow::Error> {
        let from = haft_present::cursor::next(self.session);
        let exit = print::turn(self.session, command, from, self.options, self.interrupts).await?;
        WorkTree::bring_back(self.order, self.folder);
        Ok(match exit {
            Exit::Interrupted => Outcome::Interrupted,
            _ => last_outcome(self.session).unwrap_or(Outcome::Failed),
        })
    }
}

/// A session that cannot be recorded any more has failed, however its last turn ended.
pub(in crate::commands) fn last_outcome(session: &Session) -> Option<Outcome> {
    if session.journal().failure().is_some() {
        return Some(Outcome::Failed);
    }
    outcome_of(&session.entries())
}

/// How the last turn ended.
pub(in crate::commands) fn outcome_of(entries: &[Arc<Entry>]) -> Option<Outcome> {
    entries.iter().rev().find_map(|entry| match &entry.fact {
        Fact::TurnEnded { outcome, .. } => Some(*outcome),
        _ => None,
    })
}
