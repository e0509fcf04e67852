//! HTTP clients ([`builder`]), all created in one place, so that each of them uses the same library for encrypted
//! connections and follows no redirect unless it is requested.
//!
//! Every client of Haft is built with [`builder`]. Most reach one address, and get the usual settings for it from
//! [`Reach::builder`]: begin there. The crate uses `reqwest`, over `rustls` with `ring`; `haft-core` determines which
//! addresses are on this machine. Only a [`Download`] connects by itself.
mod address;
mod cause;
mod download;
mod proxy;
mod public;
mod tls;

pub use address::{Address, AddressError};
pub use cause::{io_kind, says};
pub use download::{Download, DownloadError};
pub use proxy::Proxy;
pub use public::{LeadsInside, PublicNames, is_inside};

use haft_core::address::is_loopback;
use reqwest::{Client, ClientBuilder, Url, redirect};
use std::time::Duration;

/// Timeout for connecting.
pub const CONNECT: Duration = Duration::from_secs(10);
/// Haft's name for servers.
const USER_AGENT: &str = concat!("haft/", env!("CARGO_PKG_VERSION"));

/// Returns the builder of a client that follows no redirects.
pub fn builder() -> ClientBuilder {
    tls::choose();
    Proxy::remembered(Client::builder().redirect(redirect::Policy::none()))
}

/// How to reach an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// Encrypted.
    Secure,
    /// As plain HTTP.
    Plain,
    /// As plain HTTP, on this machine.
    Loopback,
}

impl Reach {
    /// Returns how to reach `url`; [`Self::Secure`] if it is invalid.
    pub fn of(url: &str) -> Self {
        let Ok(url) = Url::parse(url) else { return Self::Secure };
        match (url.scheme(), url.host_str()) {
            ("http", Some(host)) if is_loopback(host) => Self::Loopback,
            ("http", _) => Self::Plain,
            _ => Self::Secure,
        }
    }

    /// Returns the builder of a client for such addresses. Only clients for encrypted addresses read the machine's root
    /// certificates, which is expensive. A client for this machine uses no proxy, which could not reach it.
    pub fn builder(self) -> ClientBuilder {
        let builder = builder().connect_timeout(CONNECT).user_agent(USER_AGENT);
        match self {
            Self::Secure => builder,
            Self::Plain => builder.tls_certs_only([]),
            Self::Loopback => builder.tls_certs_only([]).no_proxy(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_proxy_is_passed_by_for_this_machine_only() {
        let table = [
            ("http://127.0.0.1:8080/v1", Reach::Loopback),
            ("http://localhost:11434/v1", Reach::Loopback),
            ("http://[::1]/v1", Reach::Loopback),
            ("http://127.evil.example.com/v1", Reach::Plain),
            ("https://127.0.0.1/v1", Reach::Secure),
            ("http://10.0.0.1/v1", Reach::Plain),
            ("nowhere", Reach::Secure),
        ];
        for (url, expected) in table {
            assert_eq!(Reach::of(url), expected, "{url}");
        }
    }
}
