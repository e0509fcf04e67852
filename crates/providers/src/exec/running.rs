//! [`Running`]: one run of the command: the prompt in, bytes out, and the end of all processes that it started.
use super::{Clean, Exec};
use haft_core::{ProviderError, clip::Clip, clip::Keep};
use haft_process::{Piped, Process, ProcessError, Program};
use std::{
    io::{self, ErrorKind},
    os::unix::process::ExitStatusExt,
    process::ExitStatus,
    time::Duration,
};
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWriteExt},
    process::{ChildStdin, ChildStdout},
    task::JoinSet,
    time::{Instant, timeout_at},
};

/// Once the command has ended, the rest in its pipe arrives immediately; a process that still holds the pipe open has
/// left the process group.
const PIPE_DRAIN_TIMEOUT: Duration = Duration::from_secs(1);
/// Maximum bytes of standard error that are kept.
const MAX_STDERR_BYTES: usize = 16 << 10;
/// How much of standard error an error quotes: the end, which has the reason.
const SHOWN_STDERR: Clip = Clip { lines: 20, bytes: 1_000, keep: Keep::Tail };

/// A running command. Dropping it ends the command and its children.
pub(super) struct Running {
    process: Process,
    stdout: ChildStdout,
    feeding: JoinSet<()>,
    errors: JoinSet<Vec<u8>>,
    ended: Option<ExitStatus>,
    deadline: Instant,
}

impl Running {
    pub(super) fn start(exec: &Exec, prompt: &str, model: &str) -> Result<Self, ProviderError> {
        // Some programs check these variables before they use colors.
        let plain = [("NO_COLOR", "1"), ("TERM", "dumb")].map(|(name, value)| (name.into(), value.into()));
        let program = Program {
            program: exec.program.clone().into(),
            arguments: exec.filled(prompt, model).into_iter().map(Into::into).collect(),
            folder: exec.folder.clone().unwrap_or(".".into()),
            environment: exec.environment.iter().cloned().chain(plain).collect(),
            timeout: None,
            capture: 0,
            confinement: None,
        };
        let Piped { input, output, errors: stderr, process } =
            program.start_piped().map_err(|error| not_started(exec, &error))?;
        let (mut feeding, mut errors) = (JoinSet::new(), JoinSet::new());
        // If the prompt is an argument, the command's standard input is closed.
        if !exec.takes_prompt() {
            feeding.spawn(feed(input, prompt.to_owned()));
        }
        errors.spawn(end_of(stderr));
        let deadline = Instant::now() + exec.patience;
        Ok(Self { process, stdout: output, feeding, errors, ended: None, deadline })
    }

    /// The next output; `None` at the end.
    pub(super) async fn next(&mut self, exec: &Exec) -> Result<Option<Vec<u8>>, ProviderError> {
        let mut buffer = vec![0; 8 << 10];
        // Checked here, since the timer below is never polled while a command continuously prints, even if its output
        // has no text.
        if self.ended.is_none() && Instant::now() >= self.deadline {
            return Err(silent(exec));
        }
        loop {
            tokio::select! {
                biased;
                read = self.stdout.read(&mut buffer) => {
                    let count = read.map_err(|error| exec.broken(&format!("cannot be read: {error}")))?;
                    buffer.truncate(count);
                    return Ok(Some(buffer).filter(|bytes| !bytes.is_empty()));
                }
                ended = self.process.wait(), if self.ended.is_none() => self.end(exec, ended)?,
                () = tokio::time::sleep_until(self.deadline) => match self.ended {
                    Some(_) => return Ok(None),
                    None => return Err(silent(exec)),
                },
            }
        }
    }

    /// Restarts the timeout after the command has printed text. Control codes alone do not count.
    pub(super) fn wait_on(&mut self, exec: &Exec) {
        if self.ended.is_none() {
            self.deadline = Instant::now() + exec.patience;
        }
    }

    /// Waits for the end, and fails unless the command succeeded.
    pub(super) async fn finish(&mut self, exec: &Exec) -> Result<(), ProviderError> {
        if self.ended.is_none() {
            let ended = timeout_at(self.deadline, self.process.wait()).await;
            let ended = ended.map_err(|_| silent(exec))?;
            self.end(exec, ended)?;
        }
        self.feeding.abort_all();
        let errors = timeout_at(Instant::now() + PIPE_DRAIN_TIMEOUT, self.errors.join_next()).await;
        let errors = errors.ok().flatten().and_then(Result::ok).unwrap_or_default();
        match self.ended {
            Some(status) if !status.success() => Err(failed(exec, status, &errors)),
            Some(_) | None => Ok(()),
        }
    }

    fn end(&mut self, exec: &Exec, ended: io::Result<ExitStatus>) -> Result<(), ProviderError> {
        let status = ended.map_err(|error| exec.broken(&format!("cannot be waited for: {error}")))?;
        self.ended = Some(status);
        // Children that the command left behind would keep the pipe open: this call ends them.
        let _it_has_ended = self.process.ended();
        self.deadline = Instant::now() + PIPE_DRAIN_TIMEOUT;
        Ok(())
    }
}

async fn feed(mut stdin: ChildStdin, prompt: String) {
    // A command need not read its whole input; whether it answers is checked elsewhere.
    let _it_may_have_ended = stdin.write_all(prompt.as_bytes()).await;
}

async fn end_of(mut stderr: impl AsyncRead + Unpin) -> Vec<u8> {
    let (mut kept, mut buffer) = (Vec::new(), vec![0; 4 << 10]);
    while let Ok(count @ 1..) = stderr.read(&mut buffer).await {
        kept.extend_from_slice(&buffer[..count]);
        kept.drain(..kept.len().saturating_sub(MAX_STDERR_BYTES));
    }
    kept
}

fn not_started(exec: &Exec, error: &ProcessError) -> ProviderError {
    let source = match error {
        ProcessError::Start { source, .. } | ProcessError::Lost(source) => source,
        ProcessError::Nul => return exec.rejected(error.to_string(), "check that it starts from a shell"),
    };
    let message = format!("cannot start `{}`: {source}", exec.program.display());
    match source.kind() {
        // Linux allows 128 kB per argument.
        ErrorKind::ArgumentListTooLong => ProviderError::ContextTooLong {
            message: format!(
                "{message}; without `{{prompt}}` among its arguments it is given the prompt as input"
            ),
        },
        ErrorKind::NotFound => {
            exec.rejected(message, "check that it is installed and its directory is in `PATH`")
        }
        _ => exec.rejected(message, "check that it starts from a shell"),
    }
}

fn silent(exec: &Exec) -> ProviderError {
    exec.broken(&format!("produced no output for {} s", exec.patience.as_secs_f32()))
}

fn failed(exec: &Exec, status: ExitStatus, errors: &[u8]) -> ProviderError {
    let how = match (status.code(), status.signal()) {
        (Some(code), _) => format!("exit code {code}"),
        (None, signal) => format!("signal {}", signal.unwrap_or_default()),
    };
    let words = Clean::default().push(errors);
    let words = SHOWN_STDERR.split(&words);
    let words = if words.tail.is_empty() { words.head } else { words.tail };
    let dot = if words.is_empty() { "" } else { ": " };
    let message = format!("`{}` ended with {how}{dot}{words}", exec.program.display());
    exec.rejected(message, "check that it works from a shell with the same arguments")
}
