//! [`Frames`]: Amazon's event streams: bytes in, events out, however the bytes are split into chunks.
//!
//! Source: docs.aws.amazon.com "Event stream encoding" (`application/vnd.amazon.eventstream`), 2026-11: the length of
//! the message and of its headers, their checksum, the headers, the payload, the checksum of the whole message.
//!
//! Own code instead of `aws-smithy-eventstream`, which adds a dozen crates for these two checksums and a list of
//! headers, and does not limit the size of messages.
use crate::sse::{Event, MAX_EVENT, TooLong};
use serde_json::{Value, json};

/// Bytes of the prelude: the length of the message, the length of its headers, and a checksum of both.
const PRELUDE: usize = 12;
/// Bytes of the checksum at the end.
const CHECKSUM: usize = 4;

/// Buffers partial messages.
#[derive(Default)]
pub(crate) struct Frames {
    bytes: Vec<u8>,
}

/// Why a message cannot be parsed.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum FrameError {
    /// The message is longer than [`MAX_EVENT`].
    TooLong,
    /// The checksum or the form of the message is wrong, so the bytes after it cannot be parsed either.
    Broken,
}

impl From<TooLong> for FrameError {
    fn from(_: TooLong) -> Self {
        Self::TooLong
    }
}

impl Frames {
    /// Whether a stream that begins with `byte` has this format: a length below 16 MB begins with 0, and text does not.
    pub(crate) fn begin_with(byte: u8) -> bool {
        byte == 0
    }

    /// Adds the next chunk, which may end anywhere; complete events go to `out`.
    pub(crate) fn push(&mut self, chunk: &[u8], out: &mut Vec<Event>) -> Result<(), FrameError> {
        self.bytes.extend_from_slice(chunk);
        let mut read = 0;
        while let Some(length) = length(&self.bytes[read..])? {
            let Some(message) = self.bytes.get(read..read + length) else { break };
            out.push(event(message).ok_or(FrameError::Broken)?);
            read += length;
        }
        self.bytes.drain(..read);
        Ok(())
    }
}

/// The length of the message at the beginning of `bytes`; `None` if its prelude is incomplete.
fn length(bytes: &[u8]) -> Result<Option<usize>, FrameError> {
    let Some(prelude) = bytes.get(..PRELUDE) else { return Ok(None) };
    let length = number(prelude, 0);
    if crc32fast::hash(&prelude[..8]) != number(prelude, 8) {
        return Err(FrameError::Broken);
    }
    match length as usize {
        length if length > MAX_EVENT => Err(FrameError::TooLong),
        length if length < PRELUDE + CHECKSUM => Err(FrameError::Broken),
        length => Ok(Some(length)),
    }
}

fn number(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..at + 4).and_then(|four| four.try_into().ok()).map_or(0, u32::from_be_bytes)
}

/// The event in a whole message. An exception becomes an error in the form of the other wires.
fn event(message: &[u8]) -> Option<Event> {
    let (body, checksum) = message.split_at_checked(message.len() - CHECKSUM)?;
    if crc32fast::hash(body) != number(checksum, 0) {
        return None;
    }
    let (headers, payload) = body[PRELUDE..].split_at_checked(number(body, 4) as usize)?;
    let headers = texts(headers)?;
    let header = |name: &str| headers.iter().find(|(other, _)| *other == name).map(|(_, value)| *value);
    let data = String::from_utf8_lossy(payload).into_owned();
    match header(":message-type") {
        Some("exception") => Some(exception(header(":exception-type").unwrap_or_default(), &data)),
        Some("error") => {
            let words = header(":error-message").unwrap_or_default();
            Some(exception(header(":error-code").unwrap_or_default(), &json!({"message": words}).to_string()))
        }
        _ => Some(Event { name: header(":event-type").unwrap_or_default().to_owned(), data }),
    }
}

/// Names and values of the headers with text values; others are ignored.
fn texts(mut bytes: &[u8]) -> Option<Vec<(&str, &str)>> {
    let mut texts = Vec::new();
    while let Some((length, rest)) = bytes.split_first() {
        let (name, rest) = rest.split_at_checked(usize::from(*length))?;
        let (kind, rest) = rest.split_first()?;
        // Values of a fixed length are true, false, byte, short, integer, long, time and UUID; bytes and texts begin
        // with their length.
        let (skipped, length) = match kind {
            0 | 1 => (0, 0),
            2 => (0, 1),
            3 => (0, 2),
            4 => (0, 4),
            5 | 8 => (0, 8),
            9 => (0, 16),
            6 | 7 => (2, usize::from(u16::from_be_bytes(rest.get(..2)?.try_into().ok()?))),
            _ => return None,
        };
        let (value, rest) = rest.get(skipped..)?.split_at_checked(length)?;
        if *kind == 7 {
            texts.push((str::from_utf8(name).ok()?, str::from_utf8(value).ok()?));
        }
        bytes = rest;
    }
    Some(texts)
}

/// Converts an exception to an error event, with the status that the same error has before a stream begins (API
/// reference of `ConverseStream`).
fn exception(kind: &str, payload: &str) -> Event {
    let status = match kind {
        "throttlingException" => 429,
        "serviceUnavailableException" => 503,
        "validationException" => 400,
        "accessDeniedException" => 403,
        "modelTimeoutException" => 408,
        "modelStreamErrorException" => 424,
        _ => 500,
    };
    let message = crate::json::parse(payload).map(|payload| payload["message"].clone());
    let message = message.filter(Value::is_string).unwrap_or_else(|| payload.into());
    let data = json!({"error": {"type": kind, "status": status, "message": message}}).to_string();
    Event { name: "error".into(), data }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An empty message, and one with a header and a payload, as the format's documentation prints them byte for byte.
    const DOCUMENTED: [&[u8]; 2] = [
        b"\x00\x00\x00\x10\x00\x00\x00\x00\x05\xc2\x48\xeb\x7d\x98\xc8\xff",
        b"\x00\x00\x00\x1d\x00\x00\x00\x00\xfd\x52\x8c\x5a{'foo':'bar'}\xc3\x65\x39\x36",
    ];

    fn read(chunks: &[&[u8]]) -> Result<Vec<(String, String)>, FrameError> {
        let (mut frames, mut out) = (Frames::default(), Vec::new());
        for chunk in chunks {
            frames.push(chunk, &mut out)?;
        }
        Ok(out.into_iter().map(|event| (event.name, event.data)).collect())
    }

    #[test]
    fn messages_are_the_same_wherever_the_chunks_end() {
        let stream = DOCUMENTED.concat();
        let expected = [("".into(), "".into()), ("".into(), "{'foo':'bar'}".into())];
        for size in 1..=stream.len() {
            let chunks: Vec<&[u8]> = stream.chunks(size).collect();
            assert_eq!(read(&chunks).as_deref(), Ok(&expected[..]), "by {size}");
        }
    }

    #[test]
    fn a_byte_that_was_changed_is_noticed() {
        for place in 0..DOCUMENTED[1].len() {
            let mut message = DOCUMENTED[1].to_vec();
            message[place] ^= 1;
            assert!(read(&[&message]).is_err(), "byte {place}");
        }
        let mut long = 0x0200_0000_u32.to_be_bytes().to_vec();
        long.extend([0; 4]);
        long.extend(crc32fast::hash(&long).to_be_bytes());
        assert_eq!(read(&[&long]), Err(FrameError::TooLong));
    }
}
