//! [`Listing`]: all tools of all servers: their names, and which of them are offered to models with their definitions.
use super::{found::Found, search::ToolSearch, server::Server, tool::RemoteTool};
use haft_core::{AnyTool, Registry, SessionId, ToolSpec, clip};
use rmcp::model::Tool;
use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

/// The tools of all servers at one time.
pub(super) struct Listing {
    registry: Arc<Registry>,
    offered: Vec<String>,
    found: Found,
    /// The registries of sessions that have found more tools, each with the number of found tools.
    extended: HashMap<SessionId, (usize, Arc<Registry>)>,
}

impl Listing {
    /// Definitions may take `budget` tokens. If they take more, all tools of a server are left to the search, starting
    /// with the most expensive server.
    pub(super) fn new(servers: &[(Arc<Server>, Arc<[Tool]>)], budget: usize, found: &Found) -> Self {
        let tools = named(servers);
        let deferred = deferred(&tools, budget);
        let is_deferred = |tool: &Arc<RemoteTool>| deferred.contains(tool.server());
        let (late, early): (Vec<_>, Vec<_>) = tools.iter().cloned().partition(is_deferred);
        let mut offered: Vec<String> = early.iter().map(|tool| tool.spec().name.clone()).collect();
        let all = tools.into_iter().map(|tool| tool as Arc<dyn AnyTool>);
        let mut registry = all.fold(Registry::default(), Registry::with_any);
        if !late.is_empty() {
            let search = ToolSearch::new(late, found.clone());
            offered.insert(0, search.spec().name.clone());
            registry.register(Arc::new(search));
        }
        let registry = Arc::new(registry.offering(&offered));
        Self { registry, offered, found: found.clone(), extended: HashMap::new() }
    }

    /// The tools for a session; found ones follow the others.
    pub(super) fn of(&mut self, session: &SessionId) -> Arc<Registry> {
        let found = self.found.of(session);
        if found.is_empty() {
            return self.registry.clone();
        }
        match self.extended.get(session) {
            Some((count, registry)) if *count == found.len() => registry.clone(),
            _ => {
                let offered: Vec<&String> = self.offered.iter().chain(&found).collect();
                let registry = Arc::new(Registry::clone(&self.registry).offering(&offered));
                self.extended.insert(session.clone(), (found.len(), registry.clone()));
                registry
            }
        }
    }
}

fn named(servers: &[(Arc<Server>, Arc<[Tool]>)]) -> Vec<Arc<RemoteTool>> {
    let mut taken = HashSet::new();
    let mut all = Vec::new();
    for (server, tools) in servers {
        for tool in tools.iter() {
            let remote = RemoteTool::new(server, tool, |name| !taken.contains(name));
            taken.insert(remote.spec().name.clone());
            all.push(Arc::new(remote));
        }
    }
    all
}

/// Names of the servers whose tools are left to the search.
fn deferred(tools: &[Arc<RemoteTool>], budget: usize) -> HashSet<String> {
    let mut costs: HashMap<&str, usize> = HashMap::new();
    tools.iter().for_each(|tool| *costs.entry(tool.server()).or_default() += cost(tool.spec()));
    let mut total: usize = costs.values().sum();
    let mut dearest: Vec<(&str, usize)> = costs.into_iter().collect();
    dearest.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(b.0)));
    let mut deferred = HashSet::new();
    for (server, cost) in dearest {
        if total <= budget {
            break;
        }
        total -= cost;
        deferred.insert(server.to_owned());
    }
    deferred
}

fn cost(spec: &ToolSpec) -> usize {
    clip::tokens(&spec.definition().to_string())
}
