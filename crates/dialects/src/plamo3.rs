//! PLaMo 3 of Preferred Networks. Every part has a delimiter at its beginning and one at its end; here without the
//! `<|plamo:` and `:plamo|>` around each:
//!
//! ```text
//! begin_think … end_think begin_tool_requests begin_tool_request begin_tool_name NAME end_tool_name
//! begin_tool_arguments <|plamo:constrain|>json<|plamo:msg|>{…} end_tool_arguments end_tool_request end_tool_requests
//! ```
use super::{
    Call, Dialect, Said, Setting,
    blocks::{self, Block, Body, CutDelimiter, Grammar, Thought},
    bodies::mended,
    writing::Writing,
};

pub(super) static PLAMO3: Dialect = Dialect {
    name: "plamo3",
    models: &["plamo-3", "plamo3"],
    reader: |setting| blocks::reader(&GRAMMAR, setting),
    writing: Writing::Named([
        "<|plamo:begin_tool_requests:plamo|><|plamo:begin_tool_request:plamo|><|plamo:begin_tool_name:plamo|>",
        "<|plamo:end_tool_name:plamo|><|plamo:begin_tool_arguments:plamo|><|plamo:constrain|>json<|plamo:msg|>",
        "<|plamo:end_tool_arguments:plamo|><|plamo:end_tool_request:plamo|><|plamo:end_tool_requests:plamo|>",
    ]),
    ..Dialect::BASE
};

const REQUEST: &str = "<|plamo:begin_tool_request:plamo|>";
const END: &str = "<|plamo:end_tool_requests:plamo|>";
const NAME: &str = "<|plamo:begin_tool_name:plamo|>";
const NAME_END: &str = "<|plamo:end_tool_name:plamo|>";

static GRAMMAR: Grammar = Grammar {
    thoughts: &[Thought::new("<|plamo:begin_think:plamo|>", &["<|plamo:end_think:plamo|>"])],
    blocks: &[Block {
        stop: &[REQUEST, END],
        ..Block::new(REQUEST, &["<|plamo:end_tool_request:plamo|>"], call)
    }],
    noise: &["<|plamo:tag|>", "<|plamo:eos|>"],
    frame: &["<|plamo:begin_tool_requests:plamo|>", END],
    cut: CutDelimiter::ProblemWithLetters,
    ..Grammar::NONE
};

fn call(body: &Body<'_>, _: &Setting, said: &mut Vec<Said>) {
    let Some((_, rest)) = body.text.split_once(NAME) else {
        return body.told("a call has no name", said);
    };
    let Some((name, rest)) = named(rest) else { return body.told("a call has no name", said) };
    let arguments = rest.split_once("<|plamo:msg|>").map_or("", |(_, arguments)| arguments).trim();
    let arguments = match arguments.find("<|plamo:") {
        Some(end) if mended(arguments).is_err() => arguments[..end].trim(),
        _ => arguments,
    };
    let may_lack = body.cut && !arguments.ends_with('}');
    let arguments = match mended(arguments) {
        Ok(arguments) => arguments.to_string(),
        Err(_) if arguments.is_empty() => "{}".into(),
        Err(_) if body.cut => arguments.into(),
        Err(error) => return body.told(format!("the arguments are not valid JSON: {error}"), said),
    };
    said.push(Said::Call(Call::new(name, arguments)));
    if may_lack {
        said.push(Said::cut_off(format!("the end of the arguments of `{name}`")));
    }
}

/// The name, which the beginning of a delimiter ends too.
fn named(text: &str) -> Option<(&str, &str)> {
    let (name, rest) = text.split_once(NAME_END).or_else(|| text.split_once("<|plamo:"))?;
    (!name.trim().is_empty()).then_some((name.trim(), rest))
}
