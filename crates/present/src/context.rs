//! [`Filling`]: the contents of the model's context window.
use haft_core::{Entry, Message, Transcript, tokens};
use haft_engine::{PrefixSize, Setup};
use std::sync::Arc;

/// A context window and its parts, in tokens. All values but the sum are estimates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Filling {
    /// The size of each part, in the order of a request.
    pub parts: [(&'static str, u64); 5],
    /// The model's window, in tokens; `None` if unknown.
    pub window: Option<u64>,
}

impl Filling {
    /// Counts the context of the conversation in `entries` with `agent`. `counted`: the provider's last count in
    /// tokens, or 0.
    pub fn of(setup: &Setup, agent: &str, entries: &[Arc<Entry>], counted: u64) -> Self {
        let PrefixSize { system, notes, tools } = PrefixSize::of(setup, agent).unwrap_or_default();
        let transcript = Transcript::replay(entries);
        let is_result = |message: &&Arc<Message>| matches!(***message, Message::Tool { .. });
        let size = |messages: Vec<&Arc<Message>>| -> u64 {
            messages.into_iter().map(|message| tokens::of_message(message)).sum()
        };
        let (results, messages) = transcript.messages().iter().partition(is_result);
        let (results, messages) = (size(results), size(messages));
        let sum = (system + notes + tools + messages + results).max(1);
        let as_counted = |part: u64| if counted == 0 { part } else { part * counted / sum };
        let names = ["system prompt", "tools", "notes", "messages", "results"];
        let sizes = [system, tools, notes, messages, results];
        let parts = std::array::from_fn(|place| (names[place], as_counted(sizes[place])));
        Self { parts, window: setup.model.window }
    }

    /// Tokens of all parts.
    pub fn used(&self) -> u64 {
        self.parts.iter().map(|(_, size)| size).sum()
    }

    /// The free part of the window.
    pub fn free(&self) -> Option<u64> {
        self.window.map(|window| window.saturating_sub(self.used()))
    }

    /// The number of `cells` for each part; a part that is not empty gets at least one.
    pub fn cells(&self, cells: usize) -> [usize; 5] {
        let whole = self.window.unwrap_or(self.used()).max(self.used()).max(1);
        self.parts.map(|(_, size)| match size {
            0 => 0,
            size => ((size as u128 * cells as u128 / u128::from(whole)) as usize).max(1),
        })
    }
}
