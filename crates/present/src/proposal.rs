//! [`Proposal`]: what a call that asks would do, with everything that the user must see before allowing it.
pub mod sentence;

use crate::{diff, safe};
use haft_core::{
    BulkFolder, CallId, Change, ChangeKind, DiagnosticsChange, Effect, Execution, Fact, FileKind, FileState,
    Hash, SessionOpened, ToolCall,
};
use haft_engine::{Recorded, tool_call_for};
use sentence::Sentence;
use serde_json::{Map, Value};
use std::path::Path;

/// Everything that a question about a call shows, except the diff of its changes. Control characters are made visible:
/// see [`safe::visible`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proposal {
    /// Name of the tool.
    pub tool: String,
    /// Why the call asks.
    pub reason: String,
    /// What the answer "always in this session" would cover.
    pub always: String,
    /// The question and its answers.
    pub sentence: Sentence,
    /// Why the call asks, if that is more than that its effects need approval.
    pub why: Option<String>,
    /// The effects: what the call does, and to what.
    effects: Vec<(String, String)>,
    /// Arguments that the effects do not show.
    arguments: Vec<Argument>,
    /// Whether the changes to files are known, and shown as a diff.
    has_changes: bool,
    /// Changes below folders that Git ignores, one line each.
    bulk: Vec<String>,
    /// Changes of the errors and warnings of the workspace: a sum, then one line each.
    diagnostics: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Argument {
    name: String,
    /// The value as the user sees it.
    shown: String,
    /// The texts in the value, one or more lines each; `None` if it contains anything else, or a list of words such as
    /// a command's needs.
    text: Option<String>,
    /// Whether it is the whole content of a file after the changes.
    is_content: bool,
}

/// A short form of a proposal, for places with little room.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Brief {
    /// Text to show.
    pub text: String,
    /// Whether the text is complete.
    pub is_whole: bool,
}

/// Maximum characters of a reason, which is a summary: the effects above it are complete.
const MAX_REASON_CHARS: usize = 400;

/// Maximum bytes of an argument beside a diff that does not show it; only the size of a longer one is shown.
const MAX_BYTES_BESIDE_DIFF: usize = 400;
/// The usual name of the argument that holds a command.
const COMMAND_ARGUMENT: &str = "command";
/// Maximum bytes of a value. At first, only the two ends of a longer one are shown, since it would push everything else
/// off the screen.
const MAX_VALUE_BYTES: usize = 8_000;
/// Maximum errors and warnings in a question.
const MAX_DIAGNOSTICS: usize = 6;
/// Maximum bytes of an argument that is searched in a diff.
const MAX_SEARCHED_BYTES: usize = 64 << 10;

/// Returns the text that `change` would leave in a file, for the user to edit. `None` if the change deletes the file,
/// or if the content before or after is not text.
pub fn proposed_text(session: &dyn Recorded, change: &Change) -> Option<String> {
    let text = |state: &FileState| {
        let content = (state.kind() == FileKind::File).then(|| session.content(&state.hash).ok())??;
        diff::text(content)
    };
    change.before.as_ref().map_or(Some(String::new()), text)?;
    text(change.after.as_ref()?)
}

impl Proposal {
    /// The proposal of a fact that asks for an approval; `None` for other facts.
    pub fn of(session: &dyn Recorded, fact: &Fact) -> Option<Self> {
        let Fact::ApprovalAsked { call, reason, effects, changes, bulk, runs, diagnostics } = fact else {
            return None;
        };
        let made = runs.as_deref().cloned().or_else(|| tool_call_for(session, call));
        let made = made.unwrap_or_else(|| unknown(call));
        let entries = session.entries();
        let opened = SessionOpened::of(&entries);
        let workspace = opened.map_or(Path::new("/"), |opened| &opened.workspace);
        Some(Self {
            bulk: bulk.iter().map(in_bulk).collect(),
            diagnostics: diagnostics.as_deref().map(in_diagnostics).unwrap_or_default(),
            ..Self::new(&made, reason, effects, changes, workspace)
        })
    }

