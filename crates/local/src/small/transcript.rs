//! The [`Transcript`]: examples and messages as the text that a small model continues, in lines that begin with `Request:`,
//! `Reply:` or `Result:`.
use super::{Shown, steps::steps, words::words};
use haft_core::{
    CallForm, Message, Part, Request, ToolResult, ToolSpec, clip, grammar::properties_of, text_of,
};
use serde_json::{Map, Value};

/// Maximum bytes of a tool's result that the model reads; the rest is left out.
const MAX_RESULT_BYTES: usize = 2_000;

/// The text of a worked example.
pub(super) fn shown((tool, example): Shown<'_>, form: &CallForm) -> String {
    let mut text = asked(&example.request);
    if let Some(tool) = tool {
        text.push_str(&reply(&call_text(tool, &example.arguments, form)));
        text.push_str(&resulted(&relevant_lines(&readable(&example.result), &example.request)));
    }
    text + &reply(&example.answer) + "\n"
}

/// The conversation, with each step of a request as a request of its own.
pub(super) struct Transcript {
    /// Ends where the model continues: with `Reply:` and no space, because the tokens of words include the space before
    /// them.
    pub(super) text: String,
    /// The current step.
    pub(super) step: String,
    /// Whether a step is left, and the last call did not fail.
    pub(super) may_call: bool,
}

pub(super) fn transcript(request: &Request, form: &CallForm) -> Transcript {
    let (mut text, mut steps, mut done, mut has_failed) = (String::new(), Vec::new(), 0, false);
    for message in request.messages.iter() {
        match message.as_ref() {
            Message::User { parts } => {
                (steps, done, has_failed) = (self::steps(&text_of(parts)), 0, false);
                text.push_str(&asked(steps.first().map_or("", String::as_str)));
            }
            Message::Assistant { parts } => text.push_str(&reply_text(parts, &request.tools, form)),
            Message::Tool { result, .. } => {
                let step = steps.get(done).or(steps.last()).map_or("", String::as_str);
                text.push_str(&resulted(&relevant_lines(&result_text(result), step)));
                (done, has_failed) = (done + 1, !result.went_well());
                if let Some(next) = steps.get(done) {
                    text.push_str(&format!("{}\n{}", reply("Done."), asked(next)));
                }
            }
        }
    }
    let step = steps.get(done).or(steps.last()).cloned().unwrap_or_default();
    Transcript { text, step, may_call: done < steps.len().max(1) && !has_failed }
}

fn reply_text(parts: &[Part], tools: &[ToolSpec], form: &CallForm) -> String {
    let calls = parts.iter().filter_map(Part::as_call);
    let calls = calls.map(|call| match tools.iter().find(|tool| tool.name == call.name) {
        Some(tool) => call_text(tool, &call.arguments, form),
        None => form.written(&call.name, &call.arguments),
    });
    let calls: Vec<String> = calls.collect();
    if calls.is_empty() { reply(&one_line(&text_of(parts))) + "\n" } else { reply(&calls.join("\n")) }
}

/// A request, up to the reply.
fn asked(request: &str) -> String {
    format!("Request: {}\nReply:", one_line(request))
}

fn reply(text: &str) -> String {
    format!(" {text}\n")
}

fn resulted(result: &str) -> String {
    format!("Result: {result}\nReply:")
}

/// A call whose arguments are in the order of the schema, which the grammar also requires.
fn call_text(tool: &ToolSpec, arguments: &Value, form: &CallForm) -> String {
    let Value::Object(given) = arguments else { return form.written(&tool.name, arguments) };
    let known = properties_of(&tool.parameters)
        .filter_map(|(name, _)| Some((name.clone(), given.get(name)?.clone())));
    let mut ordered: Map<String, Value> = known.collect();
    for (name, value) in given {
        ordered.entry(name.clone()).or_insert_with(|| value.clone());
    }
    form.written(&tool.name, &Value::Object(ordered))
}

/// The lines of a result that have most words in common with `wish`; the whole result if none has any.
fn relevant_lines(text: &str, wish: &str) -> String {
    let wanted: Vec<String> =
        words(wish).into_iter().filter(|word| word.len() > 3 && !word.starts_with('<')).collect();
    let shared = |line: &str| {
        let words = words(&line.replace(|character: char| !character.is_alphanumeric(), " "));
        wanted.iter().filter(|wanted| words.contains(wanted)).count()
    };
    let most = text.lines().map(shared).max().unwrap_or(0);
    text.lines().filter(|line| shared(line) == most).collect::<Vec<_>>().join("\n")
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn result_text(result: &ToolResult) -> String {
    match &result.error {
        Some(failure) if result.content.is_empty() => failure.message.clone(),
        _ => readable(&result.content),
    }
}

/// A result without line numbers, shortened. Of an error, only the first line: the model would mistake a hint for the
/// next request.
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
    match text.len() {
        0 => "(no output)".into(),
        1..=MAX_RESULT_BYTES => text.to_owned(),
        _ => format!("{}\n…", clip::head(text, MAX_RESULT_BYTES)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_made_readable() {
        let long = "ä".repeat(MAX_RESULT_BYTES);
        let table = [
            ("     1\ta\n     2\t\tb\n", "a\n\tb".to_owned()),
            ("1\tone\nno number", "1\tone\nno number".into()),
            ("", "(no output)".into()),
            (
                "error: cannot read `a.txt`: no such file\nhint: read b",
                "cannot read `a.txt`: no such file".into(),
            ),
            (&long, format!("{}\n…", "ä".repeat(MAX_RESULT_BYTES / 2))),
        ];
        for (result, expected) in table {
            assert_eq!(readable(result), expected);
        }
    }

    #[test]
    fn the_model_sees_the_lines_that_the_request_is_about() {
        let file = "# Wifi\nHeating: 21\nWifi password: sun9\nLeader: Ann";
        let table =
            [("I forgot the wifi password, see home.txt", "Wifi password: sun9"), ("Read home.txt.", file)];
        for (wish, expected) in table {
            assert_eq!(relevant_lines(file, wish), expected, "{wish}");
        }
    }
}
