//! The changes of a session as a whole: shown, committed, and published.
use super::{
    Context,
    body::{Body, Id, blocking},
    sessions::{may_act, resting},
    watch::{FileLines, files},
};
use crate::{
    error::{Answer, ApiError, ErrorBody},
    requests::{Key, Keyed, begin},
};
use axum::Json;
use haft_app::{committable, untracked};
use haft_core::{Change, Changed, Command, Entry, Fact, Seq, ToolResult, active_path, changed::paths};
use haft_engine::Session;
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::{collections::HashSet, path::PathBuf, sync::Arc};
use utoipa::ToSchema;

/// Show what became of each file since the session began, line by line
#[utoipa::path(get, path = "/v1/sessions/{id}/changes", operation_id = "session_changes", tag = "sessions",
    params(("id" = String, Path, description = "ID of a session")),
    responses((status = OK, body = Vec<FileLines>), (status = "4XX", body = ErrorBody)))]
pub(crate) async fn changes(context: Context, Id(id): Id) -> Answer<Json<Vec<FileLines>>> {
    let session = context.hub.open(&id).await?;
    let files = blocking(move || Ok(files(&session, &changed_in(&session.entries()))));
    files.await.map(Json)
}

/// What became of each file, but for what was undone.
fn changed_in(entries: &[Arc<Entry>]) -> Vec<Change> {
    Changed::of(active_path(entries).iter().map(|entry| &entry.fact)).whole()
}

/// What to commit
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CommitRequest {
    /// Message; its first line is the title
    message: String,
    /// Files, relative to the workspace [default: those that the session changed]
    #[serde(default)]
    #[schema(value_type = Vec<String>)]
    paths: Vec<PathBuf>,
}

/// What was committed, or published
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Committed {
    /// What git, or the tool, says of it
    text: String,
}

/// Commit what a session changed, in the repository of its workspace
///
/// The commit is the person's own: no approval is asked for. It is a call of the tool `git` in the session. Without `paths`,
/// files are left out that Git ignores or that are its own.
#[utoipa::path(post, path = "/v1/sessions/{id}/commit", tag = "sessions", request_body = CommitRequest,
    params(("id" = String, Path, description = "ID of a session")),
    responses((status = OK, body = Committed), (status = "4XX", body = ErrorBody)))]
pub(crate) async fn commit(
    context: Context,
    Id(id): Id,
    Key(key): Key,
    Body(CommitRequest { message, paths }): Body<CommitRequest>,
) -> Answer<Json<Committed>> {
    let session = resting(&context, &id).await?;
    may_act(&context, &session, "commit").await?;
    if let Some(text) = done_before(&session, key.as_ref(), "git") {
        return Ok(Json(Committed { text }));
    }
    if message.trim().is_empty() {
        return Err(ApiError::wrong("a commit needs a message").suggest("say what was changed in `message`"));
    }
    let paths = match paths.is_empty() {
        true => committable_paths(&context, &session).await?,
        false => with_untracked(&context, &session, paths).await?,
    };
    if paths.is_empty() {
        return Err(ApiError::conflict(
            "there is nothing to commit: the session changed no file that Git tracks or could add",
        )
        .suggest("`GET /v1/sessions/{id}/changes` shows the files that the session changed"));
    }
    let arguments = json!({"action": "commit", "message": message.trim(), "paths": paths});
    begin(key.as_ref(), &session).await?;
    let text = call(&session, "git", arguments, "commit").await?;
    Ok(Json(Committed { text }))
}

/// The files that the session touched and that Git can commit. Outside of a repository all of them: the call says so.
async fn committable_paths(context: &Context, session: &Session) -> Answer<Vec<PathBuf>> {
    let (paths, workspace) = (touched_paths(session), context.hub.find(&session.id().0)?.place.workspace);
    blocking(move || Ok(committable(&workspace, paths.clone()).unwrap_or(paths))).await
}

/// The paths, with each folder replaced by the files in it that Git does not track yet.
async fn with_untracked(
    context: &Context,
    session: &Session,
    mut paths: Vec<PathBuf>,
) -> Answer<Vec<PathBuf>> {
    let workspace = context.hub.find(&session.id().0)?.place.workspace;
    let more = move || {
        let folders = paths.iter().filter(|path| workspace.join(path).is_dir());
        let files = untracked(&workspace, folders.cloned().collect());
        paths.extend(files);
        Ok(paths)
    };
    blocking(more).await
}