    fn new(made: &ToolCall, reason: &str, effects: &[Effect], changes: &[Change], workspace: &Path) -> Self {
        let known = effects.iter().filter_map(value_of);
        let is_shown =
            |value: &Value| value.as_str().is_some_and(|text| known.clone().any(|known| known == text));
        let arguments = made.arguments.as_object().into_iter().flat_map(Map::iter);
        let arguments = arguments.filter(|(_, value)| !is_shown(value));
        let argument = |(name, value): (&String, &Value)| {
            let is_content = is_content(value, changes);
            Argument { is_content, ..Argument::new(name, value) }
        };
        let arguments: Vec<Argument> = arguments.map(argument).collect();
        let effects_in_words = match changes {
            [] => effects.iter().map(|effect| in_words(effect, workspace)).collect(),
            changes => changes.iter().map(changed).collect(),
        };
        let sentence = Sentence::new(effects, changes, workspace, !arguments.is_empty());
        Self {
            tool: safe::visible_line(&made.name),
            sentence,
            why: {
                let why = unusual(reason, effects, workspace).map(|why| clipped(&safe::visible_line(why)));
                let whys: Vec<String> =
                    why.into_iter().chain(live(made, effects).map(str::to_owned)).collect();
                Some(whys.join("; ")).filter(|why| !why.is_empty())
            },
            reason: clipped(&safe::visible_line(reason)),
            always: covers(effects, &arguments),
            effects: effects_in_words,
            arguments,
            has_changes: !changes.is_empty(),
            bulk: Vec::new(),
            diagnostics: Vec::new(),
        }
    }

    /// The complete text: effects, arguments, and `diff`, the changes of files.
    pub fn whole(&self, diff: &str) -> String {
        format!("{}{}{diff}{}", self.head(), self.called_with_all(diff), self.below_diff())
    }

    /// The short form, for little room.
    pub fn brief(&self, diff: &str) -> Brief {
        let (head, called) = (self.brief_head(), self.called_with(diff));
        let head = if self.has_changes { Brief::default() } else { head };
        Brief {
            text: format!("{}{}{diff}{}", head.text, called.text, self.below_diff()),
            is_whole: head.is_whole && called.is_whole,
        }
    }

    /// The effects of the call.
    pub fn head(&self) -> String {
        let effects = self.effects.iter().map(|(what, value)| line(what, value));
        std::iter::once(format!("{} would\n", self.tool)).chain(effects).collect()
    }

    /// The head of the short form, with the two ends of long values.
    pub fn brief_head(&self) -> Brief {
        let effects = self.effects.iter().map(|(what, value)| line(what, &ends(value)));
        let text = std::iter::once(format!("{} would\n", self.tool)).chain(effects).collect();
        Brief { text, is_whole: self.effects.iter().all(|(_, value)| value.len() <= MAX_VALUE_BYTES) }
    }

    /// The arguments that `diff` does not show.
    pub fn called_with_all(&self, diff: &str) -> String {
        titled(self.unseen_in(diff).map(|argument| line(&argument.name, &argument.shown)).collect())
    }

    /// The arguments; only the two ends of long values are shown, and with a diff only their length, except for
    /// commands.
    pub fn called_with(&self, diff: &str) -> Brief {
        let is_counted = |argument: &Argument| {
            self.has_changes
                && argument.name != COMMAND_ARGUMENT
                && argument.shown.len() > MAX_BYTES_BESIDE_DIFF
        };
        let lines = self.unseen_in(diff).map(|argument| match is_counted(argument) {
            true => {
                let length = argument.shown.chars().count();
                line(&argument.name, &format!("{length} characters; the changes show what comes of them"))
            }
            false => line(&argument.name, &ends(&argument.shown)),
        });
        let is_whole = |argument: &Argument| !is_counted(argument) && argument.shown.len() <= MAX_VALUE_BYTES;
        Brief { text: titled(lines.collect()), is_whole: self.unseen_in(diff).all(is_whole) }
    }

