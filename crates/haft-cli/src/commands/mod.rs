//! One file for each command.

mod account;
pub(crate) mod acp;
pub(crate) mod agents;
pub(crate) mod check;
pub(crate) mod config;
pub(crate) mod doctor;
pub(crate) mod help;
mod input;
mod interruptible;
pub(crate) mod jobs;
pub(crate) mod login;
mod look;
pub(crate) mod manual;
pub(crate) mod mcp;
pub(crate) mod models;
pub(crate) mod parse;
pub(crate) mod policy;
pub(crate) mod profiles;
pub(crate) mod prompts;
pub(crate) mod run;
pub(crate) mod sessions;
mod table;
pub(crate) mod talk;
pub(crate) mod telegram;
pub(crate) mod tools;
pub(crate) mod undo;
mod welcome;
