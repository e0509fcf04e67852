//! [`Recording`]: what a replay needs of a session: its prompts, the replies of the model, and the result of each call.
use super::{
    moved::Moved,
    report::{Difference, FileOutcome},
};
use haft_core::{
    Accepted, Answer, CallId, Change, Command, ENDED_WITH_SUBAGENT, Entry, FOLDER_NOTE, Fact, Goal,
    HOOK_ASKS, HOOK_NOTE, Mode, Part, Report, Sampled, Seq, SessionId, StopReason, SubagentRun, ToolCall,
    ToolErrorKind, ToolResult, Tracking, UndoCalls, active_path, edit_notes, is_gits_own,
    policy::is_git_data, text_of,
};
use serde_json::Value;
use std::{collections::BTreeSet, path::PathBuf, sync::Arc};

/// The tool that delivers the work of a job to repositories and people. A replay does not deliver it again.
pub(super) const PUBLISH: &str = "publish";

/// The tool that sends a request, which a replay does not send again.
pub(super) const FETCH: &str = "fetch";

/// The conversation of a session, without abandoned branches.
#[derive(Debug, Default)]
pub(super) struct Recording {
    /// The inputs of the user.
    pub(super) inputs: Vec<Input>,
    /// The agents that the session continued with, each with the index of the first input that it worked on.
    pub(super) agents: Vec<(usize, String)>,
    /// The replies, each with its stop reason. A call that was made in place of the model counts as a reply.
    pub(super) replies: Vec<(Vec<Part>, StopReason)>,
    /// The calls, in the order in which they were made.
    pub(super) calls: Vec<RecordedCall>,
    /// Files that its calls read, relative to the workspace or absolute.
    pub(super) reads: Vec<PathBuf>,
    /// Entries with results of test runs that are compared by their outcome.
    pub(super) tests: BTreeSet<Seq>,
    /// Replies of models to requests of MCP servers, with the name of the server.
    pub(super) samples: Vec<(String, Sampled)>,
    /// The calls that stand for attempts at a goal. Each belongs to the reply before it.
    pub(super) attempts: Vec<RecordedCall>,
    /// The entry of attempts that cannot be made again, and why.
    pub(super) attempts_refused: Option<(Seq, &'static str)>,
    /// The numbers of attempts, by session.
    numbers: Vec<(SessionId, u32)>,
    is_in_turn: bool,
    is_planning: bool,
    /// The last call that sent an item of the outbox.
    sent: Option<CallId>,
}

/// A prompt or a call of the user.
#[derive(Clone, Debug)]
pub(super) struct Input {
    /// Number of replies before it.
    pub(super) after: usize,
    /// Whether it came in the middle of a turn.
    pub(super) steers: bool,
    pub(super) command: Command,
}

/// A call and its result.
#[derive(Clone, Debug)]
pub(super) struct RecordedCall {
    /// Number of the reply that contains the call.
    pub(super) reply: usize,
    pub(super) id: CallId,
    pub(super) name: String,
    pub(super) arguments: Value,
    /// Entry of its result, and the result; `None` if a crash interrupted the call.
    pub(super) ended: Option<(Seq, ToolResult)>,
    /// Changed files, with their outcome.
    pub(super) changed: Vec<(PathBuf, Option<FileOutcome>)>,
    /// The name and the arguments with which the tool ran, if it did.
    pub(super) started: Option<(String, Value)>,
    /// The user's answer, if an approval was asked for. For a call that delegates, the last answer to its subagent.
    pub(super) approval: Option<Answer>,
    /// The parts that the user accepted; `None` for all.
    pub(super) accepted: Option<Accepted>,
    /// The user's answers to its questions, in order. A call that delegates may have several.
    pub(super) answers: Vec<Option<String>>,
    /// Whether it was stopped or its process died, so that its result is incomplete.
    pub(super) is_cut: bool,
    /// Whether it ran a command that reached the network or could write outside of its view.
    runs_outside: bool,
    /// Whether it ran in a view of its own.
    is_in_view: bool,
    /// Its changes in the workspace, except those of Git's own data.
    pub(super) left: Vec<Change>,
}

impl RecordedCall {
    fn of(made: &ToolCall, reply: usize) -> Self {
        Self {
            reply,
            id: made.id.clone(),
            name: made.name.clone(),
            arguments: made.arguments.clone(),
            ended: None,
            changed: Vec::new(),
            started: None,
            approval: None,
            accepted: None,
            answers: Vec::new(),
            is_cut: false,
            runs_outside: false,
            is_in_view: false,
            left: Vec::new(),
        }
    }

