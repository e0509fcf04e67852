//! Blocks of a session as lines of the screen.
use super::{
    look::Look,
    markdown::{self, plain},
    wrap::{Break, hanging, one_row, width},
};
use haft_core::{Change, Direction, Outcome, Usage};
use haft_present::{
    diff, notes, safe,
    view::{Block, Call, CallState},
};
use ratatui::{
    style::Style,
    text::{Line, Span},
};
use std::time::Duration;

/// Draws blocks; asks `diff_of` for what changes did to files.
pub(super) struct Painter<'a> {
    pub(super) columns: usize,
    pub(super) look: Look,
    pub(super) diff_of: &'a dyn Fn(&[Change]) -> String,
    /// However long a diff is.
    pub(super) is_whole: bool,
}

/// Lines of a diff that stand in the conversation.
const DIFF_LINES: usize = 16;

impl Painter<'_> {
    /// A block with the blank line in front of it, where it is not a part of the one before.
    pub(super) fn block(&self, block: &Block) -> Vec<Line<'static>> {
        let lines = self.lines(block);
        let is_close = matches!(block, Block::Reply(piece) if piece.continues);
        let gap = (!is_close && !lines.is_empty()).then(Line::default);
        gap.into_iter().chain(lines).collect()
    }

    fn lines(&self, block: &Block) -> Vec<Line<'static>> {
        let look = &self.look;
        match block {
            Block::Prompt { text, images, from } => self.prompt(text, *images, from.as_deref()),
            Block::Thinking(text) => plain(text, Span::raw("  "), self.columns, look.dim()),
            Block::Reply(piece) => markdown::lines(&piece.markdown, self.columns, look),
            Block::Call(call) => self.call(call),
            Block::Note(text) => plain(text, Span::styled("· ", look.dim()), self.columns, look.dim()),
            Block::Failure { message, hint } => self.failure(message, hint.as_deref()),
            Block::Rewound { way, files } => self.rewound(*way, files),
            Block::Ended { outcome, rounds, usage, cost_usd, took } => {
                self.ended(*outcome, *rounds, *usage, *cost_usd, *took)
            }
        }
    }

    fn prompt(&self, text: &str, images: usize, from: Option<&str>) -> Vec<Line<'static>> {
        let mut lines = plain(text, Span::styled("> ", self.look.accent()), self.columns, self.look.bold());
        let pictures =
            (images > 0).then(|| format!("with {images} picture{}", if images == 1 { "" } else { "s" }));
        let from = from.map(|from| format!("from {from}"));
        for note in pictures.into_iter().chain(from) {
            lines.push(Line::styled(format!("  ({note})"), self.look.dim()));
        }
        lines
    }

    /// A call that is over, or how far it is.
    pub(super) fn call(&self, call: &Call) -> Vec<Line<'static>> {
        let look = &self.look;
        let (sign, style) = match call.state {
            CallState::Waiting => ("○ ", look.dim()),
            CallState::Running => ("● ", look.warn()),
            CallState::Done => ("✓ ", look.good()),
            CallState::Failed => ("✗ ", look.bad()),
        };
        let mut head = vec![Span::styled(sign, style), Span::styled(call.name.clone(), look.bold())];
        head.push(Span::raw(format!(" {}", call.summary)));
        if call.took >= Duration::from_secs(2) {
            head.push(Span::styled(format!("  {}", seconds(call.took)), look.dim()));
        }
        let mut lines = vec![one_row(Line::from(head), self.columns)];
        lines.extend(self.diff(&call.changes));
        let style = if call.state == CallState::Failed { look.bad() } else { look.dim() };
        // What a diff shows needs no words.
        let is_all_shown = !call.changes.is_empty() && !call.is_delegated && call.state == CallState::Done;
        let preview = call.preview.iter().filter(|_| !is_all_shown).map(String::as_str);
        let shown: Vec<&str> =
            if call.state == CallState::Running { call.tail().collect() } else { preview.collect() };
        for line in shown {
            lines.push(one_row(
                Line::from_iter([Span::raw("  "), Span::styled(line.to_owned(), style)]),
                self.columns,
            ));
        }
        lines
    }

    /// What `changes` did, in so many lines as have room in a conversation.
    fn diff(&self, changes: &[Change]) -> Vec<Line<'static>> {
        if changes.is_empty() {
            return Vec::new();
        }
        let mut lines = self.whole_diff(changes);
        let more = lines.len().saturating_sub(DIFF_LINES);
        if more > 0 && !self.is_whole {
            lines.truncate(DIFF_LINES);
            lines.push(Line::styled(format!("  … {more} more lines (Ctrl+O shows all)"), self.look.dim()));
        }
        lines
    }

    /// A diff in colors.
    pub(super) fn whole_diff(&self, changes: &[Change]) -> Vec<Line<'static>> {
        let text = (self.diff_of)(changes);
        let all: Vec<&str> = text.lines().collect();
        let lines = (0..all.len()).flat_map(|place| self.diff_line(&all, place));
        let names = changes.iter().filter(|_| text.is_empty());
        let names = names.map(|change| {
            let path = safe::visible_line(&change.path.to_string_lossy());
            Line::raw(format!("  {} {path}", diff::sign(change.kind())))
        });
        lines.chain(names).collect()
    }

    /// Of the two lines with a file's name one is enough.
    fn diff_line(&self, all: &[&str], place: usize) -> Vec<Line<'static>> {
        let look = &self.look;
        let line = all[place];
        if is_file_name(all, place) {
            return Vec::new();
        }
        if place > 0 && is_file_name(all, place - 1) {
            let name = line.strip_prefix("+++ b/").unwrap_or(line);
            return self.hanging_line(name, look.bold());
        }
        let style = match line.as_bytes() {
            [b'+', ..] => look.good(),
            [b'-', ..] => look.bad(),
            [b'@', b'@', ..] => look.accent(),
            _ => look.dim(),
        };
        self.hanging_line(line, style)
    }

    fn hanging_line(&self, line: &str, style: Style) -> Vec<Line<'static>> {
        hanging(Span::raw("  "), &[Span::styled(line.to_owned(), style)], self.columns, Break::Anywhere)
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

    fn rewound(&self, way: Direction, files: &[String]) -> Vec<Line<'static>> {
        let head = match (way, files.is_empty()) {
            (Direction::Undo, false) => "went back; put back:",
            (Direction::Undo, true) => "went back; no file was changed by a call that was tracked",
            (Direction::Redo, _) => "went forward again:",
        };
        let files = files.iter().map(|file| one_row(Line::raw(format!("  {file}")), self.columns));
        std::iter::once(Line::styled(head, self.look.accent())).chain(files).collect()
    }

    fn ended(
        &self,
        outcome: Outcome,
        rounds: u32,
        usage: Usage,
        cost: Option<f64>,
        took: Duration,
    ) -> Vec<Line<'static>> {
        let why = notes::of_outcome(outcome).map(str::to_owned);
        let rounds = (rounds > 1).then(|| format!("{rounds} rounds"));
        let all = usage.total();
        let tokens = (all > 0).then(|| format!("{} tokens", tokens(all)));
        let cost = cost.filter(|cost| *cost > 0.0).map(dollars);
        let facts: Vec<String> =
            why.into_iter().chain([seconds(took)]).chain(rounds).chain(tokens).chain(cost).collect();
        vec![one_row(Line::styled(format!("─ {}", facts.join(" · ")), self.look.dim()), self.columns)]
    }
}

