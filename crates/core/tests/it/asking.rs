//! Tests of `facts/asking.rs`, through the public names.
use haft_core::{Answer, Asking, CallId, Fact, Question};

fn call(name: &str) -> CallId {
    CallId(name.into())
}

#[test]
fn a_call_waits_once_until_it_is_answered_or_ends() {
    let asks = |name: &str| Fact::ApprovalAsked {
        call: call(name),
        reason: "`git push` needs approval".into(),
        effects: vec![],
        changes: vec![],
        bulk: vec![],
        runs: None,
        diagnostics: None,
    };
    let question = |name: &str| Fact::QuestionAsked {
        call: call(name),
        question: Question { text: "Which?".into(), choices: vec![], draft: None },
    };
    let answered = |name: &str| Fact::ApprovalAnswered { call: call(name), answer: Answer::Once, by: None };
    let table = [
        (vec![], vec![]),
        (vec![asks("1"), question("2")], vec!["1", "2"]),
        // After a crash the same calls are made again.
        (vec![asks("1"), Fact::Continued, asks("1")], vec!["1"]),
        (vec![asks("1"), question("2"), Fact::Continued, asks("1"), question("2")], vec!["1", "2"]),
        (vec![asks("1"), asks("2"), Fact::Continued, asks("1"), answered("1")], vec!["2"]),
    ];
    for (facts, expected) in table {
        let mut asking = Asking::default();
        facts.iter().for_each(|fact| asking.apply(fact));
        let waiting: Vec<&str> = asking.calls().iter().map(|call| call.0.as_str()).collect();
        assert_eq!((waiting, asking.is_empty()), (expected.clone(), expected.is_empty()), "{facts:?}");
    }
}
