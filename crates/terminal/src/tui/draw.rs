//! Draws the live lines: running items, the question, and the typed text.
use super::{
    app::{App, Hint},
    blocks::two_ends,
    markdown::{self, plain},
    mode::{Change, Mode, Pick, What},
    screen::ROOMY_ROWS,
    wrap::one_row,
};
use crate::bindings::Place;
use crate::{
    bars::tokens,
    loading, outputs,
    paint::{
        diff::{DiffPainter, Room},
        look::Look,
    },
    spinner::FRAMES,
};
use haft_core::{ChangeKind, Event, Fact, Part, Question, ToolResult, dollars};
use haft_present::{
    file_diff::{FileDiff, hunks},
    safe,
    timeline::{Activity, Asked, Call, Item, Timeline},
};
use ratatui::{
    style::Style,
    text::{Line, Span},
};
use std::borrow::Cow;

const ANSWER_PLACEHOLDER: &str = "your answer";
/// Sample text in the list of themes, in the colors of the theme at the cursor.
const SAMPLE_PROSE: &str = "The function `greet` is in [greet.py](greet.py):";
const SAMPLE_BEFORE: &str = "def greet(name):\n    print('Hello ' + name)\n";
const SAMPLE_AFTER: &str = "def greet(name):\n    print(f'Hello {name}!')\n";

