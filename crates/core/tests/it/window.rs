//! Tests of [`Window`]: what fits, what is evicted, and what stays as it was.
use haft_core::{CallId, Evicted, Fact, StopReason, Summarizer, ToolCall, Usage, text_of};
use haft_core::{Message, ToolResult, Transcript, Window, window::*};
use haft_core::{
    Part, replies_left_out,
    tokens::{fit, of_message},
};
use proptest::prelude::*;
use serde_json::json;
use std::sync::Arc;

fn prompt(text: &str) -> Fact {
    Fact::Prompted { parts: vec![Part::text(text)], channel: None }
}
fn replied(text: &str, calls: usize, usage: Usage) -> Fact {
    let call = |n| Part::ToolCall(ToolCall::new(format!("c{n}"), "read", json!({"path": "x"})));
    let parts = std::iter::once(Part::text(text)).chain((0..calls).map(call)).collect();
    Fact::Replied { parts, usage, stop: StopReason::EndTurn }
}
fn ended(call: usize, content: String) -> Fact {
    let result = ToolResult { content, ..ToolResult::default() };
    Fact::ToolEnded { call: CallId(format!("c{call}")), name: "read".into(), result, duration_ms: 0 }
}
fn folded(facts: &[Fact]) -> Transcript {
    let mut transcript = Transcript::default();
    facts.iter().for_each(|fact| transcript.apply(fact));
    transcript
}
/// Text of `tokens` tokens.
fn text(tokens: usize) -> String {
    "abc ".repeat(tokens)
}
fn window() -> Window {
    Window::new(10_000, 2_000, 500)
}
fn compacted(kept: usize) -> Fact {
    let (summary, by) = ("S".to_owned(), Summarizer::Model);
    Fact::Compacted { summary, kept, pinned_bytes: 3_000, by, before: 0, after: 0, usage: Usage::default() }
}

/// A round with one call and a result of `tokens` tokens.
fn round(tokens: usize) -> Vec<Fact> {
    vec![replied("ok", 1, Usage::default()), ended(0, text(tokens))]
}

// C-43, P-17: limit 8,000, full at 7,200, target 4,000
#[test]
fn the_oldest_read_results_give_way_first_then_the_beginning_then_what_is_too_long() {
    let rounds = |sizes: &[usize]| {
        let rounds = sizes.iter().flat_map(|size| round(*size));
        std::iter::once(prompt("go")).chain(rounds).collect::<Vec<_>>()
    };
    let cut = |message, keep| Cut { message, keep };
    let talk = |n: usize| {
        let turns = (0..n).flat_map(|_| [prompt("go"), replied(&text(900), 0, Usage::default())]);
        turns.collect::<Vec<_>>()
    };
    let after = |mut facts: Vec<Fact>, more: Vec<Fact>| {
        facts.extend(more);
        facts
    };
    let table = [
        ("room enough", rounds(&[3_000, 3_000]), Room::Fits),
        (
            "down to half, oldest first",
            rounds(&[2_500, 2_500, 1_500, 1_500]),
            Room::Evict(vec![cut(2, 0), cut(4, 0)]),
        ),
        ("the last result has not been read", rounds(&[10, 7_000]), Room::Evict(vec![cut(4, 6_517)])),
        ("small ones are not worth it", after(talk(8), vec![prompt("go")]), Room::Compact { kept: 4 }),
        ("one is enough", rounds(&[7_900, 10]), Room::Evict(vec![cut(2, 0)])),
        ("not twice in a row", after(talk(8), vec![compacted(15), prompt("go")]), Room::Fits),
    ];
    for (what, facts, expected) in table {
        assert_eq!(room(&folded(&facts), &window()), expected, "{what}");
    }
    let tiny = Window::new(10_000, 2_000, 7_500);
    assert_eq!(room(&folded(&rounds(&[7_900, 10])), &tiny), Room::Fits, "not even the tools fit");
}

