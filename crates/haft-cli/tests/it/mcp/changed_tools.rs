//! A tool that a server describes in another way while a session goes on.
use crate::kit::{Place, call, mcp_server::mcp_server};
use serde_json::json;

/// A server that describes its tool anew with each call.
const SERVER: &str = r#"
calls = 0
def tools():
    schema = {"type": "object"}
    return [{"name": "odd", "description": f"After {calls} calls.", "inputSchema": schema}, {"name": "even", "inputSchema": schema}]
def called(id):
    global calls
    calls += 1
    send({"method": "notifications/tools/list_changed"})
    answer(id, "called")
"#;

#[test]
fn a_note_names_the_tools_that_a_server_describes_anew() {
    if std::process::Command::new("python3").arg("--version").output().is_err() {
        return haft_testing::left_out("there is no `python3` on the PATH");
    }
    let place = Place::new();
    let server = place.write("server.py", mcp_server(SERVER));
    place.configure(&format!("[mcp.x]\ncommand = \"python3\"\nargs = [{server:?}]\n"));
    let model = place.script("m", &[call("mcp__x__odd", json!({})), json!({"say": "done"})]);
    let ran = place.run(&["run", "--model", &model, "--permission", "full", "go"]);
    assert_eq!((ran.code, ran.out.as_str()), (0, "done\n"), "{ran:?}");
    let note =
        "note: x: the MCP server changed `odd`; what you allowed of them before needs your approval again\n";
    assert_eq!(ran.err.matches(note).count(), 1, "{ran:?}");
}
