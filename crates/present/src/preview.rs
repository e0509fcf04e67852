//! [`preview`]: the part of a result that is shown. [`summary`]: the arguments of a call in brief.
use crate::{
    outcome::{plan, step_line, stopped, verdict},
    safe,
};
use haft_core::{Shown, ToolResult, arguments_in_brief};
use serde_json::Value;

/// Default number of lines of a result that are shown.
pub const PREVIEW_LINES: usize = 3;
/// Maximum characters of a line in previews.
const MAX_PREVIEW_CHARS: usize = 160;

/// The arguments in a few words: see [`arguments_in_brief`].
pub fn summary(arguments: &Value) -> String {
    short(&safe::text(&arguments_in_brief(arguments)))
}

/// The part of a result that is shown: up to `lines` lines, or all of them with `usize::MAX`. For a tool, these are the
/// first lines; for a command the last ones, which have its verdict. `how` follows the count of omitted lines: a way to
/// see them.
pub fn preview(result: &ToolResult, lines: usize, how: &str) -> Vec<String> {
    if let Some(plan) = plan(result) {
        return plan.items.iter().map(|step| short(&step_line(step))).collect();
    }
    let text = match (&result.error, &result.shown) {
        (Some(error), _) => &error.message,
        (None, Shown::Preview) => &result.content,
        (None, Shown::Text(text) | Shown::Message(text)) => text,
        (None, Shown::Nothing) => return Vec::new(),
    };
    let command = result.command();
    let is_command = command.is_some();
    let mut all: Vec<&str> = text.lines().collect();
    if is_command && lines != usize::MAX && verdict(result).is_some() {
        // The verdict is shown beside the call, so its line is free for output.
        all.pop_if(|last| last.starts_with("[exit code: "));
        let is_said =
            stopped(result).is_some() && all.first().is_some_and(|first| first.ends_with("so far:"));
        all.drain(..usize::from(is_said));
    }
    let skipped = all.len().saturating_sub(lines);
    let told = if is_command { &all[skipped..] } else { &all[..all.len() - skipped] };
    // The result may contain less than the command has printed.
    let printed = command.and_then(|run| run.total_lines).map_or(all.len(), |all| all as usize);
    let left_out = if skipped == 0 { 0 } else { printed.saturating_sub(told.len()) };
    let line = |line: &&str| match lines {
        usize::MAX => safe::text(line).into_owned(),
        _ => short(&safe::text(written_last(line))),
    };
    let mut shown: Vec<String> = told.iter().map(line).collect();
    match (left_out, is_command) {
        (0, _) => {}
        (left_out, true) => shown.insert(0, format!("… {left_out} earlier line{}{how}", s(left_out))),
        (left_out, false) => shown.push(format!("… {left_out} more line{}{how}", s(left_out))),
    }
    shown
}

/// The final content of a terminal that prints `text`: see [`written_last`].
pub fn shown_last(text: &str) -> String {
    text.split('\n').map(written_last).collect::<Vec<_>>().join("\n")
}

/// The final content of a line: text after a carriage return overwrites it, as progress bars do.
fn written_last(line: &str) -> &str {
    line.trim_end_matches('\r').rsplit('\r').next().unwrap_or_default()
}

fn s(number: usize) -> &'static str {
    if number == 1 { "" } else { "s" }
}

fn short(line: &str) -> String {
    match line.char_indices().nth(MAX_PREVIEW_CHARS) {
        Some((at, _)) => format!("{}…", &line[..at]),
        None => line.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    // C-07, C-51, C-67
    #[test]
    fn a_result_is_shown_as_a_few_lines() {
        let result = |content: &str| ToolResult { content: content.into(), ..ToolResult::default() };
        assert_eq!(preview(&result("a\nb\nc\nd\ne"), 3, ""), ["a", "b", "c", "… 2 more lines"]);
        assert_eq!(preview(&result("a\nb\nc"), 1, ""), ["a", "… 2 more lines"]);
        assert_eq!(preview(&ToolResult { shown: Shown::Nothing, ..result("a") }, 3, ""), [""; 0]);
        let ran = ToolResult { details: json!({"exit_code": 1}), ..result("a\nb\nc\nd") };
        assert_eq!(preview(&ran, 3, " (there)"), ["… 1 earlier line (there)", "b", "c", "d"]);
        assert!(!ran.went_well() && ran.is_ok());
        let cut =
            ToolResult { details: json!({"exit_code": 0, "total_lines": 3000}), ..result("a\nb\nc\nd") };
        assert_eq!(preview(&cut, 3, ""), ["… 2997 earlier lines", "b", "c", "d"]);
        let failed = ToolResult { content: "a\nb\nc\n[exit code: 1]".into(), ..ran };
        assert_eq!(preview(&failed, 3, ""), ["a", "b", "c"]);
        assert_eq!(preview(&failed, usize::MAX, ""), ["a", "b", "c", "[exit code: 1]"]);
        let bar = " 10%\r 50%\r100%\r\ndone";
        assert_eq!(preview(&result(bar), 3, ""), ["100%", "done"]);
        assert_eq!(preview(&result(bar), usize::MAX, ""), [" 10% 50%100%", "done"]);
        let words = ToolResult { shown: Shown::Text("Found 3".into()), ..result("a") };
        assert_eq!(preview(&words, 3, ""), ["Found 3"]);
    }
}
