//! [`SessionRegistry`]: the open sessions of an engine, so that other code than their openers can watch and steer them.
use super::{Session, mailbox::SessionMessage, remote::Remote, responder::Answering};
use crate::journal::WeakJournal;
use haft_call::{BackgroundCommands, Permission};
use haft_core::{SessionId, Stage};
use std::sync::{Arc, Mutex, MutexGuard, Weak};
use tokio::sync::mpsc::WeakUnboundedSender;

/// An entry keeps no session open: it makes handles only while other code holds one, or the last turn runs.
#[derive(Default)]
pub(crate) struct SessionRegistry(Mutex<Vec<OpenSession>>);

struct OpenSession {
    id: SessionId,
    /// Valid until the session's task has ended or, if another process has the session open, until its last handle is
    /// gone.
    mailbox: WeakUnboundedSender<SessionMessage>,
    journal: WeakJournal,
    stage: Arc<dyn Stage>,
    permission: Permission,
    may_allow: bool,
    responder: Weak<Answering>,
    remote: Option<Arc<Remote>>,
    background: Weak<BackgroundCommands>,
}

impl SessionRegistry {
    pub(crate) fn add(&self, session: &Session) {
        let mut known = self.lock();
        known.retain(|known| known.mailbox.strong_count() > 0 || known.is_ending());
        known.push(OpenSession {
            id: session.id.clone(),
            mailbox: session.mailbox.downgrade(),
            journal: session.journal.downgrade(),
            stage: session.stage.clone(),
            permission: session.permission.clone(),
            may_allow: session.may_allow,
            responder: Arc::downgrade(&session.responder),
            remote: session.remote.clone(),
            background: session.background.clone(),
        });
    }

    /// All open sessions, the oldest first.
    pub(crate) fn sessions(&self) -> Vec<Session> {
        self.lock().iter().filter_map(OpenSession::session).collect()
    }

    /// The session with this ID, if it is open and still takes commands.
    pub(crate) fn find(&self, id: &SessionId) -> Option<Session> {
        let found = self.lock().iter().filter(|known| known.id == *id).find_map(OpenSession::session);
        found.filter(|session| !session.mailbox.is_closed())
    }

    /// Whether the session with this ID is being closed.
    pub(crate) fn is_ending(&self, id: &SessionId) -> bool {
        self.lock().iter().any(|known| known.id == *id && known.is_ending())
    }

    fn lock(&self) -> MutexGuard<'_, Vec<OpenSession>> {
        self.0.lock().expect("no code panics while it holds the open sessions")
    }
}

impl OpenSession {
    fn is_ending(&self) -> bool {
        self.mailbox.strong_count() == 0 && self.background.strong_count() > 0
    }

    fn session(&self) -> Option<Session> {
        let mailbox = self.mailbox.upgrade()?;
        let (journal, stage) = (self.journal.upgrade()?, self.stage.clone());
        let (permission, may_allow) = (self.permission.clone(), self.may_allow);
        let (id, remote, background) = (self.id.clone(), self.remote.clone(), self.background.clone());
        let responder = self.responder.upgrade()?;
        Some(Session { id, mailbox, journal, stage, permission, may_allow, responder, remote, background })
    }
}
