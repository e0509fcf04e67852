//! [`ChildRun`]: runs another agent for a call, in a child session.
use crate::session::{
    EngineError, Session, tool_call_for,
    tree::{AttemptPlace, Caller, Ceiling, Tree},
    turn_handle::Turn,
    turn_report::TurnReport,
};
use futures::{StreamExt, future::BoxFuture};
use haft_call::{
    Answered, ApprovalRequest, Approved, Asker, Attempt, Attempted, CallScope, Delegates, ParentCall, Replied,
};
use haft_core::{
    CallId, Command, ENDED_WITH_SUBAGENT, Event, Fact, Limits, NoSubagents, Outcome, Question, Running,
    Subagents, ToolError, ToolErrorKind, ToolOutput, arguments_in_brief, clip,
};
use serde_json::json;
use std::{collections::HashMap, sync::Arc};
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

/// Opens child sessions.
pub(crate) trait Opens: Send + Sync {
    /// Opens a child session for a part of the work of `caller`.
    fn open_below(&self, agent: &str, caller: Caller) -> Result<Session, EngineError>;
}

/// Lets the calls of a session delegate to child sessions.
pub(crate) struct ChildRun<O> {
    pub(crate) opens: O,
    /// The place of the session whose calls delegate.
    pub(crate) tree: Tree,
    pub(crate) limits: Limits,
}

impl<O: Opens + Clone + 'static> Delegates for ChildRun<O> {
    fn subagents(&self, scope: &CallScope, parent: ParentCall, asker: Asker) -> Arc<dyn Subagents> {
        if !self.tree.may_delegate() {
            return Arc::new(NoSubagents);
        }
        let ceiling = Ceiling { permission: scope.permission.clone(), limits: self.limits.clone() };
        let (session, tree, stage) = (scope.session.clone(), self.tree.clone(), scope.stage.clone());
        let caller = Caller { session, tree, ceiling, stage, parent, attempt: None };
        Arc::new(Delegating { opens: self.opens.clone(), caller, agent: scope.agent.clone(), asker })
    }

    fn attempt<'a>(
        &'a self,
        scope: &'a CallScope,
        attempt: Attempt,
        parent: ParentCall,
        asker: Asker,
    ) -> BoxFuture<'a, Result<Attempted, ToolError>> {
        let Attempt { number, goal, prompt, stage, budget, stop } = attempt;
        let limits = Limits { budget, ..self.limits.clone() };
        let ceiling = Ceiling { permission: scope.permission.clone(), limits };
        let (session, tree) = (scope.session.clone(), self.tree.leaf());
        let place = Some(AttemptPlace { number, whole: self.limits.budget });
        let caller = Caller { session, tree, ceiling, stage, parent, attempt: place };
        Box::pin(async move {
            let session = self.opens.open_below(&scope.agent, caller).map_err(not_started)?;
            let _interrupted_on_drop = InterruptOnDrop(&session);
            let _session_is_closed = session.send(Command::SetGoal { goal: Some(goal) });
            let turn = session.start(Command::Prompt { parts: prompt, channel: None });
            let following = follow(&session, &asker, turn, Box::new(|_| {}));
            tokio::pin!(following);
            let report = tokio::select! {
                report = &mut following => report,
                () = stop.cancelled() => {
                    let _it_has_ended = session.send(Command::Interrupt);
                    following.await
                }
            };
            Ok(attempted(&session, report))
        })
    }
}

/// The result of an attempt, by its journal.
fn attempted(session: &Session, report: TurnReport) -> Attempted {
    let entries = session.entries();
    let mut facts = entries.iter().rev().map(|entry| &entry.fact);
    let missed = facts.clone().find_map(|fact| match fact {
        Fact::GoalMissed { why, .. } => Some(why.clone()),
        _ => None,
    });
    let reason = report.outcome.filter(|outcome| *outcome != Outcome::Stuck).and_then(Outcome::reason);
    let why = report.error.or(reason.map(str::to_owned)).filter(|_| report.outcome != Some(Outcome::Stuck));
    Attempted {
        session: session.id().clone(),
        is_reached: facts.any(|fact| matches!(fact, Fact::GoalReached { .. })),
        why: why.or(missed).unwrap_or_else(|| "it ended before its check ran".to_owned()),
        usage: report.usage,
        cost_usd: report.cost_usd,
    }
}

