//! Where a vendor differs from the usual form of its wire, as data.
use haft_core::Request;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Where a vendor differs from the wire's usual form.
#[derive(Clone, Copy, Debug)]
pub struct Quirks {
    /// Whether it wants its thoughts back.
    pub echo_reasoning: EchoReasoning,
    /// Which proofs of its thoughts it wants back on the chat wire.
    pub echo_proofs: EchoProofs,
    /// What stands for no text in an assistant message.
    pub empty_content: EmptyContent,
    /// The field that limits the output: `max_tokens` or `max_completion_tokens`.
    pub max_tokens_field: &'static str,
    /// Whether it knows `stream_options`.
    pub stream_usage: bool,
    /// How it is asked to cache the conversation.
    pub prompt_cache: PromptCache,
    /// For how long; the person says so.
    pub cache_ttl: CacheTtl,
    /// Whether the model is a part of the address, and not of the request: Anthropic's wire through Vertex AI.
    pub model_in_path: bool,
    /// Whether ids of calls must be nine letters and digits.
    pub nine_letter_call_ids: bool,
    /// Whether it gives out thoughts encrypted, if asked to.
    pub encrypted_reasoning: bool,
    /// Beginnings of the names of models that do not think: those refuse to be asked for thoughts or for an effort.
    pub models_without_reasoning: &'static [&'static str],
    /// Beginnings of the names of models that think and refuse to be told how to draw words.
    pub models_without_sampling: &'static [&'static str],
    /// Beginnings of the names of the models of Gemini that refuse calls without a signature.
    pub models_with_signatures: &'static [&'static str],
    /// The field that sets how hard a model thinks.
    pub effort: EffortField,
    /// Beginnings of the names of the models that take an effort; all if empty.
    pub models_with_effort: &'static [&'static str],
    /// Beginnings of the names of the models whose effort is a number of tokens.
    pub models_with_budget: &'static [&'static str],
    /// How the server can constrain a reply whose calls are text.
    pub holds: Holds,
    /// When it can hold a model to the JSON Schema of an answer.
    pub answers: Answers,
    /// Beginnings of the names of the models that it can hold to one; all if empty.
    pub models_with_answers: &'static [&'static str],
    /// Whether it holds calls to the schemas of its tools, if they are `strict`.
    pub strict_tools: bool,
    /// Whether it tells the sizes of its models and what they can do, as Ollama's own API does.
    pub lists_sizes: bool,
    /// In place of the default of [`crate::Timeouts::first_byte`], in seconds: local servers load models and read slowly, and
    /// some vendors keep their models' thoughts to themselves.
    pub first_byte_seconds: Option<u64>,
    /// In place of the default of [`crate::Timeouts::reply`], in seconds.
    pub reply_seconds: Option<u64>,
}

impl Quirks {
    /// The usual form.
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

/// How words are drawn; thinking models of some vendors refuse it (platform.openai.com/docs/guides/latest-model, 2026-11).
const SAMPLING: [&str; 6] =
    ["temperature", "top_p", "presence_penalty", "frequency_penalty", "logprobs", "top_logprobs"];

/// The options of a request that its model takes.
pub(crate) fn options(request: &Request, quirks: &Quirks) -> Map<String, Value> {
    let model = request.model.as_str();
    let mut options = request.options.clone();
    if is_among(model, quirks.models_without_sampling) && !is_among(model, quirks.models_without_reasoning) {
        options.retain(|name, _| !SAMPLING.contains(&name.as_str()));
    }
    options
}

/// Whether the name of `model` has one of these beginnings.
pub(crate) fn is_among(model: &str, beginnings: &[&str]) -> bool {
    beginnings.iter().any(|beginning| model.starts_with(beginning))
}

/// How a vendor of Anthropic's wire is asked to keep a conversation in its cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PromptCache {
    /// The vendor caches by itself, as most do.
    Unasked,
    /// In the request, whose end the vendor finds.
    InRequest,
    /// In the last block.
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

/// The field that a vendor reads the effort from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EffortField {
    /// The vendor has no field for it that is known.
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
    /// By one JSON Schema for the whole reply.
    Schema,
    /// JSON Schemas between tags.
    Tags,
    /// A grammar (GBNF).
    Grammar,
}

/// When a server can hold a model to the JSON Schema of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answers {
    /// Never.
    Never,
    /// In a request without tools.
    Alone,
    /// In any request: the model may call tools before it answers.
    WithTools,
}

/// Which assistant messages carry `reasoning_content` when they are sent back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EchoReasoning {
    /// No message.
    Never,
    /// Messages that have calls.
    WithCalls,
    /// All.
    Always,
}

/// Which proofs of its thoughts a vendor of the chat wire wants back. The other vendors may refuse a field that they do not
/// know.
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
    /// `""`: chat templates of local servers stumble over null.
    Text,
}
