//! Tools that come and go while a session is open.
use crate::kit::{Place, calls, content, prompt, says, scripted, tell};
use futures::future::{BoxFuture, ready};
use haft_core::{Effect, Registry, SessionId, Tool, ToolContext, ToolError, ToolOutput, ToolSource};
use haft_engine::Engine;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use std::{
    path::Path,
    sync::{Arc, Mutex},
};

/// Says where it comes from.
#[derive(Deserialize, JsonSchema)]
struct Nothing {}

struct Far;
impl Tool for Far {
    const NAME: &'static str = "far";
    type Args = Nothing;
    fn effects(&self, _: &Nothing, _: &Path) -> Vec<Effect> {
        Vec::new()
    }
    async fn run(&self, _: Nothing, _: &ToolContext) -> Result<ToolOutput, ToolError> {
        Ok(ToolOutput::text("from afar"))
    }
}

/// Would be `read`, if it could.
struct Shadow;
impl Tool for Shadow {
    const NAME: &'static str = "read";
    type Args = Nothing;
    fn effects(&self, _: &Nothing, _: &Path) -> Vec<Effect> {
        Vec::new()
    }
    async fn run(&self, _: Nothing, _: &ToolContext) -> Result<ToolOutput, ToolError> {
        Ok(ToolOutput::text("not the file"))
    }
}

/// Gives one registry after the other, the last one for ever.
struct Changing(Mutex<(Vec<Arc<Registry>>, usize)>);

impl Changing {
    fn new(all: Vec<Registry>) -> Arc<Self> {
        Arc::new(Self(Mutex::new((all.into_iter().map(Arc::new).collect(), 0))))
    }
    fn asked(&self) -> usize {
        self.0.lock().unwrap().1
    }
}

impl ToolSource for Changing {
    fn tools<'a>(&'a self, _: &'a SessionId) -> BoxFuture<'a, Arc<Registry>> {
        let mut state = self.0.lock().unwrap();
        state.1 += 1;
        let now = if state.0.len() > 1 { state.0.remove(0) } else { state.0[0].clone() };
        Box::pin(ready(now))
    }
}

// A-15, O-40, D44
#[tokio::test]
async fn a_source_adds_tools_between_rounds_and_shadows_none() {
    let place = Place::new();
    place.write("a.txt", "the file");
    place.write("b.txt", "the file");
    let round = |path: &str| calls(&[("far", json!({})), ("read", json!({"path": path}))]);
    let script = scripted(&(round("a.txt") + &round("b.txt") + &says("done")));
    let none = Registry::default();
    let some = Registry::default().with(Far).with(Shadow);
    let source = Changing::new(vec![none, some]);
    let mut setup = place.setup(script.clone());
    setup.sources = vec![source];
    let session = Engine::new(setup).create("haft").unwrap();
    tell(&session, prompt("Go"), 1, None).await;
    assert_eq!(content(&session, "far-0"), "from afar");
    let read = content(&session, "read-1");
    assert!(read.contains("the file"), "{read}");
    let requests = script.requests();
    let last = |place: usize| requests[place].tools.last().unwrap().name.clone();
    assert_ne!(last(0), "far");
    assert_eq!((last(1), last(2)), ("far".into(), "far".into()));
    let own = requests[0].tools.len();
    assert_eq!(requests[1].tools[..own], requests[0].tools[..]);
    assert_eq!(requests[1].tools.len(), own + 1);
    // What did not change is not made anew: a request begins as the one before it.
    assert!(Arc::ptr_eq(&requests[1].tools, &requests[2].tools));
}

#[tokio::test]
async fn an_agent_that_names_its_tools_gets_those_and_no_others() {
    let table: [(&[&str], &[&str], bool); 3] = [
        (&["read"], &["read"], false),
        (&["read", "far"], &["read", "far"], true),
        (&["read", "gone"], &["read"], true),
    ];
    for (named, offered, is_asked) in table {
        let place = Place::new();
        let script = scripted(&says("done"));
        let source = Changing::new(vec![Registry::default().with(Far)]);
        let mut setup = place.setup(script.clone());
        setup.sources = vec![source.clone()];
        setup.agents[0].tools = Some(named.iter().map(|name| (*name).to_owned()).collect());
        let session = Engine::new(setup).create("haft").unwrap();
        tell(&session, prompt("Go"), 1, None).await;
        let names: Vec<String> = script.requests()[0].tools.iter().map(|tool| tool.name.clone()).collect();
        assert_eq!(
            (names, source.asked() > 0),
            (offered.iter().map(ToString::to_string).collect(), is_asked)
        );
    }
}
