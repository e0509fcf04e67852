//! [`SlashCommand`]: a command to the front-end itself, `/NAME`, which works on the screen and line by line.
//!
//! [`COMMANDS`] is the only list of them: the help, the completion and the parser use it.
use Argument::{Choice, Fixed, None as Nothing, Optional, Required};
use haft_core::{Command, Entry, Part, schema::nearest, undo};
use haft_present::{
    host::{OpenRequest, SavedPrompt},
    memory,
};
use serde_json::json;
use std::sync::Arc;

/// A row of [`COMMANDS`].
pub(crate) struct SlashCommand {
    pub(crate) name: &'static str,
    /// Other names, which lists do not show.
    aliases: &'static [&'static str],
    argument: Argument,
    pub(crate) help: &'static str,
}

/// The argument of a command: its name in the help, and the action for its value.
enum Argument {
    None(SlashAction),
    /// No arguments; the command sends this prompt to the model.
    Fixed(&'static str),
    Optional(&'static str, fn(Option<String>) -> SlashAction),
    /// The first action without a value, the second with one.
    Choice(&'static str, SlashAction, fn(String) -> SlashAction),
    Required(&'static str, fn(String) -> SlashAction),
}

/// The action of a slash command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum SlashAction {
    /// Continues in another session, or in this one with another model or agent.
    Switch(Target),
    /// Sends a command to the session.
    Send(Sent),
    /// Sends this prompt to the model.
    Prompt(String),
    /// Shows a list of choices, as the next four do.
    Sessions,
    Models,
    Agents,
    Themes,
    Modes,
    Theme(String),
    Mode(String),
    /// Adds a folder to the workspace.
    AddDir(String),
    /// Enters plan mode, and sends this prompt to the model.
    Plan(Option<String>),
    /// Shows, clears or sets the goal.
    Goal(Option<String>),
    /// Proposes this line for the notes of the workspace.
    Remember(String),
    /// Proposes notes for the workspace from its journals.
    Memory,
    Help,
    Rewind,
    /// Undoes a call: see [`haft_present::undo::UndoWish`].
    UndoCall(String),
    /// Lists, sends or drops queued calls: see [`haft_present::outbox::OutboxWish`].
    Outbox(Option<String>),
    Cost,
    Tasks,
    /// Copies the last reply to the clipboard.
    Copy,
    Fork,
    Rename(String),
    Export(Option<String>),
    Context,
    Permissions,
    Mcp,
    /// Shows the model, the session and its usage.
    Status,
    /// Shows the changes to each file since the session began.
    Diff,
    /// Shows where the configuration is.
    Config,
    /// Shows or hides the model's thoughts.
    Thinking,
    /// Asks for a provider's API key.
    LogIn(Option<String>),
    /// Leaves a session that another process has open.
    Detach,
    Quit,
}

/// What the user switches to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    New,
    Session(String),
    /// `SPEC [EFFORT]`.
    Model(String),
    Agent(String),
}

/// A command that needs only the session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sent {
    Undo,
    Redo,
    Compact,
    Continue,
}

/// All commands, in the order of the help.
#[rustfmt::skip]
pub(crate) static COMMANDS: &[SlashCommand] = {
    use SlashAction::*;
    &[
        row("help", &["?", "h"], Nothing(Help), "show commands and keys"),
        row("new", &["clear"], Nothing(Switch(Target::New)), "start a new session"),
        row("sessions", &["resume"], Choice("ID", Sessions, |id| Switch(Target::Session(id))), "switch to another session of this directory"),
        row("rename", &[], Required("NAME", Rename), "name this session"),
        row("model", &["models"], Choice("SPEC", Models, |spec| Switch(Target::Model(spec))), "switch to another model or effort"),
        row("agent", &["agents"], Choice("NAME", Agents, |name| Switch(Target::Agent(name))), "switch to another agent"),
        row("mode", &[], Choice("NAME", Modes, Mode), "change the permission mode"),
        row("permissions", &[], Choice("MODE", Permissions, Mode), "show the permission mode and rules; change the mode"),
        row("add-dir", &[], Required("DIR", AddDir), "work in another folder, too; commands only read it"),
        row("plan", &[], Optional("PROMPT", Plan), "plan, and change nothing until you accept the plan"),
        row("goal", &[], Optional("GOAL", Goal), "work until a check succeeds: `TEXT [--attempts N [--choose]] --proof COMMAND`, `clear`"),
        row("memory", &[], Nothing(Memory), "propose what past sessions show for AGENTS.md; `#TEXT` proposes a line"),
        row("review", &[], Optional("WHAT", review), "review a change (default: uncommitted changes)"),
        row("init", &[], Fixed(INIT), "write an AGENTS.md for this repository"),
        row("theme", &[], Choice("NAME", Themes, Theme), "change the colors"),
        row("undo", &[], Choice("CALL", Send(Sent::Undo), UndoCall), "undo the last turn, or one call (`list` shows them)"),
        row("redo", &[], Nothing(Send(Sent::Redo)), "redo the last undo"),
        row("outbox", &[], Optional("send ID", Outbox), "list what is queued; `send ID` sends it, `drop ID` ends it"),
        row("rewind", &[], Nothing(Rewind), "go back to an earlier prompt and its files"),
        row("diff", &["changes"], Nothing(Diff), "show what this session changed, file by file"),
        row("fork", &[], Nothing(Fork), "continue in a copy of this session"),
        row("compact", &[], Nothing(Send(Sent::Compact)), "summarize the conversation so far"),
        row("continue", &[], Nothing(Send(Sent::Continue)), "continue an interrupted turn"),
        row("thinking", &["thoughts"], Nothing(Thinking), "show or hide what the model thinks"),
        row("context", &[], Nothing(Context), "show what fills the context window"),
        row("cost", &["usage"], Nothing(Cost), "show tokens and cost so far"),
        row("status", &[], Nothing(Status), "show model, mode, session, folder, tokens and cost"),
        row("tasks", &["jobs"], Nothing(Tasks), "list background commands and subagents"),
        row("mcp", &[], Nothing(Mcp), "list MCP servers and their tools"),
        row("login", &[], Optional("PROVIDER", LogIn), "save the API key of a provider, then choose a model"),
        row("config", &["settings"], Nothing(Config), "say where the configuration is"),
        row("export", &[], Optional("FILE", Export), "export the conversation as Markdown"),
        row("copy", &[], Nothing(Copy), "copy the last reply to the clipboard"),
        row("detach", &[], Nothing(Detach), "leave an attached session running"),
        row("quit", &["exit", "q"], Nothing(Quit), "quit (the session is saved)"),
    ]
};

const fn row(
    name: &'static str,
    aliases: &'static [&'static str],
    argument: Argument,
    help: &'static str,
) -> SlashCommand {
    SlashCommand { name, aliases, argument, help }
}

