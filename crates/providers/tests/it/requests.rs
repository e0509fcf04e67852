//! What goes out: whole requests as the vendors see them, to be reviewed like prose.
use axum::{
    Json, Router,
    extract::State,
    http::{HeaderMap, Uri},
    routing::post,
};
use futures::StreamExt;
use haft_core::{
    ArgumentForm, CallForm, CallId, Failure, Image, Message, Part, Provider, ReplyForm, Request, ToolCall,
    ToolErrorKind, ToolResult, ToolSpec, schema::Schema,
};
use haft_providers::{
    CacheTtl, Connection, Key, Record, Replay, Retry, connect, is_listening, list_models, vendor,
};
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};
use tokio::task::JoinSet;

type Seen = Arc<Mutex<Vec<(HeaderMap, Value)>>>;

/// A server that speaks every wire, and what it has seen.
async fn serve() -> (String, Seen, JoinSet<()>) {
    let seen = Seen::default();
    let models = || async { Json(json!({"data": [{"id": "b"}, {"id": "a"}]})) };
    let routes = Router::new()
        .route("/v1/chat/completions", post(chat))
        .route("/v1/messages", post(messages))
        .route("/v1/responses", post(responses))
        .route("/v1/models/{method}", post(contents))
        .route("/v1/model/m/converse-stream", post(converse))
        .route("/v1/models", axum::routing::get(models))
        .with_state(seen.clone());
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let mut tasks = JoinSet::new();
    tasks.spawn(async move { axum::serve(listener, routes).await.unwrap() });
    (url, seen, tasks)
}

async fn chat(State(seen): State<Seen>, headers: HeaderMap, Json(body): Json<Value>) -> Json<Value> {
    seen.lock().unwrap().push((headers, body));
    Json(json!({"choices": [{"message": {"content": "Grüße"}, "finish_reason": "stop"}]}))
}

async fn messages(State(seen): State<Seen>, headers: HeaderMap, Json(body): Json<Value>) -> Json<Value> {
    seen.lock().unwrap().push((headers, body));
    Json(json!({"type": "message", "content": [{"type": "text", "text": "hi"}], "stop_reason": "end_turn"}))
}

async fn contents(
    State(seen): State<Seen>,
    uri: Uri,
    headers: HeaderMap,
    Json(body): Json<Value>,
) -> Json<Value> {
    let path = uri.to_string();
    assert!(path.starts_with("/v1/models/") && path.ends_with(":streamGenerateContent?alt=sse"), "{path}");
    seen.lock().unwrap().push((headers, body));
    Json(json!({"candidates": [{"content": {"parts": [{"text": "hi"}]}, "finishReason": "STOP"}]}))
}

async fn converse(State(seen): State<Seen>, headers: HeaderMap, Json(body): Json<Value>) -> Json<Value> {
    seen.lock().unwrap().push((headers, body));
    Json(json!({"output": {"message": {"content": [{"text": "hi"}]}}, "stopReason": "end_turn"}))
}

async fn responses(State(seen): State<Seen>, headers: HeaderMap, Json(body): Json<Value>) -> Json<Value> {
    seen.lock().unwrap().push((headers, body));
    let content = json!([{"type": "output_text", "text": "hi"}]);
    Json(
        json!({"object": "response", "status": "completed", "output": [{"type": "message", "content": content}]}),
    )
}

