//! What a request contains when the conversation is longer than the window.
use crate::kit::{Place, next, prompt, says, scripted, tell};
use futures::{StreamExt, stream, stream::BoxStream};
use haft_core::{
    Command, Delta, Event, Fact, Message, Provider, ProviderError, Request, Seq, StopReason, Summarizer,
    Transcript, text_of, tokens,
};
use haft_engine::{Engine, Session, Setup};
use serde_json::json;
use std::sync::{
    Arc, Mutex,
    atomic::{AtomicUsize, Ordering},
};

/// A model that does what a function makes of each request, and remembers them.
struct Acting<F> {
    act: F,
    requests: Mutex<Vec<Request>>,
}

/// What the model does.
enum Act {
    Say(String),
    Read(String),
    TooLong,
    Fail,
    Hang,
}

impl<F: Fn(&Request) -> Act + Send + Sync> Acting<F> {
    fn new(act: F) -> Arc<Self> {
        Arc::new(Self { act, requests: Mutex::default() })
    }

    fn requests(&self) -> Vec<Request> {
        self.requests.lock().unwrap().clone()
    }
}

impl<F: Fn(&Request) -> Act + Send + Sync> Provider for Acting<F> {
    fn stream(&self, request: Request) -> BoxStream<'static, Result<Delta, ProviderError>> {
        let act = (self.act)(&request);
        self.requests.lock().unwrap().push(request);
        let failed = |error| Box::pin(stream::iter([Err(error)])) as BoxStream<'static, _>;
        let said =
            |deltas: Vec<Delta>| Box::pin(stream::iter(deltas.into_iter().map(Ok))) as BoxStream<'static, _>;
        match act {
            Act::Say(text) => said(vec![Delta::Text(text), Delta::Stop(StopReason::EndTurn)]),
            Act::Read(path) => said(vec![
                Delta::Text("Let me see.".into()),
                Delta::CallStart { index: 0, id: haft_core::CallId("r".into()), name: "read".into() },
                Delta::CallArguments { index: 0, json: json!({ "path": path }).to_string() },
                Delta::Stop(StopReason::ToolUse),
            ]),
            Act::TooLong => failed(ProviderError::ContextTooLong { message: "too long".into() }),
            Act::Fail => {
                failed(ProviderError::Rejected { provider: "p".into(), message: "no".into(), hint: None })
            }
            Act::Hang => Box::pin(stream::pending()),
        }
    }
}

/// A request without tools is one for a summary.
fn wants_summary(request: &Request) -> bool {
    request.tools.is_empty()
}

/// With `read` only, and a window of so many tokens.
fn small(place: &Place, provider: Arc<dyn Provider>, tokens: u64) -> Setup {
    let mut setup = place.setup(provider);
    setup.model.window = Some(tokens);
    setup.tools = setup.tools.only(&["read".to_owned()]);
    setup.profile.max_output = 500;
    setup.profile.limits.max_rounds = None;
    setup
}

/// About how many tokens a request takes.
fn size(request: &Request) -> u64 {
    let tools: u64 = request
        .tools
        .iter()
        .map(|tool| tokens::of_text(&tool.description) + tokens::of_text(&tool.parameters.to_string()))
        .sum();
    tokens::of_text(&request.system)
        + tools
        + request.messages.iter().map(|message| tokens::of_message(message)).sum::<u64>()
}

fn files(place: &Place, count: usize, bytes: usize) {
    (0..count).for_each(|n| {
        place.write(&format!("f{n}"), &format!("file {n}\n{}", "some words\n".repeat(bytes / 11)))
    });
}

fn facts(session: &Session, wanted: fn(&Fact) -> bool) -> Vec<Fact> {
    session.entries().iter().map(|entry| entry.fact.clone()).filter(wanted).collect()
}

fn is_compacted(fact: &Fact) -> bool {
    matches!(fact, Fact::Compacted { .. })
}

fn is_evicted(fact: &Fact) -> bool {
    matches!(fact, Fact::Evicted { .. })
}

