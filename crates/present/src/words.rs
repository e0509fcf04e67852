//! [`Words`]: prints events as text: the reply on one stream, everything else on another.
use crate::{
    call_order::CallOrder,
    diff, notes,
    outcome::{plan, step_line, stopped, verdict},
    safe,
};
use haft_core::{
    CallId, Change, Event, Fact, Outcome, Part, Shown, ToolCall, ToolResult, Update, arguments_in_brief,
    text_of,
};
use haft_engine::Chat;
use serde_json::Value;
use std::{
    collections::{HashMap, HashSet},
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
    /// What of the current reply stands on the first stream.
    shown: String,
    /// What of it has been heard; differs from `shown` after a retry.
    heard: String,
    calls: HashMap<String, ToolCall>,
    /// The call that no model made.
    own: Option<CallId>,
    /// Calls that have ended before an earlier one.
    order: CallOrder<Ended>,
    /// Draws changes; without it files are named.
    diffs: Option<Diffs>,
    /// Calls whose changes were shown when they asked.
    asked: HashSet<CallId>,
}

struct Ended {
    name: String,
    result: ToolResult,
    is_own: bool,
}

type Diffs = Box<dyn Fn(&[Change]) -> String + Send>;

impl<Out: Write, Err: Write> Words<Out, Err> {
    /// `reply` gets what the model says, `notes` the rest. `chat` replaces words of ours with those of a profile.
    pub fn new(reply: Out, notes: Err, style: Style, chat: Chat) -> Self {
        let (shown, heard, calls, own, order, asked) = Default::default();
        Self { reply, notes, style, chat, shown, heard, calls, own, order, diffs: None, asked }
    }

    /// Shows what changes did as `diffs` draws it.
    pub fn with_diffs(self, diffs: impl Fn(&[Change]) -> String + Send + 'static) -> Self {
        Self { diffs: Some(Box::new(diffs)), ..self }
    }

    /// Prints one event.
    pub fn event(&mut self, event: &Event) -> io::Result<()> {
        match event {
            Event::Live(update) => self.update(update),
            Event::Recorded(entry) => self.fact(&entry.fact),
        }
    }

    fn update(&mut self, update: &Update) -> io::Result<()> {
        match update {
            Update::Text { text } => {
                self.heard += text;
                self.say()
            }
            Update::Thinking { text } if self.style.thinking => write!(self.notes, "{}", safe::text(text)),
            Update::Retrying { reason, after_ms } => {
                self.heard.clear();
                let seconds = *after_ms as f64 / 1000.0;
                self.note(&format!("{reason}; asking again in {seconds:.1} s"))
            }
            Update::Thinking { .. } | Update::ToolOutput { .. } | Update::Summarizing => Ok(()),
            Update::ToolCall { .. } | Update::ToolArguments { .. } | Update::ToolCallEnd { .. } => Ok(()),
        }
    }

    fn fact(&mut self, fact: &Fact) -> io::Result<()> {
        match fact {
            Fact::Replied { parts, .. } => {
                self.replied(parts)?;
                notes::of(fact).map_or(Ok(()), |note| self.note(&note))
            }
            Fact::Called { made } => {
                self.calls = [(made.id.0.clone(), made.clone())].into();
                self.own = Some(made.id.clone());
                Ok(())
            }
            Fact::ToolStarted { call, .. } => match self.calls.get(&call.0).cloned() {
                Some(call) if self.chat.executing.is_none() => self.started(&call),
                _ => Ok(()),
            },
            Fact::ApprovalAsked { call, changes, .. } if !changes.is_empty() => {
                self.asked.insert(call.clone());
                Ok(())
            }
            Fact::Staged { call, changes, .. } | Fact::ChangedBelow { call, changes, .. } => {
                self.changed(call, changes)
            }
            Fact::ToolEnded { call, name, result, .. } => {
                let is_own = self.own.as_ref() == Some(call);
                let ended = Ended { name: name.clone(), result: result.clone(), is_own };
                let ended = self.order.ended(call, ended);
                self.all_ended(ended)
            }
            Fact::ModelFailed { message, hint } => self.failed(message, hint.as_deref()),
            Fact::PromptDenied { reason, .. } => {
                self.failed(&format!("a hook denied the prompt: {reason}"), None)
            }
            Fact::TurnEnded { outcome, rounds, .. } => {
                let ended = self.order.rest();
                self.all_ended(ended)?;
                self.turn_ended(*outcome, *rounds)
            }
            fact => notes::of(fact).map_or(Ok(()), |note| self.note(&note)),
        }
    }

    /// Prints what was heard and does not stand there yet. After a retry the same words come again.
    fn say(&mut self) -> io::Result<()> {
        if self.shown.starts_with(&self.heard) {
            return Ok(());
        }
        let news = match self.heard.strip_prefix(&self.shown) {
            Some(rest) => rest.to_owned(),
            None => format!("\n{}", self.heard),
        };
        self.shown.clone_from(&self.heard);
        write!(self.reply, "{}", safe::text(&news))?;
        self.reply.flush()
    }

