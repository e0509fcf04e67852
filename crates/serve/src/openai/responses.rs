//! [`create`] (`POST /v1/responses`): answers in the form of responses. A call of the agent is an item of the kind
//! `mcp_call`: one that ran on the server.
mod items;

use super::{
    chat::{came_to, now, refuse_form, refuse_tools, waits},
    messages::Said,
    teller::Teller,
    turn::{Attended, begun_before, end_of, prepare, report_since, turn_since},
};
use crate::{
    access_log::OfSession,
    api::{
        Context,
        body::{Body, Id, blocking},
        commands::channel,
    },
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
use haft_core::{Event, Fact, Outcome, Seq, SessionId, SessionSetup, Usage};
use haft_engine::{Session, TurnReport};
use items::Items;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use tokio::time::timeout;
use utoipa::ToSchema;

/// What a client asks for. Sampling settings of OpenAI's are taken and change nothing: the agent's own hold. What would
/// change the form of the reply is refused by name.
#[derive(Debug, Deserialize, ToSchema)]
pub(crate) struct ResponseRequest {
    /// An agent, or `PROVIDER/MODEL`
    model: String,
    /// A text, or items as OpenAI writes them
    input: Value,
    /// What the agent should keep to in this conversation
    instructions: Option<String>,
    /// Go on where this response ended
    previous_response_id: Option<String>,
    /// Tell it piece by piece
    #[serde(default)]
    stream: bool,
    /// The agent calls its own tools: this must be empty
    tools: Option<Value>,
    /// `{"approvals": "wait"}`: what needs an approval waits for a person at the page; else it is refused
    metadata: Option<Value>,
    /// What else stands in the request
    #[serde(flatten)]
    #[schema(ignore)]
    other: Map<String, Value>,
}

/// Talk to an agent, with its calls as items
#[utoipa::path(post, path = "/v1/responses", operation_id = "create_response", tag = "openai", request_body = ResponseRequest,
    responses((status = OK, description = "As OpenAI answers, with what the turn came to in `haft`", body = Object), (status = "4XX", body = ErrorBody)))]
pub(crate) async fn create(
    context: Context,
    Key(key): Key,
    Body(asked): Body<ResponseRequest>,
) -> Answer<Response> {
    refuse_tools(asked.tools.as_ref())?;
    refuse_form(&asked.other)?;
    let format = asked.other.get("text").map_or(&Value::Null, |text| &text["format"]);
    if !format.is_null() && format["type"] != "text" {
        return Err(ApiError::wrong("`text.format` is not supported here").suggest("leave it out"));
    }
    let items = match &asked.input {
        Value::String(text) => vec![json!({"role": "user", "content": text})],
        Value::Array(items) => items.clone(),
        _ => return Err(ApiError::wrong("`input` is neither a text nor a list of items")),
    };
    let said = Said::read(&items, asked.instructions.clone())?;
    let known = asked.previous_response_id.as_deref().map(|id| earlier(&context, id)).transpose()?;
    if let Some((session, from)) = begun_before(&context, key.as_ref(), known.as_ref()).await {
        let of = Extension(OfSession(session.id().clone()));
        let talk = Talk { id: id_of(&session, from), created: now(), asked };
        return Ok((of, talk.again(&session, from)?).into_response());
    }
    let channel = channel(context.hub.user_name(), key.as_ref());
    let prepared = prepare(&context, &asked.model, &said, known, key).await?;
    let turn = Attended::begin(prepared, channel, waits(asked.metadata.as_ref()));
    let of = Extension(OfSession(turn.session.id().clone()));
    let id = id_of(&turn.session, haft_present::cursor::next(&turn.session));
    let talk = Talk { id, created: now(), asked };
    let answer = match talk.asked.stream {
        false => talk.whole(turn).await?,
        true => talk.streamed(turn),
    };
    Ok((of, answer).into_response())
}

/// Show a response that was made before
///
/// It is made of what is recorded, so that it is there after the server was started anew, too.
#[utoipa::path(get, path = "/v1/responses/{id}", operation_id = "show_response", tag = "openai",
    params(("id" = String, Path, description = "ID of a response")),
    responses((status = OK, description = "As OpenAI answers", body = Object), (status = "4XX", body = ErrorBody)))]
