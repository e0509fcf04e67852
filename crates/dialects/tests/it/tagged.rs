//! What is read in dialects with JSON between two delimiters.
use crate::kit::{check, check_with};
use haft_dialects::Setting;

#[test]
fn json_between_signs_is_a_call() {
    let delimiters = [
        ("internlm2", "<|action_start|><|plugin|>", "<|action_end|>"),
        ("jamba", "<tool_calls>", "</tool_calls>"),
        ("apriel15", "<tool_calls>", "</tool_calls>"),
        ("apriel16", "<tool_calls>", "</tool_calls>"),
        ("nemotron_v2", "<TOOLCALL>", "</TOOLCALL>"),
        ("ernie45", "<tool_call>", "</tool_call>"),
        ("reka_edge", "<tool_call>", "</tool_call>"),
        ("longcat", "<longcat_tool_call>", "</longcat_tool_call>"),
        ("gigachat3", "<|function_call|>", ""),
        ("gigachat3", "<|message_sep|>\n\nfunction call<|role_sep|>", ""),
    ];
    for (name, open, close) in delimiters {
        let call =
            format!("a < b{open}\n{{\"name\":\"look\",\"arguments\":{{\"path\":\"{close}\"}}}}\n{close}");
        let read = format!("a < b«look {{\"path\":\"{close}\"}}»");
        let read = if close.is_empty() { format!("{read}\n") } else { read };
        let wrong = format!("{open}{{\"a\":1}}{close}");
        let stays = if close.is_empty() { format!("{wrong}!") } else { format!("{open}{{\"a\":1}}{close}!") };
        let empty = open.to_owned();
        check(name, &[(&call, &read), (&wrong, &stays), (&empty, &format!("{open}!")), ("{}", "{}")]);
    }
    check("reka_edge", &[("<tool_call>{\"name\":\"look\",\"arguments\":{\"p", "«look {\"p»!")]);
    check("jamba", &[("<tool_calls>[{\"name\":\"lo", "<tool_calls>[{\"name\":\"lo!")]);
    check("plain", &[("<think>a</think><tool_call>", "<think>a</think><tool_call>")]);
}

#[test]
fn apertus_names_a_call_by_its_key() {
    let table = [
        (
            "<|inner_prefix|>t<|inner_suffix|>a<|tools_prefix|>[{\"look\":{\"lines\":1}},{\"b\":{}}]<|tools_suffix|>",
            "~t~a«look {\"lines\":1}»«b {}»",
        ),
        ("<|tools_prefix|>[{\"look\":{}}", "«look {}»!"),
        ("<|tools_prefix|>[7]<|tools_suffix|>", "!"),
        ("<|tools_prefix|>[{\"look\":{\"a\":\"b", "<|tools_prefix|>[{\"look\":{\"a\":\"b!"),
    ];
    check("apertus", &table);
}

#[test]
fn apriel_opens_its_thoughts_in_the_prompt() {
    let prompt_end = "<|begin_assistant|>\nHere are my reasoning steps:\n".into();
    let setting = Setting { prompt_end, ..Setting::default() };
    check_with(
        "apriel16",
        &setting,
        &[("t\n[BEGIN FINAL RESPONSE]a", "~Here are my reasoning steps:\nt\n~a")],
    );
}

#[test]
fn a_call_is_understood_under_several_names() {
    let block = |json: &str| format!("<tool_call>{json}</tool_call>");
    let table = [
        (r#"{"name":"f","arguments":{"a":1}}"#, r#"«f {"a":1}»"#),
        (r#" [{"name":"f","parameters":{}},{"tool":"g"}] "#, "«f {}»«g {}»"),
        (r#"{"id":7,"function":{"name":"f","arguments":"{}"}}"#, "«f {}»"),
        ("[1]", "<tool_call>[1]</tool_call>!"),
        (r#"{"a":1}"#, r#"<tool_call>{"a":1}</tool_call>!"#),
    ];
    for (json, expected) in table {
        check("hermes", &[(&block(json), expected)]);
    }
}
