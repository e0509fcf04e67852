//! Several runtimes in one program: a connection belongs to the one that opened it.
use haft::{Update, prelude::*};
use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::SeqCst},
        mpsc::{Receiver, Sender, channel},
    },
    thread,
    time::Duration,
};
use tokio::runtime::{Builder, Runtime};

/// How long a test waits for what does not come.
const LONG: Duration = Duration::from_secs(30);

const FIRST: &str = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"hello\"}}]}\n\n";
const REST: &str =
    "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";

/// Speaks OpenAI's wire and keeps connections open. A prompt with `wait` in it is answered in two parts, the second one once
/// the test says so.
struct Server {
    url: String,
    requests: Arc<AtomicUsize>,
    begun: Receiver<Sender<()>>,
}

impl Server {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/v1", listener.local_addr().unwrap());
        let requests = Arc::new(AtomicUsize::new(0));
        let (counted, (begins, begun)) = (requests.clone(), channel());
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (counted, begins) = (counted.clone(), begins.clone());
                thread::spawn(move || serve(&stream, &counted, &begins));
            }
        });
        Self { url, requests, begun }
    }
}

/// Answers requests until the other side goes.
fn serve(mut stream: &TcpStream, counted: &AtomicUsize, begins: &Sender<Sender<()>>) -> Option<()> {
    let mut reader = BufReader::new(stream);
    loop {
        let mut length = 0;
        loop {
            let mut line = String::new();
            reader.read_line(&mut line).ok().filter(|read| *read > 0)?;
            let line = line.trim().to_ascii_lowercase();
            if let Some(value) = line.strip_prefix("content-length:") {
                length = value.trim().parse().ok()?;
            }
            if line.is_empty() {
                break;
            }
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body).ok()?;
        counted.fetch_add(1, SeqCst);
        let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream";
        let length = FIRST.len() + REST.len();
        write!(stream, "{head}\r\nContent-Length: {length}\r\n\r\n{FIRST}").ok()?;
        if String::from_utf8_lossy(&body).contains("wait") {
            let (go_on, waits) = channel();
            begins.send(go_on).ok()?;
            waits.recv().ok()?;
        }
        write!(stream, "{REST}").ok()?;
    }
}

/// The reply, and how often the request was sent again.
async fn ask(url: String, prompt: &str) -> (String, usize) {
    let agent = Haft::builder().model("openai/gpt-4o").key("k").base_url(url).in_memory();
    let session = agent.build().await.unwrap().session().unwrap();
    let mut turn = session.prompt(prompt);
    let mut repeated = 0;
    let reads = async {
        while let Some(event) = turn.next().await {
            repeated += usize::from(matches!(event, Event::Live(Update::Retrying { .. })));
        }
    };
    tokio::time::timeout(LONG, reads).await.expect("the reply comes");
    (turn.await.unwrap().text, repeated)
}

fn one_thread() -> Runtime {
    Builder::new_current_thread().enable_all().build().unwrap()
}

fn threads() -> Runtime {
    Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap()
}

#[test]
fn a_runtime_that_is_idle_holds_up_no_request_of_another() {
    let server = Server::start();
    let (idle, other) = (one_thread(), one_thread());
    for runtime in [&idle, &other, &idle] {
        assert_eq!(runtime.block_on(ask(server.url.clone(), "hi")), ("hello".into(), 0));
    }
    assert_eq!(server.requests.load(SeqCst), 3);
}

#[test]
fn a_runtime_that_ends_cuts_no_reply_of_another() {
    let server = Server::start();
    let (first, second) = (threads(), threads());
    first.block_on(ask(server.url.clone(), "hi"));
    let url = server.url.clone();
    let asked = second.spawn(async move { ask(url, "wait").await });
    let go_on = server.begun.recv_timeout(LONG).unwrap();
    drop(first);
    go_on.send(()).unwrap();
    assert_eq!(second.block_on(asked).unwrap(), ("hello".into(), 0));
    assert_eq!(server.requests.load(SeqCst), 2);
}
