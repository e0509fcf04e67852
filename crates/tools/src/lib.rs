//! The hands of an agent: `read`, `write`, `edit`, `bash`.
//!
//! A tool states what it would touch and then does it. It asks nobody, prints nothing and knows no profile:
//! what profiles set comes in through [`Settings`].

mod bash;
mod edit;
mod examples;
mod fetch;
mod files;
mod git;
mod guard;
mod message;
mod passage;
mod read;
mod settings;
mod test;
mod todo;
mod write;

pub use settings::{BashSettings, EditSettings, FetchSettings, Occurrence, ReadSettings, Settings};

use haft_core::Registry;

/// Every tool, of which models are told as `settings` says.
pub fn builtin(settings: &Settings) -> Registry {
    Registry::default()
        .with(read::ReadFile(settings.read.clone()))
        .with(write::WriteFile)
        .with(edit::EditFile(settings.edit.clone()))
        .with(bash::Bash(settings.bash.clone()))
        .with(git::Git)
        .with(test::Test)
        .with(fetch::Fetch::new(settings.fetch.clone()))
        .with(todo::Todo)
        .with(message::Message)
        .offering(&settings.offer)
}
