//! Calls of tools that an MCP server calls read-only, in one reply.

use crate::kit::Place;
use serde_json::{Value, json};

/// A server that answers calls of `meet` only when two have come, and tells for each how many were open with it.
const SERVER: &str = r#"
import json, sys
hints = json.loads(sys.argv[1])
def send(message):
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)
waiting = []
def answer():
    for id in waiting:
        send({"id": id, "result": {"content": [{"type": "text", "text": f"{len(waiting)} at once"}]}})
    waiting.clear()
for line in sys.stdin:
    message = json.loads(line)
    method, id = message.get("method"), message.get("id")
    if method == "initialize":
        version = message["params"]["protocolVersion"]
        send({"id": id, "result": {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": {"name": "x", "version": "1"}}})
    elif method == "tools/list":
        schema = {"type": "object", "properties": {"n": {"type": "integer"}}}
        names = ["one", "two"]
        send({"id": id, "result": {"tools": [{"name": n, "description": n, "inputSchema": schema, "annotations": hints} for n in names]}})
    elif method == "tools/call":
        waiting.append(id)
        if len(waiting) == 2 or not hints.get("readOnlyHint"):
            answer()
    elif id is not None:
        send({"id": id, "result": {}})
"#;

#[test]
fn calls_of_read_only_tools_run_side_by_side_and_others_do_not() {
    if std::process::Command::new("python3").arg("--version").output().is_err() {
        return haft_testing::left_out("there is no `python3` on the PATH");
    }
    let read_only = json!({"readOnlyHint": true});
    let table = [
        // Allowed by the mode, by the person's trust, or by a rule.
        (&read_only, "", "full", "2 at once"),
        (&read_only, "trust_hints = true", "ask", "2 at once"),
        (&read_only, "[rules]\nallow = [\"execute:mcp:x *\"]", "ask", "2 at once"),
        (&json!({"readOnlyHint": false}), "", "full", "1 at once"),
        (&json!({}), "", "full", "1 at once"),
    ];
    for (hints, settings, permission, expected) in table {
        let place = Place::new();
        let server = place.write("server.py", SERVER);
        let arguments = json!([server, hints.to_string()]);
        place.configure(&format!("[mcp.x]\ncommand = \"python3\"\nargs = {arguments}\n{settings}\n"));
        let call = |name: &str, n: u8| json!({"name": format!("mcp__x__{name}"), "arguments": {"n": n}});
        let model =
            place.script("m", &[json!({"calls": [call("one", 1), call("two", 2)]}), json!({"say": "done"})]);
        let ran = place.run(&["run", "--model", &model, "--permission", permission, "--json", "go"]);
        let ended: Vec<Value> =
            ran.events().into_iter().filter(|event| event["type"] == "tool_ended").collect();
        let told: Vec<&str> = ended.iter().map(|event| event["content"].as_str().unwrap()).collect();
        assert_eq!(told, [expected; 2], "{hints} {settings}: {ran:?}");
    }
}
