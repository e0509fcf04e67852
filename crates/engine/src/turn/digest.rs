//! [`digest`]: writes a conversation as a text, as the summary if no model can summarize it. [`told`]: the same for a
//! model that summarizes it.
use haft_core::{
    ChangeKind, Changed, Entry, Fact, Message, Part, ToolCall, active_path, clip, text_of, tokens,
};
use std::{collections::BTreeMap, fmt::Write, sync::Arc};

/// Maximum bytes of a result or of a call's arguments in a digest: enough to see the outcome.
const MAX_EXCERPT_BYTES: usize = 600;
/// Maximum prompts and results in a digest, the last ones.
const MAX_DIGEST_ITEMS: usize = 12;

/// Writes the messages one after the other, in at most about `tokens` tokens.
pub(crate) fn told(messages: &[Arc<Message>], tokens: u64) -> String {
    let told: Vec<String> = messages.iter().map(|message| of_message(message)).collect();
    tokens::fit(&told.join("\n\n"), tokens, "")
}

fn of_message(message: &Message) -> String {
    match message {
        Message::User { parts } => format!("## Person\n{}", text_of(parts)),
        Message::Assistant { parts } => format!("## You\n{}", parts.iter().map(of_part).collect::<String>()),
        Message::Tool { name, result, .. } => format!("## Result of {name}\n{}", glance(&result.content)),
    }
}

fn of_part(part: &Part) -> String {
    match part {
        Part::Text { text } => text.clone(),
        Part::ToolCall(call) => format!("\n[call: {}]", in_words(call)),
        Part::Thinking { .. } | Part::Image(_) | Part::Document(_) => String::new(),
    }
}

fn in_words(call: &ToolCall) -> String {
    format!("{} {}", call.name, glance(&call.arguments.to_string()))
}

fn glance(text: &str) -> String {
    clip::Clip { lines: 40, bytes: MAX_EXCERPT_BYTES, keep: clip::Keep::Both }.apply(text.trim(), "")
}

/// Summarizes prompts, calls and results by rules, in at most about `tokens` tokens.
pub(crate) fn digest(entries: &[Arc<Entry>], tokens: u64) -> String {
    let path = active_path(entries);
    let facts: Vec<&Fact> = path.iter().map(|entry| &entry.fact).collect();
    let sections = [
        ("What the person asked", last(&facts, prompt)),
        ("Calls so far", calls(&facts)),
        ("What you said last", last(&facts, said).pop().into_iter().collect()),
        ("The last results", last(&facts, result)),
    ];
    let mut text = String::new();
    for (title, lines) in sections.into_iter().filter(|(_, lines)| !lines.is_empty()) {
        let _a_string_takes_all = writeln!(text, "{title}:\n- {}\n", lines.join("\n- "));
    }
    tokens::fit(text.trim_end(), tokens, "")
}

/// The files that calls have changed, in one line; `None` for none.
pub(crate) fn changed_files(entries: &[Arc<Entry>]) -> Option<String> {
    let mut changed = Changed::of(active_path(entries).into_iter().map(|entry| &entry.fact)).whole();
    changed.sort_by(|one, other| one.path.cmp(&other.path));
    let files =
        changed.iter().map(|change| format!("`{}` ({})", change.path.display(), of_kind(change.kind())));
    let files: Vec<String> = files.collect();
    (!files.is_empty()).then(|| format!("Files changed in this session: {}", files.join(", ")))
}

fn of_kind(kind: ChangeKind) -> &'static str {
    match kind {
        ChangeKind::Created => "created",
        ChangeKind::Modified => "modified",
        ChangeKind::Deleted => "deleted",
    }
}

/// The last things of one kind, oldest first.
fn last(facts: &[&Fact], wanted: fn(&Fact) -> Option<String>) -> Vec<String> {
    let mut found: Vec<String> =
        facts.iter().rev().filter_map(|fact| wanted(fact)).take(MAX_DIGEST_ITEMS).collect();
    found.reverse();
    found
}

fn prompt(fact: &Fact) -> Option<String> {
    match fact {
        Fact::Prompted { parts, .. } => Some(glance(&text_of(parts))),
        _ => None,
    }
}

fn said(fact: &Fact) -> Option<String> {
    match fact {
        Fact::Replied { parts, .. } => Some(glance(&text_of(parts))).filter(|text| !text.is_empty()),
        _ => None,
    }
}

fn result(fact: &Fact) -> Option<String> {
    match fact {
        Fact::ToolEnded { name, result, .. } => {
            let mark = if result.is_ok() { "" } else { " (failed)" };
            Some(format!("{name}{mark}: {}", glance(&result.content)))
        }
        _ => None,
    }
}

/// `read × 12`
fn calls(facts: &[&Fact]) -> Vec<String> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for fact in facts {
        if let Fact::ToolEnded { name, .. } = fact {
            *counts.entry(name).or_default() += 1;
        }
    }
    counts.into_iter().map(|(name, count)| format!("{name} × {count}")).collect()
}
