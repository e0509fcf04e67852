//! What is read in calls in XML elements.
use crate::kit::{a_call, named};
use haft_dialects::{Said, Setting, read};

// P-22, P-24, P-25
#[test]
fn elements_are_arguments() {
    let text = |text: &str| Said::Text(text.into());
    let problem = |why: &str| Said::Problem(why.into());
    let table = [
        (
            "<thinking>hm</thinking>So.<tool_use>\n  <tool>search</tool>\n  <args>\n    <pattern>a &lt; b\n</pattern>\n    \
             <limit>3</limit>\n  </args>\n</tool_use><tool_use><tool>test</tool></tool_use>",
            vec![
                Said::Thinking("hm".into()),
                text("So."),
                Said::Call(a_call("search", r#"{"pattern":"a < b\n","limit":3}"#)),
                Said::Call(a_call("test", "{}")),
            ],
        ),
        (
            "<tool_use><args></args></tool_use>",
            vec![
                text("<tool_use><args></args></tool_use>"),
                problem("`<tool>` should stand first, not `<args>`"),
            ],
        ),
        (
            "<tool_use><tool>a</tool><args><b>1",
            vec![text("<tool_use><tool>a</tool><args><b>1"), problem("`<args>` does not end with `</args>`")],
        ),
        ("a <tool_us> b <tool>x</tool>", vec![text("a <tool_us> b <tool>x</tool>")]),
    ];
    for (text, expected) in table {
        let setting = Setting::default();
        assert_eq!(read(named("tool_use_xml"), &setting, [text]), expected, "{text}");
        let letters: Vec<String> = text.chars().map(String::from).collect();
        assert_eq!(
            read(named("tool_use_xml"), &setting, letters.iter().map(String::as_str)),
            expected,
            "{text}"
        );
    }
}
