//! The request format of each [`Wire`], and its parser of replies.
use crate::{
    Wire, anthropic, converse, gemini, openai_chat, openai_responses, parser::Parser, quirks::Quirks,
};
use haft_core::Request;
use serde_json::Value;

impl Wire {
    /// The path of requests for `model`, after the base URL.
    pub(crate) fn path(self, model: &str, quirks: &Quirks, stream: bool) -> String {
        match self {
            Self::OpenaiChat => "/chat/completions".into(),
            Self::OpenaiResponses => "/responses".into(),
            Self::Anthropic => anthropic::path(model, quirks, stream),
            Self::Gemini => gemini::path(model, stream),
            Self::Converse => converse::path(model, stream),
        }
    }

    /// Names and values of the headers with `key`, and of the other headers of the wire.
    pub(crate) fn headers(self, key: Option<&str>) -> Vec<(&'static str, String)> {
        match self {
            Self::OpenaiChat | Self::OpenaiResponses | Self::Converse => {
                key.map(|key| ("authorization", format!("Bearer {key}"))).into_iter().collect()
            }
            Self::Anthropic => {
                let key = key.map(|key| ("x-api-key", key.to_owned()));
                key.into_iter().chain([("anthropic-version", anthropic::VERSION.to_owned())]).collect()
            }
            Self::Gemini => key.map(|key| ("x-goog-api-key", key.to_owned())).into_iter().collect(),
        }
    }

    pub(crate) fn body(self, request: &Request, quirks: &Quirks, stream: bool) -> Value {
        match self {
            Self::OpenaiChat => openai_chat::body(request, quirks, stream),
            Self::OpenaiResponses => openai_responses::body(request, quirks, stream),
            Self::Anthropic => anthropic::body(request, quirks, stream),
            Self::Gemini => gemini::body(request, quirks),
            Self::Converse => converse::body(request, quirks),
        }
    }

    pub(crate) fn parser(self) -> Box<dyn Parser> {
        match self {
            Self::OpenaiChat => Box::new(openai_chat::ChatReply::default()),
            Self::OpenaiResponses => Box::new(openai_responses::ResponsesReply::default()),
            Self::Anthropic => Box::new(anthropic::MessageReply::default()),
            Self::Gemini => Box::new(gemini::ContentReply::default()),
            Self::Converse => Box::new(converse::ConverseReply::default()),
        }
    }
}
