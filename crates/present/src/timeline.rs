//! [`Timeline`]: folds events into what a person sees: blocks that are finished, and what still goes on.
mod activity;
mod asking;
mod history;
mod item;

pub use activity::Activity;
pub use history::{moved, moved_by, next_step, prompts, usage};
pub use item::{Asked, Call, CallState, Item};

use crate::{
    notes,
    outcome::{plan, verdict},
    pieces::Pieces,
    safe, words,
};
use haft_core::{
    CallId, Channel, Entry, Event, Fact, JobId, Mode, Outcome, Part, Plan, ToolCall, ToolResult, Update,
    Usage, text_of,
};
use history::files;
use std::{
    collections::VecDeque,
    path::PathBuf,
    time::{Duration, Instant},
};

/// A session as people see it.
#[derive(Debug, Default)]
pub struct Timeline {
    /// The model it began with, as `VENDOR/MODEL`.
    pub model: String,
    /// Who works.
    pub agent: String,
    /// Where.
    pub workspace: PathBuf,
    /// A turn goes.
    pub working: bool,
    /// Since then.
    pub since: Option<Instant>,
    /// The calls of this round that are not over.
    pub calls: Vec<Call>,
    /// Who waits for an answer, the first first.
    pub asked: VecDeque<Asked>,
    /// Work that outlives its call.
    pub jobs: Vec<(JobId, String)>,
    /// Of all turns so far.
    pub usage: Usage,
    /// Of this turn, as far as it has come.
    pub turn: Usage,
    /// Of all turns so far, in US dollars; `None` if unknown.
    pub cost_usd: Option<f64>,
    /// Tokens of the last request and its reply.
    pub context: u64,
    /// The last reply, whole.
    pub last_reply: String,
    /// What the model thinks at this moment.
    pub thinking: String,
    /// Why the model is asked again.
    pub retry: Option<String>,
    /// The steps of this turn, as the model listed them last.
    pub plan: Option<Plan>,
    pieces: Pieces,
    /// Calls of a turn that was cut off: how they ended is shown when the session goes on.
    cut_off: Vec<Call>,
    /// What runs unasked, if a person or a program chose it.
    pub mode: Option<Mode>,
    /// Commands run unconfined that were to be confined.
    pub is_unconfined: bool,
    heard: String,
    /// The tool whose call is being written.
    calling: Option<String>,
    /// Since then the beginning of the conversation is being summarized.
    pub summarizing_since: Option<Instant>,
    /// Hint appended to "… 12 more lines", for example " (Ctrl+O)".
    pub how: &'static str,
    opened_at: u64,
    /// Since when a person is asked, and for how long one was in this turn, in milliseconds.
    asked_at: Option<u64>,
    waited: u64,
}

impl Timeline {
    /// What is seen of the reply that is being written, and was not handed out as a block.
    pub fn pending(&self) -> &str {
        self.pieces.pending()
    }

    /// What goes on at this moment.
    pub fn activity(&self) -> Activity {
        let running = self.calls.iter().find(|call| call.state == CallState::Running);
        match (&self.retry, &self.calling) {
            _ if !self.asked.is_empty() => Activity::Asking,
            _ if self.summarizing_since.is_some() => Activity::Summarizing,
            _ if running.is_some() => {
                Activity::Running(running.map(|call| call.name.clone()).unwrap_or_default())
            }
            (_, Some(name)) => Activity::Calling(name.clone()),
            _ if !self.heard.is_empty() => Activity::Responding,
            _ if !self.thinking.is_empty() => Activity::Thinking,
            (Some(why), _) => Activity::Retrying(why.clone()),
            _ => Activity::Waiting,
        }
    }

    /// Takes in what happened, and gives the blocks that are finished by it.
    pub fn apply(&mut self, event: &Event) -> Vec<Item> {
        match event {
            Event::Live(update) => self.update(update),
            Event::Recorded(entry) => self.fact(entry),
        }
    }

    fn update(&mut self, update: &Update) -> Vec<Item> {
        match update {
            Update::Text { text } => {
                let text = safe::text(text);
                self.heard += &text;
                let thought = self.thought();
                thought.into_iter().chain(self.pieces.push(&text).into_iter().map(Item::Reply)).collect()
            }
            Update::Thinking { text } => {
                self.thinking += &safe::text(text);
                Vec::new()
            }
            Update::ToolOutput { call, chunk } => {
                self.with_call(call, |call| call.hear(chunk));
                Vec::new()
            }
            Update::Retrying { reason, .. } => {
                self.retry = Some(safe::text(reason).replace('\n', " "));
                let begun = !self.heard.is_empty();
                self.forget_reply();
                let note = format!("{}; the reply begins anew", safe::text(reason));
                begun.then_some(Item::Note(note)).into_iter().collect()
            }
            Update::ToolCall { name, .. } => {
                self.calling = Some(safe::name(name).into_owned());
                Vec::new()
            }
            Update::Summarizing => {
                self.summarizing_since = Some(Instant::now());
                Vec::new()
            }
            Update::ToolArguments { .. } | Update::ToolCallEnd { .. } => Vec::new(),
        }
    }

