//! [`Timeline`]: folds events into items: finished ones, and live ones while something is running.
mod activity;
mod asking;
mod history;
mod item;
mod prompts;
mod speech;

pub use activity::Activity;
pub use history::{
    Recap, UNDO_HINT, cost, kept, moved, moved_by, next_step, next_step_if_failed, prompts, recap,
    rounded_usd, usage,
};
pub use item::{Aside, Asked, Call, CallState, Item};

use crate::{
    outcome::{plan, verdict},
    pieces::Pieces,
    preview, safe,
};
use haft_core::{
    CallId, Change, Channel, Entry, Event, Fact, Mode, OpenGoal, Outcome, Part, Plan, Seq, SessionSetup,
    TaskId, ToolCall, ToolResult, Update, Usage, text_of,
};
use haft_engine::local_time;
use history::files;
use item::{aside, note};
use prompts::Prompts;
use speech::{News, Speech};
use std::{
    collections::VecDeque,
    mem,
    path::PathBuf,
    time::{Duration, Instant},
};

/// How a front-end receives replies and thoughts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Replies {
    /// In parts that are complete Markdown and never change later, each thought as a whole.
    #[default]
    InParts,
    /// Replies as they stream. After a retry, only text that differs from the shown text.
    Once,
    /// Like [`Self::Once`], but only when the front-end asks for them, and at most this many bytes at a time; see
    /// [`Timeline::news`].
    OnDemand(usize),
    /// Replies as they stream. After a retry, the whole reply again.
    Anew,
}

/// A session as the user sees it: the only fold of its events for front-ends, which draw its items.
#[derive(Debug, Default)]
pub struct Timeline {
    /// Agent, model and effort of the session. A front-end that opened the session with another setup sets this field,
    /// so that no item tells the user what they know.
    pub setup: SessionSetup,
    /// The folder in which the session works.
    pub workspace: PathBuf,
    /// Whether a turn is running.
    pub working: bool,
    /// When the running turn began.
    pub since: Option<Instant>,
    /// The calls of this round that have not ended.
    pub calls: Vec<Call>,
    /// Calls that wait for an answer, oldest first.
    pub asked: VecDeque<Asked>,
    /// Prompts that wait for the next request, oldest first.
    pub queued: VecDeque<String>,
    /// Background tasks: their IDs and titles.
    pub jobs: Vec<(TaskId, String)>,
    /// Tokens of all turns so far.
    pub usage: Usage,
    /// Tokens of this turn so far.
    pub turn: Usage,
    /// Cost of all turns so far in US dollars; `None` if unknown.
    pub cost_usd: Option<f64>,
    /// Tokens of the last request and its reply.
    pub context: u64,
    /// The last complete reply.
    pub last_reply: String,
    /// The model's current thought.
    pub thinking: String,
    /// Why the model is asked again.
    pub retry: Option<String>,
    /// The time until which no model can answer.
    awaited_until: Option<String>,
    /// The steps of this turn, as the model listed them last.
    pub plan: Option<Plan>,
    replies: Replies,
    reply: Speech,
    /// The thoughts, unless they are passed on as a whole.
    thoughts: Speech,
    pieces: Pieces,
    /// Calls of a turn that was cut off: their ends are shown when the session continues.
    cut_off: Vec<Call>,
    /// The permission mode, if a user or a program chose it.
    pub mode: Option<Mode>,
    /// The goal of the session.
    pub goal: Option<OpenGoal>,
    /// Whether commands run unconfined although they should be confined.
    pub is_unconfined: bool,
    /// The tool whose call the model is writing.
    calling: Option<String>,
    /// Since when the beginning of the conversation is being summarized.
    pub summarizing_since: Option<Instant>,
    /// Since when calls are being repeated for an undo.
    pub undoing_since: Option<Instant>,
    /// While the connection is lost: why the machine that has the session open cannot be reached.
    pub disconnected: Option<String>,
    /// Hint appended to "… 12 more lines", for example " (Ctrl+O)".
    pub how: &'static str,
    opened_at: u64,
    prompts: Prompts,
    /// The first prompt that the entry that is being applied takes back, or brings back.
    rewound: Option<String>,
    /// The last entry that a fork shares with its original session.
    forked_at: Option<Seq>,
    /// Since when the user is being asked, and for how long the user was asked in this turn, in milliseconds.
    asked_at: Option<u64>,
    waited: u64,
}

