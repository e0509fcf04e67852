//! A cloud's servers in one: tokens and models, and what was asked of them, with all headers.
use axum::{
    Router,
    body::Body,
    extract::{Request, State},
    http::HeaderMap,
    response::Response,
};
use serde_json::Value;
use std::sync::{Arc, Mutex};

/// What a cloud was asked.
#[derive(Clone, Debug)]
pub(crate) struct Heard {
    /// `POST /path?query`
    pub(crate) line: String,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Vec<u8>,
}

impl Heard {
    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map(|value| value.to_str().unwrap()).unwrap_or_default()
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }

    /// The body as text.
    pub(crate) fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }

    /// Whether the path begins so.
    pub(crate) fn is_at(&self, path: &str) -> bool {
        self.line.split(' ').nth(1).unwrap().starts_with(path)
    }
}

/// What it answers: the status, headers, and the body.
pub(crate) struct Said(pub(crate) u16, pub(crate) Vec<(&'static str, String)>, pub(crate) Vec<u8>);

impl Said {
    pub(crate) fn json(status: u16, body: &Value) -> Self {
        Self(status, vec![("content-type", "application/json".into())], body.to_string().into_bytes())
    }
}

type Answering = dyn Fn(&Heard, usize) -> Said + Send + Sync;
type Hearing = (Arc<Answering>, Arc<Mutex<Vec<Heard>>>);

/// Answers whatever it is asked, and remembers it.
pub(crate) struct Cloud {
    /// `http://127.0.0.1:PORT`
    pub(crate) url: String,
    heard: Arc<Mutex<Vec<Heard>>>,
    _runtime: tokio::runtime::Runtime,
}

impl Cloud {
    /// `answer` is told what was asked, and how often that path was asked before.
    pub(crate) fn start(answer: impl Fn(&Heard, usize) -> Said + Send + Sync + 'static) -> Self {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let heard: Arc<Mutex<Vec<Heard>>> = Arc::default();
        let state = (Arc::new(answer) as Arc<Answering>, heard.clone());
        let app = Router::new().fallback(hear).with_state(state);
        let listener = runtime.block_on(tokio::net::TcpListener::bind("127.0.0.1:0")).unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        runtime.spawn(async move { axum::serve(listener, app).await });
        Self { url, heard, _runtime: runtime }
    }

    /// What was asked at paths that begin so.
    pub(crate) fn heard_at(&self, path: &str) -> Vec<Heard> {
        self.heard.lock().unwrap().iter().filter(|heard| heard.is_at(path)).cloned().collect()
    }
}

async fn hear(State((answer, all)): State<Hearing>, request: Request) -> Response {
    let line = format!("{} {}", request.method(), request.uri());
    let headers = request.headers().clone();
    let body = axum::body::to_bytes(request.into_body(), 1 << 24).await.unwrap().to_vec();
    let heard = Heard { line, headers, body };
    let before = {
        let mut all = all.lock().unwrap();
        let before = all.iter().filter(|other| other.line == heard.line).count();
        all.push(heard.clone());
        before
    };
    let Said(status, headers, body) = answer(&heard, before);
    let response = headers
        .into_iter()
        .fold(Response::builder().status(status), |response, (name, value)| response.header(name, value));
    response.body(Body::from(body)).unwrap()
}
