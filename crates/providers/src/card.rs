//! [`card`]: the properties of a model, from the table `models.toml`, which is parsed at first use.
use crate::Vendor;
use haft_core::Price;
use serde::Deserialize;
use std::sync::LazyLock;

static MODELS: LazyLock<Vec<Row>> = LazyLock::new(|| {
    let table: Table = toml::from_str(include_str!("models.toml")).expect("a test reads the table");
    table.model
});

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    model: Vec<Row>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    vendors: Vec<String>,
    /// The beginning of the model's name.
    name: String,
    /// Whether `name` is the whole name.
    #[serde(default)]
    exact: bool,
    window: Option<u64>,
    price: Option<Price>,
    /// Whether the model accepts PDFs; `None` means the same as for a shorter prefix of the name.
    documents: Option<bool>,
}

/// Properties of a model; each may be unknown.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Card {
    /// Size of the context window in tokens, request and reply together.
    pub window: Option<u64>,
    /// The price of its tokens.
    pub price: Option<Price>,
    /// Whether the model accepts PDFs directly.
    pub documents: bool,
}

/// The properties of `model` at `vendor`. A server on this machine costs nothing, and the context window of its models
/// depends on how it was started.
pub fn card(vendor: &Vendor, model: &str) -> Card {
    if vendor.local {
        return Card { price: Some(Price::FREE), ..Card::default() };
    }
    let fits = |row: &&Row| {
        let is_its = if row.exact { row.name == model } else { model.starts_with(&row.name) };
        is_its && row.vendors.iter().any(|name| name == vendor.name)
    };
    let length = |row: &&Row| (row.name.len(), row.exact);
    let documents = MODELS.iter().filter(fits).filter(|row| row.documents.is_some()).max_by_key(length);
    let documents =
        documents.and_then(|row| row.documents).unwrap_or_default() && vendor.wire.takes_documents();
    let row = MODELS.iter().filter(fits).max_by_key(length);
    let (window, price) = row.map(|row| (row.window, row.price)).unwrap_or_default();
    Card { window, price, documents }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vendor;

    #[test]
    fn the_longest_name_wins_and_what_is_not_known_is_not_guessed() {
        let table = [
            ("anthropic", "claude-sonnet-4-5-20250929", Some(200_000), Some((3.0, 15.0))),
            ("anthropic", "claude-next", Some(200_000), None),
            ("openai", "gpt-5", Some(272_000), Some((1.25, 10.0))),
            ("openai", "gpt-5-2025-08-07", Some(272_000), Some((1.25, 10.0))),
            ("openai", "gpt-5-mini", Some(272_000), Some((0.25, 2.0))),
            ("openai", "gpt-5-pro", Some(272_000), None),
            ("openai-responses", "gpt-4.1-nano-2025-04-14", Some(1_047_576), Some((0.1, 0.4))),
            ("gemini", "gemini-2.5-pro", Some(1_048_576), None),
            ("openrouter", "openrouter/auto", None, None),
            ("ollama", "qwen3-coder:30b", None, Some((0.0, 0.0))),
        ];
        for (name, model, window, price) in table {
            let card = card(vendor(name).unwrap(), model);
            let told = (card.window, card.price.map(|price| (price.input, price.output)));
            assert_eq!(told, (window, price), "{name}/{model}");
        }
        for row in &*MODELS {
            assert!(row.vendors.iter().all(|name| vendor(name).is_some()), "{:?}", row.vendors);
        }
    }
}