    /// Whether the policy, the guard or a hook denied it without asking the user.
    pub(super) fn is_denied(&self) -> bool {
        self.approval.is_none() && self.is_refused()
    }

    /// Whether it was denied, by the user or otherwise.
    pub(super) fn is_refused(&self) -> bool {
        self.failed_with(ToolErrorKind::Permission) || self.failed_with(ToolErrorKind::Security)
    }

    /// Whether a replay runs the call again as it ran, and its result must be the same.
    pub(super) fn runs_again(&self) -> bool {
        self.had_effect() && !self.reached_out()
    }

    /// Whether a replay may try the call in a view without a network and other folders: its result may be the same.
    pub(super) fn runs_isolated(&self) -> bool {
        self.had_effect() && self.runs_outside && self.is_in_view
    }

    /// Whether the call had an effect: not if it was denied, named a tool that was not offered, was not run, or was
    /// interrupted before it changed anything.
    fn had_effect(&self) -> bool {
        let did_not_begin =
            self.started.is_none() && (self.is_refused() || self.failed_with(ToolErrorKind::Validation));
        !(did_not_begin || self.is_refused_for_hook() || (self.is_interrupted() && self.changed.is_empty()))
    }

    /// Whether the call could have effects outside of a copy of the workspace. A replay does not repeat these.
    pub(super) fn reached_out(&self) -> bool {
        let ran = self.started.as_ref().map(|(name, _)| name.as_str());
        self.runs_outside || ran == Some(FETCH)
    }

    /// What `now`, which repeats the call in a copy of the workspace, did otherwise. `is_test`: only the outcome and the
    /// files are compared.
    pub(super) fn difference(&self, now: &Self, is_test: bool, moved: &Moved) -> Option<Difference> {
        let ((seq, was), (_, is)) = (self.ended.as_ref()?, now.ended.as_ref()?);
        // Whatever the reason is now: it did nothing, then and now.
        if (self.is_denied() || !self.runs_again()) && now.is_refused() {
            return None;
        }
        if let (Some((tool, arguments)), Some((tool_now, arguments_now))) = (&self.started, &now.started)
            && (tool, arguments) != (tool_now, &moved.back_all(arguments_now))
        {
            let told = |tool: &str, arguments: &Value| format!("{tool} {arguments}");
            let replayed = told(tool_now, &moved.back_all(arguments_now));
            return Some(Difference::ran(*seq, &self.name, told(tool, arguments), replayed));
        }
        let (was, mut is) = (without_notes(was), without_notes(is));
        // The text of a queued item holds the session's ID, which differs.
        let is_queued = matches!(was.report(), Some(Report::Queued(_)));
        // A subagent's calls are compared one by one. Its text has their number, and some are not made again.
        let is_subagent = matches!(was.report(), Some(Report::Subagent(_)));
        // Takes the recorded text, so that only the outcome and the files are compared.
        if is_test || is_queued {
            is.content = moved.there(&was.content);
        }
        if is_test || is_queued || is_subagent {
            is.shown = was.shown.clone();
        }
        let (had_changed, has_changed) = (&self.changed[..], &now.changed[..]);
        Difference::between(*seq, &self.name, (&was, had_changed), (&is, has_changed), moved)
    }

    /// Whether `now` ran and gave the same result.
    pub(super) fn is_repeated_by(&self, now: &Self, is_test: bool, moved: &Moved) -> bool {
        !now.is_refused() && self.difference(now, is_test, moved).is_none()
    }

