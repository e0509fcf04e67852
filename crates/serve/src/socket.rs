//! [`link`]: carries the lines of a session over a WebSocket, for both of its ends: see `docs/decisions/0021`.
use bytes::Bytes;
use futures::{Sink, SinkExt, Stream, StreamExt, future::ready};
use haft_engine::Link;
use std::{error::Error, io};
use tokio_util::io::{CopyToBytes, SinkWriter, StreamReader};

/// Name and version of the protocol. A client that asks for another one is refused before anything is sent.
pub(crate) const PROTOCOL: &str = "haft-session.1";
/// Maximum size of a message in bytes: a whole line, with room for its head.
pub(crate) const MAX_MESSAGE_BYTES: usize = 32 << 20;

/// Splits `socket` into its two directions. `data` reads a message, if it carries any; `message` creates one.
pub(crate) fn link<M, E>(
    socket: impl Stream<Item = Result<M, E>> + Sink<M, Error = E> + Send + 'static,
    data: fn(M) -> Option<Bytes>,
    message: fn(Bytes) -> M,
) -> Link
where
    M: Send + 'static,
    E: Error + Send + Sync + 'static,
{
    let (sink, stream) = socket.split();
    let stream = stream.filter_map(move |received| {
        ready(match received {
            Ok(message) => data(message).map(Ok),
            Err(error) => Some(Err(io::Error::other(error))),
        })
    });
    let sink =
        sink.sink_map_err(io::Error::other).with(move |bytes| ready(Ok::<_, io::Error>(message(bytes))));
    Link::new(StreamReader::new(stream), SinkWriter::new(CopyToBytes::new(sink)))
}
