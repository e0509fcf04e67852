//! [`LiveToolSet`]: the tools of a session: those it opened with, and those of sources, which come and go.
use super::prefix::RequestPrefix;
use crate::setup::{Agent, Setup};
use futures::future::join_all;
use haft_core::{Registry, SessionId};
use std::sync::{Arc, Mutex, MutexGuard};

/// What a session can call and what models are shown of it, in step.
pub(crate) struct ToolSet {
    pub(crate) tools: Registry,
    pub(crate) prefix: RequestPrefix,
}

impl ToolSet {
    /// What `own` and `sources` have of the agent's tools.
    pub(crate) fn new(setup: &Setup, agent: &Agent, own: &Registry, sources: &[Arc<Registry>]) -> Self {
        let tools = sources.iter().fold(own.clone(), |tools, source| tools.joined(source));
        let tools = match &agent.tools {
            // What ends its jobs can be called in its place, and so must be there.
            Some(names) => {
                let ending = tools.only(agent.done.as_slice()).offering::<&str>(&[]);
                tools.only(names).joined(&ending)
            }
            None => tools,
        };
        Self { prefix: RequestPrefix::new(setup, agent, &tools), tools }
    }
}

/// The kit of the moment. It is made anew where a source says something new, and else stays the same.
pub(crate) struct LiveToolSet {
    agent: Agent,
    own: Registry,
    current: Mutex<Current>,
}

struct Current {
    kit: Arc<ToolSet>,
    /// What the sources said last.
    sources: Vec<Arc<Registry>>,
}

impl LiveToolSet {
    /// With `kit`, which is what `own` has of the agent's tools. Asks no source yet.
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
        let sources = join_all(setup.sources.iter().map(|source| source.tools(session))).await;
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
