//! [`MemoryLine`]: a line of `AGENTS.md` that Haft proposed, with its sources. The submodules propose and withdraw such
//! lines.
//!
//! A *source* is an entry of a session that supports the line. It follows the line in a Markdown comment, so that the
//! line can be checked: `- `make test` passes <!-- haft: 20261126T101500-ab12#40, 20261127T090000-cd34#12 -->`.
mod clean;
mod derive;
mod observe;

pub use clean::clean;
pub use derive::{Learned, learn};

use crate::{Entry, Seq, SessionId};
use serde_json::{Value, json};
use std::{fmt, str::FromStr, sync::Arc};

/// The name of the tool that changes memory lines.
pub const TOOL: &str = "memory";

/// The files with notes for agents in a folder. If several exist, only the first is read.
pub const NOTE_FILES: [&str; 2] = ["AGENTS.md", "CLAUDE.md"];

/// The section for new lines in a file without memory lines.
const HEADING: &str = "## Memory";
const OPEN: &str = " <!-- haft: ";
const CLOSE: &str = " -->";

/// An entry of a session, written as `SESSION#ENTRY`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Source {
    /// The session.
    pub session: SessionId,
    /// The entry of its journal.
    pub entry: Seq,
}

/// A memory line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemoryLine {
    /// Its text, in one line without the comment.
    pub text: String,
    /// The entries that support it, the oldest first.
    pub sources: Vec<Source>,
}

/// The journal of a session.
#[derive(Clone, Debug)]
pub struct SessionRecord {
    /// ID of the session.
    pub id: SessionId,
    /// Its entries, also those that were undone.
    pub entries: Vec<Arc<Entry>>,
}

/// The proposed changes of memory lines in a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MemoryChange {
    /// Lines to add.
    pub add: Vec<MemoryLine>,
    /// Lines to remove, each with the reason: a sentence without its full stop.
    pub withdraw: Vec<(MemoryLine, String)>,
}

impl MemoryChange {
    /// Whether nothing is proposed.
    pub fn is_empty(&self) -> bool {
        self.add.is_empty() && self.withdraw.is_empty()
    }

    /// The arguments of the call of [`TOOL`] that makes the change: JSON of an object.
    pub fn arguments(&self) -> Value {
        let sources = |line: &MemoryLine| line.sources.iter().map(Source::to_string).collect::<Vec<_>>();
        let add = self.add.iter().map(|line| json!({"text": line.text, "sources": sources(line)}));
        let withdraw = self.withdraw.iter().map(|(line, _)| json!(line.text));
        json!({"add": add.collect::<Vec<_>>(), "withdraw": withdraw.collect::<Vec<_>>()})
    }

    /// Returns `file` with the change made.
    pub fn edited(&self, file: &str) -> String {
        let removed: Vec<&str> = self.withdraw.iter().map(|(line, _)| line.text.as_str()).collect();
        edited(file, &self.add, &removed)
    }
}

/// The memory lines in the text of a file, in its order.
pub fn lines(file: &str) -> Vec<MemoryLine> {
    file.lines().filter_map(MemoryLine::read).collect()
}

/// Returns `file` without the memory lines whose text is in `remove`, and with the lines of `add` that it does not
/// have.
pub fn edited(file: &str, add: &[MemoryLine], remove: &[&str]) -> String {
    let is_removed =
        |line: &str| MemoryLine::read(line).is_some_and(|line| remove.contains(&line.text.as_str()));
    let mut kept: Vec<&str> = file.lines().filter(|line| !is_removed(line)).collect();
    let known = lines(&kept.join("\n"));
    let is_new = |line: &&MemoryLine| !known.iter().any(|known| known.text == line.text);
    let new: Vec<String> = add.iter().filter(is_new).map(MemoryLine::to_string).collect();
    let has_heading = kept.iter().rev().find(|line| !line.is_empty()) == Some(&HEADING);
    if known.is_empty() && new.is_empty() && has_heading && !remove.is_empty() {
        // Remove the heading, too, if the section has no lines left.
        let end = kept.iter().rposition(|line| !line.is_empty() && *line != HEADING);
        kept.truncate(end.map_or(0, |end| end + 1));
    }
    let last = kept.iter().rposition(|line| MemoryLine::read(line).is_some());
    let place = match (last, kept.iter().position(|line| *line == HEADING)) {
        (Some(last), _) => last + 1,
        // The file already has such a section, with lines of the user.
        (None, Some(heading)) if !has_heading => {
            let is_next = |line: &&str| ["# ", "## "].iter().any(|sign| line.starts_with(sign));
            let behind = &kept[heading + 1..];
            let section = &behind[..behind.iter().position(is_next).unwrap_or(behind.len())];
            let filled = section.iter().rposition(|line| !line.is_empty()).map_or(0, |last| last + 1);
            heading + 1 + filled
        }
        (None, _) => kept.len(),
    };
    let has_heading = has_heading || kept.contains(&HEADING);
    let mut section = Vec::new();
    if last.is_none() && !new.is_empty() && !has_heading {
        section.extend((!kept.is_empty()).then(String::new));
        section.extend([HEADING.to_owned(), String::new()]);
    }
    let before = kept[..place].iter().map(|line| (*line).to_owned());
    let after = kept[place..].iter().map(|line| (*line).to_owned());
    let all: Vec<String> = before.chain(section).chain(new).chain(after).collect();
    let end = if file.contains("\r\n") { "\r\n" } else { "\n" };
    all.iter().map(|line| format!("{line}{end}")).collect()
}

