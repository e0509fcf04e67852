//! Server side of one client connection to a session: see [`receive`].
use super::{
    Greeting, Notice,
    lines::{Line, Lines, MAX_LINE_BYTES, say, write},
    peer::Peer,
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
use haft_core::{Answer, Command, Event, Goal, Seq, line};
use serde::Deserialize;
use std::{
    io,
    pin::pin,
    time::{Duration, SystemTime},
};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::UnixStream,
    sync::mpsc,
};

/// A client that sends nothing for this long is disconnected.
const GREETING_TIMEOUT: Duration = Duration::from_secs(10);
/// Complaints that wait to be written; then nothing more is read.
const MAX_COMPLAINTS: usize = 8;

/// The session as its clients meet it.
#[derive(Clone, Copy)]
pub(super) struct Owned<'a> {
    pub(super) journal: &'a Journal,
    pub(super) mailbox: &'a mpsc::WeakUnboundedSender<SessionMessage>,
    pub(super) permission: &'a Permission,
}

/// Until they leave, or the session has closed; without a `peer` they cannot stay.
pub(super) async fn receive(stream: UnixStream, peer: Result<Peer, String>, owned: Owned<'_>) {
    let (reader, mut writer) = stream.into_split();
    let mut lines = Lines::new(reader);
    let greeted = match peer {
        Ok(peer) => tokio::select! {
            greeted = greeting(&mut lines) => greeted.map(|from| from.map(|from| (from, peer))),
            () = tokio::time::sleep(GREETING_TIMEOUT) => Ok(None),
            () = owned.journal.closed() => Ok(None),
        },
        Err(why) => Err(why),
    };
    match greeted {
        Ok(Some((from, peer))) => {
            let (complaints, heard) = mpsc::channel(MAX_COMPLAINTS);
            let (sender, progress) = mpsc::unbounded_channel();
            let told = Outgoing { complaints: heard, progress, done: Vec::new() };
            tokio::select! {
                () = hear(lines, owned, peer, complaints, sender) => {}
                _they_left = tell(writer, owned, peer, from, told) => {}
            }
        }
        Ok(None) => {}
        Err(message) => {
            let _they_left = say(&mut writer, &Notice::Error { message, id: None }).await;
        }
    }
}

/// Where the client wants to begin; `None` if it left.
async fn greeting(lines: &mut Lines<impl AsyncRead + Unpin>) -> Result<Option<Seq>, String> {
    let expected = |why: String| format!("the first line must be {{\"from\":SEQ}}: {why}");
    match lines.next().await {
        Ok(Some(Line::Whole(line))) => match serde_json::from_slice::<Greeting>(line) {
            Ok(Greeting { from }) => Ok(Some(from)),
            Err(error) => Err(expected(error.to_string())),
        },
        Ok(Some(Line::TooLong)) => Err(expected(too_long("it"))),
        Ok(None) | Err(_) => Ok(None),
    }
}

/// Passes on what they ask for, until they leave.
async fn hear(
    mut lines: Lines<impl AsyncRead + Unpin>,
    owned: Owned<'_>,
    peer: Peer,
    complaints: mpsc::Sender<Complaint>,
    progress: mpsc::UnboundedSender<(CommandId, CommandStatus)>,
) {
    while let Ok(Some(line)) = lines.next().await {
        let passed_on = match line {
            Line::Whole(line) if line.trim_ascii().is_empty() => Ok(()),
            Line::Whole(line) => {
                let id = id_of(line);
                let ticket =
                    id.map_or_else(CommandTicket::none, |id| CommandTicket::of(id, progress.clone()));
                pass_on(line, ticket, peer, owned).map_err(|message| Complaint { message, id })
            }
            Line::TooLong => Err(Complaint { message: too_long("a command"), id: None }),
        };
        if let Err(complaint) = passed_on {
            let _they_left = complaints.send(complaint).await;
        }
    }
}

/// Something that the client said and that is not done.
struct Complaint {
    message: String,
    id: Option<CommandId>,
}

