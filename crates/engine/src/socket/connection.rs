//! [`receive`]: the server side of one client connection to a session.
use super::{
    Greeting, Notice,
    lines::{HEARTBEAT, Line, Lines, MAX_LINE_BYTES, SILENCE, say, too_long, write},
    peer::Peer,
    remote::{Link, RemoteClients},
};
use crate::{
    journal::Journal,
    session::{
        mailbox::SessionMessage,
        mailbox::{CommandId, CommandStatus, CommandStatuses, CommandTicket},
    },
};
use futures::StreamExt;
use haft_call::Permission;
use haft_core::{Answer, Command, Entry, Event, Goal, Hash, Seq, Stage, changed, line};
use serde::Deserialize;
use std::{
    collections::HashSet,
    io,
    pin::pin,
    time::{Duration, SystemTime},
};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    sync::mpsc,
    time::timeout,
};

/// A client that does not send its greeting within this time is disconnected.
const GREETING_TIMEOUT: Duration = Duration::from_secs(10);
/// Maximum error messages that wait to be sent. If more would wait, nothing is read from the client.
const MAX_COMPLAINTS: usize = 8;
/// Maximum bytes of a file's text that is sent. The diff of a longer file says that it is missing.
const MAX_CONTENT_BYTES: usize = 4 << 20;

/// The session, for its client connections.
#[derive(Clone, Copy)]
pub(super) struct Owned<'a> {
    pub(super) journal: &'a Journal,
    pub(super) mailbox: &'a mpsc::WeakUnboundedSender<SessionMessage>,
    pub(super) permission: &'a Permission,
}

/// The client at the other end of a connection.
#[derive(Clone, Copy)]
pub(super) enum Client<'a> {
    /// A process of this machine.
    Process(Peer),
    /// A user at another machine, admitted by the program that serves the session.
    Person {
        clients: &'a RemoteClients,
        /// The stage with the texts of files that are sent to the client.
        stage: &'a dyn Stage,
        is_at_rest: bool,
        /// The user that the program admitted, if it knows users.
        user: Option<&'a str>,
    },
}

/// A client and its greeting.
#[derive(Clone, Copy)]
struct Greeted<'a> {
    client: Client<'a>,
    greeting: &'a Greeting,
}

/// Serves a client until it disconnects or the session has closed. If `client` is an error, refuses the client with
/// that reason.
pub(super) async fn receive(link: Link, client: Result<Client<'_>, String>, owned: Owned<'_>) {
    let Link { reader, mut writer } = link;
    let mut lines = Lines::new(reader);
    let greeted = match client {
        Ok(client) => tokio::select! {
            greeting = greeting(&mut lines) => greeting.map(|greeting| greeting.map(|greeting| (greeting, client))),
            () = tokio::time::sleep(GREETING_TIMEOUT) => Ok(None),
            () = owned.journal.closed() => Ok(None),
        },
        Err(why) => Err(why),
    };
    match greeted {
        Ok(Some((greeting, client))) => {
            let greeted = Greeted { client, greeting: &greeting };
            let (complaints, heard) = mpsc::channel(MAX_COMPLAINTS);
            let (sender, progress) = mpsc::unbounded_channel();
            let told = Outgoing { complaints: heard, progress, done: Vec::new(), sent: HashSet::new() };
            // Computed before reading further: a command that arrives now is not among the accepted ones.
            let joined = greeted.joined(owned);
            tokio::select! {
                () = hear(lines, owned, greeted, complaints, sender) => {}
                _they_left = tell(writer, owned, greeted, (joined, told)) => {}
            }
        }
        Ok(None) => {}
        Err(message) => {
            let _they_left = say(&mut writer, &Notice::Error { message, id: None }).await;
        }
    }
}