    /// Changes below folders that Git ignores, one line each. Undo cannot restore them.
    pub fn bulk(&self) -> &[String] {
        &self.bulk
    }

    /// The errors and warnings that are added to and removed from the workspace: a sum, then one line each. Empty if
    /// unknown.
    pub fn diagnostics(&self) -> &[String] {
        &self.diagnostics
    }

    /// The text below the diff: [`Proposal::bulk`] and [`Proposal::diagnostics`] as text.
    pub fn below_diff(&self) -> String {
        let lines = self.bulk.iter().map(|folder| format!("  {folder}\n"));
        let title =
            (!self.bulk.is_empty()).then(|| "ignored by Git, and not taken back by an undo\n".to_owned());
        let diagnostics = self.diagnostics.iter().enumerate();
        let diagnostics =
            diagnostics.map(|(place, line)| format!("{}{line}\n", if place == 0 { "" } else { "  " }));
        title.into_iter().chain(lines).chain(diagnostics).collect()
    }

    fn unseen_in(&self, diff: &str) -> impl Iterator<Item = &Argument> {
        self.arguments.iter().filter(move |argument| !self.has_changes || !argument.is_seen_in(diff))
    }

    /// The effects in one line, uncut.
    pub fn title(&self) -> String {
        let effects = self.effects.iter().map(|(what, value)| match value.is_empty() {
            true => what.clone(),
            false => format!("{what}: {}", value.replace('\n', " ")),
        });
        effects.collect::<Vec<_>>().join("; ")
    }

    /// What the answer "always" covers, in one line.
    pub fn always_line(&self) -> String {
        format!("always: {}", self.always)
    }
}

/// Whether `value` is the content of a file after `changes`, so that the diff shows it.
fn is_content(value: &Value, changes: &[Change]) -> bool {
    let Some(Ok(hash)) = value.as_str().map(|text| Hash::of(text.as_bytes())) else { return false };
    changes.iter().filter_map(|change| change.after.as_ref()).any(|after| after.hash == hash)
}

impl Default for Brief {
    fn default() -> Self {
        Self { text: String::new(), is_whole: true }
    }
}

impl Argument {
    fn new(name: &str, value: &Value) -> Self {
        let is_word = |value: &Value| value.is_string();
        let is_words = value.as_array().is_some_and(|list| !list.is_empty() && list.iter().all(is_word));
        let text = if is_words { None } else { texts(value) };
        Self { name: safe::visible_line(name), shown: shown(value), text, is_content: false }
    }

    /// Whether the diff shows the argument: a new content by its differences, unless it is not text or too long; other
    /// texts by all of their lines.
    fn is_seen_in(&self, diff: &str) -> bool {
        let is_shown =
            diff.contains("\n@@ ") && !diff.contains(diff::NO_TEXT) && !diff.ends_with(" more lines\n");
        if self.is_content && is_shown {
            return true;
        }
        let text = self.text.as_deref().filter(|text| text.len() <= MAX_SEARCHED_BYTES);
        text.is_some_and(|text| text.lines().all(|line| diff.contains(&safe::visible_lines(line))))
    }
}

/// The text, or all texts of a list or an object, one per line; `None` if it contains anything else.
fn texts(value: &Value) -> Option<String> {
    let joined = |texts: Option<Vec<String>>| texts.map(|texts| texts.join("\n"));
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Array(list) => joined(list.iter().map(texts).collect()),
        Value::Object(object) => joined(object.values().map(texts).collect()),
        Value::Null | Value::Bool(_) | Value::Number(_) => None,
    }
}

fn titled(arguments: String) -> String {
    if arguments.is_empty() { arguments } else { format!("called with\n{arguments}") }
}