/// A conversation with everything in it.
pub(crate) fn conversation() -> Request {
    let image = Image { mime: "image/png".into(), data: "AAAA".into() };
    let thought = Part::Thinking { text: "hm".into(), signature: Some("s".into()) };
    let hidden = Part::Thinking { text: String::new(), signature: Some("redacted_thinking:z".into()) };
    let read = Part::ToolCall(ToolCall::new("functions.read:0", "read", json!({"path": "a"})));
    let broken = ToolCall { problem: Some("not JSON".into()), ..ToolCall::new("b", "read", json!("{\"pa")) };
    let result =
        |id: &str, result: ToolResult| Message::Tool { call: CallId(id.into()), name: "read".into(), result };
    let failure = Failure { kind: ToolErrorKind::Validation, message: "no".into(), suggestion: None };
    let messages = vec![
        Message::User { parts: vec![Part::text("look"), Part::Image(image.clone())] },
        Message::Assistant { parts: vec![thought, hidden, read, Part::ToolCall(broken)] },
        result(
            "functions.read:0",
            ToolResult { content: "one".into(), images: vec![image], ..ToolResult::default() },
        ),
        result(
            "b",
            ToolResult { content: "error: no".into(), error: Some(failure), ..ToolResult::default() },
        ),
        Message::User { parts: vec![Part::text("and?")] },
        Message::Assistant { parts: vec![Part::text("It says one.")] },
        Message::User { parts: vec![Part::text("thanks")] },
    ];
    let tool = ToolSpec {
        name: "read".into(),
        description: "Reads a file.".into(),
        parameters: json!({"type": "object", "properties": {"path": {"type": "string"}}}),
        examples: Vec::new().into(),
    };
    let options = json!({"temperature": 0.7}).as_object().unwrap().clone();
    Request {
        model: "m".into(),
        system: "Be kind.".into(),
        messages: messages.into_iter().map(Arc::new).collect(),
        tools: vec![tool].into(),
        max_output: 4_000,
        form: None,
        answer: None,
        options,
    }
}

/// Calls of one tool, as Hermes writes them.
fn form(reply: Option<ReplyForm>) -> Arc<CallForm> {
    let [before, between, behind] =
        ["<tool_call>\n{\"name\": \"", "\", \"arguments\": ", "}\n</tool_call>"].map(str::to_owned);
    let arguments = ArgumentForm::Json;
    Arc::new(CallForm { tools: conversation().tools, before, between, behind, arguments, reply })
}

// A server gets what it takes, and one that takes nothing is not bothered.
#[tokio::test]
async fn servers_are_told_the_form_of_calls() {
    let [thoughts, calls, name, arguments] = ["thoughts", "tool_calls", "tool", "args"].map(str::to_owned);
    let json = ReplyForm { thoughts, calls, call: [name, arguments] };
    let table = [
        ("llamacpp", None, "a grammar"),
        ("llamacpp", Some(json.clone()), "json_schema"),
        ("vllm", None, "structural_tag"),
        ("vllm", Some(json.clone()), "json_schema"),
        ("ollama", None, "nothing"),
        ("ollama", Some(json.clone()), "json_schema"),
        ("kimi", Some(json), "nothing"),
    ];
    for (vendor, reply, expected) in table {
        let request = Request { form: Some(form(reply)), tools: Arc::default(), ..conversation() };
        let (_, body) = sent(vendor, request).await;
        let format = body["response_format"]["type"].as_str();
        let told = body["grammar"].as_str().map(|_| "a grammar").or(format).unwrap_or("nothing");
        assert_eq!(told, expected, "{vendor}");
        if told == "structural_tag" {
            let structure = json!({
                "begin": "<tool_call>\n{\"name\": \"read\", \"arguments\": ", "end": "}\n</tool_call>",
                "schema": {"type": "object", "properties": {"path": {"type": "string"}}},
            });
            assert_eq!(body["response_format"]["structures"], json!([structure]));
            assert_eq!(body["response_format"]["triggers"], json!(["<tool_call>"]));
        }
    }
}

pub(crate) async fn sent(name: &str, request: Request) -> (HeaderMap, Value) {
    sent_by(name, request, Connection::default()).await
}

/// The same, where the person set something.
pub(crate) async fn sent_by(name: &str, request: Request, settings: Connection) -> (HeaderMap, Value) {
    let (url, seen, _tasks) = serve().await;
    let vendor = vendor(name).unwrap();
    let base_url = Some(if name == "anthropic" { url } else { format!("{url}/v1") });
    let settings = Connection { base_url, key: Some(Key::new("sk-1")), ..settings };
    let deltas: Vec<_> = Retry::new(connect(vendor, settings)).stream(request).collect().await;
    assert!(deltas.iter().all(Result::is_ok), "{deltas:?}");
    seen.lock().unwrap().remove(0)
}

//
#[tokio::test]
async fn a_conversation_on_the_chat_wire() {
    let (headers, body) = sent("openai", conversation()).await;
    assert_eq!(headers["authorization"], "Bearer sk-1");
    insta::assert_snapshot!("chat", format!("{body:#}"));
}

