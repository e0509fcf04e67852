//! Many sessions below one, at work on the same files.
use crate::kit::{Place, prompt};
use futures::{StreamExt, stream, stream::BoxStream};
use haft_core::{
    Answer, CallId, Command, Delta, Event, Fact, FileState, Message, Mode, Policy, Provider, ProviderError,
    Request, Seq, StopReason, text_of, undo,
};
use haft_engine::{Delegation, Engine, Home, Session};
use serde_json::{Value, json};
use std::sync::Arc;

const AGENTS: usize = 16;
const FILES: usize = 4;

/// Delegates to all agents at once. Each of them changes its own line in each file; where another one was quicker, it
/// reads the file and tries again.
struct Crowd;

impl Provider for Crowd {
    fn stream(&self, request: Request) -> BoxStream<'static, Result<Delta, ProviderError>> {
        let calls = next(&request);
        let stop = if calls.is_empty() { StopReason::EndTurn } else { StopReason::ToolUse };
        let mut deltas = Vec::new();
        if calls.is_empty() {
            deltas.push(Delta::Text("done".into()));
        }
        let round = request.messages.len();
        for (index, (name, arguments)) in calls.into_iter().enumerate() {
            let id = CallId(format!("{name}-{round}-{index}"));
            deltas.push(Delta::CallStart { index, id, name: name.into() });
            deltas.push(Delta::CallArguments { index, json: arguments.to_string() });
        }
        deltas.push(Delta::Stop(stop));
        stream::iter(deltas.into_iter().map(Ok)).boxed()
    }
}

fn next(request: &Request) -> Vec<(&'static str, Value)> {
    let task = match request.messages[0].as_ref() {
        Message::User { parts } => text_of(parts),
        _ => String::new(),
    };
    let results = request.messages.iter().filter_map(|message| match message.as_ref() {
        Message::Tool { name, result, .. } if name != "read" => Some(result.is_ok()),
        _ => None,
    });
    let results: Vec<bool> = results.collect();
    match task.strip_prefix("agent ") {
        None if results.is_empty() => {
            (0..AGENTS).map(|agent| ("delegate", json!({"task": format!("agent {agent}")}))).collect()
        }
        None => Vec::new(),
        Some(agent) => {
            let (agent, done) = (agent.parse::<usize>().unwrap(), results.iter().filter(|ok| **ok).count());
            // Everyone goes through the files in an order of their own, and all meet.
            let file = (agent * 7 + done * 3) % FILES;
            let edit = json!({"path": format!("{file}.txt"), "old_text": format!("line {agent}: open\n"),
                              "new_text": format!("line {agent}: done\n")});
            let read = ("read", json!({"path": format!("{file}.txt")}));
            match (done < FILES, results.last()) {
                (false, _) => Vec::new(),
                (true, Some(false)) => vec![read, ("edit", edit)],
                (true, _) => vec![("edit", edit)],
            }
        }
    }
}

// C-70
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn many_agents_at_work_on_the_same_files_lose_nothing() {
    let place = Place::new();
    let open: String = (0..AGENTS).map(|agent| format!("line {agent}: open\n")).collect();
    for file in 0..FILES {
        place.write(&format!("{file}.txt"), &open);
    }
    let mut setup = place.setup(Arc::new(Crowd));
    // The loser of a race makes the same call again, and may lose many.
    setup.profile.limits.max_repeats = 1_000;
    let engine = Engine::new(setup);
    let session = engine.create("haft").unwrap();
    session.send(prompt("all of you")).unwrap();
    until(&session, |fact| matches!(fact, Fact::TurnEnded { .. }).then_some(())).await;
    let all_are = |text: &str| {
        for file in 0..FILES {
            assert_eq!(place.read(&format!("{file}.txt")).unwrap(), text, "{file}.txt");
        }
    };
    all_are(&open.replace("open", "done"));
    // What they did together is taken back together, and done again.
    let to = undo::before_last_turn(&session.entries()).unwrap();
    for (command, expected) in
        [(Command::Rewind { to }, open.clone()), (Command::Redo, open.replace("open", "done"))]
    {
        let from = crate::kit::next(&session);
        session.send(command).unwrap();
        let conflicts = until_from(&session, from, |fact| match fact {
            Fact::Rewound { conflicts, untracked, .. } => Some((conflicts.clone(), untracked.clone())),
            _ => None,
        });
        assert_eq!(conflicts.await, (vec![], vec![]));
        all_are(&expected);
    }
    let below = engine.setup().home.list().into_iter().filter(|other| other.delegated_by.is_some());
    assert_eq!(below.count(), AGENTS);
}

