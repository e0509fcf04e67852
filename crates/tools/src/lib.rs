//! [`builtin`]: the built-in tools of an agent: files, patches, search, commands, git, tests, the web.
//!
//! A tool states its effects, and then has them. It asks for no approval, prints nothing, and does not know the
//! profile: profiles configure it through [`Settings`].

mod aliases;
mod apply_patch;
mod ask;
mod bash;
mod code;
mod code_edit;
mod delegate;
mod edit;
mod examples;
mod fetch;
mod file;
mod files;
mod first;
mod git;
mod github;
mod glob;
mod grep;
mod guard;
mod hooks;
mod job;
mod list;
mod lsp;
mod memory;
mod message;
mod multi_edit;
mod navigate;
mod pattern;
mod pdf;
mod read;
mod report;
mod review;
mod search;
mod settings;
mod skill;
mod test;
mod todo;
mod triage;
mod walk;
mod watch;
mod web_search;
mod write;

pub use guard::refusal;
pub use hooks::{
    BadHook, HookEvent, HookSettings, OnFailure, OwnHooks, PluginHook, PluginHooks, can_confine,
};
pub use lsp::{LANGUAGE_TOOLS, language_tools};
pub use pdf::{MAX_PDF_BYTES, PdfError, PdfText, pdf_text, serve_pdf};
pub use settings::{
    BashSettings, EditSettings, FetchSettings, FindSettings, Occurrence, OnTimeout, PublishSettings,
    ReadSettings, Settings, WebSearchSettings,
};
pub use web_search::{recorded_web_search, search_engines};

use haft_core::{Registry, Tool, ToolError};

/// Returns all tools, with the descriptions for models that `settings` selects.
pub fn builtin(settings: &Settings) -> Registry {
    let tools = Registry::default()
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
        .with(git::Publish(settings.publish.clone()))
        .with(review::Review(settings.publish.clone()))
        .with(triage::Triage)
        .with(test::Test)
        .with(fetch::Fetch::new(settings.fetch.clone()))
        .with(todo::Todo)
        .with(message::Message)
        .with(list::List(settings.find.clone()))
        .with(glob::Glob(settings.find.clone()))
        .with(grep::Grep(settings.find.clone()))
        .with(search::Search(settings.find.clone()))
        .with(navigate::Navigate(settings.find.clone()));
    let tools = match settings.skills.is_empty() {
        true => tools,
        false => tools.with(skill::ReadSkill(settings.skills.clone())),
    };
    let tools = match settings.web_search.engine {
        None => tools,
        Some(_) => tools.with(web_search::WebSearch::new(settings.web_search.clone())),
    };
    let tools = match settings.only_offered {
        true => tools.offering_only(&settings.offer),
        false => tools.offering(&settings.offer),
    };
    // Not offered to models: the user calls it, in any profile.
    let tools = tools.joined(&Registry::default().with(memory::Memory).offering::<&str>(&[]));
    settings.present.iter().fold(tools, |tools, (name, how)| tools.presenting(name, how.clone()))
}

/// The name of the tool that returns the texts of skills. It is missing if there are no skills.
pub const SKILL: &str = skill::ReadSkill::NAME;

/// The name of the tool that searches the web. It is missing if no search engine was chosen.
pub const WEB_SEARCH: &str = web_search::WebSearch::NAME;

/// Returns the number of operations in a patch if `apply_patch` would accept it, otherwise why it cannot be parsed. For
/// comparison with other parsers of the format.
pub fn operations_of_patch(patch: &str) -> Result<usize, ToolError> {
    apply_patch::operations(patch)
}
