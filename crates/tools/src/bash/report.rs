//! [`Report`]: the output of a command and how it ended, cut to what a model reads.
use super::{Limit, need::Ended, screen::as_lines};
use crate::BashSettings;
use haft_core::{CommandRun, ToolContext, ToolError, ToolErrorKind, ToolOutput};
use haft_process::{Captured, Exit, Finished, Unreached, new_file};
use haft_shell::{Deed, Line};
use serde::Serialize;
use serde_json::{Value, json};
use std::{
    io::Write,
    path::{Path, PathBuf},
};

/// Both streams as far as they fit, and how the command ended.
pub(super) struct Report {
    stdout: String,
    stderr: String,
    /// The file with the whole output, if a part is left out.
    whole: Option<PathBuf>,
    truncated: bool,
    /// Number of lines that it printed.
    lines: u64,
    exit: Exit,
    /// Whether the command had a view of the workspace.
    confined: bool,
    unreached: Vec<Unreached>,
    /// A note on what it was missing, and how to ask for that.
    want: Option<String>,
    /// A note on processes that it left running.
    left: Option<&'static str>,
}

/// All processes in the background end with the command, however they were started.
const LEFT: &str =
    "[programs in the background end with the command; `background: true` starts a command that goes on]";

/// The fields of a result.
#[derive(Serialize)]
struct Details<'a> {
    stdout: &'a str,
    stderr: &'a str,
    #[serde(flatten)]
    run: CommandRun,
    truncated: bool,
}

impl Report {
    /// Output that does not fit is saved whole to a file in `artifacts`.
    pub(super) fn new(settings: &BashSettings, finished: Finished, artifacts: &Path) -> Self {
        let Finished { stdout, stderr, exit, spilled, unreached, .. } = finished;
        let truncated = is_cut(settings, &stdout) || is_cut(settings, &stderr);
        let whole = match truncated {
            true => spilled.or_else(|| keep(artifacts, &[&stdout.text, &stderr.text])),
            false => None,
        };
        let lines = lines_of(&stdout) + lines_of(&stderr);
        let [stdout, stderr] = [stdout, stderr].map(|stream| clip(settings, &stream, whole.as_deref()));
        Self {
            stdout,
            stderr,
            whole,
            truncated,
            lines,
            exit,
            confined: false,
            unreached,
            want: None,
            left: None,
        }
    }

    /// Adds the note on processes that `command` left running, and, if it ran in a view, on what it was missing.
    pub(super) fn of(self, command: &str, ctx: &ToolContext) -> Self {
        let left = leaves_processes(command).then_some(LEFT);
        let report = Self { left, ..self };
        report.with_want(command, ctx)
    }

    fn with_want(self, command: &str, ctx: &ToolContext) -> Self {
        let Some(confinement) = &ctx.access.confinement else { return self };
        let said = format!("{}\n{}", self.stdout, self.stderr);
        let ended = Ended {
            command,
            workspace: &ctx.live,
            said: &said,
            has_failed: self.exit != Exit::Code(0),
            unreached: &self.unreached,
            network: &ctx.access.network,
            reach: &confinement.reach,
            limits: confinement.limits,
        };
        let want = ended.want();
        Self { confined: true, want, ..self }
    }

    pub(super) fn result(mut self, limit: &Limit) -> Result<ToolOutput, ToolError> {
        if limit.terminal {
            self.stdout = as_lines(&self.stdout);
        }
        let left = self.left.filter(|_| self.exit != Exit::TimedOut).map(str::to_owned);
        let text = [Some(self.text()), limit.note(), self.want.clone(), left]
            .into_iter()
            .flatten()
            .collect::<Vec<_>>()
            .join("\n");
        let mut details = self.details();
        if let Some(note) = limit.note() {
            details["note"] = json!(note);
        }
        if self.exit != Exit::TimedOut {
            return Ok(ToolOutput::text(text).fields(details));
        }
        let message = format!(
            "timed out after {} s; the command was killed. Its output so far:\n{text}",
            limit.seconds
        );
        let hint = match self.confined {
            true => {
                "nothing that it changed was kept; give a longer `timeout`, or run it in the `background`"
            }
            false => "give a longer `timeout`, or run it in the `background`",
        };
        Err(ToolError::new(ToolErrorKind::System, message).hint(hint).details(details))
    }