#[tokio::test]
async fn vendors_differ_in_small_things() {
    let assistant = |body: &Value| {
        body["messages"]
            .as_array()
            .unwrap()
            .iter()
            .find(|message| message["role"] == "assistant")
            .unwrap()
            .clone()
    };
    let (_, openai) = sent("openai", conversation()).await;
    let (_, kimi) = sent("kimi", conversation()).await;
    let (_, mistral) = sent("mistral", conversation()).await;
    assert_eq!(
        (&assistant(&openai)["content"], &assistant(&openai)["reasoning_content"]),
        (&Value::Null, &Value::Null)
    );
    assert_eq!(
        (&assistant(&kimi)["content"], &assistant(&kimi)["reasoning_content"]),
        (&json!(""), &json!("hm"))
    );
    assert_eq!((&kimi["max_tokens"], &openai["max_completion_tokens"]), (&json!(4_000), &json!(4_000)));
    assert_eq!(
        (&mistral["stream_options"], &kimi["stream_options"]),
        (&Value::Null, &json!({"include_usage": true}))
    );
    let id = mistral["messages"][3]["tool_call_id"].as_str().unwrap();
    assert_eq!((id.len(), id), (9, assistant(&mistral)["tool_calls"][0]["id"].as_str().unwrap()));
}

//
#[tokio::test]
async fn a_conversation_on_the_responses_wire() {
    let (headers, body) = sent("openai-responses", thoughtful("openai_responses:gAAA")).await;
    assert_eq!(headers["authorization"], "Bearer sk-1");
    insta::assert_snapshot!("responses", format!("{body:#}"));
}

//
#[tokio::test]
async fn a_conversation_on_the_wire_of_gemini() {
    let mut request = thoughtful("gemini::of a text");
    let signed = |signature: &str| Part::Thinking { text: String::new(), signature: Some(signature.into()) };
    let call = |id: &str| Part::ToolCall(ToolCall::new(id, "read", json!({"path": id})));
    let parts = vec![signed("gemini:0:of a call"), signed("gemini:7:of nothing"), call("a"), call("b")];
    request.messages.push(Arc::new(Message::Assistant { parts }));
    request.options.insert("safetySettings".into(), json!([]));
    let (headers, body) = sent("gemini-native", request).await;
    assert_eq!(headers["x-goog-api-key"], "sk-1");
    insta::assert_snapshot!("contents", format!("{body:#}"));
}

/// The conversation, begun by a model whose thought bears this signature, and ended in the middle of another.
fn thoughtful(signature: &str) -> Request {
    let mut request = conversation();
    let thought = Part::Thinking { text: "so".into(), signature: Some(signature.into()) };
    let open = Part::Thinking { text: "hm".into(), signature: Some(signature.into()) };
    let said = Message::Assistant { parts: vec![thought, Part::text("Well."), open] };
    request.messages.insert(0, Arc::new(said));
    request
}

#[tokio::test]
async fn models_that_think_are_not_told_how_to_draw_words() {
    let table = [
        ("openai", "gpt-5", false),
        ("openai", "o3-mini", false),
        ("openai-responses", "gpt-5.1", false),
        ("openai", "gpt-5-chat-latest", true),
        ("openai", "gpt-4o", true),
        ("ollama", "gpt-5", true),
    ];
    for (vendor, model, expected) in table {
        let (_, body) = sent(vendor, Request { model: model.into(), ..conversation() }).await;
        assert_eq!(body["temperature"].is_number(), expected, "{vendor}/{model}");
    }
}

