//! [`Notice`]: the short text of a notification.
use super::message::MAX_CONTENT_BYTES;
use crate::api::watch::pending;
use haft_core::{CallId, Entry, Fact, JobStatus, JobSummary, Outcome, Part, SessionId, changed};
use haft_engine::Recorded;
use haft_present::{file_diff::FileDiff, proposal::Proposal, safe};
use serde::Serialize;
use std::sync::Arc;

/// Maximum length of a title, in characters.
const MAX_TITLE_CHARS: usize = 100;
/// Maximum length of a text, in characters.
const MAX_TEXT_CHARS: usize = 600;
/// Maximum length of a proposal that can be allowed from a notification, in characters: the notification would not show
/// all of a longer one.
const MAX_ALLOWED_CHARS: usize = 300;
const MAX_ALLOWED_LINES: usize = 8;

/// The content of a notification.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Notice {
    pub(super) kind: NoticeKind,
    session: SessionId,
    /// The call that waits.
    call: Option<CallId>,
    /// Title of the session.
    title: String,
    text: String,
    actions: Vec<Action>,
}

/// What a notification is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum NoticeKind {
    /// A call waits for an approval.
    Approval,
    /// A tool asks a question.
    Question,
    /// A turn has ended.
    Turn,
    /// A job has ended.
    Job,
}

/// The buttons of a notification.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Action {
    Allow,
    Deny,
}

impl NoticeKind {
    /// Whether the notification waits for an answer.
    pub(super) fn is_question(self) -> bool {
        matches!(self, Self::Approval | Self::Question)
    }
}

impl Notice {
    /// The notice of a waiting call; `None` if the call does not wait.
    pub(super) fn of_call(
        recorded: &dyn Recorded,
        session: SessionId,
        call: &CallId,
        title: &str,
    ) -> Option<Self> {
        let waiting = pending(&recorded.entries());
        let entry = waiting.iter().find(|(waits, _)| waits == call).map(|(_, entry)| entry.clone())?;
        let (kind, text) = match &entry.fact {
            Fact::QuestionAsked { question, .. } => (NoticeKind::Question, safe::visible(&question.text)),
            fact => (NoticeKind::Approval, proposed(recorded, fact)?),
        };
        let actions = match kind {
            NoticeKind::Approval if is_short(&text) => vec![Action::Allow, Action::Deny],
            NoticeKind::Approval => vec![Action::Deny],
            _ => Vec::new(),
        };
        let text = match waiting.len() {
            1 => clipped(&text, MAX_TEXT_CHARS),
            more => format!("{}\n({} more wait)", clipped(&text, MAX_TEXT_CHARS), more - 1),
        };
        let title = titled(title);
        Some(Self { kind, session, call: Some(call.clone()), title, text, actions })
    }

    /// The notice of a session whose turn has ended; `None` if the user stopped it, or if it is a job that continues.
    pub(super) fn of_end(entries: &[Arc<Entry>], session: SessionId, title: &str) -> Option<Self> {
        match JobSummary::of(entries, false) {
            Some(job) => Self::of_job(session, title, job.status, &job.progress),
            None => Some(Self::ended(NoticeKind::Turn, session, title, &turn_end(entries)?)),
        }
    }

    /// The notice of a job that has ended; `None` if it has not, or if a user cancelled it.
    pub(super) fn of_job(session: SessionId, title: &str, status: JobStatus, progress: &str) -> Option<Self> {
        let is_told = matches!(status, JobStatus::Completed | JobStatus::Failed);
        let text = format!("Job {status}: {}", safe::visible(progress));
        is_told.then(|| Self::ended(NoticeKind::Job, session, title, &text))
    }

    fn ended(kind: NoticeKind, session: SessionId, title: &str, text: &str) -> Self {
        let (title, text) = (titled(title), clipped(text, MAX_TEXT_CHARS));
        Self { kind, session, call: None, title, text, actions: Vec::new() }
    }

