//! A list that something is chosen from.
use super::{look::Look, wrap::one_row};
use haft_present::safe;
use nucleo_matcher::{
    Config, Matcher,
    pattern::{CaseMatching, Normalization, Pattern},
};
use ratatui::text::{Line, Span};

/// What can be chosen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Item {
    /// What it stands for.
    pub(super) value: String,
    /// What people read.
    pub(super) label: String,
    /// More about it.
    pub(super) detail: String,
}

impl Item {
    pub(super) fn new(value: impl Into<String>, detail: impl Into<String>) -> Self {
        let value = value.into();
        Self { label: value.clone(), value, detail: detail.into() }
    }
}

fn shown(items: Vec<Item>) -> Vec<Item> {
    let safe = |text: &str| safe::name(text).into_owned();
    let item = |item: Item| Item { label: safe(&item.label), detail: safe(&item.detail), value: item.value };
    items.into_iter().map(item).collect()
}

/// Items, those of them that fit what was typed, and the one that is chosen.
#[derive(Debug, Default)]
pub(super) struct List {
    items: Vec<Item>,
    /// Places in `items`, the best first.
    found: Vec<usize>,
    chosen: usize,
    /// Rows that it takes at most.
    most: usize,
}

/// Rows that a list takes at most beside a conversation.
const ROWS: usize = 8;

impl List {
    /// What people read of the items shows all that it holds.
    pub(super) fn new(items: Vec<Item>) -> Self {
        let found = (0..items.len()).collect();
        Self { items: shown(items), found, chosen: 0, most: ROWS }
    }

    /// As [`Self::new`], and as high as the terminal is.
    pub(super) fn tall(items: Vec<Item>) -> Self {
        Self { most: usize::MAX, ..Self::new(items) }
    }

    /// Leaves what fits `typed`.
    pub(super) fn narrow(&mut self, typed: &str) {
        self.found = if typed.is_empty() { (0..self.items.len()).collect() } else { self.fitting(typed) };
        self.chosen = 0;
    }

    /// Other items; the one that is chosen stays so.
    pub(super) fn replace(&mut self, items: Vec<Item>, typed: &str) {
        let chosen = self.chosen().map(|item| item.value.clone());
        self.items = shown(items);
        self.narrow(typed);
        let place = self.found.iter().position(|place| Some(&self.items[*place].value) == chosen.as_ref());
        self.chosen = place.unwrap_or_default();
    }

    fn fitting(&self, typed: &str) -> Vec<usize> {
        let mut matcher = Matcher::new(Config::DEFAULT.match_paths());
        let pattern = Pattern::parse(typed, CaseMatching::Smart, Normalization::Smart);
        let mut buffer = Vec::new();
        let mut scored: Vec<(u32, usize)> = self
            .items
            .iter()
            .enumerate()
            .filter_map(|(place, item)| {
                let text = nucleo_matcher::Utf32Str::new(&item.label, &mut buffer);
                Some((pattern.score(text, &mut matcher)?, place))
            })
            .collect();
        scored.sort_by_key(|(score, place)| {
            (std::cmp::Reverse(*score), self.items[*place].label.len(), *place)
        });
        scored.into_iter().map(|(_, place)| place).collect()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.found.is_empty()
    }

    pub(super) fn up(&mut self) {
        self.chosen = self.chosen.checked_sub(1).unwrap_or(self.found.len().saturating_sub(1));
    }

    pub(super) fn down(&mut self) {
        self.chosen = if self.chosen + 1 < self.found.len() { self.chosen + 1 } else { 0 };
    }

    pub(super) fn chosen(&self) -> Option<&Item> {
        self.items.get(*self.found.get(self.chosen)?)
    }

    /// The rows around the chosen one.
    pub(super) fn rows(&self, columns: usize, at_most: usize, look: &Look) -> Vec<Line<'static>> {
        let height = self.most.min(at_most.max(1));
        let top = (self.chosen + 1).saturating_sub(height);
        let widest = self
            .found
            .iter()
            .skip(top)
            .take(height)
            .map(|place| Line::raw(&*self.items[*place].label).width());
        let widest = widest.max().unwrap_or_default().min(columns / 2);
        let row = |(place, item): (usize, &usize)| {
            let item = &self.items[*item];
            let is_chosen = place == self.chosen;
            let mark = if is_chosen { Span::styled("❯ ", look.chosen()) } else { Span::raw("  ") };
            let label = Span::styled(item.label.clone(), if is_chosen { look.chosen() } else { look.bold() });
            let gap = widest.saturating_sub(label.width()) + 2;
            let detail = Span::styled(format!("{}{}", " ".repeat(gap), item.detail), look.dim());
            one_row(Line::from_iter([mark, label, detail]), columns)
        };
        let mut rows: Vec<_> = self.found.iter().enumerate().skip(top).take(height).map(row).collect();
        if rows.is_empty() {
            rows.push(Line::styled("  nothing fits", look.dim()));
        }
        let more = self.found.len().saturating_sub(top + height);
        if more > 0 {
            rows.push(Line::styled(format!("  … {more} more"), look.dim()));
        }
        rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_typed_finds_the_nearest() {
        let items = ["src/main.rs", "src/tui/screen.rs", "README.md"].map(|name| Item::new(name, ""));
        let mut list = List::new(items.to_vec());
        for (typed, expected) in [
            ("", Some("src/main.rs")),
            ("scr", Some("src/tui/screen.rs")),
            ("rea", Some("README.md")),
            ("zzz", None),
        ] {
            list.narrow(typed);
            assert_eq!(list.chosen().map(|item| item.value.as_str()), expected, "{typed:?}");
        }
        list.narrow("");
        list.up();
        assert_eq!(list.chosen().map(|item| item.value.as_str()), Some("README.md"));
        list.down();
        assert_eq!(list.chosen().map(|item| item.value.as_str()), Some("src/main.rs"));
    }
}
