//! MCP (Model Context Protocol), over the official SDK (`rmcp`), which no other crate uses: [`client`] and [`server`].
//!
//! [`client`] adds the tools of third-party servers to a session: begin with [`client::Mcp`], a source of tools as
//! `haft-core` defines it. It starts programs with `haft-sandbox` and reaches addresses with `haft-http`.
//!
//! [`server`] lets other programs use Haft: agents, jobs and tools of Haft are tools for them. Each call is a turn in
//! its own session. It uses `haft-engine` for sessions and `haft-present` for the text of questions. Begin with
//! [`server::HaftServer`] and [`server::Offer`].
//!
//! How it works inside: `README.md` of this crate.

pub mod client;
pub mod server;
