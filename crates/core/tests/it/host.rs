//! Tests of `host.rs`, through the public names.
use haft_core::*;

// D64
#[test]
fn a_host_is_read_in_one_way_or_not_at_all() {
    let table = [
        ("example.org", "example.org"),
        ("Example.ORG.", "example.org"),
        ("example.org:8443", "example.org:8443"),
        ("xn--bcher-kva.example", "xn--bcher-kva.example"),
        ("127.0.0.1:80", "127.0.0.1:80"),
        ("[::1]", "[::1]"),
        ("[0:0::1]:443", "[::1]:443"),
        ("[::ffff:10.0.0.1]", "10.0.0.1"),
        ("a_b.example.org", "a_b.example.org"),
    ];
    for (text, expected) in table {
        assert_eq!(Host::parse(text).unwrap().to_string(), expected, "{text}");
    }
    let long = "a.".repeat(130);
    let refused = [
        "",
        ".",
        "a..b",
        "a.evil\0.example.org",
        "user@example.org",
        "https://example.org",
        "example.org/x",
        "*.example.org",
        "bücher.example",
        "exаmple.org",
        "::1",
        "[::1",
        "[::1]x",
        "[fe80::1%eth0]",
        "[127.0.0.1]",
        "127.1",
        "0x7f.1",
        "2130706433",
        "0177.0.0.1",
        "1.2.3.4.5",
        "example.org:",
        "example.org:0",
        "example.org:+80",
        "example.org:65536",
        "example.org: 80",
        "example.org:80:90",
        "exa mple.org",
        "example.org\t",
        "example.org\r\n",
        "-a.org",
        "a-.org",
        "a%2eorg",
        "a\\b",
        "example.org..",
        &long,
    ];
    for text in refused {
        assert!(Host::parse(text).is_err(), "{text}");
    }
}

#[test]
fn a_host_without_a_port_means_the_ports_of_the_web() {
    let table = [
        ("example.org:443", "example.org", true),
        ("example.org:80", "example.org", true),
        ("example.org:22", "example.org", false),
        ("example.org:22", "example.org:22", true),
        ("example.org:443", "example.org:22", false),
        ("sub.example.org:443", "example.org", false),
        ("example.org.evil:443", "example.org", false),
        ("127.0.0.1:80", "localhost", false),
    ];
    for (asked, allowed, expected) in table {
        let [asked_host, allowed_host] = [asked, allowed].map(|text| Host::parse(text).unwrap());
        assert_eq!(asked_host.is_within(&allowed_host), expected, "{asked} within {allowed}");
    }
}