    /// Whether its result is compared.
    pub(super) fn is_compared(&self) -> bool {
        !self.is_cut && self.name != PUBLISH
    }

    /// Whether a hook asked for an approval that the user did not give. In a replay, no hook asks.
    fn is_refused_for_hook(&self) -> bool {
        let error = self.ended.as_ref().and_then(|(_, result)| result.error.as_ref());
        self.is_refused() && error.is_some_and(|error| error.message.contains(HOOK_ASKS))
    }

    fn is_interrupted(&self) -> bool {
        let error = self.ended.as_ref().and_then(|(_, result)| result.error.as_ref());
        error.is_some_and(|error| error.is_interruption())
    }

    fn failed_with(&self, kind: ToolErrorKind) -> bool {
        let error = self.ended.as_ref().and_then(|(_, result)| result.error.as_ref());
        error.is_some_and(|error| error.kind == kind)
    }

    /// The session of the subagent that worked for it.
    pub(super) fn subagent(&self) -> Option<SessionId> {
        match self.ended.as_ref()?.1.report() {
            Some(Report::Subagent(SubagentRun { session })) => Some(session),
            _ => None,
        }
    }
}

impl Recording {
    /// Reads the recording from the entries of a journal.
    pub(super) fn of(entries: &[Arc<Entry>]) -> Self {
        let mut recording = Self::default();
        for entry in active_path(entries) {
            recording.apply(entry.seq, &entry.fact);
        }
        recording
    }

    /// Declares that its commands could depend on something outside of the copy.
    pub(super) fn commands_depend_on_outside(&mut self) {
        self.calls.iter_mut().filter(|call| call.is_in_view).for_each(|call| call.runs_outside = true);
    }

    /// The named fields of the results of this tool, for calls that succeeded.
    pub(super) fn details_of(&self, tool: &str) -> impl Iterator<Item = Value> {
        let calls = self.calls.iter().filter(move |call| call.name == tool);
        let results = calls.filter_map(|call| call.ended.as_ref()).map(|(_, result)| result);
        results.filter(|result| result.is_ok()).map(|result| result.details.clone())
    }

    /// Adds a fact, of the recording or of its replay: both are read in the same way.
    pub(super) fn apply(&mut self, seq: Seq, fact: &Fact) {
        match fact {
            Fact::Prompted { parts, .. } => {
                self.input(Command::Prompt { parts: parts.clone(), channel: None });
            }
            Fact::AnswerSchema { schema: Some(schema) } => self.wants_answer(schema),
            Fact::GoalSet { goal } => {
                // `is_typed` is false so that the policy judges the commands that the replay runs. `attempts_ended`
                // adds the attempts.
                let goal =
                    goal.clone().map(|goal| Goal { is_typed: false, attempts: None, choose: false, ..goal });
                self.before_a_turn(Command::SetGoal { goal });
            }
            Fact::SetupChanged { setup, .. } => self.agents.push((self.inputs.len(), setup.agent.clone())),
            Fact::ModeSet { mode } if (*mode == Mode::Plan) != self.is_planning => {
                self.is_planning = !self.is_planning;
                let mode = if self.is_planning { Mode::Plan } else { Mode::Ask };
                self.before_a_turn(Command::SetMode { mode });
            }
            Fact::Planning { is_on: true, .. } if !self.is_planning => self.began_in_plan_mode(),
            Fact::PlanAnswered { text, .. } => {
                // The replay does not answer the question about the plan again: the recorded answer opens a turn.
                self.is_in_turn = false;
                self.input(Command::Prompt { parts: vec![Part::text(text)], channel: None });
            }
            Fact::OutboxOpened => self.before_a_turn(Command::OpenOutbox),
            // Sending an item reaches outside of the copy, and is no part of the work that the item came from.
            Fact::ItemSending { call, .. } => self.sent = Some(call.clone()),
            Fact::Called { made } if self.sent.as_ref() == Some(&made.id) || made.name == PUBLISH => {}
            Fact::Called { made } => {
                let (name, arguments) = (made.name.clone(), made.arguments.clone());
                self.input(Command::Call { name, arguments });
                self.reply(&[Part::ToolCall(made.clone())], StopReason::ToolUse);
            }
            Fact::Sampled { server, model, text, usage, stop, .. } => {
                let (model, text) = (model.clone(), text.clone());
                self.samples.push((server.clone(), Sampled { model, text, usage: *usage, stop: *stop }));
            }
            Fact::AttemptsBegun { made } => {
                let reply = self.replies.len().saturating_sub(1);
                self.attempts.push(RecordedCall::of(made, reply));
            }
            Fact::AttemptEnded(end) => self.numbers.push((end.session.clone(), end.number)),
            Fact::Replied { parts, stop, .. } => self.reply(parts, *stop),
            Fact::Interrupted | Fact::Continued => {
                let open = self.calls.iter_mut().filter(|call| call.ended.is_none());
                open.for_each(|call| call.is_cut = true);
            }
            Fact::TurnEnded { .. } => self.is_in_turn = false,
            Fact::Rewound { calls, .. } if !calls.is_empty() => {
                self.input(Command::UndoCalls(UndoCalls { calls: calls.clone(), ..UndoCalls::default() }));
                self.is_in_turn = false;
            }
            _ => self.apply_to_call(seq, fact),
        }
    }

