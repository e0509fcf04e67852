//! [`Events`]: server-sent events: bytes in, events out, however the bytes are split into chunks (WHATWG HTML §9.2,
//! read 2026-11).
//!
//! Own code instead of a crate because of the limits: a line of 100 MB must fail early, and a long line must be scanned
//! only once, not once per chunk.
use std::mem;

/// Maximum bytes of an event (16 MB; the longest legitimate one is a tool call that came in one piece).
pub(crate) const MAX_EVENT: usize = 16 << 20;

/// One event.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Event {
    /// The event's name, empty for most vendors.
    pub name: String,
    /// Its `data` lines, joined by line feeds.
    pub data: String,
}

/// An event is longer than [`MAX_EVENT`].
#[derive(Debug)]
pub(crate) struct TooLong;

/// Buffers partial events.
#[derive(Default)]
pub(crate) struct Events {
    line: Vec<u8>,
    event: Event,
    has_data: bool,
    after_return: bool,
    begun: bool,
}

impl Events {
    /// Adds the next chunk, which may end anywhere; complete events go to `out`.
    pub(crate) fn push(&mut self, chunk: &[u8], out: &mut Vec<Event>) -> Result<(), TooLong> {
        let mut rest = chunk;
        // A carriage return and a line feed are one line end, even if a chunk ends between them.
        if mem::take(&mut self.after_return) {
            rest = rest.strip_prefix(b"\n").unwrap_or(rest);
        }
        while let Some(end) = rest.iter().position(|byte| matches!(byte, b'\n' | b'\r')) {
            self.grow(&rest[..end])?;
            out.extend(self.end_line());
            let (line_end, following) = (rest[end], &rest[end + 1..]);
            self.after_return = line_end == b'\r' && following.is_empty();
            rest = match line_end {
                b'\r' => following.strip_prefix(b"\n").unwrap_or(following),
                _ => following,
            };
        }
        self.grow(rest)
    }

    /// The last event, if the server omitted the empty line after it.
    pub(crate) fn finish(&mut self) -> Option<Event> {
        let last = if self.line.is_empty() { None } else { self.end_line() };
        last.or_else(|| self.dispatch())
    }

    fn grow(&mut self, bytes: &[u8]) -> Result<(), TooLong> {
        if self.line.len() + self.event.data.len() + bytes.len() > MAX_EVENT {
            return Err(TooLong);
        }
        self.line.extend_from_slice(bytes);
        Ok(())
    }

    fn end_line(&mut self) -> Option<Event> {
        let bytes = mem::take(&mut self.line);
        let line = String::from_utf8(bytes).unwrap_or_else(|error| lossy(&error.into_bytes()));
        let line = match mem::replace(&mut self.begun, true) {
            true => line.as_str(),
            false => line.trim_start_matches('\u{feff}'),
        };
        if line.is_empty() {
            return self.dispatch();
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        self.field(field, value.strip_prefix(' ').unwrap_or(value));
        None
    }

    fn field(&mut self, field: &str, value: &str) {
        match field {
            "event" => self.event.name = value.to_owned(),
            // Older llama.cpp servers name the field of an error `error`.
            "data" | "error" => {
                if mem::replace(&mut self.has_data, true) {
                    self.event.data.push('\n');
                }
                self.event.data.push_str(value);
            }
            _ => {}
        }
    }

    fn dispatch(&mut self) -> Option<Event> {
        let event = mem::take(&mut self.event);
        mem::take(&mut self.has_data).then_some(event)
    }
}

fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(chunks: &[&[u8]]) -> Vec<(String, String)> {
        let (mut events, mut out) = (Events::default(), Vec::new());
        for chunk in chunks {
            events.push(chunk, &mut out).unwrap();
        }
        out.extend(events.finish());
        out.into_iter().map(|event| (event.name, event.data)).collect()
    }

    // A36
    #[test]
    fn events_are_the_same_wherever_the_chunks_end() {
        let table: [(&str, &[(&str, &str)]); 7] = [
            ("data: a\n\nevent: x\ndata:b\n\n", &[("", "a"), ("x", "b")]),
            ("\u{feff}data: a\r\n\r\ndata: ü\r\ndata: 2\r\n\r\n", &[("", "a"), ("", "ü\n2")]),
            ("data: a\r\rdata: b\r\r", &[("", "a"), ("", "b")]),
            (": ping\n\nretry: 3\nid: 7\n\n", &[]),
            ("data\n\ndata:\n\n", &[("", ""), ("", "")]),
            ("data: a\n\ndata: [DONE]", &[("", "a"), ("", "[DONE]")]),
            ("error: {}\n\n", &[("", "{}")]),
        ];
        for (stream, expected) in table {
            let expected: Vec<(String, String)> =
                expected.iter().map(|(name, data)| ((*name).into(), (*data).into())).collect();
            for size in 1..=stream.len() {
                let chunks: Vec<&[u8]> = stream.as_bytes().chunks(size).collect();
                assert_eq!(read(&chunks), expected, "{stream:?} by {size}");
            }
        }
    }

    // A55
    #[test]
    fn an_event_without_end_is_refused() {
        let (mut events, mut out) = (Events::default(), Vec::new());
        let chunk = [b'x'; 1 << 16];
        let taken = (0..1_000).take_while(|_| events.push(&chunk, &mut out).is_ok()).count();
        assert_eq!(taken, MAX_EVENT / chunk.len());
    }

    #[test]
    fn bytes_that_are_no_utf8_are_replaced() {
        assert_eq!(read(&[b"data: a\xffb\n\n"]), [(String::new(), "a\u{fffd}b".into())]);
    }
}
