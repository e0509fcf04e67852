//! A server on loopback that misbehaves by the letter: each connection gets the next list of acts.
use std::{sync::Arc, time::Duration};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::{Mutex, watch},
    task::JoinSet,
};

/// What the server does once it has read a request.
#[derive(Clone, Debug)]
pub(crate) enum Act {
    /// Sends these bytes.
    Send(Vec<u8>),
    /// Sends these bytes so many times.
    Repeat(Vec<u8>, usize),
    /// Waits.
    Pause(Duration),
    /// Keeps the connection open and says nothing.
    Hold,
    /// Closes it with RST.
    Reset,
}

/// A running server; it ends when it is dropped.
pub(crate) struct Server {
    pub(crate) url: String,
    requests: Arc<Mutex<Vec<String>>>,
    /// How many connections are open.
    open: watch::Receiver<usize>,
    _tasks: JoinSet<()>,
}

impl Server {
    /// Plays `scenes`, one a connection; the last one again and again.
    pub(crate) async fn start(scenes: Vec<Vec<Act>>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/v1", listener.local_addr().unwrap());
        let requests = Arc::new(Mutex::new(Vec::new()));
        let mut tasks = JoinSet::new();
        let (count, open) = watch::channel(0);
        tasks.spawn(serve(listener, scenes, requests.clone(), count));
        Self { url, requests, open, _tasks: tasks }
    }

    /// The requests so far, heads and bodies.
    pub(crate) async fn requests(&self) -> Vec<String> {
        self.requests.lock().await.clone()
    }

    /// Returns once every client has closed its connection.
    pub(crate) async fn until_all_have_left(mut self) {
        self.open.wait_for(|open| *open == 0).await.unwrap();
    }
}

async fn serve(
    listener: TcpListener,
    scenes: Vec<Vec<Act>>,
    requests: Arc<Mutex<Vec<String>>>,
    open: watch::Sender<usize>,
) {
    let open = Arc::new(open);
    let mut connections = JoinSet::new();
    for count in 0.. {
        let (mut stream, _) = listener.accept().await.unwrap();
        let scene = scenes[count.min(scenes.len() - 1)].clone();
        let (requests, open) = (requests.clone(), open.clone());
        open.send_modify(|open| *open += 1);
        connections.spawn(async move {
            let request = read_request(&mut stream).await;
            requests.lock().await.push(request);
            for act in scene {
                let _the_client_may_have_left = perform(act, &mut stream).await;
            }
            open.send_modify(|open| *open -= 1);
        });
    }
}

async fn perform(act: Act, stream: &mut TcpStream) -> std::io::Result<()> {
    match act {
        Act::Send(bytes) => stream.write_all(&bytes).await,
        Act::Repeat(bytes, times) => {
            for _ in 0..times {
                stream.write_all(&bytes).await?;
            }
            Ok(())
        }
        Act::Pause(time) => {
            tokio::time::sleep(time).await;
            Ok(())
        }
        Act::Hold => {
            let _left = stream.read(&mut [0; 1]).await;
            Ok(())
        }
        Act::Reset => {
            // What was sent must arrive before the reset overtakes it.
            tokio::time::sleep(Duration::from_millis(30)).await;
            stream.set_zero_linger()?;
            Ok(())
        }
    }
}

async fn read_request(stream: &mut TcpStream) -> String {
    let mut read = Vec::new();
    let mut buffer = [0; 4_096];
    loop {
        let text = String::from_utf8_lossy(&read).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head
                .lines()
                .find_map(|line| line.to_lowercase().strip_prefix("content-length: ")?.parse().ok());
            if body.len() >= length.unwrap_or(0) {
                return text;
            }
        }
        match stream.read(&mut buffer).await {
            Ok(0) | Err(_) => return text,
            Ok(count) => read.extend_from_slice(&buffer[..count]),
        }
    }
}

/// An answer of this status and head, whose body ends with the connection.
pub(crate) fn answer(status: u16, head: &str, body: &str) -> Act {
    Act::Send(format!("HTTP/1.1 {status} X\r\nconnection: close\r\n{head}\r\n\r\n{body}").into_bytes())
}

/// A success that streams events, and the first of them.
pub(crate) fn events(body: &str) -> Act {
    answer(200, "content-type: text/event-stream", body)
}
