//! What a turn may cost: one budget for a session and those it delegates to.
use crate::kit::{Place, calls, in_a_word, prompt, says, scripted, tell};
use futures::{StreamExt, stream, stream::BoxStream};
use haft_core::{
    Budget, Command, Delta, Event, Fact, Price, Provider, ProviderError, Request, Resource, Seq, StopReason,
    Usage,
};
use haft_engine::{Engine, Session};
use serde_json::json;
use std::{sync::Arc, time::Duration};

/// A call whose request cost so many tokens.
fn costly(tokens: u64) -> String {
    let call = json!({"name": "bash", "arguments": {"command": format!("echo {tokens}")}});
    format!("{}\n", json!({"calls": [call], "usage": {"input": tokens, "output": 100}}))
}

fn end(session: &Session) -> (String, Usage, Option<f64>) {
    let last = session.entries().pop();
    match last.as_ref().map(|entry| &entry.fact) {
        Some(Fact::TurnEnded { usage, cost_usd, .. }) => {
            (last.as_deref().map(in_a_word).unwrap_or_default(), *usage, *cost_usd)
        }
        other => panic!("{other:?}"),
    }
}

fn reached(session: &Session) -> Option<Resource> {
    session.entries().iter().find_map(|entry| match &entry.fact {
        Fact::BudgetReached { what, .. } => Some(*what),
        _ => None,
    })
}

#[tokio::test]
async fn a_limit_ends_the_turn_before_it_is_passed() {
    let none = Budget::default();
    let price = Some(Price { input: 3.0, output: 15.0, cache_read: None, cache_write: None });
    let table = [
        ("no limit", none, price, None, 5, Some(0.082)),
        ("no price, no cost", none, None, None, 5, None),
        ("tokens", Budget { tokens: Some(15_000), ..none }, price, Some(Resource::Tokens), 2, Some(0.033)),
        ("money", Budget { usd: Some(0.05), ..none }, price, Some(Resource::Usd), 2, Some(0.033)),
        ("requests", Budget { requests: Some(1), ..none }, price, Some(Resource::Requests), 1, Some(0.0165)),
        ("time", Budget { seconds: Some(0), ..none }, price, Some(Resource::Seconds), 0, Some(0.0)),
    ];
    for (what, budget, price, expected, rounds, cost) in table {
        let place = Place::new();
        let script: String = (0..4).map(|_| costly(5_000)).collect();
        let mut setup = place.setup(scripted(&(script + &says("done"))));
        setup.profile.limits.budget = budget;
        setup.model.price = price;
        setup.model.window = Some(1_000_000);
        let session = Engine::new(setup).create("haft").unwrap();
        let told = tell(&session, prompt("go"), 1, None).await;
        assert_eq!(reached(&session), expected, "{what}: {told}");
        assert_eq!(told.matches("replied").count(), rounds, "{what}: {told}");
        let (outcome, _, cost_usd) = end(&session);
        let finished = if expected.is_some() { "turn_ended=budget" } else { "turn_ended=finished" };
        assert_eq!(outcome, finished, "{what}");
        assert!(
            cost.is_none() == cost_usd.is_none()
                && (cost.unwrap_or_default() - cost_usd.unwrap_or_default()).abs() < 0.01,
            "{what}: {cost_usd:?}"
        );
        // The next turn has a budget of its own.
        if expected == Some(Resource::Requests) {
            assert!(tell(&session, prompt("more"), 1, None).await.contains("replied"), "{what}");
        }
    }
}

