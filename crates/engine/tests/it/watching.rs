//! What a client sees of a session that it watches, however slow it is and however the session ends.
use crate::kit::{Faulty, Place, prompt, scripted};
use futures::{StreamExt, stream::BoxStream};
use haft_core::{Delta, Event, Fact, Provider, ProviderError, Request, Seq, Update, text_of};
use haft_engine::Engine;
use serde_json::json;
use std::{sync::Arc, time::Duration};
use tokio::sync::Notify;

// Who looks away sees the beginning of a reply that ends meanwhile, then the whole of it, and nothing behind that.
#[tokio::test]
async fn a_slow_watcher_gets_the_whole_of_a_reply_and_nothing_comes_too_late() {
    let long: String = (0..2_000).map(|number| format!("{number} ")).collect();
    let place = Place::new();
    let script = format!("{}\n", json!({"say": long, "pieces": 4}));
    let session = place.session(&script);
    let mut slow = Box::pin(session.events(Seq(0)));
    let mut quick = Box::pin(session.events(Seq(0)));
    session.send(prompt("go")).unwrap();
    let heard_by = |text: &mut String, event: &Event| {
        if let Event::Live(Update::Text { text: more }) = event {
            *text += more;
        }
    };
    let is_over = |event: &Event| matches!(event, Event::Recorded(entry) if matches!(entry.fact, Fact::TurnEnded { .. }));
    let mut heard = String::new();
    while heard.is_empty() {
        heard_by(&mut heard, &slow.next().await.unwrap());
    }
    while !is_over(&quick.next().await.unwrap()) {}
    let mut replied = None;
    loop {
        let event = slow.next().await.unwrap();
        assert!(
            replied.is_none() || !matches!(event, Event::Live(_)),
            "an update behind the reply: {event:?}"
        );
        heard_by(&mut heard, &event);
        if let Event::Recorded(entry) = &event
            && let Fact::Replied { parts, .. } = &entry.fact
        {
            replied = Some(text_of(parts));
        }
        if is_over(&event) {
            break;
        }
    }
    assert_eq!(replied.as_deref(), Some(long.as_str()));
    assert!(long.starts_with(&heard) && heard.len() < long.len(), "{} bytes were heard", heard.len());
}

/// Says a thousand words at once, and ends when it is told to.
struct Burst(Arc<Notify>);

impl Provider for Burst {
    fn stream(&self, _: Request) -> BoxStream<'static, Result<Delta, ProviderError>> {
        let (ends, words) = (self.0.clone(), (0..1_000).map(|number| Ok(Delta::Text(format!("{number} ")))));
        let end = async move {
            ends.notified().await;
            Ok(Delta::Text("end".into()))
        };
        futures::stream::iter(words).chain(futures::stream::once(end)).boxed()
    }
}

#[tokio::test]
async fn a_watcher_that_fell_behind_gets_the_rest_of_a_reply_that_is_being_written() {
    let (place, ends) = (Place::new(), Arc::new(Notify::new()));
    let session = Engine::new(place.setup(Arc::new(Burst(ends.clone())))).create("haft").unwrap();
    let (mut slow, mut quick) = (session.events(Seq(0)).boxed(), session.events(Seq(0)).boxed());
    let said: String = (0..1_000).map(|number| format!("{number} ")).collect();
    async fn hear(events: &mut BoxStream<'static, Event>, said: &str, heard: &mut String) {
        while heard.len() < said.len() {
            let event = tokio::time::timeout(Duration::from_secs(60), events.next()).await.unwrap();
            if let Some(Event::Live(Update::Text { text })) = event {
                *heard += &text;
            }
        }
    }
    session.send(prompt("go")).unwrap();
    let (mut by_slow, mut by_quick) = (String::new(), String::new());
    hear(&mut slow, "0 ", &mut by_slow).await;
    hear(&mut quick, &said, &mut by_quick).await;
    hear(&mut slow, &said, &mut by_slow).await;
    ends.notify_one();
    let whole = format!("{said}end");
    hear(&mut slow, &whole, &mut by_slow).await;
    assert_eq!((by_slow, by_quick), (whole, said));
}

#[tokio::test]
async fn who_follows_a_session_hears_of_a_fault_in_the_program() {
    let place = Place::new();
    let script = crate::kit::says("well");
    let session = Engine::new(Faulty::setup(place.setup(scripted(&script)))).create("haft").unwrap();
    session.send(prompt("go")).unwrap();
    let events = session.events(Seq(0)).collect::<Vec<_>>();
    tokio::time::timeout(Duration::from_secs(60), events).await.unwrap();
    assert_eq!(session.journal().failure(), Some("a fault in the program: as it was asked for"));
    drop(session);
    let again = Engine::new(place.setup(scripted(&script)));
    let id = again.setup().home.list()[0].id.0.clone();
    let session = again.open(&id, "haft").await.unwrap();
    let told = crate::kit::tell(&session, haft_core::Command::Continue, 1, None).await;
    assert!(told.ends_with("turn_ended=finished"), "{told}");
}
