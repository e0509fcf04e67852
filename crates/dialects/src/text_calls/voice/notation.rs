//! Calls in notations of their own.
use haft_core::{ArgumentForm, CallForm, ToolSpec};
use serde_json::{Map, Value};
use std::sync::Arc;

mod elements;

type Arguments = Map<String, Value>;

/// A call as this dialect writes it; `None`: it has no notation of its own.
pub(super) fn written(dialect: &str, name: &str, arguments: &Arguments) -> Option<String> {
    Some(match dialect {
        "gemma4" => format!("<|tool_call>call:{name}{}<tool_call|>", gemma(arguments, "<|\"|>")),
        "functiongemma" => {
            format!("<start_function_call>call:{name}{}<end_function_call>", gemma(arguments, "<escape>"))
        }
        "pythonic" => format!("[{}]", python_call(name, arguments)),
        "llama4_pythonic" => format!("<|python_start|>[{}]<|python_end|>", python_call(name, arguments)),
        "lfm2" => format!("<|tool_call_start|>[{}]<|tool_call_end|>", python_call(name, arguments)),
        "olmo3" => format!("<function_calls>{}</function_calls>", python_call(name, arguments)),
        "muse" | "muse_glimmer" => muse(name, arguments),
        "fenced_shell" => format!("```bash\n{}\n```", shell(name, arguments)),
        "tool_use_xml" => tool_use(name, arguments),
        "minimax_m3" => elements::minimax(name, arguments),
        _ => return elements::written(dialect, name, arguments),
    })
}

/// JSON behind the name: the dialect, and what stands before, between and behind, as the vendors' chat templates write it.
static BEHIND_NAME: &[(&str, [&str; 3])] = &[
    ("apertus", ["<|tools_prefix|>[{\"", "\": ", "}]<|tools_suffix|>"]),
    (
        "deepseek_v31",
        [
            "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>",
            "<｜tool▁sep｜>",
            "<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
        ],
    ),
    (
        "deepseek_r1",
        [
            "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>",
            "\n```json\n",
            "\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
        ],
    ),
    (
        "deepseek_v3",
        [
            "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>",
            "\n```json\n",
            "\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
        ],
    ),
    ("functionary_v31", ["<function=", ">", "</function>"]),
    ("functionary_v32", [">>>", "\n", ""]),
    (
        "plamo3",
        [
            "<|plamo:begin_tool_requests:plamo|><|plamo:begin_tool_request:plamo|><|plamo:begin_tool_name:plamo|>",
            "<|plamo:end_tool_name:plamo|><|plamo:begin_tool_arguments:plamo|><|plamo:constrain|>json<|plamo:msg|>",
            "<|plamo:end_tool_arguments:plamo|><|plamo:end_tool_request:plamo|><|plamo:end_tool_requests:plamo|>",
        ],
    ),
    (
        "harmony",
        [
            "<|start|>assistant<|channel|>commentary to=functions.",
            " <|constrain|>json<|message|>",
            "<|call|>",
        ],
    ),
    (
        "kimi_k2",
        [
            "<|tool_calls_section_begin|><|tool_call_begin|>functions.",
            ":0<|tool_call_argument_begin|>",
            "<|tool_call_end|><|tool_calls_section_end|>",
        ],
    ),
    ("mistral", ["[TOOL_CALLS]", "[ARGS]", ""]),
];

/// The form of calls that are more than a JSON object between delimiters.
pub(super) fn form(dialect: &str, tools: &Arc<[ToolSpec]>) -> Option<CallForm> {
    let Some((_, delimiters)) = BEHIND_NAME.iter().find(|(known, _)| *known == dialect) else {
        return elements::form(dialect, tools);
    };
    let [before, between, behind] = delimiters.map(str::to_owned);
    Some(CallForm {
        tools: tools.clone(),
        before,
        between,
        behind,
        arguments: ArgumentForm::Json,
        reply: None,
    })
}

fn gemma(arguments: &Arguments, quote: &str) -> String {
    let entry = |(key, value): (&String, &Value)| format!("{key}:{}", gemma_value(value, quote));
    format!("{{{}}}", arguments.iter().map(entry).collect::<Vec<_>>().join(","))
}

