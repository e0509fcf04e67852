//! [`vendors`]: all vendors that Haft supports. A vendor with a known wire is one entry here; the fields are documented
//! at [`Vendor`]. Each entry names its source and when it was last read.
use crate::{
    Vendor, Wire,
    quirks::{Answers, EchoProofs, EchoReasoning, EffortField, EmptyContent, Holds, PromptCache, Quirks},
    sign_in::SignIn,
};

/// Every vendor, in the order of the table.
pub fn vendors() -> &'static [Vendor] {
    VENDORS
}

/// The vendor with this name or alias.
pub fn vendor(name: &str) -> Option<&'static Vendor> {
    vendors().iter().find(|vendor| vendor.name == name || vendor.aliases.contains(&name))
}

impl Wire {
    /// The first vendor in the table with this wire.
    pub fn speaker(self) -> Option<&'static Vendor> {
        vendors().iter().find(|vendor| vendor.wire == self)
    }
}

// Prefixes of model names that several entries share.
const GPT_WITHOUT_REASONING: &[&str] = &["gpt-3", "gpt-4", "chatgpt-", "gpt-5-chat"];
const GPT_WITHOUT_SAMPLING: &[&str] = &["gpt-5", "o1", "o3", "o4"];
const GPT_WITH_ANSWERS: &[&str] = &["gpt-4o", "gpt-4.1", "gpt-5", "o1", "o3", "o4"];
const AZURE_WITHOUT_REASONING: &[&str] = &["gpt-3", "gpt-4", "gpt-35", "gpt-5-chat"];
const GEMINI_WITHOUT_REASONING: &[&str] = &["gemini-1", "gemini-2.0"];
const GEMINI_WITH_BUDGET: &[&str] = &["gemini-2.5"];
const GEMINI_WITH_ANSWERS: &[&str] = &["gemini-2.5", "gemini-3"];
const GEMINI_WITH_SIGNATURES: &[&str] =
    &["gemini-3", "gemini-pro-latest", "gemini-flash-latest", "gemini-flash-lite-latest"];
const CLAUDE_WITHOUT_REASONING: &[&str] =
    &["claude-2", "claude-3-5", "claude-3-haiku", "claude-3-opus", "claude-3-sonnet"];
const CLAUDE_WITH_BUDGET: &[&str] = &[
    "claude-3-7",
    "claude-haiku-4",
    "claude-opus-4-0",
    "claude-opus-4-1",
    "claude-opus-4-2",
    "claude-opus-4-5",
    "claude-sonnet-4-0",
    "claude-sonnet-4-2",
    "claude-sonnet-4-5",
];