#[tokio::test]
async fn no_more_is_delegated_than_the_profile_allows() {
    let place = Place::new();
    let script = crate::kit::calls(&[("delegate", json!({"task": "x"})), ("delegate", json!({"task": "y"}))]);
    // Those below begin with the same line, and have no such tool.
    let mut setup =
        place.setup(crate::kit::scripted(&(script + &crate::kit::says("made") + &crate::kit::says("well"))));
    setup.profile.delegation = Delegation { total: 1, ..Delegation::default() };
    let engine = Engine::new(setup);
    let session = engine.create("haft").unwrap();
    let told = crate::kit::tell(&session, prompt("go"), 1, None).await;
    assert_eq!(told.matches("tool_ended delegate").count(), 2, "{told}");
    let refused = session.entries().iter().any(|entry| {
        matches!(&entry.fact, Fact::ToolEnded { result, .. } if result.content.contains("1 tasks were delegated already"))
    });
    assert!(refused, "{told}");
}

/// Delegates once; the subagent waits until it is spoken to, or for ever.
struct Slow;

impl Provider for Slow {
    fn stream(&self, request: Request) -> BoxStream<'static, Result<Delta, ProviderError>> {
        let said: Vec<String> = request
            .messages
            .iter()
            .filter_map(|message| match message.as_ref() {
                Message::User { parts } => Some(text_of(parts)),
                _ => None,
            })
            .collect();
        let has_result =
            request.messages.iter().any(|message| matches!(message.as_ref(), Message::Tool { .. }));
        let text = |text: &str| vec![Delta::Text(text.into()), Delta::Stop(StopReason::EndTurn)];
        let call = |name: &str, arguments: Value| {
            vec![
                Delta::CallStart { index: 0, id: CallId(format!("{name}-0")), name: name.into() },
                Delta::CallArguments { index: 0, json: arguments.to_string() },
                Delta::Stop(StopReason::ToolUse),
            ]
        };
        let deltas = match (said[0].as_str(), has_result) {
            ("below", false) => call("bash", json!({"command": "until [ -e go ]; do sleep 0.02; done"})),
            ("below", true) if said.len() > 1 => text(&format!("I was told: {}", said[1])),
            ("below", true) => return stream::pending().boxed(),
            (_, false) => call("delegate", json!({"task": "below"})),
            (_, true) => text("done"),
        };
        stream::iter(deltas.into_iter().map(Ok)).boxed()
    }
}

// C-70: a session below another one is watched, steered and stopped like any other.
#[tokio::test]
async fn a_subagent_is_steered_and_stopped_by_others() {
    for (steers, expected) in [(true, "I was told: turn left"), (false, "did not finish: interrupted")] {
        let place = Place::new();
        let engine = Engine::new(place.setup(Arc::new(Slow)));
        let session = engine.create("haft").unwrap();
        session.send(prompt("above")).unwrap();
        let below = loop {
            let found = engine
                .sessions()
                .into_iter()
                .find(|other| other.delegated_by().as_ref() == Some(session.id()));
            match found.filter(|below| below.entries().len() > 2) {
                Some(below) => break below,
                None => tokio::time::sleep(std::time::Duration::from_millis(5)).await,
            }
        };
        below.send(if steers { prompt("turn left") } else { Command::Interrupt }).unwrap();
        // It has heard that before its command ends.
        for _ in 0..10 {
            tokio::task::yield_now().await;
        }
        place.write("go", "");
        drop(below);
        let mut events = Box::pin(session.events(Seq(0)));
        let mut heard = String::new();
        while let Some(event) = events.next().await {
            let Event::Recorded(entry) = event else { continue };
            match &entry.fact {
                Fact::ToolEnded { result, .. } => heard.clone_from(&result.content),
                Fact::TurnEnded { .. } => break,
                _ => {}
            }
        }
        assert!(heard.contains(expected), "{heard}");
    }
}

