//! Hooks behind an address, on a real server on loopback; and hooks that cannot work.
use axum::{
    Router,
    body::Bytes,
    http::{HeaderMap, StatusCode},
    response::Redirect,
    routing::post,
};
use haft_core::{Hooked, Hooks, Moment, SessionId, ToolCall};
use haft_tools::{HookEvent, HookSettings, OnFailure, OwnHooks};
use serde_json::{Value, json};
use std::sync::Arc;

fn hook(url: &str) -> HookSettings {
    let (tool, command, on_failure) = (None, None, OnFailure::Deny);
    let url = Some(url.to_owned());
    let headers = Default::default();
    HookSettings { event: HookEvent::BeforeTool, tool, command, url, headers, timeout: 20, on_failure }
}

fn hooks(settings: HookSettings) -> Result<OwnHooks, String> {
    let made = OwnHooks::new(&[settings], "/".into(), [].into(), Arc::new(|_| ()));
    made.map_err(|bad| bad.to_string())
}

/// Denies what would remove something, and asks for JSON.
async fn guard(body: Bytes) -> String {
    let told: Value = serde_json::from_slice(&body).unwrap();
    match told["arguments"]["command"].as_str().unwrap().contains("rm") {
        true => json!({"decision": "deny", "reason": "nothing is removed here"}).to_string(),
        false => String::new(),
    }
}

/// Lets in who has the key.
async fn keyed(headers: HeaderMap) -> StatusCode {
    let is_known = headers.get("authorization").is_some_and(|key| key == "Bearer s3cret");
    if is_known { StatusCode::OK } else { StatusCode::UNAUTHORIZED }
}

async fn served() -> String {
    let router = Router::new()
        .route("/guard", post(guard))
        .route("/keyed", post(keyed))
        .route("/broken", post(|| async { StatusCode::INTERNAL_SERVER_ERROR }))
        .route("/moved", post(|| async { Redirect::temporary("/guard") }))
        .route("/long", post(|| async { " ".repeat(70_000) }))
        .route("/never", post(std::future::pending::<()>));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let serving = async move { axum::serve(listener, router).await.unwrap() };
    #[expect(clippy::disallowed_methods, reason = "the runtime of the test owns the server")]
    tokio::spawn(serving);
    address
}

async fn asked(settings: HookSettings, command: &str) -> Hooked {
    let call = ToolCall::new("1", "bash", json!({"command": command}));
    let session = SessionId("s".into());
    hooks(settings).unwrap().hear(&session, Moment::BeforeCall { call: &call, writes: &[] }).await
}

#[tokio::test]
async fn an_address_is_asked_like_a_command() {
    let address = served().await;
    let table = [
        ("guard", "ls", None),
        ("guard", "rm x", Some("nothing is removed here".to_owned())),
        ("broken", "ls", Some(format!("the hook at `{address}/broken` failed with status 500"))),
        ("moved", "ls", Some(format!("the hook at `{address}/moved` failed with status 307"))),
        ("long", "ls", Some(format!("the hook at `{address}/long` answered with more than 64 kB"))),
        ("never", "ls", Some(format!("the hook at `{address}/never` did not answer within 1 s"))),
    ];
    for (path, command, deny) in table {
        let timeout = if path == "never" { 1 } else { 20 };
        let settings = HookSettings { timeout, ..hook(&format!("{address}/{path}")) };
        assert_eq!(asked(settings, command).await.deny, deny, "{path} {command}");
    }
    let key = [("Authorization".to_owned(), "Bearer s3cret".to_owned())].into();
    let settings = HookSettings { headers: key, ..hook(&format!("{address}/keyed")) };
    assert_eq!(asked(settings, "ls").await.deny, None);
    let refused = format!("the hook at `{address}/keyed` failed with status 401");
    assert_eq!(asked(hook(&format!("{address}/keyed")), "ls").await.deny, Some(refused));
    let unreachable = asked(hook("http://127.0.0.1:9/"), "ls").await.deny.unwrap();
    assert!(
        unreachable.starts_with("the hook at `http://127.0.0.1:9/` could not be asked: "),
        "{unreachable}"
    );
}

#[test]
fn a_hook_that_cannot_work_is_refused() {
    let header = |name: &str, value: &str| [(name.to_owned(), value.to_owned())].into();
    let either = "a hook needs either a `command` or a `url`";
    let table = [
        (HookSettings { url: None, ..hook("") }, either),
        (HookSettings { command: Some("true".into()), ..hook("http://x") }, either),
        (HookSettings { timeout: 0, ..hook("http://x") }, "its `timeout` is 0 seconds"),
        (
            HookSettings { event: HookEvent::TurnEnd, tool: Some("bash".into()), ..hook("http://x") },
            "a hook with a `tool` is one of `before_tool` and `after_tool`",
        ),
        (HookSettings { tool: Some("[".into()), ..hook("http://x") }, "`tool`: error parsing glob"),
        (
            HookSettings { url: None, command: Some("true".into()), headers: header("a", "b"), ..hook("") },
            "a hook with `headers` has a `url`",
        ),
        (
            HookSettings { headers: header("a b", "s3cret"), ..hook("http://x") },
            "the header `a b` cannot be sent",
        ),
        (
            HookSettings { headers: header("a", "s3\ncret"), ..hook("http://x") },
            "the header `a` cannot be sent",
        ),
        (hook("x"), "`url`: relative URL without a base"),
    ];
    for (settings, expected) in table {
        let what = format!("{settings:?}");
        let told = hooks(settings).err().unwrap();
        assert!(told.starts_with(expected), "{what}: {told}");
    }
}
