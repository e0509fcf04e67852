//! [`html`]: the totals of a session, at the head of its page.
use super::{
    diff::{self, Contents},
    story::{Item, Turn},
    text::{counted, dollars, duration, escaped, grouped, named, time},
};
use haft::kernel::{Changed, Entry, Fact, Price, SessionOpened, Usage, active_path};
use std::sync::Arc;

/// The name of the session, where it worked and with what, and its totals.
pub(super) fn html(
    entries: &[Arc<Entry>],
    turns: &[Turn],
    title: &str,
    price: Option<Price>,
    contents: Contents<'_>,
) -> String {
    let Some(opened) = SessionOpened::of(entries) else {
        return format!("<header class=\"head\"><h1>{}</h1></header>", named(title));
    };
    let fork = opened.forked_from.as_ref().map(|from| {
        format!(
            "<dt>Forked from</dt><dd><code>{}</code> at entry {}</dd>",
            escaped(&from.session.0),
            from.seq
        )
    });
    format!(
        "<header class=\"head\"><p class=\"brow\">Session</p><h1>{}</h1><dl class=\"facts\"><dt>Model</dt><dd>{}</dd><dt>Directory</dt><dd><code>{}</code></dd><dt>Profile</dt><dd>{}</dd><dt>Begun</dt><dd>{}</dd><dt>Session</dt><dd><code>{}</code></dd>{}</dl><ul class=\"totals\">{}</ul></header>",
        named(title),
        named(&opened.model),
        named(&opened.workspace.to_string_lossy()),
        named(&opened.profile),
        begun(entries),
        escaped(&opened.session.0),
        fork.unwrap_or_default(),
        totals(entries, turns, price, contents)
    )
}

/// Between the first and the last thing that happened lie pauses, too.
fn begun(entries: &[Arc<Entry>]) -> String {
    let first = entries.iter().map(|entry| entry.at).min().unwrap_or_default();
    let last = entries.iter().map(|entry| entry.at).max().unwrap_or_default();
    format!("{}, over {}", time(first), duration(last - first))
}

fn totals(entries: &[Arc<Entry>], turns: &[Turn], price: Option<Price>, contents: Contents<'_>) -> String {
    let usage = usage(entries);
    let items = turns.iter().flat_map(|turn| &turn.items);
    let calls: Vec<bool> = items
        .filter_map(|item| match item {
            Item::Call(call) => Some(call.result.as_ref().is_none_or(|(result, _)| result.went_well())),
            _ => None,
        })
        .collect();
    let failed = calls.iter().filter(|went_well| !**went_well).count();
    let changes = Changed::of(active_path(entries).iter().map(|entry| &entry.fact)).whole();
    let (more, less) = changes
        .iter()
        .map(|change| diff::counts(change, contents))
        .fold((0, 0), |(more, less), (plus, minus)| (more + plus, less + minus));
    let cost = price.map(|price| dollars(price.cost(usage)));
    let prompts = turns.iter().filter(|turn| turn.prompt.is_some()).count();
    let rounds = entries.iter().filter(|entry| matches!(entry.fact, Fact::Replied { .. })).count();
    let read = usage.input + usage.cache_read + usage.cache_write;
    let cells = [
        (grouped(prompts as u64), noun(prompts, "prompt"), counted(rounds, "round")),
        (grouped(calls.len() as u64), noun(calls.len(), "call"), failed_calls(failed)),
        (
            grouped(changes.len() as u64),
            noun(changes.len(), "file") + " changed",
            format!("+{more} −{less} lines"),
        ),
        (
            grouped(usage.total()),
            "tokens".into(),
            format!("{} read, {} written", grouped(read), grouped(usage.output)),
        ),
        (cost.unwrap_or_else(|| "–".into()), "cost".into(), cost_note(price).into()),
    ];
    let cell = |(number, what, more): (String, String, String)| {
        format!("<li><strong>{number}</strong> {what}<span class=\"quiet\">{more}</span></li>")
    };
    cells.map(cell).concat()
}

fn noun(count: usize, what: &str) -> String {
    format!("{what}{}", if count == 1 { "" } else { "s" })
}

fn failed_calls(failed: usize) -> String {
    if failed == 0 { "none failed".into() } else { format!("{} failed", grouped(failed as u64)) }
}

fn cost_note(price: Option<Price>) -> &'static str {
    if price.is_some() { "at the model’s list price" } else { "no price is known" }
}

/// All that was sent and written, requests that were given up and summaries included.
fn usage(entries: &[Arc<Entry>]) -> Usage {
    let mut total = Usage::default();
    for entry in entries {
        match &entry.fact {
            Fact::Replied { usage, .. } | Fact::Retried { usage, .. } | Fact::Compacted { usage, .. } => {
                total += *usage;
            }
            _ => {}
        }
    }
    total
}
