//! What is read in calls in objects with thoughts.
use crate::kit::{a_call, named, said, text};
use haft_dialects::{Call, Dialect, Said, Setting, ToolSchema};

fn check(dialect: &Dialect, text: &str, expected: &[Said]) {
    assert_eq!(said(dialect, &Setting::default(), text), expected, "{text}");
}

fn called(id: &str, name: &str, arguments: &str) -> Said {
    Said::Call(Call { id: id.into(), ..a_call(name, arguments) })
}
fn problem(why: &str) -> Said {
    Said::Problem(why.into())
}

// P-21, P-23, P-24
#[test]
fn thoughts_and_calls_are_found_bare_and_fenced() {
    let object = "{\n  \"thoughts\": \"hm\",\n  \"tool_calls\": [\n    {\"tool\": \"search\", \"args\": {\"-t\": \"New\", \
                  \"path\": \"pkg/\"}},\n    {\"tool\": \"file\", \"args\": {\"path\": \"}\"}}\n  ]\n}";
    let meant = [
        Said::Thinking("hm".into()),
        called("", "search", r#"{"query":"New","path":"pkg/"}"#),
        called("", "file", r#"{"path":"}"}"#),
    ];
    check(named("thoughts_json"), object, &meant);
    for (before, after) in [("So:\n```json\n", "\n```\nDone."), ("So:\n```\n", "\n```\nDone.")] {
        let expected = [&[text("So:\n")], meant.as_slice(), &[text("Done.")]].concat();
        check(named("thoughts_json"), &format!("{before}{object}{after}"), &expected);
    }
    let expected = [&[text("So:\n")], meant.as_slice(), &[text(" and\n{more}")]].concat();
    check(named("thoughts_json"), &format!("So:\n{object} and\n{{more}}"), &expected);
}

// P-18, P-21, P-24
#[test]
fn objects_may_stand_behind_words_and_side_by_side() {
    let object =
        |name: &str| format!("{{\"thoughts\": \"hm\", \"tool_calls\": [\n{{\"tool\": \"{name}\"}}]}}");
    let meant = |name: &str| [Said::Thinking("hm".into()), called("", name, "{}")];
    let (one, other) = (object("a"), object("b"));
    for between in ["", " ", "\n"] {
        let reply = format!("Sure, `x` {{y}}: {one}{between}{other}");
        let mut expected = vec![text("Sure, `x` {y}: ")];
        expected.extend(meant("a"));
        expected.extend((between == "\n").then(|| text("\n")));
        expected.extend(meant("b"));
        check(named("thoughts_json"), &reply, &expected);
    }
    let fenced = format!("Sure: ```json\n{one}\n``` Then.");
    let expected = [&[text("Sure: ")][..], &meant("a"), &[text(" Then.")]].concat();
    check(named("thoughts_json"), &fenced, &expected);
}

#[test]
fn other_objects_are_prose() {
    for prose in [
        "{\"a\": 1}",
        "{\n{\n\"tool_calls\"",
        "```json\n{\"a\": 1}\n```\n",
        "see {\"tool_calls\": []}",
        "Write {\"tool_calls\": [{\"tool\": \"ls\"}]} to call.",
        "Write `{\"tool_calls\": [{\"tool\": \"ls\"}]}`\n",
        "So: fn a() {\n{\"a\": 1}}",
        "{\"thoughts\": \"hm\"}",
        "```rust\n{\"tool_calls\": []}\n```",
    ] {
        check(named("thoughts_json"), prose, &[text(prose)]);
    }
}

// P-25, X-07
#[test]
fn an_object_that_was_meant_as_calls_is_reported() {
    let broken = "{\"thoughts\": \"hm\", \"tool_calls\": [}";
    check(
        named("thoughts_json"),
        broken,
        &[text(broken), problem("the calls were cut off before their end")],
    );
    let nameless = "{\"tool_calls\": [{\"args\": {}}]}";
    check(named("thoughts_json"), nameless, &[text(nameless), problem("it has no `name`")]);
}

// A-36, X-27
#[test]
fn the_list_behind_the_sentinel_is_not_shown() {
    check(
        named("alfred"),
        "[TOOL_ I look.[TOOL_CALLS][{\"id\": \"a\", \"name\": \"read\", \"arguments\": {\"path\": \"]\"}}, \
         {\"id\": \"b\", \"name\": \"ls\", \"arguments\": {}}] ok",
        &[
            text("[TOOL_ I look."),
            called("a", "read", r#"{"path":"]"}"#),
            called("b", "ls", "{}"),
            text(" ok"),
        ],
    );
    let broken = "[TOOL_CALLS][{\"id\": ";
    check(
        named("alfred"),
        broken,
        &[problem(
            "it is not valid JSON: EOF while parsing a value at line 1 column 7: `[TOOL_CALLS][{\"id\": `",
        )],
    );
}

// A-36
#[test]
fn a_reply_may_speak_of_the_sentinel() {
    let prose = "The marker [TOOL_CALLS] is used by Mistral to start calls.";
    check(named("alfred"), prose, &[text(prose)]);
}

// A-43
#[test]
fn only_the_first_block_calls() {
    let block = |id: &str| {
        format!(
            "```json\n{{\"tool_calls\": [{{\"id\": \"{id}\", \"name\": \"ls\", \"arguments\": {{}}}}]}}\n```\n"
        )
    };
    let (one, other) = (block("a"), block("b"));
    let expected = [called("a", "ls", "{}"), text(&format!("or else\n{other}"))];
    check(named("alfred"), &format!("{one}or else\n{other}"), &expected);
}

// X-08
#[test]
fn a_comma_before_a_closing_bracket_is_left_out() {
    let arguments = r#"{"path": "a,}", "lines": [1, 2,],}"#;
    let expected = [called("", "read", r#"{"path":"a,}","lines":[1,2]}"#)];
    let hermes = format!("<tool_call>\n{{\"name\": \"read\", \"arguments\": {arguments},\n}}\n</tool_call>");
    check(named("hermes"), &hermes, &expected);
    let pedro = format!("{{\"tool_calls\": [{{\"tool\": \"read\", \"args\": {arguments}}},]}}");
    check(named("thoughts_json"), &pedro, &expected);
}

// A-43
#[test]
fn a_json_block_with_calls_is_the_fallback() {
    check(
        named("alfred"),
        "First:\n```json\n{\"a\": 1}\n```\n```json\n{\"tool_calls\": [{\"function\": {\"name\": \"read\", \"arguments\": \
         \"{\\\"path\\\": \\\"a\\\"}\"}}, {\"id\": \"x\", \"function\": {\"name\": \"ls\", \"arguments\": \"{}\"}}]}\n```\n",
        &[
            text("First:\n```json\n{\"a\": 1}\n```\n"),
            called("call_0", "read", "{\"path\":\"a\"}"),
            called("x", "ls", "{}"),
        ],
    );
}

// A-43, A-44
#[test]
fn a_json_block_may_open_behind_words() {
    let block = "```json\n{\"tool_calls\":[{\"name\":\"ls\"}]}\n```";
    let expected = [text("I will list it: "), called("call_0", "ls", "{}"), text(" Then on.")];
    check(named("alfred"), &format!("I will list it: {block} Then on."), &expected);
    let prose = "The block ```json must follow.\n";
    check(named("alfred"), prose, &[text(prose)]);
}

// A-44
#[test]
fn a_broken_json_block_is_reported_and_kept() {
    let broken = "```json\n{\"tool_calls\": [}\n```";
    check(
        named("alfred"),
        broken,
        &[text(broken), problem("it is not valid JSON: expected value at line 1 column 17")],
    );
    let keyless = "```json\n{\"tool_calls\": [{\"id\": \"x\"}]}\n```";
    check(named("alfred"), keyless, &[text(keyless), problem("it has no `name`")]);
}

// H-121
#[test]
fn thoughts_that_a_reply_begins_with_hold_no_calls() {
    let look = ToolSchema::new("look", serde_json::json!({}));
    let setting = Setting { tools: [look].into(), ..Setting::default() };
    for name in ["fenced_shell", "thoughts_json", "alfred", "tool_use_xml", "pythonic", "llama4_pythonic"] {
        let call = named(name).written(&a_call("look", "{}"));
        let reply = format!("<think>Maybe:\n{call}\nOr not.</think>So:\n{call}");
        let read = said(named(name), &setting, &reply);
        let thought = Said::Thinking(format!("Maybe:\n{call}\nOr not."));
        assert_eq!(read[..2], [thought, text("So:\n")], "{name}");
        assert!(matches!(&read[2..], [Said::Call(call)] if call.name == "look"), "{name}: {read:?}");
        let unsplit = Setting { split_thinking: false, find_calls: false, ..setting.clone() };
        assert_eq!(said(named(name), &unsplit, &reply), [text(&reply)], "{name}");
    }
}
