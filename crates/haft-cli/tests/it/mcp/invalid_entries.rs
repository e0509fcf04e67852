//! Answers of an MCP server in which single entries are not what the protocol says.
use crate::kit::{Place, call, mcp_server::mcp_server};
use serde_json::json;

const SERVER: &str = r#"
schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
def tools():
    return [
        {"name": "good", "description": "Has a schema.", "inputSchema": schema},
        {"name": "bare", "description": "Has none."},
        {"name": "hinted", "inputSchema": schema, "annotations": "read-only"},
        {"description": "Has no name.", "inputSchema": schema},
        "a word",
    ]
def called(id):
    content = [{"type": "text", "text": "first"}, {"type": "hologram"}, {"type": "text", "text": "last"}]
    send({"id": id, "result": {"content": content}})
"#;

#[test]
fn an_invalid_entry_does_not_take_away_the_others() {
    if std::process::Command::new("python3").arg("--version").output().is_err() {
        return haft_testing::left_out("there is no `python3` on the PATH");
    }
    let place = Place::new();
    let server = place.write("server.py", mcp_server(SERVER));
    place.configure(&format!("[mcp.x]\ncommand = \"python3\"\nargs = [{server:?}]\n"));
    let calls = ["bare", "hinted"].map(|name| call(&format!("mcp__x__{name}"), json!({"n": 1})));
    let [bare, hinted] = calls;
    let model = place.script("m", &[bare, hinted, json!({"say": "done"})]);
    let ran = place.run(&["run", "--model", &model, "--permission", "full", "--json", "go"]);
    let events = ran.events();
    let told: Vec<&str> = events
        .iter()
        .filter(|event| event["type"] == "tool_ended")
        .map(|event| event["content"].as_str().unwrap())
        .collect();
    let expected = "first\n[content that cannot be read: {\"type\":\"hologram\"}]\nlast";
    assert_eq!(told, [expected; 2], "{ran:?}");

    let tested = place.run(&["mcp", "test", "x"]);
    for name in ["good", "bare", "hinted"] {
        assert!(tested.out.contains(name), "{name}: {tested:?}");
    }
    assert!(!tested.out.contains("Has no name"), "{tested:?}");
}
