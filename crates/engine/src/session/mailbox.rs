//! [`SessionMessage`]: a message to a session's task. [`CommandTicket`]: reports the progress of a command to its
//! sender.
//!
//! The session's task holds the ticket of each command until the command is done, and reports the range of journal
//! entries that the command produced. If a ticket is dropped before, the session ends without the command.
use crate::journal::Journal;
use haft_core::{Command, Fact, Seq};
use tokio::sync::mpsc;

/// The error for an answer that no call waits for.
const NOT_ASKED: &str =
    "the call waits for no answer: another one came before, or it has not asked again since a restart";

/// ID of a command, for its sender.
pub(crate) type CommandId = u64;

/// The progress of a command.
#[derive(Debug)]
pub(crate) enum CommandStatus {
    /// The command is being carried out. Sent before its first entry is recorded.
    Begun {
        /// The number of that entry.
        from: Seq,
    },
    /// The command waits in the journal for the next round of a turn.
    Queued,
    /// The command is done. Sent after its last entry is recorded.
    Done {
        /// The number after that entry.
        to: Seq,
    },
    /// The command is refused.
    Refused {
        /// Why, as a sentence for the user.
        why: String,
    },
}

/// Receives the progress of commands.
pub(crate) type CommandStatuses = mpsc::UnboundedReceiver<(CommandId, CommandStatus)>;

/// A command, as the session's task sees it.
#[derive(Debug)]
pub(crate) struct CommandTicket {
    sender: Option<(CommandId, mpsc::UnboundedSender<(CommandId, CommandStatus)>)>,
    /// Whether the command is withdrawn if its sender disconnects before it begins.
    is_bound: bool,
}

impl CommandTicket {
    /// Creates a ticket for a command whose sender wants no reports.
    pub(crate) fn none() -> Self {
        Self { sender: None, is_bound: false }
    }

    /// Creates a ticket that sends the progress of the command `id` to `to`.
    pub(crate) fn of(id: CommandId, to: mpsc::UnboundedSender<(CommandId, CommandStatus)>) -> Self {
        Self { sender: Some((id, to)), is_bound: false }
    }

    /// Marks the command as one that is withdrawn if its sender leaves before it begins.
    pub(crate) fn bound(self) -> Self {
        Self { is_bound: true, ..self }
    }

    /// Whether the command was withdrawn, because its sender disconnected.
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

    /// Reports that the command waits in the journal, where a crash does not lose it.
    pub(crate) fn queued(&self) {
        self.tell(CommandStatus::Queued);
    }

    /// Reports that the command is done.
    pub(crate) fn done(self, journal: &Journal) {
        self.tell(CommandStatus::Done { to: journal.end() });
    }

    /// Reports the result of a command that answers a call: done if the call waited for it, otherwise refused.
    pub(crate) fn answered(self, has_waited: bool, journal: &Journal) {
        match has_waited {
            true => self.done(journal),
            false => self.refuse(NOT_ASKED.to_owned()),
        }
    }

    /// Reports that the command is refused.
    pub(crate) fn refuse(self, why: String) {
        self.tell(CommandStatus::Refused { why });
    }

    fn tell(&self, progress: CommandStatus) {
        if let Some((id, to)) = &self.sender {
            let _nobody_waits = to.send((*id, progress));
        }
    }
}

/// A message to the session's task.
pub(crate) enum SessionMessage {
    Command(Command, CommandTicket),
    /// The start or the end of a background task.
    Job(Fact),
    /// Forgets what was called in this turn; with `read`, also which files the model has read.
    Forget {
        read: bool,
    },
}
