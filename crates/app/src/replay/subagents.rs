//! [`Subagents`]: what a replay needs of a session's subagents.
use super::{
    moved::Moved,
    recording::{RecordedCall, Recording},
};
use crate::Failure;
use haft_core::{Seq, SessionId, SessionOpened};
use haft_engine::{ATTEMPT_MARK, Home};
use haft_evidence::test_runs;
use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
    sync::Arc,
};

/// The recordings of all sessions of subagents, at any depth, by session.
#[derive(Debug, Default)]
pub(super) struct Subagents {
    recordings: BTreeMap<SessionId, Arc<Recording>>,
    /// The names of their agents.
    pub(super) agents: BTreeSet<String>,
    /// The subagents' sessions in the order in which journals contain the calls that delegated, each with the topmost
    /// call's reply.
    order: Vec<(usize, SessionId)>,
    /// Sessions that were attempts at a goal.
    attempts: BTreeSet<SessionId>,
}

impl Subagents {
    /// Reads from `home` the subagents' sessions that calls of `recording` name, and the sessions below them.
    ///
    /// # Errors
    ///
    /// If one of these sessions does not exist.
    pub(super) fn of(home: &Home, recording: &Recording, tests_by_outcome: bool) -> Result<Self, Failure> {
        let attempts = recording.taken().filter_map(RecordedCall::subagent).collect();
        let mut all = Self { attempts, ..Self::default() };
        for (reply, seq, session) in named(recording) {
            all.add(home, (reply, seq, session), tests_by_outcome)?;
        }
        Ok(all)
    }

    /// Declares that commands could depend on something outside of the copy.
    pub(super) fn commands_depend_on_outside(&mut self) {
        for recording in self.recordings.values_mut() {
            Arc::get_mut(recording).expect("no session is replayed yet").commands_depend_on_outside();
        }
    }

    fn add(&mut self, home: &Home, named_by: Named, tests_by_outcome: bool) -> Result<(), Failure> {
        let (reply, seq, session) = named_by;
        if self.recordings.contains_key(&session) {
            return Ok(());
        }
        let entries = home.peek(&session.0).map_err(|_| {
            Failure::usage(format!(
                "cannot replay entry {seq}: a subagent worked for it, and its session `{session}` is not there"
            ))
        })?;
        self.agents.extend(SessionOpened::of(&entries).map(|opened| opened.agent.clone()));
        let mut recording = Recording::of(&entries);
        if tests_by_outcome {
            recording.tests = test_runs(&entries).into_iter().map(|run| run.seq).collect();
        }
        let below: Vec<Named> = named(&recording).collect();
        self.recordings.insert(session.clone(), Arc::new(recording));
        self.order.push((reply, session));
        below
            .into_iter()
            .try_for_each(|(_, seq, session)| self.add(home, (reply, seq, session), tests_by_outcome))
    }

    pub(super) fn get(&self, session: &SessionId) -> Option<&Arc<Recording>> {
        self.recordings.get(session)
    }

    /// The tasks and replies of the subagents of the first `replies` replies, with the paths of the copy.
    pub(super) fn said(&self, replies: usize, moved: &Moved) -> serde_json::Result<Vec<Said>> {
        let wanted = self.order.iter().filter(|(reply, _)| *reply < replies);
        let recordings = wanted.filter_map(|(_, session)| Some((session, self.recordings.get(session)?)));
        let said = recordings.map(|(session, recording)| {
            let opening = recording.opening();
            // The text before the task contains the output of a check, in which times may differ.
            let task = opening.rfind(ATTEMPT_MARK).filter(|_| self.attempts.contains(session));
            let opening = &opening[task.unwrap_or_default()..];
            Ok((moved.there(opening), moved.all_there(&recording.replies)?))
        });
        said.collect()
    }

    /// The recordings, in arbitrary order.
    pub(super) fn all(&self) -> impl Iterator<Item = &Recording> {
        self.recordings.values().map(|recording| &**recording)
    }

    /// Files that their calls read.
    pub(super) fn reads(&self) -> impl Iterator<Item = &PathBuf> {
        self.all().flat_map(|recording| &recording.reads)
    }
}

/// The reply of a call, the entry of its result, and the session of its subagent.
type Named = (usize, Seq, SessionId);
/// A task, and the replies to it, each with its stop reason.
type Said = (String, Vec<(Vec<haft_core::Part>, haft_core::StopReason)>);

fn named(recording: &Recording) -> impl Iterator<Item = Named> {
    let calls = recording.calls.iter().chain(recording.taken());
    calls.filter_map(|call| Some((call.reply, call.ended.as_ref()?.0, call.subagent()?)))
}
