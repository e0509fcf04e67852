//! Dialects that write the name of the tool, followed by its arguments as a JSON object:
//!
//! ```text
//! DeepSeek R1, V3   <｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>NAME, a fence with the JSON,
//!                   <｜tool▁call▁end｜><｜tool▁calls▁end｜>
//! DeepSeek V3.1     <｜tool▁call▁begin｜>NAME<｜tool▁sep｜>{…}<｜tool▁call▁end｜> within the same
//! Kimi K2           <|tool_call_begin|>functions.NAME:0<|tool_call_argument_begin|>{…}<|tool_call_end|>
//!                   between <|tool_calls_section_begin|> and <|tool_calls_section_end|>
//! Mistral           [TOOL_CALLS]NAME[ARGS]{…}, [TOOL_CALLS]NAME{…} or [TOOL_CALLS]NAME[CALL_ID]ID[ARGS]{…}
//!                   up to version 10 of its tokenizers [TOOL_CALLS] [{"name": …, "arguments": {…}}]
//! Functionary 3.1   <function=NAME>{…}</function>
//! Functionary 3.2   >>>NAME and the arguments on the lines after it, with >>>all before text
//! PLaMo 3           begin_tool_requests begin_tool_request begin_tool_name NAME end_tool_name begin_tool_arguments
//!                   <|plamo:constrain|>json<|plamo:msg|>{…} end_tool_arguments end_tool_request end_tool_requests,
//!                   each between <|plamo: and :plamo|>
//! ```
use crate::{
    Call, Dialect, Said, Setting,
    blocks::{self, Block, Body, CutDelimiter, Grammar, Json, THINK, Thought, say},
    bodies::{calls, mended},
    writing::Writing,
};
use serde_json::{Deserializer, Map, Value, json};

pub(crate) static DIALECTS: [Dialect; 8] = [
    // The models omit delimiters: a call may end where the next one or the section does, and thoughts where a call
    // begins.
    Dialect::new(
        "kimi_k2",
        &["kimi-k2", "kimi_k2"],
        &Grammar {
            hush: &["<|tool_calls_section_begin|>", "<|tool_calls_section_end|>"],
            ..Grammar::new(&[Block {
                stop: &["<|tool_call_begin|>", "<|tool_calls_section_end|>"],
                ..Block::new("<|tool_call_begin|>", &["<|tool_call_end|>"], kimi)
            }])
            .thoughts(&[THINK.until(&["<|tool_calls_section_begin|>", "<|tool_call_begin|>"])])
            .noise(&["<|im_end|>"])
            .frame(&["<|tool_call_end|>"])
            .hush_after_blocks()
        },
        Writing::Named([
            "<|tool_calls_section_begin|><|tool_call_begin|>functions.",
            ":0<|tool_call_argument_begin|>",
            "<|tool_call_end|><|tool_calls_section_end|>",
        ]),
    )
    .signs(&[&["<|tool_calls_section_begin|>"]]),
    Dialect::own(
        "mistral",
        &["mistral", "mixtral", "ministral", "magistral", "devstral", "codestral", "pixtral", "voxtral"],
        |setting| {
            const CALLS: Block =
                Block { stop: &["[TOOL_CALLS]"], ..Block::json_only("[TOOL_CALLS]", mistral) };
            const NAMED: Grammar = Grammar::new(&[Block { inner: &["[CALL_ID]", "[ARGS]"], ..CALLS }])
                .thoughts(&[Thought::new("[THINK]", &["[/THINK]"]), THINK])
                .noise(&["</s>"])
                .hush_after_blocks();
            static GRAMMARS: [Grammar; 2] =
                [NAMED, Grammar { blocks: &[Block { read: list, ..CALLS }], once: true, ..NAMED }];
            blocks::reader(&GRAMMARS[usize::from(setting.variant == "pre_v11")], setting)
        },
        Writing::Named(["[TOOL_CALLS]", "[ARGS]", ""]),
    )
    .signs(&[&["[TOOL_CALLS]"]]),
    Dialect::new("deepseek_r1", &["deepseek-r1"], &DEEPSEEK, IN_FENCE)
        .signs(&[&["<｜tool▁calls▁begin｜>", "```json"]]),
    Dialect::new(
        "deepseek_v31",
        &["deepseek-v3.1", "deepseek-v3_1"],
        &DEEPSEEK,
        Writing::Named([
            "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>",
            "<｜tool▁sep｜>",
            "<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
        ]),
    )
    .signs(&[&["<｜tool▁calls▁begin｜>"]]),
    // The model thinks only if the prompt opens the thoughts, and does not close thoughts that were not opened.
    Dialect::new(
        "deepseek_v3",
        &["deepseek-v3-", "deepseek-v3:", "deepseek-v2"],
        &DEEPSEEK.thoughts(&[Thought { first: true, ..THINK }]),
        IN_FENCE,
    ),
    Dialect::new(
        "functionary_v31",
        &["functionary-small-v3.1", "functionary-medium-v3.1"],
        &Grammar::new(&[
            Block::new("<function=", &["</function>"], element),
            Block { json: Json::None, ..Block::new("<|python_tag|>", &["<|eom_id|>"], code) },
        ])
        .noise(&["<|eom_id|>", "<|eot_id|>"]),
        Writing::Named(["<function=", ">", "</function>"]),
    ),
    Dialect::new(
        "functionary_v32",
        &["functionary-small-v3.2", "functionary-medium-v3.2"],
        &Grammar {
            prompted: ">>>",
            ..Grammar::new(&[Block { stop: &[">>>"], ..Block::new(">>>", &["<|eot_id|>"], lines) }])
                .noise(&["<|eom_id|>", "<|eot_id|>"])
                .frame(&[">>>all\n"])
        },
        Writing::Named([">>>", "\n", ""]),
    ),
    Dialect::new(
        "plamo3",
        &["plamo-3", "plamo3"],
        &Grammar {
            cut: CutDelimiter::ProblemWithLetters,
            ..Grammar::new(&[Block {
                stop: &["<|plamo:begin_tool_request:plamo|>", "<|plamo:end_tool_requests:plamo|>"],
                ..Block::new(
                    "<|plamo:begin_tool_request:plamo|>",
                    &["<|plamo:end_tool_request:plamo|>"],
                    plamo,
                )
            }])
            .thoughts(&[Thought::new("<|plamo:begin_think:plamo|>", &["<|plamo:end_think:plamo|>"])])
            .noise(&["<|plamo:tag|>", "<|plamo:eos|>"])
            .frame(&["<|plamo:begin_tool_requests:plamo|>", "<|plamo:end_tool_requests:plamo|>"])
        },
        Writing::Named([
            "<|plamo:begin_tool_requests:plamo|><|plamo:begin_tool_request:plamo|><|plamo:begin_tool_name:plamo|>",
            "<|plamo:end_tool_name:plamo|><|plamo:begin_tool_arguments:plamo|><|plamo:constrain|>json<|plamo:msg|>",
            "<|plamo:end_tool_arguments:plamo|><|plamo:end_tool_request:plamo|><|plamo:end_tool_requests:plamo|>",
        ]),
    ),
];

