//! One prompt in; the reply, one object or all events out.
use crate::{
    Exit,
    asking::Questions,
    lines, notes,
    signals::Interrupts,
    spinner::{Spinner, TICK},
    words::{Style, Words},
};
use anyhow::Context;
use futures::StreamExt;
use haft_core::{Changed, Command, Event, Fact, Outcome, Part, Seq, Usage, text_of};
use haft_engine::{Chat, Session};
use serde_json::{Value, json};
use std::io::{Write, stderr, stdout};

/// What is printed on standard output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Output {
    /// The reply as it streams.
    #[default]
    Text,
    /// One object at the end.
    Json,
    /// One event a line.
    StreamJson,
}

/// How a turn is shown, and whether anybody can be asked.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// What is printed on standard output.
    pub output: Output,
    /// How much is told on standard error.
    pub style: Style,
    /// A person sits at the terminal.
    pub can_ask: bool,
    /// Words of the profile.
    pub chat: Chat,
}

/// What a turn came to, collected from its events.
#[derive(Debug, Default)]
struct Account {
    text: String,
    rounds: u32,
    usage: Usage,
    cost_usd: Option<f64>,
    changed: Changed,
    error: Option<String>,
    outcome: Option<Outcome>,
}

/// Sends `command` and shows everything from `from` on until the turn it opens has ended.
pub async fn turn(
    session: &Session,
    command: Command,
    from: Seq,
    options: &Options,
    interrupts: &mut Interrupts,
) -> anyhow::Result<Exit> {
    let mut events = Box::pin(session.events(from));
    let mut said = said_elsewhere(session, &command);
    // Why it could not be taken is told at the end of the events.
    let _session_is_closed = session.send(command);
    let mut account = Account::default();
    let mut words = Words::new(stdout(), stderr(), options.style, options.chat.clone());
    let show_words = options.output == Output::Text;
    let mut spinner = Spinner::new(options.can_ask && show_words && !options.style.quiet);
    spinner.label("thinking");
    let mut told_once = false;
    let mut questions = Questions::default();
    let mut ticks = tokio::time::interval(TICK);
    loop {
        let event = tokio::select! {
            event = events.next() => event,
            () = interrupts.next() => {
                if std::mem::replace(&mut told_once, true) {
                    return Ok(Exit::Interrupted);
                }
                session.send(Command::Interrupt)?;
                continue;
            }
            _ = ticks.tick(), if spinner.is_enabled() => {
                spinner.tick();
                continue;
            }
        };
        let Some(event) = event else { break };
        spinner.clear();
        match options.output {
            Output::Text => words.event(&event).context("cannot write the output")?,
            Output::Json => {}
            Output::StreamJson => {
                writeln!(stdout(), "{}", lines::event(&event)).context("cannot write the output")?
            }
        }
        relabel(&mut spinner, &event);
        questions.hear(session, &event, options.can_ask);
        account.take_in(&event);
        said = said.filter(|said| !is_heard(said, &event));
        match (account.outcome, &said) {
            (Some(_), None) => break,
            (Some(_), Some(_)) => account = Account::default(),
            (None, _) => {}
        }
    }
    finish(session, account, options)
}

/// What was said to a session that another process has open: a turn that ends before it is heard is not its own.
fn said_elsewhere(session: &Session, command: &Command) -> Option<Vec<Part>> {
    match command {
        Command::Prompt { parts, .. } if session.is_joined() => Some(parts.clone()),
        _ => None,
    }
}

fn is_heard(said: &[Part], event: &Event) -> bool {
    let Event::Recorded(entry) = event else { return false };
    // What hooks add stands behind it.
    matches!(&entry.fact, Fact::Prompted { parts, .. } | Fact::PromptDenied { parts, .. } if parts.starts_with(said))
}

/// While a person is asked, the spinner must not write over the question.
fn relabel(spinner: &mut Spinner, event: &Event) {
    let Event::Recorded(entry) = event else { return spinner.label("") };
    match &entry.fact {
        Fact::ToolStarted { name, .. } => spinner.label(name.clone()),
        Fact::ApprovalAsked { .. } | Fact::QuestionAsked { .. } | Fact::TurnEnded { .. } => spinner.label(""),
        _ => spinner.label("thinking"),
    }
}

fn finish(session: &Session, mut account: Account, options: &Options) -> anyhow::Result<Exit> {
    if account.outcome.is_none() {
        account.error = Some(session.journal().failure().unwrap_or("the session closed").to_owned());
        if options.output != Output::Json {
            writeln!(stderr(), "error: {}", account.error.as_deref().unwrap_or_default())?;
        }
    }
    if options.output == Output::Json {
        let object = account.into_json(session);
        let exit = object["outcome"].as_str().is_none();
        writeln!(stdout(), "{}", crate::safe::json(&object.to_string()))?;
        return Ok(if exit { Exit::Failed } else { outcome_of(&object).map_or(Exit::Failed, Exit::from) });
    }
    Ok(account.outcome.map_or(Exit::Failed, Exit::from))
}

fn outcome_of(object: &Value) -> Option<Outcome> {
    serde_json::from_value(object["outcome"].clone()).ok()
}

impl Account {
    fn take_in(&mut self, event: &Event) {
        let Event::Recorded(entry) = event else { return };
        self.changed.take_in(&entry.fact);
        match &entry.fact {
            Fact::Replied { parts, .. } => {
                self.text = text_of(parts);
                self.error = notes::of(&entry.fact);
            }
            Fact::ModelFailed { message, .. } => self.error = Some(message.clone()),
            Fact::PromptDenied { reason, .. } => {
                self.error = Some(format!("a hook denied the prompt: {reason}"));
            }
            Fact::TurnEnded { outcome, rounds, usage, cost_usd } => {
                (self.outcome, self.rounds) = (Some(*outcome), *rounds);
                (self.usage, self.cost_usd) = (*usage, *cost_usd);
            }
            _ => {}
        }
    }

    fn into_json(self, session: &Session) -> Value {
        let changes = self.changed.whole();
        let changes: Vec<Value> =
            changes.iter().map(|change| json!({"path": change.path, "kind": change.kind()})).collect();
        json!({
            "session": session.id(), "outcome": self.outcome, "text": self.text, "rounds": self.rounds,
            "usage": self.usage, "cost_usd": self.cost_usd, "changes": changes, "error": self.error,
        })
    }
}
