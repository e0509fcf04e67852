//! Lists, copies and renames sessions on another machine.
use super::app::{App, Done, RemoteDone, Request};
use haft_engine::{Remote, Session};
use haft_present::host::{OpenRequest, RemoteSessions};
use std::sync::Arc;

impl App {
    /// Lists the sessions of another machine; returns whether there is one.
    pub(super) fn list_remote(&mut self) -> bool {
        let Some(remote) = self.around.host.remote() else { return false };
        self.waiting.push(Box::pin(async move { Done::Remote(RemoteDone::Listed(remote.list().await)) }));
        true
    }

    /// Copies the session on another machine; returns whether there is one.
    pub(super) fn fork_remote(&mut self) -> bool {
        let Some((remote, id)) = self.remote_session() else { return false };
        self.waiting.push(Box::pin(async move { Done::Remote(RemoteDone::Forked(remote.fork(&id).await)) }));
        true
    }

    /// Renames the session on another machine; returns whether there is one.
    pub(super) fn rename_remote(&mut self, name: &str) -> bool {
        let Some((remote, id)) = self.remote_session() else { return false };
        let name = name.to_owned();
        self.waiting.push(Box::pin(async move {
            let renamed = remote.rename(&id, &name).await.map(|()| name);
            Done::Remote(RemoteDone::Renamed(renamed))
        }));
        true
    }

    fn remote_session(&self) -> Option<(Arc<dyn RemoteSessions>, String)> {
        Some((self.around.host.remote()?, self.session.as_ref()?.id().0.clone()))
    }

    pub(super) fn remote_done(&mut self, done: RemoteDone) {
        let why = match done {
            RemoteDone::Listed(Ok(listed)) => return self.offer_sessions(listed),
            RemoteDone::Forked(Ok(id)) => {
                return self.open(OpenRequest { session: Some(id), ..self.open_request.clone() });
            }
            RemoteDone::Renamed(Ok(name)) => return self.note(&format!("renamed this session to `{name}`")),
            RemoteDone::Listed(Err(why)) | RemoteDone::Forked(Err(why)) | RemoteDone::Renamed(Err(why)) => {
                why
            }
        };
        self.fail(why.message, why.suggestion);
    }

    /// Whether the session is open on another machine. If so, tells the user that `what` is only possible there.
    pub(super) fn is_only_there(&mut self, what: &str) -> bool {
        let is_remote = self.session.as_ref().is_some_and(|session| Remote::of(session).is_some());
        if is_remote {
            self.fail(format!("{what} only on the machine that has the session open"), None);
        }
        is_remote
    }

    /// Leaves a session that another process has open, where it continues.
    pub(super) fn detach(&mut self) {
        match self.session.as_ref().is_some_and(Session::is_joined) {
            true => self.request = Some(Request::Leave),
            false => self.note("this session is open in this terminal; `/quit` ends it"),
        }
    }
}
