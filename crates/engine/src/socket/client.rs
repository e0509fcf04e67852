//! [`Connection`]: a session as a process sees it that has joined it: the journal is a mirror, commands go through the
//! socket.
use super::{
    Greeting, Notice, address,
    lines::{Line, Lines, say},
};
use crate::{
    journal::Journal,
    session::{
        mailbox::SessionMessage,
        mailbox::{CommandId, CommandTicket},
    },
};
use haft_core::{Command, Event, Mode, Seq, line};
use serde::Serialize;
use std::{
    collections::HashMap,
    future::pending,
    io,
    path::Path,
    sync::{Mutex, MutexGuard},
    time::Duration,
};
use tokio::{
    net::{
        UnixStream,
        unix::{OwnedReadHalf, OwnedWriteHalf},
    },
    sync::mpsc,
};
use tokio_util::sync::CancellationToken;

/// How long the owner may take for the next line while it sends past events.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(10);

/// Why the connection failed.
#[derive(Debug)]
pub(crate) enum NotConnected {
    /// No process listens there, or it just went.
    NoSocket,
    /// In the words of that process, or of the system.
    Refused(String),
}

/// What came in with a line.
enum Received {
    /// The journal has it; of an entry its place.
    Event(Option<Seq>),
    Notice(Notice),
    /// There is no line any more.
    Gone,
}

/// A connection, with all that was recorded so far.
pub(crate) struct Connection {
    mirror: Mirror,
    lines: Lines<OwnedReadHalf>,
    writer: OwnedWriteHalf,
    mode: Mode,
    may_allow: bool,
}

/// A journal that another process writes. Nothing more is seen of it when this is dropped, also where the runtime ends
/// before its tasks.
struct Mirror(Journal);

impl Drop for Mirror {
    fn drop(&mut self) {
        self.0.close_if_open("the runtime of the program that had joined the session has ended");
    }
}

/// Joins the session in `folder`.
pub(crate) async fn connect(folder: &Path) -> Result<Connection, NotConnected> {
    let stream = dial(folder).await.map_err(|error| match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused => NotConnected::NoSocket,
        _ => NotConnected::Refused(error.to_string()),
    })?;
    let (reader, writer) = stream.into_split();
    let mut connection = Connection {
        mirror: Mirror(Journal::mirror(folder)),
        lines: Lines::new(reader),
        writer,
        mode: Mode::default(),
        may_allow: false,
    };
    connection.enter().await?;
    Ok(connection)
}

async fn dial(folder: &Path) -> io::Result<UnixStream> {
    let (address, _held_open) = address(folder)?;
    UnixStream::connect(address).await
}

impl Connection {
    pub(crate) fn journal(&self) -> Journal {
        self.mirror.0.clone()
    }

    /// The mode that held when the connection was made.
    pub(crate) fn mode(&self) -> Mode {
        self.mode
    }

    /// Whether an answer that is given here counts as a person's.
    pub(crate) fn may_allow(&self) -> bool {
        self.may_allow
    }

    /// On return the mirror holds what was recorded when the connection was made.
    async fn enter(&mut self) -> Result<(), NotConnected> {
        say(&mut self.writer, &Greeting { from: Seq(0) }).await.map_err(|_| NotConnected::NoSocket)?;
        let (mut wanted, mut have) = (None, Seq(0));
        while wanted.is_none_or(|wanted| have < wanted) {
            let heard = tokio::time::timeout(ANSWER_TIMEOUT, hear(&mut self.lines, &self.mirror.0)).await;
            match heard.map_err(|_| NotConnected::Refused("it does not respond".into()))? {
                Received::Notice(Notice::Joined { next, mode, may_allow }) => {
                    (wanted, self.mode, self.may_allow) = (Some(next), mode, may_allow);
                }
                Received::Event(Some(seq)) => have = Seq(seq.0 + 1),
                Received::Event(None) => {}
                Received::Notice(Notice::Begun { .. } | Notice::Queued { .. } | Notice::Done { .. }) => {}
                Received::Notice(
                    Notice::Error { message, .. } | Notice::Closed { failure: Some(message) },
                ) => {
                    return Err(NotConnected::Refused(message));
                }
                Received::Notice(Notice::Closed { failure: None }) | Received::Gone => {
                    return Err(NotConnected::NoSocket);
                }
            }
        }
        Ok(())
    }

    /// Sees and passes on, until the owner or everybody here leaves, or `stop`.
    pub(crate) async fn stay(
        self,
        mailbox: mpsc::UnboundedReceiver<SessionMessage>,
        stop: CancellationToken,
    ) {
        let Self { mirror, lines, writer, .. } = self;
        let journal = mirror.0.clone();
        let given = Given::default();
        let failure = tokio::select! {
            biased;
            () = stop.cancelled() => None,
            failure = watch(lines, &journal, &given) => Some(failure),
            () = pass_on(mailbox, writer, &given) => None,
        };
        journal.close(failure);
    }
}

