//! [`Step`]: the script format: the replies of a scripted model as JSON Lines. One line is one step; `#` begins a
//! comment line.
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

/// A reply or an error.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Step {
    /// The text of the reply.
    pub say: Option<String>,
    /// Thoughts, before the text.
    pub think: Option<String>,
    /// Tool calls, after the text.
    pub calls: Vec<StepCall>,
    /// Fails with this message, after the reply.
    pub fail: Option<String>,
    /// The kind of error.
    pub kind: FailKind,
    /// Tokens to report.
    pub usage: Option<Usage>,
    /// The stop reason; by default `tool_use` after calls, otherwise `end_turn`.
    pub stop: Option<StopReason>,
    /// Sends the text in pieces of this many characters.
    pub pieces: Option<usize>,
    /// Delay before each piece, in milliseconds.
    pub delay_ms: u64,
    /// Never ends, after the reply.
    pub hang: bool,
    /// Fails unless the last message contains this.
    pub expect: Option<String>,
}

/// A tool call of a step.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StepCall {
    /// The ID of the call; derived from the step's number if omitted.
    #[serde(default)]
    pub id: Option<String>,
    /// Name of the tool.
    pub name: String,
    /// An object; a string is sent unchanged, so that a script can contain invalid arguments.
    #[serde(default)]
    pub arguments: Value,
}

/// The kind of error of a step; each is a variant of [`haft_core::ProviderError`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailKind {
    /// A retry may succeed.
    #[default]
    Busy,
    /// The key is refused.
    Auth,
    /// A retry never succeeds.
    Rejected,
    /// The conversation is too long.
    Context,
    /// The connection broke.
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
        /// Number of the line, from 1.
        line: usize,
        /// What was expected.
        message: String,
    },
}

impl Step {
    /// Reads the steps of a file.
    pub fn read_all(path: impl AsRef<Path>) -> Result<Vec<Self>, ScriptError> {
        let path = path.as_ref();
        let text = fs::read_to_string(path)
            .map_err(|source| ScriptError::File { path: path.display().to_string(), source })?;
        Self::parse_all(&text)
    }

    /// Parses the steps of a text.
    pub fn parse_all(text: &str) -> Result<Vec<Self>, ScriptError> {
        let lines = text.lines().enumerate().map(|(index, line)| (index + 1, line.trim()));
        let steps = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
        steps.map(|(line, text)| parse(text).map_err(|message| ScriptError::Line { line, message })).collect()
    }

    /// Whether the step is a reply, which is an assistant message in later requests; an error is not.
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
