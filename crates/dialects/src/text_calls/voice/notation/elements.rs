//! Calls with an element for each argument.
use super::{Arguments, bare};
use crate::kind_of;
use haft_core::{ArgumentForm, CallForm, ToolSpec};
use serde_json::Value;
use std::sync::Arc;

/// What stands around a call and around each of its arguments.
struct Elements {
    /// Before the name, behind it, and at the end of the call.
    call: [&'static str; 3],
    /// Before the key, behind it, and behind the value.
    argument: [&'static str; 3],
    /// What stands between the key and the value.
    attribute: Attribute,
}

/// What an element says about its value.
#[derive(Clone, Copy)]
enum Attribute {
    None,
    /// ` string="true"`, or `false` for any JSON.
    IsString,
    /// ` type="number"`.
    Type,
}

use Attribute::{IsString, None as Plain, Type};

static ELEMENTS: &[(&[&str], Elements)] = &[
    (
        &["qwen3_coder", "nemotron_v3", "step3p5", "minicpmv", "granite_thinking"],
        elements(
            ["<tool_call>\n<function=", ">\n", "</function>\n</tool_call>"],
            ["<parameter=", ">\n", "\n</parameter>\n"],
            Plain,
        ),
    ),
    (
        &["mimo"],
        elements(
            ["<tool_call>\n<function=", ">\n", "</function>\n</tool_call>"],
            ["<parameter=", ">", "</parameter>\n"],
            Plain,
        ),
    ),
    (
        &["seed_oss"],
        elements(
            ["<seed:tool_call>\n<function=", ">\n", "</function>\n</seed:tool_call>"],
            ["<parameter=", ">", "</parameter>\n"],
            Plain,
        ),
    ),
    (
        &["glm4_moe", "glm47", "ling3", "poolside_v1"],
        elements(
            ["<tool_call>", "\n", "</tool_call>"],
            ["<arg_key>", "</arg_key>\n<arg_value>", "</arg_value>\n"],
            Plain,
        ),
    ),
    (
        &["spark25"],
        elements(
            ["<tool_call>", "", "</tool_call>"],
            ["<arg_key>", "</arg_key><arg_value>", "</arg_value>"],
            Plain,
        ),
    ),
    (
        &["hunyuan_a13b", "hy_v3"],
        elements(
            ["<tool_calls><tool_call>", "<tool_sep>", "</tool_call></tool_calls>"],
            ["<arg_key>", "</arg_key><arg_value>", "</arg_value>"],
            Plain,
        ),
    ),
    (
        &["k2_horizon"],
        elements(
            ["<ifm|tool_calls><ifm|tool_call>", "", "</ifm|tool_call></ifm|tool_calls>"],
            ["<ifm|arg_key>", "</ifm|arg_key><ifm|arg_value>", "</ifm|arg_value>"],
            Plain,
        ),
    ),
    (
        &["minimax_m2"],
        elements(
            ["<minimax:tool_call>\n<invoke name=\"", "\">\n", "</invoke>\n</minimax:tool_call>"],
            ["<parameter name=\"", "\">", "</parameter>\n"],
            Plain,
        ),
    ),
    (
        &["dots"],
        elements(
            ["<dots_function_call>\n<invoke name=\"", "\">\n", "</invoke>\n</dots_function_call>"],
            ["<parameter name=\"", "\">", "</parameter>\n"],
            Plain,
        ),
    ),
    (
        &["step3"],
        elements(
            [
                "<｜tool_calls_begin｜><｜tool_call_begin｜><steptml:invoke name=\"",
                "\">",
                "</steptml:invoke><｜tool_call_end｜><｜tool_calls_end｜>",
            ],
            ["<steptml:parameter name=\"", "\">", "</steptml:parameter>"],
            Plain,
        ),
    ),
    (
        &["minicpm5"],
        elements(["<function name=\"", "\">", "</function>"], ["<param name=\"", "\">", "</param>"], Plain),
    ),
    (
        &["deepseek_v32"],
        elements(
            [
                "<｜DSML｜function_calls>\n<｜DSML｜invoke name=\"",
                "\">\n",
                "</｜DSML｜invoke>\n</｜DSML｜function_calls>",
            ],
            ["<｜DSML｜parameter name=\"", ">", "</｜DSML｜parameter>\n"],
            IsString,
        ),
    ),
    (
        &["deepseek_v4"],
        elements(
            [
                "<｜DSML｜tool_calls>\n<｜DSML｜invoke name=\"",
                "\">\n",
                "</｜DSML｜invoke>\n</｜DSML｜tool_calls>",
            ],
            ["<｜DSML｜parameter name=\"", ">", "</｜DSML｜parameter>\n"],
            IsString,
        ),
    ),
    (
        &["deepseek_v41"],
        elements(
            ["<｜DSML｜ calls>\n<｜DSML｜ invoke name=\"", "\">\n", "</｜DSML｜ invoke>\n</｜DSML｜ calls>"],
            ["<｜DSML｜ parameter name=\"", ">", "</｜DSML｜ parameter>\n"],
            IsString,
        ),
    ),
    (
        &["kimi_k3"],
        elements(
            [
                "<|open|>tools<|sep|><|open|>call tool=\"",
                "\" index=\"1\"<|sep|>",
                "<|close|>call<|sep|><|close|>tools<|sep|>",
            ],
            ["<|open|>argument key=\"", "<|sep|>", "<|close|>argument<|sep|>"],
            Type,
        ),
    ),
];

const fn elements(call: [&'static str; 3], argument: [&'static str; 3], attribute: Attribute) -> Elements {
    Elements { call, argument, attribute }
}

fn elements_of(dialect: &str) -> Option<&'static Elements> {
    ELEMENTS.iter().find(|(known, _)| known.contains(&dialect)).map(|(_, elements)| elements)
}

/// The form of its calls; `None` where an element says more than its key.
pub(super) fn form(dialect: &str, tools: &Arc<[ToolSpec]>) -> Option<CallForm> {
    let Elements { call, argument, attribute: Plain } = elements_of(dialect)? else { return None };
    let [before, between, behind] = call.map(str::to_owned);
    let [key, value, end] = argument.map(str::to_owned);
    let arguments = ArgumentForm::Elements { key, value, end };
    Some(CallForm { tools: tools.clone(), before, between, behind, arguments, reply: None })
}

/// A call as this dialect writes it; `None`: its elements say nothing but their keys, or it writes none.
pub(super) fn written(dialect: &str, name: &str, arguments: &Arguments) -> Option<String> {
    let elements = elements_of(dialect).filter(|elements| !matches!(elements.attribute, Plain))?;
    let ([open, named, close], [key, between, end]) = (elements.call, elements.argument);
    let element = |(name, value): (&String, &Value)| {
        let attribute = elements.attribute.of(value);
        format!("{key}{name}{attribute}{between}{}{end}", bare(value))
    };
    let arguments: String = arguments.iter().map(element).collect();
    Some(format!("{open}{name}{named}{arguments}{close}"))
}

impl Attribute {
    /// With the quote that ends the key.
    fn of(self, value: &Value) -> String {
        match self {
            Self::None => String::new(),
            Self::IsString => format!("\" string=\"{}\"", value.is_string()),
            Self::Type => format!("\" type=\"{}\"", kind_of(value)),
        }
    }
}

/// MiniMax M3: a tree, with a token before each tag.
pub(super) fn minimax(name: &str, arguments: &Arguments) -> String {
    let arguments: String = arguments.iter().map(|(key, value)| branch(key, value)).collect();
    format!("{MARK}<tool_call>\n{MARK}<invoke name=\"{name}\">{arguments}{MARK}</invoke>\n{MARK}</tool_call>")
}

const MARK: &str = "]<]minimax[>[";

fn branch(key: &str, value: &Value) -> String {
    let inner = match value {
        Value::Object(object) => object.iter().map(|(key, value)| branch(key, value)).collect(),
        Value::Array(items) => items.iter().map(|item| branch("item", item)).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => bare(value),
    };
    format!("{MARK}<{key}>{inner}{MARK}</{key}>")
}
