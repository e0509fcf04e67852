//! [`ask`]: runs a cloud's own tool, which prints a credential as JSON.
use super::{Variables, exchange::FetchError};
use haft_process::{Exit, Program};
use serde_json::Value;
use std::time::Duration;

/// Timeout of a tool, which may refresh a login over the network first.
const COMMAND_TIMEOUT: Duration = Duration::from_secs(30);
/// Maximum bytes of a credential; a longer output is refused.
const MAX_OUTPUT_BYTES: usize = 256 << 10;

/// The output of the program, which runs outside of the workspace with the user's own environment.
pub(super) async fn ask(line: &[String], variables: &Variables) -> Result<Value, FetchError> {
    let Some((program, arguments)) = line.split_first() else {
        return Err(FetchError::refused("the command is empty"));
    };
    let started = Program {
        program: program.into(),
        arguments: arguments.iter().map(Into::into).collect(),
        folder: "/".into(),
        environment: variables.all(),
        timeout: Some(COMMAND_TIMEOUT),
        capture: MAX_OUTPUT_BYTES,
        confinement: None,
    };
    let finished = started.run(|_| {}).await.map_err(|error| FetchError::refused(error.to_string()))?;
    match finished.exit {
        Exit::Code(0) => {}
        Exit::Code(code) => {
            // The last line usually states the reason; the lines before it may be a trace.
            let last = finished.stderr.text.trim().lines().last().unwrap_or("it printed no reason");
            return Err(FetchError::refused(format!("`{program}` ended with exit code {code}: {last}")));
        }
        Exit::Signal(signal) => {
            return Err(FetchError::refused(format!("`{program}` was killed by signal {signal}")));
        }
        Exit::TimedOut => {
            return Err(FetchError::Unreachable(format!("`{program}` did not end within 30 s")));
        }
    }
    serde_json::from_str(&finished.stdout.text)
        .map_err(|_| FetchError::refused(format!("`{program}` printed something that is not JSON")))
}
