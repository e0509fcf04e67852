//! A server that misbehaves by the letter: each connection gets the next list of acts.
use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering::SeqCst},
    },
    thread,
    time::Duration,
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
    /// Says nothing until the client leaves.
    Hold,
    /// Closes the connection with RST.
    Reset,
}

/// Plays scenes, one for each connection; the last one again and again. Its last thread ends with the test.
pub(crate) struct WireServer {
    /// With `/v1` at its end.
    pub(crate) url: String,
    requests: Arc<Mutex<Vec<String>>>,
    sent: Arc<AtomicUsize>,
}

impl WireServer {
    pub(crate) fn start(scenes: Vec<Vec<Act>>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/v1", listener.local_addr().unwrap());
        let (requests, sent) = (Arc::<Mutex<Vec<String>>>::default(), Arc::<AtomicUsize>::default());
        let (heard, counted) = (requests.clone(), sent.clone());
        thread::spawn(move || {
            for (count, stream) in listener.incoming().enumerate() {
                let scene = scenes[count.min(scenes.len() - 1)].clone();
                let (heard, counted, mut stream) = (heard.clone(), counted.clone(), stream.unwrap());
                thread::spawn(move || {
                    let request = read(&stream).unwrap_or_default();
                    heard.lock().unwrap().push(request);
                    for act in scene {
                        let Ok(()) = perform(act, &mut stream, &counted) else { break };
                    }
                });
            }
        });
        Self { url, requests, sent }
    }

    /// The bodies of the requests so far.
    pub(crate) fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap().clone()
    }

    /// The bytes that were sent so far, and that a client or the kernel has taken.
    pub(crate) fn sent(&self) -> usize {
        self.sent.load(SeqCst)
    }
}

fn perform(act: Act, stream: &mut TcpStream, sent: &AtomicUsize) -> std::io::Result<()> {
    let mut send = |bytes: &[u8]| {
        stream.write_all(bytes)?;
        sent.fetch_add(bytes.len(), SeqCst);
        Ok(())
    };
    match act {
        Act::Send(bytes) => send(&bytes),
        Act::Repeat(bytes, times) => (0..times).try_for_each(|_| send(&bytes)),
        Act::Pause(time) => {
            thread::sleep(time);
            Ok(())
        }
        Act::Hold => stream.read(&mut [0]).map(drop),
        Act::Reset => {
            // What was sent must arrive before the reset overtakes it.
            thread::sleep(Duration::from_millis(30));
            rustix::net::sockopt::set_socket_linger(&*stream, Some(Duration::ZERO)).map_err(Into::into)
        }
    }
}

fn read(stream: &TcpStream) -> std::io::Result<String> {
    stream.set_nodelay(true)?;
    let mut reader = BufReader::new(stream);
    let (mut length, mut line) = (0, String::new());
    while reader.read_line(&mut line)? > 2 {
        let lower = line.to_lowercase();
        length = lower.strip_prefix("content-length: ").map_or(length, |value| value.trim().parse().unwrap());
        line.clear();
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    Ok(String::from_utf8_lossy(&body).into_owned())
}

/// An answer of this status and head, whose body ends with the connection.
pub(crate) fn answer(status: u16, head: &str, body: &str) -> Act {
    Act::Send(format!("HTTP/1.1 {status} X\r\nconnection: close\r\n{head}\r\n\r\n{body}").into_bytes())
}

/// A success that streams events, and the first of them.
pub(crate) fn events(body: &str) -> Act {
    answer(200, "content-type: text/event-stream", body)
}
