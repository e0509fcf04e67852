//! [`SessionRegistry`]: the open sessions of an engine, so that code other than their opener can follow and steer them.
use super::{Session, mailbox::SessionMessage, remote::Remote, responder::Answering};
use crate::journal::WeakJournal;
use haft_call::{BackgroundCommands, Permission};
use haft_core::{SessionId, Stage};
use std::sync::{Arc, Mutex, MutexGuard, Weak};
use tokio::sync::{mpsc::WeakUnboundedSender, watch};

/// The open sessions. An entry does not keep its session open: handles can be created only while another handle exists
/// or the last turn runs.
#[derive(Default)]
pub(crate) struct SessionRegistry(Mutex<Vec<OpenSession>>);

struct OpenSession {
    id: SessionId,
    /// Valid until the session's task has ended or, if another process has the session open, until its last handle is
    /// dropped.
    mailbox: WeakUnboundedSender<SessionMessage>,
    handles: watch::Sender<()>,
    /// Whether the task only closes the session.
    is_ending: bool,
    journal: WeakJournal,
    stage: Arc<dyn Stage>,
    permission: Permission,
    may_allow: bool,
    responder: Weak<Answering>,
    remote: Option<Arc<Remote>>,
    background: Weak<BackgroundCommands>,
}

impl SessionRegistry {
    /// Adds the session; `handles` counts its handles.
    pub(crate) fn add(&self, session: &Session, handles: watch::Sender<()>) {
        let mut known = self.lock();
        // An earlier entry of this session belongs to a process that has closed it since.
        known.retain(|known| known.mailbox.strong_count() > 0 && known.id != session.id);
        known.push(OpenSession {
            id: session.id.clone(),
            mailbox: session.mailbox.downgrade(),
            handles,
            is_ending: false,
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
        let is_it =
            |known: &OpenSession| known.id == *id && known.is_ending && known.mailbox.strong_count() > 0;
        self.lock().iter().any(is_it)
    }

    /// Allows new handles of the session with this ID again, since it continues.
    pub(crate) fn go_on(&self, id: &SessionId) {
        self.lock().iter_mut().filter(|known| known.id == *id).for_each(|known| known.is_ending = false);
    }

    /// Allows no more handles of the session with this ID, which is over.
    pub(crate) fn end(&self, id: &SessionId) {
        self.lock().iter_mut().filter(|known| known.id == *id).for_each(|known| known.is_ending = true);
    }

    /// Like [`Self::end`], if it has no handle. Returns whether it is over.
    pub(crate) fn end_unless_held(&self, id: &SessionId) -> bool {
        let mut known = self.lock();
        let is_open = |known: &&mut OpenSession| known.id == *id && !known.is_ending;
        let Some(open) = known.iter_mut().find(is_open) else { return true };
        open.is_ending = open.handles.receiver_count() == 0;
        open.is_ending
    }

    fn lock(&self) -> MutexGuard<'_, Vec<OpenSession>> {
        self.0.lock().expect("no code panics while it holds the open sessions")
    }
}

impl OpenSession {
    fn session(&self) -> Option<Session> {
        let mailbox = self.mailbox.upgrade().filter(|_| !self.is_ending)?;
        let _counted = self.handles.subscribe();
        let (journal, stage) = (self.journal.upgrade()?, self.stage.clone());
        let (permission, may_allow) = (self.permission.clone(), self.may_allow);
        let (id, remote, background) = (self.id.clone(), self.remote.clone(), self.background.clone());
        let responder = self.responder.upgrade()?;
        Some(Session {
            id,
            mailbox,
            _counted,
            journal,
            stage,
            permission,
            may_allow,
            responder,
            remote,
            background,
        })
    }
}