const IN_FENCE: Writing = Writing::Named([
    "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>",
    "\n```json\n",
    "\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
]);

const DEEPSEEK_CALL: Block = Block {
    stop: &["<｜tool▁call▁begin｜>", "<｜tool▁calls▁end｜>"],
    ..Block::new("<｜tool▁call▁begin｜>", &["<｜tool▁call▁end｜>"], deepseek)
};
/// R1 often writes the first delimiter differently.
const DEEPSEEK: Grammar = Grammar::new(&[DEEPSEEK_CALL]).noise(&["<｜end▁of▁sentence｜>"]).frame(&[
    "<｜tool▁calls▁begin｜>",
    "<｜tool▁calls｜>",
    "<｜tool calls begin｜>",
    "<｜tool_calls_begin｜>",
    "<｜tool\\_calls\\_begin｜>",
    "<｜tool▁call▁end｜>",
    "<｜tool▁calls▁end｜>",
]);

/// Emits a call with the arguments in `text`, incomplete ones if the reply was cut off. If parsing fails, the block
/// stays text.
fn say_call(name: &str, text: &str, body: &Body<'_>, said: &mut Vec<Said>) {
    match mended(text) {
        Ok(arguments) => said.push(Said::Call(Call::new(name, arguments))),
        Err(_) if body.cut && !text.is_empty() => said.push(Said::Call(Call::new(name, text))),
        Err(error) => body.stays(format!("the arguments are not valid JSON: {error}"), said),
    }
}

fn deepseek(body: &Body<'_>, _: &Setting, said: &mut Vec<Said>) {
    let Some((kind, rest)) = body.text.split_once("<｜tool▁sep｜>") else {
        return body.stays("a call must have `<｜tool▁sep｜>`", said);
    };
    let (head, arguments) = rest.split_at(rest.find(['{', '[']).unwrap_or(rest.len()));
    let head = head.trim().trim_end_matches("json").trim_end_matches('`').trim();
    let name = if head.is_empty() { kind.trim() } else { head };
    match name.is_empty() || name.contains(char::is_whitespace) {
        true => body.stays("a call has no name", said),
        false => say_call(name, arguments.trim().trim_end_matches('`').trim(), body, said),
    }
}

