//! A call that lets another agent work, in a session of its own.
use crate::{
    Engine, Session,
    asking::Asking,
    engine::{Ceiling, Shared},
    tree::Tree,
};
use futures::{Stream, StreamExt, future::BoxFuture};
use haft_core::{
    Answer, CallId, Command, Event, Fact, Outcome, Part, Question, Seq, SessionId, Subagents, ToolError,
    ToolErrorKind, ToolOutput, text_of,
};
use serde_json::json;
use std::{collections::HashMap, pin::pin, sync::Arc};
use tokio::sync::mpsc;
use tokio_util::sync::{CancellationToken, DropGuard};

/// The way from a call to sessions below its own.
pub(crate) struct Delegating {
    pub(crate) shared: Arc<Shared>,
    pub(crate) parent: SessionId,
    /// Like whom it works where the call names nobody.
    pub(crate) agent: String,
    pub(crate) tree: Tree,
    /// What the caller may do: nobody below it may do more.
    pub(crate) ceiling: Ceiling,
    /// Who answers for what the other agent wants to do.
    pub(crate) person: Asking,
}

impl Subagents for Delegating {
    fn run(
        &self,
        task: String,
        agent: Option<String>,
        progress: Box<dyn Fn(String) + Send + Sync>,
    ) -> BoxFuture<'_, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let engine = Engine::of(self.shared.clone());
            let agent = agent.as_deref().unwrap_or(&self.agent);
            let _place = self.tree.enter().await?;
            let (parent, ceiling) = (self.parent.clone(), self.ceiling.clone());
            let session =
                engine.create_below(agent, parent, self.tree.below(), ceiling).map_err(not_started)?;
            self.follow(&session, task, progress).await
        })
    }
}

/// What a subagent came to.
#[derive(Default)]
struct Account {
    text: String,
    calls: usize,
    failure: Option<String>,
    outcome: Option<Outcome>,
}

impl Delegating {
    async fn follow(
        &self,
        session: &Session,
        task: String,
        progress: Box<dyn Fn(String) + Send + Sync>,
    ) -> Result<ToolOutput, ToolError> {
        progress(format!("session {}\n", session.id()));
        let _interrupted_on_drop = Leash(session);
        let events = session.events(Seq(0));
        let prompt = Command::Prompt { parts: vec![Part::text(task)], channel: None };
        session.send(prompt).map_err(not_started)?;
        let (open, to_ask) = mpsc::unbounded_channel();
        let listening = listen(events, progress, Open { to_ask: open, settled: HashMap::new() });
        let (account, ()) = tokio::join!(listening, self.ask_all(session, to_ask));
        match account.outcome {
            Some(outcome) => self.report(session, outcome, account),
            None => {
                let message = "the other agent's session closed before it answered";
                Err(ToolError::new(ToolErrorKind::System, message))
            }
        }
    }

    /// The person of this conversation decides, unless somebody else does: one question after the other.
    async fn ask_all(&self, session: &Session, mut to_ask: mpsc::UnboundedReceiver<Waiting>) {
        while let Some(Waiting { asked, settled }) = to_ask.recv().await {
            if settled.is_cancelled() {
                continue;
            }
            let answer = self.person.ask_unless(asked.question(), settled.cancelled()).await;
            if !settled.is_cancelled() {
                let _session_is_closed = session.send(asked.command(answer));
            }
        }
    }

    fn report(&self, session: &Session, outcome: Outcome, account: Account) -> Result<ToolOutput, ToolError> {
        let Account { text, calls, failure, .. } = account;
        let details = json!({"session": session.id(), "outcome": outcome, "calls": calls, "answer": text});
        if outcome == Outcome::Finished {
            return Ok(ToolOutput::text(text).details(details).show(format!("Done in {calls} calls")));
        }
        let why = failure.unwrap_or_else(|| details["outcome"].as_str().unwrap_or_default().to_owned());
        let said = if text.is_empty() { String::new() } else { format!(". Its last words: {text}") };
        let message = format!("the other agent did not finish: {why}{said}");
        Err(ToolError::new(ToolErrorKind::User, message)
            .hint("give a smaller task, or do it yourself")
            .details(details))
    }
}

/// Until its turn has ended, or its session closed.
async fn listen(
    events: impl Stream<Item = Event>,
    progress: Box<dyn Fn(String) + Send + Sync>,
    mut open: Open,
) -> Account {
    let (mut events, mut account) = (pin!(events), Account::default());
    while let Some(event) = events.next().await {
        let Event::Recorded(entry) = event else { continue };
        open.take_in(&entry.fact);
        match &entry.fact {
            Fact::Replied { parts, .. } => account.text = text_of(parts),
            Fact::ToolStarted { name, arguments, .. } => {
                account.calls += 1;
                progress(format!("{name} {arguments}\n"));
            }
            Fact::ModelFailed { message, .. } | Fact::PromptDenied { reason: message, .. } => {
                account.failure = Some(message.clone())
            }
            Fact::TurnEnded { outcome, .. } => {
                account.outcome = Some(*outcome);
                break;
            }
            _ => {}
        }
    }
    account
}

/// What a call of the subagent wants of a person.
enum Asked {
    Approval { call: CallId, reason: String },
    Question { call: CallId, question: Question },
}

impl Asked {
    fn question(&self) -> Question {
        match self {
            Self::Question { question, .. } => question.clone(),
            Self::Approval { reason, .. } => Question {
                text: format!("A subagent asks: {reason}"),
                choices: vec!["yes".into(), "no".into()],
            },
        }
    }

    /// What is passed on to the subagent.
    fn command(self, answer: Option<String>) -> Command {
        match self {
            Self::Question { call, .. } => Command::Reply { call, answer },
            Self::Approval { call, .. } => {
                let answer = match answer.as_deref().map(str::trim) {
                    Some("yes" | "y") => Answer::Once,
                    Some(_) => Answer::No,
                    None => Answer::Nobody,
                };
                Command::Answer { call, answer }
            }
        }
    }
}

struct Waiting {
    asked: Asked,
    /// Somebody else answered, or nobody needs to any more.
    settled: CancellationToken,
}

/// What the subagent wants to know, and whether it still does. Dropped, all of it is settled.
struct Open {
    to_ask: mpsc::UnboundedSender<Waiting>,
    settled: HashMap<CallId, DropGuard>,
}

impl Open {
    fn take_in(&mut self, fact: &Fact) {
        match fact {
            Fact::ApprovalAsked { call, reason, .. } => {
                self.ask(call, Asked::Approval { call: call.clone(), reason: reason.clone() });
            }
            Fact::QuestionAsked { call, question } => {
                self.ask(call, Asked::Question { call: call.clone(), question: question.clone() });
            }
            Fact::ApprovalAnswered { call, .. }
            | Fact::QuestionAnswered { call, .. }
            | Fact::ToolEnded { call, .. } => {
                self.settled.remove(call);
            }
            _ => {}
        }
    }

    fn ask(&mut self, call: &CallId, asked: Asked) {
        let settled = CancellationToken::new();
        self.settled.insert(call.clone(), settled.clone().drop_guard());
        let _nobody_asks = self.to_ask.send(Waiting { asked, settled });
    }
}

fn not_started(error: impl std::fmt::Display) -> ToolError {
    ToolError::new(ToolErrorKind::User, format!("cannot delegate: {error}"))
}

/// A subagent that nobody waits for stops.
struct Leash<'a>(&'a Session);

impl Drop for Leash<'_> {
    fn drop(&mut self) {
        let _it_has_ended = self.0.send(Command::Interrupt);
    }
}
