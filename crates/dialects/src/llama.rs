//! Llama 3 and models made from it. Llama 3.1 and later write `{"name": …, "parameters": {…}}` as the whole reply, or after
//! `<|python_tag|>`, several with `;` between them. xLAM writes a list of such objects, Phi 4 mini and FireFunction 2
//! the list after the word `functools`. Functionary 3.1 writes `<function=NAME>{…}</function>`, 3.2 `>>>NAME` and
//! the arguments on the lines after it, with `>>>all` before text.
use super::{
    Call, Dialect, Said, Setting,
    blocks::{self, Block, Body, Grammar, Json, say},
    bodies::{bare, json_or_text, mended},
    writing::{JsonCall, Writing},
};
use serde_json::{Deserializer, Map, Value, json};

pub(super) static LLAMA3_JSON: Dialect = Dialect {
    name: "llama3_json",
    models: &["llama-3", "llama3", "meta-llama-3"],
    reader: |setting| blocks::reader(&LLAMA, setting),
    signs: &[&["<|python_tag|>"], &["\"name\": ", "\"parameters\": "]],
    writing: Writing::Json(JsonCall { keys: ["name", "parameters"], ..JsonCall::between("", "") }),
    ..Dialect::BASE
};
pub(super) static XLAM: Dialect = Dialect {
    name: "xlam",
    models: &["xlam"],
    reader: |setting| blocks::reader(&LISTS, setting),
    writing: Writing::json("[", "]"),
    ..Dialect::BASE
};
pub(super) static PHI4_MINI: Dialect = Dialect {
    name: "phi4_mini",
    models: &["phi-4-mini", "phi4-mini"],
    reader: |setting| blocks::reader(&FUNCTOOLS, setting),
    writing: Writing::json("functools[", "]"),
    ..Dialect::BASE
};
pub(super) static FIREFUNCTION_V2: Dialect = Dialect {
    name: "firefunction_v2",
    models: &["firefunction"],
    reader: |setting| blocks::reader(&FUNCTOOLS, setting),
    writing: Writing::json("functools[", "]"),
    ..Dialect::BASE
};
pub(super) static FUNCTIONARY_V31: Dialect = Dialect {
    name: "functionary_v31",
    models: &["functionary-small-v3.1", "functionary-medium-v3.1"],
    reader: |setting| blocks::reader(&ELEMENTS, setting),
    writing: Writing::Named(["<function=", ">", "</function>"]),
    ..Dialect::BASE
};
pub(super) static FUNCTIONARY_V32: Dialect = Dialect {
    name: "functionary_v32",
    models: &["functionary-small-v3.2", "functionary-medium-v3.2"],
    reader: |setting| {
        let mut reader = blocks::reader(&LINES, setting);
        // The prompt has written the first delimiter.
        if setting.prompt_end.trim_end().ends_with(TO) && setting.find_calls {
            reader.push(TO, &mut Vec::new());
        }
        reader
    },
    writing: Writing::Named([">>>", "\n", ""]),
    ..Dialect::BASE
};

const TO: &str = ">>>";
const OBJECT: Block = Block { kept: 1, json: Json::Last, ..Block::new("{", &[], bare) };
const LIST: Block = Block { open: "[", ..OBJECT };
const LLAMAS: Grammar = Grammar { noise: &["<|eom_id|>", "<|eot_id|>"], ..Grammar::NONE };

static LLAMA: Grammar =
    Grammar { blocks: &[OBJECT, LIST], frame: &["<|python_tag|>"], between: &[';', ','], ..LLAMAS };
static LISTS: Grammar = Grammar {
    blocks: &[OBJECT, LIST, Block::new("```json", &["```"], bare)],
    frame: &["[TOOL_CALLS]", "<tool_call>", "</tool_call>"],
    between: &[';', ','],
    ..LLAMAS
};
static FUNCTOOLS: Grammar = Grammar {
    blocks: &[Block { open: "functools[", read: json_or_text, ..OBJECT }],
    noise: &["<|eot_id|>", "<|end|>", "<|tool_call|>", "<|/tool_call|>"],
    hush_after_blocks: true,
    ..Grammar::NONE
};
static ELEMENTS: Grammar = Grammar {
    blocks: &[Block::new("<function=", &["</function>"], element), code_block("<|python_tag|>")],
    ..LLAMAS
};
static LINES: Grammar = Grammar {
    blocks: &[Block { json: Json::Some, stop: &[TO], ..Block::new(TO, &["<|eot_id|>"], lines) }],
    frame: &[">>>all\n"],
    ..LLAMAS
};

const fn code_block(open: &'static str) -> Block {
    Block { json: Json::None, ..Block::new(open, &["<|eom_id|>"], code) }
}

fn element(body: &Body<'_>, _: &Setting, said: &mut Vec<Said>) {
    let Some((name, arguments)) = body.text.split_once('>') else {
        return body.stays("`<function=` must be followed by a name and `>`", said);
    };
    match mended(arguments) {
        Ok(arguments) => said.push(Said::Call(Call::new(name.trim(), arguments))),
        Err(_) if body.cut && arguments.trim().starts_with('{') => {
            said.push(Said::Call(Call::new(name.trim(), arguments.trim())));
        }
        Err(error) => body.stays(format!("the arguments are not valid JSON: {error}"), said),
    }
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
    let is_name = !name.is_empty() && !name.contains(char::is_whitespace);
    let mut values = Deserializer::from_str(arguments).into_iter::<Map<String, Value>>();
    // What comes behind the object is text again.
    if is_name && let Some(Ok(object)) = values.next() {
        said.push(Said::Call(Call::new(name, Value::Object(object))));
        return say(said, Said::Text, &arguments[values.byte_offset()..]);
    }
    match mended(arguments) {
        Ok(object) if is_name && object.is_object() => said.push(Said::Call(Call::new(name, object))),
        _ if is_name && name == "python" => {
            said.push(Said::Call(Call::new(name, json!({"code": arguments}))));
        }
        _ if is_name && body.cut && arguments.starts_with('{') => {
            said.push(Said::Call(Call::new(name, arguments)));
        }
        _ => body.stays("after `>>>` a name and an object must come", said),
    }
}
