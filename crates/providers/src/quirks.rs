//! [`Quirks`]: the differences of a vendor from the usual form of its wire, as data.
use haft_core::Request;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The differences of a vendor from the usual form of its wire.
#[derive(Clone, Copy, Debug)]
pub struct Quirks {
    /// Whether thoughts must be sent back.
    pub echo_reasoning: EchoReasoning,
    /// Which proofs of thoughts must be sent back on the chat wire.
    pub echo_proofs: EchoProofs,
    /// What stands for no text in an assistant message.
    pub empty_content: EmptyContent,
    /// The field that limits the output: `max_tokens` or `max_completion_tokens`.
    pub max_tokens_field: &'static str,
    /// Whether the vendor supports `stream_options`.
    pub stream_usage: bool,
    /// How to request caching of the conversation.
    pub prompt_cache: PromptCache,
    /// How long the conversation is cached, which the user configures.
    pub cache_ttl: CacheTtl,
    /// Whether the model is part of the address instead of the request: Anthropic's wire on Vertex AI.
    pub model_in_path: bool,
    /// Whether IDs of calls must have nine letters and digits.
    pub nine_letter_call_ids: bool,
    /// Whether the vendor sends encrypted thoughts on request.
    pub encrypted_reasoning: bool,
    /// Prefixes of the names of models that do not think: those refuse requests for thoughts or for an effort.
    pub models_without_reasoning: &'static [&'static str],
    /// Prefixes of the names of models that think and refuse sampling parameters.
    pub models_without_sampling: &'static [&'static str],
    /// Prefixes of the names of Gemini models that refuse calls without a signature.
    pub models_with_signatures: &'static [&'static str],
    /// The field that sets the reasoning effort.
    pub effort: EffortField,
    /// Prefixes of the names of the models that accept an effort; all if empty.
    pub models_with_effort: &'static [&'static str],
    /// Prefixes of the names of the models whose effort is a number of tokens.
    pub models_with_budget: &'static [&'static str],
    /// How the server can constrain a reply with calls as text.
    pub holds: Holds,
    /// When the server can constrain an answer to a JSON Schema.
    pub answers: Answers,
    /// Prefixes of the names of the models whose answers it can constrain; all if empty.
    pub models_with_answers: &'static [&'static str],
    /// Whether calls are constrained to the schemas of their tools, if these are `strict`.
    pub strict_tools: bool,
    /// Whether the server reports the sizes and capabilities of its models, as Ollama's own API does.
    pub lists_sizes: bool,
    /// Replaces the default of [`crate::Timeouts::first_byte`], in seconds: local servers load models and read slowly,
    /// and some vendors do not send their models' thoughts.
    pub first_byte_seconds: Option<u64>,
    /// Replaces the default of [`crate::Timeouts::reply`], in seconds.
    pub reply_seconds: Option<u64>,
}

impl Quirks {
    /// The usual form of each wire.
    pub const NONE: Self = Self {
        echo_reasoning: EchoReasoning::Never,
        echo_proofs: EchoProofs::Never,
        empty_content: EmptyContent::Text,
        max_tokens_field: "max_tokens",
        stream_usage: true,
        prompt_cache: PromptCache::Unasked,
        cache_ttl: CacheTtl::FiveMinutes,
        model_in_path: false,
        nine_letter_call_ids: false,
        encrypted_reasoning: false,
        models_without_reasoning: &[],
        models_without_sampling: &[],
        models_with_signatures: &[],
        effort: EffortField::Nowhere,
        models_with_effort: &[],
        models_with_budget: &[],
        holds: Holds::Nothing,
        answers: Answers::Never,
        models_with_answers: &[],
        strict_tools: false,
        lists_sizes: false,
        first_byte_seconds: None,
        reply_seconds: None,
    };
}

/// Sampling parameters, which thinking models of some vendors refuse (platform.openai.com/docs/guides/latest-model,
/// 2026-11).
const SAMPLING: [&str; 6] =
    ["temperature", "top_p", "presence_penalty", "frequency_penalty", "logprobs", "top_logprobs"];

/// The options of a request that its model accepts.
pub(crate) fn options(request: &Request, quirks: &Quirks) -> Map<String, Value> {
    let model = request.model.as_str();
    let mut options = request.options.clone();
    if is_among(model, quirks.models_without_sampling) && !is_among(model, quirks.models_without_reasoning) {
        options.retain(|name, _| !SAMPLING.contains(&name.as_str()));
    }
    options
}

/// Whether the name of `model` has one of these prefixes.
pub(crate) fn is_among(model: &str, beginnings: &[&str]) -> bool {
    beginnings.iter().any(|beginning| model.starts_with(beginning))
}

/// How a vendor of Anthropic's wire is asked to cache a conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PromptCache {
    /// Not at all: the vendor caches by itself, as most do.
    Unasked,
    /// By a field of the request; the vendor finds the end of the conversation.
    InRequest,
    /// By a mark in the last block.
    InLastBlock,
}

/// How long a vendor keeps a conversation in its cache after each use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum CacheTtl {
    /// Five minutes.
    #[default]
    #[serde(rename = "5m")]
    FiveMinutes,
    /// One hour. Writing to the cache costs twice the price of input, instead of 1.25 times.
    #[serde(rename = "1h")]
    OneHour,
}

/// The field for the reasoning effort.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EffortField {
    /// The vendor has no known field for it.
    Nowhere,
    /// `reasoning_effort`: OpenAI's chat completions.
    ReasoningEffort,
    /// `reasoning.effort`: OpenAI's Responses, OpenRouter.
    Reasoning,
    /// `chat_template_kwargs.reasoning_effort`: llama.cpp.
    TemplateArguments,
    /// `output_config.effort`, or a budget for `thinking`: Anthropic.
    Thinking,
    /// `thinkingConfig`: Gemini.
    ThinkingConfig,
}

/// How a server can constrain a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holds {
    /// Replies cannot be constrained.
    Nothing,
    /// By a single JSON Schema for the whole reply.
    Schema,
    /// JSON Schemas between tags.
    Tags,
    /// By a grammar (GBNF).
    Grammar,
}

/// When a server can constrain an answer to a JSON Schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answers {
    /// Never.
    Never,
    /// In a request without tools.
    Alone,
    /// In any request: the model may call tools before it answers.
    WithTools,
}

/// Which assistant messages have `reasoning_content` when they are sent back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EchoReasoning {
    /// No message.
    Never,
    /// Messages with calls.
    WithCalls,
    /// All messages.
    Always,
}

/// Which proofs of thoughts a vendor of the chat wire wants back. Other vendors may refuse an unknown field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EchoProofs {
    /// No proofs.
    Never,
    /// `extra_content.google.thought_signature` of each call: Gemini.
    CallSignatures,
    /// `reasoning_details` of each message: OpenRouter.
    Details,
}

/// What stands for no text in an assistant message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EmptyContent {
    /// `null`.
    Null,
    /// `""`: chat templates of local servers fail on null.
    Text,
}
