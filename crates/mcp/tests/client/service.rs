//! An MCP server behind HTTP that knows one key, written without the SDK.
use axum::{
    Router,
    http::{HeaderMap, StatusCode, header::LOCATION},
    response::{IntoResponse, Response},
    routing::post,
};
use serde_json::{Value, json};
use std::{
    net::SocketAddr,
    sync::{Arc, Mutex},
};
use tokio::{net::TcpListener, task::JoinHandle};

/// A service that runs until it is dropped. It knows no sessions of services before it.
pub(crate) struct Service {
    pub(crate) address: SocketAddr,
    /// The methods of the messages that came, in order.
    pub(crate) asked: Arc<Mutex<Vec<String>>>,
    task: JoinHandle<()>,
}

impl Drop for Service {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Service {
    /// `session` is what it calls its one session.
    pub(crate) async fn start(address: SocketAddr, session: &'static str) -> Self {
        let listener = TcpListener::bind(address).await.unwrap();
        let address = listener.local_addr().unwrap();
        let elsewhere = format!("http://localhost:{}/mcp", address.port());
        let asked: Arc<Mutex<Vec<String>>> = Arc::default();
        let heard = asked.clone();
        let hear = move |headers: HeaderMap, body: String| async move {
            let message: Value = serde_json::from_str(&body).unwrap();
            heard.lock().unwrap().extend(message["method"].as_str().map(str::to_owned));
            answer(&headers, &message, session)
        };
        let router = Router::new()
            .route("/mcp", post(hear))
            .route("/moved", post(|| async { (StatusCode::TEMPORARY_REDIRECT, [(LOCATION, "/mcp")]) }))
            .route("/away", post(|| async { (StatusCode::TEMPORARY_REDIRECT, [(LOCATION, elsewhere)]) }));
        let served = std::future::IntoFuture::into_future(axum::serve(listener, router));
        #[expect(clippy::disallowed_methods, reason = "the service owns it and ends it")]
        let task = tokio::spawn(async move { served.await.unwrap() });
        Self { address, asked, task }
    }
}

fn answer(headers: &HeaderMap, message: &Value, session: &str) -> Response {
    let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    if header("authorization") != Some("Bearer s3cret") {
        return StatusCode::UNAUTHORIZED.into_response();
    }
    let result = match message["method"].as_str() {
        Some("initialize") => json!({
            "protocolVersion": message["params"]["protocolVersion"], "capabilities": {"tools": {}},
            "serverInfo": {"name": "service", "version": "1"},
        }),
        _ if header("mcp-session-id") != Some(session) => return StatusCode::NOT_FOUND.into_response(),
        Some("tools/list") => json!({"tools": [{"name": "which", "inputSchema": {"type": "object"}}]}),
        Some("tools/call") => json!({"content": [{"type": "text", "text": session}]}),
        _ => return StatusCode::ACCEPTED.into_response(),
    };
    let answer = json!({"jsonrpc": "2.0", "id": message["id"], "result": result}).to_string();
    let headers = [("content-type", "application/json"), ("mcp-session-id", session)];
    (headers, answer).into_response()
}
