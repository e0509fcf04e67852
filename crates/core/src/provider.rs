//! [`Provider`]: the contract of a model provider, one method.
use crate::{CallForm, CallId, Message, ModelFault, StopReason, ToolSpec, Usage};
use futures::stream::BoxStream;
use serde_json::{Map, Value};
use std::{sync::Arc, time::Duration};

/// A source of model replies. Wrappers (retry, recording, text dialects) are providers too.
pub trait Provider: Send + Sync {
    /// Streams one reply. A provider that cannot stream yields one [`Delta`] per part.
    ///
    /// The stream ends after [`Delta::Stop`], or a [`Delta::Usage`] that follows at once, or after the first error. If
    /// it is cut off, the provider ends it with [`ProviderError::Connection`]. Dropping the stream cancels the request.
    /// A provider must enforce its own timeouts: the engine waits for a stream that yields nothing until the turn is
    /// interrupted.
    fn stream(&self, request: Request) -> BoxStream<'static, Result<Delta, ProviderError>>;
}

impl<P: Provider + ?Sized> Provider for Arc<P> {
    fn stream(&self, request: Request) -> BoxStream<'static, Result<Delta, ProviderError>> {
        (**self).stream(request)
    }
}

/// A request to a model. Cheap to clone: its long parts are shared.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// The model's name as its vendor spells it.
    pub model: String,
    /// The system prompt; empty for none.
    pub system: String,
    /// The conversation, always well formed: each call has exactly one result, in call order.
    pub messages: Vec<Arc<Message>>,
    /// The tools that the model may call; may be empty.
    pub tools: Arc<[ToolSpec]>,
    /// Maximum tokens of the reply.
    pub max_output: u32,
    /// The form of calls, if the model writes them as text. A provider that can constrain the model's output enforces
    /// it; other providers may ignore it.
    pub form: Option<Arc<CallForm>>,
    /// The form of the answer, if it must be JSON. A provider that can constrain the model's output enforces it; other
    /// providers may ignore it, because the conversation describes the form as well and the answer is checked.
    pub answer: Option<AnswerForm>,
    /// Sampling settings by the wire's own names (`temperature`, `top_p`, …), sent as they are.
    pub options: Map<String, Value>,
}

/// The form of an answer in JSON.
#[derive(Clone, Debug)]
pub struct AnswerForm {
    /// JSON Schema of the answer.
    pub schema: Arc<Value>,
    /// Whether the work is done, so that the next reply must be the answer. A provider that cannot offer the model both
    /// calls and a form enforces the form then, without tools.
    pub is_due: bool,
}

/// A piece of a reply as it arrives.
#[derive(Clone, Debug, PartialEq)]
pub enum Delta {
    /// More of the text.
    Text(String),
    /// More of the thinking.
    Thinking(String),
    /// The vendor's signature of the thinking so far; ends that thinking part.
    Signature(String),
    /// A tool call begins. `id` is empty where the vendor gave none.
    CallStart {
        /// Identifies the call within the reply, and orders the calls.
        index: usize,
        /// ID that the provider gave the call.
        id: CallId,
        /// Name of the tool as the model wrote it.
        name: String,
    },
    /// A fragment of a call's arguments: JSON text.
    CallArguments {
        /// Index of the call that it belongs to.
        index: usize,
        /// A piece of the JSON; not valid by itself.
        json: String,
    },
    /// A call cannot be run, for a reason that its arguments do not show.
    CallProblem {
        /// Index of the call that it belongs to.
        index: usize,
        /// The reason, which the model reads: [`crate::ToolCall::problem`].
        problem: String,
    },
    /// Tokens used so far; a later one replaces an earlier one.
    Usage(Usage),
    /// The reply restarts after a fault: all earlier deltas of this stream are void.
    Retrying {
        /// What went wrong.
        reason: String,
        /// How long the provider waits before it asks again.
        after: Duration,
        /// Whether the vendor may charge for the request that was given up: the model had begun to answer, or the
        /// server accepted the request and timed out.
        charged: bool,
    },
    /// The reply is complete.
    Stop(StopReason),
}

