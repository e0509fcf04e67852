//! [`App::complete_or_ask`]: completes the typed text with what MCP servers offer: prompts, their arguments, resources.
use super::{
    app::{App, Done, Hint},
    list::Item,
    mode::Offered,
};
use crossterm::event::KeyEvent;
use haft_core::Completions;

const ASKING: &str = "asking the MCP server …";

impl App {
    /// Accepts the selected completion; without one, asks the server that the text at the cursor names for completions.
    pub(super) fn complete_or_ask(&mut self, key: KeyEvent) {
        if self.accept() {
            return;
        }
        let typed = self.input.before_cursor();
        match &self.engine {
            Some(engine) if may_name_a_server(&typed) => {
                let sources = engine.setup().sources.clone();
                self.hint = Some(Hint::Lasting(ASKING));
                self.waiting.push(Box::pin(async move {
                    for source in sources {
                        if let Some(found) = source.complete(&typed).await {
                            return Done::Offered(typed, Some(found));
                        }
                    }
                    Done::Offered(typed, None)
                }));
            }
            _ => self.type_in(key),
        }
    }

    /// Shows the completions of `typed`; a single one is inserted. Late completions, for a text that has changed
    /// meanwhile, are dropped.
    pub(super) fn offered(&mut self, typed: &str, found: Option<Completions>) {
        if matches!(self.hint, Some(Hint::Lasting(ASKING))) {
            self.hint = None;
        }
        if self.input.before_cursor() != typed || self.mode.completion().is_none() {
            return;
        }
        let Completions { start, values } = found.unwrap_or(Completions { start: 0, values: Vec::new() });
        let is_one_line = |value: &String| !value.chars().any(char::is_control);
        let values = values.into_iter().filter(is_one_line).map(|value| Item::new(value, ""));
        let values: Vec<Item> = values.collect();
        let Some(before) = typed.get(..start).filter(|_| !values.is_empty()) else {
            self.hint = Some("no completions".into());
            return;
        };
        let is_single = values.len() == 1;
        self.offered = Some(Offered { before: before.to_owned(), values });
        self.complete();
        if is_single {
            self.accept();
        }
    }

    /// The text that filters the values, the byte where it begins, and the values. Drops the values if the text has
    /// changed.
    pub(super) fn offered_here(&mut self) -> Option<(String, usize, Vec<Item>)> {
        let Offered { before, values } = self.offered.take()?;
        let typed = self.input.before_cursor();
        let typed = typed.strip_prefix(&before)?.to_owned();
        let found = (typed, before.len(), values.clone());
        self.offered = Some(Offered { before, values });
        Some(found)
    }
}

/// Whether the text looks like `/SERVER:…` or ends like `@SERVER:…`.
fn may_name_a_server(typed: &str) -> bool {
    let command = typed.strip_prefix('/').and_then(|rest| rest.split_whitespace().next());
    let word = typed.rsplit(char::is_whitespace).next().unwrap_or_default();
    let mention = word.trim_start_matches(['(', '"']).strip_prefix('@');
    command.or(mention).is_some_and(|name| name.contains(':'))
}
