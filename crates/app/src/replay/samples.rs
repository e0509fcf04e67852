//! [`RetoldSamples`]: repeats the replies of models to MCP servers in a recorded session.
use futures::future::{BoxFuture, ready};
use haft_core::{Sampled, Sampler, SamplingError, SamplingRequest};
use parking_lot::Mutex;
use std::collections::{HashMap, VecDeque};

/// The recorded replies by server, in order.
pub(super) struct RetoldSamples(Mutex<HashMap<String, VecDeque<Sampled>>>);

impl RetoldSamples {
    /// Takes recorded replies with the servers that received them.
    pub(super) fn new(samples: impl IntoIterator<Item = (String, Sampled)>) -> Self {
        let mut by_server: HashMap<String, VecDeque<Sampled>> = HashMap::new();
        samples
            .into_iter()
            .for_each(|(server, sample)| by_server.entry(server).or_default().push_back(sample));
        Self(Mutex::new(by_server))
    }
}

impl Sampler for RetoldSamples {
    /// Must not be `None`, or else requests are rejected. The text is not shown, because the recording answers the
    /// question that names the model.
    fn model(&self) -> Option<&str> {
        Some("the recorded model")
    }

    fn sample(&self, request: SamplingRequest) -> BoxFuture<'_, Result<Sampled, SamplingError>> {
        let sample = self.0.lock().get_mut(&request.server).and_then(VecDeque::pop_front);
        Box::pin(ready(sample.ok_or(SamplingError::NoModel)))
    }
}
