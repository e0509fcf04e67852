//! How much one `haft serve` carries: `load HAFT [SESSIONS] [IDLE]`.
//!
//! SESSIONS sessions at once (1,000), each five rounds with a call, against a model on loopback that takes two to four
//! seconds for a reply. Haft's own share of a round is the time from the last byte of a reply to the next request for the
//! same session: the call, its journal, the room in the window, the request. Then IDLE sessions without a client (10,000):
//! what they take, and how often the process wakes for them in ten seconds.
#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a measurement that cannot go on has failed")]
use axum::{Router, body::Body, extract::State, response::Response, routing::post};
use bytes::Bytes;
use futures::{StreamExt, stream};
use serde_json::{Value, json};
use std::{
    collections::HashMap,
    convert::Infallible,
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    time::sleep,
};

/// Calls that each session makes.
const ROUNDS: usize = 5;

#[tokio::main]
async fn main() {
    let words: Vec<String> = std::env::args().collect();
    let number =
        |place: usize, otherwise: usize| words.get(place).map_or(otherwise, |word| word.parse().unwrap());
    let (haft, sessions, idle) =
        (PathBuf::from(&words[1]).canonicalize().unwrap(), number(2, 1_000), number(3, 10_000));
    allow_many_files();
    let folder = std::env::temp_dir().join(format!("haft-load-{}", std::process::id()));
    std::fs::create_dir_all(folder.join("work")).unwrap();
    let model = Arc::new(Model::default());
    let address = model.clone().listen();
    let failed = busy(&haft, &folder, &address, &model, sessions).await
        + at_rest(&haft, &folder, &address, idle).await;
    std::fs::remove_dir_all(&folder).unwrap();
    assert!(failed == 0, "{failed} figures are not as they should be");
}

/// Many at once.
async fn busy(haft: &Path, folder: &Path, model: &str, told: &Model, sessions: usize) -> usize {
    let server = Server::start(haft, folder, model, "600");
    let ids = server.create(sessions).await;
    let begun = Instant::now();
    let prompts = ids.iter().enumerate().map(|(place, id)| {
        let body = json!({"text": format!("session-{place} of many"), "wait": true}).to_string();
        let (server, path) = (&server, format!("/v1/sessions/{id}/prompt"));
        async move {
            // People do not all press the key in the same millisecond.
            sleep(Duration::from_millis(place as u64 * 3_000 / sessions as u64)).await;
            let answer: Value =
                serde_json::from_str(&server.ask("POST", &path, &body).await).unwrap_or_default();
            usize::from(answer["outcome"] == "finished" && answer["rounds"] == ROUNDS + 1)
        }
    });
    let ended: usize = futures::future::join_all(prompts).await.into_iter().sum();
    let mut gaps = told.gaps.lock().unwrap().clone();
    gaps.sort();
    let share = |part: f64| {
        gaps.get(((gaps.len() - 1) as f64 * part) as usize).copied().unwrap_or_default().as_secs_f64() * 1e3
    };
    let megabytes = server.memory("VmHWM") / 1024.0;
    println!("{sessions} sessions at once, {ROUNDS} rounds with a call each");
    println!("  ended            {ended} of {sessions} in {:.1} s", begun.elapsed().as_secs_f64());
    println!(
        "  own share        p50 {:.1} ms, p99 {:.1} ms, most {:.1} ms ({} rounds)",
        share(0.5),
        share(0.99),
        share(1.0),
        gaps.len()
    );
    println!("  memory           {megabytes:.0} MB at most");
    bad("all end", ended == sessions)
        + bad("p99 of the own share ≤ 250 ms", share(0.99) <= 250.0)
        + bad("≤ 250 MB", megabytes <= 250.0)
}

/// Many without a client.
async fn at_rest(haft: &Path, folder: &Path, model: &str, idle: usize) -> usize {
    let server = Server::start(haft, folder, model, "1");
    let begun = Instant::now();
    server.create(idle).await;
    let took = begun.elapsed();
    while !server.ask("GET", "/metrics", "").await.contains("haft_sessions_open 0\n") {
        sleep(Duration::from_millis(200)).await;
    }
    // Connections are closed by now, and the engine is not needed either.
    sleep(Duration::from_secs(20)).await;
    let (before, megabytes) = (server.wakes(), server.memory("VmRSS") / 1024.0);
    sleep(Duration::from_secs(10)).await;
    let woken = server.wakes() - before;
    println!("{idle} idle sessions");
    println!("  made             in {:.1} s", took.as_secs_f64());
    println!("  memory           {megabytes:.0} MB");
    println!("  woken in 10 s    {woken} times");
    bad("≤ 150 MB", megabytes <= 150.0) + bad("0 wake-ups", woken == 0)
}

fn bad(what: &str, is_so: bool) -> usize {
    if !is_so {
        println!("FAILED  {what}");
    }
    usize::from(!is_so)
}

fn allow_many_files() {
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile);
    let all = rustix::process::Rlimit { current: limit.maximum, maximum: limit.maximum };
    rustix::process::setrlimit(rustix::process::Resource::Nofile, all).unwrap();
}

/// A model that always makes one more call, until it has made enough.
#[derive(Default)]
struct Model {
    /// When the last reply to each session ended.
    ended: Mutex<HashMap<String, Instant>>,
    gaps: Mutex<Vec<Duration>>,
}

