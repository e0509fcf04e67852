//! Checks what the role of a user allows in running sessions of the user and of others.
use super::{Hub, Known, USER_INTERVAL};
use crate::{
    error::{Answer, ApiError},
    parts::Bounds,
};
use haft_core::Command;
use haft_engine::Session;

impl Hub {
    /// Checks that the role of the user allows the mode of the session, which may belong to another user.
    pub(crate) fn check_mode(&self, session: &Session) -> Answer<()> {
        let up_to = self.user().and_then(|user| Bounds::of(&user.role).up_to);
        // With an outbox, edits need no approval in the mode `ask`, either.
        let mode = session.policy().mode;
        let Some(up_to) = up_to.filter(|up_to| mode > *up_to) else { return Ok(()) };
        let message = format!(
            "the session runs in the mode `{}`, and your role allows `{}` at most",
            mode.name(),
            up_to.name()
        );
        Err(ApiError::forbidden(message).suggest("ask a person with a wider role, or fork the session"))
    }

    /// Checks that a job that the user resumes may do no more than the user's role allows.
    pub(crate) fn check_job(&self, known: &Known) -> Answer<()> {
        let Some(up_to) = self.user().and_then(|user| Bounds::of(&user.role).up_to) else { return Ok(()) };
        let is_own = known.owner.as_deref() == self.user_name();
        match is_own || known.place.bounds.up_to.is_some_and(|theirs| theirs <= up_to) {
            true => Ok(()),
            false => Err(ApiError::forbidden(format!(
                "the job may work in a wider mode than your role allows, which is `{}`",
                up_to.name()
            ))
            .suggest("ask the user who gave the job, or a person with a wider role")),
        }
    }

    /// Narrows running sessions and jobs whose user was removed or has another role, until the server stops: their next
    /// calls are judged by the current role.
    pub(crate) async fn narrow(&self) {
        let mut version = self.users().version();
        loop {
            tokio::time::sleep(USER_INTERVAL).await;
            let now = self.users().version();
            if version == now {
                continue;
            }
            let mut all = self.engines().sessions();
            all.extend(self.inner.open.sessions());
            // Sessions that cannot be checked now are checked again later.
            if all.iter().filter(|session| !self.narrow_one(session)).count() == 0 {
                version = now;
            }
        }
    }

    /// Limits the session's mode to what its user's role allows. Returns false if the session cannot be checked.
    pub(super) fn narrow_one(&self, session: &Session) -> bool {
        let Ok(known) = self.find(&session.id().0) else { return !self.home().is_open(session.id()) };
        if let Some(mode) = known.place.bounds.up_to.filter(|up_to| session.mode() > *up_to) {
            let _it_has_closed = session.send(Command::SetMode { mode });
        }
        true
    }
}
