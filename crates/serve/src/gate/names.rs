//! [`Names`]: the names of this server. A foreign page whose own name resolves to this server (DNS rebinding) is
//! recognized by that name.
use axum::http::{HeaderValue, Uri};
use std::net::{IpAddr, SocketAddr};

/// The host names under which clients may reach the server.
pub(crate) struct Names {
    /// Names from the configuration, in lower case, without a port.
    more: Vec<String>,
    is_local: bool,
}

impl Names {
    /// Names of a server at `address`, and those that the user configured.
    pub(crate) fn new(address: SocketAddr, more: &[String]) -> Self {
        let more = more.iter().map(|name| name.trim_end_matches('.').to_ascii_lowercase()).collect();
        Self { more, is_local: address.ip().is_loopback() }
    }

    /// Whether a request is meant for this server. A host in the request's target must match, too.
    pub(super) fn is_ours(&self, host: Option<&HeaderValue>, target: &Uri) -> bool {
        let is_ours = |authority: &str| host_of(authority).is_some_and(|name| self.is_name(&name));
        let is_host = host.and_then(|host| host.to_str().ok()).is_some_and(is_ours);
        is_host && target.authority().is_none_or(|authority| is_ours(authority.as_str()))
    }

    /// Whether `origin` is the page that this server delivered under the name `host`. A proxy in front of the server
    /// may have changed that name: the configured names are accepted, too.
    pub(super) fn is_own_origin(&self, origin: &HeaderValue, host: Option<&HeaderValue>) -> bool {
        let authority = origin
            .to_str()
            .ok()
            .and_then(|origin| origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://")));
        let Some(authority) = authority else { return false };
        let is_same = host.is_some_and(|host| host.as_bytes().eq_ignore_ascii_case(authority.as_bytes()));
        is_same || host_of(authority).is_some_and(|name| self.more.contains(&name))
    }

    /// Whether `name` is one of this server. An IP address cannot be a foreign name that resolves to this server; a
    /// server that listens on a loopback address accepts only loopback addresses.
    fn is_name(&self, name: &str) -> bool {
        if name == "localhost" || self.more.iter().any(|more| more == name) {
            return true;
        }
        let address = name.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
        address.is_ok_and(|address| address.is_loopback() || !self.is_local)
    }
}

/// The host in lower case, without the port.
fn host_of(authority: &str) -> Option<String> {
    let name = match authority.strip_prefix('[') {
        Some(rest) => &authority[..rest.find(']')? + 2],
        None => authority.split(':').next()?,
    };
    let rest = &authority[name.len()..];
    let is_port = rest.is_empty() || rest.strip_prefix(':').is_some_and(|port| port.parse::<u16>().is_ok());
    (is_port && !name.is_empty()).then(|| name.trim_end_matches('.').to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_ours(names: &Names, host: &str) -> bool {
        names.is_ours(Some(&HeaderValue::from_str(host).unwrap()), &Uri::from_static("/"))
    }

    #[test]
    fn only_names_that_nobody_else_can_have_are_ours() {
        let local = Names::new("127.0.0.1:8171".parse().unwrap(), &["Agent.Example".to_owned()]);
        let open = Names::new("0.0.0.0:8171".parse().unwrap(), &[]);
        let table = [
            ("127.0.0.1:8171", true, true),
            ("localhost", true, true),
            ("LOCALHOST:8171", true, true),
            ("[::1]:8171", true, true),
            ("agent.example", true, false),
            ("192.168.1.5:8171", false, true),
            ("evil.example", false, false),
            ("127.0.0.1.evil.example:8171", false, false),
            ("localhost.evil.example", false, false),
            ("127.0.0.1:8171@evil.example", false, false),
            ("evil.example:80:8171", false, false),
            ("", false, false),
            ("[::1", false, false),
        ];
        for (host, by_local, by_open) in table {
            assert_eq!((is_ours(&local, host), is_ours(&open, host)), (by_local, by_open), "{host}");
        }
        assert!(!local.is_ours(None, &Uri::from_static("/")));
        let elsewhere = Uri::from_static("http://evil.example/v1/sessions");
        assert!(!local.is_ours(Some(&HeaderValue::from_static("localhost")), &elsewhere));
    }

    #[test]
    fn an_origin_is_the_page_of_the_same_name_and_port() {
        let names = Names::new("127.0.0.1:8171".parse().unwrap(), &["agent.example".to_owned()]);
        let host = HeaderValue::from_static("127.0.0.1:8171");
        let table = [
            ("http://127.0.0.1:8171", true),
            ("https://agent.example", true),
            ("http://127.0.0.1:9999", false),
            ("http://localhost:8171", false),
            ("http://evil.example", false),
            ("null", false),
            ("file://127.0.0.1:8171", false),
        ];
        for (origin, expected) in table {
            let origin_value = HeaderValue::from_static(origin);
            assert_eq!(names.is_own_origin(&origin_value, Some(&host)), expected, "{origin}");
        }
    }
}