// C-43: the server's count first, then an estimate of what came since
#[test]
fn the_servers_count_comes_before_an_estimate() {
    let size = |input| {
        let usage = Usage { input, output: 10, ..Usage::default() };
        folded(&[prompt(&text(1_000)), replied("ok", 0, usage), prompt(&text(1_000))]).size(500)
    };
    let estimated = 500 + 1_006 + 7 + 1_006;
    let table = [
        ("no count", 0, estimated),
        ("as estimated", 1_503, estimated),
        ("twice as many", 3_016, 2 * estimated),
        ("tools are told in fewer words", 1_003, estimated - 500),
        ("no count either", 40, estimated),
    ];
    for (what, input, expected) in table {
        assert_eq!(size(input), expected, "{what}");
    }
    // A later count that is smaller, although nothing gave way, is one of what was read anew.
    let usage = |input| Usage { input, output: 10, ..Usage::default() };
    let counts = [usage(3_000), usage(1_500)].map(|usage| [prompt(&text(10)), replied("ok", 0, usage)]);
    let size = folded(&counts.concat()).size(500);
    assert!((3_010..3_200).contains(&size), "{size}");
}

// C-43: the first prompt and the last one stay word for word, calls and results stay together
#[test]
fn a_summary_stands_between_the_first_prompt_and_the_last_messages() {
    let told = |transcript: &Transcript| {
        let told = transcript.messages().iter().map(|message| match &**message {
            Message::User { parts } => text_of(parts),
            Message::Assistant { parts } => format!("{}+{}", text_of(parts), parts.len() - 1),
            Message::Tool { result, .. } => result.content.clone(),
        });
        told.collect::<Vec<_>>()
    };
    let heading = |replies: usize| {
        format!(
            "\n\n[The conversation so far in a summary, in place of {replies} replies of yours and the results of their calls]\n\nS"
        )
    };
    let last = |text: &str| format!("\n\n[The last prompt, word for word]\n\n{text}");
    let facts = |texts: &[&str]| {
        let turns = texts
            .iter()
            .flat_map(|text| [vec![prompt(text)], round(1), vec![replied("done", 0, Usage::default())]]);
        turns.flatten().collect::<Vec<_>>()
    };
    let mut transcript = folded(&facts(&["one", "two"]));
    transcript.apply(&prompt("three"));
    transcript.apply(&replied("ok", 1, Usage::default()));
    transcript.apply(&ended(0, "r".into()));
    transcript.apply(&compacted(2));
    assert_eq!(told(&transcript), [format!("one{}{}", heading(4), last("three")), "ok+1".into(), "r".into()]);
    assert_eq!(replies_left_out(&told(&transcript)[0]), Some(4));
    assert_eq!((transcript.is_compacted(), compact(&transcript, 0)), (true, None));
    // The last prompt is among what stays, then it is not; an earlier summary is rolled up.
    transcript.apply(&replied("done", 0, Usage::default()));
    transcript.apply(&prompt("four"));
    transcript.apply(&compacted(2));
    assert_eq!(told(&transcript), [format!("one{}", heading(5)), "done+0".into(), "four".into()]);
    transcript.apply(&replied("ok", 0, Usage::default()));
    transcript.apply(&compacted(1));
    assert_eq!(told(&transcript), [format!("one{}{}", heading(6), last("four")), "ok+0".into()]);
    let long = folded(&[prompt(&text(5_000)), replied("a", 0, Usage::default()), compacted(1)]);
    let bytes = told(&long)[0].len();
    assert!((3_000..3_400).contains(&bytes), "{bytes}");
}

/// What happens in a random conversation.
#[derive(Clone, Debug)]
enum Happening {
    Prompt(usize),
    Round { says: usize, results: Vec<usize>, counted: f64 },
}

