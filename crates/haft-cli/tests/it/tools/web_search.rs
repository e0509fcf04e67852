//! `web_search`: the engine that the person chose is asked, after the person saw the query, and a replay asks no engine.
use crate::kit::{Place, Ran, call};
use axum::{
    Router,
    body::Bytes,
    extract::State,
    http::{HeaderMap, Method, StatusCode, Uri},
};
use serde_json::{Value, json};
use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

/// Method and address, headers, body.
type Request = (String, HeaderMap, String);

/// An engine that always says the same.
struct Engine {
    address: String,
    requests: Arc<Mutex<Vec<Request>>>,
    _runtime: tokio::runtime::Runtime,
}

#[derive(Clone)]
struct Answer {
    status: u16,
    body: String,
    delay: Duration,
    requests: Arc<Mutex<Vec<Request>>>,
}

impl Engine {
    fn saying(body: &Value) -> Self {
        Self::answering(200, &body.to_string(), Duration::ZERO)
    }

    fn answering(status: u16, body: &str, delay: Duration) -> Self {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let requests: Arc<Mutex<Vec<Request>>> = Arc::default();
        let answer = Answer { status, body: body.to_owned(), delay, requests: requests.clone() };
        let app = Router::new().fallback(say).with_state(answer);
        let listener = runtime.block_on(tokio::net::TcpListener::bind("127.0.0.1:0")).unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        runtime.handle().spawn(async move { axum::serve(listener, app).await });
        Self { address, requests, _runtime: runtime }
    }

    fn requests(&self) -> Vec<Request> {
        self.requests.lock().unwrap().clone()
    }
}

