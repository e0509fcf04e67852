//! [`Typed`]: parses commands in place of a prompt, in the same way in all front-ends: `/plan`, `/goal`, `/memory`,
//! `/undo`, `/redo`, `/outbox` and `#TEXT`.
use crate::{
    goal::{self, GoalCommand},
    memory,
    outbox::{self, OutboxWish},
    undo::{UndoWish, undoable},
};
use haft_core::{Command, Goal, Mode, OpenGoal, Part, undo};
use haft_engine::{Session, Setup};

/// The commands, each with its arguments and its description.
pub const COMMANDS: [(&str, &str, &str); 6] = [
    ("plan", "PROMPT", "plan, and change nothing until you accept the plan"),
    ("goal", "TEXT --proof COMMAND", "work until a check succeeds; `clear` gives the goal up"),
    ("memory", "", "propose what past sessions show for AGENTS.md; `#TEXT` proposes a line"),
    (
        "undo",
        "CALL",
        "undo the last turn, or one call; `list` shows the calls, `merge` merges what the last undo left alone",
    ),
    ("redo", "", "redo the last undo"),
    ("outbox", "send ID", "list what is queued; `send ID` sends it, `drop ID` ends it"),
];

/// A command of [`COMMANDS`], or a line for the notes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Typed {
    /// Enter plan mode: change nothing until a plan is accepted. Sends this prompt, if there is one.
    Plan(Option<String>),
    /// Show, set or clear the goal.
    Goal(Result<GoalCommand, String>),
    /// Propose notes for the workspace from its journals.
    Memory,
    /// Propose this line for the notes of the workspace.
    Remember(String),
    /// Undo what this text names: see [`UndoWish::read`].
    Undo(String),
    /// Redo the last undo.
    Redo,
    /// List, send or drop queued calls: see [`OutboxWish::read`].
    Outbox(String),
}

/// How to carry out a command.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Meant {
    /// Commands for the session, in order.
    pub commands: Vec<Command>,
    /// Note for the user.
    pub note: Option<String>,
}

impl Typed {
    /// Parses input; `None` if it is a prompt.
    pub fn read(prompt: &str) -> Option<Self> {
        if let Some(text) = memory::typed(prompt) {
            return Some(Self::Remember(text.to_owned()));
        }
        let said = prompt.trim().strip_prefix('/')?;
        let (name, rest) = said.split_once(char::is_whitespace).unwrap_or((said, ""));
        Self::named(name, rest.trim())
    }

    /// The command with this name.
    pub fn named(name: &str, rest: &str) -> Option<Self> {
        match name {
            "plan" => Some(Self::Plan(Some(rest.to_owned()).filter(|text| !text.is_empty()))),
            "goal" => Some(Self::Goal(GoalCommand::parse(rest))),
            "memory" if rest.is_empty() => Some(Self::Memory),
            "undo" => Some(Self::Undo(rest.to_owned())),
            "redo" if rest.is_empty() => Some(Self::Redo),
            "outbox" => Some(Self::Outbox(rest.to_owned())),
            _ => None,
        }
    }

    /// How to carry out the command in `session`. The error says why that is impossible.
    pub fn meant(self, session: &Session, setup: &Setup) -> Result<Meant, String> {
        match self {
            Self::Plan(text) => plan(text, session),
            Self::Goal(command) => goal(command?, session, setup),
            Self::Memory => memory(setup),
            Self::Remember(text) => {
                let command = memory::proposal_of(&text, session).ok_or(memory::UNUSABLE)?;
                Ok(Meant { commands: vec![command], note: None })
            }
            Self::Undo(text) => undo(&text, session),
            Self::Redo => {
                undo::last_undo(&session.entries()).ok_or("there is nothing to redo")?;
                Ok(Meant { commands: vec![Command::Redo], note: None })
            }
            Self::Outbox(text) => {
                let commands = OutboxWish::read(&text)?.commands(&session.entries())?;
                let note = commands.is_empty().then(|| outbox::list(&session.entries()));
                Ok(Meant { commands, note })
            }
        }
    }
}

fn prompt(text: String) -> Command {
    Command::Prompt { parts: vec![Part::text(text)], channel: None }
}

