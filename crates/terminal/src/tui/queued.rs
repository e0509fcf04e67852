//! [`waiting`]: shows prompts that wait for the next request.
use haft_core::{Entry, Fact, text_of, waiting_prompts};
use std::{collections::VecDeque, sync::Arc};

/// What a person said.
pub(super) fn words(fact: &Fact) -> Option<String> {
    match fact {
        Fact::Prompted { parts, .. }
        | Fact::PromptQueued { parts, .. }
        | Fact::PromptDenied { parts, .. } => Some(text_of(parts)),
        _ => None,
    }
}

/// What was said in a session and is not taken up yet.
pub(super) fn waiting(entries: &[Arc<Entry>]) -> VecDeque<String> {
    waiting_prompts(entries.iter().map(Arc::as_ref)).iter().filter_map(words).collect()
}
