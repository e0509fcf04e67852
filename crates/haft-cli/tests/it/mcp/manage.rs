//! `haft mcp add`, `list`, `test` and `remove`: servers of the user's own configuration.
use super::peer::{Peer, program};
use crate::kit::Place;
use serde_json::{Value, json};
use std::fs;

/// What a person wrote, with comments that belong to nothing in particular.
const WRITTEN: &str =
    "# My configuration.\n\nmodel = \"openai/gpt-5\" # the large one\n\n[timeouts]\nidle = 30\n\n# Notes.\n";

fn written(place: &Place) -> String {
    fs::read_to_string(place.path().join("person/.config/haft/config.toml")).unwrap()
}

#[test]
fn a_server_is_added_tried_and_removed_and_the_rest_of_the_file_stays() {
    let place = Place::new();
    let Some(program) = program(&place) else { return };
    let Some(peer) = Peer::start(&place, &[]) else { return };
    place.configure(WRITTEN);
    let program = program.display().to_string();
    for (words, transport) in [
        (&["python3", &program, "stdio"][..], "stdio"),
        (&["--", "python3", &program, "stdio"], "stdio"),
        (&[peer.address.as_str()], "http"),
    ] {
        let added = place.run(&[&["mcp", "add", "--json", "peer"], words].concat());
        let object = &added.events()[0];
        assert_eq!((&object["name"], &object["transport"]), (&json!("peer"), &json!(transport)), "{added:?}");
        assert!(added.code == 0 && added.err.starts_with("Added `peer` to `"), "{added:?}");
        assert!(written(&place).starts_with(WRITTEN.trim_end_matches("\n# Notes.\n")), "{}", written(&place));
        let listed = place.run(&["mcp", "list", "--json"]).events();
        assert_eq!((listed.len(), &listed[0]["transport"]), (1, &json!(transport)), "{listed:?}");
        let tested = place.run(&["mcp", "test", "peer", "--json"]);
        let mut found: Value = serde_json::from_str(&tested.out).unwrap_or_else(|_| panic!("{tested:?}"));
        assert!(found["milliseconds"].take().is_u64() && found["protocol"].take().is_string(), "{tested:?}");
        let expected = json!({
            "name": "peer", "transport": transport, "state": "ready", "server": "peer", "version": "1.2.3", "protocol": null, "tools": ["echo", "add"],
            "prompts": ["greet"], "resources": ["note://one", "note://by/{name}"], "failures": {}, "milliseconds": null,
        });
        assert_eq!(found, expected);
        let told = place.run(&["mcp", "test", "peer"]).out;
        assert!(told.starts_with("`peer` is peer 1.2.3, speaks MCP 20"), "{told}");
        assert!(told.ends_with(
            "tools (2): echo, add\nprompts (1): greet\nresources (2): note://one, note://by/{name}\n"
        ));
        let called =
            place.run(&["tools", "call", "mcp__peer__add", "{\"a\":2,\"b\":40}", "--permission", "full"]);
        assert!(called.out.contains("42"), "{called:?}");
        let removed = place.run(&["mcp", "remove", "peer", "--json"]);
        assert_eq!(removed.events(), [json!({"name": "peer", "state": "removed"})]);
        assert_eq!((removed.code, written(&place).as_str()), (0, WRITTEN), "{removed:?}");
    }
    assert!(
        place.run(&["mcp", "list"]).out.starts_with("There are no MCP servers: `haft mcp add NAME COMMAND`")
    );
}

/// Has tools and prompts, and lists its tools only.
const HALF: &str = r#"
import json, sys
for line in sys.stdin:
    message = json.loads(line)
    method, id = message.get("method"), message.get("id")
    answer = {"result": {}}
    if method == "initialize":
        version = message["params"]["protocolVersion"]
        has = {"tools": {}, "prompts": {}}
        answer = {"result": {"protocolVersion": version, "capabilities": has, "serverInfo": {"name": "x", "version": "1"}}}
    elif method == "tools/list":
        answer = {"result": {"tools": [{"name": "one", "inputSchema": {"type": "object"}}]}}
    elif method == "prompts/list":
        answer = {"error": {"code": -32603, "message": "the shelf is gone"}}
    if id is not None:
        print(json.dumps({"jsonrpc": "2.0", "id": id, **answer}), flush=True)
"#;

#[test]
fn what_a_server_lists_is_told_beside_what_it_does_not() {
    if std::process::Command::new("python3").arg("--version").output().is_err() {
        return haft_testing::left_out("there is no `python3` on the PATH");
    }
    let place = Place::new();
    let server = place.write("server.py", HALF);
    place.configure(&format!("[mcp.x]\ncommand = \"python3\"\narguments = {}\n", json!([server])));
    let told = place.run(&["mcp", "test", "x"]);
    assert!(told.code == 1 && told.out.ends_with("\ntools (1): one\nno resources\n"), "{told:?}");
    assert!(told.err.contains("the MCP server `x` does not list its prompts: "), "{told:?}");
    let found = place.run(&["mcp", "test", "x", "--json"]);
    let found: Value = serde_json::from_str(&found.out).unwrap_or_else(|_| panic!("{found:?}"));
    assert_eq!((&found["state"], &found["tools"]), (&json!("incomplete"), &json!(["one"])));
    assert!(found["failures"]["prompts"].as_str().unwrap().contains("the shelf is gone"), "{found}");
}

