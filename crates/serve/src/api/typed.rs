//! What people type in place of a prompt: commands, and prompts that were saved.
use super::{
    Context,
    body::{Body, Id},
    commands::{channel, said_before},
    completions::expanded,
    report::unrecorded,
    sessions::{may_act, opened, resting},
};
use crate::{
    error::{Answer, ApiError, ErrorBody},
    requests::{Key, Keyed, begin},
};
use axum::{
    Json,
    http::StatusCode,
    response::{IntoResponse, Response},
};
use futures::StreamExt;
use haft_app::config::serve::Permission;
use haft_core::{Command, Fact, Part};
use haft_engine::Session;
use haft_present::typed::{COMMANDS, Meant, Typed};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// What a person typed
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct TypedRequest {
    /// `/plan PROMPT`, `/goal TEXT --proof COMMAND`, `/memory`, `/undo CALL`, `/redo`, `/outbox`, `#TEXT`, or a saved prompt
    text: String,
}

/// What a typed command came to
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct TypedAnswer {
    /// Session ID
    session: String,
    /// First entry of the result: follow `events?from=`
    from: u64,
    /// For the person; `null` if there is nothing to say
    note: Option<String>,
}

/// Carry out a command that a person typed in place of a prompt
///
/// A saved prompt, `/NAME ARGUMENTS`, is sent as the text that it stands for. The other words are those of the terminal: `/plan`, `/goal`, `/memory`, `/undo`, `/redo`, `/outbox`, and `#TEXT`, which proposes a
/// line for `AGENTS.md`.
#[utoipa::path(post, path = "/v1/sessions/{id}/typed", tag = "sessions", request_body = TypedRequest,
    params(("id" = String, Path, description = "ID of a session")),
    responses((status = ACCEPTED, body = TypedAnswer), (status = "4XX", body = ErrorBody)))]
pub(crate) async fn typed(
    context: Context,
    Id(id): Id,
    Key(key): Key,
    Body(TypedRequest { text }): Body<TypedRequest>,
) -> Answer<Response> {
    let known = context.hub.find(&id)?;
    let Some(typed) = Typed::read(&text) else {
        return saved(&context, &id, key.as_ref(), &text).await;
    };
    if matches!(typed, Typed::Memory) && context.hub.user().is_some_and(|user| !user.role.sees_all()) {
        // It reads the sessions of all users of the folder.
        return Err(ApiError::forbidden("`/memory` is for users who see the sessions of all"));
    }
    let session = match typed {
        Typed::Plan(_) => opened(&context, &id).await?,
        Typed::Goal(_)
        | Typed::Memory
        | Typed::Remember(_)
        | Typed::Undo(_)
        | Typed::Redo
        | Typed::Outbox(_) => resting(&context, &id).await?,
    };
    if let Some(done) = typed_before(&context, &session, key.as_ref()) {
        return Ok(done);
    }
    let engine = context.hub.engines().get(&known.place).await?;
    let from = haft_present::cursor::next(&session).0;
    let Meant { commands, note } = typed.meant(&session, engine.setup()).map_err(ApiError::wrong)?;
    // They run something without a question.
    let is_approval = |command: &Command| {
        matches!(command, Command::SendItem { .. } | Command::TypedCall { .. } | Command::SetGoal { .. })
    };
    if commands.iter().any(is_approval) {
        context.require(Permission::Approve)?;
    }
    if commands.iter().any(|command| matches!(command, Command::SendItem { .. } | Command::DropItem { .. })) {
        may_act(&context, &session, "send or drop an item").await?;
    }
    begin(key.as_ref(), &session).await?;
    for command in commands {
        let user = context.hub.user_name();
        let command = match command {
            Command::Prompt { parts, channel: by } => {
                Command::Prompt { parts, channel: by.or_else(|| channel(user, key.as_ref())) }
            }
            command => command.signed(user),
        };
        let moves_files = matches!(command, Command::UndoCalls(_) | Command::Redo);
        let mut turn = session.start(command);
        turn.recorded().await;
        if moves_files {
            while turn.next().await.is_some() {}
        }
        if let Some(why) = turn.refusal() {
            return Err(unrecorded(&session).unwrap_or_else(|| ApiError::conflict(why)));
        }
    }
    Ok(accepted(&session, from, note))
}

/// Sends the prompt that a saved one stands for.
async fn saved(context: &Context, id: &str, key: Option<&Keyed>, text: &str) -> Answer<Response> {
    let session = opened(context, id).await?;
    let Some(prompt) = expanded(context, id, text)? else {
        let names = COMMANDS.map(|(name, ..)| format!("`/{name}`")).join(", ");
        return Err(ApiError::wrong("the text is no command").suggest(format!("send {names} or `#TEXT`")));
    };
    if let Some(done) = typed_before(context, &session, key) {
        return Ok(done);
    }
    begin(key, &session).await?;
    let from = haft_present::cursor::next(&session).0;
    let mut turn = session.start(Command::Prompt {
        parts: vec![Part::text(prompt)],
        channel: channel(context.hub.user_name(), key),
    });
    turn.recorded().await;
    if let Some(why) = turn.refusal() {
        return Err(ApiError::conflict(why));
    }
    Ok(accepted(&session, from, None))
}

/// The answer to a request whose earlier attempt did something that a typed command does, and was cut off by a crash.
fn typed_before(context: &Context, session: &Session, key: Option<&Keyed>) -> Option<Response> {
    let (entries, key) = (session.entries(), key?);
    let (_, since) = key.earlier(&entries)?;
    let is_done = |fact: &Fact| {
        matches!(
            fact,
            Fact::Called { .. }
                | Fact::GoalSet { .. }
                | Fact::ItemSending { .. }
                | Fact::ItemDropped { .. }
                | Fact::Rewinding(_)
                | Fact::Rewound { .. }
        )
    };
    let done = since.iter().find(|entry| is_done(&entry.fact)).map(|entry| entry.seq);
    let first = said_before(context, since, key).into_iter().chain(done).min()?;
    Some(accepted(session, first.0, None))
}

fn accepted(session: &Session, from: u64, note: Option<String>) -> Response {
    let answer = TypedAnswer { session: session.id().0.clone(), from, note };
    (StatusCode::ACCEPTED, Json(answer)).into_response()
}
