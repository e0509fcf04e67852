//! Tests of `conversation/reply.rs`, through the public names.
use haft_core::reply::*;
use haft_core::{CallId, Delta, Part, StopReason, Update};
use serde_json::Value;
use serde_json::json;

fn start(index: usize, id: &str, name: &str) -> Delta {
    Delta::CallStart { index, id: CallId(id.into()), name: name.into() }
}
fn arguments(index: usize, json: &str) -> Delta {
    Delta::CallArguments { index, json: json.into() }
}
fn parts(deltas: Vec<Delta>) -> Vec<Part> {
    let mut reply = Reply::default();
    deltas.into_iter().for_each(|delta| drop(reply.push(delta)));
    reply.into_parts()
}
fn calls(deltas: Vec<Delta>) -> Vec<(String, String, Value, bool)> {
    let calls = parts(deltas).into_iter().filter_map(|part| part.as_call().cloned());
    calls.map(|call| (call.id.0, call.name, call.arguments, call.problem.is_some())).collect()
}

// O-13 to O-17, X-33, A12, A63
#[test]
fn calls_keep_the_order_of_their_indices_and_get_ids_of_their_own() {
    let row = |id: &str, name: &str, value: Value| (id.to_owned(), name.to_owned(), value, false);
    let table = [
        (
            "fragments of two calls, mixed",
            vec![
                start(1, "b", "write"),
                start(0, "a", "read"),
                arguments(1, "{\"x\":"),
                arguments(0, "{}"),
                arguments(1, "1}"),
            ],
            vec![row("a", "read", json!({})), row("b", "write", json!({"x": 1}))],
        ),
        (
            "ids missing and doubled",
            vec![start(0, "", "a"), start(1, "x", "b"), start(2, "x", "c"), start(9, " ", "d")],
            vec![
                row("call_0", "a", json!({})),
                row("x", "b", json!({})),
                row("call_2", "c", json!({})),
                row("call_3", "d", json!({})),
            ],
        ),
        (
            "the name repeated in each piece",
            vec![start(0, "a", "read"), arguments(0, "{\"p\""), start(0, "", "read"), arguments(0, ":2}")],
            vec![row("a", "read", json!({"p": 2}))],
        ),
        (
            "an object encoded twice",
            vec![start(0, "a", "read"), arguments(0, r#""{\"p\":1}""#)],
            vec![row("a", "read", json!({"p": 1}))],
        ),
    ];
    for (what, deltas, expected) in table {
        assert_eq!(calls(deltas), expected, "{what}");
    }
}

// O-19, A03, A04, A15, A58, A66
#[test]
fn arguments_that_cannot_be_used_say_why() {
    let large = "x".repeat(MAX_ARGUMENTS + 1);
    let deep = "[".repeat(100_000);
    let table = [
        (r#"{"command":"echo"#, None, "the arguments end too early"),
        (r#"{"command":"echo"#, Some(StopReason::Length), "reached its length limit"),
        ("", Some(StopReason::Length), "reached its length limit"),
        ("42", None, "not an integer"),
        ("[1]", None, "not an array"),
        ("null", None, "not null"),
        (r#""x""#, None, "not a string"),
        ("{oops", None, "are not JSON"),
        (large.as_str(), None, "larger than 8 MB"),
        (deep.as_str(), None, "nested deeper"),
        ("{}", Some(StopReason::Refusal), "the provider's content policy ended the reply"),
    ];
    for (json, stop, expected) in table {
        let stop = stop.map(Delta::Stop);
        let deltas = [start(0, "a", "bash"), arguments(0, json)].into_iter().chain(stop);
        let parts = parts(deltas.collect());
        let problem = parts[0].as_call().unwrap().problem.clone().unwrap();
        assert!(problem.contains(expected), "{problem}");
    }
}

#[test]
fn a_provider_may_say_why_a_call_is_none() {
    let problem = Delta::CallProblem { index: 0, problem: "it has no name".into() };
    let parts = parts(vec![start(0, "a", "bash"), arguments(0, "{}"), problem]);
    let call = parts[0].as_call().unwrap();
    assert_eq!((call.problem.as_deref(), &call.arguments), (Some("it has no name"), &json!("{}")));
}

#[test]
fn text_and_thinking_keep_their_order() {
    let deltas = vec![
        Delta::Thinking("a".into()),
        Delta::Thinking("b".into()),
        Delta::Signature("s".into()),
        Delta::Text("c".into()),
        Delta::Text(String::new()),
        Delta::Thinking("d".into()),
    ];
    let thinking = |text: &str, signature: Option<&str>| Part::Thinking {
        text: text.into(),
        signature: signature.map(Into::into),
    };
    assert_eq!(parts(deltas), [thinking("ab", Some("s")), Part::text("c"), thinking("d", None)]);
}

#[test]
fn a_retry_voids_what_was_said() {
    let again = Delta::Retrying { reason: "reset".into(), after: Default::default(), charged: false };
    assert_eq!(
        parts(vec![Delta::Text("half".into()), start(0, "a", "x"), again, Delta::Text("whole".into())]),
        [Part::text("whole")]
    );
}

// A29
#[test]
fn a_reply_is_too_large_whatever_it_is_made_of() {
    let large = "x".repeat(1 << 20);
    let piece = |what, index| match what {
        "text" => Delta::Text(large.clone()),
        "thoughts" => Delta::Thinking(large.clone()),
        "arguments" => arguments(0, &large),
        _ => start(index, &large, "x"),
    };
    for (what, pieces, has_large_call) in
        [("text", 9, false), ("thoughts", 9, false), ("arguments", 32, true), ("calls", 32, false)]
    {
        let mut reply = Reply::default();
        reply.push(start(0, "a", "x"));
        let grown = (1..).find(|index| {
            reply.push(piece(what, *index));
            reply.is_too_large()
        });
        assert_eq!((grown, reply.has_large_call()), (Some(pieces), has_large_call), "{what}");
    }
}

#[test]
fn an_interrupted_reply_keeps_its_text_and_loses_its_calls() {
    let mut reply = Reply::default();
    for delta in [Delta::Text("so".into()), start(0, "a", "bash"), arguments(0, "{}")] {
        reply.push(delta);
    }
    assert_eq!(reply.into_spoken_parts(), [Part::text("so")]);
}

fn shown(deltas: Vec<Delta>) -> Vec<String> {
    let mut reply = Reply::default();
    let updates = deltas.into_iter().flat_map(|delta| reply.push(delta));
    let shown = updates.map(|update| match update {
        Update::ToolCall { call, .. } => format!("start {call}"),
        Update::ToolArguments { call, delta } => format!("{call} {delta}"),
        Update::ToolCallEnd { call, arguments } => format!("end {call} {arguments}"),
        other => format!("{other:?}"),
    });
    shown.collect()
}

// O-05
#[test]
fn a_call_ends_where_its_arguments_do() {
    let stop = || Delta::Stop(StopReason::ToolUse);
    let table = [
        (vec![start(0, "a", "read"), stop()], vec!["start a", "end a {}"]),
        (
            vec![
                start(0, "a", "read"),
                arguments(0, r#"{"x":"}"#),
                arguments(0, r#"\"{"}"#),
                start(1, "", "read"),
                stop(),
            ],
            vec![
                "start a",
                r#"a {"x":"}"#,
                r#"a \"{"}"#,
                r#"end a {"x":"}\"{"}"#,
                "start call_1",
                "end call_1 {}",
            ],
        ),
        (
            vec![
                start(0, "a", "read"),
                start(1, "b", "read"),
                arguments(0, "{"),
                arguments(1, "{}"),
                arguments(0, "}"),
                stop(),
            ],
            vec!["start a", "start b", "a {", "b {}", "end b {}", "a }", "end a {}"],
        ),
        (
            vec![start(0, "a", "read"), arguments(0, "{oops"), stop()],
            vec!["start a", "a {oops", "end a \"{oops\""],
        ),
        (
            vec![start(0, "a", "read"), start(0, "a", "read"), arguments(0, ""), stop()],
            vec!["start a", "end a {}"],
        ),
        (
            vec![start(0, "a", "read"), arguments(0, "{"), Delta::Stop(StopReason::Endless)],
            vec!["start a", "a {"],
        ),
    ];
    for (deltas, expected) in table {
        assert_eq!(shown(deltas), expected);
    }
    let problem = Delta::CallProblem { index: 0, problem: "it has no name".into() };
    assert_eq!(shown(vec![start(0, "a", "read"), problem, stop()])[1], format!("end a {}", json!("")));
}
