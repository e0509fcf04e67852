//! A model that cannot answer: another one takes over, or the turn waits until it can.
use crate::kit::{Place, prompt, tell};
use futures::{stream, stream::BoxStream};
use haft_core::{
    CallId, Command, Delta, Fact, Outcome, Price, Provider, ProviderError, Request, StopReason, Usage,
    event::Entry,
};
use haft_engine::{Engine, Model, Session, Setup};
use serde_json::json;
use std::{
    collections::VecDeque,
    sync::{Arc, Mutex},
    time::Duration,
};

/// What a model does with a request.
#[derive(Clone, Copy, Debug)]
enum Act {
    Say,
    Write,
    /// Says half a sentence, and then that it must not.
    Refuse,
    Overloaded,
    NoCredit,
    NoKey,
    Broken,
    /// Milliseconds until its quota is reset.
    Quota(u64),
}

/// A model that does one thing after the other, and then the last one again; and what it was asked.
struct Acting {
    acts: Mutex<VecDeque<Act>>,
    requests: Mutex<Vec<Request>>,
}

impl Acting {
    fn new(acts: &[Act]) -> Arc<Self> {
        let acts = Mutex::new(acts.iter().copied().collect());
        Arc::new(Self { acts, requests: Mutex::default() })
    }

    fn asked(&self) -> usize {
        self.requests.lock().unwrap().len()
    }
}

impl Provider for Acting {
    fn stream(&self, request: Request) -> BoxStream<'static, Result<Delta, ProviderError>> {
        self.requests.lock().unwrap().push(request);
        let mut acts = self.acts.lock().unwrap();
        let act = if acts.len() > 1 { acts.pop_front() } else { acts.front().copied() };
        let (provider, message, hint) = ("it".to_owned(), "no".to_owned(), None);
        let usage = Usage { input: 1_000, output: 0, ..Usage::default() };
        Box::pin(stream::iter(match act.expect("it does something") {
            Act::Say => vec![
                Ok(Delta::Text("done".into())),
                Ok(Delta::Usage(usage)),
                Ok(Delta::Stop(StopReason::EndTurn)),
            ],
            Act::Write => vec![
                Ok(Delta::CallStart { index: 0, id: CallId("w".into()), name: "bash".into() }),
                Ok(Delta::CallArguments { index: 0, json: json!({"command": "echo x >>log"}).to_string() }),
                Ok(Delta::Usage(usage)),
                Ok(Delta::Stop(StopReason::ToolUse)),
            ],
            Act::Refuse => vec![
                Ok(Delta::Text("I can".into())),
                Ok(Delta::Usage(usage)),
                Ok(Delta::Stop(StopReason::Refusal)),
            ],
            Act::Overloaded => vec![Err(ProviderError::Busy {
                provider,
                message,
                retry_after: None,
                is_rate_limited: false,
            })],
            Act::NoCredit => {
                vec![Err(ProviderError::Exhausted { provider, message, hint, retry_after: None })]
            }
            Act::NoKey => vec![Err(ProviderError::Auth { provider, message, hint })],
            Act::Broken => vec![Err(ProviderError::Rejected { provider, message, hint })],
            Act::Quota(milliseconds) => vec![Err(ProviderError::Exhausted {
                provider,
                message,
                hint,
                retry_after: Some(Duration::from_millis(milliseconds)),
            })],
        }))
    }
}

const NAMES: [&str; 3] = ["one/a", "two/b", "three/c"];

fn price(usd: f64) -> Option<Price> {
    Some(Price { input: usd, output: usd, cache_read: None, cache_write: None })
}

/// A setup with these models; the first one has the others as its fallbacks. The price of each is its place.
fn setup(place: &Place, providers: &[Arc<Acting>]) -> Setup {
    let models = NAMES.iter().zip(providers).zip([1.0, 2.0, 3.0]);
    let mut models = models
        .map(|((name, provider), usd)| Model { price: price(usd), ..Model::plain(name, provider.clone()) });
    let first = models.next().expect("there is a model");
    let model = Model { fallbacks: models.collect(), ..first };
    Setup { model, ..place.setup(providers[0].clone()) }
}

fn session(place: &Place, providers: &[Arc<Acting>], waits: bool) -> Session {
    let mut setup = setup(place, providers);
    setup.profile.limits.waits = waits;
    Engine::new(setup).create("haft").unwrap()
}

/// The switches and waits of a session: `one/a>two/b Overloaded`.
fn moves(session: &Session) -> Vec<String> {
    let told = |entry: &Arc<Entry>| match &entry.fact {
        Fact::ModelSwitched { from, to, reason, .. } => Some(format!("{from}>{to} {reason:?}")),
        Fact::ModelAwaited { model, reason, .. } => Some(format!("{model} awaited {reason:?}")),
        _ => None,
    };
    session.entries().iter().filter_map(told).collect()
}

fn end(session: &Session) -> (Outcome, Option<f64>) {
    let last = session.entries().last().cloned().expect("it has entries");
    match &last.fact {
        Fact::TurnEnded { outcome, cost_usd, .. } => (*outcome, *cost_usd),
        fact => panic!("the turn has not ended: {fact:?}"),
    }
}