impl Timeline {
    /// A timeline that passes replies on in this way.
    pub fn with(replies: Replies) -> Self {
        Self { replies, ..Self::default() }
    }

    /// The call of this round, if it has not ended.
    pub fn call(&self, id: &CallId) -> Option<&Call> {
        self.calls.iter().find(|call| call.id == *id)
    }

    /// The text of the current reply that was not passed on as a part yet.
    pub fn pending(&self) -> &str {
        self.pieces.pending()
    }

    /// What is running at this moment.
    pub fn activity(&self) -> Activity {
        let running = self.calls.iter().find(|call| call.state == CallState::Running);
        match (&self.retry, &self.calling) {
            _ if !self.asked.is_empty() => Activity::Asking,
            _ if self.summarizing_since.is_some() => Activity::Summarizing,
            _ if self.undoing_since.is_some() => Activity::Undoing,
            _ if running.is_some() => {
                Activity::Running(running.map(|call| call.name.clone()).unwrap_or_default())
            }
            (_, Some(name)) => Activity::Calling(name.clone()),
            _ if !self.reply.is_empty() => Activity::Responding,
            _ if !self.thinking.is_empty() => Activity::Thinking,
            (Some(why), _) => Activity::Retrying(why.clone()),
            _ => self.awaited_until.clone().map_or(Activity::Waiting, Activity::Awaiting),
        }
    }

    /// Applies an event, and returns its items.
    pub fn apply(&mut self, event: &Event) -> Vec<Item> {
        match event {
            Event::Live(update) => self.update(update),
            Event::Recorded(entry) => {
                self.queue(entry);
                self.rewound = self.prompts.apply(entry);
                self.fact(entry.at, &entry.fact)
            }
        }
    }

    /// Queues a prompt, as [`haft_core::waiting_prompts`] does: prompts that were waiting at the beginning of a fork
    /// belong to the original session.
    fn queue(&mut self, entry: &Entry) {
        match &entry.fact {
            Fact::SessionOpened(opened) => self.forked_at = opened.forked_from.as_ref().map(|from| from.seq),
            _ if self.forked_at.is_some_and(|last| entry.seq <= last) => {}
            Fact::PromptQueued { parts, .. } => {
                self.queued.push_back(safe::text(&text_of(parts)).into_owned());
            }
            Fact::Prompted { .. } | Fact::PromptDenied { .. } => drop(self.queued.pop_front()),
            Fact::PromptWithdrawn => drop(self.queued.pop_back()),
            _ => {}
        }
    }

    /// The next text or thought that was received and not passed on, for [`Replies::OnDemand`].
    pub fn news(&mut self) -> Option<Item> {
        self.next_news(true)
    }

    /// Whether [`Self::news`] returns an item.
    pub fn has_news(&self) -> bool {
        self.thoughts.has_news() || self.reply.has_news()
    }

    fn next_news(&mut self, is_live: bool) -> Option<Item> {
        let most = if let Replies::OnDemand(most) = self.replies { most } else { usize::MAX };
        let thought = |News { text, is_anew }: News| Item::Thought { text, is_anew, is_live };
        let text = |News { text, is_anew }: News| Item::Text { text, is_anew };
        self.thoughts.news(most).map(thought).or_else(|| self.reply.news(most).map(text))
    }

