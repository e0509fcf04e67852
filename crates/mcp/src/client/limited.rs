//! [`Limited`]: limits the length of messages on a server's standard output.
//!
//! The SDK drops a longer message and continues to wait for it, and so would the call. Here, the connection ends
//! instead, and with it the call.
use std::{
    io,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll, ready},
};
use tokio::io::{AsyncRead, ReadBuf};

/// Maximum bytes of a message, including its line break: the SDK's own limit (rmcp 3.9, `DEFAULT_MAX_LINE_LENGTH`).
pub(super) const MAX_MESSAGE: usize = 16 << 20;

/// A stream of lines that fails if one is too long.
pub(super) struct Limited<R> {
    inner: R,
    /// Bytes since the last line break.
    line: usize,
    state: Arc<LineState>,
}

/// The state of a stream, for other parts than its reader.
#[derive(Default)]
pub(super) struct LineState {
    has_overflowed: AtomicBool,
    is_inside_line: AtomicBool,
}

impl LineState {
    /// Whether the stream ended because a line was too long.
    pub(super) fn has_overflowed(&self) -> bool {
        self.has_overflowed.load(Ordering::Relaxed)
    }

    /// Whether a line was read partially.
    pub(super) fn is_inside_line(&self) -> bool {
        self.is_inside_line.load(Ordering::Relaxed)
    }
}

impl<R> Limited<R> {
    pub(super) fn new(inner: R, state: Arc<LineState>) -> Self {
        Self { inner, line: 0, state }
    }

    /// Counts these bytes; returns whether a line is too long.
    fn overflows(&mut self, bytes: &[u8]) -> bool {
        let mut parts = bytes.split_inclusive(|byte| *byte == b'\n');
        let overflows = parts.any(|part| {
            let length = self.line + part.len();
            self.line = if part.ends_with(b"\n") { 0 } else { length };
            length > MAX_MESSAGE
        });
        self.state.is_inside_line.store(self.line > 0, Ordering::Relaxed);
        overflows
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for Limited<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.state.has_overflowed() {
            return Poll::Ready(Err(too_long()));
        }
        let known = buffer.filled().len();
        ready!(Pin::new(&mut self.inner).poll_read(cx, buffer))?;
        if self.overflows(&buffer.filled()[known..]) {
            self.state.has_overflowed.store(true, Ordering::Relaxed);
            // If reading fails, the buffer must be unchanged.
            buffer.set_filled(known);
            return Poll::Ready(Err(too_long()));
        }
        Poll::Ready(Ok(()))
    }
}

fn too_long() -> io::Error {
    io::Error::other(format!("a message has more than {} MB", MAX_MESSAGE >> 20))
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::AsyncReadExt;

    #[tokio::test]
    async fn lines_pass_until_one_is_too_long() {
        let fits = "x".repeat(MAX_MESSAGE - 1) + "\n";
        let table =
            [(fits.repeat(2), true), (format!("a\n{fits}b"), true), (format!("{fits}x{fits}"), false)];
        for (text, passes) in table {
            let state = Arc::<LineState>::default();
            let mut limited = Limited::new(text.as_bytes(), state.clone());
            let read = limited.read_to_end(&mut Vec::new()).await;
            assert_eq!((read.is_ok(), state.has_overflowed()), (passes, !passes), "{}", text.len());
            assert_eq!(state.is_inside_line(), !text.ends_with('\n'), "{}", text.len());
        }
    }
}
