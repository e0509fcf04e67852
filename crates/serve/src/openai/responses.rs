//! `POST /v1/responses`. A call of the agent is an item of the kind `mcp_call`: one that ran on the server.
mod items;

use super::{
    chat::{came_to, now, refuse_tools, waits},
    messages::Said,
    teller::Teller,
    turn::{Attended, end_of, session},
};
use crate::{
    api::{Context, body::Body},
    error::{Answer, ApiError, ErrorBody},
    follow::{HEARTBEAT, beat, response},
};
use async_stream::stream;
use axum::{
    Json,
    extract::State,
    response::{IntoResponse, Response},
};
use bytes::Bytes;
use haft_core::{Outcome, Seq, SessionId, Usage};
use haft_engine::{Session, TurnReport};
use items::Items;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::time::timeout;
use utoipa::ToSchema;

/// What a client asks for. Other fields of OpenAI's are taken and change nothing: the agent's own settings hold.
#[derive(Debug, Deserialize, ToSchema)]
pub(crate) struct ResponseRequest {
    /// An agent, or `VENDOR/MODEL`
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
}

/// Talk to an agent, with its calls as items
#[utoipa::path(post, path = "/v1/responses", tag = "openai", request_body = ResponseRequest,
    responses((status = OK, description = "As OpenAI answers, with what the turn came to in `haft`", body = Object), (status = "4XX", body = ErrorBody)))]
pub(crate) async fn create(
    State(context): State<Context>,
    Body(asked): Body<ResponseRequest>,
) -> Answer<Response> {
    refuse_tools(asked.tools.as_ref())?;
    let items = match &asked.input {
        Value::String(text) => vec![json!({"role": "user", "content": text})],
        Value::Array(items) => items.clone(),
        _ => return Err(ApiError::wrong("`input` is neither a text nor a list of items")),
    };
    let said = Said::read(&items, asked.instructions.clone())?;
    let known = asked.previous_response_id.as_deref().map(|id| earlier(&context, id)).transpose()?;
    let (session, parts) = session(&context, &asked.model, &said, known).await?;
    let id = format!("resp_{}_{}", session.id(), haft_present::cursor::next(&session).0);
    let turn = Attended::begin(session, parts, waits(asked.metadata.as_ref()));
    let talk = Talk { id, created: now(), asked };
    match talk.asked.stream {
        false => talk.whole(turn).await,
        true => Ok(talk.streamed(turn)),
    }
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
        Some(Outcome::RoundLimit | Outcome::Budget) => "incomplete",
        _ => "completed",
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
