//! [`Printer`]: runs prompts, and prints the reply, one JSON object or all events.
use crate::{
    Diffs, Editor, Exit, Links, going_on,
    object::object,
    paint::links::LinkWriter,
    questions::Questions,
    signals::Interrupts,
    spinner::{Spinner, TICK},
    waiting::Waiting,
};
use anyhow::Context;
use futures::{Stream, StreamExt};
use haft_core::{Activities, Command, Event, Fact, Outcome, Seq, Update};
use haft_engine::{Chat, Remote, Session, TurnReport};
use haft_present::{
    cursor::next,
    lines, notes, safe,
    words::{Style, Words},
};
use serde_json::json;
use std::io::{self, IsTerminal, Stderr, Write, stderr, stdout};
use tokio::time::Interval;

/// What is printed on standard output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Output {
    /// The reply as it streams.
    #[default]
    Text,
    /// A single JSON object at the end.
    Json,
    /// A JSON event per line.
    StreamJson,
    /// What calls do, one event per line.
    Activity,
    /// The answer that matches the requested schema, as JSON on one line, and nothing else.
    Answer,
    /// Nothing: the caller prints the result of the turns.
    Nothing,
}

/// How a turn is shown, and whether the user can be asked.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// What is printed on standard output.
    pub output: Output,
    /// What is printed on standard error.
    pub style: Style,
    /// Whether the user can answer questions at the terminal.
    pub can_ask: bool,
    /// Texts of the profile.
    pub chat: Chat,
    /// How changes are shown.
    pub diffs: Diffs,
    /// Which texts become links if a stream is a terminal.
    pub links: Links,
    /// The editor with which the user edits a file before accepting its change.
    pub editor: Option<Editor>,
    /// Names of tools for which no spinner is shown.
    pub still: Vec<String>,
    /// Timeout of a turn in seconds, background commands included; `None` for no timeout.
    pub seconds: Option<u64>,
}

/// Prints the first entry of a resumed session if the output is for programs: it has the session's ID.
pub fn opening(session: &Session, options: &Options) -> io::Result<()> {
    let entries = session.entries();
    let opened = entries.first().filter(|_| options.output == Output::StreamJson);
    opened.map_or(Ok(()), |entry| writeln!(stdout(), "{}", lines::entry(entry)))
}

/// Sends `command`, and prints all events from `from` on until its turn has ended.
pub async fn turn(
    session: &Session,
    command: Command,
    mut from: Seq,
    options: &Options,
    interrupts: &mut Interrupts,
) -> anyhow::Result<Exit> {
    Printer { session, options, interrupts, next: &mut from }.turn(command).await
}

/// Like [`turn`], for the last turn of the process: also waits for background work of the turn.
pub async fn last_turn(
    session: &Session,
    command: Command,
    mut from: Seq,
    options: &Options,
    interrupts: &mut Interrupts,
) -> anyhow::Result<Exit> {
    Printer { session, options, interrupts, next: &mut from }.last_turn(command).await
}

/// Prints the events of a session, and asks the user at the terminal.
pub(crate) struct Printer<'a> {
    pub(crate) session: &'a Session,
    pub(crate) options: &'a Options,
    pub(crate) interrupts: &'a mut Interrupts,
    /// The first entry that was not printed; kept from one turn to the next.
    pub(crate) next: &'a mut Seq,
}

/// The result of waiting for an event.
enum Step {
    /// The event was printed.
    Printed(Event),
    /// The events have ended.
    End,
    /// The user does not want to wait.
    Left,
}

