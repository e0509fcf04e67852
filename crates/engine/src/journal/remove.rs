//! Deletes a session.
use super::{Journal, JournalError};
use crate::setup::Home;
use haft_core::SessionId;
use std::fs;

impl Home {
    /// Deletes the session `id` with those that it delegated to, and returns their names, its own first.
    ///
    /// Fails if there is no such session, if it is a job or a process has one of them open, and if files cannot be
    /// removed.
    pub fn remove(&self, id: &str) -> Result<Vec<SessionId>, JournalError> {
        let id = self.find(id)?;
        let kept = |why| JournalError::NotRemoved { session: id.clone(), why };
        if self.is_job(&id) {
            return Err(kept("it is a job, whose branch and work tree belong to it"));
        }
        let mut all = vec![id.clone()];
        let sessions = self.list();
        let mut next = 0;
        while let Some(parent) = all.get(next).cloned() {
            let below = sessions.iter().filter(|session| session.delegated_by.as_ref() == Some(&parent));
            all.extend(below.map(|session| session.id.clone()));
            next += 1;
        }
        if all.iter().any(|id| self.is_open(id)) {
            return Err(kept("it is open in a process; end that one first"));
        }
        for id in all.iter().rev() {
            let folder = self.folder(id);
            fs::remove_dir_all(&folder).map_err(|source| {
                let path = Journal::file(&folder);
                JournalError::Io { action: "delete", path, source }
            })?;
        }
        Ok(all)
    }
}
