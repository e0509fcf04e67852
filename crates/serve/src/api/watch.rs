//! Follows a session, and shows what it asks for and what it changed.
use super::{
    Context,
    body::{Asked, Id, blocking},
    closed_sets::FileChangeKind,
};
use crate::{
    error::{Answer, ApiError, ErrorBody},
    follow::{self, Followed, Message, Start, View},
    kept::KeptSession,
    timeline::{TimelineUpdate, updates},
};
use axum::{Json, http::HeaderMap, response::Response};
use futures::{StreamExt, stream};
use haft_core::{Asking, CallId, Change, Entry, Fact, Seq, changed};
use haft_engine::Recorded;
use haft_present::{
    file_diff::{DiffLine, FileDiff},
    proposal::{Proposal, proposed_text},
};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use utoipa::{IntoParams, ToSchema};

/// A longer file is not edited in a browser.
const MAX_EDITED_BYTES: usize = 256 << 10;

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct From {
    /// First entry to send [default: 0]; the header `Last-Event-ID` takes precedence
    from: Option<u64>,
    /// What the events are [default: journal]
    #[serde(default)]
    #[param(inline)]
    view: View,
}

/// Follow a session, as server-sent events
///
/// Each event is a line of `--output stream-json`; a recorded event has its `seq` as its ID. The stream continues until the
/// client disconnects. A client that reads too slowly is disconnected, and resumes with `Last-Event-ID`.
/// Where the session does not have that entry, the stream begins with an event of type `reset`, and then from entry 0.
#[utoipa::path(get, path = "/v1/sessions/{id}/events", operation_id = "session_events", tag = "sessions",
    params(From, ("id" = String, Path, description = "ID of a session"), ("Last-Event-ID" = Option<u64>, Header, description = "Last entry received")),
    responses((status = OK, body = String, content_type = "text/event-stream"), (status = "4XX", body = ErrorBody)))]
pub(crate) async fn events(
    context: Context,
    Id(id): Id,
    Asked(From { from, view }): Asked<From>,
    headers: HeaderMap,
) -> Answer<Response> {
    let known = context.hub.find(&id)?;
    let start = Start::of(&headers, from, context.hub.home().end(&known.id))?;
    let told = view.of(start.from, |from| follow::session(context.hub.clone(), known, Seq(from)));
    let told = stream::iter(start.sign()).chain(told.map(Message::alone));
    let told = told.take_until(Box::pin(context.hub.clone().until_signed_out()));
    Ok(follow::counted(context.hub.figures(), told))
}

/// Follow the state of all sessions, as server-sent events
///
/// Each event is `{"session":ID,"state":STATE}`. A `null` state means that the session was deleted; a `null` session, that
/// some events were missed. With `follow`, the stream also sends the events of these sessions, so that one connection is
/// enough: each is `{"follow":N,"event":EVENT}`, with N its place in the list, from 0, or once `{"follow":N,"error":ERROR}`.
#[utoipa::path(get, path = "/v1/events", operation_id = "all_events", tag = "sessions", params(Followed),
    responses((status = OK, body = String, content_type = "text/event-stream"), (status = "4XX", body = ErrorBody)))]
pub(crate) async fn all(context: Context, Asked(followed): Asked<Followed>) -> Answer<Response> {
    let hub = &context.hub;
    let known = |id: &str, from| {
        let known = hub.find(id)?;
        follow::check(from, hub.home().end(&known.id)).map(|_| known)
    };
    let follow = |(id, from): (String, u64)| match known(&id, from) {
        Ok(known) => followed.view.of(from, |from| follow::session(hub.clone(), known, Seq(from))),
        Err(error) => stream::iter([Message::Refused(error)]).boxed(),
    };
    let streams = followed.sessions()?.into_iter().map(follow).collect();
    let told = stream::select(follow::all(hub.clone()), follow::together(streams))
        .take_until(Box::pin(hub.clone().until_signed_out()));
    Ok(follow::counted(hub.figures(), told))
}

/// The timeline of a session.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct SessionTimeline {
    /// Updates in their order; to follow the session from here, pass `next` as `from` with `view=timeline`
    updates: Vec<TimelineUpdate>,
    /// First entry that this answer does not contain
    next: u64,
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct FromEntry {
    /// First entry to return [default: 0]
    #[serde(default)]
    from: u64,
}

