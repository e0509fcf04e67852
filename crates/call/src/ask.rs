//! [`ask`]: asks a provider for one reply, and turns its panics into errors.
use crate::last_words;
use futures::{FutureExt, StreamExt, future, stream, stream::BoxStream};
use haft_core::{Delta, Provider, ProviderError, Reply, Request};
use std::{
    any::Any,
    panic::{AssertUnwindSafe, catch_unwind},
    time::Duration,
};

/// How long a provider may take from the end of a reply to the end of its stream.
const LATE_USAGE: Duration = Duration::from_secs(1);

/// What a provider streams.
pub type Deltas = BoxStream<'static, Result<Delta, ProviderError>>;

/// Asks `provider` for one reply. A panic becomes an error of the provider.
pub fn ask(provider: &dyn Provider, request: Request) -> Deltas {
    let model = request.model.clone();
    match catch_unwind(AssertUnwindSafe(|| provider.stream(request))) {
        Ok(deltas) => {
            let deltas = AssertUnwindSafe(deltas).catch_unwind();
            deltas.map(move |delta| delta.unwrap_or_else(|panic| Err(panicked(&model, &*panic)))).boxed()
        }
        Err(panic) => stream::once(future::ready(Err(panicked(&model, &*panic)))).boxed(),
    }
}

/// Adds the tokens that a provider reports after the end of `reply`: OpenAI's servers send them last.
pub async fn add_late_usage(deltas: &mut Deltas, reply: &mut Reply) {
    let reading = async {
        while let Some(Ok(delta)) = deltas.next().await {
            if matches!(delta, Delta::Usage(_)) {
                reply.push(delta);
            }
        }
    };
    let _it_keeps_its_stream_open = tokio::time::timeout(LATE_USAGE, reading.fuse()).await;
}

fn panicked(model: &str, panic: &(dyn Any + Send)) -> ProviderError {
    let message = format!("it panicked: {}", last_words(panic));
    ProviderError::Internal {
        provider: format!("the provider of `{model}`"),
        message,
        retry_after: None,
        source: None,
    }
}
