//! [`PastCalls`]: the numbered calls of a session, and the file changes of each, in order.
use crate::{
    CallId, Change, Direction, Entry, Fact, FileRead, Part, Seq, ToolCall, ToolErrorKind, ToolResult,
    Tracking, active_path,
};
use serde_json::Value;
use std::{path::PathBuf, sync::Arc};

/// The calls of a session, without those that a rewind removed from the conversation.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PastCalls {
    /// The calls, in the order in which they were made. The first one has the number 1.
    pub calls: Vec<PastCall>,
    /// The changes of files, oldest first.
    pub steps: Vec<FileStep>,
}

/// A call of a session.
#[derive(Clone, Debug, PartialEq)]
pub struct PastCall {
    /// Number of the call in its session, counted from 1. An undo does not change the numbers of earlier calls.
    pub number: usize,
    /// ID that the model gave the call. Later replies may use the same ID.
    pub id: CallId,
    /// The tool, as the call named it.
    pub name: String,
    /// The checked arguments, or the model's own if they failed the check.
    pub arguments: Value,
    /// The entry of the reply that made it.
    pub reply: Seq,
    /// How its changes were recorded; `None` if it never started.
    pub how: Option<Tracking>,
    /// Whether the call may have effects beyond the recorded file changes.
    pub outside: bool,
    /// The files that its effects name for reading.
    pub reads: Vec<FileRead>,
    /// `None` if it has not ended.
    pub result: Option<ToolResult>,
    /// Its changes of files, in order. A file that it changed in several steps is listed several times.
    pub changes: Vec<Change>,
    /// Folders in which it changed more than is recorded.
    pub unrecorded: Vec<PathBuf>,
    /// Whether the user accepted only a part of its changes.
    pub is_part: bool,
    /// Whether a child session made its changes.
    pub is_delegated: bool,
    /// Whether it started a background task.
    pub has_task: bool,
    /// Whether it was undone by its number.
    pub is_undone: bool,
}

/// The changes that one call, or an undo by number, made to files at one moment. `changes` is empty at the end of a
/// call that did nothing.
#[derive(Clone, Debug, PartialEq)]
pub struct FileStep {
    /// The number of the call; `None` for an undo.
    pub call: Option<usize>,
    /// A change for each file.
    pub changes: Vec<Change>,
}

impl PastCalls {
    /// Reads the calls from the entries of a journal.
    pub fn of(entries: &[Arc<Entry>]) -> Self {
        let mut past = Self::default();
        for entry in active_path(entries) {
            past.apply(entry.seq, &entry.fact);
        }
        past
    }

    /// Returns the call with this number, counted from 1.
    pub fn get(&self, number: usize) -> Option<&PastCall> {
        self.calls.get(number.checked_sub(1)?)
    }

    /// Returns the calls that changed files and were not undone.
    pub fn changing(&self) -> impl DoubleEndedIterator<Item = &PastCall> {
        self.calls.iter().filter(|call| !call.changes.is_empty() && !call.is_undone)
    }

    fn apply(&mut self, seq: Seq, fact: &Fact) {
        match fact {
            Fact::Replied { parts, .. } => {
                parts.iter().filter_map(Part::as_call).for_each(|call| self.made(seq, call));
            }
            Fact::Called { made } => self.made(seq, made),
            Fact::ToolStarted { call, arguments, how, outside, reads, .. } => self.with(call, |call| {
                call.arguments.clone_from(arguments);
                (call.how, call.outside) = (Some(*how), *outside);
                call.reads.clone_from(reads);
            }),
            Fact::AcceptedPart { call, .. } => self.with(call, |call| call.is_part = true),
            Fact::Staged { call, changes, unrecorded, .. } => {
                self.with(call, |call| call.unrecorded.extend(unrecorded.iter().cloned()));
                self.changed(call, changes);
            }
            Fact::SubagentChanged { call, changes, unrecorded, .. } => {
                self.with(call, |call| {
                    call.is_delegated = true;
                    call.unrecorded.extend(unrecorded.iter().cloned());
                });
                self.changed(call, changes);
            }
            Fact::Unsettled { call, paths } => self.unsettled(call, paths),
            Fact::TaskStarted { task, .. } => self.with(&task.call(), |call| call.has_task = true),
            Fact::ToolEnded { call, result, .. } => self.ended(call, result),
            Fact::Rewound { way: Direction::Undo, changes, conflicts, calls, .. } if !calls.is_empty() => {
                for call in self.calls.iter_mut().filter(|call| calls.contains(&call.number)) {
                    call.is_undone = true;
                }
                let done = changes.iter().filter(|change| !conflicts.contains(&change.path));
                self.steps.push(FileStep { call: None, changes: done.cloned().collect() });
            }
            _ => {}
        }
    }