impl Printer<'_> {
    /// Sends `command` and prints until its turn has ended. If the turn has used up its rounds, asks the user whether
    /// to continue it.
    pub(crate) async fn turn(&mut self, command: Command) -> anyhow::Result<Exit> {
        let report = self.print_turn(command).await?;
        self.finish(report)
    }

    async fn last_turn(&mut self, command: Command) -> anyhow::Result<Exit> {
        let (session, is_quiet) = (self.session, self.options.style.quiet);
        let waiting = Waiting::begin(session, self.options.seconds);
        let mut report = self.print_turn(command).await?;
        while let Some(limit) = report.as_ref().and_then(|report| waiting.limit(session, report)) {
            waiting.tell(session, is_quiet)?;
            let Ok(has_ended) = tokio::time::timeout(limit, self.print_next_turn()).await else { break };
            report = Some(if has_ended? { waiting.report(session) } else { interrupted() });
        }
        waiting.tell_ended(session, is_quiet)?;
        self.finish(report)
    }

    /// Sends `command` and prints until it is done. Without a command, prints the recorded events, and a turn that
    /// waits for an answer until its end.
    pub(crate) async fn follow(&mut self, command: Option<Command>) -> anyhow::Result<Exit> {
        let report = match command {
            Some(command) => self.print(command).await?,
            None => self.catch_up().await?,
        };
        self.finish(report)
    }

    async fn print_turn(&mut self, command: Command) -> anyhow::Result<Option<TurnReport>> {
        let mut report = self.print(command).await?;
        while let Some(rounds) = self.rounds_used_up(report.as_ref())
            && going_on::is_wanted(rounds, self.interrupts).await
        {
            report = self.print(Command::Continue).await?;
        }
        Ok(report)
    }

    /// The number of rounds after which the user is asked whether the turn continues; `None` if the user is not asked.
    fn rounds_used_up(&self, report: Option<&TurnReport>) -> Option<u32> {
        let is_over = report?.outcome == Some(Outcome::RoundLimit);
        let is_asked = self.options.can_ask && self.options.output == Output::Text;
        going_on::used_up(self.session).filter(|_| is_over && is_asked)
    }

    /// Sends `command` and prints its events, and those of other clients meanwhile. Returns the report of its turn;
    /// `None` if the command runs no turn.
    async fn print(&mut self, command: Command) -> anyhow::Result<Option<TurnReport>> {
        let is_turn = !matches!(
            command,
            Command::Rewind { .. }
                | Command::UndoCalls(_)
                | Command::Redo
                | Command::SetMode { .. }
                | Command::AddRoot { .. }
                | Command::KeepSetup
                | Command::OpenOutbox
                | Command::DropItem { .. }
                | Command::SetGoal { .. }
        );
        let mut turn = self.session.start_from(command, *self.next);
        let mut showing = Showing::new(self.session, self.options);
        let mut note = None;
        loop {
            match self.step(&mut turn, &mut showing).await? {
                Step::Printed(Event::Recorded(entry)) if turn.seen() > entry.seq => {
                    if let Fact::Replied { .. } = &entry.fact {
                        note = notes::of(&entry.fact);
                    }
                }
                Step::Printed(_) => {}
                Step::Left => return Ok(Some(interrupted())),
                Step::End => break,
            }
        }
        if !is_turn && showing.questions.is_open() {
            let mut events = Box::pin(self.session.events(*self.next));
            while showing.questions.is_open() {
                match self.step(&mut events, &mut showing).await? {
                    Step::Printed(_) => {}
                    Step::Left => return Ok(Some(interrupted())),
                    Step::End => break,
                }
            }
        }
        showing.spinner.clear();
        let report = turn.report().await;
        Ok(is_turn.then(|| TurnReport { error: note.or(report.error.clone()), ..report }))
    }

    /// Prints the recorded events, and a turn that waits for an answer until its end. Returns the report of a turn that
    /// ended.
    async fn catch_up(&mut self) -> anyhow::Result<Option<TurnReport>> {
        let mut events = Box::pin(self.session.events(*self.next));
        let mut showing = Showing::new(self.session, self.options);
        let (now, mut entries, mut has_asked) = (next(self.session), Vec::new(), false);
        loop {
            has_asked |= showing.questions.is_open();
            if *self.next >= now && !has_asked {
                break;
            }
            match self.step(&mut events, &mut showing).await? {
                Step::Printed(event) => {
                    has_asked &= !is_end(&event);
                    if let Event::Recorded(entry) = event {
                        entries.push(entry);
                    }
                }
                Step::Left => return Ok(Some(interrupted())),
                Step::End => break,
            }
        }
        showing.spinner.clear();
        Ok(Some(TurnReport::of(&entries)).filter(|report| report.outcome.is_some()))
    }

    /// Prints until the next turn has ended; `false` if the user does not want to wait for it.
    async fn print_next_turn(&mut self) -> anyhow::Result<bool> {
        let mut events = Box::pin(self.session.events(*self.next));
        let mut showing = Showing::new(self.session, self.options);
        showing.spinner = Spinner::new(false);
        showing.is_interrupted = true;
        loop {
            match self.step(&mut events, &mut showing).await? {
                Step::Printed(event) if is_end(&event) => return Ok(true),
                Step::Printed(_) => {}
                Step::Left | Step::End => return Ok(false),
            }
        }
    }

    /// Waits for the next event and prints it. An interrupt is sent to the session; a second one in the same turn stops
    /// waiting.
    async fn step(
        &mut self,
        events: &mut (impl Stream<Item = Event> + Unpin),
        showing: &mut Showing<'_>,
    ) -> anyhow::Result<Step> {
        loop {
            tokio::select! {
                event = events.next() => {
                    let Some(event) = event else { return Ok(Step::End) };
                    if let Err(error) = showing.apply(self.session, &event) {
                        let is_known = self.interrupts.has_hung_up();
                        if !self.interrupts.is_hangup(&error).await {
                            return Err(error);
                        }
                        if self.leaves_it() {
                            return Ok(Step::Left);
                        }
                        if !is_known {
                            self.session.send(Command::Interrupt)?;
                            showing.is_interrupted = true;
                        }
                    }
                    if let Event::Recorded(entry) = &event {
                        *self.next = Seq(entry.seq.0 + 1);
                    }
                    // The next interrupt goes to the next turn.
                    showing.is_interrupted &= !is_end(&event);
                    return Ok(Step::Printed(event));
                }
                () = self.interrupts.next() => {
                    if self.leaves_it() {
                        return Ok(Step::Left);
                    }
                    self.session.send(Command::Interrupt)?;
                    if std::mem::replace(&mut showing.is_interrupted, true) {
                        return Ok(Step::Left);
                    }
                }
                _ = showing.ticks.tick(), if showing.spinner.is_enabled() => showing.spinner.tick(),
            }
        }
    }

    /// Whether this program ends while the session continues on another machine.
    fn leaves_it(&self) -> bool {
        self.interrupts.must_end() && Remote::of(self.session).is_some()
    }

    /// Prints the report; without one the turn counts as a success.
    fn finish(&self, report: Option<TurnReport>) -> anyhow::Result<Exit> {
        let Some(report) = report else { return Ok(Exit::Success) };
        or_gone(self.tell(&report), Exit::Interrupted, self.interrupts)
    }

    fn tell(&self, report: &TurnReport) -> anyhow::Result<Exit> {
        if report.outcome.is_none() && !matches!(self.options.output, Output::Json | Output::Nothing) {
            writeln!(stderr(), "error: {}", report.error.as_deref().unwrap_or_default())?;
        }
        if report.outcome == Some(Outcome::InvalidAnswer) {
            writeln!(stderr(), "error: {}", safe::text(report.error.as_deref().unwrap_or_default()))?;
        }
        if let (Output::Answer, Some(answer)) = (self.options.output, &report.answer) {
            writeln!(stdout(), "{}", safe::json(&answer.to_string()))?;
        }
        if self.options.output == Output::Json {
            writeln!(stdout(), "{}", safe::json(&object(self.session, report).to_string()))?;
        }
        Ok(report.outcome.map_or(Exit::Failed, Exit::from))
    }
}

