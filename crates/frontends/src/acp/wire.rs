//! Lines of JSON between the protocol's library and two streams, with a count of the updates that wait to be written.
use super::sdk::{Channel, RawJsonRpcMessage, TransportFrame};
use crate::safe;
use futures::{
    StreamExt,
    channel::mpsc::{UnboundedReceiver, UnboundedSender},
};
use std::{
    io,
    sync::atomic::{AtomicUsize, Ordering::SeqCst},
};
use tokio::{
    io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader},
    sync::Notify,
};

/// So many updates may wait; each has at most some ten thousand bytes of text that nobody recorded.
const ROOM: usize = 64;

/// A message longer than this, in bytes, is no message: a prompt with some pictures has a tenth of it.
const LONGEST: u64 = 128 << 20;

/// How many updates wait to be written. An editor that reads slowly must not fill our memory.
#[derive(Default)]
pub(super) struct Flow {
    waiting: AtomicUsize,
    written: Notify,
}

impl Flow {
    /// Whether one more may be sent.
    pub(super) fn has_room(&self) -> bool {
        self.waiting.load(SeqCst) < ROOM
    }

    /// Waits until one more may be sent.
    pub(super) async fn room(&self) {
        loop {
            let written = self.written.notified();
            if self.has_room() {
                return;
            }
            written.await;
        }
    }

    /// One was sent.
    pub(super) fn sent(&self) {
        self.waiting.fetch_add(1, SeqCst);
    }

    /// One was written, or never will be.
    pub(super) fn is_written(&self) {
        self.waiting.fetch_sub(1, SeqCst);
        self.written.notify_waiters();
    }
}

/// Carries messages both ways. Ends when the library closes its end and all it said is written, or with the first
/// write that fails; the end of `input` closes the library's input.
pub(super) async fn carry(
    input: impl AsyncRead,
    output: impl AsyncWrite,
    channel: Channel,
    flow: &Flow,
) -> io::Result<()> {
    let (said, heard) = channel.into_parts();
    let reading = read(input, heard);
    let writing = write(output, said, flow);
    tokio::pin!(reading, writing);
    tokio::select! {
        written = &mut writing => return written,
        read = &mut reading => read?,
    }
    writing.await
}

async fn read(input: impl AsyncRead, heard: UnboundedSender<TransportFrame>) -> io::Result<()> {
    let input = BufReader::new(input);
    tokio::pin!(input);
    let mut line = Vec::new();
    loop {
        line.clear();
        let bytes = (&mut input).take(LONGEST).read_until(b'\n', &mut line).await?;
        if bytes == 0 {
            return Ok(());
        }
        if bytes as u64 == LONGEST && line.last() != Some(&b'\n') {
            return Err(io::Error::other(format!("a message has more than {} MB", LONGEST >> 20)));
        }
        let text = String::from_utf8_lossy(&line);
        let is_blank = text.trim().is_empty();
        if !is_blank && heard.unbounded_send(TransportFrame::parse_json(text.trim())).is_err() {
            return Ok(());
        }
    }
}

async fn write(
    output: impl AsyncWrite,
    mut said: UnboundedReceiver<TransportFrame>,
    flow: &Flow,
) -> io::Result<()> {
    tokio::pin!(output);
    while let Some(frame) = said.next().await {
        if let Ok(line) = frame.to_json() {
            output.write_all(format!("{}\n", safe::json(&line)).as_bytes()).await?;
            output.flush().await?;
        }
        if matches!(&frame, TransportFrame::Single(RawJsonRpcMessage::Notification(told)) if *told.method == *UPDATE)
        {
            flow.is_written();
        }
    }
    Ok(())
}

/// What [`Flow::sent`] counts.
const UPDATE: &str = "session/update";
