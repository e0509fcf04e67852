//! [`SessionSocket`]: a Unix socket in the folder of a session, through which other processes join it.
//!
//! A session has one writer, held by its journal's lock. A process that finds it locked connects to the owner, the
//! process that has the session open. It receives events and sends commands, which the owner carries out. Both
//! directions are lines of JSON.
//!
//! ```text
//! client: {"from":SEQ}                 first, and once
//! owner:  {"type":"joined","next":SEQ,"mode":MODE,"may_allow":BOOL}  the entries recorded before follow
//! owner:  {"seq":…,"at":…,"type":…}    events from SEQ on, as `haft_core::line` writes them
//! client: {"type":"interrupt"}         a `haft_core::Command`; with "id":NUMBER, its progress is reported:
//! owner:  {"type":"begun","id":NUMBER,"from":SEQ}  before the first entry of the command
//! owner:  {"type":"queued","id":NUMBER}  the command waits for the running turn, and is in the journal
//! owner:  {"type":"done","id":NUMBER}  after the last entry of the command
//! owner:  {"type":"error","message":…,"id":NUMBER|null}  the command cannot be read or is refused; nothing follows
//! owner:  {"type":"closed","failure":…|null}
//! ```
//!
//! A client may send prompts, interrupt, undo, and choose a stricter mode. It cannot choose a more permissive mode,
//! make a call or conclude a job. Its approvals count only if the user started it: see [`peer`]. A process that the
//! owner started, such as a command of the agent, is rejected.
//!
//! A client that reads slowly loses live updates, but never facts, which it gets from the journal.
//!
//! A program that serves a session to users at other machines ([`Served`]) uses the same protocol, over a connection of
//! its own. There the client sends an ID of its own, so that each command is carried out once even if the connection is
//! lost, and receives the texts of files. [`Relay`] is a session that such a program does not have open itself, as when
//! a fleet server serves the jobs of its workers:
//!
//! ```text
//! client: {"from":SEQ,"client":NAME}
//! owner:   {"type":"joined",…,"ceiling":MODE,"is_at_rest":BOOL,"taken":NUMBER|null} the last command taken from NAME
//! owner:   {"type":"content","hash":HASH,"text":…} before the first entry that names it
//! both:    an empty line now and then
//! ```
mod client;
mod connection;
mod contents;
mod given;
mod joining;
mod lines;
mod peer;
mod relay;
mod remote;
mod repeated;
mod served;

use client::{Connection, NotConnected, connect};
pub(crate) use joining::{attach, join};
pub use relay::{Relay, Relayed};
pub use remote::{Dial, Link, NotDialed, RemoteClients};
pub use served::Served;

use self::{
    connection::{Client, Owned},
    peer::Peer,
};
use crate::{
    journal::Journal,
    session::{mailbox::CommandId, mailbox::SessionMessage, responder::Answering},
};
use futures::{StreamExt, stream::FuturesUnordered};
use haft_call::Permission;
use haft_core::{Hash, Mode, Seq};
use serde::{Deserialize, Serialize};
use std::{
    fs::{self, File, Permissions},
    io,
    os::{
        fd::AsRawFd,
        unix::{
            fs::{MetadataExt, PermissionsExt},
            net,
        },
    },
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};
use tokio::{
    net::{UnixListener, UnixStream},
    sync::mpsc,
};

/// The socket's name in the folder of its session.
const FILE_NAME: &str = "socket";
/// Bytes that fit into the address of a socket (`sun_path` without the terminating zero byte).
const MAX_ADDRESS_BYTES: usize = 107;
/// Maximum clients; further ones are rejected.
const MAX_CLIENTS: usize = 64;
/// How long a client that reads slowly may delay the end of a session.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);
/// Pause after the system failed to accept a connection.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// The first line of a client.
#[derive(Debug, Serialize, Deserialize)]
struct Greeting {
    /// The first entry that the client wants.
    from: Seq,
    /// The ID that a client on another machine has chosen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    client: Option<String>,
}

