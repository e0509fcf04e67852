//! [`Connection`]: a session that another process has open and this process has joined. The journal is a mirror, and
//! commands go through the socket.
use super::{
    Greeting, Notice, address,
    contents::SentContents,
    given::{Given, Rejoined},
    lines::{HEARTBEAT, Line, Lines, MAX_LINE_BYTES, SILENCE, say, too_long, write},
    remote::{Dial, Link, NotDialed, Reader, Writer},
    repeated::Repeated,
};
use crate::{
    journal::Journal,
    session::{
        mailbox::{CommandId, SessionMessage},
        remote::Remote,
    },
};
use haft_call::Permission;
use haft_core::{Command, Event, Fact, Mode, Seq, Stage, Update, line};
use serde::Serialize;
use std::{
    io,
    path::Path,
    sync::{Arc, Mutex, OnceLock},
    time::Duration,
};
use tokio::{net::UnixStream, sync::mpsc, time::timeout};
use tokio_util::sync::CancellationToken;

/// How long the owner may take for the next line while it sends past events.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(10);
/// The delay before the first attempt to reconnect, and the maximum delay.
const RETRY_DELAYS: (Duration, Duration) = (Duration::from_millis(250), Duration::from_secs(10));

/// Why the connection failed.
#[derive(Debug)]
pub(crate) enum NotConnected {
    /// No process listens, or it has just ended.
    NoSocket,
    /// The error message of the other process, or of the system.
    Refused(String),
}

/// A line received from the owner.
enum Received {
    /// An event, which was added to the journal; for an entry its number.
    Event(Option<Seq>),
    Notice(Notice),
    /// The connection has ended.
    Gone,
}

/// The state of the session when the connection was made.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Welcome {
    /// The mode when the connection was made.
    pub(crate) mode: Mode,
    /// The most permissive mode that can be chosen; `None` if the owner does not send it.
    pub(crate) ceiling: Option<Mode>,
    /// Whether an answer given here counts as the user's.
    pub(crate) may_allow: bool,
    /// Whether no turn ran; an owner on this machine does not send it.
    pub(crate) is_at_rest: bool,
    taken: Option<CommandId>,
}

/// A connection, with all entries recorded so far.
pub(crate) struct Connection {
    session: Mirrored,
    open: Open,
    welcome: Welcome,
    route: Option<Route>,
}

/// The two directions of an accepted connection.
struct Open {
    lines: Lines<Reader>,
    writer: Writer,
}

/// The mirror of a session that another process writes.
struct Mirrored {
    journal: Mirror,
    contents: Arc<SentContents>,
    repeated: Mutex<Repeated>,
    /// The mode of the session, once it was entered.
    permission: OnceLock<Permission>,
}

/// How to connect, and reconnect, to a session of another machine.
#[derive(Clone)]
pub(crate) struct Route {
    pub(crate) dial: Arc<dyn Dial>,
    /// The ID of this process for the owner, for as long as this process has the session.
    client: String,
}

/// A journal that another process writes. Dropping this closes it for its followers, also if the runtime ends before
/// its tasks.
struct Mirror(Journal);

impl Drop for Mirror {
    fn drop(&mut self) {
        self.0.close_if_open("the runtime of the program that had joined the session has ended");
    }
}

/// Joins the session in `folder`.
pub(crate) async fn connect(folder: &Path) -> Result<Connection, NotConnected> {
    let stream = dial(folder).await.map_err(|error| match error.kind() {
        // `ConnectionReset` happens while the process that has the session open ends.
        io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused | io::ErrorKind::ConnectionReset => {
            NotConnected::NoSocket
        }
        _ => NotConnected::Refused(error.to_string()),
    })?;
    let (reader, writer) = stream.into_split();
    let session = Mirrored::new(folder);
    let (open, welcome) = session.enter(Link::new(reader, writer), None).await?;
    Ok(Connection { session, open, welcome, route: None })
}

