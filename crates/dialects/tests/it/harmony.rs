//! What is read in Harmony.
use crate::kit::{a_call, named, problem};
use haft_dialects::{Said, Setting, read};

#[test]
fn each_message_is_what_its_header_says() {
    let text = |text: &str| Said::Text(text.into());
    let table = [
        ("to be < or <|not", vec![text("to be < or <|not")]),
        ("to=day", vec![text("to=day")]),
        (
            "<|channel|>analysis<|message|>hm<|end|><|start|>assistant<|channel|>final<|message|>So: <|message|><|return|>",
            vec![Said::Thinking("hm".into()), text("So: <|message|>")],
        ),
        (
            " to=functions.look<|channel|>commentary<|message|>{\"a\": \"<|start|\"}<|call|>",
            vec![Said::Call(a_call("look", r#"{"a":"<|start|"}"#))],
        ),
        ("<|channel|>commentary to=look<|message|>{\"a\":", vec![Said::Call(a_call("look", "{\"a\":"))]),
        (
            "<|channel|>commentary to=browser.open<|message|>{}<|call|>",
            vec![problem("there is no tool `browser.open` here")],
        ),
        ("<|start|>assistant<|channel|>fin", vec![text("<|start|>assistant<|channel|>fin")]),
    ];
    for (text, expected) in table {
        let setting = Setting::default();
        assert_eq!(read(named("harmony"), &setting, [text]), expected, "{text}");
        let letters: Vec<String> = text.chars().map(String::from).collect();
        assert_eq!(read(named("harmony"), &setting, letters.iter().map(String::as_str)), expected, "{text}");
    }
}