// One budget: what a subagent spends is gone for the one that delegated
#[tokio::test]
async fn a_subagent_draws_from_the_same_purse() {
    for (tokens, outcome, below) in
        [(100_000, "turn_ended=finished", "finished"), (26_000, "turn_ended=budget", "budget")]
    {
        let place = Place::new();
        let delegate = calls(&[("delegate", json!({"task": "look"}))]);
        // Both sessions begin at the first line: the one below has no tool for it and goes on to the second.
        let script = delegate + &costly(20_000) + &says("done");
        let mut setup = place.setup(scripted(&script));
        setup.profile.limits.budget.tokens = Some(tokens);
        setup.model.window = Some(1_000_000);
        let home = setup.home.clone();
        let session = Engine::new(setup).create("haft").unwrap();
        tell(&session, prompt("go"), 1, None).await;
        let (ended, usage, _) = end(&session);
        assert_eq!(ended, outcome, "{tokens}");
        let child = home.list().into_iter().find(|session| session.delegated_by.is_some()).unwrap();
        let entries = home.peek(&child.id.0).unwrap();
        let outcome_below = in_a_word(entries.last().unwrap());
        assert_eq!(outcome_below, format!("turn_ended={below}"), "{tokens}");
        assert!(usage.input >= 20_000, "what was spent below counts above: {usage:?}");
    }
}

// A reply that does not end is ended with the time of the turn
#[tokio::test]
async fn time_ends_what_runs() {
    let place = Place::new();
    let mut setup = place.setup(scripted("{\"say\":\"Let me\",\"hang\":true}"));
    setup.profile.limits.budget.seconds = Some(1);
    let session = Engine::new(setup).create("haft").unwrap();
    let told = tell(&session, prompt("go"), 1, None).await;
    assert_eq!(told, "prompted\nreplied\nbudget_reached\nturn_ended=budget");
    assert_eq!(reached(&session), Some(Resource::Seconds));
}

// What is said just as a limit is reached opens the next turn.
#[tokio::test]
async fn a_prompt_that_no_round_is_left_for_is_not_lost() {
    let one = Budget { requests: Some(1), ..Budget::default() };
    for (outcome, budget, max_rounds) in [("budget", one, None), ("round_limit", Budget::default(), Some(1))]
    {
        let place = Place::new();
        let wait = json!({"command": "until [ -e told ]; do sleep 0.01; done"});
        let mut setup = place.setup(scripted(&(calls(&[("bash", wait)]) + &says("heard"))));
        (setup.profile.limits.budget, setup.profile.limits.max_rounds) = (budget, max_rounds);
        let session = Engine::new(setup).create("haft").unwrap();
        let mut events = Box::pin(session.events(Seq(1)));
        session.send(prompt("go")).unwrap();
        let (mut told, mut ended) = (Vec::new(), 0);
        while ended < 2 {
            let Event::Recorded(entry) = events.next().await.unwrap() else { continue };
            told.push(in_a_word(&entry));
            match &entry.fact {
                Fact::ToolStarted { .. } => {
                    session.send(prompt("more")).unwrap();
                    tokio::task::yield_now().await;
                    place.write("told", "");
                }
                Fact::TurnEnded { .. } => ended += 1,
                _ => {}
            }
        }
        let told = told.join("\n");
        let next = format!("turn_ended={outcome}\nprompted\nreplied\nturn_ended=finished");
        assert!(told.ends_with(&next), "{outcome}: {told}");
        assert_eq!(told.matches("prompted").count(), 2, "{outcome}: {told}");
    }
}

