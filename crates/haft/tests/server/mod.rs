//! A server on loopback that speaks OpenAI's wire: it has the tool `double` called with 21, and says what came of it.
use serde_json::{Value, json};
use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    thread,
};

/// Runs as long as the test.
pub(crate) struct Server(String);

impl Server {
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/v1", listener.local_addr().unwrap());
        thread::spawn(move || listener.incoming().flatten().for_each(answer));
        Self(url)
    }

    pub(crate) fn url(&self) -> &str {
        &self.0
    }
}

fn answer(stream: TcpStream) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut length = 0;
    for line in reader.by_ref().lines() {
        let line = line.unwrap().to_ascii_lowercase();
        if let Some(value) = line.strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
        if line.is_empty() {
            break;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    let request: Value = serde_json::from_slice(&body).unwrap();
    let events: String = reply(&request).iter().map(|event| format!("data: {event}\n\n")).collect();
    let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n";
    let mut stream = stream;
    let _they_left = write!(stream, "{head}{events}data: [DONE]\n\n");
}

fn reply(request: &Value) -> [Value; 2] {
    let messages = request["messages"].as_array().unwrap();
    let result = messages.last().filter(|message| message["role"] == "tool");
    let (delta, reason) = match result {
        Some(result) => {
            let text = format!("Twice 21 is {}.", result["content"].as_str().unwrap_or("unknown"));
            (json!({"role": "assistant", "content": text}), "stop")
        }
        None => {
            let function = json!({"name": "double", "arguments": "{\"x\": 21}"});
            let call = json!({"index": 0, "id": "call_1", "type": "function", "function": function});
            (json!({"role": "assistant", "tool_calls": [call]}), "tool_calls")
        }
    };
    let choice = |delta: Value, reason: Value| json!({"choices": [{"index": 0, "delta": delta, "finish_reason": reason}]});
    [choice(delta, Value::Null), choice(json!({}), json!(reason))]
}
