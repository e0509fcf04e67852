//! [`GoalCommand`]: what a person types of a goal: `"TEXT" --proof CHECK`, `clear`, or nothing.
use haft_core::{Goal, OpenGoal};
use serde_json::json;

/// The check that runs the tests of the project.
pub const TEST_CHECK: &str = "test";

/// What a person wants of the goal of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GoalCommand {
    /// To see it.
    Show,
    /// To give it up.
    Clear,
    /// To set it.
    Set {
        /// What is to be reached.
        text: String,
        /// A command line, or [`TEST_CHECK`]; `None` for the check of the configuration.
        check: Option<String>,
    },
}

/// What stands in front of the check.
const PROOF: &str = "--proof";

impl GoalCommand {
    /// Reads what stands behind `/goal`.
    pub fn parse(said: &str) -> Self {
        let (text, check) = match said.split_once(PROOF) {
            Some((text, check)) => (text, Some(unquoted(check)).filter(|check| !check.is_empty())),
            None => (said, None),
        };
        match (unquoted(text).as_str(), check) {
            ("", None) => Self::Show,
            ("clear", None) => Self::Clear,
            (text, check) => Self::Set { text: text.to_owned(), check },
        }
    }
}

/// Without quotes around it.
fn unquoted(text: &str) -> String {
    let text = text.trim();
    let inner = ['"', '\''].into_iter().find_map(|quote| {
        text.strip_prefix(quote)?.strip_suffix(quote).filter(|inner| !inner.contains(quote))
    });
    inner.unwrap_or(text).trim().to_owned()
}

/// A goal with the check that a person typed, else with the one that they configured, else with the tests of the project. It
/// runs unasked. [`TEST_CHECK`] stands for the tests, anything else is a command line.
pub fn with_check(text: impl Into<String>, check: Option<String>, configured: Option<&str>) -> Goal {
    let check = check.or(configured.map(str::to_owned)).unwrap_or_else(|| TEST_CHECK.to_owned());
    let (tool, arguments) = match check.as_str() {
        TEST_CHECK => (TEST_CHECK, json!({})),
        command => ("bash", json!({"command": command})),
    };
    Goal { text: text.into(), tool: tool.to_owned(), arguments, check, is_typed: true, attempts: None }
}

/// The goal of a session in one line.
pub fn line(open: Option<&OpenGoal>) -> String {
    match open {
        None => "no goal is set; `/goal \"TEXT\" --proof COMMAND` sets one".to_owned(),
        Some(OpenGoal { goal, checks }) => {
            let times = if *checks == 1 { "once".to_owned() } else { format!("{checks} times") };
            format!("goal: {}; check: `{}`, run {times}; `/goal clear` gives it up", goal.text, goal.check)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_goal_is_typed_with_its_check_behind_it() {
        let set = |text: &str, check: Option<&str>| GoalCommand::Set {
            text: text.into(),
            check: check.map(str::to_owned),
        };
        let table = [
            ("", GoalCommand::Show),
            (" clear ", GoalCommand::Clear),
            ("mend it", set("mend it", None)),
            ("\"mend it\" --proof test", set("mend it", Some("test"))),
            ("mend it --proof \"cargo test -q\"", set("mend it", Some("cargo test -q"))),
            ("\"a\" and \"b\" --proof make check", set("\"a\" and \"b\"", Some("make check"))),
        ];
        for (said, expected) in table {
            assert_eq!(GoalCommand::parse(said), expected, "{said:?}");
        }
    }
}
