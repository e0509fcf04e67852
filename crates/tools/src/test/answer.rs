//! [`output`]: the result of a test run for the model and the user.
use super::{
    report::Report,
    runner::{Command, Framework},
};
use haft_core::{Clip, Keep, TestFailure, TestRun, ToolOutput};
use haft_process::{Exit, Finished};
use serde::Serialize;
use serde_json::{Value, json};

/// Maximum number of failures that are shown in full: the first ones are the ones to work on.
const MAX_FAILURES: usize = 20;

/// Limits for one message, for all messages, and for output that could not be parsed.
const MESSAGE_CLIP: Clip = Clip { lines: 25, bytes: 2_000, keep: Keep::Both };
const ALL_CLIP: Clip = Clip { lines: 600, bytes: 24_000, keep: Keep::Head };
const RAW_CLIP: Clip = Clip { lines: 200, bytes: 12_000, keep: Keep::Tail };

/// The fields of a result.
#[derive(Serialize)]
struct Details {
    framework: Framework,
    #[serde(flatten)]
    run: TestRun,
    #[serde(skip_serializing_if = "Option::is_none")]
    skipped: Option<u64>,
}

/// The result of a call. An exit code alone proves nothing: the parsed output and how the run ended must agree.
pub(super) fn output(command: &Command, report: Option<Report>, finished: &Finished) -> ToolOutput {
    let line = command.line();
    let Some(report) = report else { return unread(command, finished) };
    let well = finished.exit == Exit::Code(0);
    let ok = well && !report.has_failed() && !report.is_empty() && !finished.truncated;
    let summary = if report.is_empty() { "no tests ran".to_owned() } else { report.counts() };
    let text = format!("{summary} (`{line}`){}{}", failures(&report), doubts(&report, finished));
    let Report { passed, failed, skipped, failures } = report;
    let run =
        TestRun { command: line, parsed: true, ok, passed: Some(passed), failed: Some(failed), failures };
    let details = Details { framework: command.framework, run, skipped: Some(skipped) };
    ToolOutput::text(text).show(summary).details(json!(details))
}

/// The result if the output does not have the runner's format.
fn unread(command: &Command, finished: &Finished) -> ToolOutput {
    let (line, end) = (command.line(), end(finished.exit));
    // If the runner is unknown, only the exit code is known.
    let is_known = command.framework != Framework::Npm;
    let before = if is_known { "cannot tell what the tests came to; " } else { "" };
    let text = format!("{before}`{line}` {end}:\n{}", raw(finished));
    let ok = !is_known && finished.exit == Exit::Code(0);
    let shown = format!("{line}: {end}");
    let run = TestRun { command: line, ok, ..TestRun::default() };
    let details = Details { framework: command.framework, run, skipped: None };
    ToolOutput::text(text).show(shown).details(json!(details))
}

/// The fields for a run that did not end.
pub(super) fn unknown(command: &Command) -> Value {
    let run = TestRun { command: command.line(), ..TestRun::default() };
    json!(Details { framework: command.framework, run, skipped: None })
}

fn failures(report: &Report) -> String {
    let mut text: String = report.failures.iter().take(MAX_FAILURES).map(told).collect();
    if report.failures.len() > MAX_FAILURES {
        text += &format!("\n\n… {} more failures", report.failures.len() - MAX_FAILURES);
    }
    ALL_CLIP.apply(&text, "run fewer tests with `filter`")
}

/// Notes on contradictions between the parsed output and how the run ended.
fn doubts(report: &Report, finished: &Finished) -> String {
    let mut text = String::new();
    if finished.exit != Exit::Code(0) && !report.has_failed() {
        text += &format!("\n\nno test failed, but the command {}:\n{}", end(finished.exit), raw(finished));
    }
    if report.failed > 0 && report.failures.is_empty() {
        text += &format!("\n\nwhich ones cannot be told from the output:\n{}", raw(finished));
    }
    if finished.truncated {
        text += "\n[the output was too long to be read as a whole: the counts are too low]";
    }
    text
}

fn told(TestFailure { name, file, line, message }: &TestFailure) -> String {
    let place = match (file, line) {
        (Some(file), Some(line)) => format!("  {file}:{line}"),
        (Some(file), None) => format!("  {file}"),
        (None, _) => String::new(),
    };
    let message = MESSAGE_CLIP.apply(message.trim_end(), "");
    let message: String = message.lines().map(|line| format!("\n  {line}")).collect();
    format!("\n\nFAILED {name}{place}{message}")
}

/// The end of what a command printed.
pub(super) fn raw(finished: &Finished) -> String {
    let both = format!("{}\n{}", finished.stdout.text.trim_end(), finished.stderr.text.trim_end());
    let both = both.trim();
    if both.is_empty() { "(no output)".into() } else { RAW_CLIP.apply(both, "") }
}

fn end(exit: Exit) -> String {
    match exit {
        Exit::Code(code) => format!("ended with exit code {code}"),
        Exit::Signal(signal) => format!("was killed by signal {signal}"),
        Exit::TimedOut => "took too long".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use haft_process::Captured;

    fn check(report: Option<Report>, exit: Exit) -> (String, bool) {
        let (program, arguments, folder) = ("cargo".into(), vec!["test".into()], "/".into());
        let command = Command { framework: Framework::Cargo, program, arguments, folder };
        let stdout = Captured { text: "raw output\n".into(), ..Captured::default() };
        let (stderr, truncated, spilled) = Default::default();
        let output = output(
            &command,
            report,
            &Finished { stdout, stderr, exit, truncated, spilled, unreached: vec![] },
        );
        (output.for_model, output.details["ok"] == true)
    }

    // P-13, C-67
    #[test]
    fn an_exit_code_alone_proves_nothing() {
        let report = |passed: u64, failed: u64| Some(Report { passed, failed, ..Report::default() });
        let table = [
            (report(2, 0), Exit::Code(0), "2 passed, 0 failed (`cargo test`)", true),
            (report(0, 0), Exit::Code(0), "no tests ran (`cargo test`)", false),
            (
                report(2, 0),
                Exit::Code(1),
                "2 passed, 0 failed (`cargo test`)\n\nno test failed, but the command ended with exit code 1:\nraw output",
                false,
            ),
            (
                report(2, 1),
                Exit::Code(0),
                "2 passed, 1 failed (`cargo test`)\n\nwhich ones cannot be told from the output:\nraw output",
                false,
            ),
            (
                None,
                Exit::Signal(9),
                "cannot tell what the tests came to; `cargo test` was killed by signal 9:\nraw output",
                false,
            ),
        ];
        for (report, exit, expected, ok) in table {
            assert_eq!(check(report, exit), (expected.to_owned(), ok));
        }
    }
}