/// Files in the workspace that the session touched, without those whose changes were undone. A file that ended as it
/// began without an undo is included: it may have been committed in between.
fn touched_paths(session: &Session) -> Vec<PathBuf> {
    let entries = session.entries();
    let path = active_path(&entries);
    let changed = Changed::of(path.iter().map(|entry| &entry.fact));
    let undone = path.iter().filter_map(|entry| match &entry.fact {
        Fact::Rewound { changes, calls, .. } if !calls.is_empty() => Some(changes),
        _ => None,
    });
    let (whole, undone) = (paths(&changed.whole()), undone.flat_map(|changes| paths(changes)));
    let (whole, undone): (HashSet<PathBuf>, HashSet<PathBuf>) =
        (whole.into_iter().collect(), undone.collect());
    let touched = changed.steps().map(|change| &change.path).filter(|path| path.is_relative());
    let touched = touched.filter(|path| whole.contains(*path) || !undone.contains(*path));
    let mut seen = HashSet::new();
    touched.filter(|path| seen.insert(path.as_path())).cloned().collect()
}

/// What to publish
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PullRequest {
    /// Title of the commit and of the pull request
    title: String,
    /// What changed and why
    #[serde(default)]
    description: Option<String>,
    /// Branch to make first [default: the current one]
    #[serde(default)]
    branch: Option<String>,
}

/// Commit what a session changed, push the branch and open a pull request
///
/// The person's own, like a commit. It is a call of the tool `publish` in the session; without a repository of GitHub, or a
/// way to sign in there, `text` says what was done without.
#[utoipa::path(post, path = "/v1/sessions/{id}/pull-request", tag = "sessions", request_body = PullRequest,
    params(("id" = String, Path, description = "ID of a session")),
    responses((status = OK, body = Committed), (status = "4XX", body = ErrorBody)))]
pub(crate) async fn pull_request(
    context: Context,
    Id(id): Id,
    Key(key): Key,
    Body(PullRequest { title, description, branch }): Body<PullRequest>,
) -> Answer<Json<Committed>> {
    let session = resting(&context, &id).await?;
    may_act(&context, &session, "publish").await?;
    if let Some(text) = done_before(&session, key.as_ref(), "publish") {
        return Ok(Json(Committed { text }));
    }
    let touched = touched_paths(&session);
    if title.trim().is_empty() || touched.is_empty() {
        return Err(ApiError::wrong("a pull request needs a title and a changed file")
            .suggest("`GET /v1/sessions/{id}/changes` shows the files that the session changed"));
    }
    let paths = committable_paths(&context, &session).await?;
    // Without paths the tool commits all that was changed. What cannot be committed it leaves out if no other is named.
    let paths = if paths.is_empty() { touched } else { paths };
    let mut arguments = json!({"title": title.trim(), "paths": paths});
    for (name, value) in [("description", description), ("branch", branch)] {
        if let Some(value) = value.filter(|value| !value.trim().is_empty()) {
            arguments[name] = value.trim().into();
        }
    }
    begin(key.as_ref(), &session).await?;
    let text = call(&session, "publish", arguments, "publish").await?;
    Ok(Json(Committed { text }))
}

/// Makes a call that the person has asked for, and returns what came of it. `what`: what fails if it fails.
async fn call(session: &Session, name: &str, arguments: serde_json::Value, what: &str) -> Answer<String> {
    let from = haft_present::cursor::next(session);
    session.start(Command::TypedCall { name: name.to_owned(), arguments }).report().await;
    let entries = session.entries_since(Seq(from.0));
    match result_of(&entries, name) {
        Some(result) if result.error.is_none() => Ok(result.content.clone()),
        Some(result) => Err(ApiError::conflict(format!("cannot {what}: {}", result.content))),
        None => Err(ApiError::conflict(format!("cannot {what}: the call was interrupted"))),
    }
}

/// What came of the last call of this tool that a client made. Calls that a crash cut off have results here as well.
fn result_of<'a>(entries: &'a [Arc<Entry>], name: &str) -> Option<&'a ToolResult> {
    let made = entries.iter().rev().find_map(|entry| match &entry.fact {
        Fact::Called { made } if made.name == name => Some(&made.id),
        _ => None,
    })?;
    entries.iter().find_map(|entry| match &entry.fact {
        Fact::ToolEnded { call, result, .. } if call == made => Some(result),
        _ => None,
    })
}

/// What an earlier attempt of the request did, whose answer a crash prevented.
fn done_before(session: &Session, key: Option<&Keyed>, name: &str) -> Option<String> {
    let entries = session.entries();
    let (_, since) = key?.earlier(&entries)?;
    let result = result_of(since, name)?;
    result.error.is_none().then(|| result.content.clone())
}
