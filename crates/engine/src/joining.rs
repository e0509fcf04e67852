//! Opens sessions that may be open elsewhere: they are taken up, or joined.
use crate::{
    Engine, EngineError, JournalError, Session, Setup,
    door::{self, Knock},
    permission::Permission,
};
use haft_core::{Mode, Policy};
use std::time::{Duration, Instant};
use tokio::sync::mpsc;

/// How long a session is waited for that a process has open and nobody can join: while it is put down or taken up.
const PATIENCE: Duration = Duration::from_secs(2);

impl Engine {
    /// A session that exists: the handle where it is open here, else it is taken up, or joined where another process
    /// has it.
    pub async fn open(&self, id: &str, agent: &str) -> Result<Session, EngineError> {
        let patience = Instant::now() + PATIENCE;
        loop {
            let here = self.0.setup.home.find(id).ok().and_then(|id| self.0.live.find(&id));
            let opened = here.map_or_else(|| self.resume(id, agent), Ok);
            let Err(EngineError::Journal(JournalError::Locked(_))) = opened else { return opened };
            match self.join(id).await {
                // Who has it is about to put it down, or has taken it up a moment ago.
                Err(EngineError::NotOpen(_) | EngineError::Journal(JournalError::Locked(_)))
                    if Instant::now() < patience =>
                {
                    tokio::time::sleep(PATIENCE / 100).await;
                }
                joined => return joined,
            }
        }
    }

    /// A session that another process has open: what happens in it is seen here, what is asked for here is done there,
    /// and it closes when that process closes it, dies or does not take a command. Contents of changes are read from
    /// the session's folder.
    pub async fn join(&self, id: &str) -> Result<Session, EngineError> {
        let Setup { home, stages, .. } = &self.0.setup;
        let id = home.find(id)?;
        let folder = home.folder(&id);
        let visit = door::knock(&folder).await.map_err(|error| match error {
            Knock::NoDoor if home.is_open(&id) => JournalError::Locked(id.0.clone()).into(),
            Knock::NoDoor => EngineError::NotOpen(id.clone()),
            Knock::Refused(why) => EngineError::NotJoined { id: id.clone(), why },
        })?;
        let (sender, inbox) = mpsc::unbounded_channel();
        let (journal, stage) = (visit.journal(), stages(&home.contents(&id)));
        // Any mode may be asked for here: whoever has it open keeps to what they allow.
        let there = Policy { mode: visit.mode(), ..Policy::default() };
        let permission = Permission::new(there, Mode::Full, &journal.entries());
        let may_allow = visit.may_allow();
        let session = Session { id, inbox: sender, journal, stage, permission, may_allow };
        self.0.live.add(&session);
        self.0.tasks.spawn(visit.stay(inbox, self.0.stop.clone()));
        Ok(session)
    }
}
