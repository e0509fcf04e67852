//! `Loops`: finds rounds that bring nothing new: the same calls with the same results, alone or in turn with a few
//! others.
use crate::{ToolCall, ToolResult};
use std::hash::{DefaultHasher, Hash, Hasher};

/// Periods in which a loop is looked for: the same round, two alternating ones, three in turn.
const LOOP_PERIODS: std::ops::RangeInclusive<usize> = 1..=3;

/// This many rounds with changing results count as one with the same results: a model that waits for something may ask
/// again and again, and one that asks for the time forever is stopped, too.
const CHANGING_ROUNDS: usize = 10;

/// The rounds of a turn, one number for the calls of each and one for their results.
#[derive(Clone, Debug, Default)]
pub(super) struct Loops(Vec<Round>);

#[derive(Clone, Copy, Debug)]
struct Round {
    calls: u64,
    /// None while they run.
    results: Option<u64>,
}

impl Loops {
    /// A reply makes these calls.
    pub(super) fn called<'a>(&mut self, calls: impl Iterator<Item = &'a ToolCall>) {
        let mut hasher = DefaultHasher::new();
        calls.for_each(|call| (&call.name, call.arguments.to_string()).hash(&mut hasher));
        self.0.push(Round { calls: hasher.finish(), results: None });
    }

    /// The calls of the last reply came to this, in their order.
    pub(super) fn answered<'a>(&mut self, results: impl Iterator<Item = &'a ToolResult>) {
        let rounds = self.0.len();
        let Some(last) = self.0.last_mut().filter(|last| last.results.is_none()) else { return };
        let (mut hasher, mut waits) = (DefaultHasher::new(), None);
        for result in results {
            waits = Some(waits.unwrap_or(true) && result.has_waited_for_task());
            let images = result.images.iter().map(|image| &image.data).collect::<Vec<_>>();
            (without_warning(&result.content), result.is_ok(), images).hash(&mut hasher);
        }
        if waits == Some(true) {
            // A round that does nothing but wait is like no other one.
            (last.calls, rounds).hash(&mut hasher);
            last.calls = hasher.finish();
        }
        last.results = Some(hasher.finish());
    }

    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    /// How often the last round was made, alone or in turn with a few others: 1 for the first time.
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

const WARNING: &str = "\n[this is the same as before, ";

/// Stands behind the result of a call that was made so often in a row.
pub fn warning(repeats: usize) -> String {
    format!("{WARNING}{repeats} times in a row; do something else, or answer]")
}

/// It counts, so that no two of them are alike.
fn without_warning(content: &str) -> String {
    let Some((before, rest)) = content.split_once(WARNING) else { return content.to_owned() };
    before.to_owned() + rest.split_once(']').map_or("", |(_, behind)| behind)
}
