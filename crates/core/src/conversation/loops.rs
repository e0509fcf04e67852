//! `Loops`: finds repeated rounds: the same calls with the same results, consecutively or alternating with a few
//! others.
use crate::{ToolCall, ToolResult, edit_notes, tool::notes::output_below_title};
use serde_json::Value;
use std::hash::{DefaultHasher, Hash, Hasher};

/// The lengths of detected loops, in rounds: one repeated round, two or three alternating ones.
const LOOP_PERIODS: std::ops::RangeInclusive<usize> = 1..=3;

/// This many repetitions with changing results count as one repetition with the same results: a model that waits for
/// something may poll, but a model that polls forever is stopped, too.
const CHANGING_ROUNDS: usize = 10;

/// The rounds of a turn, one number for the calls of each and one for their results.
#[derive(Clone, Debug, Default)]
pub(super) struct Loops(Vec<Round>);

#[derive(Clone, Copy, Debug)]
struct Round {
    calls: u64,
    /// `None` while the calls run.
    results: Option<u64>,
}

impl Loops {
    /// Adds a round with these calls of a reply.
    pub(super) fn called<'a>(&mut self, calls: impl Iterator<Item = &'a ToolCall>) {
        let mut hasher = DefaultHasher::new();
        calls.for_each(|call| spelled_alike(call).hash(&mut hasher));
        self.0.push(Round { calls: hasher.finish(), results: None });
    }

    /// Sets the results of the last round, in the order of its calls.
    pub(super) fn answered<'a>(&mut self, results: impl Iterator<Item = &'a ToolResult>) {
        let rounds = self.0.len();
        let Some(last) = self.0.last_mut().filter(|last| last.results.is_none()) else { return };
        let (mut hasher, mut waits) = (DefaultHasher::new(), None);
        for result in results {
            waits = Some(waits.unwrap_or(true) && result.has_waited_for_task());
            let images = result.images.iter().map(|image| &image.data).collect::<Vec<_>>();
            (essence(&result.content), result.is_ok(), images).hash(&mut hasher);
        }
        if waits == Some(true) {
            // A round that only waits for a background task equals no other round.
            (last.calls, rounds).hash(&mut hasher);
            last.calls = hasher.finish();
        }
        last.results = Some(hasher.finish());
    }

    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    /// How often the last round was repeated, consecutively or alternating with a few others: 1 for the first time.
    pub(super) fn repeats(&self) -> usize {
        let same = self.longest(|later, earlier| {
            later.calls == earlier.calls && later.results.is_none_or(|own| earlier.results == Some(own))
        });
        same.max(self.longest(|later, earlier| later.calls == earlier.calls) / CHANGING_ROUNDS)
    }

    fn longest(&self, is_same: impl Fn(Round, Round) -> bool) -> usize {
        let rounds = &self.0;
        let cycles = |period: usize| {
            let again =
                (period..rounds.len()).rev().take_while(|at| is_same(rounds[*at], rounds[at - period]));
            if rounds.len() < period { 0 } else { 1 + again.count() / period }
        };
        LOOP_PERIODS.map(cycles).max().unwrap_or_default()
    }
}

/// Names that models use for the tool that runs a command.
const COMMAND_TOOLS: [&str; 6] = ["bash", "exec", "run_command", "run_shell_command", "shell", "terminal"];

/// Normalizes a call for comparison. A different description or timeout of a command does not make a different call.
fn spelled_alike(call: &ToolCall) -> (String, String) {
    let name = call.name.to_lowercase();
    let Value::Object(arguments) = &call.arguments else { return (name, call.arguments.to_string()) };
    let is_command = COMMAND_TOOLS.contains(&name.as_str());
    let counts = |parameter: &str| !is_command || !["description", "timeout"].contains(&parameter);
    let mut alike: Value = arguments
        .iter()
        .filter(|(parameter, _)| counts(parameter))
        .map(|(parameter, value)| match value.as_str() {
            Some(text) => (parameter.clone(), Value::from(text.trim())),
            None => (parameter.clone(), value.clone()),
        })
        .collect();
    alike.sort_all_objects();
    (name, alike.to_string())
}

const WARNING: &str = "[this is the same as before, ";

/// The note for a call that was made `repeats` times in a row.
pub fn warning(repeats: usize) -> String {
    format!("\n{WARNING}{repeats} times in a row; do something else, or answer]")
}

/// Returns the part of a result that is compared. A title may repeat the call's description, and a warning contains a
/// number.
fn essence(content: &str) -> String {
    let output = output_below_title(content);
    let content = output.as_deref().unwrap_or(content);
    if !content.contains(WARNING) {
        return content.to_owned();
    }
    edit_notes(content, |text| {
        let Some((before, rest)) = text.split_once(WARNING) else { return text.to_owned() };
        let before = before.strip_suffix('\n').unwrap_or(before);
        before.to_owned() + rest.split_once(']').map_or("", |(_, behind)| behind)
    })
}
