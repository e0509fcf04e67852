//! What holds for every dialect that writes parameters as tags.
use crate::kit::{self, a_call, text};
use haft_dialects::{Problem, ProblemKind, Said, Setting, ToolSchema, dialect};
use serde_json::{Value, json};

fn setting(parameters: Value) -> Setting {
    let tool = ToolSchema::new("f", parameters);
    Setting { tools: vec![tool].into(), ..Setting::default() }
}

fn said(name: &str, setting: &Setting, text: &str) -> Vec<Said> {
    kit::said(dialect(name).unwrap(), setting, text)
}

fn call(arguments: Value) -> Said {
    Said::Call(a_call("f", arguments))
}

#[test]
fn signs_in_a_value_are_its_text() {
    let setting = setting(json!({"properties": {"a": {"type": "string"}}}));
    let table = [
        (
            "qwen3_coder",
            "<tool_call>\n<function=f>\n<parameter=a>\n</tool_call> <tool_call>\n</parameter>\n</function>\n</tool_call>",
        ),
        (
            "glm47",
            "<tool_call>f<arg_key>a</arg_key><arg_value></tool_call> <tool_call></arg_value></tool_call>",
        ),
        (
            "minicpm5",
            "<function name=\"f\"><param name=\"a\"><![CDATA[</tool_call> <tool_call>]]></param></function>",
        ),
    ];
    for (name, reply) in table {
        assert_eq!(said(name, &setting, reply), [call(json!({"a": "</tool_call> <tool_call>"}))], "{name}");
    }
}

#[test]
fn what_is_only_spoken_about_is_prose() {
    let setting = Setting::default();
    let table = [
        ("qwen3_coder", "A call begins with `<tool_call>` and ends with `</tool_call>`."),
        ("glm47", "A call begins with <tool_call> and so on."),
        ("glm47", "<tool_call> </arg_key>"),
        ("hunyuan_a13b", "<tool_calls> are a list."),
    ];
    for (name, reply) in table {
        assert_eq!(said(name, &setting, reply), [text(reply)], "{name}");
    }
}

#[test]
fn what_small_models_forget_is_not_missed() {
    let setting = setting(json!({"properties": {"a": {"type": "integer"}, "b": {"type": "boolean"}}}));
    let expected = [call(json!({"a": 1, "b": true}))];
    let table = [
        ("qwen3_coder", "<tool_call><function=f><parameter=a>\n1\n<parameter=b>True</function></tool_call>"),
        (
            "qwen3_coder",
            "<function=f\n<parameter=a>1</parameter><parameter=b>true</parameter></function>\n</tool_call>",
        ),
        ("qwen3_coder", "<tool_call>{\"name\": \"f\", \"arguments\": {\"a\": 1, \"b\": true}}</tool_call>"),
        (
            "minimax_m2",
            "<minimax:tool_call><invoke name=\"f\">{\"a\": 1, \"b\": true}</invoke></minimax:tool_call>",
        ),
        (
            "minimax_m2",
            "<minimax:tool_call><invoke name=\"f\"><parameter name=\"arguments\">{\"a\": 1, \"b\": true}</parameter></invoke></minimax:tool_call>",
        ),
        (
            "deepseek_v32",
            "<｜DSML｜invoke name=\"f\"><｜DSML｜parameter name=\"a\" string=\"false\">1</｜DSML｜parameter><｜DSML｜parameter name=\"b\" string=\"false\">true</｜DSML｜parameter></｜DSML｜invoke></｜DSML｜function_calls>",
        ),
    ];
    for (name, reply) in table {
        assert_eq!(said(name, &setting, reply), expected, "{name} {reply}");
    }
}

#[test]
fn a_call_that_was_cut_off_is_a_problem() {
    let setting = Setting::default();
    let cut = |name: &str, reply: &str| {
        let said = said(name, &setting, reply);
        let problems = said.iter().filter(|said| matches!(said, Said::Problem(_))).count();
        (said.len() - problems, problems)
    };
    assert_eq!(cut("qwen3_coder", "<tool_call><function=f><parameter=a>1"), (1, 1));
    assert_eq!(cut("qwen3_coder", "<tool_call><function=f>"), (1, 1));
    assert_eq!(cut("qwen3_coder", "<tool_call>"), (1, 1));
    assert_eq!(cut("poolside_v1", "<tool_call>f<arg_key>a"), (0, 1));
    // All but the last delimiter is there.
    assert_eq!(cut("glm47", "<tool_call>f<arg_key>a</arg_key><arg_value>1</arg_value>"), (1, 1));
}

#[test]
fn a_tool_that_was_not_offered_is_a_problem_where_that_is_asked() {
    let reply = "<tool_call>g</tool_call>";
    let mut setting = setting(json!({}));
    assert_eq!(said("glm47", &setting, reply), [Said::Call(a_call("g", "{}"))]);
    setting.only_known = true;
    assert_eq!(
        said("glm47", &setting, reply),
        [Said::Problem(Problem {
            kind: ProblemKind::UnknownTool,
            text: "there is no tool `g`, called with {}".into()
        })]
    );
}
