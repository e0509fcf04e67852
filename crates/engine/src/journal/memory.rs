//! [`WorkspaceMemory`]: compares memory lines derived from the journals of a workspace with its notes for agents.
use super::Journal;
use crate::Home;
use haft_core::{
    SessionId,
    accepted::unified_diff,
    memory::{self, Learned, MemoryChange, MemoryLine, NOTE_FILES, SessionRecord},
};
use haft_process::read_regular;
use std::{
    io::{self, ErrorKind},
    path::{Path, PathBuf},
};

/// Maximum number of newest sessions of a workspace that are read.
const MAX_SESSIONS: usize = 200;
/// Maximum bytes of notes that are read.
const MAX_NOTE_BYTES: u64 = 1 << 20;

/// The memory of a workspace: the lines derived from its journals, and the file with notes for agents.
#[derive(Debug)]
pub struct WorkspaceMemory {
    /// The file, relative to the workspace. It may not exist yet.
    pub file: PathBuf,
    /// The lines derived from the journals.
    pub learned: Learned,
    text: String,
}

impl Home {
    /// Reads the journals of the sessions that work in `workspace`, and its notes. Skips journals that cannot be read.
    ///
    /// # Errors
    /// Fails if the notes cannot be read.
    pub fn memory(&self, workspace: &Path) -> io::Result<WorkspaceMemory> {
        let is_here = |id: &SessionId| {
            self.opened(id).is_some_and(|(_, opened)| opened.workspace == workspace && !opened.is_subagent())
        };
        let names = self.names().into_iter().rev().map(SessionId);
        let newest = names.filter(is_here).take(MAX_SESSIONS);
        let record = |id: SessionId| {
            let entries = Journal::peek(&self.folder(&id)).ok()?;
            Some(SessionRecord { id, entries })
        };
        let mut records: Vec<SessionRecord> = newest.filter_map(record).collect();
        records.reverse();
        let (file, text) = note(workspace)?;
        Ok(WorkspaceMemory { file, learned: memory::learn(&records), text })
    }
}

/// The file with notes for agents, and its text.
fn note(workspace: &Path) -> io::Result<(PathBuf, String)> {
    for file in NOTE_FILES.map(PathBuf::from) {
        match read_regular(&workspace.join(&file), MAX_NOTE_BYTES) {
            Ok(content) => {
                let text = String::from_utf8(content)
                    .map_err(|_| io::Error::new(ErrorKind::InvalidData, format!("{file:?} is not UTF-8")))?;
                return Ok((file, text));
            }
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    Ok((NOTE_FILES[0].into(), String::new()))
}

impl WorkspaceMemory {
    /// The memory lines in the file.
    pub fn lines(&self) -> Vec<MemoryLine> {
        memory::lines(&self.text)
    }

    /// The proposed changes of the file.
    pub fn change(&self) -> MemoryChange {
        self.learned.change(&self.lines())
    }

    /// Returns a unified diff of what is proposed; empty if nothing is.
    pub fn diff(&self) -> String {
        let edited = self.change().edited(&self.text);
        if edited == self.text { String::new() } else { unified_diff(&self.file, &self.text, &edited) }
    }
}
