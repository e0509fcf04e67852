//! What a person sees of a session, folded from events written by hand.
use haft_core::{Entry, Event, Update};
use haft_present::timeline::{Asked, CallState, Item, Replies, Timeline, prompts};
use serde_json::{Value, json};
use std::sync::Arc;

fn recorded(seq: usize, fact: &Value) -> Event {
    let mut line = json!({"seq": seq, "at": 1_000 * seq});
    line.as_object_mut().unwrap().extend(fact.as_object().unwrap().clone());
    Event::Recorded(Arc::new(serde_json::from_value::<Entry>(line).unwrap()))
}

fn text(text: &str) -> Event {
    Event::Live(Update::Text { text: text.into() })
}

fn prompted(said: &str) -> Value {
    json!({"type": "prompted", "parts": [{"type": "text", "text": said}]})
}

fn replied(said: &str, calls: &[&str]) -> Value {
    let text = json!({"type": "text", "text": said});
    let calls = calls
        .iter()
        .map(|id| json!({"type": "tool_call", "id": id, "name": "read", "arguments": {"path": id}}));
    let parts: Vec<Value> = std::iter::once(text).chain(calls).collect();
    json!({"type": "replied", "parts": parts, "usage": {"input": 10, "output": 2}, "stop": "end_turn"})
}

fn ended(id: &str) -> Value {
    json!({"type": "tool_ended", "call": id, "name": "read", "ok": true, "content": "one\ntwo", "duration_ms": 5})
}

fn turn_ended() -> Value {
    json!({"type": "turn_ended", "outcome": "finished", "rounds": 1, "usage": {"input": 10, "output": 2}, "cost_usd": 0.5})
}

/// Blocks in a few words each.
fn seen(view: &mut Timeline, events: &[Event]) -> Vec<String> {
    let items = events.iter().flat_map(|event| view.apply(event));
    items.filter_map(|item| in_words(&item)).collect()
}

fn in_words(item: &Item) -> Option<String> {
    Some(match item {
        Item::Prompt { text, .. } => format!("> {text}"),
        Item::Thinking(text) => format!("({text})"),
        Item::Reply(piece) => piece.markdown.clone(),
        Item::Call(call) => format!("{} {} {:?}", call.name, call.summary, call.state),
        Item::Note(text) => format!("· {text}"),
        Item::Retrying { reason, was_begun: true, .. } => format!("· {reason}; the reply begins anew"),
        Item::Failure { message, .. } => format!("! {message}"),
        Item::Rewound { files, .. } => files.join(","),
        Item::Ended { took, .. } => format!("ended after {} s", took.as_secs()),
        Item::Text { text, is_anew: false } => text.clone(),
        Item::Text { text, is_anew: true } => format!("anew: {text}"),
        _ => return None,
    })
}

/// What is given of a reply after each piece; `None` is a line that breaks.
fn given(replies: Replies, pieces: &[Option<&str>], whole: &str) -> Vec<String> {
    let live = pieces.iter().map(|piece| match piece {
        Some(piece) => text(piece),
        None => Event::Live(Update::Retrying { reason: "reset".into(), after_ms: 1 }),
    });
    let mut timeline = Timeline::with(replies);
    let mut given = Vec::new();
    for event in live.chain([recorded(2, &replied(whole, &[]))]) {
        let items = timeline.apply(&event);
        given.extend(items.into_iter().chain(timeline.news()).filter_map(|item| match item {
            Item::Text { .. } => in_words(&item),
            _ => None,
        }));
    }
    given
}

