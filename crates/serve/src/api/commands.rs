//! Prompts, answers and commands that clients send to a session.
use super::{
    Context,
    body::{Body, Id, IdAndCall},
    report::{Report, unrecorded},
    sessions::{opened, resting},
    watch::pending,
};
use crate::{
    error::{Answer, ApiError, ErrorBody},
    requests::{Key, Keyed},
};
use axum::{
    Json,
    http::StatusCode,
    response::{IntoResponse, Response},
};
use haft_app::pdf::with_text;
use haft_core::{
    AcceptedFile, Answer as Said, CallId, Channel, Command, Entry, Fact, Part, Seq, changed,
    picture::from_base64, waiting_prompts,
};
use haft_engine::Session;
use haft_present::{file_diff::FileDiff, proposal::proposed_text};
use serde::{Deserialize, Serialize};
use std::{collections::HashSet, slice, sync::Arc, time::Duration};
use tokio::time::timeout;
use utoipa::ToSchema;

/// How long a request that answers a call waits until the answer is recorded.
const RECORD_TIMEOUT: Duration = Duration::from_secs(10);

/// A prompt: `text`, `parts`, or both
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PromptRequest {
    /// Text of the prompt
    text: Option<String>,
    /// Texts, pictures and PDFs
    #[serde(default)]
    parts: Vec<PromptPart>,
    /// Respond at the end of the turn, with its result
    #[serde(default)]
    wait: bool,
}

/// A part of a prompt
#[derive(Debug, Deserialize, ToSchema)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum PromptPart {
    /// A text
    Text {
        /// Usually Markdown
        text: String,
    },
    /// A picture
    Image {
        /// `image/png`, `image/jpeg`, `image/gif` or `image/webp`
        mime: String,
        /// Base64
        data: String,
    },
    /// A picture or a PDF that was uploaded before
    Upload {
        /// ID that `POST /v1/uploads` returned
        id: String,
    },
}

/// An accepted command
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Accepted {
    /// Session ID
    session: String,
    /// First entry of the result: follow `events?from=`
    from: u64,
}

/// Send a prompt: starts a turn, or steers the running one
#[utoipa::path(post, path = "/v1/sessions/{id}/prompt", tag = "sessions", request_body = PromptRequest,
    params(("id" = String, Path, description = "ID of a session")),
    responses((status = ACCEPTED, body = Accepted), (status = OK, body = Report, description = "with `wait`"), (status = "4XX", body = ErrorBody)))]
pub(crate) async fn prompt(
    context: Context,
    Id(id): Id,
    Key(key): Key,
    Body(said): Body<PromptRequest>,
) -> Answer<Response> {
    let words = said.text.map(|text| Ok(Part::text(text)));
    let pieces = said.parts.into_iter().map(|piece| part(&context, piece));
    let parts = words.into_iter().chain(pieces).collect::<Answer<Vec<Part>>>()?;
    let is_empty = |part: &Part| matches!(part, Part::Text { text } if text.trim().is_empty());
    if parts.iter().all(is_empty) {
        return Err(ApiError::wrong("the prompt is empty").suggest("say what to do in `text`"));
    }
    let session = opened(&context, &id).await?;
    if let Some(key) = key.as_ref().filter(|key| key.is_repeated)
        && let Some(&Seq(from)) = said_before(&context, &session.entries(), key).first()
    {
        let taken = Accepted { session: session.id().0.clone(), from };
        return Ok(match said.wait {
            true => Json(Report::since(&session, from)).into_response(),
            false => (StatusCode::ACCEPTED, Json(taken)).into_response(),
        });
    }
    let command = Command::Prompt { parts, channel: channel(context.hub.user_name(), key.as_ref()) };
    give(&session, readable(&context, &id, command).await?, said.wait).await
}

/// The command with the text of each PDF in its place, where the model of the session takes no documents.
async fn readable(context: &Context, id: &str, command: Command) -> Answer<Command> {
    let Command::Prompt { parts, .. } = &command else { return Ok(command) };
    if !parts.iter().any(|part| matches!(part, Part::Document(_))) {
        return Ok(command);
    }
    match context.hub.engine_of(id).await?.setup().model.documents {
        true => Ok(command),
        false => Ok(with_text(command)?),
    }
}