/// Runs child sessions for one call.
struct Delegating<O> {
    opens: O,
    /// What child sessions get from this call.
    caller: Caller,
    /// Agent to use when the call names none.
    agent: String,
    /// Asks the user of the calling session.
    asker: Asker,
}

impl<O: Opens> Subagents for Delegating<O> {
    fn run(
        &self,
        task: String,
        agent: Option<String>,
        progress: Box<dyn Fn(String) + Send + Sync>,
    ) -> BoxFuture<'_, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let agent = agent.as_deref().unwrap_or(&self.agent);
            let _place = self.caller.tree.enter().await?;
            let ended = CancellationToken::new();
            let _ends_with_the_call = ended.clone().drop_guard();
            let parent = ParentCall { ended, ..self.caller.parent.clone() };
            let caller = Caller { tree: self.caller.tree.below(), parent, ..self.caller.clone() };
            let session = self.opens.open_below(agent, caller).map_err(not_started)?;
            self.work(&session, task, progress).await
        })
    }
}

impl<O> Delegating<O> {
    async fn work(
        &self,
        session: &Session,
        task: String,
        progress: Box<dyn Fn(String) + Send + Sync>,
    ) -> Result<ToolOutput, ToolError> {
        progress(format!("session {}\n", session.id()));
        let _interrupted_on_drop = InterruptOnDrop(session);
        let report = follow(session, &self.asker, session.prompt(task), progress).await;
        match report.outcome {
            Some(outcome) => told(session, outcome, report),
            None => {
                let why = report.error.unwrap_or_default();
                let message = format!("the other agent's session closed before it answered: {why}");
                Err(ToolError::new(ToolErrorKind::System, message))
            }
        }
    }
}

/// Follows the turn of a child session to its end. `asker` asks the user of the parent session.
async fn follow(
    session: &Session,
    asker: &Asker,
    turn: Turn,
    progress: Box<dyn Fn(String) + Send + Sync>,
) -> TurnReport {
    let (open, to_ask) = mpsc::unbounded_channel();
    let listening = listen(turn, progress, Open { to_ask: open, settled: HashMap::new() });
    let (report, ()) = tokio::join!(listening, ask_all(session, asker, to_ask));
    report
}

/// Asks the user of this conversation, one question after the other. Skips questions that were answered elsewhere.
async fn ask_all(session: &Session, asker: &Asker, mut to_ask: mpsc::UnboundedReceiver<Waiting>) {
    while let Some(Waiting { call, asked, mut settled }) = to_ask.recv().await {
        if settled.try_recv() != Err(oneshot::error::TryRecvError::Empty) {
            continue;
        }
        let command = match asked {
            Asked::Approval(request) => {
                let reason = format!("a subagent asks: {}", request.reason);
                let runs = request.runs.or_else(|| tool_call_for(session, &call).map(Box::new));
                let (effects, request) =
                    (request.effects.clone(), ApprovalRequest { reason, runs, ..request });
                let answer = asker.approve(request, &effects, Some(&mut settled)).await;
                answer.ok().flatten().map(|Approved { answered, accepted }| {
                    let Answered { answer, by, because } = answered;
                    match accepted {
                        Some(accepted) => Command::AnswerInPart { call, accepted, by },
                        None => Command::Answer { call, answer, by, because },
                    }
                })
            }
            Asked::Question(question) => {
                let elsewhere = async { drop((&mut settled).await) };
                let Replied { answer, by } = asker.ask_unless(question, elsewhere).await;
                Some(Command::Reply { call, answer, by })
            }
        };
        if let Some(command) = command {
            let _session_is_closed = session.send(command);
        }
    }
}

/// Maximum bytes of a background command's title in the note.
const MAX_TITLE_BYTES: usize = 100;