    fn fact(&mut self, entry: &Entry) -> Vec<Item> {
        self.summarizing_since = None;
        let blocks = self.fold(entry);
        // The time that a person takes is not the turn's.
        match (self.asked.is_empty(), self.asked_at) {
            (false, None) => self.asked_at = Some(entry.at),
            (true, Some(since)) => {
                self.waited += entry.at.saturating_sub(since);
                self.asked_at = None;
            }
            _ => {}
        }
        blocks
    }

    fn fold(&mut self, entry: &Entry) -> Vec<Item> {
        match &entry.fact {
            Fact::SessionOpened(opened) => {
                (self.model, self.agent) = (opened.model.clone(), opened.agent.clone());
                self.workspace.clone_from(&opened.workspace);
                Vec::new()
            }
            Fact::Prompted { parts, channel } => vec![self.prompted(entry.at, parts, channel.as_ref())],
            Fact::Called { made } => {
                self.begin(entry.at);
                self.calls = vec![Call { is_own: true, ..Call::waiting(made) }];
                Vec::new()
            }
            Fact::Continued | Fact::JobEnded { .. } => {
                self.begin(entry.at);
                self.job_ended(&entry.fact);
                notes::of(&entry.fact).map(Item::Note).into_iter().collect()
            }
            Fact::JobStarted { job, title, .. } => {
                self.jobs.push((job.clone(), safe::text(title).into_owned()));
                Vec::new()
            }
            Fact::Replied { parts, usage, .. } => {
                let mut blocks = self.replied(parts, *usage);
                blocks.extend(notes::of(&entry.fact).map(Item::Note));
                blocks
            }
            Fact::ToolStarted { .. }
            | Fact::Staged { .. }
            | Fact::ChangedBelow { .. }
            | Fact::Unsettled { .. }
            | Fact::ToolEnded { .. } => self.calling(&entry.fact),
            Fact::ApprovalAsked { .. }
            | Fact::QuestionAsked { .. }
            | Fact::ApprovalAnswered { .. }
            | Fact::QuestionAnswered { .. } => self.asking(&entry.fact),
            Fact::ModelFailed { message, hint } => self.failed(message, hint.as_deref()),
            Fact::PromptDenied { reason, .. } => {
                vec![Item::failure(&format!("a hook denied the prompt: {reason}"), None)]
            }
            Fact::TurnEnded { outcome, rounds, usage, cost_usd } => {
                self.turn_ended(entry.at, *outcome, *rounds, (*usage, *cost_usd))
            }
            Fact::Rewound { way, changes, conflicts, untracked } => {
                self.rest();
                vec![Item::Rewound { way: *way, files: files(*way, changes, conflicts, untracked.len()) }]
            }
            // The status line shows it; a change of it is no line of its own.
            Fact::ModeSet { mode } => {
                self.mode = Some(*mode);
                Vec::new()
            }
            fact => {
                self.is_unconfined |= matches!(fact, Fact::Unconfined { .. });
                notes::of(fact).map(|note| Item::Note(safe::text(&note).into_owned())).into_iter().collect()
            }
        }
    }

    /// A call begins, does something to files, or ends.
    fn calling(&mut self, fact: &Fact) -> Vec<Item> {
        match fact {
            Fact::ToolStarted { call, .. } => self.with_call(call, |call| call.state = CallState::Running),
            Fact::Staged { call, changes, .. } => match self.calls.iter_mut().find(|known| known.id == *call)
            {
                Some(call) => call.changes.clone_from(changes),
                None => return changes.iter().map(notes::changed).map(Item::Note).collect(),
            },
            Fact::ChangedBelow { call, changes, .. } => self.with_call(call, |call| {
                call.changes.extend(changes.iter().cloned());
                call.is_delegated = true;
            }),
            Fact::Unsettled { call, paths } => self.with_call(call, |call| call.left_alone(paths)),
            Fact::ToolEnded { call, name, result, duration_ms } => {
                self.answered(call);
                return self.ended(call, name, result, Duration::from_millis(*duration_ms));
            }
            _ => {}
        }
        Vec::new()
    }

    fn prompted(&mut self, at: u64, parts: &[Part], channel: Option<&Channel>) -> Item {
        self.begin(at);
        let images = parts.iter().filter_map(|part| match part {
            Part::Image(image) => Some(image.clone()),
            _ => None,
        });
        let images = images.collect();
        let from = channel.map(|channel| channel.kind.clone());
        Item::Prompt { text: safe::text(&text_of(parts)).into_owned(), images, from }
    }

    /// What was heard of the reply stands above what ended it.
    fn failed(&mut self, message: &str, hint: Option<&str>) -> Vec<Item> {
        let mut blocks: Vec<Item> = self.thought().into_iter().collect();
        blocks.extend(self.pieces.finish().map(Item::Reply));
        self.forget_reply();
        blocks.push(Item::failure(message, hint));
        blocks
    }

