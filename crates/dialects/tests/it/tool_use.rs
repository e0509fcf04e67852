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
            "<tool_use>\n  <tool>file</tool>\n  <args>\n    <path>\n      a.txt\n    </path>\n    <lines>\n7\n</lines>\n    \
             <text>\n    if a &lt; b {\n\n        b\n    }\n</text>\n    <code>\n      if a {\n\n        b\n      }\n    \
             </code>\n    <left>\nx\n    </left>\n    <end>\n  y</end>\n    <dos>\r\n    a\r\n    b\r\n    </dos>\n  \
             </args>\n</tool_use>",
            vec![Said::Call(a_call(
                "file",
                r#"{"path":"a.txt","lines":7,"text":"    if a < b {\n\n        b\n    }","code":"if a {\n\n  b\n}","left":"x","end":"  y","dos":"a\r\nb"}"#,
            ))],
        ),
        (
            "<tool_use><tool>file</tool><args><path/><a>\n  <![CDATA[</a> &lt; \n]]>\n  </a><b>x<![CDATA[<]]>&gt;</b><c>\
             <![CDATA[1</c></args></tool_use>",
            vec![Said::Call(a_call("file", r#"{"path":"","a":"</a> &lt; \n","b":"x<>","c":"<![CDATA[1"}"#))],
        ),
        (
            "<tool_use><tool>test</tool><args/></tool_use><tool_use><tool>test</tool><args /></tool_use>",
            vec![Said::Call(a_call("test", "{}")), Said::Call(a_call("test", "{}"))],
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

#[test]
fn line_breaks_of_a_value_are_written_so_that_they_are_read() {
    for value in ["\n  a\n", "a\n", "  a", "\r\na", "\n", "<![CDATA[\n]]>"] {
        let call = a_call("file", serde_json::json!({"content": value}));
        let written = named("tool_use_xml").written(&call);
        assert_eq!(read(named("tool_use_xml"), &Setting::default(), [written.as_str()]), [Said::Call(call)]);
    }
}