pub(crate) async fn retrieve(context: Context, Id(id): Id) -> Answer<Json<Value>> {
    blocking(move || {
        let (session, from) = place_of(&context, &id)?;
        let entries = context.hub.home().peek(&session.0)?;
        let turn = entries.iter().skip_while(|entry| entry.seq < from);
        let (mut teller, mut items, mut usage) = (Teller::default(), Items::default(), Usage::default());
        let (mut at, mut status, mut model) = (0, "in_progress", Value::Null);
        let before: Vec<_> = entries.iter().take_while(|entry| entry.seq < from).cloned().collect();
        if let Some(setup) = SessionSetup::of(&before) {
            model = setup.model.into();
        }
        for entry in turn {
            at = if at == 0 { entry.at / 1_000 } else { at };
            teller.tell(&Event::Recorded(entry.clone())).iter().for_each(|told| drop(items.tell(told)));
            if let Fact::TurnEnded { outcome, usage: taken, .. } = &entry.fact {
                (status, usage) = (how(*outcome), *taken);
                break;
            }
        }
        items.end();
        Ok(Json(json!({
            "id": id, "object": "response", "created_at": at, "status": status, "model": model,
            "output": items.all(), "error": null, "incomplete_details": null, "instructions": null,
            "metadata": {}, "parallel_tool_calls": true, "tool_choice": "auto", "tools": [], "temperature": null,
            "top_p": null, "usage": (status != "in_progress").then(|| self::usage(usage)),
            "haft": {"session": session},
        })))
    })
    .await
}

/// The session of a response, and the entry at which its turn begins.
fn place_of(context: &Context, id: &str) -> Answer<(SessionId, Seq)> {
    let missing = || ApiError::missing(format!("there is no response `{}`", id.escape_debug()));
    let (session, from) =
        id.strip_prefix("resp_").and_then(|rest| rest.rsplit_once('_')).ok_or_else(missing)?;
    let from = from.parse().map(Seq).map_err(|_| missing())?;
    let known = context.hub.find(session).map_err(|_| missing())?;
    let entries = context.hub.home().peek(&known.id.0)?;
    let is_there =
        entries.iter().any(|entry| entry.seq == from && matches!(entry.fact, Fact::Prompted { .. }));
    if is_there { Ok((known.id, from)) } else { Err(missing()) }
}

/// The session of a response, and where that one ended: its ID says both.
fn earlier(context: &Context, id: &str) -> Answer<(SessionId, Seq)> {
    let missing = || {
        ApiError::missing(format!("there is no response `{}`", id.escape_debug()))
            .suggest("leave `previous_response_id` out to begin anew")
    };
    let (session, from) =
        id.strip_prefix("resp_").and_then(|rest| rest.rsplit_once('_')).ok_or_else(missing)?;
    let from = from.parse().map(Seq).map_err(|_| missing())?;
    let known = context.hub.find(session).map_err(|_| missing())?;
    let entries = context.hub.home().peek(&known.id.0)?;
    let end = end_of(&entries, from).ok_or_else(missing)?;
    Ok((known.id, end))
}

fn id_of(session: &Session, from: Seq) -> String {
    format!("resp_{}_{}", session.id(), from.0)
}

/// A response in the making.
struct Talk {
    id: String,
    created: u64,
    asked: ResponseRequest,
}

impl Talk {
    async fn whole(self, mut turn: Attended) -> Answer<Response> {
        let (mut teller, mut items) = (Teller::default(), Items::default());
        while let Some(event) = turn.next().await {
            for told in teller.tell(&event) {
                items.tell(&told);
            }
        }
        let report = turn.report().await?;
        items.end();
        Ok(Json(self.response(&turn.session, items.all(), Some(&report))).into_response())
    }