/// Reads the greeting of the client; `None` if it disconnected.
async fn greeting(lines: &mut Lines<impl AsyncRead + Unpin>) -> Result<Option<Greeting>, String> {
    let expected = |why: String| format!("the first line must be {{\"from\":SEQ}}: {why}");
    match lines.next().await {
        Ok(Some(Line::Whole(line))) => match serde_json::from_slice::<Greeting>(line) {
            Ok(greeting) => Ok(Some(greeting)),
            Err(error) => Err(expected(error.to_string())),
        },
        Ok(Some(Line::TooLong)) => Err(expected(too_long("it"))),
        Ok(None) | Err(_) => Ok(None),
    }
}

impl Greeted<'_> {
    fn joined(self, Owned { journal, permission, .. }: Owned<'_>) -> Notice {
        let (next, mode) = (journal.end(), permission.mode());
        match self.client {
            Client::Process(peer) => {
                let may_allow = peer.may_allow().is_ok();
                Notice::Joined { next, mode, may_allow, ceiling: None, is_at_rest: false, taken: None }
            }
            Client::Person { clients, is_at_rest, .. } => {
                let taken = self.greeting.client.as_deref().and_then(|client| clients.greet(client));
                let ceiling = Some(permission.ceiling());
                Notice::Joined { next, mode, may_allow: true, ceiling, is_at_rest, taken }
            }
        }
    }

    /// Whether to carry out the command with this ID; `false` if it already arrived over an earlier connection.
    fn takes(self, id: Option<CommandId>) -> bool {
        match (self.client, self.greeting.client.as_deref(), id) {
            (Client::Person { clients, .. }, Some(client), Some(id)) => clients.take(client, id),
            _ => true,
        }
    }

    fn is_remote(self) -> bool {
        matches!(self.client, Client::Person { .. })
    }
}

/// Passes on the commands of the client until it disconnects.
async fn hear(
    mut lines: Lines<impl AsyncRead + Unpin>,
    owned: Owned<'_>,
    greeted: Greeted<'_>,
    complaints: mpsc::Sender<Complaint>,
    progress: mpsc::UnboundedSender<(CommandId, CommandStatus)>,
) {
    while let Some(line) = next_line(&mut lines, greeted).await {
        let passed_on = match line {
            Line::Whole(line) if line.trim_ascii().is_empty() => Ok(()),
            Line::Whole(line) => {
                let id = id_of(line);
                let ticket =
                    id.map_or_else(CommandTicket::none, |id| CommandTicket::of(id, progress.clone()));
                match greeted.takes(id) {
                    true => pass_on(line, ticket, greeted.client, owned)
                        .map_err(|message| Complaint { message, id }),
                    false => {
                        ticket.done(owned.journal);
                        Ok(())
                    }
                }
            }
            Line::TooLong => Err(Complaint { message: too_long("a command"), id: None }),
        };
        if let Err(complaint) = passed_on {
            let _they_left = complaints.send(complaint).await;
        }
    }
}

/// The next line; `None` if the client disconnected. Another machine may vanish silently, so its client sends a line
/// periodically.
async fn next_line<'a>(
    lines: &'a mut Lines<impl AsyncRead + Unpin>,
    greeted: Greeted<'_>,
) -> Option<Line<'a>> {
    match greeted.is_remote() {
        true => timeout(SILENCE, lines.next()).await.ok()?.ok()?,
        false => lines.next().await.ok()?,
    }
}

/// Why a message of the client was refused.
struct Complaint {
    message: String,
    id: Option<CommandId>,
}

/// The ID that the client gave a command.
fn id_of(line: &[u8]) -> Option<CommandId> {
    #[derive(Deserialize)]
    struct Named {
        id: CommandId,
    }
    serde_json::from_slice::<Named>(line).ok().map(|named| named.id)
}

fn pass_on(
    line: &[u8],
    ticket: CommandTicket,
    client: Client<'_>,
    Owned { mailbox, permission, .. }: Owned<'_>,
) -> Result<(), String> {
    let command: Command =
        serde_json::from_slice(line).map_err(|error| format!("the command cannot be read: {error}"))?;
    let command = match client {
        Client::Process(peer) => taken(command, peer, permission)?,
        Client::Person { user, .. } => taken_from_afar(command)?.signed(user),
    };
    // If a local client disconnects before these commands begin, they are dropped. A client on another machine may only
    // have lost its connection.
    let is_bound = matches!(client, Client::Process(_))
        && matches!(
            command,
            Command::Rewind { .. }
                | Command::UndoCalls(_)
                | Command::Redo
                | Command::SendItem { .. }
                | Command::DropItem { .. }
        );
    let ticket = if is_bound { ticket.bound() } else { ticket };
    let sent = mailbox
        .upgrade()
        .is_some_and(|mailbox| mailbox.send(SessionMessage::Command(command, ticket)).is_ok());
    if sent { Ok(()) } else { Err("the session is about to close and takes no commands".into()) }
}

