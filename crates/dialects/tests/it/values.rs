//! What a value means that was written without a type.
use haft_dialects::{Said, Setting, ToolSchema, dialect, read};
use serde_json::{Value, json};

/// What a dialect reads as the value of this parameter.
fn value(name: &str, parameters: &Value, parameter: &str, text: &str) -> Value {
    let tool = ToolSchema::new("f", parameters.clone());
    let setting = Setting { tools: [tool].into(), ..Setting::default() };
    let call =
        format!("<tool_call>f\n<arg_key>{parameter}</arg_key><arg_value>{text}</arg_value></tool_call>");
    let said = read(dialect(name).unwrap(), &setting, [call.as_str()]);
    let [Said::Call(call)] = said.as_slice() else { panic!("{text}: {said:?}") };
    call.object().unwrap()[parameter].clone()
}

#[test]
fn a_value_is_what_the_schema_allows() {
    let table = [
        (json!({"type": "string"}), "null", json!("null")),
        (json!({"type": "string"}), " 7 ", json!(" 7 ")),
        (json!({"type": ["string", "null"]}), "null", json!(null)),
        (json!({"type": "integer"}), " 007 ", json!(7)),
        (json!({"type": "integer"}), "seven", json!("seven")),
        (json!({"type": "number"}), "inf", json!("inf")),
        (json!({"type": "number"}), "1e3", json!(1e3)),
        (json!({"type": "boolean"}), "True", json!(true)),
        (json!({"type": "array"}), "[1, 'a', None]", json!([1, "a", null])),
        (json!({"type": "object"}), r#"{\"a\": \"\\n\"}"#, json!({"a": "\n"})),
        (json!({"type": "object"}), "{broken", json!("{broken")),
        (json!({"anyOf": [{"type": "string"}, {"type": "object"}]}), "[1]", json!("[1]")),
        (json!({"enum": [1, 2]}), "2", json!(2)),
        (json!({"type": "float"}), "2.5", json!(2.5)),
        (json!({"type": "int64"}), "2", json!(2)),
        (json!({"type": "BOOLEAN"}), "true", json!(true)),
        (json!({"type": "dict[str, int]"}), r#"{"a": 1}"#, json!({"a": 1})),
        (json!({"type": ["str", "None"]}), "null", json!(null)),
        (json!({"type": "typing.List[int]"}), "[1]", json!([1])),
        (json!({"type": "str"}), "1", json!("1")),
        (json!({"type": "any"}), "1", json!("1")),
        (json!({}), "2", json!("2")),
    ];
    for (schema, text, expected) in table {
        let parameters = json!({"properties": {"x": schema}});
        assert_eq!(value("ling3", &parameters, "x", text), expected, "{schema} {text}");
    }
}

#[test]
fn references_and_choices_are_followed() {
    let parameters = json!({
        "properties": {"a": {"$ref": "#/$defs/a"}, "loop": {"$ref": "#/properties/loop"}},
        "$defs": {"a": {"oneOf": [{"type": "null"}, {"type": "integer"}]}},
    });
    assert_eq!(value("ling3", &parameters, "a", "5"), json!(5));
    assert_eq!(value("ling3", &parameters, "loop", "5"), json!("5"));
    assert_eq!(value("ling3", &parameters, "c", "5"), json!("5"));
}

#[test]
fn what_no_schema_describes_is_what_it_looks_like() {
    let parameters = json!({"properties": {
        "text": {"type": "string"}, "count": {"type": "integer"}, "size": {"type": "number"},
        "on": {"type": "boolean"}, "list": {"type": "array"}, "map": {"type": "object"},
        "maybe": {"type": ["integer", "null"]}, "either": {"anyOf": [{"type": "string"}, {"type": "integer"}]},
        "one": {"enum": ["1", "2"]}, "any": {}, "name": {"type": ["string", "null"]},
        "choice": {"anyOf": [{"type": "string"}, {"type": "null"}]},
    }});
    let table = [
        ("text", "1", json!("1")),
        ("text", "\"a\"", json!("\"a\"")),
        ("text", "{\"a\": 1}", json!("{\"a\": 1}")),
        ("count", " 7 ", json!(7)),
        ("count", "7.5", json!("7.5")),
        ("size", "2.5", json!(2.5)),
        ("size", "much", json!("much")),
        ("on", "True", json!(true)),
        ("list", "[1]", json!([1])),
        ("list", "a", json!("a")),
        ("map", "{\"a\": 1}", json!({"a": 1})),
        ("maybe", "null", json!(null)),
        ("either", "12", json!(12)),
        ("one", "1", json!("1")),
        ("any", "12", json!(12)),
        ("any", "[1]", json!([1])),
        ("name", "null", json!(null)),
        ("choice", "true", json!("true")),
        ("unknown", "x", json!("x")),
        ("unknown", "true", json!(true)),
        ("unknown", "-1.5", json!(-1.5)),
    ];
    for (parameter, text, expected) in table {
        assert_eq!(value("spark25", &parameters, parameter, text), expected, "{parameter}: {text}");
    }
}
