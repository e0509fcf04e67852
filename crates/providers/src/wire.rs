//! [`Wire`]: the formats of requests and replies.
use serde::{Deserialize, Serialize};

/// All supported wires.
pub const WIRES: &[Wire] =
    &[Wire::OpenaiChat, Wire::OpenaiResponses, Wire::Anthropic, Wire::Gemini, Wire::Converse];

/// A format of requests and replies. The set is closed: further vendors mostly use the first one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Wire {
    /// OpenAI's chat completions, which most vendors and all local servers support, too.
    OpenaiChat,
    /// OpenAI's Responses.
    OpenaiResponses,
    /// Anthropic's Messages.
    Anthropic,
    /// Gemini's own wire.
    Gemini,
    /// Converse of Amazon Bedrock.
    Converse,
}

impl Wire {
    /// Whether requests can contain a PDF.
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

/// A thought can only be sent back to a vendor that can check its signature. A signature therefore names its wire,
/// unless that is Anthropic.
impl Wire {
    /// The journal's form of a vendor's proof.
    pub(crate) fn mark(self, proof: &str) -> String {
        format!("{}:{proof}", self.name())
    }

    /// The vendor's proof, if the signature names this wire.
    pub(crate) fn own(self, signature: &str) -> Option<&str> {
        signature.strip_prefix(self.name())?.strip_prefix(':')
    }
}
