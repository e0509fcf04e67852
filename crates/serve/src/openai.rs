//! The agent as an OpenAI-compatible endpoint: a request is one turn of a session.
//!
//! A client that sends the whole conversation each time continues its session, as long as this process remembers it;
//! otherwise a new session begins with the earlier messages. The agent uses its own tools: calls run on the server, and
//! the client only sees them.
pub(crate) mod chat;
mod messages;
pub(crate) mod responses;
mod teller;
mod turn;
