//! [`Effort`]: how hard a model thinks before it answers, in the field of each vendor.
//!
//! Sources: platform.openai.com guide "Reasoning"; platform.claude.com "Effort" and "Extended thinking";
//! ai.google.dev guide "Thinking"; openrouter.ai "Reasoning tokens"; console.groq.com "Reasoning"; docs.ollama.com
//! "OpenAI compatibility"; llama.cpp tools/server/README.md (`chat_template_kwargs`); all 2026-11.
use crate::{
    Vendor,
    quirks::{EffortField, Quirks, is_among},
};
use haft_core::Request;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// How hard a model thinks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Effort {
    /// Little: fast and cheap.
    Low,
    /// Medium.
    Medium,
    /// Much: slow and expensive.
    High,
}

impl Effort {
    /// All levels, lowest first.
    pub const ALL: [Self; 3] = [Self::Low, Self::Medium, Self::High];

    /// The name of the level in options and in requests.
    pub fn name(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
        }
    }

    /// The level with this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|effort| effort.name() == name)
    }

    /// Thinking tokens, for models that take a number. With [`ANSWER_TOKENS`], they fit into the output limit of each
    /// such model.
    fn budget(self) -> u32 {
        match self {
            Self::Low => 2_048,
            Self::Medium => 8_192,
            Self::High => 20_480,
        }
    }
}

/// Tokens for the answer in addition to the thoughts.
const ANSWER_TOKENS: u32 = 8_192;

/// Whether the effort of `model` can be set. A server on this machine is always asked, since it refuses what its model
/// cannot do.
pub fn takes_effort(vendor: &Vendor, model: &str) -> bool {
    takes(&vendor.quirks, model)
}

fn takes(quirks: &Quirks, model: &str) -> bool {
    quirks.effort != EffortField::Nowhere
        && (quirks.models_with_effort.is_empty() || is_among(model, quirks.models_with_effort))
        && !is_among(model, quirks.models_without_reasoning)
}

/// Adds `effort` to `request`, if its model accepts one.
pub(crate) fn ask(request: &mut Request, effort: Effort, quirks: &Quirks) {
    if !takes(quirks, &request.model) {
        return;
    }
    let has_budget = is_among(&request.model, quirks.models_with_budget);
    let level = effort.name();
    let mut set = |name: &str, value: Value| {
        request.options.insert(name.to_owned(), value);
    };
    match quirks.effort {
        EffortField::Nowhere => {}
        EffortField::ReasoningEffort => set("reasoning_effort", level.into()),
        EffortField::Reasoning => set("reasoning", json!({"effort": level})),
        EffortField::TemplateArguments => set("chat_template_kwargs", json!({"reasoning_effort": level})),
        EffortField::ThinkingConfig if has_budget => {
            set("thinkingConfig", json!({"thinkingBudget": effort.budget()}));
        }
        EffortField::ThinkingConfig => set("thinkingConfig", json!({"thinkingLevel": level})),
        EffortField::Thinking => {
            if has_budget {
                set("thinking", json!({"type": "enabled", "budget_tokens": effort.budget()}));
            } else {
                set("thinking", json!({"type": "adaptive"}));
                set("output_config", json!({"effort": level}));
            }
            // A model that thinks refuses sampling parameters.
            for name in ["temperature", "top_p", "top_k"] {
                request.options.shift_remove(name);
            }
            // Thoughts count as output.
            request.max_output = request.max_output.max(effort.budget() + ANSWER_TOKENS);
        }
    }
}
