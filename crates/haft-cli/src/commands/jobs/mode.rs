//! [`chosen`]: what a job runs without approval, from its start and after it is resumed.
use crate::{args::TurnArgs, failure::Failure};
use haft_core::{Command, Entry, Fact, Mode};
use haft_engine::Session;
use std::sync::Arc;

/// The mode that a person asks for is recorded: it holds when the job is taken up without one.
pub(super) fn keep(session: &Session, turn: &TurnArgs) -> Result<(), Failure> {
    let wanted = turn.settings.permission.map(|wanted| wanted.min(session.ceiling()));
    match wanted.filter(|wanted| chosen(&session.entries()) != Some(*wanted)) {
        Some(mode) => Ok(session.send(Command::SetMode { mode })?),
        None => Ok(()),
    }
}

/// The last one that a person chose.
pub(super) fn chosen(entries: &[Arc<Entry>]) -> Option<Mode> {
    entries.iter().rev().find_map(|entry| match entry.fact {
        Fact::ModeSet { mode } => Some(mode),
        _ => None,
    })
}
