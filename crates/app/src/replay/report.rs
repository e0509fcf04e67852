//! [`ReplayReport`]: the result of a replay.
use super::moved::Moved;
use haft_call::{without_diagnostics, without_link_note};
use haft_core::{FileKind, FileState, Outcome, Seq, SessionId, Shown, ToolResult};
use haft_present::{counted, safe};
use serde::Serialize;
use std::{fmt, mem::discriminant, path::PathBuf};

/// The result of a replay.
#[derive(Debug, Serialize)]
pub struct ReplayReport {
    /// ID of the session that was replayed.
    pub session: SessionId,
    /// Number of replies so far.
    pub rounds: usize,
    /// Number of calls that were compared.
    pub calls: usize,
    /// Number of these calls that ran tests and were compared by their outcome.
    #[serde(skip)]
    pub tests: usize,
    /// Calls that are not compared: fetches, and commands that could reach the network, write outside of the workspace or
    /// read its repository there, and give another result without that.
    pub not_again: usize,
    /// The first call with a different result.
    pub difference: Option<Difference>,
    /// How the last turn of another model ended.
    pub outcome: Option<Outcome>,
    /// The error, if that turn failed.
    pub error: Option<String>,
    /// The call that could not be allowed, which ended the replay.
    #[serde(skip)]
    pub refused: Option<Refusal>,
}

/// Says how many calls were not run again, and why; `None` if all were.
#[must_use]
pub fn not_made_again(calls: usize) -> Option<String> {
    let calls = (calls > 0).then(|| counted(calls, "call was", "calls were"))?;
    Some(format!(
        "{calls} not made again: a fetch, or a command that gives another result without the network and without the \
         folders outside of the workspace that it could change, or its repository there"
    ))
}

impl ReplayReport {
    pub(super) const fn of(session: SessionId) -> Self {
        Self {
            session,
            rounds: 0,
            calls: 0,
            tests: 0,
            not_again: 0,
            difference: None,
            outcome: None,
            error: None,
            refused: None,
        }
    }

    /// Whether the replay is over, because of a difference or a refusal.
    pub(super) fn is_over(&self) -> bool {
        self.difference.is_some() || self.refused.is_some()
    }
}

/// A call that the replay could not allow.
#[derive(Clone, Debug)]
pub struct Refusal {
    /// The entry of its recorded result.
    pub seq: Option<Seq>,
    /// The tool.
    pub name: String,
    /// Why an approval would be asked for.
    pub reason: String,
}

/// A difference between the replay and the recording.
#[derive(Debug, Serialize)]
pub struct Difference {
    /// The session of the subagent with the difference; `None` for the session itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subagent: Option<SessionId>,
    /// The entry of the recorded result.
    pub seq: Seq,
    /// The tool.
    pub name: String,
    /// What differs.
    pub what: Differs,
    /// The recorded value.
    pub recorded: String,
    /// The value in the replay.
    pub replayed: String,
}

/// What differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Differs {
    /// The tool or the arguments of the call.
    Call,
    /// The result.
    Result,
    /// What users see in place of the result.
    Shown,
    /// The files that the call left.
    Files,
    /// The call was not made.
    #[serde(rename = "not made")]
    NotMade,
}

/// The state of each path after a call; `None` if nothing is there.
pub(super) type Files = [(PathBuf, Option<FileOutcome>)];

/// The state of a file after a call, without what depends on the machine: the other permission bits follow the umask.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FileOutcome {
    hash: String,
    kind: FileKind,
    /// Whether its owner may run it, and whether it runs with the rights of its owner or group.
    bits: u32,
}

/// Mode bits of a file that are compared: setuid, setgid, and executable by its owner.
const COMPARED_BITS: u32 = 0o6_100;

impl From<&FileState> for FileOutcome {
    fn from(state: &FileState) -> Self {
        let bits = if state.kind() == FileKind::File { state.permissions() & COMPARED_BITS } else { 0 };
        Self { hash: state.hash.0.clone(), kind: state.kind(), bits }
    }
}

impl fmt::Display for FileOutcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.kind {
            FileKind::File => "",
            FileKind::Link => "link ",
            FileKind::Folder => return f.write_str("folder"),
        };
        write!(f, "{kind}{}", &self.hash[..self.hash.len().min(12)])?;
        if self.bits != 0 { write!(f, " with the permissions {:04o}", self.bits) } else { Ok(()) }
    }
}

