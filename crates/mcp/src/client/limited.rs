//! What a server says over its standard output, up to a message that nobody would read.
//!
//! The SDK throws such a message away and goes on waiting for it; whoever called would wait with it. Here the connection
//! ends instead, so that the call does, too.
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
pub(super) const LONGEST: usize = 16 << 20;

/// A stream of lines that ends with an error where one is too long.
pub(super) struct Limited<R> {
    inner: R,
    /// Bytes since the last end of a line.
    line: usize,
    has_overflowed: Arc<AtomicBool>,
}

impl<R> Limited<R> {
    /// `has_overflowed` tells afterwards why it ended.
    pub(super) fn new(inner: R, has_overflowed: Arc<AtomicBool>) -> Self {
        Self { inner, line: 0, has_overflowed }
    }

    /// Whether a line has become too long with these bytes.
    fn overflows(&mut self, bytes: &[u8]) -> bool {
        let mut parts = bytes.split_inclusive(|byte| *byte == b'\n');
        parts.any(|part| {
            let length = self.line + part.len();
            self.line = if part.ends_with(b"\n") { 0 } else { length };
            length > LONGEST
        })
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for Limited<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.has_overflowed.load(Ordering::Relaxed) {
            return Poll::Ready(Err(too_long()));
        }
        let known = buffer.filled().len();
        ready!(Pin::new(&mut self.inner).poll_read(cx, buffer))?;
        if self.overflows(&buffer.filled()[known..]) {
            self.has_overflowed.store(true, Ordering::Relaxed);
            // Where reading fails, nothing was read.
            buffer.set_filled(known);
            return Poll::Ready(Err(too_long()));
        }
        Poll::Ready(Ok(()))
    }
}

fn too_long() -> io::Error {
    io::Error::other(format!("a message has more than {} MB", LONGEST >> 20))
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::AsyncReadExt;

    #[tokio::test]
    async fn lines_pass_until_one_is_too_long() {
        let fits = "x".repeat(LONGEST - 1) + "\n";
        let table =
            [(fits.repeat(2), true), (format!("a\n{fits}b"), true), (format!("{fits}x{fits}"), false)];
        for (text, passes) in table {
            let flag = Arc::default();
            let mut limited = Limited::new(text.as_bytes(), Arc::clone(&flag));
            let read = limited.read_to_end(&mut Vec::new()).await;
            assert_eq!((read.is_ok(), flag.load(Ordering::Relaxed)), (passes, !passes), "{}", text.len());
        }
    }
}
