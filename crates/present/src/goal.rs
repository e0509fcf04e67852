//! [`GoalCommand`]: parses the text after `/goal`: `"TEXT" --attempts N --proof CHECK`, `clear`, or nothing.
use haft_core::{Goal, MAX_ATTEMPTS, OpenGoal};
use haft_engine::{Session, Setup};
use serde_json::json;

/// The check that runs the tests of the project.
pub const TEST_CHECK: &str = "test";

/// What to do with the goal of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GoalCommand {
    /// Show the goal.
    Show,
    /// Clear the goal.
    Clear,
    /// Set the goal.
    Set {
        /// The text of the goal.
        text: String,
        /// A command line, or [`TEST_CHECK`]; `None` for the check of the configuration.
        check: Option<String>,
        /// See [`Goal::attempts`].
        attempts: Option<u8>,
        /// See [`Goal::choose`].
        choose: bool,
    },
}

/// The option before the check.
const PROOF: &str = "--proof";
/// The option before the number of attempts.
const ATTEMPTS: &str = "--attempts";
/// The option after that number with which the user chooses an attempt.
const CHOOSE: &str = "--choose";

impl GoalCommand {
    /// Parses the text after `/goal`. The error says what is wrong with it.
    pub fn parse(said: &str) -> Result<Self, String> {
        let (text, check) = match said.split_once(PROOF) {
            Some((text, check)) => match unquoted(check) {
                check if check.is_empty() => return Err(format!("`{PROOF}` needs a command behind it")),
                check => (text, Some(check)),
            },
            None => (said, None),
        };
        let (text, attempts, choose) = match text.rsplit_once(ATTEMPTS) {
            Some((text, number)) => {
                let (number, choose) = match number.trim().strip_suffix(CHOOSE) {
                    Some(number) => (number, true),
                    None => (number, false),
                };
                (text, Some(attempts(number)?), choose)
            }
            None => (text, None, false),
        };
        if attempts.is_some() && check.is_none() {
            return Err(format!(
                "`{ATTEMPTS}` needs `{PROOF} COMMAND` behind it, which tells which attempt is right"
            ));
        }
        let is_quoted = text.trim_start().starts_with(['"', '\'']);
        let option = text.split_whitespace().find(|word| word.starts_with("--") && !is_quoted);
        if let Some(option) = option {
            return Err(match option {
                CHOOSE => format!("`{CHOOSE}` stands behind `{ATTEMPTS} N`"),
                _ => format!("`/goal` has no option `{option}`; put quotes around the text of the goal"),
            });
        }
        Ok(match (unquoted(text).as_str(), check) {
            ("", None) => Self::Show,
            ("clear", None) => Self::Clear,
            ("", Some(_)) => return Err(format!("a goal needs a text in front of `{PROOF}`")),
            (text, check) => Self::Set { text: text.to_owned(), check, attempts, choose },
        })
    }
}

fn attempts(number: &str) -> Result<u8, String> {
    let number = number.trim();
    let read = number.parse().ok().filter(|count| (2..=MAX_ATTEMPTS).contains(count));
    read.ok_or(format!("`{ATTEMPTS}` takes a number from 2 to {MAX_ATTEMPTS}, not `{number}`"))
}

/// The text without surrounding quotes.
fn unquoted(text: &str) -> String {
    let text = text.trim();
    let inner = ['"', '\''].into_iter().find_map(|quote| {
        text.strip_prefix(quote)?.strip_suffix(quote).filter(|inner| !inner.contains(quote))
    });
    inner.unwrap_or(text).trim().to_owned()
}

/// A goal with the check that the user typed, otherwise with the configured one, otherwise with the project's tests.
/// The check runs without approval. [`TEST_CHECK`] stands for the tests, anything else is a command line.
pub fn with_check(text: impl Into<String>, check: Option<String>, configured: Option<&str>) -> Goal {
    let check = check.or(configured.map(str::to_owned)).unwrap_or_else(|| TEST_CHECK.to_owned());
    let (tool, arguments) = match check.as_str() {
        TEST_CHECK => (TEST_CHECK, json!({})),
        command => ("bash", json!({"command": command})),
    };
    Goal {
        text: text.into(),
        tool: tool.to_owned(),
        arguments,
        check,
        is_typed: true,
        attempts: None,
        choose: false,
        only: None,
    }
}

/// The goal that the user set in `session`. The error says why it is invalid.
pub fn set(
    text: impl Into<String>,
    check: Option<String>,
    (attempts, choose): (Option<u8>, bool),
    (session, setup): (&Session, &Setup),
) -> Result<Goal, String> {
    if let Some(why) = attempts.and_then(|_| session.attempts_refused(setup)) {
        return Err(format!("`{ATTEMPTS}` cannot be used: {why}"));
    }
    Ok(Goal { attempts, choose, ..with_check(text, check, setup.profile.limits.check.as_deref()) })
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
            attempts: None,
            choose: false,
        };
        let four = |choose| GoalCommand::Set {
            text: "mend it".into(),
            check: Some("make".into()),
            attempts: Some(4),
            choose,
        };
        let table = [
            ("", GoalCommand::Show),
            (" clear ", GoalCommand::Clear),
            ("mend it", set("mend it", None)),
            ("\"mend it\" --proof test", set("mend it", Some("test"))),
            ("\"mend --all of it\"", set("mend --all of it", None)),
            ("mend it --proof \"cargo test -q\"", set("mend it", Some("cargo test -q"))),
            ("\"a\" and \"b\" --proof make check", set("\"a\" and \"b\"", Some("make check"))),
            ("mend it --proof retry --attempts 3 make", set("mend it", Some("retry --attempts 3 make"))),
            ("\"mend it\" --attempts 4 --proof make", four(false)),
            ("\"mend it\" --attempts 4 --choose --proof make", four(true)),
        ];
        for (said, expected) in table {
            assert_eq!(GoalCommand::parse(said), Ok(expected), "{said:?}");
        }
        for said in [
            "a --proof",
            "a --proof ''",
            "a --attempts 1 --proof b",
            "a --attempts many --proof b",
            "a --attempts 4",
            "--attempts 40",
            "a --choose --proof b",
            "a --prof b",
        ] {
            let error = GoalCommand::parse(said).unwrap_err();
            assert!(
                ["`--attempts` ", "`--proof` ", "`--choose` ", "`/goal` has no option `--prof`"]
                    .iter()
                    .any(|start| error.starts_with(start)),
                "{said:?}: {error}"
            );
        }
    }
}
