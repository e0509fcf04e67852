//! [`carry`] and [`Flow`]: carry lines of JSON between the protocol's library and two streams, and count the updates
//! that wait to be written.
use super::sdk::{Channel, Error, RawJsonRpcMessage, TransportFrame, worded};
use futures::{
    StreamExt,
    channel::mpsc::{UnboundedReceiver, UnboundedSender},
};
use haft_present::safe;
use std::{
    io,
    sync::atomic::{AtomicUsize, Ordering::SeqCst},
    time::{Duration, Instant},
};
use tokio::{
    io::{AsyncBufRead, AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader},
    sync::Notify,
};

/// Maximum updates that wait to be written; each has at most some ten thousand bytes of unrecorded text.
const MAX_WAITING_UPDATES: usize = 64;

/// A message longer than this, in bytes, is passed over: a prompt with some pictures has a tenth of it.
const MAX_MESSAGE_BYTES: u64 = 32 << 20;

/// How long an answer waits until the output written before it is read.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(1);

/// Bytes of memory that are kept from one message to the next.
const KEPT_BUFFER_BYTES: usize = 1 << 20;

/// How many updates wait to be written. An editor that reads slowly must not fill our memory.
#[derive(Default)]
pub(super) struct Flow {
    waiting: AtomicUsize,
    written: Notify,
}

impl Flow {
    /// Whether one more may be sent.
    pub(super) fn has_room(&self) -> bool {
        self.waiting.load(SeqCst) < MAX_WAITING_UPDATES
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

    /// Counts a message that was sent.
    pub(super) fn sent(&self) {
        self.waiting.fetch_add(1, SeqCst);
    }

    /// Counts a message that was written, or that can no longer be written.
    pub(super) fn is_written(&self) {
        self.waiting.fetch_sub(1, SeqCst);
        self.written.notify_waiters();
    }
}

/// Carries messages both ways. Ends when the library closes its end and all it said is written, or with the first
/// write that fails; the end of `input` closes the library's input. `is_taken`: whether all that was written was read.
pub(super) async fn carry(
    input: impl AsyncRead,
    output: impl AsyncWrite,
    is_taken: fn() -> bool,
    channel: Channel,
    flow: &Flow,
) -> io::Result<()> {
    let (said, heard) = channel.into_parts();
    let reading = read(input, heard);
    let writing = write(output, is_taken, said, flow);
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
        line.shrink_to(KEPT_BUFFER_BYTES);
        // The end of the line counts as well.
        let bytes = (&mut input).take(MAX_MESSAGE_BYTES + 1).read_until(b'\n', &mut line).await?;
        if bytes == 0 {
            return Ok(());
        }
        let frame = if bytes as u64 > MAX_MESSAGE_BYTES && line.last() != Some(&b'\n') {
            line = Vec::new();
            pass_over(&mut input).await?;
            too_long()
        } else {
            let text = String::from_utf8_lossy(&line);
            if text.trim().is_empty() {
                continue;
            }
            TransportFrame::parse_json(text.trim())
        };
        if heard.unbounded_send(frame).is_err() {
            return Ok(());
        }
    }
}

/// Up to the end of the line, which is not kept.
async fn pass_over(input: &mut (impl AsyncBufRead + Unpin)) -> io::Result<()> {
    loop {
        let piece = input.fill_buf().await?;
        let (end, all) = (piece.iter().position(|byte| *byte == b'\n'), piece.len());
        input.consume(end.map_or(all, |end| end + 1));
        if end.is_some() || all == 0 {
            return Ok(());
        }
    }
}

/// Stands for a message that was passed over. The request that it answers is unknown.
fn too_long() -> TransportFrame {
    let message = format!("a message of more than {} MB was passed over", MAX_MESSAGE_BYTES >> 20);
    TransportFrame::Malformed { raw: String::new(), error: worded(Error::invalid_request(), message) }
}

async fn write(
    output: impl AsyncWrite,
    is_taken: fn() -> bool,
    mut said: UnboundedReceiver<TransportFrame>,
    flow: &Flow,
) -> io::Result<()> {
    tokio::pin!(output);
    while let Some(frame) = said.next().await {
        if matches!(&frame, TransportFrame::Single(RawJsonRpcMessage::Response(_))) {
            taken(is_taken).await;
        }
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

/// The official library for JavaScript may hand out an answer before the updates in front of it, where it reads both at
/// once: so an answer is not written before those were read. An editor that reads nothing is not waited for.
async fn taken(is_taken: fn() -> bool) {
    let begun = Instant::now();
    while !is_taken() && begun.elapsed() < DRAIN_TIMEOUT {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

/// What [`Flow::sent`] counts.
const UPDATE: &str = "session/update";
