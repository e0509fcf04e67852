//! [`Receipt`]: reports the progress of a command to its sender: the range of journal entries that it produced.
//!
//! The session's task holds the [`Receipt`] of each command until it is done. A receipt that is dropped before says that
//! the session ends without it.
use crate::journal::Journal;
use haft_core::Seq;
use tokio::sync::mpsc;

/// Names a command to its sender.
pub(crate) type CommandId = u64;

/// How far a command is.
#[derive(Debug)]
pub(crate) enum Progress {
    /// It is carried out. Sent before the first entry that comes of it is recorded.
    Begun {
        /// The place of that entry.
        from: Seq,
    },
    /// It waits for the next round of a turn, and stands in the journal.
    Queued,
    /// Nothing more comes of it. Sent after the last entry is recorded.
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
pub(crate) type Progresses = mpsc::UnboundedReceiver<(CommandId, Progress)>;

/// One command, as the session's task sees it.
#[derive(Debug)]
pub(crate) struct Receipt(Option<(CommandId, mpsc::UnboundedSender<(CommandId, Progress)>)>);

impl Receipt {
    /// For a command whose sender wants no reports.
    pub(crate) fn none() -> Self {
        Self(None)
    }

    /// The progress of the command `id` is sent to `to`.
    pub(crate) fn of(id: CommandId, to: mpsc::UnboundedSender<(CommandId, Progress)>) -> Self {
        Self(Some((id, to)))
    }

    /// Whether the command's sender wants reports.
    pub(crate) fn is_wanted(&self) -> bool {
        self.0.is_some()
    }

    /// What is recorded next comes of the command.
    pub(crate) fn begin(&self, journal: &Journal) {
        self.begin_at(journal.next());
    }

    /// The same, where the entry stands at `from`.
    pub(crate) fn begin_at(&self, from: Seq) {
        self.tell(Progress::Begun { from });
    }

    /// The command waits, and a crash does not lose it.
    pub(crate) fn queued(&self) {
        self.tell(Progress::Queued);
    }

    /// Nothing more comes of the command.
    pub(crate) fn done(self, journal: &Journal) {
        self.tell(Progress::Done { to: journal.end() });
    }

    /// The command is not carried out.
    pub(crate) fn refuse(self, why: String) {
        self.tell(Progress::Refused { why });
    }

    fn tell(&self, progress: Progress) {
        if let Some((id, to)) = &self.0 {
            let _nobody_waits = to.send((*id, progress));
        }
    }
}
