//! [`read`]: parses the request of a client to a proxy (RFC 9110, 9112) strictly. One request per connection is
//! supported.
use haft_core::Host;

/// A valid request.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Asked {
    /// `CONNECT`: bytes in both directions.
    Tunnel(Host),
    /// A request over plain HTTP, for the server at `host`.
    Forward {
        host: Host,
        /// The head as it is sent to that server.
        head: Vec<u8>,
        /// Length of the body in bytes.
        body: u64,
    },
}

/// Why a request is not carried out: the status and the reason.
pub(super) type Refusal = (u16, String);

/// Returns where the head ends, if it does.
pub(super) fn end_of_head(bytes: &[u8]) -> Option<usize> {
    bytes.windows(4).position(|four| four == b"\r\n\r\n").map(|at| at + 4)
}

/// Parses a head with the empty line at its end.
pub(super) fn read(head: &[u8]) -> Result<Asked, Refusal> {
    let text = str::from_utf8(head).map_err(|_| bad("the request is not UTF-8"))?;
    let text = text.strip_suffix("\r\n\r\n").ok_or_else(|| bad("the request has no end"))?;
    let mut lines = text.split("\r\n");
    if lines.clone().any(|line| line.contains(['\r', '\n', '\0'])) {
        return Err(bad("the request holds a line end or a NUL where none may be"));
    }
    let words: Vec<&str> = lines.next().unwrap_or_default().split(' ').collect();
    let [method, target, "HTTP/1.1" | "HTTP/1.0"] = words[..] else {
        return Err(bad("the first line is none of HTTP/1.1"));
    };
    let fields = lines.map(field).collect::<Result<Vec<_>, _>>()?;
    if method == "CONNECT" {
        let host = Host::parse(target).map_err(bad)?;
        return Ok(Asked::Tunnel(host.or_port(443)));
    }
    forward(method, target, &fields)
}

fn forward(method: &str, target: &str, fields: &[(&str, &str)]) -> Result<Asked, Refusal> {
    let scheme = target.get(..7).filter(|scheme| scheme.eq_ignore_ascii_case("http://"));
    let rest = scheme.map(|scheme| &target[scheme.len()..]);
    let rest = rest.ok_or_else(|| bad("only `CONNECT` and addresses that begin with `http://` are taken"))?;
    let (authority, path) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
    let host = Host::parse(authority).map_err(bad)?;
    let is = |name: &str, other: &str| name.eq_ignore_ascii_case(other);
    if fields.iter().any(|(name, _)| is(name, "transfer-encoding")) {
        return Err((411, "say how long the content is (`Content-Length`)".into()));
    }
    let mut lengths = fields.iter().filter(|(name, _)| is(name, "content-length")).map(|(_, value)| *value);
    let body = match (lengths.next(), lengths.next()) {
        (None, _) => 0,
        (Some(length), None) if length.bytes().all(|byte| byte.is_ascii_digit()) => {
            length.parse().map_err(|_| bad("the content is too long"))?
        }
        _ => return Err(bad("the length of the content is unclear")),
    };
    let slash = if path.starts_with('/') { "" } else { "/" };
    let mut head = format!("{method} {slash}{path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n");
    for (name, value) in fields.iter().filter(|(name, _)| !DROPPED_HEADERS.iter().any(|own| is(own, name))) {
        head += &format!("{name}: {value}\r\n");
    }
    Ok(Asked::Forward { host: host.or_port(80), head: (head + "\r\n").into(), body })
}

/// Headers that concern only the client and the proxy, or that the proxy sets itself: it does not pass them on.
const DROPPED_HEADERS: [&str; 8] = [
    "host",
    "connection",
    "proxy-connection",
    "proxy-authorization",
    "keep-alive",
    "te",
    "upgrade",
    "http2-settings",
];

fn field(line: &str) -> Result<(&str, &str), Refusal> {
    let (name, value) = line.split_once(':').ok_or_else(|| bad("a line of the head has no name"))?;
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    match !name.is_empty() && name.bytes().all(is_name) {
        true => Ok((name, value.trim_matches([' ', '\t']))),
        false => Err(bad("a line of the head has no name")),
    }
}

fn bad(why: impl Into<String>) -> Refusal {
    (400, why.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(head: &str) -> String {
        match read(head.as_bytes()) {
            Ok(Asked::Tunnel(host)) => format!("tunnel {host}"),
            Ok(Asked::Forward { host, head, body }) => {
                format!("{host} {body} {}", String::from_utf8(head).unwrap())
            }
            Err((status, _)) => status.to_string(),
        }
    }

    // D64
    #[test]
    fn a_request_is_read_in_one_way_or_refused() {
        let table = [
            ("CONNECT example.org:443 HTTP/1.1\r\nHost: evil.org\r\n\r\n", "tunnel example.org:443"),
            ("CONNECT Example.org. HTTP/1.1\r\n\r\n", "tunnel example.org:443"),
            ("CONNECT [::1]:8443 HTTP/1.1\r\n\r\n", "tunnel [::1]:8443"),
            (
                "GET http://example.org/a?b HTTP/1.1\r\nHost: evil.org\r\nProxy-Connection: x\r\nAccept: */*\r\n\r\n",
                "example.org:80 0 GET /a?b HTTP/1.1\r\nHost: example.org\r\nConnection: close\r\nAccept: */*\r\n\r\n",
            ),
            (
                "POST HTTP://example.org:8080?x HTTP/1.1\r\nContent-Length: 3\r\n\r\n",
                "example.org:8080 3 POST /?x HTTP/1.1\r\nHost: example.org:8080\r\nConnection: close\r\nContent-Length: 3\r\n\r\n",
            ),
        ];
        for (head, expected) in table {
            assert_eq!(told(head), expected, "{head:?}");
        }
        let refused = [
            "CONNECT a.evil\0.example.org:443 HTTP/1.1\r\n\r\n",
            "CONNECT user@example.org:443 HTTP/1.1\r\n\r\n",
            "CONNECT example.org:443 HTTP/2\r\n\r\n",
            "CONNECT  example.org:443 HTTP/1.1\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: example.org\r\n\r\n",
            "GET https://example.org/ HTTP/1.1\r\n\r\n",
            "GET http://user:word@example.org/ HTTP/1.1\r\n\r\n",
            "GET http://example.org\\@evil.org/ HTTP/1.1\r\n\r\n",
            "GET http://example.org/ HTTP/1.1\r\n folded: x\r\n\r\n",
            "GET http://example.org/ HTTP/1.1\r\nA: b\nHost: evil.org\r\n\r\n",
            "POST http://example.org/ HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
            "POST http://example.org/ HTTP/1.1\r\nContent-Length: +1\r\n\r\n",
            "GET http://example.org/ HTTP/1.1\r\nNo name\r\n\r\n",
        ];
        for head in refused {
            assert_eq!(told(head), "400", "{head:?}");
        }
        assert_eq!(told("POST http://a.org/ HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"), "411");
    }
}
