//! [`Message`]: one message of a conversation as a model sees it.
use crate::ToolResult;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::fmt;

/// The ID of a tool call: chosen by the model or made by [`crate::Reply`], unique within a reply, never empty.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CallId(pub String);

impl fmt::Display for CallId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A message of the conversation. The system prompt is not a message; it is a field of [`crate::Request`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "role", rename_all = "snake_case")]
pub enum Message {
    /// A prompt of the user, or the report of a finished background task.
    User {
        /// Text and images; never a tool call.
        parts: Vec<Part>,
    },
    /// A reply of the model, including its tool calls.
    Assistant {
        /// The parts, in the order of the reply.
        parts: Vec<Part>,
    },
    /// The answer to one tool call of the assistant message before it.
    Tool {
        /// The call that is answered.
        call: CallId,
        /// The name of the tool that was called.
        name: String,
        /// What the model reads.
        result: ToolResult,
    },
}

/// A piece of a message.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Part {
    /// Plain text, Markdown by custom.
    Text {
        /// Never empty in a recorded reply.
        text: String,
    },
    /// The model's thinking before its text. Some vendors require it back unchanged.
    Thinking {
        /// Empty if the vendor hides the text and sends only a signature.
        text: String,
        /// The vendor's signature of the text (Anthropic), sent back unchanged.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        signature: Option<String>,
    },
    /// A picture.
    Image(Image),
    /// A PDF. Models without support for documents read its text.
    Document(Document),
    /// A request to run a tool.
    ToolCall(ToolCall),
}

impl Part {
    /// Returns a text part.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text { text: text.into() }
    }

    /// Returns the tool call, if this is one.
    pub fn as_call(&self) -> Option<&ToolCall> {
        match self {
            Self::ToolCall(call) => Some(call),
            Self::Text { .. } | Self::Thinking { .. } | Self::Image(_) | Self::Document(_) => None,
        }
    }
}

/// Returns the texts among `parts`, joined as they stand.
pub fn text_of(parts: &[Part]) -> String {
    let texts = parts.iter().filter_map(|part| match part {
        Part::Text { text } => Some(text.as_str()),
        Part::Thinking { .. } | Part::Image(_) | Part::Document(_) | Part::ToolCall(_) => None,
    });
    texts.collect()
}

/// A PDF as it is, and its text.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Document {
    /// The name of its file, without folders.
    pub name: String,
    /// How many pages it has.
    pub pages: usize,
    /// Base64 with padding, without a `data:` prefix.
    pub data: String,
    /// The text of its pages, marked as the content of a file, for models without support for documents. Empty if the
    /// document has no text, like a scan.
    pub text: String,
}

impl Document {
    /// Returns the label that users read, such as `[paper.pdf, 2 pages]`.
    pub fn label(&self) -> String {
        let s = if self.pages == 1 { "" } else { "s" };
        format!("[{}, {} page{s}]", self.name, self.pages)
    }
}

impl Message {
    /// Returns the message with texts in place of documents; `None` if it has no documents.
    pub fn without_documents(&self) -> Option<Self> {
        let Self::User { parts } = self else { return None };
        if !parts.iter().any(|part| matches!(part, Part::Document(_))) {
            return None;
        }
        let read = |part: &Part| match part {
            Part::Document(Document { name, text, .. }) if text.is_empty() => {
                Part::text(format!("\n\n[`{name}`: a PDF without text, which you cannot see]"))
            }
            Part::Document(document) => Part::text(&document.text),
            part => part.clone(),
        };
        Some(Self::User { parts: parts.iter().map(read).collect() })
    }
}

/// A picture, encoded for a request.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Image {
    /// Media type: `image/png`, `image/jpeg`, `image/gif` or `image/webp`.
    pub mime: String,
    /// Base64 with padding, without a `data:` prefix.
    pub data: String,
}

/// A request by the model to run one tool.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolCall {
    /// ID of the call; its result names it.
    pub id: CallId,
    /// Name of the tool as the model wrote it, which may be an alias.
    pub name: String,
    /// A JSON object. If `problem` is set, the raw text as a JSON string.
    pub arguments: Value,
    /// Why this call cannot be run: cut off, not JSON, too large. The model reads it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

impl ToolCall {
    /// Returns a whole call with arguments that are an object.
    pub fn new(id: impl Into<String>, name: impl Into<String>, arguments: Value) -> Self {
        Self { id: CallId(id.into()), name: name.into(), arguments, problem: None }
    }
}

/// Returns the arguments of a call in one line, for the user: the first text among them, or the number of items of the
/// first list, or each argument with its value.
pub fn arguments_in_brief(arguments: &Value) -> String {
    let all = || arguments.as_object().into_iter().flatten();
    let text = all().find_map(|(_, value)| value.as_str()).map(str::to_owned);
    let items = || all().find_map(|(_, value)| value.as_array()).map(Vec::len);
    let items = || items().map(|count| format!("{count} item{}", if count == 1 { "" } else { "s" }));
    let each = || all().map(|(name, value)| format!("{name}: {value}")).collect::<Vec<_>>().join(", ");
    let text = text.or_else(items).unwrap_or_else(each);
    text.trim_start().lines().next().unwrap_or_default().to_owned()
}

/// Tokens of one reply, or of many.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// Read by the model and not from a cache.
    pub input: u64,
    /// Written by the model, thinking included.
    pub output: u64,
    /// Read from the vendor's prompt cache.
    #[serde(default)]
    pub cache_read: u64,
    /// Written to the vendor's prompt cache.
    #[serde(default)]
    pub cache_write: u64,
}

impl std::ops::AddAssign for Usage {
    fn add_assign(&mut self, other: Self) {
        self.input += other.input;
        self.output += other.output;
        self.cache_read += other.cache_read;
        self.cache_write += other.cache_write;
    }
}

/// Why a reply ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    /// The model finished its reply.
    EndTurn,
    /// The model waits for the results of its calls.
    ToolUse,
    /// The reply reached the limit of output tokens.
    Length,
    /// The reply was ended, since it had repeated itself for too long.
    Repeating,
    /// The reply was ended, since it took too long or grew too large.
    Endless,
    /// The model or its vendor declined.
    Refusal,
    /// The user interrupted it.
    Interrupted,
}

impl StopReason {
    /// Returns whether the reply was cut off. Its last call may be incomplete then.
    pub fn is_cut_off(self) -> bool {
        matches!(self, Self::Length | Self::Repeating | Self::Endless | Self::Interrupted)
    }

    /// Returns whether the reply was ended because it would not end by itself. The same request would give the same
    /// result.
    pub fn is_endless(self) -> bool {
        matches!(self, Self::Repeating | Self::Endless)
    }
}
