//! [`KeptSession`] and [`KeptJob`]: a session as it is stored on disk, and a job as the fleet's database stores it.
use haft_app::App;
use haft_core::{Entry, Hash, Secrets, SessionId, SessionOpened, Stage, changed, line};
use haft_engine::{JournalError, Recorded};
use haft_fleet::{Database, FleetError};
use haft_stage::LocalStage;
use std::{collections::HashMap, io, path::Path, sync::Arc};

/// Entries of a job, with some of the contents to which they refer.
pub(crate) struct KeptJob {
    pub(crate) entries: Vec<Arc<Entry>>,
    contents: HashMap<String, Vec<u8>>,
}

impl Recorded for KeptJob {
    fn entries(&self) -> Vec<Arc<Entry>> {
        self.entries.clone()
    }

    fn content(&self, hash: &Hash) -> io::Result<Vec<u8>> {
        self.contents.get(&hash.0).cloned().ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    /// Empty, since only the worker knows the job's secrets.
    fn secrets(&self) -> Secrets {
        Secrets::default()
    }
}

impl KeptJob {
    /// Reads up to `most` entries of a job, from `from` on, and the contents to which the entries that `wanted` selects
    /// refer.
    ///
    /// # Errors
    /// Fails if PostgreSQL or the object store cannot be reached.
    pub(crate) async fn read(
        database: &Database,
        id: &str,
        (from, most): (i64, i64),
        wanted: impl Fn(&[Arc<Entry>]) -> Vec<Arc<Entry>>,
    ) -> Result<Self, FleetError> {
        let lines = haft_fleet::entries_since(database, id, from, most).await?;
        let read = |(_, text): &(i64, String)| line::entry(text.as_bytes()).ok().map(Arc::new);
        let entries: Vec<_> = lines.iter().filter_map(read).collect();
        let wanted = wanted(&entries);
        let states = wanted.iter().flat_map(|entry| changed::changes_in(&entry.fact));
        let states = states.flat_map(|change| [&change.before, &change.after]).flatten();
        let hashes: Vec<String> = states.map(|state| state.hash.0.clone()).collect();
        let contents = haft_fleet::contents(database, id, &hashes).await?.into_iter().collect();
        Ok(Self { entries, contents })
    }
}

/// A session as it is stored on disk.
pub(crate) struct KeptSession {
    entries: Vec<Arc<Entry>>,
    contents: LocalStage,
    secrets: Secrets,
}

impl KeptSession {
    /// Reads what is recorded so far, also of a session that another process has open.
    pub(crate) fn read(app: &App, id: &SessionId) -> Result<Self, JournalError> {
        let home = app.home();
        let entries = home.peek(&id.0)?;
        let opened = SessionOpened::of(&entries);
        let secrets = app.secrets(opened.map_or(Path::new("/"), |opened| &opened.workspace));
        Ok(Self { entries, contents: LocalStage::new(home.contents(id)), secrets })
    }
}

impl Recorded for KeptSession {
    fn entries(&self) -> Vec<Arc<Entry>> {
        self.entries.clone()
    }

    fn content(&self, hash: &Hash) -> io::Result<Vec<u8>> {
        self.contents.content(hash)
    }

    fn secrets(&self) -> Secrets {
        self.secrets.clone()
    }
}
