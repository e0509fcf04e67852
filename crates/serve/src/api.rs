//! [`Context`]: the routes below `/v1` that are Haft's own.
pub(crate) mod attach;
pub(crate) mod body;
pub(crate) mod closed_sets;
pub(crate) mod commands;
pub(crate) mod completions;
pub(crate) mod jobs;
pub(crate) mod lists;
pub(crate) mod outbox;
pub(crate) mod pages;
pub(crate) mod report;
pub(crate) mod review;
pub(crate) mod sessions;
pub(crate) mod undo;
pub(crate) mod uploads;
pub(crate) mod verify;
pub(crate) mod watch;

use crate::{conversations::Conversations, crew::Crew, hub::Hub, readiness::Readiness};
use axum::extract::FromRef;
use completions::FileLists;
use std::sync::Arc;
use uploads::Uploads;
use verify::Verifications;

/// What handlers work with.
#[derive(Clone)]
pub(crate) struct Context {
    pub(crate) hub: Hub,
    pub(crate) crew: Crew,
    pub(crate) uploads: Arc<Uploads>,
    pub(crate) files: Arc<FileLists>,
    pub(crate) conversations: Arc<Conversations>,
    pub(crate) readiness: Arc<Readiness>,
    pub(crate) verifications: Arc<Verifications>,
}

impl FromRef<Context> for Arc<Readiness> {
    fn from_ref(context: &Context) -> Self {
        context.readiness.clone()
    }
}
