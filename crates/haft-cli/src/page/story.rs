//! [`turns`]: folds a journal into what a page shows: turns, each with its messages, thoughts and calls.
use haft::{
    kernel::{
        Answer, CallId, Change, Direction, Entry, Fact, How, Outcome, Part, Seq, ToolResult, Usage,
        active_path,
    },
    present::notes,
};
use serde_json::Value;
use std::{collections::HashSet, path::PathBuf, sync::Arc};

/// From one prompt to what stands before the next one. What happens between turns stands in one without a prompt.
#[derive(Debug, Default)]
pub(super) struct Turn {
    pub(super) prompt: Option<Vec<Part>>,
    pub(super) seq: Seq,
    pub(super) at: u64,
    pub(super) items: Vec<Item>,
    pub(super) end: Option<End>,
    /// An undo left it behind.
    pub(super) is_undone: bool,
}

/// How a turn ended.
#[derive(Clone, Copy, Debug)]
pub(super) struct End {
    pub(super) outcome: Outcome,
    pub(super) rounds: u32,
    pub(super) usage: Usage,
    pub(super) usd: Option<f64>,
}

/// One thing in a turn.
#[derive(Debug)]
pub(super) enum Item {
    Thinking(String),
    /// Markdown of the model.
    Reply(String),
    /// What a person said in the middle of it.
    Steered(Vec<Part>),
    Call(Box<Call>),
    /// In one line, said by Haft.
    Note(String),
    Undo(Undo),
}

/// One call and all that came of it.
#[derive(Debug)]
pub(super) struct Call {
    pub(super) id: CallId,
    pub(super) seq: Seq,
    pub(super) name: String,
    pub(super) arguments: Value,
    pub(super) how: Option<How>,
    /// Why it was asked for, and what the person said.
    pub(super) approvals: Vec<(String, Option<Answer>)>,
    pub(super) questions: Vec<(String, Option<String>)>,
    pub(super) changes: Vec<Change>,
    /// Left as they were.
    pub(super) unsettled: Vec<PathBuf>,
    pub(super) result: Option<(ToolResult, u64)>,
}

/// Files put back, or forward again.
#[derive(Debug)]
pub(super) struct Undo {
    pub(super) way: Direction,
    pub(super) changes: Vec<Change>,
    pub(super) conflicts: Vec<PathBuf>,
    pub(super) untracked: usize,
}

/// All turns of a journal, in the order in which they happened.
pub(super) fn turns(entries: &[Arc<Entry>]) -> Vec<Turn> {
    let active: HashSet<Seq> = active_path(entries).iter().map(|entry| entry.seq).collect();
    let mut story = Story::default();
    for entry in entries {
        story.apply(entry, active.contains(&entry.seq));
    }
    story.turns.retain(|turn| turn.prompt.is_some() || !turn.items.is_empty());
    story.turns
}

#[derive(Default)]
struct Story {
    turns: Vec<Turn>,
    is_in_turn: bool,
}

impl Story {
    fn apply(&mut self, entry: &Arc<Entry>, is_active: bool) {
        let seq = entry.seq;
        match &entry.fact {
            Fact::Prompted { parts, .. } if self.is_in_turn => self.add(Item::Steered(parts.clone())),
            Fact::Prompted { parts, .. } => self.begin(entry, Some(parts.clone()), is_active),
            Fact::Called { made } => {
                self.begin(entry, None, is_active);
                self.call(seq, &Part::ToolCall(made.clone()));
            }
            Fact::Replied { parts, .. } => {
                parts.iter().for_each(|part| self.part(seq, part));
                self.note(&entry.fact);
            }
            Fact::TurnEnded { outcome, rounds, usage, cost_usd } => {
                let end = End { outcome: *outcome, rounds: *rounds, usage: *usage, usd: *cost_usd };
                self.last().end = Some(end);
                self.is_in_turn = false;
                self.turns.push(Turn::default());
            }
            Fact::Rewound { way, changes, conflicts, untracked } => self.add(Item::Undo(Undo {
                way: *way,
                changes: changes.clone(),
                conflicts: conflicts.clone(),
                untracked: untracked.len(),
            })),
            Fact::Continued => self.add(Item::Note("taken up again".into())),
            Fact::Interrupted => self.add(Item::Note("interrupted".into())),
            Fact::Retried { reason, .. } => {
                self.add(Item::Note(format!("the model was asked again: {reason}")))
            }
            fact => {
                self.of_call(fact);
                self.note(fact);
            }
        }
    }

