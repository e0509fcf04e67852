//! [`Replica`]: where a session is kept in addition to its file.
use futures::future::BoxFuture;
use haft_core::{Seq, SessionId};
use std::{io, sync::Arc};

/// A second, authoritative store for journal entries: a database that machines share. Through it a process notices that
/// another one has taken the session over.
pub trait Replica: Send + Sync {
    /// Takes an entry's line, newline included, in order, and waits for nothing.
    fn append(&self, seq: Seq, line: &str);

    /// Returns when all lines taken so far stand there, and the contents that they name. Waited for before the model is
    /// asked, before a command that has no view begins, before files are settled and at the end of a turn. Fails where
    /// they never will: another process writes this session now, or the store cannot be reached. The session closes
    /// then.
    fn sync(&self) -> BoxFuture<'_, io::Result<()>>;
}

/// Makes the replica of a session.
pub type Replicas = Arc<dyn Fn(&SessionId) -> Arc<dyn Replica> + Send + Sync>;