/// Checks a client's command: it must be allowed for this client, and must not set a more permissive mode than the
/// current one.
fn taken(command: Command, peer: Peer, permission: &Permission) -> Result<Command, String> {
    match command {
        Command::SetMode { mode } => Ok(Command::SetMode { mode: mode.min(permission.mode()) }),
        // A command that the model runs cannot add a folder to its own session.
        Command::AddRoot { .. } => {
            Err("a folder can be added only by the process that has the session open".into())
        }
        // A command that the model runs cannot change the goal of its own session. The check is judged like calls of
        // the model.
        Command::SetGoal { goal } => {
            let refused =
                |why| format!("the goal of process {} is not taken for a person's: {why}", peer.pid());
            peer.may_allow().map_err(refused)?;
            Ok(Command::SetGoal { goal: goal.map(|goal| Goal { is_typed: false, ..goal }) })
        }
        Command::Call { .. } | Command::TypedCall { .. } | Command::ProposedCall { .. } => {
            Err("a call can be made only by the process that has the session open".into())
        }
        // A command that the model runs can neither send or drop items of its own outbox nor withdraw prompts.
        Command::SendItem { .. } | Command::DropItem { .. } | Command::WithdrawPrompt => {
            let refused =
                |why| format!("the command of process {} is not taken for a person's: {why}", peer.pid());
            peer.may_allow().map(|()| command).map_err(refused)
        }
        Command::Conclude(_) => {
            Err("a job can be concluded only by the process that has its session open".into())
        }
        Command::Answer { answer: Answer::Once | Answer::Always, .. }
        | Command::AnswerInPart { .. }
        | Command::Reply { answer: Some(_), .. } => {
            let refused =
                |why| format!("the answer of process {} is not taken for a person's: {why}", peer.pid());
            peer.may_allow().map(|()| command).map_err(refused)
        }
        command @ (Command::Prompt { .. }
        | Command::PromptWithSchema { .. }
        | Command::KeepSetup
        | Command::OpenOutbox
        | Command::Interrupt
        | Command::Answer {
            answer: Answer::No | Answer::Unanswered | Answer::NotUnderstood,
            ..
        }
        | Command::Reply { answer: None, .. }
        | Command::Continue
        | Command::Rewind { .. }
        | Command::UndoCalls(_)
        | Command::Redo
        | Command::Compact) => Ok(command),
    }
}

/// Checks the command of a client on another machine, which may set any mode that the session allows.
fn taken_from_afar(command: Command) -> Result<Command, String> {
    match command {
        Command::Call { .. } | Command::TypedCall { .. } => {
            Err("a person can make a call only where the session is open; ask the agent to make it".into())
        }
        Command::AddRoot { .. } => Err("a folder can be added only where the session is open".into()),
        Command::Conclude(_) => Err("a job can be concluded only where its session is open".into()),
        // The check is judged as calls of the model are.
        Command::SetGoal { goal } => {
            Ok(Command::SetGoal { goal: goal.map(|goal| Goal { is_typed: false, ..goal }) })
        }
        command => Ok(command),
    }
}