impl Model {
    fn listen(self: Arc<Self>) -> String {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let address = format!("http://{}/v1", listener.local_addr().unwrap());
        let app = Router::new().route("/v1/chat/completions", post(Self::reply)).with_state(self);
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime
                .block_on(async { axum::serve(TcpListener::from_std(listener).unwrap(), app).await })
                .unwrap();
        });
        address
    }

    async fn reply(State(model): State<Arc<Self>>, body: Bytes) -> Response {
        let asked = Instant::now();
        let request: Value = serde_json::from_slice(&body).unwrap();
        let messages = request["messages"].as_array().unwrap();
        let text = messages.iter().map(Value::to_string).find(|text| text.contains("session-")).unwrap();
        let session: String =
            text.split("session-").nth(1).unwrap().chars().take_while(char::is_ascii_digit).collect();
        if let Some(ended) = model.ended.lock().unwrap().get(&session) {
            model.gaps.lock().unwrap().push(asked - *ended);
        }
        let round = messages.iter().filter(|message| message["tool_calls"].is_array()).count();
        let seed = session.parse::<u64>().unwrap() * 7 + round as u64;
        let wait = Duration::from_millis(2_000 + seed * 7_919 % 2_000);
        let mut pieces = vec![json!({"role": "assistant", "content": "I go on. "})];
        if round < ROUNDS {
            let arguments =
                json!({"path": format!("s{session}/{round}.txt"), "content": "one\ntwo\nthree\n"})
                    .to_string();
            let function = json!({"name": "write", "arguments": arguments});
            pieces.push(json!({"tool_calls": [{"index": 0, "id": format!("call-{round}"), "type": "function", "function": function}]}));
        }
        let finish = if round < ROUNDS { "tool_calls" } else { "stop" };
        let mut lines: Vec<Value> =
            pieces.into_iter().map(|delta| json!({"choices": [{"index": 0, "delta": delta}]})).collect();
        lines.push(json!({"choices": [{"index": 0, "delta": {}, "finish_reason": finish}], "usage": {"prompt_tokens": 100, "completion_tokens": 10}}));
        let last = lines.len() - 1;
        let told = stream::iter(lines.into_iter().enumerate()).then(move |(place, line)| {
            let (model, session) = (model.clone(), session.clone());
            async move {
                sleep(wait / 3).await;
                let done = if place == last { "data: [DONE]\n\n" } else { "" };
                if place == last {
                    model.ended.lock().unwrap().insert(session, Instant::now());
                }
                Ok::<_, Infallible>(Bytes::from(format!("data: {line}\n\n{done}")))
            }
        });
        Response::builder().header("content-type", "text/event-stream").body(Body::from_stream(told)).unwrap()
    }
}

struct Server {
    child: Child,
    address: String,
    token: String,
}

impl Server {
    fn start(haft: &Path, folder: &Path, model: &str, idle: &str) -> Self {
        let home = folder.join("home");
        let words = [
            "serve",
            "--listen",
            "127.0.0.1:0",
            "--model",
            "openai/load",
            "--permission",
            "accept-edits",
            "--base-url",
            model,
            "--idle",
            idle,
        ];
        let mut command = Command::new(haft);
        command.args(words).current_dir(folder.join("work")).env_clear();
        command
            .env("PATH", std::env::var("PATH").unwrap())
            .env("HOME", folder)
            .env("HAFT_HOME", &home)
            .env("OPENAI_API_KEY", "none");
        let mut child =
            command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let address = loop {
            let line = lines.next().unwrap().unwrap();
            if let Some(address) = line.strip_prefix("note: listening on http://") {
                break address.to_owned();
            }
        };
        let token = std::fs::read_to_string(home.join("serve-token")).unwrap().trim().to_owned();
        Self { child, address, token }
    }

    async fn create(&self, count: usize) -> Vec<String> {
        let made = stream::iter(0..count).map(|_| async {
            let made: Value = serde_json::from_str(&self.ask("POST", "/v1/sessions", "{}").await).unwrap();
            made["id"].as_str().unwrap().to_owned()
        });
        made.buffered(16).collect().await
    }

    async fn ask(&self, method: &str, path: &str, body: &str) -> String {
        let mut stream = TcpStream::connect(&self.address).await.unwrap();
        let (address, token, length) = (&self.address, &self.token, body.len());
        let request = format!(
            "{method} {path} HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer {token}\r\nconnection: close\r\n\
             content-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}"
        );
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        answer.split_once("\r\n\r\n").map(|(_, body)| body.to_owned()).unwrap_or_default()
    }

    /// In kilobytes (proc(5), `status`).
    fn memory(&self, what: &str) -> f64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix(&format!("{what}:"))).unwrap();
        line.trim().trim_end_matches(" kB").parse().unwrap()
    }

    /// How often its threads have waited for something (proc(5), `voluntary_ctxt_switches`).
    fn wakes(&self) -> u64 {
        let threads = std::fs::read_dir(format!("/proc/{}/task", self.child.id())).unwrap();
        let count = |thread: std::fs::DirEntry| {
            let status = std::fs::read_to_string(thread.path().join("status")).ok()?;
            let line = status.lines().find_map(|line| {
                line.strip_prefix("voluntary_ctxt_switches:").map(str::trim).map(str::to_owned)
            });
            line?.parse::<u64>().ok()
        };
        threads.flatten().filter_map(count).sum()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _it_has_ended = self.child.kill();
        let _it_is_gone = self.child.wait();
    }
}