    /// The live items, unless they are passed on only on demand.
    fn heard(&mut self) -> Vec<Item> {
        match self.replies {
            Replies::OnDemand(_) => Vec::new(),
            Replies::InParts | Replies::Once | Replies::Anew => self.all_news(true),
        }
    }

    fn all_news(&mut self, is_live: bool) -> Vec<Item> {
        let mut items = Vec::new();
        while let Some(item) = self.next_news(is_live) {
            match item {
                Item::Text { text, .. } if self.replies == Replies::InParts => {
                    items.extend(self.pieces.push(&text).into_iter().map(Item::Reply));
                }
                item => items.push(item),
            }
        }
        items
    }

    /// The rest of the reply and of the thoughts, when no more will follow.
    fn rest_of_reply(&mut self) -> Vec<Item> {
        let mut items: Vec<Item> = self.thought().into_iter().collect();
        items.extend(self.all_news(false));
        items.extend(self.pieces.finish().map(Item::Reply));
        self.forget_reply();
        items
    }

    /// Applies a live update, which is never recorded.
    pub fn update(&mut self, update: &Update) -> Vec<Item> {
        match update {
            Update::Text { text } => {
                match self.replies {
                    Replies::InParts => self.reply.hear(&safe::text(text)),
                    _ => self.reply.hear(text),
                }
                let thought = self.thought();
                thought.into_iter().chain(self.heard()).collect()
            }
            Update::Thinking { text } => {
                match self.replies {
                    Replies::InParts => self.thinking += &safe::text(text),
                    _ => self.thoughts.hear(text),
                }
                self.heard()
            }
            Update::ToolOutput { call, chunk } => {
                self.with_call(call, |call| call.hear(chunk));
                vec![Item::Output { call: call.clone(), chunk: chunk.clone() }]
            }
            Update::Retrying { reason, after_ms } => vec![self.retrying(reason, *after_ms)],
            Update::ToolCall { call, name } => {
                self.calling = Some(safe::name(name).into_owned());
                vec![Item::Announced { call: call.clone(), name: name.clone() }]
            }
            Update::Summarizing => {
                self.summarizing_since = Some(Instant::now());
                Vec::new()
            }
            Update::Undoing => {
                self.undoing_since = Some(Instant::now());
                Vec::new()
            }
            Update::UndoRefused { why, can_merge, .. } => {
                self.undoing_since = None;
                vec![Item::failure(why, can_merge.then_some(UNDO_HINT))]
            }
            Update::Refused { why } => vec![Item::failure(why, None)],
            Update::Disconnected { .. } | Update::Connected { .. } => {
                self.connection(update);
                Vec::new()
            }
            Update::ToolArguments { .. } | Update::ToolCallEnd { .. } => Vec::new(),
        }
    }

    /// Applies a change of the connection to the machine that has the session open.
    fn connection(&mut self, update: &Update) {
        self.disconnected = match update {
            Update::Disconnected { why } => Some(safe::text(why).replace('\n', " ")),
            _ => None,
        };
        if matches!(update, Update::Connected { is_at_rest: true }) {
            self.rest();
        }
    }

    fn retrying(&mut self, reason: &str, after_ms: u64) -> Item {
        let reason = safe::text(reason).into_owned();
        self.retry = Some(reason.replace('\n', " "));
        let was_begun = !self.reply.is_empty();
        match self.replies {
            Replies::InParts | Replies::Anew => self.forget_reply(),
            Replies::Once | Replies::OnDemand(_) => {
                self.reply.begin_anew();
                self.thoughts.begin_anew();
                self.calling = None;
            }
        }
        Item::Retrying { reason, after_ms, was_begun }
    }

    /// Applies a fact that was recorded `at` this time, in milliseconds since 1970-01-01 UTC.
    pub fn fact(&mut self, at: u64, fact: &Fact) -> Vec<Item> {
        (self.summarizing_since, self.awaited_until) = (None, None);
        let items = self.fold(at, fact);
        // The time in which the user is asked does not count for the turn.
        match (self.asked.is_empty(), self.asked_at) {
            (false, None) => self.asked_at = Some(at),
            (true, Some(since)) => {
                self.waited += at.saturating_sub(since);
                self.asked_at = None;
            }
            _ => {}
        }
        items
    }

