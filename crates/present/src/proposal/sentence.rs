//! [`Sentence`]: the question whether to allow a call, and its answers.
use super::remote;
use crate::safe;
use haft_core::{Change, ChangeKind, Effect, Execution};
use std::path::Path;

/// Maximum characters of a command in the question; a longer one is only shown above it.
const MAX_COMMAND_CHARS: usize = 100;
/// Maximum number of names in a question; others are counted.
const MAX_NAMED_THINGS: usize = 3;

/// The first of the three answers. The second one says what it covers: [`Sentence::always`].
pub const YES: &str = "Yes";
/// The third answer.
pub const NO: &str = "No, and say what to do instead";

/// The question in one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sentence {
    /// The question, such as `Edit src/calc.py?`.
    pub question: String,
    /// Whether the sentence names everything that the call would do.
    pub names_all: bool,
    /// Whether, in addition, the call has no further arguments.
    pub is_whole: bool,
    /// What the second answer covers: `edits of src/calc.py`.
    again: String,
}

impl Sentence {
    /// `has_more`: the call has arguments that the effects do not show.
    pub(super) fn new(effects: &[Effect], changes: &[Change], workspace: &Path, has_more: bool) -> Self {
        let more = if has_more { ", whatever else it is called with" } else { "" };
        let again: Vec<String> = again(effects, workspace, more);
        let (what, names_all) = match changes {
            [] => what(effects, workspace),
            changes => (of_files(changes), true),
        };
        let mut letters = what.chars();
        let first = letters.next().map(|first| first.to_uppercase().to_string()).unwrap_or_default();
        Self {
            question: format!("{first}{}?", letters.as_str()),
            names_all,
            is_whole: names_all && !has_more,
            again: joined(&again),
        }
    }

    /// The second answer.
    pub fn always(&self) -> String {
        format!("Yes, and do not ask again for {} in this session", self.again)
    }
}

fn of_files(changes: &[Change]) -> String {
    let verb = |change: &Change| match change.kind() {
        ChangeKind::Created => "create",
        ChangeKind::Modified => "edit",
        ChangeKind::Deleted => "delete",
    };
    let first = changes.first().map_or("edit", verb);
    let verb = if changes.iter().all(|change| verb(change) == first) { first } else { "change" };
    let names: Vec<_> = changes.iter().map(|change| path(&change.path)).collect();
    match names.len() > MAX_NAMED_THINGS {
        true => format!("{verb} {} files", names.len()),
        false => format!("{verb} {}", joined(&names)),
    }
}

/// The effects in words, and whether all of them are named.
fn what(effects: &[Effect], workspace: &Path) -> (String, bool) {
    let named: Vec<Option<String>> = effects.iter().map(|effect| named(effect, workspace)).collect();
    let is_whole = named.len() <= MAX_NAMED_THINGS && named.iter().all(Option::is_some);
    let words: Vec<String> = named.into_iter().flatten().collect();
    match (is_whole && !words.is_empty(), effects.len()) {
        (true, _) => (joined(&words), true),
        (false, 1) => ("run this command".into(), false),
        (false, _) => ("do all of this".into(), false),
    }
}

/// An effect in words; `None` if it is too long for a sentence.
fn named(effect: &Effect, workspace: &Path) -> Option<String> {
    Some(match effect {
        Effect::Execute(Execution { command, .. }) if remote(command).is_some() => {
            let (server, tool) = remote(command).unwrap_or_default();
            format!("call {} of the MCP server {}", quoted(tool), quoted(server))
        }
        Effect::Execute(run) => format!("run {}", command(run)?),
        Effect::Network(target) => format!("reach {}", quoted(target)),
        Effect::Write(written) => format!("write {}", inside(written, workspace)),
        Effect::Read(read) => format!("read {}", inside(read, workspace)),
    })
}

fn again(effects: &[Effect], workspace: &Path, more: &str) -> Vec<String> {
    let runs: Vec<&Execution> = effects.iter().filter_map(execution).collect();
    let is_remote = |run: &&Execution| remote(&run.command).is_some();
    let run = match &runs[..] {
        [] => None,
        runs if runs.iter().any(is_remote) => Some("this tool, with any arguments".to_owned()),
        [run] => Some(command(run).unwrap_or_else(|| format!("this command{}", place(run))) + more),
        runs => Some(format!("these {} commands{more}", runs.len())),
    };
    let paths = |is: fn(&Effect) -> Option<&Path>| {
        effects.iter().filter_map(is).map(|path| inside(path, workspace)).collect::<Vec<_>>()
    };
    let written = paths(|effect| if let Effect::Write(path) = effect { Some(path) } else { None });
    let read = paths(|effect| if let Effect::Read(path) = effect { Some(path) } else { None });
    let targets = effects.iter().filter_map(|effect| match effect {
        Effect::Network(target) => Some(format!("reaching {}", quoted(target))),
        _ => None,
    });
    let files = |what: &str, paths: Vec<String>| match paths.len() {
        0 => None,
        1..=MAX_NAMED_THINGS => Some(format!("{what} {}", joined(&paths))),
        many => Some(format!("{what} these {many} files")),
    };
    run.into_iter().chain(files("edits of", written)).chain(files("reading", read)).chain(targets).collect()
}

