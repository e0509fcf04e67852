//! Mistral. Its tokenizers write calls in three ways: up to version 10 `[TOOL_CALLS] [{"name": …, "arguments": {…}}]`, the
//! whole rest of the reply; since then `[TOOL_CALLS]NAME{…}`, `[TOOL_CALLS]NAME[ARGS]{…}` or
//! `[TOOL_CALLS]NAME[CALL_ID]ID[ARGS]{…}`, the delimiter before each call. Thoughts lie between `[THINK]` and `[/THINK]`.
//! After the calls a reply has no more text.
use super::{
    Call, Dialect, Said, Setting,
    blocks::{self, Block, Body, Grammar, Json, Thought, say},
    bodies::{calls, mended},
    writing::Writing,
};
use serde_json::Value;

pub(super) static MISTRAL: Dialect = Dialect {
    name: "mistral",
    models: &["mistral", "mixtral", "ministral", "magistral", "devstral", "codestral", "pixtral", "voxtral"],
    reader: |setting| {
        let grammar = if setting.variant == "pre_v11" { &LISTS } else { &NAMED };
        blocks::reader(grammar, setting)
    },
    signs: &[&["[TOOL_CALLS]"]],
    writing: Writing::Named(["[TOOL_CALLS]", "[ARGS]", ""]),
    ..Dialect::BASE
};

const CALLS: &str = "[TOOL_CALLS]";
const THOUGHTS: &[Thought] = &[Thought::new("[THINK]", &["[/THINK]"]), blocks::THINK];

static NAMED: Grammar = grammar(&[Block { inner: &["[CALL_ID]", "[ARGS]"], ..block(named) }], false);
static LISTS: Grammar = grammar(&[block(list)], true);

const fn grammar(blocks: &'static [Block], once: bool) -> Grammar {
    Grammar { thoughts: THOUGHTS, blocks, noise: &["</s>"], hush_after_blocks: true, once, ..Grammar::NONE }
}

const fn block(read: fn(&Body<'_>, &Setting, &mut Vec<Said>)) -> Block {
    Block { json: Json::Last, stop: &[CALLS], ..Block::new(CALLS, &[], read) }
}

fn named(body: &Body<'_>, setting: &Setting, said: &mut Vec<Said>) {
    let start = body.text.find("[ARGS]").or_else(|| body.text.find(['{', '['])).unwrap_or(body.text.len());
    let (head, arguments) = body.text.split_at(start);
    let (name, id) = head.split_once("[CALL_ID]").unwrap_or((head, ""));
    let (name, id) = (name.trim(), id.trim());
    if name.is_empty() {
        return list(body, setting, said);
    }
    if name.contains(char::is_whitespace) {
        return body.stays("a call must begin with the name of a tool", said);
    }
    let arguments = arguments.strip_prefix("[ARGS]").unwrap_or(arguments).trim();
    let arguments = match mended(arguments) {
        Ok(arguments) => arguments.to_string(),
        Err(_) if arguments.is_empty() => "{}".into(),
        Err(_) if body.cut => arguments.into(),
        Err(error) => return body.stays(format!("the arguments are not valid JSON: {error}"), said),
    };
    let is_begun = body.cut && arguments == "{}";
    said.push(Said::Call(Call { id: id.into(), ..Call::new(name, arguments) }));
    if is_begun {
        said.push(Said::cut_off(format!("the arguments of `{name}`")));
    }
}

/// What is wrong in a list does not spoil the rest of it.
fn list(body: &Body<'_>, setting: &Setting, said: &mut Vec<Said>) {
    let items = match mended(body.text) {
        Ok(Value::Array(items)) => items,
        Ok(item @ Value::Object(_)) => vec![item],
        _ if body.text.trim().is_empty() => return,
        _ if setting.variant == "pre_v11" => {
            say(said, Said::Text, body.text);
            return said.push(Said::problem("after `[TOOL_CALLS]` a list must come"));
        }
        _ if !setting.tools.is_empty() => return body.stays("the list of calls is not valid JSON", said),
        _ => return body.told("the list of calls is not valid JSON", said),
    };
    for item in items {
        let text = item.to_string();
        match calls(&text) {
            Ok(calls) => said.extend(calls.into_iter().map(Said::Call)),
            Err(why) => said.push(Said::problem(format!("{why}: {text}"))),
        }
    }
}
