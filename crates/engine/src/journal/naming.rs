//! [`Home::rename`]: sets the name of a session. Names are not part of the conversation and therefore stored outside of
//! the journal: a session can be renamed while another process has it open.
use super::JournalError;
use crate::setup::Home;
use haft_core::SessionId;
use std::{fs, io, path::PathBuf};

const FILE_NAME: &str = "name";

/// Maximum characters of a name: lists show it in one line.
const MAX_NAME_CHARS: usize = 60;

impl Home {
    /// Names the session `id`, or removes its name if `name` is empty. Several sessions may have the same name, which
    /// then identifies none of them.
    ///
    /// Fails if there is no such session, if the name is invalid (longer than 60 characters, more than one line, the ID
    /// of a session), and if it cannot be written.
    pub fn rename(&self, id: &str, name: &str) -> Result<SessionId, JournalError> {
        let id = self.find(id)?;
        let name = name.trim();
        self.check(name)
            .map_err(|why| JournalError::NoName { name: name.escape_debug().to_string(), why })?;
        let file = self.name_file(&id);
        let written = match name.is_empty() {
            true => fs::remove_file(&file).or_else(|error| match error.kind() {
                io::ErrorKind::NotFound => Ok(()),
                _ => Err(error),
            }),
            false => {
                let beside = file.with_extension("new");
                fs::write(&beside, name).and_then(|()| fs::rename(&beside, &file))
            }
        };
        written.map_err(|source| JournalError::Io { action: "name", path: file, source })?;
        Ok(id)
    }

    /// The name of the session.
    pub fn name(&self, id: &SessionId) -> Option<String> {
        fs::read_to_string(self.name_file(id)).ok().filter(|name| !name.is_empty())
    }

    /// The sessions among `ids` with this name.
    pub(super) fn called(&self, name: &str, ids: &[String]) -> Vec<String> {
        let is_called = |id: &&String| self.name(&SessionId((*id).clone())).as_deref() == Some(name);
        ids.iter().filter(is_called).cloned().collect()
    }

    fn check(&self, name: &str) -> Result<(), &'static str> {
        match name {
            _ if name.chars().any(char::is_control) => Err("it must be one line, without control characters"),
            _ if name.chars().count() > MAX_NAME_CHARS => Err("it must have at most 60 characters"),
            _ if self.has(name) => Err("it is the ID of a session"),
            _ => Ok(()),
        }
    }

    fn name_file(&self, id: &SessionId) -> PathBuf {
        self.folder(id).join(FILE_NAME)
    }
}
