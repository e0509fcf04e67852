//! [`OutboxItem`]: a call that a session has queued because its effect cannot be undone, and its state.
use crate::{
    CallId, CommandRun, Entry, Fact, ItemKind, QueuedCall, Report, Seq, SessionId, SessionOpened, TestRun,
    ToolCall, ToolErrorKind, ToolResult, active_path, text_of,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::{collections::HashSet, fmt, sync::Arc};

/// The state of an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ItemState {
    /// The item waits until the user sends or drops it.
    Queued,
    /// The item's call has begun. If no process has the session open, this reads as [`ItemState::Unknown`].
    Sending,
    /// The item's call succeeded.
    Sent,
    /// The item's call failed.
    Failed,
    /// The item's call was interrupted: its effect is unknown.
    Unknown,
    /// The user dropped the item, or its turn was undone.
    Dropped,
}

impl fmt::Display for ItemState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Queued => "queued",
            Self::Sending => "sending",
            Self::Sent => "sent",
            Self::Failed => "failed",
            Self::Unknown => "unknown",
            Self::Dropped => "dropped",
        })
    }
}

/// An item of the outbox, folded from the entries of its session.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OutboxItem {
    /// The ID, see [`item_id`].
    pub id: String,
    /// What sending it would do.
    pub kind: ItemKind,
    /// The host, the remote, `SERVER/TOOL` or the program.
    pub target: String,
    /// The item's state.
    pub state: ItemState,
    /// The session.
    pub session: SessionId,
    /// The tool, as the model wrote it.
    pub tool: String,
    /// The arguments, as the model wrote them.
    pub arguments: Value,
    /// The call that sends it.
    pub sends: ToolCall,
    /// Why it was queued.
    pub reason: String,
    /// The prompt before the call.
    pub prompt: String,
    /// The last run of tests before the call.
    pub evidence: Option<TestEvidence>,
    /// When it was queued, in milliseconds since 1970-01-01 UTC.
    pub queued_at: u64,
    /// When its call began the last time, in milliseconds since 1970-01-01 UTC.
    pub sent_at: Option<u64>,
    /// The result of its call.
    pub result: Option<String>,
}

/// A run of tests.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TestEvidence {
    /// The command line that ran the tests.
    pub command: String,
    /// Whether all tests passed, and there were some.
    pub ok: bool,
    /// Whether files were changed after it, before the item was queued.
    pub is_outdated: bool,
}

/// Number of characters of the session's ID that an item's ID begins with: the last ones, which are random.
const SESSION_LETTERS: usize = 8;

/// The ID of the item with this number, counted from 1, of `session`: `o5k1v9qc-2`.
pub fn item_id(session: &SessionId, number: usize) -> String {
    format!("{}-{number}", short(session))
}

fn short(session: &SessionId) -> String {
    let letters: Vec<char> = session.0.chars().collect();
    letters[letters.len().saturating_sub(SESSION_LETTERS)..].iter().collect()
}

/// The items of a session with these entries, in the order in which they were queued. Items that a fork copied belong
/// to the other session and are left out.
pub fn outbox(entries: &[Arc<Entry>]) -> Vec<OutboxItem> {
    let Some(opened) = SessionOpened::of(entries) else { return Vec::new() };
    let path: HashSet<Seq> = active_path(entries).iter().map(|entry| entry.seq).collect();
    let mut fold =
        Fold { session: opened.session.clone(), items: Vec::new(), prompt: String::new(), tests: None };
    entries.iter().for_each(|entry| fold.apply(entry, path.contains(&entry.seq)));
    fold.items.into_iter().map(|(item, _)| item).collect()
}

/// Returns the item with this ID, if it may be sent. `again`: also if the effect of an earlier attempt is unknown.
///
/// # Errors
/// Says why it may not: a sentence for people.
pub fn to_send(entries: &[Arc<Entry>], id: &str, again: bool) -> Result<OutboxItem, String> {
    let item = found(entries, id)?;
    match item.state {
        ItemState::Queued | ItemState::Failed => Ok(item),
        ItemState::Sending | ItemState::Unknown if again => Ok(item),
        ItemState::Sending | ItemState::Unknown => {
            Err(format!("cannot send item {id}: an earlier attempt was cut off, and what it did is unknown"))
        }
        ItemState::Sent => Err(format!("cannot send item {id}: it was sent before")),
        ItemState::Dropped => Err(format!("cannot send item {id}: it was dropped")),
    }
}

