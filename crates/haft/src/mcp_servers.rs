//! Tools of MCP servers.
use crate::Builder;
use haft_core::{Access, ToolSource};
use haft_mcp::client::{Mcp, McpServer, McpSettings, Way};
use std::{path::Path, sync::Arc, time::Duration};

/// How long a server may take to start and to tell its tools.
const START: Duration = Duration::from_secs(30);
/// How long a call may be silent.
const CALL: Duration = Duration::from_secs(120);
/// Definitions of tools may take this part of the model's window; the rest is found by search.
const SHARE: u64 = 4;
/// Tokens that definitions may take where nobody knows the window.
const BUDGET: usize = 8_000;

impl Builder {
    /// Adds the tools of an MCP server that is a program. It starts with the first turn, and its tools are called
    /// `mcp__NAME__TOOL`.
    pub fn mcp_program<S: Into<String>>(
        self,
        name: impl Into<String>,
        program: impl Into<String>,
        arguments: impl IntoIterator<Item = S>,
    ) -> Self {
        let arguments = arguments.into_iter().map(Into::into).collect();
        let way = Way::Program { program: program.into(), arguments, environment: Vec::new() };
        self.mcp_server(server(name.into(), way))
    }

    /// Adds the tools of an MCP server that is reached at this address over Streamable HTTP.
    pub fn mcp_url(self, name: impl Into<String>, url: impl Into<String>) -> Self {
        self.mcp_server(server(name.into(), Way::Url { url: url.into(), headers: Vec::new() }))
    }

    /// Adds the tools of an MCP server, with all that can be set.
    pub fn mcp_server(mut self, server: McpServer) -> Self {
        self.servers.push(server);
        self
    }
}

fn server(name: String, way: Way) -> McpServer {
    McpServer { name, way, tools: None, trust_hints: false, start_timeout: START, call_timeout: CALL }
}

/// The one source of all servers' tools; none where there are no servers.
pub(crate) fn source(
    servers: Vec<McpServer>,
    workspace: &Path,
    access: &Access,
    window: Option<u64>,
) -> Option<Arc<dyn ToolSource>> {
    if servers.is_empty() {
        return None;
    }
    let budget = window.and_then(|window| usize::try_from(window / SHARE).ok()).unwrap_or(BUDGET);
    let (workspace, environment) = (workspace.to_owned(), access.environment.clone());
    // A server that cannot be started is missing from the tools; a program has no person to tell.
    let on_note = Arc::new(|_note: String| {});
    Some(Arc::new(Mcp::new(McpSettings { servers, workspace, environment, budget, on_note })))
}