/// The first fact that `wanted` takes.
async fn until<T>(session: &Session, wanted: impl Fn(&Fact) -> Option<T>) -> T {
    until_from(session, Seq(0), wanted).await
}

async fn until_from<T>(session: &Session, from: Seq, wanted: impl Fn(&Fact) -> Option<T>) -> T {
    let mut events = Box::pin(session.events(from));
    let found = async {
        loop {
            if let Event::Recorded(entry) = events.next().await.unwrap()
                && let Some(found) = wanted(&entry.fact)
            {
                return found;
            }
        }
    };
    tokio::time::timeout(std::time::Duration::from_secs(60), found).await.unwrap()
}

// C-70: a question that is answered elsewhere is withdrawn, and the caller goes on.
#[tokio::test]
async fn a_question_of_a_subagent_that_somebody_else_answers_is_withdrawn() {
    let interrupted = "the other agent did not finish: interrupted";
    let table = [("answered", "well", vec![Answer::Once]), ("interrupted", interrupted, vec![Answer::No])];
    for (what, expected, answered) in table {
        let place = Place::new();
        let bash = crate::kit::calls(&[("bash", json!({"command": "echo one > made"}))]);
        let script =
            crate::kit::calls(&[("delegate", json!({"task": "x"}))]) + &bash + &crate::kit::says("well");
        let mut setup = place.setup(crate::kit::scripted(&script));
        setup.policy = Policy { rules: vec![], mode: Mode::Ask };
        let engine = Engine::new(setup);
        let session = engine.create("haft").unwrap();
        session.send(prompt("go")).unwrap();
        until(&session, |fact| matches!(fact, Fact::ApprovalAsked { .. }).then_some(())).await;
        let below = engine.sessions().into_iter().find(|other| other.delegated_by().is_some()).unwrap();
        let call = until(&below, |fact| match fact {
            Fact::ApprovalAsked { call, .. } => Some(call.clone()),
            _ => None,
        });
        let call = call.await;
        let said = match what {
            "answered" => Command::answer(call, Answer::Once),
            _ => Command::Interrupt,
        };
        below.send(said).unwrap();
        let result = until(&session, |fact| match fact {
            Fact::ToolEnded { result, .. } => Some(result.content.clone()),
            _ => None,
        });
        assert!(result.await.contains(expected), "{what}");
        let answers: Vec<_> = session
            .entries()
            .iter()
            .filter_map(|entry| match &entry.fact {
                Fact::ApprovalAnswered { answer, .. } => Some(*answer),
                _ => None,
            })
            .collect();
        assert_eq!(answers, answered, "{what}: each client that was asked sees that it is settled");
        assert_eq!(place.read("made").is_some(), what == "answered");
    }
}

/// Delegates what it is told; the subagent changes the file of that name.
struct Writer;

impl Provider for Writer {
    fn stream(&self, request: Request) -> BoxStream<'static, Result<Delta, ProviderError>> {
        let said = |message: &Message| match message {
            Message::User { parts } => Some(text_of(parts)),
            _ => None,
        };
        let said: Vec<String> = request.messages.iter().filter_map(|message| said(message)).collect();
        let is_over = matches!(request.messages.last().unwrap().as_ref(), Message::Tool { .. });
        let (name, arguments) = match said[0].strip_prefix("write ") {
            Some(file) => ("edit", json!({"path": file, "old_text": "old", "new_text": "new"})),
            None => ("delegate", json!({"task": format!("write {}", said.last().unwrap())})),
        };
        let deltas = match is_over {
            true => vec![Delta::Text("done".into()), Delta::Stop(StopReason::EndTurn)],
            false => vec![
                Delta::CallStart { index: 0, id: CallId("call-0".into()), name: name.into() },
                Delta::CallArguments { index: 0, json: arguments.to_string() },
                Delta::Stop(StopReason::ToolUse),
            ],
        };
        stream::iter(deltas.into_iter().map(Ok)).boxed()
    }
}