/// The channel of a prompt: its user, and its key. A request that finds its key in a journal does not say it again.
pub(crate) fn channel(user: Option<&str>, key: Option<&Keyed>) -> Option<Channel> {
    let messages = key.map(|key| key.name.clone()).into_iter().collect();
    (user.is_some() || key.is_some())
        .then(|| Channel { messages, ..Channel::new("http", user.unwrap_or_default()) })
}

/// The entries of prompts with this key, whose answer was not kept because of a crash, or which had no effect.
pub(crate) fn said_before(context: &Context, entries: &[Arc<Entry>], key: &Keyed) -> Vec<Seq> {
    let own = channel(context.hub.user_name(), Some(key));
    let said = entries.iter().filter(|entry| match &entry.fact {
        Fact::Prompted { channel, .. }
        | Fact::PromptQueued { channel, .. }
        | Fact::PromptDenied { channel, .. } => channel.as_ref() == own.as_ref(),
        _ => false,
    });
    said.map(|entry| entry.seq).collect()
}

fn part(context: &Context, piece: PromptPart) -> Answer<Part> {
    match piece {
        PromptPart::Text { text } => Ok(Part::text(text)),
        PromptPart::Upload { id } => context.uploads.find(&id),
        PromptPart::Image { mime, data } => {
            let image = from_base64(data)
                .map_err(|why| ApiError::wrong(format!("cannot take a picture of the prompt: {why}")))?;
            match image.mime == mime {
                true => Ok(Part::Image(image)),
                false => Err(ApiError::wrong(format!(
                    "a picture of the prompt is `{}`, not `{}`",
                    image.mime,
                    mime.escape_debug()
                ))),
            }
        }
    }
}

/// Gives a command to a session. Responds once a prompt is recorded or an answer has reached its call; with `wait`,
/// when the command is done, with its report.
async fn give(session: &Session, command: Command, wait: bool) -> Answer<Response> {
    let from = haft_present::cursor::next(session).0;
    let is_heard_first = matches!(
        command,
        Command::Prompt { .. }
            | Command::WithdrawPrompt
            | Command::Answer { .. }
            | Command::AnswerInPart { .. }
            | Command::Reply { .. }
    );
    let mut turn = session.start(command);
    if !wait {
        if is_heard_first {
            turn.recorded().await;
        }
        if let Some(why) = turn.refusal() {
            return Err(unrecorded(session).unwrap_or_else(|| ApiError::conflict(why)));
        }
        let taken = Accepted { session: session.id().0.clone(), from };
        return Ok((StatusCode::ACCEPTED, Json(taken)).into_response());
    }
    let report = turn.report().await;
    unrecorded(session).map_or_else(|| Ok(Json(Report::of(session, &report)).into_response()), Err)
}

/// Answer to a call that needs an approval
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ApprovalAnswer {
    /// Decision
    pub(crate) answer: ApprovalDecision,
    /// What to do instead: sent to the model with a refusal
    pub(crate) because: Option<String>,
    /// The parts of the changes that are accepted, with `once`; all of them if left out. The model is told what was not
    pub(crate) accepted: Option<Vec<AcceptedPart>>,
}

impl ApprovalAnswer {
    /// Refuses what says two things.
    pub(crate) fn check(&self) -> Answer<()> {
        if self.because.is_some() && self.answer != ApprovalDecision::No {
            return Err(ApiError::wrong("`because` goes with the answer `no` only"));
        }
        match &self.accepted {
            Some(_) if self.answer != ApprovalDecision::Once => {
                Err(ApiError::wrong("`accepted` goes with the answer `once` only"))
            }
            Some(parts) if parts.is_empty() => {
                Err(ApiError::wrong("`accepted` names no part").suggest("the answer `no` accepts nothing"))
            }
            _ => Ok(()),
        }
    }
}

