//! What a person allows holds equally for the live session and for one that is resumed from its journal.
use haft_call::{ApprovalRequest, Asker, Interactions, Recorder, Recording};
use haft_core::{Answer, CallId, Effect, Entry, Fact, Seq};
use std::sync::Arc;

fn command(confined: bool) -> Effect {
    let fetch = Effect::execute("fetch");
    if confined { fetch.confined() } else { fetch }
}

fn host(name: &str) -> Effect {
    Effect::Network(name.to_owned())
}

/// Asks for `effects` and answers once the question is recorded. Returns the facts that were recorded.
async fn ask(interactions: &Interactions, effects: &[Effect], answer: Answer) -> Vec<Fact> {
    let (recorder, mut recordings) = Recorder::channel();
    let call = CallId("1".into());
    let asker = Asker::new(call.clone(), interactions.clone(), recorder.downgrade());
    let request = ApprovalRequest {
        reason: "the command needs approval".into(),
        effects: effects.to_vec(),
        changes: Vec::new(),
        bulk: Vec::new(),
        runs: None,
        diagnostics: None,
    };
    let mut facts = Vec::new();
    let asking = async {
        let given = asker.approve(request, effects, None).await;
        drop(recorder);
        given
    };
    let recording = async {
        while let Some(Recording::Fact { fact, recorded, .. }) = recordings.recv().await {
            let is_question = matches!(*fact, Fact::ApprovalAsked { .. });
            facts.push(*fact);
            recorded.send(()).unwrap();
            if is_question {
                interactions.answer(&call, answer.into());
            }
        }
    };
    let (given, ()) = tokio::join!(asking, recording);
    given.unwrap();
    facts
}

#[tokio::test(flavor = "current_thread")]
async fn a_resumed_session_has_the_grants_of_the_live_one() {
    let confined = vec![command(true), host("a.example"), host("b.example")];
    let unconfined = vec![command(false), host("a.example")];
    let table = [
        ("once, confined: its hosts", confined.clone(), Answer::Once, [false, true, true]),
        ("always, confined: all of it", confined.clone(), Answer::Always, [true, true, true]),
        ("once, not confined: nothing", unconfined.clone(), Answer::Once, [false, false, false]),
        ("always, not confined: all of it", unconfined, Answer::Always, [false, true, false]),
        ("no: nothing", confined, Answer::No, [false, false, false]),
    ];
    let later = [command(true), host("a.example"), host("b.example")];
    for (what, effects, answer, expected) in table {
        let live = Interactions::default();
        let facts = ask(&live, &effects, answer).await;
        let entries: Vec<Arc<Entry>> = facts
            .into_iter()
            .enumerate()
            .map(|(place, fact)| {
                Arc::new(Entry { seq: Seq(place as u64), parent: None, at: 0, fact, chain: None })
            })
            .collect();
        let resumed = Interactions::replay(&entries);
        for (who, interactions) in [("live", live), ("resumed", resumed)] {
            let mut granted = Vec::new();
            for effect in &later {
                granted.push(ask(&interactions, std::slice::from_ref(effect), Answer::No).await.is_empty());
            }
            assert_eq!(granted, expected, "{what}, {who}");
        }
    }
}
