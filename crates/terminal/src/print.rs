//! One prompt in; the reply, one object or all events out.
use crate::{
    Exit, going_on,
    questions::Questions,
    signals::Interrupts,
    spinner::{Spinner, TICK},
};
use anyhow::Context;
use futures::StreamExt;
use haft_core::{Changed, Command, Event, Fact, Outcome, Seq, Usage, text_of};
use haft_engine::{Chat, Session};
use haft_present::{
    cursor::next,
    lines, notes,
    words::{Style, Words},
};
use serde_json::{Value, json};
use std::io::{Stderr, Stdout, Write, stderr, stdout};

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
    follow_on(session, command, &mut Told::before(from), options, interrupts).await
}

/// As [`follow`], and on where the turn has used up its rounds and a person at the terminal wants it to.
pub(crate) async fn follow_on(
    session: &Session,
    command: Command,
    told: &mut Told,
    options: &Options,
    interrupts: &mut Interrupts,
) -> anyhow::Result<Exit> {
    let mut exit = follow(session, Some(command), told, options, interrupts).await?;
    while exit == Exit::Limit && options.can_ask && options.output == Output::Text {
        let Some(rounds) = going_on::used_up(session) else { break };
        if !going_on::is_wanted(rounds, interrupts).await {
            break;
        }
        exit = follow(session, Some(Command::Continue), told, options, interrupts).await?;
    }
    Ok(exit)
}

/// Up to where a person has been told of a session, from one turn to the next.
#[derive(Debug)]
pub(crate) struct Told {
    next: Seq,
    /// A turn was left before its end.
    is_behind: bool,
}

impl Told {
    /// All before `next`.
    pub(crate) fn before(next: Seq) -> Self {
        Self { next, is_behind: false }
    }

    fn take_in(&mut self, event: &Event) {
        let Event::Recorded(entry) = event else { return };
        self.next = Seq(entry.seq.0 + 1);
        self.is_behind &= !matches!(entry.fact, Fact::TurnEnded { .. });
    }
}

/// Sends `command` and shows everything that was not told, until what it asks for has happened; without one, what there
/// is, and the turn to its end that asks something.
pub(crate) async fn follow(
    session: &Session,
    command: Option<Command>,
    told: &mut Told,
    options: &Options,
    interrupts: &mut Interrupts,
) -> anyhow::Result<Exit> {
    let mut events = Box::pin(session.events(told.next));
    let mut goal = Goal::of(session, command.clone(), told);
    // Why it could not be taken is told at the end of the events.
    let _session_is_closed = command.map(|command| session.send(command));
    let mut showing = Showing::new(options);
    let mut is_interrupted = false;
    let mut ticks = tokio::time::interval(TICK);
    while !goal.is_reached(told, &showing.questions) {
        let event = tokio::select! {
            event = events.next() => event,
            () = interrupts.next() => {
                session.send(Command::Interrupt)?;
                if std::mem::replace(&mut is_interrupted, true) {
                    told.is_behind = true;
                    return Ok(Exit::Interrupted);
                }
                continue;
            }
            _ = ticks.tick(), if showing.spinner.is_enabled() => {
                showing.spinner.tick();
                continue;
            }
        };
        let Some(event) = event else { break };
        or_gone(showing.take_in(session, &event), (), interrupts)?;
        if goal.hear(&event, told) == Heard::EndOfAnother {
            (showing.account, is_interrupted) = (Account::default(), false);
        }
        told.take_in(&event);
    }
    showing.spinner.clear();
    match goal.is_of_a_turn() || showing.account.outcome.is_some() {
        true => or_gone(finish(session, showing.account, options), Exit::Interrupted, interrupts),
        false => Ok(Exit::Success),
    }
}

/// `gone` where the terminal is gone, and so nothing can be written to it.
fn or_gone<T>(shown: anyhow::Result<T>, gone: T, interrupts: &Interrupts) -> anyhow::Result<T> {
    shown.or_else(|error| if interrupts.has_hung_up() { Ok(gone) } else { Err(error) })
}

