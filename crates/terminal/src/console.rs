//! [`Order`]: commands to the front-end itself: `/NAME`, the same on the screen and line by line.
use haft_core::{Command, schema::nearest};
use haft_present::host::SavedPrompt;
use serde_json::json;

/// One of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Order {
    /// What can be said.
    Help,
    /// Begin anew.
    New,
    /// Go on with another session; which one is asked where it is not named.
    Sessions(Option<String>),
    /// Ask another model from now on: its name, and the effort behind it.
    Model(Option<String>),
    /// Let another agent work from now on.
    Agent(Option<String>),
    /// What happens with an effect that no rule settles.
    Mode(Option<String>),
    /// Other colors.
    Theme(Option<String>),
    /// Take back the last turn.
    Undo,
    /// Take back the last undo.
    Redo,
    /// Go back to an earlier prompt.
    Rewind,
    /// Put a summary in place of the beginning.
    Compact,
    /// Take up a turn that was cut off.
    Continue,
    /// What the session has cost.
    Cost,
    /// What goes on beside the conversation.
    Tasks,
    /// The last reply to the clipboard.
    Copy,
    /// Let the model review a change: what is said, else what is not committed.
    Review(Option<String>),
    /// Let the model write notes about the repository.
    Init,
    /// Go on in a copy of the session.
    Fork,
    /// Call the session so.
    Rename(String),
    /// Write the conversation to a file.
    Export(Option<String>),
    /// What fills the model's window.
    Context,
    /// What runs unasked, and by which rules.
    Permissions,
    /// The MCP servers with their tools.
    Mcp,
    /// Leave.
    Quit,
}

/// Name, argument and what it does.
pub const ORDERS: [(&str, &str, &str); 24] = [
    ("help", "", "show commands and keys"),
    ("new", "", "start a new session"),
    ("sessions", "[ID]", "switch to another session of this directory"),
    ("rename", "NAME", "name this session"),
    ("model", "[SPEC]", "switch to another model or effort"),
    ("agent", "[NAME]", "switch to another agent"),
    ("mode", "[NAME]", "change what runs without asking"),
    ("permissions", "", "show mode and rules, and change the mode"),
    ("review", "[WHAT]", "let the model review a change, or what is not committed"),
    ("init", "", "let the model write AGENTS.md from the repository"),
    ("theme", "[NAME]", "change the colors"),
    ("undo", "", "undo the last turn, with its files"),
    ("redo", "", "redo the last undo"),
    ("rewind", "", "go back to an earlier prompt, with the files"),
    ("fork", "", "continue in a copy of this session; this one stays as it is"),
    ("compact", "", "summarize the conversation so far"),
    ("continue", "", "continue an interrupted turn"),
    ("context", "", "show what fills the model's window"),
    ("cost", "", "show tokens and cost so far"),
    ("tasks", "", "list background commands and subagents"),
    ("mcp", "", "show MCP servers, their state and tools"),
    ("export", "[FILE]", "write the conversation to a file, as Markdown"),
    ("copy", "", "copy the last reply to the clipboard"),
    ("quit", "", "quit; the session is kept"),
];

/// The order that `line` is; `None` if it is a prompt, or a command of another kind.
pub fn order(line: &str) -> Option<Order> {
    let (name, argument) =
        line.trim().strip_prefix('/').map(|rest| rest.split_once(' ').unwrap_or((rest, "")))?;
    let argument = Some(argument.trim().to_owned()).filter(|argument| !argument.is_empty());
    Some(match (name, argument) {
        ("help" | "?", None) => Order::Help,
        ("new" | "clear", None) => Order::New,
        ("sessions" | "resume", id) => Order::Sessions(id),
        ("model", spec) => Order::Model(spec),
        ("agent", name) => Order::Agent(name),
        ("permissions", None) => Order::Permissions,
        ("mode" | "permissions", name) => Order::Mode(name),
        ("review", what) => Order::Review(what),
        ("init", None) => Order::Init,
        ("fork", None) => Order::Fork,
        ("rename", Some(name)) => Order::Rename(name),
        ("export", file) => Order::Export(file),
        ("context", None) => Order::Context,
        ("mcp", None) => Order::Mcp,
        ("theme", name) => Order::Theme(name),
        ("undo", None) => Order::Undo,
        ("redo", None) => Order::Redo,
        ("rewind", None) => Order::Rewind,
        ("compact", None) => Order::Compact,
        ("continue", None) => Order::Continue,
        ("cost" | "usage", None) => Order::Cost,
        ("tasks" | "jobs", None) => Order::Tasks,
        ("copy", None) => Order::Copy,
        ("quit" | "exit", None) => Order::Quit,
        _ => return None,
    })
}

/// The order that `line` is, unless the person has a prompt of that name, as `own` lists them.
pub(crate) fn order_beside(line: &str, saved: &[SavedPrompt]) -> Option<Order> {
    let is_own = |name: &str| saved.iter().any(|saved| saved.name == name);
    order(line).filter(|order| match order {
        Order::Review(_) => !is_own("review"),
        Order::Init => !is_own("init"),
        _ => true,
    })
}

/// What the model is told for `/review`.
pub(crate) fn review(what: Option<&str>) -> String {
    let what =
        what.unwrap_or("everything that is not committed (`git status`, `git diff HEAD`, and new files)");
    include_str!("prompts/review.md").replace("{what}", what)
}

/// What the model is told for `/init`.
pub(crate) const INIT: &str = include_str!("prompts/init.md");

/// Runs the `command` of a line such as `!make`.
pub(crate) fn typed(command: &str) -> Command {
    // As the person's own commands run.
    let arguments = json!({"command": command.trim(), "needs": ["live"]});
    Command::TypedCall { name: "bash".into(), arguments }
}

/// The nearest known command to an unknown `/NAME`.
pub fn near(line: &str) -> Option<&'static str> {
    let name = line.trim().strip_prefix('/')?.split(' ').next()?;
    nearest(name, &ORDERS.map(|(name, ..)| name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_is_a_word_behind_a_slash() {
        let table = [
            ("/help", Some(Order::Help)),
            ("  /exit ", Some(Order::Quit)),
            ("/model", Some(Order::Model(None))),
            ("/model openai/gpt-5", Some(Order::Model(Some("openai/gpt-5".into())))),
            ("/undo it", None),
            ("/etc/passwd", None),
            ("help", None),
        ];
        for (line, expected) in table {
            assert_eq!(order(line), expected, "{line:?}");
        }
        assert!(ORDERS.iter().all(|(name, argument, _)| order(&format!("/{name} {argument}")).is_some()));
        assert_eq!(near("/udno"), Some("undo"));
        let own =
            [SavedPrompt { name: "review".into(), description: String::new(), file: "review.md".into() }];
        assert_eq!(order_beside("/review it", &own), None);
        assert_eq!(order_beside("/init", &own), Some(Order::Init));
    }
}
