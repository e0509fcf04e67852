//! [`Home`]: the folder where sessions lie on disk.
use std::path::PathBuf;

/// The folder of all sessions, outside every workspace: `HOME/sessions/ID/journal.jsonl`.
#[derive(Clone, Debug)]
pub struct Home(pub PathBuf);
