//! What is read in dialects that write calls as Python would.
use crate::kit::{a_call, cut_off, named, problem, said, text};
use haft_dialects::{Dialect, Said, Setting, ToolSchema};

fn check(dialect: &Dialect, text: &str, expected: &[Said]) {
    let look = ToolSchema::new("look", serde_json::json!({}));
    let setting = Setting { tools: [look].into(), ..Setting::default() };
    assert_eq!(said(dialect, &setting, text), expected, "{text}");
}

fn called(name: &str, arguments: &str) -> Said {
    Said::Call(a_call(name, arguments))
}

#[test]
fn a_list_in_prose_is_a_call_if_it_calls_a_tool() {
    let table = [
        ("[1] [a](b) [x()] []", vec![text("[1] [a](b) [x()] []")]),
        ("[dance()]", vec![called("dance", "{}")]),
        (
            "Hm [[look(a=']')], [look(b=2)] so",
            vec![
                text("Hm ["),
                called("look", r#"{"a":"]"}"#),
                text(", "),
                called("look", r#"{"b":2}"#),
                text(" so"),
            ],
        ),
        ("So<|python_start|>[dance()]<|python_end|>", vec![text("So"), called("dance", "{}")]),
        ("a [look(x=[look()", vec![text("a [look(x=[look()")]),
        ("a [look(x='[look()]", vec![text("a [look(x='"), called("look", "{}")]),
    ];
    for (text, expected) in table {
        check(named("pythonic"), text, &expected);
    }
}

#[test]
fn blocks_of_calls_are_read_loosely() {
    let table = [
        (
            named("lfm2"),
            "<think>[look()]</think>So.<|tool_call_start|>[look(a='x 'y' z')]<|tool_call_end|>!",
            vec![
                Said::Thinking("[look()]".into()),
                text("So."),
                called("look", r#"{"a":"x 'y' z"}"#),
                text("!"),
            ],
        ),
        (
            named("lfm2"),
            r#"<|tool_call_start|>{"name":"look","arguments":{}}<|tool_call_end|>"#,
            vec![called("look", "{}")],
        ),
        (
            named("lfm2"),
            "<|tool_call_start|>[look(a=",
            vec![text("<|tool_call_start|>[look(a="), cut_off("the end of a call")],
        ),
        (
            named("olmo3"),
            "<function_calls>look(a=None)\nlook()\n</function_calls>",
            vec![called("look", r#"{"a":null}"#), called("look", "{}")],
        ),
        (
            named("olmo3"),
            "<function_calls>look(1)</function_calls>",
            vec![
                text("<function_calls>look(1)</function_calls>"),
                problem("it cannot be read from here on: `1)`"),
            ],
        ),
    ];
    for (dialect, text, expected) in table {
        check(dialect, text, &expected);
    }
}