    fn begin(&mut self, entry: &Entry, prompt: Option<Vec<Part>>, is_active: bool) {
        self.is_in_turn = true;
        let (seq, at) = (entry.seq, entry.at);
        self.turns.push(Turn { prompt, seq, at, is_undone: !is_active, ..Turn::default() });
    }

    fn last(&mut self) -> &mut Turn {
        if self.turns.is_empty() {
            self.turns.push(Turn::default());
        }
        self.turns.last_mut().expect("one was added where there was none")
    }

    fn add(&mut self, item: Item) {
        self.last().items.push(item);
    }

    fn note(&mut self, fact: &Fact) {
        if let Some(note) = notes::of(fact) {
            self.add(Item::Note(note));
        }
    }

    fn part(&mut self, seq: Seq, part: &Part) {
        match part {
            Part::Text { text } => self.add(Item::Reply(text.clone())),
            Part::Thinking { text, .. } if text.is_empty() => {}
            Part::Thinking { text, .. } => self.add(Item::Thinking(text.clone())),
            Part::Image(_) => {}
            Part::ToolCall(_) => self.call(seq, part),
        }
    }

    fn call(&mut self, seq: Seq, part: &Part) {
        let Some(made) = part.as_call() else { return };
        let (approvals, questions, changes, unsettled) = Default::default();
        self.add(Item::Call(Box::new(Call {
            id: made.id.clone(),
            seq,
            name: made.name.clone(),
            arguments: made.arguments.clone(),
            how: None,
            approvals,
            questions,
            changes,
            unsettled,
            result: None,
        })));
    }

    /// Names of calls may come again: the last one is meant.
    fn with(&mut self, id: &CallId, change: impl FnOnce(&mut Call)) {
        let items = self.turns.iter_mut().rev().flat_map(|turn| turn.items.iter_mut().rev());
        let mut calls = items.filter_map(|item| match item {
            Item::Call(call) if call.id == *id => Some(call),
            _ => None,
        });
        if let Some(call) = calls.next() {
            change(call);
        }
    }

    fn of_call(&mut self, fact: &Fact) {
        match fact {
            Fact::ToolStarted { call, how, .. } => self.with(call, |call| call.how = Some(*how)),
            Fact::ApprovalAsked { call, reason, .. } => self.with(call, |call| {
                call.approvals.push((reason.clone(), None));
            }),
            Fact::ApprovalAnswered { call, answer } => self.with(call, |call| {
                call.approvals.last_mut().into_iter().for_each(|asked| asked.1 = Some(*answer));
            }),
            Fact::QuestionAsked { call, question } => {
                self.with(call, |call| call.questions.push((question.text.clone(), None)));
            }
            Fact::QuestionAnswered { call, answer } => self.with(call, |call| {
                call.questions.last_mut().into_iter().for_each(|asked| asked.1.clone_from(answer));
            }),
            Fact::Staged { call, changes, how, .. } => self.with(call, |call| {
                call.how = Some(*how);
                call.changes.extend(changes.iter().cloned());
            }),
            Fact::ChangedBelow { call, changes, .. } => {
                self.with(call, |call| call.changes.extend(changes.iter().cloned()));
            }
            Fact::Unsettled { call, paths } => {
                self.with(call, |call| call.unsettled.extend(paths.iter().cloned()));
            }
            Fact::ToolEnded { call, result, duration_ms, .. } => {
                self.with(call, |call| call.result = Some((result.clone(), *duration_ms)));
            }
            _ => {}
        }
    }
}
