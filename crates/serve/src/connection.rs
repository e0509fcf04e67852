//! [`Connections`]: limits the number of connections, and how long a connection may be idle.
//!
//! A client that has not sent a valid token yet is a stranger. The number of strangers is limited: a new one closes the
//! oldest, so that a client that holds connections open does not keep others out.
use parking_lot::Mutex;
use std::{
    collections::VecDeque,
    io,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    task::{Context, Poll, ready},
    time::Duration,
};
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::TcpStream,
    time::{Sleep, sleep},
};
use tokio_util::sync::CancellationToken;

/// Maximum number of connected strangers.
const MAX_STRANGERS: usize = 1_024;
/// Maximum number of connected clients that have sent a valid token.
const MAX_KNOWN: usize = 4_096;
/// How long a client may accept no data before its connection is closed. Clients can resume events from any position.
const WRITE_TIMEOUT: Duration = Duration::from_secs(30);

/// The connections of a server.
#[derive(Default)]
pub(crate) struct Connections {
    strangers: Mutex<VecDeque<Peer>>,
    known: Arc<AtomicUsize>,
}

/// The client at the other end of a connection. Clones share one state.
#[derive(Clone)]
pub(crate) struct Peer(Arc<Inner>);

struct Inner {
    leave: CancellationToken,
    /// Set once the client has sent a valid token.
    known: Mutex<bool>,
    count: Arc<AtomicUsize>,
}

impl Connections {
    /// Admits a connection; `None` if too many authorized clients are connected.
    pub(crate) fn admit(&self) -> Option<Peer> {
        if self.known.load(Ordering::Relaxed) >= MAX_KNOWN {
            return None;
        }
        let inner =
            Inner { leave: CancellationToken::new(), known: Mutex::new(false), count: self.known.clone() };
        let peer = Peer(Arc::new(inner));
        let mut strangers = self.strangers.lock();
        strangers.retain(Peer::is_stranger);
        if strangers.len() >= MAX_STRANGERS
            && let Some(first) = strangers.pop_front()
        {
            first.0.leave.cancel();
        }
        strangers.push_back(peer.clone());
        Some(peer)
    }

    /// Closes the oldest connection of a stranger, since the system has no room for more connections.
    pub(crate) fn make_room(&self) {
        let first = self.strangers.lock().pop_front();
        if let Some(first) = first {
            first.0.leave.cancel();
        }
    }
}

impl Peer {
    /// Notes that the client has sent a valid token.
    pub(crate) fn is_known(&self) {
        let mut known = self.0.known.lock();
        if !std::mem::replace(&mut known, true) {
            self.0.count.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn is_stranger(&self) -> bool {
        let is_known = *self.0.known.lock();
        !is_known && !self.0.leave.is_cancelled()
    }

    /// Completes when another connection needs the place.
    pub(crate) async fn must_leave(&self) {
        self.0.leave.cancelled().await;
    }

    /// Notes that the connection is closed.
    pub(crate) fn has_left(&self) {
        self.0.leave.cancel();
        let mut known = self.0.known.lock();
        if std::mem::replace(&mut known, false) {
            self.0.count.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

/// A connection that is closed if the client accepts no data for too long.
pub(crate) struct Patient {
    stream: TcpStream,
    stalled: Option<Pin<Box<Sleep>>>,
}

impl Patient {
    pub(crate) fn new(stream: TcpStream) -> Self {
        Self { stream, stalled: None }
    }

    fn waited<T>(&mut self, context: &mut Context<'_>, done: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if done.is_ready() {
            self.stalled = None;
            return done;
        }
        let stalled = self.stalled.get_or_insert_with(|| Box::pin(sleep(WRITE_TIMEOUT)));
        ready!(stalled.as_mut().poll(context));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }
}

impl AsyncRead for Patient {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl AsyncWrite for Patient {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let done = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.waited(context, done)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let done = Pin::new(&mut self.stream).poll_write_vectored(context, parts);
        self.waited(context, done)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}
