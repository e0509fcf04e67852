//! [`Host`]: a host name or address, parsed the same way for lists of hosts and for requests to the proxy.
use std::{
    fmt,
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
};

/// A host, and a port if one was given, in normal form: lower case, no dot at the end, addresses in their shortest
/// form. Equal hosts are equal values.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Host {
    name: Name,
    /// `None`: the ports of HTTPS and HTTP.
    port: Option<u16>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Name {
    Domain(String),
    Address(IpAddr),
}

/// The ports of HTTPS and HTTP.
const WEB_PORTS: [u16; 2] = [443, 80];

/// Maximum bytes of a name, and of one label (RFC 1035).
const MAX_NAME_BYTES: [usize; 2] = [253, 63];

impl Host {
    /// Reads `example.org`, `example.org:8443`, `192.0.2.1` or `[2001:db8::1]:443`.
    ///
    /// # Errors
    /// Fails if programs may interpret `text` in different ways, and says why.
    pub fn parse(text: &str) -> Result<Self, String> {
        let bad = |why: &str| format!("cannot read `{}` as a host: {why}", text.escape_debug());
        if text.contains("://") || text.contains('/') {
            return Err(bad("name the host alone, without a scheme or a path"));
        }
        if text.contains('@') {
            return Err(bad("it holds a user name"));
        }
        let (name, port) = split(text).ok_or_else(|| bad("an IPv6 address stands in brackets"))?;
        let port =
            port.map(|port| read_port(port).ok_or_else(|| bad("the port is no number from 1 to 65535")));
        Ok(Self { name: Name::parse(name).map_err(bad)?, port: port.transpose()? })
    }

    /// Whether `allowed` covers this host: the name is the same, and so is the port; if `allowed` names no port, 80 and
    /// 443 are covered.
    pub fn is_within(&self, allowed: &Self) -> bool {
        let port = self.port.unwrap_or(WEB_PORTS[0]);
        self.name == allowed.name && allowed.port.map_or(WEB_PORTS.contains(&port), |allowed| allowed == port)
    }

    /// Sets `port` if the host has none.
    #[must_use]
    pub fn or_port(self, port: u16) -> Self {
        Self { port: self.port.or(Some(port)), ..self }
    }

    /// The port that was named.
    pub fn port(&self) -> Option<u16> {
        self.port
    }

    /// The name without the port, as a resolver takes it.
    pub fn name(&self) -> String {
        match &self.name {
            Name::Domain(name) => name.clone(),
            Name::Address(address) => address.to_string(),
        }
    }

    /// The name of a domain.
    pub fn domain(&self) -> Option<&str> {
        match &self.name {
            Name::Domain(name) => Some(name),
            Name::Address(_) => None,
        }
    }
}

impl fmt::Display for Host {
    /// Writes the form that [`Host::parse`] reads.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.name {
            Name::Domain(name) => f.write_str(name)?,
            Name::Address(IpAddr::V6(address)) => write!(f, "[{address}]")?,
            Name::Address(address) => write!(f, "{address}")?,
        }
        self.port.map_or(Ok(()), |port| write!(f, ":{port}"))
    }
}

/// Name and port; `None` if it is unclear which is which.
fn split(text: &str) -> Option<(&str, Option<&str>)> {
    if let Some(rest) = text.strip_prefix('[') {
        let (_, behind) = rest.split_once(']')?;
        let name = &text[..text.len() - behind.len()];
        return match behind.strip_prefix(':') {
            Some(port) => Some((name, Some(port))),
            None => behind.is_empty().then_some((name, None)),
        };
    }
    match text.split_once(':') {
        Some((_, port)) if port.contains(':') => None,
        Some((name, port)) => Some((name, Some(port))),
        None => Some((text, None)),
    }
}

/// Accepts only digits: the standard library also accepts `+80`.
fn read_port(port: &str) -> Option<u16> {
    let is_plain = !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
    port.parse().ok().filter(|port| is_plain && *port != 0)
}

impl Name {
    fn parse(text: &str) -> Result<Self, &'static str> {
        if let Some(inner) = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')) {
            let address: Ipv6Addr = inner.parse().map_err(|_| "it is no IPv6 address")?;
            return Ok(Self::Address(address.to_canonical()));
        }
        if !text.is_ascii() {
            return Err("it holds letters beyond ASCII; write the form that begins with `xn--`");
        }
        let name = text.strip_suffix('.').unwrap_or(text).to_ascii_lowercase();
        if let Ok(address) = name.parse::<Ipv4Addr>() {
            return Ok(Self::Address(address.into()));
        }
        let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
        let is_label = |label: &str| {
            (1..=MAX_NAME_BYTES[1]).contains(&label.len())
                && label.bytes().all(is_letter)
                && !label.starts_with('-')
                && !label.ends_with('-')
        };
        if name.len() > MAX_NAME_BYTES[0] || !name.split('.').all(is_label) {
            return Err("it is no name of a host");
        }
        // Resolvers interpret `127.1`, `0x7f.1` and `2130706433` as addresses.
        let last = name.rsplit('.').next().unwrap_or_default();
        if last.starts_with(|first: char| first.is_ascii_digit()) {
            return Err("it is no name of a host, and no address in four parts");
        }
        Ok(Self::Domain(name))
    }
}
