//! A call that lets another agent work, in a session of its own.
use crate::{
    Engine, Session,
    engine::{Ceiling, Shared},
    tree::Tree,
};
use futures::{StreamExt, future::BoxFuture};
use haft_core::{
    Answer, CallId, Command, Event, Fact, Outcome, Part, Person, Question, Seq, SessionId, Subagents,
    ToolError, ToolErrorKind, ToolOutput, text_of,
};
use serde_json::json;
use std::sync::Arc;

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
    pub(crate) person: Arc<dyn Person>,
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
        let mut events = Box::pin(session.events(Seq(0)));
        let prompt = Command::Prompt { parts: vec![Part::text(task)], channel: None };
        session.send(prompt).map_err(not_started)?;
        let mut account = Account::default();
        while let Some(event) = events.next().await {
            let Event::Recorded(entry) = event else { continue };
            match &entry.fact {
                Fact::Replied { parts, .. } => account.text = text_of(parts),
                Fact::ToolStarted { name, arguments, .. } => {
                    account.calls += 1;
                    progress(format!("{name} {arguments}\n"));
                }
                Fact::ApprovalAsked { call, reason, .. } => self.approve(session, call, reason).await,
                Fact::QuestionAsked { call, question } => {
                    let answer = self.person.ask(question.clone()).await;
                    let _session_is_closed = session.send(Command::Reply { call: call.clone(), answer });
                }
                Fact::ModelFailed { message, .. } | Fact::PromptDenied { reason: message, .. } => {
                    account.failure = Some(message.clone())
                }
                Fact::TurnEnded { outcome, .. } => return self.report(session, *outcome, account),
                _ => {}
            }
        }
        Err(ToolError::new(ToolErrorKind::System, "the other agent's session closed before it answered"))
    }

    /// The person of this conversation decides.
    async fn approve(&self, session: &Session, call: &CallId, reason: &str) {
        let question =
            Question { text: format!("A subagent asks: {reason}"), choices: vec!["yes".into(), "no".into()] };
        let answer = match self.person.ask(question).await.as_deref().map(str::trim) {
            Some("yes" | "y") => Answer::Once,
            Some(_) => Answer::No,
            None => Answer::Nobody,
        };
        let _session_is_closed = session.send(Command::Answer { call: call.clone(), answer });
    }

    fn report(&self, session: &Session, outcome: Outcome, account: Account) -> Result<ToolOutput, ToolError> {
        let Account { text, calls, failure } = account;
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
