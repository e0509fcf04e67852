//! [`Sampler`]: asks the model outside of the conversation on behalf of a call ("sampling" in MCP).
use crate::{Message, ProviderError, Reached, StopReason, Usage};
use futures::future::BoxFuture;

/// A request to the model outside of the conversation.
#[derive(Clone, Debug, PartialEq)]
pub struct SamplingRequest {
    /// The MCP server that sends the request.
    pub server: String,
    /// The system prompt; empty for none.
    pub system: String,
    /// The messages, which contain only text.
    pub messages: Vec<Message>,
    /// Maximum tokens of the answer.
    pub max_output: u32,
}

/// The answer of a model.
#[derive(Clone, Debug, PartialEq)]
pub struct Sampled {
    /// The model that answered, as `PROVIDER/MODEL`.
    pub model: String,
    /// The text of the answer.
    pub text: String,
    /// Tokens of the request, as the server counted.
    pub usage: Usage,
    /// Why the answer ended.
    pub stop: StopReason,
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum SamplingError {
    /// The call belongs to no session.
    #[error("there is no model to ask")]
    NoModel,
    /// The answer would pass a limit of the turn.
    #[error("{0}")]
    Budget(Reached),
    /// The model failed.
    #[error("{error}")]
    Failed {
        /// What the provider said.
        #[source]
        error: ProviderError,
        /// Tokens of the failed request.
        usage: Usage,
    },
    /// The journal could not be written.
    #[error("the session is closed")]
    Closed,
}

/// The model of the session that a call belongs to. It gets only requests that the user has approved.
pub trait Sampler: Send + Sync {
    /// Returns the model, as `PROVIDER/MODEL`; `None` if a call has no model to ask.
    fn model(&self) -> Option<&str>;

    /// Asks the model. The cost counts towards the budget and the cost of the turn. Dropping the future cancels the
    /// request.
    fn sample(&self, request: SamplingRequest) -> BoxFuture<'_, Result<Sampled, SamplingError>>;
}

/// No model: every request is refused.
pub struct NoSampler;

impl Sampler for NoSampler {
    fn model(&self) -> Option<&str> {
        None
    }

    fn sample(&self, _: SamplingRequest) -> BoxFuture<'_, Result<Sampled, SamplingError>> {
        Box::pin(std::future::ready(Err(SamplingError::NoModel)))
    }
}
