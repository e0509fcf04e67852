//! [`Context`]: what handlers share, and the routes below `/v1` that are Haft's own.
pub(crate) mod attach;
pub(crate) mod body;
pub(crate) mod closed_sets;
pub(crate) mod commands;
pub(crate) mod completions;
pub(crate) mod jobs;
pub(crate) mod lists;
pub(crate) mod outbox;
pub(crate) mod pages;
pub(crate) mod push;
pub(crate) mod report;
pub(crate) mod review;
pub(crate) mod sessions;
pub(crate) mod typed;
pub(crate) mod undo;
pub(crate) mod uploads;
pub(crate) mod verify;
pub(crate) mod watch;

use crate::{
    conversations::Conversations,
    crew::Crew,
    error::{Answer, ApiError},
    hub::Hub,
    push::Push,
    readiness::Readiness,
    users::{SignedIn, User, needed},
};
use axum::{
    extract::{FromRef, FromRequestParts, MatchedPath},
    http::request::Parts,
};
use completions::FileLists;
use haft_app::config::serve::Permission;
use std::sync::Arc;
use uploads::Uploads;
use verify::Verifications;

/// What handlers work with. A handler that takes a [`Context`] is reached only by users whose role allows its route,
/// and its hub has only the sessions that the user may see.
#[derive(Clone)]
pub(crate) struct Context {
    pub(crate) hub: Hub,
    pub(crate) crew: Crew,
    pub(crate) push: Push,
    pub(crate) uploads: Arc<Uploads>,
    pub(crate) files: Arc<FileLists>,
    pub(crate) conversations: Conversations,
    pub(crate) readiness: Arc<Readiness>,
    pub(crate) verifications: Arc<Verifications>,
}

impl FromRequestParts<Self> for Context {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &Self) -> Answer<Self> {
        let Some(signed_in) = parts.extensions.get::<SignedIn>() else { return Ok(state.clone()) };
        let route = parts.extensions.get::<MatchedPath>().map_or("", MatchedPath::as_str);
        let context = Self { hub: state.hub.seen_by(signed_in.clone()), ..state.clone() };
        context.require(needed(parts.method.as_str(), route))?;
        Ok(context)
    }
}

impl Context {
    pub(crate) fn new(hub: Hub, crew: Crew, push: Push, readiness: Arc<Readiness>) -> Self {
        let (uploads, files, conversations, verifications) = Default::default();
        Self { hub, crew, push, uploads, files, conversations, readiness, verifications }
    }

    /// Fails if the user of the request lacks this permission.
    pub(crate) fn require(&self, what: Permission) -> Answer<()> {
        match self.hub.user().filter(|user| !user.role.may(what)).map(Arc::as_ref) {
            None => Ok(()),
            Some(User { name, role, .. }) => {
                let message = format!("`{name}` has the role `{}`, which may not {}", role.name, what.name());
                Err(ApiError::forbidden(message)
                    .suggest("ask the person who runs the server for another role"))
            }
        }
    }
}

impl FromRef<Context> for Arc<Readiness> {
    fn from_ref(context: &Context) -> Self {
        context.readiness.clone()
    }
}
