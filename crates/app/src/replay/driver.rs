//! [`Driver`]: repeats the recorded prompts and answers of a session, and compares the results of its calls with the
//! recorded ones.
use super::{
    known_agent,
    moved::Moved,
    recording::{Input, RecordedCall, Recording},
    report::{Difference, Refusal, ReplayReport},
    subagents::Subagents,
};
use crate::Failure;
use futures::StreamExt;
use haft_core::{Answer, CallId, Command, Effect, Event, Fact, Part, SessionId, ToolCall, text_of};
use haft_engine::{Engine, Home, Session, Turn};
use std::{io, time::Duration};

/// The prompt to use if the recorded turn continued and this one did not.
const GO_ON: &str = "Continue.";

/// Interval between two checks whether a session has closed.
const CLOSING_INTERVAL: Duration = Duration::from_millis(5);
/// Limit for the work that a session finishes while it closes.
const CLOSING_TIMEOUT: Duration = Duration::from_secs(10);

/// A part of what another model does in the replay.
#[derive(Clone, Copy, Debug)]
pub enum Shown<'a> {
    /// A recorded prompt.
    Prompt(&'a str),
    /// Anything else.
    Event(&'a Event),
}

/// Shows what another model does.
pub type Show<'a> = &'a mut (dyn FnMut(Shown<'_>) -> io::Result<()> + Send);

/// A replay in progress.
pub(super) struct Driver {
    recording: Recording,
    heard: Recording,
    moved: Moved,
    /// Number of the first reply that another model gives.
    handed_over: usize,
    has_other_model: bool,
    /// Whether effects outside of the copy are allowed.
    allows_all: bool,
    next_input: usize,
    subagents: Subagents,
    /// Number of compared calls of the session itself.
    own_calls: usize,
    /// The home of the replay's own sessions.
    home: Home,
    report: ReplayReport,
}

impl Driver {
    pub(super) fn new(
        session: SessionId,
        recording: Recording,
        moved: Moved,
        handed_over: Option<usize>,
        allows_all: bool,
        home: Home,
    ) -> Self {
        Self {
            handed_over: handed_over.unwrap_or(recording.replies.len()),
            has_other_model: handed_over.is_some(),
            allows_all,
            recording,
            heard: Recording::default(),
            moved,
            next_input: 0,
            subagents: Subagents::default(),
            own_calls: 0,
            home,
            report: ReplayReport::of(session),
        }
    }

    /// Adds the recordings of the subagents.
    pub(super) fn with_subagents(self, subagents: Subagents) -> Self {
        Self { subagents, ..self }
    }

    /// Drives the session until all prompts are sent, or something differs from the recording.
    pub(super) async fn drive(
        mut self,
        engine: &Engine,
        mut session: Session,
        show: Show<'_>,
    ) -> Result<ReplayReport, Failure> {
        while let Some(command) = self.next_command(show)? {
            if let Some(agent) = self.next_agent() {
                session = reopened(engine, session, known_agent(engine, &agent)).await?;
            }
            if matches!(command, Command::SetGoal { .. } | Command::SetMode { .. } | Command::OpenOutbox) {
                session.send(command)?;
                continue;
            }
            let before = self.heard.replies.len();
            let replies = !matches!(command, Command::UndoCalls(_));
            self.turn(session.start(command), show).await?;
            if self.report.is_over() || replies && self.heard.replies.len() == before {
                break;
            }
        }
        self.report.rounds = self.heard.replies.len();
        if !self.report.is_over() {
            self.report.difference = self.not_made();
        }
        Ok(self.report)
    }

    /// The agent that continues from the last input on, if it differs from the agent before.
    fn next_agent(&mut self) -> Option<String> {
        let is_due = |(place, _): &mut (usize, String)| *place < self.next_input;
        self.recording.agents.extract_if(.., is_due).last().map(|(_, agent)| agent)
    }

    /// Returns the next command. A turn that ended earlier than the recorded one is told to continue.
    fn next_command(&mut self, show: Show<'_>) -> Result<Option<Command>, Failure> {
        let said = self.heard.replies.len();
        Ok(match self.recording.inputs.get(self.next_input) {
            Some(Input { after, command, .. }) if *after <= said || said >= self.handed_over => {
                self.next_input += 1;
                let command = command.clone();
                if let (true, Command::Prompt { parts, .. }) = (self.is_other_model(), &command) {
                    show(Shown::Prompt(&text_of(parts)))?;
                }
                Some(command)
            }
            _ if said < self.handed_over => {
                Some(Command::Prompt { parts: vec![Part::text(GO_ON)], channel: None })
            }
            _ => None,
        })
    }

    /// Whether the replay has reached the replies of another model.
    fn is_other_model(&self) -> bool {
        self.has_other_model && self.heard.replies.len() >= self.handed_over
    }

    async fn turn(&mut self, mut turn: Turn, show: Show<'_>) -> Result<(), Failure> {
        while let Some(event) = turn.next().await {
            if self.is_other_model() {
                show(Shown::Event(&event))?;
            }
            let Event::Recorded(entry) = &event else { continue };
            self.heard.apply(entry.seq, &entry.fact);
            match &entry.fact {
                Fact::Replied { .. } => self.steer(turn.session())?,
                Fact::ApprovalAsked { call, reason, effects, runs, .. } => {
                    let asking = self.asking(call, runs.as_deref()).cloned();
                    let answer = self.approval(call, asking.as_ref(), reason, effects);
                    let (accepted, call) = (asking.and_then(|asking| asking.accepted), call.clone());
                    turn.send(match accepted.filter(|_| answer == Answer::Once) {
                        Some(accepted) => Command::accept(call, accepted),
                        None => Command::answer(call, answer),
                    })?;
                }
                Fact::QuestionAsked { call, .. } => {
                    let reply = self.heard.replies.len().saturating_sub(1);
                    let told = self.heard.call(reply, call).map_or(0, |call| call.answers.len());
                    let answer =
                        self.recorded(call).and_then(|call| call.answers.get(told).cloned().flatten());
                    turn.send(Command::reply(call.clone(), answer))?;
                }
                Fact::ToolEnded { call, .. }
                    if self.heard.attempts.last().is_some_and(|made| made.id == *call) =>
                {
                    self.compare_attempts();
                }
                Fact::ToolEnded { call, .. } => self.compare(call),
                _ => {}
            }
            if self.report.is_over() {
                return Ok(());
            }
        }
        let report = turn.report().await;
        if self.is_other_model() {
            self.report.outcome = report.outcome;
            self.report.error = report.error;
        }
        Ok(())
    }

    /// Sends the recorded prompts that were sent in the middle of the turn.
    fn steer(&mut self, session: &Session) -> Result<(), Failure> {
        let said = self.heard.replies.len();
        while let Some(Input { after, steers: true, command }) = self.recording.inputs.get(self.next_input) {
            if *after > said || said > self.handed_over {
                break;
            }
            session.send(command.clone())?;
            self.next_input += 1;
        }
        Ok(())
    }

    /// The recorded call that corresponds to `call`.
    fn recorded(&self, call: &CallId) -> Option<&RecordedCall> {
        let reply = self.heard.replies.len().checked_sub(1)?;
        self.recording.call(reply, call).filter(|_| reply < self.handed_over)
    }

    /// The recorded call that corresponds to the one that asks: to `call`, or to the call `made` of its subagent.
    fn asking(&self, call: &CallId, made: Option<&ToolCall>) -> Option<&RecordedCall> {
        if let (Some(attempts), Some(made)) = (self.attempts_of(call), made) {
            return self.of_subagent(&attempts.subagent()?, made);
        }
        let recorded = self.recorded(call)?;
        match (recorded.subagent(), made) {
            (Some(session), Some(made)) => self.of_subagent(&session, made),
            _ => Some(recorded),
        }
    }

    /// The recorded attempts that correspond to those of `call`.
    fn attempts_of(&self, call: &CallId) -> Option<&RecordedCall> {
        let place = self.heard.attempts.iter().position(|made| made.id == *call)?;
        self.recording.taken().nth(place)
    }

    /// The recorded call of the subagent `session`, or of one below it, with the ID, name and arguments of `made`.
    fn of_subagent(&self, session: &SessionId, made: &ToolCall) -> Option<&RecordedCall> {
        let arguments = self.moved.back_all(&made.arguments);
        let calls = &self.subagents.get(session)?.calls;
        let is_meant = |call: &&RecordedCall| {
            call.id == made.id && call.name == made.name && call.arguments == arguments
        };
        let below = || calls.iter().filter_map(RecordedCall::subagent);
        calls.iter().find(is_meant).or_else(|| below().find_map(|below| self.of_subagent(&below, made)))
    }

    /// Answers a request for approval. What was denied is denied again. Changes to files of the copy are allowed; the
    /// user must allow any other recorded effect that needs an approval.
    fn approval(
        &mut self,
        call: &CallId,
        asking: Option<&RecordedCall>,
        reason: &str,
        effects: &[Effect],
    ) -> Answer {
        let allowed = self.allows_all || effects.iter().all(|effect| self.is_of_copy(effect));
        let Some(asking) = asking else {
            return if allowed { Answer::Once } else { Answer::Unanswered };
        };
        match asking.approval {
            Some(answer @ (Answer::No | Answer::Unanswered | Answer::NotUnderstood)) => answer,
            // In the recording, the mode or a rule denied the call.
            _ if asking.is_denied() => Answer::Unanswered,
            _ if allowed => Answer::Once,
            _ if asking.started.is_none() || asking.reached_out() => Answer::Unanswered,
            _ => {
                let ended = self.recorded(call).and_then(|recorded| recorded.ended.as_ref());
                let seq = ended.map(|(seq, _)| *seq);
                let (name, reason) = (asking.name.clone(), self.moved.back(reason));
                self.report.refused = Some(Refusal { seq, name, reason });
                Answer::Unanswered
            }
        }
    }

    fn is_of_copy(&self, effect: &Effect) -> bool {
        match effect {
            Effect::Read(path) | Effect::Write(path) => self.moved.holds(path),
            Effect::Execute(_) | Effect::Network(_) => false,
        }
    }

    fn compare(&mut self, id: &CallId) {
        let reply = self.heard.replies.len().saturating_sub(1);
        let (Some(recorded), Some(now)) = (self.recorded(id), self.heard.call(reply, id)) else { return };
        let (recorded, now) = (recorded.clone(), now.clone());
        if !recorded.is_compared() || recorded.ended.is_none() || now.ended.is_none() {
            return;
        }
        // The first difference is in the session of the subagent, so that is reported.
        let below = self.compare_subagent(&recorded, &now);
        let is_test = self.recording.is_test(&recorded);
        self.report.difference = below.or_else(|| self.between(&recorded, &now, is_test));
        self.own_calls += 1;
    }

    /// Compares the attempt that was taken: it is made again, with all its calls.
    fn compare_attempts(&mut self) {
        let Some(now) = self.heard.attempts.last().cloned() else { return };
        let Some(recorded) = self.attempts_of(&now.id).cloned() else { return };
        let below = self.compare_subagent(&recorded, &now);
        self.report.difference = below.or_else(|| self.between(&recorded, &now, false));
    }

    /// Counts the call, and returns what is not as it was recorded.
    fn between(&mut self, recorded: &RecordedCall, now: &RecordedCall, is_test: bool) -> Option<Difference> {
        if recorded.reached_out() && !recorded.is_repeated_by(now, is_test, &self.moved) {
            self.report.not_again += 1;
            return None;
        }
        self.report.calls += 1;
        self.report.tests += usize::from(is_test);
        recorded.difference(now, is_test, &self.moved)
    }

    /// Compares the calls that a subagent made for `recorded` with those that a subagent made for `now`.
    fn compare_subagent(&mut self, recorded: &RecordedCall, now: &RecordedCall) -> Option<Difference> {
        let (was, is) = (recorded.subagent()?, now.subagent()?);
        let recording = self.subagents.get(&was)?.clone();
        let heard = Recording::of(&self.home.peek(&is.0).unwrap_or_default());
        for call in recording.calls.iter().filter(|call| call.is_compared()) {
            let Some((seq, _)) = &call.ended else { continue };
            let Some(now) = heard.call(call.reply, &call.id).filter(|now| now.ended.is_some()) else {
                return Some(Difference::not_made(*seq, &call.name).of_subagent(&was));
            };
            let below = self.compare_subagent(call, now);
            if let Some(difference) = below.or_else(|| self.between(call, now, recording.is_test(call))) {
                return Some(difference.of_subagent(&was));
            }
        }
        None
    }

    /// The first recorded call that the replay did not reach.
    fn not_made(&self) -> Option<Difference> {
        let expected =
            self.recording.calls.iter().filter(|call| call.is_compared() && call.reply < self.handed_over);
        let mut expected = expected.filter_map(|call| Some((call.ended.as_ref()?.0, &call.name)));
        let missing = expected.nth(self.own_calls);
        let attempts = self.recording.taken().filter(|call| call.reply < self.handed_over);
        let mut attempts = attempts.filter_map(|call| Some((call.ended.as_ref()?.0, &call.name)));
        let (seq, name) = missing.or_else(|| attempts.nth(self.heard.attempts.len()))?;
        Some(Difference::not_made(seq, name))
    }
}

/// Opens the session again with this agent.
async fn reopened(engine: &Engine, session: Session, agent: &str) -> Result<Session, Failure> {
    let id = session.id().clone();
    drop(session);
    // The session's task ends before it is opened again.
    let closed = async {
        while engine.find(&id).is_some() || engine.setup().home.is_open(&id) {
            tokio::time::sleep(CLOSING_INTERVAL).await;
        }
    };
    let closed = tokio::time::timeout(CLOSING_TIMEOUT, closed).await;
    closed.map_err(|_| {
        Failure::failed(format!("cannot go on with the agent `{agent}`: the session is still open"))
    })?;
    Ok(engine.open(&id.0, agent).await?)
}
