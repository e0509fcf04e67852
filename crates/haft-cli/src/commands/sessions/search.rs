//! [`search`] (`haft sessions search`): finds sessions by the text of their messages.
use haft_app::Failure;
use haft_core::{Entry, Fact, text_of};
use haft_engine::{Home, Summary};
use haft_present::{age::age, safe};
use haft_terminal::Exit;
use haft_terminal::table::Table;
use serde_json::json;
use std::{
    io::{Write, stdout},
    sync::Arc,
};

/// Number of characters shown around a match.
const CONTEXT_CHARACTERS: usize = 40;

/// The sessions, newest first, in which `text` occurs (case-insensitive), each with its first occurrence.
pub(super) fn search(home: &Home, text: &str, json: bool) -> Result<Exit, Failure> {
    let wanted = text.to_lowercase();
    let mut table = Table::of_ids(["SESSION", "LAST USED", "SAID"]);
    for Summary { id, last_at, .. } in home.list() {
        let Ok(entries) = home.peek(&id.0) else { continue };
        let Some((seq, said)) = entries.iter().find_map(|entry| found(entry, &wanted)) else { continue };
        if json {
            let line = json!({"session": id, "last_at": last_at, "seq": seq, "text": said});
            writeln!(stdout(), "{}", safe::json(&line.to_string()))?;
        } else {
            table.row([id.0, age(last_at), said]);
        }
    }
    if !json {
        table.print(&format!("No session contains `{text}`."))?;
    }
    Ok(Exit::Success)
}

fn found(entry: &Arc<Entry>, wanted: &str) -> Option<(u64, String)> {
    let (Fact::Prompted { parts, .. } | Fact::Replied { parts, .. }) = &entry.fact else { return None };
    let said = text_of(parts);
    // Positions are counted in characters, because the other case of a letter may have another length in bytes.
    let lower = said.to_lowercase();
    let place = lower[..lower.find(wanted)?].chars().count();
    let (from, length) =
        (place.saturating_sub(CONTEXT_CHARACTERS), wanted.chars().count() + 2 * CONTEXT_CHARACTERS);
    let around: String = said.chars().skip(from).take(length).collect();
    Some((entry.seq.0, around.split_whitespace().collect::<Vec<_>>().join(" ")))
}