    /// Standard output, standard error, and how the command ended unless it succeeded.
    fn text(&self) -> String {
        let mut parts: Vec<&str> =
            [self.stdout.as_str(), &self.stderr].map(|text| text.trim_end_matches('\n')).into();
        parts.retain(|text| !text.is_empty());
        if parts.is_empty() {
            parts.push("(no output)");
        }
        let end = match self.exit {
            Exit::Code(0) | Exit::TimedOut => String::new(),
            Exit::Code(code) => format!("\n[exit code: {code}]"),
            Exit::Signal(signal) => format!("\n[killed by signal {signal}]"),
        };
        parts.join("\n") + &end
    }

    /// How the command ended. A signal is written as a shell does.
    fn details(&self) -> Value {
        let code = match self.exit {
            Exit::Code(code) => Some(code),
            Exit::Signal(signal) => Some(128 + signal),
            Exit::TimedOut => None,
        };
        let run = CommandRun {
            exit_code: code.map(i64::from),
            output_file: self.whole.clone(),
            total_lines: self.truncated.then_some(self.lines),
            timed_out: self.exit == Exit::TimedOut,
            ..CommandRun::default()
        };
        json!(Details { stdout: &self.stdout, stderr: &self.stderr, run, truncated: self.truncated })
    }
}

/// Whether `command` may leave processes running: it starts some without waiting for their end.
fn leaves_processes(command: &str) -> bool {
    if !command.contains('&') {
        return false;
    }
    let deeds = Line::read(command).deeds;
    let waits = |deed: &Deed| matches!(deed, Deed::Run(words) if words.first().is_some_and(|word| word.text == "wait"));
    deeds.contains(&Deed::Background) && !deeds.iter().any(waits)
}

fn is_cut(settings: &BashSettings, captured: &Captured) -> bool {
    captured.missing_bytes > 0 || settings.clip.split(&captured.text).missing_bytes > 0
}

/// Number of printed lines, including those that are left out.
fn lines_of(stream: &Captured) -> u64 {
    let is_open = !stream.text.is_empty() && !stream.text.ends_with('\n');
    stream.text.matches('\n').count() as u64 + stream.missing_lines + u64::from(is_open)
}

/// Writes a file with these texts. `None` if it cannot be written; the result then only says how much is left out.
fn keep(folder: &Path, texts: &[&str]) -> Option<PathBuf> {
    let (mut file, path) = new_file(folder).ok()?;
    texts.iter().try_for_each(|text| file.write_all(text.as_bytes())).ok()?;
    Some(path)
}

/// A stream as the model reads it.
fn clip(settings: &BashSettings, captured: &Captured, whole: Option<&Path>) -> String {
    let clipped = settings.clip.split(&captured.text);
    let bytes = clipped.missing_bytes as u64 + captured.missing_bytes;
    let lines = clipped.missing_lines as u64 + captured.missing_lines;
    if bytes == 0 {
        return captured.text.clone();
    }
    let note = match (&settings.marker, whole) {
        (Some(marker), _) => marker.clone(),
        (None, Some(whole)) => {
            let whole = whole.display();
            format!(
                "\n[{bytes} bytes, {lines} lines left out; all of it is in `{whole}`: `read` or `grep` that]"
            )
        }
        (None, None) => format!("\n[{bytes} bytes, {lines} lines left out; filter the output]"),
    };
    let head = clipped.head.trim_end_matches('\n');
    let newline = if clipped.tail.is_empty() { "" } else { "\n" };
    format!("{head}{note}{newline}{}", clipped.tail)
}