/// Checks that the item with this ID may be dropped.
///
/// # Errors
/// Says why it may not: a sentence for people.
pub fn to_drop(entries: &[Arc<Entry>], id: &str) -> Result<(), String> {
    match found(entries, id)?.state {
        ItemState::Queued | ItemState::Failed | ItemState::Unknown | ItemState::Sending => Ok(()),
        ItemState::Sent => Err(format!("cannot drop item {id}: it was sent before")),
        ItemState::Dropped => Err(format!("cannot drop item {id}: it was dropped before")),
    }
}

fn found(entries: &[Arc<Entry>], id: &str) -> Result<OutboxItem, String> {
    let item = outbox(entries).into_iter().find(|item| item.id == id);
    item.ok_or_else(|| format!("there is no item `{}` in this session", id.escape_debug()))
}

/// How many items were queued in these entries.
pub fn queued(entries: &[Arc<Entry>]) -> usize {
    entries.iter().filter(|entry| matches!(entry.fact, Fact::Queued(_))).count()
}

/// Whether a session with these entries queues calls whose effects cannot be undone.
pub fn has_outbox(entries: &[Arc<Entry>]) -> bool {
    entries.iter().any(|entry| matches!(entry.fact, Fact::OutboxOpened))
}

struct Fold {
    session: SessionId,
    /// The items, each with the ID of the call that sends it, while that call runs.
    items: Vec<(OutboxItem, Option<CallId>)>,
    prompt: String,
    tests: Option<TestEvidence>,
}

impl Fold {
    fn apply(&mut self, entry: &Entry, is_on_path: bool) {
        match &entry.fact {
            Fact::Prompted { parts, .. } => self.prompt = text_of(parts),
            Fact::Queued(queued) => self.queued(queued, entry.at, is_on_path),
            Fact::ItemSending { item, call, .. } => {
                if let Some((item, sending)) = self.find(item) {
                    (item.state, item.sent_at, item.result) = (ItemState::Sending, Some(entry.at), None);
                    *sending = Some(call.clone());
                }
            }
            Fact::ItemDropped { item, .. } => {
                if let Some((item, _)) = self.find(item) {
                    item.state = ItemState::Dropped;
                }
            }
            Fact::Staged { changes, .. } if !changes.is_empty() => {
                self.tests.iter_mut().for_each(|tests| tests.is_outdated = true);
            }
            Fact::ToolEnded { call, result, .. } => self.ended(call, result),
            _ => {}
        }
    }

    fn find(&mut self, id: &str) -> Option<&mut (OutboxItem, Option<CallId>)> {
        self.items.iter_mut().find(|(item, _)| item.id == *id)
    }

    fn queued(&mut self, queued: &QueuedCall, at: u64, is_on_path: bool) {
        let is_own = queued.item.rsplit_once('-').is_some_and(|(session, _)| session == short(&self.session));
        if !is_own {
            return;
        }
        let QueuedCall { item, kind, target, reason, name, arguments, sends, .. } = queued.clone();
        let state = if is_on_path { ItemState::Queued } else { ItemState::Dropped };
        let (session, prompt) = (self.session.clone(), self.prompt.clone());
        let (tool, evidence, queued_at) = (name, self.tests.clone(), at);
        let (id, sent_at, result) = (item, None, None);
        self.items.push((
            OutboxItem {
                id,
                kind,
                target,
                state,
                session,
                tool,
                arguments,
                sends,
                reason,
                prompt,
                evidence,
                queued_at,
                sent_at,
                result,
            },
            None,
        ));
    }

    fn ended(&mut self, call: &CallId, result: &ToolResult) {
        if let Some(Report::Tests(TestRun { command, ok, .. })) = result.report() {
            self.tests = Some(TestEvidence { command, ok, is_outdated: false });
        }
        let sent = self.items.iter_mut().find(|(_, sending)| sending.as_ref() == Some(call));
        if let Some((item, sending)) = sent {
            (item.state, item.result) = (state_after(result), Some(result.content.clone()));
            *sending = None;
        }
    }
}

/// Returns the state of an item whose call ended with `result`.
fn state_after(result: &ToolResult) -> ItemState {
    match (result.report(), &result.error) {
        // A process that was stopped may already have sent its request.
        (Some(Report::Command(run)), _) if run.is_stopped() => ItemState::Unknown,
        (Some(Report::Command(CommandRun { exit_code: None, .. })), _) => ItemState::Unknown,
        // The same holds after a system error: in a connection, a server, or the process of Haft.
        (_, Some(failure)) if failure.kind == ToolErrorKind::System => ItemState::Unknown,
        _ if result.went_well() => ItemState::Sent,
        _ => ItemState::Failed,
    }
}