/// The value, without the middle if it is long.
fn ends(value: &str) -> String {
    if value.len() <= MAX_VALUE_BYTES {
        return value.to_owned();
    }
    let head = value.floor_char_boundary(MAX_VALUE_BYTES * 3 / 4);
    let tail = value.ceil_char_boundary(value.len() - MAX_VALUE_BYTES / 4);
    let left_out = value[head..tail].chars().count();
    format!("{}\n… {left_out} characters are left out here …\n{}", &value[..head], &value[tail..])
}

/// Formats a value after its name, or below it if the value has several lines.
fn line(what: &str, value: &str) -> String {
    if value.is_empty() {
        return format!("  {what}\n");
    }
    let mut lines = value.split('\n');
    match (lines.next(), lines.next()) {
        (Some(only), None) => format!("  {what}: {only}\n"),
        _ => {
            let lines: String = value.split('\n').map(|line| format!("    {line}\n")).collect();
            format!("  {what}:\n{lines}")
        }
    }
}

/// The text that an effect shows completely, so that it is not repeated as an argument.
fn value_of(effect: &Effect) -> Option<&str> {
    match effect {
        Effect::Execute(Execution { command, .. }) => Some(command),
        Effect::Network(target) => Some(target),
        Effect::Read(_) | Effect::Write(_) => None,
    }
}

fn in_words(effect: &Effect, workspace: &Path) -> (String, String) {
    let called = |path: &Path| {
        let inside = path.strip_prefix(workspace).ok().filter(|inside| !inside.as_os_str().is_empty());
        safe::visible_line(&inside.unwrap_or(path).to_string_lossy())
    };
    match effect {
        Effect::Execute(Execution { command, .. }) if remote(command).is_some() => {
            let (server, tool) = remote(command).unwrap_or_default();
            (
                format!(
                    "call `{}` of the MCP server `{}`",
                    safe::visible_line(tool),
                    safe::visible_line(server)
                ),
                String::new(),
            )
        }
        Effect::Execute(Execution { command, folder, network, .. }) => {
            let with = if *network { "run with network" } else { "run" };
            let place = match (folder.as_os_str().is_empty(), folder.is_absolute()) {
                (true, _) => with.to_owned(),
                (false, true) => format!("{with} outside of the workspace, in `{}`", called(folder)),
                (false, false) => format!("{with} in the folder `{}`", called(folder)),
            };
            (place, safe::visible(command))
        }
        Effect::Network(target) => ("reach over the network".into(), safe::visible_line(target)),
        Effect::Write(path) => ("write".into(), called(path)),
        Effect::Read(path) => ("read".into(), called(path)),
    }
}

/// Formats `node_modules: 12,410 files, 312.0 MB`.
fn in_bulk(folder: &BulkFolder) -> String {
    let files = |number: u64| format!("{} file{}", grouped(number), if number == 1 { "" } else { "s" });
    let megabytes = folder.bytes as f64 / f64::from(1 << 20);
    let written = (folder.written > 0).then(|| format!("{}, {megabytes:.1} MB", files(folder.written)));
    let removed = (folder.removed > 0).then(|| format!("{} removed", files(folder.removed)));
    let parts: Vec<String> = written.into_iter().chain(removed).collect();
    format!("{}: {}", safe::visible_line(&folder.path.to_string_lossy()), parts.join("; "))
}

/// Formats `pyright: adds 2 errors, removes 1 error`, followed by the lines.
fn in_diagnostics(change: &DiagnosticsChange) -> Vec<String> {
    let sum = format!("{}: {}", change.by.join(", "), change.summary());
    let lines = change.lines(MAX_DIAGNOSTICS);
    std::iter::once(sum).chain(lines).map(|line| clipped(&safe::visible_line(&line))).collect()
}

/// Formats a number as `12,410`.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let groups = digits.as_bytes().rchunks(3).rev().map(String::from_utf8_lossy);
    groups.collect::<Vec<_>>().join(",")
}

fn changed(change: &Change) -> (String, String) {
    let what = match change.kind() {
        ChangeKind::Created => "create",
        ChangeKind::Modified => "change",
        ChangeKind::Deleted => "delete",
    };
    (what.into(), safe::visible_line(&change.path.to_string_lossy()))
}

