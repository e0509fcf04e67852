//! [`Given`]: the commands that a joined session has passed on to the owner and that are not done.
//!
//! After a lost connection, the owner reports which commands it has accepted. The others are sent again, so that each
//! is carried out exactly once.
use crate::{
    journal::Journal,
    session::mailbox::{CommandId, CommandTicket},
};
use haft_core::{CallId, Command, Entry, Fact, Seq, Update, text_of};
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard},
};

/// The error for a command of which it is unknown whether a server accepted it before its restart.
const LOST: &str =
    "the connection was lost, and the server was started again: look at what was recorded, and give it again";

/// The commands by their IDs, in the order in which they were given. IDs begin with 1.
#[derive(Default)]
pub(super) struct Given(Mutex<Commands>);

#[derive(Default)]
struct Commands {
    open: BTreeMap<CommandId, Passed>,
    last: CommandId,
}

/// A command that is not done.
struct Passed {
    command: Command,
    ticket: CommandTicket,
    /// The place of the next entry when the command was given.
    at: Seq,
    progress: Progress,
}

/// The progress of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Progress {
    /// The command was given while there was no connection.
    Held,
    Sent,
    /// The owner carries it out, or keeps it for later.
    Taken,
    /// Like [`Self::Taken`], but the connection that would report its end was lost.
    UntilTurnEnds,
}

/// What the owner reports after a reconnect.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rejoined {
    /// The last command that it accepted from this process; `None` if it does not know this process.
    pub(super) taken: Option<CommandId>,
    /// No turn runs there.
    pub(super) is_at_rest: bool,
}

/// What happens with a command after a reconnect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Send,
    Done,
    /// The command is done when the turn ends.
    Wait,
    /// It is unknown whether the command was carried out.
    Lost,
}

impl Given {
    /// Keeps a command until it is done. `is_sent`: it is about to be sent; otherwise it waits for a connection.
    pub(super) fn add(&self, command: Command, ticket: CommandTicket, at: Seq, is_sent: bool) -> CommandId {
        let mut commands = self.lock();
        commands.last += 1;
        let (id, progress) = (commands.last, if is_sent { Progress::Sent } else { Progress::Held });
        commands.open.insert(id, Passed { command, ticket, at, progress });
        id
    }

    pub(super) fn begun(&self, id: CommandId, from: Seq) {
        self.taken(id, |ticket| ticket.begin_at(from));
    }

    pub(super) fn queued(&self, id: CommandId) {
        self.taken(id, CommandTicket::queued);
    }

    /// Reports that the owner accepted a command. A command whose sender wants no reports is removed.
    fn taken(&self, id: CommandId, report: impl FnOnce(&CommandTicket)) {
        let mut commands = self.lock();
        let Some(passed) = commands.open.get_mut(&id) else { return };
        passed.progress = Progress::Taken;
        report(&passed.ticket);
        if !passed.ticket.is_wanted() {
            commands.open.remove(&id);
        }
    }

    /// Reports that the command is done. Its entries are in `journal`, except invalid ones.
    pub(super) fn done(&self, id: CommandId, journal: &Journal) {
        if let Some(passed) = self.lock().open.remove(&id) {
            passed.ticket.done(journal);
        }
    }

    /// Reports a refusal to the sender of the command, or to the followers if the sender wants no reports.
    pub(super) fn refused(&self, id: CommandId, why: String, journal: &Journal) {
        let passed = self.lock().open.remove(&id);
        match passed {
            Some(Passed { ticket, .. }) if ticket.is_wanted() => ticket.refuse(why),
            Some(_) => journal.live(Update::Refused { why }),
            None => {}
        }
    }

    /// Completes the commands of an earlier connection that waited for the end of the turn.
    pub(super) fn turn_ended(&self, journal: &Journal) {
        let is_waiting = |_: &CommandId, passed: &mut Passed| passed.progress == Progress::UntilTurnEnds;
        for (_, passed) in self.lock().open.extract_if(.., is_waiting) {
            passed.ticket.done(journal);
        }
    }

    /// Decides about each command after a reconnect, and returns the commands to send.
    pub(super) fn rejoined(&self, known: Rejoined, journal: &Journal) -> Vec<(CommandId, Command)> {
        let (mut to_send, mut lost) = (Vec::new(), Vec::new());
        let open = std::mem::take(&mut self.lock().open);
        for (id, mut passed) in open {
            let since = journal.between(passed.at, Seq(u64::MAX));
            match passed.fate(id, known, &since) {
                Fate::Send => {
                    passed.progress = Progress::Sent;
                    to_send.push((id, passed.command.clone()));
                    self.lock().open.insert(id, passed);
                }
                Fate::Done => {
                    passed.begin();
                    passed.ticket.done(journal);
                }
                Fate::Wait => {
                    passed.begin();
                    passed.progress = Progress::UntilTurnEnds;
                    self.lock().open.insert(id, passed);
                }
                Fate::Lost => lost.push(passed),
            }
        }
        for Passed { ticket, .. } in lost {
            match ticket.is_wanted() {
                true => ticket.refuse(LOST.to_owned()),
                false => journal.live(Update::Refused { why: LOST.to_owned() }),
            }
        }
        to_send
    }

