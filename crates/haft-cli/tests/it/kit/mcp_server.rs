//! [`mcp_server`]: servers of MCP that a test writes in Python.

/// `send` and `answer`, for the code of a test.
const BEGIN: &str = r#"
import json, sys
def send(message):
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)
def answer(id, text):
    send({"id": id, "result": {"content": [{"type": "text", "text": text}]}})
"#;

const END: &str = r#"
for line in sys.stdin:
    message = json.loads(line)
    method, id = message.get("method"), message.get("id")
    if method == "initialize":
        version = message["params"]["protocolVersion"]
        capabilities = {"tools": {"listChanged": True}}
        send({"id": id, "result": {"protocolVersion": version, "capabilities": capabilities, "serverInfo": {"name": "x", "version": "1"}}})
    elif method == "tools/list":
        send({"id": id, "result": {"tools": tools()}})
    elif method == "tools/call":
        called(id)
    elif id is not None:
        send({"id": id, "result": {}})
"#;

/// The text of a server. `code` defines `tools()`, which gives the list, and `called(id)`, which answers the call of a tool.
pub(crate) fn mcp_server(code: &str) -> String {
    format!("{BEGIN}{code}{END}")
}