    fn replied(&mut self, parts: &[Part]) -> io::Result<()> {
        self.heard = text_of(parts);
        if !self.heard.is_empty() {
            self.say()?;
        }
        if !self.shown.is_empty() && self.chat.reply.is_none() && !self.shown.ends_with('\n') {
            writeln!(self.reply)?;
        }
        self.shown.clear();
        self.heard.clear();
        let calls: Vec<&ToolCall> = parts.iter().filter_map(Part::as_call).collect();
        self.calls = calls.iter().map(|call| (call.id.0.clone(), (*call).clone())).collect();
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

    fn started(&mut self, call: &ToolCall) -> io::Result<()> {
        let bold =
            |text: &str| if self.style.color { format!("\x1b[1m{text}\x1b[0m") } else { text.to_owned() };
        let line = format!("● {} {}", bold(&safe::name(&call.name)), summary(&call.arguments));
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

    fn all_ended(&mut self, ended: Vec<Ended>) -> io::Result<()> {
        ended.iter().try_for_each(|ended| self.ended(ended))
    }

    fn ended(&mut self, Ended { name, result, is_own }: &Ended) -> io::Result<()> {
        if let Shown::Message(text) = &result.shown {
            return writeln!(self.notes, "{}", safe::text(text));
        }
        let mark = if result.went_well() { &self.chat.done } else { &self.chat.failed };
        if let Some(mark) = mark {
            write!(self.reply, "{}", mark.replace("{name}", &safe::name(name)))?;
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
    use haft_core::{Entry, Seq, StopReason, Usage};
    use serde_json::json;
    use std::sync::Arc;

    fn recorded(fact: Fact) -> Event {
        Event::Recorded(Arc::new(Entry { seq: Seq(0), parent: None, at: 0, fact }))
    }
    fn live(text: &str) -> Event {
        Event::Live(Update::Text { text: text.into() })
    }
    fn retrying() -> Event {
        Event::Live(Update::Retrying { reason: "reset".into(), after_ms: 500 })
    }
    fn replied(text: &str, calls: Vec<ToolCall>) -> Event {
        let parts = std::iter::once(Part::text(text)).chain(calls.into_iter().map(Part::ToolCall)).collect();
        recorded(Fact::Replied { parts, usage: Usage::default(), stop: StopReason::EndTurn })
    }
    fn told(events: Vec<Event>, chat: Chat) -> (String, String) {
        let (mut reply, mut notes) = (Vec::new(), Vec::new());
        let mut words = Words::new(&mut reply, &mut notes, Style::default(), chat);
        events.iter().for_each(|event| words.event(event).unwrap());
        (String::from_utf8(reply).unwrap(), String::from_utf8(notes).unwrap())
    }

    // A-35, A23
    #[test]
    fn a_reply_is_printed_once_as_it_streams() {
        let table = [
            (vec![live("Hel"), live("lo"), replied("Hello", vec![])], "Hello\n"),
            (vec![replied("Hello", vec![])], "Hello\n"),
            (vec![live("Hel"), replied("Hello", vec![])], "Hello\n"),
            (vec![live("Hel"), retrying(), live("Hello"), replied("Hello", vec![])], "Hello\n"),
            (vec![live("Hel"), retrying(), live("H"), live("i!"), replied("Hi!", vec![])], "Hel\nHi!\n"),
            (vec![live("\u{1b}[2Jx"), replied("\u{1b}[2Jx", vec![])], "[2Jx\n"),
        ];
        for (events, expected) in table {
            assert_eq!(told(events.clone(), Chat::default()).0, expected, "{events:?}");
        }
    }

    //
    #[test]
    fn a_profile_has_words_of_its_own_for_calls() {
        let alfred = haft_engine::Profile::named("alfred").unwrap().chat;
        let call = |id: &str| ToolCall::new(id, "read", json!({"path": "a"}));
        let ended = |id: &str, error: bool| {
            let failure = haft_core::Failure {
                kind: haft_core::ToolErrorKind::User,
                message: "no".into(),
                suggestion: None,
            };
            let result = ToolResult { error: error.then_some(failure), ..ToolResult::default() };
            recorded(Fact::ToolEnded { call: CallId(id.into()), name: "read".into(), result, duration_ms: 0 })
        };
        let events = vec![
            live("Let me see."),
            replied("Let me see.", vec![call("1"), call("2")]),
            // A reply's order holds, whichever ends first.
            ended("2", true),
            ended("1", false),
        ];
        assert_eq!(told(events, alfred).0, "Let me see.\n[Executing 2 tool(s)...]\n[read] ✓\n[read] ✗\n");
    }

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