fn gemma_value(value: &Value, quote: &str) -> String {
    match value {
        Value::String(text) => format!("{quote}{text}{quote}"),
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(|item| gemma_value(item, quote)).collect();
            format!("[{}]", items.join(","))
        }
        Value::Object(object) => gemma(object, quote),
        Value::Null | Value::Bool(_) | Value::Number(_) => value.to_string(),
    }
}

fn python_call(name: &str, arguments: &Arguments) -> String {
    let argument = |(key, value): (&String, &Value)| format!("{key}={}", python(value));
    format!("{name}({})", arguments.iter().map(argument).collect::<Vec<_>>().join(", "))
}

fn python(value: &Value) -> String {
    match value {
        Value::Null => "None".into(),
        Value::Bool(true) => "True".into(),
        Value::Bool(false) => "False".into(),
        // JSON's strings and numbers are Python's.
        Value::Number(_) | Value::String(_) => value.to_string(),
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(python).collect();
            format!("[{}]", items.join(", "))
        }
        Value::Object(object) => {
            let entry =
                |(key, value): (&String, &Value)| format!("{}: {}", Value::from(key.as_str()), python(value));
            format!("{{{}}}", object.iter().map(entry).collect::<Vec<_>>().join(", "))
        }
    }
}

fn muse(name: &str, arguments: &Arguments) -> String {
    let parameter = |(key, value): (&String, &Value)| {
        format!("<atem:parameter name=\"{key}\">{}</atem:parameter>\n", bare(value))
    };
    let parameters: String = arguments.iter().map(parameter).collect();
    format!(
        "<|start|>assistant to={name}<|message|><atem:function_calls>\n<atem:invoke \
         name=\"{name}\">\n{parameters}</atem:invoke>\n</atem:function_calls><|eom|>"
    )
}

fn tool_use(name: &str, arguments: &Arguments) -> String {
    let escaped = |value: &Value| bare(value).replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    let argument = |(key, value): (&String, &Value)| format!("    <{key}>{}</{key}>\n", escaped(value));
    let arguments: String = arguments.iter().map(argument).collect();
    format!("<tool_use>\n  <tool>{name}</tool>\n  <args>\n{arguments}  </args>\n</tool_use>")
}

/// A line of a shell block, as the tool's own grammar has it where that has words for it.
fn shell(name: &str, arguments: &Arguments) -> String {
    let text = |key: &str| arguments.get(key).map(|value| quoted(&bare(value)));
    let keys: Vec<&str> = arguments.keys().map(String::as_str).collect();
    let has_only = |known: &[&str]| keys.iter().all(|key| known.contains(key));
    let path = || text("path").map_or_else(String::new, |path| format!(" {path}"));
    match (name, arguments.get("action").and_then(Value::as_str)) {
        ("file", None | Some("read")) if has_only(&["path", "action"]) => format!("file{}", path()),
        ("search", None) if has_only(&["query", "path"]) && text("query").is_some() => {
            format!("search -t {}{}", text("query").unwrap_or_default(), path())
        }
        ("code_edit", Some("append")) => {
            format!("code_edit -f{} -a {}", path(), text("text").unwrap_or_default())
        }
        ("code_edit", Some("replace")) if text("start").is_some() => {
            let start = text("start").unwrap_or_default();
            let end = text("end").unwrap_or_else(|| start.clone());
            format!("code_edit -f{} -l {start}:{end} -r {}", path(), text("text").unwrap_or_default())
        }
        ("navigate", Some(action)) if has_only(&["path", "action"]) && text("path").is_some() => {
            format!("navigate {action}{}", path())
        }
        ("git", Some(action)) if has_only(&["action", "words"]) => {
            let words = arguments.get("words").and_then(Value::as_array).into_iter().flatten();
            format!(
                "git {action}{}",
                words.map(|word| format!(" {}", quoted(&bare(word)))).collect::<String>()
            )
        }
        ("bash", _) if keys == ["command"] => format!("bash -c {}", text("command").unwrap_or_default()),
        _ => {
            let named = |(key, value): (&String, &Value)| format!(" --{key} {}", quoted(&bare(value)));
            format!("{name}{}", arguments.iter().map(named).collect::<String>())
        }
    }
}

fn quoted(text: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "_-./:=,+@%".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        return text.to_owned();
    }
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

/// A string as it is, anything else as JSON.
fn bare(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
