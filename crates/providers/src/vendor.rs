//! Whom we can ask: the table `vendors.toml`, read once when first needed.
use crate::{Timeouts, Wire};
use serde::Deserialize;
use std::{sync::LazyLock, time::Duration};

static VENDORS: LazyLock<Vec<Vendor>> = LazyLock::new(|| {
    let table: Table = toml::from_str(include_str!("vendors.toml")).expect("a test reads the table");
    table.vendor
});

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    vendor: Vec<Vendor>,
}

/// Every vendor, in the order of the table.
pub fn vendors() -> &'static [Vendor] {
    &VENDORS
}

/// The vendor of this name or of one of its other names.
pub fn vendor(name: &str) -> Option<&'static Vendor> {
    vendors().iter().find(|vendor| vendor.name == name || vendor.aliases.iter().any(|alias| alias == name))
}

/// One who answers requests: a company, or a server on this machine.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Vendor {
    /// As in `--model NAME/MODEL`.
    pub name: String,
    /// Other names that people try.
    #[serde(default)]
    pub aliases: Vec<String>,
    /// As people write it.
    pub title: String,
    /// What it speaks.
    pub wire: Wire,
    /// Where it is; paths of the wire are appended.
    pub base_url: String,
    /// The environment variable that customarily holds the key; `None` where none is wanted.
    #[serde(default)]
    pub key_variable: Option<String>,
    /// The environment variable that customarily holds another base URL.
    #[serde(default)]
    pub base_url_variable: Option<String>,
    /// Taken where the key is set and nobody names a model.
    #[serde(default)]
    pub default_model: Option<String>,
    /// Runs on this machine.
    #[serde(default)]
    pub local: bool,
    /// Where it differs from the wire's usual form.
    #[serde(default)]
    pub quirks: Quirks,
}

/// Where a vendor differs from the wire's usual form.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Quirks {
    /// Whether it wants its thoughts back.
    pub echo_reasoning: EchoReasoning,
    /// What stands for no text in an assistant message.
    pub empty_content: EmptyContent,
    /// The field that limits the output: `max_tokens` or `max_completion_tokens`.
    pub max_tokens_field: String,
    /// Whether it knows `stream_options`.
    pub stream_usage: bool,
    /// Whether it must be asked to cache the conversation; most do it unasked.
    pub prompt_cache: bool,
    /// Whether ids of calls must be nine letters and digits.
    pub nine_letter_call_ids: bool,
    /// Whether it gives out thoughts encrypted, if asked to.
    pub encrypted_reasoning: bool,
    /// Beginnings of the names of models that do not think: those refuse to be asked for encrypted thoughts.
    pub models_without_reasoning: Vec<String>,
    /// To what it can hold a reply whose calls are text.
    pub holds: Holds,
    /// Whether it holds calls to the schemas of its tools, if they are `strict`.
    pub strict_tools: bool,
    /// In place of the default of [`Timeouts::first_byte`], in seconds: local servers load models and read slowly, and
    /// some vendors keep their models' thoughts to themselves.
    pub first_byte_seconds: Option<u64>,
    /// In place of the default of [`Timeouts::reply`], in seconds.
    pub reply_seconds: Option<u64>,
}

impl Default for Quirks {
    fn default() -> Self {
        Self {
            echo_reasoning: EchoReasoning::Never,
            empty_content: EmptyContent::Text,
            max_tokens_field: "max_tokens".into(),
            stream_usage: true,
            prompt_cache: false,
            nine_letter_call_ids: false,
            encrypted_reasoning: false,
            models_without_reasoning: Vec::new(),
            holds: Holds::Nothing,
            strict_tools: false,
            first_byte_seconds: None,
            reply_seconds: None,
        }
    }
}

/// To what a server can hold a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Holds {
    /// It takes no form at all.
    Nothing,
    /// One JSON Schema for all of it.
    Schema,
    /// JSON Schemas between tags.
    Tags,
    /// A grammar (GBNF).
    Grammar,
}

/// Which assistant messages carry `reasoning_content` when they are sent back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EchoReasoning {
    /// None.
    Never,
    /// Those with calls.
    WithCalls,
    /// All.
    Always,
}

/// What stands for no text in an assistant message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EmptyContent {
    /// `null`.
    Null,
    /// `""`: chat templates of local servers stumble over null.
    Text,
}

impl Wire {
    /// The first vendor in the table that speaks it.
    pub fn speaker(self) -> Option<&'static Vendor> {
        vendors().iter().find(|vendor| vendor.wire == self)
    }
}

impl Vendor {
    /// The default timeouts with the vendor's quirks, as they apply at `base_url`: what stands behind another address
    /// of a service need not be as slow.
    pub fn timeouts_at(&self, base_url: &str) -> Timeouts {
        let is_own = self.local || base_url.trim_end_matches('/') == self.base_url;
        let quirk = |seconds: Option<u64>| seconds.filter(|_| is_own).map(Duration::from_secs);
        let usual = Timeouts::default();
        let first_byte = quirk(self.quirks.first_byte_seconds).unwrap_or(usual.first_byte);
        Timeouts {
            first_byte,
            thinking: usual.thinking.max(first_byte),
            reply: quirk(self.quirks.reply_seconds).unwrap_or(usual.reply),
            whole: usual.whole.max(first_byte),
            ..usual
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    //
    #[test]
    fn the_table_can_be_read_and_names_are_unique() {
        let mut names: Vec<&str> = Vec::new();
        for vendor in vendors() {
            names.push(&vendor.name);
            names.extend(vendor.aliases.iter().map(String::as_str));
            assert!(
                vendor.base_url.starts_with(if vendor.local { "http://" } else { "https://" }),
                "{vendor:?}"
            );
            assert_eq!(vendor.key_variable.is_none(), vendor.local, "{vendor:?}");
        }
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
        assert_eq!(vendor("moonshot").unwrap().name, "kimi");
        assert!(vendor("nobody").is_none());
        assert!(crate::WIRES.iter().all(|wire| wire.speaker().is_some()));
    }

    #[test]
    fn who_is_known_to_be_slow_may_take_longer() {
        let table = [
            ("groq", "https://api.groq.com/openai/v1", 60, 3_600),
            ("openai", "https://api.openai.com/v1", 300, 3_600),
            ("openai", "https://api.openai.com/v1/", 300, 3_600),
            ("openai", "http://127.0.0.1:4000/v1", 60, 3_600),
            ("ollama", "http://127.0.0.1:11434/v1", 600, 14_400),
            ("ollama", "http://gpu.example:11434/v1", 600, 14_400),
        ];
        for (name, base_url, first_byte, reply) in table {
            let timeouts = vendor(name).unwrap().timeouts_at(base_url);
            let found = (timeouts.first_byte.as_secs(), timeouts.reply.as_secs());
            assert_eq!(found, (first_byte, reply), "{name} {base_url}");
            assert!(timeouts.thinking >= timeouts.first_byte && timeouts.whole >= timeouts.first_byte);
        }
    }
}