fn execution(effect: &Effect) -> Option<&Execution> {
    if let Effect::Execute(run) = effect { Some(run) } else { None }
}

/// A command in words; `None` if it is too long for a sentence.
fn command(run: &Execution) -> Option<String> {
    let shown = safe::visible(&run.command);
    let fits = shown.chars().count() <= MAX_COMMAND_CHARS && !shown.contains('\n');
    fits.then(|| format!("`{shown}`{}", place(run)))
}

/// The folder in which the command runs, unless that is the workspace.
fn place(Execution { folder, .. }: &Execution) -> String {
    match folder.is_absolute() {
        _ if folder.as_os_str().is_empty() => String::new(),
        true => format!(" in {}, outside of the workspace", path(folder)),
        false => format!(" in {}", path(folder)),
    }
}

fn quoted(name: &str) -> String {
    format!("`{}`", safe::visible_line(name))
}

fn inside(whole: &Path, workspace: &Path) -> String {
    let inside = whole.strip_prefix(workspace).ok().filter(|inside| !inside.as_os_str().is_empty());
    path(inside.unwrap_or(whole))
}

fn path(path: &Path) -> String {
    safe::visible_line(&path.to_string_lossy())
}

/// Joins words: `a`, `a and b`, `a, b and c`.
fn joined(words: &[String]) -> String {
    match words {
        [before @ .., last] if !before.is_empty() => format!("{} and {last}", before.join(", ")),
        words => words.concat(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use haft_core::{FileState, Hash};

    fn change(path: &str, is_there: (bool, bool)) -> Change {
        let state = |is_there: bool| is_there.then(|| FileState::file(Hash(String::new()), 0o644));
        Change { path: path.into(), before: state(is_there.0), after: state(is_there.1), new_folders: 0 }
    }

    fn told(effects: &[Effect], changes: &[Change]) -> (String, String) {
        let sentence = Sentence::new(effects, changes, Path::new("/w"), false);
        (sentence.question, sentence.again)
    }

    #[test]
    fn a_question_is_a_sentence_and_an_answer_says_what_it_covers() {
        let table: [(&[Effect], &str, &str); 7] = [
            (&[Effect::execute("cargo test")], "Run `cargo test`?", "`cargo test`"),
            (&[Effect::execute_in("make", "sub")], "Run `make` in sub?", "`make` in sub"),
            (
                &[Effect::execute_in("make", "/x")],
                "Run `make` in /x, outside of the workspace?",
                "`make` in /x, outside of the workspace",
            ),
            (&[Effect::execute("a\nb")], "Run this command?", "this command"),
            (
                &[Effect::execute("git push origin main"), Effect::Network("origin".into())],
                "Run `git push origin main` and reach `origin`?",
                "`git push origin main` and reaching `origin`",
            ),
            (
                &[Effect::execute("mcp:mail send 12ab")],
                "Call `send` of the MCP server `mail`?",
                "this tool, with any arguments",
            ),
            (&[Effect::Read("/etc/passwd".into())], "Read /etc/passwd?", "reading /etc/passwd"),
        ];
        for (effects, question, again) in table {
            assert_eq!(told(effects, &[]), (question.to_owned(), again.to_owned()));
        }
    }

    #[test]
    fn files_are_named_as_long_as_they_are_few() {
        let [edited, created, deleted] = [(true, true), (false, true), (true, false)];
        let table = [
            (vec![("src/a.py", edited)], "Edit src/a.py?", "edits of src/a.py"),
            (vec![("a", created)], "Create a?", "edits of a"),
            (vec![("a", deleted), ("b", edited)], "Change a and b?", "edits of a and b"),
            (
                ["a", "b", "c", "d"].map(|name| (name, edited)).to_vec(),
                "Edit 4 files?",
                "edits of these 4 files",
            ),
        ];
        for (files, question, again) in table {
            let effects: Vec<Effect> =
                files.iter().map(|(name, _)| Effect::Write(Path::new("/w").join(name))).collect();
            let changes: Vec<Change> = files.iter().map(|(name, kind)| change(name, *kind)).collect();
            assert_eq!(told(&effects, &changes), (question.to_owned(), again.to_owned()));
        }
    }
}