#[test]
fn what_is_said_anew_is_given_where_it_differs() {
    type Row<'a> = (&'a [Option<&'a str>], &'a str, &'a [&'a str]);
    let table: [Row<'_>; 7] = [
        (&[Some("Hel"), Some("lo")], "Hello", &["Hel", "lo"]),
        (&[Some("Hel")], "Hello", &["Hel", "lo"]),
        (&[Some("Hel"), None, Some("H"), Some("ello")], "Hello", &["Hel", "lo"]),
        (&[Some("Hel"), None, None, Some("Hello")], "Hello", &["Hel", "lo"]),
        (&[Some("Hel"), None, Some("H"), Some("i!")], "Hi!", &["Hel", "anew: Hi!"]),
        (&[None, Some("Hi")], "Hi", &["Hi"]),
        // A piece was lost.
        (&[Some("a"), Some("c")], "abc", &["a", "c", "anew: abc"]),
    ];
    for (pieces, whole, expected) in table {
        for replies in [Replies::Once, Replies::OnDemand(100)] {
            assert_eq!(given(replies, pieces, whole), expected, "{replies:?} {pieces:?}");
        }
    }
    let pieces = [Some("Hel"), None, Some("Hello")];
    assert_eq!(given(Replies::Anew, &pieces, "Hello"), ["Hel", "Hello"]);
    assert_eq!(given(Replies::OnDemand(3), &[Some("Hello")], "Hello!"), ["Hel", "lo!"]);
}

#[test]
fn a_model_that_takes_over_or_is_waited_for_is_a_line() {
    // The second pair is what the types were called at first.
    for (changed, waiting) in [("model_changed", "waiting"), ("model_switched", "model_awaited")] {
        let switched = json!({"type": changed, "from": "openai/gpt-5", "to": "anthropic/claude", "reason": "overloaded", "message": "full"});
        let awaited = json!({"type": waiting, "model": "openai/gpt-5", "reason": "quota_exhausted", "until": 1_700_000_000_000u64, "seconds": 60});
        let mut view = Timeline::default();
        let told =
            seen(&mut view, &[recorded(1, &prompted("go")), recorded(2, &switched), recorded(3, &awaited)]);
        assert_eq!(told[..2], ["> go", "· openai/gpt-5 is overloaded; anthropic/claude goes on"]);
        assert!(told[2].starts_with("· openai/gpt-5 has no quota left; waiting until Nov 1"), "{told:?}");
        let words = view.activity().words();
        assert!(words.starts_with("waiting until Nov 1"), "{words}");
        seen(&mut view, &[recorded(4, &replied("Back.", &[]))]);
        assert_eq!(view.activity().words(), "waiting for the model");
    }
}

// C-51, E06, D15
#[test]
fn a_reply_is_seen_once_however_it_comes() {
    let retrying = || Event::Live(Update::Retrying { reason: "reset".into(), after_ms: 1 });
    let table: [(&str, Vec<Event>, &[&str]); 7] = [
        ("whole", vec![recorded(2, &replied("a\n\nb", &[]))], &["a\n\nb"]),
        (
            "streamed",
            vec![text("a\n\nb\n"), text("c"), recorded(2, &replied("a\n\nb\nc", &[]))],
            &["a\n\n", "b\nc"],
        ),
        (
            "its end was missed",
            vec![text("a\n\nb"), recorded(2, &replied("a\n\nb and c", &[]))],
            &["a\n\nb and c"],
        ),
        (
            "its middle was missed",
            vec![text("a\n\nb\n"), text("d"), recorded(2, &replied("a\n\nb\nc d", &[]))],
            &["a\n\n", "b\nc d"],
        ),
        (
            "asked again",
            vec![text("a"), retrying(), text("b"), recorded(2, &replied("b", &[]))],
            &["· reset; the reply begins anew", "b"],
        ),
        ("with escapes", vec![text("\u{1b}[2Ja"), recorded(2, &replied("\u{1b}[2Ja", &[]))], &["[2Ja"]),
        (
            "after a thought",
            vec![
                Event::Live(Update::Thinking { text: "hm".into() }),
                text("a"),
                recorded(2, &replied("a", &[])),
            ],
            &["(hm)", "a"],
        ),
    ];
    for (case, events, expected) in table {
        let mut view = Timeline::default();
        assert_eq!(seen(&mut view, &events), expected, "{case}");
        assert_eq!(view.pending(), "", "{case}");
    }
}

