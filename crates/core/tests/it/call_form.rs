//! Tests of `call_form.rs`, through the public names.
use haft_core::ToolSpec;
use haft_core::*;
use serde_json::json;
use std::sync::Arc;

fn form(before: &str, between: &str, behind: &str, arguments: ArgumentForm) -> CallForm {
    let parameters = json!({"type": "object", "required": ["path"], "properties": {
        "deep": {"type": "boolean"}, "kind": {"type": "string", "enum": ["a", "b"]}, "path": {"type": "string"}}});
    let tool =
        ToolSpec { name: "read".into(), description: String::new(), parameters, examples: vec![].into() };
    let [before, between, behind] = [before, between, behind].map(str::to_owned);
    CallForm { tools: Arc::new([tool]), before, between, behind, arguments, reply: None }
}

fn elements() -> CallForm {
    let [key, value, end] = ["<p=", ">", "</p>\n"].map(str::to_owned);
    form("<call>\n<f=", ">\n", "</f></call>", ArgumentForm::Elements { key, value, end })
}

fn head(grammar: &str) -> String {
    let own = grammar.lines().take_while(|line| !line.starts_with("value ::="));
    own.collect::<Vec<_>>().join("\n")
}

#[test]
fn the_sign_tells_calls_from_prose() {
    let table = [
        ("<tool_call>\n{\"name\": \"", "<tool_call>"),
        ("[TOOL_CALLS][{\"name\": \"", "[TOOL_CALLS]"),
        ("```json\n{\"tool_calls\": [", "```json"),
        ("{\"name\": \"", ""),
    ];
    for (before, sign) in table {
        assert_eq!(form(before, "", "", ArgumentForm::Json).sign(), sign, "{before}");
    }
}

#[test]
fn a_call_is_held_from_its_sign_to_its_end() {
    let json = form("<c>\n{\"name\": \"", "\", \"arguments\": ", "}\n</c>", ArgumentForm::Json);
    insta::assert_snapshot!(head(&json.call_grammar()), @r#"
    root ::= "\n"? r5
    r0 ::= "\"deep\": " ("true" | "false")
    r1 ::= "\"kind\": " ("\"a\"" | "\"b\"")
    r2 ::= "\"path\": " string
    r3 ::= "{" r2 (", " r0)? (", " r1)? "}"
    r4 ::= "{\"name\": \"read\", \"arguments\": " r3 "}\n</c>"
    r5 ::= r4
    "#);
    insta::assert_snapshot!(head(&elements().call_grammar()), @r#"
    root ::= "\n"? r8
    r0 ::= ([^<] r0 | "<" r1)?
    r1 ::= ([^/<] r0 | "/" r2 | "<" r1)?
    r2 ::= ([^<p] r0 | "<" r1 | "p" r3)?
    r3 ::= ([^<>] r0 | "<" r1)?
    r4 ::= "<p=path>" r0 "</p>\n"
    r5 ::= "<p=deep>" ("true" | "false") "</p>\n"
    r6 ::= "<p=kind>" ("a" | "b") "</p>\n"
    r7 ::= "<f=read>\n" r4 r5? r6? "</f></call>"
    r8 ::= r7
    "#);
}

#[test]
fn a_whole_reply_is_prose_and_calls() {
    let bare = form("{\"name\": \"", "\", \"parameters\": ", "}", ArgumentForm::Json);
    let grammar = bare.reply_grammar();
    assert!(grammar.starts_with("root ::= (r5 | ([^{] any*)?)\nany ::= [^\\x00]\n"), "{grammar}");
    let grammar = elements().reply_grammar();
    assert!(grammar.contains("\"<call>\" \"\\n\"? "), "{grammar}");
}

#[test]
fn a_call_is_written_as_the_grammar_has_it() {
    let arguments = json!({"path": "a <b>", "deep": true});
    assert_eq!(
        elements().written("read", &arguments),
        "<call>\n<f=read>\n<p=path>a <b></p>\n<p=deep>true</p>\n</f></call>"
    );
    let json = form("<c>{\"name\": \"", "\", \"arguments\": ", "}</c>", ArgumentForm::Json);
    assert_eq!(
        json.written("read", &json!({"path": "a"})),
        "<c>{\"name\": \"read\", \"arguments\": {\"path\": \"a\"}}</c>"
    );
    assert_eq!(json.tags().map(|tags| tags.len()), Some(1));
    assert_eq!(elements().tags(), None);
}

#[test]
fn a_reply_of_json_has_a_schema() {
    let mut form = form("", "", "", ArgumentForm::Json);
    assert_eq!(form.reply_schema(), None);
    let [thoughts, calls, name, arguments] = ["thoughts", "tool_calls", "tool", "args"].map(str::to_owned);
    form.reply = Some(ReplyForm { thoughts, calls, call: [name, arguments] });
    let schema = form.reply_schema().expect("it is JSON");
    let call = &schema["properties"]["tool_calls"]["items"]["anyOf"][0];
    assert_eq!(call["properties"]["tool"], json!({"const": "read"}));
    assert_eq!(call["required"], json!(["tool", "args"]));
}
