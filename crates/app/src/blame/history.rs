//! [`History`]: the changes that the sessions of a workspace made to files, in chronological order.
use super::{Approval, BlamedAttempt, BlamedCall, TestsAfter};
use haft_core::{
    Answer, AttemptResult, CallId, Change, Entry, Fact, Hash, Part, Report, Seq, SessionId, SessionOpened,
    Stage, ToolCall, arguments_in_brief,
    changed::{changes_in, squash},
    past_calls::PastCalls,
    text_of,
};
use haft_engine::Home;
use haft_evidence::test_runs;
use haft_stage::LocalStage;
use std::{
    collections::HashMap,
    io,
    path::{Path, PathBuf},
    sync::Arc,
};

/// Maximum number of characters in the short form of a call.
const BRIEF: usize = 60;

/// Changes of files, oldest first.
#[derive(Default)]
pub(super) struct History {
    pub(super) steps: Vec<Step>,
    sessions: Vec<Session>,
}

struct Session {
    id: SessionId,
    title: String,
    contents: LocalStage,
    entries: Vec<Arc<Entry>>,
    calls: Vec<Call>,
}

/// What is known of a call when its changes are recorded.
struct Call {
    made: ToolCall,
    number: Option<usize>,
    prompt: String,
    model: String,
    attempt: Option<BlamedAttempt>,
    approval: Approval,
}

/// Changes that one call, an undo or a redo made to files at one time.
pub(super) struct Step {
    session: usize,
    seq: Seq,
    at: u64,
    /// Index of the call in its session; `None` for an undo and a redo.
    pub(super) call: Option<usize>,
    number: Option<usize>,
    /// The numbers of the calls that an undo took back.
    taken_back: Vec<usize>,
    /// Whether it happened in the work tree of a job.
    pub(super) is_of_job: bool,
    /// Changes, one for each file, with absolute paths.
    pub(super) changes: Vec<Change>,
}

impl Step {
    pub(super) fn change_of(&self, file: &Path) -> Option<&Change> {
        self.changes.iter().find(|change| change.path == file)
    }

    pub(super) fn is_taken_back_by(&self, undo: &Self) -> bool {
        self.session == undo.session && self.number.is_some_and(|number| undo.taken_back.contains(&number))
    }
}

impl History {
    /// Reads the history of `file` from the sessions that worked in a folder above it, or changed it in an added
    /// folder, and from their jobs.
    pub(super) fn of(home: &Home, file: &Path) -> Self {
        let mut history = Self::default();
        for summary in home.list().into_iter().filter(|summary| summary.delegated_by.is_none()) {
            let Ok(entries) = home.peek(&summary.id.0) else { continue };
            let Some(opened) = SessionOpened::of(&entries) else { continue };
            let is_named =
                |entry: &Arc<Entry>| changes_in(&entry.fact).iter().any(|change| change.path == file);
            if file.starts_with(opened.asked_in()) || entries.iter().any(is_named) {
                let contents = LocalStage::new(home.contents(&summary.id));
                let (opened, id, title) = (opened.clone(), summary.id, summary.title);
                let session = Session { id, title, contents, entries, calls: Vec::new() };
                history.read(session, &opened);
            }
        }
        history.steps.sort_by_key(|step| (step.at, step.session, step.seq));
        history
    }

    fn read(&mut self, session: Session, opened: &SessionOpened) {
        let place = self.sessions.len();
        let entries = session.entries.clone();
        let past = PastCalls::of(&entries);
        let numbers = past.calls.iter().map(|call| ((call.reply, call.id.clone()), call.number)).collect();
        let mut reader = Reader {
            place,
            opened,
            numbers,
            session,
            by_id: HashMap::new(),
            prompt: String::new(),
            model: opened.model.clone(),
            own_model: opened.model.clone(),
            steps: Vec::new(),
            passed: Vec::new(),
        };
        // The first entries of a fork happened in the session that it was forked from.
        let first = opened.forked_from.as_ref().map_or(Seq(0), |forked| Seq(forked.seq.0 + 1));
        for entry in &entries {
            reader.read(entry, entry.seq >= first);
        }
        self.steps.append(&mut reader.steps);
        self.sessions.push(reader.session);
    }

    /// The content of a state that `step` names.
    pub(super) fn content(&self, step: &Step, hash: &Hash) -> io::Result<Vec<u8>> {
        self.sessions[step.session].contents.content(hash)
    }

    /// The details of the call of a step; `None` for an undo and a redo.
    pub(super) fn call_of(&self, step: usize) -> Option<BlamedCall> {
        let step = &self.steps[step];
        let session = &self.sessions[step.session];
        let call = &session.calls[step.call?];
        let brief: String = arguments_in_brief(&call.made.arguments).chars().take(BRIEF).collect();
        let tests = test_runs(&session.entries).into_iter().filter(|run| run.seq > step.seq);
        Some(BlamedCall {
            session: session.id.clone(),
            title: session.title.clone(),
            call: call.number,
            entry: step.seq.0,
            at: step.at,
            tool: format!("{} {brief}", call.made.name).trim_end().to_owned(),
            model: call.model.clone(),
            prompt: call.prompt.clone(),
            attempt: call.attempt.clone(),
            approval: call.approval,
            tests: tests
                .map(|run| TestsAfter { command: run.command, ok: run.ok, entry: run.seq.0 })
                .collect(),
        })
    }
}

