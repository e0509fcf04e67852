//! The hands of an agent: `read`, `write`, `edit`, `bash` and their like.
//!
//! A tool states what it would touch and then does it. It asks nobody, prints nothing and knows no profile:
//! what profiles set comes in through [`Settings`].

mod apply_patch;
mod ask;
mod bash;
mod code_edit;
mod delegate;
mod edit;
mod examples;
mod fetch;
mod file;
mod files;
mod git;
mod guard;
mod job;
mod message;
mod multi_edit;
mod read;
mod settings;
mod test;
mod todo;
mod write;

pub use settings::{
    BashSettings, EditSettings, FetchSettings, Occurrence, OnTimeout, ReadSettings, Settings,
};

use haft_core::{Registry, ToolError};

/// Every tool, of which models are told as `settings` says.
pub fn builtin(settings: &Settings) -> Registry {
    Registry::default()
        .with(read::ReadFile(settings.read.clone()))
        .with(write::WriteFile)
        .with(edit::EditFile(settings.edit.clone()))
        .with(multi_edit::MultiEdit(settings.edit.clone()))
        .with(apply_patch::ApplyPatch)
        .with(code_edit::CodeEdit)
        .with(file::File(settings.read.clone()))
        .with(bash::Bash(settings.bash.clone()))
        .with(job::LookAtJob)
        .with(ask::Ask)
        .with(delegate::Delegate)
        .with(git::Git)
        .with(test::Test)
        .with(fetch::Fetch::new(settings.fetch.clone()))
        .with(todo::Todo)
        .with(message::Message)
        .offering(&settings.offer)
}

/// How many operations a patch has that `apply_patch` would apply, or why it cannot be read. For checks against
/// other readers of the format.
pub fn operations_of_patch(patch: &str) -> Result<usize, ToolError> {
    apply_patch::operations(patch)
}
