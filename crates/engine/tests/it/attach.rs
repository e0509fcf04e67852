//! A session of another machine: what is lost with the connection, and what is not.
use crate::kit::{Place, bash, calls, prompt, says, scripted};
use futures::{FutureExt, StreamExt, future::BoxFuture};
use haft_core::{Answer, CallId, Channel, Command, Event, Fact, Mode, Part, Policy, Seq, Update};
use haft_engine::{Dial, Engine, Link, NotDialed, Remote, RemoteClients, Served, Session};
use serde_json::json;
use std::{
    sync::{Arc, Mutex},
    time::Duration,
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

const LONG: Duration = Duration::from_secs(60);

/// A line between two machines.
#[derive(Default)]
struct Cable {
    session: Mutex<Option<Session>>,
    clients: Mutex<Arc<RemoteClients>>,
    is_at_rest: Mutex<bool>,
    cut: Mutex<CancellationToken>,
    tasks: TaskTracker,
}

impl Cable {
    /// Ends the connection. It cannot be made again until [`Self::mend`].
    fn cut(&self) -> Session {
        self.cut.lock().unwrap().cancel();
        self.session.lock().unwrap().take().unwrap()
    }

    fn mend(&self, session: Session) {
        *self.cut.lock().unwrap() = CancellationToken::new();
        *self.session.lock().unwrap() = Some(session);
    }
}

impl Dial for Cable {
    fn address(&self) -> String {
        "there".to_owned()
    }

    fn dial(&self) -> BoxFuture<'_, Result<Link, NotDialed>> {
        let known = self.session.lock().unwrap().clone();
        let dialed = match known {
            None => Err(NotDialed::Lost("cut".to_owned())),
            Some(session) => {
                let (near, far) = tokio::io::duplex(1 << 16);
                let (clients, cut) = (self.clients.lock().unwrap().clone(), self.cut.lock().unwrap().clone());
                let is_at_rest = *self.is_at_rest.lock().unwrap();
                self.tasks.spawn(async move {
                    let (reader, writer) = tokio::io::split(far);
                    let served = Served::of(&session, Some("root".to_owned()));
                    let serving = served.serve(Link::new(reader, writer), &clients, is_at_rest);
                    cut.run_until_cancelled(serving).await;
                });
                let (reader, writer) = tokio::io::split(near);
                Ok(Link::new(reader, writer))
            }
        };
        futures::future::ready(dialed).boxed()
    }
}

/// A session, and the same one attached to over a cable.
async fn attached(
    place: &Place,
    far: &Place,
    script: &str,
    mode: Mode,
) -> (Session, Session, Arc<Cable>, Engine) {
    let mut setup = place.setup(scripted(script));
    setup.policy = Policy { rules: vec![], mode };
    setup.ceiling = Some(Mode::Full);
    let session = Engine::new(setup).create("haft").unwrap();
    let cable = Arc::new(Cable::default());
    cable.mend(session.clone());
    let engine = far.engine("");
    let attached = engine.attach(session.id().clone(), cable.clone()).await.unwrap();
    (session, attached, cable, engine)
}

/// Waits for an event from `from` on that `wanted` takes.
async fn until<T>(session: &Session, from: Seq, wanted: impl Fn(&Event) -> Option<T>) -> T {
    let mut events = Box::pin(session.events(from));
    let found = async {
        while let Some(event) = events.next().await {
            if let Some(found) = wanted(&event) {
                return found;
            }
        }
        panic!("the session closed: {:?}", session.journal().failure());
    };
    tokio::time::timeout(LONG, found).await.unwrap()
}

fn asked(event: &Event) -> Option<CallId> {
    match event {
        Event::Recorded(entry) => match &entry.fact {
            Fact::ApprovalAsked { call, .. } => Some(call.clone()),
            _ => None,
        },
        Event::Live(_) => None,
    }
}

fn has_ended(event: &Event) -> Option<()> {
    matches!(event, Event::Recorded(entry) if matches!(entry.fact, Fact::TurnEnded { .. })).then_some(())
}

fn count(session: &Session, is_wanted: impl Fn(&Fact) -> bool) -> usize {
    session.entries().iter().filter(|entry| is_wanted(&entry.fact)).count()
}

#[tokio::test]
async fn a_person_afar_may_widen_the_mode_and_makes_no_call() {
    let (place, far) = (Place::new(), Place::new());
    place.write("log", "end\n");
    let edit = calls(&[("edit", json!({"path": "log", "old_text": "end", "new_text": "one"}))]);
    let (session, attached, _cable, _engine) =
        attached(&place, &far, &(edit + &says("done")), Mode::Ask).await;
    assert_eq!((attached.mode(), attached.ceiling()), (Mode::Ask, Mode::Full));
    assert_eq!(Remote::of(&attached).map(|remote| remote.address.as_str()), Some("there"));
    let refused = [
        Command::Call { name: "ls".into(), arguments: json!({}) },
        Command::TypedCall { name: "bash".into(), arguments: json!({"command": "true"}) },
        Command::AddRoot { root: "/tmp".into() },
    ];
    for command in refused {
        let report = attached.start(command.clone()).report().await;
        let why = report.error.unwrap_or_default();
        assert!(why.contains("only where the session is open"), "{command:?}: {why}");
    }
    attached.start(Command::SetMode { mode: Mode::Full }).report().await;
    let report = attached.start(prompt("go")).report().await;
    assert_eq!((report.text.as_str(), report.error), ("done", None));
    assert_eq!((place.read("log").as_deref(), far.read("log")), (Some("one\n"), None));
    let change = session.entries().iter().find_map(|entry| match &entry.fact {
        Fact::Staged { changes, .. } => changes.first().cloned(),
        _ => None,
    });
    let after = change.unwrap().after.unwrap();
    assert_eq!(attached.content(&after.hash).unwrap(), b"one\n", "the text came before its entry");
    assert_eq!(attached.entries(), session.entries());
}

