//! [`up_to`]: selects the entries that a fork copies. A fork is a session that begins with entries of another session.
use crate::{Entry, Fact, Seq, Transcript, active_path};
use std::{fmt, sync::Arc};

/// Why a session cannot be forked at an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoFork {
    /// It has no such entry.
    NoEntry {
        /// The entry that was asked for.
        at: Seq,
        /// The last entry of the session.
        last: Seq,
    },
    /// Calls of a reply have no result there.
    InCall {
        /// The entry that was asked for, or the last one.
        at: Seq,
        /// The last entry before the reply.
        before: Seq,
        /// The first entry at which all calls have a result, if there is one.
        after: Option<Seq>,
    },
}

impl fmt::Display for NoFork {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoEntry { at, last } => write!(f, "there is no entry {at}; the last one is {last}"),
            Self::InCall { at, before, after: Some(after) } => {
                write!(
                    f,
                    "entry {at} is in the middle of a call: {before} is before it, {after} after its end"
                )
            }
            Self::InCall { at, before, after: None } => {
                write!(f, "entry {at} is in the middle of a call that has not ended: {before} is before it")
            }
        }
    }
}

/// The entries up to `at`, including abandoned entries before an undo; all entries if `at` is `None`. The conversation
/// continues at the last of them.
pub fn up_to(entries: &[Arc<Entry>], at: Option<Seq>) -> Result<&[Arc<Entry>], NoFork> {
    let last = entries.last().map_or(Seq(0), |entry| entry.seq);
    let at = at.unwrap_or(last);
    let Ok(place) = entries.binary_search_by_key(&at, |entry| entry.seq) else {
        return Err(NoFork::NoEntry { at, last });
    };
    let taken = &entries[..=place];
    match has_open_calls(taken) {
        false => Ok(taken),
        true => Err(NoFork::InCall { at, before: before_calls(taken), after: after_calls(entries, at) }),
    }
}

fn has_open_calls(entries: &[Arc<Entry>]) -> bool {
    !Transcript::replay(entries).unanswered().is_empty()
}

fn before_calls(entries: &[Arc<Entry>]) -> Seq {
    let path = active_path(entries);
    let calls = path.iter().rposition(|entry| {
        matches!(
            entry.fact,
            Fact::Replied { .. }
                | Fact::Called { .. }
                | Fact::GoalChecked { .. }
                | Fact::AttemptsBegun { .. }
        )
    });
    calls.and_then(|calls| path.get(calls.checked_sub(1)?)).map_or(Seq(0), |entry| entry.seq)
}

fn after_calls(entries: &[Arc<Entry>], at: Seq) -> Option<Seq> {
    let path = active_path(entries);
    let place = path.iter().position(|entry| entry.seq == at)?;
    let mut transcript = Transcript::default();
    path[..place].iter().for_each(|entry| transcript.apply(&entry.fact));
    let mut later = path[place..].iter();
    let ended = later.find(|entry| {
        transcript.apply(&entry.fact);
        transcript.unanswered().is_empty()
    });
    ended.map(|entry| entry.seq)
}
