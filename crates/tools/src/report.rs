//! [`Page`]: one page of results as a model reads them, and a note of what is not on it.
use crate::FindSettings;

/// Which of the results are shown.
pub(crate) struct Page {
    offset: usize,
    limit: usize,
    max_bytes: usize,
}

/// Maximum results that are collected: for more, the model has to ask more narrowly.
const MAX_COLLECTED: usize = 20_000;

impl Page {
    pub(crate) fn new(offset: Option<usize>, limit: Option<usize>, settings: &FindSettings) -> Self {
        let offset = offset.unwrap_or(0).min(MAX_COLLECTED);
        // In other products 0 means that there is no limit.
        let limit = limit.filter(|limit| *limit > 0).unwrap_or(settings.results).min(MAX_COLLECTED);
        Self { offset, limit, max_bytes: settings.max_bytes }
    }

    /// How many results precede it.
    pub(crate) fn offset(&self) -> usize {
        self.offset
    }

    /// How many results have to be collected.
    pub(crate) fn end(&self) -> usize {
        self.offset + self.limit
    }

    /// The texts of the page one after the other, and how many they are.
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

    /// What is not shown, if anything: `what` are the results, `number` all of them.
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