fn told(session: &Session, outcome: Outcome, report: TurnReport) -> Result<ToolOutput, ToolError> {
    let calls = report.calls.iter().filter(|call| call.has_started()).count();
    let TurnReport { text, error, .. } = report;
    let details = json!({"session": session.id(), "outcome": outcome, "calls": calls, "answer": text});
    let left = Running::of(&session.entries());
    let title = |task: &Running| {
        format!("`{}`", clip::head(task.title.lines().next().unwrap_or_default(), MAX_TITLE_BYTES))
    };
    let titles: Vec<String> = left.iter().map(title).collect();
    let note =
        if left.is_empty() { String::new() } else { format!("{ENDED_WITH_SUBAGENT}{}]", titles.join(", ")) };
    if outcome == Outcome::Finished {
        let ended = match left.len() {
            0 => String::new(),
            1 => "; 1 background command ended unfinished".to_owned(),
            many => format!("; {many} background commands ended unfinished"),
        };
        return Ok(ToolOutput::text(text + &note)
            .details(details)
            .show(format!("Done in {calls} call{}{ended}", if calls == 1 { "" } else { "s" })));
    }
    let why = error.unwrap_or_default();
    let said = if text.is_empty() { String::new() } else { format!(". Its last words: {text}") };
    let message = format!("the other agent did not finish: {why}{said}{note}");
    Err(ToolError::new(ToolErrorKind::User, message)
        .hint("give a smaller task, or do it yourself")
        .details(details))
}

/// Reports the activity of the subagent until its turn has ended or its session closed.
async fn listen(mut turn: Turn, progress: Box<dyn Fn(String) + Send + Sync>, mut open: Open) -> TurnReport {
    while let Some(event) = turn.next().await {
        let Event::Recorded(entry) = event else { continue };
        open.apply(&entry.fact);
        if let Fact::ToolStarted { name, arguments, .. } = &entry.fact {
            progress(format!("{name} {}\n", arguments_in_brief(arguments)));
        }
    }
    turn.report().await
}

/// A request of the subagent's call to the user.
enum Asked {
    Approval(ApprovalRequest),
    Question(Question),
}

struct Waiting {
    call: CallId,
    asked: Asked,
    /// The answer that was given elsewhere. Closed if no answer is needed.
    settled: oneshot::Receiver<Answered>,
}

/// The open requests of the subagent. Dropping this closes all of them.
struct Open {
    to_ask: mpsc::UnboundedSender<Waiting>,
    settled: HashMap<CallId, oneshot::Sender<Answered>>,
}

impl Open {
    fn apply(&mut self, fact: &Fact) {
        match fact {
            Fact::ApprovalAsked { call, reason, effects, changes, bulk, runs, diagnostics } => {
                let (reason, bulk, runs) = (reason.clone(), bulk.clone(), runs.clone());
                let (effects, changes, diagnostics) = (effects.clone(), changes.clone(), diagnostics.clone());
                let request = ApprovalRequest { reason, effects, changes, bulk, runs, diagnostics };
                self.ask(call, Asked::Approval(request));
            }
            Fact::QuestionAsked { call, question } => self.ask(call, Asked::Question(question.clone())),
            Fact::ApprovalAnswered { call, answer, by } => {
                if let Some(settled) = self.settled.remove(call) {
                    let _it_was_ours =
                        settled.send(Answered { answer: *answer, by: by.clone(), because: None });
                }
            }
            Fact::QuestionAnswered { call, .. } | Fact::ToolEnded { call, .. } => {
                self.settled.remove(call);
            }
            _ => {}
        }
    }

    fn ask(&mut self, call: &CallId, asked: Asked) {
        let (sender, settled) = oneshot::channel();
        self.settled.insert(call.clone(), sender);
        let _no_longer_asked = self.to_ask.send(Waiting { call: call.clone(), asked, settled });
    }
}

fn not_started(error: impl std::fmt::Display) -> ToolError {
    ToolError::new(ToolErrorKind::User, format!("cannot delegate: {error}"))
}

/// Interrupts a subagent whose future is dropped.
struct InterruptOnDrop<'a>(&'a Session);

impl Drop for InterruptOnDrop<'_> {
    fn drop(&mut self) {
        let _it_has_ended = self.0.send(Command::Interrupt);
    }
}
