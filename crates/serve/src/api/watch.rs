//! Follows a session, and shows what it asks for and what it changed.
use super::{
    Context,
    body::{Asked, Id, blocking},
};
use crate::{
    error::{Answer, ApiError, ErrorBody},
    follow::{self, Followed, Message, View},
    timeline::{TimelineUpdate, updates},
};
use axum::{Json, extract::State, http::HeaderMap, response::Response};
use futures::{StreamExt, stream};
use haft_core::{Asking, CallId, Change, Entry, Fact, Seq, changed};
use haft_engine::Recorded;
use haft_present::{
    file_diff::{DiffLine, FileDiff},
    proposal::Proposal,
};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use utoipa::{IntoParams, ToSchema};

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct From {
    /// The first entry wanted [default: 0]; the header `Last-Event-ID` is stronger
    from: Option<u64>,
    /// What the events are [default: journal]
    #[serde(default)]
    #[param(inline)]
    view: View,
}

/// Follow a session, as server-sent events
///
/// Each event is a line of `--output stream-json`; what is recorded has its `seq` as the event's ID. The stream goes on until
/// the client leaves. One that reads too slowly is closed, and goes on with `Last-Event-ID`.
#[utoipa::path(get, path = "/v1/sessions/{id}/events", operation_id = "session_events", tag = "sessions",
    params(From, ("id" = String, Path, description = "ID of a session"), ("Last-Event-ID" = Option<u64>, Header, description = "The last entry that was read")),
    responses((status = OK, body = String, content_type = "text/event-stream"), (status = "4XX", body = ErrorBody)))]
pub(crate) async fn events(
    State(context): State<Context>,
    Id(id): Id,
    Asked(From { from, view }): Asked<From>,
    headers: HeaderMap,
) -> Answer<Response> {
    let known = context.hub.find(&id)?;
    let from = follow::from(&headers, from).0;
    let told = view.of(from, |from| follow::session(context.hub.clone(), known, Seq(from)));
    Ok(follow::counted(context.hub.figures(), told.map(Message::alone)))
}

/// Hear which sessions begin, work, ask and rest
///
/// Each event is `{"session":ID,"state":STATE}`; no state says that the session is gone, no session that some events were
/// missed. With `follow`, the same stream brings what happens in these sessions: each event of the one at the place N of the
/// list, from 0, is `{"follow":N,"event":EVENT}`, or once `{"follow":N,"error":ERROR}`. So one connection is enough for many.
#[utoipa::path(get, path = "/v1/events", operation_id = "all_events", tag = "sessions", params(Followed),
    responses((status = OK, body = String, content_type = "text/event-stream"), (status = "4XX", body = ErrorBody)))]
pub(crate) async fn all(
    State(context): State<Context>,
    Asked(followed): Asked<Followed>,
) -> Answer<Response> {
    let hub = &context.hub;
    let follow = |(id, from): (String, u64)| match hub.find(&id) {
        Ok(known) => followed.view.of(from, |from| follow::session(hub.clone(), known, Seq(from))),
        Err(error) => stream::iter([Message::Refused(error)]).boxed(),
    };
    let streams = followed.sessions()?.into_iter().map(follow).collect();
    let told = stream::select(follow::all(hub.clone()), follow::together(streams));
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
    State(context): State<Context>,
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

/// What a person is asked.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Waiting {
    /// The call
    call: String,
    /// The entry that asked
    seq: u64,
    /// Of an approval
    #[serde(skip_serializing_if = "Option::is_none")]
    approval: Option<ToApprove>,
    /// Of a question: the words, and the answers to choose from
    #[serde(skip_serializing_if = "Option::is_none")]
    question: Option<serde_json::Value>,
}

/// What a call would do.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ToApprove {
    /// The tool
    tool: String,
    /// The question in one line: `Edit src/calc.py?`
    sentence: String,
    /// What `always` would cover
    always: String,
    /// Why it asks, where that is more than that it needs an approval
    why: Option<String>,
    /// What it would do, and what it is called with, whole
    whole: String,
    /// What it would do to files
    files: Vec<FileLines>,
    /// What it would do below folders that Git ignores, which no undo takes back: a line for each of them
    bulk: Vec<String>,
}

