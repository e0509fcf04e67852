//! [`is_public`]: decides whether an address belongs to the public internet.
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Whether the address is reachable from the whole internet: neither this machine, nor a private network, nor a
/// multicast group.
pub fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => match embedded(address) {
            Some(inner) => is_public_v4(inner),
            None => is_public_v6(address),
        },
    }
}

/// Whether the address is of another machine, possibly in a private network: neither of this machine nor link-local,
/// where cloud machines get their credentials.
pub fn is_elsewhere(address: IpAddr) -> bool {
    let is_here = |address: Ipv4Addr| {
        let [first, ..] = address.octets();
        first == 0
            || address.is_loopback()
            || address.is_link_local()
            || address.is_broadcast()
            || address.is_multicast()
    };
    match address {
        IpAddr::V4(address) => !is_here(address),
        IpAddr::V6(address) => match embedded(address) {
            Some(inner) => !is_here(inner),
            None => {
                let is_compatible = address.segments()[..6] == [0; 6];
                !is_compatible && !address.is_unicast_link_local() && !address.is_multicast()
            }
        },
    }
}

/// After the IANA IPv4 Special-Purpose Address Registry (2026-11).
fn is_public_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    let special = address.is_private()
        || address.is_loopback()
        || address.is_link_local()
        || address.is_documentation()
        || address.is_multicast()
        || a == 0
        || a >= 240
        // Carriers' own networks.
        || (a == 100 && (64..128).contains(&b))
        || (a, b, c) == (192, 0, 0)
        // The relays of 6to4.
        || (a, b, c) == (192, 88, 99)
        // Measurements.
        || (a == 198 && (b == 18 || b == 19));
    !special
}

/// Only addresses in 2000::/3 are assigned, and some of those are special.
fn is_public_v6(address: Ipv6Addr) -> bool {
    let [a, b, ..] = address.segments();
    let documentation = (a, b) == (0x2001, 0x0db8) || (a == 0x3fff && b < 0x1000);
    // Tunnels, benchmarks and identifiers that are not addresses.
    let special = a == 0x2001 && b < 0x0200;
    (0x2000..0x4000).contains(&a) && !documentation && !special
}

/// The IPv4 address embedded in this address: mapped, translated (64:ff9b::/96) or tunnelled (2002::/16).
fn embedded(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let from = |high: u16, low: u16| Ipv4Addr::from((u32::from(high) << 16) | u32::from(low));
    match address.segments() {
        [0, 0, 0, 0, 0, 0xffff, high, low] | [0x64, 0xff9b, 0, 0, 0, 0, high, low] => Some(from(high, low)),
        [0x2002, high, low, ..] => Some(from(high, low)),
        _ => None,
    }
}
