//! [`Words`]: prints events as text: the reply on one stream, everything else on another.
use crate::{
    call_order::CallOrder,
    diff, notes,
    outcome::{plan, step_line, stopped, verdict},
    safe,
    timeline::{Call, Item, Replies, Timeline},
};
use haft_core::{CallId, Change, Event, Outcome, Part, Shown, ToolCall, ToolResult, arguments_in_brief};
use haft_engine::Chat;
use serde_json::Value;
use std::{
    collections::HashSet,
    io::{self, Write},
};

/// How much is shown beside the reply.
#[derive(Clone, Copy, Debug, Default)]
pub struct Style {
    /// Nothing but the reply and errors.
    pub quiet: bool,
    /// Colors on the second stream.
    pub color: bool,
    /// What the model thinks, too.
    pub thinking: bool,
}

/// Lines of a result that people see by default.
pub const PREVIEW_LINES: usize = 3;
/// A line longer than this is cut in previews.
const MAX_PREVIEW_CHARS: usize = 160;

/// Prints events as they come.
pub struct Words<Out, Err> {
    reply: Out,
    notes: Err,
    style: Style,
    chat: Chat,
    timeline: Timeline,
    /// What of the current reply stands on the first stream does not end its line.
    is_in_line: bool,
    /// Calls that have ended before an earlier one.
    order: CallOrder<Call>,
    /// Draws changes; without it files are named.
    diffs: Option<Diffs>,
    /// Calls whose changes were shown when they asked.
    asked: HashSet<CallId>,
}

type Diffs = Box<dyn Fn(&[Change]) -> String + Send>;

impl<Out: Write, Err: Write> Words<Out, Err> {
    /// `reply` gets what the model says, `notes` the rest. `chat` replaces words of ours with those of a profile.
    pub fn new(reply: Out, notes: Err, style: Style, chat: Chat) -> Self {
        let timeline = Timeline::with(Replies::Once);
        let (order, asked) = Default::default();
        Self { reply, notes, style, chat, timeline, is_in_line: false, order, diffs: None, asked }
    }

    /// Shows what changes did as `diffs` draws it.
    pub fn with_diffs(self, diffs: impl Fn(&[Change]) -> String + Send + 'static) -> Self {
        Self { diffs: Some(Box::new(diffs)), ..self }
    }

    /// Prints one event.
    pub fn event(&mut self, event: &Event) -> io::Result<()> {
        self.timeline.apply(event).into_iter().try_for_each(|item| self.item(item))
    }

