//! [`Hello`]: parses the host name that a TLS client requests (RFC 8446 and RFC 6066, section 3), because many servers
//! may share one address.

/// The kind of the first bytes of a connection.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Hello {
    /// More bytes are needed to decide.
    Begun,
    /// Not TLS.
    Other,
    /// A TLS client, and the host name that it requests, if any.
    Tls(Option<String>),
    /// TLS in a form that no client needs.
    Unreadable,
}

/// Type of a record.
const HANDSHAKE: u8 = 22;
/// Type of a handshake message.
const CLIENT_HELLO: u8 = 1;
/// Types of an extension, and of a name in it.
const SERVER_NAME: u16 = 0;
const HOST_NAME: u8 = 0;

pub(super) fn hello(bytes: &[u8]) -> Hello {
    let Some(first) = bytes.first() else { return Hello::Begun };
    if *first != HANDSHAKE {
        return Hello::Other;
    }
    let mut record = Reader(bytes);
    let begun = record.take(3).and_then(|_| record.number(2)).and_then(|length| record.take(length));
    let Some(message) = begun else { return Hello::Begun };
    match server_name(Reader(message)) {
        Some(name) => Hello::Tls(name),
        None => Hello::Unreadable,
    }
}

/// Parses the host name; `None` if the message is invalid.
fn server_name(mut message: Reader<'_>) -> Option<Option<String>> {
    if message.number(1)? != usize::from(CLIENT_HELLO) {
        return None;
    }
    let length = message.number(3)?;
    let mut hello = Reader(message.take(length)?);
    // Version and random; then the session ID, the ciphers and the compression methods.
    hello.take(2 + 32)?;
    for bytes in [1, 2, 1] {
        let length = hello.number(bytes)?;
        hello.take(length)?;
    }
    if hello.0.is_empty() {
        return Some(None);
    }
    let length = hello.number(2)?;
    let mut extensions = Reader(hello.take(length)?);
    let mut found = None;
    while !extensions.0.is_empty() {
        let (kind, length) = (extensions.number(2)?, extensions.number(2)?);
        let mut extension = Reader(extensions.take(length)?);
        if kind != usize::from(SERVER_NAME) {
            continue;
        }
        let length = extension.number(2)?;
        let mut names = Reader(extension.take(length)?);
        let (kind, length) = (names.number(1)?, names.number(2)?);
        let name = String::from_utf8(names.take(length)?.to_vec()).ok()?;
        // Exactly one name, so that no server can interpret the message differently from the proxy.
        if kind != usize::from(HOST_NAME) || !names.0.is_empty() || found.replace(name).is_some() {
            return None;
        }
    }
    Some(found)
}

struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    fn number(&mut self, bytes: usize) -> Option<usize> {
        Some(self.take(bytes)?.iter().fold(0, |number, byte| number << 8 | usize::from(*byte)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with_length(bytes: usize, inner: &[u8]) -> Vec<u8> {
        let length = inner.len().to_be_bytes();
        [&length[length.len() - bytes..], inner].concat()
    }

    fn name(name: &str) -> Vec<u8> {
        let names = with_length(2, &[&[HOST_NAME][..], &with_length(2, name.as_bytes())].concat());
        [&[0, 0][..], &with_length(2, &names)].concat()
    }

    fn record(extensions: &[u8]) -> Vec<u8> {
        let ciphers = with_length(2, &[0x13, 0x01]);
        let body = [&[3, 3][..], &[7; 32], &[0], &ciphers, &[1, 0], &with_length(2, extensions)].concat();
        let message = [&[CLIENT_HELLO][..], &with_length(3, &body)].concat();
        [&[HANDSHAKE, 3, 1][..], &with_length(2, &message)].concat()
    }

    // D64
    #[test]
    fn the_name_in_a_first_message_is_found_and_a_second_one_refused() {
        let other = [0, 10, 0, 2, 0, 0];
        let one = record(&[&other[..], &name("example.org")].concat());
        assert_eq!(hello(&one), Hello::Tls(Some("example.org".into())));
        for end in 1..one.len() {
            assert_eq!(hello(&one[..end]), Hello::Begun, "{end}");
        }
        assert_eq!(hello(&record(&other)), Hello::Tls(None));
        assert_eq!(hello(b"SSH-2.0-x\r\n"), Hello::Other);
        assert_eq!(hello(&record(&[name("a.org"), name("b.org")].concat())), Hello::Unreadable);
        assert_eq!(hello(&[HANDSHAKE, 3, 1, 0, 4, CLIENT_HELLO, 0, 2, 0]), Hello::Unreadable);
    }
}