    /// Such a session records no change of the mode, only the plan-mode note of its first prompt. The mode is set
    /// before that prompt.
    fn began_in_plan_mode(&mut self) {
        self.is_planning = true;
        let prompt = self.inputs.pop();
        let command = Command::SetMode { mode: Mode::Plan };
        let after = prompt.as_ref().map_or(self.replies.len(), |prompt| prompt.after);
        self.inputs.push(Input { after, steers: false, command });
        self.inputs.extend(prompt);
    }

    /// Adds the required answer schema to the last prompt.
    fn wants_answer(&mut self, schema: &Value) {
        if let Some(Input { command, .. }) = self.inputs.last_mut()
            && let Command::Prompt { parts, .. } = command
        {
            *command = Command::PromptWithSchema { parts: std::mem::take(parts), schema: schema.clone() };
        }
    }

    /// Applies a fact about one call.
    fn apply_to_call(&mut self, seq: Seq, fact: &Fact) {
        match fact {
            Fact::ToolStarted { call, name, arguments, how, outside, reads } => {
                self.reads.extend(reads.iter().map(|read| read.path.clone()));
                // A call that a crash interrupted runs again from its beginning.
                let started = Some((name.clone(), arguments.clone()));
                // Declared changes are all that such a call changed, so running it again repeats no other effect.
                let runs_outside = *outside && *how != Tracking::Declared;
                self.with(call, |call| {
                    (call.started, call.is_cut, call.runs_outside) = (started, false, runs_outside);
                    call.is_in_view = *how == Tracking::Staged;
                });
            }
            Fact::Staged { call, changes, .. } | Fact::SubagentChanged { call, changes, .. } => {
                // The time at which Git wrote its own data differs each time.
                let recorded = changes.iter().filter(|change| !is_git_data(change));
                let left = changes.iter().filter(|change| !is_gits_own(&change.path)).cloned();
                self.with(call, |call| {
                    call.changed.extend(recorded.map(outcome));
                    call.left.extend(left);
                });
            }
            Fact::AcceptedPart { call, accepted } => {
                self.with(call, |call| call.accepted = Some(accepted.clone()));
            }
            Fact::ApprovalAnswered { call, answer, .. } => {
                self.with(call, |call| call.approval = Some(*answer))
            }
            Fact::QuestionAnswered { call, answer, .. } => {
                self.with(call, |call| call.answers.push(answer.clone()));
            }
            Fact::ToolEnded { call, result, .. } => {
                self.with(call, |call| {
                    call.ended = Some((seq, result.clone()));
                    call.is_cut |= call.is_interrupted();
                });
                if self.attempts.last().is_some_and(|attempts| attempts.id == *call) {
                    self.attempts_ended(seq);
                }
            }
            _ => {}
        }
    }

