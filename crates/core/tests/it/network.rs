//! Tests of `tool/network.rs`, through the public names.
use haft_core::*;

// D64
#[test]
fn a_project_narrows_the_network_and_never_widens_it() {
    let table = [
        ("on", "off", "off"),
        ("on", "ask", "ask"),
        ("on", "on", "on"),
        ("ask", "on", "ask"),
        ("ask", "a.org", "off"),
        ("on", "a.org", "off"),
        ("off", "on", "off"),
        ("off", "a.org", "off"),
        ("a.org,b.org", "b.org,c.org", "b.org"),
        ("a.org", "ask", "a.org"),
        ("a.org", "", ""),
    ];
    for (own, limit, expected) in table {
        let [own_network, limit_network] = [own, limit].map(|text| Network::parse(text).unwrap());
        assert_eq!(own_network.within(&limit_network).to_string(), expected, "{own} within {limit}");
    }
    assert_eq!(Network::parse("").unwrap().unasked(), Reach::Nothing);
}
