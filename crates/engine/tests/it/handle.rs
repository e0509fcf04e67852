//! A command has a handle: whatever it is and whenever it is given, its events are told and its report comes.
use crate::kit::{Faulty, Place, bash, calls, in_a_word, prompt, says, scripted};
use futures::{StreamExt, future::BoxFuture};
use haft_core::{
    Answer, Command, Conclusion, Event, Fact, Hooked, Hooks, JobStatus, Mode, Moment, Outcome, Policy, Price,
    Seq, SessionId,
};
use haft_engine::{Engine, Session, Turn, TurnError, TurnReport};
use serde_json::json;
use std::{sync::Arc, time::Duration};

/// How long a test waits for what does not come.
const LONG: Duration = Duration::from_secs(60);

async fn report(turn: Turn) -> TurnReport {
    tokio::time::timeout(LONG, turn.report()).await.unwrap()
}

/// The facts that a handle tells, a word each, and its report.
async fn told(mut turn: Turn) -> (String, TurnReport) {
    let mut told = Vec::new();
    while let Some(event) = tokio::time::timeout(LONG, turn.next()).await.unwrap() {
        if let Event::Recorded(entry) = event {
            told.push(in_a_word(&entry));
        }
    }
    (told.join(" "), report(turn).await)
}

/// Waits until a fact is recorded that `wanted` takes.
async fn until(session: &Session, wanted: impl Fn(&Fact) -> bool) {
    let mut events = Box::pin(session.events(Seq(0)));
    let found = async {
        while let Some(event) = events.next().await {
            if matches!(&event, Event::Recorded(entry) if wanted(&entry.fact)) {
                return;
            }
        }
        panic!("the session closed: {:?}", session.journal().failure());
    };
    tokio::time::timeout(LONG, found).await.unwrap();
}

/// A session in which one turn runs a command that ends when `go` lies in the workspace.
async fn busy(place: &Place, then: &str) -> (Engine, Session, Turn) {
    let engine = place.engine(&(bash("until [ -e go ]; do sleep 0.02; done") + then));
    let session = engine.create("haft").unwrap();
    let first = session.prompt("first");
    until(&session, |fact| matches!(fact, Fact::ToolStarted { .. })).await;
    (engine, session, first)
}

#[tokio::test]
async fn a_turn_gives_its_events_and_a_report() {
    let place = Place::new();
    let script = calls(&[("write", json!({"path": "a", "content": "1"}))])
        + "{\"say\":\"done\",\"usage\":{\"input\":2000000,\"output\":1000000}}\n";
    let mut setup = place.setup(scripted(&script));
    setup.model.price = Some(Price { input: 1.0, output: 2.0, cache_read: None, cache_write: None });
    let session = Engine::new(setup).create("haft").unwrap();
    let (facts, report) = told(session.prompt("go")).await;
    assert_eq!(
        facts,
        "prompted replied tool_started write-0 staged write-0 tool_ended write-0=ok replied turn_ended=finished"
    );
    assert_eq!((report.outcome, report.text.as_str()), (Some(Outcome::Finished), "done"));
    assert_eq!((report.error.as_deref(), report.rounds), (None, 2));
    let call = &report.calls[0];
    assert_eq!((call.tool(), &call.arguments()["path"], call.result().is_ok()), ("write", &json!("a"), true));
    assert_eq!(report.changes.iter().map(|change| change.path.to_str().unwrap()).collect::<Vec<_>>(), ["a"]);
    assert!(report.usage.total() >= 3_000_000 && report.cost_usd.unwrap() >= 4.0, "{report:?}");
    // The next one tells only its own.
    let failed = session.prompt("again").await.unwrap_err();
    assert!(matches!(&failed, TurnError::Failed { why, .. } if !why.is_empty()), "{failed:?}");
    assert!(failed.report().calls.is_empty() && failed.report().changes.is_empty());
    let unpriced = place.session(&says("hi")).prompt("go").await.unwrap();
    assert_eq!(unpriced.cost_usd, None, "its price is unknown");
}

