//! [`of`]: writes a session as Markdown.
use haft::{
    kernel::{Entry, Fact, Part, SessionOpened, active_path},
    present::{
        safe,
        words::{PREVIEW_LINES, preview},
    },
};
use std::sync::Arc;

/// What was said and done, without what was taken back.
pub(crate) fn of(entries: &[Arc<Entry>]) -> String {
    active_path(entries).iter().map(|entry| safe::text(&markdown(&entry.fact)).into_owned()).collect()
}

fn markdown(fact: &Fact) -> String {
    match fact {
        Fact::SessionOpened(SessionOpened { session, model, workspace, .. }) => {
            format!("# Session {session}\n\nModel `{model}` in `{}`.\n", workspace.display())
        }
        Fact::Prompted { parts, .. } => format!("\n## Prompt\n\n{}\n", haft::kernel::text_of(parts)),
        Fact::Replied { parts, .. } => parts.iter().map(part).collect(),
        Fact::ToolEnded { name, result, .. } => {
            let mark = if result.went_well() { "✓" } else { "✗" };
            format!("\n{mark} `{name}`\n\n{}", fenced(&preview(result, PREVIEW_LINES, "").join("\n")))
        }
        Fact::Staged { changes, .. } | Fact::ChangedBelow { changes, .. } => changes
            .iter()
            .map(|change| format!("\n- `{}`: {:?}\n", change.path.display(), change.kind()))
            .collect(),
        Fact::Unsettled { paths, .. } => {
            paths.iter().map(|path| format!("\n- `{}`: left as it was\n", path.display())).collect()
        }
        Fact::PromptDenied { reason, .. } => format!("\n**A hook denied a prompt:** {reason}\n"),
        Fact::ModelFailed { message, .. } => format!("\n**The model could not be asked:** {message}\n"),
        Fact::TurnEnded { outcome, rounds, .. } => format!("\n*{outcome:?} after {rounds} rounds.*\n"),
        _ => String::new(),
    }
}

fn part(part: &Part) -> String {
    match part {
        Part::Text { text } => format!("\n{text}\n"),
        Part::ToolCall(call) => format!("\n`{}` {}", call.name, fenced(&format!("{:#}", call.arguments))),
        Part::Thinking { .. } | Part::Image(_) => String::new(),
    }
}

/// A fence longer than any inside.
fn fenced(text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or_default();
    let fence = "`".repeat(longest.max(2) + 1);
    format!("\n{fence}\n{text}\n{fence}\n")
}
