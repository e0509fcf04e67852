//! [`Record`]: a journal with a valid chain, whose entries belong to one session and are in order.
use super::{Flaw, bytes, is_id};
use crate::Failure;
use haft_core::{
    CallId, Entry, Fact, Part, Report, Seq, SessionId, SessionOpened, SubagentRun, active_path,
    chain::{self, Chain, ChainedLine, Cuts},
    changed::changes_in,
    line,
};
use haft_engine::Home;
use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

/// The journal of a subagent, or of one below it.
pub(super) struct Subagent {
    pub(super) session: String,
    pub(super) record: Record,
    pub(super) journal: Vec<u8>,
}

impl Subagent {
    /// Reads `journal`, which must belong to `session`.
    pub(super) fn read(session: String, journal: Vec<u8>, cuts: Cuts) -> Result<Self, Flaw> {
        match Record::read(&journal, Some(&session), cuts) {
            Ok(record) => Ok(Self { session, record, journal }),
            Err(flaw) => Err(Flaw::Subagent { session, flaw: Box::new(flaw) }),
        }
    }

    /// All subagents of the session with these entries, and all below them, as far as `home` has their journals.
    ///
    /// # Errors
    ///
    /// If a journal cannot be read.
    pub(super) fn all(home: &Home, entries: &[Arc<Entry>]) -> Result<Result<Vec<Self>, Flaw>, Failure> {
        let (mut all, mut wanted) = (Vec::<Self>::new(), subagents(entries));
        while let Some(id) = wanted.pop() {
            let file = home.folder(&id).join("journal.jsonl");
            if all.iter().any(|known| known.session == id.0) || !is_id(&id.0) || !file.is_file() {
                continue;
            }
            match Self::read(id.0, bytes(&file)?, Cuts::Refused) {
                Err(flaw) => return Ok(Err(flaw)),
                Ok(subagent) => {
                    wanted.extend(subagents(&subagent.record.entries));
                    all.push(subagent);
                }
            }
        }
        all.sort_by(|one, other| one.session.cmp(&other.session));
        Ok(Ok(all))
    }
}

/// The sessions of the subagents that results of calls name.
pub(super) fn subagents(entries: &[Arc<Entry>]) -> Vec<SessionId> {
    let results = entries.iter().filter_map(|entry| match &entry.fact {
        Fact::ToolEnded { result, .. } => result.report(),
        _ => None,
    });
    let session = |report| match report {
        Report::Subagent(SubagentRun { session }) => Some(session),
        _ => None,
    };
    results.filter_map(session).collect()
}

/// A valid journal.
pub(super) struct Record {
    pub(super) chain: Chain,
    pub(super) entries: Vec<Arc<Entry>>,
}

impl Record {
    /// Reads `journal`, which must belong to `session`, if that is known.
    pub(super) fn read(journal: &[u8], session: Option<&str>, cuts: Cuts) -> Result<Self, Flaw> {
        let chain = chain::check(journal, cuts).map_err(Flaw::Chain)?;
        let mut entries: Vec<Arc<Entry>> = Vec::with_capacity(chain.lines);
        for (line, number) in journal.split_inclusive(|byte| *byte == b'\n').zip(1..) {
            let is_cut = cuts == Cuts::Allowed && ChainedLine::of(line).cut().is_some();
            if is_cut && memchr::memmem::find(line, b"[key]").is_none() {
                return Err(Flaw::NothingCut(number));
            }
            let entry = line::entry(line).map_err(|_| Flaw::Unreadable(number))?;
            if entries.last().is_some_and(|last| last.seq >= entry.seq) {
                return Err(Flaw::Order { line: number, seq: entry.seq.0 });
            }
            if entry.opened().is_some() && number > 1 {
                return Err(Flaw::SecondBeginning(number));
            }
            entries.push(Arc::new(entry));
        }
        let opened = SessionOpened::of(&entries).ok_or(Flaw::NoBeginning)?;
        let found = &opened.session.0;
        match session.filter(|expected| expected != found) {
            Some(expected) => Err(Flaw::OtherSession { found: found.clone(), expected: expected.to_owned() }),
            None => {
                Calls::check(&entries)?;
                Ok(Self { chain, entries })
            }
        }
    }

    /// Whether it has a call that ended, so that there is something to run again.
    pub(super) fn has_calls(&self) -> bool {
        self.entries.iter().any(|entry| matches!(entry.fact, Fact::ToolEnded { .. }))
    }
}

