//! Confined commands: what they see, reach and change.
mod escape;
mod everyday;
mod network;
mod views;
