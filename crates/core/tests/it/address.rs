//! Tests of `address.rs`, through the public names.
use haft_core::address::*;

#[test]
fn names_that_look_like_this_machine_are_not() {
    let here = [
        "localhost",
        "LOCALHOST",
        "localhost.",
        "127.0.0.1",
        "127.8.9.10",
        "::1",
        "[::1]",
        "[::ffff:127.0.0.1]",
    ];
    let elsewhere = [
        "",
        "127.0.0.1.example.org",
        "127.evil.example.com",
        "127.example.org",
        "localhost.example.org",
        "10.0.0.1",
        "0.0.0.0",
        "[::2]",
        "1270.0.0.1",
    ];
    for host in here {
        assert!(is_loopback(host), "{host}");
    }
    for host in elsewhere {
        assert!(!is_loopback(host), "{host}");
    }
}
