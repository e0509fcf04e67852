//! An MCP server that misbehaves on request, written without the SDK, so that tests meet the protocol itself.
//!
//! With the argument COUNT it has COUNT tools more than it needs; with `roots` it asks for the workspace after a moment, and
//! denies all echoes until a moment after it was told.
#![expect(clippy::unwrap_used, reason = "a program for tests")]
use serde_json::{Value, json};
use std::{
    io::{BufRead, Write, stdin, stdout},
    path::Path,
    process::{Child, Command},
    thread::sleep,
    time::{Duration, Instant},
};

struct Server {
    more: usize,
    /// How often the tools were changed.
    changed: usize,
    /// Calls that wait for an answer of the client: the call, the tool.
    waiting: Option<(Value, String)>,
    children: Vec<Child>,
    /// From when on it echoes; none: not yet.
    echoes: Option<Instant>,
}

fn main() {
    let more = std::env::args().nth(1).and_then(|count| count.parse().ok()).unwrap_or_default();
    let asks = std::env::args().nth(1).is_some_and(|word| word == "roots");
    let echoes = (!asks).then(Instant::now);
    let mut server = Server { more, changed: 0, waiting: None, children: Vec::new(), echoes };
    for line in stdin().lock().lines() {
        server.hear(&serde_json::from_str(&line.unwrap()).unwrap());
    }
}

fn send(mut message: Value) {
    message["jsonrpc"] = json!("2.0");
    let mut out = stdout().lock();
    writeln!(out, "{message}").unwrap();
    out.flush().unwrap();
}

fn text(text: impl AsRef<str>) -> Value {
    json!({"content": [{"type": "text", "text": text.as_ref()}]})
}

impl Server {
    fn hear(&mut self, message: &Value) {
        let id = message["id"].clone();
        let answer = |result: Value| send(json!({"id": id, "result": result}));
        match message["method"].as_str() {
            Some("initialize") => answer(json!({
                "protocolVersion": message["params"]["protocolVersion"],
                "capabilities": {"tools": {"listChanged": true}},
                "serverInfo": {"name": "misbehaving", "version": "1"},
            })),
            Some("tools/list") => answer(json!({"tools": self.tools()})),
            Some("tools/call") => self.call(id, &message["params"]),
            Some("notifications/initialized") if self.echoes.is_none() => {
                std::thread::spawn(|| {
                    sleep(Duration::from_millis(150));
                    send(json!({"id": "roots", "method": "roots/list"}));
                });
            }
            Some("notifications/cancelled") => std::fs::write("cancelled", "").unwrap(),
            Some(_) => {}
            None if message["id"] == "roots" => {
                self.echoes = Some(Instant::now() + Duration::from_millis(30))
            }
            None => self.go_on(&message["result"]),
        }
    }

    fn tools(&self) -> Vec<Value> {
        let tool = |name: &str, description: String| {
            json!({"name": name, "description": description, "inputSchema": {"type": "object",
                   "properties": {"text": {"type": "string"}}}})
        };
        let names = [
            "echo", "pid", "where", "ask", "slow", "die", "change", "long", "flood", "wrong", "child", "half",
        ];
        let mut tools: Vec<Value> =
            names.iter().map(|name| tool(name, format!("Does {name} ({}).", self.changed))).collect();
        tools[0]["annotations"] = json!({"readOnlyHint": true});
        tools.extend(
            (0..self.more).map(|n| tool(&format!("more.{n}"), format!("Turns wheel {n} of the mill."))),
        );
        tools
    }

    fn call(&mut self, id: Value, call: &Value) {
        let answer = |result: Value| send(json!({"id": id, "result": result}));
        let token = &call["_meta"]["progressToken"];
        match call["name"].as_str().unwrap() {
            "echo" if self.echoes.is_none_or(|from| Instant::now() < from) => answer(text("denied")),
            "echo" => answer(text(call["arguments"]["text"].as_str().unwrap_or_default())),
            "pid" => answer(text(std::process::id().to_string())),
            "where" => self.wait_for(id, "where", json!({"id": "r", "method": "roots/list"})),
            "ask" => {
                let schema = json!({"type": "object", "required": ["name"], "properties": {"name": {"type": "string"}}});
                let form = json!({"message": "Who are you?", "requestedSchema": schema});
                self.wait_for(id, "ask", json!({"id": "e", "method": "elicitation/create", "params": form}));
                if let Some(how) = call["arguments"]["text"].as_str() {
                    self.go_on_alone(how);
                }
            }
            "slow" => send(json!({"method": "notifications/progress", "params":
                {"progressToken": token, "progress": 1, "total": 3, "message": "grinding"}})),
            "die" => panic!("the mill is on fire"),
            "change" => {
                self.changed += 1;
                send(json!({"method": "notifications/tools/list_changed"}));
                answer(text("changed"));
            }
            // Nothing more comes of it, and what is said next stands on the same line.
            "half" => {
                let how = call["arguments"]["text"].as_str().unwrap_or("{").to_owned();
                stdout().write_all(how.as_bytes()).unwrap();
                stdout().flush().unwrap();
            }
            "long" => answer(text("line\n".repeat(50_000))),
            "flood" => answer(text("x".repeat(17 << 20))),
            "wrong" => send(json!({"id": id, "error": {"code": -32602, "message": "there is no grain"}})),
            "child" => {
                let child = Command::new("sleep").arg("1000").spawn().unwrap();
                answer(text(child.id().to_string()));
                self.children.push(child);
            }
            name => answer(text(format!("{name} turned"))),
        }
    }

    /// Waits for no answer once the test says that the question has arrived.
    fn go_on_alone(&mut self, how: &str) {
        while !Path::new("arrived").exists() {
            sleep(Duration::from_millis(5));
        }
        let Some((id, _)) = self.waiting.take() else { return };
        match how {
            "die" => panic!("no answer comes"),
            how => send(json!({"id": id, "result": text(how)})),
        }
    }

    fn wait_for(&mut self, id: Value, name: &str, request: Value) {
        self.waiting = Some((id, name.to_owned()));
        send(request);
    }

    /// The client answered what it was asked.
    fn go_on(&mut self, result: &Value) {
        let Some((id, name)) = self.waiting.take() else { return };
        let told = if name == "where" { result["roots"][0]["uri"].clone() } else { result.clone() };
        send(json!({"id": id, "result": text(told.as_str().map_or(told.to_string(), str::to_owned))}));
    }
}
