//! [`program`], [`service`] and [`source`]: make tool sources of MCP servers.
use haft_core::{Access, ToolSource};
use haft_mcp::client::{Mcp, McpServer, McpSettings, ServerRoots, Transport};
use std::{path::Path, sync::Arc, time::Duration};

/// Timeout for starting a server and listing its tools.
const START_TIMEOUT: Duration = Duration::from_secs(30);
/// Timeout for a call without any message.
const CALL_TIMEOUT: Duration = Duration::from_secs(120);
/// The definitions of tools may take this fraction of the model's window; if they would take more, they are found by
/// search.
const WINDOW_DIVISOR: u64 = 4;
/// Tokens that definitions may take if the window is unknown.
const DEFAULT_DEFINITION_TOKENS: usize = 8_000;

/// Receives a sentence about each problem of a server.
pub(crate) type OnNote = Arc<dyn Fn(String) + Send + Sync>;

/// A server that is a program.
pub(crate) fn program(name: String, program: String, arguments: Vec<String>) -> McpServer {
    server(name, Transport::Program { program, arguments, environment: Vec::new() })
}

/// A server at an address.
pub(crate) fn service(name: String, url: String) -> McpServer {
    server(name, Transport::Url { url, headers: Vec::new() })
}

fn server(name: String, transport: Transport) -> McpServer {
    McpServer {
        name,
        transport,
        oauth: None,
        tools: None,
        trust_hints: false,
        roots: ServerRoots::default(),
        sampling: false,
        start_timeout: START_TIMEOUT,
        call_timeout: CALL_TIMEOUT,
    }
}

/// The common source of all servers' tools; `None` if there are no servers.
pub(crate) fn source(
    servers: Vec<McpServer>,
    workspace: &Path,
    access: &Access,
    window: Option<u64>,
    on_note: Option<OnNote>,
) -> Option<Arc<dyn ToolSource>> {
    if servers.is_empty() {
        return None;
    }
    let budget = window
        .and_then(|window| usize::try_from(window / WINDOW_DIVISOR).ok())
        .unwrap_or(DEFAULT_DEFINITION_TOKENS);
    let (workspace, environment) = (workspace.to_owned(), access.environment.clone());
    let on_note = on_note.unwrap_or_else(|| Arc::new(|note| tracing::warn!("{note}")));
    Some(Arc::new(Mcp::new(McpSettings { servers, workspace, environment, budget, on_note })))
}
