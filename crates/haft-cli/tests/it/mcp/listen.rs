//! `haft mcp --listen`: who is let in. The real binary, plain HTTP.
use crate::kit::Place;
use std::{
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    os::unix::fs::PermissionsExt,
    process::{Child, Stdio},
};

/// A server, where it listens and what it says of itself next.
fn listening(place: &Place, more: &[&str]) -> (Child, String, BufReader<std::process::ChildStderr>) {
    let words = ["mcp", "--listen", "127.0.0.1:0", "--no-agents", "--expose", "read"];
    let words: Vec<&str> = words.iter().chain(more).copied().collect();
    let mut child = place.haft(&words).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut said = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    said.read_line(&mut line).unwrap();
    let address =
        line.trim().strip_prefix("note: listening on http://").and_then(|rest| rest.strip_suffix("/mcp"));
    let address = address.unwrap_or_else(|| panic!("{line}")).to_owned();
    (child, address, said)
}

fn status(address: &str, header: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    let request = format!("GET /mcp HTTP/1.1\r\nhost: {address}\r\n{header}connection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer.split(' ').nth(1).unwrap().to_owned()
}

#[test]
fn a_token_is_told_once_kept_and_wanted() {
    let place = Place::new();
    let mut tokens = Vec::new();
    for _ in 0..2 {
        let (mut server, address, mut said) = listening(&place, &[]);
        let mut line = String::new();
        said.read_line(&mut line).unwrap();
        let token = line.trim().strip_prefix("note: clients send `Authorization: Bearer ").unwrap();
        let token = token.strip_suffix('`').unwrap().to_owned();
        assert_eq!(status(&address, ""), "401");
        // It is let in, and then has said too little for the protocol.
        assert_ne!(status(&address, &format!("authorization: Bearer {token}\r\n")), "401");
        server.kill().unwrap();
        server.wait().unwrap();
        tokens.push(token);
    }
    assert_eq!(tokens[0], tokens[1]);
    let file = place.path().join("home/mcp-token");
    assert_eq!(std::fs::metadata(file).unwrap().permissions().mode() & 0o777, 0o600);
}

#[test]
fn nobody_is_asked_where_the_person_wants_that() {
    let place = Place::new();
    let (mut server, address, _said) = listening(&place, &["--no-token"]);
    assert_ne!(status(&address, ""), "401");
    server.kill().unwrap();
    server.wait().unwrap();
    assert!(!place.path().join("home/mcp-token").exists());
    let ran = place.run(&["mcp", "--no-token", "--no-agents", "--expose", "read"]);
    assert!(ran.code == 2 && ran.err.contains("--listen"), "{ran:?}");
}
