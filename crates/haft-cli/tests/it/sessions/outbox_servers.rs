//! What becomes of an item of an outbox whose MCP server takes no requests at the moment.
use crate::kit::{Place, call};
use axum::{
    Json, Router,
    extract::State,
    http::StatusCode,
    response::{IntoResponse, Response},
    routing::post,
};
use serde_json::{Value, json};
use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

type Calls = Arc<AtomicUsize>;

/// Takes the second call of its tool, and answers the first one with this status.
async fn answer(State((status, calls)): State<(StatusCode, Calls)>, Json(asked): Json<Value>) -> Response {
    let result = match asked["method"].as_str().unwrap_or_default() {
        "initialize" => {
            json!({"protocolVersion": asked["params"]["protocolVersion"], "capabilities": {"tools": {}},
                               "serverInfo": {"name": "x", "version": "1"}})
        }
        "tools/list" => json!({"tools": [{"name": "post", "inputSchema": {"type": "object"}}]}),
        "tools/call" if calls.fetch_add(1, Ordering::Relaxed) == 0 => return status.into_response(),
        "tools/call" => json!({"content": [{"type": "text", "text": "posted"}]}),
        _ if asked["id"].is_null() => return StatusCode::ACCEPTED.into_response(),
        _ => {
            let error = json!({"code": -32601, "message": "no such method"});
            return Json(json!({"jsonrpc": "2.0", "id": asked["id"], "error": error})).into_response();
        }
    };
    Json(json!({"jsonrpc": "2.0", "id": asked["id"], "result": result})).into_response()
}

// H-48
#[test]
fn an_item_that_a_server_did_not_take_can_be_sent_again() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    for (status, expected) in [(429, "failed"), (503, "unknown"), (502, "unknown")] {
        let calls = Calls::default();
        let listener = runtime.block_on(tokio::net::TcpListener::bind("127.0.0.1:0")).unwrap();
        let address = listener.local_addr().unwrap();
        let state = (StatusCode::from_u16(status).unwrap(), calls.clone());
        let router = Router::new().route("/mcp", post(answer)).with_state(state);
        runtime.handle().spawn(async move { axum::serve(listener, router).await });
        let place = Place::new();
        place.configure(&format!("[mcp.x]\nurl = \"http://{address}/mcp\"\n"));
        let model = place
            .script("model", &[call("mcp__x__post", json!({"text": "hello"})), json!({"say": "Queued."})]);
        let ran = place.run(&["run", "--outbox", "--model", &model, "go"]);
        assert_eq!(ran.code, 0, "{ran:?}");
        let item = || place.run(&["outbox", "list", "--json"]).events()[0].clone();
        let id = item()["id"].as_str().unwrap().to_owned();
        let refused = place.run(&["outbox", "send", &id]);
        assert_eq!((refused.code, item()["state"].as_str()), (1, Some(expected)), "{status}: {refused:?}");
        let again = place.run(&["outbox", "send", &id]);
        let is_sent = expected == "failed";
        assert_eq!((again.code == 0, item()["state"] == "sent"), (is_sent, is_sent), "{status}: {again:?}");
        assert_eq!(calls.load(Ordering::Relaxed), if is_sent { 2 } else { 1 }, "{status}");
    }
}