#[tokio::test]
async fn live_text_is_told_with_its_own_turn() {
    let place = Place::new();
    let session = place.session(&(says("one") + &says("two")));
    for text in ["one", "two"] {
        let events: Vec<Event> = session.prompt("go").collect().await;
        let live: Vec<String> = events
            .iter()
            .filter_map(|event| match event {
                Event::Live(haft_core::Update::Text { text }) => Some(text.clone()),
                _ => None,
            })
            .collect();
        assert_eq!(live.concat(), text);
    }
}

#[tokio::test]
async fn a_handle_that_begins_earlier_tells_of_others_and_reports_its_own() {
    let place = Place::new();
    let session = place.session(&(says("one") + &says("two")));
    assert_eq!(report(session.prompt("first")).await.text, "one");
    let (facts, second) = told(session.start_from(prompt("second"), Seq(1))).await;
    assert_eq!(facts, "prompted replied turn_ended=finished prompted replied turn_ended=finished");
    assert_eq!((second.text.as_str(), second.rounds), ("two", 1));
}

#[tokio::test]
async fn a_prompt_given_in_a_turn_ends_with_the_turn_that_answers_it() {
    let place = Place::new();
    let (_engine, session, first) = busy(&place, &says("both")).await;
    let second = session.prompt("second");
    let third = session.start(Command::Compact);
    place.write("go", "");
    let (facts, second) = told(second).await;
    assert_eq!(facts, "prompted replied turn_ended=finished");
    assert_eq!(second.text, "both");
    assert_eq!(report(first).await.calls.len(), 1);
    // What waits for the end of the turn has one of its own.
    let (facts, _) = told(third).await;
    assert!(facts.ends_with("turn_ended=finished") && !facts.contains("prompted"), "{facts}");
}

#[tokio::test]
async fn a_rewind_that_waits_is_told_when_it_is_done() {
    let place = Place::new();
    let (_engine, session, first) = busy(&place, &says("done")).await;
    let (rewind, redo) = (session.start(Command::Rewind { to: Seq(0) }), session.start(Command::Redo));
    place.write("go", "");
    assert_eq!(report(first).await.outcome, Some(Outcome::Finished));
    for turn in [rewind, redo] {
        let (facts, report) = told(turn).await;
        assert_eq!((facts.as_str(), report.outcome, report.error), ("rewinding rewound", None, None));
    }
    // There is nothing to redo: nothing happens, and that is told.
    let (facts, report) = told(session.start(Command::Redo)).await;
    assert_eq!((facts.as_str(), report.is_finished()), ("", true));
}

#[tokio::test]
async fn a_command_that_opens_no_turn_ends_its_handle_within_a_turn_and_outside() {
    let place = Place::new();
    let (_engine, session, first) = busy(&place, &says("done")).await;
    let conclusion = Conclusion { status: JobStatus::Completed, reason: "x".into(), evidence: vec![] };
    let set = session.start(Command::SetMode { mode: Mode::ReadOnly });
    assert_eq!(told(set).await.0, "mode_set");
    let answer = Command::answer(haft_core::CallId("none".into()), Answer::Once);
    let not_asked = |told: (String, TurnReport)| {
        let why = told.1.error.unwrap_or_default();
        assert!(told.0.is_empty() && why.contains("the call waits for no answer"), "{why}");
    };
    not_asked(told(session.start(answer.clone())).await);
    let concluding = session.start(Command::Conclude(conclusion.clone()));
    assert_eq!(told(session.start(Command::Interrupt)).await.1.outcome, None);
    let first = report(first).await;
    assert_eq!(first.outcome, Some(Outcome::Interrupted));
    assert_eq!(first.error.as_deref(), Some("interrupted"));
    assert_eq!(told(concluding).await.0, "concluded");
    let outside = [
        (Command::SetMode { mode: Mode::Full }, "mode_set"),
        (Command::Interrupt, ""),
        (Command::Conclude(conclusion), "concluded"),
        (Command::Rewind { to: Seq(0) }, "rewinding rewound"),
    ];
    for (command, expected) in outside {
        let (facts, report) = told(session.start(command.clone())).await;
        assert_eq!((facts.as_str(), report.outcome, report.error), (expected, None, None), "{command:?}");
    }
    not_asked(told(session.start(answer)).await);
}