fn review(what: Option<String>) -> SlashAction {
    let uncommitted = "everything that is not committed (`git status`, `git diff HEAD`, and new files)";
    let what = what.as_deref().unwrap_or(uncommitted);
    SlashAction::Prompt(include_str!("prompts/review.md").replace("{what}", what))
}

const INIT: &str = include_str!("prompts/init.md");

impl SlashCommand {
    /// The usage: `/model [SPEC]`.
    pub(crate) fn usage(&self) -> String {
        match self.argument {
            Nothing(_) | Fixed(_) => format!("/{}", self.name),
            Optional(value, _) | Choice(value, ..) => format!("/{} [{value}]", self.name),
            Required(value, _) => format!("/{} {value}", self.name),
        }
    }

    fn action(&self, argument: &str) -> Option<SlashAction> {
        let argument = Some(argument.to_owned()).filter(|argument| !argument.is_empty());
        match &self.argument {
            Nothing(action) => argument.is_none().then(|| action.clone()),
            Fixed(text) => argument.is_none().then(|| SlashAction::Prompt((*text).to_owned())),
            Optional(_, action) => Some(action(argument)),
            Choice(_, without, with) => Some(argument.map_or(without.clone(), with)),
            Required(_, action) => argument.map(action),
        }
    }
}

impl Target {
    /// Returns `request` with this change.
    pub(crate) fn of(self, request: OpenRequest) -> OpenRequest {
        match self {
            Self::New => OpenRequest { session: None, ..request },
            Self::Session(id) => OpenRequest::of_session(id),
            Self::Agent(name) => OpenRequest { agent: Some(name), ..request },
            Self::Model(typed) => {
                let (model, effort) = typed.split_once(' ').unwrap_or((&typed, ""));
                let effort = Some(effort.trim().to_owned()).filter(|effort| !effort.is_empty());
                OpenRequest { model: Some(model.to_owned()), effort, ..request }
            }
        }
    }
}

impl Sent {
    /// The command for a session with these entries; the error says why nothing is sent.
    pub(crate) fn command(self, entries: &[Arc<Entry>]) -> Result<Command, &'static str> {
        match self {
            Self::Undo => {
                undo::before_last_turn(entries).map(|to| Command::Rewind { to }).ok_or("nothing to undo")
            }
            Self::Redo => undo::last_undo(entries).map(|_| Command::Redo).ok_or("nothing to redo"),
            Self::Compact => Ok(Command::Compact),
            Self::Continue => Ok(haft_core::go_on(entries)),
        }
    }
}

/// The command that sends `text` to the model.
pub(crate) fn prompt(text: &str) -> Command {
    Command::Prompt { parts: vec![Part::text(text)], channel: None }
}