// C-43, A47: hundreds of rounds in a small window
#[tokio::test]
async fn a_long_session_never_exceeds_its_window() {
    let place = Place::new();
    files(&place, 300, 2_000);
    let round = AtomicUsize::new(0);
    let model = Acting::new(move |request| {
        if wants_summary(request) {
            return Act::Say("Files were read.".into());
        }
        match round.fetch_add(1, Ordering::SeqCst) {
            300 => Act::Say("All read.".into()),
            n => Act::Read(format!("f{n}")),
        }
    });
    let session = Engine::new(small(&place, model.clone(), 6_000)).create("haft").unwrap();
    let told = tell(&session, prompt("read them all"), 1, None).await;
    assert!(told.ends_with("replied\nturn_ended=finished"), "{}", &told[told.len() - 200..]);
    let requests = model.requests();
    let largest = requests.iter().map(size).max().unwrap();
    assert!(requests.len() > 300 && largest <= 5_500, "{} requests, {largest} tokens", requests.len());
    // The beginning of a request is that of the one before, but for a few.
    let rounds: Vec<&Request> = requests.iter().filter(|request| !wants_summary(request)).collect();
    let alike = |pair: &[&Request]| {
        pair[1].messages.starts_with(&pair[0].messages) && pair[0].system == pair[1].system
    };
    let changed = rounds.windows(2).filter(|pair| !alike(pair)).count();
    let (evicted, compacted) = (facts(&session, is_evicted).len(), facts(&session, is_compacted).len());
    assert!(
        evicted > 10 && compacted > 0 && changed <= evicted + compacted && changed < 100,
        "{changed} {evicted} {compacted}"
    );
    for request in rounds {
        let Message::User { parts } = &*request.messages[0] else { panic!("{:?}", request.messages[0]) };
        assert!(text_of(parts).starts_with("read them all"));
    }
    // What is folded from the journal is what the model was told.
    let folded = Transcript::replay(&session.entries());
    assert!(folded.messages().starts_with(&requests.last().unwrap().messages));
}

// C-43: what gave way is read again by the words that stand in its place
#[tokio::test]
async fn what_was_put_aside_can_be_read_again() {
    let place = Place::new();
    files(&place, 4, 5_000);
    let path_in = |request: &Request| {
        let aside = request.messages.iter().find_map(|message| match &**message {
            Message::Tool { result, .. } if result.content.contains("put aside") => {
                Some(result.content.clone())
            }
            _ => None,
        });
        aside.map(|line| line.split('`').nth(3).unwrap().to_owned())
    };
    let round = AtomicUsize::new(0);
    let model = Acting::new(move |request| match (round.fetch_add(1, Ordering::SeqCst), path_in(request)) {
        (n @ 0..4, _) => Act::Read(format!("f{n}")),
        (4, Some(path)) => Act::Read(path),
        _ => Act::Say("done".into()),
    });
    let session = Engine::new(small(&place, model, 6_000)).create("haft").unwrap();
    tell(&session, prompt("go"), 1, None).await;
    let results = facts(&session, |fact| matches!(fact, Fact::ToolEnded { .. }));
    assert_eq!(
        results.len(),
        5,
        "{:?}",
        session.entries().iter().map(|entry| crate::kit::in_a_word(entry)).collect::<Vec<_>>()
    );
    let Fact::ToolEnded { result, .. } = &results[4] else { unreachable!() };
    assert!(result.is_ok() && result.content.contains("file 0"), "{}", result.content);
    assert!(facts(&session, is_compacted).is_empty());
}

// A47, A48: a server that says that it is too much is asked once more, with less
#[tokio::test]
async fn a_conversation_that_is_too_long_for_the_server_is_cut_once() {
    for (what, always, summary, outcome, by) in [
        ("once", false, true, "finished", Some(Summarizer::Model)),
        ("once, and no summary", false, false, "finished", Some(Summarizer::Digest)),
        ("for ever", true, true, "failed", Some(Summarizer::Model)),
    ] {
        let place = Place::new();
        let (asked, refused) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let model = Acting::new(move |request| {
            if wants_summary(request) {
                return if summary { Act::Say("S".into()) } else { Act::Fail };
            }
            match asked.fetch_add(1, Ordering::SeqCst) {
                n @ 0..3 => Act::Say(format!("answer {n} {}", "words ".repeat(300))),
                _ if always || refused.fetch_add(1, Ordering::SeqCst) == 0 => Act::TooLong,
                _ => Act::Say("fine".into()),
            }
        });
        let mut setup = small(&place, model.clone(), 6_000);
        setup.model.window = None;
        let session = Engine::new(setup).create("haft").unwrap();
        for question in ["one", "two", "three"] {
            tell(&session, prompt(question), 1, None).await;
        }
        let told = tell(&session, prompt("four, the last"), 1, None).await;
        assert!(told.ends_with(&format!("turn_ended={outcome}")), "{what}: {told}");
        let found = facts(&session, is_compacted);
        let made = found.iter().map(|fact| match fact {
            Fact::Compacted { by, summary, .. } => (*by, summary.clone()),
            _ => unreachable!(),
        });
        let made: Vec<_> = made.collect();
        assert_eq!(made.first().map(|(by, _)| *by), by, "{what}");
        assert_eq!(made.len(), 1, "{what}");
        let asked = model.requests().into_iter().filter(|request| !wants_summary(request)).count();
        assert_eq!(asked, 5, "{what}: three answers, the refusal, once more");
        if !summary {
            let digest = &made[0].1;
            assert!(
                ["- one", "- four, the last", "answer 2"].iter().all(|part| digest.contains(part)),
                "{digest}"
            );
        }
        let last = model.requests().pop().unwrap();
        let told: String = last
            .messages
            .iter()
            .map(|message| match &**message {
                Message::User { parts } | Message::Assistant { parts } => text_of(parts),
                Message::Tool { .. } => String::new(),
            })
            .collect();
        assert!(told.starts_with("one") && told.contains("four, the last"), "{what}: {told}");
    }
}