#[tokio::test]
async fn a_call_in_place_of_the_model_is_a_turn() {
    let place = Place::new();
    let session = place.session("");
    let command = Command::Call { name: "bash".into(), arguments: json!({"command": "echo hi"}) };
    let (facts, report) = told(session.start(command)).await;
    assert!(facts.starts_with("called ") && facts.ends_with("turn_ended=finished"), "{facts}");
    assert!(report.calls[0].result().content.contains("hi"));
}

/// Denies prompts that say so.
struct Guard;

impl Hooks for Guard {
    fn hear<'a>(&'a self, _: &'a SessionId, moment: Moment<'a>) -> BoxFuture<'a, Hooked> {
        let is_denied = matches!(moment, Moment::TurnStarts { prompt } if prompt.contains("bad"));
        Box::pin(async move { if is_denied { Hooked::deny("not here") } else { Hooked::default() } })
    }
}

#[tokio::test]
async fn a_prompt_that_a_hook_denies_is_refused_within_a_turn_and_outside() {
    let place = Place::new();
    let script = bash("until [ -e go ]; do sleep 0.02; done") + &says("done");
    let mut setup = place.setup(scripted(&script));
    setup.hooks = Arc::new(Guard);
    let session = Engine::new(setup).create("haft").unwrap();
    let why = Some("the prompt was refused: a hook denied it: not here");
    let (facts, denied) = told(session.prompt("bad")).await;
    assert_eq!(facts, "prompt_denied turn_ended=refused");
    assert_eq!((denied.outcome, denied.error.as_deref()), (Some(Outcome::Refused), why));
    let first = session.prompt("good");
    until(&session, |fact| matches!(fact, Fact::ToolStarted { .. })).await;
    let second = session.prompt("bad, too");
    place.write("go", "");
    let (facts, denied) = told(second).await;
    assert_eq!(facts, "prompt_denied");
    assert_eq!((denied.outcome, denied.error.as_deref()), (Some(Outcome::Refused), why));
    let first = report(first).await;
    assert_eq!((first.outcome, first.error), (Some(Outcome::Finished), None));
}

#[tokio::test]
async fn a_session_that_fails_ends_every_handle_and_says_why() {
    let place = Place::new();
    let setup = Faulty::setup(place.setup(scripted(&says("well"))));
    let session = Engine::new(setup).create("haft").unwrap();
    let (failing, waiting) = (session.prompt("fault"), session.start(Command::Redo));
    for turn in [failing, waiting] {
        let error = tokio::time::timeout(LONG, async { turn.await }).await.unwrap().unwrap_err();
        assert!(error.to_string().contains("a fault in the program"), "{error}");
    }
}

#[tokio::test]
async fn a_session_that_closes_ends_every_handle() {
    let place = Place::new();
    let (engine, session, running) = busy(&place, "").await;
    let waiting = session.start(Command::Rewind { to: Seq(0) });
    let queued = session.prompt("second");
    engine.shut_down().await;
    let late = session.prompt("too late");
    for turn in [running, queued, late] {
        let report = report(turn).await;
        assert!(report.error.is_some() && report.outcome != Some(Outcome::Finished), "{report:?}");
    }
    // What came before the end is carried out.
    assert_eq!(told(waiting).await.0, "rewinding rewound");
    let error = session.prompt("too late").await.unwrap_err();
    assert_eq!(error.to_string(), "the session did not finish the command: the session was closed");
}

