//! [`read`] and [`frame`]: messages of the base protocol (LSP 3.17, *Base Protocol*): headers, an empty line, JSON.
use serde_json::Value;
use std::io;
use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncReadExt};

/// Maximum bytes of a message; a server that sends more is broken.
const MAX_MESSAGE: u64 = 64 << 20;

/// Maximum bytes of all headers of a message.
const MAX_HEADERS: u64 = 8 << 10;

/// Reads one message; `None` at the end of the stream.
///
/// # Errors
/// Fails if the bytes are not a valid message, or the message is too long. The stream cannot be read any further then.
pub(crate) async fn read(stream: &mut (impl AsyncBufRead + Unpin)) -> io::Result<Option<Value>> {
    let Some(length) = length(stream).await? else { return Ok(None) };
    if length > MAX_MESSAGE {
        return Err(broken(&format!("a message of {length} bytes")));
    }
    // Not allocated in advance, because the length is untrusted.
    let mut body = Vec::new();
    stream.take(length).read_to_end(&mut body).await?;
    if (body.len() as u64) < length {
        return Err(broken("a message that ends early"));
    }
    serde_json::from_slice(&body).map(Some).map_err(|error| broken(&format!("no JSON: {error}")))
}

/// The length in the headers of the next message.
async fn length(stream: &mut (impl AsyncBufRead + Unpin)) -> io::Result<Option<u64>> {
    let mut headers = stream.take(MAX_HEADERS);
    let (mut length, mut line) = (None, Vec::new());
    loop {
        line.clear();
        headers.read_until(b'\n', &mut line).await?;
        let text = String::from_utf8_lossy(&line);
        match (text.trim_end(), length) {
            ("", None) if line.is_empty() && headers.limit() == MAX_HEADERS => return Ok(None),
            ("", Some(length)) if line.ends_with(b"\n") => return Ok(Some(length)),
            (header, _) if line.ends_with(b"\n") && !header.is_empty() => {
                let (name, value) =
                    header.split_once(':').ok_or_else(|| broken("a line that is no header"))?;
                if name.eq_ignore_ascii_case("content-length") {
                    length = Some(value.trim().parse().map_err(|_| broken("a length that is no number"))?);
                }
            }
            _ => return Err(broken("headers without a length")),
        }
    }
}

fn broken(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("it sent {what}"))
}

/// The bytes of one message.
pub(crate) fn frame(message: &Value) -> Vec<u8> {
    let body = message.to_string();
    format!("Content-Length: {}\r\n\r\n{body}", body.len()).into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    type Expected<'a> = Result<Vec<Value>, &'a str>;

    async fn all(mut bytes: &[u8]) -> Result<Vec<Value>, String> {
        let mut messages = Vec::new();
        while let Some(message) = read(&mut bytes).await.map_err(|error| error.to_string())? {
            messages.push(message);
        }
        Ok(messages)
    }

    #[tokio::test]
    async fn messages_are_read_and_rubbish_is_refused() {
        let two = [frame(&json!({"a": 1})), frame(&json!(["ä"]))].concat();
        let long = vec![b'x'; 10_000];
        let table: [(&[u8], Expected<'_>); 10] = [
            (b"", Ok(vec![])),
            (&two, Ok(vec![json!({"a": 1}), json!(["ä"])])),
            (b"content-length: 2\r\nContent-Type: x\r\n\r\n{}", Ok(vec![json!({})])),
            (b"\r\n", Err("it sent headers without a length")),
            (b"hello\r\n\r\n", Err("it sent a line that is no header")),
            (b"Content-Length: two\r\n\r\n{}", Err("it sent a length that is no number")),
            (b"Content-Length: 99999999999999\r\n\r\n{}", Err("it sent a message of 99999999999999 bytes")),
            (b"Content-Length: 9\r\n\r\n{}", Err("it sent a message that ends early")),
            (b"Content-Length: 2\r\n\r\n{]", Err("it sent no JSON")),
            (&long, Err("it sent headers without a length")),
        ];
        for (bytes, expected) in table {
            let read = all(bytes).await;
            let is_as_expected = match (&read, &expected) {
                (Ok(read), Ok(expected)) => read == expected,
                (Err(read), Err(expected)) => read.starts_with(expected),
                _ => false,
            };
            assert!(is_as_expected, "{read:?}, expected {expected:?}");
        }
    }
}
