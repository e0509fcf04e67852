//! The agent as an OpenAI-compatible endpoint: a request is a turn in a session.
//!
//! A client that sends the whole conversation each time continues in its session, as long as this process knows it;
//! otherwise a new session begins with what was said before. Calls are the agent's own: they run here, and the client
//! sees them happen.
pub(crate) mod chat;
mod messages;
pub(crate) mod responses;
mod teller;
mod turn;
