//! [`typed`]: what a person types of memory: `#TEXT` proposes a line for the notes of the workspace, `/memory` what the
//! journals show.
use crate::cursor::next;
use haft_core::{
    Command,
    memory::{MemoryChange, MemoryLine, Source, TOOL, clean},
};
use haft_engine::{Session, WorkspaceMemory};
use std::io;

/// Said where the journals show nothing new.
pub const NOTHING: &str = "the sessions of this workspace show nothing to add to its notes, or to take out";

/// Said where nothing of a typed line can be written.
pub const UNUSABLE: &str = "cannot propose the line: it is empty, or holds what looks like a secret";

/// Why the memory of a workspace cannot be shown.
pub fn unreadable(error: &io::Error) -> String {
    format!("cannot read the notes of the workspace: {error}")
}

/// The text of a line that a prompt proposes: one line behind a `#`. `None` for another prompt: a heading of several lines, or
/// the number of an issue.
pub fn typed(prompt: &str) -> Option<&str> {
    let text = prompt.trim().strip_prefix('#')?.trim();
    let is_one = !text.contains('\n') && !text.starts_with(|c: char| c.is_ascii_digit() || c == '#');
    Some(text).filter(|text| is_one && !text.is_empty())
}

/// The command that proposes this line, which the person has typed in `session`. `None` if nothing of it can be written.
pub fn proposal_of(text: &str, session: &Session) -> Option<Command> {
    let source = Source { session: session.id().clone(), entry: next(session) };
    let line = MemoryLine { text: clean(text)?, sources: vec![source] };
    Some(command(&MemoryChange { add: vec![line], ..MemoryChange::default() }))
}

/// The command that proposes what the journals show; `None` if that is nothing new.
pub fn proposal(memory: &WorkspaceMemory) -> Option<Command> {
    let change = memory.change();
    (!change.is_empty()).then(|| command(&change))
}

fn command(change: &MemoryChange) -> Command {
    Command::ProposedCall { name: TOOL.to_owned(), arguments: change.arguments() }
}

/// Why lines are to be taken out, one line each.
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
