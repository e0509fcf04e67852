//! [`Painter`]: draws items of a session as lines of the screen.
use super::{
    look::Look,
    markdown::{self, plain},
    wrap::{hanging, one_row, width},
};
use crate::{
    bars::tokens,
    paint::diff::{self, DiffPainter, Room},
};
use haft_core::{Change, Direction, Outcome, Plan, PlanStep, StepStatus, Usage, dollars};
use haft_present::{
    file_diff::FileDiff,
    notes,
    outcome::step_line,
    timeline::{Aside, Call, CallState, Item},
};
use ratatui::{
    style::Style,
    text::{Line, Span},
};
use std::time::Duration;

/// Whether an item is drawn on its own lines.
pub(super) fn is_drawn(item: &Item) -> bool {
    match item {
        Item::Aside { about, .. } => *about == Aside::Room,
        Item::Retrying { was_begun, .. } => *was_begun,
        Item::Changed { is_known, .. } => !is_known,
        Item::Text { .. } | Item::Thought { .. } | Item::Replied { .. } | Item::Announced { .. } => false,
        Item::Started { .. } | Item::Output { .. } | Item::Asked { .. } => false,
        Item::Prompt { .. } | Item::Thinking(_) | Item::Reply(_) | Item::Call(_) | Item::Note(_) => true,
        Item::Denied { .. } | Item::Failure { .. } | Item::Rewound { .. } | Item::Ended { .. } => true,
    }
}

/// Draws items; asks `files_of` for the diffs of changes.
pub(super) struct Painter<'a> {
    pub(super) columns: usize,
    pub(super) look: Look,
    pub(super) files_of: &'a dyn Fn(&[Change]) -> Vec<FileDiff>,
    /// The maximum size of each diff.
    pub(super) room: Room,
}