/// The server and the tool of an MCP call: `mcp:SERVER TOOL PRINT`.
fn remote(command: &str) -> Option<(&str, &str)> {
    command
        .strip_prefix("mcp:")?
        .split_once(' ')
        .map(|(server, rest)| (server, rest.split(' ').next().unwrap_or_default()))
}

fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => safe::visible(text),
        other => safe::visible_line(&other.to_string()),
    }
}

fn clipped(reason: &str) -> String {
    match reason.char_indices().nth(MAX_REASON_CHARS) {
        Some((at, _)) => format!("{}…", &reason[..at]),
        None => reason.to_owned(),
    }
}

/// A sentence that explains what it means for a command to run live.
fn live(made: &ToolCall, effects: &[Effect]) -> Option<&'static str> {
    let is_live = made.arguments["needs"].as_array()?.iter().any(|need| need == "live");
    let lasts = |effect: &Effect| matches!(effect, Effect::Execute(Execution { lasting: true, .. }));
    is_live.then(|| match effects.iter().any(lasts) {
        true => "live: it works on the real files; what it changes is not recorded, and no undo takes it back",
        false => {
            "live: it runs outside of the sandbox, as if you had started it; what it does is not recorded, and no undo \
             takes it back"
        }
    })
}

/// The reason, if it says more than that `effects` need approval.
fn unusual<'a>(reason: &'a str, effects: &[Effect], workspace: &Path) -> Option<&'a str> {
    let inside = |effect: &Effect| match effect {
        Effect::Write(path) => Effect::Write(path.strip_prefix(workspace).unwrap_or(path).to_owned()),
        Effect::Read(path) => Effect::Read(path.strip_prefix(workspace).unwrap_or(path).to_owned()),
        effect => effect.clone(),
    };
    let usual = effects.iter().flat_map(|effect| [effect.clone(), inside(effect)]);
    let rest =
        usual.fold(reason.to_owned(), |rest, effect| rest.replace(&format!("`{effect}` needs approval"), ""));
    (!rest.trim_matches([';', ' ']).is_empty()).then_some(reason)
}

fn unknown(call: &CallId) -> ToolCall {
    ToolCall::new(call.0.clone(), "a call", Value::Null)
}

/// What an answer for the whole session would allow.
fn covers(effects: &[Effect], arguments: &[Argument]) -> String {
    let count = |is: fn(&Effect) -> bool| effects.iter().filter(|effect| is(effect)).count();
    let is_remote =
        |effect: &Effect| matches!(effect, Effect::Execute(run) if remote(&run.command).is_some());
    let mut parts = Vec::new();
    match count(|effect| matches!(effect, Effect::Execute(_))) {
        0 => {}
        _ if effects.iter().any(is_remote) => {
            parts.push("every call of this tool, with any arguments".to_owned())
        }
        commands => {
            let which =
                if commands == 1 { "this command in this folder" } else { "these commands in their folders" };
            let more = if arguments.is_empty() { "" } else { ", whatever else it is called with" };
            parts.push(format!("{which}{more}"));
        }
    }
    let files = |what: &str, number: usize| match number {
        1 => format!("{what} this file"),
        number => format!("{what} these {number} files"),
    };
    match count(|effect| matches!(effect, Effect::Write(_))) {
        0 => {}
        written => parts.push(format!("{}, with any content", files("writing", written))),
    }
    match count(|effect| matches!(effect, Effect::Read(_))) {
        0 => {}
        read => parts.push(files("reading", read)),
    }
    let targets = effects.iter().filter_map(|effect| match effect {
        Effect::Network(target) => Some(format!("`{}`", safe::visible_line(target))),
        _ => None,
    });
    let targets: Vec<String> = targets.collect();
    if !targets.is_empty() {
        parts.push(format!("reaching {}", targets.join(", ")));
    }
    parts.join("; ")
}