    /// Whether the call ran tests, whose results are compared by their outcome.
    pub(super) fn is_test(&self, call: &RecordedCall) -> bool {
        call.ended.as_ref().is_some_and(|(seq, _)| self.tests.contains(seq))
    }

    /// The first prompt, as text.
    pub(super) fn opening(&self) -> String {
        let first = self.inputs.iter().find_map(|input| match &input.command {
            Command::Prompt { parts, .. } | Command::PromptWithSchema { parts, .. } => Some(text_of(parts)),
            _ => None,
        });
        first.unwrap_or_default()
    }

    /// The call with this ID in the reply with this index.
    pub(super) fn call(&self, reply: usize, id: &CallId) -> Option<&RecordedCall> {
        self.calls.iter().rfind(|call| call.reply == reply && call.id == *id)
    }

    /// The calls for attempts of which one was taken, in order.
    pub(super) fn taken(&self) -> impl Iterator<Item = &RecordedCall> {
        self.attempts.iter().filter(|call| call.subagent().is_some())
    }

    /// Sets the goal to ask for the attempt that was taken. If none was taken, the turn stays as it is, without
    /// attempts.
    fn attempts_ended(&mut self, seq: Seq) {
        let Some(call) = self.attempts.last() else { return };
        let is_taken = call.ended.as_ref().is_some_and(|(_, result)| result.is_ok());
        let session = call.subagent();
        let number = self.numbers.iter().find(|(known, _)| Some(known) == session.as_ref());
        let count = call.arguments["count"].as_u64().and_then(|count| u8::try_from(count).ok());
        let goal = self.inputs.iter_mut().rev().find_map(|input| match &mut input.command {
            Command::SetGoal { goal } => goal.as_mut(),
            _ => None,
        });
        let (Some(goal), true) = (goal, is_taken) else { return };
        let only = number.and_then(|(_, number)| u8::try_from(*number).ok());
        match only {
            None => {
                self.attempts_refused =
                    Some((seq, "the session of the attempt that was taken is not recorded"));
            }
            Some(_) if goal.only.is_some() => {
                self.attempts_refused = Some((seq, "its goal had attempts before"));
            }
            Some(_) => (goal.attempts, goal.only) = (count.map(|count| count.saturating_add(1)), only),
        }
    }

    fn before_a_turn(&mut self, command: Command) {
        self.inputs.push(Input { after: self.replies.len(), steers: false, command });
    }

    fn input(&mut self, command: Command) {
        self.inputs.push(Input { after: self.replies.len(), steers: self.is_in_turn, command });
        self.is_in_turn = true;
    }

    fn reply(&mut self, parts: &[Part], stop: StopReason) {
        let reply = self.replies.len();
        let calls = parts.iter().filter_map(Part::as_call).map(|call| RecordedCall::of(call, reply));
        self.calls.extend(calls);
        self.replies.push((parts.to_vec(), stop));
    }

    /// Changes the last call with this ID: a later reply may use the same ID again.
    fn with(&mut self, id: &CallId, change: impl FnOnce(&mut RecordedCall)) {
        self.calls.iter_mut().chain(&mut self.attempts).rfind(|call| call.id == *id).map(change);
    }
}

fn outcome(change: &Change) -> (PathBuf, Option<FileOutcome>) {
    (change.path.clone(), change.after.as_ref().map(FileOutcome::from))
}

/// The result without the answers of hooks and the notes on folders, which a replay does not ask for, and without what
/// says that tasks ended with the subagent, which is a matter of time. All of these follow what the tool returned.
fn without_notes(result: &ToolResult) -> ToolResult {
    let content = edit_notes(&result.content, |text| {
        let notes =
            [HOOK_NOTE, FOLDER_NOTE, ENDED_WITH_SUBAGENT].into_iter().filter_map(|note| text.find(note));
        text[..notes.min().unwrap_or(text.len())].to_owned()
    });
    ToolResult { content, ..result.clone() }
}
