//! [`turn`]: runs one prompt, and prints the reply, one object or all events.
use crate::{
    Diffs, Exit, going_on,
    object::object,
    questions::Questions,
    signals::Interrupts,
    spinner::{Spinner, TICK},
    waiting::Waiting,
};
use anyhow::Context;
use futures::StreamExt;
use haft_core::{Activities, Command, Entry, Event, Fact, Outcome, Seq, Update};
use haft_engine::{Chat, Session, Turn, TurnReport};
use haft_present::{
    cursor::next,
    lines, notes, safe,
    words::{Style, Words},
};
use serde_json::json;
use std::{
    io::{Stderr, Stdout, Write, stderr, stdout},
    sync::Arc,
};

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
    /// What calls do, one event a line.
    Activity,
}

/// How a turn is shown, and whether a person can be asked.
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
    /// How changes are shown.
    pub diffs: Diffs,
    /// Names of tools that nothing moves for while they run.
    pub still: Vec<String>,
    /// Seconds that a turn may take, background commands included; none for no limit.
    pub seconds: Option<u64>,
}

/// Sends `command` and shows everything from `from` on until the turn it opens has ended.
pub async fn turn(
    session: &Session,
    command: Command,
    from: Seq,
    options: &Options,
    interrupts: &mut Interrupts,
) -> anyhow::Result<Exit> {
    follow_on(session, command, &mut PromptHistory::before(from), options, interrupts).await
}

/// As [`turn`], before the process ends: work that the turn left in the background is waited for.
pub async fn last_turn(
    session: &Session,
    command: Command,
    from: Seq,
    options: &Options,
    interrupts: &mut Interrupts,
) -> anyhow::Result<Exit> {
    let (waiting, told) = (Waiting::begin(session, options.seconds), &mut PromptHistory::before(from));
    let mut report = watch_on(session, command, told, options, interrupts).await?;
    while let Some(limit) = report.as_ref().and_then(|report| waiting.limit(session, report)) {
        waiting.tell(session, options.style.quiet)?;
        let showing = watch_next(session, told, options, interrupts);
        let Ok(shown) = tokio::time::timeout(limit, showing).await else { break };
        report = Some(if shown? { waiting.report(session) } else { interrupted() });
    }
    waiting.tell_ended(session, options.style.quiet)?;
    finish(session, report, options, interrupts)
}

/// As [`follow`], and on where the turn has used up its rounds and a person at the terminal wants it to.
pub(crate) async fn follow_on(
    session: &Session,
    command: Command,
    told: &mut PromptHistory,
    options: &Options,
    interrupts: &mut Interrupts,
) -> anyhow::Result<Exit> {
    let report = watch_on(session, command, told, options, interrupts).await?;
    finish(session, report, options, interrupts)
}

async fn watch_on(
    session: &Session,
    command: Command,
    told: &mut PromptHistory,
    options: &Options,
    interrupts: &mut Interrupts,
) -> anyhow::Result<Option<TurnReport>> {
    let mut report = watch(session, Some(command), told, options, interrupts).await?;
    while let Some(rounds) = can_go_on(session, report.as_ref(), options)
        && going_on::is_wanted(rounds, interrupts).await
    {
        report = watch(session, Some(Command::Continue), told, options, interrupts).await?;
    }
    Ok(report)
}

/// Up to where a person has been told of a session, from one turn to the next.
#[derive(Debug)]
pub(crate) struct PromptHistory {
    next: Seq,
}

impl PromptHistory {
    /// All before `next`.
    pub(crate) fn before(next: Seq) -> Self {
        Self { next }
    }

    fn apply(&mut self, event: &Event) {
        let Event::Recorded(entry) = event else { return };
        self.next = Seq(entry.seq.0 + 1);
    }
}

/// After how many rounds a person is asked whether the turn goes on; `None` if no person is asked.
fn can_go_on(session: &Session, report: Option<&TurnReport>, options: &Options) -> Option<u32> {
    let is_over = report?.outcome == Some(Outcome::RoundLimit);
    let is_asked = options.can_ask && options.output == Output::Text;
    going_on::used_up(session).filter(|_| is_over && is_asked)
}

