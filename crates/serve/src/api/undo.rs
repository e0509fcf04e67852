//! UndoRequest and redo of files and conversations.
use super::{
    Context,
    body::{Body, Id},
    commands::resting,
    report::FileChange,
};
use crate::error::{Answer, ApiError, ErrorBody};
use axum::{Json, extract::State};
use futures::StreamExt;
use haft_core::{Command, Direction, Event, Fact, Seq, active_path, changed, undo as plan};
use haft_engine::Session;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// How far to go back [default: the last turn]
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct UndoRequest {
    /// Last entry to keep
    to: Option<u64>,
    /// Number of calls that changed files to undo
    calls: Option<usize>,
    /// Only report what would be restored
    #[serde(default)]
    dry_run: bool,
}

/// Files that an undo or a redo changed
#[derive(Debug, Default, Serialize, ToSchema)]
pub(crate) struct RestoredFiles {
    /// Changed files
    changes: Vec<FileChange>,
    /// Files that were changed elsewhere meanwhile, and left alone
    conflicts: Vec<String>,
    /// Number of calls whose changes were not recorded, and remain
    untracked: usize,
}

/// Undo turns: restores files and the conversation
#[utoipa::path(post, path = "/v1/sessions/{id}/undo", tag = "sessions", request_body = UndoRequest,
    params(("id" = String, Path, description = "ID of a session")),
    responses((status = OK, body = RestoredFiles), (status = "4XX", body = ErrorBody)))]
pub(crate) async fn undo(
    State(context): State<Context>,
    Id(id): Id,
    Body(undo): Body<UndoRequest>,
) -> Answer<Json<RestoredFiles>> {
    let session = resting(&context, &id).await?;
    let entries = session.entries();
    let to = match (undo.to.map(Seq), undo.calls) {
        (Some(to), _) if !active_path(&entries).iter().any(|entry| entry.seq == to) => {
            return Err(ApiError::wrong(format!("there is no entry {to} to go back to"))
                .suggest("`export` shows them: `seq` of those that were not undone"));
        }
        (Some(to), _) => Some(to),
        (None, Some(calls)) => plan::before_last_calls(&entries, calls),
        (None, None) => plan::before_last_turn(&entries),
    };
    let to = to.ok_or_else(|| ApiError::conflict("there is nothing to undo"))?;
    if undo.dry_run {
        let plan = plan::back_to(&entries, to);
        let changes = changed::squash(&plan.changes).iter().map(FileChange::from).collect();
        return Ok(Json(RestoredFiles {
            changes,
            untracked: plan.untracked.len(),
            ..RestoredFiles::default()
        }));
    }
    moved(&session, Command::Rewind { to }, Direction::Undo).await.map(Json)
}

/// Redo what the last undo took back
#[utoipa::path(post, path = "/v1/sessions/{id}/redo", tag = "sessions",
    params(("id" = String, Path, description = "ID of a session")),
    responses((status = OK, body = RestoredFiles), (status = "4XX", body = ErrorBody)))]
pub(crate) async fn redo(State(context): State<Context>, Id(id): Id) -> Answer<Json<RestoredFiles>> {
    let session = resting(&context, &id).await?;
    if plan::last_undo(&session.entries()).is_none() {
        return Err(ApiError::conflict("there is nothing to redo"));
    }
    moved(&session, Command::Redo, Direction::Redo).await.map(Json)
}

async fn moved(session: &Session, command: Command, wanted: Direction) -> Answer<RestoredFiles> {
    let mut turn = session.start(command);
    while let Some(event) = turn.next().await {
        let Event::Recorded(entry) = event else { continue };
        if let Fact::Rewound { way, changes, conflicts, untracked, .. } = &entry.fact
            && *way == wanted
        {
            let done = changed::squash(changes);
            let done = done.iter().filter(|change| !conflicts.contains(&change.path));
            return Ok(RestoredFiles {
                changes: done.map(FileChange::from).collect(),
                conflicts: conflicts.iter().map(|path| path.display().to_string()).collect(),
                untracked: untracked.len(),
            });
        }
    }
    let why = turn.report().await.error;
    Err(ApiError::failed(why.unwrap_or_else(|| "there was nothing to put back any more".into())))
}
