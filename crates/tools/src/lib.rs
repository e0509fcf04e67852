//! The hands of an agent: `read`, `write`, `edit`, `bash`, and what finds things: `list`, `glob`, `grep`, `search`,
//! `navigate`.
//!
//! A tool states what it would touch and then does it. It asks nobody, prints nothing and knows no profile:
//! what profiles set comes in through [`Settings`].

mod bash;
mod code;
mod edit;
mod examples;
mod files;
mod first;
mod glob;
mod grep;
mod guard;
mod list;
mod navigate;
mod passage;
mod pattern;
mod read;
mod report;
mod search;
mod settings;
mod walk;
mod watch;
mod write;

pub use settings::{BashSettings, EditSettings, FindSettings, Occurrence, ReadSettings, Settings};

use haft_core::Registry;

/// Every tool, of which models are told as `settings` says.
pub fn builtin(settings: &Settings) -> Registry {
    Registry::default()
        .with(read::ReadFile(settings.read.clone()))
        .with(write::WriteFile)
        .with(edit::EditFile(settings.edit.clone()))
        .with(bash::Bash(settings.bash.clone()))
        .with(list::List(settings.find.clone()))
        .with(glob::Glob(settings.find.clone()))
        .with(grep::Grep(settings.find.clone()))
        .with(search::Search(settings.find.clone()))
        .with(navigate::Navigate(settings.find.clone()))
        .offering(&settings.offer)
}