/// A file of which a change is accepted, or some of its hunks
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct AcceptedPart {
    /// File, as `files` of the approval names it
    path: String,
    /// Accepted hunks of the file, counted from 0 as in `files`; the whole change if left out
    hunks: Option<Vec<usize>>,
    /// Text to write in place of the proposed one, without `hunks`; the model is told the difference
    text: Option<String>,
}

impl AcceptedPart {
    /// The part of the file of this very name, which is not looked for.
    pub(crate) fn named(self) -> AcceptedFile {
        AcceptedFile { path: self.path.into(), hunks: self.hunks, text: self.text }
    }
}

/// Answer to a call that needs an approval, with the ID of the call
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct AnswerRequest {
    /// ID of the call, from `approval_asked`
    pub(crate) call: String,
    /// Decision
    pub(crate) answer: ApprovalDecision,
    /// What to do instead: sent to the model with a refusal
    pub(crate) because: Option<String>,
}

impl AnswerRequest {
    pub(crate) fn split(self) -> (String, ApprovalAnswer) {
        (self.call, ApprovalAnswer { answer: self.answer, because: self.because, accepted: None })
    }
}

/// Decision about a call
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ApprovalDecision {
    /// Allow this call
    Once,
    /// Allow this call, and such effects for the rest of the session
    Always,
    /// Refuse
    No,
}

impl From<ApprovalDecision> for Said {
    fn from(allowed: ApprovalDecision) -> Self {
        match allowed {
            ApprovalDecision::Once => Self::Once,
            ApprovalDecision::Always => Self::Always,
            ApprovalDecision::No => Self::No,
        }
    }
}

/// Answer a call that needs an approval
#[utoipa::path(post, path = "/v1/sessions/{id}/approvals/{call}", tag = "sessions", request_body = ApprovalAnswer,
    params(("id" = String, Path, description = "ID of a session"),
           ("call" = String, Path, description = "ID of the call, as `approval_asked` names it")),
    responses((status = ACCEPTED, body = Accepted), (status = "4XX", body = ErrorBody)))]
pub(crate) async fn approve(
    context: Context,
    IdAndCall(id, call): IdAndCall,
    Body(given): Body<ApprovalAnswer>,
) -> Answer<Response> {
    approved(&context, &id, &call, given).await
}

/// Answer a call that needs an approval. Deprecated: use `approvals/{call}`
#[utoipa::path(post, path = "/v1/sessions/{id}/answer", tag = "sessions", request_body = AnswerRequest,
    params(("id" = String, Path, description = "ID of a session")),
    responses((status = ACCEPTED, body = Accepted), (status = "4XX", body = ErrorBody)))]
#[deprecated = "`approvals/{call}` takes its place"]
pub(crate) async fn answer(
    context: Context,
    Id(id): Id,
    Body(given): Body<AnswerRequest>,
) -> Answer<Response> {
    let (call, given) = given.split();
    approved(&context, &id, &call, given).await
}

async fn approved(context: &Context, id: &str, call: &str, given: ApprovalAnswer) -> Answer<Response> {
    given.check()?;
    let (session, call, asked) = asking(context, id, call, "an approval").await?;
    let answer = Said::from(given.answer);
    let by = context.hub.user_name().map(str::to_owned);
    if !session.may_allow() && answer != Said::No {
        return Err(ApiError::conflict("the process that has the session open takes no approval from here")
            .suggest("answer there"));
    }
    let command = match given.accepted {
        Some(parts) => {
            let accepted = accepted_of(&session, &call, parts)?;
            Command::AnswerInPart { call: call.clone(), accepted, by }
        }
        None => Command::Answer { call: call.clone(), answer, by, because: given.because },
    };
    give_answer(&session, command, (&call, asked)).await
}

/// Gives an answer to what `call` asked in the entry `asked`, and waits until that is recorded: no crash loses it then.
async fn give_answer(session: &Session, command: Command, (call, asked): (&CallId, Seq)) -> Answer<Response> {
    let given = give(session, command, false).await?;
    let _the_disk_is_slow = timeout(RECORD_TIMEOUT, session.settled(call, asked)).await;
    Ok(given)
}

