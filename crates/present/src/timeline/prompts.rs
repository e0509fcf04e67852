//! [`Prompts`]: the prompts of the conversation, by which the timeline names what an undo took back.
use crate::safe;
use haft_core::{Channel, Direction, Entry, Fact, Seq, text_of};

/// Maximum characters of a prompt's first line.
const MAX_CHARS: usize = 60;

/// The prompts that belong to the conversation, and those that undos took back.
#[derive(Debug, Default)]
pub(super) struct Prompts {
    /// The entry and the first line of each, oldest first.
    told: Vec<(Seq, String)>,
    /// The prompts that each undo took back. A redo brings back the last ones.
    undone: Vec<Vec<(Seq, String)>>,
}

impl Prompts {
    /// Applies an entry. For the undo or redo of whole turns, returns the first prompt that it took or brought back.
    pub(super) fn apply(&mut self, entry: &Entry) -> Option<String> {
        match &entry.fact {
            Fact::Prompted { parts, channel } if !channel.as_ref().is_some_and(Channel::is_reminder) => {
                self.undone.clear();
                self.told.push((entry.seq, first_line(&text_of(parts))));
                None
            }
            Fact::Rewound { way, .. } => {
                // The undo of a single call leaves the conversation where it is.
                let to = entry.parent?;
                let moved = match way {
                    Direction::Undo => self.told.split_off(self.told.partition_point(|(seq, _)| *seq <= to)),
                    Direction::Redo => self.undone.pop()?,
                };
                let first = moved.first().map(|(_, line)| line.clone());
                match way {
                    Direction::Undo => self.undone.push(moved),
                    Direction::Redo => self.told.extend(moved),
                }
                first
            }
            _ => None,
        }
    }
}

fn first_line(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default();
    let short: String = line.chars().take(MAX_CHARS).collect();
    let more = if short.len() < text.len() { "…" } else { "" };
    safe::name(&short).into_owned() + more
}
