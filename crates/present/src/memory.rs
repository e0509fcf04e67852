//! [`typed`]: parses input about memory: `#TEXT` proposes a line for the notes of the workspace, `/memory` what the
//! journals show.
use crate::cursor::next;
use haft_core::{
    Command,
    memory::{MemoryChange, MemoryLine, Source, TOOL, clean},
};
use haft_engine::{Session, WorkspaceMemory};
use std::io;

/// Shown if the journals have nothing to propose.
pub const NOTHING: &str = "the sessions of this workspace show nothing to add to its notes, or to take out";

/// Shown if a typed line cannot be written.
pub const UNUSABLE: &str = "cannot propose the line: it is empty, or holds what looks like a secret";

/// The error if the memory of a workspace cannot be read.
pub fn unreadable(error: &io::Error) -> String {
    format!("cannot read the notes of the workspace: {error}")
}

/// The text of the line that a prompt proposes: a single line after a `#`. `None` for any other prompt, such as a
/// heading with several lines, or the number of an issue.
pub fn typed(prompt: &str) -> Option<&str> {
    let text = prompt.trim().strip_prefix('#')?.trim();
    let is_one = !text.contains('\n') && !text.starts_with(|c: char| c.is_ascii_digit() || c == '#');
    Some(text).filter(|text| is_one && !text.is_empty())
}

/// The command that proposes this line, which the user typed in `session`. `None` if the line cannot be written.
pub fn proposal_of(text: &str, session: &Session) -> Option<Command> {
    let source = Source { session: session.id().clone(), entry: next(session) };
    let line = MemoryLine { text: clean(text)?, sources: vec![source] };
    Some(command(&MemoryChange { add: vec![line], ..MemoryChange::default() }))
}

/// The command that proposes what the journals show; `None` if there is nothing to propose.
pub fn proposal(memory: &WorkspaceMemory) -> Option<Command> {
    let change = memory.change();
    (!change.is_empty()).then(|| command(&change))
}

fn command(change: &MemoryChange) -> Command {
    Command::ProposedCall { name: TOOL.to_owned(), arguments: change.arguments() }
}

/// Why lines are withdrawn, one line each.
pub fn reasons(change: &MemoryChange) -> Vec<String> {
    change.withdraw.iter().map(|(line, why)| format!("withdrawn: {}: {why}", line.text)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_behind_a_number_sign_is_for_the_notes() {
        let table = [
            ("# use pnpm", Some("use pnpm")),
            ("#use pnpm\n", Some("use pnpm")),
            ("#", None),
            ("#12 is open", None),
            ("## Task", None),
            ("# Task\nDo it.", None),
            ("use # pnpm", None),
        ];
        for (prompt, expected) in table {
            assert_eq!(typed(prompt), expected, "{prompt:?}");
        }
    }
}
