//! Which model is asked, how, and what its errors say.
mod cache;
mod clouds;
mod default_model;
pub(crate) mod effort;
mod embedded;
mod error_messages;
mod fallbacks;
mod llama_server;
mod ollama;
mod own_servers;
mod thoughts;
mod unread_calls;
mod wires;
