//! [`is_loopback`]: decides whether an address is of this machine.
use std::net::{IpAddr, Ipv6Addr};

/// Whether `host`, as it is in an address, is this machine itself: `localhost`, or an IP address of the loopback
/// interface, with or without brackets. A name that only begins like one (`127.0.0.1.example.org`) is not.
pub fn is_loopback(host: &str) -> bool {
    let bare = host.trim_start_matches('[').trim_end_matches(']').trim_end_matches('.');
    if bare.eq_ignore_ascii_case("localhost") {
        return true;
    }
    match bare.parse() {
        Ok(IpAddr::V4(address)) => address.is_loopback(),
        Ok(IpAddr::V6(address)) => address == Ipv6Addr::LOCALHOST || is_mapped(address),
        Err(_) => false,
    }
}

/// `::ffff:127.0.0.1`
fn is_mapped(address: Ipv6Addr) -> bool {
    address.to_ipv4_mapped().is_some_and(|address| address.is_loopback())
}
