//! [`App::export`]: writes a whole session as Markdown or JSON.
mod markdown;

use crate::{App, Failure};
use haft_present::lines;
pub use markdown::of as markdown;

/// The format of an export.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExportFormat {
    /// The conversation as Markdown, without what was undone.
    Markdown,
    /// The journal, one entry per line, including what was undone.
    Json,
}

impl App {
    /// Exports the whole session `id`.
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
