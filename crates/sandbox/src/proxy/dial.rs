//! [`dial`]: connects to allowed hosts, and refuses addresses to which their names must not resolve.
use super::request::Refusal;
use haft_core::{
    Host,
    address::is_loopback,
    public_address::{is_elsewhere, is_public},
};
use std::{io, net::SocketAddr, time::Duration};
use tokio::{
    net::{TcpStream, lookup_host},
    time::timeout,
};

/// How long looking up a host's addresses, or connecting to one of them, may take.
const DIAL_TIMEOUT: Duration = Duration::from_secs(10);

/// Connects to `host` at its port; `private`: it may be in a private network. The addresses are looked up here, once,
/// so the address that was checked is the one that is connected to.
pub(super) async fn dial(host: &Host, private: bool) -> Result<TcpStream, Refusal> {
    let (name, port) = (host.name(), host.port().unwrap_or_default());
    let found = timeout(DIAL_TIMEOUT, lookup_host((name.as_str(), port))).await;
    let found = found.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()));
    let found: Vec<SocketAddr> =
        found.map_err(|error| (502, format!("cannot find `{host}`: {error}")))?.collect();
    let usable: Vec<&SocketAddr> =
        found.iter().filter(|address| may_be_reached(host, address, private)).collect();
    if usable.is_empty() {
        return Err((403, format!("`{host}` leads to an address of this machine or of a private network")));
    }
    let mut last = io::Error::from(io::ErrorKind::TimedOut);
    for address in usable {
        match timeout(DIAL_TIMEOUT, TcpStream::connect(address)).await {
            Ok(Ok(stream)) => return Ok(stream),
            Ok(Err(error)) => last = error,
            Err(_) => last = io::ErrorKind::TimedOut.into(),
        }
    }
    Err((502, format!("cannot reach `{host}`: {last}")))
}

/// Whether the address is allowed: a rule for an address, or for `localhost`, allows exactly that. Any other name may
/// only resolve to public addresses or, with `private`, to addresses outside of this machine.
fn may_be_reached(host: &Host, address: &SocketAddr, private: bool) -> bool {
    match host.domain() {
        None => true,
        Some(name) if is_loopback(name) => address.ip().is_loopback(),
        Some(_) if private => is_elsewhere(address.ip()),
        Some(_) => is_public(address.ip()),
    }
}
