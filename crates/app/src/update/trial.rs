//! [`version`]: starts a program once before it replaces another one. An old kernel, a missing library or the wrong
//! processor shows at this point.
use super::UNCHANGED;
use crate::{Failure, config::Environment};
use haft_process::{Exit, Finished, ProcessError, Program};
use std::{path::Path, sync::Arc, time::Duration};

/// Timeout for printing the version. A program that exceeds it does not work here.
const TIMEOUT: Duration = Duration::from_secs(20);
/// The variables that a program needs to print its version.
const VARIABLES: [&str; 5] = ["PATH", "HOME", "HAFT_HOME", "LD_LIBRARY_PATH", "LANG"];
/// Maximum bytes kept of each stream; a completion script has about 100 KB.
const MAX_OUTPUT: usize = 4 << 20;

/// The version that `program` prints.
pub(super) async fn version(program: &Path, environment: &Environment) -> Result<String, Failure> {
    let broken = |why: String| {
        let message = format!("the other version does not run on this system: {why}");
        Failure::failed(message).hint(format!("{UNCHANGED}; it may need a newer kernel or C library"))
    };
    let finished = run(program, &["--version"], environment).await.map_err(|error| broken(reason(&error)))?;
    let printed = finished.stdout.text.trim();
    // A later version may print more after its number.
    let version = printed.strip_prefix("haft ").and_then(|rest| rest.split_whitespace().next());
    match (finished.exit, version) {
        (Exit::Code(0), Some(version)) => Ok(version.to_owned()),
        (Exit::Code(0), None) => Err(broken(format!("it prints `{}`", first_line(printed)))),
        (Exit::Code(code), _) => {
            Err(broken(format!("{} (exit code {code})", first_line(&finished.stderr.text))))
        }
        (Exit::Signal(signal), _) => Err(broken(format!("it was ended by signal {signal}"))),
        (Exit::TimedOut, _) => Err(broken(format!("it printed nothing within {} s", TIMEOUT.as_secs()))),
    }
}

/// Runs `program` with a minimal environment.
pub(super) async fn run(
    program: &Path,
    arguments: &[&str],
    environment: &Environment,
) -> Result<Finished, ProcessError> {
    let variable = |name: &&str| Some(((*name).to_owned(), environment.get(name)?.to_owned()));
    let started = Program {
        program: program.into(),
        arguments: arguments.iter().map(Into::into).collect(),
        folder: "/".into(),
        environment: Arc::from(VARIABLES.iter().filter_map(variable).collect::<Vec<_>>()),
        timeout: Some(TIMEOUT),
        capture: MAX_OUTPUT,
        confinement: None,
    };
    started.run(|_| {}).await
}

fn first_line(text: &str) -> &str {
    text.lines().find(|line| !line.trim().is_empty()).unwrap_or("no message").trim()
}

fn reason(error: &ProcessError) -> String {
    match error {
        ProcessError::Start { source, .. } => source.to_string(),
        other => other.to_string(),
    }
}
