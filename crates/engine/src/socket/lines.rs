//! [`Lines`]: reads lines of limited length from a socket.
use serde::Serialize;
use std::{io, time::Duration};
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader};

/// Maximum bytes of a line, without its line end.
pub(super) const MAX_LINE_BYTES: usize = 16 << 20;
/// Both ends of a connection between machines send an empty line this often, so that each detects when the other has
/// vanished.
pub(super) const HEARTBEAT: Duration = Duration::from_secs(15);
/// Time without data from another machine after which the connection counts as lost.
pub(super) const SILENCE: Duration = Duration::from_secs(45);
/// Bytes of the buffer that are kept between lines.
const KEPT_BUFFER_BYTES: usize = 64 << 10;

/// A line that was read.
pub(super) enum Line<'a> {
    Whole(&'a [u8]),
    /// The line was too long and was skipped.
    TooLong,
}

/// Reads line by line.
pub(super) struct Lines<R> {
    reader: BufReader<R>,
    line: Vec<u8>,
}

impl<R: AsyncRead + Unpin> Lines<R> {
    pub(super) fn new(reader: R) -> Self {
        Self { reader: BufReader::new(reader), line: Vec::new() }
    }

    /// Reads the next line; `None` at the end of the connection, where an incomplete line is discarded. Dropping the
    /// future before it is ready loses what it has read.
    pub(super) async fn next(&mut self) -> io::Result<Option<Line<'_>>> {
        self.line.clear();
        self.line.shrink_to(KEPT_BUFFER_BYTES);
        let most = MAX_LINE_BYTES as u64 + 1;
        (&mut self.reader).take(most).read_until(b'\n', &mut self.line).await?;
        match self.line.last() {
            Some(b'\n') => Ok(Some(Line::Whole(&self.line[..self.line.len() - 1]))),
            Some(_) if self.line.len() > MAX_LINE_BYTES => self.pass_over().await,
            _ => Ok(None),
        }
    }

    async fn pass_over(&mut self) -> io::Result<Option<Line<'_>>> {
        loop {
            let more = self.reader.fill_buf().await?;
            let end = more.iter().position(|byte| *byte == b'\n');
            let (length, is_over) = (end.map_or(more.len(), |end| end + 1), more.is_empty());
            self.reader.consume(length);
            match (end, is_over) {
                (Some(_), _) => return Ok(Some(Line::TooLong)),
                (None, true) => return Ok(None),
                (None, false) => {}
            }
        }
    }
}

/// The error message if `what` does not fit into a line.
pub(super) fn too_long(what: &str) -> String {
    format!("{what} takes more than {} MB", MAX_LINE_BYTES >> 20)
}

/// Writes `line` and its end, and flushes.
pub(super) async fn write(writer: &mut (impl AsyncWrite + Unpin), mut line: String) -> io::Result<()> {
    line.push('\n');
    writer.write_all(line.as_bytes()).await?;
    writer.flush().await
}

/// Writes `value` as a line.
pub(super) async fn say(writer: &mut (impl AsyncWrite + Unpin), value: &impl Serialize) -> io::Result<()> {
    write(writer, serde_json::to_string(value)?).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_line_that_is_too_long_is_passed_over() {
        let long = "x".repeat(MAX_LINE_BYTES + 1);
        let fits = "y".repeat(MAX_LINE_BYTES);
        let text = format!("one\n{long}\n\n{fits}\nhalf");
        let mut lines = Lines::new(text.as_bytes());
        let mut told = Vec::new();
        while let Some(line) = lines.next().await.unwrap() {
            told.push(match line {
                Line::Whole(line) => line.len(),
                Line::TooLong => usize::MAX,
            });
        }
        assert_eq!(told, [3, usize::MAX, 0, MAX_LINE_BYTES]);
    }
}