static VENDORS: &[Vendor] = &[
    // platform.openai.com/docs/api-reference/chat, 2026-11. The reasoning models refuse `max_tokens`.
    Vendor {
        name: "openai",
        title: "OpenAI",
        wire: Wire::OpenaiChat,
        base_url: "https://api.openai.com/v1",
        key_variable: Some("OPENAI_API_KEY"),
        key_page: Some("https://platform.openai.com/api-keys"),
        default_model: Some("gpt-5"),
        base_url_variable: Some("OPENAI_BASE_URL"),
        quirks: Quirks {
            effort: EffortField::ReasoningEffort,
            models_without_reasoning: GPT_WITHOUT_REASONING,
            models_without_sampling: GPT_WITHOUT_SAMPLING,
            max_tokens_field: "max_completion_tokens",
            empty_content: EmptyContent::Null,
            strict_tools: true,
            answers: Answers::WithTools,
            models_with_answers: GPT_WITH_ANSWERS,
            first_byte_seconds: Some(300),
            ..Quirks::NONE
        },
        ..Vendor::NONE
    },
    // platform.openai.com/docs/api-reference/responses, 2026-11. Models that do not think refuse requests for thoughts.
    Vendor {
        name: "openai-responses",
        title: "OpenAI (Responses)",
        wire: Wire::OpenaiResponses,
        base_url: "https://api.openai.com/v1",
        key_variable: Some("OPENAI_API_KEY"),
        key_page: Some("https://platform.openai.com/api-keys"),
        default_model: Some("gpt-5"),
        base_url_variable: Some("OPENAI_BASE_URL"),
        quirks: Quirks {
            effort: EffortField::Reasoning,
            encrypted_reasoning: true,
            models_without_reasoning: GPT_WITHOUT_REASONING,
            models_without_sampling: GPT_WITHOUT_SAMPLING,
            strict_tools: true,
            answers: Answers::WithTools,
            models_with_answers: GPT_WITH_ANSWERS,
            first_byte_seconds: Some(300),
            ..Quirks::NONE
        },
        ..Vendor::NONE
    },
    // docs.anthropic.com/en/api/messages, 2026-11. Anthropic's own clients take the base URL without `/v1`; both are
    // accepted.
    Vendor {
        name: "anthropic",
        aliases: &["claude"],
        title: "Anthropic",
        wire: Wire::Anthropic,
        base_url: "https://api.anthropic.com",
        key_variable: Some("ANTHROPIC_API_KEY"),
        key_page: Some("https://console.anthropic.com/settings/keys"),
        default_model: Some("claude-sonnet-4-5"),
        base_url_variable: Some("ANTHROPIC_BASE_URL"),
        quirks: Quirks {
            effort: EffortField::Thinking,
            models_without_reasoning: CLAUDE_WITHOUT_REASONING,
            models_with_budget: CLAUDE_WITH_BUDGET,
            prompt_cache: PromptCache::InRequest,
            answers: Answers::WithTools,
            models_with_answers: &[
                "claude-opus-4-5",
                "claude-opus-4-6",
                "claude-opus-4-7",
                "claude-sonnet-4-5",
                "claude-sonnet-4-6",
                "claude-haiku-4-5",
            ],
            ..Quirks::NONE
        },
        ..Vendor::NONE
    },
    // platform.moonshot.ai/docs, 2026-11. Thinking models require their reasoning on every message with calls.
    Vendor {
        name: "kimi",
        aliases: &["moonshot"],
        title: "Kimi (Moonshot)",
        wire: Wire::OpenaiChat,
        base_url: "https://api.moonshot.ai/v1",
        key_variable: Some("MOONSHOT_API_KEY"),
        key_page: Some("https://platform.moonshot.ai/console/api-keys"),
        default_model: Some("kimi-k2-0905-preview"),
        base_url_variable: Some("MOONSHOT_BASE_URL"),
        quirks: Quirks { echo_reasoning: EchoReasoning::WithCalls, ..Quirks::NONE },
        ..Vendor::NONE
    },
    // api-docs.deepseek.com/guides/thinking_mode, 2026-11. A call sent back without its reasoning is answered with 400.
    Vendor {
        name: "deepseek",
        title: "DeepSeek",
        wire: Wire::OpenaiChat,
        base_url: "https://api.deepseek.com/v1",
        key_variable: Some("DEEPSEEK_API_KEY"),
        key_page: Some("https://platform.deepseek.com/api_keys"),
        default_model: Some("deepseek-chat"),
        base_url_variable: Some("DEEPSEEK_BASE_URL"),
        quirks: Quirks { echo_reasoning: EchoReasoning::WithCalls, ..Quirks::NONE },
        ..Vendor::NONE
    },
    // openrouter.ai/docs/api-reference and "Reasoning tokens", 2026-11. Vendors behind it refuse empty text blocks.
    Vendor {
        name: "openrouter",
        title: "OpenRouter",
        wire: Wire::OpenaiChat,
        base_url: "https://openrouter.ai/api/v1",
        key_variable: Some("OPENROUTER_API_KEY"),
        key_page: Some("https://openrouter.ai/settings/keys"),
        key_path: Some("/key"),
        default_model: Some("openrouter/auto"),
        base_url_variable: Some("OPENROUTER_BASE_URL"),
        quirks: Quirks {
            echo_proofs: EchoProofs::Details,
            effort: EffortField::Reasoning,
            empty_content: EmptyContent::Null,
            first_byte_seconds: Some(300),
            ..Quirks::NONE
        },
        ..Vendor::NONE
    },
    // console.groq.com/docs/openai, 2026-11.
    Vendor {
        name: "groq",
        title: "Groq",
        wire: Wire::OpenaiChat,
        base_url: "https://api.groq.com/openai/v1",
        key_variable: Some("GROQ_API_KEY"),
        key_page: Some("https://console.groq.com/keys"),
        default_model: Some("openai/gpt-oss-120b"),
        base_url_variable: Some("GROQ_BASE_URL"),
        quirks: Quirks {
            effort: EffortField::ReasoningEffort,
            models_with_effort: &["openai/gpt-oss"],
            max_tokens_field: "max_completion_tokens",
            ..Quirks::NONE
        },
        ..Vendor::NONE
    },
    // docs.mistral.ai/api, 2026-11. Refuses unknown fields (422), `stream_options` among them; usage comes with the
    // last chunk anyway. Refuses IDs of calls that another vendor made.
    Vendor {
        name: "mistral",
        title: "Mistral",
        wire: Wire::OpenaiChat,
        base_url: "https://api.mistral.ai/v1",
        key_variable: Some("MISTRAL_API_KEY"),
        key_page: Some("https://console.mistral.ai/api-keys"),
        default_model: Some("mistral-medium-latest"),
        base_url_variable: Some("MISTRAL_BASE_URL"),
        quirks: Quirks { stream_usage: false, nine_letter_call_ids: true, ..Quirks::NONE },
        ..Vendor::NONE
    },
    // docs.x.ai/docs/api-reference, 2026-11.
    Vendor {
        name: "xai",
        aliases: &["grok"],
        title: "xAI",
        wire: Wire::OpenaiChat,
        base_url: "https://api.x.ai/v1",
        key_variable: Some("XAI_API_KEY"),
        key_page: Some("https://console.x.ai"),
        default_model: Some("grok-4"),
        base_url_variable: Some("XAI_BASE_URL"),
        quirks: Quirks {
            effort: EffortField::ReasoningEffort,
            models_with_effort: &["grok-3-mini"],
            first_byte_seconds: Some(300),
            ..Quirks::NONE
        },
        ..Vendor::NONE
    },
    // ai.google.dev/gemini-api/docs/openai and "Thought signatures", 2026-11: Gemini's OpenAI-compatible endpoint.
    Vendor {
        name: "gemini",
        aliases: &["google"],
        title: "Gemini",
        wire: Wire::OpenaiChat,
        base_url: "https://generativelanguage.googleapis.com/v1beta/openai",
        key_variable: Some("GEMINI_API_KEY"),
        key_page: Some("https://aistudio.google.com/apikey"),
        default_model: Some("gemini-2.5-pro"),
        base_url_variable: Some("GEMINI_BASE_URL"),
        quirks: Quirks {
            echo_proofs: EchoProofs::CallSignatures,
            effort: EffortField::ReasoningEffort,
            models_without_reasoning: GEMINI_WITHOUT_REASONING,
            models_with_signatures: GEMINI_WITH_SIGNATURES,
            empty_content: EmptyContent::Null,
            first_byte_seconds: Some(300),
            ..Quirks::NONE
        },
        ..Vendor::NONE
    },
    // ai.google.dev/api/generate-content, 2026-11: Gemini's own wire. The variable is that of Gemini's own command
    // line.
    Vendor {
        name: "gemini-native",
        title: "Gemini (native)",
        wire: Wire::Gemini,
        base_url: "https://generativelanguage.googleapis.com/v1beta",
        key_variable: Some("GEMINI_API_KEY"),
        key_page: Some("https://aistudio.google.com/apikey"),
        default_model: Some("gemini-2.5-pro"),
        base_url_variable: Some("GOOGLE_GEMINI_BASE_URL"),
        quirks: Quirks {
            effort: EffortField::ThinkingConfig,
            models_without_reasoning: GEMINI_WITHOUT_REASONING,
            models_with_signatures: GEMINI_WITH_SIGNATURES,
            models_with_budget: GEMINI_WITH_BUDGET,
            answers: Answers::Alone,
            models_with_answers: GEMINI_WITH_ANSWERS,
            first_byte_seconds: Some(300),
            ..Quirks::NONE
        },
        ..Vendor::NONE
    },
    // learn.microsoft.com "Azure OpenAI in Azure AI Foundry Models v1 API", 2026-11. The model is the name of a deployment.
    Vendor {
        name: "azure",
        aliases: &["azure-openai"],
        title: "Azure OpenAI",
        wire: Wire::OpenaiChat,
        base_url: "https://NAME.openai.azure.com/openai/v1",
        key_variable: Some("AZURE_OPENAI_API_KEY"),
        key_page: Some("https://ai.azure.com"),
        base_url_variable: Some("AZURE_OPENAI_ENDPOINT"),
        sign_in: Some(SignIn::Azure),
        quirks: Quirks {
            effort: EffortField::ReasoningEffort,
            models_without_reasoning: AZURE_WITHOUT_REASONING,
            models_without_sampling: GPT_WITHOUT_SAMPLING,
            max_tokens_field: "max_completion_tokens",
            empty_content: EmptyContent::Null,
            first_byte_seconds: Some(300),
            ..Quirks::NONE
        },
        ..Vendor::NONE
    },
    // Same source as `azure`.
    Vendor {
        name: "azure-responses",
        title: "Azure OpenAI (Responses)",
        wire: Wire::OpenaiResponses,
        base_url: "https://NAME.openai.azure.com/openai/v1",
        key_variable: Some("AZURE_OPENAI_API_KEY"),
        key_page: Some("https://ai.azure.com"),
        base_url_variable: Some("AZURE_OPENAI_ENDPOINT"),
        sign_in: Some(SignIn::Azure),
        quirks: Quirks {
            effort: EffortField::Reasoning,
            encrypted_reasoning: true,
            models_without_reasoning: AZURE_WITHOUT_REASONING,
            models_without_sampling: GPT_WITHOUT_SAMPLING,
            first_byte_seconds: Some(300),
            ..Quirks::NONE
        },
        ..Vendor::NONE
    },
    // cloud.google.com/vertex-ai/generative-ai/docs "Generate content with the Gemini API", 2026-11. Project and
    // location are filled into the address.
    Vendor {
        name: "vertex",
        aliases: &["vertex-ai"],
        title: "Vertex AI",
        wire: Wire::Gemini,
        base_url: "https://aiplatform.googleapis.com",
        base_url_variable: Some("GOOGLE_VERTEX_BASE_URL"),
        sign_in: Some(SignIn::Google),
        quirks: Quirks {
            effort: EffortField::ThinkingConfig,
            models_without_reasoning: GEMINI_WITHOUT_REASONING,
            models_with_signatures: GEMINI_WITH_SIGNATURES,
            models_with_budget: GEMINI_WITH_BUDGET,
            answers: Answers::Alone,
            models_with_answers: GEMINI_WITH_ANSWERS,
            first_byte_seconds: Some(300),
            ..Quirks::NONE
        },
        ..Vendor::NONE
    },
    // cloud.google.com/vertex-ai/generative-ai/docs "Use Anthropic's Claude models", 2026-11. The prompt cache is
    // requested in a block, not at the top of a request.
    Vendor {
        name: "vertex-anthropic",
        title: "Vertex AI (Anthropic)",
        wire: Wire::Anthropic,
        base_url: "https://aiplatform.googleapis.com",
        base_url_variable: Some("ANTHROPIC_VERTEX_BASE_URL"),
        sign_in: Some(SignIn::Google),
        quirks: Quirks {
            effort: EffortField::Thinking,
            prompt_cache: PromptCache::InLastBlock,
            model_in_path: true,
            models_without_reasoning: CLAUDE_WITHOUT_REASONING,
            models_with_budget: CLAUDE_WITH_BUDGET,
            ..Quirks::NONE
        },
        ..Vendor::NONE
    },
    // docs.aws.amazon.com/bedrock "Converse API" and "Amazon Bedrock API keys", 2026-11. The region is filled into the
    // address. The model is the ID or the ARN of a model or of an inference profile.
    Vendor {
        name: "bedrock",
        aliases: &["amazon-bedrock", "aws"],
        title: "Amazon Bedrock",
        wire: Wire::Converse,
        base_url: "https://bedrock-runtime.us-east-1.amazonaws.com",
        key_variable: Some("AWS_BEARER_TOKEN_BEDROCK"),
        key_page: Some("https://console.aws.amazon.com/bedrock/home#/api-keys"),
        base_url_variable: Some("AWS_ENDPOINT_URL_BEDROCK_RUNTIME"),
        sign_in: Some(SignIn::Aws),
        quirks: Quirks { first_byte_seconds: Some(300), ..Quirks::NONE },
        ..Vendor::NONE
    },
    // github.com/ollama/ollama docs/openai.md, 2026-11. Loads a model on the first request.
    Vendor {
        name: "ollama",
        title: "Ollama",
        wire: Wire::OpenaiChat,
        base_url: "http://127.0.0.1:11434/v1",
        base_url_variable: Some("OLLAMA_BASE_URL"),
        local: true,
        start: Some("ollama serve"),
        install: Some("ollama pull qwen3-coder:30b"),
        quirks: Quirks {
            effort: EffortField::ReasoningEffort,
            holds: Holds::Schema,
            answers: Answers::Alone,
            lists_sizes: true,
            first_byte_seconds: Some(600),
            reply_seconds: Some(14_400),
            ..Quirks::NONE
        },
        ..Vendor::NONE
    },
    // github.com/ggml-org/llama.cpp tools/server/README.md, 2026-11.
    Vendor {
        name: "llamacpp",
        aliases: &["llama.cpp", "llama-server"],
        title: "llama.cpp",
        wire: Wire::OpenaiChat,
        base_url: "http://127.0.0.1:8080/v1",
        base_url_variable: Some("LLAMACPP_BASE_URL"),
        local: true,
        start: Some("llama-server --jinja -m FILE.gguf"),
        quirks: Quirks {
            effort: EffortField::TemplateArguments,
            holds: Holds::Grammar,
            answers: Answers::Alone,
            first_byte_seconds: Some(600),
            reply_seconds: Some(14_400),
            ..Quirks::NONE
        },
        ..Vendor::NONE
    },
    // docs.vllm.ai/en/latest/serving/openai_compatible_server.html, 2026-11.
    Vendor {
        name: "vllm",
        title: "vLLM",
        wire: Wire::OpenaiChat,
        base_url: "http://127.0.0.1:8000/v1",
        base_url_variable: Some("VLLM_BASE_URL"),
        local: true,
        start: Some("vllm serve MODEL --enable-auto-tool-choice --tool-call-parser hermes"),
        quirks: Quirks {
            effort: EffortField::ReasoningEffort,
            holds: Holds::Tags,
            answers: Answers::Alone,
            first_byte_seconds: Some(600),
            reply_seconds: Some(14_400),
            ..Quirks::NONE
        },
        ..Vendor::NONE
    },
    // lmstudio.ai/docs/api/openai-api, 2026-11.
    Vendor {
        name: "lmstudio",
        aliases: &["lm-studio"],
        title: "LM Studio",
        wire: Wire::OpenaiChat,
        base_url: "http://127.0.0.1:1234/v1",
        base_url_variable: Some("LMSTUDIO_BASE_URL"),
        local: true,
        start: Some("lms server start"),
        install: Some("lms get qwen3-coder"),
        quirks: Quirks {
            effort: EffortField::ReasoningEffort,
            holds: Holds::Schema,
            answers: Answers::Alone,
            first_byte_seconds: Some(600),
            reply_seconds: Some(14_400),
            ..Quirks::NONE
        },
        ..Vendor::NONE
    },
];