#[tokio::test]
async fn a_person_afar_names_no_other_person() {
    let (place, far) = (Place::new(), Place::new());
    let script = bash("echo one > made") + &says("done");
    let (session, attached, _cable, _engine) = attached(&place, &far, &script, Mode::Ask).await;
    let said = Command::Prompt { parts: vec![Part::text("go")], channel: Some(Channel::new("http", "ann")) };
    let turn = attached.start(said);
    let call = until(&attached, Seq(0), asked).await;
    attached
        .send(Command::Answer { call, answer: Answer::Once, by: Some("ann".into()), because: None })
        .unwrap();
    turn.report().await;
    let named: Vec<Option<String>> = session
        .entries()
        .iter()
        .filter_map(|entry| match &entry.fact {
            Fact::Prompted { channel, .. } => Some(channel.as_ref().map(|channel| channel.chat.clone())),
            Fact::ApprovalAnswered { by, .. } => Some(by.clone()),
            _ => None,
        })
        .collect();
    assert_eq!(named, [Some("root".to_owned()), Some("root".to_owned())]);
}

#[tokio::test]
async fn each_command_is_carried_out_once_whenever_the_connection_is_cut() {
    let (place, far) = (Place::new(), Place::new());
    let script = bash("echo one > made") + &says("done") + &says("again");
    let (session, attached, cable, _engine) = attached(&place, &far, &script, Mode::Ask).await;
    let turn = attached.start(prompt("go"));
    let call = until(&attached, Seq(0), asked).await;
    let held = cable.cut();
    until(&attached, Seq(0), |event| matches!(event, Event::Live(Update::Disconnected { .. })).then_some(()))
        .await;
    attached.send(Command::answer(call.clone(), Answer::Once)).unwrap();
    cable.mend(held);
    until(&session, Seq(0), has_ended).await;
    let report = tokio::time::timeout(LONG, turn.report()).await.unwrap();
    assert_eq!((report.text.as_str(), report.error), ("done", None));
    // Given while there is no connection, and after its time.
    let held = cable.cut();
    attached.send(Command::answer(call, Answer::No)).unwrap();
    let second = attached.start(prompt("once more"));
    *cable.is_at_rest.lock().unwrap() = true;
    cable.mend(held);
    let report = tokio::time::timeout(LONG, second.report()).await.unwrap();
    assert_eq!((report.text.as_str(), report.error), ("again", None));
    assert_eq!(count(&session, |fact| matches!(fact, Fact::Prompted { .. })), 2);
    assert_eq!(count(&session, |fact| matches!(fact, Fact::ApprovalAnswered { .. })), 1);
    assert_eq!(attached.entries(), session.entries());
}

// The server knows nothing of what it was given before it was started again.
#[tokio::test]
async fn a_turn_that_ended_with_the_server_is_not_begun_again() {
    let (place, far) = (Place::new(), Place::new());
    let script = json!({"say": "It hangs", "hang": true}).to_string();
    let (session, attached, cable, _engine) = attached(&place, &far, &script, Mode::Full).await;
    let turn = attached.start(prompt("go"));
    until(&attached, Seq(0), |event| matches!(event, Event::Live(Update::Text { .. })).then_some(())).await;
    let held = cable.cut();
    session.send(Command::Interrupt).unwrap();
    until(&session, Seq(0), has_ended).await;
    *cable.clients.lock().unwrap() = Arc::default();
    *cable.is_at_rest.lock().unwrap() = true;
    cable.mend(held);
    let report = tokio::time::timeout(LONG, turn.report()).await.unwrap();
    assert_eq!(report.error.as_deref(), Some("interrupted"), "its prompt stands in the journal");
    assert_eq!(count(&session, |fact| matches!(fact, Fact::Prompted { .. })), 1);
}

#[tokio::test]
async fn a_command_that_is_too_long_is_refused_and_the_connection_stays() {
    let (place, far) = (Place::new(), Place::new());
    let (session, attached, _cable, _engine) = attached(&place, &far, &says("hi"), Mode::Full).await;
    let report = attached.start(prompt(&"x".repeat(17 << 20))).report().await;
    assert_eq!(report.error.as_deref(), Some("a command takes more than 16 MB"));
    let report = attached.start(prompt("go")).report().await;
    assert_eq!(report.text, "hi");
    assert_eq!(count(&session, |fact| matches!(fact, Fact::Prompted { .. })), 1);
}
