//! [`waiting_prompts`]: prompts that arrived in the middle of a turn and still wait.
use crate::{Entry, Fact};
use std::collections::VecDeque;

/// Returns the waiting prompts of a session with these entries as facts that open or join a turn, the oldest first, in
/// the order of their processing. Prompts that waited where a fork begins belong to the session that it was forked
/// from.
pub fn waiting_prompts<'a>(entries: impl IntoIterator<Item = &'a Entry>) -> Vec<Fact> {
    let (mut waiting, mut taken_over) = (VecDeque::new(), None);
    for entry in entries {
        match &entry.fact {
            Fact::SessionOpened(opened) => taken_over = opened.forked_from.as_ref().map(|from| from.seq),
            _ if taken_over.is_some_and(|last| entry.seq <= last) => {}
            Fact::PromptQueued { parts, channel } => {
                waiting.push_back(Fact::Prompted { parts: parts.clone(), channel: channel.clone() });
            }
            Fact::Prompted { .. } | Fact::PromptDenied { .. } => {
                waiting.pop_front();
            }
            Fact::PromptWithdrawn => {
                waiting.pop_back();
            }
            _ => {}
        }
    }
    waiting.into()
}