/// Whether a line is the first of the two that name a file. A line that was removed may look the same, but what follows
/// two changed lines at the end of a hunk is no other hunk.
fn is_file_name(all: &[&str], place: usize) -> bool {
    let begins = |place: usize, sign: &str| all.get(place).is_some_and(|line| line.starts_with(sign));
    begins(place, "--- ") && begins(place + 1, "+++ ") && begins(place + 2, "@@ ")
}

/// `3.2 s`, `4 min 5 s`.
pub(super) fn seconds(time: Duration) -> String {
    match time.as_secs() {
        0..60 => format!("{:.1} s", time.as_secs_f64()),
        whole => format!("{} min {} s", whole / 60, whole % 60),
    }
}

/// `950`, `12.3k`, `1.2M`.
pub(super) fn tokens(count: u64) -> String {
    match count {
        0..1_000 => count.to_string(),
        1_000..1_000_000 => format!("{:.1}k", count as f64 / 1e3),
        _ => format!("{:.1}M", count as f64 / 1e6),
    }
}

/// US dollars, with the digits that matter.
pub(super) fn dollars(cost: f64) -> String {
    if cost < 0.1 { format!("${cost:.4}") } else { format!("${cost:.2}") }
}

/// A row with something at its left and something at its right.
pub(super) fn two_ends(left: Vec<Span<'static>>, right: Vec<Span<'static>>, columns: usize) -> Line<'static> {
    let used: usize = left.iter().chain(&right).map(|span| width(&span.content)).sum();
    if used + 1 > columns {
        return one_row(Line::from(left), columns);
    }
    let gap = Span::raw(" ".repeat(columns - used));
    Line::from_iter(left.into_iter().chain([gap]).chain(right))
}
