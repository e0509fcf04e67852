//! [`OutboxWish`]: parses the text after `/outbox`, in the same way in all front-ends.
use crate::safe;
use haft_core::{Command, Entry, OutboxItem, arguments_in_brief, outbox};
use std::sync::Arc;

/// What to do with the outbox of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OutboxWish {
    /// List the items.
    List,
    /// Send items.
    Send {
        /// Their IDs, or the numbers at the ends of these.
        items: Vec<String>,
        /// Whether to send items again if it is unknown whether they arrived.
        again: bool,
    },
    /// Drop items.
    Drop(Vec<String>),
}

impl OutboxWish {
    /// Parses the text after `/outbox`: nothing, `list`, `send ID…`, `send --again ID…` or `drop ID…`. The error says
    /// what can be typed.
    pub fn read(text: &str) -> Result<Self, String> {
        let words: Vec<&str> = text.split_whitespace().collect();
        let names = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
        match &words[..] {
            [] | ["list"] => Ok(Self::List),
            ["send", "--again", items @ ..] if !items.is_empty() => {
                Ok(Self::Send { items: names(items), again: true })
            }
            ["send", items @ ..] if !items.is_empty() && !items.contains(&"--again") => {
                Ok(Self::Send { items: names(items), again: false })
            }
            ["drop", items @ ..] if !items.is_empty() => Ok(Self::Drop(names(items))),
            _ => Err(format!(
                "`/outbox {text}` means nothing; type `/outbox`, `/outbox send ID`, `/outbox send --again ID` or \
                 `/outbox drop ID`"
            )),
        }
    }

    /// The commands for a session with these entries; empty if the items are only listed. If one of the commands is
    /// impossible, the error says why, and no command is returned.
    pub fn commands(self, entries: &[Arc<Entry>]) -> Result<Vec<Command>, String> {
        match self {
            Self::List => Ok(Vec::new()),
            Self::Send { items, again } => {
                let send = |named: &String| {
                    let item = item_of(entries, named);
                    outbox::to_send(entries, &item, again)?;
                    Ok(Command::SendItem { item, again, by: None })
                };
                items.iter().map(send).collect()
            }
            Self::Drop(items) => {
                let drop = |named: &String| {
                    let item = item_of(entries, named);
                    outbox::to_drop(entries, &item)?;
                    Ok(Command::DropItem { item, by: None })
                };
                items.iter().map(drop).collect()
            }
        }
    }
}

/// The ID of an item that the user named by its number.
fn item_of(entries: &[Arc<Entry>], named: &str) -> String {
    let number = format!("-{named}");
    let found = outbox::outbox(entries).into_iter().find(|item| item.id.ends_with(&number));
    found.map_or_else(|| named.to_owned(), |item| item.id)
}

/// The items of a session with these entries, one per line.
pub fn list(entries: &[Arc<Entry>]) -> String {
    let items: Vec<String> = outbox::outbox(entries).iter().map(line).collect();
    if items.is_empty() { "the outbox is empty".to_owned() } else { items.join("\n") }
}

/// The state of the tests when the item was queued.
pub const fn tests(item: &OutboxItem) -> &'static str {
    match &item.evidence {
        None => "not run",
        Some(tests) if !tests.ok => "failed",
        Some(tests) if tests.is_outdated => "passed before the last change",
        Some(_) => "passed",
    }
}

/// All arguments of the call that sends the item, one per line.
pub fn whole_call(item: &OutboxItem) -> String {
    let all = item.sends.arguments.as_object().into_iter().flatten();
    let lines = all.map(|(name, value)| {
        let value = value.as_str().map_or_else(|| value.to_string(), ToOwned::to_owned);
        format!("{name}: {}", value.trim_end().replace('\n', "\n    "))
    });
    safe::text(&lines.collect::<Vec<_>>().join("\n")).into_owned()
}

fn line(item: &OutboxItem) -> String {
    let OutboxItem { id, state, kind, target, tool, arguments, .. } = item;
    let call = format!("{tool} {}", arguments_in_brief(arguments));
    safe::name(&format!("{id}  {state}  {kind} {target}  {}", call.trim_end())).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wish_names_items() {
        let send = |again| Ok(OutboxWish::Send { items: vec!["a-1".into(), "2".into()], again });
        let table = [
            ("", Ok(OutboxWish::List)),
            ("list", Ok(OutboxWish::List)),
            ("send a-1 2", send(false)),
            ("send --again a-1 2", send(true)),
            ("drop 3", Ok(OutboxWish::Drop(vec!["3".into()]))),
        ];
        for (text, expected) in table {
            assert_eq!(OutboxWish::read(text), expected, "{text}");
        }
        for text in ["send", "send --again", "drop", "all"] {
            assert!(OutboxWish::read(text).is_err(), "{text}");
        }
    }
}
