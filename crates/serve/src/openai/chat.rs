//! [`completions`] (`POST /v1/chat/completions`): answers in the form of chat completions.
use super::{
    messages::{Said, no_tools},
    teller::{Teller, Told},
    turn::{Attended, begun_before, last_end, prepare, report_since, turn_since},
};
use crate::{
    access_log::OfSession,
    api::{Context, body::Body, commands::channel, report::Report},
    error::{Answer, ApiError, ErrorBody},
    follow::{HEARTBEAT, beat, response},
    requests::Key,
};
use async_stream::stream;
use axum::{
    Extension, Json,
    response::{IntoResponse, Response},
};
use bytes::Bytes;
use haft_core::{Event, Outcome, Seq, Usage};
use haft_engine::{Session, TurnReport};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::time::SystemTime;
use tokio::time::timeout;
use utoipa::ToSchema;

/// What a client asks for. Sampling settings of OpenAI's are taken and change nothing: the agent's own hold. What would
/// change the form of the reply is refused by name.
#[derive(Debug, Deserialize, ToSchema)]
pub(crate) struct ChatRequest {
    /// An agent, or `PROVIDER/MODEL`
    model: String,
    /// The whole conversation, as OpenAI writes it
    messages: Vec<Value>,
    /// Tell the reply piece by piece
    #[serde(default)]
    stream: bool,
    /// `{"include_usage": true}`: tell at the end of a stream what it took
    stream_options: Option<Value>,
    /// More than one reply cannot be had
    n: Option<u32>,
    /// The agent calls its own tools: this must be empty
    tools: Option<Value>,
    /// `{"approvals": "wait"}`: what needs an approval waits for a person at the page; else it is refused
    metadata: Option<Value>,
    /// What else stands in the request
    #[serde(flatten)]
    #[schema(ignore)]
    other: Map<String, Value>,
}

/// Talk to an agent as to a model
#[utoipa::path(post, path = "/v1/chat/completions", operation_id = "create_chat_completion", tag = "openai", request_body = ChatRequest,
    responses((status = OK, description = "As OpenAI answers, with what the agent did in `haft`", body = Object), (status = "4XX", body = ErrorBody)))]
pub(crate) async fn completions(
    context: Context,
    Key(key): Key,
    Body(asked): Body<ChatRequest>,
) -> Answer<Response> {
    refuse_what_cannot_be(&asked)?;
    let said = Said::read(&asked.messages, None)?;
    let known = said.before_key().and_then(|key| context.conversations.find(context.hub.user_name(), key));
    let with_usage = asked.stream_options.is_some_and(|options| options["include_usage"] == true);
    let talk = |session: &Session, Seq(from), said| {
        let id = format!("chatcmpl-{}-{from}", session.id());
        Talk { id, created: now(), model: asked.model.clone(), said, context: context.clone() }
    };
    if let Some((session, from)) = begun_before(&context, key.as_ref(), known.as_ref()).await {
        let of = Extension(OfSession(session.id().clone()));
        let answer = talk(&session, from, said).again(&session, from, asked.stream.then_some(with_usage))?;
        return Ok((of, answer).into_response());
    }
    let channel = channel(context.hub.user_name(), key.as_ref());
    let prepared = prepare(&context, &asked.model, &said, known, key).await?;
    let turn = Attended::begin(prepared, channel, waits(asked.metadata.as_ref()));
    let of = Extension(OfSession(turn.session.id().clone()));
    let talk = talk(&turn.session, haft_present::cursor::next(&turn.session), said);
    let answer = match asked.stream {
        false => talk.whole(turn).await?,
        true => talk.streamed(turn, with_usage),
    };
    Ok((of, answer).into_response())
}

fn refuse_what_cannot_be(asked: &ChatRequest) -> Answer<()> {
    if asked.n.is_some_and(|n| n != 1) {
        return Err(ApiError::wrong("there is one reply to a prompt").suggest("leave `n` out"));
    }
    refuse_form(&asked.other)?;
    refuse_tools(asked.tools.as_ref())
}