/// Joins the session that `dial` connects to; `folder` is where it would be on this machine.
pub(crate) async fn attach(folder: &Path, dial: Arc<dyn Dial>) -> Result<Connection, NotConnected> {
    let link = dial.dial().await.map_err(|error| match error {
        NotDialed::Lost(why) | NotDialed::Refused(why) => NotConnected::Refused(why),
    })?;
    let route = Route { dial, client: format!("{:032x}", fastrand::u128(..)) };
    let session = Mirrored::new(folder);
    let (open, welcome) = session.enter(link, Some(&route)).await?;
    Ok(Connection { session, open, welcome, route: Some(route) })
}

async fn dial(folder: &Path) -> io::Result<UnixStream> {
    let (address, _held_open) = address(folder)?;
    UnixStream::connect(address).await
}

impl Connection {
    pub(crate) fn journal(&self) -> Journal {
        self.session.journal.0.clone()
    }

    /// The contents that the other machine has sent.
    pub(crate) fn contents(&self) -> Arc<dyn Stage> {
        self.session.contents.clone()
    }

    pub(crate) fn welcome(&self) -> Welcome {
        self.welcome
    }

    /// The remote side, if the session is on another machine.
    pub(crate) fn remote(&self) -> Option<Remote> {
        let route = self.route.as_ref()?;
        Some(Remote { address: route.dial.address(), is_at_rest: self.welcome.is_at_rest })
    }

    /// Receives events and passes on commands until the owner closes the session, all handles here are dropped, or
    /// `stop` is set. `permission` follows the mode of the owner.
    pub(crate) async fn stay(
        self,
        permission: Permission,
        mailbox: mpsc::UnboundedReceiver<SessionMessage>,
        stop: CancellationToken,
    ) {
        let Self { session, open, route, .. } = self;
        let _it_is_entered_once = session.permission.set(permission);
        let failure = tokio::select! {
            biased;
            () = stop.cancelled() => None,
            failure = session.stay(open, route, mailbox) => failure,
        };
        session.journal.0.close(failure);
    }
}

/// Why the connection ended.
enum End {
    /// The connection was lost, or the owner has closed the session. Reconnecting may succeed.
    Lost(String),
    Final(String),
}

impl Mirrored {
    fn new(folder: &Path) -> Self {
        let journal = Mirror(Journal::mirror(folder));
        let (contents, repeated) = (Arc::default(), Mutex::default());
        Self { journal, contents, repeated, permission: OnceLock::new() }
    }

    /// Returns why the connection ended; `None` if all handles were dropped.
    async fn stay(
        &self,
        mut open: Open,
        route: Option<Route>,
        mut mailbox: mpsc::UnboundedReceiver<SessionMessage>,
    ) -> Option<String> {
        let (journal, given) = (&self.journal.0, Given::default());
        loop {
            let is_remote = route.is_some();
            let end = tokio::select! {
                biased;
                end = self.watch(&mut open.lines, &given, is_remote) => end,
                () = pass_on(&mut mailbox, &mut open.writer, (&given, journal), is_remote) => return None,
            };
            let route = match (end, &route) {
                (End::Final(why), _) | (End::Lost(why), None) => return Some(why),
                (End::Lost(_), Some(route)) => route,
            };
            let why = format!("the connection to {} is lost", route.dial.address());
            journal.live(Update::Disconnected { why });
            let again = tokio::select! {
                again = self.enter_again(route) => again,
                () = hold(&mut mailbox, &given, journal) => return None,
            };
            let welcome;
            (open, welcome) = match again {
                Ok(again) => again,
                Err(why) => return Some(why),
            };
            self.follow_mode(welcome.mode);
            journal.live(Update::Connected { is_at_rest: welcome.is_at_rest });
            let known = Rejoined { taken: welcome.taken, is_at_rest: welcome.is_at_rest };
            for (id, command) in given.rejoined(known, journal) {
                // If sending fails, the connection is lost again.
                let _it_is_sent_then = send(&mut open.writer, (&given, journal), id, command).await;
            }
        }
    }

