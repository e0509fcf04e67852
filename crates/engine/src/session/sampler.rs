//! [`SessionSampler`]: asks the model of a session on behalf of its calls, within the budget of the turn.
use super::budget::{Reserved, TurnBudget};
use crate::setup::Model;
use futures::{StreamExt, future::BoxFuture};
use haft_core::{
    Budget, Delta, Message, Part, ProviderError, Reply, Request, Sampled, Sampler, SamplingError,
    SamplingRequest, Usage, text_of, tokens,
};
use std::sync::Arc;

/// The model that each turn of the session begins with.
pub(crate) struct SessionSampler {
    pub(crate) model: Model,
    pub(crate) budget: Arc<TurnBudget>,
    pub(crate) limits: Budget,
}

impl Sampler for SessionSampler {
    fn model(&self) -> Option<&str> {
        Some(&self.model.spec)
    }

    fn sample(&self, request: SamplingRequest) -> BoxFuture<'_, Result<Sampled, SamplingError>> {
        Box::pin(self.answer(request))
    }
}

impl SessionSampler {
    async fn answer(&self, request: SamplingRequest) -> Result<Sampled, SamplingError> {
        let SamplingRequest { system, messages, max_output, .. } = request;
        let prompt = tokens::of_text(&system) + messages.iter().map(tokens::of_message).sum::<u64>();
        let reserved = self.budget.reserve(&self.limits, self.model.price, prompt, max_output.into());
        let reserved = reserved.map_err(SamplingError::Budget)?;
        let request = Request {
            model: self.model.name.clone(),
            system,
            messages: messages.into_iter().map(Arc::new).collect(),
            max_output: u32::try_from(reserved.reply).unwrap_or(u32::MAX),
            ..Request::default()
        };
        let mut lost = Usage::default();
        let reply = self.read(request, &reserved, &mut lost).await?;
        let (stop, counted) = (reply.stop(), reply.usage());
        let parts = reply.into_spoken_parts();
        let text = text_of(&parts);
        reserved.spend(counted, written(parts));
        let mut usage = counted;
        usage += lost;
        Ok(Sampled { model: self.model.spec.clone(), text, usage, stop })
    }

    /// Reads the reply to its end. Adds the usage of attempts that the provider gave up to `lost`.
    async fn read(
        &self,
        request: Request,
        reserved: &Reserved,
        lost: &mut Usage,
    ) -> Result<Reply, SamplingError> {
        let mut deltas = haft_call::ask(&*self.model.provider, request);
        let mut reply = Reply::default();
        loop {
            let delta = match deltas.next().await {
                Some(Ok(delta)) => delta,
                Some(Err(error)) => {
                    let was_charged = error.is_timed_out();
                    return Err(failed(error, given_up(reply, was_charged, reserved, *lost)));
                }
                None => {
                    let error = ended_early(&self.model.spec);
                    return Err(failed(error, given_up(reply, false, reserved, *lost)));
                }
            };
            if let Delta::Retrying { charged, .. } = &delta {
                *lost = given_up(std::mem::take(&mut reply), *charged, reserved, *lost);
                reserved.fits_again(&self.limits).map_err(SamplingError::Budget)?;
            }
            let is_last = matches!(delta, Delta::Stop(_));
            reply.push(delta);
            if is_last {
                haft_call::add_late_usage(&mut deltas, &mut reply).await;
            }
            if is_last || reply.is_too_large() {
                return Ok(reply);
            }
        }
    }
}

/// The usage of failed replies so far, including this one.
fn given_up(reply: Reply, was_charged: bool, reserved: &Reserved, lost: Usage) -> Usage {
    let counted = reply.usage();
    if !was_charged && counted.total() == 0 && reply.is_empty() {
        return lost;
    }
    let mut all = lost;
    all += reserved.lose(counted, written(reply.into_parts()));
    all
}

fn failed(error: ProviderError, usage: Usage) -> SamplingError {
    SamplingError::Failed { error, usage }
}

/// Estimated tokens of a reply.
fn written(parts: Vec<Part>) -> u64 {
    tokens::of_message(&Message::Assistant { parts })
}

fn ended_early(model: &str) -> ProviderError {
    let message = "the reply ended before it was complete".to_owned();
    ProviderError::Connection { provider: model.to_owned(), message, source: None }
}