    fn fold(&mut self, at: u64, fact: &Fact) -> Vec<Item> {
        match fact {
            Fact::SessionOpened(opened) => {
                self.setup = opened.setup();
                self.workspace.clone_from(&opened.workspace);
                Vec::new()
            }
            Fact::SetupChanged { setup, .. } => {
                let before = mem::replace(&mut self.setup, setup.clone());
                if before == *setup { Vec::new() } else { note(fact) }
            }
            Fact::Prompted { parts, channel } => vec![self.prompted(at, parts, channel.as_ref())],
            Fact::Called { made } => {
                self.begin(at);
                self.calls = vec![Call { is_own: true, ..Call::waiting(made) }];
                Vec::new()
            }
            Fact::GoalSet { .. }
            | Fact::GoalChecked { .. }
            | Fact::GoalMissed { .. }
            | Fact::GoalReached { .. }
            | Fact::AttemptsBegun { .. } => self.pursued(fact),
            Fact::Continued | Fact::TaskEnded { .. } => {
                self.begin(at);
                self.job_ended(fact);
                note(fact)
            }
            Fact::TaskStarted { task: job, title, .. } => {
                self.jobs.push((job.clone(), safe::text(title).into_owned()));
                aside(Aside::Task, fact)
            }
            Fact::Replied { parts, usage, .. } => {
                let mut items = self.replied(parts, *usage);
                items.extend(note(fact));
                items
            }
            Fact::ToolStarted { .. }
            | Fact::Staged { .. }
            | Fact::SubagentChanged { .. }
            | Fact::Unsettled { .. }
            | Fact::ToolEnded { .. } => self.calling(fact),
            Fact::ApprovalAsked { .. }
            | Fact::QuestionAsked { .. }
            | Fact::AcceptedPart { .. }
            | Fact::ApprovalAnswered { .. }
            | Fact::QuestionAnswered { .. } => self.asking(fact),
            Fact::ModelFailed { message, hint, .. } => self.failed(message, hint.as_deref()),
            Fact::TurnEnded { outcome, rounds, usage, cost_usd } => {
                self.turn_ended(at, *outcome, *rounds, (*usage, *cost_usd))
            }
            Fact::Rewound { way, .. } => {
                self.rest();
                let files = files(fact).unwrap_or_default();
                vec![Item::Rewound { way: *way, prompt: self.rewound.take(), files }]
            }
            fact => self.noted(fact),
        }
    }

    /// Applies a fact about the goal: it was set, checked or reached.
    fn pursued(&mut self, fact: &Fact) -> Vec<Item> {
        OpenGoal::apply(&mut self.goal, fact);
        match fact {
            Fact::GoalChecked { made } | Fact::AttemptsBegun { made } => {
                self.calls = vec![Call::waiting(made)];
                note(fact)
            }
            _ => note(fact),
        }
    }

    /// Applies a fact that is shown as a note, or not at all.
    fn noted(&mut self, fact: &Fact) -> Vec<Item> {
        match fact {
            Fact::ModelSwitched { .. } => self.retry = None,
            Fact::ModelAwaited { until, .. } => {
                (self.retry, self.awaited_until) = (None, Some(local_time(*until)));
            }
            Fact::Unconfined { .. } => self.is_unconfined = true,
            Fact::PromptDenied { reason, .. } => {
                return vec![Item::Denied { reason: safe::text(reason).into_owned() }];
            }
            Fact::ModeSet { mode } => {
                self.mode = Some(*mode);
                return aside(Aside::Mode(*mode), fact);
            }
            Fact::Evicted { .. } => return aside(Aside::Room, fact),
            _ => {}
        }
        note(fact)
    }