#[test]
fn what_is_said_of_a_server_stands_in_its_table() {
    let place = Place::new();
    let folders = format!("command = \"server\"\nroots = [\"/srv\", \"{}/a\"]\n", place.work().display());
    let table: [(&[&str], &str); 6] = [
        (&["--roots", "/srv,a", "files", "server"], &folders),
        (&["--no-roots", "files", "server"], "command = \"server\"\nroots = false\n"),
        (
            &["files", "npx", "-y", "server", "/srv/notes"],
            "command = \"npx\"\narguments = [\"-y\", \"server\", \"/srv/notes\"]\n",
        ),
        (
            &["--env", "TOKEN=${MY_TOKEN}", "--env", "A=b=c", "--tools", "read,write", "files", "server"],
            "command = \"server\"\nenvironment = { A = \"b=c\", TOKEN = \"${MY_TOKEN}\" }\ntools = [\"read\", \"write\"]\n",
        ),
        (
            &["files", "--header", "Authorization: Bearer ${MY_TOKEN}", "https://example.com/mcp"],
            "url = \"https://example.com/mcp\"\nheaders = { Authorization = \"Bearer ${MY_TOKEN}\" }\n",
        ),
        (&["--trust-hints", "files", "server"], "command = \"server\"\ntrust_hints = true\n"),
    ];
    for (words, expected) in table {
        let added = place.run(&[&["mcp", "add"], words].concat());
        assert_eq!(added.code, 0, "{added:?}");
        assert_eq!(written(&place), format!("[mcp.files]\n{expected}"), "{words:?}");
        assert_eq!(place.run(&["mcp", "remove", "files"]).code, 0);
        assert_eq!(written(&place), "");
    }
}

#[test]
fn comments_that_are_about_something_else_outlive_a_server() {
    let place = Place::new();
    let table = [
        (
            "# All.\n\n# A.\n[mcp.a]\ncommand = \"a\"\n\n# B.\n[mcp.b]\ncommand = \"b\"\n",
            "# All.\n\n# B.\n[mcp.b]\ncommand = \"b\"\n",
        ),
        ("# All.\n\n[mcp.a]\ncommand = \"a\"\n[mcp.a.headers]\nX = \"y\"\n", "# All.\n"),
        (
            "[mcp]\na = { command = \"a\" }\nb = { command = \"b\" } # B\n",
            "[mcp]\nb = { command = \"b\" } # B\n",
        ),
        (
            "[mcp.b]\ncommand = \"b\"\n\n[mcp.a]\ncommand = \"a\"\n\n[rules]\nask = []\n",
            "[mcp.b]\ncommand = \"b\"\n\n[rules]\nask = []\n",
        ),
    ];
    for (before, after) in table {
        place.configure(before);
        let removed = place.run(&["mcp", "remove", "a"]);
        assert_eq!((removed.code, written(&place).as_str()), (0, after), "{removed:?}");
    }
}

#[test]
fn what_cannot_be_done_says_what_to_do() {
    let place = Place::new();
    let has_token = "[mcp.web]\nurl = \"http://127.0.0.1:9/mcp\"\nheaders = { A = \"${GONE}\" }\n";
    place.configure(&format!(
        "[mcp.gone]\ncommand = \"no-such-program\"\n{has_token}[mcp.near]\nurl = \"http://127.0.0.1:9/mcp\"\n"
    ));
    let table: [(&[&str], i32, &str, &str); 11] = [
        (&["add", "gone", "x"], 2, "[mcp.gone]: it is already in the file", "`haft mcp remove gone`"),
        (&["add", "a b", "x"], 2, "`a b` cannot be the name of an MCP server", "use letters"),
        (
            &["add", "x", "https://example.com/mcp", "more"],
            2,
            "a server at an address takes no arguments",
            "`haft help mcp add`",
        ),
        (
            &["add", "--header", "A: b", "x", "program"],
            2,
            "`--header` is for a server at an address",
            "`haft help mcp add`",
        ),
        (
            &["add", "--env", "A=b", "x", "https://example.com/mcp"],
            2,
            "`--env` is for a server that is a program",
            "`haft help",
        ),
        (&["add", "--env", "A", "x", "program"], 2, "write it as `NAME=VALUE`", ""),
        (&["remove", "nears"], 2, "there is no MCP server `nears`", "did you mean `near`?"),
        (&["test", "other"], 2, "there is no MCP server `other`", "there are gone, near, web"),
        (&["test", "web"], 2, "`A` needs the environment variable GONE, which is not set", ""),
        (
            &["test", "gone"],
            1,
            "cannot use the MCP server `gone`: it cannot be started",
            "check `command` and `arguments`",
        ),
        (
            &["test", "near"],
            1,
            "cannot use the MCP server `near`: it cannot be started",
            "check `url` of `[mcp.near]`",
        ),
    ];
    let before = written(&place);
    for (words, code, message, hint) in table {
        let ran = place.run(&[&["mcp"], words].concat());
        assert!(
            ran.code == code && ran.err.contains(message) && ran.err.contains(hint),
            "{words:?}: {ran:?}"
        );
    }
    assert_eq!(written(&place), before);
    let states: Vec<Value> = place
        .run(&["mcp", "list", "--json"])
        .events()
        .into_iter()
        .map(|mut row| row["state"].take())
        .collect();
    let gone = "there is no program `no-such-program` on the PATH";
    assert_eq!(states, [gone, "ready", "`A` needs the environment variable GONE, which is not set"]);
    place.write(".haft/config.toml", "mcp = [\"near\"]");
    let listed = place.run(&["mcp", "list"]).out;
    assert!(listed.starts_with("SERVER") && listed.contains("left out by `"), "{listed}");
}
