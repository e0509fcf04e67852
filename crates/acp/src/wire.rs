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

/// Maximum bytes of a message; a longer one is skipped. A prompt with some pictures has a tenth of that.
const MAX_MESSAGE_BYTES: u64 = 32 << 20;

/// Maximum time that a response waits until the editor has read the output before it.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(1);

/// Maximum bytes of the buffer that are kept from one message to the next.
const KEPT_BUFFER_BYTES: usize = 1 << 20;

/// Counts the updates that wait to be written, so that an editor that reads slowly does not exhaust the memory.
#[derive(Default)]
pub(super) struct Flow {
    waiting: AtomicUsize,
    written: Notify,
}

impl Flow {
    /// Whether another update may be sent.
    pub(super) fn has_room(&self) -> bool {
        self.waiting.load(SeqCst) < MAX_WAITING_UPDATES
    }

    /// Waits until another update may be sent.
    pub(super) async fn room(&self) {
        loop {
            let written = self.written.notified();
            if self.has_room() {
                return;
            }
            written.await;
        }
    }

    /// Counts an update that was sent.
    pub(super) fn sent(&self) {
        self.waiting.fetch_add(1, SeqCst);
    }

    /// Counts an update that was written, or that cannot be written anymore.
    pub(super) fn is_written(&self) {
        self.waiting.fetch_sub(1, SeqCst);
        self.written.notify_waiters();
    }
}

/// Carries messages both ways. Ends when the library closes its end and all its output is written, or when reading or
/// writing fails; the end of `input` closes the library's input. `is_taken`: whether all output was read.
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
        // The line break counts, too.
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

/// Skips input up to the end of the line.
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

/// The response to a message that was skipped. The ID of its request is unknown.
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

/// Waits until the earlier output was read, at most [`DRAIN_TIMEOUT`]: the official library for JavaScript may deliver
/// a response before the updates in front of it, if it reads both together.
async fn taken(is_taken: fn() -> bool) {
    let begun = Instant::now();
    while !is_taken() && begun.elapsed() < DRAIN_TIMEOUT {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

/// The method that [`Flow::sent`] counts.
const UPDATE: &str = "session/update";
