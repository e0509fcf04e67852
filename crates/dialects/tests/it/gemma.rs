//! What is read in the Gemmas.
use crate::kit::{a_call, cut_off, named, problem, said, text};
use haft_dialects::{Dialect, Said, Setting};

fn check(dialect: &Dialect, text: &str, expected: &[Said]) {
    assert_eq!(said(dialect, &Setting::default(), text), expected, "{text}");
}

#[test]
fn thoughts_text_and_calls_are_told_apart() {
    let look = |arguments: &str| Said::Call(a_call("look", arguments));
    let table = [
        ("a < b <|c", vec![text("a < b <|c")]),
        (
            "<|channel>thought\nhm<channel|>So.<|tool_call>call:look{}<tool_call|><turn|>",
            vec![Said::Thinking("hm".into()), text("So."), look("{}")],
        ),
        ("<|channel>thoughtful<channel|>x", vec![Said::Thinking("thoughtful".into()), text("x")]),
        ("<|channel>tho", vec![Said::Thinking("tho".into())]),
        ("<|channel>thought\nhm", vec![Said::Thinking("hm".into())]),
        (
            "<|tool_call>call:look{path:<|\"|><tool_call|> <eos>, }<|\"|>}<tool_call|>",
            vec![look(r#"{"path":"<tool_call|> <eos>, }"}"#)],
        ),
        (
            "<|tool_call>call:look{a:[<|\"|>x<|\"|>,{b:<|\"|>ü",
            vec![look(r#"{"a":["x",{"b":"ü"}]}"#), cut_off("the end of the call of `look`")],
        ),
        ("<|tool_call>call:look{a,b:1}<tool_call|>", vec![look(r#"{"b":"1"}"#)]),
        ("<|tool_call><tool_call|>x", vec![text("x")]),
        ("<|tool_call>call:lo", vec![text("<|tool_call>call:lo"), problem("it was cut off")]),
    ];
    for (text, expected) in table {
        check(named("gemma4"), text, &expected);
    }
}

#[test]
fn functiongemma_has_signs_of_its_own() {
    check(
        named("functiongemma"),
        "One.<start_function_call>call:f{a:<escape>{,}<escape>,b:<escape><escape>}<end_function_call>",
        &[text("One."), Said::Call(a_call("f", r#"{"a":"{,}","b":""}"#))],
    );
}
