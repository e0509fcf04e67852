//! What is read in Muse.
use crate::kit::{a_call, cut_off, named};
use haft_dialects::{Said, Setting, read};

#[test]
fn each_message_is_for_whom_it_says() {
    let text = |text: &str| Said::Text(text.into());
    let call = |arguments: &str| Said::Call(a_call("look", arguments));
    let table = [
        ("to the < point", vec![text("to the < point")]),
        ("to=none", vec![text("to=none")]),
        (" to=user<|message|>A <|b <atem:function_calls>", vec![text("A <|b <atem:function_calls>")]),
        (
            " to=self<|message|>hm<|eom|><|start|>assistant to=look<|message|>\n<atem:function_calls>\n<atem:invoke \
             name=\"look\"><atem:parameter name=\"a\">1 <b</atem:parameter>\n<atem:parameter \
             name=\"n\">2</atem:parameter></atem:invoke></atem:function_calls><|eot|>",
            vec![Said::Thinking("hm".into()), call(r#"{"a":"1 <b","n":2}"#)],
        ),
        (
            "to=look<|message|><atem:function_calls><atem:invoke name=\"look\">",
            vec![
                text("<atem:function_calls><atem:invoke name=\"look\">"),
                cut_off("the end of the call of `look`"),
            ],
        ),
        ("to=look<|message|> just words<|eot|>", vec![text(" just words")]),
        ("<|start|>assistant to=us", vec![text("<|start|>assistant to=us")]),
    ];
    for (text, expected) in table {
        let setting = Setting::default();
        assert_eq!(read(named("muse"), &setting, [text]), expected, "{text}");
        let letters: Vec<String> = text.chars().map(String::from).collect();
        assert_eq!(read(named("muse"), &setting, letters.iter().map(String::as_str)), expected, "{text}");
    }
}