impl MemoryLine {
    /// Parses a line of a file; `None` if it is not a memory line.
    fn read(line: &str) -> Option<Self> {
        let (text, sources) = line.trim_end().strip_suffix(CLOSE)?.split_once(OPEN)?;
        let text = text.trim_start().strip_prefix("- ")?.trim().to_owned();
        let sources = sources.split(", ").map(str::parse).collect::<Result<_, _>>().ok()?;
        Some(Self { text, sources })
    }
}

impl fmt::Display for MemoryLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sources: Vec<String> = self.sources.iter().map(Source::to_string).collect();
        write!(f, "- {}{OPEN}{}{CLOSE}", self.text, sources.join(", "))
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}#{}", self.session, self.entry)
    }
}

/// The error for a word that is not a valid source.
#[derive(Debug, thiserror::Error)]
#[error("`{0}` is no source: expected `SESSION#ENTRY`")]
pub struct NoSource(String);

impl FromStr for Source {
    type Err = NoSource;

    fn from_str(text: &str) -> Result<Self, NoSource> {
        let is_name = |name: &str| {
            !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c))
        };
        let parts = text.split_once('#').filter(|(session, _)| is_name(session));
        let source = parts.and_then(|(session, entry)| {
            Some(Self { session: SessionId(session.to_owned()), entry: Seq(entry.parse().ok()?) })
        });
        source.ok_or_else(|| NoSource(text.escape_debug().to_string()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(text: &str) -> MemoryLine {
        MemoryLine { text: text.into(), sources: vec!["s-1#4".parse().unwrap(), "s-2#9".parse().unwrap()] }
    }

    #[test]
    fn lines_are_added_below_the_others_and_taken_out_alone() {
        let a = "- a <!-- haft: s-1#4, s-2#9 -->\n";
        let b = "- b <!-- haft: s-1#4, s-2#9 -->\n";
        let table = [
            ("", vec!["a"], vec![], format!("## Memory\n\n{a}")),
            ("# Notes\n", vec!["a", "b"], vec![], format!("# Notes\n\n## Memory\n\n{a}{b}")),
            (
                "## Memory\n\n- mine\n\n## More\n",
                vec!["a"],
                vec![],
                format!("## Memory\n\n- mine\n{a}\n## More\n"),
            ),
            ("# N\n\n## Memory\n\n- mine\n", vec!["a"], vec![], format!("# N\n\n## Memory\n\n- mine\n{a}")),
            ("no line feed", vec!["a"], vec![], format!("no line feed\n\n## Memory\n\n{a}")),
            (
                &format!("## Memory\n\n{a}\n## More\n"),
                vec!["b"],
                vec![],
                format!("## Memory\n\n{a}{b}\n## More\n"),
            ),
            (&format!("x\n{a}y\n{b}"), vec!["a"], vec!["b"], format!("x\n{a}y\n")),
            (&format!("x\n\n## Memory\n\n{a}"), vec![], vec!["a"], "x\n".to_owned()),
            ("- a\n- a <!-- else -->\n", vec![], vec!["a"], "- a\n- a <!-- else -->\n".to_owned()),
        ];
        for (file, add, remove, expected) in table {
            let add: Vec<MemoryLine> = add.into_iter().map(line).collect();
            assert_eq!(edited(file, &add, &remove), expected, "{file:?}");
        }
    }

    #[test]
    fn a_line_is_read_as_it_was_written() {
        assert_eq!(lines(&format!("# x\n{}\n- y\n", line("`make` passes"))), [line("`make` passes")]);
        for other in
            ["- a <!-- haft: -->", "a <!-- haft: s#1 -->", "- a <!-- haft: s#x -->", "- a <!-- haft: s#1"]
        {
            assert_eq!(lines(other), [], "{other}");
        }
    }
}