/// Vendors refuse a conversation in which one call has a name or an ID of another form, and it is in every later request.
#[tokio::test]
async fn a_name_that_a_model_made_up_does_not_end_the_conversation() {
    let table = [
        ("functions.read", "functions_read"),
        ("", "unnamed"),
        ("read file", "read_file"),
        (&*"x".repeat(100), &*"x".repeat(64)),
        ("ä", "_"),
    ];
    let id = "i".repeat(80);
    for (name, expected) in table {
        let call = ToolCall::new(id.clone(), name, json!({}));
        let result = ToolResult { content: "error: no".into(), ..ToolResult::default() };
        let messages = [
            Message::User { parts: vec![Part::text("go")] },
            Message::Assistant { parts: vec![Part::ToolCall(call)] },
            Message::Tool { call: CallId(id.clone()), name: name.into(), result },
        ];
        let request = Request { messages: messages.map(Arc::new).to_vec(), ..conversation() };
        let (_, chat) = sent("openai", request.clone()).await;
        let made = &chat["messages"][2]["tool_calls"][0];
        assert_eq!(made["function"]["name"], expected);
        assert!(
            made["id"].as_str().unwrap().len() <= 40 && made["id"] == chat["messages"][3]["tool_call_id"]
        );
        let (_, responses) = sent("openai-responses", request.clone()).await;
        let made = &responses["input"][1];
        assert_eq!(made["name"], expected, "{responses}");
        let made = made["call_id"].as_str().unwrap();
        assert!(made.len() <= 64 && responses["input"][2]["call_id"] == made, "{responses}");
        let (_, anthropic) = sent("anthropic", request.clone()).await;
        assert_eq!(anthropic["messages"][1]["content"][0]["name"], expected, "{anthropic}");
        let (_, gemini) = sent("gemini-native", request).await;
        assert_eq!(gemini["contents"][1]["parts"][0]["functionCall"]["name"], expected, "{gemini}");
        assert_eq!(gemini["contents"][2]["parts"][0]["functionResponse"]["name"], expected, "{gemini}");
    }
}

#[tokio::test]
async fn two_calls_stay_two_where_their_ids_hold_characters_that_a_wire_refuses() {
    let (long, longer) = ("i".repeat(70), "i".repeat(71));
    let ids = ["a:b", "a_b", "a.b", &long, &longer];
    let call = |id: &str| Part::ToolCall(ToolCall::new(id, "read", json!({})));
    let result = |id: &str| Message::Tool {
        call: CallId(id.into()),
        name: "read".into(),
        result: ToolResult::default(),
    };
    let messages = [Message::Assistant { parts: ids.map(call).to_vec() }].into_iter().chain(ids.map(result));
    let request = Request { messages: messages.map(Arc::new).collect(), ..conversation() };
    for (vendor, call, id, result, result_id) in [
        ("anthropic", "", "/id", "", "/tool_use_id"),
        ("bedrock", "/toolUse", "/toolUseId", "/toolResult", "/toolUseId"),
    ] {
        let (_, body) = sent(vendor, request.clone()).await;
        let ids = |message: usize, pointer: String| -> Vec<String> {
            let blocks = body["messages"][message]["content"].as_array().unwrap().iter();
            blocks.filter_map(|block| block.pointer(&pointer)?.as_str().map(str::to_owned)).collect()
        };
        let (called, answered) = (ids(0, format!("{call}{id}")), ids(1, format!("{result}{result_id}")));
        let different: std::collections::HashSet<&String> = called.iter().collect();
        assert_eq!((different.len(), &called), (5, &answered), "{vendor}: {body}");
        let is_safe = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
        assert!(called.iter().all(|id| id.len() <= 64 && id.chars().all(is_safe)), "{called:?}");
        assert_eq!(called[1], "a_b");
    }
}

#[tokio::test]
async fn only_models_that_think_are_asked_for_their_thoughts() {
    for (model, expected) in [("gpt-6", true), ("o3", true), ("gpt-4.1", false), ("gpt-5-chat-latest", false)]
    {
        let (_, body) = sent("openai-responses", Request { model: model.into(), ..conversation() }).await;
        assert_eq!(body["include"].is_array(), expected, "{model}");
    }
}

#[tokio::test]
async fn the_thoughts_of_one_vendor_are_not_shown_to_another() {
    let table = [
        ("anthropic", "openai_responses:xyz"),
        ("openai-responses", "xyz"),
        ("openai", "xyz"),
        ("gemini-native", "xyz"),
    ];
    for (name, signature) in table {
        let (_, body) = sent(name, thoughtful(signature)).await;
        assert!(!body.to_string().contains("xyz"), "{name}: {body}");
    }
}

// O-23, O-24, O-25, O-26, O-27, O-28, O-29, O-45, O-47, O-48
#[tokio::test]
async fn a_conversation_on_the_messages_wire() {
    let (headers, body) = sent("anthropic", conversation()).await;
    assert_eq!(
        (&headers["x-api-key"], &headers["anthropic-version"]),
        (&"sk-1".parse().unwrap(), &"2023-06-01".parse().unwrap())
    );
    insta::assert_snapshot!("messages", format!("{body:#}"));
}

