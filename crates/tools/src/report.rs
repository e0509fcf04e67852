//! [`Page`]: one page of results as a model reads them, and a note on the results that are not on it.
use crate::FindSettings;

/// Selects the results to show.
pub(crate) struct Page {
    offset: usize,
    limit: usize,
    max_bytes: usize,
}

/// Maximum number of results that are collected. For more, the model has to narrow the search.
const MAX_COLLECTED: usize = 20_000;

impl Page {
    pub(crate) fn new(offset: Option<usize>, limit: Option<usize>, settings: &FindSettings) -> Self {
        let offset = offset.unwrap_or(0).min(MAX_COLLECTED);
        // In other products, a limit of 0 means no limit.
        let limit = limit.filter(|limit| *limit > 0).unwrap_or(settings.results).min(MAX_COLLECTED);
        Self { offset, limit, max_bytes: settings.max_bytes }
    }

    /// Number of results before the page.
    pub(crate) fn offset(&self) -> usize {
        self.offset
    }

    /// Number of results that have to be collected.
    pub(crate) fn end(&self) -> usize {
        self.offset + self.limit
    }

    /// The joined texts of the page, and their number.
    pub(crate) fn fill(&self, results: impl Iterator<Item = String>) -> (String, usize) {
        let (mut text, mut shown) = (String::new(), 0);
        for result in results.skip(self.offset).take(self.limit) {
            if text.len() + result.len() > self.max_bytes && shown > 0 {
                break;
            }
            text += haft_core::clip::head(&result, self.max_bytes);
            shown += 1;
        }
        (text, shown)
    }

    /// The note on results that are not shown, if any. `what` names the results, `number` is the number of all of them.
    pub(crate) fn note(&self, shown: usize, number: u64, what: &str) -> String {
        let (from, next) = (self.offset as u64, (self.offset + shown) as u64);
        match (shown, number) {
            (0, _) if from > 0 => format!("[there are only {number} {what}; use a smaller offset]"),
            (_, number) if next < number => {
                let part = if from == 0 { shown.to_string() } else { format!("{} to {next}", from + 1) };
                format!(
                    "\n[{part} of {number} {what} are shown; ask more narrowly, or continue with offset={next}]"
                )
            }
            _ => String::new(),
        }
    }
}

/// `1 file`, `2 files`; `1 match`, `2 matches`; `1 entry`, `2 entries`.
pub(crate) fn counted(number: u64, what: &str) -> String {
    match (number, what.strip_suffix('y')) {
        (1, _) => format!("1 {what}"),
        (_, Some(stem)) => format!("{number} {stem}ies"),
        (_, None) if what.ends_with("ch") => format!("{number} {what}es"),
        (_, None) => format!("{number} {what}s"),
    }
}
