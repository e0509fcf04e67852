//! How each dialect with blocks is tested: whole and in pieces.
use crate::{DIALECTS, Dialect, Said, Setting, dialect, read};
use haft_core::ToolSpec;
use serde_json::json;

/// What a dialect says to each text, whole and letter by letter: text as it is, thoughts in `~…~`, calls as
/// `«name arguments»`, and `!` for a problem.
pub(crate) fn check(name: &str, table: &[(&str, &str)]) {
    check_with(name, &Setting { tools: [tool()].into(), ..Setting::default() }, table);
}

pub(crate) fn check_with(name: &str, setting: &Setting, table: &[(&str, &str)]) {
    let dialect = dialect(name).unwrap();
    for (text, expected) in table {
        let whole = read(dialect, setting, [*text]);
        assert_eq!(shown(&whole), *expected, "{name}: {text}");
        for length in [1, 2, 7] {
            assert_eq!(in_pieces(dialect, setting, text, length), whole, "{name}, cut by {length}: {text}");
        }
    }
}

fn in_pieces(dialect: &Dialect, setting: &Setting, text: &str, length: usize) -> Vec<Said> {
    let letters: Vec<char> = text.chars().collect();
    let pieces: Vec<String> = letters.chunks(length).map(|piece| piece.iter().collect()).collect();
    read(dialect, setting, pieces.iter().map(String::as_str))
}

fn shown(said: &[Said]) -> String {
    let one = |said: &Said| match said {
        Said::Text(text) => text.clone(),
        Said::Thinking(text) => format!("~{text}~"),
        Said::ThinkingEnd => String::new(),
        Said::Call(call) => format!("«{} {}»", call.name, call.arguments),
        Said::Problem(_) => "!".to_owned(),
    };
    said.iter().map(one).collect()
}

fn tool() -> ToolSpec {
    let parameters = json!({"properties": {"path": {"type": "string"}, "lines": {"type": "integer"}}});
    ToolSpec { name: "look".into(), description: String::new(), parameters, examples: Default::default() }
}

/// Much of what may begin something and never does takes time in proportion, and none of it is lost.
#[test]
fn long_texts_without_an_end_are_read_once() {
    let nasty =
        ["<", "[", "{", "```", "{\"a\":", "[TOOL_CALLS]", "<|tool_call_begin|>", "<think>", "<tool_call>{"];
    for dialect in DIALECTS {
        for part in nasty {
            let text = part.repeat(5_000 / part.len());
            let whole = read(dialect, &Setting::default(), [text.as_str()]);
            let pieces = in_pieces(dialect, &Setting::default(), &text, 1);
            assert_eq!(pieces, whole, "{}: {part}", dialect.name);
        }
    }
}
