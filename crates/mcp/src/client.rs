//! [`Mcp`]: the tools of MCP servers: programs and services of third parties (MCP: Model Context Protocol), over the
//! official SDK.
//!
//! Servers are data ([`McpServer`]). None is started before a session's first round asks for tools; one that dies is
//! started again with the next call. The effects of its tools are unknown: each is a command to the policy, unless the
//! user trusts the server's hints about them. A server is told the paths of the workspace or other folders, and nothing
//! else of the conversation.

mod calls;
mod completion;
mod elicit;
mod found;
mod limited;
mod link;
mod listing;
mod mentions;
mod oauth;
mod probe;
mod repaired;
mod result;
mod roots;
mod sampling;
mod search;
mod server;
mod settings;
mod tool;
mod words;

pub use oauth::{
    BrowserLogin, DeviceLogin, LoggedOut, Login, LoginError, LoginWay, is_logged_in, login, logout,
};
pub use probe::{Probe, ProbeError, probe};
pub use settings::{McpServer, McpSettings, OAuth, ServerRoots, Transport};

use found::Found;
use futures::future::{BoxFuture, join_all};
use haft_core::{Completions, Part, Registry, SessionId, ToolSource};
use listing::Listing;
use parking_lot::Mutex;
use rmcp::model::Tool;
use server::Server;
use std::{collections::HashSet, sync::Arc};

/// The tools of all servers. Dropping it ends the programs that it started.
pub struct Mcp {
    servers: Vec<Arc<Server>>,
    budget: usize,
    found: Found,
    state: Mutex<State>,
}

struct State {
    lists: Vec<Arc<[Tool]>>,
    listing: Listing,
    /// Sessions that have asked for tools before.
    sessions: HashSet<SessionId>,
}

impl Mcp {
    /// Creates the servers without starting any.
    pub fn new(settings: McpSettings) -> Self {
        let McpSettings { servers, workspace, environment, budget, on_note } = settings;
        let server =
            |server| Arc::new(Server::new(server, workspace.clone(), environment.clone(), on_note.clone()));
        let (servers, found) = (servers.into_iter().map(server).collect(), Found::default());
        let listing = Listing::new(&[], budget, &found);
        let state = Mutex::new(State { lists: Vec::new(), listing, sessions: HashSet::new() });
        Self { servers, budget, found, state }
    }
}

impl Mcp {
    /// Texts about the servers that the user can type: `/SERVER:PROMPT ARGUMENTS` for each prompt, and `@SERVER:URI`
    /// for each resource. Servers that do not answer are left out.
    pub async fn mentions(&self) -> Vec<String> {
        let all = join_all(self.servers.iter().map(|server| mentions::of(server))).await;
        all.into_iter().flatten().collect()
    }
}

impl ToolSource for Mcp {
    /// The tools for a session. A server that could not be started is tried again for the next session.
    fn tools<'a>(&'a self, session: &'a SessionId) -> BoxFuture<'a, Arc<Registry>> {
        Box::pin(async move {
            let is_new = !self.state.lock().sessions.contains(session);
            let lists = join_all(self.servers.iter().map(|server| server.tools(is_new))).await;
            let mut state = self.state.lock();
            state.sessions.insert(session.clone());
            let is_same = |(a, b)| Arc::ptr_eq(a, b);
            if state.lists.len() != lists.len() || !state.lists.iter().zip(&lists).all(is_same) {
                let servers: Vec<_> = self.servers.iter().cloned().zip(lists.iter().cloned()).collect();
                state.listing = Listing::new(&servers, self.budget, &self.found);
                state.lists = lists;
            }
            state.listing.of(session)
        })
    }

    fn resolve<'a>(&'a self, prompt: &'a str) -> BoxFuture<'a, Result<Option<Vec<Part>>, String>> {
        Box::pin(mentions::resolve(&self.servers, prompt))
    }

    fn complete<'a>(&'a self, typed: &'a str) -> BoxFuture<'a, Option<Completions>> {
        Box::pin(completion::complete(&self.servers, typed))
    }
}