    /// Enters the session. On return, the mirror has all entries that were recorded when the connection was made.
    async fn enter(&self, link: Link, route: Option<&Route>) -> Result<(Open, Welcome), NotConnected> {
        let Link { reader, mut writer } = link;
        let mut lines = Lines::new(reader);
        let from = self.journal.0.next();
        let client = route.map(|route| route.client.clone());
        say(&mut writer, &Greeting { from, client }).await.map_err(|_| NotConnected::NoSocket)?;
        self.repeats(Vec::new());
        let (mut wanted, mut have, mut welcome) = (None, from, Welcome::default());
        while wanted.is_none_or(|wanted| have < wanted) {
            let silent = || match route {
                Some(_) => NotConnected::NoSocket,
                None => NotConnected::Refused("it does not respond".into()),
            };
            match timeout(ANSWER_TIMEOUT, self.hear(&mut lines)).await.map_err(|_| silent())? {
                Received::Notice(Notice::Joined { next, .. }) if next < from => {
                    return Err(NotConnected::Refused(
                        "its journal is shorter than what was seen of it".into(),
                    ));
                }
                Received::Notice(Notice::Joined { next, mode, may_allow, ceiling, is_at_rest, taken }) => {
                    wanted = Some(next);
                    welcome = Welcome { mode, ceiling, may_allow, is_at_rest, taken };
                }
                Received::Event(Some(seq)) => have = Seq(seq.0 + 1),
                Received::Event(None) => {}
                Received::Notice(
                    Notice::Begun { .. }
                    | Notice::Queued { .. }
                    | Notice::Done { .. }
                    | Notice::Content { .. },
                ) => {}
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
        // If no turn runs, earlier updates of a reply are void.
        self.repeats(if welcome.is_at_rest { Vec::new() } else { self.journal.0.heard() });
        Ok((Open { lines, writer }, welcome))
    }

    /// Sets the updates that were already shown, because the owner repeats them.
    fn repeats(&self, shown: Vec<Update>) {
        *self.repeated.lock().expect("no code panics while it holds this") = Repeated::new(shown);
    }

    /// Reconnects, with retries as long as that may succeed; an error says why it cannot.
    async fn enter_again(&self, route: &Route) -> Result<(Open, Welcome), String> {
        let (mut delay, most) = RETRY_DELAYS;
        loop {
            tokio::time::sleep(delay).await;
            delay = (delay * 2).min(most);
            match route.dial.dial().await {
                Err(NotDialed::Refused(why)) => return Err(why),
                Err(NotDialed::Lost(_)) => continue,
                Ok(link) => match self.enter(link, Some(route)).await {
                    Ok(again) => return Ok(again),
                    Err(NotConnected::Refused(why)) => return Err(why),
                    Err(NotConnected::NoSocket) => {}
                },
            }
        }
    }

    /// Processes received lines until the connection ends, and returns why it ended.
    async fn watch(&self, lines: &mut Lines<Reader>, given: &Given, is_remote: bool) -> End {
        let journal = &self.journal.0;
        loop {
            let heard = match is_remote {
                true => timeout(SILENCE, self.hear(lines)).await.unwrap_or(Received::Gone),
                false => self.hear(lines).await,
            };
            match heard {
                Received::Event(Some(seq)) if ends_turn(journal, seq) => given.turn_ended(journal),
                Received::Event(_) | Received::Notice(Notice::Joined { .. } | Notice::Content { .. }) => {}
                Received::Notice(Notice::Begun { id, from }) => given.begun(id, from),
                Received::Notice(Notice::Queued { id }) => given.queued(id),
                Received::Notice(Notice::Done { id }) => given.done(id, journal),
                Received::Notice(Notice::Error { message, id: Some(id) }) => {
                    given.refused(id, message, journal);
                }
                // Callers that wait for the outcome of a command must not wait forever.
                Received::Notice(Notice::Error { message, id: None }) => {
                    let why = format!("the process that has the session open rejected a command: {message}");
                    return End::Final(why);
                }
                Received::Notice(Notice::Closed { failure: None }) => {
                    return End::Lost("the process that had the session open has closed it".into());
                }
                Received::Notice(Notice::Closed { failure: Some(why) }) => {
                    return End::Final(format!("the process that had the session open has closed it: {why}"));
                }
                Received::Gone => {
                    let why = "the process that had the session open ended without closing it; \
                               reopen the session to continue";
                    return End::Lost(why.into());
                }
            }
        }
    }

    /// Receives the next line. Skips invalid lines, such as a fact of a newer Haft.
    async fn hear(&self, lines: &mut Lines<Reader>) -> Received {
        let line = match lines.next().await {
            Ok(Some(Line::Whole([]))) => return Received::Event(None),
            Ok(Some(Line::Whole(line))) => line,
            Ok(Some(Line::TooLong)) => return Received::Event(None),
            Ok(None) | Err(_) => return Received::Gone,
        };
        match line::read(line) {
            Ok(event) => Received::Event(self.take_in(event)),
            Err(error) => match serde_json::from_slice(line) {
                Ok(Notice::Content { hash, text }) => {
                    self.contents.add(hash, text);
                    Received::Event(None)
                }
                Ok(notice) => Received::Notice(notice),
                Err(_) => {
                    tracing::warn!(%error, "ignored an unreadable line from another process");
                    Received::Event(line::seq_of(line))
                }
            },
        }
    }

    fn follow_mode(&self, mode: Mode) {
        if let Some(permission) = self.permission.get() {
            permission.set(mode);
        }
    }

    /// Shows the part of `event` that was not shown before. Returns the number of an entry.
    fn take_in(&self, event: Event) -> Option<Seq> {
        let fresh = self.repeated.lock().expect("no code panics while it holds this").fresh(event);
        let mut seq = None;
        for event in fresh {
            match event {
                Event::Recorded(entry) => {
                    seq = Some(entry.seq);
                    if let Fact::ModeSet { mode } = entry.fact {
                        self.follow_mode(mode);
                    }
                    self.journal.0.receive(entry);
                }
                Event::Live(update) => self.journal.0.live(update),
            }
        }
        seq
    }
}

fn ends_turn(journal: &Journal, seq: Seq) -> bool {
    let entry = journal.between(seq, Seq(seq.0 + 1)).pop();
    entry.is_some_and(|entry| matches!(entry.fact, Fact::TurnEnded { .. }))
}

/// Passes on messages until all handles are dropped. Background tasks and their ends come only from the session's
/// calls, which run in the owner.
async fn pass_on(
    mailbox: &mut mpsc::UnboundedReceiver<SessionMessage>,
    writer: &mut Writer,
    (given, journal): (&Given, &Journal),
    is_remote: bool,
) {
    loop {
        let message = tokio::select! {
            message = mailbox.recv() => message,
            () = tokio::time::sleep(HEARTBEAT), if is_remote => {
                let _the_reading_side_learns_why = write(writer, String::new()).await;
                continue;
            }
        };
        let (command, ticket) = match message {
            None => return,
            Some(SessionMessage::Command(command, ticket)) => (command, ticket),
            Some(_) => continue,
        };
        let id = given.add(command.clone(), ticket, journal.next(), true);
        if send(writer, (given, journal), id, command).await.is_err() {
            // The reading side gets the reason from the owner's last line.
            return std::future::pending().await;
        }
    }
}

/// Sends a command, unless it exceeds the owner's line limit.
async fn send(
    writer: &mut Writer,
    (given, journal): (&Given, &Journal),
    id: CommandId,
    command: Command,
) -> io::Result<()> {
    let line = serde_json::to_string(&Named { command, id })?;
    if line.len() > MAX_LINE_BYTES {
        given.refused(id, too_long("a command"), journal);
        return Ok(());
    }
    write(writer, line).await
}

/// Keeps commands while there is no connection, until all handles are dropped.
async fn hold(mailbox: &mut mpsc::UnboundedReceiver<SessionMessage>, given: &Given, journal: &Journal) {
    while let Some(message) = mailbox.recv().await {
        if let SessionMessage::Command(command, ticket) = message {
            given.add(command, ticket, journal.next(), false);
        }
    }
}

/// A command, with the ID by which the owner reports its progress.
#[derive(Serialize)]
struct Named {
    #[serde(flatten)]
    command: Command,
    id: CommandId,
}