fn is_end(event: &Event) -> bool {
    matches!(event, Event::Recorded(entry) if matches!(entry.fact, Fact::TurnEnded { .. }))
}

fn interrupted() -> TurnReport {
    TurnReport { outcome: Some(Outcome::Interrupted), ..TurnReport::default() }
}

/// Returns `gone` if the terminal is gone, so that nothing can be written to it.
fn or_gone<T>(shown: anyhow::Result<T>, gone: T, interrupts: &Interrupts) -> anyhow::Result<T> {
    shown.or_else(|error| if interrupts.has_hung_up() { Ok(gone) } else { Err(error) })
}

/// What is shown of events, and the open questions.
struct Showing<'a> {
    options: &'a Options,
    words: Words<LinkWriter<Box<dyn Write + Send>>, LinkWriter<Stderr>>,
    spinner: Spinner,
    ticks: Interval,
    questions: Questions,
    activities: Activities,
    /// Whether the running turn was interrupted: the next interrupt stops waiting for it.
    is_interrupted: bool,
}

impl<'a> Showing<'a> {
    fn new(session: &Session, options: &'a Options) -> Self {
        let reply: Box<dyn Write + Send> = match options.output {
            Output::Answer => Box::new(std::io::sink()),
            Output::Text | Output::Json | Output::StreamJson | Output::Activity | Output::Nothing => {
                Box::new(stdout())
            }
        };
        let links = |is_terminal| if is_terminal { options.links.clone() } else { Links::default() };
        let reply = LinkWriter::new(reply, links(stdout().is_terminal()));
        let notes = LinkWriter::new(stderr(), links(stderr().is_terminal()));
        let words = Words::new(reply, notes, options.style, options.chat.clone());
        let (session, diffs) = (session.clone(), options.diffs);
        let words = match diffs.0 {
            Some(_) => words.with_diffs(move |changes| diffs.cut(&session, changes, None).shown),
            None => words,
        };
        let is_text = matches!(options.output, Output::Text | Output::Answer);
        let mut spinner = Spinner::new(options.can_ask && is_text && !options.style.quiet);
        spinner.label("waiting for the model");
        let (questions, ticks) =
            (Questions::with(diffs, options.editor.clone()), tokio::time::interval(TICK));
        let activities = Activities::default();
        Self { options, words, spinner, ticks, questions, activities, is_interrupted: false }
    }

    /// Shows an event, and asks its question even if writing fails.
    fn apply(&mut self, session: &Session, event: &Event) -> anyhow::Result<()> {
        self.spinner.clear();
        if matches!(event, Event::Recorded(_)) {
            self.words.reply().release().context("cannot write the output")?;
        }
        let written =
            match self.options.output {
                Output::Text | Output::Answer => self.words.event(event),
                Output::Json | Output::Nothing => Ok(()),
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

/// Sets the label of the spinner. While the user is asked, it is empty, so that the spinner does not overwrite the
/// question.
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