/// The named parts of what `call` would do to files, after checking that they exist.
fn accepted_of(session: &Session, call: &CallId, parts: Vec<AcceptedPart>) -> Answer<haft_core::Accepted> {
    let asked = pending(&session.entries()).into_iter().find(|(asked, _)| asked == call);
    let changes =
        asked.map(|(_, entry)| changed::squash(changed::changes_in(&entry.fact))).unwrap_or_default();
    let mut paths = HashSet::new();
    if let Some(twice) = parts.iter().find(|part| !paths.insert(part.path.as_str())) {
        let message = format!("`accepted` names `{}` twice", twice.path.escape_debug());
        return Err(ApiError::wrong(message).suggest("name each file once, with all of its `hunks`"));
    }
    let files = parts.into_iter().map(|AcceptedPart { path, hunks, text }| {
        // The client knows files by the names that it was shown.
        let mut named = changes.iter().filter(|change| FileDiff::name_of(change) == path);
        let (Some(change), None) = (named.next(), named.next()) else {
            let message = format!("the call changes no file `{}`", path.escape_debug());
            return Err(ApiError::wrong(message).suggest("`files` of the approval names them"));
        };
        if text.is_some() && (hunks.is_some() || proposed_text(session, change).is_none()) {
            let message = format!("the text of `{}` cannot be replaced", path.escape_debug());
            return Err(ApiError::wrong(message).suggest("`text` goes without `hunks`, for files of `texts`"));
        }
        let count: usize =
            FileDiff::all(session, slice::from_ref(change)).iter().map(|file| file.hunks.len()).sum();
        if let Some(hunk) = hunks.iter().flatten().find(|hunk| **hunk >= count) {
            let message = format!("the change of `{}` has no hunk {hunk}", path.escape_debug());
            return Err(ApiError::wrong(message).suggest(format!("it has {count}, counted from 0")));
        }
        Ok(AcceptedFile { path: change.path.clone(), hunks, text })
    });
    Ok(haft_core::Accepted { files: files.collect::<Answer<_>>()? })
}

/// Answer to a question
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct QuestionAnswer {
    /// Answer; `null` to skip the question
    pub(crate) answer: Option<String>,
}

/// Answer to a question, with the ID of the call
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ReplyRequest {
    /// ID of the call, from `question_asked`
    pub(crate) call: String,
    /// Answer; `null` to skip the question
    pub(crate) answer: Option<String>,
}

/// Answer the question of a call
#[utoipa::path(post, path = "/v1/sessions/{id}/questions/{call}", tag = "sessions", request_body = QuestionAnswer,
    params(("id" = String, Path, description = "ID of a session"),
           ("call" = String, Path, description = "ID of the call, as `question_asked` names it")),
    responses((status = ACCEPTED, body = Accepted), (status = "4XX", body = ErrorBody)))]
pub(crate) async fn reply_to(
    context: Context,
    IdAndCall(id, call): IdAndCall,
    Body(given): Body<QuestionAnswer>,
) -> Answer<Response> {
    replied(&context, &id, &call, given.answer).await
}

/// Answer the question of a call. Deprecated: use `questions/{call}`
#[utoipa::path(post, path = "/v1/sessions/{id}/reply", tag = "sessions", request_body = ReplyRequest,
    params(("id" = String, Path, description = "ID of a session")),
    responses((status = ACCEPTED, body = Accepted), (status = "4XX", body = ErrorBody)))]
#[deprecated = "`questions/{call}` takes its place"]
pub(crate) async fn reply(context: Context, Id(id): Id, Body(told): Body<ReplyRequest>) -> Answer<Response> {
    replied(&context, &id, &told.call, told.answer).await
}

async fn replied(context: &Context, id: &str, call: &str, answer: Option<String>) -> Answer<Response> {
    let (session, call, asked) = asking(context, id, call, "an answer").await?;
    let by = context.hub.user_name().map(str::to_owned);
    give_answer(&session, Command::Reply { call: call.clone(), answer, by }, (&call, asked)).await
}

