//! A session as it is seen by a process that has joined it: the journal is a mirror, commands go through the door.
use super::{
    Greeting, Notice, address,
    lines::{Line, Lines, say},
};
use crate::{journal::Journal, session::mail::Mail};
use haft_core::{Event, Mode, Seq, line};
use std::{future::pending, io, path::Path, time::Duration};
use tokio::{
    net::{
        UnixStream,
        unix::{OwnedReadHalf, OwnedWriteHalf},
    },
    sync::mpsc,
};
use tokio_util::sync::CancellationToken;

/// So long the owner may take for the next line while the past is told.
const ANSWER: Duration = Duration::from_secs(10);

/// Why nobody opened.
#[derive(Debug)]
pub(crate) enum Knock {
    /// No process listens there, or it just went.
    NoDoor,
    /// In the words of that process, or of the system.
    Refused(String),
}

/// What came in with a line.
enum Heard {
    /// The journal has it; of an entry its place.
    Event(Option<Seq>),
    Notice(Notice),
    /// There is no line any more.
    Gone,
}

/// Inside, with all that was recorded so far.
pub(crate) struct Visit {
    journal: Journal,
    lines: Lines<OwnedReadHalf>,
    writer: OwnedWriteHalf,
    mode: Mode,
    may_allow: bool,
}

/// Joins the session in `folder`.
pub(crate) async fn knock(folder: &Path) -> Result<Visit, Knock> {
    let stream = connect(folder).await.map_err(|error| match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused => Knock::NoDoor,
        _ => Knock::Refused(error.to_string()),
    })?;
    let (reader, writer) = stream.into_split();
    let mut visit = Visit {
        journal: Journal::mirror(folder),
        lines: Lines::new(reader),
        writer,
        mode: Mode::default(),
        may_allow: false,
    };
    visit.enter().await?;
    Ok(visit)
}

async fn connect(folder: &Path) -> io::Result<UnixStream> {
    let (address, _held_open) = address(folder)?;
    UnixStream::connect(address).await
}

impl Visit {
    pub(crate) fn journal(&self) -> Journal {
        self.journal.clone()
    }

    /// The mode that held when the door opened.
    pub(crate) fn mode(&self) -> Mode {
        self.mode
    }

    /// Whether an answer that is given here counts as a person's.
    pub(crate) fn may_allow(&self) -> bool {
        self.may_allow
    }

    /// On return the mirror holds what was recorded when the door opened.
    async fn enter(&mut self) -> Result<(), Knock> {
        say(&mut self.writer, &Greeting { from: Seq(0) }).await.map_err(|_| Knock::NoDoor)?;
        let (mut wanted, mut have) = (None, Seq(0));
        while wanted.is_none_or(|wanted| have < wanted) {
            let heard = tokio::time::timeout(ANSWER, hear(&mut self.lines, &self.journal)).await;
            match heard.map_err(|_| Knock::Refused("it does not answer".into()))? {
                Heard::Notice(Notice::Joined { next, mode, may_allow }) => {
                    (wanted, self.mode, self.may_allow) = (Some(next), mode, may_allow);
                }
                Heard::Event(Some(seq)) => have = Seq(seq.0 + 1),
                Heard::Event(None) => {}
                Heard::Notice(Notice::Error { message } | Notice::Closed { failure: Some(message) }) => {
                    return Err(Knock::Refused(message));
                }
                Heard::Notice(Notice::Closed { failure: None }) | Heard::Gone => return Err(Knock::NoDoor),
            }
        }
        Ok(())
    }

    /// Sees and passes on, until the owner or everybody here leaves, or `stop`.
    pub(crate) async fn stay(self, inbox: mpsc::UnboundedReceiver<Mail>, stop: CancellationToken) {
        let Self { journal, lines, writer, .. } = self;
        let failure = tokio::select! {
            biased;
            () = stop.cancelled() => None,
            failure = watch(lines, &journal) => Some(failure),
            () = pass_on(inbox, writer) => None,
        };
        journal.close(failure);
    }
}

/// Why nothing more is seen.
async fn watch(mut lines: Lines<OwnedReadHalf>, journal: &Journal) -> String {
    loop {
        match hear(&mut lines, journal).await {
            Heard::Event(_) | Heard::Notice(Notice::Joined { .. }) => {}
            // Whoever waits for what comes of a command must not wait for ever.
            Heard::Notice(Notice::Error { message }) => {
                return format!("the process that has the session open did not take a command: {message}");
            }
            Heard::Notice(Notice::Closed { failure: None }) => {
                return "the process that had the session open has closed it".into();
            }
            Heard::Notice(Notice::Closed { failure: Some(why) }) => {
                return format!("the process that had the session open has closed it: {why}");
            }
            Heard::Gone => {
                return "the process that had the session open is gone without closing it; \
                        open the session again to take it up"
                    .into();
            }
        }
    }
}

/// The next line. What cannot be read, such as a fact of a newer Haft, is left out.
async fn hear(lines: &mut Lines<OwnedReadHalf>, journal: &Journal) -> Heard {
    let line = match lines.next().await {
        Ok(Some(Line::Whole(line))) => line,
        Ok(Some(Line::TooLong)) => return Heard::Event(None),
        Ok(None) | Err(_) => return Heard::Gone,
    };
    match line::read(line) {
        Ok(Event::Recorded(entry)) => {
            let seq = entry.seq;
            journal.take_in(entry);
            Heard::Event(Some(seq))
        }
        Ok(Event::Live(update)) => {
            journal.live(update);
            Heard::Event(None)
        }
        Err(error) => serde_json::from_slice(line).map_or_else(
            |_| {
                tracing::warn!(%error, "a line of another process cannot be read and was left out");
                Heard::Event(line::seq_of(line))
            },
            Heard::Notice,
        ),
    }
}

/// Until all handles are gone. Jobs and their ends come from a session's own calls, of which there are none here.
async fn pass_on(mut inbox: mpsc::UnboundedReceiver<Mail>, mut writer: OwnedWriteHalf) {
    while let Some(mail) = inbox.recv().await {
        let Mail::Command(command) = mail else { continue };
        if say(&mut writer, &command).await.is_err() {
            // Whoever reads here learns why from what the owner said last.
            return pending().await;
        }
    }
}
