//! [`Session`]: the handle of a session. One task owns its transcript; all other code holds a handle.
pub(crate) mod budget;
pub(crate) mod context;
mod error;
pub(crate) mod mailbox;
pub(crate) mod prefix;
pub(crate) mod queue;
pub(crate) mod registry;
pub(crate) mod remote;
pub(crate) mod responder;
pub(crate) mod sampler;
pub(crate) mod shared;
pub(crate) mod subscription;
pub(crate) mod tool_set;
pub(crate) mod tree;
pub(crate) mod turn_handle;
pub(crate) mod turn_report;

pub use error::EngineError;

use crate::{journal::Journal, setup::Setup};
use futures::{Stream, StreamExt};
use haft_call::{BackgroundCommands, Moved, Permission, merge_left};
use haft_core::{
    BackgroundTasks, CallId, Change, Command, Effect, Entry, Event, Fact, Hash, Mode, Part, Policy, Secrets,
    Seq, SessionId, SessionOpened, Stage, TaskId, TaskState, ToolCall, Tracking, changed,
};
use mailbox::{CommandTicket, SessionMessage};
use remote::Remote;
use responder::{Answering, Responder};
use std::{
    fmt, io,
    path::{Path, PathBuf},
    pin::pin,
    sync::{Arc, Weak},
};
use tokio::sync::{mpsc, watch};

/// A handle to send commands and follow events. When the last handle is dropped, the session ends after its turn; until
/// then [`Engine::open`](crate::Engine::open) returns another handle.
#[derive(Clone)]
pub struct Session {
    pub(crate) id: SessionId,
    pub(crate) mailbox: mpsc::UnboundedSender<SessionMessage>,
    /// Counts this handle.
    pub(crate) _counted: watch::Receiver<()>,
    pub(crate) journal: Journal,
    pub(crate) stage: Arc<dyn Stage>,
    pub(crate) permission: Permission,
    pub(crate) may_allow: bool,
    pub(crate) responder: Arc<Answering>,
    pub(crate) remote: Option<Arc<Remote>>,
    /// Background commands of the process that has the session open.
    pub(crate) background: Weak<BackgroundCommands>,
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session").field("id", &self.id).finish_non_exhaustive()
    }
}

/// The error if the session is closed and accepts no commands.
#[derive(Debug, thiserror::Error)]
#[error("the session is closed")]
pub struct Closed;

impl Session {
    /// ID of the session.
    pub fn id(&self) -> &SessionId {
        &self.id
    }

    /// From now on, `responder` answers questions of this session's calls, in place of the responder before: also in
    /// turns that no handle follows, such as those that the end of a background task starts. If another process has the
    /// session open, it only answers questions of this handle's turns. Questions that it leaves open go to the code
    /// that reads a [`Turn`](crate::Turn) as a stream; a turn that is awaited refuses them, and so does the session while
    /// this program has neither a handle of a turn nor a stream of [`Session::events`].
    #[must_use]
    pub fn answered_by(self, responder: Responder) -> Self {
        self.responder.by.send_replace(Some((responder, self.journal.next())));
        self
    }

    /// Why further attempts at a goal ([`haft_core::Goal::attempts`]) cannot be made here; `None` if they can.
    pub fn attempts_refused(&self, setup: &Setup) -> Option<String> {
        attempts_refused(&*self.stage, &setup.workspace)
    }

    /// The session's journal, with its path, its damage, and the reason why it closed.
    pub fn journal(&self) -> &Journal {
        &self.journal
    }

    /// Whether another process has the session open, so that this process receives its events and passes on commands.
    pub fn is_joined(&self) -> bool {
        self.journal.is_mirror()
    }

    /// Whether an answer given here counts as the user's. `false` if the session was joined and its owner cannot
    /// distinguish this process from a command of its agent: other front-ends must answer then.
    pub fn may_allow(&self) -> bool {
        self.may_allow
    }

    /// Sends a command. The events show its result; [`Session::start`] follows them.
    ///
    /// # Errors
    /// Fails if the session is closed.
    pub fn send(&self, command: Command) -> Result<(), Closed> {
        self.mailbox.send(SessionMessage::Command(command, CommandTicket::none())).map_err(|_| Closed)
    }

