//! MCP (Model Context Protocol), over the official SDK (`rmcp`), which no other crate uses.
//!
//! [`client`] brings the tools of other people's servers into a session: begin with [`client::Mcp`], a source of tools as
//! `haft-core` defines it. It starts programs with `haft-sandbox` and reaches addresses with `haft-http`.
//!
//! [`server`] lets other programs use Haft: agents, jobs and tools of ours are tools to them. Each call is a turn in a session
//! of its own. It uses `haft-engine` for sessions and `haft-present` for what a question shows. Begin with
//! [`server::HaftServer`] and [`server::Offer`].
//!
//! How it works inside: `README.md` of this crate.

pub mod client;
pub mod server;