    fn made(&mut self, reply: Seq, call: &ToolCall) {
        self.calls.push(PastCall {
            number: self.calls.len() + 1,
            id: call.id.clone(),
            name: call.name.clone(),
            arguments: call.arguments.clone(),
            reply,
            how: None,
            outside: false,
            reads: Vec::new(),
            result: None,
            changes: Vec::new(),
            unrecorded: Vec::new(),
            is_part: false,
            is_delegated: false,
            has_task: false,
            is_undone: false,
        });
    }

    fn changed(&mut self, id: &CallId, changes: &[Change]) {
        let Some(number) = self.number_of(id) else { return };
        self.calls[number - 1].changes.extend(changes.iter().cloned());
        self.steps.push(FileStep { call: Some(number), changes: changes.to_vec() });
    }

    fn unsettled(&mut self, id: &CallId, paths: &[PathBuf]) {
        let Some(number) = self.number_of(id) else { return };
        let Some(step) = self.steps.iter_mut().rfind(|step| step.call == Some(number)) else { return };
        step.changes.retain(|change| !paths.contains(&change.path));
        let own = self.steps.iter().filter(|step| step.call == Some(number));
        self.calls[number - 1].changes = own.flat_map(|step| step.changes.iter().cloned()).collect();
    }

    fn ended(&mut self, id: &CallId, result: &ToolResult) {
        let Some(number) = self.number_of(id) else { return };
        let call = &mut self.calls[number - 1];
        call.has_task |= result.job.is_some();
        call.result = Some(result.clone());
        if call.changes.is_empty() {
            self.steps.push(FileStep { call: Some(number), changes: Vec::new() });
        }
    }

    /// Returns the number of a call. The changes of a background task belong to the call that started it.
    fn number_of(&self, id: &CallId) -> Option<usize> {
        let began = |call: &PastCall| {
            let task = call.result.as_ref().and_then(|result| result.job.as_ref());
            task.is_some_and(|task| task.call() == *id)
        };
        let named = self.calls.iter().rfind(|call| call.id == *id);
        named.or_else(|| self.calls.iter().rfind(|call| began(call))).map(|call| call.number)
    }

    fn with(&mut self, id: &CallId, change: impl FnOnce(&mut PastCall)) {
        if let Some(number) = self.number_of(id) {
            change(&mut self.calls[number - 1]);
        }
    }
}

impl PastCall {
    /// Returns the call with its [`arguments`](Self::arguments), which are the checked ones if it started.
    pub fn made(&self) -> ToolCall {
        ToolCall::new(self.id.0.clone(), self.name.clone(), self.arguments.clone())
    }

    /// Returns whether the arguments failed the tool's check.
    pub fn is_invalid(&self) -> bool {
        let error = self.result.as_ref().and_then(|result| result.error.as_ref());
        error.is_some_and(|error| error.kind == ToolErrorKind::Validation)
    }

    /// Returns whether the user or the policy denied the call, or the call was interrupted or has no result: a
    /// repetition would end the same way.
    pub fn was_stopped(&self) -> bool {
        let Some(error) = self.result.as_ref().map(|result| &result.error) else { return true };
        error.as_ref().is_some_and(|error| error.kind == ToolErrorKind::Permission || error.is_interruption())
    }
}
