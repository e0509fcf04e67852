//! What is read in DeepSeek 3.2 and later.
use crate::kit::{check, check_with};
use haft_dialects::Setting;

const CALL: &str = "<｜DSML｜tool_calls><｜DSML｜invoke name=\"look\"></｜DSML｜invoke></｜DSML｜tool_calls>";

//
#[test]
fn thoughts_that_the_prompt_may_have_opened_are_held_back_until_something_tells() {
    let whole = Setting { split_thinking: false, ..Setting::default() };
    let told = Setting { prompt_end: "</think>".into(), ..whole.clone() };
    let (parted, joined) = (format!("a\n\nb\n\n{CALL}"), format!("a\n\nb\n{CALL}"));
    let called = "a\n\nb\n«look {}»";
    check_with("deepseek_v4", &whole, &[(&parted, "!«look {}»"), (&joined, called), ("a\n\n", "a\n\n")]);
    check_with("deepseek_v4", &told, &[(&parted, "a\n\nb\n\n«look {}»")]);
    check("deepseek_v4", &[(&parted, "a\n\nb\n\n«look {}»")]);
}

#[test]
fn in_a_reply_with_its_special_tokens_the_end_of_the_thoughts_tells_that_there_are_some() {
    let call = format!("<bos>a{CALL}");
    let table = [
        ("<bos>a<eos> b</think>c</think>d", "~a b~cd"),
        ("<bos>a<eos> b", "a b"),
        ("<bos>a<think>b</think>c", "a~b~c"),
        (&call, "a«look {}»"),
        ("a</think>b", "ab"),
    ];
    check("deepseek_v4", &table);
}