    /// Applies a fact about a call: it begins, changes files, or ends.
    fn calling(&mut self, fact: &Fact) -> Vec<Item> {
        match fact {
            Fact::ToolStarted { call, name, arguments, .. } => {
                // A call that was cut off is repeated.
                self.calls.extend(take(&mut self.cut_off, call));
                self.with_call(call, |call| (call.state, call.has_started) = (CallState::Running, true));
                vec![Item::Started { call: call.clone(), name: name.clone(), arguments: arguments.clone() }]
            }
            Fact::Staged { call, changes, .. } => {
                self.with_call(call, |call| call.changes.clone_from(changes));
                [self.changed(call, changes), note(fact)].concat()
            }
            Fact::SubagentChanged { call, changes, .. } => {
                self.with_call(call, |call| {
                    call.changes.extend(changes.iter().cloned());
                    call.is_delegated = true;
                });
                [self.changed(call, changes), note(fact)].concat()
            }
            Fact::Unsettled { call, paths } => {
                self.with_call(call, |call| call.left_alone(paths));
                aside(Aside::Unsettled(paths.clone()), fact)
            }
            Fact::ToolEnded { call, name, result, duration_ms } => {
                self.answered(call);
                vec![self.ended(call, name, result, Duration::from_millis(*duration_ms))]
            }
            _ => Vec::new(),
        }
    }

    fn changed(&self, call: &CallId, changes: &[Change]) -> Vec<Item> {
        let is_known = self.call(call).is_some();
        vec![Item::Changed { call: call.clone(), changes: changes.to_vec(), is_known }]
    }

    fn prompted(&mut self, at: u64, parts: &[Part], channel: Option<&Channel>) -> Item {
        self.begin(at);
        let images = parts.iter().filter_map(|part| match part {
            Part::Image(image) => Some(image.clone()),
            _ => None,
        });
        let images = images.collect();
        let from = channel.map(|channel| channel.kind.clone());
        let documents = parts.iter().filter_map(|part| match part {
            Part::Document(document) => Some(format!("\n{}", document.label())),
            _ => None,
        });
        let text = text_of(parts) + &documents.collect::<String>();
        Item::Prompt { text: safe::text(&text).into_owned(), images, from }
    }

    /// Shows the reply so far, followed by the failure that ended it.
    fn failed(&mut self, message: &str, hint: Option<&str>) -> Vec<Item> {
        let mut items = self.rest_of_reply();
        items.push(Item::failure(message, hint));
        items
    }

    /// Ends everything that is still open: an unfinished turn belongs to a process that has ended.
    pub fn rest(&mut self) {
        self.forget_reply();
        self.thinking.clear();
        self.cut_off = std::mem::take(&mut self.calls);
        self.asked.clear();
        self.asked_at = None;
        (self.working, self.since, self.retry) = (false, None, None);
        (self.summarizing_since, self.undoing_since) = (None, None);
    }

    fn begin(&mut self, at: u64) {
        if !self.working {
            (self.working, self.since, self.opened_at) = (true, Some(Instant::now()), at);
            (self.turn, self.plan, self.waited) = (Usage::default(), None, 0);
        }
    }

    fn replied(&mut self, parts: &[Part], usage: Usage) -> Vec<Item> {
        let text = text_of(parts);
        match self.replies {
            Replies::InParts => self.finish_in_parts(&safe::text(&text)),
            Replies::Once | Replies::OnDemand(_) | Replies::Anew => {
                self.thoughts.finish(&thoughts_of(parts));
                self.reply.finish(&text);
            }
        }
        let mut items = self.rest_of_reply();
        self.last_reply = if text.is_empty() { std::mem::take(&mut self.last_reply) } else { text };
        self.calls = parts.iter().filter_map(Part::as_call).map(Call::waiting).collect();
        self.context = usage.total();
        self.turn += usage;
        self.retry = None;
        items.push(Item::Replied { parts: parts.to_vec() });
        items
    }

