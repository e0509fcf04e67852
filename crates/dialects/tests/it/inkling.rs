//! What is read in Inkling.
use crate::kit::{a_call, named, problem};
use haft_dialects::{Said, Setting, read};

#[test]
fn each_message_holds_what_it_says() {
    let text = |text: &str| Said::Text(text.into());
    let look = || Said::Call(a_call("look", r#"{"a":1}"#));
    let table = [
        ("word", vec![text("word")]),
        ("two <|words", vec![text("two <|words")]),
        (
            "<|content_thinking|>hm<|end_message|><|message_model|>look<|content_invoke_tool_json|>{\"name\":\"look\",\
             \"args\":{\"a\":1}}<|end_message|>",
            vec![Said::Thinking("hm".into()), look()],
        ),
        (
            "So.<|message_model|>look<|content_invoke_tool_json|>{\"na",
            vec![
                text("So.look{\"na"),
                problem("it is not valid JSON: EOF while parsing a string at line 1 column 4"),
            ],
        ),
    ];
    for (text, expected) in table {
        let setting = Setting::default();
        assert_eq!(read(named("inkling"), &setting, [text]), expected, "{text}");
        let letters: Vec<String> = text.chars().map(String::from).collect();
        assert_eq!(read(named("inkling"), &setting, letters.iter().map(String::as_str)), expected, "{text}");
    }
}