/// Messages of the owner in addition to events.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Notice {
    /// The client was accepted.
    Joined {
        /// The number of the next entry: all earlier ones are sent first.
        next: Seq,
        /// The current mode; an older Haft does not send it.
        #[serde(default)]
        mode: Mode,
        /// Whether approvals of the client count as the user's.
        #[serde(default = "yes")]
        may_allow: bool,
        /// The most permissive mode that may be chosen. This field and the next ones are sent only to other machines.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        ceiling: Option<Mode>,
        /// No turn runs.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        is_at_rest: bool,
        /// The last command that was accepted from the client; `None` at its first connection.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        taken: Option<CommandId>,
    },
    /// The text of a file whose hash the next entries name.
    Content { hash: Hash, text: String },
    /// The command begins to run: its first entry has the number `from` or a later one.
    Begun { id: CommandId, from: Seq },
    /// The command waits, and is in the journal.
    Queued { id: CommandId },
    /// The command is done, and all its entries were sent.
    Done { id: CommandId },
    /// A message of the client is invalid or refused, or the client is not admitted.
    Error {
        message: String,
        /// The command, if the client gave it an ID.
        #[serde(default)]
        id: Option<CommandId>,
    },
    /// The session has closed.
    Closed { failure: Option<String> },
}

/// The open socket of a session. Dropping this removes the socket.
pub(crate) struct SessionSocket {
    listener: UnixListener,
    path: PathBuf,
    /// The user that may connect.
    owner: u32,
    /// Holds the journal's lock, so that no other process creates a socket before this one is removed.
    journal: Journal,
    /// Weak, so that clients do not keep the session open.
    mailbox: mpsc::WeakUnboundedSender<SessionMessage>,
    permission: Permission,
    answering: Arc<Answering>,
}

impl SessionSocket {
    /// Opens the socket in `folder`, whose journal this process writes. `None` if the system cannot create one: the
    /// session works without it.
    pub(crate) fn open(
        folder: &Path,
        journal: &Journal,
        mailbox: &mpsc::UnboundedSender<SessionMessage>,
        permission: &Permission,
        answering: &Arc<Answering>,
    ) -> Option<Self> {
        let path = folder.join(FILE_NAME);
        match listen(folder, &path) {
            Ok((listener, owner)) => {
                let (journal, mailbox, permission) =
                    (journal.clone(), mailbox.downgrade(), permission.clone());
                let answering = answering.clone();
                Some(Self { listener, path, owner, journal, mailbox, permission, answering })
            }
            Err(error) => {
                tracing::warn!(path = %path.display(), %error, "no other process can join this session");
                None
            }
        }
    }

    /// Serves clients until the session has closed and they were notified.
    pub(crate) async fn serve(self) {
        let mut clients = FuturesUnordered::new();
        loop {
            tokio::select! {
                () = self.journal.closed() => break,
                Some(()) = clients.next(), if !clients.is_empty() => {}
                come = self.listener.accept() => match come {
                    Ok((stream, _)) if clients.len() < MAX_CLIENTS => clients.push(self.receive(stream)),
                    Ok(_sent_away) => {}
                    Err(error) => {
                        tracing::warn!(%error, "a client could not connect");
                        tokio::time::sleep(ACCEPT_PAUSE).await;
                    }
                }
            }
        }
        let _slow_ones_miss_it = tokio::time::timeout(CLOSE_TIMEOUT, clients.collect::<()>()).await;
    }

    async fn receive(&self, stream: UnixStream) {
        // The user of the other process may answer.
        let _listener = self.answering.listen();
        let client = Peer::of(&stream, self.owner).map(Client::Process);
        let owned = Owned { journal: &self.journal, mailbox: &self.mailbox, permission: &self.permission };
        let (reader, writer) = stream.into_split();
        connection::receive(Link::new(reader, writer), client, owned).await;
    }
}

/// An older Haft did not check its clients.
fn yes() -> bool {
    true
}

impl Drop for SessionSocket {
    fn drop(&mut self) {
        let _it_may_be_gone = fs::remove_file(&self.path);
    }
}

/// Opens the socket; returns it and the ID of the user who owns it. Replaces a socket that a dead process left: this
/// process holds the journal's lock.
fn listen(folder: &Path, path: &Path) -> io::Result<(UnixListener, u32)> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let (address, _held_open) = address(folder)?;
    let listener = net::UnixListener::bind(address)?;
    fs::set_permissions(path, Permissions::from_mode(0o600))?;
    listener.set_nonblocking(true)?;
    Ok((UnixListener::from_std(listener)?, fs::metadata(path)?.uid()))
}

/// The address of the socket in `folder`. A path that is too long is replaced by a short one through its open folder,
/// valid while the returned file is open.
fn address(folder: &Path) -> io::Result<(PathBuf, Option<File>)> {
    let path = folder.join(FILE_NAME);
    if path.as_os_str().len() <= MAX_ADDRESS_BYTES {
        return Ok((path, None));
    }
    let folder = File::open(folder)?;
    Ok((format!("/proc/self/fd/{}/{FILE_NAME}", folder.as_raw_fd()).into(), Some(folder)))
}
