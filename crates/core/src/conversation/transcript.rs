//! [`Transcript`]: folds facts into a conversation and decides the next [`Step`].
use super::{answer, loops::Loops, prompt_history::PromptHistory, turn_models::TurnModels};
use crate::{
    Answer, CallId, Channel, Completion, Entry, Fact, Limits, Message, OpenGoal, Outcome, Part, SessionSetup,
    StopReason, TaskId, ToolCall, ToolResult, Usage, active_path,
};
use serde_json::Value;
use std::{collections::HashMap, mem, sync::Arc};

/// The conversation so far. Always well formed: each call has its result, in call order.
#[derive(Clone, Debug, Default)]
pub struct Transcript {
    history: PromptHistory,
    open: Vec<OpenCall>,
    places: HashMap<CallId, usize>,
    channel: Option<Channel>,
    /// JSON Schema of the last reply of a turn.
    answer: Option<Arc<Value>>,
    /// The model was told to make a plan and nothing more.
    is_planning: bool,
    goal: Option<OpenGoal>,
    setup: Option<SessionSetup>,
    /// The background tasks that the conversation began.
    tasks: Vec<TaskId>,
    turn: Turn,
    phase: Phase,
}

#[derive(Clone, Debug)]
struct OpenCall {
    call: ToolCall,
    result: Option<ToolResult>,
}

/// State and counters from a prompt to the end of the turn.
#[derive(Clone, Debug, Default)]
struct Turn {
    rounds: u32,
    idle_rounds: u32,
    usage: Usage,
    refused: bool,
    /// Whether a reminder was recorded that the journal does not show the model's claims.
    is_reminded: bool,
    /// How often the model was asked again for an answer that matches the schema.
    rejections: u32,
    /// The turn is a single call that the user made.
    called: bool,
    /// The check of the goal runs, or has just ended.
    is_check: bool,
    /// Other attempts at the goal run, or have just ended.
    is_attempt: bool,
    /// Whether other attempts at the goal were made.
    has_attempted: bool,
    loops: Loops,
    models: TurnModels,
}

impl Turn {
    /// Whether the last call came from Haft (a check or an attempt) and not from a reply.
    fn is_without_reply(&self) -> bool {
        self.called || self.is_check || self.is_attempt
    }

