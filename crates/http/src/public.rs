//! [`PublicNames`] and [`is_inside`]: keep requests to addresses that others chose away from this machine and from
//! private networks.
use haft_core::public_address::is_public;
use reqwest::{
    Url,
    dns::{Addrs, Name, Resolve, Resolving},
};
use std::net::{IpAddr, ToSocketAddrs};

/// The error if an address leads to this machine or a private network.
#[derive(Debug, thiserror::Error)]
#[error("the name leads to a private address")]
pub struct LeadsInside;

/// Resolves names to public addresses only, or fails with [`LeadsInside`]. The connection uses one of these addresses,
/// so a name that resolves differently on the next lookup has no effect. A client that uses it must not use a proxy,
/// which would resolve names itself.
pub struct PublicNames;

impl Resolve for PublicNames {
    fn resolve(&self, name: Name) -> Resolving {
        Box::pin(async move {
            let found = tokio::task::spawn_blocking(move || (name.as_str(), 0).to_socket_addrs()).await??;
            let usable: Vec<_> = found.filter(|found| is_public(found.ip())).collect();
            if usable.is_empty() {
                return Err(LeadsInside.into());
            }
            Ok(Box::new(usable.into_iter()) as Addrs)
        })
    }
}

/// Whether the host of `url` is an IP address of this machine or of a private network. A name is checked by
/// [`PublicNames`], which is not used for IP addresses.
pub fn is_inside(url: &Url) -> bool {
    let bare = url.host_str().unwrap_or_default().trim_start_matches('[').trim_end_matches(']');
    bare.parse::<IpAddr>().is_ok_and(|address| !is_public(address))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ip_address_is_inside_unless_it_is_public() {
        for (url, expected) in [
            ("https://192.168.0.1/a", true),
            ("https://[::1]:8443/a", true),
            ("https://[fd00::1]/a", true),
            ("https://2130706433/a", true),
            ("https://1.1.1.1/a", false),
            ("https://[2606:4700::1111]/a", false),
            ("https://push.example.org/a", false),
        ] {
            assert_eq!(is_inside(&Url::parse(url).unwrap()), expected, "{url}");
        }
    }
}
