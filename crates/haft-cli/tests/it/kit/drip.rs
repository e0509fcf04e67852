//! A server that never stops to talk, as long as anybody listens.
use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::SeqCst},
    },
    thread,
    time::Duration,
};

/// Between two pieces.
const PAUSE: Duration = Duration::from_millis(20);

/// Answers each request with a stream of events that is whatever `piece` gives for 0, 1, 2, …; it ends where that is
/// nothing. The last thread ends with the test.
pub(crate) struct Drip {
    pub(crate) address: String,
    requests: Arc<AtomicUsize>,
}

impl Drip {
    pub(crate) fn start(piece: impl Fn(usize) -> Option<String> + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let (requests, piece) = (Arc::new(AtomicUsize::new(0)), Arc::new(piece));
        let count = requests.clone();
        thread::spawn(move || {
            for stream in listener.incoming() {
                let (piece, count) = (piece.clone(), count.clone());
                thread::spawn(move || {
                    let _the_client_has_left = answer(stream.unwrap(), &*piece, &count);
                });
            }
        });
        Self { address, requests }
    }

    pub(crate) fn requests(&self) -> usize {
        self.requests.load(SeqCst)
    }
}

fn answer(
    mut stream: TcpStream,
    piece: &(dyn Fn(usize) -> Option<String> + Send + Sync),
    count: &AtomicUsize,
) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let (mut length, mut line) = (0, String::new());
    while reader.read_line(&mut line)? > 2 {
        let lower = line.to_lowercase();
        length = lower.strip_prefix("content-length: ").map_or(length, |value| value.trim().parse().unwrap());
        line.clear();
    }
    reader.read_exact(&mut vec![0; length])?;
    count.fetch_add(1, SeqCst);
    stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n")?;
    for piece in (0..).map_while(piece) {
        stream.write_all(piece.as_bytes())?;
        thread::sleep(PAUSE);
    }
    Ok(())
}