/// Why nothing more is seen.
async fn watch(mut lines: Lines<OwnedReadHalf>, journal: &Journal, given: &Given) -> String {
    loop {
        match hear(&mut lines, journal).await {
            Received::Event(_) | Received::Notice(Notice::Joined { .. }) => {}
            Received::Notice(Notice::Begun { id, from }) => given.begun(id, from),
            Received::Notice(Notice::Queued { id }) => given.queued(id),
            Received::Notice(Notice::Done { id }) => given.done(id, journal),
            Received::Notice(Notice::Error { message, id: Some(id) }) => given.refused(id, message),
            // Callers that wait for the outcome of a command must not wait forever.
            Received::Notice(Notice::Error { message, id: None }) => {
                return format!("the process that has the session open rejected a command: {message}");
            }
            Received::Notice(Notice::Closed { failure: None }) => {
                return "the process that had the session open has closed it".into();
            }
            Received::Notice(Notice::Closed { failure: Some(why) }) => {
                return format!("the process that had the session open has closed it: {why}");
            }
            Received::Gone => {
                return "the process that had the session open ended without closing it; \
                        reopen the session to continue"
                    .into();
            }
        }
    }
}

/// The next line. What cannot be read, such as a fact of a newer Haft, is left out.
async fn hear(lines: &mut Lines<OwnedReadHalf>, journal: &Journal) -> Received {
    let line = match lines.next().await {
        Ok(Some(Line::Whole(line))) => line,
        Ok(Some(Line::TooLong)) => return Received::Event(None),
        Ok(None) | Err(_) => return Received::Gone,
    };
    match line::read(line) {
        Ok(Event::Recorded(entry)) => {
            let seq = entry.seq;
            journal.receive(entry);
            Received::Event(Some(seq))
        }
        Ok(Event::Live(update)) => {
            journal.live(update);
            Received::Event(None)
        }
        Err(error) => serde_json::from_slice(line).map_or_else(
            |_| {
                tracing::warn!(%error, "ignored an unreadable line from another process");
                Received::Event(line::seq_of(line))
            },
            Received::Notice,
        ),
    }
}

/// Until all handles are gone. Jobs and their ends come from a session's own calls, which run in the owner only.
async fn pass_on(
    mut mailbox: mpsc::UnboundedReceiver<SessionMessage>,
    mut writer: OwnedWriteHalf,
    given: &Given,
) {
    while let Some(message) = mailbox.recv().await {
        let SessionMessage::Command(command, ticket) = message else { continue };
        let line = Named { id: given.add(ticket), command };
        if say(&mut writer, &line).await.is_err() {
            // The reading side learns why from the owner's last line.
            return pending().await;
        }
    }
}

/// A command, with the name by which the owner tells how far it is.
#[derive(Serialize)]
struct Named {
    #[serde(flatten)]
    command: Command,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<CommandId>,
}

/// The commands that were passed on and are not done.
#[derive(Default)]
struct Given(Mutex<Commands>);

#[derive(Default)]
struct Commands {
    tickets: HashMap<CommandId, CommandTicket>,
    next: CommandId,
}

impl Given {
    /// The command's name, if its sender wants reports.
    fn add(&self, ticket: CommandTicket) -> Option<CommandId> {
        let mut commands = self.lock();
        ticket.is_wanted().then(|| {
            let id = commands.next;
            commands.next += 1;
            commands.tickets.insert(id, ticket);
            id
        })
    }

    fn begun(&self, id: CommandId, from: Seq) {
        if let Some(ticket) = self.lock().tickets.get(&id) {
            ticket.begin_at(from);
        }
    }

    fn queued(&self, id: CommandId) {
        if let Some(ticket) = self.lock().tickets.get(&id) {
            ticket.queued();
        }
    }

    /// All that came of it stands in `journal`, but for what could not be read.
    fn done(&self, id: CommandId, journal: &Journal) {
        if let Some(ticket) = self.take(id) {
            ticket.done(journal);
        }
    }

    fn refused(&self, id: CommandId, why: String) {
        if let Some(ticket) = self.take(id) {
            ticket.refuse(why);
        }
    }

    fn take(&self, id: CommandId) -> Option<CommandTicket> {
        self.lock().tickets.remove(&id)
    }

    fn lock(&self) -> MutexGuard<'_, Commands> {
        self.0.lock().expect("no code panics while it holds the commands")
    }
}
