//! What the tree of tags means in `minimax_m3`.
use crate::kit::{a_call, named};
use haft_dialects::{Said, Setting, ToolSchema, read};
use serde_json::json;

/// `<a>1</a>` with the token before each tag.
fn marked(tree: &str) -> String {
    tree.replace('<', "]<]minimax[>[<")
}

/// The arguments of a call with this tree, if that is all.
fn arguments(schema: &serde_json::Value, tree: &str) -> serde_json::Value {
    let tool = ToolSchema::new("f", schema.clone());
    let setting = Setting { tools: [tool].into(), ..Setting::default() };
    let text = marked(&format!("<tool_call><invoke name=\"f\">{tree}</invoke></tool_call>"));
    let said = read(named("minimax_m3"), &setting, [text.as_str()]);
    let [Said::Call(call)] = said.as_slice() else { panic!("{tree}: {said:?}") };
    call.object().unwrap().into()
}

#[test]
fn a_tree_means_what_the_schema_says() {
    let number = json!({"type": "number"});
    let list = json!({"type": "array", "items": number});
    let schema = json!({"properties": {
        "n": number, "list": list, "map": {"type": "object", "properties": {"n": number}}, "s": {"type": "string"},
    }});
    let table = [
        ("<n>1.5</n>", json!({"n": 1.5})),
        ("<list><item>1</item><item>2</item></list>", json!({"list": [1, 2]})),
        ("<list></list><map></map><s></s>", json!({"list": [], "map": {}, "s": ""})),
        ("<map><n>1</n><x>1</x><x>2</x></map>", json!({"map": {"n": 1, "x": ["1", "2"]}})),
        ("<map>a<n>1</n>b</map>", json!({"map": {"n": 1, "$text": "ab"}})),
        ("<n>1</n>\n <s> x\n</s>", json!({"n": 1, "s": " x\n"})),
        ("<n>1</n><s>cut", json!({"n": 1})),
        ("<n>1</n><s>x</n>", json!({"n": 1})),
        ("<n>1</n>more<s>x</s>", json!({"n": 1})),
    ];
    for (tree, expected) in table {
        assert_eq!(arguments(&schema, tree), expected, "{tree}");
    }
    let deep = format!("{}{}", "<a>".repeat(100_000), "</a>".repeat(100_000));
    assert_eq!(arguments(&schema, &deep), json!({}));
}

#[test]
fn each_invoke_is_a_call() {
    let body = "<tool_call><invoke name=\"f\"><a>1</a></invoke>\n<invoke name=\"g\"></invoke><invoke name=\"h\"><a>1</tool_call>";
    let said = read(named("minimax_m3"), &Setting::default(), [marked(body).as_str()]);
    let call = |name: &str, arguments| Said::Call(a_call(name, arguments));
    assert_eq!(said, [call("f", json!({"a": "1"})), call("g", json!({})), call("h", json!({}))]);
}
