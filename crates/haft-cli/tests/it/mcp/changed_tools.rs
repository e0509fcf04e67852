//! A tool that a server describes in another way while a session goes on.
use crate::kit::{Place, call};
use serde_json::json;

/// A server that describes its tool anew with each call.
const SERVER: &str = r#"
import json, sys
def send(message):
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)
calls = 0
for line in sys.stdin:
    message = json.loads(line)
    method, id = message.get("method"), message.get("id")
    if method == "initialize":
        version = message["params"]["protocolVersion"]
        capabilities = {"tools": {"listChanged": True}}
        send({"id": id, "result": {"protocolVersion": version, "capabilities": capabilities, "serverInfo": {"name": "x", "version": "1"}}})
    elif method == "tools/list":
        schema = {"type": "object"}
        tools = [{"name": "odd", "description": f"After {calls} calls.", "inputSchema": schema}, {"name": "even", "inputSchema": schema}]
        send({"id": id, "result": {"tools": tools}})
    elif method == "tools/call":
        calls += 1
        send({"method": "notifications/tools/list_changed"})
        send({"id": id, "result": {"content": [{"type": "text", "text": "called"}]}})
    elif id is not None:
        send({"id": id, "result": {}})
"#;

#[test]
fn a_note_names_the_tools_that_a_server_describes_anew() {
    if std::process::Command::new("python3").arg("--version").output().is_err() {
        return haft_testing::left_out("there is no `python3` on the PATH");
    }
    let place = Place::new();
    let server = place.write("server.py", SERVER);
    place.configure(&format!("[mcp.x]\ncommand = \"python3\"\nargs = [{server:?}]\n"));
    let model = place.script("m", &[call("mcp__x__odd", json!({})), json!({"say": "done"})]);
    let ran = place.run(&["run", "--model", &model, "--permission", "full", "go"]);
    assert_eq!((ran.code, ran.out.as_str()), (0, "done\n"), "{ran:?}");
    let note =
        "note: x: the MCP server changed `odd`; what you allowed of them before needs your approval again\n";
    assert_eq!(ran.err.matches(note).count(), 1, "{ran:?}");
}
