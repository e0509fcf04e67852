//! Verification: whether a session is what was recorded, and whether its calls give the same again.
use super::{
    Context,
    body::{Body, Id},
};
use crate::{
    error::{Answer, ApiError, ErrorBody},
    hub::SessionState as Standing,
};
use axum::Json;
use haft_app::{
    Failure,
    proof::{Verification, VerifyOptions},
};
use haft_core::SessionId;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use std::{collections::HashSet, sync::Arc};
use tokio::sync::{Semaphore, oneshot};
use utoipa::ToSchema;

/// Verifications at the same time, each with a copy of a workspace; others wait.
const MAX_VERIFICATIONS: usize = 2;

/// The sessions that are being verified.
pub(crate) struct Verifications {
    sessions: Mutex<HashSet<SessionId>>,
    places: Arc<Semaphore>,
}

impl Default for Verifications {
    fn default() -> Self {
        let places = Arc::new(Semaphore::new(MAX_VERIFICATIONS));
        Self { sessions: Mutex::default(), places }
    }
}

/// The only verification of a session, until it is dropped.
struct Only {
    all: Arc<Verifications>,
    session: SessionId,
}

impl Verifications {
    fn begin(self: &Arc<Self>, session: &SessionId) -> Answer<Only> {
        match self.sessions.lock().insert(session.clone()) {
            true => Ok(Only { all: self.clone(), session: session.clone() }),
            false => Err(ApiError::conflict(format!("the session `{session}` is being verified"))
                .suggest("wait for its end")),
        }
    }
}

impl Drop for Only {
    fn drop(&mut self) {
        self.all.sessions.lock().remove(&self.session);
    }
}

/// What to verify
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct VerifyRequest {
    /// Check the journal alone, and make no call again
    #[serde(default)]
    chain_only: bool,
}

/// What a verification came to, as `haft verify --json` prints it, with words for a person
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct VerifyReport {
    /// Whether all that was checked holds
    verified: bool,
    /// Entries of the journal and of those of its subagents; 0 if one does not hold
    entries: usize,
    /// The first thing that is not as it was recorded
    difference: Option<String>,
    /// ID of the session
    session: String,
    /// The last value of its chain
    head: Option<String>,
    /// Entries before the chain began
    unchained: usize,
    /// Entries with secrets cut out
    cut: usize,
    /// Calls that were made again
    calls: usize,
    /// Number of these calls that ran tests
    tests: usize,
    /// The result for a person, a line each
    lines: Vec<String>,
}

/// Verify a session: the chain of its journal first, then each call again, in a copy of the workspace
///
/// It responds at the end, which may take as long as the calls did, and goes on if the client leaves. One verification of a
/// session runs at a time. Calls that need an approval are not made again: the error names the first.
#[utoipa::path(post, path = "/v1/sessions/{id}/verify", operation_id = "verify_session", tag = "sessions", request_body = VerifyRequest,
    params(("id" = String, Path, description = "ID of a session")),
    responses((status = OK, body = VerifyReport), (status = "4XX", body = ErrorBody)))]
pub(crate) async fn verify(
    context: Context,
    Id(id): Id,
    Body(VerifyRequest { chain_only }): Body<VerifyRequest>,
) -> Answer<Json<VerifyReport>> {
    let id = context.hub.find(&id)?.id;
    if matches!(context.hub.state(&id), Standing::Working | Standing::Asking) {
        return Err(ApiError::conflict(format!("cannot verify the session `{id}`: a turn runs in it"))
            .suggest("wait for its end, or interrupt it"));
    }
    let only = context.verifications.begin(&id)?;
    let settings = context.hub.settings();
    let permission = settings.spec.settings.permission;
    let options = VerifyOptions { chain_only, permission, ..VerifyOptions::default() };
    let (app, places, target) = (settings.app.clone(), context.verifications.places.clone(), id.0.clone());
    let (sender, done) = oneshot::channel();
    context.hub.go_on(async move {
        let place = places.acquire_owned().await;
        let found = app.verify(&target, &options).await;
        // The client may begin another one as soon as it has the result.
        drop((only, place));
        let _client_has_left = sender.send(found);
    });
    let stopped = |_| ApiError::conflict(format!("cannot verify the session `{id}`: the server stops"));
    let found = done.await.map_err(stopped)?.map_err(refused)?;
    Ok(Json(VerifyReport::of(id.0, found)))
}

/// A call that needs an approval is a matter of the session, and not of the request.
fn refused(failure: Failure) -> ApiError {
    let error = ApiError::conflict(failure.message);
    match failure.hint {
        Some(hint) => error.suggest(hint),
        None => error,
    }
}

impl VerifyReport {
    fn of(session: String, found: Verification) -> Self {
        let lines = found.lines(&session);
        let Verification { verified, entries, difference, head, unchained, cut, calls, tests, .. } = found;
        Self { verified, entries, difference, session, head, unchained, cut, calls, tests, lines }
    }
}