/// Why there is no reply. The variants differ in what can be done about it.
#[derive(Debug, thiserror::Error)]
pub enum ProviderError {
    /// The API key is missing or invalid: the user must provide one.
    #[error("{provider} refused the key: {message}")]
    Auth {
        /// The vendor's name.
        provider: String,
        /// Message of the provider, without the key.
        message: String,
        /// What to do about it.
        hint: Option<String>,
    },
    /// There is neither a key nor another credential: the user must sign in.
    #[error("cannot sign in to {provider}: {message}")]
    SignIn {
        /// The vendor's name.
        provider: String,
        /// What was tried and why it failed, without secrets.
        message: String,
        /// What to do about it.
        hint: String,
    },
    /// The key is valid but not authorized for this request; another model, country or plan may be.
    #[error("{provider} denies access: {message}")]
    Denied {
        /// The vendor's name.
        provider: String,
        /// Message of the provider.
        message: String,
        /// What to do about it.
        hint: String,
    },
    /// The provider is busy. The same request may succeed later.
    #[error("{provider} is busy: {message}")]
    Busy {
        /// The vendor's name.
        provider: String,
        /// Message of the provider.
        message: String,
        /// The wait that the vendor asked for (`Retry-After`, or the reset time of a limit).
        retry_after: Option<Duration>,
        /// Whether the limit on requests or tokens of this account is reached; otherwise the server is overloaded.
        is_rate_limited: bool,
    },
    /// The account has no credit left, or the quota of its plan is used up.
    #[error("{provider} rejected the request: {message}")]
    Exhausted {
        /// The vendor's name.
        provider: String,
        /// Message of the provider.
        message: String,
        /// What to do about it.
        hint: Option<String>,
        /// When the quota is reset, if the vendor names a time; credit has none.
        retry_after: Option<Duration>,
    },
    /// An internal error of the provider. The same request may succeed later.
    #[error("{provider} had an internal error: {message}")]
    Internal {
        /// The vendor's name.
        provider: String,
        /// Message of the provider.
        message: String,
        /// The wait that the vendor asked for.
        retry_after: Option<Duration>,
        /// For the log.
        #[source]
        source: Option<Box<dyn std::error::Error + Send + Sync>>,
    },
    /// A server on this machine that was not started. Asking again does not start it.
    #[error("{provider} cannot be reached: nothing listens at {address}")]
    NotRunning {
        /// The vendor's name.
        provider: String,
        /// The address that was tried.
        address: String,
        /// How to start it.
        hint: String,
    },
    /// The provider's certificate is not signed by an authority that this machine trusts. A retry does not help.
    #[error("{provider} is not trusted: {message}")]
    Untrusted {
        /// The vendor's name.
        provider: String,
        /// What was tried and why it failed, with the address.
        message: String,
    },
    /// The engine must send less.
    #[error("the conversation does not fit the model's context window: {message}")]
    ContextTooLong {
        /// The vendor's message.
        message: String,
    },
    /// The model used up its output limit before it wrote any text. The same request would end in the same way.
    #[error("{message}")]
    NoAnswer {
        /// What it used its tokens for.
        message: String,
        /// How to raise the limit, or to make the model use fewer tokens.
        hint: String,
    },
    /// The provider rejected the request. The same request will never succeed.
    #[error("{provider} rejected the request: {message}")]
    Rejected {
        /// The vendor's name.
        provider: String,
        /// Message of the provider.
        message: String,
        /// What to do about it.
        hint: Option<String>,
    },
    /// The vendor's content policy prevents an answer to this conversation. Another model may answer.
    #[error("{provider} refused to answer: {message}")]
    Refused {
        /// The vendor's name.
        provider: String,
        /// Message of the provider.
        message: String,
    },
    /// There was no response, an incomplete response or an invalid response.
    #[error("the connection to {provider} failed: {message}")]
    Connection {
        /// The vendor's name.
        provider: String,
        /// What was tried and why it failed, with the address.
        message: String,
        /// For the log.
        #[source]
        source: Option<Box<dyn std::error::Error + Send + Sync>>,
    },
}

/// What the user can do about a refusal by a vendor's content policy.
pub const REFUSED_HINT: &str =
    "say it in other words, or name a model that is asked in its place with `fallback`";

/// The source of a [`ProviderError::Connection`] if the server accepted the request and sent no response before the
/// timeout.
#[derive(Debug, thiserror::Error)]
#[error("no answer in time")]
pub struct TimedOut;

