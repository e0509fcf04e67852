//! MCP tools: a server is a program of its own, and its tools are the agent's. Needs the feature `mcp`.
//!
//! Started with `serve`, this program is the server: one tool, over standard input and output.
use haft::{prelude::*, providers::Scripted};
use serde_json::{Value, json};
use std::{
    env,
    io::{Write, stdin, stdout},
};

#[tokio::main]
async fn main() -> haft::Result<()> {
    if env::args().nth(1).as_deref() == Some("serve") {
        serve();
        return Ok(());
    }
    let program = env::current_exe().expect("a program knows where it lies");
    let model = Scripted::new([]).calls([("mcp__words__shout", json!({"text": "hello"}))]).says("Done.");
    let agent = Haft::builder()
        .provider(model)
        .mcp_program("words", program.to_string_lossy(), ["serve"])
        // To the policy a tool of another program is a command.
        .approve(|_| Answer::Once)
        .in_memory()
        .build()
        .await?;
    let report = agent.session()?.prompt("Shout hello").await?;
    assert_eq!(report.calls[0].result().content, "HELLO");
    agent.close().await;
    Ok(())
}

fn serve() {
    for line in stdin().lines().map_while(Result::ok) {
        let request: Value = serde_json::from_str(&line).unwrap_or_default();
        let result = match request["method"].as_str() {
            Some("initialize") => json!({
                "protocolVersion": request["params"]["protocolVersion"],
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "words", "version": "1"},
            }),
            Some("tools/list") => json!({"tools": [{
                "name": "shout",
                "description": "Says a text loudly",
                "inputSchema": {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]},
            }]}),
            Some("tools/call") => {
                let text = request["params"]["arguments"]["text"].as_str().unwrap_or_default().to_uppercase();
                json!({"content": [{"type": "text", "text": text}]})
            }
            _ => json!({}),
        };
        if !request["id"].is_null() {
            let answer = json!({"jsonrpc": "2.0", "id": request["id"], "result": result});
            let _nobody_reads = writeln!(stdout(), "{answer}");
        }
    }
}