fn happening() -> impl Strategy<Value = Happening> {
    let round = (0..400usize, prop::collection::vec(0..2_500usize, 0..3), 0.8..1.4f64);
    prop_oneof![
        1 => (1..600usize).prop_map(Happening::Prompt),
        6 => round.prop_map(|(says, results, counted)| Happening::Round { says, results, counted }),
    ]
}

/// Lets give way what must, as the engine does it. How often something did, and how often it was a summary.
fn make_room(transcript: &mut Transcript, window: &Window) -> (usize, usize) {
    let (mut cuts, mut summaries) = (0, 0);
    loop {
        let fact = match room(transcript, window) {
            Room::Fits => return (cuts + summaries, summaries),
            Room::Evict(results) => {
                cuts += 1;
                let text = |cut: &Cut| match &*transcript.messages()[cut.message] {
                    Message::Tool { result, .. } if cut.keep > 0 => fit(&result.content, cut.keep, ""),
                    _ => "[put aside]".to_owned(),
                };
                let results =
                    results.iter().map(|cut| Evicted { message: cut.message, text: text(cut) }).collect();
                Fact::Evicted { results }
            }
            Room::Compact { kept } => {
                summaries += 1;
                Fact::Compacted {
                    summary: text(window.summary() as usize),
                    kept,
                    pinned_bytes: window.pinned_bytes(),
                    by: Summarizer::Model,
                    before: 0,
                    after: 0,
                    usage: Usage::default(),
                }
            }
        };
        transcript.apply(&fact);
        assert!(cuts + summaries < 5, "it ends");
    }
}

/// Each call has its result, in call order, and no two messages of the person stand side by side but prompts.
fn is_paired(messages: &[Arc<Message>]) -> bool {
    let mut open: Vec<CallId> = Vec::new();
    messages.iter().all(|message| match &**message {
        Message::Tool { call, .. } => !open.is_empty() && open.remove(0) == *call,
        Message::User { .. } => open.is_empty(),
        Message::Assistant { parts } => {
            let was_closed = open.is_empty();
            open = parts.iter().filter_map(Part::as_call).map(|call| call.id.clone()).collect();
            was_closed
        }
    }) && open.is_empty()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]
    // C-43: never beyond the window, the same beginning from round to round, cuts in big steps
    #[test]
    fn requests_fit_and_begin_alike(happenings in prop::collection::vec(happening(), 1..80)) {
        let window = Window::new(16_000, 4_000, 800);
        let mut transcript = folded(&[prompt("what it is all about")]);
        let (mut sent, mut added, mut changes): (Vec<Arc<Message>>, u64, usize) = (Vec::new(), 0, 0);
        for happening in happenings {
            let Happening::Round { says, results, counted } = happening else {
                let Happening::Prompt(tokens) = happening else { unreachable!() };
                transcript.apply(&prompt(&text(tokens)));
                continue;
            };
            let (changed, summaries) = make_room(&mut transcript, &window);
            changes += changed;
            prop_assert!(summaries <= 1);
            let messages = transcript.messages();
            prop_assert!(transcript.size(window.fixed) <= window.limit(), "{}", transcript.size(window.fixed));
            prop_assert!(is_paired(messages));
            let Message::User { parts } = &*messages[0] else { panic!("{messages:?}") };
            prop_assert!(text_of(parts).starts_with("what it is all about"));
            if changed == 0 {
                prop_assert_eq!(&messages[..sent.len().min(messages.len())], &sent[..]);
            }
            sent = messages.to_vec();
            let estimated: u64 = window.fixed + sent.iter().map(|message| of_message(message)).sum::<u64>();
            let usage = Usage { input: (estimated as f64 * counted) as u64, ..Usage::default() };
            transcript.apply(&replied(&text(says), results.len(), usage));
            for (place, tokens) in results.iter().enumerate() {
                transcript.apply(&ended(place, text(*tokens)));
            }
            added += (says + results.iter().sum::<usize>()) as u64;
        }
        let steps = 3 + added as usize / 900;
        prop_assert!(changes <= steps, "{changes} cuts for {added} tokens");
    }
}