/// Sends events to the client until the session has closed.
async fn tell(
    mut writer: impl AsyncWrite + Unpin,
    Owned { journal, .. }: Owned<'_>,
    greeted: Greeted<'_>,
    (joined, mut told): (Notice, Outgoing),
) -> io::Result<()> {
    say(&mut writer, &joined).await?;
    let mut events = pin!(journal.follow(greeted.greeting.from));
    let mut have = greeted.greeting.from;
    let failure = loop {
        tokio::select! {
            Some(Complaint { message, id }) = told.complaints.recv() => {
                say(&mut writer, &Notice::Error { message, id }).await?;
            }
            Some((id, progress)) = told.progress.recv() => told.tell(&mut writer, id, progress, have).await?,
            () = tokio::time::sleep(HEARTBEAT), if greeted.is_remote() => write(&mut writer, String::new()).await?,
            event = events.next() => match event {
                None => break journal.failure().map(str::to_owned),
                Some(event) => {
                    // Sent first, because a command begins before its first entry is recorded.
                    while let Ok((id, progress)) = told.progress.try_recv() {
                        told.tell(&mut writer, id, progress, have).await?;
                    }
                    if let (Event::Recorded(entry), Client::Person { stage, .. }) = (&event, greeted.client) {
                        told.send_contents(&mut writer, entry, stage).await?;
                    }
                    match line_of(&event) {
                        Ok(line) => write(&mut writer, line).await?,
                        Err(_) if matches!(event, Event::Live(_)) => {}
                        Err(why) => break Some(why),
                    }
                    if let Event::Recorded(entry) = &event {
                        have = Seq(entry.seq.0 + 1);
                        told.end_up_to(&mut writer, have).await?;
                    }
                }
            }
        }
    };
    say(&mut writer, &Notice::Closed { failure }).await
}

/// Messages to a client in addition to events.
struct Outgoing {
    complaints: mpsc::Receiver<Complaint>,
    progress: CommandStatuses,
    /// Commands that are done once all entries before that number were sent.
    done: Vec<(CommandId, Seq)>,
    /// The contents that were sent.
    sent: HashSet<Hash>,
}

impl Outgoing {
    /// Sends messages. All entries before `have` were sent.
    async fn tell(
        &mut self,
        writer: &mut (impl AsyncWrite + Unpin),
        id: CommandId,
        progress: CommandStatus,
        have: Seq,
    ) -> io::Result<()> {
        match progress {
            CommandStatus::Begun { from } => say(writer, &Notice::Begun { id, from }).await,
            CommandStatus::Queued => say(writer, &Notice::Queued { id }).await,
            CommandStatus::Done { to } => {
                self.done.push((id, to));
                self.end_up_to(writer, have).await
            }
            CommandStatus::Refused { why } => {
                say(writer, &Notice::Error { message: why, id: Some(id) }).await
            }
        }
    }

    /// Sends the texts of files that `entry` names and that were not sent: the client reads no file of this machine.
    async fn send_contents(
        &mut self,
        writer: &mut (impl AsyncWrite + Unpin),
        entry: &Entry,
        stage: &dyn Stage,
    ) -> io::Result<()> {
        for hash in hashes_in(entry) {
            if self.sent.contains(&hash) {
                continue;
            }
            let content = stage.content(&hash).ok().filter(|content| content.len() <= MAX_CONTENT_BYTES);
            if let Some(text) = content.and_then(|content| String::from_utf8(content).ok()) {
                say(writer, &Notice::Content { hash: hash.clone(), text }).await?;
            }
            self.sent.insert(hash);
        }
        Ok(())
    }

    async fn end_up_to(&mut self, writer: &mut (impl AsyncWrite + Unpin), have: Seq) -> io::Result<()> {
        for (id, _) in self.done.extract_if(.., |(_, to)| *to <= have) {
            say(writer, &Notice::Done { id }).await?;
        }
        Ok(())
    }
}

/// The contents that the changes in `entry` name.
fn hashes_in(entry: &Entry) -> Vec<Hash> {
    let changes = changed::changes_in(&entry.fact);
    let states = changes.iter().flat_map(|change| [&change.before, &change.after]).flatten();
    states.map(|state| state.hash.clone()).collect()
}

fn line_of(event: &Event) -> Result<String, String> {
    let at = SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default().as_millis() as u64;
    let line = line::of(event, at);
    if line.len() <= MAX_LINE_BYTES { Ok(line) } else { Err(too_long("an entry of the journal")) }
}