fn plan(text: Option<String>, session: &Session) -> Result<Meant, String> {
    if session.ceiling() < Mode::Plan {
        let ceiling = session.ceiling().name();
        return Err(format!("mode `plan` is not allowed here; the most permissive is `{ceiling}`"));
    }
    let mode = (session.mode() != Mode::Plan).then_some(Command::SetMode { mode: Mode::Plan });
    let note = text.is_none().then(|| "nothing is changed until you accept a plan".to_owned());
    Ok(Meant { commands: mode.into_iter().chain(text.map(prompt)).collect(), note })
}

fn goal(command: GoalCommand, session: &Session, setup: &Setup) -> Result<Meant, String> {
    let open_goal = OpenGoal::of(&session.entries());
    Ok(match command {
        GoalCommand::Clear if open_goal.is_none() => {
            Meant { commands: Vec::new(), note: Some(goal::line(None)) }
        }
        GoalCommand::Show => Meant { commands: Vec::new(), note: Some(goal::line(open_goal.as_ref())) },
        GoalCommand::Clear => {
            let note = Some("no goal is set any more".to_owned());
            Meant { commands: vec![Command::SetGoal { goal: None }], note }
        }
        GoalCommand::Set { text, check, attempts, choose } => {
            let goal = goal::set(text.clone(), check, (attempts, choose), (session, setup))?;
            // The check needs approval like any other command: this input may come from another user than that of the
            // machine.
            let goal = Goal { is_typed: false, ..goal };
            Meant { commands: vec![Command::SetGoal { goal: Some(goal) }, prompt(text)], note: None }
        }
    })
}

fn undo(text: &str, session: &Session) -> Result<Meant, String> {
    let entries = session.entries();
    let command = match UndoWish::read(text)? {
        UndoWish::LastTurn => {
            let to = undo::before_last_turn(&entries).ok_or("there is nothing to undo")?;
            Command::Rewind { to }
        }
        UndoWish::Calls(undo) => Command::UndoCalls(undo),
        UndoWish::List => {
            let calls: Vec<String> = undoable(&entries).iter().map(ToString::to_string).collect();
            let note = if calls.is_empty() { "no call changed files".to_owned() } else { calls.join("\n") };
            return Ok(Meant { commands: Vec::new(), note: Some(note) });
        }
    };
    Ok(Meant { commands: vec![command], note: None })
}

fn memory(setup: &Setup) -> Result<Meant, String> {
    let known = setup.home.memory(&setup.workspace).map_err(|error| memory::unreadable(&error))?;
    let Some(command) = memory::proposal(&known) else {
        return Ok(Meant { commands: Vec::new(), note: Some(memory::NOTHING.to_owned()) });
    };
    let reasons = memory::reasons(&known.change()).join("\n");
    Ok(Meant { commands: vec![command], note: Some(reasons).filter(|reasons| !reasons.is_empty()) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_read_and_anything_else_is_a_prompt() {
        let set = GoalCommand::Set {
            text: "mend it".into(),
            check: Some("make test".into()),
            attempts: None,
            choose: false,
        };
        let table = [
            ("/plan", Some(Typed::Plan(None))),
            (" /plan add\na retry ", Some(Typed::Plan(Some("add\na retry".into())))),
            ("/goal \"mend it\" --proof make test", Some(Typed::Goal(Ok(set)))),
            ("/goal", Some(Typed::Goal(Ok(GoalCommand::Show)))),
            ("/memory", Some(Typed::Memory)),
            ("/memory of what", None),
            ("/undo", Some(Typed::Undo(String::new()))),
            ("/undo 3 merge", Some(Typed::Undo("3 merge".into()))),
            ("/redo", Some(Typed::Redo)),
            ("/outbox send 2", Some(Typed::Outbox("send 2".into()))),
            ("/redo 3", None),
            ("# use pnpm", Some(Typed::Remember("use pnpm".into()))),
            ("/planets", None),
            ("plan it", None),
        ];
        for (prompt, expected) in table {
            assert_eq!(Typed::read(prompt), expected, "{prompt:?}");
        }
    }
}