// A turn that is taken up has spent what it had, those below and the summaries included.
#[tokio::test]
async fn what_those_below_have_spent_is_known_after_a_crash() {
    let place = Place::new();
    let delegate = calls(&[("delegate", json!({"task": "look"}))]);
    let script = delegate + &costly(20_000) + &says("done");
    let setup = || {
        let mut setup = place.setup(scripted(&script));
        setup.model.window = Some(1_000_000);
        setup.model.price = Some(Price { input: 3.0, output: 15.0, cache_read: None, cache_write: None });
        setup.profile.limits.budget.tokens = Some(1_000_000);
        setup
    };
    let engine = Engine::new(setup());
    let session = engine.create("haft").unwrap();
    let told = tell(&session, prompt("go"), 1, None).await;
    assert!(told.ends_with("turn_ended=finished"), "{told}");
    let (_, whole, cost) = end(&session);
    let (id, path, entries) =
        (session.id().0.clone(), session.journal().path().to_owned(), session.entries());
    drop(session);
    engine.shut_down().await;
    let place_of = |wanted: fn(&Fact) -> bool| entries.iter().position(|entry| wanted(&entry.fact)).unwrap();
    let ended = place_of(|fact| matches!(fact, Fact::ToolEnded { .. }));
    let acted = place_of(|fact| matches!(fact, Fact::SubagentChanged { .. }));
    let moments = [
        ("after the call", ended + 1, false),
        ("when a command had begun below", ended, false),
        ("before anything was done", acted, true),
    ];
    for (what, alive, twice) in moments {
        let lines: String = entries[..alive]
            .iter()
            .map(|entry| serde_json::to_string(entry.as_ref()).unwrap() + "\n")
            .collect();
        std::fs::write(&path, lines).unwrap();
        let engine = Engine::new(setup());
        let session = engine.open(&id, "haft").await.unwrap();
        let told = tell(&session, Command::Continue, 1, None).await;
        assert!(told.ends_with("turn_ended=finished"), "{what}: {told}");
        let (_, usage, usd) = end(&session);
        match twice {
            // What was not counted is in no journal.
            false => assert!(usage == whole && usd > Some(0.12) && usd <= cost, "{what}: {usage:?} {usd:?}"),
            // The one that died with the call had spent as much before it ran again.
            true => assert!(usage.input >= whole.input + 20_000, "{what}: {usage:?}"),
        }
        drop(session);
        engine.shut_down().await;
    }
}

/// Gives up its first reply, which was paid for, and says something in the second.
struct Fickle;

impl Provider for Fickle {
    fn stream(&self, _: Request) -> BoxStream<'static, Result<Delta, ProviderError>> {
        let used = |input, output| Delta::Usage(Usage { input, output, ..Usage::default() });
        let again = Delta::Retrying { reason: "reset".into(), after: Duration::ZERO, charged: true };
        let said = [
            Delta::Text("half".into()),
            used(30_000, 5),
            again,
            Delta::Text("whole".into()),
            used(30_000, 10),
            Delta::Stop(StopReason::EndTurn),
        ];
        stream::iter(said.map(Ok)).boxed()
    }
}

// A request that was given up is paid for, recorded, and known after a crash; the next try must fit.
#[tokio::test]
async fn what_a_request_cost_that_was_given_up_is_not_forgotten() {
    let place = Place::new();
    let price = Some(Price { input: 1.0, output: 10.0, cache_read: None, cache_write: None });
    let setup = |usd| {
        let mut setup = place.setup(Arc::new(Fickle));
        setup.profile.limits.budget.usd = Some(usd);
        (setup.model.price, setup.model.window) = (price, Some(1_000_000));
        setup
    };
    let engine = Engine::new(setup(1.0));
    let session = engine.create("haft").unwrap();
    assert_eq!(
        tell(&session, prompt("go"), 1, None).await,
        "prompted\nretried\nreplied\nturn_ended=finished"
    );
    let (_, usage, cost) = end(&session);
    assert!(usage.input == 60_000 && (0.0601..0.0602).contains(&cost.unwrap()), "{usage:?} {cost:?}");
    let (id, path, entries) =
        (session.id().0.clone(), session.journal().path().to_owned(), session.entries());
    drop(session);
    engine.shut_down().await;
    let retried = entries.iter().position(|entry| matches!(entry.fact, Fact::Retried { .. })).unwrap();
    let lines = entries[..=retried].iter().map(|entry| serde_json::to_string(&**entry).unwrap() + "\n");
    std::fs::write(&path, lines.collect::<String>()).unwrap();
    let engine = Engine::new(setup(1.0));
    let session = engine.open(&id, "haft").await.unwrap();
    tell(&session, Command::Continue, 1, None).await;
    assert_eq!(end(&session).1.input, 90_000, "one before the crash, two after it");
    // No second try where the first has used up what there is.
    let session = Engine::new(setup(0.1)).create("haft").unwrap();
    let told = tell(&session, prompt("go"), 1, None).await;
    assert_eq!(told, "prompted\nretried\nbudget_reached\nturn_ended=budget");
    assert_eq!(reached(&session), Some(Resource::Usd));
}
