//! The real binary in a place of its own, and real servers on loopback.
pub(crate) mod bare_terminal;
pub(crate) mod cloud;
pub(crate) mod collector;
pub(crate) mod drip;
pub(crate) mod fenced;
pub(crate) mod fleet;
pub(crate) mod mcp_server;
pub(crate) mod other_user;
pub(crate) mod project;
pub(crate) mod releases;
pub(crate) mod serving;
pub(crate) mod terminal;
pub(crate) mod vendor;
pub(crate) mod wire;

use axum::{
    Router,
    body::Body,
    extract::State,
    http::StatusCode,
    response::Response,
    routing::{get, post},
};
use serde_json::{Value, json};
use std::{
    io::Write,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
    sync::{Arc, Mutex},
};

/// A line of a script: a reply with this call.
pub(crate) fn call(name: &str, arguments: Value) -> Value {
    json!({"calls": [{"name": name, "arguments": arguments}]})
}

/// A line of a script: a reply that runs `command`.
pub(crate) fn bash(command: &str) -> Value {
    call("bash", json!({"command": command}))
}

/// Waits in a command until the test says so: nothing that one command does is seen by another one before it has ended.
pub(crate) const UNTIL_GO: &str = "until grep -q go .go; do sleep 0.01; done";

/// A workspace and a home, gone when it is dropped.
pub(crate) struct Place {
    folder: tempfile::TempDir,
    confines: bool,
}

impl Place {
    pub(crate) fn new() -> Self {
        // A long path is cut off on a screen, and too long for a socket.
        Self::within("/tmp")
    }

    /// One with a home that confined commands see, unless the checkout lies in `/tmp`: theirs is their own.
    pub(crate) fn in_sight() -> Self {
        Self::within(other_user::seen_folder())
    }

    fn within(parent: impl AsRef<Path>) -> Self {
        let folder = tempfile::tempdir_in(parent).or_else(|_| tempfile::tempdir()).unwrap();
        std::fs::create_dir(folder.path().join("work")).unwrap();
        Self { folder, confines: true }
    }

    /// One in which commands run as the person's own would, as where the system lets nothing be confined.
    pub(crate) fn unconfined() -> Self {
        Self { confines: false, ..Self::new() }
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.folder.path().canonicalize().unwrap()
    }

