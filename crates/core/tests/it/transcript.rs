//! Tests of `conversation/transcript.rs`, through the public names.
use haft_core::*;
use haft_core::{
    Answer, CallId, Completion, Fact, Limits, Message, Outcome, Part, StopReason, ToolCall, ToolResult, Usage,
};
use serde_json::json;

fn call(id: &str) -> Part {
    Part::ToolCall(ToolCall::new(id, "read", json!({"path": id})))
}
fn said(parts: Vec<Part>) -> Fact {
    Fact::Replied {
        parts,
        usage: Usage { input: 2, output: 1, ..Usage::default() },
        stop: StopReason::EndTurn,
    }
}
fn prompt() -> Fact {
    Fact::Prompted { parts: vec![Part::text("go")], channel: None }
}
fn ended(id: &str) -> Fact {
    let result = ToolResult { content: id.into(), ..ToolResult::default() };
    Fact::ToolEnded { call: CallId(id.into()), name: "read".into(), result, duration_ms: 0 }
}
fn over(outcome: Outcome) -> Fact {
    Fact::TurnEnded { outcome, rounds: 0, usage: Usage::default(), cost_usd: None }
}
fn failed() -> Fact {
    Fact::ModelFailed { message: "x".into(), hint: None, reason: None }
}
fn folded(facts: &[Fact]) -> Transcript {
    let mut transcript = Transcript::default();
    facts.iter().for_each(|fact| transcript.apply(fact));
    transcript
}
fn name(step: Step) -> String {
    match step {
        Step::AskModel => "ask".into(),
        Step::RunTools(calls) => calls.iter().map(|call| call.id.0.as_str()).collect::<Vec<_>>().join("+"),
        Step::Stop(outcome) => format!("{outcome:?}"),
    }
}

// O-12, T-41, T-48, T-49, trap 5
#[test]
fn next_step_follows_from_the_facts() {
    let round = |id: &str| [said(vec![call(id)]), ended(id)];
    let many = |n: usize| [prompt()].into_iter().chain((0..n).flat_map(|i| round(&i.to_string()))).collect();
    let refused = Fact::ApprovalAnswered { call: CallId("a".into()), answer: Answer::Unanswered, by: None };
    let table: Vec<(&str, Vec<Fact>, &str)> = vec![
        ("a fresh session waits", vec![], "Finished"),
        ("a prompt asks the model", vec![prompt()], "ask"),
        ("calls are run", vec![prompt(), said(vec![call("a"), call("b")])], "a+b"),
        (
            "answered calls are not run again",
            vec![prompt(), said(vec![call("a"), call("b")]), ended("b")],
            "a",
        ),
        ("all answered: back to the model", vec![prompt(), said(vec![call("a")]), ended("a")], "ask"),
        ("no calls: done", vec![prompt(), said(vec![Part::text("hi")])], "Finished"),
        ("an interruption stops", vec![prompt(), Fact::Interrupted], "Interrupted"),
        ("a failure stops", vec![prompt(), failed()], "Failed"),
        ("a failed turn waits", vec![prompt(), failed(), over(Outcome::Failed)], "Finished"),
        ("continue after a failure", vec![prompt(), failed(), over(Outcome::Failed), Fact::Continued], "ask"),
        ("continue in the middle of calls", vec![prompt(), said(vec![call("a")]), Fact::Continued], "a"),
        ("nothing to continue", vec![prompt(), said(vec![Part::text("hi")]), Fact::Continued], "Finished"),
        ("ten rounds are too many", many(10), "RoundLimit"),
        ("nine are not", many(9), "ask"),
        (
            "a new turn counts from nothing",
            [many(10), vec![over(Outcome::RoundLimit), prompt()]].concat(),
            "ask",
        ),
        ("steering does not", [many(9), vec![prompt()], round("9").to_vec()].concat(), "RoundLimit"),
        (
            "the model can say what no person could approve",
            vec![prompt(), said(vec![call("a")]), refused, ended("a"), said(vec![Part::text("sorry")])],
            "Refused",
        ),
    ];
    let limits = Limits { max_rounds: Some(10), ..Limits::default() };
    for (what, facts, expected) in table {
        assert_eq!(name(folded(&facts).next_step(&limits)), expected, "{what}");
    }
}