// H-134: the one that asked reads what it is to do instead, and no other one.
#[tokio::test]
async fn a_subagent_is_told_what_to_do_instead() {
    let place = Place::new();
    let mut setup = place.setup(Arc::new(Writer));
    setup.policy = Policy { rules: vec![], mode: Mode::Ask };
    let engine = Engine::new(setup);
    let session = engine.create("haft").unwrap();
    place.write("one.txt", "old\n");
    session.send(prompt("one.txt")).unwrap();
    let call = until_from(&session, Seq(0), |fact| match fact {
        Fact::ApprovalAsked { call, .. } => Some(call.clone()),
        _ => None,
    });
    session.send(Command::refuse(call.await, Some("leave that file".into()))).unwrap();
    let told = |entries: &[Arc<haft_core::Entry>]| {
        let prompts = entries.iter().filter_map(|entry| match &entry.fact {
            Fact::Prompted { parts, .. } | Fact::PromptQueued { parts, .. } => {
                Some(haft_core::text_of(parts))
            }
            _ => None,
        });
        prompts.filter(|text| text == "leave that file").count()
    };
    let home = Home(place.home());
    let others = home.list().into_iter().filter(|summary| summary.id != *session.id());
    let below = others.map(|summary| summary.id.0).next().unwrap();
    // The subagent goes on with it, whatever it does next.
    for _ in 0..2_000 {
        if told(&home.peek(&below).unwrap()) > 0 {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    assert!(told(&home.peek(&below).unwrap()) > 0, "{:?}", home.peek(&below));
    assert_eq!(told(&session.entries()), 0);
    engine.shut_down().await;
}

// C-70: what a subagent wants to do is asked with its changes, whose contents can be shown; what was allowed for the
// session is not asked again; what it did belongs to the call that delegated, and is taken back with it.
#[tokio::test]
async fn what_a_subagent_does_is_asked_for_shown_and_taken_back_like_the_session_s_own() {
    let place = Place::new();
    let mut setup = place.setup(Arc::new(Writer));
    setup.policy = Policy { rules: vec![], mode: Mode::Ask };
    let engine = Engine::new(setup);
    let session = engine.create("haft").unwrap();
    for file in ["one.txt", "two.txt", "one.txt"] {
        place.write(file, "old\n");
        let told = crate::kit::tell(&session, prompt(file), 1, Some(Answer::Always)).await;
        assert!(told.ends_with("turn_ended=finished"), "{told}");
        assert_eq!(place.read(file).as_deref(), Some("new\n"), "{told}");
    }
    let entries = session.entries();
    let asked: Vec<_> = entries
        .iter()
        .filter_map(|entry| match &entry.fact {
            Fact::ApprovalAsked { changes, reason, .. } => Some((changes[0].clone(), reason.clone())),
            _ => None,
        })
        .collect();
    assert_eq!(asked.len(), 2, "the third was allowed with the first: {asked:?}");
    assert!(asked[0].1.starts_with("a subagent asks: "), "{asked:?}");
    let content = |state: &Option<FileState>| session.content(&state.as_ref().unwrap().hash).unwrap();
    assert_eq!((content(&asked[0].0.before), content(&asked[0].0.after)), (b"old\n".into(), b"new\n".into()));
    // Going back by calls of this conversation, each of which was a subagent's.
    for (count, expected) in [(1, ["old\n", "new\n"]), (1, ["old\n", "old\n"])] {
        let to = undo::before_last_calls(&session.entries(), count).unwrap();
        session.send(Command::Rewind { to }).unwrap();
        let from = crate::kit::next(&session);
        until_from(&session, from, |fact| matches!(fact, Fact::Rewound { .. }).then_some(())).await;
        assert_eq!(["one.txt", "two.txt"].map(|file| place.read(file).unwrap()), expected);
    }
    engine.shut_down().await;
}
