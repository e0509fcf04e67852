//! `haft serve`, and a client that says exactly what a test wants it to say.
use super::Place;
use serde_json::Value;
use std::{
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    process::{Child, ChildStderr, Command, Stdio},
    time::{Duration, Instant},
};

/// A server that runs. It ends with the test.
pub(crate) struct Serving {
    child: Child,
    pub(crate) address: String,
    /// What requests call it: its address, unless a test says otherwise.
    pub(crate) host: String,
    pub(crate) token: String,
    said: BufReader<ChildStderr>,
}

/// An answer.
#[derive(Debug)]
pub(crate) struct Answered {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Answered {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// What an error tells programs.
    pub(crate) fn error(&self) -> String {
        self.json()["error"]["type"].as_str().unwrap_or_default().to_owned()
    }
}

impl Serving {
    pub(crate) fn start(place: &Place, more: &[&str]) -> Self {
        Self::start_writing_to(place, more, Stdio::null())
    }

    /// The same, with its standard output elsewhere.
    pub(crate) fn start_writing_to(place: &Place, more: &[&str], out: Stdio) -> Self {
        let words: Vec<&str> = ["serve", "--listen", "127.0.0.1:0"].iter().chain(more).copied().collect();
        let mut command = place.haft(&words);
        command.stdout(out);
        Self::begin(place, command)
    }

    /// One that listens at this address.
    pub(crate) fn start_at(place: &Place, address: &str, more: &[&str]) -> Self {
        let words: Vec<&str> = ["serve", "--listen", address].iter().chain(more).copied().collect();
        let mut command = place.haft(&words);
        command.stdout(Stdio::null());
        Self::begin(place, command)
    }

    /// One that `command` starts in `place`.
    pub(crate) fn begin(place: &Place, mut command: Command) -> Self {
        let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
        let mut said = BufReader::new(child.stderr.take().unwrap());
        let mut address = String::new();
        while address.is_empty() {
            let mut line = String::new();
            assert!(said.read_line(&mut line).unwrap() > 0, "it ended at once");
            if let Some(rest) = line.trim().strip_prefix("note: listening on http://") {
                address = rest.to_owned();
            }
        }
        let token = std::fs::read_to_string(place.path().join("home/serve-token")).unwrap();
        let host = address.clone();
        Self { child, address, host, token: token.trim().to_owned(), said }
    }

    /// The next line that it says of itself.
    pub(crate) fn line(&mut self) -> String {
        let mut line = String::new();
        self.said.read_line(&mut line).unwrap();
        line
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Asks it to stop, and waits until it has.
    pub(crate) fn stop(&mut self) -> i32 {
        let id = i32::try_from(self.child.id()).unwrap();
        rustix::process::kill_process(
            rustix::process::Pid::from_raw(id).unwrap(),
            rustix::process::Signal::TERM,
        )
        .unwrap();
        self.child.wait().unwrap().code().unwrap_or(-1)
    }

    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    pub(crate) fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        stream
    }

    /// Says these bytes, and reads all that is answered; the status is 0 if no server answers.
    pub(crate) fn say(&self, bytes: &[u8]) -> Answered {
        let Ok(mut stream) = TcpStream::connect(&self.address) else { return answered("") };
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        // It may have heard enough before the end.
        let _it_answers_early = stream.write_all(bytes);
        let mut all = Vec::new();
        let _it_may_reset = stream.read_to_end(&mut all);
        answered(&String::from_utf8_lossy(&all))
    }

    /// A request with these lines in its head.
    pub(crate) fn with(&self, line: &str, head: &[(&str, &str)], body: &str) -> Answered {
        let mut text = format!("{line} HTTP/1.1\r\nconnection: close\r\n");
        for (name, value) in head {
            text += &format!("{name}: {value}\r\n");
        }
        if !body.is_empty() {
            text += &format!("content-length: {}\r\n", body.len());
        }
        self.say(format!("{text}\r\n{body}").as_bytes())
    }

    /// As a client should ask.
    pub(crate) fn ask(&self, line: &str, body: &str) -> Answered {
        let token = format!("Bearer {}", self.token);
        let mut head = vec![("host", self.host.as_str()), ("authorization", token.as_str())];
        if !body.is_empty() {
            head.push(("content-type", "application/json"));
        }
        self.with(line, &head, body)
    }

    /// A new session.
    pub(crate) fn session(&self, body: &str) -> String {
        let made = self.ask("POST /v1/sessions", body);
        assert_eq!(made.status, 201, "{made:?}");
        made.json()["id"].as_str().unwrap().to_owned()
    }

    /// Follows a session from the entry `from` on.
    pub(crate) fn follow(&self, id: &str, head: &str) -> Following {
        self.stream(&format!("/v1/sessions/{id}/events"), head)
    }

    /// The events of a stream, from the moment on in which the server has let it in.
    pub(crate) fn stream(&self, path: &str, head: &str) -> Following {
        let mut stream = self.connect();
        let (host, token) = (&self.host, &self.token);
        let text =
            format!("GET {path} HTTP/1.1\r\nhost: {host}\r\nauthorization: Bearer {token}\r\n{head}\r\n");
        stream.write_all(text.as_bytes()).unwrap();
        let mut stream = BufReader::new(stream);
        let mut line = String::new();
        while line != "\r\n" {
            line.clear();
            assert!(stream.read_line(&mut line).unwrap() > 0, "{path}: no answer");
        }
        Following(stream)
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _it_has_ended = self.child.kill();
        let _it_is_gone = self.child.wait();
    }
}

/// The events of a session.
pub(crate) struct Following(BufReader<TcpStream>);

impl Following {
    /// The next event; none where the stream has ended.
    pub(crate) fn next(&mut self) -> Option<Value> {
        let begun = Instant::now();
        loop {
            // Comments come all the time.
            assert!(begun.elapsed() < Duration::from_secs(60), "no event comes");
            let mut line = String::new();
            if self.0.read_line(&mut line).unwrap() == 0 {
                return None;
            }
            if let Some(data) = line.strip_prefix("data: ") {
                return Some(serde_json::from_str(data).unwrap());
            }
        }
    }

    /// All events up to the first one of this type.
    pub(crate) fn until(&mut self, kind: &str) -> Vec<Value> {
        let mut all = Vec::new();
        loop {
            let event = self.next().unwrap_or_else(|| panic!("no {kind}: {all:?}"));
            all.push(event);
            if all.last().unwrap()["type"] == kind {
                return all;
            }
        }
    }
}

/// What stands behind the head, whole or in chunks.
fn answered(text: &str) -> Answered {
    let (head, rest) = text.split_once("\r\n\r\n").unwrap_or((text, ""));
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
    let is_chunked = head.to_ascii_lowercase().contains("transfer-encoding: chunked");
    let body = if is_chunked { whole(rest) } else { rest.to_owned() };
    Answered { status, head: head.to_ascii_lowercase(), body }
}

fn whole(mut chunks: &str) -> String {
    let mut all = String::new();
    while let Some((length, rest)) = chunks.split_once("\r\n") {
        let Ok(length) = usize::from_str_radix(length, 16) else { break };
        let Some((chunk, rest)) = rest.split_at_checked(length) else { break };
        all += chunk;
        chunks = rest.trim_start_matches("\r\n");
    }
    all
}