#[tokio::test]
async fn a_small_request_has_nothing_that_is_not_needed() {
    let hello = vec![Arc::new(Message::User { parts: vec![Part::text("hello")] })];
    let request = Request { model: "m".into(), messages: hello, ..Request::default() };
    let nothing = Arc::new(Message::Assistant { parts: Vec::new() });
    let messages = request.messages.iter().cloned().chain([nothing]).collect();
    let request = Request { messages, ..request };
    let (_, body) = sent("ollama", request.clone()).await;
    assert_eq!(
        body,
        json!({"model": "m", "messages": [{"role": "user", "content": "hello"}], "stream": true, "stream_options": {"include_usage": true}})
    );
    let (_, body) = sent("anthropic", request).await;
    assert_eq!(
        body,
        json!({"model": "m", "max_tokens": 8192, "messages": [{"role": "user", "content": "hello"}], "stream": true, "cache_control": {"type": "ephemeral"}})
    );
}

#[tokio::test]
async fn a_cache_for_an_hour_is_asked_for_in_every_place() {
    let hello = vec![Arc::new(Message::User { parts: vec![Part::text("hello")] })];
    let request =
        Request { model: "m".into(), system: "Be brief.".into(), messages: hello, ..Request::default() };
    let connection = Connection { cache_ttl: CacheTtl::OneHour, ..Connection::default() };
    let (_, body) = sent_by("anthropic", request, connection).await;
    let control = json!({"type": "ephemeral", "ttl": "1h"});
    assert_eq!((&body["cache_control"], &body["system"][0]["cache_control"]), (&control, &control));
}

/// The vendors' own schemas lie outside of this repository; the snapshots above hold without them.
#[tokio::test]
async fn requests_fit_the_schemas_of_the_vendors() {
    let Some(folder) = haft_testing::conformance("schemas") else { return };
    for (name, file) in [("openai", "openai-chat-request"), ("anthropic", "anthropic-messages-request")] {
        let schema = std::fs::read_to_string(folder.join(format!("{file}.schema.json"))).unwrap();
        let schema = Schema::new(serde_json::from_str(&schema).unwrap());
        let (_, body) = sent(name, conversation()).await;
        let wrong = schema.problems(&body).unwrap();
        assert!(wrong.is_empty(), "{name}: {wrong:?}");
    }
}

#[tokio::test]
async fn a_server_can_be_found_and_asked_for_its_models() {
    let (url, _seen, tasks) = serve().await;
    let url = format!("{url}/v1");
    let settings = Connection { base_url: Some(url.clone()), ..Connection::default() };
    for name in ["ollama", "anthropic"] {
        assert_eq!(list_models(vendor(name).unwrap(), &settings).await.unwrap(), ["a", "b"]);
    }
    assert!(is_listening(&url).await);
    assert!(!is_listening(&format!("{url}/elsewhere")).await);
    drop(tasks);
    assert!(!is_listening("http://127.0.0.1:1/v1").await);
}

#[tokio::test]
async fn what_was_recorded_is_said_again() {
    let (url, _seen, _tasks) = serve().await;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("cassette");
    let settings = Connection {
        base_url: Some(format!("{url}/v1")),
        key: Some(Key::new("sk-secret")),
        record: Some(Record::create(&path).unwrap()),
        ..Connection::default()
    };
    let live: Vec<_> = connect(vendor("openai").unwrap(), settings).stream(conversation()).collect().await;
    let cassette = std::fs::read_to_string(&path).unwrap();
    assert!(!cassette.contains("sk-secret") && cassette.contains("Be kind."), "{cassette}");
    let replay = Replay::open(&path).unwrap();
    let again: Vec<_> = replay.stream(Request::default()).collect().await;
    let plain = |deltas: Vec<Result<haft_core::Delta, _>>| {
        deltas.into_iter().map(|delta| delta.unwrap()).collect::<Vec<_>>()
    };
    assert_eq!(plain(live), plain(again));
    let over = replay.stream(Request::default()).next().await.unwrap().unwrap_err();
    assert_eq!(over.to_string(), "the cassette rejected the request: it has only 1 exchanges");
    std::fs::write(&path, "{}").unwrap();
    assert!(Replay::open(&path).err().unwrap().to_string().starts_with("line 1 of the cassette: "));
}
