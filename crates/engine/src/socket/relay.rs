//! [`Relay`]: serves a session to users that another process has open and a database records.
use super::{Served, contents::SentContents};
use crate::{
    journal::Journal,
    session::mailbox::{CommandTicket, SessionMessage},
};
use haft_call::Permission;
use haft_core::{Command, Entry, Fact, Hash, Mode, Policy, Seq, Update};
use std::{path::Path, sync::Arc};
use tokio::sync::mpsc;

/// Maximum bytes of file texts that are kept for clients. If there are more, the earliest ones are dropped, and their
/// diffs say so.
const MAX_CONTENTS_BYTES: usize = 64 << 20;

/// A session that a process on another machine has open. The caller adds its entries one by one, and takes the user's
/// commands one by one.
pub struct Relay {
    journal: Journal,
    contents: Arc<SentContents>,
    /// Size of `contents` in bytes.
    bytes: usize,
    permission: Permission,
    mailbox: mpsc::UnboundedSender<SessionMessage>,
    received: mpsc::UnboundedReceiver<SessionMessage>,
    /// Tickets of prompts that were passed on: they are done when the turn ends.
    prompts: Vec<CommandTicket>,
}

/// A command of a user, to be passed on to the process that has the session open.
pub struct Relayed {
    /// The command to carry out.
    pub command: Command,
    ticket: CommandTicket,
}

impl Default for Relay {
    /// Creates a relay without entries. Any mode can be requested: the process that has the session open enforces its
    /// limit.
    fn default() -> Self {
        let (mailbox, received) = mpsc::unbounded_channel();
        Self {
            journal: Journal::mirror(Path::new("")),
            contents: Arc::default(),
            bytes: 0,
            permission: Permission::new(Policy::default(), Mode::Full, &[]),
            mailbox,
            received,
            prompts: Vec::new(),
        }
    }
}

impl Relay {
    /// The number of the next entry to record.
    pub fn next(&self) -> Seq {
        self.journal.next()
    }

    /// Shows an entry, and before it the texts of files that it names.
    pub fn record(&mut self, entry: Arc<Entry>, contents: impl IntoIterator<Item = (Hash, String)>) {
        for (hash, text) in contents {
            if self.bytes + text.len() > MAX_CONTENTS_BYTES {
                self.contents.clear();
                self.bytes = 0;
            }
            self.bytes += text.len();
            self.contents.add(hash, text);
        }
        if let Fact::ModeSet { mode } = entry.fact {
            self.permission.set(mode);
        }
        let has_ended = matches!(entry.fact, Fact::TurnEnded { .. });
        self.journal.receive(entry);
        if has_ended {
            self.prompts.drain(..).for_each(|ticket| ticket.done(&self.journal));
        }
    }

    /// Shows a live update.
    pub fn live(&self, update: Update) {
        self.journal.live(update);
    }

    /// Returns the session to serve to a user. Its commands are recorded for `user`, if the server knows users.
    pub fn served(&self, user: Option<String>) -> Served {
        Served {
            journal: self.journal.clone(),
            mailbox: self.mailbox.downgrade(),
            permission: self.permission.clone(),
            stage: self.contents.clone(),
            user,
            answering: None,
        }
    }

    /// Waits for the next command. A command that is neither passed on nor refused counts as lost.
    pub async fn command(&mut self) -> Relayed {
        loop {
            match self.received.recv().await {
                Some(SessionMessage::Command(command, ticket)) => return Relayed { command, ticket },
                // Background tasks and their ends come only from a session's own calls.
                Some(_) => {}
                None => std::future::pending().await,
            }
        }
    }

    /// Records that the other process will carry out the command.
    pub fn passed_on(&mut self, Relayed { command, ticket }: Relayed) {
        ticket.begin(&self.journal);
        match command {
            Command::Prompt { .. } => self.prompts.push(ticket),
            _ => ticket.done(&self.journal),
        }
    }

    /// Refuses the command; `why` is a sentence for the user.
    pub fn refuse(&self, Relayed { ticket, .. }: Relayed, why: String) {
        match ticket.is_wanted() {
            true => ticket.refuse(why),
            false => self.journal.live(Update::Refused { why }),
        }
    }
}
