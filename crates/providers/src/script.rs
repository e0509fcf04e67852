//! The script format: the replies of a scripted model as JSON Lines. One line is one step; `#` begins a comment line.
//!
//! ```text
//! {"say": "I will look.", "calls": [{"name": "read", "arguments": {"path": "a.txt"}}]}
//! {"expect": "hello", "say": "It says hello.", "pieces": 4, "delay_ms": 30}
//! {"fail": "overloaded", "kind": "busy"}
//! ```
use haft_core::{StopReason, Usage};
use serde::Deserialize;
use serde_json::Value;
use std::{fs, io, path::Path};

/// One reply, or one fault.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Step {
    /// Text.
    pub say: Option<String>,
    /// Thinking, before the text.
    pub think: Option<String>,
    /// Tool calls, after the text.
    pub calls: Vec<StepCall>,
    /// Fails with this message, after what it says.
    pub fail: Option<String>,
    /// How it fails.
    pub kind: FailKind,
    /// Tokens to report.
    pub usage: Option<Usage>,
    /// Why it ends; by default because of its calls, or because it has said all.
    pub stop: Option<StopReason>,
    /// Says its text in pieces of so many characters.
    pub pieces: Option<usize>,
    /// Waits so long before each piece.
    pub delay_ms: u64,
    /// Never ends, after what it says.
    pub hang: bool,
    /// Fails unless the last message contains this.
    pub expect: Option<String>,
}

/// A tool call of a step.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StepCall {
    /// Made from the step's number where it is left out.
    #[serde(default)]
    pub id: Option<String>,
    /// The tool.
    pub name: String,
    /// An object; a string is sent as it stands, so that faulty arguments can be written.
    #[serde(default)]
    pub arguments: Value,
}

/// How a step fails; each is a variant of [`haft_core::ProviderError`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailKind {
    /// May work later.
    #[default]
    Busy,
    /// The key is refused.
    Auth,
    /// Will never work.
    Rejected,
    /// Too long a conversation.
    Context,
    /// The line is broken.
    Connection,
}

/// Why a script cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ScriptError {
    /// The file cannot be read.
    #[error("cannot read the script `{path}`: {source}")]
    File {
        /// The path as the caller gave it.
        path: String,
        /// The cause.
        source: io::Error,
    },
    /// A line is not a step.
    #[error("cannot read line {line} of the script: {message}")]
    Line {
        /// Counted from 1.
        line: usize,
        /// What was expected.
        message: String,
    },
}

impl Step {
    /// The steps in a file.
    pub fn read_all(path: impl AsRef<Path>) -> Result<Vec<Self>, ScriptError> {
        let path = path.as_ref();
        let text = fs::read_to_string(path)
            .map_err(|source| ScriptError::File { path: path.display().to_string(), source })?;
        Self::parse_all(&text)
    }

    /// The steps in a text.
    pub fn parse_all(text: &str) -> Result<Vec<Self>, ScriptError> {
        let lines = text.lines().enumerate().map(|(index, line)| (index + 1, line.trim()));
        let steps = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
        steps.map(|(line, text)| parse(text).map_err(|message| ScriptError::Line { line, message })).collect()
    }

    /// A reply counts as a message of the assistant in later requests; a fault does not.
    pub(crate) fn is_reply(&self) -> bool {
        self.fail.is_none() && !self.hang && (self.said() || self.stop.is_none())
    }

    fn said(&self) -> bool {
        self.say.is_some() || self.think.is_some() || !self.calls.is_empty()
    }
}

fn parse(line: &str) -> Result<Step, String> {
    let step: Step = serde_json::from_str(line).map_err(|error| error.to_string())?;
    if step.said() || step.fail.is_some() || step.hang || step.stop.is_some() {
        return Ok(step);
    }
    Err("a step needs at least one of `say`, `think`, `calls`, `fail`, `hang`, `stop`".into())
}