// O-11
#[test]
fn calls_are_seen_while_they_run_and_when_they_are_over() {
    let mut view = Timeline::default();
    let begun = [
        recorded(1, &prompted("go")),
        recorded(2, &replied("", &["a", "b"])),
        recorded(
            3,
            &json!({"type": "tool_started", "call": "a", "name": "read", "arguments": {}, "how": "declared"}),
        ),
    ];
    assert_eq!(seen(&mut view, &begun), ["> go"]);
    assert_eq!(
        view.calls.iter().map(|call| call.state).collect::<Vec<_>>(),
        [CallState::Running, CallState::Waiting]
    );
    let chunk =
        |chunk: &str| Event::Live(Update::ToolOutput { call: view.calls[0].id.clone(), chunk: chunk.into() });
    let said = [chunk("1\n2\n3\n4\n5\n6"), chunk("6\n7")];
    seen(&mut view, &said);
    assert_eq!(view.calls[0].tail().collect::<Vec<_>>(), ["3", "4", "5", "66", "7"]);
    let over = [recorded(4, &ended("a")), recorded(5, &ended("b")), recorded(6, &turn_ended())];
    assert_eq!(seen(&mut view, &over), ["read a Done", "read b Done", "ended after 5 s"]);
    assert!(view.calls.is_empty() && !view.working);
    assert_eq!((view.usage.total(), view.cost_usd), (12, Some(0.5)));
}

// After a crash: the process that resumes the session reads what the other one recorded, and makes the open call again.
#[test]
fn a_call_that_is_made_again_is_seen_while_it_runs() {
    let started = json!({"type": "tool_started", "call": "a", "name": "read", "arguments": {"path": "a"}, "how": "staged"});
    let mut view = Timeline::default();
    seen(
        &mut view,
        &[recorded(1, &prompted("go")), recorded(2, &replied("", &["a"])), recorded(3, &started)],
    );
    view.rest();
    assert_eq!(view.calls.len(), 0);
    seen(&mut view, &[recorded(4, &json!({"type": "continued"})), recorded(5, &started)]);
    assert_eq!((view.calls.len(), view.activity().words()), (1, "running read".into()));
    assert_eq!(seen(&mut view, &[recorded(6, &ended("a"))]), ["read a Done"]);
    assert_eq!((view.calls.len(), view.activity().words()), (0, "waiting for the model".into()));
}

// H-86
#[test]
fn what_a_person_did_not_take_of_a_proposal_is_said() {
    let change = |path: &str| json!({"path": path, "kind": "deleted", "before": null, "after": null});
    let changes = ["src", "src/a.txt", "b.txt", "c.txt"].map(change);
    let ask =
        json!({"type": "approval_asked", "call": "a", "reason": "r", "effects": [], "changes": changes});
    let table = [
        (json!([{"path": "src/a.txt"}, {"path": "b.txt"}]), "· not taken: c.txt"),
        (json!([{"path": "b.txt", "hunks": []}, {"path": "c.txt"}]), "· not taken: src, src/a.txt, b.txt"),
        (
            json!([{"path": "src/a.txt", "hunks": [0, 2]}, {"path": "b.txt", "text": "x"}]),
            "· not taken: c.txt; taken: hunks 1 and 3 of src/a.txt; taken as you edited it: b.txt",
        ),
    ];
    for (files, expected) in table {
        let part = json!({"type": "accepted_part", "call": "a", "accepted": {"files": files}});
        let events = [prompted("go"), replied("", &["a"]), ask.clone(), part];
        let events: Vec<Event> = (1..).zip(&events).map(|(seq, fact)| recorded(seq, fact)).collect();
        assert_eq!(seen(&mut Timeline::default(), &events).pop().as_deref(), Some(expected));
    }
}