/// Show the timeline of a session
///
/// The items that a front-end draws: prompts, replies, calls, notes, ends of turns. Clients that show a session can read
/// this and do without the journal.
#[utoipa::path(get, path = "/v1/sessions/{id}/timeline", operation_id = "session_timeline", tag = "sessions",
    params(FromEntry, ("id" = String, Path, description = "ID of a session")),
    responses((status = OK, body = SessionTimeline), (status = "4XX", body = ErrorBody)))]
pub(crate) async fn timeline(
    context: Context,
    Id(id): Id,
    Asked(FromEntry { from }): Asked<FromEntry>,
) -> Answer<Json<SessionTimeline>> {
    let hub = context.hub.clone();
    let known = hub.find(&id)?;
    let timeline = blocking(move || {
        let live = hub.live(&known.id);
        let entries = live.map_or_else(|| hub.home().peek(&known.id.0), |session| Ok(session.entries()))?;
        let wanted = |update: &TimelineUpdate| update.seq.is_some_and(|seq| seq >= from);
        let next = entries.last().map_or(0, |entry| entry.seq.0 + 1);
        Ok(SessionTimeline { updates: updates(&entries).filter(wanted).collect(), next })
    });
    timeline.await.map(Json)
}

/// The calls that wait for a person, the first first, with what asked.
pub(crate) fn pending(entries: &[Arc<Entry>]) -> Vec<(CallId, Arc<Entry>)> {
    let mut asking = Asking::default();
    entries.iter().for_each(|entry| asking.apply(&entry.fact));
    let asks = |call: &CallId| {
        let is_it = |entry: &&Arc<Entry>| match &entry.fact {
            Fact::ApprovalAsked { call: asked, .. } | Fact::QuestionAsked { call: asked, .. } => {
                asked == call
            }
            _ => false,
        };
        Some((call.clone(), entries.iter().rev().find(is_it)?.clone()))
    };
    asking.calls().iter().filter_map(asks).collect()
}

/// A call that waits for a person
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct PendingRequest {
    /// ID of the call
    call: String,
    /// Entry that asks
    seq: u64,
    /// What to approve, if the call needs an approval
    #[serde(skip_serializing_if = "Option::is_none")]
    approval: Option<PendingApproval>,
    /// Text and choices, if the call asks a question
    #[serde(skip_serializing_if = "Option::is_none")]
    question: Option<serde_json::Value>,
}

/// What a call would do
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct PendingApproval {
    /// Name of the tool
    tool: String,
    /// Question in one line: `Edit src/calc.py?`
    sentence: String,
    /// What `always` would cover
    always: String,
    /// Why the call asks, if there is more to say than that it needs an approval
    why: Option<String>,
    /// Full description of the call, with its arguments
    whole: String,
    /// Changes of files
    files: Vec<FileLines>,
    /// Files whose proposed text can be edited before it is accepted: `text` of an accepted part
    texts: Vec<ProposedFile>,
    /// Changes below folders that Git ignores, which undo cannot restore: one line per folder
    bulk: Vec<String>,
    /// Errors and warnings that the changes add and remove, as a language server finds them: a sum, then one line each
    diagnostics: Vec<String>,
}

/// The text that a call would give a file
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ProposedFile {
    /// File, as `files` names it
    path: String,
    /// Whole text
    text: String,
}

/// Changed lines of one file
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct FileLines {
    path: String,
    /// What happened to it
    kind: FileChangeKind,
    /// Change of its permissions
    #[serde(skip_serializing_if = "Option::is_none")]
    mode: Option<String>,
    /// Why there are no lines
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
    /// Groups of adjacent lines
    hunks: Vec<Vec<Line>>,
}

impl FileLines {
    /// Keeps `most` lines at most, and returns how many more there may be.
    pub(crate) fn clip(&mut self, most: usize) -> usize {
        let mut left = most;
        for hunk in &mut self.hunks {
            let is_cut = hunk.len() > left;
            hunk.truncate(left);
            left -= hunk.len();
            if is_cut {
                hunk.push(Line { old: None, new: None, parts: vec![(false, "the rest is left out".into())] });
            }
        }
        self.hunks.retain(|hunk| !hunk.is_empty());
        left
    }
}

/// A line before the change, after it, or both
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Line {
    /// Line number before the change
    old: Option<usize>,
    /// Line number after the change
    new: Option<usize>,
    /// Text in parts, each `[differs, text]`: whether it differs from the replaced line
    #[schema(value_type = Vec<Vec<serde_json::Value>>)]
    parts: Vec<(bool, String)>,
}