/// Reads the entries of one session.
struct Reader<'a> {
    place: usize,
    opened: &'a SessionOpened,
    numbers: HashMap<(Seq, CallId), usize>,
    session: Session,
    /// Index of the last call with each ID. A call that began a background task is also listed under the call ID of
    /// that task.
    by_id: HashMap<CallId, usize>,
    prompt: String,
    model: String,
    /// The model with which each turn begins.
    own_model: String,
    steps: Vec<Step>,
    /// Attempts that passed. The user takes one of them, or none.
    passed: Vec<BlamedAttempt>,
}

impl Reader<'_> {
    fn read(&mut self, entry: &Entry, is_own: bool) {
        match &entry.fact {
            Fact::Prompted { parts, .. } => self.prompt = text_of(parts),
            Fact::ModelSwitched { to, .. } => self.model.clone_from(to),
            Fact::SetupChanged { setup, .. } => {
                self.own_model.clone_from(&setup.model);
                self.model.clone_from(&setup.model);
            }
            Fact::TurnEnded { .. } => self.model.clone_from(&self.own_model),
            Fact::Replied { parts, .. } => {
                parts.iter().filter_map(Part::as_call).for_each(|call| self.made(entry.seq, call));
            }
            Fact::Called { made } | Fact::AttemptsBegun { made } => self.made(entry.seq, made),
            Fact::AttemptEnded(end) if end.result.is_reached() => {
                let attempt = BlamedAttempt { number: end.number, session: end.session.clone() };
                match end.result {
                    // If several attempts passed, a later fact says which one was taken.
                    AttemptResult::Passed => self.passed.push(attempt),
                    _ => self.with(&end.call, |call| call.attempt = Some(attempt)),
                }
            }
            Fact::ToolStarted { call, arguments, .. } => {
                self.with(call, |call| call.made.arguments.clone_from(arguments));
            }
            Fact::AcceptedPart { call, accepted } => {
                let is_edited = accepted.files.iter().any(|file| file.text.is_some());
                let approval = if is_edited { Approval::Edited } else { Approval::Part };
                self.with(call, |call| call.approval = approval);
            }
            Fact::ApprovalAnswered { call, answer, .. } => {
                self.with(call, |call| match (answer, call.approval) {
                    (Answer::Once, Approval::NotAsked) => call.approval = Approval::Once,
                    (Answer::Always, Approval::NotAsked) => call.approval = Approval::Always,
                    _ => {}
                })
            }
            Fact::ToolEnded { call, result, .. } => {
                if let Some(Report::Subagent(run)) = result.report()
                    && let Some(taken) =
                        self.passed.iter().find(|passed| passed.session == run.session).cloned()
                {
                    self.with(call, |call| call.attempt = Some(taken));
                }
                if let (Some(task), Some(place)) = (&result.job, self.by_id.get(call)) {
                    self.by_id.insert(task.call(), *place);
                }
            }
            Fact::Staged { call, changes, .. } | Fact::SubagentChanged { call, changes, .. } if is_own => {
                let place = self.by_id.get(call).copied();
                self.changed(entry, place, Vec::new(), changes.clone());
            }
            Fact::Unsettled { call, paths } if is_own => self.unsettled(call, paths),
            Fact::Rewound { changes, conflicts, calls, .. } if is_own => {
                let done = changes.iter().filter(|change| !conflicts.contains(&change.path)).cloned();
                self.changed(entry, None, calls.clone(), done.collect());
            }
            _ => {}
        }
    }

    fn made(&mut self, reply: Seq, call: &ToolCall) {
        self.by_id.insert(call.id.clone(), self.session.calls.len());
        self.session.calls.push(Call {
            made: call.clone(),
            number: self.numbers.get(&(reply, call.id.clone())).copied(),
            prompt: self.prompt.clone(),
            model: self.model.clone(),
            attempt: None,
            approval: Approval::NotAsked,
        });
    }

    fn changed(&mut self, entry: &Entry, call: Option<usize>, taken_back: Vec<usize>, changes: Vec<Change>) {
        let folder = self.opened.asked_in();
        let absolute = |change: Change| Change { path: folder.join(&change.path), ..change };
        self.steps.push(Step {
            session: self.place,
            seq: entry.seq,
            at: entry.at,
            call,
            number: call.and_then(|call| self.session.calls[call].number),
            taken_back,
            is_of_job: self.opened.workspace != *folder,
            changes: squash(&changes).into_iter().map(absolute).collect(),
        });
    }

    fn unsettled(&mut self, call: &CallId, paths: &[PathBuf]) {
        let Some(place) = self.by_id.get(call).copied() else { return };
        let Some(step) = self.steps.iter_mut().rfind(|step| step.call == Some(place)) else { return };
        let folder = self.opened.asked_in();
        step.changes.retain(|change| !paths.iter().any(|path| folder.join(path) == change.path));
    }

    fn with(&mut self, id: &CallId, change: impl FnOnce(&mut Call)) {
        if let Some(place) = self.by_id.get(id) {
            change(&mut self.session.calls[*place]);
        }
    }
}