fn kimi(body: &Body<'_>, setting: &Setting, said: &mut Vec<Said>) {
    let Some((id, arguments)) = body.text.split_once("<|tool_call_argument_begin|>") else {
        return body.told("a call has no arguments", said);
    };
    let (id, arguments) = (id.trim(), arguments.trim_start());
    let is_number = |number: &str| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    let bare = |name: &'_ str| name.len() - name.strip_prefix("functions.").unwrap_or(name).len();
    let numbered =
        id.rsplit_once(':').filter(|(_, number)| is_number(number)).map(|(name, _)| &name[bare(name)..]);
    // If the model omits the number, the rest still names a tool.
    let unnumbered = Some(&id[bare(id)..]).filter(|name| setting.tool(name).is_some());
    let Some(name) = numbered.filter(|name| !name.is_empty()).or(unnumbered) else {
        return body.told("a call must be named `functions.NAME:NUMBER`", said);
    };
    // A call that was cut off is emitted incompletely.
    let arguments = mended(arguments).map_or(arguments.to_owned(), |arguments| arguments.to_string());
    said.push(Said::Call(Call { id: id.into(), ..Call::new(name, arguments) }));
}

fn mistral(body: &Body<'_>, setting: &Setting, said: &mut Vec<Said>) {
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
    let arguments = if arguments.is_empty() { "{}" } else { arguments };
    say_call(name, arguments, body, said);
    if let Some(Said::Call(call)) = said.last_mut() {
        call.id = id.into();
        if body.cut && call.arguments == "{}" {
            said.push(Said::cut_off(format!("the arguments of `{name}`")));
        }
    }
}

/// Parses a list of calls. An invalid item does not affect the others.
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
    for text in items.iter().map(Value::to_string) {
        match calls(&text) {
            Ok(calls) => said.extend(calls.into_iter().map(Said::Call)),
            Err(why) => said.push(Said::problem(format!("{why}: {text}"))),
        }
    }
}

fn element(body: &Body<'_>, _: &Setting, said: &mut Vec<Said>) {
    let Some((name, arguments)) = body.text.split_once('>') else {
        return body.stays("`<function=` must be followed by a name and `>`", said);
    };
    // A call without the beginning of an object is not emitted.
    let cut = body.cut && arguments.trim_start().starts_with('{');
    say_call(name.trim(), arguments.trim(), &Body { cut, ..*body }, said);
}

/// Code for the tool `python`.
fn code(body: &Body<'_>, setting: &Setting, said: &mut Vec<Said>) {
    match setting.tool("python") {
        Some(_) => said.push(Said::Call(Call::new("python", json!({"code": body.text.trim()})))),
        None => body.stays("there is no tool `python`", said),
    }
}

fn lines(body: &Body<'_>, _: &Setting, said: &mut Vec<Said>) {
    let (name, arguments) = body.text.split_once('\n').unwrap_or_default();
    let arguments = arguments.trim();
    if name.is_empty() || name.contains(char::is_whitespace) {
        return body.stays("after `>>>` a name and an object must come", said);
    }
    let mut values = Deserializer::from_str(arguments).into_iter::<Map<String, Value>>();
    // Text after the object is text again.
    if let Some(Ok(object)) = values.next() {
        said.push(Said::Call(Call::new(name, Value::Object(object))));
        return say(said, Said::Text, &arguments[values.byte_offset()..]);
    }
    match mended(arguments) {
        Ok(object) if object.is_object() => said.push(Said::Call(Call::new(name, object))),
        _ if name == "python" => said.push(Said::Call(Call::new(name, json!({"code": arguments})))),
        _ if body.cut && arguments.starts_with('{') => said.push(Said::Call(Call::new(name, arguments))),
        _ => body.stays("after `>>>` a name and an object must come", said),
    }
}

fn plamo(body: &Body<'_>, _: &Setting, said: &mut Vec<Said>) {
    let rest = body.text.split_once("<|plamo:begin_tool_name:plamo|>").map_or("", |(_, rest)| rest);
    // A partial delimiter ends the name, too.
    let named = rest.split_once("<|plamo:end_tool_name:plamo|>").or_else(|| rest.split_once("<|plamo:"));
    let Some((name, rest)) = named.filter(|(name, _)| !name.trim().is_empty()) else {
        return body.told("a call has no name", said);
    };
    let (name, arguments) =
        (name.trim(), rest.split_once("<|plamo:msg|>").map_or("", |(_, rest)| rest).trim());
    let arguments = match arguments.find("<|plamo:") {
        Some(end) if mended(arguments).is_err() => arguments[..end].trim(),
        _ => arguments,
    };
    said.push(Said::Call(match mended(arguments) {
        Ok(arguments) => Call::new(name, arguments),
        Err(_) if arguments.is_empty() => Call::new(name, "{}"),
        Err(_) if body.cut => Call::new(name, arguments),
        Err(error) => return body.told(format!("the arguments are not valid JSON: {error}"), said),
    }));
    if body.cut && !arguments.ends_with('}') {
        said.push(Said::cut_off(format!("the end of the arguments of `{name}`")));
    }
}
