//! A session is kept in a second place, too, and goes no further than that one lets it.
use crate::kit::{Place, calls, prompt, says, scripted};
use futures::{FutureExt, future::BoxFuture};
use haft_core::{Command, Seq};
use haft_engine::{Engine, Replica, Setup};
use serde_json::json;
use std::{
    io,
    sync::{Arc, Mutex},
};

/// Keeps lines until one comes that holds `until`.
#[derive(Default)]
struct Kept {
    lines: Mutex<Vec<(Seq, String)>>,
    until: Option<&'static str>,
}

impl Kept {
    fn text(&self) -> String {
        self.lines.lock().expect("no test panics here").iter().map(|(_, line)| line.as_str()).collect()
    }
}

impl Replica for Kept {
    fn append(&self, seq: Seq, line: &str) {
        self.lines.lock().expect("no test panics here").push((seq, line.to_owned()));
    }

    fn sync(&self) -> BoxFuture<'_, io::Result<()>> {
        let is_over = self.until.is_some_and(|until| self.text().contains(until));
        async move { if is_over { Err(io::Error::other("another process has it")) } else { Ok(()) } }.boxed()
    }
}

fn setup(place: &Place, replica: &Arc<Kept>, script: &str) -> Setup {
    let replica = replica.clone();
    Setup { replicas: Some(Arc::new(move |_| replica.clone())), ..place.setup(scripted(script)) }
}

fn writes_and_ends() -> String {
    calls(&[("write", json!({"path": "a.txt", "content": "new\n"}))]) + &says("Done.")
}

#[tokio::test]
async fn what_is_recorded_stands_in_the_second_place_line_for_line() {
    let (place, kept) = (Place::new(), Arc::new(Kept::default()));
    let session = Engine::new(setup(&place, &kept, &writes_and_ends())).create("haft").expect("a session");
    session.start(prompt("Go.")).report().await;
    let file = std::fs::read_to_string(session.journal().path()).expect("a journal");
    assert_eq!(kept.text(), file);
    let places: Vec<u64> =
        kept.lines.lock().expect("no test panics here").iter().map(|(seq, _)| seq.0).collect();
    assert_eq!(places, (0..places.len() as u64).collect::<Vec<_>>());
    assert_eq!(place.read("a.txt").as_deref(), Some("new\n"));
}

#[tokio::test]
async fn who_has_lost_a_session_asks_settles_and_undoes_nothing_more() {
    for (until, asked) in [("\"prompted\"", 0), ("\"staged\"", 1), ("\"tool_ended\"", 1)] {
        let (place, kept) = (Place::new(), Arc::new(Kept { until: Some(until), ..Kept::default() }));
        let session =
            Engine::new(setup(&place, &kept, &writes_and_ends())).create("haft").expect("a session");
        let report = session.start(prompt("Go.")).report().await;
        let failure = session.journal().failure().unwrap_or_default().to_owned();
        assert!(failure.contains("another process has it"), "{until}: {failure} {report:?}");
        assert_eq!(kept.text().matches("\"type\":\"replied\"").count(), asked, "{until}");
        let is_settled = until == "\"tool_ended\"";
        assert_eq!(place.read("a.txt").is_some(), is_settled, "{until}");
    }
    let (place, kept) = (Place::new(), Arc::new(Kept::default()));
    let session = Engine::new(setup(&place, &kept, &writes_and_ends())).create("haft").expect("a session");
    session.start(prompt("Go.")).report().await;
    let id = session.id().clone();
    drop(session);
    let lost = Arc::new(Kept { until: Some(""), ..Kept::default() });
    let mut opened = Engine::new(setup(&place, &lost, "")).open(&id.0, "haft").await;
    // The one before may still be closing.
    while opened.is_err() {
        tokio::task::yield_now().await;
        opened = Engine::new(setup(&place, &lost, "")).open(&id.0, "haft").await;
    }
    let session = opened.expect("a session");
    session.start(Command::Rewind { to: Seq(1) }).report().await;
    assert!(session.journal().failure().is_some());
    assert_eq!(place.read("a.txt").as_deref(), Some("new\n"));
}
