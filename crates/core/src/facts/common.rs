//! The facts that long journals are made of, each read straight from its line. By way of the tag of [`Fact`] serde keeps
//! all that a line holds in a buffer first, and all that a result holds in another one.
use crate::{CallId, Fact, FileRead, How, Part, StopReason, Usage};
use serde::Deserialize;
use serde_json::{Error, Value, from_slice};

#[derive(Deserialize)]
struct Replied {
    parts: Vec<Part>,
    usage: Usage,
    stop: StopReason,
}

#[derive(Deserialize)]
struct ToolStarted {
    call: CallId,
    name: String,
    arguments: Value,
    how: How,
    #[serde(default)]
    outside: bool,
    #[serde(default)]
    reads: Vec<FileRead>,
}

#[derive(Deserialize)]
struct ToolEnded {
    call: CallId,
    name: String,
    duration_ms: u64,
}

/// The fact in `line`, whose type is `kind`, as it stands there.
pub(super) fn read(kind: &str, line: &[u8]) -> Result<Fact, Error> {
    match kind {
        "replied" => {
            let Replied { parts, usage, stop } = from_slice(line)?;
            Ok(Fact::Replied { parts, usage, stop })
        }
        "tool_started" => {
            let ToolStarted { call, name, arguments, how, outside, reads } = from_slice(line)?;
            Ok(Fact::ToolStarted { call, name, arguments, how, outside, reads })
        }
        "tool_ended" => {
            let ToolEnded { call, name, duration_ms } = from_slice(line)?;
            Ok(Fact::ToolEnded { call, name, result: from_slice(line)?, duration_ms })
        }
        _ => from_slice(line),
    }
}
