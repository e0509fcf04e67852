//! Examples and messages as the text that a small model continues.
use super::{
    Shown, answer,
    line::{FINAL, Form, form_of, write_call},
};
use haft_core::{CallForm, Message, Part, Request, ToolResult, ToolSpec, clip, text_of};

/// Characters of a tool's result that the model reads; the end of a longer one is left out.
const LONGEST_RESULT: usize = 2_000;

/// A worked example, as the model is to go on.
pub(super) fn shown((tool, example): Shown<'_>, form: Option<&CallForm>) -> String {
    let mut text = asked(&example.request);
    if let Some(tool) = tool {
        text.push_str(&done(&write_call(tool, &example.arguments, form)));
        text.push_str(&resulted(&seen(tool, &readable(&example.result), &example.request)));
    }
    text + &done(&format!("{FINAL} {}", example.answer)) + "\n"
}

/// A message of the conversation as the examples show theirs. The text ends where the model goes on: a line that
/// begins with `Action:`, and no space after it, because words are tokens with their space before them.
pub(super) fn told(message: &Message, request: &Request, wish: &str) -> String {
    let (tools, form) = (&request.tools[..], request.form.as_deref());
    match message {
        Message::User { parts } => asked(&text_of(parts)),
        Message::Tool { name, result, .. } => resulted(&heard(name, result, tools, wish)),
        Message::Assistant { parts } => {
            let calls = parts.iter().filter_map(Part::as_call);
            let lines = calls.map(|call| match tools.iter().find(|tool| tool.name == call.name) {
                Some(tool) => write_call(tool, &call.arguments, form),
                None => format!("{} {}", call.name, call.arguments),
            });
            let lines: Vec<String> = lines.collect();
            match lines.is_empty() {
                true => done(&format!("{FINAL} {}", one_line(&text_of(parts)))) + "\n",
                false => done(&lines.join("; ")),
            }
        }
    }
}

/// What a person asks for; the model goes on with an action.
pub(super) fn asked(request: &str) -> String {
    format!("Request: {}\nAction:", one_line(request))
}

fn done(line: &str) -> String {
    format!(" {line}\n")
}

/// A result, and on with it.
pub(super) fn resulted(result: &str) -> String {
    format!("Result: {result}\nAction:")
}

/// The result of a step that is over, and the next one.
pub(super) fn finished(result: &str, next: &str) -> String {
    format!("{}{}\n{}", resulted(result), done(&format!("{FINAL} Done.")), asked(next))
}

/// What the model sees of the result of the tool `name`.
pub(super) fn heard(name: &str, result: &ToolResult, tools: &[ToolSpec], wish: &str) -> String {
    let text = result_text(result);
    match tools.iter().find(|tool| tool.name == name) {
        Some(tool) => seen(tool, &text, wish),
        None => text,
    }
}

/// What the model sees of a result: of a tool that shows what lies at a path, the lines that matter to the request.
fn seen(tool: &ToolSpec, result: &str, wish: &str) -> String {
    match form_of(&tool.parameters) {
        Form::Value(parameter) if parameter.contains("path") => answer::focus(result, wish),
        Form::Value(_) | Form::Pair(..) | Form::Json => result.to_owned(),
    }
}

/// What people say may have several lines; in the format a line has its meaning.
fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Why a call failed, in one line. None for a command that says nothing of it: some only answer no.
pub(super) fn reason(result: &ToolResult) -> Option<String> {
    let text = match &result.error {
        Some(failure) => failure.message.clone(),
        None => readable(&result.content),
    };
    let mut lines = text.lines().map(str::trim);
    let line = lines.find(|line| !line.is_empty() && !line.starts_with(['[', '(']))?;
    Some(line.chars().take(LONGEST_REASON).collect())
}

/// Characters of a reason.
const LONGEST_REASON: usize = 200;

fn result_text(result: &ToolResult) -> String {
    match &result.error {
        Some(failure) if result.content.is_empty() => failure.message.clone(),
        _ => readable(&result.content),
    }
}

/// A result without the line numbers that larger models count by, and no longer than a small one can follow. Of an
/// error only what went wrong: a hint would be taken for the next thing to do.
fn readable(result: &str) -> String {
    if let Some(error) = result.strip_prefix("error: ") {
        return clipped(error.lines().next().unwrap_or_default());
    }
    let numbered = |line: &str| {
        let (number, text) = line.split_once('\t')?;
        number.trim().parse::<u32>().ok().map(|_| text.to_owned())
    };
    let lines: Option<Vec<String>> = result.lines().map(numbered).collect();
    let text = lines.map_or_else(|| result.to_owned(), |lines| lines.join("\n"));
    clipped(text.trim_end())
}

fn clipped(text: &str) -> String {
    if text.is_empty() {
        return "(no output)".into();
    }
    if text.len() <= LONGEST_RESULT {
        return text.to_owned();
    }
    format!("{}\n…", clip::head(text, LONGEST_RESULT))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_made_readable() {
        let long = "ä".repeat(LONGEST_RESULT);
        let table = [
            ("     1\ta\n     2\t\tb\n", "a\n\tb".to_owned()),
            ("1\tone\nno number", "1\tone\nno number".into()),
            ("", "(no output)".into()),
            (
                "error: cannot read `a.txt`: no such file\nhint: read b",
                "cannot read `a.txt`: no such file".into(),
            ),
            (&long, format!("{}\n…", "ä".repeat(LONGEST_RESULT / 2))),
        ];
        for (result, expected) in table {
            assert_eq!(readable(result), expected);
        }
    }
}