/// What is waited for.
struct Goal {
    command: Option<Command>,
    /// It stands in the journal, so that the next end of a turn is its own.
    is_heard: bool,
    has_ended: bool,
    /// A turn asked something, and goes on.
    has_asked: bool,
    /// What stood in the journal at the beginning goes up to here.
    now: Seq,
}

/// What an event means for a [`Goal`].
#[derive(PartialEq)]
enum Heard {
    Whatever,
    /// A turn ended, and it was not the one that is waited for.
    EndOfAnother,
}

impl Goal {
    fn of(session: &Session, command: Option<Command>, told: &Told) -> Self {
        // Nothing is recorded of a compaction that has nothing to do, but its end.
        let is_heard = matches!(command, Some(Command::Compact)) && !told.is_behind;
        Self { command, is_heard, has_ended: false, has_asked: false, now: next(session) }
    }

    fn is_of_a_turn(&self) -> bool {
        !matches!(self.command, None | Some(Command::Rewind { .. } | Command::Redo | Command::SetMode { .. }))
    }

    fn hear(&mut self, event: &Event, told: &Told) -> Heard {
        let Event::Recorded(entry) = event else { return Heard::Whatever };
        let is_end = matches!(entry.fact, Fact::TurnEnded { .. });
        self.has_ended |= is_end && self.is_heard;
        self.has_asked &= !is_end;
        let is_left = told.is_behind && is_end && matches!(self.command, Some(Command::Compact));
        self.is_heard |= is_left || self.command.as_ref().is_some_and(|command| is_of(command, &entry.fact));
        let is_another = is_end && !self.has_ended && self.command.is_some();
        if is_another { Heard::EndOfAnother } else { Heard::Whatever }
    }

    fn is_reached(&mut self, told: &Told, questions: &Questions) -> bool {
        self.has_asked |= questions.is_open();
        match (&self.command, self.is_of_a_turn()) {
            (_, true) => self.has_ended,
            (Some(_), false) => self.is_heard && !questions.is_open(),
            (None, false) => told.next >= self.now && !self.has_asked,
        }
    }
}

/// Whether this is how `command` stands in the journal.
fn is_of(command: &Command, fact: &Fact) -> bool {
    match (command, fact) {
        // What hooks add stands behind it.
        (
            Command::Prompt { parts: said, .. },
            Fact::Prompted { parts, .. } | Fact::PromptDenied { parts, .. },
        ) => parts.starts_with(said),
        (Command::Continue, Fact::Continued)
        | (Command::SetMode { .. }, Fact::ModeSet { .. })
        | (Command::Rewind { .. } | Command::Redo, Fact::Rewound { .. }) => true,
        (Command::Call { name, .. }, Fact::Called { made }) => made.name == *name,
        _ => false,
    }
}

/// What a person sees of events, and is asked.
struct Showing<'a> {
    options: &'a Options,
    words: Words<Stdout, Stderr>,
    spinner: Spinner,
    questions: Questions,
    account: Account,
}

impl<'a> Showing<'a> {
    fn new(options: &'a Options) -> Self {
        let words = Words::new(stdout(), stderr(), options.style, options.chat.clone());
        let is_text = options.output == Output::Text;
        let mut spinner = Spinner::new(options.can_ask && is_text && !options.style.quiet);
        spinner.label("thinking");
        Self { options, words, spinner, questions: Questions::default(), account: Account::default() }
    }

    /// Asks also where nothing can be written.
    fn take_in(&mut self, session: &Session, event: &Event) -> anyhow::Result<()> {
        self.spinner.clear();
        let written = match self.options.output {
            Output::Text => self.words.event(event),
            Output::Json => Ok(()),
            Output::StreamJson => writeln!(stdout(), "{}", lines::event(event)),
        };
        relabel(&mut self.spinner, event);
        self.questions.hear(session, event, self.options.can_ask);
        if self.questions.is_open() {
            self.spinner.label("");
        }
        self.account.take_in(event);
        written.context("cannot write the output")
    }
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
        writeln!(stdout(), "{}", haft_present::safe::json(&object.to_string()))?;
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
            Fact::RoundsReached { .. } => self.error = notes::of(&entry.fact),
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