// O-41, A16, A17
#[test]
fn loops_of_up_to_three_rounds_are_seen() {
    let same = |_: usize| "same".to_owned();
    let counting = |round: usize| format!("{round}");
    let warned = |round: usize| format!("same{}", haft_core::loops::warning(round));
    let table = [
        (["a"].repeat(5), same as fn(usize) -> String, "a", 5),
        (["a"].repeat(6), same, "Repeating", 6),
        (["a"].repeat(6), warned, "Repeating", 6),
        (["a", "b"].repeat(5), same, "b", 5),
        (["a", "b"].repeat(6), same, "Repeating", 6),
        (["a", "b", "c"].repeat(6), same, "Repeating", 6),
        (["a", "a", "b", "a", "a"].to_vec(), same, "a", 2),
        // The same question with another answer brings something new, but not for ever.
        (["a"].repeat(19), counting, "a", 2),
        (["a", "b"].repeat(19), counting, "b", 1),
        (["a"].repeat(59), counting, "a", 5),
        (["a"].repeat(60), counting, "Repeating", 6),
        (["a", "b"].repeat(60), counting, "Repeating", 6),
    ];
    for (ids, result, expected, repeats) in table {
        let rounds = ids.iter().enumerate().flat_map(|(round, id)| {
            let result = ToolResult { content: result(round), ..ToolResult::default() };
            let ended =
                Fact::ToolEnded { call: CallId((*id).into()), name: "read".into(), result, duration_ms: 0 };
            [said(vec![call(id)]), ended]
        });
        let mut facts: Vec<Fact> = [prompt()].into_iter().chain(rounds).collect();
        facts.pop();
        let transcript = folded(&facts);
        let step = name(transcript.next_step(&Limits::default()));
        assert_eq!((step.as_str(), transcript.repeats()), (expected, repeats), "{ids:?}");
    }
}

// P-36 to P-38, X-04, X-05
#[test]
fn completion_by_phrase_or_idleness() {
    let (phrase, go_on) = ("task complete".to_owned(), "Go on.".to_owned());
    let completion = Completion::PhraseOrIdle { phrase, idle_rounds: 2, go_on };
    let limits = Limits { completion, ..Limits::default() };
    let talk = |text: &str| said(vec![Part::text(text)]);
    let table = [
        (vec![prompt(), talk("hm")], "ask"),
        (vec![prompt(), talk("hm"), talk("hm")], "Finished"),
        (vec![prompt(), talk("hm"), Fact::Nudged { text: "Go on.".into() }], "ask"),
        (vec![prompt(), talk("hm"), Fact::Nudged { text: "Go on.".into() }, talk("hm")], "Finished"),
        (vec![prompt(), talk("Task Complete.")], "Finished"),
        (vec![prompt(), talk("hm"), said(vec![call("a")]), ended("a"), talk("hm")], "ask"),
    ];
    for (facts, expected) in table {
        assert_eq!(name(folded(&facts).next_step(&limits)), expected, "{facts:?}");
    }
}

// O-27, O-47, T-44, T-45, T-46, trap 2
#[test]
fn results_are_filed_in_call_order_and_none_is_missing() {
    let told = |facts: &[Fact]| {
        let transcript = folded(facts);
        let told = transcript.messages().iter().map(|message| match message.as_ref() {
            Message::User { .. } => "user".to_owned(),
            Message::Assistant { .. } => "assistant".to_owned(),
            Message::Tool { call, result, .. } => format!("{call}={}", result.content),
        });
        told.collect::<Vec<_>>()
    };
    let both = [prompt(), said(vec![call("a"), call("b")]), ended("b"), ended("a")];
    assert_eq!(told(&both), ["user", "assistant", "a=a", "b=b"]);
    let cut = [
        prompt(),
        said(vec![call("a"), call("b")]),
        ended("b"),
        Fact::Interrupted,
        over(Outcome::Interrupted),
        prompt(),
    ];
    assert_eq!(told(&cut), ["user", "assistant", "a=error: not run: the turn ended first", "b=b", "user"]);
    assert_eq!(told(&[prompt(), said(vec![call("a")]), ended("a"), ended("a"), ended("z")]).len(), 3);
}

#[test]
fn a_turn_counts_its_rounds_and_tokens() {
    let transcript = folded(&[prompt(), said(vec![call("a")]), ended("a"), said(vec![Part::text("hi")])]);
    assert_eq!(transcript.rounds(), 2);
    assert_eq!(transcript.usage(), Usage { input: 4, output: 2, ..Usage::default() });
}
