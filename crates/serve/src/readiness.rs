//! [`Readiness`]: whether the server could take a prompt at this moment, for `GET /readyz`.
use axum::{
    Json,
    extract::State,
    http::StatusCode,
    response::{IntoResponse, Response},
};
use haft_fleet::{Database, FleetError};
use haft_process::write_own_file;
use serde::Serialize;
use std::{
    fs::remove_file,
    io,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};
use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;
use utoipa::ToSchema;

/// How long an answer is given again: the route needs no token, and must not let strangers load a disk or a database.
const LIFETIME: Duration = Duration::from_secs(1);
/// How long a disk or a database may take to answer.
const TIMEOUT: Duration = Duration::from_secs(2);
/// Written to find out whether the data folder takes files: more than a file system keeps beside a file's name.
const PROBE: [u8; 4096] = [b'\n'; 4096];

/// What a server needs to take a prompt.
pub(crate) enum Needs {
    /// A data folder that takes files.
    Folder(PathBuf),
    /// The database of a fleet.
    Database(Database),
}

/// Whether what a server needs is there.
pub(crate) struct Readiness {
    needs: Needs,
    draining: CancellationToken,
    /// When it was looked, and what was found.
    last: Mutex<Option<(Instant, Result<(), Reason>)>>,
}

/// Why a server takes no prompt
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Reason {
    /// The server is stopping
    Draining,
    /// The data folder takes no files
    Storage,
    /// The database of the fleet does not answer, or refuses the server
    Database,
    /// The tables of the fleet are older or newer than this program needs
    Schema,
}

impl Readiness {
    /// `draining` is cancelled when the server begins to stop.
    pub(crate) fn new(needs: Needs, draining: CancellationToken) -> Self {
        Self { needs, draining, last: Mutex::default() }
    }

    async fn check(&self) -> Result<(), Reason> {
        if self.draining.is_cancelled() {
            return Err(Reason::Draining);
        }
        let mut last = self.last.lock().await;
        if let Some((at, found)) = *last
            && at.elapsed() < LIFETIME
        {
            return found;
        }
        let found = self.needs.check().await;
        *last = Some((Instant::now(), found));
        found
    }
}

impl Needs {
    async fn check(&self) -> Result<(), Reason> {
        match self {
            Self::Folder(folder) => {
                // Two servers may share the folder.
                let file = folder.join(format!(".ready-{}", std::process::id()));
                let writing = tokio::task::spawn_blocking(move || write_once(&file));
                match tokio::time::timeout(TIMEOUT, writing).await {
                    Ok(Ok(Ok(()))) => Ok(()),
                    _ => Err(Reason::Storage),
                }
            }
            Self::Database(database) => match tokio::time::timeout(TIMEOUT, database.check()).await {
                Ok(Ok(())) => Ok(()),
                Ok(Err(FleetError::Schema(_))) => Err(Reason::Schema),
                Ok(Err(_)) | Err(_) => Err(Reason::Database),
            },
        }
    }
}

fn write_once(file: &Path) -> io::Result<()> {
    let written = write_own_file(file, PROBE);
    let _it_was_not_made = remove_file(file);
    written
}

/// Readiness check
///
/// Needs no token.
#[utoipa::path(get, path = "/readyz", tag = "server", security(()), responses(
    (status = OK, body = inline(Ready)), (status = SERVICE_UNAVAILABLE, body = inline(Ready))))]
pub(crate) async fn ready(State(readiness): State<Arc<Readiness>>) -> Response {
    match readiness.check().await {
        Ok(()) => Json(Ready { status: "ready", reason: None }).into_response(),
        Err(reason) => {
            let body = Json(Ready { status: "unready", reason: Some(reason) });
            (StatusCode::SERVICE_UNAVAILABLE, body).into_response()
        }
    }
}

#[derive(Serialize, ToSchema)]
pub(crate) struct Ready {
    status: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<Reason>,
}
