//! What is read in Granite.
use crate::kit::check;

#[test]
fn each_generation_is_read() {
    let three = [
        ("a<|tool_call|>[{\"name\":\"look\",\"arguments\":{}}]b", "a«look {}»b"),
        ("Here is my thought process: t Here is my response: a", "~ t ~ a"),
        ("So: Here is my thought process: t", "So: Here is my thought process: t"),
        ("Here is", "!"),
        ("thought process:", "!"),
        ("Here is it", "Here is it"),
        ("So: Here", "So: Here"),
        ("<tool_call> [x]", "<tool_call> [!x]"),
        ("<|tool_call|>[{\"name\":\"look\",\"arguments\":{\"a\":", "«look {\"a\":»!"),
    ];
    check("granite", &three);
    let four = [
        (
            "<tool_call>\n{\"name\":\"look\",\"arguments\":{\"path\":\"</tool_call>\"}}\n</tool_call>",
            "«look {\"path\":\"</tool_call>\"}»",
        ),
        ("<tool_call>{\"name\":", "<tool_call>{\"name\":!"),
    ];
    check("granite4", &four);
    let twenty = [
        (
            "<function_call> {\"name\":\"look\",\"arguments\":{}}\n<function_call> {\"name\":\"b\"}",
            "«look {}»\n«b {}»",
        ),
        (
            "<function_call> {\"name\": {<function_call> {}",
            "<function_call> {\"name\": {!<function_call> {}!",
        ),
    ];
    check("granite_20b_fc", &twenty);
    let thinking = [
        (
            "<think>t</think><tool_call>\n<function=look>\n<parameter=path>\n7\n</parameter>\n<parameter=lines>7</parameter>\n</function>\n</tool_call>",
            "~t~«look {\"path\":\"7\",\"lines\":7}»",
        ),
        ("<tool_call><function=look>", "<tool_call><function=look>!"),
    ];
    check("granite_thinking", &thinking);
}
