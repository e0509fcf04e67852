//! [`of`]: writes a session as Markdown.
use haft_core::{Answer, Entry, Fact, Part, SessionOpened, active_path};
use haft_present::{
    counted,
    preview::{PREVIEW_LINES, preview},
    safe,
    timeline::{Aside, Item, Replies, Timeline},
};
use std::sync::Arc;

/// The conversation as Markdown, without what was undone.
pub fn of(entries: &[Arc<Entry>]) -> String {
    let mut timeline = Timeline::with(Replies::Once);
    let told = active_path(entries).into_iter().map(|entry| match &entry.fact {
        Fact::SessionOpened(SessionOpened { session, model, workspace, .. }) => {
            format!("# Session {session}\n\nModel `{model}` in `{}`.\n", workspace.display())
        }
        fact => {
            let items = timeline.fact(entry.at, fact);
            // Questions are written elsewhere.
            let others = items.iter().filter(|_| !matches!(fact, Fact::QuestionAnswered { .. }));
            answered(fact) + &others.map(markdown).collect::<String>()
        }
    });
    safe::text(&told.collect::<String>()).into_owned()
}

/// The user's answer to a call that needed an approval.
fn answered(fact: &Fact) -> String {
    let (what, by) = match fact {
        Fact::QuestionAnswered { answer, by, .. } => (answer.as_deref().unwrap_or("none"), by),
        Fact::ApprovalAnswered { answer, by, .. } => {
            let what = match answer {
                Answer::Once => "allowed",
                Answer::Always => "allowed, and such calls from here on",
                Answer::No => "refused",
                Answer::Unanswered => "none",
                Answer::NotUnderstood => "not understood",
            };
            (what, by)
        }
        _ => return String::new(),
    };
    let by = by.as_deref().map_or(String::new(), |by| format!(" ({by})"));
    format!("\n**Answer{by}:** {what}\n")
}

fn markdown(item: &Item) -> String {
    match item {
        Item::Prompt { text, .. } => format!("\n## Prompt\n\n{text}\n"),
        Item::Replied { parts } => parts.iter().map(part).collect(),
        Item::Call(call) => {
            let mark = if call.result.went_well() { "✓" } else { "✗" };
            let shown = preview(&call.result, PREVIEW_LINES, "").join("\n");
            format!("\n{mark} `{}`\n\n{}", call.made.name, fenced(&shown))
        }
        Item::Changed { changes, .. } => changes
            .iter()
            .map(|change| format!("\n- `{}`: {:?}\n", change.path.display(), change.kind()))
            .collect(),
        Item::Aside { about: Aside::Unsettled(paths), .. } => {
            paths.iter().map(|path| format!("\n- `{}`: left as it was\n", path.display())).collect()
        }
        Item::Note(text) => format!("\n*{text}*\n"),
        Item::Denied { reason } => format!("\n**A prompt was refused:** {reason}\n"),
        Item::Failure { message, .. } => format!("\n**The model could not be asked:** {message}\n"),
        Item::Ended { outcome, rounds, .. } => {
            format!("\n*{outcome:?} after {}.*\n", counted(*rounds, "round", "rounds"))
        }
        _ => String::new(),
    }
}

fn part(part: &Part) -> String {
    match part {
        Part::Text { text } => format!("\n{text}\n"),
        Part::ToolCall(call) => format!("\n`{}` {}", call.name, fenced(&format!("{:#}", call.arguments))),
        Part::Thinking { .. } | Part::Image(_) | Part::Document(_) => String::new(),
    }
}

/// Encloses text in a fence that is longer than any fence inside.
fn fenced(text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or_default();
    let fence = "`".repeat(longest.max(2) + 1);
    format!("\n{fence}\n{text}\n{fence}\n")
}