/// Gives `command` and shows everything that was not told, until what it asks for has happened; without one, what there
/// is, and the turn to its end that asks something.
pub(crate) async fn follow(
    session: &Session,
    command: Option<Command>,
    told: &mut PromptHistory,
    options: &Options,
    interrupts: &mut Interrupts,
) -> anyhow::Result<Exit> {
    let report = watch(session, command, told, options, interrupts).await?;
    finish(session, report, options, interrupts)
}

async fn watch(
    session: &Session,
    command: Option<Command>,
    told: &mut PromptHistory,
    options: &Options,
    interrupts: &mut Interrupts,
) -> anyhow::Result<Option<TurnReport>> {
    let mut events = Box::pin(session.events(told.next));
    let mut goal = Goal::of(session, command);
    let mut showing = Showing::new(session, options);
    let mut is_interrupted = false;
    let mut ticks = tokio::time::interval(TICK);
    while !goal.is_reached(told, &showing.questions) {
        let event = tokio::select! {
            event = events.next() => event,
            () = goal.done(), if goal.is_waiting() => continue,
            () = interrupts.next() => {
                session.send(Command::Interrupt)?;
                if std::mem::replace(&mut is_interrupted, true) {
                    return Ok(Some(interrupted()));
                }
                continue;
            }
            _ = ticks.tick(), if showing.spinner.is_enabled() => {
                showing.spinner.tick();
                continue;
            }
        };
        let Some(event) = event else { break };
        or_gone(showing.apply(session, &event), (), interrupts)?;
        if goal.hear(&event) {
            // The next one is for the turn that is waited for.
            is_interrupted = false;
        }
        told.apply(&event);
    }
    showing.spinner.clear();
    Ok(goal.report().await)
}

/// Shows what happens until one more turn has ended; `false` where a person does not want to wait for it.
async fn watch_next(
    session: &Session,
    told: &mut PromptHistory,
    options: &Options,
    interrupts: &mut Interrupts,
) -> anyhow::Result<bool> {
    let mut events = Box::pin(session.events(told.next));
    let mut showing = Showing::new(session, options);
    loop {
        let event = tokio::select! {
            event = events.next() => event,
            () = interrupts.next() => {
                session.send(Command::Interrupt)?;
                return Ok(false);
            }
        };
        let Some(event) = event else { return Ok(false) };
        or_gone(showing.apply(session, &event), (), interrupts)?;
        told.apply(&event);
        if matches!(&event, Event::Recorded(entry) if matches!(entry.fact, Fact::TurnEnded { .. })) {
            return Ok(true);
        }
    }
}

fn interrupted() -> TurnReport {
    TurnReport { outcome: Some(Outcome::Interrupted), ..TurnReport::default() }
}

/// `gone` where the terminal is gone, and so nothing can be written to it.
fn or_gone<T>(shown: anyhow::Result<T>, gone: T, interrupts: &Interrupts) -> anyhow::Result<T> {
    shown.or_else(|error| if interrupts.has_hung_up() { Ok(gone) } else { Err(error) })
}

/// What is waited for.
struct Goal {
    /// What comes of the command; none where nothing was asked for.
    own: Option<Turn>,
    has_ended: bool,
    /// Whether the command is about a turn: then its report is told.
    is_turn: bool,
    /// What there is to say about the last reply of the own turn.
    note: Option<String>,
    /// A turn asked something, and goes on.
    has_asked: bool,
    /// Entries of turns that other clients began, shown here.
    others: Vec<Arc<Entry>>,
    /// What stood in the journal at the beginning goes up to here.
    now: Seq,
}

impl Goal {
    fn of(session: &Session, command: Option<Command>) -> Self {
        let is_turn =
            !matches!(command, None | Some(Command::Rewind { .. } | Command::Redo | Command::SetMode { .. }));
        let now = next(session);
        let own = command.map(|command| session.start(command));
        let (has_ended, note, has_asked, others) = Default::default();
        Self { own, has_ended, is_turn, note, has_asked, others, now }
    }

    fn is_waiting(&self) -> bool {
        self.own.is_some() && !self.has_ended
    }

    /// Until the command is done. What comes of it is shown with all other events.
    async fn done(&mut self) {
        let Some(turn) = &mut self.own else { return };
        while let Some(event) = turn.next().await {
            if let Event::Recorded(entry) = event
                && matches!(entry.fact, Fact::Replied { .. })
            {
                self.note = notes::of(&entry.fact);
            }
        }
        self.has_ended = true;
    }

