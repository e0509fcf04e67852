//! Confined commands: what they see, reach and change.
mod caches;
mod escape;
mod everyday;
mod network;
mod views;
