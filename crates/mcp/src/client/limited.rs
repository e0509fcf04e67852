//! [`Limited`]: limits the length of a message on a server's standard output.
//!
//! The SDK drops a longer message and keeps waiting for it, and so would the caller. Here the connection ends instead,
//! so that the call ends, too.
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

/// Bytes of a message, its end included: what the SDK reads at most (rmcp 3.9, `DEFAULT_MAX_LINE_LENGTH`).
pub(super) const MAX_MESSAGE: usize = 16 << 20;

/// A stream of lines that ends with an error where one is too long.
pub(super) struct Limited<R> {
    inner: R,
    /// Bytes since the last end of a line.
    line: usize,
    state: Arc<LineState>,
}

/// How far a stream is, for those who do not read it.
#[derive(Default)]
pub(super) struct LineState {
    has_overflowed: AtomicBool,
    is_inside_line: AtomicBool,
}

impl LineState {
    /// Whether it ended because of a line that was too long.
    pub(super) fn has_overflowed(&self) -> bool {
        self.has_overflowed.load(Ordering::Relaxed)
    }

    /// Whether the beginning of a line was read, and its end was not.
    pub(super) fn is_inside_line(&self) -> bool {
        self.is_inside_line.load(Ordering::Relaxed)
    }
}

impl<R> Limited<R> {
    pub(super) fn new(inner: R, state: Arc<LineState>) -> Self {
        Self { inner, line: 0, state }
    }

    /// Whether a line has become too long with these bytes.
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
            // Where reading fails, nothing was read.
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