    fn item(&mut self, item: Item) -> io::Result<()> {
        match item {
            Item::Text { text, is_anew } => self.say(&text, is_anew),
            Item::Thought { text, is_live: true, .. } if self.style.thinking => {
                write!(self.notes, "{}", safe::text(&text))
            }
            Item::Retrying { reason, after_ms, .. } => {
                let seconds = after_ms as f64 / 1000.0;
                self.note(&format!("{reason}; asking again in {seconds:.1} s"))
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
        let Some(call) = self.timeline.call(call).filter(|_| self.chat.executing.is_none()) else {
            return Ok(());
        };
        let bold =
            |text: &str| if self.style.color { format!("\x1b[1m{text}\x1b[0m") } else { text.to_owned() };
        let line = format!("● {} {}", bold(&safe::name(&call.made.name)), call.summary);
        self.line(&line)
    }

    fn changed(&mut self, call: &CallId, changes: &[Change]) -> io::Result<()> {
        if let Some(diffs) = self.diffs.as_ref().filter(|_| !self.style.quiet && !self.asked.contains(call)) {
            return write!(self.notes, "{}", diffs(changes));
        }
        let diff::Shown { changes, git } = diff::Shown::of(changes);
        if let Some(what) = git {
            self.line(&format!("  ~ .git ({what})"))?;
        }
        for change in changes {
            let path = change.path.to_string_lossy();
            self.line(&format!("  {} {}", diff::sign(change.kind()), safe::text(&path)))?;
        }
        Ok(())
    }

    fn all_ended(&mut self, ended: Vec<Call>) -> io::Result<()> {
        ended.iter().try_for_each(|call| self.ended(call))
    }

    fn ended(&mut self, Call { made, result, is_own, .. }: &Call) -> io::Result<()> {
        if let Shown::Message(text) = &result.shown {
            return writeln!(self.notes, "{}", safe::text(text));
        }
        let mark = if result.went_well() { &self.chat.done } else { &self.chat.failed };
        if let Some(mark) = mark {
            write!(self.reply, "{}", mark.replace("{name}", &safe::name(&made.name)))?;
            return self.reply.flush();
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

/// The arguments in a few words: see [`arguments_in_brief`].
pub fn summary(arguments: &Value) -> String {
    short(&safe::text(&arguments_in_brief(arguments)))
}

/// What people see of a result: at most `lines` lines, or all of them uncut with `usize::MAX`. Of a tool these are its
/// first lines; of a command the last ones, where the verdict stands. `how` stands behind the count of lines that are
/// left out: a way to see them.
pub fn preview(result: &ToolResult, lines: usize, how: &str) -> Vec<String> {
    if let Some(plan) = plan(result) {
        return plan.items.iter().map(|step| short(&step_line(step))).collect();
    }
    let text = match (&result.error, &result.shown) {
        (Some(error), _) => &error.message,
        (None, Shown::Preview) => &result.content,
        (None, Shown::Text(text) | Shown::Message(text)) => text,
        (None, Shown::Nothing) => return Vec::new(),
    };
    let command = result.command();
    let is_command = command.is_some();
    let mut all: Vec<&str> = text.lines().collect();
    if is_command && lines != usize::MAX && verdict(result).is_some() {
        // The verdict stands beside the call; the room is for what the command said.
        all.pop_if(|last| last.starts_with("[exit code: "));
        let is_said =
            stopped(result).is_some() && all.first().is_some_and(|first| first.ends_with("so far:"));
        all.drain(..usize::from(is_said));
    }
    let skipped = all.len().saturating_sub(lines);
    let told = if is_command { &all[skipped..] } else { &all[..all.len() - skipped] };
    // The result may hold less than the command has printed.
    let printed = command.and_then(|run| run.total_lines).map_or(all.len(), |all| all as usize);
    let left_out = if skipped == 0 { 0 } else { printed.saturating_sub(told.len()) };
    let line = |line: &&str| match lines {
        usize::MAX => safe::text(line).into_owned(),
        _ => short(&safe::text(line)),
    };
    let mut shown: Vec<String> = told.iter().map(line).collect();
    match (left_out, is_command) {
        (0, _) => {}
        (left_out, true) => shown.insert(0, format!("… {left_out} earlier line{}{how}", s(left_out))),
        (left_out, false) => shown.push(format!("… {left_out} more line{}{how}", s(left_out))),
    }
    shown
}

fn s(number: usize) -> &'static str {
    if number == 1 { "" } else { "s" }
}

fn short(line: &str) -> String {
    match line.char_indices().nth(MAX_PREVIEW_CHARS) {
        Some((at, _)) => format!("{}…", &line[..at]),
        None => line.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    // C-07, C-51, C-67
    #[test]
    fn a_result_is_shown_as_a_few_lines() {
        let result = |content: &str| ToolResult { content: content.into(), ..ToolResult::default() };
        assert_eq!(preview(&result("a\nb\nc\nd\ne"), 3, ""), ["a", "b", "c", "… 2 more lines"]);
        assert_eq!(preview(&result("a\nb\nc"), 1, ""), ["a", "… 2 more lines"]);
        assert_eq!(preview(&ToolResult { shown: Shown::Nothing, ..result("a") }, 3, ""), [""; 0]);
        let ran = ToolResult { details: json!({"exit_code": 1}), ..result("a\nb\nc\nd") };
        assert_eq!(preview(&ran, 3, " (there)"), ["… 1 earlier line (there)", "b", "c", "d"]);
        assert!(!ran.went_well() && ran.is_ok());
        let cut =
            ToolResult { details: json!({"exit_code": 0, "total_lines": 3000}), ..result("a\nb\nc\nd") };
        assert_eq!(preview(&cut, 3, ""), ["… 2997 earlier lines", "b", "c", "d"]);
        let failed = ToolResult { content: "a\nb\nc\n[exit code: 1]".into(), ..ran };
        assert_eq!(preview(&failed, 3, ""), ["a", "b", "c"]);
        assert_eq!(preview(&failed, usize::MAX, ""), ["a", "b", "c", "[exit code: 1]"]);
        let words = ToolResult { shown: Shown::Text("Found 3".into()), ..result("a") };
        assert_eq!(preview(&words, 3, ""), ["Found 3"]);
    }
}
