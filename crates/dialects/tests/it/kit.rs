//! [`check`]: what a dialect reads in texts, whole and in pieces.
use haft_dialects::{Call, Dialect, Problem, Said, Setting, ToolSchema, dialect, read};
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

pub(crate) fn in_pieces(dialect: &Dialect, setting: &Setting, text: &str, length: usize) -> Vec<Said> {
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

fn tool() -> ToolSchema {
    let parameters = json!({"properties": {"path": {"type": "string"}, "lines": {"type": "integer"}}});
    ToolSchema::new("look", parameters)
}

/// What `dialect` reads in `text`, which is the same whole and letter by letter.
pub(crate) fn said(dialect: &Dialect, setting: &Setting, text: &str) -> Vec<Said> {
    let whole = read(dialect, setting, [text]);
    assert_eq!(in_pieces(dialect, setting, text, 1), whole, "{text}");
    whole
}

pub(crate) fn named(name: &str) -> &'static Dialect {
    dialect(name).unwrap()
}

pub(crate) fn text(text: &str) -> Said {
    Said::Text(text.into())
}

pub(crate) fn a_call(name: &str, arguments: impl ToString) -> Call {
    Call { id: String::new(), name: name.into(), arguments: arguments.to_string() }
}

pub(crate) fn problem(text: &str) -> Said {
    Said::Problem(text.into())
}

pub(crate) fn cut_off(what: &str) -> Said {
    Said::Problem(Problem::cut_off(what))
}
