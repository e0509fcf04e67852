//! [`Retry`]: faults that pass are waited out.
use futures::StreamExt;
use haft_core::{Delta, Provider, Request};
use haft_providers::{Retry, Scripted, Step};
use std::sync::Arc;
use tokio::time::Instant;

/// What is seen of a reply, how many requests were sent, and the seconds that it took.
async fn told(script: &str) -> (Vec<String>, usize, f64) {
    let scripted = Arc::new(Scripted::new(Step::parse_all(script).unwrap()));
    let start = Instant::now();
    let deltas: Vec<_> = Retry::new(scripted.clone()).stream(Request::default()).collect().await;
    let shown = deltas.into_iter().map(|delta| match delta {
        Ok(Delta::Text(text)) => text,
        Ok(Delta::Retrying { reason, .. }) => format!("again: {reason}"),
        Ok(Delta::Stop(stop)) => format!("{stop:?}"),
        Ok(other) => format!("{other:?}"),
        Err(error) => format!("error: {error}"),
    });
    (shown.collect(), scripted.requests().len(), start.elapsed().as_secs_f64())
}

// A38, A39, A40, A43, A44, A45, A46, A59, A60
#[tokio::test(start_paused = true)]
async fn faults_that_pass_are_waited_out_and_others_are_not() {
    let busy = r#"{"fail":"full","kind":"busy"}"#;
    let reset = r#"{"say":"half","fail":"reset","kind":"connection"}"#;
    let good = r#"{"say":"hello"}"#;
    let busy_again = "again: the script is busy: full";
    let gone_again = "again: the connection to the script failed: reset";
    let nothing_again = "again: the model answered nothing";
    let void = r#"{"stop":"end_turn"}"#;
    let refused = r#"{"fail":"wrong","kind":"auth"}"#;
    let thought = r#"{"think":"hm","say":" \n"}"#;
    let cut_off = r#"{"think":"hm","stop":"length"}"#;
    let hidden = r#"{"stop":"length","usage":{"input":9,"output":8191}}"#;
    let table: [(&str, String, &[&str], usize); 10] = [
        ("nothing wrong", good.into(), &["hello", "EndTurn"], 1),
        ("busy twice", [busy, busy, good].join("\n"), &[busy_again, busy_again, "hello", "EndTurn"], 3),
        ("reset in the middle", [reset, good].join("\n"), &["half", gone_again, "hello", "EndTurn"], 2),
        ("a wrong key", [refused, good].join("\n"), &["error: the script refused the key: wrong"], 1),
        ("empty once", [void, good].join("\n"), &[nothing_again, "hello", "EndTurn"], 2),
        (
            "thoughts alone",
            thought.into(),
            &[
                r#"Thinking("hm")"#,
                " \n",
                nothing_again,
                r#"Thinking("hm")"#,
                " \n",
                nothing_again,
                r#"Thinking("hm")"#,
                " \n",
                "error: the model rejected the request: it answered nothing, 3 times",
            ],
            3,
        ),
        (
            "hidden thoughts, cut off",
            [hidden, good].join("\n"),
            &[
                "Usage(Usage { input: 9, output: 8191, cache_read: 0, cache_write: 0 })",
                "error: the model used its 8191 output tokens for thinking, and answered nothing",
            ],
            1,
        ),
        (
            "cut off before its first word",
            [r#"{"stop":"length"}"#, good].join("\n"),
            &["error: the model reached its limit of output tokens before it answered"],
            1,
        ),
        ("thoughts, cut off", [cut_off, good].join("\n"), &[r#"Thinking("hm")"#, "Length"], 1),
        (
            "empty for ever",
            [void, void, void, good].join("\n"),
            &[
                nothing_again,
                nothing_again,
                "error: the model rejected the request: it answered nothing, 3 times",
            ],
            3,
        ),
    ];
    for (what, script, expected, requests) in table {
        let (shown, asked, _) = told(&script).await;
        assert_eq!(
            (shown, asked),
            (expected.iter().map(|text| (*text).to_owned()).collect(), requests),
            "{what}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_fault_that_stays_ends_after_eight_requests_and_a_minute() {
    let (shown, requests, seconds) = told(&[r#"{"fail":"full","kind":"busy"}"#; 20].join("\n")).await;
    assert_eq!((requests, shown.len()), (8, 8));
    assert_eq!(shown.last().unwrap(), "error: the script is busy: full; gave up after 8 requests");
    assert!((20.0..60.0).contains(&seconds), "{seconds}");
}