/// The session, the call in it that waits for a person, and the entry in which it asks.
async fn asking(context: &Context, id: &str, call: &str, what: &str) -> Answer<(Session, CallId, Seq)> {
    let known = context.hub.find(id)?;
    let call = CallId(call.to_owned());
    let asking = |session: Session| {
        let asked = pending(&session.entries()).into_iter().find(|(asked, _)| *asked == call);
        asked.map(|(_, entry)| (session, entry.seq))
    };
    match context.hub.live(&known.id).and_then(asking) {
        Some((session, asked)) => {
            context.hub.check_mode(&session)?;
            Ok((session, call, asked))
        }
        None => Err(ApiError::conflict(format!("no call `{}` waits for {what}", call.0.escape_debug()))
            .suggest(
                "`GET /v1/sessions/{id}/asked` names those that do; it may have been answered elsewhere",
            )),
    }
}

/// Interrupt the running turn
#[utoipa::path(post, path = "/v1/sessions/{id}/interrupt", tag = "sessions",
    params(("id" = String, Path, description = "ID of a session")),
    responses((status = ACCEPTED, body = Accepted), (status = "4XX", body = ErrorBody)))]
pub(crate) async fn interrupt(context: Context, Id(id): Id) -> Answer<Response> {
    let known = context.hub.find(&id)?;
    match context.hub.live(&known.id) {
        Some(session) => give(&session, Command::Interrupt, false).await,
        None => Err(ApiError::conflict("nothing goes on in the session")),
    }
}

/// Take back the prompt that was sent last and that no request has read
#[utoipa::path(post, path = "/v1/sessions/{id}/withdraw", tag = "sessions",
    params(("id" = String, Path, description = "ID of a session")),
    responses((status = ACCEPTED, body = Accepted), (status = "4XX", body = ErrorBody)))]
pub(crate) async fn withdraw(context: Context, Id(id): Id) -> Answer<Response> {
    let known = context.hub.find(&id)?;
    let nothing = || ApiError::conflict("no prompt waits in the session");
    let session = context.hub.live(&known.id).ok_or_else(nothing)?;
    let entries = session.entries();
    let last = waiting_prompts(entries.iter().map(AsRef::as_ref)).pop().ok_or_else(nothing)?;
    let by = match &last {
        Fact::Prompted { channel: Some(channel), .. } => Some(channel.chat.as_str()),
        _ => None,
    };
    if context.hub.user_name().is_some_and(|user| by != Some(user)) {
        return Err(ApiError::forbidden("the prompt that waits is of another user"));
    }
    give(&session, Command::WithdrawPrompt, false).await
}

/// Whether to wait for the result
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct WaitRequest {
    /// Respond at the end of the turn, with its result
    #[serde(default)]
    wait: bool,
}

/// Continue an unfinished turn
#[utoipa::path(post, path = "/v1/sessions/{id}/continue", operation_id = "continue", tag = "sessions", request_body = WaitRequest,
    params(("id" = String, Path, description = "ID of a session")),
    responses((status = ACCEPTED, body = Accepted), (status = OK, body = Report, description = "with `wait`"), (status = "4XX", body = ErrorBody)))]
pub(crate) async fn go_on(
    context: Context,
    Id(id): Id,
    Body(WaitRequest { wait }): Body<WaitRequest>,
) -> Answer<Response> {
    let session = resting(&context, &id).await?;
    let command = haft_core::go_on(&session.entries());
    give(&session, command, wait).await
}

/// Summarize the beginning of the conversation, to free context
#[utoipa::path(post, path = "/v1/sessions/{id}/compact", tag = "sessions", request_body = WaitRequest,
    params(("id" = String, Path, description = "ID of a session")),
    responses((status = ACCEPTED, body = Accepted), (status = OK, body = Report, description = "with `wait`"), (status = "4XX", body = ErrorBody)))]
pub(crate) async fn compact(
    context: Context,
    Id(id): Id,
    Body(WaitRequest { wait }): Body<WaitRequest>,
) -> Answer<Response> {
    let session = resting(&context, &id).await?;
    give(&session, Command::Compact, wait).await
}
