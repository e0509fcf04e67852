//! [`pass_on`]: passes on the data of a client in a tunnel, after checking the host that it requests in TLS, even if
//! TLS begins only after other data (STARTTLS). The check is needed because several hosts may share one address.
use super::{
    MAX_HEAD,
    hello::{Hello, hello},
};
use haft_core::Host;
use std::io;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, copy};

/// How many bytes a client may send without TLS before the proxy stops looking for it.
const MAX_WITHOUT_TLS: usize = 64 << 10;

/// How many bytes are read at a time.
const PIECE_SIZE: usize = 16 << 10;

/// The first bytes of a TLS message: a handshake, in any version.
const TLS_PREFIX: [u8; 2] = [22, 3];

/// What to do with bytes that were not passed on yet.
#[derive(Debug, PartialEq, Eq)]
enum Next {
    /// Pass on this many bytes, and check the rest.
    Pass(usize),
    /// Pass on everything without further checks: it is TLS with the allowed host.
    Trust,
    /// More bytes are needed to decide.
    Wait,
    /// Refuse the connection: it is TLS for another host.
    Refuse,
}

/// Passes on the data of `client`, of which `begun` was already read. Returns whether it requested another host than
/// `host`; no byte of such a request is passed on.
pub(super) async fn pass_on(
    mut client: impl AsyncRead + Unpin,
    mut server: impl AsyncWrite + Unpin,
    mut begun: Vec<u8>,
    host: &Host,
) -> io::Result<bool> {
    let (mut passed, mut has_ended) = (0, false);
    while passed < MAX_WITHOUT_TLS {
        match next(&begun, passed == 0, host) {
            Next::Pass(count) if count > 0 => {
                server.write_all(&begun[..count]).await?;
                begun.drain(..count);
                passed += count;
            }
            Next::Trust => break,
            Next::Refuse => return Ok(true),
            Next::Wait if has_ended || begun.len() >= MAX_HEAD => break,
            Next::Pass(_) | Next::Wait if has_ended => break,
            Next::Pass(_) | Next::Wait => {
                server.flush().await?;
                begun.reserve(PIECE_SIZE);
                has_ended = client.read_buf(&mut begun).await? == 0;
            }
        }
    }
    server.write_all(&begun).await?;
    copy(&mut client, &mut server).await?;
    server.shutdown().await?;
    Ok(false)
}

fn next(bytes: &[u8], is_first: bool, host: &Host) -> Next {
    let Some(at) = beginning(bytes) else { return Next::Pass(bytes.len()) };
    if at > 0 {
        return Next::Pass(at);
    }
    match hello(bytes) {
        Hello::Begun => Next::Wait,
        Hello::Tls(None) => Next::Trust,
        Hello::Tls(Some(name)) if Host::parse(&name).is_ok_and(|name| name.domain() == host.domain()) => {
            Next::Trust
        }
        Hello::Tls(Some(_)) => Next::Refuse,
        // At the beginning of the data, this is TLS in a form that no client needs; later it may be other data.
        Hello::Unreadable | Hello::Other if is_first => Next::Refuse,
        Hello::Unreadable | Hello::Other => Next::Pass(1),
    }
}

/// The position at which a TLS message may begin. The last byte may be its first one.
fn beginning(bytes: &[u8]) -> Option<usize> {
    let found = bytes.windows(TLS_PREFIX.len()).position(|pair| pair == TLS_PREFIX);
    found.or_else(|| bytes.last().is_some_and(|last| *last == TLS_PREFIX[0]).then(|| bytes.len() - 1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{
        pin::Pin,
        task::{Context, Poll},
    };
    use tokio::io::ReadBuf;

    /// The first message of a client that asks for `name`.
    fn client_hello(name: &str) -> Vec<u8> {
        let sized = |bytes: &[u8]| [&u16::try_from(bytes.len()).unwrap().to_be_bytes()[..], bytes].concat();
        let entry = [&[0][..], &sized(name.as_bytes())].concat();
        let extension = [&[0, 0][..], &sized(&sized(&entry))].concat();
        let body = [&[3, 3][..], &[7; 32], &[0], &sized(&[0x13, 1]), &[1, 0], &sized(&extension)].concat();
        let length = u32::try_from(body.len()).unwrap().to_be_bytes();
        let message = [&[1][..], &length[1..], &body].concat();
        [&[22, 3, 1][..], &sized(&message)].concat()
    }

    /// Each read gives one piece.
    struct Pieces<'a>(std::slice::Iter<'a, &'a [u8]>);

    impl AsyncRead for Pieces<'_> {
        fn poll_read(
            mut self: Pin<&mut Self>,
            _: &mut Context<'_>,
            buffer: &mut ReadBuf<'_>,
        ) -> Poll<io::Result<()>> {
            self.0.next().into_iter().for_each(|piece| buffer.put_slice(piece));
            Poll::Ready(Ok(()))
        }
    }

    async fn passed(pieces: &[&[u8]]) -> (bool, Vec<u8>) {
        let (host, mut server) = (Host::parse("mail.example:587").unwrap(), Vec::new());
        let is_other = pass_on(Pieces(pieces.iter()), &mut server, Vec::new(), &host).await.unwrap();
        (is_other, server)
    }

    #[tokio::test]
    async fn whom_a_client_asks_for_is_looked_at_wherever_tls_begins() {
        let (own, other) = (client_hello("mail.example"), client_hello("evil.example"));
        let joined = [b"EHLO x\r\nSTARTTLS\r\n".as_slice(), &other].concat();
        let table: [(&str, Vec<&[u8]>, bool); 8] = [
            ("the allowed host", vec![&own], false),
            ("another host", vec![&other], true),
            ("the allowed host after other words", vec![b"EHLO x\r\n", b"STARTTLS\r\n", &own], false),
            ("another host after other words", vec![b"EHLO x\r\n", b"STARTTLS\r\n", &other], true),
            ("another host in one piece with other words", vec![&joined], true),
            ("another host byte by byte", other.chunks(1).collect(), true),
            ("something that looks alike", vec![b"a\x16\x03\x01\x00\x02ab\x16", b"\x03b"], false),
            ("no TLS", vec![b"one", b"two\x16"], false),
        ];
        for (what, pieces, expected) in table {
            let (is_other, server) = passed(&pieces).await;
            assert_eq!(is_other, expected, "{what}");
            let all = pieces.concat();
            assert!(
                if expected { !server.ends_with(&other) && server.len() < all.len() } else { server == all },
                "{what}"
            );
        }
    }
}