    /// Notes that the turn continues after its last call.
    fn goes_on(&mut self) {
        (self.called, self.is_check, self.is_attempt) = (false, false, false);
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum Phase {
    #[default]
    Idle,
    Model,
    Tools,
    Over(Outcome),
}

/// What the agent does next.
#[derive(Debug, PartialEq)]
pub enum Step {
    /// Ask the model for a reply.
    AskModel,
    /// Run the calls of the last reply that have no result yet.
    RunTools(Vec<ToolCall>),
    /// End the turn.
    Stop(Outcome),
}

impl Transcript {
    /// Folds the active path of a journal; abandoned branches are skipped.
    pub fn replay(entries: &[Arc<Entry>]) -> Self {
        let mut transcript = Self::default();
        for entry in active_path(entries) {
            transcript.apply(&entry.fact);
        }
        transcript
    }

    /// Folds one more fact.
    pub fn apply(&mut self, fact: &Fact) {
        match fact {
            Fact::Prompted { parts, channel } => self.prompted(parts, channel),
            Fact::TaskEnded { task, result } => self.task_ended(task, result),
            Fact::Replied { parts, usage, stop } => {
                self.turn.models.apply(fact);
                self.assistant(parts, *usage, *stop);
            }
            Fact::Retried { usage, .. } | Fact::Sampled { usage, .. } => self.turn.usage += *usage,
            Fact::Called { made } => self.called(made),
            Fact::ToolEnded { call, result, .. } => self.answer(call, result),
            Fact::ApprovalAnswered { answer: Answer::Unanswered, .. } => self.turn.refused = true,
            Fact::Evicted { results } => self.history.evict(results),
            Fact::Compacted { summary, kept, pinned_bytes, usage, .. } => {
                self.history.compact(summary, *kept, *pinned_bytes);
                self.turn.usage += *usage;
            }
            Fact::Continued => self.phase = self.unfinished(),
            Fact::Reminded { text, .. } => self.reminded(text),
            Fact::AnswerSchema { .. } | Fact::AnswerRejected { .. } => self.wanted_answer(fact),
            Fact::GoalSet { .. }
            | Fact::GoalChecked { .. }
            | Fact::GoalMissed { .. }
            | Fact::GoalReached { .. } => self.pursued(fact),
            Fact::AttemptsBegun { made } => self.attempted(made),
            Fact::Planning { .. } | Fact::PlanAnswered { .. } => self.planned(fact),
            Fact::Nudged { text } => self.nudged(text),
            Fact::RootAdded { .. }
            | Fact::OutboxOpened
            | Fact::ItemSending { .. }
            | Fact::ItemDropped { .. } => self.done_by_a_person(fact),
            Fact::BudgetReached { .. } => self.phase = Phase::Over(Outcome::Budget),
            Fact::Interrupted => self.phase = Phase::Over(Outcome::Interrupted),
            Fact::ModelFailed { .. } => self.phase = Phase::Over(Outcome::Failed),
            Fact::TurnEnded { .. } | Fact::Rewound { .. } => self.ended(fact),
            Fact::ModelSwitched { .. } | Fact::ModelAwaited { .. } => self.turn.models.apply(fact),
            Fact::SessionOpened(_) | Fact::SetupChanged { .. } => self.set_up(fact),
            Fact::PromptQueued { .. }
            | Fact::PromptWithdrawn
            | Fact::PromptDenied { .. }
            | Fact::QuestionAsked { .. }
            | Fact::QuestionAnswered { .. }
            | Fact::ApprovalAsked { .. }
            | Fact::ApprovalAnswered { .. }
            | Fact::AcceptedPart { .. }
            | Fact::ToolStarted { .. }
            | Fact::Queued(_)
            | Fact::Staged { .. }
            | Fact::SubagentChanged { .. }
            | Fact::Unsettled { .. }
            | Fact::Unconfined { .. }
            | Fact::RoundsReached { .. }
            | Fact::ModeSet { .. }
            | Fact::Answered { .. }
            | Fact::AttemptEnded(_)
            | Fact::JobFinished(_)
            | Fact::Rewinding(_) => {}
            Fact::TaskStarted { task, .. } => self.tasks.push(task.clone()),
        }
    }

    /// Adds the result of a background task, unless a rewind undid the task.
    fn task_ended(&mut self, task: &TaskId, result: &ToolResult) {
        if self.tasks.contains(task) {
            self.user(vec![Part::text(job_report(task, result))]);
        }
    }

    fn prompted(&mut self, parts: &[Part], channel: &Option<Channel>) {
        self.channel.clone_from(channel);
        self.user(parts.to_vec());
        self.history.pin();
    }

    fn ended(&mut self, fact: &Fact) {
        self.undone(fact);
        self.phase = Phase::Idle;
        self.turn = Turn { models: mem::take(&mut self.turn.models).between_turns(), ..Turn::default() };
    }

    fn set_up(&mut self, fact: &Fact) {
        self.turn.models.apply(fact);
        self.setup = match fact {
            Fact::SessionOpened(opened) => Some(opened.setup()),
            Fact::SetupChanged { setup, .. } => Some(setup.clone()),
            _ => return,
        };
    }

    /// Tells the model about actions of the user outside of the conversation.
    fn done_by_a_person(&mut self, fact: &Fact) {
        self.between_turns(|| match fact {
            Fact::RootAdded { root } => format!("{ROOT_ADDED_TEXT} `{}`.", root.display()),
            Fact::ItemSending { item, .. } => {
                format!("The user sends item {item} of the outbox: this call is made now.")
            }
            Fact::ItemDropped { item, .. } => {
                format!("The user dropped item {item} of the outbox: it is not sent.")
            }
            _ => OUTBOX_TEXT.to_owned(),
        });
    }

    fn reminded(&mut self, text: &str) {
        self.user(vec![Part::text(text)]);
        self.turn.is_reminded = true;
    }

    /// Tells the model something between two turns. A turn that was interrupted keeps its state.
    fn between_turns(&mut self, text: impl FnOnce() -> String) {
        if self.phase == Phase::Idle {
            self.history.push(Message::User { parts: vec![Part::text(text())] });
        }
    }

    /// Adds a reminder. The turn still counts as idle, since the user has sent nothing.
    fn nudged(&mut self, text: &str) {
        self.close_calls();
        self.history.push(Message::User { parts: vec![Part::text(text)] });
        self.phase = Phase::Model;
    }

    /// Tells the model about an undo that left the conversation unchanged, since what the model knows about these files
    /// is out of date.
    fn undone(&mut self, fact: &Fact) {
        let Fact::Rewound { calls, changes, conflicts, .. } = fact else { return };
        let paths = changes.iter().map(|change| &change.path).filter(|path| !conflicts.contains(*path));
        let paths: Vec<String> = paths.map(|path| format!("`{}`", path.display())).collect();
        if !calls.is_empty() && !paths.is_empty() {
            self.user(vec![Part::text(format!("{UNDONE_TEXT} {}", paths.join(", ")))]);
        }
    }

    /// Folds the facts about a goal: set, checked, missed or reached.
    fn pursued(&mut self, fact: &Fact) {
        OpenGoal::apply(&mut self.goal, fact);
        match fact {
            Fact::GoalChecked { made } => self.checked(made),
            Fact::GoalMissed { text: Some(text), .. } => self.user(vec![Part::text(text)]),
            _ => {}
        }
    }

    /// Folds the facts about plan mode and the answer to a plan.
    fn planned(&mut self, fact: &Fact) {
        match fact {
            Fact::Planning { is_on, text } => {
                self.is_planning = *is_on;
                self.history.add_to_prompt(Part::text(text));
            }
            Fact::PlanAnswered { is_accepted, text } => {
                self.is_planning = !is_accepted;
                self.user(vec![Part::text(text)]);
            }
            _ => {}
        }
    }

    /// Folds the facts about the schema of the last reply.
    fn wanted_answer(&mut self, fact: &Fact) {
        match fact {
            Fact::AnswerSchema { schema } => {
                self.answer = schema.clone().map(Arc::new);
                self.turn.rejections = 0;
                if let Some(schema) = schema {
                    self.history.add_to_prompt(Part::text(answer::instructions(schema)));
                }
            }
            Fact::AnswerRejected { text: Some(text), .. } => {
                self.user(vec![Part::text(text)]);
                self.turn.rejections += 1;
            }
            _ => {}
        }
    }

    /// The messages that the model reads. They are shared, so cloning them is cheap.
    pub fn messages(&self) -> &[Arc<Message>] {
        self.history.messages()
    }

    /// Estimated tokens of a request, `fixed` of them before the first message: the server's count of the last request
    /// plus an estimate of the messages since, or an estimate of all messages if the server gave no count.
    pub fn size(&self, fixed: u64) -> u64 {
        self.history.size(fixed)
    }

    /// The ratio of tokens counted by the server to estimated tokens.
    pub fn scale(&self, fixed: u64) -> f64 {
        self.history.scale(fixed)
    }

    /// Whether the conversation was summarized and the model has not replied since.
    pub fn is_compacted(&self) -> bool {
        self.history.is_compacted()
    }

    /// Whether the last message is a reply, so that the model needs a new message before it replies again.
    pub fn ends_with_reply(&self) -> bool {
        matches!(self.messages().last().map(AsRef::as_ref), Some(Message::Assistant { .. }))
    }

    /// Whether no turn is open.
    pub fn is_idle(&self) -> bool {
        self.phase == Phase::Idle
    }

    /// The calls of the last reply that have no result yet.
    pub fn unanswered(&self) -> Vec<ToolCall> {
        self.open.iter().filter(|open| open.result.is_none()).map(|open| open.call.clone()).collect()
    }

    /// The channel of the last prompt.
    pub fn channel(&self) -> Option<&Channel> {
        self.channel.as_ref()
    }

    /// Whether this turn has a reminder that the journal does not show the model's claims.
    pub fn is_reminded(&self) -> bool {
        self.turn.is_reminded
    }

    /// JSON Schema that the last reply of the turn must match; `None` for any reply.
    pub fn answer_schema(&self) -> Option<&Arc<Value>> {
        self.answer.as_ref().filter(|_| !self.turn.called)
    }

    /// The goal of the session.
    pub fn goal(&self) -> Option<&OpenGoal> {
        self.goal.as_ref()
    }

    /// Whether the check of the goal runs, or has ended and was not evaluated yet.
    pub fn is_checking(&self) -> bool {
        self.turn.is_check
    }

    /// Whether other attempts at the goal run, or have ended and were not evaluated yet.
    pub fn is_attempting(&self) -> bool {
        self.turn.is_attempt
    }

    /// Whether other attempts at the goal were made in this turn.
    pub fn has_attempted(&self) -> bool {
        self.turn.has_attempted
    }

    /// Whether the turn consists of a call in place of the model.
    pub fn is_call(&self) -> bool {
        self.turn.called
    }

    /// Whether the model was told to make a plan and nothing more.
    pub fn is_planning(&self) -> bool {
        self.is_planning
    }

    /// The last reply, if it is the last message and has a text.
    pub fn last_reply(&self) -> Option<String> {
        match self.messages().last().map(AsRef::as_ref) {
            Some(Message::Assistant { parts }) => {
                Some(crate::message::text_of(parts)).filter(|text| !text.trim().is_empty())
            }
            Some(Message::User { .. } | Message::Tool { .. }) | None => None,
        }
    }

    /// How often the model was asked again in this turn for an answer that matches the schema.
    pub fn rejections(&self) -> u32 {
        self.turn.rejections
    }

    /// Model calls of this turn so far.
    pub fn rounds(&self) -> u32 {
        self.turn.rounds
    }

    /// Tokens of this turn so far.
    pub fn usage(&self) -> Usage {
        self.turn.usage
    }

    /// The agent and the model of the last turn; `None` before the first entry.
    pub fn setup(&self) -> Option<&SessionSetup> {
        self.setup.as_ref()
    }

    /// The model that this turn asks, and the models that failed in it.
    pub fn models(&self) -> &TurnModels {
        &self.turn.models
    }

    /// How often the calls of the last reply were made with the same results, consecutively or alternating with a few
    /// others: 1 for the first time.
    pub fn repeats(&self) -> usize {
        self.turn.loops.repeats()
    }

    /// Returns what the agent does next. Depends only on the recorded facts, so a session can be resumed at any entry.
    pub fn next_step(&self, limits: &Limits) -> Step {
        match self.phase {
            Phase::Idle => Step::Stop(Outcome::Finished),
            Phase::Over(Outcome::Finished) => self.after_a_reply_without_calls(limits),
            Phase::Over(outcome) => Step::Stop(outcome),
            Phase::Tools if self.repeats() >= limits.max_repeats => Step::Stop(Outcome::Repeating),
            Phase::Tools => Step::RunTools(self.unanswered()),
            Phase::Model => self.ask(limits),
        }
    }

    fn ask(&self, limits: &Limits) -> Step {
        match limits.max_rounds {
            Some(max) if max > 0 && self.turn.rounds >= max => Step::Stop(Outcome::RoundLimit),
            _ => Step::AskModel,
        }
    }

    fn after_a_reply_without_calls(&self, limits: &Limits) -> Step {
        let done = match &limits.completion {
            _ if self.turn.is_without_reply() || self.turn.rejections > 0 => true,
            Completion::NoCalls => true,
            Completion::PhraseOrIdle { phrase, idle_rounds, .. } => {
                self.turn.idle_rounds >= *idle_rounds || self.last_reply_says(phrase)
            }
        };
        match (done, self.turn.refused) {
            (false, _) => self.ask(limits),
            (true, true) => Step::Stop(Outcome::Refused),
            (true, false) => Step::Stop(Outcome::Finished),
        }
    }

    fn last_reply_says(&self, phrase: &str) -> bool {
        match self.messages().last().map(AsRef::as_ref) {
            Some(Message::Assistant { parts }) => {
                crate::message::text_of(parts).to_lowercase().contains(&phrase.to_lowercase())
            }
            _ => false,
        }
    }

    /// Adds a prompt. In the middle of a turn, it steers the turn: the turn continues, and the counters of repeated
    /// calls are reset.
    fn user(&mut self, parts: Vec<Part>) {
        self.close_calls();
        self.history.push(Message::User { parts });
        self.turn.loops.clear();
        self.turn.idle_rounds = 0;
        self.turn.goes_on();
        self.phase = Phase::Model;
    }

    fn assistant(&mut self, parts: &[Part], usage: Usage, stop: StopReason) {
        self.close_calls();
        self.turn.goes_on();
        self.turn.rounds += 1;
        self.turn.usage += usage;
        self.history.push(Message::Assistant { parts: parts.to_vec() });
        self.history.measure(usage);
        let calls = parts.iter().filter_map(Part::as_call);
        self.open = calls.map(|call| OpenCall { call: call.clone(), result: None }).collect();
        self.places =
            self.open.iter().enumerate().map(|(place, open)| (open.call.id.clone(), place)).collect();
        self.phase = match (stop, self.open.is_empty()) {
            (StopReason::Interrupted, _) => Phase::Over(Outcome::Interrupted),
            (StopReason::Repeating | StopReason::Endless, _) => Phase::Over(Outcome::Repeating),
            (_, true) => Phase::Over(Outcome::Finished),
            (_, false) => Phase::Tools,
        };
        if self.open.is_empty() {
            self.turn.idle_rounds += 1;
        } else {
            self.turn.idle_rounds = 0;
            self.turn.loops.called(self.open.iter().map(|open| &open.call));
        }
    }

    fn called(&mut self, made: &ToolCall) {
        self.close_calls();
        self.turn.called = true;
        let parts = vec![Part::ToolCall(made.clone())];
        self.history.push(Message::Assistant { parts });
        self.run_alone(made);
    }

    /// The model reads the result together with the next message.
    fn checked(&mut self, made: &ToolCall) {
        self.close_calls();
        self.turn.goes_on();
        self.turn.is_check = true;
        self.run_alone(made);
    }

    /// The model reads the result of a successful attempt.
    fn attempted(&mut self, made: &ToolCall) {
        self.close_calls();
        self.turn.goes_on();
        (self.turn.is_attempt, self.turn.has_attempted) = (true, true);
        self.turn.loops.clear();
        self.run_alone(made);
    }

    fn run_alone(&mut self, made: &ToolCall) {
        self.open = vec![OpenCall { call: made.clone(), result: None }];
        self.places = HashMap::from([(made.id.clone(), 0)]);
        self.phase = Phase::Tools;
    }

    fn answer(&mut self, call: &CallId, result: &ToolResult) {
        self.tasks.extend(result.job.clone());
        if let Some(open) = self.places.get(call).and_then(|place| self.open.get_mut(*place)) {
            open.result = Some(result.clone());
        }
        if !self.open.is_empty() && self.open.iter().rev().all(|open| open.result.is_some()) {
            self.close_calls();
            self.phase = match self.phase {
                Phase::Tools if self.turn.is_without_reply() => Phase::Over(Outcome::Finished),
                Phase::Tools => Phase::Model,
                over @ (Phase::Over(_) | Phase::Idle | Phase::Model) => over,
            };
        }
    }

    /// Adds the results in call order, independent of the order in which the calls ended.
    fn close_calls(&mut self) {
        self.places.clear();
        if self.turn.is_check {
            return self.open.clear();
        }
        if self.turn.is_attempt {
            // A refusal within an attempt does not count for this turn.
            self.turn.refused = false;
            let results = self.open.drain(..).filter_map(|open| open.result).filter(ToolResult::is_ok);
            let texts = results.map(|result| Message::User { parts: vec![Part::text(result.content)] });
            return texts.for_each(|text| self.history.push(text));
        }
        self.turn.loops.answered(self.open.iter().filter_map(|open| open.result.as_ref()));
        for OpenCall { call, result } in self.open.drain(..) {
            let result = result.unwrap_or_else(ToolResult::not_run);
            self.history.push(Message::Tool { call: call.id, name: call.name, result });
        }
    }

    fn unfinished(&self) -> Phase {
        match self.messages().last().map(AsRef::as_ref) {
            _ if !self.open.is_empty() => Phase::Tools,
            _ if self.turn.is_without_reply() => Phase::Over(Outcome::Finished),
            Some(Message::User { .. } | Message::Tool { .. }) => Phase::Model,
            Some(Message::Assistant { .. }) | None => Phase::Idle,
        }
    }
}

/// Tells the model that the user added a folder; the folder's path follows.
const ROOT_ADDED_TEXT: &str = "The user added a folder to the workspace. Read, search and change its files as those of the \
                               workspace, by their absolute paths; commands can read it, and not change it:";

/// Tells the model that the session has an outbox.
const OUTBOX_TEXT: &str = "No person can be asked in this session. What cannot be taken back (a push, a request, a message, \
                           a tool of another server) is queued for the user and not done; go on without it.";

/// Tells the model about an undo that left the conversation unchanged; the files follow.
const UNDONE_TEXT: &str = "The user undid some of your calls and kept the others. Files that changed with that, which you \
                           should read again before you rely on them:";

fn job_report(job: &TaskId, result: &ToolResult) -> String {
    format!("Job {} has ended.\n{}", job.0, result.content)
}