/// List the calls of a session that wait for a person
#[utoipa::path(get, path = "/v1/sessions/{id}/asked", operation_id = "list_asked", tag = "sessions",
    params(("id" = String, Path, description = "ID of a session")),
    responses((status = OK, body = Vec<PendingRequest>), (status = "4XX", body = ErrorBody)))]
pub(crate) async fn asked(context: Context, Id(id): Id) -> Answer<Json<Vec<PendingRequest>>> {
    let known = context.hub.find(&id)?;
    let hub = context.hub.clone();
    let waiting = blocking(move || match hub.live(&known.id) {
        Some(session) => Ok(waiting(&session)),
        None if hub.home().is_open(&known.id) => {
            Ok(waiting(&KeptSession::read(&hub.settings().app, &known.id)?))
        }
        None => Ok(Vec::new()),
    });
    waiting.await.map(Json)
}

/// What people are asked in a session.
pub(crate) fn waiting(session: &dyn Recorded) -> Vec<PendingRequest> {
    pending(&session.entries()).into_iter().map(|(call, entry)| told(session, call, &entry)).collect()
}

fn told(session: &dyn Recorded, call: CallId, entry: &Entry) -> PendingRequest {
    let question = match &entry.fact {
        Fact::QuestionAsked { question, .. } => serde_json::to_value(question).ok(),
        _ => None,
    };
    let approval = Proposal::of(session, &entry.fact).map(|proposal| {
        let changes = changed::changes_in(&entry.fact);
        let (files, texts) = (files(session, changes), texts(session, changes));
        PendingApproval {
            sentence: proposal.sentence.question.clone(),
            always: proposal.always.clone(),
            why: proposal.why.clone(),
            whole: proposal.whole(""),
            bulk: proposal.bulk().to_vec(),
            diagnostics: proposal.diagnostics().to_vec(),
            tool: proposal.tool,
            files,
            texts,
        }
    });
    PendingRequest { call: call.0, seq: entry.seq.0, approval, question }
}

/// The texts of files that a person can edit, but for long ones and those that hold secrets.
fn texts(session: &dyn Recorded, changes: &[Change]) -> Vec<ProposedFile> {
    let text = |change: &Change| {
        let is_shown = |text: &String| text.len() <= MAX_EDITED_BYTES && !session.secrets().are_in(text);
        let text = proposed_text(session, change).filter(is_shown)?;
        Some(ProposedFile { path: FileDiff::name_of(change), text })
    };
    changed::squash(changes).iter().filter_map(text).collect()
}

/// What changes do to files, line by line.
pub(crate) fn files(session: &dyn Recorded, changes: &[Change]) -> Vec<FileLines> {
    let changes = changed::squash(changes);
    FileDiff::all(session, &changes).into_iter().map(FileLines::from).collect()
}

impl std::convert::From<FileDiff> for FileLines {
    fn from(FileDiff { path, kind, properties, note, hunks }: FileDiff) -> Self {
        let line = |DiffLine { old, new, parts }: DiffLine| Line { old, new, parts };
        let hunks = hunks.into_iter().map(|hunk| hunk.into_iter().map(line).collect()).collect();
        Self { path, kind: kind.into(), mode: properties, note, hunks }
    }
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct DiffParams {
    /// Entry of type `staged`, `approval_asked`, `changed_below` or `rewound`
    pub(crate) seq: u64,
}

/// Show the changed lines of an entry
#[utoipa::path(get, path = "/v1/sessions/{id}/diff", operation_id = "entry_diff", tag = "sessions",
    params(DiffParams, ("id" = String, Path, description = "ID of a session")),
    responses((status = OK, body = Vec<FileLines>), (status = "4XX", body = ErrorBody)))]
pub(crate) async fn diff(
    context: Context,
    Id(id): Id,
    Asked(DiffParams { seq }): Asked<DiffParams>,
) -> Answer<Json<Vec<FileLines>>> {
    // Contents lie with the session, which knows where: it is opened for them.
    let session = context.hub.open(&id).await?;
    let files = blocking(move || {
        let entries = session.entries();
        let entry = entries.iter().find(|entry| entry.seq == Seq(seq));
        match entry {
            Some(entry) => Ok(files(&session, changed::changes_in(&entry.fact))),
            None => Err(ApiError::missing(format!("there is no entry {seq} in the session"))),
        }
    });
    files.await.map(Json)
}