/// Fields of both endpoints that would change what a reply is, with the values that change nothing.
const FORM: [(&str, &[&str]); 15] = [
    ("audio", &[]),
    ("background", &["false"]),
    ("conversation", &[]),
    ("function_call", &[r#""auto""#, r#""none""#]),
    ("functions", &["[]"]),
    ("include", &["[]"]),
    ("logit_bias", &["{}"]),
    ("logprobs", &["false"]),
    ("modalities", &[r#"["text"]"#]),
    ("prompt", &[]),
    ("response_format", &[r#"{"type":"text"}"#]),
    ("stop", &["[]"]),
    ("tool_choice", &[r#""auto""#, r#""none""#]),
    ("top_logprobs", &["0"]),
    ("web_search_options", &[]),
];

/// A client that is not told would take the reply for what it asked for.
pub(super) fn refuse_form(other: &Map<String, Value>) -> Answer<()> {
    for (name, harmless) in FORM {
        let given = other.get(name).filter(|given| !given.is_null());
        if given.is_some_and(|given| !harmless.contains(&given.to_string().as_str())) {
            return Err(ApiError::wrong(format!("`{name}` is not supported here"))
                .suggest(format!("leave `{name}` out; the reply is plain text of the agent")));
        }
    }
    Ok(())
}

/// Refuses a request with tools; an empty list is accepted.
pub(super) fn refuse_tools(tools: Option<&Value>) -> Answer<()> {
    match tools {
        None | Some(Value::Null) => Ok(()),
        Some(Value::Array(tools)) if tools.is_empty() => Ok(()),
        Some(_) => Err(no_tools()),
    }
}

/// Whether people at the page are waited for.
pub(super) fn waits(metadata: Option<&Value>) -> bool {
    metadata.is_some_and(|metadata| metadata["approvals"] == "wait")
}

/// In seconds since 1970-01-01 UTC.
pub(super) fn now() -> u64 {
    SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default().as_secs()
}

/// A reply that a person or the server broke off is no whole one, and the protocol has no word for that.
fn not_interrupted(report: TurnReport) -> Answer<TurnReport> {
    match report.outcome {
        Some(Outcome::Interrupted) => {
            Err(ApiError::conflict("the turn was interrupted before its end").never_again())
        }
        _ => Ok(report),
    }
}

/// Ends a stream.
const DONE: &[u8] = b"data: [DONE]\n\n";

/// The events of a turn so far.
#[derive(Default)]
struct Heard {
    teller: Teller,
    thoughts: String,
    calls: Vec<Value>,
}

impl Heard {
    fn hear(&mut self, event: &Event) {
        for told in self.teller.tell(event) {
            match &told {
                Told::Thinking(text) => self.thoughts += text,
                Told::Began { .. } | Told::Ended { .. } => self.calls.extend(call(&told)),
                Told::Text(_) => {}
            }
        }
    }
}

/// A reply in the making.
struct Talk {
    id: String,
    created: u64,
    model: String,
    said: Said,
    context: Context,
}

impl Talk {
    async fn whole(self, mut turn: Attended) -> Answer<Response> {
        let mut heard = Heard::default();
        while let Some(event) = turn.next().await {
            heard.hear(&event);
        }
        let report = not_interrupted(turn.report().await?)?;
        Ok(self.answer(&turn.session, heard, &report))
    }

    /// The answer to a request that was begun before a crash; `stream`: as a stream, with or without what it took.
    fn again(self, session: &Session, from: Seq, stream: Option<bool>) -> Answer<Response> {
        let report = not_interrupted(report_since(session, from)?)?;
        let mut heard = Heard::default();
        for entry in turn_since(session, from) {
            heard.hear(&Event::Recorded(entry));
        }
        let Some(with_usage) = stream else { return Ok(self.answer(session, heard, &report)) };
        self.remember(session, &heard.teller.text);
        let mut chunks =
            vec![self.chunk(json!({"role": "assistant", "content": heard.teller.text}), None, None)];
        chunks.push(self.chunk(json!({}), Some(finish(&report)), Some(came_to(session, &report).into())));
        chunks.extend(with_usage.then(|| self.taken(&report)));
        chunks.push(Bytes::from_static(DONE));
        Ok(response(futures::stream::iter(chunks)))
    }

    fn answer(&self, session: &Session, heard: Heard, report: &TurnReport) -> Response {
        let Heard { teller, thoughts, calls } = heard;
        self.remember(session, &teller.text);
        let mut message = json!({"role": "assistant", "content": teller.text, "refusal": null});
        if !thoughts.is_empty() {
            message["reasoning_content"] = thoughts.into();
        }
        let mut haft = came_to(session, report);
        haft.insert("calls".into(), calls.into());
        let whole = json!({
            "id": self.id, "object": "chat.completion", "created": self.created, "model": self.model,
            "choices": [{"index": 0, "message": message, "logprobs": null, "finish_reason": finish(report)}],
            "usage": usage(report.usage), "haft": haft,
        });
        Json(whole).into_response()
    }

    fn streamed(self, mut turn: Attended, with_usage: bool) -> Response {
        response(stream! {
            let mut teller = Teller::default();
            yield self.chunk(json!({"role": "assistant", "content": ""}), None, None);
            loop {
                let event = match timeout(HEARTBEAT, turn.next()).await {
                    Ok(Some(event)) => event,
                    Ok(None) => break,
                    Err(_) => {
                        yield beat();
                        continue;
                    }
                };
                for told in teller.tell(&event) {
                    yield self.piece(&told);
                }
            }
            match turn.report().await.and_then(not_interrupted) {
                Err(error) => yield data(&serde_json::to_value(error.body()).unwrap_or_default()),
                Ok(report) => {
                    self.remember(&turn.session, &teller.text);
                    let haft = Value::Object(came_to(&turn.session, &report));
                    yield self.chunk(json!({}), Some(finish(&report)), Some(haft));
                    if with_usage {
                        yield self.taken(&report);
                    }
                }
            }
            yield Bytes::from_static(DONE);
        })
    }

    fn piece(&self, told: &Told) -> Bytes {
        match told {
            Told::Text(text) => self.chunk(json!({"content": text}), None, None),
            Told::Thinking(text) => self.chunk(json!({"reasoning_content": text}), None, None),
            Told::Began { name, arguments, .. } => {
                // Chat clients show it where they show what a model thinks.
                let line = format!("\n▸ {name} {}\n", haft_present::preview::summary(arguments));
                self.chunk(
                    json!({"reasoning_content": line}),
                    None,
                    call(told).map(|call| json!({"event": call})),
                )
            }
            Told::Ended { .. } => self.chunk(json!({}), None, call(told).map(|call| json!({"event": call}))),
        }
    }

    fn chunk(&self, delta: Value, finish: Option<&str>, haft: Option<Value>) -> Bytes {
        let mut chunk = json!({
            "id": self.id, "object": "chat.completion.chunk", "created": self.created, "model": self.model,
            "choices": [{"index": 0, "delta": delta, "logprobs": null, "finish_reason": finish}],
        });
        if let Some(haft) = haft {
            chunk["haft"] = haft;
        }
        data(&chunk)
    }

    fn taken(&self, report: &TurnReport) -> Bytes {
        data(&json!({
            "id": self.id, "object": "chat.completion.chunk", "created": self.created, "model": self.model,
            "choices": [], "usage": usage(report.usage),
        }))
    }

    /// The client sends all of it again with the next prompt.
    fn remember(&self, session: &Session, reply: &str) {
        if let Some(end) = last_end(&session.entries()) {
            let (key, id) = (self.said.after_key(reply), session.id().clone());
            self.context.conversations.add(self.context.hub.user_name(), key, id, end);
        }
    }
}

pub(super) fn data(value: &Value) -> Bytes {
    Bytes::from(format!("data: {value}\n\n"))
}

/// A call of the agent, as it begins or as it ended.
pub(super) fn call(told: &Told) -> Option<Value> {
    match told {
        Told::Began { call, name, arguments } => {
            Some(json!({"type": "tool_started", "call": call, "name": name, "arguments": arguments}))
        }
        Told::Ended { call, name, result } => Some(json!({
            "type": "tool_ended", "call": call, "name": name, "ok": result.is_ok(), "content": result.content,
        })),
        Told::Text(_) | Told::Thinking(_) => None,
    }
}

/// What the turn came to, as `--output json` prints it, without the text.
pub(super) fn came_to(session: &Session, report: &TurnReport) -> Map<String, Value> {
    let report = serde_json::to_value(Report::of(session, report)).unwrap_or_default();
    let Value::Object(mut fields) = report else { return Map::new() };
    fields.remove("text");
    fields.remove("usage");
    fields
}

fn finish(report: &TurnReport) -> &'static str {
    match report.outcome {
        Some(Outcome::RoundLimit | Outcome::Budget) => "length",
        Some(Outcome::Finished) if report.is_cut_off => "length",
        _ => "stop",
    }
}

fn usage(usage: Usage) -> Value {
    let read = usage.input + usage.cache_read + usage.cache_write;
    json!({
        "prompt_tokens": read, "completion_tokens": usage.output, "total_tokens": read + usage.output,
        "prompt_tokens_details": {"cached_tokens": usage.cache_read},
    })
}