/// What a change does to one file.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct FileLines {
    path: String,
    /// `created`, `modified` or `deleted`
    kind: String,
    /// Of its permissions
    #[serde(skip_serializing_if = "Option::is_none")]
    mode: Option<String>,
    /// Why there are no lines
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
    /// Neighboring lines
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

/// A line before the change, after it, or both.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Line {
    /// Its number before
    old: Option<usize>,
    /// Its number after
    new: Option<usize>,
    /// Its text; those parts that differ from the line that it replaces are marked
    #[schema(value_type = Vec<Vec<serde_json::Value>>)]
    parts: Vec<(bool, String)>,
}

/// Show what a session asks a person
#[utoipa::path(get, path = "/v1/sessions/{id}/asked", operation_id = "list_asked", tag = "sessions",
    params(("id" = String, Path, description = "ID of a session")),
    responses((status = OK, body = Vec<Waiting>), (status = "4XX", body = ErrorBody)))]
pub(crate) async fn asked(State(context): State<Context>, Id(id): Id) -> Answer<Json<Vec<Waiting>>> {
    let known = context.hub.find(&id)?;
    let Some(session) = context.hub.live(&known.id) else { return Ok(Json(Vec::new())) };
    let waiting = blocking(move || Ok(waiting(&session)));
    waiting.await.map(Json)
}

/// What people are asked in a session.
pub(crate) fn waiting(session: &dyn Recorded) -> Vec<Waiting> {
    pending(&session.entries()).into_iter().map(|(call, entry)| told(session, call, &entry)).collect()
}

fn told(session: &dyn Recorded, call: CallId, entry: &Entry) -> Waiting {
    let question = match &entry.fact {
        Fact::QuestionAsked { question, .. } => serde_json::to_value(question).ok(),
        _ => None,
    };
    let approval = Proposal::of(session, &entry.fact).map(|proposal| {
        let files = files(session, changed::changes_in(&entry.fact));
        ToApprove {
            sentence: proposal.sentence.question.clone(),
            always: proposal.always.clone(),
            why: proposal.why.clone(),
            whole: proposal.whole(""),
            bulk: proposal.bulk().to_vec(),
            tool: proposal.tool,
            files,
        }
    });
    Waiting { call: call.0, seq: entry.seq.0, approval, question }
}

/// What changes do to files, line by line.
pub(crate) fn files(session: &dyn Recorded, changes: &[Change]) -> Vec<FileLines> {
    let changes = changed::squash(changes);
    FileDiff::all(session, &changes).into_iter().map(FileLines::from).collect()
}

impl std::convert::From<FileDiff> for FileLines {
    fn from(FileDiff { path, kind, properties, note, hunks }: FileDiff) -> Self {
        let kind = serde_json::to_value(kind).ok().and_then(|kind| kind.as_str().map(str::to_owned));
        let line = |DiffLine { old, new, parts }: DiffLine| Line { old, new, parts };
        let hunks = hunks.into_iter().map(|hunk| hunk.into_iter().map(line).collect()).collect();
        Self { path, kind: kind.unwrap_or_default(), mode: properties, note, hunks }
    }
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct Which {
    /// The entry: one of type `staged`, `approval_asked`, `changed_below` or `rewound`
    pub(crate) seq: u64,
}

/// Show what an entry does to files, line by line
#[utoipa::path(get, path = "/v1/sessions/{id}/diff", operation_id = "entry_diff", tag = "sessions",
    params(Which, ("id" = String, Path, description = "ID of a session")),
    responses((status = OK, body = Vec<FileLines>), (status = "4XX", body = ErrorBody)))]
pub(crate) async fn diff(
    State(context): State<Context>,
    Id(id): Id,
    Asked(Which { seq }): Asked<Which>,
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