    pub(crate) fn work(&self) -> PathBuf {
        self.path().join("work")
    }

    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.work().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, content).unwrap();
        path
    }

    pub(crate) fn read(&self, name: &str) -> Option<String> {
        std::fs::read_to_string(self.work().join(name)).ok()
    }

    /// The person's own configuration.
    pub(crate) fn configure(&self, text: &str) {
        let folder = self.path().join("person/.config/haft");
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("config.toml"), text).unwrap();
    }

    /// Adds `text` to the person's configuration.
    pub(crate) fn configure_also(&self, text: &str) {
        let known = self.path().join("person/.config/haft/config.toml");
        let known = std::fs::read_to_string(known).unwrap_or_default();
        self.configure(&format!("{known}\n{text}"));
    }

    /// A script beside the workspace; returns what `--model` takes.
    pub(crate) fn script(&self, name: &str, lines: &[Value]) -> String {
        let path = self.path().join(name);
        let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
        std::fs::write(&path, text).unwrap();
        format!("script/{}", path.display())
    }

    /// `haft` with an environment of its own.
    pub(crate) fn haft(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(other_user::program());
        command.args(arguments).current_dir(self.work()).env_clear();
        for name in ["PATH", "HAFT_MODELS", "LD_LIBRARY_PATH"] {
            if let Ok(value) = std::env::var(name) {
                command.env(name, value);
            }
        }
        command.env("HOME", self.path().join("person")).env("HAFT_HOME", self.path().join("home"));
        if !self.confines {
            command.env("HAFT_SANDBOX", "off");
        }
        if self.work().join("go.mod").exists() {
            command.env("GOCACHE", project::go_cache());
        }
        command.stdin(Stdio::null());
        command
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Ran {
        // A program that was copied a moment ago is busy while another test, which forked meanwhile, still holds the copy.
        for _ in 0..100 {
            match self.haft(arguments).output() {
                Err(error) if error.kind() == std::io::ErrorKind::ExecutableFileBusy => {
                    std::thread::sleep(std::time::Duration::from_millis(10));
                }
                ran => return Ran::from(ran.unwrap()),
            }
        }
        panic!("the program stays busy")
    }

    pub(crate) fn run_with_input(&self, arguments: &[&str], input: &[u8]) -> Ran {
        let mut command = self.haft(arguments);
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let input = input.to_vec();
        let writing = std::thread::spawn(move || {
            let _it_may_not_read_all = stdin.write_all(&input);
        });
        let output = child.wait_with_output().unwrap();
        writing.join().unwrap();
        Ran::from(output)
    }

    /// Lets commands go on that wait with [`UNTIL_GO`]. The file must be there before they begin: see [`Place::hold`].
    pub(crate) fn let_go(&self) {
        // In place: a view shows what becomes of a file that it has opened, and no other one that takes its name.
        let mut file = std::fs::File::options().append(true).open(self.work().join(".go")).unwrap();
        file.write_all(b"go\n").unwrap();
    }

    /// Commands that wait with [`UNTIL_GO`] do so until [`Place::let_go`].
    pub(crate) fn hold(&self) {
        self.write(".go", "");
    }

    /// Whether a command of a session has made a file of this name, also where that is seen in its view alone.
    pub(crate) fn has_made(&self, name: &str) -> bool {
        let mut find = Command::new("find");
        let found = find.arg(self.path().join("home/sessions")).args(["-name", name]).output().unwrap();
        !found.stdout.is_empty()
    }

    /// The only journal there is.
    pub(crate) fn journal(&self) -> PathBuf {
        let mut folders = std::fs::read_dir(self.path().join("home/sessions")).unwrap();
        folders.next().unwrap().unwrap().path().join("journal.jsonl")
    }
}