    /// The answer to a request that was begun before a crash.
    fn again(self, session: &Session, from: Seq) -> Answer<Response> {
        let report = report_since(session, from)?;
        let (mut teller, mut items) = (Teller::default(), Items::default());
        for entry in turn_since(session, from) {
            teller.tell(&Event::Recorded(entry)).iter().for_each(|told| drop(items.tell(told)));
        }
        items.end();
        let whole = self.response(session, items.all(), Some(&report));
        if !self.asked.stream {
            return Ok(Json(whole).into_response());
        }
        let (mut count, begun) = (0, self.response(session, Vec::new(), None));
        let created = event(&mut count, json!({"type": "response.created", "response": begun}));
        let kind = format!("response.{}", status(&report));
        let ended = event(&mut count, json!({"type": kind, "response": whole}));
        Ok(response(futures::stream::iter([created, ended])))
    }

    fn streamed(self, mut turn: Attended) -> Response {
        response(stream! {
            let (mut teller, mut items, mut count) = (Teller::default(), Items::default(), 0);
            let begun = self.response(&turn.session, Vec::new(), None);
            for kind in ["response.created", "response.in_progress"] {
                yield event(&mut count, json!({"type": kind, "response": begun}));
            }
            loop {
                let happened = match timeout(HEARTBEAT, turn.next()).await {
                    Ok(Some(happened)) => happened,
                    Ok(None) => break,
                    Err(_) => {
                        yield beat();
                        continue;
                    }
                };
                for told in teller.tell(&happened) {
                    for line in items.tell(&told) {
                        yield event(&mut count, line);
                    }
                }
            }
            for line in items.end() {
                yield event(&mut count, line);
            }
            yield match turn.report().await {
                Ok(report) => {
                    let whole = self.response(&turn.session, items.all(), Some(&report));
                    let kind = format!("response.{}", status(&report));
                    event(&mut count, json!({"type": kind, "response": whole}))
                }
                Err(error) => {
                    let mut whole = self.response(&turn.session, items.all(), None);
                    let body = serde_json::to_value(error.body()).unwrap_or_default();
                    whole["status"] = "failed".into();
                    whole["error"] = json!({"code": "server_error", "message": body["error"]["message"]});
                    event(&mut count, json!({"type": "response.failed", "response": whole}))
                }
            };
        })
    }

    /// `report`: what it came to, where it has ended.
    fn response(&self, session: &Session, output: Vec<Value>, report: Option<&TurnReport>) -> Value {
        let incomplete = report.filter(|report| status(report) == "incomplete");
        json!({
            "id": self.id, "object": "response", "created_at": self.created,
            "status": report.map_or("in_progress", status), "model": self.asked.model, "output": output,
            "error": null, "incomplete_details": incomplete.map(|_| json!({"reason": "max_output_tokens"})),
            "instructions": self.asked.instructions, "metadata": self.asked.metadata.clone().unwrap_or(json!({})),
            "previous_response_id": self.asked.previous_response_id, "parallel_tool_calls": true,
            "tool_choice": "auto", "tools": [], "temperature": null, "top_p": null,
            "usage": report.map(|report| usage(report.usage)),
            "haft": report.map_or_else(|| json!({"session": session.id()}), |report| came_to(session, report).into()),
        })
    }
}

fn event(count: &mut u64, mut line: Value) -> Bytes {
    line["sequence_number"] = (*count).into();
    *count += 1;
    Bytes::from(format!("event: {}\ndata: {line}\n\n", line["type"].as_str().unwrap_or_default()))
}

fn status(report: &TurnReport) -> &'static str {
    match report.outcome {
        Some(Outcome::Finished) if report.is_cut_off => "incomplete",
        outcome => outcome.map_or("completed", how),
    }
}

fn how(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::RoundLimit | Outcome::Budget => "incomplete",
        Outcome::Failed => "failed",
        Outcome::Interrupted => "cancelled",
        Outcome::Finished
        | Outcome::Repeating
        | Outcome::Refused
        | Outcome::Unproven
        | Outcome::InvalidAnswer
        | Outcome::Stuck => "completed",
    }
}

fn usage(usage: Usage) -> Value {
    let read = usage.input + usage.cache_read + usage.cache_write;
    json!({
        "input_tokens": read, "input_tokens_details": {"cached_tokens": usage.cache_read},
        "output_tokens": usage.output, "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": read + usage.output,
    })
}
