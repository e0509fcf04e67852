//! Haft as a server of the Model Context Protocol, and as its client.
mod authorization_server;
mod changed_tools;
mod completion;
mod invalid_entries;
mod listen;
mod manage;
mod mentions;
mod oauth;
mod parallel_calls;
mod peer;
mod project_offers;
mod roots;
mod rules;
mod sampling;
