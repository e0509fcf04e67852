//! [`compare`]: computes the diagnostics of one server that a proposal adds and removes.
use crate::{
    dependents::{self, changed_lines, kept_lines},
    error::LspError,
    server::Server,
    symbols::outline,
    taken::{Found, Taken},
};
use haft_core::{Diagnostic, DiagnosticsChange, FileEdit, Severity};
use lsp_types::DiagnosticSeverity;
use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
};
use tokio::time::Instant;

/// Maximum files that are opened in addition to the edited ones.
const MAX_DEPENDENTS: usize = 20;

/// For each edited file: the line numbers after the edits of lines that remain.
type KeptLines = BTreeMap<PathBuf, BTreeMap<usize, usize>>;

type Texts = Vec<(PathBuf, Option<String>)>;

/// Returns the diagnostics that `edits`, all of files of the server, add and remove.
pub(crate) async fn compare(
    server: &Server,
    edits: &[&FileEdit],
    deadline: Instant,
) -> Result<DiagnosticsChange, LspError> {
    server.ready(deadline).await?;
    let mut taken = server.take().await;
    let edited: Vec<PathBuf> = edits.iter().map(|edit| edit.path.clone()).collect();
    let mut before: Texts = edits.iter().map(|edit| (edit.path.clone(), edit.before.clone())).collect();
    let mut after: Texts = edits.iter().map(|edit| (edit.path.clone(), edit.after.clone())).collect();
    let others = dependents(&mut taken, edits, &edited, deadline).await;
    taken.refresh(&others).await;
    for path in others {
        let text = taken.documents.text(&path).map(str::to_owned);
        before.push((path.clone(), text.clone()));
        after.push((path, text));
    }
    let before = taken.diagnose(&before, &edited, deadline).await?;
    let after = taken.diagnose(&after, &edited, deadline).await?;
    let kept = edits.iter().map(|edit| {
        let (before, after) = (edit.before.as_deref(), edit.after.as_deref());
        (edit.path.clone(), kept_lines(before.unwrap_or_default(), after.unwrap_or_default()))
    });
    let kept: KeptLines = kept.collect();
    let before = own(&before, &server.workspace).into_iter();
    let before = before.map(|one| (line_after(&one, &kept, &server.workspace), one));
    let (added, removed) = difference(before.collect(), own(&after, &server.workspace));
    Ok(DiagnosticsChange { by: vec![server.name()], added, removed })
}

/// Other files that contain the name of a symbol whose head the edits change. Empty if the server lists no symbols.
async fn dependents(
    taken: &mut Taken<'_>,
    edits: &[&FileEdit],
    edited: &[PathBuf],
    deadline: Instant,
) -> Vec<PathBuf> {
    let mut names = BTreeSet::new();
    for edit in edits {
        let (before, after) = (edit.before.as_deref(), edit.after.as_deref());
        let lines = changed_lines(before.unwrap_or_default(), after.unwrap_or_default());
        for (text, lines) in [(before, lines.0), (after, lines.1)] {
            taken.set(&edit.path, text);
            if text.is_some() && !lines.is_empty() {
                let symbols = outline(taken, &edit.path, deadline).await.unwrap_or_default();
                names.extend(dependents::names(&symbols, &lines));
            }
        }
    }
    let (settings, workspace) = (taken.server.settings.clone(), taken.server.workspace.clone());
    let edited = edited.to_vec();
    let searching = tokio::task::spawn_blocking(move || {
        dependents::files(&settings, &workspace, &names, &edited, MAX_DEPENDENTS)
    });
    searching.await.unwrap_or_default()
}

/// Converts errors and warnings to Haft's own type.
pub(crate) fn own(found: &Found, workspace: &Path) -> Vec<Diagnostic> {
    let all = found.iter().filter_map(|(path, diagnostic)| {
        // The protocol leaves the interpretation of a missing severity to the client.
        let severity = match diagnostic.severity.unwrap_or(DiagnosticSeverity::ERROR) {
            DiagnosticSeverity::ERROR => Severity::Error,
            DiagnosticSeverity::WARNING => Severity::Warning,
            _ => return None,
        };
        Some(Diagnostic {
            path: path.strip_prefix(workspace).unwrap_or(path).to_owned(),
            line: diagnostic.range.start.line as usize + 1,
            severity,
            message: diagnostic.message.clone(),
        })
    });
    let mut all: Vec<Diagnostic> = all.collect();
    all.sort();
    all
}

/// The line of a diagnostic after the edits; `None` if the edits removed it.
fn line_after(diagnostic: &Diagnostic, kept: &KeptLines, workspace: &Path) -> Option<usize> {
    match kept.get(&workspace.join(&diagnostic.path)) {
        Some(kept) => kept.get(&diagnostic.line).copied(),
        None => Some(diagnostic.line),
    }
}

/// Returns diagnostics that are only in `after`, and those only in `before`, whose lines are those after the edits. The
/// same text is the same diagnostic, on whatever line.
fn difference(
    before: Vec<(Option<usize>, Diagnostic)>,
    after: Vec<Diagnostic>,
) -> (Vec<Diagnostic>, Vec<Diagnostic>) {
    let (mut removed, mut added) = (before, after);
    let is_same = |a: &Diagnostic, b: &Diagnostic| {
        (&a.path, a.severity, &a.message) == (&b.path, b.severity, &b.message)
    };
    // If several have the same text, those on the same line are matched first.
    for is_line_same in [true, false] {
        added.retain(|new| {
            let is_it = |(line, old): &(Option<usize>, Diagnostic)| {
                is_same(old, new) && (*line == Some(new.line) || !is_line_same)
            };
            let found = removed.iter().position(is_it);
            found.map(|place| removed.remove(place)).is_none()
        });
    }
    (added, removed.into_iter().map(|(_, old)| old).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(all: &[(usize, &str)]) -> Vec<Diagnostic> {
        let one = |(line, message): &(usize, &str)| Diagnostic {
            path: "a.py".into(),
            line: *line,
            severity: Severity::Error,
            message: (*message).into(),
        };
        all.iter().map(one).collect()
    }

    #[test]
    fn only_what_is_new_or_gone_is_a_difference() {
        type Lines<'a> = &'a [(usize, &'a str)];
        let table: [(Lines<'_>, Lines<'_>, Lines<'_>, Lines<'_>); 6] = [
            (&[], &[], &[], &[]),
            (&[(1, "x")], &[(9, "x")], &[], &[]),
            (&[(1, "x")], &[(1, "x"), (2, "x")], &[(2, "x")], &[]),
            (&[(5, "x")], &[(1, "x"), (5, "x")], &[(1, "x")], &[]),
            (&[(1, "x"), (2, "x")], &[(2, "x")], &[], &[(1, "x")]),
            (&[(1, "x")], &[(1, "y")], &[(1, "y")], &[(1, "x")]),
        ];
        for (before, after, added, removed) in table {
            let before = made(before).into_iter().map(|one| (Some(one.line), one)).collect();
            assert_eq!(difference(before, made(after)), (made(added), made(removed)));
        }
        // The first line is new, and the other one has moved.
        let kept = KeptLines::from([("/w/a.py".into(), kept_lines("b\nc\n", "b\nb\nx\nc\n"))]);
        let old = made(&[(2, "x")]).remove(0);
        let line = line_after(&old, &kept, Path::new("/w"));
        assert_eq!(difference(vec![(line, old)], made(&[(3, "x"), (4, "x")])).0, made(&[(3, "x")]));
    }
}