impl Difference {
    /// Compares two results. Paths in the copy are read as paths in the workspace.
    pub(super) fn between(
        seq: Seq,
        name: &str,
        (was, had_changed): (&ToolResult, &Files),
        (is, has_changed): (&ToolResult, &Files),
        moved: &Moved,
    ) -> Option<Self> {
        let (recorded, replayed) = (was.content.clone(), moved.back(&is.content));
        let found = |what, recorded, replayed| {
            Some(Self { subagent: None, seq, name: name.to_owned(), what, recorded, replayed })
        };
        let told = |content: &str| without_link_note(&without_diagnostics(content));
        let is_same = told(&recorded) == told(&replayed);
        let kind = |result: &ToolResult| result.report().as_ref().map(discriminant);
        if !is_same || was.went_well() != is.went_well() || kind(was) != kind(is) {
            return found(Differs::Result, recorded, replayed);
        }
        let shown = |shown: &Shown| match shown {
            Shown::Text(text) => Shown::Text(moved.back(text)),
            Shown::Message(text) => Shown::Message(moved.back(text)),
            Shown::Preview | Shown::Nothing => shown.clone(),
        };
        if was.shown != shown(&is.shown) {
            return found(Differs::Shown, seen(&was.shown), seen(&shown(&is.shown)));
        }
        if had_changed != has_changed {
            return found(Differs::Files, files(had_changed), files(has_changed));
        }
        None
    }

    /// A difference: another call ran.
    pub(super) fn ran(seq: Seq, name: &str, recorded: String, replayed: String) -> Self {
        Self { subagent: None, seq, name: name.to_owned(), what: Differs::Call, recorded, replayed }
    }

    pub(super) fn not_made(seq: Seq, name: &str) -> Self {
        let (recorded, replayed) = Default::default();
        Self { subagent: None, seq, name: name.to_owned(), what: Differs::NotMade, recorded, replayed }
    }

    /// Marks the difference as one in the session of a subagent.
    pub(super) fn of_subagent(self, session: &SessionId) -> Self {
        Self { subagent: Some(self.subagent.unwrap_or_else(|| session.clone())), ..self }
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { subagent, seq, name, what, recorded, replayed } = self;
        if let Some(session) = subagent {
            write!(f, "session `{session}` of a subagent, ")?;
        }
        match what {
            Differs::NotMade => write!(f, "entry {seq}: the replay ended before the call of `{name}`"),
            Differs::Files => {
                write!(
                    f,
                    "entry {seq}: `{name}` left other files\nrecorded: {recorded}\nreplayed: {replayed}"
                )
            }
            Differs::Call => {
                write!(
                    f,
                    "entry {seq}: `{name}` ran with other arguments\n{}",
                    first_line(recorded, replayed)
                )
            }
            Differs::Result => {
                write!(f, "entry {seq}: `{name}` gave something else\n{}", first_line(recorded, replayed))
            }
            Differs::Shown => {
                write!(f, "entry {seq}: `{name}` showed something else\n{}", first_line(recorded, replayed))
            }
        }
    }
}

/// What users see, as text.
fn seen(shown: &Shown) -> String {
    match shown {
        Shown::Text(text) | Shown::Message(text) => text.clone(),
        Shown::Preview => "(the beginning of the result)".to_owned(),
        Shown::Nothing => "(nothing)".to_owned(),
    }
}

fn files(changed: &Files) -> String {
    let told = changed.iter().map(|(path, left)| {
        let left = left.as_ref().map_or("removed".to_owned(), FileOutcome::to_string);
        format!("{} {left}", path.display())
    });
    let told = told.collect::<Vec<_>>().join(", ");
    if told.is_empty() { "none".to_owned() } else { told }
}

/// The first line in which two texts differ.
fn first_line(recorded: &str, replayed: &str) -> String {
    let (mut old, mut new) = (recorded.lines(), replayed.lines());
    for number in 1.. {
        match (old.next(), new.next()) {
            (None, None) => break,
            (old, new) if old != new => {
                let shown = |line: Option<&str>| {
                    line.map_or("(no line)".to_owned(), |line| safe::text(line).into_owned())
                };
                return format!("line {number}\n- {}\n+ {}", shown(old), shown(new));
            }
            _ => {}
        }
    }
    "the text is the same, and one went well while the other did not".to_owned()
}