impl Painter<'_> {
    /// An item with a blank line in front of it, unless it belongs to the previous one.
    pub(super) fn block(&self, block: &Item) -> Vec<Line<'static>> {
        let lines = self.lines(block);
        let is_close = matches!(block, Item::Reply(piece) if piece.continues);
        let gap = (!is_close && !lines.is_empty()).then(Line::default);
        gap.into_iter().chain(lines).collect()
    }

    fn lines(&self, block: &Item) -> Vec<Line<'static>> {
        let look = &self.look;
        match block {
            Item::Prompt { text, images, from } => self.prompt(text, images.len(), from.as_deref()),
            Item::Thinking(text) => plain(text, Span::raw("  "), self.columns, look.dim()),
            Item::Reply(piece) => markdown::lines(&piece.markdown, self.columns, look),
            Item::Call(call) => self.call(call),
            Item::Note(text) | Item::Aside { about: Aside::Room, text } => self.note(text),
            Item::Retrying { reason, was_begun: true, .. } => {
                self.note(&format!("{reason}; restarting the reply"))
            }
            Item::Changed { changes, is_known: false, .. } => {
                let notes: Vec<_> = changes.iter().map(|change| self.note(&notes::changed(change))).collect();
                notes.join(&Line::default())
            }
            Item::Denied { reason } => self.failure(&notes::denied(reason), None),
            Item::Failure { message, hint } => self.failure(message, hint.as_deref()),
            Item::Rewound { way, prompt, files } => self.rewound(*way, prompt.as_deref(), files),
            Item::Ended { outcome, rounds, usage, cost_usd, took } => {
                self.ended(*outcome, *rounds, *usage, *cost_usd, *took)
            }
            // These are shown in the status line and in the live lines.
            Item::Aside { about: Aside::Mode(_) | Aside::Task | Aside::Unsettled(_), .. }
            | Item::Changed { is_known: true, .. }
            | Item::Retrying { was_begun: false, .. }
            | Item::Text { .. }
            | Item::Thought { .. }
            | Item::Replied { .. }
            | Item::Announced { .. }
            | Item::Started { .. }
            | Item::Output { .. }
            | Item::Asked { .. } => Vec::new(),
        }
    }

    fn note(&self, text: &str) -> Vec<Line<'static>> {
        plain(text, Span::styled("· ", self.look.dim()), self.columns, self.look.dim())
    }

    fn prompt(&self, text: &str, images: usize, from: Option<&str>) -> Vec<Line<'static>> {
        let (text, left_out) = if self.room.is_whole() { (text, 0) } else { beginning(text) };
        let mut lines = plain(text, Span::styled("> ", self.look.accent()), self.columns, self.look.bold());
        let more = (left_out > 0).then(|| {
            let s = if left_out == 1 { "" } else { "s" };
            Line::styled(format!("  … {left_out} more line{s} (Ctrl+O shows all)"), self.look.dim())
        });
        lines.extend(more);
        let pictures =
            (images > 0).then(|| format!("with {images} picture{}", if images == 1 { "" } else { "s" }));
        let from = from.map(|from| format!("from {from}"));
        for note in pictures.into_iter().chain(from) {
            lines.push(Line::styled(format!("  ({note})"), self.look.dim()));
        }
        lines
    }

    /// A call that has ended, or the progress of a running one.
    pub(super) fn call(&self, call: &Call) -> Vec<Line<'static>> {
        let look = &self.look;
        let (sign, style) = match call.state {
            CallState::Waiting => ("○ ", look.dim()),
            CallState::Running => ("● ", look.warn()),
            CallState::Done => ("✓ ", look.good()),
            CallState::Failed => ("✗ ", look.bad()),
        };
        let sign = Span::styled(sign, style);
        let (changed, refused) = ((self.files_of)(&call.changes), (self.files_of)(&call.refused));
        let is_done = call.state == CallState::Done;
        let says_all = !call.is_delegated && !call.is_command;
        let mut lines = match (&changed[..], &refused[..]) {
            ([file], []) | ([], [file]) if says_all && (is_done || call.summary.ends_with(&file.path)) => {
                self.changed(sign, call, file)
            }
            _ => {
                let mut lines = vec![self.head(sign, call)];
                lines.extend(self.diffs().files(&changed, self.room));
                lines.extend(self.refused(&refused));
                lines
            }
        };
        // The content of the diff is not repeated in words.
        let is_all_shown = !call.changes.is_empty() && says_all && is_done;
        let is_refused = !call.refused.is_empty() && call.state == CallState::Failed;
        if !is_all_shown && !is_refused {
            lines.extend(self.told(call));
        }
        lines
    }

    fn head(&self, sign: Span<'static>, call: &Call) -> Line<'static> {
        let name = Span::styled(call.name.clone(), self.look.bold());
        let summary = Span::raw(format!(" {}", call.summary));
        let verdict = call.verdict.as_ref().map(|text| Span::styled(format!("  {text}"), self.look.bad()));
        // The failure and the duration are shown whatever the length of the call.
        let end: Vec<Span<'static>> = verdict.into_iter().chain(self.took(call)).collect();
        let room = self.columns.saturating_sub(end.iter().map(Span::width).sum());
        let mut head = one_row([sign, name, summary].into_iter().collect(), room);
        head.spans.extend(end);
        one_row(head, self.columns)
    }

    /// The steps of a plan, with boxes: done, running, pending.
    fn steps(&self, plan: &Plan) -> Vec<Line<'static>> {
        let line = |step: &PlanStep| {
            let style = match step.status {
                StepStatus::Done => self.look.dim(),
                StepStatus::InProgress => self.look.chosen(),
                StepStatus::Pending => Style::new(),
            };
            hanging(Span::raw("  "), &[Span::styled(step_line(step), style)], self.columns)
        };
        plan.items.iter().flat_map(line).collect()
    }

    fn took(&self, call: &Call) -> Option<Span<'static>> {
        (call.took >= Duration::from_secs(2))
            .then(|| Span::styled(format!("  {}", seconds(call.took)), self.look.dim()))
    }

    /// A call that made one change to one file, or was refused it.
    fn changed(&self, sign: Span<'static>, call: &Call, file: &FileDiff) -> Vec<Line<'static>> {
        let refused = (!call.refused.is_empty()).then(|| Span::styled("  refused", self.look.bad()));
        let head = std::iter::once(sign).chain(diff::head(file, &self.look));
        let head = one_row(head.chain(refused).chain(self.took(call)).collect(), self.columns);
        let body = self.diffs().bodies(std::slice::from_ref(file), self.room);
        std::iter::once(head).chain(body).collect()
    }

    /// The diff of refused changes, so that the user can still read them.
    fn refused(&self, files: &[FileDiff]) -> Vec<Line<'static>> {
        let head = (!files.is_empty()).then(|| Line::styled("  refused:", self.look.bad()));
        head.into_iter().chain(self.diffs().files(files, self.room)).collect()
    }

    /// The output of the call so far.
    fn told(&self, call: &Call) -> Vec<Line<'static>> {
        if let Some(plan) = &call.plan {
            return self.steps(plan);
        }
        let is_error = call.state == CallState::Failed && call.verdict.is_none();
        let style = match (is_error, call.is_own) {
            (true, _) => self.look.bad(),
            (false, true) => Style::new(),
            (false, false) => self.look.dim(),
        };
        let shown: Vec<&str> = match call.state {
            CallState::Running => call.tail().collect(),
            _ => call.preview.iter().map(String::as_str).collect(),
        };
        let line = |line: &str| {
            let line = Span::styled(line.to_owned(), style);
            match call.is_own {
                true => hanging(Span::raw("  "), &[line], self.columns),
                false => vec![one_row(Line::from_iter([Span::raw("  "), line]), self.columns)],
            }
        };
        shown.into_iter().flat_map(line).collect()
    }

    /// A painter of diffs.
    pub(super) fn diffs(&self) -> DiffPainter<'_> {
        DiffPainter { columns: self.columns, look: &self.look, how: Some("Ctrl+O shows all") }
    }

    fn failure(&self, message: &str, hint: Option<&str>) -> Vec<Line<'static>> {
        let mut lines =
            plain(message, Span::styled("error: ", self.look.bad()), self.columns, self.look.bad());
        lines.extend(
            hint.map(|hint| {
                plain(hint, Span::styled("hint: ", self.look.warn()), self.columns, self.look.dim())
            })
            .into_iter()
            .flatten(),
        );
        lines
    }

    fn rewound(&self, way: Direction, prompt: Option<&str>, files: &[String]) -> Vec<Line<'static>> {
        let went = match (way, prompt) {
            (Direction::Undo, None) => "went back".to_owned(),
            (Direction::Undo, Some(prompt)) => format!("went back to before `{prompt}`"),
            (Direction::Redo, None) => "went forward again".to_owned(),
            (Direction::Redo, Some(prompt)) => format!("went forward again to `{prompt}`"),
        };
        let head = match files.is_empty() {
            false => format!("{went}, with these files:"),
            true => format!("{went}; no files to restore"),
        };
        let head = plain(&head, Span::raw(""), self.columns, self.look.accent());
        let files = files.iter().flat_map(|file| plain(file, Span::raw("  "), self.columns, Style::new()));
        head.into_iter().chain(files).collect()
    }

    fn ended(
        &self,
        outcome: Outcome,
        rounds: u32,
        usage: Usage,
        cost: Option<f64>,
        took: Duration,
    ) -> Vec<Line<'static>> {
        let why = notes::of_outcome(outcome);
        let rounds = (rounds > 1).then(|| format!("{rounds} rounds"));
        let all = usage.total();
        let tokens = (all > 0).then(|| format!("{} tokens", tokens(all)));
        let cost = cost.filter(|cost| *cost > 0.0).map(dollars);
        let facts: Vec<String> =
            why.into_iter().chain([seconds(took)]).chain(rounds).chain(tokens).chain(cost).collect();
        vec![one_row(Line::styled(format!("─ {}", facts.join(" · ")), self.look.dim()), self.columns)]
    }
}

