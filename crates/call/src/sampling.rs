//! [`CallSampler`]: asks the model on behalf of one call, and records the answer and its cost.
use crate::recorder::{Unrecorded, WeakRecorder};
use futures::future::BoxFuture;
use haft_core::{CallId, Fact, Sampled, Sampler, SamplingError, SamplingRequest};
use std::sync::Arc;

/// The model of a session, for one of its calls.
pub(crate) struct CallSampler {
    pub(crate) call: CallId,
    pub(crate) sampler: Arc<dyn Sampler>,
    /// Weak: a request of a call that has ended must not keep its round open.
    pub(crate) recorder: WeakRecorder,
}

impl CallSampler {
    async fn record(&self, fact: Fact) -> Result<(), SamplingError> {
        let recorder = self.recorder.upgrade().ok_or(SamplingError::Closed)?;
        recorder.record(fact).await.map_err(|Unrecorded| SamplingError::Closed)
    }
}

impl Sampler for CallSampler {
    fn model(&self) -> Option<&str> {
        self.sampler.model()
    }

    /// The answer is recorded before the server gets it, so that a replay needs no model.
    fn sample(&self, request: SamplingRequest) -> BoxFuture<'_, Result<Sampled, SamplingError>> {
        Box::pin(async move {
            let (call, server) = (self.call.clone(), request.server.clone());
            let sampled = match self.sampler.sample(request).await {
                Err(SamplingError::Failed { error, usage }) if usage.total() > 0 => {
                    self.record(Fact::Retried { reason: error.to_string(), usage }).await?;
                    return Err(SamplingError::Failed { error, usage });
                }
                sampled => sampled?,
            };
            let Sampled { model, text, usage, stop } = sampled.clone();
            self.record(Fact::Sampled { call, server, model, text, usage, stop }).await?;
            Ok(sampled)
        })
    }
}
