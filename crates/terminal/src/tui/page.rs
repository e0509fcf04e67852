//! [`Page`]: a text that fills the screen until the person has read it.
use super::{look::Look, wrap::width};
use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
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

    /// Whether it goes on being shown.
    pub(super) fn key(&mut self, key: KeyEvent, rows: usize) -> bool {
        let page = rows.saturating_sub(2).max(1);
        let ctrl = key.modifiers.contains(KeyModifiers::CONTROL);
        self.top = self.top.min(self.last_top(rows));
        self.top = match key.code {
            KeyCode::Char('q') | KeyCode::Esc => return false,
            KeyCode::Char('c' | 'o' | 't') if ctrl => return false,
            KeyCode::Char('d') if ctrl => self.top + page / 2,
            KeyCode::Char('u') if ctrl => self.top.saturating_sub(page / 2),
            KeyCode::Up | KeyCode::Char('k') => self.top.saturating_sub(1),
            KeyCode::Down | KeyCode::Char('j') | KeyCode::Enter => self.top + 1,
            KeyCode::PageUp | KeyCode::Char('b') => self.top.saturating_sub(page),
            KeyCode::PageDown | KeyCode::Char(' ' | 'f') => self.top + page,
            KeyCode::Home | KeyCode::Char('g') => 0,
            KeyCode::End | KeyCode::Char('G') => usize::MAX,
            _ => self.top,
        };
        true
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
        let feet =
            ["  ↑↓ PgUp PgDn  Esc or q leaves", "  Esc or q leaves", ""].map(|keys| format!("{place}{keys}"));
        let foot = feet.into_iter().find(|foot| width(foot) <= columns).unwrap_or_default();
        all.push(Line::from(Span::styled(foot, look.dim())));
        all
    }
}
