//! [`Page`]: a text that fills the screen until the user closes it.
use super::{look::Look, wrap::width};
use crate::bindings::Action;
use haft_core::Seq;
use ratatui::{
    style::{Modifier, Style},
    text::{Line, Span},
};

/// The text of a page, and the position in it.
pub(super) struct Page {
    pub(super) title: String,
    pub(super) lines: Vec<Line<'static>>,
    /// If the page is a diff, the lines at which a file begins, and those at which a hunk begins.
    files: Vec<usize>,
    hunks: Vec<usize>,
    top: usize,
    search: Search,
    /// The background work that the page shows, by the value of its item, and how much of it is shown.
    pub(super) work: Option<(String, Shown)>,
}

/// How much of the background work a page shows; if there is more, the page is updated.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Shown {
    Task { printed: String, running: bool },
    Below(Seq),
}

/// The search on a page.
#[derive(Default)]
enum Search {
    #[default]
    No,
    /// The user types the text; Enter goes to the first match.
    Typed(String),
    /// A search for `text`; `line` has the last match that was visited.
    For { text: String, line: usize },
}

impl Page {
    /// `at_the_end`: show the end first, for text that grows.
    pub(super) fn new(title: impl Into<String>, lines: Vec<Line<'static>>, at_the_end: bool) -> Self {
        let top = if at_the_end { usize::MAX } else { 0 };
        let (files, hunks, search) = (Vec::new(), Vec::new(), Search::No);
        Self { title: title.into(), lines, files, hunks, top, search, work: None }
    }

    /// Sets the lines at which each file and each hunk begins, in order. The first hunk of a file begins at the file's
    /// line.
    pub(super) fn of_diff(self, files: Vec<usize>, hunks: Vec<usize>) -> Self {
        Self { files, hunks, ..self }
    }

    /// Makes this a page of background work.
    pub(super) fn of_work(self, name: String, shown: Shown) -> Self {
        Self { work: Some((name, shown)), ..self }
    }

    /// Whether the text may still grow.
    pub(super) fn grows(&self) -> bool {
        self.work.as_ref().is_some_and(|(_, shown)| !matches!(shown, Shown::Task { running: false, .. }))
    }

    /// Replaces the text. A page at its end stays at the end.
    pub(super) fn grow(&mut self, title: String, lines: Vec<Line<'static>>, rows: usize) {
        let is_at_end = self.top >= self.last_top(rows);
        (self.title, self.lines) = (title, lines);
        if is_at_end {
            self.top = usize::MAX;
        }
        if let Search::For { line, .. } = &mut self.search {
            *line = (*line).min(self.lines.len().saturating_sub(1));
        }
    }

    /// Whether the search text is being typed.
    pub(super) fn is_typed(&self) -> bool {
        matches!(self.search, Search::Typed(_))
    }

    /// The search text, while it is being typed.
    pub(super) fn searched(&mut self) -> Option<&mut String> {
        match &mut self.search {
            Search::Typed(text) => Some(text),
            _ => None,
        }
    }

    /// Scrolls or searches; ignores other actions.
    pub(super) fn act(&mut self, action: Action, rows: usize) {
        let page = rows.saturating_sub(2).max(1);
        let top = self.top.min(self.last_top(rows));
        let next = |places: &[usize]| places.iter().copied().find(|line| *line > top).unwrap_or(top);
        let previous = |places: &[usize]| places.iter().copied().rfind(|line| *line < top).unwrap_or(0);
        self.top = match action {
            Action::Up => top.saturating_sub(1),
            Action::Down => top + 1,
            Action::HalfPageUp => top.saturating_sub(page / 2),
            Action::HalfPageDown => top + page / 2,
            Action::PageUp => top.saturating_sub(page),
            Action::PageDown => top + page,
            Action::Top => 0,
            Action::Bottom => usize::MAX,
            Action::NextFile => next(&self.files),
            Action::PreviousFile => previous(&self.files),
            Action::NextHunk => next(&self.hunks),
            Action::PreviousHunk => previous(&self.hunks),
            _ => top,
        };
        match (action, std::mem::take(&mut self.search)) {
            (Action::Search, _) => self.search = Search::Typed(String::new()),
            (Action::DropLine, _) => {}
            (Action::TakeLine, Search::Typed(text)) if !text.is_empty() => {
                self.search = Search::For { text, line: top };
                self.go_to(self.match_from(top), rows);
            }
            (Action::TakeLine, _) => {}
            (_, search) => self.search = search,
        }
        match (action, &self.search) {
            (Action::NextMatch, Search::For { line, .. }) => self.go_to(self.match_from(line + 1), rows),
            (Action::PreviousMatch, Search::For { line, .. }) => self.go_to(self.match_before(*line), rows),
            _ => {}
        }
    }