/// What a command left.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl From<Output> for Ran {
    fn from(output: Output) -> Self {
        Self {
            code: output.status.code().unwrap_or(-1),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

impl Ran {
    /// Its lines as JSON.
    pub(crate) fn events(&self) -> Vec<Value> {
        self.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// Types of the recorded events.
    pub(crate) fn recorded(&self) -> Vec<String> {
        let events = self.events();
        let recorded = events.iter().filter(|event| !event["seq"].is_null());
        recorded.map(|event| event["type"].as_str().unwrap().to_owned()).collect()
    }
}

/// A server that answers each request with the next of its replies, and remembers what it was asked.
pub(crate) struct Server {
    pub(crate) address: String,
    asked: Arc<Mutex<Vec<Value>>>,
    _runtime: tokio::runtime::Runtime,
}

/// What is said to a request, which is the one with this number.
type Answering = dyn Fn(usize, &Value) -> Reply + Send + Sync;

struct Replies {
    reply: Box<Answering>,
    asked: Arc<Mutex<Vec<Value>>>,
}

/// Status, media type, body.
#[derive(Clone, Debug)]
pub(crate) struct Reply(pub(crate) u16, pub(crate) &'static str, pub(crate) String);

impl Server {
    /// The last reply is given again and again.
    pub(crate) fn start(replies: Vec<Reply>) -> Self {
        Self::answering(move |number, _| replies[number.min(replies.len() - 1)].clone())
    }

    /// Answers each request, which have numbers from 0 on, with what `reply` gives.
    pub(crate) fn answering(reply: impl Fn(usize, &Value) -> Reply + Send + Sync + 'static) -> Self {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let state = Arc::new(Replies { reply: Box::new(reply), asked: asked.clone() });
        let app = Router::new()
            .route("/v1/chat/completions", post(answer))
            .route("/v1/messages", post(answer))
            .route("/v1/models", get(models))
            .with_state(state);
        let listener = runtime.block_on(tokio::net::TcpListener::bind("127.0.0.1:0")).unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        runtime.handle().spawn(async move { axum::serve(listener, app).await });
        Self { address, asked, _runtime: runtime }
    }

    pub(crate) fn asked(&self) -> Vec<Value> {
        self.asked.lock().unwrap().clone()
    }
}

/// What any server here has.
async fn models() -> &'static str {
    r#"{"data":[{"id":"gpt-5"},{"id":"house-model"}]}"#
}

async fn answer(State(state): State<Arc<Replies>>, body: String) -> Response {
    let request = serde_json::from_str(&body).unwrap_or(Value::Null);
    let number = {
        let mut asked = state.asked.lock().unwrap();
        asked.push(request.clone());
        asked.len() - 1
    };
    let Reply(status, media, body) = (state.reply)(number, &request);
    let response =
        Response::builder().status(StatusCode::from_u16(status).unwrap()).header("content-type", media);
    response.body(Body::from(body)).unwrap()
}

/// A stream of an OpenAI-compatible server.
pub(crate) fn openai(deltas: &[Value], finish: &str) -> Reply {
    let chunk = |delta: &Value, finish: Value| {
        let choice = json!([{"index": 0, "delta": delta, "finish_reason": finish}]);
        format!("data: {}\n\n", json!({"id": "c", "object": "chat.completion.chunk", "choices": choice}))
    };
    let body: String = deltas.iter().map(|delta| chunk(delta, Value::Null)).collect();
    let usage = json!({"choices": [], "usage": {"prompt_tokens": 11, "completion_tokens": 5}});
    let end = chunk(&json!({}), json!(finish));
    Reply(200, "text/event-stream", format!("{body}{end}data: {usage}\n\ndata: [DONE]\n\n"))
}

pub(crate) fn openai_call(name: &str, arguments: &Value) -> Reply {
    let text = arguments.to_string();
    let (first, second) = text.split_at(text.len() / 2);
    let call = |function: Value| json!({"tool_calls": [{"index": 0, "function": function}]});
    let mut start = call(json!({"name": name, "arguments": ""}));
    start["tool_calls"][0]["id"] = json!("call_1");
    let rest = [call(json!({"arguments": first})), call(json!({"arguments": second}))];
    openai(&[start, rest[0].clone(), rest[1].clone()], "tool_calls")
}

/// A reply with several calls.
pub(crate) fn openai_calls(all: &[(&str, Value)]) -> Reply {
    let call = |(index, (name, arguments)): (usize, &(&str, Value))| {
        let function = json!({"name": name, "arguments": arguments.to_string()});
        json!({"index": index, "id": format!("call_{index}"), "type": "function", "function": function})
    };
    let calls: Vec<Value> = all.iter().enumerate().map(call).collect();
    openai(&[json!({"tool_calls": calls})], "tool_calls")
}

pub(crate) fn openai_text(text: &str) -> Reply {
    openai(&[json!({"role": "assistant", "content": text})], "stop")
}

/// A stream of Anthropic's Messages API with one content block.
pub(crate) fn anthropic(block: Value, deltas: &[Value], stop: &str) -> Reply {
    let mut events = vec![
        json!({"type": "message_start", "message": {"id": "m", "role": "assistant", "content": [], "usage": {"input_tokens": 11, "output_tokens": 1}}}),
        json!({"type": "content_block_start", "index": 0, "content_block": block}),
    ];
    events.extend(
        deltas.iter().map(|delta| json!({"type": "content_block_delta", "index": 0, "delta": delta})),
    );
    events.push(json!({"type": "content_block_stop", "index": 0}));
    events.push(
        json!({"type": "message_delta", "delta": {"stop_reason": stop}, "usage": {"output_tokens": 5}}),
    );
    events.push(json!({"type": "message_stop"}));
    let body =
        events.iter().map(|event| format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap()));
    Reply(200, "text/event-stream", body.collect())
}

pub(crate) fn exists(path: &Path) -> bool {
    path.exists()
}
