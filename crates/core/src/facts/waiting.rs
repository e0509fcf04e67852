//! [`waiting_prompts`]: prompts that arrived in the middle of a turn and that no turn has taken up.
use crate::{Entry, Fact};
use std::collections::VecDeque;

/// Returns, as what opens a turn or joins one, what waits in a session of these entries, the oldest first. They are taken
/// up in the order in which they were said. What waited where a fork begins is taken up in the session it comes from.
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
