//! Adds MCP servers to an agent.
use super::Builder;
use haft_mcp::client::{McpServer, Way};
use std::time::Duration;

/// How long a server may take to start and to tell its tools.
const START: Duration = Duration::from_secs(30);
/// How long a call may be silent.
const CALL: Duration = Duration::from_secs(120);

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