/// Parses `line`; `None` if it is a prompt or the name of a saved prompt.
pub(crate) fn parse(line: &str) -> Option<SlashAction> {
    if let Some(text) = memory::typed(line) {
        return Some(SlashAction::Remember(text.to_owned()));
    }
    let (name, argument) =
        line.trim().strip_prefix('/').map(|rest| rest.split_once(' ').unwrap_or((rest, "")))?;
    let is_it = |command: &&SlashCommand| command.name == name || command.aliases.contains(&name);
    COMMANDS.iter().find(is_it)?.action(argument.trim())
}

/// Like [`parse`], but a `saved` prompt takes precedence over a command of the same name that only sends a prompt.
pub(crate) fn parse_with(line: &str, saved: &[SavedPrompt]) -> Option<SlashAction> {
    let is_saved = |name: &str| saved.iter().any(|saved| saved.name == name);
    let name = line.trim().trim_start_matches('/').split(' ').next().unwrap_or_default();
    parse(line).filter(|action| !matches!(action, SlashAction::Prompt(_)) || !is_saved(name))
}

/// The texts that can be typed after a `/`, with their descriptions: the commands, then the `saved` prompts.
pub(crate) fn all(saved: &[SavedPrompt]) -> Vec<(String, String)> {
    let ours = COMMANDS.iter().map(|command| (command.usage(), command.help.to_owned()));
    let saved = saved.iter().map(|saved| (format!("/{}", saved.name), saved.description.clone()));
    ours.chain(saved).collect()
}

/// Like [`all`], without the arguments.
pub(crate) fn names(saved: &[SavedPrompt]) -> Vec<(String, String)> {
    let name = |usage: String| usage.split(' ').next().unwrap_or_default().to_owned();
    all(saved).into_iter().map(|(usage, description)| (name(usage), description)).collect()
}

/// Runs the `command` of a line such as `!make`.
pub(crate) fn typed(command: &str) -> Command {
    // The user's own commands run live, as the user's programs do.
    let arguments = json!({"command": command.trim(), "needs": ["live"]});
    Command::TypedCall { name: "bash".into(), arguments }
}

/// The usage of a known command whose line has too many or too few arguments.
pub(crate) fn misused(line: &str) -> Option<String> {
    let (name, _) = line.trim().strip_prefix('/').map(|rest| rest.split_once(' ').unwrap_or((rest, "")))?;
    let command = COMMANDS.iter().find(|command| command.name == name || command.aliases.contains(&name))?;
    Some(match command.argument {
        Required(value, _) => format!("`/{name}` needs {value} behind it"),
        Nothing(_) | Fixed(_) | Optional(..) | Choice(..) => format!("`/{name}` takes nothing behind it"),
    })
}

/// The nearest known command to an unknown `/NAME`.
pub(crate) fn near(line: &str) -> Option<&'static str> {
    let name = line.trim().strip_prefix('/')?.split(' ').next()?;
    nearest(name, &COMMANDS.iter().map(|command| command.name).collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slash_command_is_a_word_behind_a_slash() {
        let table = [
            ("/help", Some(SlashAction::Help)),
            ("  /exit ", Some(SlashAction::Quit)),
            ("/model", Some(SlashAction::Models)),
            ("/model openai/gpt-5", Some(SlashAction::Switch(Target::Model("openai/gpt-5".into())))),
            ("/permissions", Some(SlashAction::Permissions)),
            ("/permissions ask", Some(SlashAction::Mode("ask".into()))),
            ("/rename", None),
            ("/rename it", Some(SlashAction::Rename("it".into()))),
            ("/undo", Some(SlashAction::Send(Sent::Undo))),
            ("/undo 3 merge", Some(SlashAction::UndoCall("3 merge".into()))),
            ("#use pnpm", Some(SlashAction::Remember("use pnpm".into()))),
            ("#12 is open", None),
            ("/etc/passwd", None),
            ("help", None),
        ];
        for (line, expected) in table {
            assert_eq!(parse(line), expected, "{line:?}");
        }
        assert_eq!(near("/udno"), Some("undo"));
    }

    #[test]
    fn every_row_is_found_by_its_usage_and_its_other_names() {
        let mut seen: Vec<&str> = Vec::new();
        for command in COMMANDS {
            assert!(parse(&command.usage()).is_some(), "{}", command.usage());
            seen.extend(command.aliases.iter().chain([&command.name]).copied());
        }
        let count = seen.len();
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen.len(), count, "two commands have one name");
    }

    #[test]
    fn a_saved_prompt_goes_before_a_command_that_is_a_prompt() {
        let saved =
            |name: &str| SavedPrompt { name: name.into(), description: String::new(), file: "".into() };
        let own = ["review", "undo"].map(saved);
        assert_eq!(parse_with("/review it", &own), None);
        assert_eq!(parse_with("/undo", &own), Some(SlashAction::Send(Sent::Undo)));
        assert_eq!(parse_with("/init", &own), Some(SlashAction::Prompt(INIT.into())));
    }
}
