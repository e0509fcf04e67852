//! [`Verdict`]: the result of a replay.
use super::moved::Moved;
use crate::failure::Failure;
use haft_core::{Outcome, Seq, SessionId, ToolResult};
use haft_present::safe;
use haft_terminal::Exit;
use serde_json::{Value, json};
use std::{
    io::{Write, stdout},
    path::{Path, PathBuf},
};

/// What a replay came to.
#[derive(Debug, Default)]
pub(super) struct Verdict {
    /// Replies so far.
    pub(super) rounds: usize,
    /// Calls that were compared.
    pub(super) calls: usize,
    /// The first call that gave something else.
    pub(super) difference: Option<Difference>,
    /// A call that could not be allowed: where its recorded result stands, its name, and why it was asked for.
    pub(super) refused: Option<(Option<Seq>, String, String)>,
    /// How the last turn of another model ended.
    pub(super) outcome: Option<Outcome>,
    pub(super) error: Option<String>,
    is_interrupted: bool,
}

/// Where the replay is not what was recorded.
#[derive(Debug)]
pub(super) struct Difference {
    seq: Seq,
    name: String,
    what: &'static str,
    recorded: String,
    replayed: String,
}

type Files = [(PathBuf, Option<String>)];

impl Difference {
    /// Paths in the copy are read as paths in the workspace.
    pub(super) fn between(
        seq: Seq,
        name: &str,
        (was, had_changed): (&ToolResult, &Files),
        (is, has_changed): (&ToolResult, &Files),
        moved: &Moved,
    ) -> Option<Self> {
        let (recorded, replayed) = (was.content.clone(), moved.back(&is.content));
        let found =
            |what, recorded, replayed| Some(Self { seq, name: name.to_owned(), what, recorded, replayed });
        if recorded != replayed || was.went_well() != is.went_well() {
            return found("result", recorded, replayed);
        }
        if had_changed != has_changed {
            return found("files", files(had_changed), files(has_changed));
        }
        None
    }

    pub(super) fn not_made(seq: Seq, name: &str) -> Self {
        let (recorded, replayed) = Default::default();
        Self { seq, name: name.to_owned(), what: "not made", recorded, replayed }
    }

    fn json(&self) -> Value {
        let Self { seq, name, what, recorded, replayed } = self;
        json!({"seq": seq, "name": name, "what": what, "recorded": recorded, "replayed": replayed})
    }

    fn told(&self) -> String {
        let Self { seq, name, what, recorded, replayed } = self;
        match *what {
            "not made" => format!("entry {seq}: the replay ended before the call of `{name}`"),
            "files" => {
                format!("entry {seq}: `{name}` left other files\nrecorded: {recorded}\nreplayed: {replayed}")
            }
            _ => format!("entry {seq}: `{name}` gave something else\n{}", first_line(recorded, replayed)),
        }
    }
}

fn files(changed: &Files) -> String {
    let told = changed.iter().map(|(path, hash)| {
        let hash = hash.as_ref().map_or("removed", |hash| &hash[..hash.len().min(12)]);
        format!("{} {hash}", path.display())
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

impl Verdict {
    pub(super) fn interrupted() -> Self {
        Self { is_interrupted: true, ..Self::default() }
    }

    /// Whether nothing more has to be looked at.
    pub(super) fn is_over(&self) -> bool {
        self.difference.is_some() || self.refused.is_some()
    }

    /// Says it, and gives the exit code.
    pub(super) fn print(self, session: &SessionId, json: bool, workspace: &Path) -> Result<Exit, Failure> {
        if let Some((seq, name, reason)) = self.refused {
            let place = seq.map_or(String::new(), |seq| format!("entry {seq}: "));
            return Err(Failure {
                exit: Exit::Refused,
                ..Failure::usage(format!("{place}`{name}` was not run again: {reason}"))
                    .hint("`--permission full` runs it, in a copy of the workspace; what lies outside of it is the real thing")
            });
        }
        if self.is_interrupted {
            return Ok(Exit::Interrupted);
        }
        let Self { rounds, calls, difference, outcome, error, .. } = self;
        if json {
            let difference = difference.as_ref().map(Difference::json);
            let line = json!({"session": session, "rounds": rounds, "calls": calls, "difference": difference,
                              "outcome": outcome, "error": error});
            writeln!(stdout(), "{}", safe::json(&line.to_string()))?;
        } else if let Some(difference) = &difference {
            writeln!(stdout(), "{}", safe::text(&difference.told()))?;
        } else {
            let (rounds, calls) = (counted(rounds, "round"), counted(calls, "call"));
            let place = safe::text(&workspace.to_string_lossy()).into_owned();
            writeln!(stdout(), "no difference: {calls} in {rounds}, in a copy of `{place}`")?;
        }
        let after = outcome.map_or(Exit::Success, Exit::from);
        Ok(if difference.is_some() { Exit::Failed } else { after })
    }
}

fn counted(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}
