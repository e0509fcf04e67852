//! [`Connection`]: requests and notifications to a server, and its answers (JSON-RPC 2.0).
use crate::{
    inbox::Inbox,
    wire::{frame, read},
};
use parking_lot::Mutex;
use serde_json::{Value, json};
use std::{
    collections::HashMap,
    io,
    sync::atomic::{AtomicI64, Ordering::Relaxed},
};
use tokio::{
    io::{AsyncRead, AsyncWrite, AsyncWriteExt, BufReader},
    sync::{mpsc, oneshot},
};

/// The outgoing messages to a server, and the requests that wait for an answer.
pub(crate) struct Connection {
    /// Unbounded: if reading had to wait for writing, a server that waits for its output to be read would block
    /// forever.
    outgoing: mpsc::UnboundedSender<Vec<u8>>,
    /// Requests that wait for an answer; `None` once the connection is closed.
    waiting: Mutex<Option<HashMap<i64, oneshot::Sender<Reply>>>>,
    next: AtomicI64,
}

/// The result of a request, or the server's error.
pub(crate) type Reply = Result<Value, Value>;

impl Connection {
    /// Also returns the receiver of messages to write: see [`write`].
    pub(crate) fn new() -> (Self, mpsc::UnboundedReceiver<Vec<u8>>) {
        let (outgoing, messages) = mpsc::unbounded_channel();
        (Self { outgoing, waiting: Mutex::new(Some(HashMap::new())), next: AtomicI64::new(1) }, messages)
    }

    /// Sends a request. Returns its ID, and the receiver of its answer; the answer's sender is dropped when the
    /// connection is closed.
    pub(crate) fn request(&self, method: &str, params: &Value) -> (i64, oneshot::Receiver<Reply>) {
        let (id, (sender, receiver)) = (self.next.fetch_add(1, Relaxed), oneshot::channel());
        if let Some(waiting) = &mut *self.waiting.lock() {
            waiting.insert(id, sender);
        }
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        (id, receiver)
    }

    /// Sends a notification.
    pub(crate) fn notify(&self, method: &str, params: &Value) {
        self.send(&json!({"jsonrpc": "2.0", "method": method, "params": params}));
    }

    /// Stops waiting for the answer to a request.
    pub(crate) fn give_up(&self, id: i64) {
        if let Some(waiting) = &mut *self.waiting.lock() {
            waiting.remove(&id);
        }
        self.notify("$/cancelRequest", &json!({"id": id}));
    }

    /// Whether the connection is closed.
    pub(crate) fn is_closed(&self) -> bool {
        self.waiting.lock().is_none()
    }

    fn send(&self, message: &Value) {
        let _it_has_ended = self.outgoing.send(frame(message));
    }

    /// Reads the server's messages until the connection ends, and returns why it ended.
    pub(crate) async fn listen(&self, output: impl AsyncRead + Unpin, inbox: &Inbox) -> String {
        let mut output = BufReader::new(output);
        let why = loop {
            match read(&mut output).await {
                Ok(Some(message)) => self.take(message, inbox),
                Ok(None) => break String::new(),
                Err(error) => break format!(": {error}"),
            }
        };
        self.waiting.lock().take();
        inbox.wake();
        why
    }

    fn take(&self, mut message: Value, inbox: &Inbox) {
        let id = message["id"].take();
        match (message["method"].as_str(), id) {
            (Some(method), Value::Null) => inbox.notified(method, &message["params"]),
            (Some(method), id) => {
                let mut answer = json!({"jsonrpc": "2.0", "id": id});
                match inbox.asked(method, &message["params"]) {
                    Ok(result) => answer["result"] = result,
                    Err(error) => answer["error"] = error,
                }
                self.send(&answer);
            }
            (None, id) => {
                let waiting = id.as_i64().and_then(|id| self.waiting.lock().as_mut()?.remove(&id));
                let error = message["error"].take();
                let reply = if error.is_null() { Ok(message["result"].take()) } else { Err(error) };
                let _given_up = waiting.map(|waiting| waiting.send(reply));
            }
        }
    }
}

/// Writes messages for as long as the server reads them.
pub(crate) async fn write(
    mut input: impl AsyncWrite + Unpin,
    mut messages: mpsc::UnboundedReceiver<Vec<u8>>,
) -> io::Result<()> {
    while let Some(message) = messages.recv().await {
        input.write_all(&message).await?;
        input.flush().await?;
    }
    Ok(())
}
