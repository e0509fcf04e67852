//! [`Dial`] connects to a session on another machine. [`RemoteClients`]: the clients on other machines that have
//! connected to a session.
use crate::session::mailbox::CommandId;
use futures::future::BoxFuture;
use std::{collections::HashMap, sync::Mutex};
use tokio::io::{AsyncRead, AsyncWrite};

pub(super) type Reader = Box<dyn AsyncRead + Send + Unpin>;
pub(super) type Writer = Box<dyn AsyncWrite + Send + Unpin>;

/// Maximum clients whose last command is kept; beyond that, the earliest clients are forgotten.
const MAX_CLIENTS: usize = 1_000;

/// Connects to a session that another machine has open. Called again whenever the connection is lost.
pub trait Dial: Send + Sync {
    /// The address of the session, for users.
    fn address(&self) -> String;

    /// Connects. The other machine must answer with [`Served::serve`](super::Served::serve).
    fn dial(&self) -> BoxFuture<'_, Result<Link, NotDialed>>;
}

/// Why a session was not reached.
#[derive(Debug, PartialEq, Eq)]
pub enum NotDialed {
    /// The session may be reachable later; why it is not reachable at the moment.
    Lost(String),
    /// The session cannot be reached; why, and what to do.
    Refused(String),
}

/// The two directions of a connection.
pub struct Link {
    pub(super) reader: Reader,
    pub(super) writer: Writer,
}

impl Link {
    /// Creates a link. Both directions carry lines of JSON; the writer is flushed after each line.
    pub fn new(
        reader: impl AsyncRead + Send + Unpin + 'static,
        writer: impl AsyncWrite + Send + Unpin + 'static,
    ) -> Self {
        Self { reader: Box::new(reader), writer: Box::new(writer) }
    }
}

/// The last command that was accepted from each client on another machine. A client that reconnects receives it, so
/// that it neither repeats nor omits a command.
#[derive(Debug, Default)]
pub struct RemoteClients(Mutex<Known>);

#[derive(Debug, Default)]
struct Known {
    last: HashMap<String, CommandId>,
    /// IDs of the clients, in the order in which they first connected.
    names: Vec<String>,
}

impl RemoteClients {
    /// The last command that was accepted from `client`; `None` at its first connection.
    pub(super) fn greet(&self, client: &str) -> Option<CommandId> {
        let mut known = self.0.lock().expect("no code panics while it holds the clients");
        if let Some(last) = known.last.get(client) {
            return Some(*last);
        }
        if known.names.len() >= MAX_CLIENTS {
            let oldest = known.names.remove(0);
            known.last.remove(&oldest);
        }
        known.names.push(client.to_owned());
        known.last.insert(client.to_owned(), 0);
        None
    }

    /// Accepts a command; returns `false` if it was accepted before.
    pub(super) fn take(&self, client: &str, id: CommandId) -> bool {
        let mut known = self.0.lock().expect("no code panics while it holds the clients");
        match known.last.get_mut(client) {
            Some(last) if *last >= id => false,
            Some(last) => {
                *last = id;
                true
            }
            None => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_taken_once_from_each_client() {
        let clients = RemoteClients::default();
        assert_eq!((clients.greet("a"), clients.greet("b")), (None, None));
        let taken =
            [("a", 1), ("a", 2), ("a", 2), ("a", 1), ("b", 1)].map(|(name, id)| clients.take(name, id));
        assert_eq!(taken, [true, true, false, false, true]);
        assert_eq!((clients.greet("a"), clients.greet("b")), (Some(2), Some(1)));
        for number in 0..MAX_CLIENTS {
            assert_eq!(clients.greet(&number.to_string()), None);
        }
        assert_eq!(clients.greet("a"), None);
    }
}
