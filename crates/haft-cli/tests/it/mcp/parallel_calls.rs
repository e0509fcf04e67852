//! Calls of tools that an MCP server calls read-only, in one reply.

use crate::kit::{Place, mcp_server::mcp_server};
use serde_json::{Value, json};

/// A server that answers calls of `meet` only when two have come, and tells for each how many were open with it.
const SERVER: &str = r#"
hints = json.loads(sys.argv[1])
waiting = []
def tools():
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}}
    return [{"name": n, "description": n, "inputSchema": schema, "annotations": hints} for n in ["one", "two"]]
def called(id):
    waiting.append(id)
    if len(waiting) == 2 or not hints.get("readOnlyHint"):
        for waits in waiting:
            answer(waits, f"{len(waiting)} at once")
        waiting.clear()
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
        let server = place.write("server.py", mcp_server(SERVER));
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