    /// Scrolls to a match.
    fn go_to(&mut self, found: Option<usize>, rows: usize) {
        let (Some(found), Search::For { line, .. }) = (found, &mut self.search) else { return };
        *line = found;
        let top = self.top.min(self.last_top(rows));
        let is_seen = (top..top + rows.saturating_sub(2)).contains(&found);
        self.top = if is_seen { top } else { found };
    }

    fn last_top(&self, rows: usize) -> usize {
        self.lines.len().saturating_sub(rows.saturating_sub(2))
    }

    /// The first matching line from `from` on, otherwise the first one of the page.
    fn match_from(&self, from: usize) -> Option<usize> {
        let all = || (0..self.lines.len()).filter(|line| !self.matches(*line).is_empty());
        all().find(|line| *line >= from).or_else(|| all().next())
    }

    /// The last matching line before `from`, otherwise the last one of the page.
    fn match_before(&self, from: usize) -> Option<usize> {
        let all = || (0..self.lines.len()).filter(|line| !self.matches(*line).is_empty());
        all().rfind(|line| *line < from).or_else(|| all().next_back())
    }

    /// The matches in a line, each with its start and length in characters. A text in lower case matches upper case,
    /// too.
    fn matches(&self, line: usize) -> Vec<(usize, usize)> {
        let Search::For { text, .. } = &self.search else { return Vec::new() };
        let is_exact = text.chars().any(char::is_uppercase);
        let fold = |c: char| if is_exact { c } else { c.to_lowercase().next().unwrap_or(c) };
        let text: Vec<char> = text.chars().map(fold).collect();
        let spans = self.lines[line].spans.iter();
        let line: Vec<char> = spans.flat_map(|span| span.content.chars()).map(fold).collect();
        let found = line.windows(text.len()).enumerate().filter(|(_, window)| *window == text);
        found.map(|(start, _)| (start, text.len())).collect()
    }

    /// A line, with its matches reversed.
    fn line(&self, number: usize) -> Line<'static> {
        let (line, matches) = (&self.lines[number], self.matches(number));
        if matches.is_empty() {
            return line.clone();
        }
        let is_match =
            |at: usize| matches.iter().any(|(start, length)| (*start..start + length).contains(&at));
        let letters = line.spans.iter().flat_map(|span| span.content.chars().map(|c| (c, span.style)));
        let mut spans: Vec<(String, Style)> = Vec::new();
        for (at, (c, style)) in letters.enumerate() {
            let style = if is_match(at) { style.add_modifier(Modifier::REVERSED) } else { style };
            match spans.last_mut() {
                Some((text, before)) if *before == style => text.push(c),
                _ => spans.push((c.to_string(), style)),
            }
        }
        let spans: Vec<_> = spans.into_iter().map(|(text, style)| Span::styled(text, style)).collect();
        Line { spans, ..line.clone() }
    }

    /// The rows of the screen.
    pub(super) fn rows(&self, (columns, rows): (usize, usize), look: &Look) -> Vec<Line<'static>> {
        let height = rows.saturating_sub(2);
        let top = self.top.min(self.last_top(rows));
        let end = (top + height).min(self.lines.len());
        let mut all = vec![Line::styled(self.title.clone(), look.bold())];
        all.extend((top..end).map(|number| self.line(number)));
        all.resize(rows.saturating_sub(1).max(1), Line::default());
        let place = format!("{}–{end} of {}", (top + 1).min(end), self.lines.len());
        all.push(match &self.search {
            Search::Typed(text) => Line::from(format!("/{text}▏")),
            _ => Line::from(Span::styled(self.foot(&place, columns), look.dim())),
        });
        all
    }

    /// The last row. It shows how to close the page on a narrow terminal, too.
    fn foot(&self, place: &str, columns: usize) -> String {
        let keys = match &self.search {
            Search::For { text, .. } if self.match_from(0).is_none() => {
                format!("no line has `{text}` · / to search")
            }
            Search::For { .. } => "n N for the next and previous match".to_owned(),
            _ if self.hunks.len() > 1 => {
                let files = if self.files.len() > 1 { "] [ for files" } else { "↑ ↓ to scroll" };
                format!("{files} · }} {{ for hunks · / to search")
            }
            _ => "↑ ↓ PgUp PgDn to scroll · / to search".to_owned(),
        };
        let feet = [format!("  {keys} · Esc or q to close"), "  Esc or q to close".to_owned(), String::new()];
        let mut feet = feet.into_iter().map(|keys| format!("{place}{keys}"));
        feet.find(|foot| width(foot) <= columns).unwrap_or_default()
    }
}