    /// Forgets which calls were made in this turn: an equal call runs again instead of being answered with the earlier
    /// result.
    ///
    /// # Errors
    /// Fails if the session is closed.
    pub fn clear_current_turn(&self) -> Result<(), Closed> {
        self.mailbox.send(SessionMessage::Forget { read: false }).map_err(|_| Closed)
    }

    /// Like [`Session::clear_current_turn`], but also forgets which files the model has read, until the session is
    /// reopened. The conversation stays.
    ///
    /// # Errors
    /// Fails if the session is closed.
    pub fn clear_state(&self) -> Result<(), Closed> {
        self.mailbox.send(SessionMessage::Forget { read: true }).map_err(|_| Closed)
    }

    /// Streams all entries since `from`, then all events until the session closes. While this stream exists, questions
    /// of calls wait for an answer of its reader: [`Session::send`] gives it. But code that awaits a [`Turn`] refuses
    /// what that turn asks: to answer it elsewhere, read the turn as a stream, or set [`Session::answered_by`].
    pub fn events(&self, from: Seq) -> impl Stream<Item = Event> + Send + 'static {
        let listener = self.responder.listen();
        self.journal.follow(from).inspect(move |_| {
            let _for_as_long_as_the_stream = &listener;
        })
    }

    /// Waits until the question of `call` in the entry `asked` is answered or withdrawn: another front-end may answer
    /// before this one.
    pub async fn settled(&self, call: &CallId, asked: Seq) {
        let mut events = pin!(self.journal.follow(Seq(asked.0 + 1)));
        while let Some(event) = events.next().await {
            let Event::Recorded(entry) = event else { continue };
            match &entry.fact {
                Fact::ApprovalAnswered { call: other, .. }
                | Fact::QuestionAnswered { call: other, .. }
                | Fact::ToolEnded { call: other, .. }
                    if other == call =>
                {
                    return;
                }
                Fact::TurnEnded { .. } => return,
                _ => {}
            }
        }
    }

    /// Waits for the end of an undo or a redo that an earlier process had begun and not finished: the session finishes
    /// it when it is opened, before its first command. Returns the entry with the result. `None` if there was no such
    /// undo, or another process has the session open.
    pub async fn finished_rewind(&self) -> Option<Arc<Entry>> {
        let begun = self.journal.interrupted()?;
        let mut events = pin!(self.journal.follow(Seq(begun.0 + 1)));
        while let Some(event) = events.next().await {
            if let Event::Recorded(entry) = event
                && matches!(entry.fact, Fact::Rewound { .. })
            {
                return Some(entry);
            }
        }
        None
    }

    /// All entries so far.
    pub fn entries(&self) -> Vec<Arc<Entry>> {
        self.journal.entries()
    }

    /// All entries so far, beginning with `from`.
    pub fn entries_since(&self, from: Seq) -> Vec<Arc<Entry>> {
        self.journal.between(from, Seq(u64::MAX))
    }

    /// The mode by which effects are judged that no rule matches.
    pub fn mode(&self) -> Mode {
        self.permission.mode()
    }

    /// The rules, with the current mode.
    pub fn policy(&self) -> Policy {
        self.permission.policy()
    }

    /// The most permissive mode that [`Command::SetMode`] can set: what the engine and the agent allow.
    pub fn ceiling(&self) -> Mode {
        self.permission.ceiling()
    }

    /// The mode of a session that another process has open, if it is more permissive than `setup`, the setup of this
    /// process, allows. A prompt could then do more than this process allows.
    pub fn wider_than(&self, setup: &Setup) -> Option<Mode> {
        Some(self.mode()).filter(|mode| self.is_joined() && *mode > setup.widest_mode())
    }

    /// A content that some change names.
    pub fn content(&self, hash: &Hash) -> io::Result<Vec<u8>> {
        self.stage.content(hash)
    }

    /// Returns the files that another program changed since, so that settling `changes` would leave them unchanged.
    /// Changes nothing.
    ///
    /// # Errors
    /// Fails if a file cannot be read.
    pub fn left_alone(&self, changes: &[Change]) -> io::Result<Vec<PathBuf>> {
        match SessionOpened::of(&self.entries()) {
            Some(opened) => self.stage.conflicts(&opened.workspace, changes),
            None => Ok(Vec::new()),
        }
    }

    /// Returns what an undo or redo with these steps would do, without changing the workspace.
    ///
    /// # Errors
    /// Fails if a file cannot be read.
    pub fn preview(&self, steps: Vec<Change>) -> io::Result<Moved> {
        let whole = changed::squash(&steps);
        let conflicts = self.left_alone(&whole)?;
        let mut moved = Moved { conflicts, changes: steps, ..Moved::default() };
        let Some(workspace) = SessionOpened::of(&self.entries()).map(|opened| opened.workspace.clone())
        else {
            return Ok(moved);
        };
        for change in merge_left(&*self.stage, &workspace, &moved.changes, &moved.conflicts) {
            moved.add_merged(change);
        }
        Ok(moved)
    }

    /// The background tasks that run, and those that ended since it was opened, the oldest first. Empty if the session is
    /// closed or another process has it open.
    pub fn tasks(&self) -> Vec<TaskState> {
        self.background.upgrade().map(|background| background.all()).unwrap_or_default()
    }

    /// Ends a background task and all its processes, and tells the model. Returns `false` if no such task runs here.
    pub fn stop_task(&self, task: &TaskId) -> bool {
        self.background.upgrade().is_some_and(|background| background.stop(task))
    }

    /// The session that delegated to this one.
    pub fn delegated_by(&self) -> Option<SessionId> {
        SessionOpened::of(&self.entries())?.delegated_by.clone()
    }
}