#[test]
fn the_time_that_a_person_takes_is_not_the_turns() {
    let ask = json!({"type": "approval_asked", "call": "a", "reason": "r", "effects": [], "changes": []});
    let question = json!({"type": "question_asked", "call": "b", "text": "which?"});
    let once = json!({"type": "approval_answered", "call": "a", "answer": "once"});
    let words = json!({"type": "question_answered", "call": "b", "answer": "this"});
    let table = [
        ("answered", vec![(3, &ask), (6, &once)], "ended after 6 s"),
        ("two at once", vec![(3, &ask), (4, &question), (6, &once), (7, &words)], "ended after 5 s"),
        ("never answered", vec![(3, &ask)], "ended after 2 s"),
    ];
    for (case, asked, expected) in table {
        let mut view = Timeline::default();
        let asked = asked.into_iter().map(|(seq, fact)| recorded(seq, fact));
        let events: Vec<Event> = [recorded(1, &prompted("go")), recorded(2, &replied("", &[]))]
            .into_iter()
            .chain(asked)
            .chain([recorded(10, &turn_ended())])
            .collect();
        assert_eq!(seen(&mut view, &events).pop().as_deref(), Some(expected), "{case}");
    }
}

#[test]
fn who_was_answered_elsewhere_asks_no_more() {
    let ask = json!({"type": "approval_asked", "call": "a", "reason": "r", "effects": [], "changes": []});
    let question = json!({"type": "question_asked", "call": "b", "text": "which?"});
    let table = [
        (json!({"type": "approval_answered", "call": "a", "answer": "once"}), vec!["b"]),
        (json!({"type": "question_answered", "call": "b", "answer": null}), vec!["a"]),
        (ended("a"), vec!["b"]),
        (turn_ended(), vec![]),
    ];
    for (answer, expected) in table {
        let mut view = Timeline::default();
        seen(&mut view, &[recorded(1, &prompted("go")), recorded(2, &ask), recorded(3, &question)]);
        seen(&mut view, &[recorded(4, &answer)]);
        assert_eq!(
            view.asked.iter().map(|asked: &Asked| asked.call().0.as_str()).collect::<Vec<_>>(),
            expected,
            "{answer}"
        );
    }
}

#[test]
fn one_can_go_back_to_before_each_prompt() {
    let opened = json!({"type": "session_opened", "version": 1, "session": "s", "agent": "haft", "model": "m", "workspace": "/", "profile": "default"});
    let events = [opened, prompted("one"), turn_ended(), prompted("two"), turn_ended()];
    let entries: Vec<Arc<Entry>> = events
        .iter()
        .enumerate()
        .filter_map(|(seq, fact)| match recorded(seq, fact) {
            Event::Recorded(entry) => Some(entry),
            Event::Live(_) => None,
        })
        .collect();
    let found: Vec<(u64, String)> = prompts(&entries).into_iter().map(|(seq, text)| (seq.0, text)).collect();
    assert_eq!(found, [(0, "one".to_owned()), (2, "two".to_owned())]);
}

/// A prompt waits until one is taken up. What a fork has from another session waits there.
#[test]
fn prompts_wait_until_they_are_taken_up() {
    let queued = |said: &str| json!({"type": "prompt_queued", "parts": [{"type": "text", "text": said}]});
    let mut opened = json!({"type": "session_opened", "version": 1, "session": "s", "agent": "haft", "model": "m",
        "workspace": "/", "profile": "default"});
    for (forked_at, expected) in [(None, &["two"][..]), (Some(2), &[])] {
        if let Some(seq) = forked_at {
            opened["forked_from"] = json!({"session": "other", "seq": seq});
        }
        let facts = [opened.clone(), queued("one"), queued("two"), prompted("one")];
        let mut view = Timeline::default();
        facts.iter().enumerate().for_each(|(seq, fact)| drop(view.apply(&recorded(seq, fact))));
        assert_eq!(view.queued, expected, "{forked_at:?}");
    }
}