#[test]
fn a_runtime_that_ends_ends_the_handles_of_its_sessions() {
    let place = Place::new();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let (_engine, _session, turn) = runtime.block_on(busy(&place, ""));
    runtime.shutdown_timeout(LONG);
    let other = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let error = other.block_on(report(turn)).error.unwrap();
    assert!(error.contains("the runtime"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_joined_session_has_the_same_handles() {
    let place = Place::new();
    let owner =
        place.engine(&(bash("until [ -e go ]; do sleep 0.02; done") + &says("both") + &says("third")));
    let session = owner.create("haft").unwrap();
    let joined = place.engine("").join(&session.id().0).await.unwrap();
    let first = joined.prompt("first");
    until(&session, |fact| matches!(fact, Fact::ToolStarted { .. })).await;
    let (steering, waiting) = (joined.prompt("second"), joined.start(Command::Rewind { to: Seq(0) }));
    assert_eq!(told(joined.start(Command::SetMode { mode: Mode::ReadOnly })).await.0, "mode_set");
    // What is refused ends its own handle alone.
    let refused = joined.start(Command::Call { name: "ls".into(), arguments: json!({}) });
    let error = refused.await.unwrap_err().to_string();
    assert!(error.contains("a call can be made only by the process"), "{error}");
    place.write("go", "");
    assert_eq!(report(first).await.outcome, Some(Outcome::Finished));
    let (facts, steering) = told(steering).await;
    assert_eq!((facts.as_str(), steering.text.as_str()), ("prompted replied turn_ended=finished", "both"));
    assert_eq!(told(waiting).await.0, "rewinding rewound");
    let events: Vec<Event> = joined.prompt("third").collect().await;
    assert!(
        matches!(events.first(), Some(Event::Recorded(entry)) if matches!(entry.fact, Fact::Prompted { .. }))
    );
    assert!(events.iter().any(|event| matches!(event, Event::Live(_))), "{events:?}");
    let left = joined.prompt("fourth");
    owner.shut_down().await;
    assert!(report(left).await.error.is_some());
}

#[tokio::test]
async fn who_follows_the_turn_answers_for_the_person() {
    let place = Place::new();
    let mut setup = place.setup(scripted(&(bash("echo hi") + &says("done"))));
    setup.policy = Policy { rules: vec![], mode: Mode::Ask };
    let session = Engine::new(setup).create("haft").unwrap();
    let mut turn = session.start(prompt("go"));
    while let Some(event) = turn.next().await {
        if let Event::Recorded(entry) = event
            && let Fact::ApprovalAsked { call, .. } = &entry.fact
        {
            turn.send(Command::answer(call.clone(), Answer::Once)).unwrap();
        }
    }
    let report = turn.await.unwrap();
    assert!(report.calls[0].result().is_ok() && report.text == "done", "{report:?}");
}

#[derive(Debug, PartialEq, serde::Deserialize, schemars::JsonSchema)]
struct Count {
    files: u8,
    name: Option<String>,
}

// A prompt that comes while another turn runs is not steered into that one.
#[tokio::test]
async fn an_answer_comes_as_the_type_that_is_asked_for() {
    let place = Place::new();
    let then = says("first done") + &says("three") + &says(r#"{"files": 300}"#) + &says(r#"{"files": 3}"#);
    let (_engine, session, first) = busy(&place, &then).await;
    let asked = tokio::time::timeout(LONG, session.ask_as::<Count>("how many?"));
    let first = async {
        place.write("go", "");
        report(first).await
    };
    // What is asked for first is polled first.
    let (answer, first) = tokio::join!(biased; asked, first);
    assert_eq!(first.text, "first done");
    let answer = answer.unwrap().unwrap();
    assert_eq!(answer, Count { files: 3, name: None });
    let facts: Vec<String> = session.entries().iter().map(|entry| in_a_word(entry)).collect();
    let facts = facts.join(" ");
    assert!(
        facts.ends_with(
            "prompted answer_schema replied answer_rejected replied answer_rejected replied answered turn_ended=finished"
        ),
        "{facts}"
    );
}

#[tokio::test]
async fn an_answer_that_never_matches_is_an_error() {
    let place = Place::new();
    let session = place.session(&says("three").repeat(4));
    let failed = session.ask_as::<Count>("how many?").await.unwrap_err();
    assert!(matches!(&failed, TurnError::NoAnswer { why, .. } if why.contains("is not JSON")), "{failed:?}");
    assert_eq!((failed.report().outcome, failed.report().rounds), (Some(Outcome::InvalidAnswer), 4));
}
