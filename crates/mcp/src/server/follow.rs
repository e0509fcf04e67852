//! [`follow`]: runs a turn for an MCP client: reports progress, and asks the user through the client.
use super::client::{Answered, Client};
use futures::StreamExt;
use haft_core::{Answer, Command, Entry, Event, Fact, Question, Update};
use haft_engine::{Session, TurnReport};
use haft_present::{diff, proposal::Proposal, safe};

/// How long an approval may apply.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Approvals {
    /// Also to later calls of the session.
    Session,
    /// To the one call that the session is for.
    Call,
}

/// Sends `command` and follows its turn to the end. The turn is interrupted if the client cancels, or if the future is
/// dropped.
pub(super) async fn follow(
    session: &Session,
    command: Command,
    client: &Client,
    approvals: Approvals,
) -> TurnReport {
    let _interrupted_on_drop = InterruptOnDrop(session);
    let mut turn = session.start(command);
    let mut is_cancelled = false;
    loop {
        let event = tokio::select! {
            event = turn.next() => event,
            () = client.cancelled().cancelled(), if !is_cancelled => {
                is_cancelled = true;
                let _it_has_ended = session.send(Command::Interrupt);
                continue;
            }
        };
        match event {
            Some(Event::Recorded(entry)) => tell(session, &entry, client, approvals).await,
            Some(Event::Live(Update::ToolOutput { chunk, .. })) => client.progress(chunk).await,
            Some(Event::Live(_)) => {}
            None => return turn.report().await,
        }
    }
}

/// Reports an entry to the client, or asks its question. Another front-end may answer first.
async fn tell(session: &Session, entry: &Entry, client: &Client, approvals: Approvals) {
    match &entry.fact {
        Fact::ToolStarted { name, arguments, .. } => client.progress(format!("{name} {arguments}")).await,
        Fact::ApprovalAsked { .. } | Fact::QuestionAsked { .. } if !session.may_allow() => {}
        Fact::ApprovalAsked { call, .. } => {
            tokio::select! {
                biased;
                () = session.settled(call, entry.seq) => {}
                answer = approve(session, &entry.fact, client, approvals) => {
                    let _session_is_closed = session.send(Command::answer(call.clone(), answer));
                }
            }
        }
        Fact::QuestionAsked { call, question } => {
            tokio::select! {
                biased;
                () = session.settled(call, entry.seq) => {}
                answer = reply(question, client) => {
                    let _session_is_closed = session.send(Command::reply(call.clone(), answer));
                }
            }
        }
        _ => {}
    }
}

/// Asks the client for an approval. The text has everything that the call would do, since the client cannot look it up
/// elsewhere.
async fn approve(session: &Session, fact: &Fact, client: &Client, approvals: Approvals) -> Answer {
    let (Fact::ApprovalAsked { changes, .. }, Some(proposal)) = (fact, Proposal::of(session, fact)) else {
        return Answer::Unanswered;
    };
    let whole = proposal.whole(&diff::of_all(session, changes));
    let (always, choices) = match approvals {
        Approvals::Session => (proposal.always_line() + "\n", &["yes", "always", "no"][..]),
        Approvals::Call => (String::new(), &["yes", "no"][..]),
    };
    let asked = client.ask(format!("{whole}{always}{}. Allow it?", proposal.reason), choices);
    let answered = tokio::select! {
        biased;
        () = client.cancelled().cancelled() => Answered::NoAnswer,
        answered = asked => answered,
    };
    match answered {
        Answered::With(word) if word == "yes" => Answer::Once,
        Answered::With(word) if word == "always" && approvals == Approvals::Session => Answer::Always,
        Answered::With(word) if word == "no" => Answer::No,
        Answered::With(_) => Answer::NotUnderstood,
        Answered::No => Answer::No,
        Answered::NoAnswer => Answer::Unanswered,
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
            Answered::With(text) => Some(text).filter(|text| !text.is_empty()),
            Answered::No | Answered::NoAnswer => None,
        },
    }
}

/// Interrupts the session when it is dropped, since its caller does not wait anymore.
struct InterruptOnDrop<'a>(&'a Session);

impl Drop for InterruptOnDrop<'_> {
    fn drop(&mut self) {
        let _it_has_ended = self.0.send(Command::Interrupt);
    }
}