    fn lock(&self) -> MutexGuard<'_, Commands> {
        self.0.lock().expect("no code panics while it holds the commands")
    }
}

impl Passed {
    /// `since`: the entries since the command was given.
    fn fate(&self, id: CommandId, known: Rejoined, since: &[Arc<Entry>]) -> Fate {
        let has_ended = since.iter().any(|entry| matches!(entry.fact, Fact::TurnEnded { .. }));
        let taken = if known.is_at_rest || has_ended { Fate::Done } else { Fate::Wait };
        match known.taken {
            _ if is_over(&self.command, since) => Fate::Done,
            _ if self.progress == Progress::Held => Fate::Send,
            Some(last) if id <= last => taken,
            Some(_) => Fate::Send,
            None if is_recorded(&self.command, since) => taken,
            None => Fate::Lost,
        }
    }

    fn begin(&self) {
        if matches!(self.progress, Progress::Sent | Progress::Held) {
            self.ticket.begin_at(self.at);
        }
    }
}

/// Whether `command` answers a question that is closed: another answer came first, or the turn ended.
fn is_over(command: &Command, since: &[Arc<Entry>]) -> bool {
    let answered: &CallId = match command {
        Command::Answer { call, .. } | Command::AnswerInPart { call, .. } | Command::Reply { call, .. } => {
            call
        }
        _ => return false,
    };
    since.iter().any(|entry| match &entry.fact {
        Fact::ApprovalAnswered { call, .. }
        | Fact::QuestionAnswered { call, .. }
        | Fact::ToolEnded { call, .. } => call == answered,
        Fact::TurnEnded { .. } => true,
        _ => false,
    })
}

/// Whether `command` is a prompt that was recorded.
fn is_recorded(command: &Command, since: &[Arc<Entry>]) -> bool {
    let Command::Prompt { parts: said, .. } = command else { return false };
    since.iter().any(|entry| match &entry.fact {
        // The contents of mentioned files follow the prompt.
        Fact::Prompted { parts, .. }
        | Fact::PromptQueued { parts, .. }
        | Fact::PromptDenied { parts, .. } => text_of(parts).starts_with(&text_of(said)),
        _ => false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use haft_core::{Answer, Part};

    #[test]
    fn a_command_is_sent_again_only_where_it_was_not_taken() {
        let prompt = |text: &str| Command::Prompt { parts: vec![Part::text(text)], channel: None };
        let yes = Command::answer(CallId("a".into()), Answer::Once);
        let entry = |fact| Arc::new(Entry { seq: Seq(7), parent: None, at: 0, fact, chain: None });
        let said = entry(Fact::Prompted { parts: vec![Part::text("go\n\nFile: a")], channel: None });
        let answered =
            entry(Fact::ApprovalAnswered { call: CallId("a".into()), answer: Answer::No, by: None });
        let (nothing, said, answered) = (vec![], vec![said], vec![answered]);
        use Progress::{Held, Sent, Taken};
        let table = [
            ("it was taken, and a turn runs", prompt("go"), Sent, (Some(3), false), &said, Fate::Wait),
            ("it was taken, and no turn runs", prompt("go"), Taken, (Some(4), true), &said, Fate::Done),
            ("it did not arrive", prompt("go"), Sent, (Some(2), true), &nothing, Fate::Send),
            ("it was given without a connection", prompt("go"), Held, (None, true), &nothing, Fate::Send),
            ("a new server has its prompt", prompt("go"), Sent, (None, true), &said, Fate::Done),
            ("a new server has another prompt", prompt("stop"), Sent, (None, true), &said, Fate::Lost),
            ("a new server does not know it", yes.clone(), Sent, (None, true), &nothing, Fate::Lost),
            ("the answer did not arrive", yes.clone(), Sent, (Some(2), false), &nothing, Fate::Send),
            ("another answer came first", yes.clone(), Sent, (Some(2), false), &answered, Fate::Done),
            ("another answer came meanwhile", yes, Held, (Some(2), false), &answered, Fate::Done),
        ];
        for (what, command, progress, (taken, is_at_rest), since, expected) in table {
            let passed = Passed { command, ticket: CommandTicket::none(), at: Seq(0), progress };
            assert_eq!(passed.fate(3, Rejoined { taken, is_at_rest }, since), expected, "{what}");
        }
    }
}