    /// Nothing goes on any more: what was in the middle of a turn belongs to a process that is gone.
    pub fn rest(&mut self) {
        self.forget_reply();
        self.thinking.clear();
        self.cut_off = std::mem::take(&mut self.calls);
        self.asked.clear();
        self.asked_at = None;
        (self.working, self.since, self.retry, self.summarizing_since) = (false, None, None, None);
    }

    fn begin(&mut self, at: u64) {
        if !self.working {
            (self.working, self.since, self.opened_at) = (true, Some(Instant::now()), at);
            (self.turn, self.plan, self.waited) = (Usage::default(), None, 0);
        }
    }

    fn replied(&mut self, parts: &[Part], usage: Usage) -> Vec<Item> {
        let text = text_of(parts);
        let mut blocks: Vec<Item> = self.thought().into_iter().collect();
        let rest = self.unheard(&safe::text(&text));
        blocks.extend(self.pieces.push(&rest).into_iter().map(Item::Reply));
        blocks.extend(self.pieces.finish().map(Item::Reply));
        self.forget_reply();
        self.last_reply = if text.is_empty() { std::mem::take(&mut self.last_reply) } else { text };
        self.calls = parts.iter().filter_map(Part::as_call).map(Call::waiting).collect();
        self.context = usage.total();
        self.turn += usage;
        self.retry = None;
        blocks
    }

    /// What of the reply was not heard. Where updates were lost it goes on behind what was handed out, or comes once more.
    fn unheard(&mut self, text: &str) -> String {
        if let Some(rest) = text.strip_prefix(&self.heard) {
            return rest.to_owned();
        }
        let given = self.pieces.given().filter(|given| text.get(..*given) == self.heard.get(..*given));
        self.pieces = Pieces::default();
        text.get(given.unwrap_or_default()..).unwrap_or(text).to_owned()
    }

    fn forget_reply(&mut self) {
        self.heard.clear();
        self.calling = None;
        self.pieces = Pieces::default();
    }

    fn thought(&mut self) -> Option<Item> {
        let thought = std::mem::take(&mut self.thinking);
        (!thought.trim().is_empty()).then(|| Item::Thinking(thought.trim().to_owned()))
    }

    fn ended(&mut self, id: &CallId, name: &str, result: &ToolResult, took: Duration) -> Vec<Item> {
        let take = |calls: &mut Vec<Call>| {
            calls.iter().position(|call| call.id == *id).map(|place| calls.remove(place))
        };
        let known = take(&mut self.calls).or_else(|| take(&mut self.cut_off));
        let unknown = || Call::waiting(&ToolCall::new(id.0.clone(), name, serde_json::json!({})));
        let call = known.unwrap_or_else(unknown);
        let state = if result.went_well() { CallState::Done } else { CallState::Failed };
        // Who has typed it wants to see it whole.
        let lines = if call.is_own { usize::MAX } else { words::PREVIEW_LINES };
        let (mut preview, verdict, plan) =
            (words::preview(result, lines, self.how), verdict(result), plan(result));
        if let (true, Some(answer)) = (preview.is_empty(), &call.answer) {
            preview = answer.lines().map(str::to_owned).collect();
            preview.iter_mut().take(1).for_each(|line| *line = format!("answer: {line}"));
        }
        let summary = plan.as_ref().map_or(call.summary, Plan::progress);
        self.plan = plan.clone().or(self.plan.take());
        vec![Item::Call(Call {
            state,
            preview,
            verdict,
            plan,
            summary,
            took,
            images: result.images.clone(),
            is_command: result.command().is_some(),
            ..call
        })]
    }

    fn turn_ended(
        &mut self,
        at: u64,
        outcome: Outcome,
        rounds: u32,
        (usage, cost_usd): (Usage, Option<f64>),
    ) -> Vec<Item> {
        let mut blocks: Vec<Item> = self.thought().into_iter().collect();
        blocks.extend(self.pieces.finish().map(Item::Reply));
        self.usage += usage;
        self.cost_usd = cost_usd.map(|cost| cost + self.cost_usd.unwrap_or_default()).or(self.cost_usd);
        // What ends without having begun is a summary.
        let begun = if self.working { self.opened_at } else { at };
        let waited = self.waited + self.asked_at.map_or(0, |since| at.saturating_sub(since));
        let took = Duration::from_millis(at.saturating_sub(begun).saturating_sub(waited));
        self.rest();
        blocks.push(Item::Ended { outcome, rounds, usage, cost_usd, took });
        blocks
    }

    fn job_ended(&mut self, fact: &Fact) {
        if let Fact::JobEnded { job, .. } = fact {
            self.jobs.retain(|(running, _)| running != job);
        }
    }

    fn with_call(&mut self, id: &CallId, change: impl FnOnce(&mut Call)) {
        if let Some(call) = self.calls.iter_mut().find(|call| call.id == *id) {
            change(call);
        }
    }
}