/// The source of a [`ProviderError::Connection`] or a [`ProviderError::Internal`] if the server's response could not be
/// parsed. A retry often gets the same response, and may be charged for.
#[derive(Debug, thiserror::Error)]
#[error("the answer is no reply that can be read")]
pub struct UnreadableReply;

impl ProviderError {
    /// Returns whether the server accepted the request and sent no response before the timeout. The vendor may charge
    /// for the request.
    pub fn is_timed_out(&self) -> bool {
        match self {
            Self::Connection { source: Some(source), .. } => source.is::<TimedOut>(),
            Self::Connection { source: None, .. } | Self::Busy { .. } | Self::Internal { .. } => false,
            Self::Auth { .. } | Self::SignIn { .. } | Self::Denied { .. } | Self::Exhausted { .. } => false,
            Self::NotRunning { .. } | Self::Untrusted { .. } => false,
            Self::ContextTooLong { .. }
            | Self::NoAnswer { .. }
            | Self::Rejected { .. }
            | Self::Refused { .. } => false,
        }
    }

    /// Returns whether a retry of the same request may succeed.
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Busy { .. } | Self::Internal { .. } | Self::Connection { .. } => true,
            Self::Auth { .. } | Self::SignIn { .. } | Self::Denied { .. } | Self::Exhausted { .. } => false,
            Self::NotRunning { .. } | Self::Untrusted { .. } => false,
            Self::ContextTooLong { .. }
            | Self::NoAnswer { .. }
            | Self::Rejected { .. }
            | Self::Refused { .. } => false,
        }
    }

    /// Returns how long the vendor asked to wait, if it named a time.
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Busy { retry_after, .. }
            | Self::Internal { retry_after, .. }
            | Self::Exhausted { retry_after, .. } => *retry_after,
            Self::Auth { .. } | Self::SignIn { .. } | Self::Denied { .. } => None,
            Self::NotRunning { .. } | Self::Untrusted { .. } | Self::Connection { .. } => None,
            Self::ContextTooLong { .. }
            | Self::NoAnswer { .. }
            | Self::Rejected { .. }
            | Self::Refused { .. } => None,
        }
    }

    /// Returns why another model could answer the same request; `None` if the request itself is at fault.
    pub fn fault(&self) -> Option<ModelFault> {
        Some(match self {
            Self::Busy { is_rate_limited: true, .. } => ModelFault::RateLimited,
            Self::Busy { is_rate_limited: false, .. } => ModelFault::Overloaded,
            Self::Exhausted { retry_after: Some(_), .. } => ModelFault::QuotaExhausted,
            Self::Exhausted { retry_after: None, .. } => ModelFault::CreditExhausted,
            Self::Auth { .. } | Self::SignIn { .. } | Self::Denied { .. } => ModelFault::AccessDenied,
            Self::Internal { .. } | Self::Connection { .. } => ModelFault::Unavailable,
            Self::NotRunning { .. } | Self::Untrusted { .. } => ModelFault::Unavailable,
            Self::Refused { .. } => ModelFault::Refused,
            Self::ContextTooLong { .. } | Self::NoAnswer { .. } | Self::Rejected { .. } => return None,
        })
    }

    /// Returns what the user can do about it.
    pub fn hint(&self) -> Option<&str> {
        match self {
            Self::Auth { hint, .. } | Self::Rejected { hint, .. } | Self::Exhausted { hint, .. } => {
                hint.as_deref()
            }
            Self::Refused { .. } => Some(REFUSED_HINT),
            Self::ContextTooLong { .. } => Some(
                "take a model with a larger window, or start a new session; a local server may be started with a larger one",
            ),
            Self::Connection { .. } => Some(
                "see that the server runs and that its address is right; `--base-url` or the configuration names another",
            ),
            Self::Untrusted { .. } => Some(
                "if it is the right server, set SSL_CERT_FILE to a PEM file with the authority that signed it",
            ),
            Self::NotRunning { hint, .. } | Self::SignIn { hint, .. } => Some(hint),
            Self::Denied { hint, .. } | Self::NoAnswer { hint, .. } => Some(hint),
            Self::Internal { .. } => {
                Some("the provider has a fault: try again later, or use another model with `--model`")
            }
            Self::Busy { .. } => None,
        }
    }
}