    /// Completes the reply. If updates were lost, it continues after the parts that were passed on, or is passed on
    /// again.
    fn finish_in_parts(&mut self, whole: &str) {
        if !self.reply.is_beginning_of(whole) {
            self.reply.take_back(self.pieces.given().unwrap_or_default());
            self.pieces = Pieces::default();
        }
        self.reply.finish(whole);
    }

    fn forget_reply(&mut self) {
        (self.reply, self.thoughts) = Default::default();
        self.calling = None;
        self.pieces = Pieces::default();
    }

    fn thought(&mut self) -> Option<Item> {
        let thought = std::mem::take(&mut self.thinking);
        (!thought.trim().is_empty()).then(|| Item::Thinking(thought.trim().to_owned()))
    }

    fn ended(&mut self, id: &CallId, name: &str, result: &ToolResult, took: Duration) -> Item {
        let known = take(&mut self.calls, id).or_else(|| take(&mut self.cut_off, id));
        let unknown = || {
            let made = ToolCall::new(id.0.clone(), name, serde_json::json!({}));
            Call { has_started: true, ..Call::waiting(&made) }
        };
        let mut call = known.unwrap_or_else(unknown);
        name.clone_into(&mut call.made.name);
        let state = if result.went_well() { CallState::Done } else { CallState::Failed };
        // The user who typed the command wants its whole output.
        let lines = if call.is_own { usize::MAX } else { preview::PREVIEW_LINES };
        let (mut preview, verdict, plan) =
            (preview::preview(result, lines, self.how), verdict(result), plan(result));
        if let (true, Some(answer)) = (preview.is_empty(), &call.answer) {
            preview = answer.lines().map(str::to_owned).collect();
            preview.iter_mut().take(1).for_each(|line| *line = format!("answer: {line}"));
        }
        let summary = plan.as_ref().map_or(call.summary, Plan::progress);
        self.plan = plan.clone().or(self.plan.take());
        Item::Call(Box::new(Call {
            state,
            preview,
            verdict,
            plan,
            summary,
            took,
            is_command: result.command().is_some(),
            result: result.clone(),
            ..call
        }))
    }

    fn turn_ended(
        &mut self,
        at: u64,
        outcome: Outcome,
        rounds: u32,
        (usage, cost_usd): (Usage, Option<f64>),
    ) -> Vec<Item> {
        let mut items = self.rest_of_reply();
        self.usage += usage;
        self.cost_usd = cost_usd.map(|cost| cost + self.cost_usd.unwrap_or_default()).or(self.cost_usd);
        // A turn that ends without having begun is a summary.
        let begun = if self.working { self.opened_at } else { at };
        let waited = self.waited + self.asked_at.map_or(0, |since| at.saturating_sub(since));
        let took = Duration::from_millis(at.saturating_sub(begun).saturating_sub(waited));
        self.rest();
        items.push(Item::Ended { outcome, rounds, usage, cost_usd, took });
        items
    }

    fn job_ended(&mut self, fact: &Fact) {
        if let Fact::TaskEnded { task: job, .. } = fact {
            self.jobs.retain(|(running, _)| running != job);
        }
    }

    fn with_call(&mut self, id: &CallId, change: impl FnOnce(&mut Call)) {
        if let Some(call) = self.calls.iter_mut().find(|call| call.id == *id) {
            change(call);
        }
    }
}

fn take(calls: &mut Vec<Call>, id: &CallId) -> Option<Call> {
    calls.iter().position(|call| call.id == *id).map(|place| calls.remove(place))
}

fn thoughts_of(parts: &[Part]) -> String {
    let thoughts = parts.iter().filter_map(|part| match part {
        Part::Thinking { text, .. } => Some(text.as_str()),
        Part::Text { .. } | Part::Image(_) | Part::Document(_) | Part::ToolCall(_) => None,
    });
    thoughts.collect()
}
