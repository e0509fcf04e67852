//! Calls as Python writes them: what is one, what may become one, and what is none.
use haft_dialects::pythonic::{Beginning, Call, read, read_loosely};
use serde_json::{Value, json};

fn value(literal: &str) -> Result<Value, Beginning> {
    match read(&format!("[f(x={literal})]")) {
        Beginning::Calls { mut calls, .. } => Ok(calls.remove(0).arguments["x"].take()),
        other => Err(other),
    }
}

#[test]
fn literals_mean_what_they_mean_in_python() {
    let table = [
        ("1", json!(1)),
        ("-1_000", json!(-1000)),
        ("+ - 2", json!(-2)),
        ("0x1F", json!(31)),
        ("0xeE", json!(238)),
        ("0b101", json!(5)),
        ("0o17", json!(15)),
        ("00", json!(0)),
        ("18446744073709551615", json!(18_446_744_073_709_551_615_u64)),
        ("100000000000000000000", json!(1e20)),
        ("2.50", json!(2.5)),
        (".5", json!(0.5)),
        ("5.", json!(5.0)),
        ("-1e-3", json!(-0.001)),
        ("1E+2", json!(100.0)),
        ("True", json!(true)),
        ("null", json!(null)),
        ("None", json!(null)),
        ("'a'", json!("a")),
        (r#""it's""#, json!("it's")),
        (r"'it\'s\n\t\\'", json!("it's\n\t\\")),
        (r"'\x41\u00e9\U0001F600\101\0'", json!("Aé😀A\0")),
        (
            r"'\d \
e'",
            json!("\\d e"),
        ),
        (r"r'\n\''", json!(r"\n\'")),
        ("'a' \"b\"  'c'", json!("abc")),
        ("'''a\n'b' ''c'''", json!("a\n'b' ''c")),
        (r#""""say \"""" "now" """#, json!("say \"now")),
        ("u'ü'", json!("ü")),
        ("''", json!("")),
        ("[]", json!([])),
        ("[1, [2,], 'a']", json!([1, [2], "a"])),
        ("(1)", json!(1)),
        ("(1,)", json!([1])),
        ("()", json!([])),
        ("{'a': {1: None}, True: [],}", json!({"a": {"1": null}, "true": []})),
        ("{}", json!({})),
    ];
    for (literal, expected) in table {
        assert_eq!(value(literal), Ok(expected), "{literal}");
    }
    let wrong = [
        "b'a'",
        "f'a'",
        "1j",
        "01",
        "1__0",
        "1_",
        "{1}",
        "{[]: 1}",
        "a",
        "1 + 1",
        "'a\nb'",
        r"'\xZZ'",
        r"'\ud800'",
        "1e999",
        "*a",
        "[1 2]",
    ];
    for literal in wrong {
        assert!(matches!(value(literal), Err(Beginning::Other { .. })), "{literal}: {:?}", value(literal));
    }
}

#[test]
fn a_list_of_calls_is_read_to_its_end() {
    let call = |name: &str, arguments: Value| Call {
        name: name.into(),
        arguments: arguments.as_object().unwrap().clone(),
    };
    let table = [
        ("[]", vec![]),
        ("[a()]", vec![call("a", json!({}))]),
        (
            " [ a.b ( x = 1 , y = [ ] , ) ,\n c(z='[)]') , ]",
            vec![call("a.b", json!({"x": 1, "y": []})), call("c", json!({"z": "[)]"}))],
        ),
    ];
    for (text, calls) in table {
        let expected = Beginning::Calls { calls, length: text.len() };
        assert_eq!(read(&format!("{text} and more]")), expected);
    }
    let wrong =
        ["a()", "[1]", "[a]", "[a(1)]", "[a(x=1, x=2)]", "[a() b()]", "[a(x:1)]", "[,]", "[a(,)]", "[\"a\"]"];
    for text in wrong {
        assert!(matches!(read(text), Beginning::Other { .. }), "{text}");
    }
    let deep = format!("[f(x={}{})]", "[".repeat(100_000), "]".repeat(100_000));
    assert!(matches!(read(&deep), Beginning::Other { .. }));
}

#[test]
fn what_breaks_the_grammar_is_read_loosely() {
    let loosely = |text: &str| {
        let calls = read_loosely(text)?;
        Ok(calls.into_iter().map(|call| json!({call.name: call.arguments})).collect::<Vec<_>>())
    };
    let table = [
        ("", Ok(vec![])),
        ("a(x=1)\nb()", Ok(vec![json!({"a": {"x": 1}}), json!({"b": {}})])),
        ("[a(x={1, 'b'}), ]", Ok(vec![json!({"a": {"x": [1, "b"]}})])),
        ("a(x='grep -n 'fn' *.rs', y='')", Ok(vec![json!({"a": {"x": "grep -n 'fn' *.rs", "y": ""}})])),
        ("a(x=007, y=-01)", Ok(vec![json!({"a": {"x": 7, "y": -1}})])),
        (r"a(x='\N \xZZ')", Ok(vec![json!({"a": {"x": r"\N \xZZ"}})])),
        ("a(x='1\n2')", Ok(vec![json!({"a": {"x": "1\n2"}})])),
        ("a(x='b", Err(7)),
        ("a(1)", Err(2)),
        ("words", Err(6)),
    ];
    for (text, expected) in table {
        assert_eq!(loosely(text), expected, "{text}");
    }
}

#[test]
fn every_beginning_of_a_list_may_become_one() {
    let text = r#" [a.b(x=-1.5e-3, y={'k': (True, None)}), c(z='é\'' "\u00e9" r'\'), d(t='''x''')]"#;
    let whole = text.replace("r'\\'", "r'\\w'");
    for (at, _) in whole.char_indices() {
        let begun = read(&whole[..at]);
        assert!(matches!(begun, Beginning::Unfinished { .. }), "{} {begun:?}", &whole[..at]);
    }
    assert!(matches!(read(&whole), Beginning::Calls { ref calls, .. } if calls.len() == 3));
    let Beginning::Unfinished { calls } = read("[a(x=1), b(") else { panic!() };
    assert_eq!(calls.len(), 1);
}
