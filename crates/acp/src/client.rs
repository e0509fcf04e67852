//! [`Editor`]: sends updates and questions to the editor.
use super::{
    sdk::{
        Client, ConnectionTo, ErrorCode, FileSystemCapabilities, ReadTextFileRequest,
        RequestPermissionOutcome, RequestPermissionRequest, SessionNotification, SessionUpdate,
        WriteTextFileRequest,
    },
    wire::Flow,
};
use futures::{FutureExt, future::BoxFuture};
use std::{path::Path, sync::Arc};

/// An editor. Cheap to clone.
#[derive(Clone)]
pub(super) struct Editor {
    pub(super) connection: ConnectionTo<Client>,
    pub(super) flow: Arc<Flow>,
    /// The editor's capabilities for files.
    pub(super) files: FileSystemCapabilities,
}

/// The user's answer.
pub(super) enum Picked {
    /// The option with this ID.
    Option(String),
    /// The editor canceled the prompt, so the turn stops.
    Cancelled,
    /// The editor cannot ask questions.
    NoAnswer,
    /// An unknown option, or an error.
    NotUnderstood(String),
}

/// Why the editor did not show a file.
#[derive(Clone)]
pub(super) enum Unread {
    /// The file does not exist in the editor.
    NotFound,
    /// The editor's error message. The file may contain text nevertheless.
    Failed(String),
}

impl From<String> for Unread {
    fn from(why: String) -> Self {
        Self::Failed(why)
    }
}

impl Editor {
    /// Sends an update about `session`, even if the queue is full.
    pub(super) fn tell(&self, session: &str, update: SessionUpdate) {
        self.flow.sent();
        let told = SessionNotification::new(session.to_owned(), update);
        if self.connection.send_notification(told).is_err() {
            // The editor has disconnected, so the update is not written.
            self.flow.is_written();
        }
    }

    /// Asks the user. Dropping the future withdraws the question.
    pub(super) fn ask(&self, request: RequestPermissionRequest) -> BoxFuture<'static, Picked> {
        let (sent, connection) = (self.connection.send_request(request), self.connection.clone());
        Box::pin(async move {
            match sent.block_task().await.map(|response| response.outcome) {
                Ok(RequestPermissionOutcome::Selected(chosen)) => {
                    Picked::Option(chosen.option_id.to_string())
                }
                Ok(_) => Picked::Cancelled,
                Err(error) => {
                    let has_left = connection.incoming_closed().now_or_never().is_some();
                    match has_left || error.code == ErrorCode::METHOD_NOT_FOUND {
                        true => Picked::NoAnswer,
                        false => Picked::NotUnderstood(error.to_string()),
                    }
                }
            }
        })
    }

    /// The text of a file in the editor.
    pub(super) async fn read(&self, session: &str, file: &Path) -> Result<String, Unread> {
        let request = ReadTextFileRequest::new(session.to_owned(), file);
        let answered = self.connection.send_request(request).block_task().await;
        answered.map(|answer| answer.content).map_err(|error| match error.code {
            ErrorCode::RESOURCE_NOT_FOUND => Unread::NotFound,
            _ => Unread::Failed(error.to_string()),
        })
    }

    /// Replaces the text of a file in the editor, and saves it.
    pub(super) async fn write(&self, session: &str, file: &Path, text: &str) -> Result<(), String> {
        let request = WriteTextFileRequest::new(session.to_owned(), file, text);
        let answered = self.connection.send_request(request).block_task().await;
        answered.map(|_| ()).map_err(|error| error.to_string())
    }
}
