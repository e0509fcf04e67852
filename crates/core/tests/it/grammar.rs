//! [`Rules`]: schemas as grammars.
use haft_core::grammar::Rules;
use serde_json::{Value, json};

/// The grammar of one schema without the pieces that are always there.
fn grammar(schema: Value) -> String {
    let mut rules = Rules::new(Some(20));
    let root = rules.schema(&schema);
    let whole = rules.into_grammar(&root);
    let (own, _common) = whole.split_once("\nvalue ::= ").expect("the pieces come last");
    own.to_owned()
}

#[test]
fn schemas_become_grammars_without_free_space() {
    let table = [
        (json!({"type": "integer"}), "root ::= integer"),
        (
            json!({"type": ["string", "null"]}),
            "root ::= (r0 | \"null\")\nr0 ::= \"\\\"\" char{0,20} \"\\\"\"",
        ),
        (json!({"type": "string", "maxLength": 9000}), "root ::= string"),
        (json!({"enum": ["a\"b", 1, null]}), r#"root ::= ("\"a\\\"b\"" | "1" | "null")"#),
        (json!({"const": {"a": [1, 2]}}), r#"root ::= "{\"a\": [1, 2]}""#),
        (
            json!({"type": "array", "items": {"type": "boolean"}}),
            "root ::= r0\nr0 ::= \"[\" ((\"true\" | \"false\") (\", \" (\"true\" | \"false\"))*)? \"]\"",
        ),
        (json!({"type": "array", "minItems": 1}), "root ::= r0\nr0 ::= \"[\" value (\", \" value)* \"]\""),
        (json!({"anyOf": [{"type": "number"}, {"type": "object"}]}), "root ::= (number | object)"),
        (json!({"allOf": []}), "root ::= value"),
        (json!(true), "root ::= value"),
    ];
    for (schema, expected) in table {
        assert_eq!(grammar(schema.clone()), expected, "{schema}");
    }
}

#[test]
fn a_text_without_a_sign_goes_back_to_its_beginnings() {
    let mut rules = Rules::new(None);
    assert_eq!(rules.text_without("<<a"), "r0");
    let grammar = rules.into_grammar("r0");
    let expected = "root ::= r0\nr0 ::= ([^<] r0 | \"<\" r1)?\nr1 ::= ([^<] r0 | \"<\" r2)?\n\
                    r2 ::= ([^<a] r0 | \"<\" r2)?\n";
    assert!(grammar.starts_with(expected), "{grammar}");
}

#[test]
fn required_keys_come_first_and_commas_stand_between() {
    let integer = json!({"type": "integer"});
    let object = |required: Value| json!({"type": "object", "properties": {"a": integer, "b": integer, "c": integer}, "required": required});
    let entries = "r0 ::= \"\\\"a\\\": \" integer\nr1 ::= \"\\\"b\\\": \" integer\nr2 ::= \"\\\"c\\\": \" integer\nr3 ::= ";
    let table = [
        (json!(["b"]), "\"{\" r1 (\", \" r0)? (\", \" r2)? \"}\""),
        (json!(["c", "a"]), "\"{\" r0 \", \" r2 (\", \" r1)? \"}\""),
        (json!([]), "\"{\" ((r0 (\", \" r1)? (\", \" r2)? | r1 (\", \" r2)? | r2))? \"}\""),
    ];
    for (required, expected) in table {
        assert_eq!(grammar(object(required)), format!("root ::= r3\n{entries}{expected}"));
    }
}
