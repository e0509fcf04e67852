//! Rules about tools of MCP servers.
use crate::kit::{Place, call, mcp_server::mcp_server};
use serde_json::json;

const SERVER: &str = r#"
def tools():
    return [{"name": name, "inputSchema": {"type": "object"}} for name in ["issues.delete", "a/b", "a.list"]]
def called(id):
    send({"id": id, "result": {"content": [{"type": "text", "text": "it ran"}]}})
"#;

#[test]
fn a_rule_may_name_a_tool_as_its_server_does() {
    if std::process::Command::new("python3").arg("--version").output().is_err() {
        return haft_testing::left_out("there is no `python3` on the PATH");
    }
    let place = Place::new();
    let server = place.write("server.py", mcp_server(SERVER));
    place.configure(&format!(
        "[mcp.f]\ncommand = \"python3\"\nargs = [{server:?}]\n[rules]\n\
         deny = [\"execute:mcp:f issues.delete *\", \"execute:mcp:f a/b *\"]\nallow = [\"execute:mcp:f *\"]\n"
    ));
    let names = ["issues_delete", "a_b", "a_list"];
    let calls = names.map(|name| call(&format!("mcp__f__{name}"), json!({})));
    let model = place.script("m", &[&calls[..], &[json!({"say": "Done."})]].concat());
    let ran = place.run(&["run", "--model", &model, "--json", "go"]);
    let ended: Vec<bool> = ran
        .events()
        .iter()
        .filter(|event| event["type"] == "tool_ended")
        .map(|event| event["ok"].as_bool().unwrap())
        .collect();
    assert_eq!(ended, [false, false, true], "{ran:?}");
    for effect in ["execute:mcp:f issues.delete x", "mcp:f issues_delete x", "execute:mcp:f a/b x"] {
        let checked = place.run(&["policy", "check", effect]);
        assert!(checked.out.contains("is denied by the rule"), "{effect}: {checked:?}");
    }
}

// H-143
#[test]
fn a_hint_that_is_trusted_saves_the_question_and_no_rule() {
    if std::process::Command::new("python3").arg("--version").output().is_err() {
        return haft_testing::left_out("there is no `python3` on the PATH");
    }
    let hinted = SERVER.replace(
        r#""inputSchema": {"type": "object"}"#,
        r#""inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": True}"#,
    );
    let (only, deny) = ("only = [\"execute:git *\"]", "deny = [\"execute:mcp:f a.list *\"]");
    let ask = "ask = [\"execute:mcp:f *\"]";
    for (rules, options, expected) in [
        ("", &["--permission", "ask"][..], "it ran"),
        ("", &["--permission", "plan"], "it ran"),
        ("", &["--permission", "full", "--outbox"], "it ran"),
        ("", &["--permission", "read-only"], "permission is `read-only`"),
        (deny, &["--permission", "full"], "is denied by the rule"),
        (deny, &["--permission", "full", "--outbox"], "is denied by the rule"),
        (ask, &["--permission", "full"], "must be asked for by the rule"),
        (only, &["--permission", "full"], "the rules allow only"),
    ] {
        let place = Place::new();
        let server = place.write("server.py", mcp_server(&hinted));
        place.configure(&format!(
            "[mcp.f]\ncommand = \"python3\"\nargs = [{server:?}]\ntrust_hints = true\n[rules]\n{rules}\n"
        ));
        let model = place.script("m", &[call("mcp__f__a_list", json!({})), json!({"say": "Done."})]);
        let words = [&["run", "--model", &model, "--json"][..], options, &["go"]].concat();
        let ran = place.run(&words);
        let ended = ran.events().into_iter().find(|event| event["type"] == "tool_ended").unwrap();
        assert!(ended.to_string().contains(expected), "{rules} {options:?}: {ended}");
    }
}

#[test]
fn a_server_that_needs_a_variable_is_left_out_and_stops_nothing() {
    let place = Place::new();
    place.configure(
        "[mcp.keyed]\nurl = \"http://127.0.0.1:1\"\nheaders = {Authorization = \"Bearer ${NOT_SET}\"}\n\
         [mcp.given]\ncommand = \"no-such-program\"\nenvironment = {KEY = \"${NOT_SET:-none}\"}\n",
    );
    let model = place.script("m", &[json!({"say": "Done."})]);
    let ran = place.run(&["run", "--model", &model, "go"]);
    assert_eq!((ran.code, ran.out.as_str()), (0, "Done.\n"), "{ran:?}");
    let told = "the MCP server `keyed` is left out: `Authorization` needs the environment variable NOT_SET";
    assert!(ran.err.contains(told) && !ran.err.contains("`given` is left out"), "{ran:?}");
    let tested = place.run(&["mcp", "test", "given", "--json"]);
    assert_eq!((tested.code, &tested.events()[0]["state"]), (1, &json!("failed")), "{tested:?}");
}
