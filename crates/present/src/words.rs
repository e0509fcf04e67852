//! [`Words`]: prints events as text: the reply on one stream, everything else on another.
use crate::{
    call_order::CallOrder,
    diff, notes,
    outcome::verdict,
    preview::preview,
    safe,
    timeline::{Call, Item, Replies, Timeline},
};
use haft_core::{CallId, Change, Event, Outcome, Part, Shown, ToolCall, Update};
use haft_engine::Chat;
use std::{
    collections::HashSet,
    io::{self, Write},
};

/// How much is printed beside the reply.
#[derive(Clone, Copy, Debug, Default)]
pub struct Style {
    /// Print only the reply and errors.
    pub quiet: bool,
    /// Use colors on the second stream.
    pub color: bool,
    /// Print the model's thoughts, too.
    pub thinking: bool,
}

/// Prints events as they arrive.
pub struct Words<Out, Err> {
    reply: Out,
    notes: Err,
    style: Style,
    chat: Chat,
    timeline: Timeline,
    /// Whether the last text of the reply on the first stream ended in the middle of a line.
    is_in_line: bool,
    /// Calls that have ended before an earlier call.
    order: CallOrder<Call>,
    /// Draws changes; if `None`, only the files are named.
    diffs: Option<Diffs>,
    /// Calls whose changes were shown when they asked.
    asked: HashSet<CallId>,
}

type Diffs = Box<dyn Fn(&[Change]) -> String + Send>;

impl<Out: Write, Err: Write> Words<Out, Err> {
    /// `reply` gets the model's text, `notes` everything else. `chat` has the profile's texts, which replace the
    /// default ones.
    pub fn new(reply: Out, notes: Err, style: Style, chat: Chat) -> Self {
        let timeline = Timeline::with(Replies::Once);
        let (order, asked) = Default::default();
        Self { reply, notes, style, chat, timeline, is_in_line: false, order, diffs: None, asked }
    }

    /// Prints changes as `diffs` draws them.
    pub fn with_diffs(self, diffs: impl Fn(&[Change]) -> String + Send + 'static) -> Self {
        Self { diffs: Some(Box::new(diffs)), ..self }
    }

    /// The writer of the reply.
    pub fn reply(&mut self) -> &mut Out {
        &mut self.reply
    }

    /// Prints one event.
    pub fn event(&mut self, event: &Event) -> io::Result<()> {
        match event {
            Event::Live(Update::Disconnected { why }) => {
                self.note(&format!("{why}; connecting again"))?;
            }
            Event::Live(Update::Connected { .. }) => self.note("connected again")?,
            _ => {}
        }
        self.timeline.apply(event).into_iter().try_for_each(|item| self.item(item))
    }

    fn item(&mut self, item: Item) -> io::Result<()> {
        match item {
            Item::Text { text, is_anew } => self.say(&text, is_anew),
            Item::Thought { text, is_live: true, .. } if self.style.thinking => {
                write!(self.notes, "{}", safe::text(&text))
            }
            Item::Retrying { reason, after_ms, .. } => {
                match after_ms {
                    // Another model is asked instead.
                    0 => self.note(&reason),
                    _ => self.note(&format!("{reason}; asking again in {:.1} s", after_ms as f64 / 1000.0)),
                }
            }
            Item::Replied { parts } => self.replied(&parts),
            Item::Started { call, .. } => self.started(&call),
            Item::Asked { call, has_changes } => {
                if has_changes {
                    self.asked.insert(call);
                }
                Ok(())
            }
            Item::Changed { call, changes, .. } => self.changed(&call, &changes),
            Item::Call(call) => {
                let id = call.id.clone();
                let ended = self.order.ended(&id, *call);
                self.all_ended(ended)
            }
            Item::Failure { message, hint } => self.failed(&message, hint.as_deref()),
            Item::Denied { reason } => self.failed(&notes::denied(&reason), None),
            Item::Ended { outcome, rounds, .. } => {
                let ended = self.order.rest();
                self.all_ended(ended)?;
                self.turn_ended(outcome, rounds)
            }
            Item::Note(text) | Item::Aside { text, .. } => self.note(&text),
            Item::Prompt { .. } | Item::Thinking(_) | Item::Thought { .. } | Item::Reply(_) => Ok(()),
            Item::Announced { .. } | Item::Output { .. } | Item::Rewound { .. } => Ok(()),
        }
    }

