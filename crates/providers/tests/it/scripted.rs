//! [`Scripted`]: a provider that says what a script holds.
use futures::{FutureExt, StreamExt};
use haft_core::{Delta, Message, Part, Provider, Reply, Request};
use haft_providers::{Scripted, Step};
use serde_json::{Value, json};
use std::sync::Arc;

type Said = Result<Vec<Part>, String>;

fn request(said: &[&str]) -> Request {
    let messages = said.iter().enumerate().map(|(index, text)| {
        let parts = vec![Part::text(*text)];
        Arc::new(if index % 2 == 0 { Message::User { parts } } else { Message::Assistant { parts } })
    });
    Request { messages: messages.collect(), ..Request::default() }
}

async fn tell(scripted: &Scripted, said: &[&str]) -> Said {
    let mut reply = Reply::default();
    let mut deltas = scripted.stream(request(said));
    while let Some(delta) = deltas.next().await {
        reply.push(delta.map_err(|error| error.to_string())?);
    }
    Ok(reply.into_parts())
}

#[tokio::test(start_paused = true)]
async fn the_step_follows_from_the_request_and_faults_happen_once() {
    let script = r#"
        {"say":"one"}
        {"fail":"full"}
        {"expect":"b","think":"hm","say":"two","calls":[{"name":"read","arguments":{"path":"x"}}]}
    "#;
    let scripted = Scripted::new(Step::parse_all(script).unwrap());
    let two = vec![
        Part::Thinking { text: "hm".into(), signature: None },
        Part::text("two"),
        Part::ToolCall(haft_core::ToolCall::new("call_3_0", "read", json!({"path": "x"}))),
    ];
    let run_out = "the script rejected the request: it has no more lines after 3";
    let unmet = "the script rejected the request: it expected `b` in the last message, which says `c`";
    let table: [(&[&str], Said); 6] = [
        (&["a"], Ok(vec![Part::text("one")])),
        (&["a"], Ok(vec![Part::text("one")])),
        (&["a", "one", "b"], Err("the script is busy: full".into())),
        (&["a", "one", "b"], Ok(two)),
        (&["a", "one", "c"], Err(unmet.into())),
        (&["a", "one", "b", "two", "c"], Err(run_out.into())),
    ];
    for (said, expected) in table {
        assert_eq!(tell(&scripted, said).await, expected, "{said:?}");
    }
    assert_eq!(scripted.requests().len(), 6);
}

#[tokio::test(start_paused = true)]
async fn a_text_can_come_in_pieces_and_a_reply_can_hang() {
    let steps = Step::parse_all("{\"say\":\"häuser\",\"pieces\":4,\"delay_ms\":50,\"hang\":true}").unwrap();
    let mut deltas = Scripted::new(steps).stream(request(&["a"]));
    for piece in ["häus", "er"] {
        assert_eq!(deltas.next().await.unwrap().unwrap(), Delta::Text(piece.into()));
    }
    assert!(deltas.next().now_or_never().is_none());
}

#[tokio::test]
async fn a_script_can_be_built() {
    let scripted = Scripted::new([]).calls([("list", Value::Null)]).says("done");
    let call = haft_core::ToolCall::new("call_1_0", "list", json!({}));
    assert_eq!(tell(&scripted, &["a"]).await, Ok(vec![Part::ToolCall(call)]));
    assert_eq!(tell(&scripted, &["a", "", "b"]).await, Ok(vec![Part::text("done")]));
}

#[test]
fn a_line_that_is_no_step_says_what_was_expected() {
    let table = [
        ("# a comment\n\n{\"sey\":1}", "line 3 of the script: unknown field `sey`, expected one of `say`"),
        ("{\"say\":\"a\"}\n{\"say\":", "line 2 of the script: EOF while parsing"),
        ("{}", "line 1 of the script: a step needs at least one of `say`"),
        (
            r#"{"fail":"x","kind":"odd"}"#,
            "expected one of `busy`, `auth`, `rejected`, `context`, `connection`",
        ),
    ];
    for (script, expected) in table {
        let error = Step::parse_all(script).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
    let missing = Step::read_all("/nowhere/script").unwrap_err().to_string();
    assert!(missing.starts_with("cannot read the script `/nowhere/script`: "), "{missing}");
}
