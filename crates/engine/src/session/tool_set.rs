//! [`LiveToolSet`]: the tools of a session: those it opened with, and those of sources, which may change.
use super::prefix::RequestPrefix;
use crate::setup::{Agent, Setup};
use futures::{FutureExt, future::join_all};
use haft_call::last_words;
use haft_core::{Registry, SessionId, ToolSource};
use std::{
    panic::AssertUnwindSafe,
    sync::{Arc, Mutex, MutexGuard},
};

/// The tools that a session can call, and their definitions for the model.
pub(crate) struct ToolSet {
    pub(crate) tools: Registry,
    pub(crate) prefix: RequestPrefix,
}

impl ToolSet {
    /// Selects the agent's tools from `own` and `sources`.
    pub(crate) fn new(setup: &Setup, agent: &Agent, own: &Registry, sources: &[Arc<Registry>]) -> Self {
        let tools = sources.iter().fold(own.clone(), |tools, source| tools.joined(source));
        let tools = match &agent.tools {
            // The tool that ends its jobs may be called in place of the model, so it must be included.
            Some(names) => {
                let ending = tools.only(agent.done.as_slice()).offering::<&str>(&[]);
                tools.only(names).joined(&ending)
            }
            None => tools,
        };
        Self { prefix: RequestPrefix::new(setup, agent, &tools), tools }
    }
}

/// The tools of `source`; none if it panics.
async fn tools_of(source: &dyn ToolSource, session: &SessionId) -> Arc<Registry> {
    let tools = AssertUnwindSafe(async { source.tools(session).await }).catch_unwind().await;
    tools.unwrap_or_else(|panic| {
        tracing::error!("a source of tools panicked: {}", last_words(&*panic));
        Arc::default()
    })
}

/// The current tool set. It is rebuilt when a source changes its tools.
pub(crate) struct LiveToolSet {
    agent: Agent,
    own: Registry,
    current: Mutex<Current>,
}

struct Current {
    kit: Arc<ToolSet>,
    /// The last tools of the sources.
    sources: Vec<Arc<Registry>>,
}

impl LiveToolSet {
    /// Creates a set with `kit`, the agent's tools among `own`. Does not ask sources.
    pub(crate) fn new(agent: Agent, own: Registry, kit: Arc<ToolSet>) -> Self {
        Self { agent, own, current: Mutex::new(Current { kit, sources: Vec::new() }) }
    }

    /// The tools as of the last [`LiveToolSet::refresh`].
    pub(crate) fn kit(&self) -> Arc<ToolSet> {
        self.lock().kit.clone()
    }

    /// Asks the sources for their tools. Costs nothing without sources.
    pub(crate) async fn refresh(&self, setup: &Setup, session: &SessionId) {
        if setup.sources.is_empty() || !self.wants_more() {
            return;
        }
        let asked = setup.sources.iter().map(|source| tools_of(&**source, session).boxed());
        let sources = join_all(asked).await;
        let mut current = self.lock();
        let same = |(a, b)| Arc::ptr_eq(a, b);
        if current.sources.len() != sources.len() || !current.sources.iter().zip(&sources).all(same) {
            current.kit = Arc::new(ToolSet::new(setup, &self.agent, &self.own, &sources));
            current.sources = sources;
        }
    }

    /// An agent that has all the tools it names needs no source.
    fn wants_more(&self) -> bool {
        let names = self.agent.tools.as_deref();
        names.is_none_or(|names| names.iter().any(|name| self.own.get(name).is_none()))
    }

    fn lock(&self) -> MutexGuard<'_, Current> {
        self.current.lock().expect("no code panics while it holds the toolbox")
    }
}