#[tokio::test]
async fn another_model_takes_over_and_its_requests_have_its_price() {
    use Act::{Broken, NoCredit, NoKey, Overloaded, Quota, Refuse, Say};
    type Acts = &'static [Act];
    type Moves = &'static [&'static str];
    let rows: [(Acts, Acts, Moves, Outcome, f64); 8] = [
        (&[Overloaded], &[Say], &["one/a>two/b Overloaded"], Outcome::Finished, 2e-3),
        (&[NoCredit], &[Say], &["one/a>two/b CreditExhausted"], Outcome::Finished, 2e-3),
        (&[NoKey], &[Say], &["one/a>two/b AccessDenied"], Outcome::Finished, 2e-3),
        (&[Quota(90_000)], &[Say], &["one/a>two/b QuotaExhausted"], Outcome::Finished, 2e-3),
        // What was refused was paid for.
        (&[Refuse], &[Say], &["one/a>two/b Refused"], Outcome::Finished, 3e-3),
        (
            &[Overloaded],
            &[NoKey],
            &["one/a>two/b Overloaded", "two/b>three/c AccessDenied"],
            Outcome::Finished,
            3e-3,
        ),
        // The request itself is at fault.
        (&[Broken], &[Say], &[], Outcome::Failed, 0.0),
        (&[Say], &[Say], &[], Outcome::Finished, 1e-3),
    ];
    for (first, second, expected, outcome, usd) in rows {
        let place = Place::new();
        let providers = [first, second, &[Say][..]].map(Acting::new);
        let session = session(&place, &providers, false);
        tell(&session, prompt("go"), 1, None).await;
        assert_eq!(moves(&session), expected, "{first:?} {second:?}");
        let (ended, cost) = end(&session);
        assert_eq!(ended, outcome, "{first:?} {second:?}");
        assert!((cost.unwrap_or_default() - usd).abs() < 1e-5, "{first:?} {second:?}: {cost:?}");
        let spoken =
            session.entries().iter().filter(|entry| matches!(entry.fact, Fact::Replied { .. })).count();
        assert_eq!(spoken, usize::from(outcome == Outcome::Finished), "{first:?} {second:?}");
    }
}

#[tokio::test]
async fn a_call_is_made_once_whichever_model_reads_its_result() {
    let place = Place::new();
    let providers = [&[Act::Write, Act::Overloaded][..], &[Act::NoCredit], &[Act::Say]].map(Acting::new);
    let session = session(&place, &providers, false);
    tell(&session, prompt("go"), 1, None).await;
    assert_eq!(place.read("log").as_deref(), Some("x\n"));
    let asked: Vec<usize> = providers.iter().map(|provider| provider.asked()).collect();
    assert_eq!(asked, [2, 1, 1]);
    let [first, last] = [&providers[0], &providers[2]].map(|provider| {
        provider
            .requests
            .lock()
            .unwrap()
            .last()
            .map(|request| (request.model.clone(), request.messages.clone()))
    });
    let ((first, before), (last, after)) = (first.unwrap(), last.unwrap());
    assert_eq!((first.as_str(), last.as_str()), ("a", "c"));
    assert_eq!(before, after, "all models read the same conversation");
}

#[tokio::test]
async fn the_next_turn_begins_with_the_first_model_unless_a_person_must_act() {
    let rows = [
        (Act::Overloaded, 2, vec!["one/a>two/b Overloaded"]),
        (Act::NoCredit, 1, vec!["one/a>two/b CreditExhausted", "one/a>two/b CreditExhausted"]),
    ];
    for (act, asked, expected) in rows {
        let place = Place::new();
        let providers = [&[act, Act::Say][..], &[Act::Say]].map(Acting::new);
        let session = session(&place, &providers, false);
        tell(&session, prompt("go"), 1, None).await;
        tell(&session, prompt("and on"), 1, None).await;
        assert_eq!(
            (moves(&session), providers[0].asked()),
            (expected.iter().map(|s| (*s).to_owned()).collect(), asked),
            "{act:?}"
        );
        assert_eq!(end(&session).0, Outcome::Finished);
    }
}

#[tokio::test]
async fn where_no_model_is_left_the_turn_waits_for_the_one_that_can_answer_first() {
    let place = Place::new();
    let providers = [&[Act::Quota(50), Act::Say][..], &[Act::Overloaded]].map(Acting::new);
    let session = session(&place, &providers, true);
    tell(&session, prompt("go"), 1, None).await;
    assert_eq!(moves(&session), ["one/a>two/b QuotaExhausted", "one/a awaited QuotaExhausted"]);
    assert_eq!((end(&session).0, providers[0].asked(), providers[1].asked()), (Outcome::Finished, 2, 1));
}

#[tokio::test]
async fn without_a_wait_the_failure_names_the_time() {
    let rows =
        [(false, 90_000, "`--wait` waits until then"), (true, 3_600_000_000, "`--wait-limit`, 21600 s")];
    for (waits, reset, expected) in rows {
        let place = Place::new();
        let session = session(&place, &[Acting::new(&[Act::Quota(reset)])], waits);
        tell(&session, prompt("go"), 1, None).await;
        let failed = session.entries().iter().find_map(|entry| match &entry.fact {
            Fact::ModelFailed { hint, .. } => hint.clone(),
            _ => None,
        });
        let hint = failed.unwrap();
        assert!(hint.contains("`one/a` can be asked again at ") && hint.contains(expected), "{hint}");
    }
}

#[tokio::test]
async fn a_wait_is_over_at_once_when_it_is_interrupted() {
    let place = Place::new();
    let provider = Acting::new(&[Act::Quota(3_600_000)]);
    let session = session(&place, std::slice::from_ref(&provider), true);
    let told = tell_and_interrupt(&session).await;
    assert_eq!(told, (Outcome::Interrupted, 1), "{:?}", session.entries());
    assert_eq!(provider.asked(), 1);
}

/// Interrupts the turn as soon as it waits: its outcome, and how often it waited.
async fn tell_and_interrupt(session: &Session) -> (Outcome, usize) {
    session.send(prompt("go")).unwrap();
    let is_waiting = || moves(session).len() == 1;
    while !is_waiting() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    tell(session, Command::Interrupt, 1, None).await;
    (end(session).0, moves(session).len())
}