// A person asks for it; where there is nothing to summarize, nothing is said
#[tokio::test]
async fn a_summary_can_be_asked_for() {
    let place = Place::new();
    let model = scripted(&(says("1") + &says("2") + &says("3") + &says("4")));
    let session = Engine::new(place.setup(model.clone())).create("haft").unwrap();
    tell(&session, prompt("a"), 1, None).await;
    assert_eq!(tell(&session, Command::Compact, 1, None).await, "turn_ended=finished");
    tell(&session, prompt("b"), 1, None).await;
    assert_eq!(tell(&session, Command::Compact, 1, None).await, "compacted\nturn_ended=finished");
    assert_eq!(tell(&session, Command::Compact, 1, None).await, "turn_ended=finished");
    // A script goes on where it was, since the summary says how many replies it stands for.
    tell(&session, prompt("c"), 1, None).await;
    let said = facts(&session, |fact| matches!(fact, Fact::Replied { .. }));
    let Some(Fact::Replied { parts, .. }) = said.last() else { panic!() };
    assert_eq!(text_of(parts), "3");
    let requests = model.requests();
    let Message::User { parts } = &*requests.last().unwrap().messages[0] else { panic!() };
    assert!(text_of(parts).starts_with("a\n\n[The conversation so far"), "{}", text_of(parts));
}

// C03: a process that dies in the middle of a summary has done nothing; the next one begins anew
#[tokio::test]
async fn a_death_in_the_middle_of_a_summary_loses_nothing() {
    let place = Place::new();
    let talk = |hangs: bool| {
        Acting::new(move |request: &Request| match wants_summary(request) {
            true if hangs => Act::Hang,
            true => Act::Say("S".into()),
            false => Act::Say("words ".repeat(800)),
        })
    };
    let model = talk(true);
    let engine = Engine::new(small(&place, model.clone(), 6_000));
    let session = engine.create("haft").unwrap();
    for n in 0..4 {
        tell(&session, prompt(&format!("prompt {n}")), 1, None).await;
    }
    session.send(prompt("the last")).unwrap();
    while !model.requests().iter().any(wants_summary) {
        tokio::task::yield_now().await;
    }
    // What a killed process leaves behind is what stands in the file at this moment.
    let killed = std::fs::read(session.journal().path()).unwrap();
    let (id, path) = (session.id().0.clone(), session.journal().path().to_owned());
    drop(session);
    engine.shut_down().await;
    std::fs::write(&path, &killed).unwrap();
    let session = Engine::new(small(&place, talk(false), 6_000)).resume(&id, "haft").unwrap();
    assert!(facts(&session, is_compacted).is_empty());
    let told = tell(&session, Command::Continue, 1, None).await;
    assert_eq!(told, "continued\ncompacted\nreplied\nturn_ended=finished");
}

// A summary that the turn no longer waits for is dropped
#[tokio::test]
async fn an_interruption_ends_a_summary() {
    let place = Place::new();
    let model = Acting::new(|request: &Request| match wants_summary(request) {
        true => Act::Hang,
        false => Act::Say("hm".into()),
    });
    let session = Engine::new(small(&place, model.clone(), 6_000)).create("haft").unwrap();
    tell(&session, prompt("a"), 1, None).await;
    tell(&session, prompt("b"), 1, None).await;
    let mut events = Box::pin(session.events(next(&session)));
    session.send(Command::Compact).unwrap();
    while !model.requests().iter().any(wants_summary) {
        tokio::task::yield_now().await;
    }
    session.send(Command::Interrupt).unwrap();
    let entry = loop {
        match events.next().await.unwrap() {
            Event::Recorded(entry) => break entry,
            Event::Live(_) => {}
        }
    };
    assert_eq!(crate::kit::in_a_word(&entry), "turn_ended=interrupted");
    assert_ne!(entry.seq, Seq(0));
}

// A47: also where there is hardly anything to cut
#[tokio::test]
async fn a_short_conversation_is_asked_once_more_too() {
    let place = Place::new();
    let script = crate::kit::calls(&[("bash", json!({"command": "echo 7421"}))])
        + "{\"fail\":\"too long\",\"kind\":\"context\"}\n"
        + &says("It is 7421.");
    let session = Engine::new(place.setup(scripted(&script))).create("haft").unwrap();
    let told = tell(&session, prompt("what is it?"), 1, None).await;
    assert!(told.ends_with("tool_ended bash-0=ok\ncompacted\nreplied\nturn_ended=finished"), "{told}");
    let Fact::Compacted { summary, .. } = &facts(&session, is_compacted)[0] else { unreachable!() };
    assert!(summary.contains("bash: 7421"), "{summary}");
}
