//! [`join`] and [`attach`]: join a session that another process has open, on this machine or on another one.
use super::{Connection, NotConnected, client, connect, remote::Dial};
use crate::{
    journal::JournalError,
    session::{EngineError, Session, responder::Answering, shared::Shared},
    setup::Setup,
};
use haft_call::Permission;
use haft_core::{Mode, Policy, SessionId, Stage};
use std::sync::{Arc, Weak};
use tokio::sync::{mpsc, watch};

/// See [`crate::Engine::join`].
pub(crate) async fn join(shared: &Shared, id: &str) -> Result<Session, EngineError> {
    let Setup { home, stages, .. } = &shared.setup;
    let id = home.find(id)?;
    let connection = connect(&home.folder(&id)).await.map_err(|error| match error {
        NotConnected::NoSocket if home.is_open(&id) => JournalError::Locked(id.0.clone()).into(),
        NotConnected::NoSocket => EngineError::NotOpen(id.clone()),
        NotConnected::Refused(why) => EngineError::NotJoined { id: id.clone(), why },
    })?;
    let stage = stages(&home.contents(&id));
    Ok(stay(shared, id, connection, stage))
}

/// See [`crate::Engine::attach`].
pub(crate) async fn attach(
    shared: &Shared,
    id: SessionId,
    dial: Arc<dyn Dial>,
) -> Result<Session, EngineError> {
    let connection = client::attach(&shared.setup.home.folder(&id), dial).await.map_err(|error| {
        let why = match error {
            NotConnected::NoSocket => "the connection was closed at once".to_owned(),
            NotConnected::Refused(why) => why,
        };
        EngineError::NotAttached { id: id.clone(), why }
    })?;
    let stage = connection.contents();
    Ok(stay(shared, id, connection, stage))
}

/// Returns a handle of the session, which is valid as long as the connection lasts.
fn stay(shared: &Shared, id: SessionId, connection: Connection, stage: Arc<dyn Stage>) -> Session {
    let (sender, mailbox) = mpsc::unbounded_channel();
    let (journal, welcome) = (connection.journal(), connection.welcome());
    let there = Policy { mode: welcome.mode, ..Policy::default() };
    // If the limit is unknown, any mode may be requested: the owner enforces the limit.
    let permission = Permission::new(there, welcome.ceiling.unwrap_or(Mode::Full), &journal.entries());
    // The owner may have begun in another mode than the one chosen last.
    permission.set(welcome.mode);
    let remote = connection.remote().map(Arc::new);
    let may_allow = welcome.may_allow;
    let responder = Arc::new(Answering::new());
    let followed = permission.clone();
    let background = Weak::new();
    let (handles, _counted) = watch::channel(());
    let session = Session {
        id,
        mailbox: sender,
        _counted,
        journal,
        stage,
        permission,
        may_allow,
        responder,
        remote,
        background,
    };
    shared.live.add(&session, handles);
    shared.tasks.spawn(connection.stay(followed, mailbox, shared.stop.clone()));
    session
}