/// Maximum lines of a prompt that was not typed here, and how many lines of a longer one are shown.
const LONG_PROMPT_LINES: (usize, usize) = (20, 5);

/// The part of a prompt that is shown, and the number of further lines.
fn beginning(text: &str) -> (&str, usize) {
    let lines = text.lines().count();
    let (most, shown) = LONG_PROMPT_LINES;
    match text.match_indices('\n').nth(shown - 1) {
        Some((end, _)) if lines > most => (&text[..end], lines - shown),
        _ => (text, 0),
    }
}

/// Formats a duration: `3.2 s`, `4 min 5 s`.
pub(super) fn seconds(time: Duration) -> String {
    match time.as_secs() {
        0..60 => format!("{:.1} s", time.as_secs_f64()),
        whole => format!("{} min {} s", whole / 60, whole % 60),
    }
}

/// A row with left-aligned and right-aligned text.
pub(super) fn two_ends(left: Vec<Span<'static>>, right: Vec<Span<'static>>, columns: usize) -> Line<'static> {
    let used: usize = left.iter().chain(&right).map(|span| width(&span.content)).sum();
    if used + 1 > columns {
        return one_row(Line::from(left), columns);
    }
    let gap = Span::raw(" ".repeat(columns - used));
    Line::from_iter(left.into_iter().chain([gap]).chain(right))
}
