//! A turn for somebody at the other end of MCP: what happens is told, what needs a person is asked.
use super::client::{Answered, Client};
use futures::StreamExt;
use haft_core::{
    Answer, Changed, Command, Entry, Event, Fact, Outcome, Question, ToolResult, Update, text_of,
};
use haft_engine::Session;
use haft_present::{cursor, diff, proposal::Proposal, safe};
use serde_json::{Value, json};

/// What a turn came to.
#[derive(Debug, Default)]
pub(super) struct Account {
    /// The last reply.
    pub(super) text: String,
    pub(super) rounds: u32,
    pub(super) changed: Changed,
    /// Of the last call.
    pub(super) result: Option<ToolResult>,
    pub(super) error: Option<String>,
    pub(super) outcome: Option<Outcome>,
}

/// Sends `command` and follows the session until its turn has ended. Where the client cancels, the turn is
/// interrupted; where this is dropped, too.
pub(super) async fn follow(session: &Session, command: Command, client: &Client) -> Account {
    let _interrupted_on_drop = Leash(session);
    let mut events = Box::pin(session.events(cursor::next(session)));
    let mut account = Account::default();
    if session.send(command).is_err() {
        return account;
    }
    let mut is_cancelled = false;
    while account.outcome.is_none() {
        let event = tokio::select! {
            event = events.next() => event,
            () = client.cancelled().cancelled(), if !is_cancelled => {
                is_cancelled = true;
                let _it_has_ended = session.send(Command::Interrupt);
                continue;
            }
        };
        match event {
            Some(Event::Recorded(entry)) => {
                tell(session, &entry, client).await;
                account.take_in(&entry.fact);
            }
            Some(Event::Live(Update::ToolOutput { chunk, .. })) => client.progress(chunk).await,
            Some(Event::Live(_)) => {}
            None => break,
        }
    }
    if account.outcome.is_none() {
        account.error = Some(session.journal().failure().unwrap_or("the session closed").to_owned());
    }
    account
}

/// What is asked here may be answered elsewhere first.
async fn tell(session: &Session, entry: &Entry, client: &Client) {
    match &entry.fact {
        Fact::ToolStarted { name, arguments, .. } => client.progress(format!("{name} {arguments}")).await,
        Fact::ApprovalAsked { .. } | Fact::QuestionAsked { .. } if !session.may_allow() => {}
        Fact::ApprovalAsked { call, .. } => {
            tokio::select! {
                biased;
                () = session.settled(call, entry.seq) => {}
                answer = approve(session, &entry.fact, client) => {
                    let _session_is_closed = session.send(Command::Answer { call: call.clone(), answer });
                }
            }
        }
        Fact::QuestionAsked { call, question } => {
            tokio::select! {
                biased;
                () = session.settled(call, entry.seq) => {}
                answer = reply(question, client) => {
                    let _session_is_closed = session.send(Command::Reply { call: call.clone(), answer });
                }
            }
        }
        _ => {}
    }
}

/// With all that the call would do: there is nowhere else to look it up.
async fn approve(session: &Session, fact: &Fact, client: &Client) -> Answer {
    let (Fact::ApprovalAsked { changes, .. }, Some(proposal)) = (fact, Proposal::of(session, fact)) else {
        return Answer::Nobody;
    };
    let whole = proposal.whole(&diff::of_all(session, changes));
    let question = format!("{whole}{}\n{}. Allow it?", proposal.always_line(), proposal.reason);
    let asked = client.ask(question, &["yes", "always", "no"]);
    let answered = tokio::select! {
        biased;
        () = client.cancelled().cancelled() => Answered::Nobody,
        answered = asked => answered,
    };
    match answered {
        Answered::With(word) if word == "yes" => Answer::Once,
        Answered::With(word) if word == "always" => Answer::Always,
        Answered::With(_) | Answered::No => Answer::No,
        Answered::Nobody => Answer::Nobody,
    }
}

async fn reply(question: &Question, client: &Client) -> Option<String> {
    let choices = question.choices.join(", ");
    let choices = if choices.is_empty() { choices } else { format!("\nFor example: {choices}") };
    let text = format!("{}{choices}", question.text);
    let asked = client.ask(safe::text(&text).into_owned(), &[]);
    tokio::select! {
        biased;
        () = client.cancelled().cancelled() => None,
        answered = asked => match answered {
            Answered::With(text) => Some(text),
            Answered::No | Answered::Nobody => None,
        },
    }
}

impl Account {
    fn take_in(&mut self, fact: &Fact) {
        self.changed.take_in(fact);
        match fact {
            Fact::Replied { parts, .. } => self.text = text_of(parts),
            Fact::ToolEnded { result, .. } => self.result = Some(result.clone()),
            Fact::ModelFailed { message, .. } => self.error = Some(message.clone()),
            Fact::PromptDenied { reason, .. } => {
                self.error = Some(format!("a hook denied the prompt: {reason}"));
            }
            Fact::TurnEnded { outcome, rounds, .. } => {
                (self.outcome, self.rounds) = (Some(*outcome), *rounds);
            }
            _ => {}
        }
    }

    /// `[{path, kind}]`
    pub(super) fn changes(&self) -> Value {
        let changes = self.changed.whole();
        changes.iter().map(|change| json!({"path": change.path, "kind": change.kind()})).collect()
    }
}

/// A session that nobody waits for stops.
struct Leash<'a>(&'a Session);

impl Drop for Leash<'_> {
    fn drop(&mut self) {
        let _it_has_ended = self.0.send(Command::Interrupt);
    }
}
