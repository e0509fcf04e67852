//! [`DiagnosticsChange`]: the errors and warnings that a change of files adds and removes, as a compiler or a language server
//! finds them.
use futures::future::BoxFuture;
use serde::{Deserialize, Serialize};
use std::{fmt, path::PathBuf};

/// Compares the diagnostics of a workspace before and after a change, which need not be written yet.
pub trait Diagnostics: Send + Sync {
    /// Returns the diagnostics that `edits` together would add and remove; `None` if that is unknown: no program checks
    /// these files, or it does not answer in time. Reads files and writes none. May be dropped at any time.
    fn compare<'a>(&'a self, edits: &'a [FileEdit]) -> BoxFuture<'a, Option<DiagnosticsChange>>;

    /// Ends the programs that [`Diagnostics::compare`] has started. They are killed if they do not end soon.
    fn shut_down(&self) -> BoxFuture<'_, ()>;
}

/// The text of a file before and after a change.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FileEdit {
    /// Absolute, links followed.
    pub path: PathBuf,
    /// `None` if there is no such file.
    pub before: Option<String>,
    /// `None` if the change removes the file.
    pub after: Option<String>,
}

/// The diagnostics that a change adds and removes. A diagnostic that only moves to another line is in neither list.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiagnosticsChange {
    /// The programs that were asked, e.g., `pyright`.
    pub by: Vec<String>,
    /// Diagnostics that are there only after the change.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub added: Vec<Diagnostic>,
    /// Diagnostics that are there only before it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub removed: Vec<Diagnostic>,
}

/// An error or a warning in a file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Diagnostic {
    /// Relative to the workspace.
    pub path: PathBuf,
    /// Counted from 1.
    pub line: usize,
    /// The severity.
    pub severity: Severity,
    /// What is wrong. May have several lines.
    pub message: String,
}

/// The severity of a diagnostic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// An error.
    Error,
    /// A warning.
    Warning,
}

impl Severity {
    /// `error` or `warning`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
        }
    }
}

impl DiagnosticsChange {
    /// Whether nothing is added or removed.
    pub fn is_empty(&self) -> bool {
        self.added.is_empty() && self.removed.is_empty()
    }

    /// `adds 2 errors, removes 1 error and 1 warning`.
    pub fn summary(&self) -> String {
        let parts = [("adds", &self.added), ("removes", &self.removed)];
        let parts = parts.iter().filter(|(_, all)| !all.is_empty());
        let parts: Vec<String> = parts.map(|(verb, all)| format!("{verb} {}", counted(all))).collect();
        if parts.is_empty() { "adds no errors or warnings".to_owned() } else { parts.join(", ") }
    }

    /// One line for each diagnostic, the added ones first: `+ src/a.py:3: error: "x" is not defined`. After `most`
    /// lines, a line counts the rest.
    pub fn lines(&self, most: usize) -> Vec<String> {
        let signed = |sign: &'static str| move |diagnostic: &Diagnostic| format!("{sign} {diagnostic}");
        let all = self.added.iter().map(signed("+")).chain(self.removed.iter().map(signed("-")));
        let mut lines: Vec<String> = all.collect();
        let rest = lines.len().saturating_sub(most);
        lines.truncate(most);
        lines.extend((rest > 0).then(|| format!("… {rest} more")));
        lines
    }
}

/// `path:line: severity: message`, with the message on one line.
impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let message = self.message.split_whitespace().collect::<Vec<_>>().join(" ");
        write!(f, "{}:{}: {}: {message}", self.path.display(), self.line, self.severity.name())
    }
}

fn counted(all: &[Diagnostic]) -> String {
    let count = |severity| all.iter().filter(|diagnostic| diagnostic.severity == severity).count();
    let kinds = [Severity::Error, Severity::Warning].map(|severity| (severity.name(), count(severity)));
    let kinds = kinds.iter().filter(|(_, count)| *count > 0);
    let kinds = kinds.map(|(name, count)| format!("{count} {name}{}", if *count == 1 { "" } else { "s" }));
    kinds.collect::<Vec<_>>().join(" and ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_summed_up_and_listed() {
        let made = |severity, line: usize| Diagnostic {
            path: "a.py".into(),
            line,
            severity,
            message: "is not\n  defined".into(),
        };
        let (error, warning) = (made(Severity::Error, 3), made(Severity::Warning, 4));
        let table = [
            (vec![], vec![], "adds no errors or warnings", vec![]),
            (vec![&error], vec![], "adds 1 error", vec!["+ a.py:3: error: is not defined"]),
            (vec![], vec![&warning], "removes 1 warning", vec!["- a.py:4: warning: is not defined"]),
            (
                vec![&error, &error],
                vec![&error, &warning],
                "adds 2 errors, removes 1 error and 1 warning",
                vec!["+ a.py:3: error: is not defined", "+ a.py:3: error: is not defined", "… 2 more"],
            ),
        ];
        for (added, removed, summary, lines) in table {
            let owned = |all: Vec<&Diagnostic>| all.into_iter().cloned().collect::<Vec<_>>();
            let change = DiagnosticsChange { by: Vec::new(), added: owned(added), removed: owned(removed) };
            assert_eq!(
                (change.summary().as_str(), change.lines(2)),
                (summary, lines.iter().map(|line| (*line).to_owned()).collect())
            );
        }
    }
}
