//! A vendor's whole server: lists of models, replies, and who asked with which key.
use super::Reply;
use axum::{
    Router,
    body::Body,
    extract::{Request, State},
    http::StatusCode,
    response::Response,
};
use serde_json::Value;
use std::sync::{Arc, Mutex};

/// What a server was asked.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    /// `GET /v1/models`
    pub(crate) line: String,
    /// The key of `Authorization: Bearer`.
    pub(crate) key: Option<String>,
    pub(crate) body: Value,
}

type Answering = dyn Fn(&Asked) -> Reply + Send + Sync;
type Hearing = (Arc<Answering>, Arc<Mutex<Vec<Asked>>>);

/// Answers whatever it is asked, and remembers it.
pub(crate) struct VendorServer {
    /// With `/v1` at its end.
    pub(crate) base_url: String,
    asked: Arc<Mutex<Vec<Asked>>>,
    _runtime: tokio::runtime::Runtime,
}

impl VendorServer {
    pub(crate) fn start(answer: impl Fn(&Asked) -> Reply + Send + Sync + 'static) -> Self {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let asked: Arc<Mutex<Vec<Asked>>> = Arc::default();
        let state = (Arc::new(answer) as Arc<Answering>, asked.clone());
        let app = Router::new().fallback(hear).with_state(state);
        let listener = runtime.block_on(tokio::net::TcpListener::bind("127.0.0.1:0")).unwrap();
        let base_url = format!("http://{}/v1", listener.local_addr().unwrap());
        runtime.spawn(async move { axum::serve(listener, app).await });
        Self { base_url, asked, _runtime: runtime }
    }

    pub(crate) fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap().clone()
    }

    /// The bodies of requests for replies.
    pub(crate) fn prompts(&self) -> Vec<Value> {
        let posts = self.asked().into_iter().filter(|asked| asked.line.starts_with("POST /v1/"));
        posts.map(|asked| asked.body).collect()
    }
}

async fn hear(State((answer, heard)): State<Hearing>, request: Request) -> Response {
    let line = format!("{} {}", request.method(), request.uri().path());
    let key = request.headers().get("authorization").and_then(|value| value.to_str().ok());
    let key = key.and_then(|value| value.strip_prefix("Bearer ")).map(str::to_owned);
    let body = axum::body::to_bytes(request.into_body(), 1 << 24).await.unwrap();
    let asked = Asked { line, key, body: serde_json::from_slice(&body).unwrap_or_default() };
    heard.lock().unwrap().push(asked.clone());
    let Reply(status, media, body) = answer(&asked);
    let response =
        Response::builder().status(StatusCode::from_u16(status).unwrap()).header("content-type", media);
    response.body(Body::from(body)).unwrap()
}
