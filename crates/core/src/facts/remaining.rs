//! [`RemainingWork::of`]: the remaining work of a turn that ended early, as far as its own facts show.
use crate::{Entry, Fact, Part, Plan, RemainingWork, StepStatus, clip, text_of};
use std::sync::Arc;

/// Maximum bytes of [`RemainingWork::last`].
const MAX_LAST_WORDS_BYTES: usize = 400;

impl RemainingWork {
    /// Reads the remaining work from the last plan in a result, and from the last reply of the conversation `path`.
    pub fn of(path: &[&Arc<Entry>]) -> Self {
        let facts = || path.iter().rev().map(|entry| &entry.fact);
        let steps = facts().find_map(|fact| match fact {
            Fact::ToolEnded { result, .. } => result.plan().map(|plan| open_steps(&plan)),
            _ => None,
        });
        let last = facts().find_map(|fact| match fact {
            Fact::Replied { parts, .. } => Some(last_of(parts)).filter(|last| !last.is_empty()),
            _ => None,
        });
        Self { steps: steps.unwrap_or_default(), last: last.unwrap_or_default() }
    }
}

/// The steps that are not done.
fn open_steps(plan: &Plan) -> Vec<String> {
    let open = plan.items.iter().filter(|step| step.status != StepStatus::Done);
    open.map(|step| step.text.trim().to_owned()).collect()
}

/// The last text of a reply, or its last call.
fn last_of(parts: &[Part]) -> String {
    let text = text_of(parts);
    let said = text.trim().rsplit("\n\n").next().unwrap_or_default().trim();
    let calls = parts.iter().filter_map(Part::as_call);
    let calls: Vec<String> = calls.map(|call| format!("`{}` {}", call.name, call.arguments)).collect();
    let last = if said.is_empty() { calls.join(", ") } else { said.to_owned() };
    let head = clip::head(&last, MAX_LAST_WORDS_BYTES);
    if head.len() < last.len() { format!("{head} …") } else { last }
}
