//! The formats in which models are spoken to.
use serde::{Deserialize, Serialize};

/// Every wire that can be spoken.
pub const WIRES: &[Wire] =
    &[Wire::OpenaiChat, Wire::OpenaiResponses, Wire::Anthropic, Wire::Gemini, Wire::Converse];

/// A format of requests and replies. The set is closed: a further vendor mostly speaks the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Wire {
    /// OpenAI's chat completions, which most vendors and all local servers speak too.
    OpenaiChat,
    /// OpenAI's Responses.
    OpenaiResponses,
    /// Anthropic's Messages.
    Anthropic,
    /// Gemini's own.
    Gemini,
    /// Converse of Amazon Bedrock.
    Converse,
}

impl Wire {
    /// Whether a PDF has a place in a request.
    pub(crate) fn takes_documents(self) -> bool {
        matches!(self, Self::OpenaiResponses | Self::Anthropic | Self::Gemini)
    }

    /// The name in configuration files.
    pub fn name(self) -> &'static str {
        match self {
            Self::OpenaiChat => "openai_chat",
            Self::OpenaiResponses => "openai_responses",
            Self::Anthropic => "anthropic",
            Self::Gemini => "gemini",
            Self::Converse => "converse",
        }
    }
}

/// A thought can only be sent back to those who can check its signature: it names its wire, unless that is Anthropic.
impl Wire {
    /// A signature made of what the vendor gave.
    pub(crate) fn mark(self, proof: &str) -> String {
        format!("{}:{proof}", self.name())
    }

    /// What the vendor gave, if the signature bears this wire's name.
    pub(crate) fn own(self, signature: &str) -> Option<&str> {
        signature.strip_prefix(self.name())?.strip_prefix(':')
    }
}
