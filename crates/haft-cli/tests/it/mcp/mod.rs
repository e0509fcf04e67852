//! Haft as a server of the Model Context Protocol, and as its client.
mod listen;
mod manage;
mod parallel_calls;
mod peer;
