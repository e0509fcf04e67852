//! HTTP clients, all made in one place, so that each of them chooses the same library for encrypted connections and follows no
//! redirect that its owner did not ask for.
//!
//! Every client of Haft begins with [`builder`]. Most reach one address, and get the usual settings for it from
//! [`Reach::builder`]: begin there. It uses `reqwest`, over `rustls` with `ring`; it takes from `haft-core` which addresses
//! are on this machine. Only a [`Download`] connects by itself.
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

/// A host that does not even accept within this time is not there.
pub const CONNECT: Duration = Duration::from_secs(10);
/// How Haft names itself to servers.
const USER_AGENT: &str = concat!("haft/", env!("CARGO_PKG_VERSION"));

/// Returns the builder of a client that follows no redirect.
pub fn builder() -> ClientBuilder {
    tls::choose();
    Proxy::remembered(Client::builder().redirect(redirect::Policy::none()))
}

/// How an address is reached.
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
    /// Returns how `url` is reached; [`Self::Secure`] where it is no address.
    pub fn of(url: &str) -> Self {
        let Ok(url) = Url::parse(url) else { return Self::Secure };
        match (url.scheme(), url.host_str()) {
            ("http", Some(host)) if is_loopback(host) => Self::Loopback,
            ("http", _) => Self::Plain,
            _ => Self::Secure,
        }
    }

    /// Returns the builder of a client for such addresses. Reading the machine's root certificates is the dear part, and a
    /// plain address needs none of them; no proxy could reach this machine.
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
