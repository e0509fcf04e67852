//! MCP (Model Context Protocol), over the official SDK (`rmcp`), which is named nowhere else.
//!
//! [`server`] lets other programs use Haft: agents, jobs and tools of ours are tools to them. Each call is a turn in a session
//! of its own. It uses `haft-engine` for sessions and `haft-present` for what a question shows. Begin with
//! [`server::McpServer`] and [`server::Offer`].

pub mod server;
