//! [`Dial`] and [`RemoteClients`]: how a session on another machine is reached, and who has reached it.
use crate::session::mailbox::CommandId;
use futures::future::BoxFuture;
use std::{collections::HashMap, sync::Mutex};
use tokio::io::{AsyncRead, AsyncWrite};

pub(super) type Reader = Box<dyn AsyncRead + Send + Unpin>;
pub(super) type Writer = Box<dyn AsyncWrite + Send + Unpin>;

/// Clients of which the last command is known; of more, those are forgotten that came first.
const MAX_CLIENTS: usize = 1_000;

/// Reaches a session that another machine has open. It is dialed again whenever the connection is lost.
pub trait Dial: Send + Sync {
    /// The address of the session, for people.
    fn address(&self) -> String;

    /// Connects. The other machine must answer with [`Served::serve`](super::Served::serve).
    fn dial(&self) -> BoxFuture<'_, Result<Link, NotDialed>>;
}

/// Why a session was not reached.
#[derive(Debug, PartialEq, Eq)]
pub enum NotDialed {
    /// It may be reached later: why not now.
    Lost(String),
    /// It cannot be reached: why, and what to do.
    Refused(String),
}

/// The two directions of a connection.
pub struct Link {
    pub(super) reader: Reader,
    pub(super) writer: Writer,
}

impl Link {
    /// What is read and what is written are lines of JSON; after each line the writer is flushed.
    pub fn new(
        reader: impl AsyncRead + Send + Unpin + 'static,
        writer: impl AsyncWrite + Send + Unpin + 'static,
    ) -> Self {
        Self { reader: Box::new(reader), writer: Box::new(writer) }
    }
}

/// The last command that was taken from each client on another machine. A client that connects again is told, so that it
/// sends nothing twice and leaves nothing out.
#[derive(Debug, Default)]
pub struct RemoteClients(Mutex<Known>);

#[derive(Debug, Default)]
struct Known {
    last: HashMap<String, CommandId>,
    /// In the order in which they came.
    names: Vec<String>,
}

impl RemoteClients {
    /// The last command that was taken from `client`; `None` if it comes for the first time.
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

    /// Whether this command is to be carried out: `false` if it was taken before.
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
