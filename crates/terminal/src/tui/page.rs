//! [`Page`]: a text that fills the screen until the person has read it.
use super::{look::Look, wrap::width};
use crate::bindings::Action;
use ratatui::text::{Line, Span};

/// What is read, and where.
pub(super) struct Page {
    pub(super) title: String,
    pub(super) lines: Vec<Line<'static>>,
    top: usize,
}

impl Page {
    /// `at_the_end` for what grows.
    pub(super) fn new(title: impl Into<String>, lines: Vec<Line<'static>>, at_the_end: bool) -> Self {
        let top = if at_the_end { usize::MAX } else { 0 };
        Self { title: title.into(), lines, top }
    }

    /// Moves what is seen; an action that does not scroll does nothing.
    pub(super) fn scroll(&mut self, action: Action, rows: usize) {
        let page = rows.saturating_sub(2).max(1);
        let top = self.top.min(self.last_top(rows));
        self.top = match action {
            Action::Up => top.saturating_sub(1),
            Action::Down => top + 1,
            Action::HalfPageUp => top.saturating_sub(page / 2),
            Action::HalfPageDown => top + page / 2,
            Action::PageUp => top.saturating_sub(page),
            Action::PageDown => top + page,
            Action::Top => 0,
            Action::Bottom => usize::MAX,
            _ => top,
        };
    }

    fn last_top(&self, rows: usize) -> usize {
        self.lines.len().saturating_sub(rows.saturating_sub(2))
    }

    /// The rows of the screen.
    pub(super) fn rows(&self, (columns, rows): (usize, usize), look: &Look) -> Vec<Line<'static>> {
        let height = rows.saturating_sub(2);
        let top = self.top.min(self.last_top(rows));
        let shown = self.lines.iter().skip(top).take(height).cloned();
        let mut all = vec![Line::styled(self.title.clone(), look.bold())];
        all.extend(shown);
        all.resize(rows.saturating_sub(1).max(1), Line::default());
        let end = (top + height).min(self.lines.len());
        let place = format!("{}–{end} of {}", (top + 1).min(end), self.lines.len());
        // How it is left is seen on a narrow terminal, too.
        let feet = ["  ↑ ↓ PgUp PgDn to scroll · Esc or q to close", "  Esc or q to close", ""]
            .map(|keys| format!("{place}{keys}"));
        let foot = feet.into_iter().find(|foot| width(foot) <= columns).unwrap_or_default();
        all.push(Line::from(Span::styled(foot, look.dim())));
        all
    }
}