/// The record of a session, independent of where it is stored. Everything that users see is made from it.
pub trait Recorded {
    /// Returns the entries, oldest first.
    fn entries(&self) -> Vec<Arc<Entry>>;

    /// Returns a content that a change in the entries names.
    ///
    /// # Errors
    /// Fails if it is not stored, or cannot be read.
    fn content(&self, hash: &Hash) -> io::Result<Vec<u8>>;

    /// Values that front-ends hide wherever they show contents.
    fn secrets(&self) -> Secrets;
}

impl Recorded for Session {
    fn entries(&self) -> Vec<Arc<Entry>> {
        Self::entries(self)
    }

    fn content(&self, hash: &Hash) -> io::Result<Vec<u8>> {
        Self::content(self, hash)
    }

    fn secrets(&self) -> Secrets {
        self.journal.secrets()
    }
}

/// Returns `call` as it runs, or else as the model made it. If several rounds use the same call ID, the last one
/// counts.
pub fn tool_call_for(session: &dyn Recorded, call: &CallId) -> Option<ToolCall> {
    tool_call_in(&session.entries(), call)
}

fn tool_call_in(entries: &[Arc<Entry>], call: &CallId) -> Option<ToolCall> {
    entries.iter().rev().find_map(|entry| match &entry.fact {
        Fact::ToolStarted { call: started, name, arguments, .. } if started == call => {
            Some(ToolCall::new(call.0.clone(), name.clone(), arguments.clone()))
        }
        Fact::Replied { parts, .. } => {
            parts.iter().filter_map(Part::as_call).find(|made| made.id == *call).cloned()
        }
        Fact::Called { made } | Fact::GoalChecked { made } | Fact::AttemptsBegun { made } => {
            Some(made).filter(|made| made.id == *call).cloned()
        }
        _ => None,
    })
}

/// Why attempts cannot work in views of `workspace`; `None` if they can.
pub(crate) fn attempts_refused(stage: &dyn Stage, workspace: &Path) -> Option<String> {
    let effects = [Effect::execute("true").confined()];
    if stage.how(workspace, &effects) != Tracking::Staged {
        let why = "each attempt needs a view of its own, and commands have none here";
        return Some(stage.unconfined(workspace).map_or(why.to_owned(), |reason| format!("{why}: {reason}")));
    }
    let why =
        "commands may change folders outside the workspace, so that attempts would get in each other's way";
    stage.writes_elsewhere(workspace, &effects).then(|| why.to_owned())
}