    fn say(&mut self, text: &str, is_anew: bool) -> io::Result<()> {
        let gap = if is_anew { "\n" } else { "" };
        self.is_in_line = !text.ends_with('\n');
        write!(self.reply, "{gap}{}", safe::text(text))?;
        self.reply.flush()
    }

    fn replied(&mut self, parts: &[Part]) -> io::Result<()> {
        if std::mem::take(&mut self.is_in_line) && self.chat.reply.is_none() {
            writeln!(self.reply)?;
        }
        let calls: Vec<&ToolCall> = parts.iter().filter_map(Part::as_call).collect();
        let ended = self.order.asked(calls.iter().copied());
        self.all_ended(ended)?;
        match &self.chat.executing {
            Some(executing) if !calls.is_empty() => {
                write!(self.reply, "{}", executing.replace("{n}", &calls.len().to_string()))?;
            }
            _ => {}
        }
        self.reply.flush()
    }

    fn started(&mut self, call: &CallId) -> io::Result<()> {
        let line = self.timeline.call(call).map(|call| self.head(call));
        line.filter(|_| self.chat.executing.is_none()).map_or(Ok(()), |line| self.line(&line))
    }

    fn head(&self, call: &Call) -> String {
        let bold =
            |text: &str| if self.style.color { format!("\x1b[1m{text}\x1b[0m") } else { text.to_owned() };
        format!("● {} {}", bold(&safe::name(&call.made.name)), call.summary)
    }

    fn changed(&mut self, call: &CallId, changes: &[Change]) -> io::Result<()> {
        if let Some(diffs) = self.diffs.as_ref().filter(|_| !self.style.quiet && !self.asked.contains(call)) {
            return write!(self.notes, "{}", diffs(changes));
        }
        let diff::Shown { changes, git, .. } = diff::Shown::of(changes);
        if let Some(what) = git {
            self.line(&format!("  ~ .git ({what})"))?;
        }
        for change in changes {
            let path = change.path.to_string_lossy();
            self.line(&format!("  {} {}", diff::sign(change.kind()), safe::visible_line(&path)))?;
        }
        Ok(())
    }

    fn all_ended(&mut self, ended: Vec<Call>) -> io::Result<()> {
        ended.iter().try_for_each(|call| self.ended(call))
    }

    fn ended(&mut self, call: &Call) -> io::Result<()> {
        let Call { made, result, is_own, .. } = call;
        if let Shown::Message(text) = &result.shown {
            return writeln!(self.notes, "{}", safe::text(text));
        }
        let mark = if result.went_well() { &self.chat.done } else { &self.chat.failed };
        if let Some(mark) = mark {
            write!(self.reply, "{}", mark.replace("{name}", &safe::name(&made.name)))?;
            return self.reply.flush();
        }
        if !call.has_started && self.chat.executing.is_none() {
            // The call was refused, or its arguments were wrong: its head was not printed yet.
            self.line(&self.head(call))?;
        }
        let sign = if result.went_well() { "✓" } else { "✗" };
        let lines = if *is_own { usize::MAX } else { self.chat.preview_lines };
        let mut preview = preview(result, lines, "").into_iter();
        let first = verdict(result).or_else(|| preview.next()).unwrap_or_default();
        self.line(&format!("  {sign} {first}"))?;
        preview.try_for_each(|line| self.line(&format!("    {line}")))
    }

    fn turn_ended(&mut self, outcome: Outcome, rounds: u32) -> io::Result<()> {
        match (outcome, &self.chat.cap) {
            (Outcome::RoundLimit, Some(cap)) => {
                write!(self.reply, "{}", cap.replace("{n}", &rounds.to_string()))?;
                self.reply.flush()
            }
            _ => notes::of_outcome(outcome).map_or(Ok(()), |note| self.note(&note)),
        }
    }

    fn failed(&mut self, message: &str, hint: Option<&str>) -> io::Result<()> {
        writeln!(self.notes, "error: {}", safe::text(message))?;
        hint.map_or(Ok(()), |hint| writeln!(self.notes, "hint: {}", safe::text(hint)))
    }

    fn note(&mut self, text: &str) -> io::Result<()> {
        self.line(&format!("({})", safe::text(text)))
    }

    fn line(&mut self, line: &str) -> io::Result<()> {
        if self.style.quiet { Ok(()) } else { writeln!(self.notes, "{line}") }
    }
}
