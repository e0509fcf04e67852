//! `docs/compatibility.md`: its versions are those of the program.
use crate::kit::{Place, serving::Serving};
use serde_json::{Value, json};
use std::{
    fs,
    io::{BufRead, BufReader, Write},
    path::Path,
    process::Stdio,
};

const PAGE: &str = include_str!("../../../../../docs/compatibility.md");

/// Returns the cell "version" of the row that begins with `interface`.
fn said_of(interface: &str) -> &'static str {
    let row =
        PAGE.lines().find(|line| line.starts_with(&format!("| {interface}"))).expect("the page has the row");
    row.split(" | ").nth(1).expect("the row has a version")
}

/// Returns what a server on standard streams answers to `initialize` with this version.
fn initialized(place: &Place, words: &[&str], version: &Value) -> Value {
    let mut server = place.haft(words).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let client = json!({"name": "test", "version": "1"});
    let parameters = json!({"protocolVersion": version, "capabilities": {}, "clientCapabilities": {}, "clientInfo": client});
    let request = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": parameters});
    let mut input = server.stdin.take().unwrap();
    writeln!(input, "{request}").unwrap();
    let mut answer = String::new();
    BufReader::new(server.stdout.take().unwrap()).read_line(&mut answer).unwrap();
    drop(input);
    server.wait().unwrap();
    serde_json::from_str::<Value>(&answer).unwrap()["result"]["protocolVersion"].clone()
}

#[test]
fn the_page_of_compatibility_has_the_versions_of_the_program() {
    let place = Place::new();
    assert_eq!(place.run(&["--version"]).out.trim(), format!("haft {}", said_of("Haft itself")));

    let script = place.script("s.jsonl", &[json!({"say": "ok"})]);
    assert_eq!(place.run(&["run", "--model", &script, "hi"]).code, 0);
    let sessions = fs::read_dir(place.path().join("home/sessions")).unwrap().flatten();
    let journal =
        sessions.map(|entry| entry.path().join("journal.jsonl")).find(|path| path.is_file()).unwrap();
    let journal = fs::read_to_string(journal).unwrap();
    let opened: Value = serde_json::from_str(journal.lines().next().unwrap()).unwrap();
    assert_eq!(opened["version"].to_string(), said_of("Journals"));

    let (oldest, newest) = said_of("MCP, Haft as a server").split_once(" to ").expect("a range");
    let mcp = ["mcp", "--no-agents", "--expose", "read"];
    assert_eq!(initialized(&place, &mcp, &json!(oldest)), json!(oldest));
    assert_eq!(initialized(&place, &mcp, &json!("2999-01-01")), json!(newest));
    let acp = initialized(&place, &["acp", "--model", &script], &json!(999));
    assert_eq!(acp.to_string(), said_of("ACP"));

    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let migrations = fs::read_dir(root.join("crates/fleet/migrations")).unwrap().count();
    assert_eq!(migrations.to_string(), said_of("Tables of a fleet"));
    let manifest = fs::read_to_string(root.join("Cargo.toml")).unwrap();
    assert!(manifest.contains(&format!("rust-version = \"{}\"", said_of("Rust, to build"))));
}

/// Every route with a version has that of the page.
#[test]
fn the_page_of_compatibility_has_the_version_of_the_http_api() {
    let place = Place::new();
    let script = place.script("s.jsonl", &[json!({"say": "ok"})]);
    let server = Serving::start(&place, &["--model", &script]);
    let described = server.ask("GET /openapi.json", "").json();
    let version = said_of("HTTP API").trim_matches('`').to_owned() + "/";
    let routes: Vec<&String> = described["paths"].as_object().unwrap().keys().collect();
    let with = routes.iter().filter(|route| route.starts_with(&version)).count();
    let other = routes.iter().filter(|route| route.starts_with("/v") && !route.starts_with(&version)).count();
    assert!(with > 20 && other == 0, "{routes:?}");
    let socket = &described["paths"]["/v1/sessions/{id}/socket"]["get"]["description"];
    let protocol = format!("`haft-session.{}`", said_of("`haft attach`"));
    assert!(socket.as_str().is_some_and(|text| text.contains(&protocol)), "{protocol}: {socket}");
}