    /// Whether a turn has ended with `event`.
    fn hear(&mut self, event: &Event) -> bool {
        let Event::Recorded(entry) = event else { return false };
        if self.own.is_none() {
            self.others.push(entry.clone());
        }
        let is_end = matches!(entry.fact, Fact::TurnEnded { .. });
        self.has_asked &= !is_end;
        is_end
    }

    fn is_reached(&mut self, told: &PromptHistory, questions: &Questions) -> bool {
        self.has_asked |= questions.is_open();
        match &self.own {
            None => told.next >= self.now && !self.has_asked,
            Some(turn) => {
                let is_shown = self.has_ended && told.next >= turn.seen();
                is_shown && (self.is_turn || !questions.is_open())
            }
        }
    }

    /// What is told at the end; nothing where no turn ended that anybody waits for.
    async fn report(self) -> Option<TurnReport> {
        match self.own {
            Some(turn) if self.is_turn => {
                let report = turn.report().await;
                Some(TurnReport { error: self.note.or(report.error), ..report })
            }
            Some(_) => None,
            None => Some(TurnReport::of(&self.others)).filter(|report| report.outcome.is_some()),
        }
    }
}

/// What a person sees of events, and is asked.
struct Showing<'a> {
    options: &'a Options,
    words: Words<Stdout, Stderr>,
    spinner: Spinner,
    questions: Questions,
    activities: Activities,
}

impl<'a> Showing<'a> {
    fn new(session: &Session, options: &'a Options) -> Self {
        let words = Words::new(stdout(), stderr(), options.style, options.chat.clone());
        let (session, diffs) = (session.clone(), options.diffs);
        let words = match diffs.0 {
            Some(_) => words.with_diffs(move |changes| diffs.cut(&session, changes, None).shown),
            None => words,
        };
        let is_text = options.output == Output::Text;
        let mut spinner = Spinner::new(options.can_ask && is_text && !options.style.quiet);
        spinner.label("waiting for the model");
        let questions = Questions::with(diffs);
        Self { options, words, spinner, questions, activities: Activities::default() }
    }

    /// Asks also where nothing can be written.
    fn apply(&mut self, session: &Session, event: &Event) -> anyhow::Result<()> {
        self.spinner.clear();
        let written =
            match self.options.output {
                Output::Text => self.words.event(event),
                Output::Json => Ok(()),
                Output::StreamJson => writeln!(stdout(), "{}", lines::event(event)),
                Output::Activity => self.activities.of(event).iter().try_for_each(|activity| {
                    writeln!(stdout(), "{}", safe::json(&json!(activity).to_string()))
                }),
            };
        relabel(&mut self.spinner, &self.options.still, event);
        self.questions.hear(session, event, self.options.can_ask);
        if self.questions.is_open() {
            self.spinner.label("");
        }
        written.context("cannot write the output")
    }
}

/// While a person is asked, the spinner must not write over the question.
fn relabel(spinner: &mut Spinner, still: &[String], event: &Event) {
    let Event::Recorded(entry) = event else {
        let is_summary = matches!(event, Event::Live(Update::Summarizing));
        return spinner.label(if is_summary { "summarizing" } else { "" });
    };
    match &entry.fact {
        Fact::ToolStarted { name, .. } if still.contains(name) => spinner.label(""),
        Fact::ToolStarted { name, .. } => spinner.label(format!("running {name}")),
        Fact::ApprovalAsked { .. } | Fact::QuestionAsked { .. } | Fact::TurnEnded { .. } => spinner.label(""),
        _ => spinner.label("waiting for the model"),
    }
}

/// Nothing to report is a success.
fn finish(
    session: &Session,
    report: Option<TurnReport>,
    options: &Options,
    interrupts: &Interrupts,
) -> anyhow::Result<Exit> {
    let Some(report) = report else { return Ok(Exit::Success) };
    or_gone(tell(session, &report, options), Exit::Interrupted, interrupts)
}

fn tell(session: &Session, report: &TurnReport, options: &Options) -> anyhow::Result<Exit> {
    if report.outcome.is_none() && options.output != Output::Json {
        writeln!(stderr(), "error: {}", report.error.as_deref().unwrap_or_default())?;
    }
    if options.output == Output::Json {
        writeln!(stdout(), "{}", safe::json(&object(session, report).to_string()))?;
    }
    Ok(report.outcome.map_or(Exit::Failed, Exit::from))
}
