//! [`App::export`]: writes a whole session in a form for people or programs.
mod markdown;

use crate::{App, Failure};
use haft_present::lines;
pub use markdown::of as markdown;

/// How a session is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExportFormat {
    /// The conversation as Markdown, without what was undone.
    Markdown,
    /// The journal, one entry per line, what was undone included.
    Json,
}

impl App {
    /// The session `id`, whole.
    ///
    /// # Errors
    ///
    /// If it does not exist or cannot be read.
    pub fn export(&self, id: &str, format: ExportFormat) -> Result<String, Failure> {
        let entries = self.home().peek(id)?;
        Ok(match format {
            ExportFormat::Markdown => markdown(&entries),
            ExportFormat::Json => entries.iter().map(|entry| lines::entry(entry) + "\n").collect(),
        })
    }
}
