//! [`List`]: a list to choose from.
use super::{look::Look, wrap::one_row};
use haft_present::{matching::fitting, safe};
use ratatui::text::{Line, Span};

/// A row with the numbers of hidden items above and below, if a list of `count` shows `height` rows from `top` on.
pub(super) fn unseen(top: usize, count: usize, height: usize, look: &Look) -> Option<Line<'static>> {
    let below = count.saturating_sub(top + height);
    let text = match (top, below) {
        (0, 0) => return None,
        (0, below) => format!("  … {below} more"),
        (above, 0) => format!("  … {above} more above"),
        (above, below) => format!("  … {above} more above, {below} below"),
    };
    Some(Line::styled(text, look.dim()))
}

/// An item of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Item {
    /// The value that is chosen.
    pub(super) value: String,
    /// The text for the user.
    pub(super) label: String,
    /// Details for the user.
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

/// Items, those that match the typed text, and the selected one.
#[derive(Debug, Default)]
pub(super) struct List {
    items: Vec<Item>,
    /// Indices in `items`, best match first.
    found: Vec<usize>,
    chosen: usize,
    /// The value that is currently in effect, if there is one.
    current: Option<String>,
    /// Maximum rows.
    most: usize,
    /// Whether the search includes the details.
    is_searched_whole: bool,
}

/// Mark of the selected item.
const MARK: &str = "❯ ";
/// Columns between an item and its details.
const GAP: usize = 2;
/// Maximum rows of a list beside a conversation.
const MAX_ROWS: usize = 8;

impl List {
    /// A list of `items`, with control characters in labels and details made visible.
    pub(super) fn new(items: Vec<Item>) -> Self {
        let found = (0..items.len()).collect();
        Self {
            items: shown(items),
            found,
            chosen: 0,
            current: None,
            most: MAX_ROWS,
            is_searched_whole: false,
        }
    }

    /// Like [`Self::new`], with the current item marked and selected.
    pub(super) fn with_current(items: Vec<Item>, current: Option<String>) -> Self {
        let mut list = Self { current, ..Self::new(items) };
        list.chosen = list.place_of(list.current.as_deref());
        list
    }

    fn place_of(&self, value: Option<&str>) -> usize {
        let is_it = |place: &usize| Some(self.items[*place].value.as_str()) == value;
        self.found.iter().position(is_it).unwrap_or_default()
    }

    /// Whether the selected item is the current one.
    pub(super) fn is_at_current(&self) -> bool {
        self.current.is_some() && self.chosen().map(|item| &item.value) == self.current.as_ref()
    }

    /// Like [`Self::new`], as high as the terminal.
    pub(super) fn tall(items: Vec<Item>) -> Self {
        Self { most: usize::MAX, ..Self::new(items) }
    }

    /// Includes the details in the search.
    pub(super) fn searched_whole(self) -> Self {
        Self { is_searched_whole: true, ..self }
    }

    /// Shows only the items that match `typed`.
    pub(super) fn narrow(&mut self, typed: &str) {
        self.found = if typed.is_empty() { (0..self.items.len()).collect() } else { self.fitting(typed) };
        self.chosen = if typed.is_empty() { self.place_of(self.current.as_deref()) } else { 0 };
    }

    /// Like [`Self::narrow`] for names of commands: an exact match comes first, then names with this prefix, in the
    /// order of the list.
    pub(super) fn narrow_names(&mut self, typed: &str) {
        self.narrow(typed);
        let rank = |place: &usize| match self.items[*place].label.trim_start_matches('/') {
            name if name == typed => (0, 0),
            name if name.starts_with(typed) => (1, *place),
            _ => (2, 0),
        };
        self.found.sort_by_key(rank);
    }

    /// Replaces the items; the same value stays selected.
    pub(super) fn replace(&mut self, items: Vec<Item>, typed: &str) {
        let chosen = self.chosen().map(|item| item.value.clone());
        self.items = shown(items);
        self.narrow(typed);
        self.chosen = self.place_of(chosen.as_deref());
    }

    /// The items whose label matches, then, if details are searched, those that contain every word anywhere.
    fn fitting(&self, typed: &str) -> Vec<usize> {
        let mut found = fitting(self.items.iter().map(|item| item.label.clone()), typed);
        let typed = typed.to_lowercase();
        let has_words = |item: &Item| {
            let text = format!("{} {}", item.label, item.detail).to_lowercase();
            typed.split_whitespace().all(|word| text.contains(word))
        };
        let all = self.items.iter().enumerate().filter(|_| self.is_searched_whole);
        let others: Vec<usize> = all.filter(|(_, item)| has_words(item)).map(|(place, _)| place).collect();
        found.extend(others.into_iter().filter(|place| !found.contains(place)).collect::<Vec<_>>());
        found
    }

    /// Whether there is more than one item.
    pub(super) fn is_choice(&self) -> bool {
        self.items.len() > 1
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

    /// The details of the selected item, if they do not fit in its row.
    pub(super) fn cut_detail(&self, columns: usize) -> Option<&str> {
        let widths = self.found.iter().map(|place| Line::raw(&*self.items[*place].label).width());
        let label = widths.max().unwrap_or_default().min(columns / 2);
        let detail = &self.chosen()?.detail;
        let row = MARK.chars().count() + label + GAP + Line::raw(&**detail).width();
        (row > columns).then_some(detail)
    }

    /// The rows around the selected item.
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
            let mark = if is_chosen { Span::styled(MARK, look.chosen()) } else { Span::raw("  ") };
            let label = Span::styled(item.label.clone(), if is_chosen { look.chosen() } else { look.bold() });
            let gap = widest.saturating_sub(label.width()) + GAP;
            let is_current = self.current.as_ref() == Some(&item.value);
            let current = match (is_current, item.detail.is_empty()) {
                (false, _) => "",
                (true, true) => "current",
                (true, false) => "current · ",
            };
            let gap = Span::raw(" ".repeat(gap));
            let current = Span::styled(current, look.accent());
            let detail = Span::styled(item.detail.clone(), look.dim());
            one_row(Line::from_iter([mark, label, gap, current, detail]), columns)
        };
        let mut rows: Vec<_> = self.found.iter().enumerate().skip(top).take(height).map(row).collect();
        if rows.is_empty() {
            rows.push(Line::styled("  no matches", look.dim()));
        }
        rows.extend(unseen(top, self.found.len(), height, look));
        rows
    }
}
