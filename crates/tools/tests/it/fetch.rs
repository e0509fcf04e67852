//! `fetch` from servers on loopback.
use crate::kit::Kit;
use axum::{
    Router,
    http::header::{CONTENT_TYPE, LOCATION},
    response::IntoResponse,
    routing::get,
};
use haft_core::{Effect, ToolErrorKind};
use haft_tools::{FetchSettings, Settings};
use serde_json::json;
use std::future::pending;

fn with(fetch: FetchSettings) -> Kit {
    Kit::with(Settings { fetch, ..Settings::default() })
}

fn open() -> FetchSettings {
    FetchSettings { allow_private: true, ..FetchSettings::default() }
}

fn typed(media_type: &'static str, body: impl IntoResponse) -> impl IntoResponse {
    ([(CONTENT_TYPE, media_type)], body)
}

fn redirect(target: &str) -> impl IntoResponse + use<> {
    (axum::http::StatusCode::FOUND, [(LOCATION, target.to_owned())])
}

/// Its address, without a `/` at the end.
#[expect(clippy::disallowed_methods, reason = "the runtime of the test owns the server")]
async fn server() -> String {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let port = listener.local_addr().unwrap().port();
    let page =
        "<html><head><title>T</title></head><body><h1>Head</h1><script>x</script><p>A <b>word</b>.</p>";
    let routes = Router::new()
        .route("/page", get(move || async move { typed("text/html; charset=utf-8", page) }))
        .route("/json", get(|| async { typed("application/json", "{\"a\": 1}") }))
        .route("/latin", get(|| async { typed("text/plain; charset=ISO-8859-1", vec![0x67, 0xfc, 0x6e]) }))
        .route(
            "/western",
            get(|| async { typed("text/plain; charset=windows-1252", b"\x93\x80\x94".to_vec()) }),
        )
        .route(
            "/japanese",
            get(|| async { typed("text/plain; charset=Shift_JIS", b"\x93\xfa\x96{".to_vec()) }),
        )
        .route("/image", get(|| async { typed("image/png", vec![0_u8; 99]) }))
        .route("/long", get(|| async { typed("text/plain", "x".repeat(100_000)) }))
        .route("/nothing", get(|| async { typed("text/plain", "") }))
        .route("/slow", get(|| async { pending::<&str>().await }))
        .route("/here", get(|| async { redirect("/json") }))
        .route("/loop", get(|| async { redirect("/loop") }))
        .route("/there", get(move || async move { redirect(&format!("http://localhost:{port}/json")) }))
        .route("/file", get(|| async { redirect("file:///etc/passwd") }))
        .route("/echo", get(|headers: axum::http::HeaderMap| async move { format!("{headers:?}") }));
    tokio::spawn(async move { axum::serve(listener, routes).await });
    address
}

// C-66, C-67
#[tokio::test]
async fn a_page_is_read_as_text() {
    let (kit, server) = (with(FetchSettings { max_bytes: 50_000, ..open() }), server().await);
    let table = [
        ("/page", "T\n\n# Head\n\nA **word**.", false),
        ("/json", "{\"a\": 1}", false),
        ("/here", "{\"a\": 1}", false),
        ("/latin", "gün", false),
        ("/western", "“€”", false),
        ("/japanese", "日本", false),
        ("/nothing", "[the page holds no text]", false),
    ];
    for (path, expected, cut) in table {
        let told = kit.told("fetch", json!({"url": format!("{server}{path}")})).await;
        assert_eq!((told.content.as_str(), &told.details["truncated"]), (expected, &json!(cut)), "{path}");
    }
    let html = kit.told("WebFetch", json!({"url": format!("{server}/page"), "format": "html"})).await;
    assert!(html.content.starts_with("<html>"));
    let long = kit.told("fetch", json!({"url": format!("{server}/long"), "prompt": "What is it?"})).await;
    assert_eq!((&long.details["bytes"], &long.details["truncated"]), (&json!(50_000), &json!(true)));
    assert!(long.content.contains("left out") && long.content.ends_with("the rest was not fetched]"));
    assert!(kit.shown().starts_with(&format!("fetching {server}/page")));
}

// C-66
#[tokio::test]
async fn what_cannot_be_read_says_why() {
    let (kit, server) = (with(FetchSettings { timeout: 1, ..open() }), server().await);
    let table = [
        ("/image", "it is not text (image/png, 99 bytes)"),
        ("/no-such", "the server answered 404 Not Found"),
        ("/loop", "more than 5 redirects"),
        ("/slow", "not done within 1 s"),
        ("/file", "`file` is neither `http` nor `https`"),
        ("/there", "on another host"),
    ];
    for (path, expected) in table {
        let told = kit.told("fetch", json!({"url": format!("{server}{path}")})).await;
        assert!(!told.is_ok() && told.content.contains(expected), "{path}: {}", told.content);
    }
    let refused = kit.told("fetch", json!({"url": "http://127.0.0.1:1/"})).await;
    assert!(refused.content.contains("refused"), "{}", refused.content);
}

// D56
#[tokio::test]
async fn addresses_of_this_machine_and_of_private_networks_are_refused() {
    let (kit, server) = (Kit::new(), server().await);
    let port = server.rsplit(':').next().unwrap();
    let table = [
        "127.0.0.1",
        "localhost",
        "LOCALHOST",
        "[::1]",
        "0.0.0.0",
        "2130706433",
        "0x7f.1",
        "017700000001",
        "127.1",
        "[::ffff:127.0.0.1]",
        "[::ffff:7f00:1]",
        "169.254.169.254",
        "10.0.0.1",
        "192.168.0.1",
        "100.64.0.1",
        "[fe80::1]",
        "[fd00::1]",
        "224.0.0.1",
        "[64:ff9b::7f00:1]",
        "①②⑦.0.0.1",
    ];
    for host in table {
        let url = format!("http://{host}:{port}/json");
        let told = kit.told("fetch", json!({"url": url})).await;
        assert!(told.content.contains("of this machine or of a private network"), "{url}: {}", told.content);
        assert_eq!(told.error.unwrap().kind, ToolErrorKind::Security);
    }
    for url in
        ["file:///etc/passwd", "gopher://127.0.0.1/", "ftp://a/", "/etc/passwd", "http://a:b@example.org/"]
    {
        let told = kit.told("fetch", json!({"url": url})).await;
        assert_eq!(told.error.unwrap().kind, ToolErrorKind::Validation, "{url}");
    }
}

// D57
#[tokio::test]
async fn nothing_is_sent_that_says_who_asks() {
    let (kit, server) = (with(open()), server().await);
    let told = kit.told("fetch", json!({"url": format!("{server}/echo")})).await.content;
    assert!(told.contains("\"user-agent\": \"haft/"), "{told}");
    assert!(
        !told.contains("cookie") && !told.contains("referer") && !told.contains("authorization"),
        "{told}"
    );
}

#[test]
fn the_effect_is_the_address_as_it_is_understood() {
    let kit = Kit::new();
    let table = [
        ("https://example.org/a?b#c", "https://example.org/a?b#c"),
        ("HTTPS://EXAMPLE.org:443/a/../b", "https://example.org/b"),
        ("https://exa\nmple.org/", "https://example.org/"),
        ("http://0x7f.1/", "http://127.0.0.1/"),
        ("nonsense", "nonsense"),
    ];
    for (url, expected) in table {
        assert_eq!(kit.effects("fetch", &json!({"url": url})).unwrap(), [Effect::Network(expected.into())]);
    }
}