/// Live lines, and the row and column of the cursor in them.
pub(super) type Picture = (Vec<Line<'static>>, Option<(usize, usize)>);

impl App {
    /// The lines below the scrollback, at most as many as the screen has rows.
    pub(super) fn picture(&mut self, frame: usize) -> Picture {
        let (mut lower, cursor) = self.lower(frame);
        let room = self.rows.saturating_sub(lower.len() + 1);
        let upper = self.upper();
        let skipped = upper.len().saturating_sub(room);
        let mut lines: Vec<_> = upper.into_iter().skip(skipped).collect();
        let above = lines.len();
        lines.append(&mut lower);
        let spare = lines.len().saturating_sub(self.rows.max(1));
        lines.drain(..spare);
        (lines, cursor.map(|(row, column)| ((row + above).saturating_sub(spare), column)))
    }

    /// The partial reply, and the running calls.
    fn upper(&self) -> Vec<Line<'static>> {
        let mut lines = Vec::new();
        if !self.view.thinking.is_empty() && self.shows_thinking {
            let thought = plain(self.view.thinking.trim(), Span::raw("  "), self.columns, self.look.dim());
            let skipped = thought.len().saturating_sub(4);
            lines.push(Line::default());
            lines.extend(thought.into_iter().skip(skipped));
        }
        let pending = self.view.pending();
        if !pending.trim().is_empty() {
            lines.push(Line::default());
            lines.extend(markdown::lines(pending, self.columns, &self.look));
        }
        // A call that asks is shown with its question.
        let is_asking = |call: &&Call| self.asked().is_some_and(|asked| asked == call.id);
        let calls: Vec<&Call> = self.view.calls.iter().filter(|call| !is_asking(call)).collect();
        if !calls.is_empty() {
            lines.push(Line::default());
            let drawn =
                self.painted(|painter| calls.iter().flat_map(|call| painter.call(call)).collect::<Vec<_>>());
            lines.extend(drawn);
        }
        lines
    }

    fn lower(&mut self, frame: usize) -> Picture {
        let mut lines = vec![Line::default()];
        lines.extend(self.status(frame));
        lines.extend(self.waiting_prompts());
        if let Mode::Pick(pick, _) = &self.mode {
            let head = pick.head.iter().map(|line| Line::styled(format!("  {line}"), self.look.dim()));
            lines.extend(head.map(|line| one_row(line, self.columns)));
            let (title, typed, hint) = match &pick.change {
                Some(Change::Name(name)) => ("name", name.as_str(), "type a name"),
                Some(Change::Delete) => ("delete", "", "for good; files in the workspace stay as they are"),
                Some(Change::Stop(_)) => ("stop", "", "ends it; the model is told"),
                None => (pick.title, pick.typed.as_str(), "type to search"),
            };
            let title = Span::styled(format!("{title}: "), self.look.bold());
            let column = title.width() + Span::raw(typed).width();
            let cursor = (lines.len(), column.min(self.columns.saturating_sub(1)));
            let typed = match typed.is_empty() {
                true => Span::styled(hint, self.look.dim()),
                false => Span::raw(typed.to_owned()),
            };
            lines.push(one_row(Line::from_iter([title, typed]), self.columns));
            let preview = self.preview(pick);
            let room = self.rows.saturating_sub(lines.len() + 3 + preview.len());
            lines.extend(pick.list.rows(self.columns, room, &self.look));
            lines.extend(preview);
            lines.extend(self.pick_foot(pick));
            return (lines, Some(cursor));
        }
        match self.view.asked.front().cloned() {
            Some(Asked::Approval { .. }) if let Mode::Parts(parts) = &self.mode => {
                return self.parts_picture(lines, parts);
            }
            Some(Asked::Approval { fact, .. }) => return self.approval_picture(lines, &fact),
            Some(Asked::Question { question, .. }) => lines.extend(self.question(&question)),
            None => {}
        }
        let is_command = matches!(self.mode, Mode::Compose(_)) && self.input.is_command();
        let (rows, (row, column)) = match self.mode {
            _ if is_command => self.input.command_rows(self.columns, &self.look),
            Mode::Answer(..) => self.input.rows_for(ANSWER_PLACEHOLDER, self.columns, &self.look),
            _ => self.input.rows(self.columns, &self.look),
        };
        let cursor = (lines.len() + row, column);
        lines.extend(rows);
        match &self.mode {
            Mode::Compose(Some(completion)) | Mode::Answer(Some(completion), _) => {
                let room = self.rows.saturating_sub(lines.len() + 1);
                lines.extend(completion.list.rows(self.columns, room, &self.look));
            }
            _ if is_command && self.hint.is_none() => {
                let text = "  Enter runs this command, without a question; the model reads what it printed";
                lines.push(one_row(Line::styled(text, self.look.warn()), self.columns));
            }
            _ => lines.push(self.foot()),
        }
        (lines, Some(cursor))
    }

    /// The first line of each prompt that waits for the next request.
    fn waiting_prompts(&self) -> Vec<Line<'static>> {
        let row = |(place, text): (usize, &String)| {
            let text = self.as_it_was_typed(text).unwrap_or_else(|| text.clone());
            let line = text.lines().next().unwrap_or_default();
            let is_last = place + 1 == self.view.queued.len();
            let how = if is_last && self.can_withdraw() { "  (↑ takes it back)" } else { "" };
            one_row(Line::styled(format!("  next: {line}{how}"), self.look.dim()), self.columns)
        };
        self.view.queued.iter().enumerate().map(row).collect()
    }

    /// The status of a running turn: its duration and usage.
    fn status(&self, frame: usize) -> Option<Line<'static>> {
        let since = self.busy_since()?;
        let activity = self.view.activity();
        let what = match activity {
            Activity::Waiting => loading::bar().unwrap_or_else(|| activity.words()),
            _ => activity.words(),
        };
        let step = self.view.plan.as_ref().and_then(|plan| {
            let step = plan.current().filter(|_| self.view.asked.is_empty())?;
            Some(format!("  {}: {}", plan.progress(), step.text))
        });
        let sign = if self.view.asked.is_empty() { FRAMES[frame % FRAMES.len()] } else { "?" };
        let spent = self.view.turn;
        let price = self.engine.as_ref().and_then(|engine| engine.setup().model.price);
        let cost = price.map(|price| price.cost(spent)).filter(|cost| *cost > 0.0).map(dollars);
        let count = (spent.total() > 0).then(|| format!("{} tokens", tokens(spent.total())));
        // While a question is open, Esc answers it.
        let how = self.view.asked.is_empty().then(|| "Esc to interrupt".to_owned());
        let facts = [Some(format!("{} s", since.elapsed().as_secs())), count, cost, how];
        let facts = facts.into_iter().flatten().collect::<Vec<_>>().join(" · ");
        let line = Line::from_iter([
            Span::styled(format!("{sign} "), self.look.accent()),
            Span::raw(what),
            Span::styled(format!("  {facts}"), self.look.dim()),
            Span::raw(step.unwrap_or_default()),
        ]);
        Some(one_row(line, self.columns))
    }

    /// Details about the item at the cursor, if there is room.
    fn preview(&self, pick: &Pick) -> Vec<Line<'static>> {
        match pick.list.chosen() {
            Some(item) if pick.what == What::Session && self.rows >= ROOMY_ROWS => {
                self.sessions.preview(&item.value, self.columns, &self.look)
            }
            Some(item) if pick.what == What::Theme && self.rows >= ROOMY_ROWS => {
                self.theme_sample(&item.value)
            }
            _ => Vec::new(),
        }
    }

    /// Sample prose and a sample change in the colors of a theme.
    fn theme_sample(&self, name: &str) -> Vec<Line<'static>> {
        let Some((theme, palette)) = self.around.themes.named(name) else { return Vec::new() };
        let look = Look { theme, palette, ..self.look };
        let change = FileDiff {
            path: "greet.py".into(),
            kind: ChangeKind::Modified,
            properties: None,
            hunks: hunks(SAMPLE_BEFORE, SAMPLE_AFTER),
            note: None,
        };
        let painter = DiffPainter { columns: self.columns, look: &look, how: None };
        let mut lines = vec![Line::default()];
        lines.extend(markdown::lines(SAMPLE_PROSE, self.columns, &look));
        lines.extend(painter.files(&[change], Room::WHOLE));
        lines
    }

    /// The keys of a list; for a list of models, also the effort.
    fn pick_foot(&self, pick: &Pick) -> Vec<Line<'static>> {
        let (mut lines, mut places) = (Vec::new(), &[Place::List][..]);
        if pick.what == What::Model {
            places = &[Place::List, Place::Models];
            let levels =
                pick.list.chosen().map(|item| self.around.host.efforts(&item.value)).unwrap_or_default();
            let effort = pick.effort.clone().unwrap_or_else(|| "default".into());
            let effort = match levels.is_empty() {
                true => Line::styled("  this model has no effort setting", self.look.dim()),
                false => Line::from_iter([Span::raw("  effort: "), Span::styled(effort, self.look.chosen())]),
            };
            lines.push(effort);
        }
        if pick.change.is_some() {
            places = &[Place::Line];
        } else if pick.what == What::Session {
            places = &[Place::List, Place::Sessions];
        } else if pick.what == What::Job {
            places = &[Place::List, Place::Tasks];
        }
        lines.push(Line::styled(format!("  {}", self.around.keys.foot(places)), self.look.dim()));
        lines.into_iter().map(|line| one_row(line, self.columns)).collect()
    }

    fn question(&self, question: &Question) -> Vec<Line<'static>> {
        let text = safe::text(&question.text).into_owned();
        let mut lines = plain(&text, Span::styled("? ", self.look.warn()), self.columns, self.look.bold());
        for (place, choice) in question.choices.iter().enumerate() {
            let (mark, number, text) = match self.marked_choice() == Some(place) {
                true => ("❯ ", self.look.chosen(), self.look.chosen()),
                false => ("  ", self.look.accent(), Style::new()),
            };
            let number = Span::styled(format!("{mark}{}. ", place + 1), number);
            lines.extend(plain(&safe::text(choice), number, self.columns, text));
        }
        let how = if question.choices.is_empty() { "type an answer" } else { "choose, or type an answer" };
        let edit = if question.draft.is_some() { " · type e to edit it first" } else { "" };
        lines.push(Line::styled(format!("  {how}{edit} · Esc to skip"), self.look.dim()));
        lines
    }

    /// The last line: the current hint, otherwise the status.
    pub(super) fn foot(&self) -> Line<'static> {
        if let Some(why) = &self.view.disconnected {
            return one_row(
                Line::styled(format!("  connecting again … · {why}"), self.look.warn()),
                self.columns,
            );
        }
        let hint = self.hint.as_ref().map(|hint| match hint {
            Hint::Brief(text) => text.as_str(),
            Hint::Lasting(text) => text,
        });
        if let Some(hint) = hint {
            return one_row(Line::styled(format!("  {hint}"), self.look.warn()), self.columns);
        }
        let dim = self.look.dim();
        let fact = |name: &str| self.status_fact(name);
        let unconfined = self.view.is_unconfined.then(|| "unconfined".to_owned());
        if let Some(own) = self.own_status_line() {
            let parts = std::iter::once(own).chain(unconfined).collect::<Vec<_>>();
            return one_row(Line::styled(format!("  {}", parts.join(" · ")), dim), self.columns);
        }
        let left = ["vim", "model", "effort", "agent", "mode", "goal"].into_iter().filter_map(fact);
        let left: Vec<String> = left.chain(unconfined).collect();
        let right: Vec<String> = ["tasks", "window", "cost"].into_iter().filter_map(fact).collect();
        let left = vec![Span::styled(format!("  {}", left.join(" · ")), dim)];
        two_ends(left, vec![Span::styled(right.join(" · "), dim)], self.columns)
    }

    /// The result of a call; for a command whose output was too long for the result, all of its output.
    fn whole_result<'a>(&self, result: &'a ToolResult) -> Cow<'a, str> {
        let content = || Cow::Borrowed(result.content.as_str());
        let (Some(engine), Some(session)) = (&self.engine, &self.session) else { return content() };
        let folder = engine.setup().home.folder(session.id());
        match outputs::whole(result, &folder) {
            Some(printed) => Cow::Owned(printed),
            None => content(),
        }
    }

    /// The whole conversation, including thoughts and complete results.
    pub(super) fn whole(&self) -> Vec<Line<'static>> {
        let mut view = Timeline::default();
        let mut lines = Vec::new();
        for entry in self.entries().unwrap_or_default() {
            let mut blocks = view.apply(&Event::Recorded(entry.clone()));
            let result = match &entry.fact {
                Fact::ToolEnded { result, .. } => Some(result),
                _ => None,
            };
            for block in &mut blocks {
                // The whole result follows, so the preview is dropped.
                if let (Item::Call(call), Some(_)) = (&mut *block, result) {
                    call.preview.clear();
                }
                lines.extend(self.painted_in(Room::WHOLE, |painter| painter.block(block)));
            }
            if let Some(thoughts) = thoughts_of(&entry.fact) {
                lines.extend(self.painted(|painter| painter.block(&Item::Thinking(thoughts))));
            }
            if let Some(result) = result {
                let text = self.whole_result(result);
                lines.extend(plain(&safe::text(&text), Span::raw("    "), self.columns, self.look.dim()));
            }
        }
        lines
    }
}

/// The model's thoughts before a reply, safe for a terminal.
fn thoughts_of(fact: &Fact) -> Option<String> {
    let Fact::Replied { parts, .. } = fact else { return None };
    let thoughts = parts.iter().filter_map(|part| match part {
        Part::Thinking { text, .. } => Some(safe::text(text.trim())),
        Part::Text { .. } | Part::Image(_) | Part::Document(_) | Part::ToolCall(_) => None,
    });
    Some(thoughts.collect::<Vec<_>>().join("\n")).filter(|thoughts| !thoughts.is_empty())
}