/// The name that the client gave a command.
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
    peer: Peer,
    Owned { mailbox, permission, .. }: Owned<'_>,
) -> Result<(), String> {
    let command: Command =
        serde_json::from_slice(line).map_err(|error| format!("the command cannot be read: {error}"))?;
    let command = taken(command, peer, permission)?;
    let sent = mailbox
        .upgrade()
        .is_some_and(|mailbox| mailbox.send(SessionMessage::Command(command, ticket)).is_ok());
    if sent { Ok(()) } else { Err("the session is about to close and takes no commands".into()) }
}

/// What comes of a client's command: what they may not ask for is not done, and no mode is wider than the one that holds.
fn taken(command: Command, peer: Peer, permission: &Permission) -> Result<Command, String> {
    match command {
        Command::SetMode { mode } => Ok(Command::SetMode { mode: mode.min(permission.mode()) }),
        // A command of the model adds no folder to its own session.
        Command::AddRoot { .. } => {
            Err("a folder can be added only by the process that has the session open".into())
        }
        // A command of the model gives itself no other goal. The check is judged as calls of the model are.
        Command::SetGoal { goal } => {
            let refused =
                |why| format!("the goal of process {} is not taken for a person's: {why}", peer.pid());
            peer.may_allow().map_err(refused)?;
            Ok(Command::SetGoal { goal: goal.map(|goal| Goal { is_typed: false, ..goal }) })
        }
        Command::Call { .. } | Command::TypedCall { .. } | Command::ProposedCall { .. } => {
            Err("a call can be made only by the process that has the session open".into())
        }
        // A command of the model sends nothing of its own outbox.
        Command::SendItem { .. } | Command::DropItem { .. } => {
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
        | Command::OpenOutbox
        | Command::Interrupt
        | Command::Answer { answer: Answer::No | Answer::Unanswered, .. }
        | Command::Reply { answer: None, .. }
        | Command::Continue
        | Command::Rewind { .. }
        | Command::UndoCalls(_)
        | Command::Redo
        | Command::Compact) => Ok(command),
    }
}

/// Tells what happens from `from` on, until the session has closed.
async fn tell(
    mut writer: impl AsyncWrite + Unpin,
    Owned { journal, permission, .. }: Owned<'_>,
    peer: Peer,
    from: Seq,
    mut told: Outgoing,
) -> io::Result<()> {
    let next = journal.last(|_| true).map_or(Seq(0), |last| Seq(last.0 + 1));
    let may_allow = peer.may_allow().is_ok();
    say(&mut writer, &Notice::Joined { next, mode: permission.mode(), may_allow }).await?;
    let mut events = pin!(journal.follow(from));
    let mut have = from;
    let failure = loop {
        tokio::select! {
            Some(Complaint { message, id }) = told.complaints.recv() => {
                say(&mut writer, &Notice::Error { message, id }).await?;
            }
            Some((id, progress)) = told.progress.recv() => told.tell(&mut writer, id, progress, have).await?,
            event = events.next() => match event {
                None => break journal.failure().map(str::to_owned),
                Some(event) => {
                    // A command begins before its first entry is recorded.
                    while let Ok((id, progress)) = told.progress.try_recv() {
                        told.tell(&mut writer, id, progress, have).await?;
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

/// What is sent to a client beside events.
struct Outgoing {
    complaints: mpsc::Receiver<Complaint>,
    progress: CommandStatuses,
    /// Commands that are done when the entries before that place are sent.
    done: Vec<(CommandId, Seq)>,
}

impl Outgoing {
    /// All before `have` is sent.
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

    async fn end_up_to(&mut self, writer: &mut (impl AsyncWrite + Unpin), have: Seq) -> io::Result<()> {
        for (id, _) in self.done.extract_if(.., |(_, to)| *to <= have) {
            say(writer, &Notice::Done { id }).await?;
        }
        Ok(())
    }
}

fn line_of(event: &Event) -> Result<String, String> {
    let at = SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default().as_millis() as u64;
    let line = line::of(event, at);
    if line.len() <= MAX_LINE_BYTES { Ok(line) } else { Err(too_long("an entry of the journal")) }
}

fn too_long(what: &str) -> String {
    format!("{what} takes more than {} MB", MAX_LINE_BYTES >> 20)
}