    /// The notice as JSON for the page's worker, with the actions that the user may use. It fits into one message.
    pub(super) fn content(mut self, may_approve: bool) -> Vec<u8> {
        self.actions.retain(|_| may_approve);
        loop {
            let content = serde_json::to_vec(&self).unwrap_or_default();
            if content.len() <= MAX_CONTENT_BYTES {
                return content;
            }
            self.text = clipped(&self.text, self.text.chars().count() / 2);
        }
    }
}

/// What a call would do, in full.
fn proposed(recorded: &dyn Recorded, fact: &Fact) -> Option<String> {
    let proposal = Proposal::of(recorded, fact)?;
    let changes = changed::squash(changed::changes_in(fact));
    if changes.is_empty() && proposal.sentence.is_whole && proposal.bulk().is_empty() {
        return Some(proposal.sentence.question);
    }
    let files = FileDiff::all(recorded, &changes);
    let diff: String = files.iter().map(lines).collect();
    Some(proposal.whole(&diff).trim_end().to_owned())
}

fn lines(file: &FileDiff) -> String {
    let line = |line: &haft_present::file_diff::DiffLine| {
        let sign = if line.is_added() {
            '+'
        } else if line.is_removed() {
            '-'
        } else {
            ' '
        };
        format!("{sign} {}\n", line.text())
    };
    let about = [&file.properties, &file.note].into_iter().flatten().map(|about| format!("{about}\n"));
    about.chain(file.lines().map(line)).collect()
}

fn is_short(text: &str) -> bool {
    text.chars().count() <= MAX_ALLOWED_CHARS && text.lines().count() <= MAX_ALLOWED_LINES
}

fn turn_end(entries: &[Arc<Entry>]) -> Option<String> {
    let outcome = entries.iter().rev().find_map(|entry| match &entry.fact {
        Fact::TurnEnded { outcome, .. } => Some(*outcome),
        _ => None,
    })?;
    let said = entries.iter().rev().find_map(|entry| match &entry.fact {
        Fact::Replied { parts, .. } => Some(text_of(parts)),
        _ => None,
    });
    match outcome {
        Outcome::Interrupted => None,
        Outcome::Finished => Some(said.filter(|said| !said.is_empty()).unwrap_or_else(|| "Done".to_owned())),
        other => Some(format!("Ended: {}", other.reason().unwrap_or_default())),
    }
}

fn text_of(parts: &[Part]) -> String {
    let texts = parts.iter().filter_map(|part| match part {
        Part::Text { text } => Some(safe::visible(text)),
        _ => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}

fn titled(title: &str) -> String {
    let title = clipped(&safe::visible_line(title), MAX_TITLE_CHARS);
    if title.is_empty() { "New session".to_owned() } else { title }
}

fn clipped(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}…", text[..end].trim_end()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // H-97
    #[test]
    fn a_long_text_is_cut_so_that_it_fits_into_one_message() {
        let notice = |text: &str| Notice {
            kind: NoticeKind::Approval,
            session: SessionId("20261127-101500-0123456789abcdef".into()),
            call: Some(CallId("c1".into())),
            title: titled(&"\u{1f600}".repeat(500)),
            text: clipped(text, MAX_TEXT_CHARS),
            actions: vec![Action::Allow, Action::Deny],
        };
        for text in ["x".repeat(9_000), "\u{1f600}".repeat(9_000), "\u{1}".repeat(9_000)] {
            let content = notice(&text).content(true);
            assert!(content.len() <= MAX_CONTENT_BYTES, "{}", content.len());
            let read: serde_json::Value = serde_json::from_slice(&content).unwrap();
            assert!(read["text"].as_str().unwrap().ends_with('…'), "{read}");
        }
        let read: serde_json::Value = serde_json::from_slice(&notice("x").content(false)).unwrap();
        assert_eq!(read["actions"], serde_json::json!([]));
    }
}
