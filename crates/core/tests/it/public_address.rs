//! Tests of `public_address.rs`, through the public names.
use haft_core::public_address::*;

// D56
#[test]
fn only_public_addresses_are_public() {
    let private = [
        "0.0.0.0",
        "0.1.2.3",
        "10.0.0.1",
        "100.64.0.1",
        "100.127.255.255",
        "127.0.0.1",
        "127.9.9.9",
        "169.254.169.254",
        "172.16.0.1",
        "172.31.255.255",
        "192.0.0.8",
        "192.0.2.1",
        "192.168.1.1",
        "198.18.0.1",
        "198.19.255.255",
        "198.51.100.1",
        "203.0.113.1",
        "224.0.0.1",
        "239.1.1.1",
        "240.0.0.1",
        "255.255.255.255",
        "::",
        "::1",
        "::127.0.0.1",
        "::ffff:127.0.0.1",
        "::ffff:10.0.0.1",
        "64:ff9b::7f00:1",
        "64:ff9b:1::1",
        "100::1",
        "2001::1",
        "2001:db8::1",
        "2002:7f00:1::",
        "3fff::1",
        "5f00::1",
        "fc00::1",
        "fd12:3456::1",
        "fe80::1",
        "fec0::1",
        "ff02::1",
    ];
    for address in private {
        assert!(!is_public(address.parse().unwrap()), "{address}");
    }
    let public = [
        "1.1.1.1",
        "8.8.8.8",
        "100.63.255.255",
        "100.128.0.1",
        "172.15.0.1",
        "172.32.0.1",
        "192.0.1.1",
        "198.17.0.1",
        "223.255.255.255",
        "2606:4700::1111",
        "2a00:1450::1",
        "::ffff:8.8.8.8",
        "64:ff9b::808:808",
        "2002:808:808::",
    ];
    for address in public {
        assert!(is_public(address.parse().unwrap()), "{address}");
        assert!(is_elsewhere(address.parse().unwrap()), "{address}");
    }
    for address in ["10.0.0.1", "100.64.0.1", "172.16.0.1", "192.168.1.1", "fd12:3456::1", "::ffff:10.0.0.1"]
    {
        assert!(is_elsewhere(address.parse().unwrap()), "{address}");
    }
    let here = [
        "0.0.0.0",
        "127.9.9.9",
        "169.254.169.254",
        "224.0.0.1",
        "255.255.255.255",
        "::",
        "::1",
        "::127.0.0.1",
        "::ffff:127.0.0.1",
        "::ffff:169.254.169.254",
        "64:ff9b::7f00:1",
        "fe80::1",
        "ff02::1",
    ];
    for address in here {
        assert!(!is_elsewhere(address.parse().unwrap()), "{address}");
    }
}
