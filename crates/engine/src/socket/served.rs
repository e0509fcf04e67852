//! [`Served`]: serves a session to users at other machines.
use super::{
    connection::{Client, Owned, receive},
    remote::{Link, RemoteClients},
};
use crate::{
    journal::Journal,
    session::{Session, mailbox::SessionMessage, responder::Answering},
};
use haft_call::Permission;
use haft_core::Stage;
use std::sync::Arc;
use tokio::sync::mpsc;

/// A session that is served to users at other machines. It does not keep the session open.
pub struct Served {
    pub(super) journal: Journal,
    pub(super) mailbox: mpsc::WeakUnboundedSender<SessionMessage>,
    pub(super) permission: Permission,
    pub(super) stage: Arc<dyn Stage>,
    pub(super) user: Option<String>,
    /// Counts its users as listeners that may answer; `None` for a session of another machine.
    pub(super) answering: Option<Arc<Answering>>,
}

impl Served {
    /// Serves `session` to users at other machines. Their commands are recorded for `user`, if the server has users.
    pub fn of(session: &Session, user: Option<String>) -> Self {
        Self {
            journal: session.journal.clone(),
            mailbox: session.mailbox.downgrade(),
            permission: session.permission.clone(),
            stage: session.stage.clone(),
            user,
            answering: Some(session.responder.clone()),
        }
    }

    /// Serves the user at the other end of `link`, whom the caller has authorized, until the user disconnects or the
    /// session closes. `is_at_rest`: no turn runs.
    ///
    /// The user has the rights of a local client that a user has started. In addition, the user may choose any mode up
    /// to the session's most permissive one, and accept lines for the notes of the workspace. The user cannot make
    /// calls or add folders.
    pub async fn serve(&self, link: Link, clients: &RemoteClients, is_at_rest: bool) {
        let _listener = self.answering.as_ref().map(|answering| answering.listen());
        let owned = Owned { journal: &self.journal, mailbox: &self.mailbox, permission: &self.permission };
        let client = Client::Person { clients, stage: &*self.stage, is_at_rest, user: self.user.as_deref() };
        receive(link, Ok(client), owned).await;
    }
}
