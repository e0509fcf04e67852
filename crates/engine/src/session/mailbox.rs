//! [`SessionMessage`]: what reaches a session's task. [`CommandTicket`]: reports the progress of a command to its sender.
//!
//! The session's task holds the ticket of each command until the command is done: the range of journal entries that it
//! produced. A ticket that is dropped before says that the session ends without it.
use crate::journal::Journal;
use haft_core::{Command, Fact, Seq};
use tokio::sync::mpsc;

/// Why an answer is not taken.
const NOT_ASKED: &str =
    "the call waits for no answer: another one came before, or it has not asked again since a restart";

/// Names a command to its sender.
pub(crate) type CommandId = u64;

/// How far a command is.
#[derive(Debug)]
pub(crate) enum CommandStatus {
    /// It is carried out. Sent before the first entry of the command is recorded.
    Begun {
        /// The place of that entry.
        from: Seq,
    },
    /// It waits for the next round of a turn, and is in the journal.
    Queued,
    /// The command is done. Sent after its last entry is recorded.
    Done {
        /// The place behind that entry.
        to: Seq,
    },
    /// It is not carried out.
    Refused {
        /// Why, as a sentence for people.
        why: String,
    },
}

/// Receives the progress of commands.
pub(crate) type CommandStatuses = mpsc::UnboundedReceiver<(CommandId, CommandStatus)>;

/// A command, as the session's task sees it.
#[derive(Debug)]
pub(crate) struct CommandTicket {
    sender: Option<(CommandId, mpsc::UnboundedSender<(CommandId, CommandStatus)>)>,
    /// Whether the command is not begun once its sender is gone.
    is_bound: bool,
}

impl CommandTicket {
    /// For a command whose sender wants no reports.
    pub(crate) fn none() -> Self {
        Self { sender: None, is_bound: false }
    }

    /// The progress of the command `id` is sent to `to`.
    pub(crate) fn of(id: CommandId, to: mpsc::UnboundedSender<(CommandId, CommandStatus)>) -> Self {
        Self { sender: Some((id, to)), is_bound: false }
    }

    /// Marks the command as one that is withdrawn if its sender leaves before it begins.
    pub(crate) fn bound(self) -> Self {
        Self { is_bound: true, ..self }
    }

    /// Whether the command is not to begin: its sender is gone.
    pub(crate) fn is_withdrawn(&self) -> bool {
        self.is_bound && self.sender.as_ref().is_some_and(|(_, to)| to.is_closed())
    }

    /// Whether the command's sender wants reports.
    pub(crate) fn is_wanted(&self) -> bool {
        self.sender.is_some()
    }

    /// Reports that the entries from here on belong to the command.
    pub(crate) fn begin(&self, journal: &Journal) {
        self.begin_at(journal.next());
    }

    /// Like [`Self::begin`], for an entry at the position `from`.
    pub(crate) fn begin_at(&self, from: Seq) {
        self.tell(CommandStatus::Begun { from });
    }

    /// The command waits, and a crash does not lose it.
    pub(crate) fn queued(&self) {
        self.tell(CommandStatus::Queued);
    }

    /// Reports that the command is done.
    pub(crate) fn done(self, journal: &Journal) {
        self.tell(CommandStatus::Done { to: journal.end() });
    }

    /// The command answers a call, which waited for that or not.
    pub(crate) fn answered(self, has_waited: bool, journal: &Journal) {
        match has_waited {
            true => self.done(journal),
            false => self.refuse(NOT_ASKED.to_owned()),
        }
    }

    /// The command is not carried out.
    pub(crate) fn refuse(self, why: String) {
        self.tell(CommandStatus::Refused { why });
    }

    fn tell(&self, progress: CommandStatus) {
        if let Some((id, to)) = &self.sender {
            let _nobody_waits = to.send((*id, progress));
        }
    }
}

/// What reaches the session's task.
pub(crate) enum SessionMessage {
    Command(Command, CommandTicket),
    /// That a job ended.
    Job(Fact),
    /// Forgets what was called in this turn; with `read`, also which files the model has read.
    Forget {
        read: bool,
    },
}