async fn say(
    State(answer): State<Answer>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> (StatusCode, String) {
    let body = String::from_utf8(body.to_vec()).unwrap();
    answer.requests.lock().unwrap().push((format!("{method} {uri}"), headers, body));
    tokio::time::sleep(answer.delay).await;
    (StatusCode::from_u16(answer.status).unwrap(), answer.body)
}

fn configured(place: &Place, engine: &str, address: &str) {
    place.configure(&format!(
        "[tools.web_search]\nengine = \"{engine}\"\nurl = \"{address}\"\nresults = 2\ntimeout = 2\n"
    ));
}

const KEY: &str = "0123456789abcdef-key";

/// `haft tools call web_search` with a key for each engine.
fn search(place: &Place, query: &str) -> Value {
    let arguments = json!({"query": query}).to_string();
    let mut command = place.haft(&["tools", "call", "web_search", &arguments, "--permission", "full"]);
    for name in ["BRAVE_API_KEY", "TAVILY_API_KEY", "EXA_API_KEY", "KAGI_API_KEY"] {
        command.env(name, KEY);
    }
    let ran = Ran::from(command.output().unwrap());
    assert!(!ran.out.contains(KEY) && !ran.err.contains(KEY), "{ran:?}");
    serde_json::from_str(&ran.out).unwrap_or_else(|_| panic!("{ran:?}"))
}

// H-32
#[test]
fn each_engine_is_asked_in_its_own_way() {
    let hit = |text: &str| {
        let text = json!({text: "Open from <b>9</b> to 18 &amp; on\nSunday."});
        let mut hit = json!({"title": "City library", "url": "https://example.org/a?b=c"});
        hit.as_object_mut().unwrap().extend(text.as_object().unwrap().clone());
        hit
    };
    let related = json!({"t": 1, "list": ["library hours"]});
    let results = |text: &str| json!({"results": [hit(text), hit(text), hit(text)]});
    let table = [
        ("searxng", results("content"), "GET /search?q=a+%26b&format=json", None, ""),
        (
            "brave",
            json!({"web": results("description")}),
            "GET /res/v1/web/search?q=a+%26b&text_decorations=false&count=2",
            Some(("x-subscription-token", KEY.to_owned())),
            "",
        ),
        (
            "tavily",
            results("content"),
            "POST /search",
            Some(("authorization", format!("Bearer {KEY}"))),
            r#"{"max_results":2,"query":"a &b"}"#,
        ),
        (
            "exa",
            results("text"),
            "POST /search",
            Some(("x-api-key", KEY.to_owned())),
            r#"{"contents":{"text":{"maxCharacters":600}},"numResults":2,"query":"a &b"}"#,
        ),
        (
            "kagi",
            json!({"data": [related, hit("snippet"), hit("snippet")]}),
            "GET /api/v0/search?q=a+%26b&limit=2",
            Some(("authorization", format!("Bot {KEY}"))),
            "",
        ),
    ];
    for (name, answer, request, key, body) in table {
        let (place, engine) = (Place::new(), Engine::saying(&answer));
        configured(&place, name, &engine.address);
        let found = search(&place, " a &b ");
        let listed = "City library\n   https://example.org/a?b=c\n   Open from **9** to 18 & on Sunday.";
        assert_eq!(found["content"], format!("1. {listed}\n2. {listed}"), "{name}: {found}");
        let requests = engine.requests();
        let (asked, headers, sent) = &requests[0];
        assert_eq!((requests.len(), asked.as_str()), (1, request), "{name}");
        if let Some((header, value)) = key {
            assert_eq!(headers[header].to_str().unwrap(), value, "{name}");
        }
        let sorted = |text: &str| serde_json::from_str::<Value>(text).ok();
        assert_eq!(sorted(sent), sorted(body), "{name}");
    }
}

// H-32
#[test]
fn what_an_engine_does_wrong_is_an_error_that_says_so() {
    let slow = Duration::from_secs(20);
    let table = [
        (401, "{}", Duration::ZERO, "it answered 401 Unauthorized", "the key is not accepted"),
        (429, "{}", Duration::ZERO, "it answered 429 Too Many Requests", "go on without it"),
        (500, "{}", Duration::ZERO, "it answered 500 Internal Server Error", "try again later"),
        (302, "{}", Duration::ZERO, "it answered 302 Found", "try again later"),
        (200, "<html>", Duration::ZERO, "its answer is not JSON", ""),
        (200, "{\"results\": 1}", Duration::ZERO, "its answer holds no list of results", ""),
        (200, "{}", slow, "not done within 2 s", ""),
    ];
    for (status, body, delay, why, hint) in table {
        let (place, engine) = (Place::new(), Engine::answering(status, body, delay));
        configured(&place, "tavily", &engine.address);
        let failed = search(&place, "a")["content"].as_str().unwrap().to_owned();
        assert!(failed.contains(&format!("cannot search with `tavily`: {why}")), "{failed}");
        assert!(failed.contains(hint), "{failed}");
    }
    let place = Place::new();
    configured(&place, "tavily", "http://127.0.0.1:9");
    let failed = search(&place, "a")["content"].as_str().unwrap().to_owned();
    assert!(failed.contains("it cannot be reached: connection refused"), "{failed}");
}

#[test]
fn a_choice_that_is_not_whole_is_told_with_what_is_missing() {
    let table = [
        ("engine = \"brave\"", "it needs a key, and `BRAVE_API_KEY` is not set"),
        ("engine = \"searxng\"", "the person sets `[tools.web_search] url` to that of a server"),
        ("engine = \"tavilly\"", "did you mean `tavily`?"),
        ("engine = \"searxng\"\nurl = \"localhost\"", "its address `localhost` is invalid"),
    ];
    for (settings, told) in table {
        let place = Place::new();
        place.configure(&format!("[tools.web_search]\n{settings}\n"));
        let arguments = r#"{"query": "a"}"#;
        let ran = place.run(&["tools", "call", "web_search", arguments, "--permission", "full"]);
        assert!(format!("{}{}", ran.out, ran.err).contains(told), "{settings}: {ran:?}");
    }
    let place = Place::new();
    place.write(
        ".haft/config.toml",
        "[tools.web_search]\nengine = \"searxng\"\nurl = \"http://127.0.0.1:9\"\n",
    );
    let ran = place.run(&["tools", "call", "web_search", r#"{"query": "a"}"#, "--permission", "full"]);
    assert!(!ran.out.contains("cannot be reached"), "a project chooses no engine: {ran:?}");
}

// H-33
#[test]
fn the_query_is_seen_before_it_leaves_and_a_rule_may_allow_the_engine() {
    let (place, engine) = (Place::new(), Engine::saying(&json!({"results": []})));
    configured(&place, "searxng", &engine.address);
    let model = place.script("m", &[call("WebSearch", json!({"search_query": "a b"})), json!({"say": "ok"})]);
    let ran = place.run(&["run", "--json", "--model", &model, "go"]);
    assert_eq!(ran.code, 4, "{ran:?}");
    let asked = ran.events().into_iter().find(|event| event["type"] == "approval_asked").unwrap();
    assert!(asked["effects"].to_string().contains("q=a+b"), "{asked}");
    assert_eq!(engine.requests().len(), 0);

    place.configure_also(&format!("[rules]\nallow = [\"network:{}/*\"]\n", engine.address));
    let ran = place.run(&["run", "--model", &model, "go"]);
    assert_eq!((ran.code, engine.requests().len()), (0, 1), "{ran:?}");
}

#[test]
fn without_an_engine_no_model_is_told_of_the_tool() {
    let place = Place::new();
    assert!(!place.run(&["tools", "schema"]).out.contains("web_search"));
    configured(&place, "searxng", "http://127.0.0.1:9");
    assert!(place.run(&["tools", "schema"]).out.contains("web_search"));
}

// H-33
#[test]
fn a_replay_asks_no_engine() {
    let place = Place::new();
    let engine =
        Engine::saying(&json!({"results": [{"title": "One", "url": "https://example.org", "content": "a"}]}));
    configured(&place, "searxng", &engine.address);
    let lines = [
        call("web_search", json!({"query": "a"})),
        call("web_search", json!({"query": "b"})),
        json!({"say": "ok"}),
    ];
    let model = place.script("m", &lines);
    let ran = place.run(&["run", "--permission", "full", "--output", "json", "--model", &model, "go"]);
    let session: Value = serde_json::from_str(&ran.out).unwrap();
    drop(engine);
    place.configure("");
    let ran = place.run(&["sessions", "replay", session["session"].as_str().unwrap()]);
    assert_eq!(ran.code, 0, "{ran:?}");
}