/// The calls of the part of a journal that was read so far.
#[derive(Default)]
struct Calls {
    states: HashMap<CallId, CallState>,
    /// The calls of the last reply.
    last: Vec<CallId>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum CallState {
    /// The call's result must come before the next reply.
    Open,
    /// The call's result may be missing: an interrupt, an undo or another turn came first.
    Abandoned,
    Ended,
}

impl Calls {
    /// Checks that each call of a reply begins and ends in later entries, and ends once. The other fields of a call are
    /// not checked: they are only for readers, and a replay does not produce them.
    fn check(entries: &[Arc<Entry>]) -> Result<(), Flaw> {
        let mut calls = Self::default();
        for (place, entry) in entries.iter().enumerate() {
            if let Some(parent) = entry.parent {
                calls =
                    Self::behind(&entries[..entries[..place].partition_point(|entry| entry.seq <= parent)]);
            }
            calls.apply(entry)?;
        }
        Ok(())
    }

    /// The calls at the point to which an undo went back. Calls that had not ended there may stay without a result.
    fn behind(entries: &[Arc<Entry>]) -> Self {
        let mut calls = Self::default();
        for entry in active_path(entries) {
            // Already checked when it was read first.
            let _checked_before = calls.apply(entry);
        }
        calls.abandon();
        calls
    }

    fn abandon(&mut self) {
        let open = self.states.values_mut().filter(|state| **state == CallState::Open);
        open.for_each(|state| *state = CallState::Abandoned);
    }

    fn apply(&mut self, entry: &Entry) -> Result<(), Flaw> {
        let seq = entry.seq.0;
        match &entry.fact {
            Fact::Replied { parts, .. } => {
                let is_open = |call: &&CallId| self.states.get(*call) == Some(&CallState::Open);
                if let Some(call) = self.last.iter().find(is_open) {
                    return Err(Flaw::NoResult { seq, call: call.0.clone() });
                }
                self.last = parts.iter().filter_map(Part::as_call).map(|made| made.id.clone()).collect();
                self.states.extend(self.last.iter().map(|call| (call.clone(), CallState::Open)));
            }
            Fact::Called { made } | Fact::AttemptsBegun { made } | Fact::GoalChecked { made } => {
                self.states.insert(made.id.clone(), CallState::Open);
            }
            // The changes of a background task are staged under the task's own ID.
            Fact::TaskStarted { task, .. } => {
                self.states.insert(task.call(), CallState::Abandoned);
            }
            Fact::Rewound { .. } | Fact::Interrupted | Fact::Prompted { .. } | Fact::TaskEnded { .. } => {
                self.abandon()
            }
            Fact::Staged { call, .. } | Fact::SubagentChanged { call, .. }
                if !self.states.contains_key(call) =>
            {
                return Err(Flaw::UnknownCall { seq, call: call.0.clone() });
            }
            Fact::ToolStarted { call, .. } | Fact::ToolEnded { call, .. } => {
                let unknown = || Flaw::UnknownCall { seq, call: call.0.clone() };
                let state = self.states.get_mut(call).ok_or_else(unknown)?;
                if *state == CallState::Ended {
                    return Err(Flaw::EndedTwice { seq, call: call.0.clone() });
                }
                if matches!(entry.fact, Fact::ToolEnded { .. }) {
                    *state = CallState::Ended;
                }
            }
            _ => {}
        }
        Ok(())
    }
}

/// The entries without proposals of calls, which were never written to files, and without plans of an undo: `rewound`
/// records what it did.
pub(super) fn done(entries: &[Arc<Entry>]) -> impl Iterator<Item = &Arc<Entry>> {
    entries.iter().filter(|entry| !matches!(entry.fact, Fact::ApprovalAsked { .. } | Fact::Rewinding(_)))
}

/// The contents of files of the workspace before or after a change, each with the first entry that names it.
pub(super) fn named_contents<'a>(journals: impl Iterator<Item = &'a [Arc<Entry>]>) -> BTreeMap<String, Seq> {
    let mut named = BTreeMap::new();
    for entry in journals.flat_map(done) {
        let changes = changes_in(&entry.fact).iter();
        for state in changes.flat_map(|change| [&change.before, &change.after]).flatten() {
            named.entry(state.hash.0.clone()).or_insert(entry.seq);
        }
    }
    named
}
