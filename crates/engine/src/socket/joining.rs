//! [`join`]: joins a session that another process has open.
use super::{NotConnected, connect};
use crate::{
    journal::JournalError,
    session::{EngineError, Session, shared::Shared},
    setup::Setup,
};
use haft_call::Permission;
use haft_core::{Mode, Policy};
use tokio::sync::mpsc;

/// See [`crate::Engine::join`].
pub(crate) async fn join(shared: &Shared, id: &str) -> Result<Session, EngineError> {
    let Setup { home, stages, .. } = &shared.setup;
    let id = home.find(id)?;
    let folder = home.folder(&id);
    let connection = connect(&folder).await.map_err(|error| match error {
        NotConnected::NoSocket if home.is_open(&id) => JournalError::Locked(id.0.clone()).into(),
        NotConnected::NoSocket => EngineError::NotOpen(id.clone()),
        NotConnected::Refused(why) => EngineError::NotJoined { id: id.clone(), why },
    })?;
    let (sender, mailbox) = mpsc::unbounded_channel();
    let (journal, stage) = (connection.journal(), stages(&home.contents(&id)));
    // Any mode may be asked for here: the process that has it open enforces its own limit.
    let there = Policy { mode: connection.mode(), ..Policy::default() };
    let permission = Permission::new(there, Mode::Full, &journal.entries());
    let may_allow = connection.may_allow();
    let session = Session { id, mailbox: sender, journal, stage, permission, may_allow, responder: None };
    shared.live.add(&session);
    shared.tasks.spawn(connection.stay(mailbox, shared.stop.clone()));
    Ok(session)
}
